#include "engine/passes/rematerialize.h"

#include <algorithm>

#include "engine/passes/kept_results.h"

namespace volta {
namespace {

using Nodes = std::pmr::vector<NodeId>;

class Rematerialization {
  public:
    Rematerialization(const Graph& graph, const Nodes& nodes, std::pmr::memory_resource* heap)
        : graph_(graph),
          kept_(graph, heap),
          rewrite_(graph, heap),
          again_(graph.values.size(), -1, heap),
          is_given_up_(graph.nodes.size(), false, heap) {
        for (const NodeId id : nodes) is_given_up_[index_of(id)] = true;
    }

    Graph run() {
        for (NodeId id = 0; id < node_count(graph_); ++id) {
            if (id < kept_.backward() || !reads_given_up(id)) {
                rewrite_.copy(id);
                continue;
            }
            rewrite_.replace(id, rewrite_.to.apply(with_again(id)));
        }
        return rewrite_.finish();
    }

  private:
    // Is there nothing of the forward pass's left to read?
    bool is_gone(ValueId input) const {
        const NodeId maker = kept_.maker(input);
        if (maker < 0 || maker >= kept_.backward()) return false;
        return is_given_up_[index_of(maker)] || (!kept_.is_kept(maker) && kept_.may_repeat(maker));
    }
    bool reads_given_up(NodeId id) const {
        const auto& inputs = graph_.node(id).inputs;
        return std::any_of(inputs.begin(), inputs.end(), [&](ValueId input) { return is_gone(input); });
    }

    // The node, reading what is computed again. Chains are as long as a network is deep: no recursion.
    Node with_again(NodeId id) {
        for (const ValueId input : graph_.node(id).inputs)
            if (is_gone(input)) compute(graph_.value(input).producer);
        Node node = rewrite_.renamed_copy(id);
        const auto& inputs = graph_.node(id).inputs;
        for (std::size_t i = 0; i < inputs.size(); ++i)
            if (is_gone(inputs[i])) node.inputs[i] = again_[index_of(inputs[i])];
        return node;
    }

    void compute(NodeId wanted) {
        Nodes open({wanted}, rewrite_.to.heap());
        while (!open.empty()) {
            const NodeId id = open.back();
            if (again_[index_of(graph_.node(id).first_output)] >= 0) {
                open.pop_back();
                continue;
            }
            const std::size_t before = open.size();
            for (const ValueId input : graph_.node(id).inputs)
                if (is_gone(input) && again_[index_of(input)] < 0)
                    open.push_back(graph_.value(input).producer);
            if (open.size() > before) continue;
            open.pop_back();
            const Node& old = graph_.node(id);
            Node node = rewrite_.renamed_copy(id);
            for (std::size_t i = 0; i < old.inputs.size(); ++i)
                if (is_gone(old.inputs[i])) node.inputs[i] = again_[index_of(old.inputs[i])];
            const ValueId first = rewrite_.to.apply(std::move(node));
            for (std::int32_t i = 0; i < old.output_count; ++i)
                again_[index_of(old.first_output + i)] = first + i;
        }
    }

    const Graph& graph_;
    KeptResults kept_;
    Rewrite rewrite_;
    std::pmr::vector<ValueId> again_;  // value -> its copy in the new graph's backward pass; -1: none yet
    std::pmr::vector<bool> is_given_up_;
};

}  // namespace

Graph rematerialize(const Graph& graph, const std::pmr::vector<NodeId>& nodes,
                    std::pmr::memory_resource* heap) {
    return Rematerialization(graph, nodes, heap).run();
}

}  // namespace volta
