// The grid that tuning searches: what every field of a choice may be. A test runs all of it and compares
// bytes, so a value is added here and nowhere else.
#pragma once

#include "engine/backend/cpu/gemm/choice.h"

namespace volta::cpu {

// Blocks. K: the classic values, which end inside segments, then whole segments and all of k. M: the classic
// values and larger. N: columns of a packed panel group, in whole tiles.
inline constexpr std::int32_t kBlocksOfK[] = {0, 64, 96, 128, 160, 192, 256, 512, 1024, 2048, kWholeExtent};
inline constexpr std::int32_t kBlocksOfM[] = {0, 32, 48, 64, 96, 128, 192, 256, 512, kWholeExtent};
inline constexpr std::int32_t kBlocksOfN[] = {0, 48, 96, 192, 384, 768, 1536, kWholeExtent};

inline constexpr TileOrder kTileOrders[] = {TileOrder::rule, TileOrder::columns, TileOrder::rows};
inline constexpr std::uint8_t kPrefetches[] = {0, kNoPrefetch, 4, 8, 16};
inline constexpr std::uint8_t kUnrolls[] = {0, 2, 4, 8};
inline constexpr Toggle kPackings[] = {Toggle::rule, Toggle::yes, Toggle::no};

}  // namespace volta::cpu
