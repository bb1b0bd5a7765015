#include "engine/runtime/token_cost.h"

#include "engine/graph/cost.h"
#include "engine/graph/forms.h"

namespace volta {
namespace {

class CostCounter {
  public:
    CostCounter(const Graph& graph, std::int64_t position)
        : graph_(graph), position_(position), is_counted_(graph.values.size(), false, graph.heap()) {}

    TokenCost count() {
        for (const Node& node : graph_.nodes) {
            for (std::size_t i = 0; i < node.inputs.size(); ++i) count_parameter(node, i);
            cost_.operations += node_cost(graph_, node).operations;
            if (node.op == Op::cached_attention) count_cached_attention(node);
        }
        return cost_;
    }

  private:
    static std::uint64_t bytes_of(std::int64_t elements) { return static_cast<std::uint64_t>(elements) * 4; }
    const Shape& in(const Node& node, std::size_t i) const { return graph_.shape(node.inputs[i]); }

    void count_parameter(const Node& node, std::size_t i) {
        const ValueId input = node.inputs[i];
        if (graph_.producer(input).op != Op::parameter) return;
        if (node.op == Op::gather && i == 0) {
            const Value& table = graph_.value(input);
            const std::int64_t rows = graph_.shape(node.inputs[1]).elements();
            cost_.parameter_bytes += table.shape[0] == 0 ? 0
                                                         : tensor_bytes(table.dtype, table.shape) /
                                                               static_cast<std::uint64_t>(table.shape[0]) *
                                                               static_cast<std::uint64_t>(rows);
            return;
        }
        if (is_counted_[static_cast<std::size_t>(input)]) return;
        is_counted_[static_cast<std::size_t>(input)] = true;
        cost_.parameter_bytes += tensor_bytes(graph_.value(input).dtype, graph_.shape(input));
    }

    void count_cached_attention(const Node& node) {
        const CachedAttentionForm form =
            cached_attention_form(node, in(node, 0), in(node, static_cast<std::size_t>(kCacheOperands)));
        const std::int64_t keys = form.rows * (position_ + 1);
        cost_.operations += attention_operations(static_cast<double>(keys), form.heads, form.head_dim);
        cost_.cache_bytes += bytes_of(2 * keys * form.kv_heads * form.head_dim);
    }

    const Graph& graph_;
    const std::int64_t position_;
    std::pmr::vector<bool> is_counted_;
    TokenCost cost_;
};

}  // namespace

TokenCost token_cost(const Graph& graph, std::int64_t position) {
    return CostCounter(graph, position).count();
}

}  // namespace volta
