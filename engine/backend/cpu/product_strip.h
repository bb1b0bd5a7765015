// A strip: one height of register tile times any number of columns of B, with the kernels of all its widths.
#pragma once

#include <cstdint>

#include "engine/backend/cpu/gemm_kernels.h"

namespace volta::cpu {

class TileStrip final {
  public:
    // Resolves the kernels for strips of `columns` columns in tiles of `nr`; with `every_width` also for all
    // smaller strips whose columns are a multiple of the vector's lanes. `form` gives everything but the
    // width.
    void resolve(const jit::GemmForm& form, int nr, std::int64_t columns, bool every_width,
                 const CompileContext& context);
    bool resolved() const { return nr_ > 0; }
    int rows() const { return form_.mr; }

    // The tile at column j of a strip of `columns`; `args` point at column 0.
    void run_tile(const jit::GemmArgs& args, std::int64_t j, std::int64_t columns) const noexcept;

    // All tiles.
    void run(const jit::GemmArgs& args, std::int64_t columns) const noexcept {
        for (std::int64_t j = 0; j < columns; j += nr_) run_tile(args, j, columns);
    }

  private:
    static constexpr int kMostVectors = jit::kMaxTileColumns / 8;
    jit::GemmForm form_;
    int nr_ = 0;
    // By vectors, and by the half of a panel that the tile starts in (AVX2). One width at most is masked: the
    // last of the strip.
    GemmKernel whole_[kMostVectors + 1][2], masked_[2];

    void resolve_width(int columns, const CompileContext& context);
};

}  // namespace volta::cpu
