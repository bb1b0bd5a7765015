// One pass of a product in tiles over its C, and what each of its tiles does beside computing.
#pragma once

#include <cstdint>

#include "engine/backend/cpu/gemm/plan.h"

namespace volta::cpu {

// Columns [column, column + columns) and steps [step, step + depth) of a part.
struct KBlock {
    std::int64_t column, columns, step, depth;
    const float* b;
    std::int64_t ldb;       // from row to row, or, packed, from column to column
    const float* unpacked;  // the first tile of rows reads B here and packs it into `b`; NULL: it is packed
    const float* next;      // what the next pass packs; NULL: nothing
    bool add, last;
    bool into;                 // C has an operand that the chains are added to
    bool finds_a;              // another group of the same rows went before
    bool resumed, unfinished;  // it goes on with chains in scratch memory; it leaves them there
    std::int64_t first_tile, end_tile, tiles;  // of the part's rows
};

enum class TileUse : std::uint8_t { plain, packing, prefetching };
inline constexpr TileUse kTileUses[] = {TileUse::plain, TileUse::packing, TileUse::prefetching};

// What a tile prefetches, a line with each step of k: the rows of A of so many tiles below, or a column of
// lines of B.
struct Prefetched {
    std::int64_t tiles = 0;
    const float* b = nullptr;
    explicit operator bool() const { return tiles > 0 || b; }
};
inline constexpr std::int64_t kPrefetchedTiles = 2;

// Where tiles prefetch A's rows, all do whose B is packed before, and of a B in place those below the
// first, until A has been read once. Of the next pass's B a tile prefetches for one line of every step, until
// all that one column of tiles will read is in L2: every other tile, if there are enough, since lines
// from a distant core come more slowly than one with each step. The ones between prefetch A's rows.
inline Prefetched prefetched_by(const ProductPlan& plan, const KBlock& pass, std::int64_t tile) {
    if (plan.prefetch_a && !plan.packs_on_first_use())
        return {plan.pack_b || (tile > pass.first_tile && !pass.finds_a) ? 1 : 0, nullptr};
    const std::int64_t lines = (plan.tile->nr + jit::kPanel - 1) / jit::kPanel, below = tile - 1;
    const bool takes_turns = pass.tiles > 2 * lines;
    if (below < 0) return {};
    if (takes_turns && below % 2 == 0)
        return {plan.prefetch_a && !pass.finds_a ? kPrefetchedTiles : 0, nullptr};
    const std::int64_t line = takes_turns ? below / 2 : below;
    return {0, pass.next && line < lines ? pass.next + line * jit::kPanel : nullptr};
}

inline TileUse tile_use(const ProductPlan& plan, const KBlock& pass, std::int64_t tile) {
    if (tile == pass.first_tile && pass.unpacked) return TileUse::packing;
    return prefetched_by(plan, pass, tile) ? TileUse::prefetching : TileUse::plain;
}

// One past the last tile of the same use that one call may take.
inline std::int64_t end_of_use(const ProductPlan& plan, const KBlock& pass, std::int64_t tile) {
    const bool goes_on = (plan.prefetch_a && !plan.packs_on_first_use()) || (!pass.unpacked && !pass.next);
    return goes_on && tile_use(plan, pass, tile) == tile_use(plan, pass, tile + 1) ? pass.end_tile : tile + 1;
}

}  // namespace volta::cpu
