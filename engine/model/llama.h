// The second built-in architecture: rotary positions, RMS norms, gated activations, no biases.
#pragma once

#include <cstdint>
#include <memory_resource>

#include "engine/model/model.h"

namespace volta {

// Pre-norm blocks; q, k and v from one fused weight, q and k turned by their position; fewer key/value heads
// than heads where wanted; the two factors of the feed-forward from one fused weight. With L = logits:
//
//   x = gather(token_embedding, tokens)
//   per block:  x = x + proj(attention(rotary(qkv(norm1(x)))))
//               x = x + down(swiglu(gate_up(norm2(x))))
//   L = matmul(norm_final(x), tied ? token_embedding : head.weight, transpose_b)
//
// Parameters, with h = dim / heads: token_embedding [V, dim], block.<i>.norm1.weight [dim],
// block.<i>.qkv.weight [dim, (heads + 2 kv_heads) h] (q, k, v side by side, head by head),
// block.<i>.proj.weight [dim, dim], block.<i>.norm2.weight [dim], block.<i>.gate_up.weight [dim, 2 hidden]
// (the gate first), block.<i>.down.weight [hidden, dim], norm_final.weight [dim] and, not tied,
// head.weight [V, dim]. Initial N(0, 0.02), proj and down N(0, 0.02 / sqrt(2 layers)), norm weights 1.
struct LlamaConfig {
    std::int64_t vocabulary = 0, layers = 6, dim = 384, heads = 6;
    std::int64_t kv_heads = 0;  // a divisor of heads; 0: heads
    std::int64_t hidden = 0;    // 0: 8/3 dim, rounded up to a multiple of 32
    std::int64_t context = 256;
    double rope_base = 10000, epsilon = 1e-5;
    bool tied = true;          // the head is the token embedding
    bool interleaved = false;  // rotary pairs are (2i, 2i+1), else (i, i + h/2)
};

inline constexpr std::int64_t kMostPositions = 1048576;  // of a rotary table (op_table.cpp)

// Zeros replaced by what they stand for, and everything checked. Throws INVALID_ARGUMENT.
LlamaConfig complete(const LlamaConfig& config);

// Input "tokens" i32 [-1, -1], output "logits" f32 [batch, time, vocabulary]. Throws INVALID_ARGUMENT.
Graph build_llama(const LlamaConfig& config, std::pmr::memory_resource* heap);

// Says in the model's metadata what it is: "volta.architecture" = "llama", "volta.llama.<size>" for every
// member of the completed configuration.
void describe_llama(const LlamaConfig& config, Model& model);

// A model of that graph, described.
HeapPtr<Model> create_llama(const LlamaConfig& config, std::uint64_t seed,
                            std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors,
                            const InitMachine& machine = {});

}  // namespace volta
