// How far attention may be from its definition when operands of its products are rounded.
#pragma once

#include <vector>

#include "tests/cuda/attention_problem.h"

namespace volta::test {

// Results of a pass, or their bounds, without gaps: o, dq [batch, time, heads, head_dim], dk, dv with
// kv_heads, row_max, row_sum [batch, heads, time].
struct AttentionResults {
    std::vector<double> o, row_max, row_sum, dq, dk, dv;
};

// engine/numerics/define_attention.h in double precision.
AttentionResults attention_in_double(const jit::CudaAttentionForm& form, const AttentionProblem& p);

// `roundoff`: the largest relative error of one rounding: 2^-8 of bf16, 2^-11 of tf32 (their significands
// have 8 and 11 bits). What is bounded, to first order and a tenth more:
//   q, k, v, d_o    are rounded once: not at all where they are `exact`;
//   scores          err by the sum over the head of |q| |k| times that, exponentials by a factor e^(2 x the largest)
//                   (a cap only shortens the error; the slope below it errs by what its score does)
//   probabilities and their gradients as operands: rounded once
//   the rest        fp32: 2^-18 of the sums of absolute values
// Of exact operands only the last two remain. Then the roundings of an element's terms are independent, and
// four times the root of the sum of their squares holds them (some seven standard deviations): a key too many
// or too few is beyond that.
AttentionResults attention_bounds(const jit::CudaAttentionForm& form, const AttentionProblem& p,
                                  double roundoff, bool exact);

}  // namespace volta::test
