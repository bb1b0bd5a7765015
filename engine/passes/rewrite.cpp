#include "engine/passes/rewrite.h"

namespace volta {

std::pmr::vector<bool> needed_nodes(const Graph& graph) {
    std::pmr::vector<bool> needed(graph.nodes.size(), false, graph.heap());
    for (const GraphOutput& output : graph.outputs)
        needed[index_of(graph.value(output.value).producer)] = true;
    for (NodeId id = node_count(graph); id-- > 0;) {  // users come after their inputs
        const Node& node = graph.node(id);
        if (writes_in_place(node) || (is_source(node) && node.op != Op::constant))
            needed[index_of(id)] = true;
        if (!needed[index_of(id)]) continue;
        for (const ValueId input : node.inputs) needed[index_of(graph.value(input).producer)] = true;
    }
    return needed;
}

Node Rewrite::renamed_copy(NodeId id) const {
    Node node(from.node(id), to.heap());
    for (ValueId& input : node.inputs) input = now(input);
    return node;
}

Graph Rewrite::finish() {
    for (const GraphOutput& output : from.outputs) to.output(output.name.c_str(), now(output.value));
    return std::move(to);
}

}  // namespace volta
