// The loss of a training step in pieces of rows. Logits, and their gradient over them, are the largest result
// of a network with many classes: of a piece only one is alive at a time. Rows are computed by themselves,
// and the weight's gradient goes on from one piece to the next where its chains are cut anyway
// (docs/numerics.md, 2): the same bits.
#pragma once

#include <memory_resource>
#include <optional>

#include "engine/graph/graph.h"

namespace volta {

struct SplitLoss {
    Graph graph;
    double
        repeated;  // in the measure of Recomputation: weight and gradient are moved once more for each piece
};

// None: there is no cross-entropy of more than 512 rows whose logits are a product that nobody else reads,
// or whose gradient goes elsewhere than to that product's operands. For plans of one micro-batch:
// smaller ones have the same memory and the same bits.
std::optional<SplitLoss> split_loss(const Graph& graph, std::pmr::memory_resource* heap);

}  // namespace volta
