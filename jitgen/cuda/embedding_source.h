// Rows of a table by id, packed tables too, and the gradient of that without atomics: every id's rows added
// in ascending order of position (docs/numerics.md, 7). Ids are inside their tables.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <string>

namespace volta::jit {

// to [count, width] = table [rows, width] at ids [count].
struct CudaGatherArgs {
    const void* table;  // floats, or a packed weight (engine/numerics/stored_weights.h), at a multiple of 4
    const std::int32_t* ids;
    float* to;
    std::int64_t count, width;
};

// to [rows, width]: +0 and then the gradient of every position, in order; base + that on rows that have
// positions, and base alone on the others.
struct CudaEmbeddingArgs {
    const std::int32_t* ids;  // [positions]
    const float* gradient;    // [positions, width]
    const float* base;        // [rows, width], may be `to`; NULL: none
    float* to;
    std::int32_t *first, *end;  // scratch [rows] each: where a row's positions begin and end in `order`
    std::int32_t* order;        // scratch [positions]: positions by id, ascending
    std::int64_t positions;     // below 2^31
    std::int64_t rows, width;
};

inline constexpr unsigned kEmbeddingThreads = 256;  // of a block of every kernel of this page

// Entry points: gather_f32, gather_bf16, gather_f16, gather_int8, gather_int4; and embedding_clear,
// embedding_order and embedding_gradient, which run in this order. Follows append_move_kernels.
void append_embedding_kernels(std::pmr::string& text);

struct GridSize {
    unsigned x, y;  // 0: nothing to launch
};
GridSize gather_grid(const CudaGatherArgs& args);

struct EmbeddingLaunch {
    unsigned clear_x, order_x;  // 0: not launched
    GridSize gradient;
};
// `multiprocessors` of the device, 1 or more.
EmbeddingLaunch embedding_launch(const CudaEmbeddingArgs& args, int multiprocessors);

}  // namespace volta::jit
