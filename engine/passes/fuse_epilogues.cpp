// Elementwise nodes behind a product become its epilogue: they run on each block of the result while it is in
// cache. Only products over the last axis of a; one that sums over tokens (transpose_a) or micro-batches
// stays bare.
#include <algorithm>

#include "engine/passes/fusion.h"
#include "engine/passes/passes.h"

namespace volta {
namespace {

bool takes_epilogue(const Node& node) {
    return node.op == Op::matmul && node.phase != Phase::update && !node.flag(Attr::transpose_a) &&
           !node.flag(Attr::accumulate);
}

// Joins node `id` to a product that it reads. Of several the last one: the others are complete by then.
bool join_product(Fusion& fusion, const Graph& graph, NodeId id, std::pmr::memory_resource* heap) {
    std::pmr::vector<NodeId> products(heap);
    for (const ValueId input : graph.node(id).inputs) {
        const NodeId head = fusion.head(graph.value(input).producer);
        if (takes_epilogue(graph.node(head))) products.push_back(head);
    }
    std::sort(products.begin(), products.end());
    while (!products.empty()) {
        if (fusion.join(products.back(), id)) return true;
        products.pop_back();
    }
    return false;
}

}  // namespace

Graph fuse_epilogues(const Graph& graph, std::pmr::memory_resource* heap) {
    Graph current(graph, heap);
    for (bool changed = true; changed;) {
        changed = false;
        Fusion fusion(current, heap);
        for (NodeId id = 0; id < node_count(current); ++id) {
            const Node& node = current.node(id);
            if (fusion.is_needed(id) && is_fusable(node) && has_row_operands(current, node))
                changed |= join_product(fusion, current, id, heap);
        }
        if (changed) current = fusion.build();
    }
    return current;
}

}  // namespace volta
