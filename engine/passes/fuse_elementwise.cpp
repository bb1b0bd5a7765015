// Chains and trees of elementwise nodes of one shape become one fused node: their values stay in registers. A
// value that someone else reads as well becomes one of several results. Neighbours that read the same large
// value become one node too: it is loaded once, and what their definitions share is computed once (gelu and
// gelu').
#include <algorithm>

#include "engine/passes/fusion.h"
#include "engine/passes/passes.h"

namespace volta {
namespace {

bool share_an_operand(const Graph& graph, const Node& a, const Node& b) {
    const Shape& shape = graph.shape(a.first_output);
    for (const ValueId input : a.inputs)
        if (graph.shape(input) == shape &&
            std::find(b.inputs.begin(), b.inputs.end(), input) != b.inputs.end())
            return true;
    return false;
}

}  // namespace

Graph fuse_elementwise(const Graph& graph, std::pmr::memory_resource* heap) {
    Graph current(graph, heap);
    for (bool changed = true; changed;) {  // a group that has formed may make room for another
        changed = false;
        Fusion fusion(current, heap);
        for (NodeId id = 0; id < node_count(current); ++id) {
            if (!fusion.is_needed(id) || !is_fusable(current.node(id))) continue;
            for (const ValueId input : current.node(id).inputs) {
                const NodeId producer = current.value(input).producer;
                if (is_fusable(current.node(producer))) changed |= fusion.join(producer, id);
            }
            if (id > 0 && fusion.is_needed(id - 1) && is_fusable(current.node(id - 1)) &&
                share_an_operand(current, current.node(id - 1), current.node(id)))
                changed |= fusion.join(id - 1, id);
        }
        if (changed) current = fusion.build();
    }
    return current;
}

}  // namespace volta
