// Nodes whose inputs are all constants become constants, computed by the reference evaluator (never by the
// C++ compiler or libm). Small ones only: a plan must not grow by what a step computes in microseconds.
// Tables of angles are folded whatever their size, and have no rows that nothing reads.
#include <algorithm>
#include <cstring>

#include "engine/graph/angles.h"
#include "engine/graph/evaluate.h"
#include "engine/graph/forms.h"
#include "engine/passes/passes.h"
#include "engine/passes/rewrite.h"

namespace volta {
namespace {

constexpr std::int64_t kMostElements =
    16384;  // of all inputs and of all outputs; a product of these takes milliseconds
// Tables of angles are the exception: an element takes as long as a hundred that are read. This is one of
// 2^20 positions and heads of 128; a file may ask for 2^36.
constexpr std::int64_t kMostAngles = std::int64_t{1} << 27;

class Folder {
  public:
    Folder(const Graph& graph, std::pmr::memory_resource* heap) : heap_(heap), rewrite_(graph, heap) {}

    Graph run() {
        for (NodeId id = 0; id < node_count(rewrite_.from); ++id) {
            if (is_foldable(rewrite_.from.node(id)))
                fold(rewrite_.from.node(id));
            else
                rewrite_.copy(id);
        }
        return rewrite_.finish();
    }

  private:
    bool is_foldable(const Node& node) const {
        const OpRow& row = op_row(node.op);
        if (is_source(node) || row.random || carries_random(node) || writes_in_place(node) ||
            holds_over_micro_batches(node) || uses_ids(node))
            return false;
        std::int64_t read = 0, written = 0;
        for (const ValueId input : node.inputs) {
            if (rewrite_.to.producer(rewrite_.now(input)).op != Op::constant) return false;
            read += rewrite_.from.shape(input).elements();
        }
        if (row.always_folds) return rewrite_.from.shape(node.first_output).elements() <= kMostAngles;
        for (std::int32_t i = 0; i < node.output_count; ++i)
            written += rewrite_.from.shape(node.first_output + i).elements();
        return read <= kMostElements && written <= kMostElements;
    }

    // Ids outside of their table are refused when the plan is made; until then nobody may follow them.
    static bool uses_ids(const Node& node) { return id_input(node, op_row(node.op).ids[0]) >= 0; }

    static bool carries_random(const Node& node) {
        for (const BodyOp& op : node.body.ops)
            if (op_row(op.op).random) return true;
        return false;
    }

    EvalTensor<float> empty_tensor() const {
        return EvalTensor<float>{std::pmr::vector<float>(heap_), std::pmr::vector<std::int32_t>(heap_)};
    }

    EvalTensor<float> content(ValueId old) const {
        EvalTensor<float> tensor = empty_tensor();
        const Node& constant = rewrite_.to.producer(rewrite_.now(old));
        const auto& bits = rewrite_.to.constants[index_of(constant.data)];
        const bool is_real = rewrite_.from.value(old).dtype == DType::f32;
        if (is_real)
            tensor.real.resize(bits.size());
        else
            tensor.integer.resize(bits.size());
        void* const target = is_real ? static_cast<void*>(tensor.real.data()) : tensor.integer.data();
        if (!bits.empty()) std::memcpy(target, bits.data(), bits.size() * sizeof bits[0]);
        return tensor;
    }

    void fold(const Node& node) {
        std::pmr::vector<EvalTensor<float>> inputs(heap_), outputs(heap_);
        std::pmr::vector<const EvalTensor<float>*> input_pointers(heap_);
        std::pmr::vector<EvalTensor<float>*> output_pointers(heap_);
        for (const ValueId input : node.inputs) inputs.push_back(content(input));
        for (std::int32_t i = 0; i < node.output_count; ++i) outputs.push_back(empty_tensor());
        for (const auto& tensor : inputs) input_pointers.push_back(&tensor);
        for (auto& tensor : outputs) output_pointers.push_back(&tensor);
        evaluate_node(rewrite_.from, node, input_pointers.data(), output_pointers.data());
        for (std::int32_t i = 0; i < node.output_count; ++i)
            store(node.first_output + i, outputs[index_of(i)]);
    }

    void store(ValueId old, EvalTensor<float>& tensor) {
        const Value& value = rewrite_.from.value(old);
        const void* data = tensor.integer.data();
        if (value.dtype == DType::f32) {
            canonicalize_nans(tensor.real);
            data = tensor.real.data();
        }
        const std::uint32_t none = 0;  // an empty constant has no data, but its address must not be NULL
        rewrite_.renamed[index_of(old)] =
            rewrite_.to.constant(value.dtype, value.shape, data != nullptr ? data : &none);
    }

    // Payloads are not part of the contract, but constants are part of a plan's hash.
    static void canonicalize_nans(std::pmr::vector<float>& values) {
        constexpr std::uint32_t kNaN = 0x7fc00000u;
        for (float& value : values)
            if (value != value) std::memcpy(&value, &kNaN, sizeof value);
    }

    std::pmr::memory_resource* heap_;
    Rewrite rewrite_;
};

}  // namespace

Graph fold_constants(const Graph& graph, std::pmr::memory_resource* heap) {
    const auto is_longer = [&](const Node& node) {
        if (node.op != Op::rotary_table) return false;
        const std::int64_t rows = turned_positions(graph, node.first_output);
        return rows >= 0 && rows < graph.shape(node.first_output)[0];
    };
    if (std::none_of(graph.nodes.begin(), graph.nodes.end(), is_longer)) return Folder(graph, heap).run();
    Rewrite rewrite(graph, heap);
    for (NodeId id = 0; id < node_count(graph); ++id) {
        const Node& node = graph.node(id);
        if (is_longer(node))
            copy_first_angles(graph, id, turned_positions(graph, node.first_output), rewrite.to,
                              rewrite.renamed);
        else
            rewrite.copy(id);
    }
    return Folder(rewrite.finish(), heap).run();
}

}  // namespace volta
