#include "engine/runtime/node_cost.h"

#include "engine/graph/forms.h"

namespace volta {
namespace {

constexpr double kBackwardProducts =
    2.5;  // five products of T x T where forward has two: the scores come again

double operations_of(const Graph& graph, const Node& node) {
    const auto in = [&](std::size_t i) -> const Shape& { return graph.shape(node.inputs[i]); };
    if (node.op == Op::matmul || node.op == Op::weight_gradient) {
        const MatmulForm form = matmul_form(node, in(0), in(1));
        return 2.0 * static_cast<double>(form.batch) * static_cast<double>(form.m) *
               static_cast<double>(form.n) * static_cast<double>(form.k);
    }
    if (node.op != Op::attention && node.op != Op::attention_grad) return 0;
    const AttentionForm form = attention_form(node, in(0), in(node.flag(Attr::packed) ? 0 : 1));
    const double time = static_cast<double>(form.time), batch = static_cast<double>(form.batch);
    const double keys = batch * (form.causal ? time * (time + 1) / 2 : time * time);
    return attention_operations(keys, form.heads, form.head_dim) *
           (node.op == Op::attention ? 1 : kBackwardProducts);
}

std::uint64_t bytes_of(const Graph& graph, const Node& node) {
    const auto bytes = [&](ValueId value) {
        return tensor_bytes(graph.value(value).dtype, graph.shape(value));
    };
    if (node.op == Op::cached_attention) return 0;
    if (node.op == Op::gather) return 2 * bytes(node.first_output) + bytes(node.inputs[1]);
    if (node.op == Op::slice) return 2 * bytes(node.first_output);
    std::uint64_t sum = 0;
    for (std::int32_t i = 0; i < node.output_count; ++i) sum += bytes(node.first_output + i);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        bool is_first = true;
        for (std::size_t j = 0; j < i; ++j) is_first = is_first && node.inputs[j] != node.inputs[i];
        if (is_first) sum += bytes(node.inputs[i]);
    }
    return sum;
}

}  // namespace

NodeCost node_cost(const Graph& graph, const Node& node) {
    return {operations_of(graph, node), bytes_of(graph, node)};
}

}  // namespace volta
