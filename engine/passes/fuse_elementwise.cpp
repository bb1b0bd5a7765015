// Chains and trees of elementwise nodes of one shape become one fused node: their values stay in registers. A
// value that someone else reads as well becomes one of several results.
#include "engine/passes/fusion.h"
#include "engine/passes/passes.h"

namespace volta {

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
        }
        if (changed) current = fusion.build();
    }
    return current;
}

}  // namespace volta
