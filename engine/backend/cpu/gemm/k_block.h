// A K block of a product in tiles: one walk over its C, and what each of its tiles does beside computing.
#pragma once

#include <cstdint>

#include "engine/backend/cpu/gemm/schedule.h"

namespace volta::cpu {

// Columns [column, column + columns) and steps [step, step + depth) of a part.
struct KBlock {
    std::int64_t column, columns, step, depth;
    const float* b;
    std::int64_t ldb;       // from row to row, or, packed, from column to column
    const float* unpacked;  // the first tile of rows reads B here and packs it into `b`; NULL: it is packed
    const float* next;      // what the next one packs; NULL: nothing
    bool add, last;
    bool into;                 // C has an operand that the segments are added to
    bool finds_a;              // another panel of the same rows went before
    bool resumed, unfinished;  // it goes on with accumulators in scratch memory; it leaves them there
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
inline constexpr std::int64_t kPrefetchedTiles = 2;  // fixed: of which a tile prefetches rows of A

// Where tiles prefetch A's rows, all do whose B is packed before, and of a B in place those below the
// first, until A has been read once. Of the next K block's B a tile prefetches one line of every step, until
// all that one column of tiles will read is in L2: every other tile, if there are enough, since lines
// from a distant core come more slowly than one with each step. The ones between prefetch A's rows.
inline Prefetched prefetched_by(const Schedule& schedule, const KBlock& block, std::int64_t tile) {
    if (schedule.prefetch.a && !schedule.packs_on_first_use())
        return {schedule.packs_b() || (tile > block.first_tile && !block.finds_a) ? 1 : 0, nullptr};
    const std::int64_t lines = (schedule.tile->nr + jit::kPanel - 1) / jit::kPanel, below = tile - 1;
    const bool takes_turns = block.tiles > 2 * lines;
    if (below < 0) return {};
    if (takes_turns && below % 2 == 0)
        return {schedule.prefetch.a && !block.finds_a ? kPrefetchedTiles : 0, nullptr};
    const std::int64_t line = takes_turns ? below / 2 : below;
    return {0, block.next && line < lines ? block.next + line * jit::kPanel : nullptr};
}

inline TileUse tile_use(const Schedule& schedule, const KBlock& block, std::int64_t tile) {
    if (tile == block.first_tile && block.unpacked) return TileUse::packing;
    return prefetched_by(schedule, block, tile) ? TileUse::prefetching : TileUse::plain;
}

// One past the last tile of the same use that one call may take.
inline std::int64_t end_of_use(const Schedule& schedule, const KBlock& block, std::int64_t tile) {
    const bool goes_on =
        (schedule.prefetch.a && !schedule.packs_on_first_use()) || (!block.unpacked && !block.next);
    return goes_on && tile_use(schedule, block, tile) == tile_use(schedule, block, tile + 1) ? block.end_tile
                                                                                             : tile + 1;
}

}  // namespace volta::cpu
