// A product of few rows with B stored as its transpose, where it lies (jitgen/gemm_dots.h): the head of a
// language model, whose weight is its table of tokens.
#pragma once

#include "engine/backend/cpu/product.h"

namespace volta::cpu {

// Does this product gain by it, with this instruction set? Sizes only.
bool gains_by_dots(const ProductShape& shape, Isa isa);

// epilogue: NULL, or one that runs on blocks. NULL when executable memory is refused.
ProductPtr compile_dots(const ProductShape& shape, const jit::RowKernel* epilogue,
                        const CompileContext& context);

}  // namespace volta::cpu
