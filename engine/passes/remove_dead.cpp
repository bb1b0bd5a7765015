// Nodes that no output and no update needs go. Sources stay, needed or not: their order is the graph's
// interface. Constants have no name, so nobody can ask for them: they go.
#include "engine/passes/passes.h"
#include "engine/passes/rewrite.h"

namespace volta {

Graph remove_dead(const Graph& graph, std::pmr::memory_resource* heap) {
    Rewrite rewrite(graph, heap);
    const std::pmr::vector<bool> needed = needed_nodes(graph);
    for (NodeId id = 0; id < node_count(graph); ++id)
        if (needed[index_of(id)]) rewrite.copy(id);
    return rewrite.finish();
}

}  // namespace volta
