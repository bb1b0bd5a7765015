// The graph as stable text: one node a line, for logs, golden tests, hashes and plan-cache keys.
#pragma once

#include <memory_resource>
#include <string>

#include "engine/graph/graph.h"

namespace volta {

//   %5 = matmul(%3, %4) {transpose_b=1} : f32[4, 256, 1152]
//   %7, %8, %9 = layer_norm(%5, %1, %2) {epsilon=1e-05} : f32[4, 256, 384], f32[4, 256], f32[4, 256]
//   %6 = fused(%5, %2) [0 = add(in0, in1); 1 = relu(0); results 1] : f32[4, 256]
// Defaults of 0, of nothing and of "to the end" are left out. Numbers are the shortest decimals that read
// back as the same double, whatever the locale. Constants print their bits. Complete: equal text means equal
// graph.
std::pmr::string print(const Graph& graph, std::pmr::memory_resource* heap);
// The same with a hash in the place of constants of many elements, for texts that are kept and shown.
std::pmr::string print_shortened(const Graph& graph, std::pmr::memory_resource* heap);

// The operator tables of docs/operators.md, from the rows.
std::pmr::string print_operator_table(std::pmr::memory_resource* heap);

}  // namespace volta
