// A product of few rows with B in place. Tiles of few rows would read B in narrow strips, which is no
// stream to the memory; a sweep goes through all columns of a group a few steps of k at a time
// (jitgen/gemm_axpy.h).
#pragma once

#include "engine/backend/cpu/gemm/product.h"

namespace volta::cpu {

// Does this product gain by it, with this instruction set? Sizes only.
bool gains_by_axpy(const ProductShape& shape, Isa isa);

// epilogue: NULL, or any. NULL when executable memory is refused.
ProductPtr compile_axpy(const ProductShape& shape, const jit::RowKernel* epilogue,
                        const CompileContext& context);

}  // namespace volta::cpu
