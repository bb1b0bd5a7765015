#include "engine/backend/cpu/gemm/tiles.h"

#include <algorithm>
#include <cstring>

#include "engine/base/cpu_info.h"
#include "engine/base/error.h"
#include "engine/base/multiples.h"

namespace volta::cpu {
namespace {

// Earlier rows win ties: the best of a set first. 16x8 exceeds the 16 registers of AVX2 and is emitted as two
// 8x8 halves over the same panel.
constexpr GemmTile kTiles[] = {
    // name                    isa          mr  nr
    {"f32_gemm_8x48_avx512", Isa::avx512, 8, 48},   {"f32_gemm_14x32_avx512", Isa::avx512, 14, 32},
    {"f32_gemm_6x64_avx512", Isa::avx512, 6, 64},   {"f32_gemm_8x32_avx512", Isa::avx512, 8, 32},
    {"f32_gemm_4x64_avx512", Isa::avx512, 4, 64},   {"f32_gemm_16x16_avx512", Isa::avx512, 16, 16},
    {"f32_gemm_12x16_avx512", Isa::avx512, 12, 16}, {"f32_gemm_8x16_avx512", Isa::avx512, 8, 16},
    {"f32_gemm_4x16_avx512", Isa::avx512, 4, 16},   {"f32_gemm_2x64_avx512", Isa::avx512, 2, 64},
    {"f32_gemm_1x64_avx512", Isa::avx512, 1, 64},   {"f32_gemm_6x16_avx2", Isa::avx2, 6, 16},
    {"f32_gemm_4x24_avx2", Isa::avx2, 4, 24},       {"f32_gemm_12x8_avx2", Isa::avx2, 12, 8},
    {"f32_gemm_16x8_avx2", Isa::avx2, 16, 8},       {"f32_gemm_8x8_avx2", Isa::avx2, 8, 8},
    {"f32_gemm_4x8_avx2", Isa::avx2, 4, 8},         {"f32_gemm_3x32_avx2", Isa::avx2, 3, 32},
    {"f32_gemm_2x48_avx2", Isa::avx2, 2, 48},       {"f32_gemm_1x64_avx2", Isa::avx2, 1, 64},
    {"f32_gemm_4x4_scalar", Isa::scalar, 4, 4},
};

}  // namespace

GemmTiles gemm_tiles() { return {kTiles, static_cast<int>(sizeof kTiles / sizeof kTiles[0])}; }

const GemmTile* find_tile(const char* name) {
    for (const GemmTile& tile : kTiles)
        if (std::strcmp(tile.name, name) == 0) return &tile;
    return nullptr;
}

int tile_row(const GemmTile& tile) { return static_cast<int>(&tile - kTiles); }

bool usable(const GemmTile& tile, const CompileContext& context) {
    return tile.isa == Isa::scalar || (includes(context.machine.isa, tile.isa) && context.arena->available());
}

void set_width(jit::GemmForm& form, int width) {
    const int lanes = jit::gemm_lanes(form.isa), tail = width % lanes;
    form.vectors = static_cast<std::uint8_t>((width + lanes - 1) / lanes);
    form.masked = tail != 0;
    form.narrow = form.isa == Isa::avx512 && form.masked && tail <= lanes / 2;
}

int next_width(Isa isa, int nr, std::int64_t remaining) {
    if (remaining <= nr) return static_cast<int>(remaining);
    if (remaining >= 2 * nr) return nr;
    const int lanes = jit::gemm_lanes(isa), vectors = static_cast<int>((remaining + lanes - 1) / lanes);
    return (vectors + 1) / 2 * lanes;
}

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

const GemmTile& forced_tile(const char* name, const CompileContext& context) {
    const GemmTile* const tile = find_tile(name);
    require(tile != nullptr, "there is no product tile named \"%s\"", name);
    if (!usable(*tile, context)) fail(VOLTA_UNSUPPORTED, "the product tile %s cannot run here", tile->name);
    return *tile;
}

const GemmTile& select_tile(const CompileContext& context, std::int64_t m, std::int64_t n, bool in_place,
                            bool a_transposed) {
    if (context.forced_tile) return forced_tile(context.forced_tile, context);
    // The cheapest row; of a narrower instruction set only if it is cheaper by more than the estimate is
    // worth.
    const GemmTile* best = nullptr;
    double best_cycles = 0;
    for (const GemmTile& tile : kTiles) {
        if (!usable(tile, context)) continue;
        if (in_place && tile.isa != Isa::scalar && tile.nr % jit::kPanel != 0) continue;
        if (best && a_transposed && !includes(tile.isa, best->isa)) continue;
        const double cycles = block_cycles(context.machine, tile, m, n);
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

}  // namespace volta::cpu
