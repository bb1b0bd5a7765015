#include "engine/plan/order.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "engine/base/error.h"
#include "engine/plan/sharing.h"

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

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

// What runs before what: `after[edges of n]` run after n.
class Dependencies {
  public:
    Dependencies(const Graph& graph, const Identity& identity)
        : after(graph.nodes.size(), graph.heap()),
          waits_for(graph.nodes.size(), 0, graph.heap()),
          graph_(graph),
          identity_(identity),
          readers_(graph.values.size(), graph.heap()) {
        collect_readers();
        for (std::size_t n = 0; n < graph.nodes.size(); ++n)
            if (is_step(graph.nodes[n])) add_edges(static_cast<NodeId>(n));
    }

    std::pmr::vector<std::pmr::vector<NodeId>> after;
    std::pmr::vector<std::int32_t> waits_for;

  private:
    void collect_readers() {
        for (std::size_t n = 0; n < graph_.nodes.size(); ++n) {
            if (!is_step(graph_.nodes[n])) continue;
            for (const ValueId input : graph_.nodes[n].inputs)
                readers_[at(identity_.content(input))].push_back(static_cast<NodeId>(n));
        }
    }

    void add_edges(NodeId n) {
        const Node& node = graph_.node(n);
        for (const ValueId input : node.inputs) {
            const NodeId producer = graph_.value(identity_.content(input)).producer;
            if (is_step(graph_.node(producer))) precede(producer, n);
        }
        for_each_in_place(node, [&](ValueId, ValueId input) {
            for (const NodeId reader : readers_[at(identity_.content(input))])
                if (reader != n) precede(reader, n);
        });
    }

    void precede(NodeId first, NodeId second) {
        after[at(first)].push_back(second);
        ++waits_for[at(second)];
    }

    const Graph& graph_;
    const Identity& identity_;
    std::pmr::vector<std::pmr::vector<NodeId>> readers_;  // of a content, steps only
};

// How much the arena grows by a step: what is born with it less what nobody reads behind it. It changes where
// a memory has one reader left, and is kept then: each step is looked at as often as it has inputs, however
// many may run.
class Growth {
  public:
    Growth(const Graph& graph, const Identity& identity, std::uint32_t micro_batches)
        : graph_(graph),
          identity_(identity),
          bytes_(graph.values.size(), 0, graph.heap()),
          readers_(graph.values.size(), 0, graph.heap()),
          left_(graph.values.size(), 0, graph.heap()),
          seen_(graph.values.size(), -1, graph.heap()),
          growth_(graph.nodes.size(), 0, graph.heap()) {
        for (const Node& node : graph.nodes) {
            if (!is_step(node) || (micro_batches > 1 && persists(node))) continue;
            for (ValueId value = node.first_output; value < node.first_output + node.output_count; ++value)
                if (identity.bytes(value) == value)
                    bytes_[at(value)] = tensor_bytes(graph.value(value).dtype, graph.value(value).shape);
        }
        for (const GraphOutput& output : graph.outputs) bytes_[at(identity.bytes(output.value))] = 0;
        for (NodeId n = 0; n < static_cast<NodeId>(graph.nodes.size()); ++n) {
            if (!is_step(graph.node(n))) continue;
            growth_[at(n)] = born(n);
            for_each_read(n, [&](std::size_t owner) {
                ++readers_[owner];
                left_[owner] += n;
            });
        }
        for (std::size_t owner = 0; owner < readers_.size(); ++owner)
            if (readers_[owner] == 1) free_with_last(owner);
    }

    std::int64_t born(NodeId n) const {
        const Node& node = graph_.node(n);
        std::int64_t bytes = 0;
        for (ValueId value = node.first_output; value < node.first_output + node.output_count; ++value)
            if (identity_.bytes(value) == value) bytes += static_cast<std::int64_t>(bytes_[at(value)]);
        return bytes;
    }
    std::int64_t of(NodeId n) const { return growth_[at(n)]; }

    // Of what is born, the bytes that may lie where an input lies that dies.
    std::int64_t shared(NodeId n) const {
        const Node& node = graph_.node(n);
        std::int64_t bytes = 0;
        for (std::int32_t output = 0; output < node.output_count; ++output)
            for (std::size_t slot = 0; slot < node.inputs.size(); ++slot)
                if (may_lie_on(node, slot, output)) {
                    bytes += static_cast<std::int64_t>(bytes_[at(node.first_output + output)]);
                    break;
                }
        return bytes;
    }

    // changed(m): m grows less from now on.
    template <class Changed>
    void run(NodeId n, Changed changed) {
        for_each_read(n, [&](std::size_t owner) {
            left_[owner] -= n;
            if (--readers_[owner] == 1) changed(free_with_last(owner));
        });
    }

  private:
    bool may_lie_on(const Node& node, std::size_t slot, std::int32_t output) const {
        const std::size_t dying = at(identity_.bytes(node.inputs[slot]));
        return may_overwrite(node, slot, output) && readers_[dying] == 1 && bytes_[dying] > 0 &&
               bytes_[dying] == bytes_[at(node.first_output + output)];
    }

    // Each memory once, however often the node reads it.
    template <class Visit>
    void for_each_read(NodeId n, Visit visit) {
        ++walk_;
        for (const ValueId input : graph_.node(n).inputs) {
            const std::size_t owner = at(identity_.bytes(input));
            if (std::exchange(seen_[owner], walk_) != walk_) visit(owner);
        }
    }

    // Of a memory with one reader left, which it returns.
    NodeId free_with_last(std::size_t owner) {
        const auto last = static_cast<NodeId>(left_[owner]);
        growth_[at(last)] -= static_cast<std::int64_t>(bytes_[owner]);
        return last;
    }

    const Graph& graph_;
    const Identity& identity_;
    std::pmr::vector<std::uint64_t> bytes_;   // of the arena, by the value that first had them
    std::pmr::vector<std::int32_t> readers_;  // that have not run
    std::pmr::vector<std::int64_t> left_;     // the sum of their numbers: of one, its own
    std::pmr::vector<std::int64_t> seen_;     // the last walk over a node's inputs that met it
    std::int64_t walk_ = 0;
    std::pmr::vector<std::int64_t> growth_;  // by node
};

// Puts the nodes in a row: of all that may run one of the lowest phase, by a preference.
class Sorter {
  public:
    Sorter(const Graph& graph, const Identity& identity, const PlanOptions& options)
        : graph_(graph), identity_(identity), options_(options), edges_(graph, identity) {}

    // The one that stands first in the graph.
    std::pmr::vector<Step> by_graph() {
        std::pmr::vector<NodeId> ready(graph_.heap());
        const auto later = [&](NodeId a, NodeId b) { return turn_of(a) > turn_of(b); };
        return run(
            ready,
            [&](NodeId n) {
                ready.push_back(n);
                std::push_heap(ready.begin(), ready.end(), later);
            },
            [&] {
                std::pop_heap(ready.begin(), ready.end(), later);
                const NodeId n = ready.back();
                ready.pop_back();
                return n;
            });
    }

    // The one that frees most, or else that takes least; or, with `as_freed`, only what frees comes earlier
    // than the graph has it. Of equal ones the first in the graph.
    std::pmr::vector<Step> by_growth(bool as_freed) {
        Growth growth(graph_, identity_, options_.micro_batches);
        std::pmr::vector<Rank> ready(graph_.heap());  // a heap; a step whose rank has changed is there again
        std::pmr::vector<bool> may_run(graph_.nodes.size(), false, graph_.heap());
        const auto later = [](const Rank& a, const Rank& b) { return a > b; };
        const auto push = [&](NodeId n) {
            const Turn turn = turn_of(n);
            const std::int64_t grows = turn.behind != n ? INT64_MIN : growth.of(n);  // follows at once
            ready.emplace_back(turn.phase, as_freed ? std::min<std::int64_t>(grows, 0) : grows, turn.behind,
                               n);
            std::push_heap(ready.begin(), ready.end(), later);
        };
        const auto pop = [&] {
            std::pop_heap(ready.begin(), ready.end(), later);
            const auto n = std::get<3>(ready.back());
            ready.pop_back();
            return n;
        };
        return run(
            ready,
            [&](NodeId n) {
                may_run[at(n)] = true;
                push(n);
            },
            [&] {
                const NodeId n = pop();
                may_run[at(n)] = false;
                growth.run(n, [&](NodeId other) {
                    if (may_run[at(other)]) push(other);
                });
                while (!ready.empty() && !may_run[at(std::get<3>(ready.front()))]) pop();  // have run
                return n;
            });
    }

    // The most that is alive at a step of the order. What the planner makes of it may be more.
    std::int64_t peak(const std::pmr::vector<Step>& steps) const {
        Growth growth(graph_, identity_, options_.micro_batches);
        std::int64_t alive = 0, most = 0;
        for (const Step& step : steps) {
            most = std::max(most, alive + growth.born(step.node) - growth.shared(step.node));
            alive += growth.of(step.node);
            growth.run(step.node, [](NodeId) {});
        }
        return most;
    }

  private:
    // Phase, growth, the node that it follows, node: the least runs.
    using Rank = std::tuple<Phase, std::int64_t, NodeId, NodeId>;

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

    // release(n): n may run; next(): which of `ready` does.
    template <class Ready, class Release, class Next>
    std::pmr::vector<Step> run(const Ready& ready, Release release, Next next) {
        std::pmr::vector<Step> steps(graph_.heap());
        std::pmr::vector<std::int32_t> waits_for(edges_.waits_for, graph_.heap());
        for (std::size_t n = 0; n < graph_.nodes.size(); ++n)
            if (is_step(graph_.nodes[n]) && waits_for[n] == 0) release(static_cast<NodeId>(n));
        while (!ready.empty()) {
            const NodeId n = next();
            steps.push_back(Step{n, turn_of(n).phase});
            for (const NodeId after : edges_.after[at(n)])
                if (--waits_for[at(after)] == 0) release(after);
        }
        check(steps, waits_for);
        return steps;
    }

    void check(const std::pmr::vector<Step>& steps, const std::pmr::vector<std::int32_t>& waits_for) const {
        for (std::size_t n = 0; n < graph_.nodes.size(); ++n)
            if (waits_for[n] != 0)
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
    const Dependencies edges_;
};

}  // namespace

std::pmr::vector<Step> order_steps(const Graph& graph, const Identity& identity, const PlanOptions& options) {
    return Sorter(graph, identity, options).by_graph();
}

std::pmr::vector<std::pmr::vector<Step>> orders_for_memory(const Graph& graph, const Identity& identity,
                                                           const PlanOptions& options) {
    std::pmr::vector<std::pmr::vector<Step>> orders(graph.heap());
    Sorter sorter(graph, identity, options);
    const std::int64_t given = sorter.peak(sorter.by_graph());
    for (const bool as_freed : {true, false}) {
        std::pmr::vector<Step> order = sorter.by_growth(as_freed);
        if (sorter.peak(order) < given) orders.push_back(std::move(order));
    }
    return orders;
}

}  // namespace volta
