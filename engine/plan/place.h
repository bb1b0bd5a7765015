// Every value's bytes: regions for what outlives a run or belongs to the host, the arena for the rest.
#pragma once

#include "engine/plan/order.h"
#include "engine/plan/plan.h"

namespace volta {

// Gives every graph output bytes of its own: one that is a source, an alias of one, the same value as another
// output, or is overwritten in place later, is copied by a node appended to the graph.
void separate_outputs(Graph& graph, std::uint32_t micro_batches);

// Fills regions, places and micro strides of `plan`, whose graph and steps are final.
void place_values(Plan& plan, const Identity& identity);

// The ids that i32 inputs may hold, so that gather and the losses stay inside their tables. Throws
// INVALID_ARGUMENT when a constant is outside, UNSUPPORTED when ids come from where no check can be made.
void limit_inputs(Plan& plan);

// Bytes by class, from the regions.
PlanBill bill_of(const Plan& plan);

}  // namespace volta
