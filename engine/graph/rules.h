// The rules that rows of the operator table name. Shapes: shape_{rules,pairs,movement,products}.cpp;
// gradients: gradient_rules.cpp.
#pragma once

#include <type_traits>

#include "engine/graph/graph.h"

namespace volta {

using TypedShapes = std::pmr::vector<TypedShape>;

namespace shape_rules {
using Rule = std::remove_pointer_t<ShapeRule>;  // a function type: the lines below declare functions
Rule source;
Rule same;          // one or more f32 of one shape -> that shape
Rule broadcasting;  // f32 x f32 -> f32
Rule comparison;    // f32 x f32 -> i32
Rule choice_grad;   // (a, b, dy)
Rule clamp, where, dropout, fused;
Rule rows;  // as `same`, with a last axis that is not empty
Rule layer_norm, layer_norm_grad, layer_norm_grad_scale, rms_norm, rms_norm_grad, rms_norm_grad_scale;
Rule cross_entropy, cross_entropy_grad, cross_entropy_with_grad, mse, mse_grad;
Rule swiglu, swiglu_grad, rotary_table, rotary;
Rule reduction;  // sum, mean
Rule extremum;   // max, min: a reduction that needs an element
Rule max_grad, argmax;
Rule reshape, transpose, concat, slice, slice_grad, broadcast_to, position_ids, gather, embedding_gradient;
Rule matmul, weight_gradient, attention, attention_grad, cached_attention;
Rule stack, clip_factor, optimizer;
Rule to_scalar;  // any f32 -> []
}  // namespace shape_rules

namespace gradient_rules {
using Rule = std::remove_pointer_t<GradientRule>;
Rule neg, abs, exp, log, sqrt, rsqrt, tanh, erf, sigmoid, sin, cos, pow, clamp;
Rule by_operator;  // silu, gelu_tanh, gelu_erf: the operator made for it
Rule relu;
Rule add, sub, mul, div, where, dropout;
Rule choice;   // maximum, minimum
Rule softmax;  // and log_softmax
Rule layer_norm, rms_norm, cross_entropy, mse, swiglu, rotary;
Rule sum, mean, square_sum;
Rule extremum;  // max, min
Rule reshape, transpose, concat, slice, broadcast_to, gather;
Rule matmul, attention;
}  // namespace gradient_rules

}  // namespace volta
