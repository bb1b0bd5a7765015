// Rotary positions (docs/numerics.md, 4) in CUDA C: pairs of a head rotated by the angle of their token's
// position, which is read on the device.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <string>

#include "jitgen/cuda/embedding_source.h"

namespace volta::jit {

// y [tokens, columns]: of `heads` heads of `stride` elements the first `width` are rotated, and all other
// columns copied. y may be x.
struct CudaRotaryArgs {
    const float* x;
    float* y;
    const std::int32_t* positions;  // [tokens], rows of the table
    const float* table;             // [.., width]: the cosines of the width/2 pairs, then their sines
    std::int64_t tokens, columns, heads, width, stride;
    std::uint32_t interleaved;  // 1: pairs are (2i, 2i + 1), 0: (i, i + width/2)
    std::uint32_t inverse;      // 1: by the negative angle
};

inline constexpr unsigned kRotaryThreads = 256;  // of a block

// Entry point rotary_rows. Follows append_move_kernels.
void append_rotary_kernels(std::pmr::string& text);

GridSize rotary_grid(const CudaRotaryArgs& args);

}  // namespace volta::jit
