// What all passes share: a new graph grows beside the old one, node by node, and remembers what became of
// each value.
#pragma once

#include <memory_resource>

#include "engine/graph/graph.h"

namespace volta {

inline std::size_t index_of(std::int32_t id) { return static_cast<std::size_t>(id); }
inline NodeId node_count(const Graph& graph) { return static_cast<NodeId>(graph.nodes.size()); }
inline bool is_source(const Node& node) { return op_row(node.op).lowering == Lowering::source; }

// What the node writes holds over micro-batches, so its content is not a function of its inputs alone.
inline bool holds_over_micro_batches(const Node& node) {
    const Attribute* attribute = node.find(Attr::accumulate);
    return op_row(node.op).micro_batches != MicroBatches::last ||
           (attribute != nullptr && attribute->number != 0);
}

// Overwrites parameters or states: needed whether or not its outputs are read.
inline bool writes_in_place(const Node& node) {
    for (const std::int8_t slot : op_row(node.op).in_place)
        if (slot >= 0) return true;
    return false;
}

// One flag per node: needed by an output or by an update, or a source, whose order is the graph's interface.
// Constants are needed like any other node.
std::pmr::vector<bool> needed_nodes(const Graph& graph);

class Rewrite {
  public:
    Rewrite(const Graph& graph, std::pmr::memory_resource* heap)
        : from(graph), to(heap), renamed(graph.values.size(), -1, heap) {
        to.nodes.reserve(graph.nodes.size());
        to.values.reserve(graph.values.size());
    }

    const Graph& from;
    Graph to;
    std::pmr::vector<ValueId> renamed;  // value of `from` -> value of `to`; -1: not there yet

    ValueId now(ValueId old) const { return renamed[index_of(old)]; }
    void copy(NodeId id) { copy_node(from, id, to, renamed); }
    // All outputs of node `id` are the outputs of another node, from `first` on.
    void replace(NodeId id, ValueId first) {
        const Node& node = from.node(id);
        for (std::int32_t i = 0; i < node.output_count; ++i)
            renamed[index_of(node.first_output + i)] = first + i;
    }
    // The node with its inputs renamed, on the new graph's heap: to be changed and applied there.
    Node renamed_copy(NodeId id) const;
    // Declares the outputs and hands the new graph out.
    Graph finish();
};

}  // namespace volta
