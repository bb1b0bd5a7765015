// Which inputs a step may overwrite when it is the last to read them, by its operator's row.
#pragma once

#include <algorithm>

#include "engine/graph/forms.h"
#include "engine/graph/graph.h"

namespace volta {

// Of fused_rows: not one of the numbers per row, which are written while later rows have not been read. Only
// what an operation along the rows gives behind its first result is such.
inline bool is_whole_result(const Node& node, std::int32_t output) {
    std::int32_t value = node.body.results[static_cast<std::size_t>(output)];
    for (const BodyOp& op : node.body.ops) {
        const std::int32_t outputs = op_row(op.op).outputs;
        if (value < outputs) return value == 0;
        value -= outputs;
    }
    return false;
}

inline bool may_overwrite(const Node& node, std::size_t slot, std::int32_t output) {
    const Overwrites& rule = op_row(node.op).overwrites;
    if ((rule.inputs >> std::min<std::size_t>(slot, 31) & 1) == 0) return false;
    if (node.op == Op::fused_rows) return is_whole_result(node, output);
    // The product itself lies in one of the outputs until its epilogue has run.
    if (carries_product(node.op)) return output != product_output(node);
    return rule.output < 0 || output == rule.output;
}

// Where each part of a joined value lies in it, one behind the other; false: its parts are interleaved.
inline bool joins_whole_parts(const Graph& graph, const Node& node) {
    if (node.op != Op::concat) return false;
    const Shape& whole = graph.shape(node.first_output);
    const int axis = axis_form(node, graph.shape(node.inputs[0]));
    for (int i = 0; i < axis; ++i)
        if (whole[i] != 1) return false;
    return true;
}

}  // namespace volta
