#include "engine/runtime/token_cost.h"

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
            if (node.op == Op::matmul) count_product(node);
            if (node.op == Op::attention) count_attention(node);
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

    void count_product(const Node& node) {
        const MatmulForm form = matmul_form(node, in(node, 0), in(node, 1));
        cost_.operations += 2.0 * static_cast<double>(form.batch) * static_cast<double>(form.m) *
                            static_cast<double>(form.n) * static_cast<double>(form.k);
    }

    // Scores and sums over the keys that are seen.
    void add_keys(double keys, std::int64_t heads, std::int64_t head_dim) {
        cost_.operations += 4.0 * keys * static_cast<double>(heads * head_dim);
    }

    void count_attention(const Node& node) {
        const bool packed = node.flag(Attr::packed);
        const AttentionForm form = attention_form(node, in(node, 0), in(node, packed ? 0 : 1));
        const double time = static_cast<double>(form.time), batch = static_cast<double>(form.batch);
        add_keys(batch * (form.causal ? time * (time + 1) / 2 : time * time), form.heads, form.head_dim);
    }

    void count_cached_attention(const Node& node) {
        const CachedAttentionForm form =
            cached_attention_form(node, in(node, 0), in(node, static_cast<std::size_t>(kCacheOperands)));
        const std::int64_t keys = form.rows * (position_ + 1);
        add_keys(static_cast<double>(keys), form.heads, form.head_dim);
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
