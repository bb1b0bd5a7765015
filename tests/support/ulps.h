// Floats by their bits, and how far a result is from the real number that it should be.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace volta::test {

inline float float_of_bits(std::uint32_t bits) {
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

// |y - reference| in units of the last place of the float nearest the reference. A NaN, an infinity or a sign
// of zero in the wrong place is an infinite error.
inline double error_in_ulps(float y, double reference) {
    constexpr double kWrong = std::numeric_limits<double>::infinity();
    const float rounded = static_cast<float>(reference);
    if (std::isnan(reference) || std::isinf(rounded))
        return std::isnan(reference) ? (y != y ? 0 : kWrong) : (y == rounded ? 0 : kWrong);
    if (y != y || std::isinf(y)) return kWrong;
    if (reference == 0) return y == 0 && std::signbit(y) == std::signbit(reference) ? 0 : kWrong;
    std::uint64_t bits;
    std::memcpy(&bits, &reference, sizeof bits);
    const int exponent =
        static_cast<int>(bits >> 52 & 0x7ff) - 1023;  // of the binade that the reference lies in
    const int last_place = std::max(exponent - 23, -149);
    double ulps_per_unit;
    bits = static_cast<std::uint64_t>(1023 - last_place) << 52;
    std::memcpy(&ulps_per_unit, &bits, sizeof bits);
    return std::fabs(static_cast<double>(y) - reference) * ulps_per_unit;
}

// Every `stride`-th float, and around each edge of a binade. A prime meets every binade and every low bit.
inline std::vector<float> sampled_floats(std::uint32_t stride) {
    std::vector<float> x;
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += stride)
        x.push_back(float_of_bits(static_cast<std::uint32_t>(bits)));
    for (std::uint32_t exponent = 0; exponent < 512; ++exponent)
        for (int near = -2; near <= 2; ++near)
            x.push_back(float_of_bits((exponent << 23) + static_cast<std::uint32_t>(near)));
    return x;
}

}  // namespace volta::test
