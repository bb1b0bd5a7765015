#include "engine/import/onnx/contents.h"

#include <cstring>

#include "engine/graph/forms.h"

namespace volta::onnx {
namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 22;  // of one value
constexpr std::int64_t kOfNode = 256;                          // what a node costs beside its elements

EvalTensor<float> empty(std::pmr::memory_resource* heap) {
    return EvalTensor<float>{std::pmr::vector<float>(heap), std::pmr::vector<std::int32_t>(heap)};
}

}  // namespace

bool Contents::spend(std::int64_t elements) {
    if (elements > kMostElements || elements > left_) return false;
    left_ -= elements + kOfNode;
    return true;
}

std::optional<EvalTensor<float>> Contents::of(ValueId value, int most_nodes_deep) {
    const Node& node = graph_.producer(value);
    const OpRow& row = op_row(node.op);
    EvalTensor<float> result = empty(heap_);
    if (!spend(graph_.shape(value).elements())) return std::nullopt;
    if (node.op == Op::constant) {
        const auto& bits = graph_.constants[static_cast<std::size_t>(node.data)];
        const bool is_real = graph_.value(value).dtype == DType::f32;
        if (is_real)
            result.real.resize(bits.size());
        else
            result.integer.resize(bits.size());
        void* const to = is_real ? static_cast<void*>(result.real.data()) : result.integer.data();
        if (!bits.empty()) std::memcpy(to, bits.data(), bits.size() * sizeof bits[0]);
        return result;
    }
    const bool is_made = row.lowering == Lowering::elementwise || row.lowering == Lowering::movement ||
                         row.lowering == Lowering::alias;
    if (!is_made || row.random || id_input(node, row.ids[0]) >= 0 || most_nodes_deep == 0 ||
        node.output_count != 1)
        return std::nullopt;
    std::pmr::vector<EvalTensor<float>> inputs(heap_);
    std::pmr::vector<const EvalTensor<float>*> pointers(heap_);
    inputs.reserve(node.inputs.size());
    for (const ValueId input : node.inputs) {
        auto content = of(input, most_nodes_deep - 1);
        if (!content) return std::nullopt;
        inputs.push_back(std::move(*content));
        pointers.push_back(&inputs.back());
    }
    EvalTensor<float>* const out = &result;
    evaluate_node(graph_, node, pointers.data(), &out);
    return result;
}

std::optional<float> Contents::scalar(ValueId value) {
    constexpr int kDeep = 8;
    if (graph_.value(value).dtype != DType::f32 || graph_.shape(value).elements() != 1) return std::nullopt;
    const auto content = of(value, kDeep);
    if (!content || content->real.size() != 1) return std::nullopt;
    return content->real[0];
}

}  // namespace volta::onnx
