// A product of few rows with B stored as its transpose, in place (jitgen/gemm_dot.h): the head of a
// language model, whose weight is its table of tokens.
#pragma once

#include "engine/backend/cpu/gemm/product.h"

namespace volta::cpu {

// Does this product gain by it, with this instruction set? Sizes only.
bool gains_by_dot(const ProductShape& shape, Isa isa);

// epilogue: NULL, or one that runs on blocks. NULL when executable memory is refused.
ProductPtr compile_dot(const ProductShape& shape, const jit::RowKernel* epilogue,
                       const CompileContext& context);

}  // namespace volta::cpu
