// What the rows of the table point to: folds (folds.cpp) and builders.
#pragma once

#include "engine/import/onnx/table.h"

namespace volta::onnx {

// Axes that a Squeeze, Unsqueeze or reduction names, as an attribute up to one version and as an input from
// it on; counted from the front, ascending. `rank`: of what they count in.
std::pmr::vector<std::int64_t> named_axes(Call& call, int input, int input_since, int rank, bool* given);
// The shape that a Reshape asks for, in one lane.
Shape reshaped(const Call& call, const Shape& x, const std::pmr::vector<std::int64_t>& wanted);
// a * b, refused where it does not fit.
std::int64_t multiplied(const Call& call, std::int64_t a, std::int64_t b);
// Indices that one axis of a Slice takes.
struct SliceRange {
    std::int64_t begin = 0, count = 0, step = 1;
};
SliceRange slice_range(const Call& call, std::int64_t begin, std::int64_t end, std::int64_t step,
                       std::int64_t extent);

// a by b: matrices, or batches of them that broadcast.
ValueId product(Call& call, ValueId a, ValueId b);
// By the window that the node's attributes say; bias -1: none.
ValueId convolved(Call& call, ValueId x, ValueId weight, ValueId bias);

namespace fold {
bool identity(FoldCall&);
bool neg(FoldCall&);
bool abs(FoldCall&);
bool floor(FoldCall&);
bool ceil(FoldCall&);
bool round(FoldCall&);
bool sqrt(FoldCall&);
bool logical_not(FoldCall&);
bool cast(FoldCall&);
bool cast_like(FoldCall&);
bool add(FoldCall&);
bool sub(FoldCall&);
bool mul(FoldCall&);
bool div(FoldCall&);
bool mod(FoldCall&);
bool maximum(FoldCall&);
bool minimum(FoldCall&);
bool equal(FoldCall&);
bool less(FoldCall&);
bool greater(FoldCall&);
bool less_equal(FoldCall&);
bool greater_equal(FoldCall&);
bool logical_and(FoldCall&);
bool logical_or(FoldCall&);
bool logical_xor(FoldCall&);
bool where(FoldCall&);
bool concat(FoldCall&);
bool gather(FoldCall&);
bool slice(FoldCall&);
bool split(FoldCall&);
bool unsqueeze(FoldCall&);
bool squeeze(FoldCall&);
bool reshape(FoldCall&);
bool transpose(FoldCall&);
bool expand(FoldCall&);
bool tile(FoldCall&);
bool range(FoldCall&);
bool constant_of_shape(FoldCall&);
bool reduce_sum(FoldCall&);
bool reduce_prod(FoldCall&);
bool reduce_max(FoldCall&);
bool reduce_min(FoldCall&);
bool pow(FoldCall&);
bool bit_shift(FoldCall&);
bool bitwise_and(FoldCall&);
bool bitwise_or(FoldCall&);
bool bitwise_xor(FoldCall&);
bool trilu(FoldCall&);
bool nonzero(FoldCall&);
bool gather_elements(FoldCall&);  // indexed.cpp
}  // namespace fold

namespace build {
// elementwise.cpp
void relu(Call&);
void unary(Call&);  // by the row's name: operators without attributes
void leaky_relu(Call&);
void elu(Call&);
void selu(Call&);
void celu(Call&);
void hard_sigmoid(Call&);
void gelu(Call&);
void thresholded_relu(Call&);
void shrink(Call&);
void swish(Call&);
void hyperbolic(Call&);
void tangent(Call&);
void prelu(Call&);
void sign(Call&);
void reciprocal(Call&);
void is_nan(Call&);
void is_inf(Call&);
void clip(Call&);
void binary(Call&);
void compare(Call&);
void logic(Call&);
void logical_not(Call&);
void pow(Call&);
void variadic(Call&);
void where(Call&);
void cast(Call&);
void cast_like(Call&);
// movement.cpp
void identity(Call&);
void dropout(Call&);
void constant(Call&);
void constant_of_shape(Call&);
void shape(Call&);
void size(Call&);
void reshape(Call&);
void flatten(Call&);
void squeeze(Call&);
void unsqueeze(Call&);
void transpose(Call&);
void concat(Call&);
void split(Call&);
void slice(Call&);
void gather(Call&);
void pad(Call&);
void expand(Call&);
void tile(Call&);
void depth_to_space(Call&);
void space_to_depth(Call&);
void trilu(Call&);
void eye_like(Call&);
// rows.cpp: along axes
void softmax(Call&);
void reduce(Call&);
void cumulative(Call&);
void arg_extremum(Call&);
void batch_norm(Call&);
void layer_norm(Call&);
void rms_norm(Call&);
void group_norm(Call&);
void instance_norm(Call&);
void lp_norm(Call&);
void mean_variance_norm(Call&);
// windows.cpp
void conv(Call&);
void conv_transpose(Call&);
void pool(Call&);
void lp_pool(Call&);
void global_pool(Call&);
void lrn(Call&);
// resize.cpp
void resize(Call&);
// products.cpp
void matmul(Call&);
void gemm(Call&);
void einsum(Call&);
// selection.cpp
void top_k(Call&);
// quantized.cpp
void quantize_linear(Call&);
void dequantize_linear(Call&);
void dynamic_quantize_linear(Call&);
void matmul_integer(Call&);
void conv_integer(Call&);
void qlinear_matmul(Call&);
void qlinear_conv(Call&);
// recurrent.cpp
void recurrent(Call&);
// attention.cpp
void attention(Call&);
void rotary_embedding(Call&);
// indexed.cpp
void gather_elements(Call&);
void gather_nd(Call&);
void scatter_elements(Call&);
void scatter_nd(Call&);
void negative_log_likelihood(Call&);
void softmax_cross_entropy(Call&);
void hardmax(Call&);
void one_hot(Call&);
}  // namespace build

}  // namespace volta::onnx
