// Row reductions in plain C++, a block of columns at a time: what the interpreter keeps while it walks a row.
#pragma once

#include <cstdint>

#include "jitgen/program.h"

namespace volta::jit {

struct RowReduction {
    float lanes[32];        // row_sum: the chunk at hand
    std::int64_t chunks;    // row_sum: results written to the chunk buffer so far
    float max;              // row_max: without NaNs
    bool nan;               // row_max: one was seen
    std::int32_t best_key;  // row_argmax
    std::uint32_t best_index;

    void begin(std::uint32_t first_column) noexcept;
    // value[0 .. n): columns column .. column + n of the row. A block never crosses a chunk; all but the last
    // of a row are a multiple of 32 long. chunk_results has room for every chunk of the row.
    void add(Code code, const std::uint32_t* value, std::int64_t column, std::int64_t n,
             std::uint32_t first_column, float* chunk_results) noexcept;
    // The bits of the result; `chunk_results` are used up.
    std::uint32_t result(Code code, float* chunk_results) noexcept;

  private:
    void close_chunk(float* chunk_results) noexcept;
};

}  // namespace volta::jit
