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
    ValueId parameter;                        // in the new graph
    std::pmr::vector<ValueId> contributions;  // u_1 first; empty: the loss does not depend on it
};

struct Backward {
    Graph graph;                        // the forward nodes, then the backward nodes, all in Phase::each
    std::pmr::vector<ValueId> renamed;  // forward value -> value of `graph`
    std::pmr::vector<ParameterGradient> gradients;  // one per parameter, in declaration order
};

// Starts with `seed_gradient`-filled gradients: `seeds` are pairs (forward value, gradient value) whose
// gradients are made by `seed` in the new graph (for example cross_entropy_grad). Throws UNSUPPORTED with the
// operator's name when a node on the way has no gradient rule.
struct Seed {
    ValueId value;     // of the copied graph (after renaming)
    ValueId gradient;  // same shape
};
// Step 1: copy the forward graph; the caller appends loss nodes and the seeds' gradients to the copy.
// Step 2: differentiate.
Backward copy_forward(const Graph& forward, std::pmr::memory_resource* heap);
void differentiate(Backward& backward, const std::pmr::vector<Seed>& seeds);

// What a gradient rule sees (engine/graph/gradient_rules.cpp).
class GradientBuilder {
  public:
    explicit GradientBuilder(Graph& target) : graph(target) {}
    Graph& graph;
    virtual ~GradientBuilder() = default;
    // The gradient of the node's output `index`: -1 if nothing depends on it.
    virtual ValueId output_gradient(const Node& node, int index) = 0;
    // Adds one use's contribution to the gradient of input `index`. Shape: that of the input (a rule reduces
    // broadcast axes itself, with reduce_to).
    virtual void contribute(const Node& node, int index, ValueId gradient) = 0;
    virtual bool needs_gradient(ValueId value) const = 0;  // false: the rule may skip it
    // Sums `gradient` over the axes along which `shape` was broadcast (docs/numerics.md, 3: rows or columns).
    ValueId reduce_to(ValueId gradient, const Shape& shape);
};

}  // namespace volta
