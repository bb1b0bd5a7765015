// One instruction of a row program as CUDA C: "const float v7 = __fmaf_rn(v3, 0x1.8p+1f, v5);".
#pragma once

#include "jitgen/cuda/source_text.h"
#include "jitgen/row_plan.h"

namespace volta::jit {

// A value where an argument of `kind` is read (CodeInfo: r, i or m): its name, or a constant as a literal.
SourceTerm cuda_value(const RowPlan& plan, std::int32_t id, char kind);

// The right side of an instruction that is a function of its arguments; loads, sources, reductions and stores
// are their caller's.
SourceTerm cuda_expression(const RowPlan& plan, std::int32_t id);

// "float", "unsigned" or "bool".
const char* cuda_type(Type type);

}  // namespace volta::jit
