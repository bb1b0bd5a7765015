// Element types and shapes: fixed-size values, no allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "include/volta.h"

namespace volta {

enum class DType : std::uint8_t { f32 = VOLTA_F32, i32 = VOLTA_I32 };

constexpr std::size_t element_size(DType) { return 4; }
const char* dtype_name(DType dtype);  // "f32", "i32"

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

// "[64, 384]" in a small fixed buffer, for messages.
struct ShapeText {
    char text[kMaxRank * 22 + 4];  // ", -9223372036854775808" per axis
};
ShapeText to_text(const Shape& shape);

}  // namespace volta
