// The pass table: graph to graph, each with the same bits (docs/numerics.md, 9), verified before and after.
#pragma once

#include <memory_resource>
#include <string>

#include "engine/graph/graph.h"

namespace volta {

struct PassRow {
    const char* name;  // "fold_constants", ...
    Graph (*run)(const Graph& graph, std::pmr::memory_resource* heap);
    const char* meaning;  // one line, for docs
};
// In pipeline order.
extern const PassRow kPasses[];
extern const int kPassCount;

inline constexpr std::uint32_t kAllPasses = 0xffffffffu;  // bit i: pass i runs (tests run all subsets)

// Runs one pass and verifies its result; what it breaks is reported with its name.
Graph run_pass(const PassRow& pass, const Graph& graph, std::pmr::memory_resource* heap);

// Runs verify, pass, verify, ...
Graph run_passes(const Graph& graph, std::uint32_t enabled, std::pmr::memory_resource* heap);

// Where two pipelines part: runs both on `graph` pass by pass and, if the results differ, names the first
// pass and the first differing node with both lines. "" when all agree.
std::pmr::string first_divergence(const Graph& graph, std::uint32_t enabled_a, std::uint32_t enabled_b,
                                  std::pmr::memory_resource* heap);

}  // namespace volta
