// A row program as a lowering like any other, on a device: run() copies the operands there, launches, and
// copies them back. On the fake driver or on a real one.
#pragma once

#include <string>

#include "engine/backend/cuda/kernel_store.h"
#include "jitgen/cuda/row_launch.h"

namespace volta::test {

class DeviceKernel final : public jit::RowKernel {
  public:
    // `text` has the entry points of the program under `name` (jitgen/cuda/row_source.h). Throws as
    // KernelStore::kernel.
    DeviceKernel(const jit::Program& program, const char* text, const std::string& name, cuda::Gpu& gpu,
                 cuda::KernelStore& store, std::pmr::memory_resource* heap);

    void run(const jit::RowArgs& args) const noexcept override;
    std::size_t scratch_bytes(std::int64_t) const noexcept override { return 0; }  // run() brings its own

    bool takes(jit::RowForm wanted) const { return (wanted == jit::RowForm::segments) == plan_.column_sums; }
    jit::RowForm form = jit::RowForm::warps;
    mutable std::string error;  // of the Gpu

  private:
    void run_throwing(const jit::RowArgs& args) const;

    jit::RowPlan plan_;
    cuda::Gpu& gpu_;
    cuda::Kernel first_, second_;  // warps and blocks, or segments and close
};

}  // namespace volta::test
