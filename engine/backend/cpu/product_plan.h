// How a product is cut: parts for the threads, blocks for the caches, tiles for the registers. Sizes only.
#pragma once

#include <cstdint>

#include "engine/backend/cpu/gemm_kernels.h"

namespace volta::cpu {

// `count` items in pieces of at most `most`, their sizes differing by at most one; the larger come first.
struct EvenCut {
    std::int64_t count = 0, pieces = 0;
    EvenCut() = default;
    EvenCut(std::int64_t items, std::int64_t most) : count(items), pieces((items + most - 1) / most) {}
    std::int64_t begin(std::int64_t piece) const {
        const std::int64_t larger = count % pieces;
        return piece * (count / pieces) + (piece < larger ? piece : larger);
    }
    std::int64_t size(std::int64_t piece) const { return begin(piece + 1) - begin(piece); }
};

struct ProductPlan {
    ProductShape shape;  // batches that are one product are folded into m
    const GemmTile* tile = nullptr;
    bool pack_a = false, pack_b = false;
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
