// How much of a table of angles is read. A model has a row for each position of its whole context, 131,072 of
// them where a run has a hundred tokens, and each row takes as long to make as hundreds do to read.
#pragma once

#include <cstdint>

#include "engine/graph/graph.h"

namespace volta {

// The longest sequence whose positions turn vectors by this result of a rotary_table: every reader is a
// `rotary` by position_ids. -1: something else reads it, or nothing does.
std::int64_t turned_positions(const Graph& graph, ValueId table);

// Enters the node in `to` with no more than so many rows.
void copy_first_angles(const Graph& from, NodeId table, std::int64_t rows, Graph& to,
                       std::pmr::vector<ValueId>& renamed);

}  // namespace volta
