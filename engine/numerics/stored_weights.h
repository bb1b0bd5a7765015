// Weights that are stored for reading alone (docs/numerics.md, 5, "Packed weights"): how a weight [n, k] is
// made from f32, where its elements lie, and the product that reads it. bf16, f16 and f32 are exact values;
// int8 and int4 are integers q with one f16 scale per output and group of 32 along k.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "engine/base/shape.h"
#include "engine/numerics/block_types.h"
#include "engine/numerics/canonical.h"
#include "engine/numerics/machine.h"
#include "engine/numerics/storage_types.h"

namespace volta {

static_assert(kSegment % kStoredGroup == 0, "a segment of a chain is whole groups");

constexpr bool has_scales(DType dtype) { return is_stored(dtype) && storage_format(dtype).has_scales; }

inline void store_u16(unsigned char* to, std::uint16_t bits) {
    to[0] = static_cast<unsigned char>(bits & 255);
    to[1] = static_cast<unsigned char>(bits >> 8);
}

// How the element at a step along k and a lane of a panel is read and written; `panel` is the panel, or, of a
// format with scales, the group behind its scales. Exactly one of the writers is there.
struct StorageCodec {
    DType dtype;
    float (*load)(const unsigned char* panel, std::int64_t step,
                  std::int64_t lane);  // (float)q where there are scales
    bool (*store)(unsigned char* panel, std::int64_t step, std::int64_t lane,
                  float x);  // false: beyond its range
    void (*store_integer)(unsigned char* panel, std::int64_t step, std::int64_t lane,
                          int q);  // into zeroed bytes
};

namespace codecs {

inline std::int64_t at(std::int64_t step, std::int64_t lane) { return step * kStoredPanel + lane; }

// f32_from_bits, and back by bits_from_f32: not finite where all exponent bits are set.
template <float (*from)(std::uint16_t), std::uint16_t (*to)(float), std::uint16_t infinite>
struct Half {
    static float load(const unsigned char* panel, std::int64_t step, std::int64_t lane) {
        return from(load_u16(panel + at(step, lane) * 2));
    }
    static bool store(unsigned char* panel, std::int64_t step, std::int64_t lane, float x) {
        const std::uint16_t bits = to(x);
        if ((bits & infinite) == infinite) return false;
        store_u16(panel + at(step, lane) * 2, bits);
        return true;
    }
};
using Bf16 = Half<f32_from_bf16, bf16_from_f32, 0x7f80>;
using F16 = Half<f32_from_f16, f16_from_f32, 0x7c00>;

inline float load_float(const unsigned char* panel, std::int64_t step, std::int64_t lane) {
    return load_f32(panel + at(step, lane) * 4);
}
inline bool store_float(unsigned char* panel, std::int64_t step, std::int64_t lane, float x) {
    std::memcpy(panel + at(step, lane) * 4, &x, 4);
    return true;
}

inline float load_int8(const unsigned char* group, std::int64_t step, std::int64_t lane) {
    return static_cast<float>(static_cast<std::int8_t>(group[at(step, lane)]));
}
inline void store_int8(unsigned char* group, std::int64_t step, std::int64_t lane, int q) {
    group[at(step, lane)] = static_cast<unsigned char>(q & 255);
}

// Eight steps of a lane are one word of 32 bits, the first in its lowest bits.
inline std::int64_t nibble_at(std::int64_t step, std::int64_t lane) {
    return (step / 8 * kStoredPanel + lane) * 4 + step % 8 / 2;
}
inline float load_int4(const unsigned char* group, std::int64_t step, std::int64_t lane) {
    const int nibble = group[nibble_at(step, lane)] >> (step % 2 * 4) & 15;
    return static_cast<float>(nibble < 8 ? nibble : nibble - 16);
}
inline void store_int4(unsigned char* group, std::int64_t step, std::int64_t lane, int q) {
    unsigned char& byte = group[nibble_at(step, lane)];
    byte = static_cast<unsigned char>(byte | (q & 15) << (step % 2 * 4));
}

}  // namespace codecs

// In the order of kStorageFormats.
inline constexpr StorageCodec kStorageCodecs[] = {
    {DType::bf16, codecs::Bf16::load, codecs::Bf16::store, nullptr},
    {DType::f16, codecs::F16::load, codecs::F16::store, nullptr},
    {DType::int8, codecs::load_int8, nullptr, codecs::store_int8},
    {DType::int4, codecs::load_int4, nullptr, codecs::store_int4},
    {DType::f32_panels, codecs::load_float, codecs::store_float, nullptr},
};
constexpr bool codecs_are_rows() {
    for (int i = 0; i < kStorageFormatCount; ++i) {
        const StorageCodec& row = kStorageCodecs[i];
        if (row.dtype != kStorageFormats[i].dtype || row.load == nullptr) return false;
        if ((row.store_integer != nullptr) != kStorageFormats[i].has_scales) return false;
        if ((row.store != nullptr) == kStorageFormats[i].has_scales) return false;
    }
    return sizeof kStorageCodecs / sizeof *kStorageCodecs == kStorageFormatCount;
}
static_assert(codecs_are_rows(), "one codec per storage format");
constexpr const StorageCodec& storage_codec(DType stored) {
    return kStorageCodecs[&storage_format(stored) - kStorageFormats];
}

// One stored tensor, for reading.
struct StoredWeights {
    DType dtype;
    const unsigned char* data;
    std::int64_t n, k;

    const unsigned char* panel(std::int64_t j) const {
        return data + j / kStoredPanel * stored_panel_bytes(dtype, k);
    }
    const unsigned char* group(std::int64_t j, std::int64_t p) const {
        return panel(j) + p / kStoredGroup * stored_group_bytes(dtype);
    }
    // The element as products multiply with it: (float)q where there are scales.
    float value(std::int64_t j, std::int64_t p) const {
        const std::int64_t lane = j % kStoredPanel;
        if (!has_scales(dtype)) return storage_codec(dtype).load(panel(j), p, lane);
        return storage_codec(dtype).load(group(j, p) + kStoredPanel * 2, p % kStoredGroup, lane);
    }
    // Of formats with scales only.
    float scale(std::int64_t j, std::int64_t p) const {
        return f32_from_f16(load_u16(group(j, p) + j % kStoredPanel * 2));
    }
    // The element's f32: exact for all types (11 bits times at most 8).
    float element(std::int64_t j, std::int64_t p) const {
        return has_scales(dtype) ? value(j, p) * scale(j, p) : value(j, p);
    }
};

namespace define {

// One element of a product with w [n, k]': as product(), but with scales a chain g over each group, from +0;
// then sum = fma(g, scale, sum), groups ascending; cut at multiples of kSegment as always.
template <class T>
T stored_chain(const T* row, const StoredWeights& w, std::int64_t j) {
    const auto fma = [](T x, T y, T z) { return ScalarMachine<T>::fma(x, y, z); };
    T total = 0;
    for (std::int64_t p = 0; p < w.k;) {
        const std::int64_t first = p, end = std::min(w.k, p + kSegment);
        T sum = 0;
        while (p < end) {
            const std::int64_t begin = p, last = has_scales(w.dtype) ? std::min(end, p + kStoredGroup) : end;
            T chain = 0;
            for (; p < last; ++p) chain = fma(row[p], static_cast<T>(w.value(j, p)), chain);
            sum = has_scales(w.dtype) ? fma(chain, static_cast<T>(w.scale(j, begin)), sum) : chain;
        }
        total = first == 0 ? sum : total + sum;
    }
    return total;
}

// c [m, n] = a [m, k] x w [n, k]'
template <class T>
void stored_product(std::int64_t m, const T* a, const StoredWeights& w, T* c) {
    for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < w.n; ++j) c[i * w.n + j] = stored_chain(a + i * w.k, w, j);
}

// c [m, k] = a [m, n] x w [n, k]: product() with the elements' f32.
template <class T>
void dequantised_product(std::int64_t m, const T* a, const StoredWeights& w, T* c) {
    for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t p = 0; p < w.k; ++p)
            c[i * w.k + p] = product_chain<T>(
                0, w.n, nullptr, [&](std::int64_t j) { return a[i * w.n + j]; },
                [&](std::int64_t j) { return static_cast<T>(w.element(j, p)); });
}

template <class T>
void stored_embedding(std::int64_t count, const std::int32_t* ids, const StoredWeights& w, T* out) {
    for (std::int64_t i = 0; i < count; ++i)
        for (std::int64_t p = 0; p < w.k; ++p) out[i * w.k + p] = static_cast<T>(w.element(ids[i], p));
}

}  // namespace define

// ---- Making them ----------------------------------------------------------------------------------------

// int8: the scale is the largest magnitude / 127. int4: the element of the largest magnitude becomes -8, the
// first one where several have it. Each in f32, the scale rounded to f16, then q = w / scale, half to even,
// limited to the type.
inline std::uint16_t group_scale(DType dtype, const float* w, std::int64_t count) {
    float extreme = 0, largest = 0;
    for (std::int64_t p = 0; p < count; ++p) {
        const float magnitude = w[p] < 0 ? -w[p] : w[p];
        if (magnitude > largest) {
            largest = magnitude;
            extreme = w[p];
        }
    }
    if (largest == 0) return 0;
    const StorageFormat& format = storage_format(dtype);
    return f16_from_f32((format.by_sign ? extreme : largest) / format.scale_divisor);
}
inline int quantized(DType dtype, float w, float scale) {
    if (scale == 0) return 0;
    const StorageFormat& format = storage_format(dtype);
    constexpr float kWhole = 12582912;  // 1.5 * 2^23: adding it rounds half to even
    const float limited = std::max(format.least, std::min(format.most, w / scale));
    return static_cast<int>((limited + kWhole) - kWhole);
}

// int8 and int4: the group of row j that begins at `begin`, `count` integers that the type has (int8: -128
// too, which quantizing never makes) behind the bits of a finite scale. `out` is the zeroed tensor.
inline void store_group(DType dtype, std::int64_t j, std::int64_t k, std::int64_t begin, std::uint16_t scale,
                        const int* q, std::int64_t count, unsigned char* out) {
    const std::int64_t lane = j % kStoredPanel;
    unsigned char* const group = out + j / kStoredPanel * stored_panel_bytes(dtype, k) +
                                 begin / kStoredGroup * stored_group_bytes(dtype);
    store_u16(group + lane * 2, scale);
    unsigned char* const values = group + kStoredPanel * 2;
    for (std::int64_t p = 0; p < count; ++p) storage_codec(dtype).store_integer(values, p, lane, q[p]);
}

constexpr bool is_finite_f16(std::uint16_t bits) { return (bits & 0x7c00u) != 0x7c00u; }

// Row j of w [n, k], k elements of f32, into `out`, the zeroed bytes of the whole tensor. False when a value
// is not finite, or beyond the type's range: nothing may be made of it. f32_panels takes every value.
inline bool store_row(DType dtype, const float* w, std::int64_t j, std::int64_t k, unsigned char* out) {
    if (!has_scales(dtype)) {
        unsigned char* const panel = out + j / kStoredPanel * stored_panel_bytes(dtype, k);
        for (std::int64_t p = 0; p < k; ++p)
            if (!storage_codec(dtype).store(panel, p, j % kStoredPanel, w[p])) return false;
        return true;
    }
    for (std::int64_t begin = 0; begin < k; begin += kStoredGroup) {
        const std::int64_t count = std::min(kStoredGroup, k - begin);
        for (std::int64_t p = 0; p < count; ++p)
            if (!(w[begin + p] - w[begin + p] == 0)) return false;
        const std::uint16_t scale = group_scale(dtype, w + begin, count);
        if (!is_finite_f16(scale)) return false;
        int q[kStoredGroup];
        for (std::int64_t p = 0; p < count; ++p) q[p] = quantized(dtype, w[begin + p], f32_from_f16(scale));
        store_group(dtype, j, k, begin, scale, q, count, out);
    }
    return true;
}

// Row j of w [n, k] from blocks of an f16 scale and 32 integers, k a multiple of 32: the same scales and
// integers, so every element is the block's own to the bit. int4 has the integers of q4_0 alone, int8 those
// of all. False when a scale is not finite.
inline bool store_blocks(DType dtype, const unsigned char* blocks, const ScaledBlocks& type, std::int64_t j,
                         std::int64_t k, unsigned char* out) {
    static_assert(kStoredGroup == kBlockValues, "a block is a group");
    for (std::int64_t begin = 0; begin < k; begin += kStoredGroup) {
        const std::uint16_t scale = load_u16(blocks);
        if (!is_finite_f16(scale)) return false;
        int q[kStoredGroup];
        type.integers(blocks, q);
        store_group(dtype, j, k, begin, scale, q, kStoredGroup, out);
        blocks += type.bytes;
    }
    return true;
}

}  // namespace volta
