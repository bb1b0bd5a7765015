// A generated kernel as a lowering like any other: run() launches it in the emulation.
#pragma once

#include <string>

#include "jitgen/cuda/row_launch.h"
#include "tests/cuda/emulated_kernels.h"
#include "tests/support/simt_emulation.h"

namespace volta::test {

// Of the generated tables; NULL: no kernel of this name was written.
const EmulatedKernels* find_emulated(const std::string& name);

class EmulatedKernel final : public jit::RowKernel {
  public:
    // How it is launched: as row_launch() says, or by few and small blocks, which walk over many rows.
    enum class Size : unsigned char { as_planned, small };

    EmulatedKernel(const jit::Program& program, const EmulatedKernels& kernels,
                   std::pmr::memory_resource* heap);

    void run(const jit::RowArgs& args) const noexcept override;
    std::size_t scratch_bytes(std::int64_t) const noexcept override { return 0; }  // run() brings its own

    bool takes(jit::RowForm wanted) const { return (wanted == jit::RowForm::segments) == plan_.column_sums; }
    jit::RowForm form = jit::RowForm::warps;
    Size size = Size::small;
    simt::Order order = simt::Order::ascending;
    mutable std::string error;  // of the emulation, or a write behind the scratch memory

  private:
    jit::RowPlan plan_;
    const EmulatedKernels& kernels_;
};

}  // namespace volta::test
