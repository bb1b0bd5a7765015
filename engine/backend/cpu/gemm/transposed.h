// A product of few rows with a large B stored transposed, computed as its transpose: C' = B A'. B is then
// read in place, row by row, and only A and C, which are small, change their order. fma(a, b, c) is
// fma(b, a, c): the same bits.
#pragma once

#include "engine/backend/cpu/gemm/product.h"

namespace volta::cpu {

// Does this product gain by it? Sizes only.
bool gains_by_transposing(const ProductShape& shape);

// The product of `shape`, swapped. `epilogue`: NULL, or what does not reduce over rows. Throws what
// compile_product() throws.
ProductPtr compile_transposed(const ProductShape& shape, const jit::RowKernel* epilogue,
                              const CompileContext& context);

}  // namespace volta::cpu
