// Data for tests: floats from a fixed seed, over many binades and with the special values, and comparison of
// bits.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "tests/support/cmocka_cpp.h"

namespace volta::test {

// SplitMix64: small, fixed, independent of the engine's own generator.
struct Random {
    std::uint64_t state;
    explicit Random(std::uint64_t seed) : state(seed) {}
    std::uint64_t next() {
        std::uint64_t z = (state += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    std::int64_t below(std::int64_t n) {
        return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(n));
    }
    float uniform() { return static_cast<float>(next() >> 40) * 0x1p-24f; }  // [0, 1)
};

// [-1, 1) | over 40 binades | also +-0, +-Inf, NaN, subnormals | +-0 and what multiplies to +-0
enum class Data { plain, binades, special, vanishing };

inline float random_float(Random& random, Data data) {
    const float x = random.uniform() * 2 - 1;
    if (data == Data::plain) return x;
    if (data == Data::vanishing) return std::copysign(random.below(2) ? 0x1p-100f : 0.0f, x);
    if (data == Data::special) {
        const float inf = std::numeric_limits<float>::infinity();
        const float specials[] = {0.0f,   -0.0f,   inf,     -inf,    std::numeric_limits<float>::quiet_NaN(),
                                  1e-42f, -3e-45f, 3.4e38f, -3.4e38f};
        if (random.below(16) == 0) return specials[random.below(9)];
    }
    return std::ldexp(x, static_cast<int>(random.below(40)) - 20);
}

inline std::vector<float> random_floats(std::int64_t count, std::uint64_t seed, Data data = Data::plain) {
    Random random(seed);
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) value = random_float(random, data);
    return values;
}

inline std::uint32_t bits_of(float x) {
    std::uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return x != x ? 0x7fc00000u : bits;  // any NaN equals any NaN
}

// Index of the first element whose bits differ, or -1.
inline std::int64_t first_difference(const float* expected, const float* actual, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
        if (bits_of(expected[i]) != bits_of(actual[i])) return i;
    return -1;
}

// Prints name, element and both values in hex, and fails the test.
inline void assert_same_bits(const char* name, const float* expected, const float* actual,
                             std::int64_t count) {
    const std::int64_t i = first_difference(expected, actual, count);
    if (i >= 0)
        print_error("%s: element %lld: expected %a (%08x), got %a (%08x)\n", name, static_cast<long long>(i),
                    static_cast<double>(expected[i]), bits_of(expected[i]), static_cast<double>(actual[i]),
                    bits_of(actual[i]));
    assert_true(i < 0);
}

}  // namespace volta::test
