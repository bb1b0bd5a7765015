// Products whose B is a packed weight [n, k] (engine/numerics/stored_weights.h): read in place, which
// may be a mapped file, by kernels that dequantise it in registers.
#pragma once

#include "engine/backend/cpu/gemm/product.h"
#include "engine/base/shape.h"

namespace volta::cpu {

// Panels are read one after the other, as one stream, beyond: several at once are up to 1.8 times as fast
// while weights are in the last cache, and not much slower where a part of them is not.
inline constexpr double kMostCacheUseOfPanels = 1.25;

// shape: one matrix A [m, k] by rows, B transposed. epilogue: NULL, or any. Calls give B as `stored`;
// `into` needs a k above 0.
ProductPtr compile_packed_weight_product(const ProductShape& shape, DType dtype,
                                         const jit::RowKernel* epilogue, const CompileContext& context);

}  // namespace volta::cpu
