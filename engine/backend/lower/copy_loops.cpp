#include "engine/backend/lower/copy_loops.h"

namespace volta {

void CopyLoops::push(std::int64_t new_extent, std::int64_t in, std::int64_t out) {
    extent[rank] = new_extent;
    in_stride[rank] = in;
    out_stride[rank] = out;
    ++rank;
}

std::int64_t CopyLoops::count() const {
    std::int64_t count = 1;
    for (int i = 0; i < rank; ++i) count *= extent[i];
    return count;
}

CopyLoops dense_copy(std::int64_t count) {
    CopyLoops loops;
    loops.push(count, 1, 1);
    return loops;
}

CopyLoops collapse(const CopyLoops& loops) {
    CopyLoops result;
    for (int i = 0; i < loops.rank; ++i) {
        if (loops.extent[i] == 1) continue;
        const int last = result.rank - 1;
        const bool continues = last >= 0 && result.in_stride[last] == loops.in_stride[i] * loops.extent[i] &&
                               result.out_stride[last] == loops.out_stride[i] * loops.extent[i];
        if (!continues) {
            result.push(loops.extent[i], loops.in_stride[i], loops.out_stride[i]);
            continue;
        }
        result.extent[last] *= loops.extent[i];
        result.in_stride[last] = loops.in_stride[i];
        result.out_stride[last] = loops.out_stride[i];
    }
    if (result.rank == 0) result.push(1, 1, 1);
    return result;
}

Strides::Strides(const Shape& shape) {
    std::int64_t stride = 1;
    for (int i = shape.rank; i-- > 0; stride *= shape[i]) at[i] = stride;
}

}  // namespace volta
