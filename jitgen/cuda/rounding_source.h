// A kernel that writes a matrix of floats as bf16, each element rounded to the nearest, ties to even
// (bf16_from_f32 of engine/numerics/storage_types.h): operands of products that round them.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <string>

namespace volta::jit {

// Matrix b of `batch`, row r, column c goes from b * from_batch + r * from_row + c to the same place of `to`.
// The generated text declares the same struct and asserts its layout.
struct CudaRoundingArgs {
    const float* from;
    std::uint16_t* to;  // 4-byte aligned
    std::int64_t batch, rows, columns;
    std::int64_t from_row, from_batch;  // elements
    std::int64_t to_row, to_batch;      // elements, even; to_row >= columns + columns % 2
    std::int32_t width;                 // threads that share a line; a power of two up to 32
    std::int32_t wide;  // 1: every row begins at a multiple of 16 bytes on both sides, threads take eight
};

inline constexpr unsigned kRoundingThreads = 256;  // of a block

// Entry point NAME_bf16. Threads store pairs or eights: a row of an odd number of columns gets a zero behind
// it. What else lies between rows keeps its bits. Follows the prelude of row kernels.
void append_rounding_kernel(const char* name, std::pmr::string& text);

// Joins rows that follow each other on both sides, sets `width` and `wide`, and returns the number of blocks;
// 0: nothing to launch. No bit depends on it. `aligned`: `from` and `to` are multiples of 16 bytes.
// `multiprocessors` of the device, 1 or more.
unsigned rounding_launch(CudaRoundingArgs& args, bool aligned, int multiprocessors);

}  // namespace volta::jit
