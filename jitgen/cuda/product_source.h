// Products of the contract (docs/numerics.md, 2) in CUDA C: register tiles over four stages of shared
// memory, segments of 512 closed in order. What follows a product (bias, activation, residual) is a row
// program that each thread runs on its own elements.
#pragma once

#include <memory_resource>
#include <string>

#include "jitgen/cuda/row_args.h"
#include "jitgen/row_plan.h"

namespace volta::jit {

// c [m, n] = a [m, k] x b [k, n]. The generated text declares the same struct and asserts the layout.
struct CudaProductArgs {
    const float* a;  // element (i, p) at a[i * a_stride + p]; transposed: a[p * a_stride + i]
    const float* b;  // element (p, j) at b[p * b_stride + j]; transposed: b[j * b_stride + p]
    float* c;        // holds finished segments while the product is computed
    float* scratch;  // of NAME_segments: [batch, segments, m, n]
    std::int64_t a_stride, b_stride, c_stride;  // in elements
    std::int64_t m, n, k;
    std::uint32_t into;    // 1: the product is added to what c holds
    std::uint32_t keep;    // 1: c receives the product; 0: only the epilogue's outputs count
    CudaRowArgs epilogue;  // operand 0 is not read from memory; rows and columns are not used
    // Elements between the matrices of a batch; 0 repeats an operand. Rows of the epilogue run over batch *
    // m.
    std::int64_t batch = 1, batch_stride_a = 0, batch_stride_b = 0, batch_stride_c = 0;
};

struct ProductForm {
    bool transposed_a = false, transposed_b = false;
    int tile = 128;  // rows and columns of a block's tile: 128 or 64
};

inline constexpr unsigned kProductThreads = 256;  // of a block of every product kernel

// What follows the prelude of row kernels once per translation unit.
void append_product_prelude(std::pmr::string& text);

// Three entry points. NAME_tiles: blocks share the tiles of c (grid x). NAME_segments and then NAME_close,
// for few tiles and a long k: blocks share tiles (grid x) and segments (grid y), and the segments of each
// element are then added in ascending order; NAME_close alone does k = 0, which NAME_tiles leaves undone.
// Grid z shares a batch. `epilogue`: elementwise, operand 0 is the product; NULL: none.
void append_product_kernels(const ProductForm& form, const RowPlan* epilogue, const char* name,
                            std::pmr::string& text);

}  // namespace volta::jit
