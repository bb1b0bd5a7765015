#include "engine/graph/evaluate.h"

#include <algorithm>
#include <cstring>

#include "engine/base/error.h"
#include "engine/graph/evaluate_node.h"
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
void evaluate_training(const NodeRun<T>& run) {
    const std::int64_t count = run.in_shape(0).elements();
    if (run.node.op == Op::square_sum) *run.out() = define::square_sum(count, run.in(0));
    if (run.node.op == Op::clip_factor)
        *run.out() =
            define::clip_factor(*run.in(0), ScalarMachine<T>::real(run.node.number(Attr::maximum_norm)));
    if (run.node.op == Op::accumulate)
        for (std::int64_t i = 0; i < count; ++i)
            run.out()[i] = run.micro_index == 0 ? run.in(0)[i] : run.out()[i] + run.in(0)[i];
}

// Every operator has a definition: a new one is a compiler warning here until it has.
// clang-format off
template <class T>
void dispatch(const NodeRun<T>& run) {
    switch (run.node.op) {
        case Op::input: case Op::parameter: case Op::state: break;  // filled in by the caller
        case Op::constant: fill_constant(run.graph, run.node, *run.outputs[0]); break;

        case Op::neg: case Op::abs: case Op::exp: case Op::log: case Op::sqrt: case Op::rsqrt: case Op::tanh:
        case Op::erf: case Op::sigmoid: case Op::silu: case Op::gelu_tanh: case Op::gelu_erf: case Op::relu:
        case Op::sin: case Op::cos: case Op::pow: case Op::clamp: case Op::add: case Op::sub: case Op::mul:
        case Op::div: case Op::maximum: case Op::minimum: case Op::less: case Op::less_equal: case Op::equal:
        case Op::where: case Op::gelu_tanh_grad: case Op::gelu_erf_grad: case Op::silu_grad:
        case Op::relu_grad:
        case Op::maximum_grad: case Op::minimum_grad: case Op::dropout: case Op::fused:
            evaluate_elementwise(run);
            break;

        case Op::softmax: case Op::softmax_grad: case Op::log_softmax: case Op::log_softmax_grad:
        case Op::layer_norm: case Op::layer_norm_grad: case Op::layer_norm_grad_scale: case Op::rms_norm:
        case Op::rms_norm_grad: case Op::rms_norm_grad_scale: case Op::cross_entropy:
        case Op::cross_entropy_grad: case Op::cross_entropy_with_grad: case Op::mse: case Op::mse_grad:
        case Op::argmax:
            evaluate_rows(run);
            break;

        case Op::swiglu: case Op::swiglu_grad: case Op::rotary_table: case Op::rotary:
            evaluate_pairs(run);
            break;

        case Op::sum: case Op::mean: case Op::max: case Op::min: case Op::max_grad:
            evaluate_reduction(run);
            break;

        case Op::reshape: case Op::transpose: case Op::concat: case Op::slice: case Op::slice_grad:
        case Op::broadcast_to: case Op::position_ids: case Op::gather: case Op::embedding_gradient:
        case Op::stack:
            evaluate_movement(run);
            break;

        case Op::matmul: case Op::weight_gradient: case Op::attention: case Op::attention_grad: case Op::cached_attention:
            evaluate_product(run);
            break;
        case Op::accumulate: case Op::square_sum: case Op::clip_factor: evaluate_training(run); break;
        case Op::sgd: case Op::sgd_plain: case Op::adam: case Op::adamw: case Op::adagrad: evaluate_update(run); break;
        case Op::count_: fail(VOLTA_INTERNAL, "there is no such operator");
    }
}
// clang-format on

}  // namespace

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
    if (op_row(node.op).lowering != Lowering::source && !size_outputs(run)) return;
    dispatch(run);
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
