// What every graph satisfies. Run before and after every pass, and by the gateway before a plan is made.
#pragma once

#include "engine/graph/graph.h"

namespace volta {

// Throws Error{INTERNAL} naming node and rule: inputs before users, one producer, arity and attributes by the
// table, shapes equal to a fresh inference, phases never run backwards (a node reads values of its own or an
// earlier phase; `reduce` and `update` read values of `each` only if they persist over micro-batches:
// sources, accumulating outputs, stacks), in-place outputs written after every other reader can run, unique
// source names, outputs exist.
void verify(const Graph& graph);

}  // namespace volta
