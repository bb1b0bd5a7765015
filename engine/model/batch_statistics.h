// Batch norm in training: statistics of the batch at hand, which the running ones of the model follow.
#pragma once

#include <memory_resource>

#include "engine/graph/graph.h"

namespace volta {

// A batch norm by the statistics of x itself; inputs are x, scale, bias, running mean and running variance.
struct TrainedNorm {
    ValueId y;
    ValueId running;  // the mean that follows; the variance is the next value
};
TrainedNorm add_trained_norm(Graph& to, const ValueId* inputs, const Attribute* epsilon,
                             const Attribute* momentum);  // NULL: the default

// The graph (of concrete shapes) with batch_statistics and batch_norm_train in the place of every batch_norm
// whose running statistics are not frozen (one entry per value; empty: none is), and a node
// running_statistics beside it, of which nobody reads anything yet: whoever makes steps of the graph assigns
// its results to the parameters that are its first two inputs. Sources and outputs keep their
// names and order. Throws INVALID_ARGUMENT where the running statistics are no parameters or are read by
// others too, or one of the two is frozen alone, SHAPE_MISMATCH where a channel has one value alone.
Graph with_batch_statistics(const Graph& graph, const std::pmr::vector<char>& frozen,
                            std::pmr::memory_resource* heap);

}  // namespace volta
