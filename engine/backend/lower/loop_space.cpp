#include "engine/backend/lower/loop_space.h"

namespace volta {
namespace {

// The axes that are left, outermost first, with every operand's stride.
struct Axes {
    explicit Axes(std::size_t operands, std::pmr::memory_resource* heap) : stride(operands, heap) {}
    int rank = 0;
    std::int64_t extent[kMaxRank] = {};
    struct Strides {
        std::int64_t at[kMaxRank] = {};
    };
    std::pmr::vector<Strides> stride;  // per operand

    void push(std::int64_t new_extent) { extent[rank++] = new_extent; }
};

// Stride of a dense operand along `axis` of the space: 0 where it is broadcast.
std::int64_t stride_of(const Shape& space, const Shape& shape, int axis) {
    const int own = axis - (space.rank - shape.rank);
    if (own < 0 || shape[own] == 1) return 0;
    std::int64_t stride = 1;
    for (int i = own + 1; i < shape.rank; ++i) stride *= shape[i];
    return stride;
}

bool can_merge(const Axes& axes, std::int64_t extent, const Axes::Strides* inner) {
    const int last = axes.rank - 1;
    for (std::size_t k = 0; k < axes.stride.size(); ++k)
        if (axes.stride[k].at[last] != inner[k].at[0] * extent) return false;
    return true;
}

Axes collapse(const Shape& space, const std::pmr::vector<const Shape*>& shapes, bool keep_columns,
              std::pmr::memory_resource* heap) {
    Axes axes(shapes.size(), heap);
    std::pmr::vector<Axes::Strides> inner(shapes.size(), heap);
    for (int axis = 0; axis < space.rank; ++axis) {
        const bool kept = keep_columns && axis == space.rank - 1;
        const std::int64_t extent = space[axis];
        if (extent == 1 && !kept) continue;
        for (std::size_t k = 0; k < shapes.size(); ++k)
            inner[k].at[0] = shapes[k] ? stride_of(space, *shapes[k], axis) : 0;
        const bool merge = !kept && axes.rank > 0 && can_merge(axes, extent, inner.data());
        if (merge)
            axes.extent[axes.rank - 1] *= extent;
        else
            axes.push(extent);
        for (std::size_t k = 0; k < shapes.size(); ++k) axes.stride[k].at[axes.rank - 1] = inner[k].at[0];
    }
    if (axes.rank == 0) axes.push(1);
    return axes;
}

jit::Access access_of(std::int64_t row_stride, std::int64_t column_stride) {
    if (column_stride != 0) return row_stride == 0 ? jit::Access::per_column : jit::Access::full;
    return row_stride == 0 ? jit::Access::single : jit::Access::per_row;
}

}  // namespace

std::int64_t LoopSpace::outer_count() const {
    std::int64_t count = 1;
    for (int i = 0; i < outer_rank; ++i) count *= outer_extent[i];
    return count;
}

std::int64_t LoopSpace::outer_offset(std::size_t operand, std::int64_t index) const {
    std::int64_t offset = 0;
    for (int i = outer_rank; i-- > 0; index /= outer_extent[i])
        offset += index % outer_extent[i] * operands[operand].outer_stride[i];
    return offset;
}

LoopSpace make_loop_space(const Shape& space, const std::pmr::vector<const Shape*>& shapes, bool keep_columns,
                          std::pmr::memory_resource* heap) {
    const Axes axes = collapse(space, shapes, keep_columns, heap);
    LoopSpace loops(heap);
    loops.columns = axes.extent[axes.rank - 1];
    loops.rows = axes.rank > 1 ? axes.extent[axes.rank - 2] : 1;
    loops.outer_rank = axes.rank > 2 ? axes.rank - 2 : 0;
    for (int i = 0; i < loops.outer_rank; ++i) loops.outer_extent[i] = axes.extent[i];
    loops.operands.resize(shapes.size());
    for (std::size_t k = 0; k < shapes.size(); ++k) {
        LoopOperand& operand = loops.operands[k];
        const std::int64_t* stride = axes.stride[k].at;
        operand.row_stride = axes.rank > 1 ? stride[axes.rank - 2] : 0;
        for (int i = 0; i < loops.outer_rank; ++i) operand.outer_stride[i] = stride[i];
        operand.access = access_of(operand.row_stride, stride[axes.rank - 1]);
        // One row: an operand per column and a full one are the same, and so are one per row and a single
        // one.
        if (loops.rows == 1 && operand.access == jit::Access::per_column) operand.access = jit::Access::full;
    }
    return loops;
}

}  // namespace volta
