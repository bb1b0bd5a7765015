// The mean loss of a language model over a text, in consecutive windows; and what a language model is.
#pragma once

#include <cstdint>

#include "engine/graph/graph.h"
#include "engine/runtime/context.h"

namespace volta {

class ProgramMemory;

// A graph that reads i32 [batch, time] and gives f32 [batch, time, vocabulary].
struct LanguageModel {
    std::int64_t context;  // the longest sequence (from its position ids, or a fixed time extent)
    std::int32_t vocabulary;
};
// Throws INVALID_ARGUMENT saying why the graph is none; UNSUPPORTED where a token sees later ones.
LanguageModel language_model(const Graph& graph);

struct TokenLossJob {
    Context* context;
    const Graph* graph;  // the model's, dynamic extents undecided
    std::int64_t time;   // window
    std::int64_t rows;   // windows at a time: no bit depends on it
    const std::int32_t* tokens;
    std::size_t count;
    void (*lend_parameters)(void* owner, ProgramMemory& memory);
    void* owner;
    void* arena;  // scratch to use where it is large enough; may be NULL
    std::uint64_t arena_bytes;
    void* workspace;
    std::uint64_t workspace_bytes;
};
// Each token but the first is predicted once, in windows of `time` tokens, the last one shorter. The rows'
// losses are added in double in ascending order and divided by their count. Throws INVALID_ARGUMENT: fewer
// than 2 tokens.
double mean_token_loss(const TokenLossJob& job);

}  // namespace volta
