// Blocks of other programs' weights: how each becomes f32 (docs/numerics.md, 5, "Weights of other programs").
// A block holds integers and what they are scaled by. Every product here has at most 24 significant bits and
// so is exact; where something is taken off or added, that is the one rounding. A NaN is the quiet NaN.
#pragma once

#include "engine/numerics/storage_types.h"

namespace volta {

// Of 32 values, whose nibbles are those of the first 16 in the low halves of bytes. d, m: f16.
inline constexpr int kBlockValues = 32;
inline constexpr int kQ80BlockBytes = 34;    // d, 32 x int8:                   y = d * q
inline constexpr int kQ40BlockBytes = 18;    // d, 16 x 2 nibbles:              y = d * (q - 8)
inline constexpr int kQ41BlockBytes = 20;    // d, m, 16 x 2 nibbles:           y = d * q + m
inline constexpr int kQ50BlockBytes = 22;    // d, 32 fifth bits, nibbles:      y = d * (q - 16)
inline constexpr int kQ51BlockBytes = 24;    // d, m, 32 fifth bits, nibbles:   y = d * q + m
inline constexpr int kIq4NlBlockBytes = 18;  // d, nibbles:                     y = d * kIq4Values[q]
inline constexpr int kMxfp4BlockBytes = 17;  // an exponent e, nibbles:         y = 2^(e-128) * kFp4Values[q]

// Of 256 values, in groups of 16 or 32 with integers of their own by which d and m are multiplied.
inline constexpr int kSuperBlockValues = 256;
inline constexpr int kQ2KBlockBytes = 84;  // 16 x (4 bits, 4 bits), 2 bits each, d, m:  y = d s * q - m t
inline constexpr int kQ3KBlockBytes =
    110;  // third bits, 2 bits each, 16 x 6 bits, d:   y = d (s - 32) * (q - 4)
inline constexpr int kQ4KBlockBytes = 144;  // d, m, 8 x (6 bits, 6 bits), nibbles:       y = d s * q - m t
inline constexpr int kQ5KBlockBytes = 176;  // the same with fifth bits before nibbles:   y = d s * q - m t
inline constexpr int kQ6KBlockBytes = 210;  // nibbles, upper 2 bits, 16 x int8, d:       y = d s * (q - 32)

// A normal distribution's sixteenths, as int8 has them.
inline constexpr int kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                       1,    13,   25,  38,  53,  69,  89,  113};
// Twice the values of fp4 (e2m1).
inline constexpr std::int8_t kFp4Values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

inline float quiet(float value) { return value == value ? value : float_of_bits(kQuietNan); }

inline float load_f16(const unsigned char* bytes) { return f32_from_f16(load_u16(bytes)); }

// Value i of 32: the first 16 are low nibbles.
inline int nibble_of(const unsigned char* nibbles, int i) { return nibbles[i % 16] >> i / 16 * 4 & 15; }
inline int bit_of(const unsigned char* bits, int i) { return bits[i / 8] >> i % 8 & 1; }

// ---- Blocks of 32 whose integers int8 has, behind an f16 scale: y = d * q[i].

struct ScaledBlocks {
    int bytes;
    void (*integers)(const unsigned char* block, int* q);
};

// Two's complement of eight bits.
inline int signed_byte(unsigned char byte) { return byte < 128 ? byte : byte - 256; }

inline void q8_0_integers(const unsigned char* block, int* q) {
    for (int i = 0; i < 32; ++i) q[i] = signed_byte(block[2 + i]);
}
inline void q4_0_integers(const unsigned char* block, int* q) {
    for (int i = 0; i < 32; ++i) q[i] = nibble_of(block + 2, i) - 8;
}
inline void q5_0_integers(const unsigned char* block, int* q) {
    for (int i = 0; i < 32; ++i) q[i] = (nibble_of(block + 6, i) | bit_of(block + 2, i) << 4) - 16;
}
inline void iq4_nl_integers(const unsigned char* block, int* q) {
    for (int i = 0; i < 32; ++i) q[i] = kIq4Values[nibble_of(block + 2, i)];
}

template <void (*integers)(const unsigned char*, int*)>
void f32_from_scaled(const unsigned char* block, float* y) {
    const float d = load_f16(block);
    int q[kBlockValues];
    integers(block, q);
    for (int i = 0; i < kBlockValues; ++i) y[i] = quiet(d * static_cast<float>(q[i]));
}

// ---- Other blocks of 32

inline void f32_from_q4_1(const unsigned char* block, float* y) {
    const float d = load_f16(block), m = load_f16(block + 2);
    for (int i = 0; i < 32; ++i) y[i] = quiet(d * static_cast<float>(nibble_of(block + 4, i)) + m);
}

inline void f32_from_q5_1(const unsigned char* block, float* y) {
    const float d = load_f16(block), m = load_f16(block + 2);
    for (int i = 0; i < 32; ++i) {
        const int q = nibble_of(block + 8, i) | bit_of(block + 4, i) << 4;
        y[i] = quiet(d * static_cast<float>(q) + m);
    }
}

// 2^(e - 128); its least two are subnormal.
inline float half_of_power(unsigned char e) {
    return float_of_bits(e < 2 ? 0x00200000u << e : static_cast<std::uint32_t>(e - 1) << 23);
}
inline void f32_from_mxfp4(const unsigned char* block, float* y) {
    const float d = half_of_power(block[0]);
    for (int i = 0; i < 32; ++i) y[i] = d * static_cast<float>(kFp4Values[nibble_of(block + 1, i)]);
}

// ---- Blocks of 256

// Value i of 256 from two bits each: a byte has those of four values that are 32 apart.
inline int two_bits_of(const unsigned char* bytes, int i) {
    return bytes[i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3;
}
// Bit i / 32 of byte i % 32.
inline int plane_bit_of(const unsigned char* bytes, int i) { return bytes[i % 32] >> i / 32 & 1; }

inline void f32_from_q2_k(const unsigned char* block, float* y) {
    const float d = load_f16(block + 80), m = load_f16(block + 82);
    for (int i = 0; i < kSuperBlockValues; ++i) {
        const unsigned char scales = block[i / 16];
        const float scale = d * static_cast<float>(scales & 15), least = m * static_cast<float>(scales >> 4);
        y[i] = quiet(scale * static_cast<float>(two_bits_of(block + 16, i)) - least);
    }
}

inline void f32_from_q3_k(const unsigned char* block, float* y) {
    const float d = load_f16(block + 108);
    const unsigned char* const scales = block + 96;
    for (int i = 0; i < kSuperBlockValues; ++i) {
        const int g = i / 16;
        const int low = scales[g % 8] >> g / 8 * 4 & 15, high = scales[8 + g % 4] >> g / 4 * 2 & 3;
        const float scale = d * static_cast<float>((low | high << 4) - 32);
        const int q = two_bits_of(block + 32, i) + plane_bit_of(block, i) * 4 - 4;
        y[i] = quiet(scale * static_cast<float>(q));
    }
}

// The integers of group g of 8, six bits each: those of the last four have their upper two beside the first.
struct GroupScales {
    int scale, least;
};
inline GroupScales group_scales(const unsigned char* bytes, int g) {
    if (g < 4) return {bytes[g] & 63, bytes[4 + g] & 63};
    return {(bytes[4 + g] & 15) | (bytes[g - 4] >> 6) << 4, bytes[4 + g] >> 4 | (bytes[g] >> 6) << 4};
}

// q4_k, and with `fifth` bits q5_k: nibbles of two groups of 32 lie together.
inline void f32_from_grouped(const unsigned char* block, const unsigned char* fifth,
                             const unsigned char* nibbles, float* y) {
    const float d = load_f16(block), m = load_f16(block + 2);
    for (int g = 0; g < 8; ++g) {
        const GroupScales of = group_scales(block + 4, g);
        const float scale = d * static_cast<float>(of.scale), least = m * static_cast<float>(of.least);
        for (int j = 0; j < 32; ++j) {
            const int upper = fifth != nullptr ? fifth[j] >> g & 1 : 0;
            const int q = (nibbles[g / 2 * 32 + j] >> g % 2 * 4 & 15) | upper << 4;
            y[g * 32 + j] = quiet(scale * static_cast<float>(q) - least);
        }
    }
}
inline void f32_from_q4_k(const unsigned char* block, float* y) {
    f32_from_grouped(block, nullptr, block + 16, y);
}
inline void f32_from_q5_k(const unsigned char* block, float* y) {
    f32_from_grouped(block, block + 16, block + 48, y);
}

inline void f32_from_q6_k(const unsigned char* block, float* y) {
    const float d = load_f16(block + 208);
    for (int i = 0; i < kSuperBlockValues; ++i) {
        const int low = block[i / 128 * 64 + i % 64] >> i % 128 / 64 * 4 & 15;
        const int q = (low | two_bits_of(block + 128, i) << 4) - 32;
        const float scale = d * static_cast<float>(static_cast<std::int8_t>(block[192 + i / 16]));
        y[i] = quiet(scale * static_cast<float>(q));
    }
}

// ---- Eight bits

// 1 sign, 4 exponent (bias 7), 3 significand bits; no infinities, NaN where all others are set. Exact.
inline float f32_from_f8_e4m3(unsigned char byte) {
    const std::uint32_t sign = static_cast<std::uint32_t>(byte & 0x80u) << 24, rest = byte & 0x7fu;
    if (rest == 0x7f) return float_of_bits(kQuietNan);
    if (rest < 8) {  // a multiple of 2^-9
        const float value = static_cast<float>(rest) * 0x1p-9f;
        return sign != 0 ? -value : value;
    }
    return float_of_bits(sign | ((rest << 20) + ((127u - 7u) << 23)));
}

// The upper half of an f16. Exact.
inline float f32_from_f8_e5m2(unsigned char byte) {
    return f32_from_f16(static_cast<std::uint16_t>(byte << 8));
}

}  // namespace volta
