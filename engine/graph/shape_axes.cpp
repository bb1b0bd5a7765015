// Output shapes of padding and resampling, and what their attributes mean.
#include <algorithm>
#include <numeric>

#include "engine/base/error.h"
#include "engine/graph/forms.h"
#include "engine/graph/rules.h"
#include "engine/graph/shape_checks.h"

namespace volta {
namespace {

using define::AxisMap;

constexpr int kLeading = 2;                       // axes in front of the spatial ones
constexpr std::int64_t kMostPads = 1 << 20;       // in front or behind
constexpr std::int64_t kMostResized = (1 << 22);  // twice this is exact in f32

constexpr std::int64_t kFinestRatio = std::int64_t{1} << 29;  // in lowest terms, in * out

long long shown(std::int64_t value) { return static_cast<long long>(value); }

std::int64_t pad_at(const Node& node, const Attribute& pads, int index) {
    const std::int64_t value = pads.integers[index];
    if (value < 0 || value > kMostPads)
        fail(VOLTA_SHAPE_MISMATCH, "%s: pads has an entry of %lld; it must be 0 .. %lld", name_of(node),
             shown(value), shown(kMostPads));
    return value;
}

// x has elements to copy.
void check_copied(const Node& node, const AxisMap& map, int axis, std::int64_t most, const Shape& x) {
    if (map.kind == AxisMap::Kind::reflect && most >= map.in)
        fail(VOLTA_SHAPE_MISMATCH, "%s: %lld elements cannot be mirrored on axis %d of %s, which has %lld",
             name_of(node), shown(most), axis, to_text(x).text, shown(map.in));
    if (map.in == 0)
        fail(VOLTA_SHAPE_MISMATCH, "%s: axis %d of %s has no element to repeat", name_of(node), axis,
             to_text(x).text);
}

void fill_pads(const Node& node, bool is_gradient, const Shape& first, AxisMapForm& form) {
    constexpr AxisMap::Kind kKinds[] = {AxisMap::Kind::constant, AxisMap::Kind::reflect, AxisMap::Kind::edge};
    const Attribute& pads = *node.find(Attr::pads);
    const int axes = pads.integer_count / 2;
    if (pads.integer_count % 2 != 0 || axes > first.rank)
        fail(VOLTA_SHAPE_MISMATCH, "%s: pads has %d entries; it must be two for each of the last axes of %s",
             name_of(node), pads.integer_count, to_text(first).text);
    for (int i = 0; i < axes; ++i) {
        const int axis = first.rank - axes + i;
        AxisMap& map = form.axes[axis];
        const std::int64_t end = pad_at(node, pads, axes + i);
        map.kind = kKinds[static_cast<int>(node.number(Attr::mode))];
        map.pad = pad_at(node, pads, i);
        if (is_gradient && first[axis] < map.pad + end)
            fail(VOLTA_SHAPE_MISMATCH, "%s: axis %d of dy %s is shorter than its padding of %lld",
                 name_of(node), axis, to_text(first).text, shown(map.pad + end));
        map.in = is_gradient ? first[axis] - map.pad - end : first[axis];
        map.out = is_gradient ? first[axis] : sum_of(node, first[axis], map.pad + end);
        if (map.kind != AxisMap::Kind::constant && map.is_changed())
            check_copied(node, map, axis, std::max(map.pad, end), first);
    }
}

void fill_extents(const Node& node, bool is_gradient, const Shape& first, AxisMapForm& form) {
    if (first.rank != kLeading + 1 && first.rank != kLeading + 2)
        fail(VOLTA_SHAPE_MISMATCH,
             "%s: %s is %s; it must be [batch, channels, columns] or [batch, channels, rows, columns]",
             name_of(node), is_gradient ? "dy" : "x", to_text(first).text);
    const Attribute& wanted = *node.find(Attr::shape);
    if (wanted.integer_count != first.rank - kLeading)
        fail(VOLTA_SHAPE_MISMATCH, "%s: shape has %d entries, not %d", name_of(node), wanted.integer_count,
             first.rank - kLeading);
    for (int i = 0; i < wanted.integer_count; ++i) {
        const int axis = kLeading + i;
        for (const std::int64_t extent : {wanted.integers[i], first[axis]})
            if (extent < 1 || extent > kMostResized)
                fail(VOLTA_SHAPE_MISMATCH, "%s: %s does not become %lld on axis %d; both must be 1 .. %lld",
                     name_of(node), to_text(first).text, shown(wanted.integers[i]), axis,
                     shown(kMostResized));
        AxisMap& map = form.axes[axis];
        map.kind = node.flag(Attr::mode) ? AxisMap::Kind::linear : AxisMap::Kind::nearest;
        map.in = is_gradient ? wanted.integers[i] : first[axis];
        map.out = is_gradient ? first[axis] : wanted.integers[i];
        const std::int64_t common = std::gcd(map.in, map.out);
        if (map.is_linear() && map.in / common * (map.out / common) > kFinestRatio)
            fail(VOLTA_SHAPE_MISMATCH, "%s: the ratio of %lld to %lld is too fine for mode 1, linear",
                 name_of(node), shown(map.in / common), shown(map.out / common));
    }
}

// The extents of what is not given. Their product is checked.
Shape checked(const Node& node, Shape shape, const AxisMapForm& form, std::int64_t AxisMap::*extent) {
    std::int64_t elements = 1;
    for (int axis = 0; axis < shape.rank; ++axis) {
        if (form.axes[axis].is_changed()) shape[axis] = form.axes[axis].*extent;
        elements = product_of(node, elements, shape[axis]);
    }
    return shape;
}

}  // namespace

AxisMapForm axis_map_form(const Node& node, const Shape& first) {
    const bool is_pad = node.op == Op::pad || node.op == Op::pad_grad;
    const bool is_gradient = node.op == Op::pad_grad || node.op == Op::resize_grad;
    AxisMapForm form;
    for (int axis = 0; axis < first.rank; ++axis) form.axes[axis].in = form.axes[axis].out = first[axis];
    if (is_pad)
        fill_pads(node, is_gradient, first, form);
    else
        fill_extents(node, is_gradient, first, form);
    form.x = is_gradient ? checked(node, first, form, &AxisMap::in) : first;
    form.y = is_gradient ? first : checked(node, first, form, &AxisMap::out);
    return form;
}

namespace shape_rules {

void pad(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    add_output(outputs, DType::f32, axis_map_form(node, real_shape(node, inputs[0], "x")).y);
}
void pad_grad(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    add_output(outputs, DType::f32, axis_map_form(node, real_shape(node, inputs[0], "dy")).x);
}
void resize(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    add_output(outputs, DType::f32, axis_map_form(node, real_shape(node, inputs[0], "x")).y);
}
void resize_grad(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    add_output(outputs, DType::f32, axis_map_form(node, real_shape(node, inputs[0], "dy")).x);
}

}  // namespace shape_rules
}  // namespace volta
