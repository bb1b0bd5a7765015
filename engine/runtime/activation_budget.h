// The plan of a training step whose activations fit in what the host gives for them.
#pragma once

#include <cstdint>
#include <memory_resource>

#include "engine/plan/plan.h"

namespace volta {

// Runs the passes on `graph` and plans the result. Of the choices of what the backward pass computes
// again (recomputations), with the loss whole or in pieces, it is the cheapest one whose activations are at
// most `budget` bytes: each is planned, where it does not fit in the order of steps that needs less memory
// too, and its own bill counts. So a smaller budget never gives a larger plan. Throws OUT_OF_MEMORY with the
// smallest budget that works.
HeapPtr<Plan> plan_within(const Graph& graph, std::uint32_t passes, const PlanOptions& options,
                          std::uint64_t budget, std::pmr::memory_resource* heap);

// The smallest budget that works. Plans every choice.
std::uint64_t smallest_activations(const Graph& graph, std::uint32_t passes, const PlanOptions& options,
                                   std::pmr::memory_resource* heap);

}  // namespace volta
