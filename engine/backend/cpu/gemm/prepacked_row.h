// One row times a matrix that is packed once and comes from DRAM: B lies in panels of 16 columns, and is
// read as packed weights of that order are, panel after panel.
#pragma once

#include "engine/backend/cpu/gemm/product.h"

namespace volta::cpu {

bool gains_by_prepacked_row(const ProductShape& shape, const CompileContext& context);

// epilogue: NULL, or any. kept_bytes() is never 0.
ProductPtr compile_prepacked_row(const ProductShape& shape, const jit::RowKernel* epilogue,
                                 const CompileContext& context);

}  // namespace volta::cpu
