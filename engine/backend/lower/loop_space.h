// The loops of an elementwise step: dense operands broadcast against one shape, seen as few long rows. Axes
// of extent 1 vanish and neighbours that all operands walk alike become one, so x + bias over [8, 256, 384]
// is 2048 rows of 384 with a per-column operand, and x * y is one row of 786432.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "engine/base/shape.h"
#include "jitgen/program.h"

namespace volta {

// One operand's way through the loops, in elements.
struct LoopOperand {
    jit::Access access = jit::Access::full;
    std::int64_t row_stride = 0;
    std::int64_t outer_stride[kMaxRank] = {};
};

struct LoopSpace {
    explicit LoopSpace(std::pmr::memory_resource* heap) : operands(heap) {}
    LoopSpace(const LoopSpace& other, std::pmr::memory_resource* heap) : operands(heap) { *this = other; }
    LoopSpace(const LoopSpace&) = delete;  // a copy says on which heap
    LoopSpace(LoopSpace&&) = default;
    LoopSpace& operator=(const LoopSpace&) = default;
    std::int64_t rows = 1, columns = 1;
    std::int64_t outer_extent[kMaxRank] = {};  // outermost first
    int outer_rank = 0;
    std::pmr::vector<LoopOperand> operands;

    std::int64_t outer_count() const;
    // Elements from an operand's base to its part of outer iteration `index`.
    std::int64_t outer_offset(std::size_t operand, std::int64_t index) const;
};

// `shapes`: one per operand, each broadcastable to `space` (NumPy rules); NULL: an operand of single
// elements. keep_columns: the last axis of `space` stays the columns of a row, whatever its extent, because
// the program knows its own row and column.
LoopSpace make_loop_space(const Shape& space, const std::pmr::vector<const Shape*>& shapes, bool keep_columns,
                          std::pmr::memory_resource* heap);

}  // namespace volta
