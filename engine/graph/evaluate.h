// The reference evaluator: runs a graph node by node through the definitions (engine/numerics/definitions.h),
// in float (the oracle of backends, constant folding) or in double (gradient checks). Slow and obvious.
#pragma once

#include <vector>

#include "engine/graph/graph.h"

namespace volta {

// A tensor of the evaluator: f32 values as T, or i32 values, or the bytes of a packed weight.
template <class T>
struct EvalTensor {
    using allocator_type = Allocator;
    EvalTensor() = default;
    explicit EvalTensor(Allocator heap) : real(heap), integer(heap) {}
    EvalTensor(std::pmr::vector<T> reals, std::pmr::vector<std::int32_t> integers)
        : real(std::move(reals)), integer(std::move(integers)) {}
    EvalTensor(const EvalTensor& other, Allocator heap)
        : real(other.real, heap), integer(other.integer, heap), stored(other.stored) {}
    EvalTensor(EvalTensor&& other, Allocator heap)
        : real(std::move(other.real), heap), integer(std::move(other.integer), heap), stored(other.stored) {}
    EvalTensor(EvalTensor&&) = default;
    EvalTensor& operator=(EvalTensor&&) = default;

    std::pmr::vector<T> real;
    std::pmr::vector<std::int32_t> integer;
    const unsigned char* stored = nullptr;  // of a packed weight: lent by whoever fills the sources
};

// Evaluates `node` of `graph`: inputs in order; outputs are resized by their shapes. micro_index: of this
// micro-batch, for random rows, stacks and accumulation (outputs then hold the earlier content).
template <class T>
void evaluate_node(const Graph& graph, const Node& node, const EvalTensor<T>* const* inputs,
                   EvalTensor<T>* const* outputs, std::uint32_t micro_index = 0);

// Evaluates the whole graph. `tensors` has one entry per value; sources must be filled in (constants are
// filled from the graph). Runs phases `each` (once), `reduce`, `update`. In-place outputs are separate
// tensors here.
template <class T>
void evaluate(const Graph& graph, std::pmr::vector<EvalTensor<T>>& tensors);

}  // namespace volta
