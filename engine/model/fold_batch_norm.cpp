#include "engine/model/fold_batch_norm.h"

#include <cmath>
#include <string>

#include "engine/base/error.h"
#include "engine/model/derive.h"

namespace volta {
namespace {

enum NormInput { kX, kScale, kBias, kMean, kVariance };

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

// A batch_norm and the convolution whose result it reads.
struct Fold {
    NodeId norm, convolution;
};

// Which channel of a convolution's result an element of its weight is for: [channels, ...] of conv, and of
// conv_transpose [filters, channels of a group, taps], filters of each group one behind the other.
class WeightChannels {
  public:
    WeightChannels(const Node& convolution, const Shape& weight)
        : is_transposed_(convolution.op == Op::conv_transpose), rows_(weight[0]), columns_(weight[1]) {
        if (weight.elements() == 0) return;
        taps_ = weight.elements() / (rows_ * columns_);
        const auto groups = static_cast<std::int64_t>(convolution.number(Attr::groups));
        rows_of_group_ = is_transposed_ ? rows_ / groups : rows_;
    }
    std::size_t of(std::int64_t element) const {
        const std::int64_t row = element / (columns_ * taps_), column = element / taps_ % columns_;
        return static_cast<std::size_t>(is_transposed_ ? row / rows_of_group_ * columns_ + column : row);
    }

  private:
    bool is_transposed_;
    std::int64_t rows_, columns_, taps_ = 1, rows_of_group_ = 1;
};

class Folding {
  public:
    Folding(const Model& model, std::pmr::memory_resource* heap)
        : model_(model),
          from_(model.graph),
          heap_(heap),
          folds_(heap),
          reads_(from_.values.size(), 0, heap),
          removed_(from_.nodes.size(), 0, heap) {
        for (const Node& node : from_.nodes)
            for (const ValueId input : node.inputs) ++reads_[at(input)];
        for (const GraphOutput& output : from_.outputs) ++reads_[at(output.value)];
        for (NodeId id = 0; id < static_cast<NodeId>(from_.nodes.size()); ++id)
            if (from_.node(id).op == Op::batch_norm && folds(from_.node(id)))
                folds_.push_back({id, from_.value(from_.node(id).inputs[kX]).producer});
        for (const Fold& fold : folds_)
            for (int i = kScale; i <= kVariance; ++i) removed_[at(producer_of(fold.norm, i))] = 1;
    }

    std::size_t count() const { return folds_.size(); }

    // Parameters keep their order; a bias that is new stands behind its weight.
    Graph graph() {
        Graph to(heap_);
        std::pmr::vector<ValueId> renamed(from_.values.size(), -1, heap_);
        for (NodeId id = 0; id < static_cast<NodeId>(from_.nodes.size()); ++id) {
            const Node& node = from_.node(id);
            if (removed_[at(id)] != 0) continue;
            const Fold* const fold = fold_of(id);
            if (fold != nullptr && fold->norm == id) {
                renamed[at(node.first_output)] = renamed[at(node.inputs[kX])];
                continue;
            }
            if (fold == nullptr || node.inputs.size() > 2) {
                copy_node(from_, id, to, renamed);
                continue;
            }
            const ValueId bias =
                to.parameter(bias_name(id).c_str(), from_.shape(norm_input(*fold, kBias)), Init());
            Node copy(node, heap_);
            for (ValueId& input : copy.inputs) input = renamed[at(input)];
            copy.inputs.push_back(bias);
            renamed[at(node.first_output)] = to.apply(std::move(copy));
        }
        for (const GraphOutput& output : from_.outputs)
            to.output(output.name.c_str(), renamed[at(output.value)]);
        return to;
    }

    // docs/numerics.md, 5: in double, rounded once.
    void fill(Model& made) const {
        for (const Fold& fold : folds_) {
            const Node& norm = from_.node(fold.norm);
            const Node& convolution = from_.node(fold.convolution);
            const float *scale = values(norm.inputs[kScale]), *bias = values(norm.inputs[kBias]),
                        *mean = values(norm.inputs[kMean]), *variance = values(norm.inputs[kVariance]);
            const float* const own = convolution.inputs.size() > 2 ? values(convolution.inputs[2]) : nullptr;
            float* const bias_out = place(
                made, own != nullptr ? parameter(convolution.inputs[2]).name : bias_name(fold.convolution));
            const auto epsilon = static_cast<double>(static_cast<float>(norm.number(Attr::epsilon)));
            std::pmr::vector<double> factors(heap_);
            for (std::int64_t c = 0; c < from_.shape(norm.inputs[kScale])[0]; ++c) {
                factors.push_back(static_cast<double>(scale[c]) /
                                  std::sqrt(static_cast<double>(variance[c]) + epsilon));
                const double before = own != nullptr ? static_cast<double>(own[c]) : 0;
                bias_out[c] = static_cast<float>((before - static_cast<double>(mean[c])) * factors.back() +
                                                 static_cast<double>(bias[c]));
            }
            const NamedTensor& weight = parameter(convolution.inputs[1]);
            const auto* const w = static_cast<const float*>(weight.data);
            float* const w_out = place(made, weight.name);
            const WeightChannels channels(convolution, weight.shape);
            for (std::int64_t i = 0; i < weight.shape.elements(); ++i)
                w_out[i] = static_cast<float>(static_cast<double>(w[i]) * factors[channels.of(i)]);
        }
    }

  private:
    bool is_own_parameter(ValueId value) const {
        return from_.producer(value).op == Op::parameter && reads_[at(value)] == 1;
    }
    bool folds(const Node& norm) const {
        for (int i = kScale; i <= kVariance; ++i)
            if (!is_own_parameter(norm.inputs[at(i)])) return false;
        const ValueId x = norm.inputs[kX];
        const Node& before = from_.producer(x);
        if (before.op != Op::conv && before.op != Op::conv_transpose) return false;
        if (reads_[at(x)] != 1) return false;
        for (std::size_t i = 1; i < before.inputs.size(); ++i)
            if (!is_own_parameter(before.inputs[i])) return false;
        return true;
    }
    ValueId norm_input(const Fold& fold, int input) const { return from_.node(fold.norm).inputs[at(input)]; }
    NodeId producer_of(NodeId norm, int input) const {
        return from_.value(from_.node(norm).inputs[at(input)]).producer;
    }
    // Of a norm or a convolution that is folded; NULL: the node is neither.
    const Fold* fold_of(NodeId id) const {
        for (const Fold& fold : folds_)
            if (fold.norm == id || fold.convolution == id) return &fold;
        return nullptr;
    }
    const NamedTensor& parameter(ValueId value) const {
        return *model_.find_parameter(from_.producer(value).name.c_str());
    }
    const float* values(ValueId value) const { return static_cast<const float*>(parameter(value).data); }
    static float* place(Model& made, const std::pmr::string& name) {
        for (std::size_t i = 0; i < made.parameters.size(); ++i)
            if (made.parameters[i].name == name) return static_cast<float*>(made.place_of(i));
        fail(VOLTA_INTERNAL, "the folded model has no parameter %s", name.c_str());
    }

    // "conv1.bias" beside "conv1.weight".
    std::pmr::string bias_name(NodeId convolution) const {
        std::pmr::string name(from_.producer(from_.node(convolution).inputs[1]).name, heap_);
        constexpr std::string_view kWeight = ".weight";
        if (name.size() > kWeight.size() &&
            name.compare(name.size() - kWeight.size(), kWeight.size(), kWeight) == 0)
            name.resize(name.size() - kWeight.size());
        name += ".bias";
        while (from_.find_source(name.c_str()) >= 0) name += "_of_norm";
        return name;
    }

    const Model& model_;
    const Graph& from_;
    std::pmr::memory_resource* heap_;
    std::pmr::vector<Fold> folds_;
    std::pmr::vector<std::int32_t> reads_;  // of each value
    std::pmr::vector<char> removed_;        // nodes: the norms' parameters
};

}  // namespace

HeapPtr<Model> fold_batch_norm(const Model& model, std::size_t* folded, std::pmr::memory_resource* structures,
                               std::pmr::memory_resource* tensors) {
    Folding folding(model, structures);
    require(folding.count() > 0,
            "the model has no batch norm that follows a convolution with parameters of its own: there is "
            "nothing to fold");
    HeapPtr<Model> made = derive(model, folding.graph(), structures, tensors);
    folding.fill(*made);
    forget_architecture(*made);
    *folded = folding.count();
    return made;
}

}  // namespace volta
