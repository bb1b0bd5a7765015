#include "engine/graph/op.h"

#include <cstring>

#include "engine/graph/graph.h"

namespace volta {
namespace {

// In the order of Attr.
// clang-format off
constexpr const char* kAttrNames[] = {
    "axis", "axes", "keep_dims", "shape", "permutation", "begin", "end", "exponent", "low", "high",
    "epsilon", "transpose_a", "transpose_b", "accumulate", "heads", "kv_heads", "causal", "scale",
    "probability", "stream", "rows", "limit", "maximum_norm", "nesterov", "operand", "micro_batches",
    "packed", "base", "interleaved", "inverse", "width", "alpha", "beta", "gamma", "label_smoothing",
    "delta", "strides", "dilations", "pads", "groups", "output_padding", "momentum", "elements", "frozen",
    "kernel", "ceil_mode", "count_include_pad", "mode", "value", "window", "cap",
    "documents",
};
// clang-format on
static_assert(sizeof kAttrNames / sizeof *kAttrNames == static_cast<std::size_t>(Attr::count_),
              "one name each");

const Attribute* find_in(const std::pmr::vector<Attribute>& attributes, Attr key) {
    for (const Attribute& attribute : attributes)
        if (attribute.key == key) return &attribute;
    return nullptr;
}

}  // namespace

double attribute_number(Op op, const std::pmr::vector<Attribute>& attributes, Attr key) {
    if (const Attribute* attribute = find_in(attributes, key)) return attribute->number;
    const OpRow& row = op_row(op);
    for (int i = 0; i < row.attribute_count; ++i)
        if (row.attributes[i].key == key) return row.attributes[i].default_number;
    return 0;
}

const char* attr_name(Attr attr) { return kAttrNames[static_cast<int>(attr)]; }

const OpRow* find_op(const char* name) {
    for (int i = 0; i < kOpCount; ++i) {
        const OpRow& row = op_row(static_cast<Op>(i));
        if (std::strcmp(row.name, name) == 0) return &row;
    }
    return nullptr;
}

bool operator==(const Attribute& a, const Attribute& b) {
    if (a.key != b.key || a.integer_count != b.integer_count) return false;
    if (a.integer_count < 0) return std::memcmp(&a.number, &b.number, sizeof a.number) == 0;
    for (int i = 0; i < a.integer_count; ++i)
        if (a.integers[i] != b.integers[i]) return false;
    return true;
}

const Attribute* Node::find(Attr key) const { return find_in(attributes, key); }
double Node::number(Attr key) const { return attribute_number(op, attributes, key); }

}  // namespace volta
