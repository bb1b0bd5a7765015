// What one node has to compute and to move at least, where its shapes say so.
#pragma once

#include <cstdint>

#include "engine/graph/graph.h"

namespace volta {

struct NodeCost {
    double operations = 0;  // of products and attention, a multiply-add is two; 0: not known, or none
    std::uint64_t bytes =
        0;  // of operands and results, each once; of a table only what is read; 0: not known
};

// Of a node that is computed (no source, no alias). What cached attention reads is known to its run alone.
NodeCost node_cost(const Graph& graph, const Node& node);

// Of attention that sees `keys` keys in all.
inline double attention_operations(double keys, std::int64_t heads, std::int64_t head_dim) {
    return 4.0 * keys * static_cast<double>(heads * head_dim);  // scores, and sums of values
}

}  // namespace volta
