// The decoder that GPT, Llama and their kin are rows of: one configuration, one builder. A model of another
// program is a configuration (engine/import/describe_config.cpp), never a graph of its own.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <optional>

#include "engine/model/gpt.h"
#include "engine/model/llama.h"
#include "engine/model/model.h"

namespace volta {

// Numbers are kept in files ("volta.decoder.norm"): new ones go to the end.
enum class DecoderNorm : std::int32_t {
    layer,                 // layer_norm with weight and bias
    layer_without_bias,    // with a weight alone
    layer_without_either,  // with neither
    rms,                   // rms_norm with a weight
    rms_offset             // rms_norm by 1 + weight
};
// How a block adds its two branches to x; norm1 .. are names of parameters.
enum class DecoderOrder : std::int32_t {
    before,          // x = x + A(norm1(x));               x = x + F(norm2(x))
    after,           // x = x + norm1_after(A(x));         x = x + norm2_after(F(x))
    around,          // x = x + norm1_after(A(norm1(x)));  x = x + norm2_after(F(norm2(x)))
    parallel,        // x = (x + A(norm1(x))) + F(norm2(x))
    parallel_shared  // x = (x + A(norm1(x))) + F(norm1(x))
};
enum class DecoderActivation : std::int32_t {
    gelu_tanh,
    gelu_erf,
    silu,
    relu,
    tanh,
    gelu_sigmoid,
    relu_squared
};
// Of q and k before they turn, by an rms_norm with weights norm_q and norm_k.
enum class HeadNorm : std::int32_t { none, head, row };  // over each head, over all heads

inline constexpr std::int64_t kMostFrequencies = 512;
struct Frequencies {  // radians per position of each pair that turns
    std::int64_t count = 0;
    float values[kMostFrequencies] = {};
};

// With w = head_dim, A(x) = proj(attention(turned(normed(clipped(qkv(x)))))) and
// F(x) = down(act(gate) * up) of gate_up(x), or fc_proj(act(fc(x))) where nothing is gated:
//
//   x = embedding_scale * gather(token_embedding, tokens) [+ gather(position_embedding, position_ids)]
//   per block: as `order` says, each branch times residual_scale
//   L = matmul(norm_final(x), tied ? token_embedding : head.weight, transpose_b) / logit_divisor, capped
//
// Parameters: token_embedding [V, dim]; learned positions: position_embedding [context, dim];
// block.<i>.norm1.*, norm1_after.*, norm2.*, norm2_after.* [dim] as `order` has them;
// block.<i>.qkv.weight [dim, (heads + 2 kv_heads) w] (q, k, v side by side, head by head),
// block.<i>.norm_q.weight and norm_k.weight [w] or [heads w] and [kv_heads w]; block.<i>.proj.weight
// [heads w, dim]; gated: block.<i>.gate_up.weight [dim, 2 hidden] (the gate first), block.<i>.down.weight
// [hidden, dim], else block.<i>.fc.weight [dim, hidden], block.<i>.fc_proj.weight [hidden, dim]; biases of
// these where the configuration has them; norm_final.*; not tied: head.weight [V, dim].
// Initial N(0, 0.02), what is added to x N(0, 0.02 / sqrt(2 layers)), norm weights 1 (offset: 0), biases 0.
struct DecoderConfig {
    std::int64_t vocabulary = 0, layers = 6, dim = 384, heads = 6;
    std::int64_t kv_heads = 0;  // a divisor of heads; 0: heads
    std::int64_t head_dim = 0;  // 0: dim / heads
    std::int64_t hidden = 0, context = 256;
    DecoderNorm norm = DecoderNorm::rms;
    DecoderOrder order = DecoderOrder::before;
    DecoderActivation activation = DecoderActivation::silu;
    HeadNorm head_norm = HeadNorm::none;
    bool gated = true, tied = true;
    bool qkv_bias = false, proj_bias = false, feed_bias = false;
    double epsilon = 1e-5, dropout = 0;

    // Positions: learned, or heads are turned by their position (docs/numerics.md, 4).
    bool learned_positions = false;
    bool interleaved = false;         // pairs are (2i, 2i+1), else (i, i + turned/2)
    std::int64_t turned = 0;          // elements of a head that turn, from its start; 0: all
    std::int64_t unturned_every = 0;  // every n-th layer turns nothing; 0: none
    double rope_base = 10000;         // the angle of pair i per position: base^(-2i/turned) ...
    Frequencies frequencies;          // ... or these, where there are some
    double rope_scale = 1;            // factor of cosines and sines
    double window_rope_base = 0;      // of layers with a window, without `frequencies`; 0: as the others

    // Attention.
    std::int64_t window = 0;      // keys that a token sees, itself included; 0: all before it
    std::int64_t full_every = 0;  // every n-th layer has no window; 0: all that may have one
    std::int64_t full_first = 0;  // nor have these first layers
    double score_scale = 0;       // 0: 1 / sqrt(head_dim)
    double score_cap = 0;         // s becomes cap * tanh(s / cap); 0: as it is
    double qkv_limit = 0;         // qkv is clamped to it and its negative; 0: none

    double embedding_scale = 1, residual_scale = 1, logit_divisor = 1;
    double logit_cap = 0;
};

// Calls visit(name, member) for every member, by which files and messages know it.
template <class Config, class Visit>
void each_member(Config& c, Visit visit) {
    visit("vocabulary", c.vocabulary), visit("layers", c.layers), visit("dim", c.dim);
    visit("heads", c.heads), visit("kv_heads", c.kv_heads), visit("head_dim", c.head_dim);
    visit("hidden", c.hidden), visit("context", c.context);
    visit("norm", c.norm), visit("order", c.order), visit("activation", c.activation);
    visit("head_norm", c.head_norm), visit("gated", c.gated), visit("tied", c.tied);
    visit("qkv_bias", c.qkv_bias), visit("proj_bias", c.proj_bias), visit("feed_bias", c.feed_bias);
    visit("epsilon", c.epsilon), visit("dropout", c.dropout);
    visit("learned_positions", c.learned_positions), visit("interleaved", c.interleaved);
    visit("turned", c.turned), visit("unturned_every", c.unturned_every);
    visit("rope_base", c.rope_base), visit("frequencies", c.frequencies);
    visit("rope_scale", c.rope_scale), visit("window_rope_base", c.window_rope_base);
    visit("window", c.window), visit("full_every", c.full_every), visit("full_first", c.full_first);
    visit("score_scale", c.score_scale), visit("score_cap", c.score_cap), visit("qkv_limit", c.qkv_limit);
    visit("embedding_scale", c.embedding_scale), visit("residual_scale", c.residual_scale);
    visit("logit_divisor", c.logit_divisor), visit("logit_cap", c.logit_cap);
}

// Zeros replaced by what they stand for, and everything checked. Throws INVALID_ARGUMENT.
DecoderConfig complete(const DecoderConfig& config);

DecoderConfig decoder_of(const GptConfig& config);
DecoderConfig decoder_of(const LlamaConfig& config);  // completed
// The same model as one of these, whose files older readers know; nothing where it is neither. `config` is
// complete.
std::optional<GptConfig> as_gpt(const DecoderConfig& config);
std::optional<LlamaConfig> as_llama(const DecoderConfig& config);

// Input "tokens" i32 [-1, -1], output "logits" f32 [batch, time, vocabulary]. With dropout > 0 the graph also
// has the input "step/random" and drops after the embedding, in attention and at the end of both branches.
// Throws INVALID_ARGUMENT; `kind` names the model there.
Graph build_decoder(const DecoderConfig& config, const char* kind, std::pmr::memory_resource* heap);

// Says in the model's metadata what it is: "volta.architecture" = "decoder", "volta.decoder.<member>".
void describe_decoder(const DecoderConfig& config, Model& model);

}  // namespace volta
