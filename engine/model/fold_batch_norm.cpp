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
            const NamedTensor& weight = parameter(convolution.inputs[1]);
            const float *w = values(convolution.inputs[1]), *scale = values(norm.inputs[kScale]),
                        *bias = values(norm.inputs[kBias]), *mean = values(norm.inputs[kMean]),
                        *variance = values(norm.inputs[kVariance]);
            const float* const own = convolution.inputs.size() > 2 ? values(convolution.inputs[2]) : nullptr;
            const std::int64_t channels = from_.shape(norm.inputs[kScale])[0];
            const auto epsilon = static_cast<double>(static_cast<float>(norm.number(Attr::epsilon)));
            float* const w_out = place(made, weight.name.c_str());
            float* const bias_out = place(made, own != nullptr ? parameter(convolution.inputs[2]).name.c_str()
                                                               : bias_name(fold.convolution).c_str());
            const bool is_transposed = convolution.op == Op::conv_transpose;
            // conv: [channels, ...]; conv_transpose: [filters, channels of a group, taps]
            const std::int64_t per_group = is_transposed ? weight.shape[1] : channels;
            std::int64_t taps = weight.shape.elements();
            taps /= weight.shape[0] * (is_transposed ? weight.shape[1] : 1);
            const std::int64_t rows = is_transposed ? weight.shape[0] : 1;
            const std::int64_t rows_of_group = is_transposed ? rows / (channels / per_group) : 1;
            for (std::int64_t c = 0; c < channels; ++c) {
                const double factor =
                    static_cast<double>(scale[c]) / std::sqrt(static_cast<double>(variance[c]) + epsilon);
                for (std::int64_t r = 0; r < rows_of_group; ++r) {
                    const std::int64_t row =
                        is_transposed ? (c / per_group * rows_of_group + r) * per_group + c % per_group : c;
                    for (std::int64_t i = row * taps; i < (row + 1) * taps; ++i)
                        w_out[i] = static_cast<float>(static_cast<double>(w[i]) * factor);
                }
                const double before = own != nullptr ? static_cast<double>(own[c]) : 0;
                bias_out[c] = static_cast<float>((before - static_cast<double>(mean[c])) * factor +
                                                 static_cast<double>(bias[c]));
            }
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
    static float* place(Model& made, const char* name) {
        for (std::size_t i = 0; i < made.parameters.size(); ++i)
            if (made.parameters[i].name == name) return static_cast<float*>(made.place_of(i));
        fail(VOLTA_INTERNAL, "the folded model has no parameter %s", name);
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
