// How far two host tensors are apart: volta_comparison.
#pragma once

#include "engine/runtime/session.h"

namespace volta {

struct Tolerance {
    double relative = 0, absolute = 0;  // both 0: by bits, but for NaN, which is as any NaN
};

// Throws SHAPE_MISMATCH with both shapes; INVALID_ARGUMENT for the dtypes.
volta_comparison compare_tensors(const TensorView& a, const TensorView& b, Tolerance tolerance);

}  // namespace volta
