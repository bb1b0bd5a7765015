// Packing of a transposed B: 16 rows of [n, k] become one panel [k][16], by 8 x 8 transposes in ymm
// registers; or 16 columns of any matrix.
#pragma once

#include <cstdint>
#include <memory_resource>

#include "jitgen/code.h"

namespace volta::jit {

// to[k * to_stride + j] = from[j * from_stride + k] for k < 8 * blocks, j < 16. Strides are in elements.
using TransposeFunction = void (*)(const float* from, std::int64_t from_stride, float* to,
                                   std::int64_t blocks, std::int64_t to_stride);

// For AVX2 and AVX-512 machines alike. NULL when executable memory is refused.
TransposeFunction emit_transpose_panel(CodeArena& arena, std::pmr::memory_resource* heap);

}  // namespace volta::jit
