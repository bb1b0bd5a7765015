// How full the arena is at each step of a plan: for profiles, and for those who look for the peak's cause.
#pragma once

#include "engine/plan/plan.h"

namespace volta {

// One number per step: the bytes of the arena, padded as they are placed, that hold a value which the step or
// a later one reads, or which the step writes. The largest is at most the arena; on GPTs it is the arena.
std::pmr::vector<std::uint64_t> live_bytes(const Plan& plan, std::pmr::memory_resource* heap);

}  // namespace volta
