#include "engine/import/gguf_encode.h"

#include <cmath>
#include <cstring>

namespace volta {
namespace {

bool encode_f32(const float* values, std::int64_t count, unsigned char* out) {
    std::memcpy(out, values, static_cast<std::size_t>(count) * sizeof(float));
    return true;
}

// All exponent bits set, `infinite`, are no number.
template <std::uint16_t (*one)(float), std::uint16_t infinite>
bool encode_16(const float* values, std::int64_t count, unsigned char* out) {
    for (std::int64_t i = 0; i < count; ++i) {
        const std::uint16_t bits = one(values[i]);
        if ((bits & infinite) == infinite) return false;
        store_u16(out + 2 * i, bits);
    }
    return true;
}

// The first value of the largest magnitude, with its sign.
float extreme_of(const float* values) {
    float extreme = 0, largest = 0;
    for (int i = 0; i < kBlockValues; ++i)
        if (std::fabs(values[i]) > largest) {
            largest = std::fabs(values[i]);
            extreme = values[i];
        }
    return extreme;
}

bool all_finite(const float* values) {
    for (int i = 0; i < kBlockValues; ++i)
        if (!(values[i] - values[i] == 0)) return false;
    return true;
}

// 1 / scale, 0 where the scale is 0 or so small that it has none: f16 has it as 0 then.
float inverse(float scale) {
    const float inverted = scale != 0 ? 1 / scale : 0;
    return std::isfinite(inverted) ? inverted : 0;
}

// q = x * (1 / d), halves away from zero; d = the largest magnitude / 127, in f32. d is rounded to f16 only
// where it is written.
bool encode_q8_0(const float* values, unsigned char* out) {
    const float d = std::fabs(extreme_of(values)) / 127, per_step = inverse(d);
    const std::uint16_t scale = f16_from_f32(d);
    store_u16(out, scale);
    for (int i = 0; i < kBlockValues; ++i)
        out[2 + i] = static_cast<unsigned char>(static_cast<int>(std::round(values[i] * per_step)) & 255);
    return is_finite_f16(scale);
}

// q = x * (1 / d) + 8.5, cut off, at most 15; d = the extreme value / -8.
bool encode_q4_0(const float* values, unsigned char* out) {
    const float d = extreme_of(values) / -8, per_step = inverse(d);
    const std::uint16_t scale = f16_from_f32(d);
    store_u16(out, scale);
    const auto quantised = [&](int i) {
        return static_cast<int>(std::fmax(0.0f, std::fmin(15.0f, values[i] * per_step + 8.5f)));
    };
    for (int i = 0; i < kBlockValues / 2; ++i)
        out[2 + i] = static_cast<unsigned char>(quantised(i) | quantised(kBlockValues / 2 + i) << 4);
    return is_finite_f16(scale);
}

template <bool (*one)(const float*, unsigned char*), int bytes>
bool encode_blocks(const float* values, std::int64_t count, unsigned char* out) {
    for (std::int64_t i = 0; i < count; i += kBlockValues, out += bytes)
        if (!all_finite(values + i) || !one(values + i, out)) return false;
    return true;
}

constexpr GgufOutputType kTypes[] = {
    {"F32", DType::f32, 0, 0, 1, 4, encode_f32},
    {"F16", DType::f16, 1, 1, 1, 2, encode_16<f16_from_f32, 0x7c00>},
    {"BF16", DType::bf16, 30, 32, 1, 2, encode_16<bf16_from_f32, 0x7f80>},
    {"Q8_0", DType::int8, 8, 7, kBlockValues, kQ80BlockBytes, encode_blocks<encode_q8_0, kQ80BlockBytes>},
    {"Q4_0", DType::int4, 2, 2, kBlockValues, kQ40BlockBytes, encode_blocks<encode_q4_0, kQ40BlockBytes>},
};

}  // namespace

const GgufOutputType* find_gguf_output(DType dtype) {
    if (dtype == DType::f32_panels) dtype = DType::f32;
    for (const GgufOutputType& type : kTypes)
        if (type.of == dtype) return &type;
    return nullptr;
}

void encode_stored_row(const StoredWeights& weights, std::int64_t j, unsigned char* out) {
    const bool four_bits = weights.dtype == DType::int4;
    for (std::int64_t begin = 0; begin < weights.k; begin += kStoredGroup) {
        std::memcpy(out, weights.group(j, begin) + j % kStoredPanel * 2, 2);
        out += 2;
        const auto integer = [&](std::int64_t p) { return static_cast<int>(weights.value(j, begin + p)); };
        for (std::int64_t p = 0; p < (four_bits ? kStoredGroup / 2 : kStoredGroup); ++p)
            *out++ = static_cast<unsigned char>(
                four_bits ? (integer(p) + 8) | (integer(kStoredGroup / 2 + p) + 8) << 4 : integer(p) & 255);
    }
}

}  // namespace volta
