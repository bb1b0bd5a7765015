// Which rows of a generator's run are computed to their end.
#pragma once

#include "engine/graph/graph.h"

namespace volta {

// Of a graph over rows [tokens, 1] whose only joining of tokens is cached attention: its first output, f32
// [tokens, 1, vocabulary], becomes "logits" [n, vocabulary], of the rows that the i32 input `rows` [n] names.
// What no attention reads, which is the last block behind its attention and the head, is computed for these
// rows alone: rows are independent, so they keep their bits. False, and the graph as it was, where that part
// has an operator that is not known to keep rows apart.
bool narrow_to_logit_rows(Graph& graph, std::int64_t tokens, ValueId rows);

}  // namespace volta
