#include "engine/graph/evaluate.h"

#include <algorithm>
#include <cstring>

#include "engine/base/error.h"
#include "engine/graph/evaluate_node.h"
#include "engine/graph/rules.h"
#include "engine/numerics/definitions.h"

namespace volta {
namespace {

// Constants as T: what the bits say.
template <class T>
void fill_constant(const Graph& graph, const Node& node, EvalTensor<T>& tensor) {
    const auto& bits = graph.constants[static_cast<std::size_t>(node.data)];
    if (graph.value(node.first_output).dtype == DType::i32) {
        tensor.integer.assign(bits.begin(), bits.end());
        return;
    }
    tensor.real.resize(bits.size());
    for (std::size_t i = 0; i < bits.size(); ++i) {
        float value;
        std::memcpy(&value, &bits[i], sizeof value);
        tensor.real[i] = value;
    }
}

// False: all of them are empty, however many rows without columns that is.
template <class T>
bool size_outputs(const NodeRun<T>& run) {
    bool has_elements = false;
    for (int i = 0; i < run.node.output_count; ++i) {
        const std::size_t count = static_cast<std::size_t>(run.out_shape(i).elements());
        has_elements = has_elements || count > 0;
        run.outputs[i]->real.resize(run.out_dtype(i) == DType::f32 ? count : 0);
        run.outputs[i]->integer.resize(run.out_dtype(i) == DType::i32 ? count : 0);
    }
    return has_elements;
}

template <class T>
void constant(const NodeRun<T>& run) {
    fill_constant(run.graph, run.node, *run.outputs[0]);
}

template <class T>
void square_sum(const NodeRun<T>& run) {
    *run.out() = define::square_sum(run.in_shape(0).elements(), run.in(0));
}

template <class T>
void accumulate(const NodeRun<T>& run) {
    const std::int64_t count = run.in_shape(0).elements();
    for (std::int64_t i = 0; i < count; ++i)
        run.out()[i] = run.micro_index == 0 ? run.in(0)[i] : run.out()[i] + run.in(0)[i];
}

void evaluate_by_row(const Evaluation& row, const NodeRun<float>& run) { row.in_float(run); }
void evaluate_by_row(const Evaluation& row, const NodeRun<double>& run) {
    for (const auto list :
         {evaluations::single_in_double, evaluations::axes_in_double, evaluations::convolution_in_double,
          evaluations::elementwise_in_double, evaluations::movement_in_double, evaluations::norms_in_double,
          evaluations::pairs_in_double, evaluations::products_in_double, evaluations::rows_in_double}) {
        const evaluations::InDoubleList all = list();
        for (std::size_t i = 0; i < all.count; ++i)
            if (all.first[i].of == &row) return all.first[i].run(run);
    }
    fail(VOLTA_INTERNAL, "%s: no definition in double precision", op_row(run.node.op).name);
}

}  // namespace

namespace evaluations {
constexpr Evaluation constant = {volta::constant<float>};
constexpr Evaluation square_sum = {volta::square_sum<float>};
constexpr Evaluation accumulate = {volta::accumulate<float>};

constexpr InDouble kInDouble[] = {
    {&constant, volta::constant<double>},
    {&square_sum, volta::square_sum<double>},
    {&accumulate, volta::accumulate<double>},
};
InDoubleList single_in_double() { return {kInDouble, sizeof kInDouble / sizeof *kInDouble}; }
}  // namespace evaluations

Strides broadcast_strides(const Shape& operand, const Shape& shape) {
    Strides strides;
    const int missing = shape.rank - operand.rank;
    std::int64_t step = 1;
    for (int axis = operand.rank - 1; axis >= 0; --axis) {
        if (operand[axis] != 1) strides.step[axis + missing] = step;
        step *= operand[axis];
    }
    return strides;
}

std::int64_t offset_of(std::int64_t index, const Shape& shape, const Strides& strides) {
    std::int64_t offset = 0;
    for (int axis = shape.rank - 1; axis >= 0; --axis) {
        offset += index % shape[axis] * strides.step[axis];
        index /= shape[axis];
    }
    return offset;
}

template <class T>
void evaluate_node(const Graph& graph, const Node& node, const EvalTensor<T>* const* inputs,
                   EvalTensor<T>* const* outputs, std::uint32_t micro_index) {
    const NodeRun<T> run = {graph, node, inputs, outputs, micro_index};
    const OpRow& row = op_row(node.op);
    if (row.lowering != Lowering::source && !size_outputs(run)) return;
    if (row.evaluate != nullptr) evaluate_by_row(*row.evaluate, run);
}

template <class T>
void evaluate(const Graph& graph, std::pmr::vector<EvalTensor<T>>& tensors) {
    require(tensors.size() == graph.values.size(), "%zu tensors are given for %zu values", tensors.size(),
            graph.values.size());
    std::pmr::vector<const EvalTensor<T>*> inputs(graph.heap());
    std::pmr::vector<EvalTensor<T>*> outputs(graph.heap());
    for (const Phase phase : {Phase::each, Phase::reduce, Phase::update})
        for (const Node& node : graph.nodes) {
            if (node.phase != phase) continue;
            inputs.clear();
            outputs.clear();
            for (const ValueId input : node.inputs)
                inputs.push_back(&tensors[static_cast<std::size_t>(input)]);
            for (std::int32_t i = 0; i < node.output_count; ++i)
                outputs.push_back(&tensors[static_cast<std::size_t>(node.first_output + i)]);
            evaluate_node<T>(graph, node, inputs.data(), outputs.data());
        }
}

template void evaluate_node<float>(const Graph&, const Node&, const EvalTensor<float>* const*,
                                   EvalTensor<float>* const*, std::uint32_t);
template void evaluate_node<double>(const Graph&, const Node&, const EvalTensor<double>* const*,
                                    EvalTensor<double>* const*, std::uint32_t);
template void evaluate<float>(const Graph&, std::pmr::vector<EvalTensor<float>>&);
template void evaluate<double>(const Graph&, std::pmr::vector<EvalTensor<double>>&);

}  // namespace volta
