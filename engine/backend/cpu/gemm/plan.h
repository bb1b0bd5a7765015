// How a product is cut: parts for the threads, blocks for the caches, tiles for the registers. Sizes only.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "engine/backend/cpu/gemm/tiles.h"

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

// A B of this many elements or more lies beyond L2: reading it again costs.
inline constexpr std::int64_t kL2Floats = 512 * 1024;
// Multiply-adds, about, of what threads take from each other: tens of microseconds.
inline constexpr double kUnitSteps = 2e6;
// Threads that share the columns of a product of few rows meet at multiples of so many.
inline constexpr std::int64_t kCutColumns = 64;

// Is A one row whose elements follow each other?
inline bool has_plain_row(const ProductShape& shape) {
    return shape.m == 1 && (!shape.a_transposed || shape.lda == 1);
}
// `steps` elements of such a row, which other threads have just written: all of their lines are prefetched at
// once, lest they come one by one, at the pace of the steps that need them.
inline void prefetch_row(const ProductShape& shape, const float* a, std::int64_t steps) {
    constexpr std::int64_t kMostPrefetched = 4096, kLine = 16;
    if (!has_plain_row(shape)) return;
    for (std::int64_t i = 0; i < std::min(steps, kMostPrefetched); i += kLine) __builtin_prefetch(a + i);
}

// A batch whose entries share B and follow each other in A and C is one taller product.
ProductShape folded(ProductShape shape);

struct ProductPlan {
    Machine machine;
    ProductShape shape;  // folded
    const GemmTile* tile = nullptr;
    bool pack_a = false, pack_b = false;
    bool prepacked = false;  // B is packed once, not by each call
    // The order of tiles inside a block: packed columns of B stay in L2, so a tile of rows, which fits L1,
    // takes them all in turn; columns that come from further away take all rows of the block in turn.
    bool columns_outside = false;
    int prefetch = 0;                       // of B, in steps of k; 0: left to the hardware
    bool repeated_prefetch = false;         // for a line of B twice: memory drops what L3 does not
    bool prefetch_a = false;                // tiles prefetch the rows of A that the next ones read
    std::int64_t transposed_rows = 0;       // C is transposed, so many of its rows at a time; 0: it is not
    int unroll = 4;                         // steps of k per iteration of the kernel's loop
    std::int64_t m_parts = 1, n_parts = 1;  // parts of one batch entry: threads never split k
    std::int64_t depth = 0;                 // steps of k per pass over C
    std::int64_t nc = 0;                    // columns packed (or walked) at a time, a multiple of tile->nr
    std::int64_t mc = 0;                    // rows walked per turn, at least a tile
    int workers = 1;

    std::int64_t parts() const { return shape.batch * m_parts * n_parts; }
    // The first tile of rows packs B while it computes: nearly for nothing, where its steps last long enough
    // to hide that each begins a new row of B. AVX2's do so only where a thread's columns of B lie in L2.
    // Where rows of B lie further apart than pages, each step would miss the TLB as well, and copying rows by
    // themselves is faster.
    bool packs_on_first_use() const {
        const bool is_hidden = tile->isa == Isa::avx512 || shape.k * shape.n <= n_parts * kNearFloats;
        return pack_b && !prepacked && !shape.b_transposed && shape.ldb <= kFarRow && is_hidden;
    }
    static constexpr std::int64_t kFarRow = 16384, kNearFloats = 128 * 1024;
    // A group that a thread has copied to the end of k serves all slices of its rows.
    bool holds_all_passes() const {
        const bool in_slices = workers > 1 || transposed_rows > 0;
        return in_slices && pack_b && !prepacked && !packs_on_first_use() && !carries_accumulators() &&
               group_fits();
    }
    bool group_fits() const { return nc * shape.k <= kMostHeldFloats; }
    static constexpr std::int64_t kMostHeldFloats = 1024 * 1024;
    // Steps of k ahead that the packing tile prefetches, into L2: a row of B per step is no stream to the
    // hardware.
    int packing_prefetch() const { return prefetch > 0 ? prefetch : 32; }
    // Does a pass leave chains unfinished, for the next one to go on with?
    bool carries_accumulators() const { return depth < shape.k && depth % jit::kSegment != 0; }
    // Floats from row to row of a copied A that is not transposed: whole lines, never a power of two of them,
    // so that rows do not meet in one set of the cache.
    std::int64_t packed_a_stride() const;
    // Rows of m-part i; columns of n-part j: cut at multiples of the tile's columns.
    std::int64_t row_begin(std::int64_t i) const { return shape.m * i / m_parts; }
    std::int64_t column_begin(std::int64_t j) const;
    // Groups of nc in an n-part.
    std::int64_t groups() const;
    // Floats of B packed once, and where group g of n-part j, which starts at this column of B, lies among
    // them: whole panels, all k of a group together, pass after pass.
    std::int64_t prepacked_floats() const;
    std::int64_t prepacked_begin(std::int64_t j, std::int64_t g, std::int64_t column) const;
    std::int64_t most_rows() const { return (shape.m + m_parts - 1) / m_parts; }  // of a part
};

// The default rules, with what `choice` says instead. Throws INVALID_ARGUMENT when the choice is outside its
// limits or the shape cannot have it (B stored transposed and not packed), UNSUPPORTED when its tile cannot
// run here.
ProductPlan plan_product(const ProductShape& shape, bool whole_rows, const CompileContext& context,
                         const ProductChoice& choice);

// How long the busiest thread takes, in cycles: arithmetic, packing, traffic of C and calls of kernels.
// Enough to leave out what cannot win; the caches are left to measurement.
double expected_cycles(const ProductPlan& plan);

// What of a plan its speed depends on: plans of one shape with equal keys run the same way, whatever choices
// led to them.
using PlanKey = std::array<std::int64_t, 11>;
PlanKey key_of(const ProductPlan& plan);

}  // namespace volta::cpu
