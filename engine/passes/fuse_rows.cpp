// Operators along the last axis (norms, softmax, their gradients) take the elementwise nodes around them into
// their kernel: the activation behind a norm, the residual before it, the activation's gradient before the
// norm's. A row is in cache while all of it is computed, and what nobody else reads is never in memory.
#include <algorithm>

#include "engine/passes/fusion.h"
#include "engine/passes/passes.h"

namespace volta {
namespace {

// Rows are what threads share of such a kernel, elementwise nodes alone share any elements: of a few long
// rows these have more hands. Of little work there is one thread anyway.
constexpr std::int64_t kFewestRows = 64, kLittleWork = 32768;

bool has_rows_for_all(const Shape& shape) {
    return shape.rank > 0 && (shape.rows() >= kFewestRows || shape.elements() <= kLittleWork);
}

bool fits(const Graph& graph, const Node& node) {
    return works_on_rows(node) || (is_fusable(node) && has_row_operands(graph, node));
}

// Joins node `id` to who made the whole rows that it reads, if one of both works along the last axis.
bool join_rows(Fusion& fusion, const Graph& graph, NodeId id) {
    const Node& node = graph.node(id);
    const Shape& whole = graph.shape(node.first_output);
    if (!fits(graph, node) || !has_rows_for_all(whole)) return false;
    bool changed = false;
    for (const ValueId input : node.inputs) {
        const NodeId producer = graph.value(input).producer;
        const Node& from = graph.node(producer);
        const bool along_rows = works_on_rows(node) || works_on_rows(graph.node(fusion.head(producer)));
        if (along_rows && fits(graph, from) && graph.shape(input) == whole)
            changed = fusion.join(producer, id) || changed;
    }
    return changed;
}

}  // namespace

Graph fuse_rows(const Graph& graph, std::pmr::memory_resource* heap) {
    Graph current(graph, heap);
    for (bool changed = true; changed;) {
        changed = false;
        Fusion fusion(current, heap);
        for (NodeId id = 0; id < node_count(current); ++id)
            if (fusion.is_needed(id)) changed = join_rows(fusion, current, id) || changed;
        if (changed) current = fusion.build();
    }
    return current;
}

}  // namespace volta
