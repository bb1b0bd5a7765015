// The reference evaluator's run of a filled graph: every micro-batch, then what follows them. In floats it is
// what backends must equal; in doubles what they may differ from by rounding alone.
#pragma once

#include <cstring>
#include <vector>

#include "engine/graph/evaluate.h"
#include "tests/runtime/plan_runner.h"

namespace volta::test {

template <class T>
class ReferenceRun {
  public:
    using Tensor = EvalTensor<T>;

    explicit ReferenceRun(const FilledGraph& filled) : filled_(filled), graph_(filled.graph) {
        for (std::size_t v = 0; v < graph_.values.size(); ++v) tensors_.push_back(empty_tensor());
    }
    virtual ~ReferenceRun() = default;
    ReferenceRun(const ReferenceRun&) = delete;
    ReferenceRun& operator=(const ReferenceRun&) = delete;

    void run() {
        for (std::uint32_t micro = 0; micro < filled_.micro_batches; ++micro) {
            for (const Node& node : graph_.nodes)
                if (is_source(node)) fill(node, micro);
            run_phase(Phase::each, micro);
        }
        run_phase(Phase::reduce, 0);
        run_phase(Phase::update, 0);
    }
    const Tensor& at(ValueId value) const { return tensors_[static_cast<std::size_t>(value)]; }

  protected:
    static Tensor empty_tensor() {
        std::pmr::memory_resource* const heap = std::pmr::get_default_resource();
        return Tensor{std::pmr::vector<T>(heap), std::pmr::vector<std::int32_t>(heap)};
    }
    const Graph& graph() const { return graph_; }
    virtual void evaluate(const Node& node, const Tensor* const* inputs, Tensor* const* outputs,
                          std::uint32_t micro) {
        evaluate_node(graph_, node, inputs, outputs, micro);
    }

  private:
    static bool is_source(const Node& node) { return op_row(node.op).lowering == Lowering::source; }

    static void set(Tensor& tensor, DType dtype, const std::uint32_t* bits, std::int64_t count) {
        const auto size = static_cast<std::size_t>(count);
        if (dtype == DType::f32) {
            tensor.real.resize(size);
            for (std::size_t i = 0; i < size; ++i) {
                float value;
                std::memcpy(&value, bits + i, sizeof value);
                tensor.real[i] = static_cast<T>(value);
            }
        } else {
            tensor.integer.resize(size);
            if (size > 0) std::memcpy(tensor.integer.data(), bits, size * 4);
        }
    }

    void fill(const Node& node, std::uint32_t micro) {
        const Value& value = graph_.value(node.first_output);
        Tensor& tensor = tensors_[static_cast<std::size_t>(node.first_output)];
        const std::int64_t count = value.shape.elements();
        if (node.op == Op::constant)
            return set(tensor, value.dtype, graph_.constants[static_cast<std::size_t>(node.data)].data(),
                       count);
        const Bits& content = filled_.content[static_cast<std::size_t>(node.first_output)];
        if (is_stored(value.dtype)) {
            tensor.stored = reinterpret_cast<const unsigned char*>(content.data());
            return;
        }
        const bool sliced = static_cast<std::int64_t>(content.size()) > count;
        set(tensor, value.dtype, content.data() + (sliced ? micro * count : 0), count);
    }

    void run_phase(Phase phase, std::uint32_t micro) {
        for (const Node& node : graph_.nodes) {
            if (is_source(node) || node.phase != phase) continue;
            std::vector<const Tensor*> inputs;
            std::vector<Tensor*> outputs;
            inputs.reserve(node.inputs.size());
            outputs.reserve(static_cast<std::size_t>(node.output_count));
            for (const ValueId input : node.inputs) inputs.push_back(&at(input));
            for (int k = 0; k < node.output_count; ++k)
                outputs.push_back(&tensors_[static_cast<std::size_t>(node.first_output + k)]);
            evaluate(node, inputs.data(), outputs.data(), micro);
        }
    }

    const FilledGraph& filled_;
    const Graph& graph_;
    std::vector<Tensor> tensors_;
};

}  // namespace volta::test
