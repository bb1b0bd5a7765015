// Types of 16 bits that weights are stored in and nothing computes with: how each becomes f32 and back
// (docs/numerics.md, 5, "Packed weights"). Integer arithmetic, so every machine gives the same bits.
#pragma once

#include <cstdint>
#include <cstring>

namespace volta {

inline float float_of_bits(std::uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

inline constexpr std::uint32_t kQuietNan = 0x7fc00000u;

// Exact: f32 has every value of f16, its subnormals as normal numbers. A NaN becomes the quiet NaN.
inline float f32_from_f16(std::uint16_t half) {
    const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
    std::uint32_t exponent = half >> 10 & 31u, mantissa = half & 1023u;
    if (exponent == 31) return float_of_bits(mantissa != 0 ? kQuietNan : sign | 0x7f800000u);
    if (exponent == 0) {
        if (mantissa == 0) return float_of_bits(sign);
        for (exponent = 1; (mantissa & 1024u) == 0; mantissa <<= 1) --exponent;  // may wrap below 0, and back
        mantissa &= 1023u;
    }
    return float_of_bits(sign | (exponent + (127u - 15u)) << 23 | mantissa << 13);
}

// Exact: bf16 is the upper half of an f32. A NaN becomes the quiet NaN.
inline float f32_from_bf16(std::uint16_t half) {
    const bool nan = (half & 0x7fffu) > 0x7f80u;
    return float_of_bits(nan ? kQuietNan : static_cast<std::uint32_t>(half) << 16);
}

// Round to nearest, ties to even; subnormals are kept; what is too large becomes infinite, a NaN the quiet
// NaN.
inline std::uint16_t bf16_from_f32(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fc0u;
    return static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}
inline std::uint16_t f16_from_f32(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    const std::uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return 0x7e00u;
    if (magnitude >= 0x47800000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // 65536 and more
    // The significand with its leading one, and how many of its bits are beyond what f16 keeps.
    const std::uint32_t exponent = magnitude >> 23;
    if (exponent < 102) return static_cast<std::uint16_t>(sign);  // below half of the least subnormal
    const std::uint32_t significand = (magnitude & 0x7fffffu) | 0x800000u;
    const std::uint32_t cut = exponent >= 113 ? 13 : 126 - exponent;
    const std::uint32_t kept = significand >> cut, rest = significand & ((1u << cut) - 1),
                        half = 1u << (cut - 1);
    const std::uint32_t rounded = kept + (rest > half || (rest == half && (kept & 1u)) ? 1u : 0u);
    // A normal number's leading one adds 1 to the exponent; a carry goes on into it, up to infinity.
    return static_cast<std::uint16_t>(sign | (rounded + (exponent >= 113 ? (exponent - 113) << 10 : 0)));
}

inline std::uint16_t load_u16(const unsigned char* bytes) {  // little-endian, at any address
    return static_cast<std::uint16_t>(bytes[0] | bytes[1] << 8);
}

inline float load_f32(const unsigned char* bytes) {  // little-endian, at any address
    return float_of_bits(load_u16(bytes) | static_cast<std::uint32_t>(load_u16(bytes + 2)) << 16);
}

}  // namespace volta
