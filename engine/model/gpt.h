// The first built-in architecture, and the inference form of any graph that was written for training.
#pragma once

#include <cstdint>
#include <memory_resource>

#include "engine/model/model.h"

namespace volta {

// GPT with learned positions, pre-norm blocks, one fused QKV weight and a tied head. With L = logits:
//
//   x = gather(token_embedding, tokens) + gather(position_embedding, position_ids(tokens))
//   per block:  x = x + proj(attention(qkv(norm1(x))))
//               x = x + fc_proj(gelu_tanh(fc(norm2(x))))
//   L = matmul(norm_final(x), token_embedding, transpose_b)
//
// Parameters: token_embedding [V, d], position_embedding [context, d], block.<i>.norm1.weight and .bias [d],
// block.<i>.qkv.weight [d, 3d] and .bias, block.<i>.proj.weight [d, d] and .bias, block.<i>.norm2.*,
// block.<i>.fc.weight [d, 4d] and .bias, block.<i>.fc_proj.weight [4d, d] and .bias, norm_final.*.
// Initial N(0, 0.02), proj and fc_proj N(0, 0.02 / sqrt(2 layers)), norm weights 1, biases 0.
struct GptConfig {
    std::int64_t vocabulary = 0, layers = 6, dim = 384, heads = 6, context = 256;
    double dropout = 0;
};

// Input "tokens" i32 [-1, -1], output "logits" f32 [batch, time, vocabulary]. With dropout > 0 the graph also
// has the input "step/random" and drops after the embedding, in attention and at the end of both branches.
// Throws INVALID_ARGUMENT.
Graph build_gpt(const GptConfig& config, std::pmr::memory_resource* heap);

// Says in the model's metadata what it is: "volta.architecture" = "gpt", "volta.gpt.layers", ...
void describe_gpt(const GptConfig& config, Model& model);

// A model of that graph, described.
HeapPtr<Model> create_gpt(const GptConfig& config, std::uint64_t seed, std::pmr::memory_resource* structures,
                          std::pmr::memory_resource* tensors, const InitMachine& machine = {});

// The graph as inference runs it: dropout replaced by its input, attention with probability 0, "step/random"
// gone. Outputs, parameters and the host's inputs keep their names and order.
Graph without_dropout(const Graph& graph, std::pmr::memory_resource* heap);

}  // namespace volta
