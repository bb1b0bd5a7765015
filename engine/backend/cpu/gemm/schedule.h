// Every free thing about a product as one value: rules decide it (rules.h), tuning searches it, a driver
// executes it. No schedule changes a bit of a result (docs/numerics.md, 2).
#pragma once

#include <array>
#include <cstdint>

#include "engine/backend/cpu/gemm/problem.h"
#include "engine/backend/cpu/gemm/schedule_text.h"
#include "engine/backend/cpu/gemm/tiles.h"
#include "jitgen/gemm_axpy.h"
#include "jitgen/gemm_packed.h"

namespace volta::cpu {

enum class Algorithm : std::uint8_t {
    blocked,      // register tiles in blocks for the caches
    skinny_axpy,  // few rows: all columns of C go on together, a few steps of k at a time
    skinny_dot,   // few rows, B stored as its transpose: every output is a dot product of two rows
    prepacked     // B lies in panels, which are read one after the other: packed weights, and rows of f32
};
enum class Transposed : std::uint8_t {
    no,
    c_tiles,  // C' = B' A', of which tiles are transposed into C
    slices    // C' = B' A', of a slice of C's rows at a time
};
enum class Packing : std::uint8_t { in_place, per_call, on_first_use, prepacked };
// Columns outside: they take all rows of the block in turn. Rows outside: they take all columns of the panel.
enum class LoopOrder : std::uint8_t { columns, rows };
enum class Split : std::uint8_t {
    grid,       // threads have tiles of C
    columns,    // threads have columns of B each
    k_segments  // threads have segments of k, whose accumulators are added in order
};

struct Prefetch {
    std::int64_t distance = 0;  // of B, in steps of k; 0: left to the hardware
    bool repeated = false;      // a line of B twice: DRAM drops what L3 does not
    std::int64_t packing =
        0;                // of a B that is packed on first use, into L2: a row of B per step is no stream
    bool a = false;       // tiles prefetch the rows of A that the next ones read
    bool stream = false;  // dot form: as many bytes ahead as are read
    jit::AxpyPrefetch axpy = jit::AxpyPrefetch::none;
    jit::PackedPrefetch packed = jit::PackedPrefetch::none;
};

struct Schedule {
    Algorithm algorithm = Algorithm::blocked;
    Transposed transposed = Transposed::no;
    const GemmTile* tile = nullptr;  // blocked
    Packing a = Packing::in_place, b = Packing::in_place;
    std::int64_t kc = 0;  // steps of k per K block
    std::int64_t nc = 0;  // columns packed (or walked) at a time, whole tiles
    std::int64_t mc = 0;  // rows walked at a time, at least a tile
    LoopOrder order = LoopOrder::rows;
    Split split = Split::grid;
    std::int64_t m_parts = 1, n_parts = 1;
    int workers = 1;
    std::int64_t row_slices = 1;       // of a thread tile's rows: with panels the work items
    std::int64_t transposed_rows = 0;  // of a transposed C, so many at a time; 0: it is not transposed
    bool holds_b = false;              // the copy of an N panel has all of k, and serves all slices of rows
    Prefetch prefetch;
    int unroll = 4;  // steps of k per iteration of the kernel's loop

    std::int64_t steps = 1, rest_steps = 1;  // skinny_axpy: of k per call; of what is left of more
    bool accumulators_apart = false;         // skinny_axpy: from C, in scratch memory
    std::int64_t accumulator_stride = 0;
    std::int64_t groups = 1;            // skinny_dot: of 16 outputs at once
    bool lines = false;                 // skinny_dot: rows of B by whole lines
    int panels = 1;                     // prepacked: of a tile
    int panels_without_shared_llc = 0;  // prepacked: where the threads' cores share no LLC; 0: the same
    bool dequantise = false;            // prepacked: a segment's weights once, for several tiles of rows
    std::int64_t slice_rows = 0;        // Transposed::slices

    bool packs_a() const { return a != Packing::in_place; }
    bool packs_b() const { return b != Packing::in_place; }
    bool packs_on_first_use() const { return b == Packing::on_first_use; }
    bool is_prepacked() const { return b == Packing::prepacked; }
    // Does a K block of so many steps leave accumulators unfinished, for the next one to go on with?
    bool carries_accumulators(std::int64_t k) const { return kc < k && kc % jit::kSegment != 0; }
    // Floats from row to row of a copied A that is not transposed: whole lines, never a power of two of them,
    // so that rows do not meet in one set of the cache.
    std::int64_t packed_a_stride() const;
};

// Appends it in words.
void describe(const Problem& problem, Isa isa, const Schedule& schedule, ScheduleText& text) noexcept;

// What of a blocked schedule its speed depends on: those of one shape with equal keys run the same way,
// whatever choices led to them.
using PlanKey = std::array<std::int64_t, 11>;
PlanKey key_of(const ProductShape& shape, const Schedule& schedule);

}  // namespace volta::cpu
