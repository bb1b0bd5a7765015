// Results that a training step would keep from the forward to the backward pass, although what they are
// computed from is kept as well, are computed again where they are needed: the activation y = gelu(z) for the
// weight gradient y' dY, beside gelu'(z) which reads z anyway, swiglu, and the normalised rows. Same inputs,
// same definition, same bits; more than half of a transformer's activations need no memory between the two.
// Normalised rows whose mean and factor are kept for the norm's gradient are elementwise operations on these:
// they become one kernel with what reads them, the activation's gradient above all.
#include <algorithm>

#include "engine/passes/fusion.h"
#include "engine/passes/passes.h"

namespace volta {
namespace {

constexpr NodeId kFarApart = 4;              // nodes between two readers, for memory to be worth an operation
constexpr std::int64_t kLeastElements = 16;  // of a result worth the trouble: a cache line

constexpr std::size_t kNoStatistics = 0;

// How many numbers per row a norm gives behind its result: what its result can be computed from again.
std::size_t statistics_of(Op op) { return op == Op::layer_norm ? 2 : op == Op::rms_norm ? 1 : kNoStatistics; }

// The norm's result from x, scale, bias and the statistics that it gave: the last roundings of its
// definition, in their order.
ValueId normalised_again(Rewrite& rewrite, const Node& norm) {
    const auto apply = [&](Op op, ValueId a, ValueId b) {
        return rewrite.to.apply(op, {a, b}, {}, norm.phase);
    };
    const auto per_row = [&](std::int32_t output) {
        Shape beside = rewrite.from.shape(norm.first_output);
        beside[beside.rank - 1] = 1;
        return rewrite.to.apply(Op::reshape, {rewrite.now(norm.first_output + output)},
                                {list(Attr::shape, beside)}, norm.phase);
    };
    ValueId value = rewrite.now(norm.inputs[0]);
    if (norm.op == Op::layer_norm) value = apply(Op::sub, value, per_row(1));
    value = apply(Op::mul, value, per_row(norm.op == Op::layer_norm ? 2 : 1));
    value = apply(Op::mul, value, rewrite.now(norm.inputs[1]));
    return norm.op == Op::layer_norm ? apply(Op::add, value, rewrite.now(norm.inputs[2])) : value;
}

// A node that is computed again, for the readers that come late.
struct Again {
    NodeId node;                    // what is computed again
    NodeId anchor;                  // the copy stands right before this node
    std::pmr::vector<NodeId> late;  // these readers get the copy; those before the anchor move behind it
    bool by_statistics = false;     // a norm, from its mean and factor
};

class Recompute {
  public:
    Recompute(const Graph& graph, std::pmr::memory_resource* heap)
        : graph_(graph),
          heap_(heap),
          readers_(graph.values.size(), heap),
          is_output_(graph.values.size(), false, heap) {
        for (NodeId id = 0; id < node_count(graph); ++id)
            for (const ValueId input : graph.node(id).inputs) {
                auto& readers = readers_[index_of(input)];
                if (readers.empty() || readers.back() != id) readers.push_back(id);
            }
        for (const GraphOutput& output : graph.outputs) is_output_[index_of(output.value)] = true;
    }

    // Each set of late readers gets one copy; a set that is spread out itself is split again by the next
    // round.
    Graph run() {
        std::pmr::vector<Again> all(heap_);
        for (NodeId id = 0; id < node_count(graph_); ++id) find(id, all);
        return all.empty() ? Graph(graph_, heap_) : build(all);
    }

  private:
    const std::pmr::vector<NodeId>& readers(ValueId value) const { return readers_[index_of(value)]; }

    // Elementwise nodes, norms and gated activations: a pass over memory that is read at this time anyway.
    bool may_repeat(const Node& node) const {
        if (!op_row(node.op).recompute || node.phase != Phase::each) return false;
        if (is_output_[index_of(node.first_output)]) return false;
        const Value& result = graph_.value(node.first_output);
        return result.dtype == DType::f32 && result.shape.elements() >= kLeastElements;
    }

    // Is the value in memory at node `when` whether or not it is read there?
    bool is_alive(ValueId value, NodeId when) const {
        if (is_source(graph_.producer(value)) || is_output_[index_of(value)]) return true;
        return !readers(value).empty() && readers(value).back() >= when;
    }

    void find(NodeId id, std::pmr::vector<Again>& all) const {
        const Node& node = graph_.node(id);
        if (!may_repeat(node)) return;
        const auto& users = readers(node.first_output);
        std::size_t split = 0;  // users from here on are late
        NodeId longest = kFarApart, before = id;
        for (std::size_t i = 0; i < users.size(); ++i) {
            if (i > 0 && users[i] - before > longest) {
                longest = users[i] - before;
                split = i;
            }
            before = users[i];
        }
        if (split == 0) return;
        Again again{
            id, users[split],
            std::pmr::vector<NodeId>(users.begin() + static_cast<std::ptrdiff_t>(split), users.end(), heap_)};
        for (const NodeId user : again.late)
            if (graph_.node(user).phase != node.phase) return;
        again.anchor = anchor_of(again);
        for (const ValueId input : node.inputs)
            if (!is_alive(input, again.anchor)) return;
        const std::size_t statistics = statistics_of(node.op);
        again.by_statistics = statistics != kNoStatistics;
        for (std::size_t i = 1; i <= statistics; ++i)
            if (!is_alive(node.first_output + static_cast<ValueId>(i), again.anchor))
                again.by_statistics = false;
        all.push_back(std::move(again));
    }

    // Where the copy fuses best: with the first late elementwise reader of what it reads itself (gelu' reads
    // z), if the copy's readers can wait until then. Else right before the first of them.
    NodeId anchor_of(const Again& again) const {
        const Node& node = graph_.node(again.node);
        if (!is_fusable(node)) return again.late[0];
        NodeId anchor = node_count(graph_);
        for (const ValueId input : node.inputs)
            for (const NodeId reader : readers(input))
                if (reader > again.late[0] && is_fusable(graph_.node(reader)) &&
                    is_like(node, graph_.node(reader)))
                    anchor = std::min(anchor, reader);
        if (anchor == node_count(graph_)) return again.late[0];
        for (const NodeId user : again.late)
            if (user < anchor && !can_wait(user, anchor)) return again.late[0];
        return anchor;
    }

    bool is_like(const Node& a, const Node& b) const {
        return a.phase == b.phase && graph_.shape(a.first_output) == graph_.shape(b.first_output);
    }

    // Does nobody up to node `until` need what `id` computes?
    bool can_wait(NodeId id, NodeId until) const {
        const Node& node = graph_.node(id);
        if (writes_in_place(node) || is_source(node)) return false;
        for (std::int32_t i = 0; i < node.output_count; ++i) {
            const auto& users = readers(node.first_output + i);
            if (!users.empty() && users.front() <= until) return false;
        }
        return true;
    }

    // What has to be done at each node, gathered from all repeats.
    struct Schedule {
        Schedule(std::size_t nodes, std::pmr::memory_resource* heap)
            : copies(nodes, heap), read(nodes, heap), waits_for(nodes, -1, heap), waiting(nodes, heap) {}
        std::pmr::vector<std::pmr::vector<std::size_t>> copies;  // repeats computed right before the node
        std::pmr::vector<std::pmr::vector<std::size_t>> read;    // repeats whose copy the node reads
        std::pmr::vector<NodeId> waits_for;  // the node is moved right behind this one; -1: stays
        std::pmr::vector<std::pmr::vector<NodeId>> waiting;  // nodes that are moved right behind the node
    };

    Schedule schedule(const std::pmr::vector<Again>& all) const {
        Schedule plan(graph_.nodes.size(), heap_);
        for (std::size_t i = 0; i < all.size(); ++i) {
            plan.copies[index_of(all[i].anchor)].push_back(i);
            for (const NodeId user : all[i].late) {
                plan.read[index_of(user)].push_back(i);
                if (user < all[i].anchor)
                    plan.waits_for[index_of(user)] = std::max(plan.waits_for[index_of(user)], all[i].anchor);
            }
        }
        for (NodeId id = 0; id < node_count(graph_); ++id)
            if (plan.waits_for[index_of(id)] >= 0)
                plan.waiting[index_of(plan.waits_for[index_of(id)])].push_back(id);
        return plan;
    }

    Graph build(const std::pmr::vector<Again>& all) const {
        const Schedule plan = schedule(all);
        Rewrite rewrite(graph_, heap_);
        std::pmr::vector<ValueId> copies(all.size(), -1, heap_);
        const auto copy = [&](NodeId id) {
            if (plan.read[index_of(id)].empty()) return rewrite.copy(id);
            Node node = rewrite.renamed_copy(id);
            const Node& old = graph_.node(id);
            for (const std::size_t i : plan.read[index_of(id)])
                for (std::size_t k = 0; k < old.inputs.size(); ++k)
                    if (old.inputs[k] == graph_.node(all[i].node).first_output) node.inputs[k] = copies[i];
            rewrite.replace(id, rewrite.to.apply(std::move(node)));
        };
        for (NodeId id = 0; id < node_count(graph_); ++id) {
            for (const std::size_t i : plan.copies[index_of(id)])
                copies[i] = all[i].by_statistics ? normalised_again(rewrite, graph_.node(all[i].node))
                                                 : rewrite.to.apply(rewrite.renamed_copy(all[i].node));
            if (plan.waits_for[index_of(id)] < 0) copy(id);
            for (const NodeId waiting : plan.waiting[index_of(id)]) copy(waiting);
        }
        return rewrite.finish();
    }

    const Graph& graph_;
    std::pmr::memory_resource* heap_;
    std::pmr::vector<std::pmr::vector<NodeId>> readers_;  // of a value, ascending, each once
    std::pmr::vector<bool> is_output_;
};

}  // namespace

Graph recompute(const Graph& graph, std::pmr::memory_resource* heap) {
    Graph current(graph, heap);
    for (std::size_t nodes = 0;
         nodes != current.nodes.size();) {  // ends: a copy has fewer readers than its original
        nodes = current.nodes.size();
        current = Recompute(current, heap).run();
    }
    return current;
}

}  // namespace volta
