#include "engine/runtime/decode_graph.h"

#include <algorithm>
#include <cstdio>

#include "engine/base/error.h"
#include "engine/graph/angles.h"
#include "engine/graph/forms.h"
#include "engine/graph/step_input.h"
#include "engine/model/gpt.h"
#include "engine/runtime/logit_rows.h"
#include "engine/runtime/session.h"

namespace volta {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

// Finds the first node that joins tokens other than by causal attention. The graph is that of kBatch
// sequences of kTime tokens: a value has rows when its first two axes are these, one row per token.
class RowAnalysis {
  public:
    static constexpr std::int64_t kBatch = 3, kTime = 7;

    explicit RowAnalysis(const Graph& graph)
        : graph_(graph), has_rows_(graph.values.size(), false, graph.heap()) {}

    // -1: none.
    NodeId first_obstacle() {
        for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes.size()); ++id) {
            const Node& node = graph_.node(id);
            bool any = node.op == Op::input;
            for (const ValueId input : node.inputs) any = any || has_rows_[at(input)];
            if (!any) continue;  // made of parameters and constants alone
            if (node.op != Op::input && !keeps_rows(node)) return id;
            for (std::int32_t i = 0; i < node.output_count; ++i) has_rows_[at(node.first_output + i)] = true;
        }
        const ValueId logits = graph_.outputs[0].value;
        return has_rows_[at(logits)] && leads(graph_.shape(logits)) ? -1 : graph_.value(logits).producer;
    }

  private:
    static bool leads(const Shape& shape) {
        return shape.rank >= 2 && shape[0] == kBatch && shape[1] == kTime;
    }
    const Shape& in(const Node& node, std::size_t i) const { return graph_.shape(node.inputs[i]); }
    const Shape& out(const Node& node) const { return graph_.shape(node.first_output); }
    bool rows(const Node& node, std::size_t i) const { return has_rows_[at(node.inputs[i])]; }

    // Every input that has rows is a row's own, the others are the same for all rows.
    bool broadcasts(const Node& node) const {
        const Shape& result = out(node);
        for (std::size_t i = 0; i < node.inputs.size(); ++i) {
            const Shape& shape = in(node, i);
            for (int axis = 0; axis < 2; ++axis) {
                const int own = axis - (result.rank - shape.rank);
                const std::int64_t extent = own < 0 ? 1 : shape[own];
                if (extent != (rows(node, i) ? result[axis] : 1)) return false;
            }
        }
        return leads(result);
    }

    bool all_rows(const Node& node) const {
        for (std::size_t i = 0; i < node.inputs.size(); ++i)
            if (!rows(node, i)) return false;
        return true;
    }

    bool keeps_rows(const Node& node) const {
        switch (op_row(node.op).lowering) {
            case Lowering::elementwise:
                return node.op != Op::dropout && broadcasts(node);
            case Lowering::row:  // along the last axis, which must be none of the first two
            case Lowering::pairs:
                return rows(node, 0) && in(node, 0).rank >= 3 && leads(in(node, 0)) && only_first(node);
            case Lowering::reduction:
                return keeps_reduced(node);
            case Lowering::alias:
                return leads(out(node));
            case Lowering::movement:
                return keeps_moved(node);
            case Lowering::axis_map:
                return node.op == Op::pad && rows(node, 0) && leads(in(node, 0)) && pads_behind(node);
            case Lowering::gather:
                return !rows(node, 0) && leads(out(node));
            case Lowering::product:
                return node.op == Op::matmul && rows(node, 0) && !rows(node, 1) && in(node, 1).rank == 2 &&
                       !node.flag(Attr::transpose_a) && in(node, 0).rank >= 3;
            case Lowering::attention:
                return node.flag(Attr::causal) && !node.flag(Attr::documents) && all_rows(node);
            default:
                return false;
        }
    }

    bool only_first(const Node& node) const {
        for (std::size_t i = 1; i < node.inputs.size(); ++i)
            if (rows(node, i) && !leads(in(node, i))) return false;
        return true;
    }

    bool keeps_reduced(const Node& node) const {
        if (node.op == Op::max_grad || node.inputs.size() != 1 || node.find(Attr::axes) == nullptr)
            return false;
        const ReductionForm form = reduction_form(node, in(node, 0));
        return !form.is_reduced[0] && !form.is_reduced[1] && leads(out(node));
    }

    bool pads_behind(const Node& node) const {
        const AxisMapForm form = axis_map_form(node, in(node, 0));
        return !form.axes[0].is_changed() && !form.axes[1].is_changed();
    }

    bool keeps_moved(const Node& node) const {
        if (!all_rows(node) || !leads(out(node))) return false;
        switch (node.op) {
            case Op::position_ids:  // of documents: they are the training graph's
                return node.inputs.size() == 1 && out(node).rank == in(node, 0).rank;
            case Op::transpose:
                return node.find(Attr::permutation)->integers[0] == 0 &&
                       node.find(Attr::permutation)->integers[1] == 1;
            case Op::concat:
            case Op::slice:
                return axis_form(node, in(node, 0)) >= 2;
            default:
                return false;
        }
    }

    const Graph& graph_;
    std::pmr::vector<bool> has_rows_;
};

// For the analysis a model may have any context: its answer does not depend on how many tokens there are.
void lift_limits(Graph& graph) {
    for (Node& node : graph.nodes)
        for (Attribute& attribute : node.attributes)
            if (node.op == Op::position_ids && attribute.key == Attr::limit)
                attribute.number = std::max(attribute.number, static_cast<double>(RowAnalysis::kTime));
}

class DecodeBuilder {
  public:
    DecodeBuilder(const Graph& from, const DecodeShape& shape)
        : from_(from), shape_(shape), to_(from.heap()), renamed_(from.values.size(), -1, from.heap()) {}

    Graph build() {
        position_ = to_.input(name_of(StepInput::position), DType::i32, {shape_.rows, 1});
        slot_ = to_.input(name_of(StepInput::slot), DType::i32, {shape_.rows, 1});
        for (NodeId id = 0; id < static_cast<NodeId>(from_.nodes.size()); ++id) {
            const Node& node = from_.node(id);
            if (node.op == Op::position_ids)
                renamed_[at(node.first_output)] = position_;
            else if (node.op == Op::attention)
                renamed_[at(node.first_output)] = cached(node);
            else if (has_lent_angles(from_, id))
                renamed_[at(node.first_output)] = angles(node);
            else
                copy_node(from_, id, to_, renamed_);
        }
        if (shape_.logit_rows == 0) return std::move(to_);
        to_.output("logits", renamed_[at(from_.outputs[0].value)]);
        const ValueId wanted = to_.input(name_of(StepInput::logit_row), DType::i32, {shape_.logit_rows});
        if (shape_.logit_rows == shape_.rows || !narrow_to_logit_rows(to_, shape_.rows, wanted))
            keep_logit_rows(to_, shape_.rows, wanted);
        return std::move(to_);
    }

  private:
    ValueId state(const char* what, const Shape& shape) {
        char name[48];
        std::snprintf(name, sizeof name, "cache/%d/%s", layer_, what);
        return to_.state(name, DType::f32, shape);
    }

    ValueId angles(const Node& table) {
        const Shape& whole = from_.shape(table.first_output);
        char name[kAngleNameBytes];
        write_angle_name(tables_++, name);
        return to_.state(name, DType::f32, {std::min(whole[0], shape_.capacity), whole[1]});
    }

    ValueId cached(const Node& attention) {
        const bool packed = attention.flag(Attr::packed);
        const Shape& first = from_.shape(attention.inputs[0]);
        const AttentionForm form =
            attention_form(attention, first, from_.shape(attention.inputs[packed ? 0 : 1]));
        Node node(to_.heap());
        node.op = Op::cached_attention;
        node.inputs = {
            state("keys", cache_keys_shape(shape_.slots, form.kv_heads, shape_.capacity, form.head_dim)),
            state("values", cache_values_shape(shape_.slots, form.kv_heads, shape_.capacity, form.head_dim)),
            slot_, position_};
        for (const ValueId input : attention.inputs) node.inputs.push_back(renamed_[at(input)]);
        for (const Attr key :
             {Attr::heads, Attr::kv_heads, Attr::scale, Attr::packed, Attr::window, Attr::cap})
            node.attributes.push_back(number(key, attention.number(key)));
        ++layer_;
        return to_.apply(std::move(node));
    }

    const Graph& from_;
    const DecodeShape shape_;
    Graph to_;
    std::pmr::vector<ValueId> renamed_;
    ValueId position_ = -1, slot_ = -1;
    int layer_ = 0, tables_ = 0;
};

}  // namespace

std::pmr::string decode_obstacle(const Graph& model, std::pmr::memory_resource* heap) {
    std::pmr::string why(heap);
    Graph inference = without_dropout(model, heap);
    lift_limits(inference);
    const ValueId tokens = host_inputs(inference, heap)[0];
    const Shape& declared = inference.source(inference.value(tokens).producer).declared;
    char text[256];
    if (declared[0] >= 0 || declared[1] >= 0) {
        std::snprintf(text, sizeof text, "its input has the fixed shape %s", to_text(declared).text);
        why = text;
        return why;
    }
    const Shape shape{RowAnalysis::kBatch, RowAnalysis::kTime};
    const Graph graph = specialize(inference, &shape, 1, heap);
    const NodeId id = RowAnalysis(graph).first_obstacle();
    if (id < 0) return why;
    std::snprintf(text, sizeof text, "node %%%d (%s) joins tokens", graph.node(id).first_output,
                  op_row(graph.node(id).op).name);
    why = text;
    return why;
}

void write_angle_name(int table, char* name) { std::snprintf(name, kAngleNameBytes, "angles/%d", table); }

bool has_lent_angles(const Graph& graph, NodeId node) {
    const Node& table = graph.node(node);
    return table.op == Op::rotary_table && turned_positions(graph, table.first_output) >= 0 &&
           (table.inputs.empty() || graph.producer(table.inputs[0]).op == Op::constant);
}

Graph graph_of_rows(const Graph& model, std::int64_t rows, std::pmr::memory_resource* heap) {
    const Graph inference = without_dropout(model, heap);
    const Shape tokens{rows, 1};
    return specialize(inference, &tokens, 1, heap);
}

Graph decode_graph(const Graph& model, const DecodeShape& shape, std::pmr::memory_resource* heap) {
    return DecodeBuilder(graph_of_rows(model, shape.rows, heap), shape).build();
}

void keep_logit_rows(Graph& graph, std::int64_t tokens, ValueId rows) {
    const ValueId logits = graph.outputs[0].value;
    const Node& head = graph.producer(logits);
    const bool is_product = head.op == Op::matmul && head.inputs.size() == 2 &&
                            !head.flag(Attr::transpose_a) && graph.shape(head.inputs[1]).rank == 2;
    const ValueId source = is_product ? head.inputs[0] : logits;
    const ValueId weight = is_product ? head.inputs[1] : -1;
    const Attribute transpose_b = number(Attr::transpose_b, is_product ? head.number(Attr::transpose_b) : 0);

    const Shape flat{tokens, graph.shape(source).last()};
    const ValueId table = graph.apply(Op::reshape, {source}, {list(Attr::shape, flat)});
    ValueId wanted = graph.apply(Op::gather, {table, rows});
    if (is_product) wanted = graph.apply(Op::matmul, {wanted, weight}, {transpose_b});
    graph.outputs.clear();
    graph.output("logits", wanted);
}

}  // namespace volta
