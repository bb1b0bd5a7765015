#include "engine/plan/order.h"

#include <algorithm>
#include <tuple>

#include "engine/base/error.h"

namespace volta {

bool is_step(const Node& node) {
    const Lowering lowering = op_row(node.op).lowering;
    return lowering != Lowering::source && lowering != Lowering::alias;
}

bool persists(const Node& node) {
    if (op_row(node.op).micro_batches != MicroBatches::last) return true;
    const Attribute* attribute = node.find(Attr::accumulate);
    return attribute != nullptr && attribute->number != 0;
}

Identity::Identity(const Graph& graph)
    : content_(graph.values.size(), -1, graph.heap()), bytes_(graph.values.size(), -1, graph.heap()) {
    const auto at = [](ValueId value) { return static_cast<std::size_t>(value); };
    for (const Node& node : graph.nodes) {  // inputs come before users, so theirs are known
        for (ValueId value = node.first_output; value < node.first_output + node.output_count; ++value)
            content_[at(value)] = bytes_[at(value)] = value;
        if (op_row(node.op).lowering == Lowering::alias) {
            content_[at(node.first_output)] = content(node.inputs[0]);
            bytes_[at(node.first_output)] = bytes(node.inputs[0]);
        }
        for_each_in_place(node, [&](ValueId output, ValueId input) { bytes_[at(output)] = bytes(input); });
    }
}

namespace {

// A graph over nodes: `after[edges of n]` run after n.
class Sorter {
  public:
    Sorter(const Graph& graph, const Identity& identity, const PlanOptions& options)
        : graph_(graph),
          identity_(identity),
          options_(options),
          readers_(graph.values.size(), graph.heap()),
          after_(graph.nodes.size(), graph.heap()),
          waits_for_(graph.nodes.size(), 0, graph.heap()) {}

    std::pmr::vector<Step> sort() {
        collect_readers();
        for (std::size_t n = 0; n < graph_.nodes.size(); ++n)
            if (is_step(graph_.nodes[n])) add_edges(static_cast<NodeId>(n));
        return run();
    }

  private:
    void collect_readers() {
        for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
            if (!is_step(graph_.nodes[n])) continue;
            for (const ValueId input : graph_.nodes[n].inputs)
                readers_[static_cast<std::size_t>(identity_.content(input))].push_back(
                    static_cast<NodeId>(n));
        }
    }

    void add_edges(NodeId n) {
        const Node& node = graph_.node(n);
        for (const ValueId input : node.inputs) {
            const NodeId producer = graph_.value(identity_.content(input)).producer;
            if (is_step(graph_.node(producer))) precede(producer, n);
        }
        for_each_in_place(node, [&](ValueId, ValueId input) {
            for (const NodeId reader : readers_[static_cast<std::size_t>(identity_.content(input))])
                if (reader != n) precede(reader, n);
        });
    }

    void precede(NodeId first, NodeId second) {
        after_[static_cast<std::size_t>(first)].push_back(second);
        ++waits_for_[static_cast<std::size_t>(second)];
    }

    // When a node runs among those that may.
    struct Turn {
        Phase phase;
        NodeId behind;  // its own number, or that of the node which it follows at once
        NodeId node;
        bool operator>(const Turn& other) const {
            return std::tie(phase, behind, node) > std::tie(other.phase, other.behind, other.node);
        }
    };

    // The sum of a gradient's squares reads all of it. Where one micro-batch completes the gradient that is
    // done as soon as it is written, while it lies in a cache. So is an update in the backward pass: its
    // gradient needs no memory afterwards.
    Turn turn_of(NodeId n) const {
        const Node& node = graph_.node(n);
        if (options_.micro_batches == 1) {
            const NodeId producer = gradient_producer(node);
            if (producer >= 0 && is_step(graph_.node(producer)) && graph_.node(producer).phase == Phase::each)
                return {Phase::each, producer, n};
        }
        return {node.phase, n, n};
    }

    // Of the gradient that the node follows at once, where one micro-batch completes it; -1: it follows none.
    NodeId gradient_producer(const Node& node) const {
        if (node.op == Op::square_sum && node.phase == Phase::reduce) return producer_of(node.inputs[0]);
        const bool is_update = op_row(node.op).lowering == Lowering::update && node.op != Op::assign;
        return options_.update_in_backward && is_update ? producer_of(node.inputs[1]) : -1;
    }
    NodeId producer_of(ValueId value) const { return graph_.value(identity_.content(value)).producer; }

    // Of all nodes that may run, the one of the lowest phase that stands first in the graph.
    std::pmr::vector<Step> run() {
        std::pmr::vector<Step> steps(graph_.heap());
        std::pmr::vector<NodeId> ready(graph_.heap());
        const auto later = [&](NodeId a, NodeId b) { return turn_of(a) > turn_of(b); };
        const auto release = [&](NodeId n) {
            ready.push_back(n);
            std::push_heap(ready.begin(), ready.end(), later);
        };
        for (std::size_t n = 0; n < graph_.nodes.size(); ++n)
            if (is_step(graph_.nodes[n]) && waits_for_[n] == 0) release(static_cast<NodeId>(n));
        while (!ready.empty()) {
            std::pop_heap(ready.begin(), ready.end(), later);
            const NodeId n = ready.back();
            ready.pop_back();
            steps.push_back(Step{n, turn_of(n).phase});
            for (const NodeId next : after_[static_cast<std::size_t>(n)])
                if (--waits_for_[static_cast<std::size_t>(next)] == 0) release(next);
        }
        check(steps);
        return steps;
    }

    void check(const std::pmr::vector<Step>& steps) const {
        for (std::size_t n = 0; n < graph_.nodes.size(); ++n)
            if (waits_for_[n] != 0)
                fail(VOLTA_INTERNAL,
                     "plan: node %zu (%s) has no place in the order: a value is overwritten in place before "
                     "it is read",
                     n, op_row(graph_.nodes[n].op).name);
        for (std::size_t i = 1; i < steps.size(); ++i)
            if (steps[i].phase < steps[i - 1].phase)
                fail(VOLTA_INTERNAL, "plan: node %d (%s) has to run in a phase that is over", steps[i].node,
                     op_row(graph_.node(steps[i].node).op).name);
    }

    const Graph& graph_;
    const Identity& identity_;
    const PlanOptions& options_;
    std::pmr::vector<std::pmr::vector<NodeId>> readers_;  // of a content, steps only
    std::pmr::vector<std::pmr::vector<NodeId>> after_;
    std::pmr::vector<std::int32_t> waits_for_;
};

}  // namespace

std::pmr::vector<Step> order_steps(const Graph& graph, const Identity& identity, const PlanOptions& options) {
    return Sorter(graph, identity, options).sort();
}

}  // namespace volta
