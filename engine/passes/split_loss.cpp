#include "engine/passes/split_loss.h"

#include <algorithm>

#include "engine/numerics/canonical.h"
#include "engine/passes/rematerialize.h"
#include "engine/passes/rewrite.h"

namespace volta {
namespace {

constexpr NodeId kNone = -1;

// The nodes of a loss that can be split.
struct Loss {
    NodeId logits = kNone, loss = kNone;
    NodeId input = kNone;   // the gradient of the product's input; kNone: nobody wants it
    NodeId weight = kNone;  // likewise
};

// Who reads what, by contents: aliases have another value's.
class Readers {
  public:
    Readers(const Graph& graph, std::pmr::memory_resource* heap)
        : content_(graph.values.size(), -1, heap), readers_(graph.values.size(), heap) {
        for (NodeId id = 0; id < node_count(graph); ++id) {
            const Node& node = graph.node(id);
            for (ValueId value = node.first_output; value < node.first_output + node.output_count; ++value)
                content_[index_of(value)] = value;
            if (is_alias(node))
                content_[index_of(node.first_output)] = content(node.inputs[0]);
            else
                for (const ValueId input : node.inputs) readers_[index_of(content(input))].push_back(id);
        }
        // An output is read by whom it is for.
        for (const GraphOutput& output : graph.outputs)
            readers_[index_of(content(output.value))].push_back(kNone);
    }

    static bool is_alias(const Node& node) { return op_row(node.op).lowering == Lowering::alias; }
    ValueId content(ValueId value) const { return content_[index_of(value)]; }
    const std::pmr::vector<NodeId>& of(ValueId content) const { return readers_[index_of(content)]; }

  private:
    std::pmr::vector<ValueId> content_;
    std::pmr::vector<std::pmr::vector<NodeId>> readers_;
};

class Search {
  public:
    Search(const Graph& graph, const Readers& readers) : graph_(graph), readers_(readers) {}

    Loss find() const {
        for (NodeId id = 0; id < node_count(graph_); ++id)
            if (const Loss loss = of(id); loss.loss != kNone) return loss;
        return {};
    }

  private:
    ValueId content(ValueId value) const { return readers_.content(value); }

    Loss of(NodeId id) const {
        const Node& node = graph_.node(id);
        if (node.op != Op::cross_entropy_with_grad || graph_.shape(node.inputs[2]).rank != 0) return {};
        if (graph_.shape(node.inputs[0]).rows() <= kSegment) return {};
        const ValueId logits = content(node.inputs[0]);
        const NodeId producer = graph_.value(logits).producer;
        if (!is_plain_product(graph_.node(producer)) || readers_.of(logits).size() != 1) return {};
        Loss loss{producer, id, kNone, kNone};
        for (const NodeId reader : readers_.of(node.first_output + 1))
            if (reader == kNone || !add_reader(reader, node.first_output + 1, loss)) return {};
        return loss;
    }

    // Of rows with one matrix.
    bool is_plain_product(const Node& node) const {
        return node.op == Op::matmul && node.body.ops.empty() && !node.flag(Attr::transpose_a) &&
               graph_.shape(node.inputs[1]).rank == 2 && graph_.value(node.inputs[1]).dtype == DType::f32;
    }

    bool add_reader(NodeId id, ValueId gradient, Loss& loss) const {
        const Node& node = graph_.node(id);
        const Node& logits = graph_.node(loss.logits);
        if (node.op != Op::matmul || !node.body.ops.empty()) return false;
        const ValueId a = content(node.inputs[0]), b = content(node.inputs[1]);
        if (node.flag(Attr::transpose_a)) {
            const ValueId rows = content(logits.inputs[0]);
            if (node.flag(Attr::transpose_b) || loss.weight != kNone) return false;
            if (!(a == gradient && b == rows) && !(a == rows && b == gradient)) return false;
            loss.weight = id;
            return true;
        }
        if (a != gradient || b != content(logits.inputs[1]) || loss.input != kNone) return false;
        loss.input = id;
        return true;
    }

    const Graph& graph_;
    const Readers& readers_;
};

class Pieces {
  public:
    Pieces(const Graph& graph, const Readers& readers, const Loss& found, std::pmr::memory_resource* heap)
        : readers_(readers),
          found_(found),
          rewrite_(graph, heap),
          to_(rewrite_.to),
          rows_(heap),
          inputs_(heap) {}

    Graph run() {
        for (NodeId id = 0; id < node_count(rewrite_.from); ++id) {
            if (id == found_.loss)
                split();
            else if (id == found_.input)
                rewrite_.replace(id, whole(inputs_, rewrite_.from.node(id)));
            else if (id == found_.weight)
                rewrite_.replace(id, weight_);
            else if (!is_gone(id))
                rewrite_.copy(id);
        }
        return rewrite_.finish();
    }

  private:
    // The logits and their gradient, and other names of them, are never whole.
    bool is_gone(NodeId id) const {
        const Node& node = rewrite_.from.node(id);
        if (!Readers::is_alias(node)) return id == found_.logits;
        const ValueId content = readers_.content(node.first_output);
        return content == logits() || content == gradient();
    }
    ValueId logits() const { return rewrite_.from.node(found_.logits).first_output; }
    ValueId gradient() const { return rewrite_.from.node(found_.loss).first_output + 1; }

    ValueId reshape(ValueId value, const Shape& shape) {
        return to_.shape(value) == shape ? value
                                         : to_.apply(Op::reshape, {value}, {list(Attr::shape, shape)});
    }
    ValueId rows_of(ValueId value, std::int64_t first, std::int64_t last) {
        return to_.apply(Op::slice, {value},
                         {number(Attr::axis, 0), number(Attr::begin, static_cast<double>(first)),
                          number(Attr::end, static_cast<double>(last))});
    }
    // The pieces, one behind the other, as what the node gave.
    ValueId whole(const std::pmr::vector<ValueId>& pieces, const Node& node) {
        const Attribute axis = number(Attr::axis, 0);
        const ValueId joined =
            to_.apply(Op::concat, pieces.data(), static_cast<int>(pieces.size()), &axis, 1, Phase::each);
        return reshape(joined, rewrite_.from.shape(node.first_output));
    }

    void split() {
        const Node& loss = rewrite_.from.node(found_.loss);
        const Node& logits = rewrite_.from.node(found_.logits);
        const Shape& given = rewrite_.from.shape(logits.inputs[0]);
        const ValueId x = reshape(rewrite_.now(logits.inputs[0]), Shape{given.rows(), given.last()});
        const ValueId targets = reshape(rewrite_.now(loss.inputs[1]), Shape{given.rows()});
        for (std::int64_t first = 0; first < given.rows(); first += kSegment) {
            const std::int64_t last = std::min(first + kSegment, given.rows());
            add_piece(rows_of(x, first, last), rows_of(targets, first, last));
        }
        rewrite_.renamed[index_of(loss.first_output)] = whole(rows_, loss);
    }

    void add_piece(ValueId x, ValueId targets) {
        Node product = rewrite_.renamed_copy(found_.logits);
        product.inputs[0] = x;
        Node loss = rewrite_.renamed_copy(found_.loss);
        loss.inputs[0] = to_.apply(std::move(product));
        loss.inputs[1] = targets;
        rows_.push_back(to_.apply(std::move(loss)));
        const ValueId gradient = rows_.back() + 1;
        if (found_.input != kNone) {
            Node node = rewrite_.renamed_copy(found_.input);
            node.inputs[0] = gradient;
            inputs_.push_back(to_.apply(std::move(node)));
        }
        if (found_.weight != kNone) weight_ = continue_weight(x, gradient);
    }

    ValueId continue_weight(ValueId x, ValueId gradient) {
        Node node = rewrite_.renamed_copy(found_.weight);
        const bool is_first =
            readers_.content(rewrite_.from.node(found_.weight).inputs[0]) == this->gradient();
        node.inputs[0] = is_first ? gradient : x;
        node.inputs[1] = is_first ? x : gradient;
        if (weight_ < 0) return to_.apply(std::move(node));
        return to_.apply(Op::weight_gradient_into, {node.inputs[0], node.inputs[1], weight_},
                         {number(Attr::accumulate, node.number(Attr::accumulate))});
    }

    const Readers& readers_;
    const Loss found_;
    Rewrite rewrite_;
    Graph& to_;
    std::pmr::vector<ValueId> rows_, inputs_;  // of the pieces: losses, gradients of the input
    ValueId weight_ = -1;                      // its gradient, as far as it is
};

}  // namespace

std::optional<SplitLoss> split_loss(const Graph& graph, std::pmr::memory_resource* heap) {
    const Readers readers(graph, heap);
    const Loss found = Search(graph, readers).find();
    if (found.loss == kNone) return std::nullopt;
    const Node& logits = graph.node(found.logits);
    const std::int64_t pieces = (graph.shape(logits.inputs[0]).rows() - 1) / kSegment + 1;
    const Value& weight = graph.value(logits.inputs[1]);
    // Of each piece but one: the weight is read by two products, its gradient read and written by the third.
    const double moved =
        4 * static_cast<double>(pieces - 1) * static_cast<double>(tensor_bytes(weight.dtype, weight.shape));
    return SplitLoss{Pieces(graph, readers, found, heap).run(), kOperationsPerByte * moved};
}

}  // namespace volta
