#include "engine/base/shape.h"

#include <cstdio>

#include "engine/base/error.h"

namespace volta {

const char* dtype_name(DType dtype) { return dtype == DType::f32 ? "f32" : "i32"; }

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
