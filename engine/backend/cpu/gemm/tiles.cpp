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

bool usable(const GemmTile& tile, const Machine& machine) {
    return tile.isa == Isa::scalar || (includes(machine.isa, tile.isa) && machine.code);
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

const GemmTile& forced_tile(const char* name, const Machine& machine) {
    const GemmTile* const tile = find_tile(name);
    require(tile != nullptr, "there is no product tile named \"%s\"", name);
    if (!usable(*tile, machine)) fail(VOLTA_UNSUPPORTED, "the product tile %s cannot run here", tile->name);
    return *tile;
}

}  // namespace volta::cpu
