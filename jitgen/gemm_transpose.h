// Packing of a transposed B: 16 or 8 rows of [n, k] become as many columns, by 8 x 8 transposes in ymm
// registers.
#pragma once

#include <cstdint>
#include <memory_resource>

#include "jitgen/code.h"

namespace volta::jit {

// to[k * to_stride + j] = from[j * from_stride + k] for k < 8 * blocks, j < columns. Strides are in elements.
using TransposeFunction = void (*)(const float* from, std::int64_t from_stride, float* to,
                                   std::int64_t blocks, std::int64_t to_stride);

// Of 16 columns and of 8: for AVX2 and AVX-512 machines alike. NULL when executable memory is refused.
// `streaming` is of_16 by non-temporal stores, for targets that no cache will hold: its rows `to` begin at
// multiples of 64 bytes, and before another thread may read them fence() is called.
struct TransposeFunctions {
    TransposeFunction of_16 = nullptr, of_8 = nullptr, streaming = nullptr;
    void (*fence)() = nullptr;
};
TransposeFunctions emit_transposes(CodeArena& arena, std::pmr::memory_resource* heap);

}  // namespace volta::jit
