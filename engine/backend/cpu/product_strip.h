// A strip: one height of register tile times any number of columns of B, with the kernels of all its widths.
#pragma once

#include <cstdint>

#include "engine/backend/cpu/gemm_kernels.h"

namespace volta::cpu {

class TileStrip final {
  public:
    // `form` gives everything but the width.
    TileStrip() = default;
    TileStrip(const jit::GemmForm& form, int nr) : form_(form), nr_(nr) {}

    // Resolves the kernels for strips of `columns` columns.
    void add_columns(std::int64_t columns, const CompileContext& context);
    // The same for all strips of up to `columns` columns, whole vectors only.
    void add_whole_vectors(std::int64_t columns, const CompileContext& context);

    bool empty() const { return nr_ == 0; }
    int rows() const { return form_.mr; }
    // Columns of the tile at column j of a strip of `columns`.
    int width_at(std::int64_t j, std::int64_t columns) const {
        return next_width(form_.isa, nr_, columns - j);
    }

    // The tile of `width` columns at column j; `strip` points at column 0.
    void run_tile(const jit::GemmArgs& strip, std::int64_t j, int width) const noexcept;

    // All tiles.
    void run(const jit::GemmArgs& strip, std::int64_t columns) const noexcept {
        for (std::int64_t j = 0; j < columns;) {
            const int width = width_at(j, columns);
            run_tile(strip, j, width);
            j += width;
        }
    }

  private:
    static constexpr int kMostVectors = jit::kMaxTileColumns / 8;
    jit::GemmForm form_;
    int nr_ = 0;
    // By vectors, by whether the last is masked, and by the half of a panel that the tile starts in (AVX2).
    GemmKernel kernels_[kMostVectors + 1][2][2];

    void add_width(int width, const CompileContext& context);
};

}  // namespace volta::cpu
