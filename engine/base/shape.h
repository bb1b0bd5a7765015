// Element types and shapes: fixed-size values, no allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "include/volta.h"

namespace volta {

// From bf16 on they store weights [n, k], which products and look-ups read and nothing else does
// (engine/numerics/stored_weights.h).
enum class DType : std::uint8_t {
    f32 = VOLTA_F32,
    i32 = VOLTA_I32,
    bf16 = VOLTA_BF16,
    f16 = VOLTA_F16,
    int8 = VOLTA_INT8,
    int4 = VOLTA_INT4,
    f32_panels = VOLTA_F32_PANELS
};

constexpr bool is_stored(DType dtype) { return dtype >= DType::bf16; }
// Of the types that have whole elements, which are all but the stored ones.
constexpr std::size_t element_size(DType) { return 4; }
const char* dtype_name(DType dtype);  // "f32", "int8"

inline constexpr int kMaxRank = 8;

// Extents of a tensor, outermost first. An extent is >= 0; their product fits in int64.
struct Shape {
    std::int64_t extent[kMaxRank] = {};
    std::int32_t rank = 0;

    Shape() = default;
    Shape(std::initializer_list<std::int64_t> extents);
    std::int64_t operator[](int axis) const { return extent[axis]; }
    std::int64_t& operator[](int axis) { return extent[axis]; }
    std::int64_t last() const { return rank ? extent[rank - 1] : 1; }
    std::int64_t elements() const;         // product of the extents; 1 for rank 0
    std::int64_t rows() const;             // elements of all axes but the last
    std::int64_t leading(int axes) const;  // product of the first `axes` extents
};
bool operator==(const Shape& a, const Shape& b);
inline bool operator!=(const Shape& a, const Shape& b) { return !(a == b); }

// Stored weights lie in panels of 16 outputs, each [k, 16], so that the lanes of a vector are outputs; int8
// and int4 come in groups of 32 along k, each behind the 16 scales (f16) of its outputs. n and k are filled
// up.
inline constexpr std::int64_t kStoredPanel = 16, kStoredGroup = 32;
// Bytes of a group of one panel: int8 and int4 only.
constexpr std::int64_t stored_group_bytes(DType dtype) {
    return kStoredPanel * 2 + kStoredPanel * kStoredGroup / (dtype == DType::int4 ? 2 : 1);
}
constexpr std::int64_t stored_panel_bytes(DType dtype, std::int64_t k) {
    return dtype == DType::int8 || dtype == DType::int4
               ? (k + kStoredGroup - 1) / kStoredGroup * stored_group_bytes(dtype)
               : k * kStoredPanel * (dtype == DType::f32_panels ? 4 : 2);
}
// The bytes of a dense tensor whose extents are >= 0, or true when they are more than 2^63 - 1.
bool tensor_bytes_overflow(DType dtype, const Shape& shape, std::uint64_t* bytes);
// The same for a shape that a graph has accepted.
std::uint64_t tensor_bytes(DType dtype, const Shape& shape);

// "[64, 384]" in a small fixed buffer, for messages.
struct ShapeText {
    char text[kMaxRank * 22 + 4];  // ", -9223372036854775808" per axis
};
ShapeText to_text(const Shape& shape);

}  // namespace volta
