// The passes themselves, one file each. What each may do is said in docs/passes.md; all of it keeps every
// bit. Graphs are concrete: every extent is known (specialize comes first).
#pragma once

#include <memory_resource>

#include "engine/graph/graph.h"

namespace volta {

Graph fold_constants(const Graph& graph, std::pmr::memory_resource* heap);
Graph simplify(const Graph& graph, std::pmr::memory_resource* heap);
Graph merge_duplicates(const Graph& graph, std::pmr::memory_resource* heap);
Graph fuse_weight_gradients(const Graph& graph, std::pmr::memory_resource* heap);
Graph recompute(const Graph& graph, std::pmr::memory_resource* heap);
Graph split_batch_norm(const Graph& graph, std::pmr::memory_resource* heap);
Graph fuse_elementwise(const Graph& graph, std::pmr::memory_resource* heap);
Graph fuse_epilogues(const Graph& graph, std::pmr::memory_resource* heap);
Graph fuse_rows(const Graph& graph, std::pmr::memory_resource* heap);
Graph remove_dead(const Graph& graph, std::pmr::memory_resource* heap);

}  // namespace volta
