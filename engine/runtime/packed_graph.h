// A language model's graph over rows that hold documents side by side: none sees another, and each begins at
// position 0. Of training alone; the model that is saved stays as it is.
#pragma once

#include <cstdint>
#include <memory_resource>

#include "engine/graph/graph.h"

namespace volta {

// The input beside the model's tokens, i32 of their shape: the place in its row where each token's document
// begins.
inline constexpr const char* kStartsInput = "document_starts";

// Throws unless tokens of the model meet in causal attention alone, so that documents can be kept apart.
void check_packable(const Graph& model, std::pmr::memory_resource* heap);

// `concrete` is such a model over [batch, time] tokens.
Graph packed_graph(const Graph& concrete, std::pmr::memory_resource* heap);

// Throws INVALID_ARGUMENT unless each of `rows` rows of `time` places is one document behind the other: a
// token's document begins at its own place, or where that of the token before it does.
void check_starts(const std::int32_t* starts, std::int64_t rows, std::int64_t time);

}  // namespace volta
