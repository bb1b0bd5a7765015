// Output shapes of convolutions, and what their attributes mean.
#include <algorithm>

#include "engine/base/error.h"
#include "engine/graph/forms.h"
#include "engine/graph/rules.h"
#include "engine/graph/shape_checks.h"

namespace volta {
namespace {

using define::ConvolutionAxis;

constexpr int kLeading = 2;                  // axes in front of the spatial ones
constexpr std::int64_t kMostStep = 1 << 20;  // of strides, dilations and padding

// Entry `index` of a list that has `count` entries, or none: then `otherwise`.
std::int64_t entry_of(const Node& node, Attr key, int index, int count, std::int64_t least,
                      std::int64_t otherwise) {
    const Attribute* const list = node.find(key);
    if (list == nullptr || list->integer_count <= 0) return otherwise;
    if (list->integer_count != count)
        fail(VOLTA_SHAPE_MISMATCH, "%s: %s has %d entries, not %d", name_of(node), attr_name(key),
             list->integer_count, count);
    const std::int64_t value = list->integers[index];
    if (value < least || value > kMostStep)
        fail(VOLTA_SHAPE_MISMATCH, "%s: %s has an entry of %lld; it must be %lld .. %lld", name_of(node),
             attr_name(key), static_cast<long long>(value), static_cast<long long>(least),
             static_cast<long long>(kMostStep));
    return value;
}

// One spatial axis but its extents; `pad_end` beside it.
ConvolutionAxis axis_of(const Node& node, int axis, int spatial, std::int64_t taps, std::int64_t* pad_end) {
    ConvolutionAxis result;
    result.taps = taps;
    result.stride = entry_of(node, Attr::strides, axis, spatial, 1, 1);
    result.dilation = entry_of(node, Attr::dilations, axis, spatial, 1, 1);
    result.pad = entry_of(node, Attr::pads, axis, 2 * spatial, 0, 0);
    *pad_end = entry_of(node, Attr::pads, spatial + axis, 2 * spatial, 0, 0);
    return result;
}

// Elements from the first to the last tap.
std::int64_t reach_of(const Node& node, const ConvolutionAxis& axis) {
    return product_of(node, axis.taps - 1, axis.dilation) + 1;
}

std::int64_t outputs_of(const Node& node, const ConvolutionAxis& axis, std::int64_t pad_end) {
    const std::int64_t padded = sum_of(node, axis.in, axis.pad + pad_end), reach = reach_of(node, axis);
    if (padded < reach)
        fail(VOLTA_SHAPE_MISMATCH,
             "%s: a kernel of %lld taps reaches over %lld elements, the padded picture has %lld",
             name_of(node), static_cast<long long>(axis.taps), static_cast<long long>(reach),
             static_cast<long long>(padded));
    return (padded - reach) / axis.stride + 1;
}

const Shape& picture_shape(const Node& node, const Shape& x, const char* what) {
    if (x.rank != 3 && x.rank != 4)
        fail(VOLTA_SHAPE_MISMATCH,
             "%s: %s is %s; it must be [batch, channels, columns] or [batch, channels, rows, columns]",
             name_of(node), what, to_text(x).text);
    return x;
}

void check_weight(const Node& node, const Shape& weight, int rank) {
    if (weight.rank != rank)
        fail(VOLTA_SHAPE_MISMATCH, "%s: the weight is %s, the picture has rank %d", name_of(node),
             to_text(weight).text, rank);
    for (int axis = kLeading; axis < rank; ++axis)
        if (weight[axis] < 1)
            fail(VOLTA_SHAPE_MISMATCH, "%s: the weight is %s: a kernel has at least one tap", name_of(node),
                 to_text(weight).text);
}

// The extents that all three operands of a convolution share: groups, channels, filters, from the weight.
void set_channels(const Node& node, const Shape& weight, ConvolutionForm& form) {
    define::ConvolutionSizes& sizes = form.sizes;
    sizes.groups = static_cast<std::int64_t>(node.number(Attr::groups));
    if (weight[0] % sizes.groups != 0)
        fail(VOLTA_SHAPE_MISMATCH, "%s: %lld groups do not divide the weight's %lld filters: %s",
             name_of(node), static_cast<long long>(sizes.groups), static_cast<long long>(weight[0]),
             to_text(weight).text);
    sizes.filters = weight[0] / sizes.groups;
    sizes.channels = weight[1];
}

[[noreturn]] void refuse_channels(const Node& node, const Shape& x, const Shape& weight,
                                  std::int64_t groups) {
    fail(VOLTA_SHAPE_MISMATCH, "%s: the weight %s does not fit %lld channels in %lld groups: %s",
         name_of(node), to_text(weight).text, static_cast<long long>(x[1]), static_cast<long long>(groups),
         to_text(x).text);
}

ConvolutionAxis& spatial_axis(ConvolutionForm& form, int axis) {
    return form.spatial == 1 || axis == 1 ? form.sizes.columns : form.sizes.rows;
}

// Extents of x are given, those of y follow.
ConvolutionForm forward_form(const Node& node, const Shape& x, const Shape& weight) {
    ConvolutionForm form;
    form.spatial = x.rank - kLeading;
    check_weight(node, weight, x.rank);
    set_channels(node, weight, form);
    form.sizes.batch = x[0];
    if (x[1] != product_of(node, form.sizes.channels, form.sizes.groups))
        refuse_channels(node, x, weight, form.sizes.groups);
    form.result = x;
    form.result[1] = weight[0];
    for (int i = 0; i < form.spatial; ++i) {
        std::int64_t pad_end;
        ConvolutionAxis& axis = spatial_axis(form, i);
        axis = axis_of(node, i, form.spatial, weight[kLeading + i], &pad_end);
        axis.in = x[kLeading + i];
        axis.out = form.result[kLeading + i] = outputs_of(node, axis, pad_end);
    }
    return form;
}

// Extents of y are given; those of x are what `shape` says, or the least, and output_padding more.
ConvolutionForm transposed_form(const Node& node, const Shape& y, const Shape& weight) {
    ConvolutionForm form;
    form.spatial = y.rank - kLeading;
    check_weight(node, weight, y.rank);
    set_channels(node, weight, form);
    form.sizes.batch = y[0];
    if (y[1] != weight[0]) refuse_channels(node, y, weight, form.sizes.groups);
    form.result = y;
    form.result[1] = product_of(node, form.sizes.channels, form.sizes.groups);
    const Attribute* const wanted = node.find(Attr::shape);
    const bool is_given = wanted != nullptr && wanted->integer_count > 0;
    if (is_given && wanted->integer_count != form.spatial)
        fail(VOLTA_SHAPE_MISMATCH, "%s: shape has %d entries, not %d", name_of(node), wanted->integer_count,
             form.spatial);
    for (int i = 0; i < form.spatial; ++i) {
        std::int64_t pad_end;
        ConvolutionAxis& axis = spatial_axis(form, i);
        axis = axis_of(node, i, form.spatial, weight[kLeading + i], &pad_end);
        axis.out = y[kLeading + i];
        const std::int64_t more = entry_of(node, Attr::output_padding, i, form.spatial, 0, 0);
        const std::int64_t whole =
            sum_of(node, product_of(node, std::max<std::int64_t>(axis.out - 1, 0), axis.stride),
                   reach_of(node, axis));
        axis.in = is_given ? wanted->integers[i]
                           : std::max<std::int64_t>(sum_of(node, whole, more) - axis.pad - pad_end, 0);
        if (axis.in < 0 || outputs_of(node, axis, pad_end) != axis.out)
            fail(VOLTA_SHAPE_MISMATCH,
                 "%s: no picture of %lld elements along spatial axis %d gives %lld outputs", name_of(node),
                 static_cast<long long>(axis.in), i, static_cast<long long>(axis.out));
        form.result[kLeading + i] = axis.in;
    }
    return form;
}

// x and y are given, and the weight's shape as an attribute.
ConvolutionForm weight_form(const Node& node, const Shape& x, const Shape& y) {
    const Attribute& wanted = *node.find(Attr::shape);
    Shape weight;
    weight.rank = wanted.integer_count;
    for (int axis = 0; axis < weight.rank; ++axis) weight[axis] = wanted.integers[axis];
    for (int axis = 0; axis < weight.rank; ++axis)
        if (weight[axis] < 0)
            fail(VOLTA_SHAPE_MISMATCH, "%s: shape has an entry of %lld", name_of(node),
                 static_cast<long long>(weight[axis]));
    ConvolutionForm form = forward_form(node, x, weight);
    expect_shape(node, "dy", y, form.result);
    form.result = weight;
    return form;
}

void expect_bias(const Node& node, const TypedShape* inputs, int input_count, std::int64_t channels) {
    if (input_count < 3) return;
    Shape bias;
    bias.rank = 1;
    bias[0] = channels;
    expect_shape(node, "the bias", real_shape(node, inputs[2], "the bias"), bias);
}

ConvolutionForm form_of(const Node& node, const Shape& first, const Shape& second) {
    switch (node.op) {
        case Op::conv:
            return forward_form(node, first, second);
        case Op::conv_transpose:
            return transposed_form(node, first, second);
        default:
            return weight_form(node, first, second);
    }
}

// What is multiplied on the way to kernels fits: padded pictures of either side, their patches, bytes of
// them. Doubles round, but not from below 2^60 to above 2^63.
void check_sizes(const Node& node, const define::ConvolutionSizes& s, const Shape& first,
                 const Shape& second) {
    const auto real = [](std::int64_t x) { return static_cast<double>(x); };
    double elements = (real(s.batch) + 1) * (real(s.groups) * (real(s.channels) + real(s.filters)) + 1);
    for (const ConvolutionAxis* axis : {&s.rows, &s.columns}) {
        const double reach = real(axis->taps) * real(axis->dilation);
        const double padded =
            real(axis->in) + real(axis->out) * real(axis->stride) + real(axis->pad) + 2 * reach;
        elements *= (padded + 1) * real(axis->taps);
    }
    if (elements > 1152921504606846976.0)
        fail(VOLTA_SHAPE_MISMATCH, "%s: the patches of %s and %s have too many elements", name_of(node),
             to_text(first).text, to_text(second).text);
}

}  // namespace

ConvolutionForm convolution_form(const Node& node, const Shape& first, const Shape& second) {
    picture_shape(node, first, node.op == Op::conv_transpose ? "y" : "x");
    const ConvolutionForm form = form_of(node, first, second);
    check_sizes(node, form.sizes, first, second);
    return form;
}

// ---- Pooling -------------------------------------------------------------------------------------------

namespace {

// Outputs of a window; with ceil_mode also the last one that hangs over the end, if it begins before it.
std::int64_t windows_of(const Node& node, const ConvolutionAxis& axis, std::int64_t pad_end) {
    const std::int64_t reach = reach_of(node, axis);
    if (axis.pad >= reach || pad_end >= reach)
        fail(VOLTA_SHAPE_MISMATCH, "%s: padding of %lld is not below the window's %lld elements",
             name_of(node), static_cast<long long>(std::max(axis.pad, pad_end)),
             static_cast<long long>(reach));
    const std::int64_t whole = outputs_of(node, axis, pad_end);
    if (!node.flag(Attr::ceil_mode)) return whole;
    const std::int64_t rest = axis.in + axis.pad + pad_end - reach - (whole - 1) * axis.stride;
    return whole + (rest > 0 && whole * axis.stride < axis.in + axis.pad ? 1 : 0);
}

ConvolutionAxis window_of(const Node& node, int axis, int spatial, std::int64_t in, std::int64_t* pad_end) {
    const Attribute& kernel = *node.find(Attr::kernel);
    if (kernel.integer_count != spatial)
        fail(VOLTA_SHAPE_MISMATCH, "%s: kernel has %d entries, not %d", name_of(node), kernel.integer_count,
             spatial);
    ConvolutionAxis result =
        axis_of(node, axis, spatial, entry_of(node, Attr::kernel, axis, spatial, 1, 1), pad_end);
    result.in = in;
    result.out = windows_of(node, result, *pad_end);
    return result;
}

// The picture of average_pool_grad is said by an attribute.
Shape pooled_picture(const Node& node, const Shape& first) {
    if (node.op != Op::average_pool_grad) return first;
    const Attribute& wanted = *node.find(Attr::shape);
    Shape x = first;
    if (wanted.integer_count != first.rank - kLeading)
        fail(VOLTA_SHAPE_MISMATCH, "%s: shape has %d entries, not %d", name_of(node), wanted.integer_count,
             first.rank - kLeading);
    for (int i = 0; i < wanted.integer_count; ++i) {
        if (wanted.integers[i] < 0)
            fail(VOLTA_SHAPE_MISMATCH, "%s: shape has an entry of %lld", name_of(node),
                 static_cast<long long>(wanted.integers[i]));
        x[kLeading + i] = wanted.integers[i];
    }
    return x;
}

}  // namespace

PoolingForm pooling_form(const Node& node, const Shape& first) {
    picture_shape(node, first, node.op == Op::average_pool_grad ? "dy" : "x");
    PoolingForm form;
    form.x = form.y = pooled_picture(node, first);
    const int spatial = first.rank - kLeading;
    define::PoolingSizes& sizes = form.sizes;
    sizes.counts_padding = node.flag(Attr::count_include_pad);
    sizes.planes = product_of(node, form.x[0], form.x[1]);
    for (int i = 0; i < spatial; ++i) {
        std::int64_t pad_end;
        const bool is_row = spatial == 2 && i == 0;
        ConvolutionAxis& axis = is_row ? sizes.rows : sizes.columns;
        axis = window_of(node, i, spatial, form.x[kLeading + i], &pad_end);
        form.y[kLeading + i] = axis.out;
        if (sizes.counts_padding) (is_row ? sizes.row_padding : sizes.column_padding) = pad_end;
    }
    define::ConvolutionSizes windows;
    windows.batch = sizes.planes;
    windows.channels = windows.filters = 1;
    windows.rows = sizes.rows;
    windows.columns = sizes.columns;
    check_sizes(node, windows, form.x, form.y);
    return form;
}

namespace shape_rules {

void max_pool(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    add_output(outputs, DType::f32, pooling_form(node, real_shape(node, inputs[0], "x")).y);
}

void max_pool_grad(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    const PoolingForm form = pooling_form(node, real_shape(node, inputs[0], "x"));
    expect_shape(node, "y", real_shape(node, inputs[1], "y"), form.y);
    expect_shape(node, "dy", real_shape(node, inputs[2], "dy"), form.y);
    add_output(outputs, DType::f32, form.x);
}

void average_pool(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    add_output(outputs, DType::f32, pooling_form(node, real_shape(node, inputs[0], "x")).y);
}

void average_pool_grad(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    const Shape& dy = real_shape(node, inputs[0], "dy");
    const PoolingForm form = pooling_form(node, dy);
    expect_shape(node, "dy", dy, form.y);
    add_output(outputs, DType::f32, form.x);
}

namespace {

void picture_and_weight(const Node& node, const TypedShape* inputs, int input_count, TypedShapes& outputs) {
    const Shape& x = real_shape(node, inputs[0], "x");
    const Shape result = convolution_form(node, x, real_shape(node, inputs[1], "the weight")).result;
    if (!node.body.ops.empty())
        return add_results_of_body(node, inputs, input_count, {DType::f32, result}, outputs);
    require(input_count <= 3, "%s: takes 2 to 3 inputs, not %d", name_of(node), input_count);
    expect_bias(node, inputs, input_count, result[1]);
    add_output(outputs, DType::f32, result);
}

}  // namespace

void conv(const Node& node, const TypedShape* inputs, int input_count, TypedShapes& outputs) {
    picture_and_weight(node, inputs, input_count, outputs);
}

void conv_transpose(const Node& node, const TypedShape* inputs, int input_count, TypedShapes& outputs) {
    picture_and_weight(node, inputs, input_count, outputs);
}

void conv_grad_weight(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    const Shape& x = real_shape(node, inputs[0], "x");
    add_output(outputs, DType::f32, convolution_form(node, x, real_shape(node, inputs[1], "dy")).result);
}

void conv_grad_bias(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    Shape bias;
    bias.rank = 1;
    bias[0] = picture_shape(node, real_shape(node, inputs[0], "dy"), "dy")[1];
    add_output(outputs, DType::f32, bias);
}

}  // namespace shape_rules
}  // namespace volta
