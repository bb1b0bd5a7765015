// The register tiles of a convolution: rows are pixels (or channels), columns are filters. Weights, or dy,
// are packed for them; the picture is read in place, by offsets.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "engine/backend/cpu/gemm/macro_kernel.h"
#include "engine/backend/cpu/gemm/pack.h"
#include "engine/backend/cpu/gemm/product.h"

namespace volta::cpu {

// Runs of `length` rows each, cut evenly into tiles, against `columns` columns.
class ConvolutionTiles {
  public:
    // `most`: rows of a tile, at most the tile's own.
    ConvolutionTiles(std::int64_t length, std::int64_t columns, const GemmTile& tile, std::int64_t most,
                     const Compiler& compiler);

    // The one that is asked for; else that of the machine's which takes the fewest cycles for such runs.
    static const GemmTile& choose(const CompileContext& context, std::int64_t length, std::int64_t columns);

    const EvenCut& cut() const { return cut_; }
    PackedWidths widths() const { return {tile_->isa, tile_->nr}; }
    const GemmTile& tile() const { return *tile_; }
    // Pieces of columns, as they are packed: piece j begins at column piece_begin(j).
    std::int64_t pieces() const { return static_cast<std::int64_t>(begins_.size()) - 1; }
    std::int64_t piece_begin(std::int64_t j) const { return begins_[static_cast<std::size_t>(j)]; }
    int piece_width(std::int64_t j) const { return static_cast<int>(piece_begin(j + 1) - piece_begin(j)); }
    // Floats of what is packed for `depth` steps.
    std::int64_t packed_floats(std::int64_t depth) const {
        return volta::cpu::packed_floats(columns_, depth);
    }

    // Tiles [first, end) of a run for a piece of `width` columns: `args` has A at the run's first row, C and
    // chains at the first of these tiles, B, C and chains at the piece's first column.
    void run(const jit::GemmArgs& args, int width, std::int64_t first, std::int64_t end) const noexcept;
    // One tile, with A at its first row.
    void run_tile(const jit::GemmArgs& args, int width, std::int64_t tile) const noexcept;

  private:
    const MacroKernel& kernel(std::int64_t tile) const {
        return cut_.larger > 0 && tile >= cut_.larger ? smaller_ : larger_;
    }
    EvenCut cut_;
    const GemmTile* tile_;
    std::int64_t columns_;
    std::pmr::vector<std::int64_t> begins_;
    MacroKernel larger_, smaller_;  // of the two heights
};

}  // namespace volta::cpu
