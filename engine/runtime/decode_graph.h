// A model's graph as a generator runs it: over rows of tokens, each of any sequence and at any position, with
// a cache of keys and values in the place of the tokens before.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <string>

#include "engine/graph/graph.h"

namespace volta {

struct DecodeShape {
    std::int64_t rows = 1;        // tokens per run
    std::int64_t logit_rows = 1;  // of these, how many want logits; 0: none
    std::int64_t slots = 1;       // sequences that the cache holds
    std::int64_t capacity = 16;   // tokens of a sequence, a multiple of 16
};

// Inputs beside the model's tokens, i32: StepInput::position and slot, the position of each row's token in
// its sequence and the slot of that sequence (-1: no token) [rows, 1]; StepInput::logit_row, which rows want
// logits [logit_rows].

// Why the model cannot be run so: "node %12 (mean) joins tokens". Empty: it can, because whatever joins
// tokens in it is causal attention.
std::pmr::string decode_obstacle(const Graph& model, std::pmr::memory_resource* heap);

// The model's graph over `rows` sequences of one token each.
Graph graph_of_rows(const Graph& model, std::int64_t rows, std::pmr::memory_resource* heap);

// Whether the node of such a graph is a table of angles that a generator has once for all its programs,
// filled as far as its sequences have come (decode_angles.h). Its state in the decode graph is "angles/<i>",
// of min(limit, capacity) rows, where i counts these nodes.
bool has_lent_angles(const Graph& graph, NodeId node);
constexpr int kAngleNameBytes = 24;
void write_angle_name(int table, char* name);

// Output "logits" f32 [logit_rows, vocabulary], if any; the states "cache/<i>/keys" and "cache/<i>/values"
// are those of the i-th attention (cached_attention in docs/operators.md). Only where decode_obstacle() is
// empty.
Graph decode_graph(const Graph& model, const DecodeShape& shape, std::pmr::memory_resource* heap);

// Replaces the graph's first output, f32 [batch, time, vocabulary] over `tokens` = batch * time rows, by
// "logits": those of the rows that the i32 input `rows` [n] names. Where the head is one product, only these
// rows of it are computed: rows are independent, so they keep their bits.
void keep_logit_rows(Graph& graph, std::int64_t tokens, ValueId rows);

}  // namespace volta
