// The one argument of a row kernel on a device: jit::RowArgs by value, with addresses of device memory. The
// generated text declares the same struct and asserts this one's layout (row_prelude.cpp).
#pragma once

#include <cstdint>

#include "jitgen/row_kernel.h"

namespace volta::jit {

struct CudaRowArgs {
    void* operands[kMaxOperands];            // element (0, 0) of each
    std::int64_t row_strides[kMaxOperands];  // in elements; used for full and per_row
    std::int64_t rows, columns;
    float* scratch;                         // as many bytes as the launch says (row_launch.h)
    std::int64_t chunk_stride;              // form blocks: elements between the chunk results of two row sums
    std::uint32_t first_row, first_column;  // what row_index and column_index start at
    std::uint32_t continue_columns;         // column_sum: 1 starts from the operand's content
    std::uint32_t unused;
    // Floats by their bits, or NULL: a kernel of rows changes nothing unless all of them are finite.
    const std::uint32_t* needs_finite[2];
};

}  // namespace volta::jit
