#include "engine/passes/fusion.h"

#include <algorithm>

#include "engine/graph/forms.h"

namespace volta {
namespace {

// Along the axes of a plane, which stand behind two others, whole or a single number.
bool is_plane_operand(const Shape& operand, const Shape& whole) {
    if (operand.rank > whole.rank || whole.rank < 3) return false;
    bool all = true, none = true;
    for (int axis = 2; axis < whole.rank; ++axis) {
        const int own = axis - (whole.rank - operand.rank);
        const std::int64_t extent = own < 0 ? 1 : operand[own];
        all = all && extent == whole[axis];
        none = none && extent == 1;
    }
    return all || none;
}

}  // namespace

bool is_fusable(const Node& node) { return op_row(node.op).fuses && node.phase != Phase::update; }

bool works_on_rows(const Node& node) { return node.op == Op::fused_rows || op_row(node.op).fuses_rows; }

bool has_plane_operands(const Graph& graph, const Node& node) {
    if (op_row(node.op).random) return false;  // draws are numbered by rows along the last axis
    for (const BodyOp& op : node.body.ops)
        if (op_row(op.op).random) return false;
    const Shape& whole = graph.shape(node.first_output);
    for (const ValueId input : node.inputs)
        if (!is_plane_operand(graph.shape(input), whole)) return false;
    return true;
}

bool has_row_operands(const Graph& graph, const Node& node) {
    const Shape& whole = graph.shape(node.first_output);
    for (const ValueId input : node.inputs) {
        const bool is_random_state = graph.value(input).dtype == DType::i32 && graph.shape(input) == Shape{3};
        if (!is_random_state && !is_row_operand(graph.shape(input), whole)) return false;
    }
    return true;
}

// One node made of several, and the values of the old graph that its outputs stand for.
struct Fusion::Combined {
    explicit Combined(std::pmr::memory_resource* heap) : node(heap), outputs(heap) {}
    Node node;
    std::pmr::vector<ValueId> outputs;
    bool is_small = true;  // fits into one kernel
};

namespace {

std::size_t outputs_of(Op op) { return static_cast<std::size_t>(op_row(op).outputs); }

// Collects members' operations into one body, in the order in which they are added.
class BodyCollector {
  public:
    BodyCollector(Node& node, std::pmr::memory_resource* heap) : node_(node), heap_(heap), known_(heap) {
        node_.op = Op::fused;
    }

    void add(const Node& member) {
        if (works_on_rows(member)) node_.op = Op::fused_rows;
        if (carries_product(member.op))
            add_product(member);
        else if (member.op == Op::fused || member.op == Op::fused_rows)
            add_body(member, 0);
        else
            add_single(member);
    }

    // Members' values in their order, and what the body calls them.
    const std::pmr::vector<std::pair<ValueId, std::int32_t>>& known() const { return known_; }
    // Operands of the elementwise work, without the product and its factors.
    std::size_t operand_count() const { return node_.inputs.size() - index_of(first_operand_); }

    // Drops operations that no result depends on.
    void prune() {
        Body& body = node_.body;
        std::pmr::vector<std::size_t> first(heap_);  // value of each operation
        std::size_t values = 0;
        for (const BodyOp& op : body.ops) {
            first.push_back(values);
            values += outputs_of(op.op);
        }
        std::pmr::vector<bool> needed(values, false, heap_);
        for (const std::int32_t result : body.results)
            if (result >= 0) needed[index_of(result)] = true;
        for (std::size_t i = body.ops.size(); i-- > 0;) {
            const std::size_t end = first[i] + outputs_of(body.ops[i].op);
            bool any = false;
            for (std::size_t value = first[i]; value < end; ++value) any = any || needed[value];
            for (std::size_t value = first[i]; value < end; ++value) needed[value] = any;
            for (const std::int32_t input : body.ops[i].inputs)
                if (any && input >= 0) needed[index_of(input)] = true;
        }
        std::pmr::vector<std::int32_t> moved(values, -1, heap_);
        std::size_t kept = 0;
        std::int32_t next = 0;
        for (std::size_t i = 0; i < body.ops.size(); ++i) {
            if (!needed[first[i]]) continue;
            for (std::size_t k = 0; k < outputs_of(body.ops[i].op); ++k) moved[first[i] + k] = next++;
            for (std::int32_t& input : body.ops[i].inputs)
                if (input >= 0) input = moved[index_of(input)];
            if (kept != i) body.ops[kept] = std::move(body.ops[i]);
            ++kept;
        }
        body.ops.erase(body.ops.begin() + static_cast<std::ptrdiff_t>(kept), body.ops.end());
        for (std::int32_t& result : body.results)
            if (result >= 0) result = moved[index_of(result)];
    }

  private:
    // a and b stay the first two inputs; the product is ~0, further inputs follow as ~1, ~2, ...
    void add_product(const Node& member) {
        node_.op = member.op;
        node_.attributes.assign(member.attributes.begin(), member.attributes.end());
        node_.inputs.assign(member.inputs.begin(), member.inputs.begin() + 2);
        first_operand_ = 2;
        if (member.body.ops.empty())
            known_.emplace_back(member.first_output, ~0);
        else
            add_body(member, 1);
    }

    // `first`: 1 when ~0 of the member's body is its product, which is then this node's product too.
    void add_body(const Node& member, std::int32_t first) {
        const std::int32_t base = values_;
        for (const BodyOp& op : member.body.ops) {
            values_ += static_cast<std::int32_t>(outputs_of(op.op));
            BodyOp& added = node_.body.ops.emplace_back(op);
            for (std::int32_t& input : added.inputs) {
                if (input >= 0)
                    input += base;
                else if (first == 0 || input != ~0)
                    input = operand(member.inputs[index_of(~input + first)]);
            }
        }
        for (std::int32_t i = 0; i < member.output_count; ++i) {
            const std::int32_t result = member.body.results[index_of(i)];
            known_.emplace_back(member.first_output + i, result >= 0 ? result + base : result);
        }
    }

    void add_single(const Node& member) {
        BodyOp& op = node_.body.ops.emplace_back();
        op.op = member.op;
        op.attributes.assign(member.attributes.begin(), member.attributes.end());
        for (const ValueId input : member.inputs) op.inputs.push_back(operand(input));
        for (std::int32_t i = 0; i < member.output_count; ++i)
            known_.emplace_back(member.first_output + i, values_++);
    }

    // A member's result, or an input of the new node: each value once.
    std::int32_t operand(ValueId value) {
        for (const auto& [known, name] : known_)
            if (known == value) return name;
        const std::int32_t skipped = first_operand_ == 0 ? 0 : first_operand_ - 1;
        for (std::size_t i = index_of(first_operand_); i < node_.inputs.size(); ++i)
            if (node_.inputs[i] == value) return ~(static_cast<std::int32_t>(i) - skipped);
        node_.inputs.push_back(value);
        return ~(static_cast<std::int32_t>(node_.inputs.size()) - 1 - skipped);
    }

    Node& node_;
    std::pmr::memory_resource* heap_;
    std::pmr::vector<std::pair<ValueId, std::int32_t>> known_;
    std::int32_t first_operand_ = 0;  // 2 behind the factors of a product
    std::int32_t values_ = 0;         // of the body so far
};

}  // namespace

Fusion::Fusion(const Graph& graph, std::pmr::memory_resource* heap)
    : graph_(graph),
      heap_(heap),
      needed_(needed_nodes(graph), heap),
      readers_(graph.values.size(), heap),
      is_output_(graph.values.size(), false, heap),
      group_(heap),
      members_(graph.nodes.size(), heap) {
    for (NodeId id = 0; id < node_count(graph); ++id) {
        group_.push_back(id);
        members_[index_of(id)].push_back(id);
        if (!needed_[index_of(id)]) continue;
        for (const ValueId input : graph.node(id).inputs) readers_[index_of(input)].push_back(id);
    }
    for (const GraphOutput& output : graph.outputs) is_output_[index_of(output.value)] = true;
}

NodeId Fusion::head(NodeId id) const { return group_[index_of(id)]; }

bool Fusion::is_read_outside(ValueId value, const std::pmr::vector<NodeId>& members, NodeId* first) const {
    for (const NodeId reader : readers_[index_of(value)]) {  // ascending
        if (std::binary_search(members.begin(), members.end(), reader)) continue;
        *first = reader;
        return true;
    }
    *first = node_count(graph_);
    return is_output_[index_of(value)];
}

Fusion::Combined Fusion::combine(const std::pmr::vector<NodeId>& members) const {
    Combined combined(heap_);
    BodyCollector collector(combined.node, heap_);
    for (const NodeId id : members) {
        collector.add(graph_.node(id));
        if (!reads_whole_values(id, members)) combined.is_small = false;
    }
    const Shape& whole = graph_.shape(graph_.node(members.front()).first_output);
    std::size_t whole_results = 0;
    for (const bool is_whole : {true, false})  // a number per row is no first result
        for (const auto& [value, name] : collector.known()) {
            NodeId first_reader;
            if ((graph_.shape(value) == whole) != is_whole) continue;
            if (!is_read_outside(value, members, &first_reader)) continue;
            combined.node.body.results.push_back(name);
            combined.outputs.push_back(value);
            whole_results += is_whole;
            // Masks stay inside: whoever follows ids through a graph has to see where integers come from.
            if (first_reader < members.back() || graph_.value(value).dtype != DType::f32)
                combined.is_small = false;
        }
    collector.prune();
    combined.node.phase = graph_.node(members.back()).phase;
    combined.node.name = graph_.node(members.front()).name;
    combined.is_small = combined.is_small && combined.node.body.ops.size() <= kMostFusedOps &&
                        whole_results > 0 && whole_results <= kMostFusedResults &&
                        collector.operand_count() <= kMostFusedInputs;
    return combined;
}

// What an operator along the last axis gives or takes inside a body is the whole: a mean per row would lie
// over the columns of whoever reads it there.
bool Fusion::reads_whole_values(NodeId id, const std::pmr::vector<NodeId>& members) const {
    const Node& node = graph_.node(id);
    const Shape& whole = graph_.shape(node.first_output);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        const Shape& shape = graph_.shape(node.inputs[i]);
        const NodeId producer = graph_.value(node.inputs[i]).producer;
        if (!std::binary_search(members.begin(), members.end(), producer)) continue;
        const bool of_rows = works_on_rows(graph_.node(producer));
        const bool is_per_row = of_rows && static_cast<int>(i) >= op_row(node.op).first_per_row;
        if ((of_rows || works_on_rows(node)) && !is_per_row && shape != whole) return false;
    }
    return true;
}

bool Fusion::join(NodeId a, NodeId b) {
    const NodeId first = std::min(head(a), head(b)), second = std::max(head(a), head(b));
    const Node &x = graph_.node(first), &y = graph_.node(second);
    if (first == second || x.phase != y.phase || carries_product(y.op)) return false;
    if (graph_.shape(x.first_output) != graph_.shape(y.first_output)) return false;
    const auto &left = members_[index_of(first)], &right = members_[index_of(second)];
    std::pmr::vector<NodeId> members(left.size() + right.size(), heap_);
    std::merge(left.begin(), left.end(), right.begin(), right.end(), members.begin());
    if (!combine(members).is_small) return false;
    for (const NodeId id : members) group_[index_of(id)] = first;
    members_[index_of(first)] = std::move(members);
    members_[index_of(second)].clear();
    return true;
}

Graph Fusion::build() {
    Rewrite rewrite(graph_, heap_);
    for (NodeId id = 0; id < node_count(graph_); ++id) {
        if (!is_needed(id)) continue;
        const auto& members = members_[index_of(head(id))];
        if (members.size() == 1) rewrite.copy(id);
        if (members.size() == 1 || members.back() != id) continue;
        Combined combined = combine(members);
        for (ValueId& input : combined.node.inputs) input = rewrite.now(input);
        const ValueId first = rewrite.to.apply(std::move(combined.node));
        for (std::size_t i = 0; i < combined.outputs.size(); ++i)
            rewrite.renamed[index_of(combined.outputs[i])] = first + static_cast<ValueId>(i);
    }
    return rewrite.finish();
}

}  // namespace volta
