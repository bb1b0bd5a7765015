// A product of few columns as its transpose, C' = B' A', whose rows are long: a vector computes 16 rows of C
// at a step, where one of C's own columns would fill a part of it. A is read where it lies; B and C, which
// are small beside it, are turned round.
#pragma once

#include "engine/backend/cpu/product.h"

namespace volta::cpu {

bool gains_by_few_columns(const ProductShape& shape, const CompileContext& context);

ProductPtr compile_few_columns(const ProductShape& shape, const jit::RowKernel* epilogue,
                               const CompileContext& context);

}  // namespace volta::cpu
