// How work is cut: even cuts, the tiles of C that threads compute, and the items that they steal from each
// other.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/backend/cpu/gemm/schedule.h"
#include "engine/base/multiples.h"

namespace volta::cpu {

inline constexpr std::int64_t kCutColumns =
    64;  // fixed: threads that share columns meet at multiples of so many

// `count` items in pieces of at most `most`, their sizes differing by at most one; the larger come first.
struct EvenCut {
    std::int64_t pieces = 0, low = 0,
                 larger = 0;  // the first `larger` pieces have low + 1 items, the others low
    EvenCut() = default;
    EvenCut(std::int64_t count, std::int64_t most)
        : pieces((count + most - 1) / most),
          low(pieces > 0 ? count / pieces : 0),
          larger(pieces > 0 ? count % pieces : 0) {}
    std::int64_t begin(std::int64_t piece) const { return piece * low + (piece < larger ? piece : larger); }
    std::int64_t size(std::int64_t piece) const { return low + (piece < larger); }
};

// The tiles of C that threads of a blocked product have: m_parts x n_parts of each entry of the batch.
// Threads never split k.
struct ThreadTiles {
    ProductShape shape;  // folded
    int nr = 1;          // of the register tile
    std::int64_t m_parts = 1, n_parts = 1, nc = 1, kc = 0;

    ThreadTiles() = default;
    ThreadTiles(const ProductShape& of, const Schedule& schedule)
        : shape(of),
          nr(schedule.tile->nr),
          m_parts(schedule.m_parts),
          n_parts(schedule.n_parts),
          nc(schedule.nc),
          kc(schedule.kc) {}

    std::int64_t count() const { return shape.batch * m_parts * n_parts; }
    // Rows of m-part i; columns of n-part j: cut at multiples of the tile's columns.
    std::int64_t row_begin(std::int64_t i) const { return shape.m * i / m_parts; }
    std::int64_t column_begin(std::int64_t j) const {
        return std::min(tiles_of_n() * j / n_parts * nr, shape.n);
    }
    std::int64_t most_rows() const { return (shape.m + m_parts - 1) / m_parts; }
    std::int64_t most_columns() const { return ceil_div(tiles_of_n(), n_parts) * nr; }
    // N panels, of nc columns, in an n-part.
    std::int64_t panels() const { return ceil_div(most_columns(), std::max<std::int64_t>(nc, 1)); }
    // Floats of a B packed once, and where panel g of n-part j, which starts at this column of B, lies among
    // them: whole packed panels, all k of a panel together, K block after K block. A panel of w columns at
    // column c may take one more than its columns' share of them.
    std::int64_t prepacked_floats() const {
        return (round_up(shape.n, jit::kPanel) + jit::kPanel * n_parts * panels()) * shape.k;
    }
    std::int64_t prepacked_begin(std::int64_t j, std::int64_t g, std::int64_t column) const {
        return (column / jit::kPanel + j * panels() + g) * jit::kPanel * shape.k;
    }

  private:
    std::int64_t tiles_of_n() const { return ceil_div(shape.n, nr); }
};

}  // namespace volta::cpu
