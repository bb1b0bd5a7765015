#include "engine/graph/attributes.h"

#include <algorithm>
#include <cmath>

#include "engine/base/error.h"

namespace volta {
namespace {

const AttrRow* find_row(const OpRow& row, Attr key) {
    for (int i = 0; i < row.attribute_count; ++i)
        if (row.attributes[i].key == key) return &row.attributes[i];
    return nullptr;
}

void check_number(const char* op, const AttrRow& row, double value) {
    const char* const name = attr_name(row.key);
    require(value >= row.low && value <= row.high, "%s: %s %.9g is not between %.9g and %.9g", op, name,
            value, row.low, row.high);
    require(!row.whole || value == std::floor(value), "%s: %s %g is no whole number", op, name, value);
}

Attribute checked(const char* op, const AttrRow& row, const Attribute& given) {
    const bool is_list = given.integer_count >= 0;
    require(is_list == row.is_list, "%s: %s is %s", op, attr_name(row.key),
            row.is_list ? "a list of integers" : "a number");
    require(given.integer_count <= kMaxRank, "%s: %s has %d integers, the most is %d", op, attr_name(row.key),
            given.integer_count, kMaxRank);
    Attribute result;
    result.key = row.key;
    if (is_list) {
        result.integer_count = given.integer_count;
        std::copy(given.integers, given.integers + given.integer_count, result.integers);
    } else {
        check_number(op, row, given.number);
        result.number = row.whole ? given.number + 0.0 : given.number;  // -0 is 0
    }
    return result;
}

}  // namespace

void complete_attributes(const OpRow& row, std::pmr::vector<Attribute>& attributes) {
    for (const Attribute& given : attributes)
        require(given.key < Attr::count_ && find_row(row, given.key), "%s: there is no attribute %s",
                row.name, given.key < Attr::count_ ? attr_name(given.key) : "of that number");
    std::pmr::vector<Attribute> complete(attributes.get_allocator());
    complete.reserve(static_cast<std::size_t>(row.attribute_count));
    for (int i = 0; i < row.attribute_count; ++i) {
        const AttrRow& wanted = row.attributes[i];
        const auto is_wanted = [&](const Attribute& given) { return given.key == wanted.key; };
        const auto count = std::count_if(attributes.begin(), attributes.end(), is_wanted);
        require(count <= 1, "%s: the attribute %s is given twice", row.name, attr_name(wanted.key));
        require(count == 1 || !wanted.required, "%s: the attribute %s is missing", row.name,
                attr_name(wanted.key));
        if (count == 1) {
            complete.push_back(
                checked(row.name, wanted, *std::find_if(attributes.begin(), attributes.end(), is_wanted)));
        } else {
            complete.push_back(wanted.is_list ? list(wanted.key, {})
                                              : number(wanted.key, wanted.default_number));
        }
    }
    attributes = std::move(complete);
}

void check_inputs(const Graph& graph, const Node& node) {
    const OpRow& row = op_row(node.op);
    const int count = static_cast<int>(node.inputs.size());
    if (row.min_inputs == row.max_inputs)
        require(count == row.min_inputs, "%s: takes %d input%s, not %d", row.name, row.min_inputs,
                row.min_inputs == 1 ? "" : "s", count);
    require(count >= row.min_inputs && count <= row.max_inputs, "%s: takes %d to %d inputs, not %d", row.name,
            row.min_inputs, row.max_inputs, count);
    for (int i = 0; i < count; ++i) {
        const ValueId id = node.inputs[static_cast<std::size_t>(i)];
        require(id >= 0 && id < static_cast<ValueId>(graph.values.size()),
                "%s: input %d is no value of this graph", row.name, i);
        const DType dtype = graph.value(id).dtype;
        if (is_stored(dtype) && i != row.stored_input)  // the shape rules say which forms take one
            fail(VOLTA_SHAPE_MISMATCH,
                 "%s: input %d is a weight stored as %s, which is read by matmul (b) and gather alone",
                 row.name, i, dtype_name(dtype));
    }
}

}  // namespace volta
