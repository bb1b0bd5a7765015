// Skinny products (docs/numerics.md, 2), and products with packed weights (5), in CUDA C: b is read
// once, as a stream, and every chain stays in a register.
#pragma once

#include <memory_resource>
#include <string>

#include "engine/base/shape.h"
#include "jitgen/cuda/product_source.h"

namespace volta::jit {

inline constexpr int kMostProductRows = 16;  // that read b together

// c [m, n] = a [m, k] x b. CudaProductArgs as for other products, but scratch is not used; of a stored
// weight, which is [n, k] in panels, b is its first byte, at a multiple of 4; b_stride is not used.
struct RowsProductForm {
    DType b = DType::f32;       // or a storage format
    bool transposed_b = false;  // of f32: b is [n, k]
    int rows = 1;               // rows of a that meet b together, 1 to kMostProductRows; m may be larger
};

// What follows the preludes of row kernels, products and packed weights once per translation unit.
void append_rows_product_prelude(std::pmr::string& text);

// One entry point, NAME_rows. `epilogue`: elementwise, operand 0 is the product; NULL: none. Throws
// Error{INTERNAL} for a form that is none.
void append_rows_product_kernel(const RowsProductForm& form, const RowPlan* epilogue, const char* name,
                                std::pmr::string& text);

struct RowsProductLaunch {
    unsigned grid_x, grid_z;  // 0: nothing to launch
    unsigned threads;         // of a block
};
// m, n, k, batch >= 0.
RowsProductLaunch rows_product_launch(const RowsProductForm& form, std::int64_t m, std::int64_t n,
                                      std::int64_t k, std::int64_t batch = 1);

}  // namespace volta::jit
