// Estimated cycles of products, from a machine's coefficients: enough to rank tiles and grids, and to leave
// out what cannot win; no promise of time. The caches are left to measurement.
#pragma once

#include <cstdint>

#include "engine/backend/cpu/gemm/partition.h"

namespace volta::cpu {

// One step of k of a tile of `rows` x `columns`: the busiest of arithmetic, loads and the latency of the
// chains.
double step_cycles(const Machine& machine, Isa isa, int rows, int columns);
// The same for a whole block of m x n, edges included.
double block_cycles(const Machine& machine, const GemmTile& tile, std::int64_t m, std::int64_t n);

// The cheapest usable tile for m x n, near ties to the earlier row and the wider instruction set. With B
// `in_place` only rows whose columns are whole cache lines; with A transposed none of a narrower instruction
// set, which would have to copy A.
const GemmTile& cheapest_tile(const Machine& machine, std::int64_t m, std::int64_t n, bool in_place,
                              bool a_transposed);

// Until the last of `workers` threads has ended its thread tiles.
double grid_cycles(const Machine& machine, const ProductShape& shape, const Schedule& schedule, int workers);

// How long the busiest thread takes: arithmetic, packing, traffic of C and calls of kernels.
double expected_cycles(const Machine& machine, const ProductShape& shape, const Schedule& schedule);

}  // namespace volta::cpu
