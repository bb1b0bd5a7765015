#include "engine/graph/angles.h"

#include <algorithm>

namespace volta {

std::int64_t turned_positions(const Graph& graph, ValueId table) {
    for (const GraphOutput& output : graph.outputs)
        if (output.value == table) return -1;
    std::int64_t longest = -1;
    for (const Node& node : graph.nodes)
        for (std::size_t i = 0; i < node.inputs.size(); ++i) {
            if (node.inputs[i] != table) continue;
            if (node.op != Op::rotary || i != 2) return -1;
            if (graph.producer(node.inputs[1]).op != Op::position_ids) return -1;
            longest = std::max(longest, graph.shape(node.inputs[1]).last());
        }
    return longest;
}

void copy_first_angles(const Graph& from, NodeId table, std::int64_t rows, Graph& to,
                       std::pmr::vector<ValueId>& renamed) {
    const Node& node = from.node(table);
    Node shorter(node, to.heap());
    for (ValueId& input : shorter.inputs) input = renamed[static_cast<std::size_t>(input)];
    for (Attribute& attribute : shorter.attributes)
        if (attribute.key == Attr::limit)
            attribute.number = std::min(attribute.number, static_cast<double>(rows));
    renamed[static_cast<std::size_t>(node.first_output)] = to.apply(std::move(shorter));
}

}  // namespace volta
