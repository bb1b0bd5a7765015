// Seeded random programs over every code of the kernel language.
#pragma once

#include <cstdint>

#include "jitgen/program.h"

namespace volta::test {

enum class Shape { elementwise, rows, columns };  // no reduction | row reductions | column sums

// About `size` instructions. The same seed gives the same program everywhere.
jit::Program random_program(std::uint64_t seed, Shape shape, int size, std::pmr::memory_resource* heap);

}  // namespace volta::test
