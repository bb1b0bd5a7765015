// How a product is cut: parts for the threads, blocks for the caches, tiles for the registers. Sizes only.
#pragma once

#include <cstdint>

#include "engine/backend/cpu/gemm_kernels.h"

namespace volta::cpu {

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

struct ProductPlan {
    ProductShape shape;  // batches that are one product are folded into m
    const GemmTile* tile = nullptr;
    bool pack_a = false, pack_b = false;
    // The order of tiles inside a block: packed columns of B stay in L2, so a tile of rows, which fits L1,
    // takes them all in turn; columns that come from further away take all rows of the block in turn.
    bool columns_outside = false;
    int prefetch = 0;                       // of B, in steps of k; 0: left to the hardware
    std::int64_t m_parts = 1, n_parts = 1;  // parts of one batch entry: threads never split k
    std::int64_t depth = 0;                 // steps of k per pass over C: k, or a multiple of kSegment
    std::int64_t panel_columns = 0;         // columns packed (or walked) at a time, a multiple of tile->nr
    std::int64_t block_rows = 0;            // rows walked per turn, at least a tile
    int workers = 1;

    std::int64_t parts() const { return shape.batch * m_parts * n_parts; }
    // Rows of m-part i; columns of n-part j: cut at multiples of the tile's columns.
    std::int64_t row_begin(std::int64_t i) const { return shape.m * i / m_parts; }
    std::int64_t column_begin(std::int64_t j) const;
};

ProductPlan plan_product(const ProductShape& shape, bool whole_rows, const CompileContext& context);

}  // namespace volta::cpu
