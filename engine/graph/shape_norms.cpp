// Output shapes: norms of channels, their gradients and their running statistics.
#include "engine/graph/forms.h"
#include "engine/graph/rules.h"
#include "engine/graph/shape_checks.h"
#include "engine/numerics/define_norms.h"

namespace volta {

ChannelPlanes channel_planes(const Shape& x) {
    ChannelPlanes planes = {x[0], x[1], 1};
    for (int axis = 2; axis < x.rank; ++axis) planes.plane *= x[axis];
    return planes;
}

std::int64_t norm_groups(const Node& node, const ChannelPlanes& planes) {
    return node.op == Op::instance_norm ? planes.channels
                                        : static_cast<std::int64_t>(node.number(Attr::groups));
}

namespace {

const Shape& channels_shape(const Node& node, const TypedShape& input, const char* what) {
    const Shape& x = real_shape(node, input, what);
    expect_least_rank(node, what, x, 2);
    return x;
}

// "batch_norm: scale has 3 elements, x has 16 channels: [8, 16, 32, 32]"
void expect_per_channel(const Node& node, const TypedShape& input, const char* what, const Shape& x) {
    const Shape& shape = real_shape(node, input, what);
    expect_rank(node, what, shape, 1);
    if (shape[0] != x[1])
        fail(VOLTA_SHAPE_MISMATCH, "%s: %s has %lld elements, x has %lld channels: %s", name_of(node), what,
             static_cast<long long>(shape[0]), static_cast<long long>(x[1]), to_text(x).text);
}

void expect_gradient(const Node& node, const TypedShape& dy, const Shape& x) {
    expect_shape(node, "dy", real_shape(node, dy, "dy"), x);
}

// Groups of x, whose statistics are [N, groups].
std::int64_t groups_of(const Node& node, const Shape& x) {
    const ChannelPlanes planes = channel_planes(x);
    if (planes.channels * planes.plane == 0)
        fail(VOLTA_SHAPE_MISMATCH, "%s: a group of x is empty: %s", name_of(node), to_text(x).text);
    const std::int64_t groups = norm_groups(node, planes);
    if (planes.channels % groups != 0)
        fail(VOLTA_SHAPE_MISMATCH, "%s: the %lld channels of x do not divide into %lld groups: %s",
             name_of(node), static_cast<long long>(planes.channels), static_cast<long long>(groups),
             to_text(x).text);
    return groups;
}

void add_channel_gradients(const Shape& x, TypedShapes& outputs) {
    add_output(outputs, DType::f32, x);
    add_output(outputs, DType::f32, {x[1]});
    add_output(outputs, DType::f32, {x[1]});
}

}  // namespace

namespace shape_rules {

void batch_norm(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    const Shape& x = channels_shape(node, inputs[0], "x");
    static constexpr const char* kNames[] = {"scale", "bias", "the mean", "the variance"};
    for (int i = 0; i < 4; ++i) expect_per_channel(node, inputs[1 + i], kNames[i], x);
    add_output(outputs, DType::f32, x);
}

void batch_statistics(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    const Shape& x = channels_shape(node, inputs[0], "x");
    if (channel_planes(x).per_channel() < 2)
        fail(VOLTA_SHAPE_MISMATCH, "%s: a channel needs at least 2 values to have a variance: %s",
             name_of(node), to_text(x).text);
    for (int i = 0; i < 2; ++i) add_output(outputs, DType::f32, {x[1]});
}

void batch_norm_grad(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    const Shape& x = channels_shape(node, inputs[1], "x");
    expect_gradient(node, inputs[0], x);
    static constexpr const char* kNames[] = {"scale", "the mean", "the variance"};
    for (int i = 0; i < 3; ++i) expect_per_channel(node, inputs[2 + i], kNames[i], x);
    add_channel_gradients(x, outputs);
}

void running_statistics(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    static constexpr const char* kNames[] = {"the running mean", "the running variance", "the mean",
                                             "the variance"};
    const Shape& channels = real_shape(node, inputs[0], kNames[0]);
    expect_rank(node, kNames[0], channels, 1);
    for (int i = 1; i < 4; ++i)
        expect_shape(node, kNames[i], real_shape(node, inputs[i], kNames[i]), channels);
    for (int i = 0; i < 2; ++i) add_output(outputs, DType::f32, channels);
}

void assign(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    const Shape& w = real_shape(node, inputs[0], "w");
    expect_shape(node, "the value", real_shape(node, inputs[1], "the value"), w);
    add_output(outputs, DType::f32, w);
}

void group_norm(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    const Shape& x = channels_shape(node, inputs[0], "x");
    const std::int64_t groups = groups_of(node, x);
    expect_per_channel(node, inputs[1], "scale", x);
    expect_per_channel(node, inputs[2], "bias", x);
    add_output(outputs, DType::f32, x);
    for (int i = 0; i < 2; ++i) add_output(outputs, DType::f32, {x[0], groups});
}

void instance_norm(const Node& node, const TypedShape* inputs, int count, TypedShapes& outputs) {
    group_norm(node, inputs, count, outputs);
}

void group_norm_grad(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    const Shape& x = channels_shape(node, inputs[1], "x");
    const Shape rows = {x[0], groups_of(node, x)};
    expect_gradient(node, inputs[0], x);
    expect_per_channel(node, inputs[2], "scale", x);
    expect_shape(node, "mean", real_shape(node, inputs[3], "mean"), rows);
    expect_shape(node, "rs", real_shape(node, inputs[4], "rs"), rows);
    add_channel_gradients(x, outputs);
}

}  // namespace shape_rules
}  // namespace volta
