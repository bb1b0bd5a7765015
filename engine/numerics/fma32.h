// The contract's fused multiply-add in plain C++. std::fma is libm's emulation where the baseline CPU has no
// FMA: slow, and one more libm to trust.
#pragma once

#include <cstdint>
#include <cstring>

namespace volta {

// fma(a, b, c) with one rounding. The product of two floats is exact in double; the sum is rounded to odd in
// double, so that rounding it to float afterwards rounds only once (Boldo and Melquiond, 2008).
inline float fma32(float a, float b, float c) {
    const double product = static_cast<double>(a) * b;
    double sum = product + c;
    // TwoSum: `error` is what the addition rounded away, exactly.
    const double rounded_c = sum - product;
    const double error = (product - (sum - rounded_c)) + (c - rounded_c);
    std::uint64_t bits;
    std::memcpy(&bits, &sum, sizeof bits);
    const bool finite = ((bits >> 52) & 0x7ff) != 0x7ff;
    if (finite && error != 0 && (bits & 1) == 0) {
        // One ulp toward the error makes the last bit odd: away from zero when error and sum agree in sign.
        bits += ((error > 0) == (sum > 0)) ? 1 : static_cast<std::uint64_t>(-1);
        std::memcpy(&sum, &bits, sizeof sum);
    }
    return static_cast<float>(sum);
}

}  // namespace volta
