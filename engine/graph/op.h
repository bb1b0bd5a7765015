// The operator table: the single source of truth about operators. One row = name, arity, attributes, shape
// rule, gradient rule, definition, how backends lower it, and every other fact that passes, planner and
// runtime ask for: ids, what may be overwritten, what may be computed again, cost. They read the row; none
// keeps a list of operators. docs/operators.md is printed from it, docs/add_an_operator.md says how to add a
// row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "engine/base/shape.h"

namespace volta {

class Graph;
struct Node;

// clang-format off
// One line, one family. Values are never written to files (names are), so rows may be inserted anywhere.
enum class Op : std::uint16_t {
    // sources: no inputs
    input, parameter, state, constant,
    // elementwise, one input of the output's shape
    neg, abs, exp, log, sqrt, rsqrt, tanh, erf, sigmoid, silu, gelu_tanh, gelu_erf, relu, leaky_relu, elu, softplus,
    hard_swish, hard_sigmoid, selu, celu, softsign, mish, floor, ceil, round, sin, cos, pow,
    clamp,
    // elementwise, inputs broadcast against each other (NumPy rules)
    add, sub, mul, div, maximum, minimum, prelu, less, less_equal, equal, where,
    // elementwise gradients: (x, dy) -> dx, formulas of docs/numerics.md, 5
    gelu_tanh_grad, gelu_erf_grad, silu_grad, relu_grad, leaky_relu_grad,
    elu_grad, softplus_grad, hard_swish_grad, hard_sigmoid_grad, selu_grad, celu_grad, softsign_grad, mish_grad,
    maximum_grad, minimum_grad, prelu_grad,  // (a, b, dy) -> what operand `operand` gets
    dropout,                                 // (x, random) -> y; its gradient is itself on dy
    fused,                                   // any elementwise ops, made by the fusion pass: Node::body
    fused_rows,                              // the same, with operators along the last axis among them
    // rows: along the last axis
    softmax, softmax_grad, log_softmax, log_softmax_grad,
    layer_norm, layer_norm_grad, layer_norm_grad_scale, layer_norm_grad_columns,
    rms_norm, rms_norm_grad, rms_norm_grad_scale,
    cross_entropy, cross_entropy_grad, cross_entropy_with_grad, mse, mse_grad,
    l1, l1_grad, huber, huber_grad, binary_cross_entropy, binary_cross_entropy_grad,
    // norms of channels: x [N, C, ...]
    batch_norm, batch_statistics, batch_norm_train, batch_norm_grad, group_norm, instance_norm, group_norm_grad,
    // pairs of columns of one row
    swiglu, swiglu_grad, rotary_table, rotary,
    // reductions over `axes`
    sum, mean, max, min, max_grad, argmax,
    // movement
    reshape, transpose, concat, slice, slice_grad, pad, pad_grad, broadcast_to, position_ids,
    gather, embedding_gradient,
    // products
    matmul, weight_gradient, weight_gradient_into, attention, attention_grad, cached_attention,
    // convolution: pictures [batch, channels, spatial axes]
    conv, conv_transpose, conv_grad_weight, conv_grad_bias,
    max_pool, max_pool_grad, average_pool, average_pool_grad, resize, resize_grad,
    // training
    accumulate, stack, running_statistics, square_sum, clip_factor, assign, sgd, sgd_plain, adam, adamw, adagrad,
    count_
};
// clang-format on
inline constexpr int kOpCount = static_cast<int>(Op::count_);

// clang-format off
enum class Attr : std::uint8_t {
    axis, axes, keep_dims, shape, permutation, begin, end, exponent, low, high, epsilon, transpose_a,
    transpose_b,
    accumulate,  // 1: the output persists over micro-batches; the first stores, later ones add (`into`)
    heads, kv_heads, causal, scale, probability, stream, rows, limit, maximum_norm, nesterov, operand,
    micro_batches,
    packed,      // attention: one input holds q, k and v side by side
    base, interleaved, inverse, width, alpha, beta, gamma,
    label_smoothing, delta,
    strides, dilations, pads, groups, output_padding,
    momentum, elements, frozen,
    kernel, ceil_mode, count_include_pad,
    mode, value,
    window, cap,  // attention
    documents,    // attention: an input says where each token's document begins
    count_
};
// clang-format on
const char* attr_name(Attr attr);

// What an attribute holds: one number (booleans are 0 or 1) or a list of integers.
struct Attribute {
    Attr key;
    double number = 0;
    std::int64_t integers[kMaxRank] = {};
    std::int32_t integer_count = -1;  // -1: a number
};
bool operator==(const Attribute& a, const Attribute& b);  // numbers by bits

struct AttrRow {
    Attr key;
    bool required;
    bool is_list;
    double default_number;  // lists: empty; of a required number: one for examples and tests
    const char* meaning;    // for docs/operators.md
    bool whole;             // an integer
    double low, high;       // inclusive bounds of a number
};

// How a backend runs it; a backend that lacks one of these refuses the plan with the operator's name.
enum class Lowering : std::uint8_t {
    source,       // no step
    alias,        // no step: the output is the input's bytes (reshape)
    elementwise,  // a row program over broadcast operands
    row,          // a row program along the last axis
    pairs,        // a row program over pairs of columns
    reduction,    // rows or columns, by docs/numerics.md, 3
    norm,         // row programs over the planes of channels
    movement,     // copies
    axis_map,     // copies and row programs along axes, one after the other
    gather,
    embedding_gradient,
    product,
    convolution,
    pooling,
    attention,
    attention_grad,
    cached_attention,
    update  // a row program that writes its inputs in place
};

// Appends to `outputs` the dtype and shape of each output, or throws SHAPE_MISMATCH with a message that
// starts with the operator's name: "matmul: inner extents differ: [64, 384] x [256, 384]".
struct TypedShape {
    DType dtype;
    Shape shape;
};
using ShapeRule = void (*)(const Node& node, const TypedShape* inputs, int input_count,
                           std::pmr::vector<TypedShape>& outputs);

class GradientBuilder;  // gradient_builder.h
// Adds the gradients of a node's inputs to the graph, given the gradients of its outputs.
using GradientRule = void (*)(const GradientBuilder& builder);

template <class T>
struct NodeRun;  // evaluate_node.h
// The definition of an operator over whole tensors: the oracle of backends. The same text in double
// precision, for gradient checks, is found by it (InDouble in rules.h) and not by the row: the library must
// be able to leave it out.
struct Evaluation {
    void (*in_float)(const NodeRun<float>& run);
};

struct NodeCost;  // cost.h
using CostRule = NodeCost (*)(const Graph& graph, const Node& node);

// An input that holds ids, which name places of a table: lowest .. bound - 1, where bound is an extent of
// another input, times `unit`, or an attribute. Ids are checked when the host gives them (Plan::limits),
// never by kernels.
struct IdInput {
    std::int8_t input = -1;  // -1: none
    std::int8_t lowest = 0;  // -1: that none is meant
    std::int8_t table = -1;  // the input whose extent is the bound; -1: the attribute `bound`
    std::int8_t axis = 0;    // of the table; -1: the last
    std::int8_t unit = 1;
    Attr bound = Attr::count_;
    // Of attention: where the node has documents, behind all inputs but the state of dropout.
    bool of_documents = false;
};
inline constexpr int kMostIdInputs = 2;

// What the elements of an i32 result can be, for whoever uses them as ids.
enum class Whole : std::uint8_t {
    unknown,
    flag,       // 0 or 1
    index,      // 0 .. n - 1 along the last axis of input 0
    of_inputs,  // the same elements as the inputs'
};

// Which inputs a step may overwrite when it is the last to read them: bit i, input i (the last bit: all
// further ones). True when the step reads element i of this input for element i of this output alone, all
// inputs before any output, or, along rows, reads a row, or each pair of its columns, completely before it
// writes it. Of a product this holds for what its epilogue reads, but not where the product itself lies until
// then. That nobody needs the input any more is the planner's to decide and the verifier's to check.
struct Overwrites {
    std::uint32_t inputs = 0;
    std::int8_t output = -1;  // which output may lie there; -1: any
};

// What an output holds after several micro-batches. Nodes with the attribute `accumulate` can add as well.
enum class MicroBatches : std::uint8_t {
    last,     // the result of the latest one
    added,    // what all gave together: stored by the first, continued by later ones
    stacked,  // all, one behind the other
};

struct OpRow {
    Op op;
    const char* name;
    int min_inputs, max_inputs;
    int outputs;  // -1: as many as the shape rule gives
    Lowering lowering;
    ShapeRule shape;
    const Evaluation* evaluate;  // NULL: a source that is filled in by whoever evaluates
    GradientRule gradient;       // NULL: not differentiable
    Op gradient_op;              // the operator that the gradient rule applies, where it is made for this one
    const char* no_gradient;     // why not; NULL where there is a rule
    const char* inputs_text;     // "x [..., n], scale [n], bias [n]"
    const char* outputs_text;
    const char* formula;  // one line, for docs/operators.md

    const AttrRow* attributes = nullptr;  // attribute_count of them, ascending by key
    int attribute_count = 0;
    std::int8_t in_place[4] = {-1, -1, -1, -1};  // output i overwrites input in_place[i]; -1: not
    IdInput ids[kMostIdInputs] = {};
    Whole whole = Whole::unknown;
    Overwrites overwrites = {};
    MicroBatches micro_batches = MicroBatches::last;
    CostRule cost = nullptr;          // NULL: no operations that count, every operand read or written once
    bool random = false;              // never merged, folded or moved; the last input is seed and step
    bool internal = false;            // made by the engine alone: not from hosts, not in files
    bool commutes = false;            // f(a, b) has the bits of f(b, a)
    bool fuses = false;               // may become part of a fused node or of an epilogue
    bool fuses_rows = false;          // works along the last axis and may become part of a fused_rows node
    std::int8_t first_per_row = 127;  // of those: inputs from this one on hold a number per row
    bool recompute = false;  // cheap enough to be computed again rather than kept for the backward pass
    bool has_body = false;   // may carry elementwise work: Node::body
    std::int8_t stored_input = -1;  // which input may be a packed weight
    bool always_folds = false;      // a large constant too: an element takes as long as reading a hundred
    // Of elementwise operators. Arguments for which gradients can be checked by differences, and the largest
    // error over all binades, against the same formula in real numbers; 0: none is stated.
    double sample_low = -3, sample_high = 3, most_ulps = 0;
};
const OpRow& op_row(Op op);
const OpRow* find_op(const char* name);  // NULL: unknown

}  // namespace volta
