#include "engine/graph/cost.h"

#include "engine/graph/forms.h"
#include "engine/graph/rules.h"

namespace volta {
namespace {

constexpr double kBackwardProducts =
    2.5;  // five products of T x T where forward has two: the scores come again

std::uint64_t bytes_of(const Graph& graph, ValueId value) {
    return tensor_bytes(graph.value(value).dtype, graph.shape(value));
}

std::uint64_t bytes_of_outputs(const Graph& graph, const Node& node) {
    std::uint64_t sum = 0;
    for (std::int32_t i = 0; i < node.output_count; ++i) sum += bytes_of(graph, node.first_output + i);
    return sum;
}

std::uint64_t bytes_of_all(const Graph& graph, const Node& node) {
    std::uint64_t sum = bytes_of_outputs(graph, node);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        bool is_first = true;
        for (std::size_t j = 0; j < i; ++j) is_first = is_first && node.inputs[j] != node.inputs[i];
        if (is_first) sum += bytes_of(graph, node.inputs[i]);
    }
    return sum;
}

double attention_products(const Graph& graph, const Node& node) {
    const auto in = [&](std::size_t i) -> const Shape& { return graph.shape(node.inputs[i]); };
    const AttentionForm form = attention_form(node, in(0), in(node.flag(Attr::packed) ? 0 : 1));
    const double time = static_cast<double>(form.time), batch = static_cast<double>(form.batch);
    const double keys = batch * (form.causal ? time * (time + 1) / 2 : time * time);
    return attention_operations(keys, form.heads, form.head_dim);
}

}  // namespace

namespace cost_rules {

NodeCost product(const Graph& graph, const Node& node) {
    const MatmulForm form = matmul_form(node, graph.shape(node.inputs[0]), graph.shape(node.inputs[1]));
    return {2.0 * static_cast<double>(form.batch) * static_cast<double>(form.m) *
                static_cast<double>(form.n) * static_cast<double>(form.k),
            bytes_of_all(graph, node)};
}
NodeCost convolution(const Graph& graph, const Node& node) {
    const define::ConvolutionSizes sizes =
        convolution_form(node, graph.shape(node.inputs[0]), graph.shape(node.inputs[1])).sizes;
    return {2.0 * static_cast<double>(sizes.batch * sizes.pixels()) *
                static_cast<double>(sizes.groups * sizes.filters) *
                static_cast<double>(sizes.channels * sizes.taps()),
            bytes_of_all(graph, node)};
}
NodeCost attention(const Graph& graph, const Node& node) {
    return {attention_products(graph, node), bytes_of_all(graph, node)};
}
NodeCost attention_grad(const Graph& graph, const Node& node) {
    return {attention_products(graph, node) * kBackwardProducts, bytes_of_all(graph, node)};
}
// Of input 0 as many bytes as come out; of the others all.
NodeCost part(const Graph& graph, const Node& node) {
    std::uint64_t bytes = 2 * bytes_of_outputs(graph, node);
    for (std::size_t i = 1; i < node.inputs.size(); ++i) bytes += bytes_of(graph, node.inputs[i]);
    return {0, bytes};
}
NodeCost unknown(const Graph&, const Node&) { return {}; }

}  // namespace cost_rules

NodeCost node_cost(const Graph& graph, const Node& node) {
    const CostRule rule = op_row(node.op).cost;
    return rule != nullptr ? rule(graph, node) : NodeCost{0, bytes_of_all(graph, node)};
}

}  // namespace volta
