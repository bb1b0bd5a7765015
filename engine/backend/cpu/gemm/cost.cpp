#include "engine/backend/cpu/gemm/cost.h"

#include <algorithm>
#include <cmath>

namespace volta::cpu {

double step_cycles(const Machine& machine, Isa isa, int rows, int columns) {
    const int lanes = jit::gemm_lanes(isa);
    const int vectors = (columns + lanes - 1) / lanes;
    if (isa == Isa::scalar) return rows * vectors * lanes * 8.0;  // fma32: about eight cycles each
    // Two FMAs and two loads per cycle (one each, of 64 bytes, where the units are half as wide; broadcasts
    // are not halved), four cycles of latency; a pass for every set of rows that fits registers.
    const int in_registers = jit::gemm_rows_in_registers(isa, vectors);
    const int passes = (rows + in_registers - 1) / in_registers;
    const bool halves = isa == Isa::avx512 && machine.double_pumped_avx512;
    const int units =
        halves ? (columns + lanes / 2 - 1) / (lanes / 2) : vectors;  // a narrow vector is one half
    const double loads = (rows + passes * vectors * (halves ? 2 : 1)) / 2.0;
    return std::max({rows * units / 2.0, loads, passes * 4.0}) + 0.25;
}

double block_cycles(const Machine& machine, const GemmTile& tile, std::int64_t m, std::int64_t n) {
    if (m == 0 || n == 0) return 0;
    const std::int64_t tiles = ceil_div(m, tile.mr);  // heights differ by at most one row
    const int low = static_cast<int>(m / tiles);
    const double high_tiles = static_cast<double>(m % tiles);
    const double low_tiles = static_cast<double>(tiles) - high_tiles;
    const auto column = [&](int columns) {
        return low_tiles * step_cycles(machine, tile.isa, low, columns) +
               (high_tiles > 0 ? high_tiles * step_cycles(machine, tile.isa, low + 1, columns) : 0);
    };
    const std::int64_t whole = std::max<std::int64_t>(0, n / tile.nr - 1);
    double cycles = static_cast<double>(whole) * column(tile.nr);
    for (std::int64_t rest = n - whole * tile.nr; rest > 0;) {
        const int width = next_width(tile.isa, tile.nr, rest);
        cycles += column(width);
        rest -= width;
    }
    return cycles;
}

const GemmTile& cheapest_tile(const Machine& machine, std::int64_t m, std::int64_t n, bool in_place,
                              bool a_transposed) {
    // A row of a narrower instruction set only if it is cheaper by more than the estimate is worth.
    const GemmTile* best = nullptr;
    double best_cycles = 0;
    for (const GemmTile& tile : gemm_tiles()) {
        if (!usable(tile, machine)) continue;
        if (in_place && tile.isa != Isa::scalar && tile.nr % jit::kPanel != 0) continue;
        if (best && a_transposed && !includes(tile.isa, best->isa)) continue;
        const double cycles = block_cycles(machine, tile, m, n);
        // In place, wider tiles win ties, if they read B as few times: they read longer pieces of each row.
        const bool longer =
            in_place && best && tile.nr > best->nr && ceil_div(m, tile.mr) <= ceil_div(m, best->mr);
        // AVX2's short steps do not hide that B comes from L2: reading it more often has to be worth it.
        const bool oftener =
            in_place && best && tile.isa == Isa::avx2 && ceil_div(m, tile.mr) > ceil_div(m, best->mr);
        const double tie = longer ? 1.005 : oftener ? 0.9 : 0.99;
        if (!best || cycles < best_cycles * (tile.isa == best->isa ? tie : 0.95)) {
            best = &tile;
            best_cycles = cycles;
        }
    }
    return *best;
}

double grid_cycles(const Machine& machine, const ProductShape& shape, const Schedule& schedule, int workers) {
    const ThreadTiles tiles(shape, schedule);
    const std::int64_t m = tiles.most_rows(), n = std::min(tiles.most_columns(), shape.n);
    const double turns = static_cast<double>(ceil_div(tiles.count(), workers));
    const double k = static_cast<double>(shape.k);
    double cycles = block_cycles(machine, *schedule.tile, m, n) * k;
    // Also where it costs less than this: threads that share B's columns pack, and hold, less.
    if (schedule.packs_b() && !schedule.is_prepacked())
        cycles += machine.pack_cycles_per_float * k * static_cast<double>(n);
    if (schedule.packs_a()) cycles += machine.pack_cycles_per_float * k * static_cast<double>(m);
    // So few steps hide the writing of C only in part.
    const double bare = 1 - k / jit::kPrefetchCSteps;
    cycles += std::max(bare, 0.0) * machine.write_cycles_per_float * static_cast<double>(m * n);
    return turns * cycles + (workers > 1 ? machine.fork_cycles : 0);
}

double expected_cycles(const Machine& machine, const ProductShape& shape, const Schedule& schedule) {
    const ThreadTiles tiles(shape, schedule);
    const double m = static_cast<double>(tiles.most_rows()), k = static_cast<double>(shape.k);
    const double n = static_cast<double>(std::min(tiles.most_columns(), shape.n));
    const double blocks = schedule.kc > 0 ? static_cast<double>(ceil_div(shape.k, schedule.kc)) : 1;
    double cycles =
        block_cycles(machine, *schedule.tile, tiles.most_rows(), static_cast<std::int64_t>(n)) * k;
    if (schedule.packs_b() && !schedule.is_prepacked())
        cycles += (schedule.packs_on_first_use() ? machine.pack_in_tile_cycles_per_float
                                                 : machine.pack_cycles_per_float) *
                  k * n;
    if (schedule.packs_a())
        cycles += machine.pack_cycles_per_float * k * m *
                  std::ceil(n / static_cast<double>(std::max<std::int64_t>(schedule.nc, 1)));
    cycles += machine.touch_cycles_per_float * m * n * (blocks - 1) *
              (schedule.carries_accumulators(shape.k) ? 2 : 1);
    cycles +=
        machine.call_cycles * blocks * std::ceil(m / schedule.tile->mr) * std::ceil(n / schedule.tile->nr);
    return cycles * static_cast<double>(ceil_div(tiles.count(), std::max(schedule.workers, 1)));
}

}  // namespace volta::cpu
