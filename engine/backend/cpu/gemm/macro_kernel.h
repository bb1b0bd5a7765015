// A macro-kernel: one height of register tile times any number of columns of B, with the kernels of all its
// widths.
#pragma once

#include <cstdint>

#include "engine/backend/cpu/gemm/tiles.h"

namespace volta::cpu {

struct Compiler;  // product.h

class MacroKernel final {
  public:
    // `form` gives everything but the width.
    MacroKernel() = default;
    MacroKernel(const jit::GemmForm& form, int nr) : form_(form), nr_(nr) {}

    // Resolves the kernels for strips of `columns` columns.
    void add_columns(std::int64_t columns, const Compiler& compiler);
    // The same for all strips of up to `columns` columns, whole vectors only.
    void add_whole_vectors(std::int64_t columns, const Compiler& compiler);

    bool empty() const { return nr_ == 0; }
    int rows() const { return form_.mr; }
    // Columns of the tile at column j of a strip of `columns`.
    int width_at(std::int64_t j, std::int64_t columns) const {
        return next_width(form_.isa, nr_, columns - j);
    }

    // `tiles` tiles of `width` columns at column j, one below the other; `strip` points at column 0 of the
    // first, a_next on to the next one's rows of A, prefetch_next to what it prefetches.
    void run_rows(const jit::GemmArgs& strip, std::int64_t j, int width, std::int64_t tiles,
                  std::int64_t a_next, std::int64_t prefetch_next) const noexcept;

    // All tiles side by side.
    void run(const jit::GemmArgs& strip, std::int64_t columns) const noexcept;

  private:
    static constexpr int kMostVectors = jit::kMaxTileColumns / 8;
    jit::GemmForm form_;
    int nr_ = 0;
    // By vectors, by the last vector (whole, at most half, more than half), and by the half of a panel that
    // the tile starts in (AVX2).
    GemmKernel kernels_[kMostVectors + 1][3][2];

    // A tile of one vector moves its pointer into the panel's second half instead.
    bool starts_in_half(std::int64_t j, int width) const {
        return width > jit::gemm_lanes(form_.isa) && j % jit::kPanel != 0 && form_.b == jit::GemmB::panels;
    }
    // From B's column 0 to column j: args.b_stride is from row to row, from panel to panel, or from column to
    // column of what is packed for these tiles.
    std::int64_t offset_of(const jit::GemmArgs& args, std::int64_t j, int width) const {
        if (form_.b == jit::GemmB::tile) return j * args.b_stride;
        if (form_.b != jit::GemmB::panels) return j;
        return j / jit::kPanel * args.b_stride + (starts_in_half(j, width) ? 0 : j % jit::kPanel);
    }
    // What a tile at column j prefetches lies that far on: one line of each step, or several, which are as
    // many rows of a panel as the tile has columns.
    std::int64_t target_of(std::int64_t j) const { return form_.prefetch_lines > 1 ? j * jit::kPanel : j; }
    GemmKernel kernel(std::int64_t j, int width) const {
        const int lanes = jit::gemm_lanes(form_.isa);
        return kernels_[(width + lanes - 1) / lanes][tail_of(width)][starts_in_half(j, width)];
    }
    int tail_of(int width) const {
        const int lanes = jit::gemm_lanes(form_.isa), tail = width % lanes;
        return tail == 0 ? 0 : tail <= lanes / 2 ? 1 : 2;
    }
    jit::GemmArgs at(const jit::GemmArgs& strip, std::int64_t j, int width) const noexcept;
    void add_width(int width, const Compiler& compiler);
};

}  // namespace volta::cpu
