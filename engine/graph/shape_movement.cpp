// Output shapes of operators that move elements, and of embeddings.
#include "engine/graph/forms.h"
#include "engine/graph/rules.h"
#include "engine/graph/shape_checks.h"

namespace volta {
namespace {

[[noreturn]] void refuse_reshape(const Node& node, const Shape& x, const Attribute& wanted) {
    Shape shape;
    shape.rank = wanted.integer_count;
    for (int axis = 0; axis < shape.rank; ++axis) shape[axis] = wanted.integers[axis];
    fail(VOLTA_SHAPE_MISMATCH, "%s: %s does not become %s", name_of(node), to_text(x).text,
         to_text(shape).text);
}

void expect_other_axes(const Node& node, const Shape& first, const Shape& other, int axis, int index) {
    bool equal = first.rank == other.rank;
    for (int i = 0; equal && i < first.rank; ++i) equal = i == axis || first[i] == other[i];
    if (!equal)
        fail(VOLTA_SHAPE_MISMATCH, "%s: input %d %s differs from input 0 %s beside axis %d", name_of(node),
             index, to_text(other).text, to_text(first).text, axis);
}

}  // namespace

int id_input(const Node& node, const IdInput& ids) {
    const int count = static_cast<int>(node.inputs.size());
    if (!ids.of_documents) return ids.input < count ? ids.input : -1;
    if (!node.flag(Attr::documents)) return -1;
    return count - (node.number(Attr::probability) > 0 ? 2 : 1);
}

std::int64_t id_bound(const Graph& graph, const Node& node, const IdInput& ids) {
    if (ids.table < 0) return static_cast<std::int64_t>(node.number(ids.bound));
    const Shape& table = graph.shape(node.inputs[static_cast<std::size_t>(ids.table)]);
    return (ids.axis < 0 ? table.last() : table[ids.axis]) * ids.unit;
}

int axis_form(const Node& node, const Shape& x) {
    const int given = static_cast<int>(node.number(Attr::axis));
    const int axis = given < 0 ? given + x.rank : given;
    if (axis < 0 || axis >= x.rank)
        fail(VOLTA_SHAPE_MISMATCH, "%s: there is no axis %d in %s", name_of(node), given, to_text(x).text);
    return axis;
}

SliceForm slice_form(const Node& node, const Shape& x) {
    SliceForm form;
    form.axis = axis_form(node, x);
    const std::int64_t extent = x[form.axis];
    const double end = node.number(Attr::end);
    form.begin = static_cast<std::int64_t>(node.number(Attr::begin));
    form.end = end == kToTheEnd ? extent : static_cast<std::int64_t>(end);
    if (form.begin < 0) form.begin += extent;
    if (form.end < 0) form.end += extent;
    if (form.begin < 0 || form.begin > form.end || form.end > extent)
        fail(VOLTA_SHAPE_MISMATCH, "%s: indices %lld to %lld are not within axis %d of %s", name_of(node),
             static_cast<long long>(form.begin), static_cast<long long>(form.end), form.axis,
             to_text(x).text);
    return form;
}

namespace shape_rules {

void reshape(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    const Shape& x = inputs[0].shape;
    const Attribute& wanted = *node.find(Attr::shape);
    Shape y;
    y.rank = wanted.integer_count;
    int open = -1;           // the axis of -1
    std::int64_t known = 1;  // elements of the others
    for (int axis = 0; axis < y.rank; ++axis) {
        const std::int64_t extent = wanted.integers[axis];
        const bool copies = extent == -2;
        if (extent < -2 || (copies && axis >= x.rank) || (extent == -1 && open >= 0))
            refuse_reshape(node, x, wanted);
        if (extent == -1)
            open = axis;
        else
            known = product_of(node, known, y[axis] = copies ? x[axis] : extent);
    }
    const std::int64_t elements = x.elements();
    if (open >= 0 && known > 0) y[open] = elements / known;
    if (open >= 0 ? known == 0 || known * y[open] != elements : known != elements)
        refuse_reshape(node, x, wanted);
    add_output(outputs, inputs[0].dtype, y);
}

void transpose(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    const Shape& x = inputs[0].shape;
    const Attribute& order = *node.find(Attr::permutation);
    Shape y = x, text;
    bool seen[kMaxRank] = {}, valid = order.integer_count == x.rank;
    text.rank = order.integer_count;
    for (int axis = 0; axis < order.integer_count; ++axis) {
        const std::int64_t from = text[axis] = order.integers[axis];
        valid = valid && from >= 0 && from < x.rank && !seen[from];
        if (!valid) continue;
        seen[from] = true;
        y[axis] = x[static_cast<int>(from)];
    }
    if (!valid)
        fail(VOLTA_SHAPE_MISMATCH, "%s: %s is no permutation of the axes of %s", name_of(node),
             to_text(text).text, to_text(x).text);
    add_output(outputs, inputs[0].dtype, y);
}

void concat(const Node& node, const TypedShape* inputs, int input_count, TypedShapes& outputs) {
    Shape y = inputs[0].shape;
    const int axis = axis_form(node, y);
    for (int i = 1; i < input_count; ++i) {
        shape_of(node, inputs[i], inputs[0].dtype, "an input");
        expect_other_axes(node, inputs[0].shape, inputs[i].shape, axis, i);
        y[axis] = sum_of(node, y[axis], inputs[i].shape[axis]);
    }
    add_output(outputs, inputs[0].dtype, y);
}

void slice(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    Shape y = inputs[0].shape;
    const SliceForm form = slice_form(node, y);
    y[form.axis] = form.end - form.begin;
    add_output(outputs, inputs[0].dtype, y);
}

void slice_grad(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    Shape x = real_shape(node, inputs[0], "dy");
    const int axis = axis_form(node, x);
    const std::int64_t begin = static_cast<std::int64_t>(node.number(Attr::begin));
    const std::int64_t rows = static_cast<std::int64_t>(node.number(Attr::rows));
    if (sum_of(node, begin, x[axis]) > rows)
        fail(VOLTA_SHAPE_MISMATCH, "%s: indices %lld to %lld are not within an axis of %lld", name_of(node),
             static_cast<long long>(begin), static_cast<long long>(begin + x[axis]),
             static_cast<long long>(rows));
    x[axis] = rows;
    add_output(outputs, DType::f32, x);
}

void broadcast_to(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    const Shape& x = inputs[0].shape;
    const Attribute& wanted = *node.find(Attr::shape);
    const int missing = wanted.integer_count - x.rank;
    Shape y, joined;
    y.rank = wanted.integer_count;
    bool valid = missing >= 0;
    for (int axis = 0; axis < y.rank; ++axis) {
        y[axis] = wanted.integers[axis];
        if (y[axis] == -1 && axis >= missing && valid) y[axis] = x[axis - missing];
        valid = valid && y[axis] >= 0;
    }
    if (!valid || !broadcast(x, y, &joined) || joined != y)
        fail(VOLTA_SHAPE_MISMATCH, "%s: %s does not broadcast to %s", name_of(node), to_text(x).text,
             to_text(y).text);
    add_output(outputs, inputs[0].dtype, y);
}

void position_ids(const Node& node, const TypedShape* inputs, int input_count, TypedShapes& outputs) {
    const Shape& ids = integer_shape(node, inputs[0], "ids");
    expect_least_rank(node, "ids", ids, 1);
    const std::int64_t limit = static_cast<std::int64_t>(node.number(Attr::limit));
    if (ids.last() > limit)
        fail(VOLTA_SHAPE_MISMATCH, "%s: a sequence of %lld tokens is longer than the context %lld",
             name_of(node), static_cast<long long>(ids.last()), static_cast<long long>(limit));
    if (input_count > 1) expect_shape(node, "starts", integer_shape(node, inputs[1], "starts"), ids);
    add_output(outputs, DType::i32, ids);
}

void gather(const Node& node, const TypedShape* inputs, int, TypedShapes& outputs) {
    const Shape& table = weight_shape(node, inputs[0], "the table");
    const Shape& ids = integer_shape(node, inputs[1], "ids");
    expect_rank(node, "the table", table, 2);
    expect_below(node, "the number of rows", table[0], kIdLimit);
    add_output(outputs, DType::f32, with_last(node, ids, table[1]));
}

void embedding_gradient(const Node& node, const TypedShape* inputs, int input_count, TypedShapes& outputs) {
    const Shape& ids = integer_shape(node, inputs[0], "ids");
    const Shape& dy = real_shape(node, inputs[1], "dy");
    expect_rank(node, "dy", dy, ids.rank + 1);
    expect_shape(node, "ids", ids, without_last(dy));
    const Shape table = {static_cast<std::int64_t>(node.number(Attr::rows)), dy.last()};
    if (input_count == 3) expect_shape(node, "base", real_shape(node, inputs[2], "base"), table);
    add_output(outputs, DType::f32, table);
}

}  // namespace shape_rules
}  // namespace volta
