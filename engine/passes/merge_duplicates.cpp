// Nodes that compute the same are computed once: operator, phase, inputs, attributes and body agree. The
// first one stays. Random nodes never merge; sources but constants have names of their own.
#include <algorithm>
#include <utility>

#include "engine/passes/passes.h"
#include "engine/passes/rewrite.h"

namespace volta {
namespace {

class Merger {
  public:
    Merger(const Graph& graph, std::pmr::memory_resource* heap)
        : rewrite_(graph, heap), first_(table_size(graph), -1, heap), next_(heap) {}

    Graph run() {
        for (NodeId id = 0; id < node_count(rewrite_.from); ++id) {
            if (is_unique(rewrite_.from.node(id)))
                rewrite_.copy(id);
            else
                merge(id);
        }
        return rewrite_.finish();
    }

  private:
    static std::size_t table_size(const Graph& graph) {
        std::size_t size = 16;
        while (size < graph.nodes.size()) size *= 2;
        return size;
    }

    static bool is_unique(const Node& node) {
        if (op_row(node.op).random || writes_in_place(node)) return true;
        for (const BodyOp& op : node.body.ops)
            if (op_row(op.op).random) return true;
        return is_source(node) && node.op != Op::constant;
    }

    // Copies the node, looks for an equal one before it, and takes the copy back if there is.
    void merge(NodeId id) {
        Node node = rewrite_.renamed_copy(id);
        if (op_row(node.op).commutes) std::sort(node.inputs.begin(), node.inputs.end());
        const std::size_t bucket = hash(id, node) & (first_.size() - 1);
        for (std::int32_t entry = first_[bucket]; entry >= 0; entry = next_[index_of(entry)].second) {
            const NodeId other = next_[index_of(entry)].first;
            if (is_equal(id, node, other))
                return rewrite_.replace(id, rewrite_.now(rewrite_.from.node(other).first_output));
        }
        rewrite_.copy(id);
        next_.emplace_back(id, first_[bucket]);
        first_[bucket] = static_cast<std::int32_t>(next_.size()) - 1;
    }

    // Is node `other`, which was kept, the same as `id`, whose renamed and sorted form is `node`?
    bool is_equal(NodeId id, const Node& node, NodeId other) const {
        const Node& kept = rewrite_.from.node(other);
        if (kept.op != node.op || kept.phase != node.phase || kept.inputs.size() != node.inputs.size())
            return false;
        if (node.op == Op::constant) return is_equal_constant(rewrite_.from.node(id), kept);
        Node form = rewrite_.renamed_copy(other);
        if (op_row(form.op).commutes) std::sort(form.inputs.begin(), form.inputs.end());
        return form.inputs == node.inputs && form.attributes == node.attributes && form.body == node.body;
    }

    // By content: equal bits have one index, whatever the pass before did.
    bool is_equal_constant(const Node& a, const Node& b) const {
        const Value &x = rewrite_.from.value(a.first_output), &y = rewrite_.from.value(b.first_output);
        return x.dtype == y.dtype && x.shape == y.shape &&
               rewrite_.from.constants[index_of(a.data)] == rewrite_.from.constants[index_of(b.data)];
    }

    // Narrows the search only: of operator, inputs and shape, by FNV-1a. Which nodes merge does not depend on
    // it.
    std::uint64_t hash(NodeId id, const Node& node) const {
        std::uint64_t state = 14695981039346656037u;
        const auto mix = [&](std::int64_t value) {
            state = (state ^ static_cast<std::uint64_t>(value)) * 1099511628211u;
            state ^= state >> 29;
        };
        mix(static_cast<std::int64_t>(node.op));
        mix(static_cast<std::int64_t>(node.phase));
        for (const ValueId input : node.inputs) mix(input);
        const Shape& shape = rewrite_.from.shape(rewrite_.from.node(id).first_output);
        for (int axis = 0; axis < shape.rank; ++axis) mix(shape[axis]);
        return state;
    }
    Rewrite rewrite_;
    std::pmr::vector<std::int32_t> first_;                    // bucket -> entry, -1: none
    std::pmr::vector<std::pair<NodeId, std::int32_t>> next_;  // entry -> node of `from`, next entry
};

}  // namespace

Graph merge_duplicates(const Graph& graph, std::pmr::memory_resource* heap) {
    return Merger(graph, heap).run();
}

}  // namespace volta
