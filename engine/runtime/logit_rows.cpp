#include "engine/runtime/logit_rows.h"

#include "engine/graph/op.h"

namespace volta {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

class Narrowing {
  public:
    Narrowing(Graph& graph, std::int64_t tokens, ValueId rows)
        : graph_(graph),
          tokens_(tokens),
          rows_(rows),
          count_(graph.shape(rows)[0]),
          has_rows_(graph.values.size(), false, graph.heap()),
          wanted_whole_(graph.values.size(), false, graph.heap()),
          checks_(graph.values.size(), Check::unknown, graph.heap()),
          narrowed_(graph.values.size(), -1, graph.heap()) {
        for (const Node& node : graph.nodes) {
            bool any = node.op == Op::input;
            for (const ValueId input : node.inputs) any = any || has_rows_[at(input)];
            for (std::int32_t i = 0; i < node.output_count; ++i) has_rows_[at(node.first_output + i)] = any;
        }
        for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
            bool whole = node->op == Op::cached_attention;
            for (std::int32_t i = 0; i < node->output_count; ++i)
                whole = whole || wanted_whole_[at(node->first_output + i)];
            for (const ValueId input : node->inputs)
                if (whole) wanted_whole_[at(input)] = true;
        }
    }

    bool run() {
        const ValueId logits = graph_.outputs[0].value;
        if (!has_rows_[at(logits)] || !can_be_narrow(logits)) return false;
        const ValueId narrow = narrowed(logits);
        const Shape flat{count_, graph_.shape(narrow).last()};
        graph_.outputs.clear();
        graph_.output("logits", graph_.apply(Op::reshape, {narrow}, {list(Attr::shape, flat)}));
        return true;
    }

  private:
    enum class Check : std::uint8_t { unknown, yes, no };

    bool leads(ValueId value) const {
        const Shape& shape = graph_.shape(value);
        return shape.rank == 3 && shape[0] == tokens_ && shape[1] == 1;
    }
    bool is_stretched(ValueId value) const {
        const Shape& shape = graph_.shape(value);
        return shape.rank < 3 || (shape.rank == 3 && shape[0] == 1 && shape[1] == 1);
    }

    // Each row of the result is made of the same rows of its inputs, and of what all rows share.
    bool keeps_rows(const Node& node) const {
        if (node.inputs.empty() || node.op == Op::dropout) return false;
        const Lowering lowering = op_row(node.op).lowering;
        const bool elementwise = lowering == Lowering::elementwise, product = node.op == Op::matmul;
        if (!elementwise && !product && lowering != Lowering::row && lowering != Lowering::pairs)
            return false;
        if (product && (node.flag(Attr::transpose_a) || graph_.shape(node.inputs[1]).rank != 2)) return false;
        for (std::size_t i = 0; i < node.inputs.size(); ++i) {
            const bool own = has_rows_[at(node.inputs[i])];
            if (own ? !leads(node.inputs[i]) : elementwise && !is_stretched(node.inputs[i])) return false;
            if (!elementwise && own != (i == 0)) return false;
        }
        return true;
    }

    // Its rows are taken from those that are computed in any case.
    bool is_taken(ValueId value) const {
        return wanted_whole_[at(value)] || graph_.producer(value).op == Op::cached_attention;
    }

    bool can_be_narrow(ValueId value) {
        Check& known = checks_[at(value)];
        if (known != Check::unknown) return known == Check::yes;
        bool fine = leads(value) && graph_.value(value).dtype == DType::f32;
        if (fine && !is_taken(value)) {
            const Node& node = graph_.producer(value);
            fine = value == node.first_output && keeps_rows(node);  // a norm has statistics behind it
            for (const ValueId input : node.inputs)
                fine = fine && (!has_rows_[at(input)] || can_be_narrow(input));
        }
        checks_[at(value)] = fine ? Check::yes : Check::no;
        return fine;
    }

    ValueId narrowed(ValueId value) {
        if (at(value) >= has_rows_.size() || !has_rows_[at(value)]) return value;
        if (narrowed_[at(value)] < 0) narrowed_[at(value)] = is_taken(value) ? taken(value) : again(value);
        return narrowed_[at(value)];
    }
    ValueId taken(ValueId value) {
        const std::int64_t width = graph_.shape(value).last();
        const ValueId table = graph_.apply(Op::reshape, {value}, {list(Attr::shape, Shape{tokens_, width})});
        const ValueId wanted = graph_.apply(Op::gather, {table, rows_});
        return graph_.apply(Op::reshape, {wanted}, {list(Attr::shape, Shape{count_, 1, width})});
    }
    ValueId again(ValueId value) {
        Node node(graph_.producer(value), graph_.heap());  // the graph's own moves when nodes are added
        for (ValueId& input : node.inputs) input = narrowed(input);
        return graph_.apply(std::move(node));
    }

    Graph& graph_;
    const std::int64_t tokens_;
    const ValueId rows_;
    const std::int64_t count_;
    std::pmr::vector<bool> has_rows_, wanted_whole_;
    std::pmr::vector<Check> checks_;
    std::pmr::vector<ValueId> narrowed_;
};

}  // namespace

bool narrow_to_logit_rows(Graph& graph, std::int64_t tokens, ValueId rows) {
    return Narrowing(graph, tokens, rows).run();
}

}  // namespace volta
