// Output shapes of operators over pairs of columns.
#include "engine/graph/forms.h"
#include "engine/graph/rules.h"
#include "engine/graph/shape_checks.h"
#include "engine/numerics/define_pairs.h"

namespace volta {
namespace {

// x [..., 2n] as [..., n].
Shape halved(const Node& node, const TypedShape& input) {
    Shape x = real_shape(node, input, "x");
    expect_least_rank(node, "x", x, 1);
    if (x.last() == 0 || x.last() % 2 != 0)
        fail(VOLTA_SHAPE_MISMATCH, "%s: a row of %lld has no two halves: %s", name_of(node),
             static_cast<long long>(x.last()), to_text(x).text);
    x[x.rank - 1] /= 2;
    return x;
}

}  // namespace

RotaryForm rotary_form(const Node& node, const Shape& table) {
    RotaryForm form;
    form.heads = static_cast<std::int64_t>(node.number(Attr::heads));
    form.width = table[1];
    form.interleaved = node.flag(Attr::interleaved);
    form.inverse = node.flag(Attr::inverse);
    const auto stride = static_cast<std::int64_t>(node.number(Attr::width));
    form.stride = stride == 0 ? form.width : stride;
    return form;
}

namespace shape_rules {

void swiglu(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    add_output(outputs, DType::f32, halved(node, inputs[0]));
}

void swiglu_grad(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    expect_shape(node, "dy", real_shape(node, inputs[1], "dy"), halved(node, inputs[0]));
    add_output(outputs, DType::f32, inputs[0].shape);
}

void rotary_table(const Node& node, const TypedShape* inputs, int count, TypedShapes& outputs) {
    const auto limit = static_cast<std::int64_t>(node.number(Attr::limit));
    const auto width = static_cast<std::int64_t>(node.number(Attr::width));
    require(width % 2 == 0, "rotary_table: a head of %lld elements is not made of pairs",
            static_cast<long long>(width));
    if (count > 0) expect_shape(node, "frequencies", real_shape(node, inputs[0], "frequencies"), {width / 2});
    add_output(outputs, DType::f32, {limit, width});
}

void rotary(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    const Shape& x = real_shape(node, inputs[0], "x");
    const Shape& positions = integer_shape(node, inputs[1], "positions");
    const Shape& table = real_shape(node, inputs[2], "the table");
    expect_least_rank(node, "x", x, 1);
    expect_shape(node, "positions", positions, without_last(x));
    expect_rank(node, "the table", table, 2);
    expect_below(node, "the number of positions", table[0], kIdLimit);
    if (table[1] == 0 || table[1] % 2 != 0)
        fail(VOLTA_SHAPE_MISMATCH, "%s: a head of %lld elements is not made of pairs", name_of(node),
             static_cast<long long>(table[1]));
    const RotaryForm form = rotary_form(node, table);
    if (form.width > form.stride)
        fail(VOLTA_SHAPE_MISMATCH, "%s: a table of %lld columns turns more than a head of %lld elements",
             name_of(node), static_cast<long long>(form.width), static_cast<long long>(form.stride));
    if (product_of(node, form.heads, form.stride) > x.last())
        fail(VOLTA_SHAPE_MISMATCH, "%s: %lld heads of %lld are more than a row of %lld", name_of(node),
             static_cast<long long>(form.heads), static_cast<long long>(form.stride),
             static_cast<long long>(x.last()));
    add_output(outputs, DType::f32, x);
}

}  // namespace shape_rules
}  // namespace volta
