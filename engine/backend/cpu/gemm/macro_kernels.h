// The kernels of a product in tiles: a strip for each height of tile and what it does beside computing.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/backend/cpu/gemm/k_block.h"
#include "engine/backend/cpu/gemm/macro_kernel.h"

namespace volta::cpu {

class MacroKernels final {
  public:
    // sums: of the columns of B as well.
    MacroKernels(const ProductPlan& plan, bool sums, const CompileContext& context);

    const MacroKernel& of(TileUse use, std::int64_t rows) const {
        return strips_[index_[static_cast<int>(use)][rows] - 1u];
    }
    // Of the columns of B: the row of C that a row of ones in A would give.
    const MacroKernel& sums() const { return sums_; }
    // The same for all strips.
    int width_at(std::int64_t j, std::int64_t columns) const { return strips_[0].width_at(j, columns); }

  private:
    std::pmr::vector<MacroKernel> strips_;  // a product needs few heights
    MacroKernel sums_;
    // By use and height: 1 + its place among the strips, 0: none.
    std::uint8_t index_[std::size(kTileUses)][jit::kMaxTileRows + 1] = {};

    void add_heights(std::int64_t rows, const ProductPlan& plan, const CompileContext& context);
    void add_strip(int rows, TileUse use, const ProductPlan& plan, const CompileContext& context);
};

}  // namespace volta::cpu
