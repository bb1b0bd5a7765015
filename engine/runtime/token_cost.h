// What a program has to read and compute at least, counted over its graph.
#pragma once

#include <cstdint>

#include "engine/graph/graph.h"

namespace volta {

struct TokenCost {
    std::uint64_t parameter_bytes = 0;  // each parameter once; of a table only the rows that are gathered
    std::uint64_t cache_bytes = 0;      // keys and values of the positions that are seen
    double operations = 0;              // of products and attention: a multiply-add is two
};

// Of one run of the graph. A row of cached_attention is at `position`.
TokenCost token_cost(const Graph& graph, std::int64_t position);

}  // namespace volta
