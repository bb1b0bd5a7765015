// The operator table: the single source of truth about operators. One row = name, arity, attributes, shape
// rule, gradient rule, definition and how backends lower it. Everything else walks this table;
// docs/operators.md is printed from it.
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
    neg, abs, exp, log, sqrt, rsqrt, tanh, erf, sigmoid, silu, gelu_tanh, gelu_erf, relu, sin, cos, pow,
    clamp,
    // elementwise, inputs broadcast against each other (NumPy rules)
    add, sub, mul, div, maximum, minimum, less, less_equal, equal, where,
    // elementwise gradients: (x, dy) -> dx, formulas of docs/numerics.md, 5
    gelu_tanh_grad, gelu_erf_grad, silu_grad, relu_grad,
    maximum_grad, minimum_grad,  // (a, b, dy) -> what operand `operand` gets
    dropout,                     // (x, random) -> y; its gradient is itself on dy
    fused,                       // any elementwise ops, made by the fusion pass: Node::body
    // rows: along the last axis
    softmax, softmax_grad, log_softmax, log_softmax_grad,
    layer_norm, layer_norm_grad, layer_norm_grad_scale,
    rms_norm, rms_norm_grad, rms_norm_grad_scale,
    cross_entropy, cross_entropy_grad, cross_entropy_with_grad, mse, mse_grad,
    // pairs of columns of one row
    swiglu, swiglu_grad, rotary_table, rotary,
    // reductions over `axes`
    sum, mean, max, min, max_grad, argmax,
    // movement
    reshape, transpose, concat, slice, slice_grad, broadcast_to, position_ids,
    gather, embedding_gradient,
    // products
    matmul, weight_gradient, attention, attention_grad, cached_attention,
    // training
    accumulate, stack, square_sum, clip_factor, sgd, sgd_plain, adam, adamw, adagrad,
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
    base, interleaved, inverse, width,
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
    double default_number;  // lists: empty
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
    movement,     // copies
    gather,
    embedding_gradient,
    product,
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

struct OpRow {
    Op op;
    const char* name;
    int min_inputs, max_inputs;
    int outputs;  // -1: as many as the shape rule gives
    Lowering lowering;
    ShapeRule shape;
    GradientRule gradient;      // NULL: not differentiable
    const char* no_gradient;    // why not; NULL where there is a rule
    const AttrRow* attributes;  // attribute_count of them, ascending by key
    int attribute_count;
    std::int8_t in_place[4];  // output i overwrites input in_place[i]; -1: not
    bool random;              // never merged, folded or moved
    const char* inputs_text;  // "x [..., n], scale [n], bias [n]"
    const char* outputs_text;
    const char* formula;  // one line, for docs/operators.md
};
const OpRow& op_row(Op op);
const OpRow* find_op(const char* name);  // NULL: unknown

}  // namespace volta
