// Reverse-mode differentiation: builds the backward graph beside a copy of the forward one. The forward graph
// is never changed.
#pragma once

#include <memory_resource>
#include <vector>

#include "engine/graph/graph.h"

namespace volta {

// A parameter's gradient as its uses gave it: u_1 is the first use in graph order. Each is complete; the
// caller adds them as ((u_m + u_{m-1}) + ...) + u_1 (docs/numerics.md, 2.2), after accumulation over
// micro-batches.
struct ParameterGradient {
    using allocator_type = Allocator;
    explicit ParameterGradient(Allocator heap) : contributions(heap) {}
    ParameterGradient(ParameterGradient&& other, Allocator heap)
        : parameter(other.parameter), contributions(std::move(other.contributions), heap) {}
    ParameterGradient(ParameterGradient&&) = default;
    ParameterGradient& operator=(ParameterGradient&&) = default;

    ValueId parameter = -1;                   // in the new graph
    std::pmr::vector<ValueId> contributions;  // u_1 first; empty: the loss does not depend on it
};

struct Backward {
    explicit Backward(std::pmr::memory_resource* heap)
        : graph(heap), renamed(heap), gradients(heap), detached(heap) {}
    Graph graph;                        // the forward nodes, then the backward nodes, all in Phase::each
    std::pmr::vector<ValueId> renamed;  // forward value -> value of `graph`
    // One per parameter, in declaration order. Those that the caller takes out before it differentiates are
    // constants.
    std::pmr::vector<ParameterGradient> gradients;
    // Values of `graph` that count as constants: nothing before them gets a gradient through them. Ascending.
    std::pmr::vector<ValueId> detached;
};

// Where differentiation starts: a value of the copied graph and its gradient, which the caller has added to
// that graph (for example by cross_entropy_grad). Seeds count as the last uses of their values, in their
// order.
struct Seed {
    ValueId value;
    ValueId gradient;  // same shape
};
// Step 1: copy the forward graph (of concrete shapes: rules write them into attributes); the caller appends
// loss nodes and the seeds' gradients to the copy. Step 2: differentiate. Throws UNSUPPORTED with the
// operator's name when a node on the way has no gradient rule.
Backward copy_forward(const Graph& forward, std::pmr::memory_resource* heap);
void differentiate(Backward& backward, const std::pmr::vector<Seed>& seeds);

}  // namespace volta
