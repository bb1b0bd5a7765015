// What rows of the operator table point to. Shapes:
// shape_{rules,norms,pairs,movement,products,convolution,axes}.cpp; gradients: gradient_rules.cpp;
// definitions: evaluate*.cpp; costs: cost.cpp.
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
Rule clamp, where, dropout, fused, fused_rows;
Rule rows;  // as `same`, with a last axis that is not empty
Rule layer_norm, layer_norm_grad, layer_norm_grad_scale, layer_norm_grad_columns;
Rule rms_norm, rms_norm_grad, rms_norm_grad_scale;
Rule cross_entropy, cross_entropy_grad, cross_entropy_with_grad;
Rule element_loss, element_loss_grad;  // mse, l1, huber, binary_cross_entropy
Rule batch_norm, batch_statistics, batch_norm_grad, group_norm, instance_norm, group_norm_grad;
Rule running_statistics, assign;
Rule swiglu, swiglu_grad, rotary_table, rotary;
Rule reduction;  // sum, mean
Rule extremum;   // max, min: a reduction that needs an element
Rule max_grad, argmax;
Rule reshape, transpose, concat, slice, slice_grad, broadcast_to, position_ids, gather, embedding_gradient;
Rule matmul, weight_gradient, weight_gradient_into, attention, attention_grad, cached_attention;
Rule conv, conv_transpose, conv_grad_weight, conv_grad_bias;
Rule max_pool, max_pool_grad, average_pool, average_pool_grad;
Rule pad, pad_grad, resize, resize_grad;
Rule stack, clip_factor, optimizer;
Rule to_scalar;  // any f32 -> []
}  // namespace shape_rules

namespace gradient_rules {
using Rule = std::remove_pointer_t<GradientRule>;
Rule neg, abs, exp, log, sqrt, rsqrt, tanh, erf, sigmoid, sin, cos, pow, clamp;
Rule by_operator;  // the row's gradient_op on (x, dy), with the attributes that it has
Rule relu;
Rule add, sub, mul, div, where, dropout;
Rule choice;   // maximum, minimum
Rule softmax;  // and log_softmax
Rule layer_norm, rms_norm, cross_entropy, mse, l1, huber, binary_cross_entropy, swiglu, rotary;
Rule batch_norm;        // of statistics that are constant
Rule batch_norm_train;  // of the batch's own
Rule group_norm;        // and instance_norm
Rule sum, mean, square_sum;
Rule extremum;  // max, min
Rule reshape, transpose, concat, slice, slice_grad, broadcast_to, gather;
Rule matmul, attention;
Rule conv, conv_transpose, max_pool, average_pool, pad, resize;
}  // namespace gradient_rules

// Constants, defined beside their functions: a row holds the address.
namespace evaluations {
extern const Evaluation elementwise;  // by elementwise.h
extern const Evaluation fused_rows;
extern const Evaluation constant;
extern const Evaluation softmax, softmax_grad, log_softmax, log_softmax_grad;
extern const Evaluation layer_norm, layer_norm_grad, layer_norm_grad_scale, layer_norm_grad_columns;
extern const Evaluation rms_norm, rms_norm_grad, rms_norm_grad_scale;
extern const Evaluation cross_entropy, cross_entropy_grad, cross_entropy_with_grad, mse, mse_grad, argmax;
extern const Evaluation l1, l1_grad, huber, huber_grad, binary_cross_entropy, binary_cross_entropy_grad;
extern const Evaluation batch_norm, batch_statistics, batch_norm_grad, group_norm, group_norm_grad;
extern const Evaluation running_statistics, assign;
extern const Evaluation swiglu, swiglu_grad, rotary_table, rotary;
extern const Evaluation sum, mean, max, min, max_grad;
extern const Evaluation reshape, transpose, concat, slice, slice_grad, broadcast_to, position_ids;
extern const Evaluation gather, embedding_gradient;
extern const Evaluation matmul, weight_gradient, weight_gradient_into;
extern const Evaluation attention, attention_grad, cached_attention;
extern const Evaluation conv, conv_transpose, conv_grad_weight, conv_grad_bias;
extern const Evaluation max_pool, max_pool_grad, average_pool, average_pool_grad;
extern const Evaluation pad, pad_grad, resize, resize_grad;
extern const Evaluation accumulate, stack, square_sum;
extern const Evaluation sgd, sgd_plain, adam, adamw, adagrad;

// The same definition in double precision; one list per file, for tests alone.
struct InDouble {
    const Evaluation* of;
    void (*run)(const NodeRun<double>& run);
};
struct InDoubleList {
    const InDouble* first;
    std::size_t count;
};
InDoubleList single_in_double();  // evaluate.cpp
InDoubleList axes_in_double();
InDoubleList elementwise_in_double();  // evaluate_elementwise.cpp, ...
InDoubleList convolution_in_double();
InDoubleList movement_in_double();
InDoubleList norms_in_double();
InDoubleList pairs_in_double();
InDoubleList products_in_double();
InDoubleList rows_in_double();
}  // namespace evaluations

namespace cost_rules {
using Rule = std::remove_pointer_t<CostRule>;
Rule product, convolution, attention, attention_grad;
Rule part;     // reads no more of input 0 than it writes
Rule unknown;  // known to its run alone
}  // namespace cost_rules

}  // namespace volta
