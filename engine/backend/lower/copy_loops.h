// Moving elements: every movement operator is a copy between two strided views of one shape.
#pragma once

#include <cstdint>

#include "engine/base/shape.h"

namespace volta {

// Element (i0, i1, ...) goes from i . in_stride to i . out_stride, in elements of 4 bytes.
struct CopyLoops {
    int rank = 0;
    std::int64_t extent[kMaxRank] = {};
    std::int64_t in_stride[kMaxRank] = {}, out_stride[kMaxRank] = {};

    void push(std::int64_t new_extent, std::int64_t in, std::int64_t out);
    std::int64_t count() const;
};

// Of `count` elements that lie side by side on both sides.
CopyLoops dense_copy(std::int64_t count);

// The same copy in the fewest axes: those of extent 1 vanish, and neighbours that continue each other on both
// sides become one. At least one axis is left.
CopyLoops collapse(const CopyLoops& loops);

// Strides of a dense tensor, in elements.
struct Strides {
    std::int64_t at[kMaxRank] = {};
    explicit Strides(const Shape& shape);
};

}  // namespace volta
