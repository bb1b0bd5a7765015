// How weights can be stored for reading alone: one row per type. Sizes, ranges and names follow from the row
// wherever they are needed; how an element becomes a float and back is the codec of the same type
// (engine/numerics/stored_weights.h). docs/quantization.md has the layouts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "include/volta.h"

namespace volta {

// From bf16 on they store weights [n, k], which products and look-ups read and nothing else does.
enum class DType : std::uint8_t {
    f32 = VOLTA_F32,
    i32 = VOLTA_I32,
    bf16 = VOLTA_BF16,
    f16 = VOLTA_F16,
    int8 = VOLTA_INT8,
    int4 = VOLTA_INT4,
    f32_panels = VOLTA_F32_PANELS
};

struct StorageFormat {
    DType dtype;
    const char* name;     // in messages, in the text of CUDA kernels ("gather_int8") and for `--weights`
    std::int64_t bits;    // of an element
    bool has_scales;      // elements are integers, with an f16 scale per output and group along k
    float least, most;    // the integers that quantizing makes
    float scale_divisor;  // what an extreme element is divided by to give the scale
    bool by_sign;  // the extreme is the element of the largest magnitude with its sign, not that magnitude
    std::uint32_t version;  // the first minor version of the file format that has it
};

// In the order of DType, from bf16 on.
// clang-format off
inline constexpr StorageFormat kStorageFormats[] = {
    // dtype            name          bits scales least   most  divisor by sign version
    {DType::bf16,       "bf16",       16,  false, 0,      0,    0,      false,  2},
    {DType::f16,        "f16",        16,  false, 0,      0,    0,      false,  2},
    {DType::int8,       "int8",       8,   true,  -127,   127,  127,    false,  2},
    {DType::int4,       "int4",       4,   true,  -8,     7,    -8,     true,   2},
    {DType::f32_panels, "f32_panels", 32,  false, 0,      0,    0,      false,  4},
};
// clang-format on
inline constexpr int kStorageFormatCount = sizeof kStorageFormats / sizeof *kStorageFormats;

constexpr bool is_stored(DType dtype) { return dtype >= kStorageFormats[0].dtype; }
constexpr const StorageFormat& storage_format(DType stored) {
    return kStorageFormats[static_cast<int>(stored) - static_cast<int>(kStorageFormats[0].dtype)];
}
// NULL: no type, or one that is not stored.
constexpr const StorageFormat* find_storage_format(std::int64_t dtype) {
    for (const StorageFormat& row : kStorageFormats)
        if (static_cast<std::int64_t>(row.dtype) == dtype) return &row;
    return nullptr;
}

// Weights lie in panels of 16 outputs, each [k, 16], so that the lanes of a vector are outputs; those with
// scales come in groups of 32 along k, each behind the 16 scales (f16) of its outputs. n and k are filled up.
inline constexpr std::int64_t kStoredPanel = 16, kStoredGroup = 32;
// Bytes of a group of one panel: of formats with scales only.
constexpr std::int64_t stored_group_bytes(DType dtype) {
    return kStoredPanel * 2 + kStoredPanel * kStoredGroup * storage_format(dtype).bits / 8;
}
constexpr std::int64_t stored_panel_bytes(DType dtype, std::int64_t k) {
    return storage_format(dtype).has_scales
               ? (k + kStoredGroup - 1) / kStoredGroup * stored_group_bytes(dtype)
               : k * kStoredPanel * storage_format(dtype).bits / 8;
}

constexpr bool formats_are_rows() {
    for (int i = 0; i < kStorageFormatCount; ++i) {
        const StorageFormat& row = kStorageFormats[i];
        if (static_cast<int>(row.dtype) != static_cast<int>(kStorageFormats[0].dtype) + i) return false;
        if (row.has_scales != (row.scale_divisor != 0) || row.has_scales != (row.least < row.most))
            return false;
        if (row.version == 0 || kStoredPanel * row.bits % 8 != 0) return false;
    }
    return true;
}
static_assert(formats_are_rows(), "one row per stored type, in the order of DType");

}  // namespace volta
