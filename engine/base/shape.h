// Element types and shapes: fixed-size values, no allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "engine/base/storage_format.h"
#include "include/volta.h"

namespace volta {

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
