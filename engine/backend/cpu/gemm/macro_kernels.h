// The kernels of a product in tiles: a macro-kernel for each height of tile and what it does beside
// computing.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/backend/cpu/gemm/k_block.h"
#include "engine/backend/cpu/gemm/macro_kernel.h"

namespace volta::cpu {

class MacroKernels final {
  public:
    MacroKernels(const Problem& problem, const Schedule& schedule, const Compiler& compiler);

    const MacroKernel& of(TileUse use, std::int64_t rows) const {
        return kernels_[index_[static_cast<int>(use)][rows] - 1u];
    }
    // Of the columns of B: the row of C that a row of ones in A would give.
    const MacroKernel& sums() const { return sums_; }
    // The same for all strips.
    int width_at(std::int64_t j, std::int64_t columns) const { return kernels_[0].width_at(j, columns); }

  private:
    std::pmr::vector<MacroKernel> kernels_;  // a product needs few heights
    MacroKernel sums_;
    // By use and height: 1 + its place among the strips, 0: none.
    std::uint8_t index_[std::size(kTileUses)][jit::kMaxTileRows + 1] = {};

    void add_heights(std::int64_t rows, const Problem& problem, const Schedule& schedule,
                     const Compiler& compiler);
    void add_kernel(int rows, TileUse use, const Problem& problem, const Schedule& schedule,
                    const Compiler& compiler);
};

}  // namespace volta::cpu
