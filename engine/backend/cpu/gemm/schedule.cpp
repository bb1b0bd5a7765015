#include "engine/backend/cpu/gemm/schedule.h"

#include <algorithm>

#include "engine/backend/cpu/gemm/partition.h"
#include "engine/numerics/stored_weights.h"
#include "jitgen/gemm_dot.h"

namespace volta::cpu {
namespace {

constexpr const char* kPackings[] = {"in_place", "per_call", "on_first_use", "prepacked"};
constexpr const char* kAxpyPrefetches[] = {"hardware", "next_lines", "next_rows", "repeated", "stream"};
constexpr const char* kPackedPrefetches[] = {"hardware", "next_panels", "stream"};

long long number(std::int64_t n) { return n; }

void describe_blocked(const Schedule& s, ScheduleText& text) noexcept {
    text.add(
        "blocked tile=%s a=%s b=%s kc=%lld nc=%lld mc=%lld order=%s grid=%lldx%lld workers=%d slices=%lld",
        s.tile->name, kPackings[static_cast<int>(s.a)], kPackings[static_cast<int>(s.b)], number(s.kc),
        number(s.nc), number(s.mc), s.order == LoopOrder::columns ? "columns" : "rows", number(s.m_parts),
        number(s.n_parts), s.workers, number(s.row_slices));
    if (s.transposed_rows > 0) text.add(" transpose_c=%lld", number(s.transposed_rows));
    if (s.prefetch.distance > 0)
        text.add(" prefetch_b=%lld%s", number(s.prefetch.distance), s.prefetch.repeated ? " repeated" : "");
    if (s.prefetch.a) text.add(" prefetch_a");
    if (s.holds_b) text.add(" holds_b");
}

}  // namespace

std::int64_t Schedule::packed_a_stride() const {
    const std::int64_t count = ceil_div(kc, jit::kPanel);
    return (count + 1 - count % 2) * jit::kPanel;
}

void describe(const Problem& problem, Isa isa, const Schedule& s, ScheduleText& text) noexcept {
    const ProductShape& shape = problem.shape;
    if (s.transposed == Transposed::c_tiles) {
        text.add("transposed of: ");
    } else if (s.transposed == Transposed::slices) {
        text.add("transposed slice_rows=%lld workers=%d b=%s c=%s of: ", number(s.slice_rows), s.workers,
                 s.b == Packing::per_call ? "transposed" : "in_place",
                 shape.n == 1 && shape.ldc == 1 ? "in_place" : "transposed");
    } else if (s.algorithm == Algorithm::skinny_axpy) {
        const EvenCut rows(shape.m, jit::kMaxAxpyRows);
        text.add(
            "skinny_axpy rows=%lldx%lld steps=%lld prefetch=%s distance=%lld nc=%lld accumulators=%s:%lld "
            "split=%s n_parts=%lld workers=%d",
            number(rows.pieces), number(rows.size(0)), number(s.steps),
            kAxpyPrefetches[static_cast<int>(s.prefetch.axpy)], number(s.prefetch.distance), number(s.nc),
            s.accumulators_apart ? "apart" : "in_c", number(s.accumulator_stride),
            s.split == Split::k_segments ? "k" : "n", number(s.n_parts), s.workers);
    } else if (s.algorithm == Algorithm::skinny_dot) {
        const std::int64_t tiles = ceil_div(shape.m, jit::dot_rows(isa));
        text.add("skinny_dot tiles=%lldx%lld groups=%lld prefetch=%s reads=%s workers=%d", number(tiles),
                 number(shape.m / tiles), number(s.groups), s.prefetch.stream ? "stream" : "hardware",
                 s.lines ? "lines" : "quarters", s.workers);
    } else if (s.algorithm == Algorithm::prepacked) {
        const EvenCut tiles(shape.m, jit::packed_rows(isa, s.panels));
        const DType format = problem.format == DType::f32 ? DType::f32_panels : problem.format;
        text.add("prepacked format=%s tiles=%lldx%lld panels=%d prefetch=%s%s workers=%d", dtype_name(format),
                 number(std::max<std::int64_t>(tiles.pieces, 1)), number(tiles.low), s.panels,
                 kPackedPrefetches[static_cast<int>(s.prefetch.packed)], s.dequantise ? " dequantise" : "",
                 s.workers);
    } else {
        describe_blocked(s, text);
        if (problem.sums_b()) text.add(" sums_b");
        text.add(" unroll=%d", s.unroll);
    }
}

PlanKey key_of(const ProductShape& shape, const Schedule& schedule) {
    const ThreadTiles tiles(shape, schedule);
    return {tile_row(*schedule.tile),
            schedule.packs_a(),
            schedule.packs_b(),
            schedule.order == LoopOrder::columns,
            schedule.prefetch.distance,
            schedule.unroll,
            schedule.m_parts,
            schedule.n_parts,
            schedule.kc,
            std::min(schedule.nc, tiles.most_columns()),
            std::min(schedule.mc, round_up(tiles.most_rows(), schedule.tile->mr))};
}

}  // namespace volta::cpu
