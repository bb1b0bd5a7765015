// A better placement than the memory planner's first one: which buffers, below which capacity, in which
// orders.
#pragma once

#include <cstdint>

#include "engine/plan/memory_planner.h"

namespace volta {

// Makes the arena of `plan`, a placement of `buffers`, smaller, if in `steps` steps it finds how; ends when
// it is no larger than `goal` bytes. What it does depends on its arguments alone.
void search_placement(const std::pmr::vector<Lifetime>& buffers, std::uint64_t goal, std::uint64_t steps,
                      MemoryPlan& plan);

}  // namespace volta
