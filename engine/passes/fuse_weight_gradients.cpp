// dW = X' dY and db = the column sums of dY, which read the same dY, become one node: db is what a row of
// ones in X' would give (fma(1, y, acc) is acc + y), computed from the columns that the product has in cache.
// So do the gradients of a layer norm's scale and bias, which are two sums over the same rows.
#include <algorithm>
#include <utility>

#include "engine/graph/forms.h"
#include "engine/passes/passes.h"
#include "engine/passes/rewrite.h"

namespace volta {
namespace {

// The input of a weight's gradient whose columns the bias's sums; -1: it has no such partner.
int gradient_input(const Node& node) {
    if (node.op == Op::layer_norm_grad_scale) return 0;
    const bool is_product = node.op == Op::matmul && node.flag(Attr::transpose_a) &&
                            !node.flag(Attr::transpose_b) && node.body.ops.empty();
    return is_product ? 1 : -1;
}

// Of all rows of a matrix [..., n], into [n].
bool is_bias_sum(const Graph& graph, const Node& node) {
    if (node.op != Op::sum) return false;
    const Shape& x = graph.shape(node.inputs[0]);
    if (x.rank < 2) return false;
    const ReductionForm form = reduction_form(node, x);
    return !form.is_row && form.result == Shape{x.last()} && !form.is_reduced[x.rank - 1];
}

class Pairs {
  public:
    Pairs(const Graph& graph, std::pmr::memory_resource* heap)
        : graph_(graph),
          heap_(heap),
          needed_(needed_nodes(graph), heap),
          first_reader_(graph.values.size(), node_count(graph), heap),
          sum_of_(graph.values.size(), -1, heap),
          next_sum_(graph.nodes.size(), -1, heap),
          partner_(graph.nodes.size(), -1, heap) {
        for (NodeId id = node_count(graph); id-- > 0;) {
            const Node& node = graph.node(id);
            for (const ValueId input : node.inputs) first_reader_[index_of(input)] = id;  // needed or not
            if (!needed_[index_of(id)] || !is_bias_sum(graph, node)) continue;
            next_sum_[index_of(id)] = std::exchange(sum_of_[index_of(node.inputs[0])], id);
        }
        for (NodeId id = 0; id < node_count(graph); ++id)
            if (needed_[index_of(id)] && gradient_input(graph.node(id)) >= 0) find_sum(id);
    }

    Graph build() {
        Rewrite rewrite(graph_, heap_);
        for (NodeId id = 0; id < node_count(graph_); ++id) {
            const NodeId other = partner_[index_of(id)];
            if (other < 0)
                rewrite.copy(id);
            else if (other < id)
                join(rewrite, id, other);
        }
        return rewrite.finish();
    }

  private:
    // The first sum of the same dY for which nobody reads the earlier of the two before the later.
    void find_sum(NodeId product) {
        const Node& node = graph_.node(product);
        for (NodeId* link = &sum_of_[index_of(node.inputs[index_of(gradient_input(node))])]; *link >= 0;
             link = &next_sum_[index_of(*link)]) {
            const NodeId id = *link, earlier = std::min(id, product), later = std::max(id, product);
            const Node& sum = graph_.node(id);
            const bool alike =
                sum.phase == node.phase && sum.flag(Attr::accumulate) == node.flag(Attr::accumulate);
            if (!alike || first_reader_[index_of(graph_.node(earlier).first_output)] < later) continue;
            *link = next_sum_[index_of(id)];
            partner_[index_of(id)] = product;
            partner_[index_of(product)] = id;
            return;
        }
    }

    // Where the later of the two stood.
    void join(Rewrite& rewrite, NodeId later, NodeId earlier) {
        const bool is_sum = graph_.node(later).op == Op::sum;
        const NodeId product = is_sum ? earlier : later, sum = is_sum ? later : earlier;
        const Node& from = graph_.node(product);
        Node node(heap_);
        node.op = from.op == Op::matmul ? Op::weight_gradient : Op::layer_norm_grad_columns;
        node.phase = from.phase;
        node.name = from.name;
        for (const ValueId input : from.inputs) node.inputs.push_back(rewrite.now(input));
        node.attributes.push_back(number(Attr::accumulate, from.number(Attr::accumulate)));
        const ValueId first = rewrite.to.apply(std::move(node));
        rewrite.replace(product, first);
        rewrite.replace(sum, first + 1);
    }

    const Graph& graph_;
    std::pmr::memory_resource* heap_;
    std::pmr::vector<bool> needed_;
    std::pmr::vector<NodeId> first_reader_;  // by value; node_count: none
    // By value: the first node that sums its rows and has no partner, and by node: the next one. -1: none.
    std::pmr::vector<NodeId> sum_of_, next_sum_;
    std::pmr::vector<NodeId> partner_;  // by node; -1: none
};

}  // namespace

Graph fuse_weight_gradients(const Graph& graph, std::pmr::memory_resource* heap) {
    return Pairs(graph, heap).build();
}

}  // namespace volta
