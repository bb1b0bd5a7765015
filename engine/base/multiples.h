// How many pieces cover an extent, and where the last one ends. Extents of tensors: a >= 0, b >= 1, and a + b
// does not overflow.
#pragma once

#include <cstdint>

namespace volta {

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) { return ceil_div(a, b) * b; }

}  // namespace volta
