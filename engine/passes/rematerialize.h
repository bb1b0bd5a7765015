// A training step in less memory: what the forward pass would keep for the backward pass is computed again
// where the backward pass needs it. Same inputs, same definition, same bits. Which results that is, is the
// choice; choices follow from the graph alone, so the same budget means the same plan on every
// machine.
#pragma once

#include <memory_resource>
#include <vector>

#include "engine/graph/graph.h"

namespace volta {

struct Recomputation {
    using allocator_type = Allocator;
    explicit Recomputation(Allocator heap) : nodes(heap) {}
    Recomputation(const Recomputation& other, Allocator heap)
        : nodes(other.nodes, heap), repeated(other.repeated) {}
    Recomputation(Recomputation&& other, Allocator heap)
        : nodes(std::move(other.nodes), heap), repeated(other.repeated) {}
    Recomputation(Recomputation&&) = default;
    Recomputation& operator=(Recomputation&&) = default;

    std::pmr::vector<NodeId> nodes;  // whose results are not kept for the backward pass, ascending
    double repeated = 0;             // operations done twice; a byte that is moved counts as several
};

inline constexpr std::size_t kMostRecomputations = 64;
// What moving a byte costs beside an operation of a product. Machines differ; the order of choices must not.
inline constexpr double kOperationsPerByte = 12;

// At most kMostRecomputations, each cheaper than the next; the first repeats nothing. One alone where nothing
// is kept that could be computed again, as in graphs without a backward pass. Whether a dearer one needs less
// memory is the plan's to say.
std::pmr::vector<Recomputation> recomputations(const Graph& graph, std::pmr::memory_resource* heap);

// The graph in which the backward pass computes the results of `nodes` again: each once, right before its
// first reader there, from what is still kept.
Graph rematerialize(const Graph& graph, const std::pmr::vector<NodeId>& nodes,
                    std::pmr::memory_resource* heap);

}  // namespace volta
