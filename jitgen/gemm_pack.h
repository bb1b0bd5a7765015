// Packing of a transposed B: 16 rows of [n, k] become one panel [k][16], by 8 x 8 transposes in ymm
// registers.
#pragma once

#include <cstdint>
#include <memory_resource>

#include "jitgen/code.h"

namespace volta::jit {

// panel[k * 16 + j] = source[j * stride + k] for k < 8 * blocks, j < 16.
using TransposeFunction = void (*)(const float* source, std::int64_t stride, float* panel,
                                   std::int64_t blocks);

// For AVX2 and AVX-512 machines alike. NULL when executable memory is refused.
TransposeFunction emit_transpose_panel(CodeArena& arena, std::pmr::memory_resource* heap);

}  // namespace volta::jit
