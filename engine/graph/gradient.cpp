#include "engine/graph/gradient.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/graph/gradient_builder.h"

namespace volta {
namespace {

// Walks the nodes backwards. Uses of a value are added as they come, last use first; within a node the last
// input is the later use.
class Differentiator {
  public:
    explicit Differentiator(Backward& target)
        : backward_(target),
          graph_(target.graph),
          gradients_(target.graph.values.size(), -1, target.graph.heap()),
          needed_(target.graph.values.size(), 0, target.graph.heap()),
          wanted_(target.graph.values.size(), -1, target.graph.heap()),
          uses_(target.graph.heap()) {
        for (std::size_t i = backward_.gradients.size(); i-- > 0;)
            wanted_[static_cast<std::size_t>(backward_.gradients[i].parameter)] =
                static_cast<std::int32_t>(i);
        find_needed();
    }

    void run(const std::pmr::vector<Seed>& seeds) {
        const NodeId last = static_cast<NodeId>(graph_.nodes.size()) - 1;
        for (auto seed = seeds.rbegin(); seed != seeds.rend(); ++seed) add_seed(*seed);
        for (NodeId id = last; id >= 0; --id) visit(Node(graph_.node(id), graph_.heap()));
        for (ParameterGradient& gradient : backward_.gradients)
            std::reverse(gradient.contributions.begin(), gradient.contributions.end());
    }

  private:
    bool is_needed(ValueId value) const { return needed_[static_cast<std::size_t>(value)] != 0; }
    bool needs_any(const Node& node) const {
        return std::any_of(node.inputs.begin(), node.inputs.end(),
                           [&](ValueId input) { return is_needed(input); });
    }

    static bool is_source(const Node& node) { return node.inputs.empty(); }

    bool is_detached(ValueId value) const {
        return std::binary_search(backward_.detached.begin(), backward_.detached.end(), value);
    }

    // What depends on one of the parameters through real numbers.
    void find_needed() {
        for (const ParameterGradient& gradient : backward_.gradients)
            needed_[static_cast<std::size_t>(gradient.parameter)] = 1;
        for (const Node& node : graph_.nodes) {
            const bool any = is_source(node) ? is_needed(node.first_output) : needs_any(node);
            for (ValueId output = node.first_output; any && output < node.first_output + node.output_count;
                 ++output)
                needed_[static_cast<std::size_t>(output)] =
                    graph_.value(output).dtype == DType::f32 && !is_detached(output);
        }
    }

    void add_seed(const Seed& seed) {
        const ValueId count = static_cast<ValueId>(gradients_.size());
        require(seed.value >= 0 && seed.value < count && seed.gradient >= 0 && seed.gradient < count,
                "a seed names no value of the graph");
        require(graph_.shape(seed.value) == graph_.shape(seed.gradient),
                "a seed's gradient has shape %s, its value %s", to_text(graph_.shape(seed.gradient)).text,
                to_text(graph_.shape(seed.value)).text);
        add_use(seed.value, seed.gradient);
    }

    // `node` is a copy: its rule appends to the graph's nodes.
    void visit(const Node& node) {
        int given = -1;  // the last output that has a gradient
        for (int i = 0; i < node.output_count; ++i)
            if (gradients_[static_cast<std::size_t>(node.first_output + i)] >= 0 &&
                is_needed(node.first_output + i))
                given = i;
        if (given < 0 || !needs_any(node)) return;
        expect_differentiable(node, given);
        uses_.clear();
        op_row(node.op).gradient(GradientBuilder(graph_, node, needed_, gradients_, uses_));
        const auto later = [](const GradientUse& a, const GradientUse& b) { return a.index > b.index; };
        std::sort(uses_.begin(), uses_.end(), later);
        for (const GradientUse& use : uses_)
            if (is_needed(use.value)) add_use(use.value, use.gradient);
    }

    static void expect_differentiable(const Node& node, int given) {
        const OpRow& row = op_row(node.op);
        if (row.gradient == nullptr)
            fail(VOLTA_UNSUPPORTED, "no gradient rule for %s: %s", row.name, row.no_gradient);
        if (given > 0)
            fail(VOLTA_UNSUPPORTED, "no gradient rule for %s: only its first output is differentiable",
                 row.name);
        if (node.flag(Attr::accumulate) || !node.body.ops.empty())
            fail(VOLTA_UNSUPPORTED,
                 "no gradient rule for %s: it has been through passes or belongs to a trainer", row.name);
    }

    void add_use(ValueId value, ValueId gradient) {
        const std::int32_t place = wanted_[static_cast<std::size_t>(value)];
        if (place >= 0) {
            backward_.gradients[static_cast<std::size_t>(place)].contributions.push_back(gradient);
            return;
        }
        ValueId& sum = gradients_[static_cast<std::size_t>(value)];
        sum = sum < 0 ? gradient : graph_.apply(Op::add, {sum, gradient});
    }

    Backward& backward_;
    Graph& graph_;
    std::pmr::vector<ValueId> gradients_;  // of the values that were there at the start; -1: none yet
    std::pmr::vector<char> needed_;
    std::pmr::vector<std::int32_t> wanted_;  // which of backward_.gradients is the value's; -1: none
    std::pmr::vector<GradientUse> uses_;     // of the node being visited
};

}  // namespace

void GradientBuilder::give(int index, ValueId gradient) const {
    if (graph.shape(gradient) != shape_in(index))
        fail(VOLTA_INTERNAL, "%s: the gradient of input %d has shape %s, not %s", op_row(node.op).name, index,
             to_text(graph.shape(gradient)).text, to_text(shape_in(index)).text);
    uses_.push_back({index, in(index), gradient});
}

ValueId GradientBuilder::reshape(ValueId a, const Shape& shape) const {
    return graph.shape(a) == shape ? a : apply(Op::reshape, {a}, {list(Attr::shape, shape)});
}

ValueId GradientBuilder::reduce_to(ValueId gradient, const Shape& shape) const {
    const Shape wide = graph.shape(gradient);
    if (wide == shape) return gradient;
    const int missing = wide.rank - shape.rank;
    Shape axes;
    for (int axis = 0; axis < wide.rank; ++axis)
        if (axis < missing || shape[axis - missing] == 1) axes[axes.rank++] = axis;
    return reshape(apply(Op::sum, {gradient}, {list(Attr::axes, axes)}), shape);
}

Backward copy_forward(const Graph& forward, std::pmr::memory_resource* heap) {
    Backward backward(heap);
    backward.renamed.assign(forward.values.size(), -1);
    for (NodeId id = 0; id < static_cast<NodeId>(forward.nodes.size()); ++id) {
        copy_node(forward, id, backward.graph, backward.renamed);
        if (forward.node(id).op != Op::parameter) continue;
        backward.gradients.emplace_back();
        backward.gradients.back().parameter = backward.graph.nodes.back().first_output;
    }
    for (const GraphOutput& output : forward.outputs)
        backward.graph.output(output.name.c_str(), backward.renamed[static_cast<std::size_t>(output.value)]);
    return backward;
}

void differentiate(Backward& backward, const std::pmr::vector<Seed>& seeds) {
    Differentiator(backward).run(seeds);
}

}  // namespace volta
