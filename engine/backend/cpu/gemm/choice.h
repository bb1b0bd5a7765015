// What is free about a product, as one small value: tile, blocks, loop order, prefetch, unrolling, packing.
// Zero is the default rule of every field, so ProductChoice{} is what runs without tuning. No choice changes
// a bit of a result (docs/numerics.md, 2): it is about speed only.
#pragma once

#include <cstdint>

#include "engine/backend/tuning/choice_text.h"

namespace volta::cpu {

enum class Toggle : std::uint8_t { rule, yes, no };
enum class TileOrder : std::uint8_t {
    rule,
    columns,  // columns of tiles outside: they take all rows of the block in turn
    rows      // rows of tiles outside: they take all columns of the pass in turn
};

inline constexpr std::int32_t kWholeExtent = 1 << 20;  // fixed: a block that is the whole extent
inline constexpr std::uint8_t kMostPrefetch = 64;      // fixed: limits of a choice
inline constexpr std::uint8_t kNoPrefetch = 255;       // fixed: a value of its own

struct ProductChoice {
    std::int32_t tile = 0;  // 1 + the row of the tile table
    // Steps of k per pass over C. A block that ends inside a segment leaves its chains unfinished in scratch
    // memory; it becomes the whole segment where that scratch would exceed 16 MiB.
    std::int32_t k_block = 0;
    std::int32_t m_block = 0;  // rows walked per turn: in whole tiles, at least one
    std::int32_t n_block = 0;  // columns packed (or walked) at a time: likewise, at most 16 MiB of them
    TileOrder order = TileOrder::rule;
    std::uint8_t prefetch = 0;  // of B, in steps of k; kNoPrefetch: none
    std::uint8_t unroll = 0;    // steps of k per iteration of the kernel's loop
    Toggle pack_a = Toggle::rule, pack_b = Toggle::rule;
};
bool operator==(const ProductChoice& x, const ProductChoice& y);
inline bool operator!=(const ProductChoice& x, const ProductChoice& y) { return !(x == y); }

// Throws INVALID_ARGUMENT naming field and value if a field is outside its limits. What a shape or a
// processor cannot do is found by decide().
void check(const ProductChoice& choice);

// "f32_gemm_8x48_avx512 k_block=128 m_block=all order=rows prefetch=8 unroll=4 pack_a=yes pack_b=no", only
// the fields that are not the rule; "" for the default.
ChoiceText to_text(const ProductChoice& choice);

// The other way round, for tests and tools. Throws INVALID_ARGUMENT naming the word that is none.
ProductChoice parse_choice(const char* text);

}  // namespace volta::cpu
