// One node's evaluation in progress: what the parts of the evaluator share.
#pragma once

#include "engine/base/error.h"
#include "engine/graph/evaluate.h"
#include "engine/numerics/random.h"
#include "engine/numerics/stored_weights.h"

namespace volta {

template <class T>
struct NodeRun {
    const Graph& graph;
    const Node& node;
    const EvalTensor<T>* const* inputs;
    EvalTensor<T>* const* outputs;
    std::uint32_t micro_index;

    std::pmr::memory_resource* heap() const { return graph.heap(); }
    const Shape& in_shape(int i) const { return graph.shape(node.inputs[static_cast<std::size_t>(i)]); }
    const Shape& out_shape(int i = 0) const { return graph.shape(node.first_output + i); }
    DType out_dtype(int i = 0) const { return graph.value(node.first_output + i).dtype; }
    const T* in(int i) const { return inputs[i]->real.data(); }
    const std::int32_t* in_ids(int i) const { return inputs[i]->integer.data(); }
    bool is_stored(int i) const {
        return volta::is_stored(graph.value(node.inputs[static_cast<std::size_t>(i)]).dtype);
    }
    StoredWeights in_stored(int i) const {
        const Shape& shape = in_shape(i);
        return {graph.value(node.inputs[static_cast<std::size_t>(i)]).dtype, inputs[i]->stored, shape[0],
                shape[1]};
    }
    T* out(int i = 0) const { return outputs[i]->real.data(); }
    std::int32_t* out_ids(int i = 0) const { return outputs[i]->integer.data(); }
    std::pmr::vector<T> scratch(std::int64_t count) const {
        return std::pmr::vector<T>(static_cast<std::size_t>(count), T(0), heap());
    }
    // Whether an accumulating output holds the sum of earlier micro-batches.
    bool continues() const { return micro_index > 0 && node.flag(Attr::accumulate); }
};

// The ids of input `input` are rows of a table.
template <class T>
void check_ids(const NodeRun<T>& run, int input, std::int64_t rows) {
    for (const std::int32_t id : run.inputs[input]->integer)
        require(id >= 0 && id < rows, "%s: the id %d is outside of [0, %lld)", op_row(run.node.op).name, id,
                static_cast<long long>(rows));
}

// The place of a node's random numbers: the operand holds {seed low, seed high, step}.
inline RandomPlace dropout_place(const std::int32_t* random, std::uint32_t stream) {
    const std::uint64_t low = static_cast<std::uint32_t>(random[0]),
                        high = static_cast<std::uint32_t>(random[1]);
    return {low | high << 32, static_cast<std::uint32_t>(random[2]), Purpose::dropout, stream};
}

// Elements from one operand to the next along each axis of `shape`, in a dense tensor of shape `operand` that
// broadcasts to it; 0 where it repeats.
struct Strides {
    std::int64_t step[kMaxRank] = {};
};
Strides broadcast_strides(const Shape& operand, const Shape& shape);
// Where element `index` (row-major in `shape`) of such an operand lies.
std::int64_t offset_of(std::int64_t index, const Shape& shape, const Strides& strides);

template <class T>  // over `product`, the finished matmul
void evaluate_epilogue(const NodeRun<T>& run, const EvalTensor<T>& product);

}  // namespace volta
