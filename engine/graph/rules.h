// The rules that rows of the operator table name. Definitions: shape_rules.cpp, gradient_rules.cpp.
#pragma once

#include "engine/graph/graph.h"

namespace volta {

#define VOLTA_SHAPE_RULE(name)                                             \
    void name(const Node& node, const TypedShape* inputs, int input_count, \
              std::pmr::vector<TypedShape>& outputs)

namespace shape_rules {
VOLTA_SHAPE_RULE(source);
VOLTA_SHAPE_RULE(same);  // one or more f32 of one shape -> that shape
VOLTA_SHAPE_RULE(clamp);
VOLTA_SHAPE_RULE(broadcasting);  // f32 x f32 -> f32
VOLTA_SHAPE_RULE(comparison);    // f32 x f32 -> i32
VOLTA_SHAPE_RULE(where);
VOLTA_SHAPE_RULE(choice_grad);  // (a, b, dy)
VOLTA_SHAPE_RULE(dropout);
VOLTA_SHAPE_RULE(fused);
VOLTA_SHAPE_RULE(rows);  // as `same`, with a last axis that is not empty
VOLTA_SHAPE_RULE(layer_norm);
VOLTA_SHAPE_RULE(layer_norm_grad);
VOLTA_SHAPE_RULE(layer_norm_grad_scale);
VOLTA_SHAPE_RULE(rms_norm);
VOLTA_SHAPE_RULE(rms_norm_grad);
VOLTA_SHAPE_RULE(rms_norm_grad_scale);
VOLTA_SHAPE_RULE(cross_entropy);
VOLTA_SHAPE_RULE(cross_entropy_grad);
VOLTA_SHAPE_RULE(mse);
VOLTA_SHAPE_RULE(mse_grad);
VOLTA_SHAPE_RULE(reduction);
VOLTA_SHAPE_RULE(extremum);  // a reduction that needs an element
VOLTA_SHAPE_RULE(max_grad);
VOLTA_SHAPE_RULE(argmax);
VOLTA_SHAPE_RULE(reshape);
VOLTA_SHAPE_RULE(transpose);
VOLTA_SHAPE_RULE(concat);
VOLTA_SHAPE_RULE(slice);
VOLTA_SHAPE_RULE(slice_grad);
VOLTA_SHAPE_RULE(broadcast_to);
VOLTA_SHAPE_RULE(position_ids);
VOLTA_SHAPE_RULE(gather);
VOLTA_SHAPE_RULE(embedding_gradient);
VOLTA_SHAPE_RULE(matmul);
VOLTA_SHAPE_RULE(attention);
VOLTA_SHAPE_RULE(attention_grad);
VOLTA_SHAPE_RULE(stack);
VOLTA_SHAPE_RULE(to_scalar);  // any f32 -> []
VOLTA_SHAPE_RULE(clip_factor);
VOLTA_SHAPE_RULE(optimizer);
}  // namespace shape_rules
#undef VOLTA_SHAPE_RULE

#define VOLTA_GRADIENT_RULE(name) void name(GradientBuilder& builder, const Node& node)

namespace gradient_rules {
VOLTA_GRADIENT_RULE(neg);
VOLTA_GRADIENT_RULE(abs);
VOLTA_GRADIENT_RULE(exp);
VOLTA_GRADIENT_RULE(log);
VOLTA_GRADIENT_RULE(sqrt);
VOLTA_GRADIENT_RULE(rsqrt);
VOLTA_GRADIENT_RULE(tanh);
VOLTA_GRADIENT_RULE(erf);
VOLTA_GRADIENT_RULE(sigmoid);
VOLTA_GRADIENT_RULE(by_operator);  // silu, gelu_tanh, gelu_erf, relu: the operator made for it
VOLTA_GRADIENT_RULE(sin);
VOLTA_GRADIENT_RULE(cos);
VOLTA_GRADIENT_RULE(pow);
VOLTA_GRADIENT_RULE(clamp);
VOLTA_GRADIENT_RULE(add);
VOLTA_GRADIENT_RULE(sub);
VOLTA_GRADIENT_RULE(mul);
VOLTA_GRADIENT_RULE(div);
VOLTA_GRADIENT_RULE(choice);  // maximum, minimum
VOLTA_GRADIENT_RULE(where);
VOLTA_GRADIENT_RULE(dropout);
VOLTA_GRADIENT_RULE(softmax);  // and log_softmax
VOLTA_GRADIENT_RULE(layer_norm);
VOLTA_GRADIENT_RULE(rms_norm);
VOLTA_GRADIENT_RULE(cross_entropy);
VOLTA_GRADIENT_RULE(mse);
VOLTA_GRADIENT_RULE(sum);
VOLTA_GRADIENT_RULE(mean);
VOLTA_GRADIENT_RULE(extremum);  // max, min
VOLTA_GRADIENT_RULE(reshape);
VOLTA_GRADIENT_RULE(transpose);
VOLTA_GRADIENT_RULE(concat);
VOLTA_GRADIENT_RULE(slice);
VOLTA_GRADIENT_RULE(broadcast_to);
VOLTA_GRADIENT_RULE(gather);
VOLTA_GRADIENT_RULE(matmul);
VOLTA_GRADIENT_RULE(attention);
VOLTA_GRADIENT_RULE(square_sum);
}  // namespace gradient_rules
#undef VOLTA_GRADIENT_RULE

}  // namespace volta
