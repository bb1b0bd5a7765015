// Elementwise nodes behind a product, or behind a convolution that gives a picture, become its epilogue: they
// run on each block of the result while it is in cache. Only products over the last axis of a; one that sums
// over tokens (transpose_a) or micro-batches stays bare. The bias of a convolution is such a node too.
#include <algorithm>

#include "engine/graph/forms.h"
#include "engine/passes/fusion.h"
#include "engine/passes/passes.h"

namespace volta {
namespace {

bool takes_epilogue(const Node& node) {
    if (!carries_product(node.op) || node.phase == Phase::update) return false;
    return node.op != Op::matmul || (!node.flag(Attr::transpose_a) && !node.flag(Attr::accumulate));
}

// Can `node` run on the blocks of that product?
bool fits(const Graph& graph, const Node& product, const Node& node) {
    return product.op == Op::matmul ? has_row_operands(graph, node) : has_plane_operands(graph, node);
}

// Joins node `id` to a product that it reads. Of several the last one: the others are complete by then.
bool join_product(Fusion& fusion, const Graph& graph, NodeId id, std::pmr::memory_resource* heap) {
    std::pmr::vector<NodeId> products(heap);
    for (const ValueId input : graph.node(id).inputs) {
        const NodeId head = fusion.head(graph.value(input).producer);
        if (takes_epilogue(graph.node(head)) && fits(graph, graph.node(head), graph.node(id)))
            products.push_back(head);
    }
    std::sort(products.begin(), products.end());
    while (!products.empty()) {
        if (fusion.join(products.back(), id)) return true;
        products.pop_back();
    }
    return false;
}

bool has_bias(const Node& node) {
    return carries_product(node.op) && node.op != Op::matmul && node.body.ops.empty() &&
           node.inputs.size() > 2;
}

// A convolution with a bias as one without, and an addition of [channels, 1, ...].
ValueId split_bias(Rewrite& rewrite, const Node& node) {
    const ValueId factors[] = {rewrite.now(node.inputs[0]), rewrite.now(node.inputs[1])};
    const ValueId y = rewrite.to.apply(node.op, factors, 2, node.attributes.data(),
                                       static_cast<int>(node.attributes.size()), node.phase);
    Shape beside = rewrite.to.shape(y);
    for (int axis = 0; axis < beside.rank; ++axis)
        if (axis != 1) beside[axis] = 1;
    const ValueId bias =
        rewrite.to.apply(Op::reshape, {rewrite.now(node.inputs[2])}, {list(Attr::shape, beside)}, node.phase);
    return rewrite.to.apply(Op::add, {y, bias}, {}, node.phase);
}

Graph split_biases(const Graph& graph, std::pmr::memory_resource* heap) {
    Rewrite rewrite(graph, heap);
    for (NodeId id = 0; id < node_count(graph); ++id) {
        if (has_bias(graph.node(id)))
            rewrite.replace(id, split_bias(rewrite, graph.node(id)));
        else
            rewrite.copy(id);
    }
    return rewrite.finish();
}

}  // namespace

Graph fuse_epilogues(const Graph& graph, std::pmr::memory_resource* heap) {
    Graph current = split_biases(graph, heap);
    for (bool changed = true; changed;) {
        changed = false;
        Fusion fusion(current, heap);
        for (NodeId id = 0; id < node_count(current); ++id)
            if (fusion.is_needed(id) && is_fusable(current.node(id)))
                changed |= join_product(fusion, current, id, heap);
        if (changed) current = fusion.build();
    }
    return current;
}

}  // namespace volta
