// What a node's attributes and shapes mean, worked out in one place for the evaluator and the backends: axes
// counted from the front, extents of products, widths of heads. All throw SHAPE_MISMATCH or INVALID_ARGUMENT
// with the operator's name; on a node of a verified graph they cannot.
#pragma once

#include <cstdint>

#include "engine/base/shape.h"
#include "engine/graph/op.h"
#include "engine/numerics/define_axes.h"
#include "engine/numerics/define_convolution.h"
#include "engine/numerics/define_pooling.h"

namespace volta {

// NumPy's rule: aligned at the last axis, extents equal or 1. False: they do not fit.
bool broadcast(const Shape& a, const Shape& b, Shape* result);

// The attribute `axis`, in 0 .. rank - 1.
int axis_form(const Node& node, const Shape& x);

// sum, mean, max, min, max_grad over `axes`. A reduction in which the last axis of extent above 1 is reduced
// sums rows over `reduced` elements; any other sums columns (docs/numerics.md, 3).
struct ReductionForm {
    bool is_reduced[kMaxRank] = {};
    bool is_row = false;       // the row rule
    std::int64_t reduced = 1;  // elements per result
    Shape result;              // with keep_dims as the node says
};
ReductionForm reduction_form(const Node& node, const Shape& x);

// Which of the node's inputs holds these ids; -1: none of them.
int id_input(const Node& node, const IdInput& ids);
// One past the largest id that this input of the node may hold.
std::int64_t id_bound(const Graph& graph, const Node& node, const IdInput& ids);

inline constexpr double kToTheEnd = 9007199254740992;  // `end` of a slice, 2^53
struct SliceForm {
    int axis = 0;
    std::int64_t begin = 0, end = 0;  // 0 <= begin <= end <= extent
};
SliceForm slice_form(const Node& node, const Shape& x);

// rotary, by its table [limit, width].
struct RotaryForm;  // engine/numerics/define_pairs.h
RotaryForm rotary_form(const Node& node, const Shape& table);

// x [N, C, ...] of the norms of channels, and how many groups of channels group_norm, instance_norm and
// group_norm_grad take of it.
struct ChannelPlanes;  // engine/numerics/define_norms.h
ChannelPlanes channel_planes(const Shape& x);
std::int64_t norm_groups(const Node& node, const ChannelPlanes& planes);

// C [m, n] = A [m, k] x B [k, n], `batch` times. a_transposed: A is stored [k, m] (k linear over all leading
// axes); b_transposed: B is stored [n, k]. With batch > 1 every operand advances by its own matrix.
struct MatmulForm {
    std::int64_t batch = 1, m = 0, n = 0, k = 0;
    bool a_transposed = false, b_transposed = false;
    Shape result;
};
MatmulForm matmul_form(const Node& node, const Shape& a, const Shape& b);
// Whole, one per row, one per column, or a single one: how an operand lies over the rows and columns of a
// whole, as kernels of rows address it.
bool is_row_operand(const Shape& operand, const Shape& whole);

// Products that may have a body: of matrices, and convolutions that give pictures. Inputs 0 and 1 are the
// factors; a body's operands follow. (A convolution without a body may have a bias there.)
bool carries_product(Op op);
// Which output of a product with a body holds the product itself until the body has run: one that is the
// product, else the first.
int product_output(const Node& node);

// conv, conv_transpose, conv_grad_weight: the convolution that reads pictures `x` [batch, channels, spatial],
// one or two spatial axes, and gives `y`. conv_transpose gives x of y, and its result is x.
struct ConvolutionForm {
    define::ConvolutionSizes sizes;  // one spatial axis: the columns
    int spatial = 2;                 // axes
    Shape result;                    // of the node
};
ConvolutionForm convolution_form(const Node& node, const Shape& first, const Shape& second);

// max_pool, average_pool and their gradients: of the picture x.
struct PoolingForm {
    define::PoolingSizes sizes;  // one spatial axis: the columns
    Shape x, y;
};
PoolingForm pooling_form(const Node& node, const Shape& first);

// pad, resize and their gradients: of x and y, and what y is made of along each axis.
struct AxisMapForm {
    Shape x, y;
    define::AxisMap axes[kMaxRank];
};
AxisMapForm axis_map_form(const Node& node, const Shape& first);

// attention and attention_grad. `first` is q, or the packed qkv; `second` is k (unused when packed).
struct AttentionForm {
    std::int64_t batch = 0, time = 0, heads = 0, kv_heads = 0, head_dim = 0;
    bool packed = false, causal = true;
    int operands = 3;        // q, k, v or one packed
    float scale = 0;         // the factor itself: float(1 / sqrt((double)head_dim)) unless given
    double probability = 0;  // above 0: `random` is the last input
    std::uint32_t stream = 0;
    std::int64_t window = 0;  // keys that a query gives weight; 0: all that it sees
    bool documents = false;   // `starts` is an input behind the others, but for `random`
    float cap = 0;            // 0: none
};
AttentionForm attention_form(const Node& node, const Shape& first, const Shape& second);

// cached_attention: keys, values, slots, positions, then `first` = q or the packed qkv, `second` = k.
inline constexpr int kCacheOperands = 4;
inline constexpr int kCachePanelExtent = 16;  // the last extent of keys and values
struct CachedAttentionForm {
    std::int64_t rows = 0, heads = 0, kv_heads = 0, head_dim = 0, slots = 0, capacity = 0;
    bool packed = false;
    float scale = 0;          // the factor itself
    std::int64_t window = 0;  // as in AttentionForm
    float cap = 0;
};
CachedAttentionForm cached_attention_form(const Node& node, const Shape& keys, const Shape& first);
// Shapes of keys and values for `slots` sequences of up to `capacity` tokens, a multiple of 16.
Shape cache_keys_shape(std::int64_t slots, std::int64_t kv_heads, std::int64_t capacity,
                       std::int64_t head_dim);
Shape cache_values_shape(std::int64_t slots, std::int64_t kv_heads, std::int64_t capacity,
                         std::int64_t head_dim);

}  // namespace volta
