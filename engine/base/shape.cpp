#include "engine/base/shape.h"

#include <cstdio>

#include "engine/base/error.h"
#include "engine/base/memory.h"

namespace volta {

const char* dtype_name(DType dtype) {
    if (is_stored(dtype)) return storage_format(dtype).name;
    return dtype == DType::f32 ? "f32" : dtype == DType::i32 ? "i32" : "none";
}

bool tensor_bytes_overflow(DType dtype, const Shape& shape, std::uint64_t* bytes) {
    constexpr std::uint64_t kLargest = INT64_MAX;
    std::uint64_t elements = 1;
    for (int axis = 0; axis < shape.rank; ++axis)
        if (multiply_overflows(elements, static_cast<std::uint64_t>(shape[axis]), &elements)) return true;
    if (!is_stored(dtype))
        return multiply_overflows(elements, element_size(dtype), bytes) || *bytes > kLargest;
    // 16 more outputs, 32 more k and 4 bytes each: a quarter of 2^63 leaves room for all sums below.
    if (shape.rank != 2 || shape[0] > INT64_MAX / 4096 || shape[1] > INT64_MAX / 4096) return true;
    const auto panels = static_cast<std::uint64_t>((shape[0] + kStoredPanel - 1) / kStoredPanel);
    return multiply_overflows(panels, static_cast<std::uint64_t>(stored_panel_bytes(dtype, shape[1])),
                              bytes) ||
           *bytes > kLargest;
}

std::uint64_t tensor_bytes(DType dtype, const Shape& shape) {
    std::uint64_t bytes = 0;
    if (tensor_bytes_overflow(dtype, shape, &bytes))
        fail(VOLTA_UNSUPPORTED, "a tensor %s%s is too large to be placed", dtype_name(dtype),
             to_text(shape).text);
    return bytes;
}

Shape::Shape(std::initializer_list<std::int64_t> extents) {
    require(extents.size() <= kMaxRank, "a tensor has at most %d axes, not %zu", kMaxRank, extents.size());
    for (const std::int64_t e : extents) extent[rank++] = e;
}

std::int64_t Shape::elements() const { return leading(rank); }

std::int64_t Shape::rows() const { return leading(rank > 0 ? rank - 1 : 0); }

std::int64_t Shape::leading(int axes) const {
    std::int64_t product = 1;
    for (int axis = 0; axis < axes; ++axis) product *= extent[axis];
    return product;
}

bool operator==(const Shape& a, const Shape& b) {
    if (a.rank != b.rank) return false;
    for (int axis = 0; axis < a.rank; ++axis)
        if (a.extent[axis] != b.extent[axis]) return false;
    return true;
}

ShapeText to_text(const Shape& shape) {
    ShapeText out;
    char* at = out.text;
    *at++ = '[';
    for (int axis = 0; axis < shape.rank; ++axis)
        at +=
            std::snprintf(at, 23, axis == 0 ? "%lld" : ", %lld", static_cast<long long>(shape.extent[axis]));
    *at++ = ']';
    *at = '\0';
    return out;
}

}  // namespace volta
