// What is tried, and what is told of it. Each is true where nothing was lost, leaked or hung.
#pragma once

#include <cstdint>

#include "tests/faults/world.h"

namespace volta::faults {

// Every allocation is the host's, but those that heap_exceptions.cpp names.
bool count_heap_use(World& world);
// At most about `points`, spread over all there are; 0: all.
bool refuse_allocations(World& world, std::uint64_t points);
bool fail_io(World& world, std::uint64_t points);
// Processes that save over and over, killed at random moments.
bool kill_saves(World& world, const char* folder, std::uint64_t kills);

}  // namespace volta::faults
