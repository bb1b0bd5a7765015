// A product of few columns as its transpose, C' = B' A', whose rows are long: a vector computes 16 rows of C
// at a step, where one of C's own columns would fill a part of it. A is read in place; B and C, which
// are small beside it, are transposed.
#pragma once

#include "engine/backend/cpu/gemm/product.h"

namespace volta::cpu {

bool gains_by_narrow_n(const ProductShape& shape, const CompileContext& context);

ProductPtr compile_narrow_n(const ProductShape& shape, const jit::RowKernel* epilogue,
                            const CompileContext& context);

}  // namespace volta::cpu
