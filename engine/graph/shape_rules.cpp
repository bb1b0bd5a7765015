// Output shapes: elementwise operators, rows, losses, reductions, training.
#include "engine/base/memory.h"
#include "engine/graph/forms.h"
#include "engine/graph/rules.h"
#include "engine/graph/shape_checks.h"

namespace volta {
namespace {

const Shape kRandomState = {3};  // seed low, seed high, step
const Shape kScalar = {};

// Rows along a last axis that must have an element: a maximum or a mean of nothing has no value.
const Shape& row_shape(const Node& node, const TypedShape& input, const char* what) {
    const Shape& x = real_shape(node, input, what);
    expect_least_rank(node, what, x, 1);
    if (x.last() == 0)
        fail(VOLTA_SHAPE_MISMATCH, "%s: the last axis of %s is empty: %s", name_of(node), what,
             to_text(x).text);
    return x;
}

void expect_same(const Node& node, const char* what, const TypedShape& input, const char* first_what,
                 const Shape& first) {
    const Shape& shape = real_shape(node, input, what);
    if (shape != first)
        fail(VOLTA_SHAPE_MISMATCH, "%s: %s %s differs from %s %s", name_of(node), what, to_text(shape).text,
             first_what, to_text(first).text);
}

void expect_real(const Node& node, const char* what, const TypedShape& input, const Shape& expected) {
    expect_shape(node, what, real_shape(node, input, what), expected);
}

// A factor for all rows, or one per row.
void expect_row_factor(const Node& node, const TypedShape& input, const Shape& rows) {
    const Shape& shape = real_shape(node, input, "g");
    if (shape != kScalar && shape != rows)
        fail(VOLTA_SHAPE_MISMATCH, "%s: g is %s, neither [] nor %s", name_of(node), to_text(shape).text,
             to_text(rows).text);
}

Shape broadcast_of(const Node& node, const Shape& a, const Shape& b) {
    Shape result;
    if (!broadcast(a, b, &result))
        fail(VOLTA_SHAPE_MISMATCH, "%s: shapes do not broadcast: %s and %s", name_of(node), to_text(a).text,
             to_text(b).text);
    return result;
}

const char* ordinal(int index) {
    static constexpr const char* kNames[] = {"input 0", "input 1", "input 2", "input 3"};
    return index < 4 ? kNames[index] : "an input";
}

// "cross_entropy: targets are [4, 7], not [4, 8]": one id per row of x.
void expect_targets(const Node& node, const TypedShape& input, const Shape& rows) {
    const Shape& shape = integer_shape(node, input, "targets");
    if (shape != rows)
        fail(VOLTA_SHAPE_MISMATCH, "%s: targets are %s, not %s", name_of(node), to_text(shape).text,
             to_text(rows).text);
}

// One row of x per target: inputs 0 and 1 of every loss over classes.
const Shape& class_rows(const Node& node, const TypedShape* inputs) {
    const Shape& x = row_shape(node, inputs[0], "x");
    expect_below(node, "the number of classes", x.last(), kIdLimit);
    expect_targets(node, inputs[1], without_last(x));
    return x;
}

// Weights of the last axis' extent behind `required` inputs, where they are given.
void expect_weights(const Node& node, const TypedShape* inputs, int input_count, int required,
                    const Shape& x) {
    if (input_count > required) expect_real(node, "weights", inputs[required], {x.last()});
}

}  // namespace

std::int64_t product_of(const Node& node, std::int64_t a, std::int64_t b) {
    std::uint64_t result;
    if (multiply_overflows(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b), &result) ||
        result > static_cast<std::uint64_t>(INT64_MAX))
        fail(VOLTA_SHAPE_MISMATCH, "%s: an extent of %lld x %lld is too large", name_of(node),
             static_cast<long long>(a), static_cast<long long>(b));
    return static_cast<std::int64_t>(result);
}

std::int64_t sum_of(const Node& node, std::int64_t a, std::int64_t b) {
    if (a > INT64_MAX - b)
        fail(VOLTA_SHAPE_MISMATCH, "%s: an extent of %lld + %lld is too large", name_of(node),
             static_cast<long long>(a), static_cast<long long>(b));
    return a + b;
}

namespace shape_rules {

void source(const Node& node, const TypedShape*, int, TypedShapes&) {
    fail(VOLTA_INVALID_ARGUMENT, "%s: a source is declared by a call of its own, not applied", name_of(node));
}

// ---- Elementwise -------------------------------------------------------------------------------

void same(const Node& node, const TypedShape* inputs, int input_count, TypedShapes& outputs) {
    const Shape& first = real_shape(node, inputs[0], ordinal(0));
    for (int i = 1; i < input_count; ++i) expect_same(node, ordinal(i), inputs[i], ordinal(0), first);
    add_output(outputs, DType::f32, first);
}

void clamp(const Node& node, const TypedShape* inputs, int input_count, TypedShapes& outputs) {
    const double low = node.number(Attr::low), high = node.number(Attr::high);
    require(low <= high, "clamp: low %g is above high %g", low, high);
    same(node, inputs, input_count, outputs);
}

void broadcasting(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    const Shape& a = real_shape(node, inputs[0], ordinal(0));
    const Shape& b = real_shape(node, inputs[1], ordinal(1));
    add_output(outputs, DType::f32, broadcast_of(node, a, b));
}

void comparison(const Node& node, const TypedShape* inputs, int input_count, TypedShapes& outputs) {
    broadcasting(node, inputs, input_count, outputs);
    outputs.back().dtype = DType::i32;
}

void where(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    const Shape& mask = integer_shape(node, inputs[0], "the mask");
    const Shape& a = real_shape(node, inputs[1], ordinal(1));
    const Shape& b = real_shape(node, inputs[2], ordinal(2));
    add_output(outputs, DType::f32, broadcast_of(node, mask, broadcast_of(node, a, b)));
}

void choice_grad(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    const Shape& a = real_shape(node, inputs[0], ordinal(0));
    const Shape& b = real_shape(node, inputs[1], ordinal(1));
    const Shape result = broadcast_of(node, a, b);
    expect_real(node, "dy", inputs[2], result);
    add_output(outputs, DType::f32, result);
}

void dropout(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    const Shape& x = real_shape(node, inputs[0], "x");
    expect_shape(node, "random", integer_shape(node, inputs[1], "random"), kRandomState);
    expect_below(node, "the number of rows", x.rows(),
                 kRandomRowLimit);  // rows and columns are Philox counters
    expect_below(node, "the last extent", x.last(), kRandomRowLimit);
    add_output(outputs, DType::f32, x);
}

// ---- Rows --------------------------------------------------------------------------------------

void rows(const Node& node, const TypedShape* inputs, int input_count, TypedShapes& outputs) {
    const Shape& first = row_shape(node, inputs[0], ordinal(0));
    for (int i = 1; i < input_count; ++i) expect_same(node, ordinal(i), inputs[i], ordinal(0), first);
    add_output(outputs, DType::f32, first);
}

void layer_norm(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    const Shape& x = row_shape(node, inputs[0], "x");
    expect_real(node, "scale", inputs[1], {x.last()});
    expect_real(node, "bias", inputs[2], {x.last()});
    add_output(outputs, DType::f32, x);
    add_output(outputs, DType::f32, without_last(x));
    add_output(outputs, DType::f32, without_last(x));
}

void layer_norm_grad(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    const Shape& x = row_shape(node, inputs[1], "x");
    expect_real(node, "dy", inputs[0], x);
    expect_real(node, "scale", inputs[2], {x.last()});
    expect_real(node, "mean", inputs[3], without_last(x));
    expect_real(node, "rs", inputs[4], without_last(x));
    add_output(outputs, DType::f32, x);
}

void layer_norm_grad_scale(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    const Shape& x = row_shape(node, inputs[1], "x");
    expect_real(node, "dy", inputs[0], x);
    expect_real(node, "mean", inputs[2], without_last(x));
    expect_real(node, "rs", inputs[3], without_last(x));
    add_output(outputs, DType::f32, {x.last()});
}

void layer_norm_grad_columns(const Node& node, const TypedShape* inputs, int count, TypedShapes& outputs) {
    layer_norm_grad_scale(node, inputs, count, outputs);
    const TypedShape of_bias = outputs.back();
    outputs.push_back(of_bias);
}

void rms_norm(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    const Shape& x = row_shape(node, inputs[0], "x");
    expect_real(node, "scale", inputs[1], {x.last()});
    add_output(outputs, DType::f32, x);
    add_output(outputs, DType::f32, without_last(x));
}

void rms_norm_grad(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    const Shape& x = row_shape(node, inputs[1], "x");
    expect_real(node, "dy", inputs[0], x);
    expect_real(node, "scale", inputs[2], {x.last()});
    expect_real(node, "r", inputs[3], without_last(x));
    add_output(outputs, DType::f32, x);
}

void rms_norm_grad_scale(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    const Shape& x = row_shape(node, inputs[1], "x");
    expect_real(node, "dy", inputs[0], x);
    expect_real(node, "r", inputs[2], without_last(x));
    add_output(outputs, DType::f32, {x.last()});
}

void cross_entropy(const Node& node, const TypedShape* inputs, int input_count, TypedShapes& outputs) {
    const Shape& x = class_rows(node, inputs);
    expect_weights(node, inputs, input_count, 2, x);
    for (int i = 0; i < 3; ++i) add_output(outputs, DType::f32, without_last(x));  // loss, m, s
}

void cross_entropy_grad(const Node& node, const TypedShape* inputs, int input_count, TypedShapes& outputs) {
    const Shape& x = class_rows(node, inputs);
    expect_real(node, "m", inputs[2], without_last(x));
    expect_real(node, "s", inputs[3], without_last(x));
    expect_row_factor(node, inputs[4], without_last(x));
    expect_weights(node, inputs, input_count, 5, x);
    add_output(outputs, DType::f32, x);
}

void cross_entropy_with_grad(const Node& node, const TypedShape* inputs, int input_count,
                             TypedShapes& outputs) {
    const Shape& x = class_rows(node, inputs);
    expect_row_factor(node, inputs[2], without_last(x));
    expect_weights(node, inputs, input_count, 3, x);
    add_output(outputs, DType::f32, without_last(x));  // loss
    add_output(outputs, DType::f32, x);                // dx
}

void element_loss(const Node& node, const TypedShape* inputs, int input_count, TypedShapes& outputs) {
    const Shape& x = row_shape(node, inputs[0], "x");
    expect_same(node, "t", inputs[1], "x", x);
    expect_weights(node, inputs, input_count, 2, x);
    add_output(outputs, DType::f32, without_last(x));
}

void element_loss_grad(const Node& node, const TypedShape* inputs, int input_count, TypedShapes& outputs) {
    const Shape& x = row_shape(node, inputs[0], "x");
    expect_same(node, "t", inputs[1], "x", x);
    expect_row_factor(node, inputs[2], without_last(x));
    expect_weights(node, inputs, input_count, 3, x);
    add_output(outputs, DType::f32, x);
}

// ---- Reductions --------------------------------------------------------------------------------

void reduction(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    add_output(outputs, DType::f32, reduction_form(node, real_shape(node, inputs[0], "x")).result);
}

void extremum(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    const Shape& x = real_shape(node, inputs[0], "x");
    const ReductionForm form = reduction_form(node, x);
    if (form.reduced == 0)
        fail(VOLTA_SHAPE_MISMATCH, "%s: there is no element to choose from: %s", name_of(node),
             to_text(x).text);
    add_output(outputs, DType::f32, form.result);
}

void max_grad(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    const Shape& x = real_shape(node, inputs[0], "x");
    const ReductionForm form = reduction_form(node, x);
    expect_real(node, "y", inputs[1], form.result);
    expect_real(node, "dy", inputs[2], form.result);
    add_output(outputs, DType::f32, x);
}

void argmax(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    const Shape& x = row_shape(node, inputs[0], "x");
    expect_below(node, "the last extent", x.last(), kIdLimit);
    add_output(outputs, DType::i32, without_last(x));
}

// ---- Training ----------------------------------------------------------------------------------

void stack(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    Shape shape = inputs[0].shape;
    if (shape.rank == 0) shape = Shape{1};
    shape[0] = product_of(node, shape[0], static_cast<std::int64_t>(node.number(Attr::micro_batches)));
    add_output(outputs, inputs[0].dtype, shape);
}

void to_scalar(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    real_shape(node, inputs[0], "x");
    add_output(outputs, DType::f32, kScalar);
}

void clip_factor(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    expect_real(node, "norm", inputs[0], kScalar);
    add_output(outputs, DType::f32, kScalar);
}

// w, g, moments, factors, clip -> w, moments.
void optimizer(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    const int moments = op_row(node.op).outputs - 1;
    static constexpr int kFactors[] = {2, 3, 8};  // by moments
    const Shape& w = real_shape(node, inputs[0], "w");
    static constexpr const char* kNames[] = {"w", "g", "a moment", "a moment"};
    for (int i = 1; i < 2 + moments; ++i) expect_same(node, kNames[i], inputs[i], "w", w);
    expect_real(node, "factors", inputs[2 + moments], {kFactors[moments]});
    expect_real(node, "clip", inputs[3 + moments], kScalar);
    for (int i = 0; i < 1 + moments; ++i) add_output(outputs, DType::f32, w);
}

}  // namespace shape_rules
}  // namespace volta
