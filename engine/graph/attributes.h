// Checking attributes against the rows of an operator.
#pragma once

#include "engine/graph/graph.h"

namespace volta {

// Every attribute of the row, in its order: as given, or the default. Throws INVALID_ARGUMENT: one that the
// row does not have, a missing one, one given twice, a number out of its bounds.
void complete_attributes(const OpRow& row, std::pmr::vector<Attribute>& attributes);

// Throws INVALID_ARGUMENT unless the node has as many inputs as its row says, all of this graph.
void check_inputs(const Graph& graph, const Node& node);

}  // namespace volta
