// A product in register tiles: packed, blocked and split over threads as its plan says.
#pragma once

#include "engine/backend/cpu/gemm/product.h"

namespace volta::cpu {

// choice: what the plan was made with, for the kernel's name.
ProductPtr compile_tiled(const ProductShape& shape, const jit::RowKernel* epilogue,
                         const CompileContext& context, const ProductChoice& choice);

}  // namespace volta::cpu
