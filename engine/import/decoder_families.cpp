#include "engine/import/decoder_families.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <iterator>

#include "engine/import/config_sizes.h"
#include "engine/import/rope_settings.h"
#include "engine/model/text.h"
#include "engine/model/transformer.h"

namespace volta {

// A config that is being read into a DecoderConfig.
class DecoderSettings {
  public:
    DecoderSettings(const ConfigFile& given, const WeightShapes& weights)
        : config(given), shapes(weights), sizes(given, weights) {}

    const ConfigFile& config;
    const WeightShapes& shapes;
    const ConfigSizes sizes;
    std::string_view rope_layers;  // see read_rope
    DecoderConfig decoder;
};

namespace {

// ---- What several families say by the same words ----

struct ActivationName {
    const char* name;
    DecoderActivation activation;
};
constexpr ActivationName kActivations[] = {
    {"gelu_new", DecoderActivation::gelu_tanh},
    {"gelu_pytorch_tanh", DecoderActivation::gelu_tanh},
    {"gelu_fast", DecoderActivation::gelu_tanh},
    {"gelu_python_tanh", DecoderActivation::gelu_tanh},
    {"gelu", DecoderActivation::gelu_erf},
    {"gelu_python", DecoderActivation::gelu_erf},
    {"silu", DecoderActivation::silu},
    {"swish", DecoderActivation::silu},
    {"relu", DecoderActivation::relu},
    {"relu2", DecoderActivation::relu_squared},
    {"quick_gelu", DecoderActivation::gelu_sigmoid},
    {"tanh", DecoderActivation::tanh},
};

void read_activation(DecoderSettings& s, std::string_view setting, const char* fallback) {
    const std::string_view name = s.config.text(setting, fallback);
    for (const ActivationName& row : kActivations)
        if (name == row.name) {
            s.decoder.activation = row.activation;
            return;
        }
    const ShownName part = shown(name);
    fail(VOLTA_UNSUPPORTED, "the config has '%.*s' '%.*s', an activation that no decoder of Volta has",
         static_cast<int>(setting.size()), setting.data(), part.bytes, part.text);
}

void read_activation(DecoderSettings& s, const char* fallback) {
    read_activation(s, s.config.first_of({"hidden_act", "hidden_activation"}), fallback);
}

// The sizes and the switches that Llama and all that followed it write.
void read_llama(DecoderSettings& s, bool tied = false, double epsilon = 1e-6,
                const char* activation = "silu") {  // NULL: another's to read
    DecoderConfig& d = s.decoder;
    d.vocabulary = s.sizes.size({"vocab_size"}, "token_embedding", 0);
    d.layers = s.sizes.layers({"num_hidden_layers"});
    d.dim = s.sizes.size({"hidden_size"}, "token_embedding", 1);
    d.heads = s.sizes.heads({"num_attention_heads"});
    d.kv_heads = s.config.integer("num_key_value_heads", d.heads);
    d.head_dim = s.config.integer("head_dim", d.head_dim);
    d.hidden = s.sizes.size({"intermediate_size"}, "block.0.gate_up.weight", 0, Part::gate);
    d.context = s.config.integer(s.config.first_of({"max_position_embeddings", "n_positions"}), 2048);
    d.epsilon = s.config.number("rms_norm_eps", epsilon);
    d.tied = s.config.truth("tie_word_embeddings", tied);
    if (activation != nullptr) read_activation(s, activation);
    read_rope(s.config, s.rope_layers, d, s.shapes.heap());
}

void read_biases(DecoderSettings& s) {
    s.decoder.qkv_bias = s.decoder.proj_bias = s.config.truth("attention_bias", false);
    s.decoder.feed_bias = s.config.truth("mlp_bias", false);
}

// Every n-th of `count` layers, where a list says of each layer whether it is one; 0: none of them.
template <class Is>
std::int64_t period_of(std::int64_t count, const char* setting, Is is) {
    std::int64_t period = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        if (is(i) && period == 0) period = i + 1;
        if (is(i) != (period > 0 && (i + 1) % period == 0))
            fail(VOLTA_UNSUPPORTED,
                 "the config's '%s' follows no period: layer %" PRId64 " is not as the layers before it say",
                 setting, i);
    }
    return period;
}

bool has_window(const DecoderConfig& d, std::int64_t layer) {
    if (d.window == 0 || layer < d.full_first) return false;
    return d.full_every == 0 || (layer + 1) % d.full_every != 0;
}

// "layer_types", where it stands, must say what the other settings mean.
void check_layer_types(const DecoderSettings& s) {
    const auto types = s.config.list("layer_types", s.shapes.heap());
    if (types.empty()) return;
    if (static_cast<std::int64_t>(types.size()) != s.decoder.layers)
        fail(VOLTA_CORRUPT_MODEL, "the config's 'layer_types' has %zu entries for %" PRId64 " layers",
             types.size(), s.decoder.layers);
    for (std::size_t i = 0; i < types.size(); ++i) {
        const char* const expected =
            has_window(s.decoder, static_cast<std::int64_t>(i)) ? "sliding_attention" : "full_attention";
        const ShownName given = shown(types[i]);
        if (types[i] != expected)
            fail(VOLTA_UNSUPPORTED,
                 "the config's 'layer_types' has '%.*s' for layer %zu, its other settings say '%s'",
                 given.bytes, given.text, i, expected);
    }
}

// Layers with and without a window, as "layer_types" says, else every `period`-th without.
void read_alternation(DecoderSettings& s, std::int64_t window, std::int64_t period) {
    s.decoder.window = s.config.integer("sliding_window", window);
    s.decoder.full_every = period;
    const auto types = s.config.list("layer_types", s.shapes.heap());
    const auto count = static_cast<std::int64_t>(types.size());
    if (count == s.decoder.layers)
        s.decoder.full_every = period_of(count, "layer_types", [&](std::int64_t i) {
            return types[static_cast<std::size_t>(i)] == "full_attention";
        });
    check_layer_types(s);
}

// The same for all layers; a window of null or 0 is none.
void read_window(DecoderSettings& s, std::int64_t fallback) {
    s.decoder.window = s.config.is_null("sliding_window") ? 0 : s.config.integer("sliding_window", fallback);
    check_layer_types(s);
}

// Qwen's: a switch, and first layers that have none.
void read_qwen_window(DecoderSettings& s) {
    const bool has = s.config.truth("use_sliding_window", false);
    const std::int64_t window = s.config.integer("sliding_window", 4096),
                       first = s.config.integer("max_window_layers", 28);
    if (has && first < s.decoder.layers) {
        s.decoder.window = window;
        s.decoder.full_first = first;
    }
    check_layer_types(s);
}

void read_gemma(DecoderSettings& s) {
    DecoderConfig& d = s.decoder;
    d.head_dim = 256;
    read_llama(s, true, 1e-6, nullptr);
    const bool has_newer = s.config.has("hidden_activation");
    read_activation(s, has_newer ? "hidden_activation" : "hidden_act", "gelu_pytorch_tanh");
    // The first files say "gelu" and mean its approximation.
    if (s.config.text("hidden_act", "") == "gelu" && !has_newer) d.activation = DecoderActivation::gelu_tanh;
    d.qkv_bias = d.proj_bias = s.config.truth("attention_bias", false);
    d.norm = DecoderNorm::rms_offset;
    d.embedding_scale = static_cast<double>(std::sqrt(static_cast<float>(d.dim)));
    s.config.expect("use_bidirectional_attention", false);
}

void read_around(DecoderSettings& s) {
    read_gemma(s);
    DecoderConfig& d = s.decoder;
    d.order = DecoderOrder::around;
    d.score_scale = 1 / std::sqrt(s.config.number("query_pre_attn_scalar", 256));
    d.score_cap = s.config.number("attn_logit_softcapping", 0);
    d.logit_cap = s.config.number("final_logit_softcapping", 0);
}

// ---- Families ----

// The parameter, or a part of it.
bool is_there(const DecoderSettings& s, std::string_view parameter) {
    const auto has = [&](Part part) { return s.shapes.find(parameter, part) != nullptr; };
    return has(Part::whole) || has(Part::q) || has(Part::k) || has(Part::v);
}

// GPT-2 and its variants: biases and those of norms as the file has them.
void read_gpt(DecoderSettings& s, const char* activation, std::int64_t context) {
    DecoderConfig& d = s.decoder;
    d.context = context;
    d.norm = is_there(s, "block.0.norm1.bias") || !is_there(s, "block.0.norm1.weight")
                 ? DecoderNorm::layer
                 : DecoderNorm::layer_without_bias;
    const bool plain = is_there(s, "block.0.qkv.weight") && !is_there(s, "block.0.qkv.bias");
    d.qkv_bias = d.proj_bias = d.feed_bias = !plain;
    d.gated = false;
    d.learned_positions = true;
    d.hidden = d.dim < kMostModelSize ? 4 * d.dim : 0;
    read_activation(s, s.config.first_of({"activation_function", "hidden_act", "hidden_activation"}),
                    activation);
    const std::string_view inner = s.config.first_of({"n_inner", "intermediate_size"});
    if (s.config.has(inner)) d.hidden = s.config.integer(inner);
    d.epsilon = s.config.number(s.config.first_of({"layer_norm_epsilon", "layer_norm_eps"}), 1e-5);
    d.tied = s.config.truth("tie_word_embeddings", true);
}

void gpt2(DecoderSettings& s) {
    DecoderConfig& d = s.decoder;
    d.vocabulary = s.sizes.size({"vocab_size"}, "token_embedding", 0);
    d.layers = s.sizes.layers({"n_layer", "num_hidden_layers"});
    d.dim = s.sizes.size({"n_embd", "hidden_size"}, "token_embedding", 1);
    d.heads = s.sizes.heads({"n_head", "num_attention_heads"});
    read_gpt(s, "gelu_new",
             s.sizes.size({"n_positions", "max_position_embeddings"}, "position_embedding", 0));
    s.config.expect("scale_attn_weights", true);
    s.config.expect("scale_attn_by_inverse_layer_idx", false);
    s.config.expect("add_cross_attention", false);
}

// A checkpoint of nanoGPT with its model_args as the config.
void nanogpt(DecoderSettings& s) {
    DecoderConfig& d = s.decoder;
    d.vocabulary = s.sizes.size({"vocab_size"}, "token_embedding", 0);
    d.layers = s.sizes.layers({"n_layer"});
    d.dim = s.sizes.size({"n_embd"}, "token_embedding", 1);
    d.heads = s.sizes.heads({"n_head"});
    read_gpt(s, "gelu", s.sizes.size({"block_size"}, "position_embedding", 0));
    s.config.truth("bias", true);
}

void llama(DecoderSettings& s) {
    read_llama(s);
    read_biases(s);
}

void mistral(DecoderSettings& s) {
    read_llama(s);
    read_window(s, 4096);
}

void qwen2(DecoderSettings& s) {
    read_llama(s);
    s.decoder.qkv_bias = true;
    read_qwen_window(s);
}

void qwen3(DecoderSettings& s) {
    s.decoder.head_dim = 128;
    read_llama(s);
    s.decoder.qkv_bias = s.decoder.proj_bias = s.config.truth("attention_bias", false);
    s.decoder.head_norm = HeadNorm::head;
    read_qwen_window(s);
}

void gemma2(DecoderSettings& s) {
    read_around(s);
    read_alternation(s, 4096, 2);
}

void gemma3(DecoderSettings& s) {
    DecoderConfig& d = s.decoder;
    s.rope_layers = "full_attention";
    d.rope_base = 1e6;
    read_around(s);
    d.head_norm = HeadNorm::head;
    read_alternation(s, 4096, s.config.integer("sliding_window_pattern", 6));
    d.window_rope_base = read_local_base(s.config, 10000);
}

void phi3(DecoderSettings& s) {
    read_llama(s, false, 1e-5);
    s.config.number("original_max_position_embeddings", 0);  // of longrope alone
    read_window(s, 0);
}

void smollm3(DecoderSettings& s) {
    read_llama(s, true);
    read_biases(s);
    DecoderConfig& d = s.decoder;
    d.unturned_every = s.config.integer("no_rope_layer_interval", 4);
    const auto turned = s.config.numbers("no_rope_layers", s.shapes.heap());
    if (!turned.empty()) {
        if (static_cast<std::int64_t>(turned.size()) != d.layers)
            fail(VOLTA_CORRUPT_MODEL, "the config's 'no_rope_layers' has %zu entries for %" PRId64 " layers",
                 turned.size(), d.layers);
        d.unturned_every = period_of(d.layers, "no_rope_layers", [&](std::int64_t i) {
            return turned[static_cast<std::size_t>(i)] == 0;
        });
    }
    s.config.expect("use_sliding_window", false);
    s.config.expect_absent("sliding_window");
    check_layer_types(s);
}

void olmo(DecoderSettings& s) {
    read_llama(s);
    s.decoder.qkv_bias = s.decoder.proj_bias = s.config.truth("attention_bias", false);
    s.decoder.norm = DecoderNorm::layer_without_either;
    s.decoder.epsilon = 1e-5;
    s.decoder.qkv_limit = s.config.number("clip_qkv", 0);
}

void olmo2(DecoderSettings& s) {
    read_llama(s, false, 1e-5);
    s.decoder.qkv_bias = s.decoder.proj_bias = s.config.truth("attention_bias", false);
    s.decoder.order = DecoderOrder::after;
    s.decoder.head_norm = HeadNorm::row;
}

void granite(DecoderSettings& s) {
    read_llama(s);
    read_biases(s);
    s.decoder.embedding_scale = s.config.number("embedding_multiplier", 1);
    s.decoder.residual_scale = s.config.number("residual_multiplier", 1);
    s.decoder.score_scale = s.config.number("attention_multiplier", 1);
    s.decoder.logit_divisor = s.config.number("logits_scaling", 1);
}

void stablelm(DecoderSettings& s) {
    s.decoder.turned = -1;  // a quarter of a head, where the config says nothing else
    read_llama(s);
    s.decoder.norm = DecoderNorm::layer;
    s.decoder.epsilon = s.config.number("layer_norm_eps", 1e-5);
    s.decoder.qkv_bias = s.config.truth("use_qkv_bias", false);
    s.config.expect("qk_layernorm", false);
    if (s.config.truth("use_parallel_residual", false)) s.decoder.order = DecoderOrder::parallel_shared;
}

void gpt_neox(DecoderSettings& s) {
    DecoderConfig& d = s.decoder;
    d.vocabulary = s.sizes.size({"vocab_size"}, "token_embedding", 0);
    d.layers = s.sizes.layers({"num_hidden_layers"});
    d.dim = s.sizes.size({"hidden_size"}, "token_embedding", 1);
    d.heads = s.sizes.heads({"num_attention_heads"});
    d.hidden = s.sizes.size({"intermediate_size"}, "block.0.fc.weight", 0);
    d.context = s.config.integer("max_position_embeddings", 2048);
    d.norm = DecoderNorm::layer;
    d.epsilon = s.config.number("layer_norm_eps", 1e-5);
    d.gated = false;
    d.tied = s.config.truth("tie_word_embeddings", false);
    d.feed_bias = true;
    d.qkv_bias = d.proj_bias = s.config.truth("attention_bias", true);
    d.order = s.config.truth("use_parallel_residual", true) ? DecoderOrder::parallel : DecoderOrder::before;
    read_activation(s, "gelu");
    s.config.truth("is_decoder", false);  // a decoder either way
    d.turned = -1;
    read_rope(s.config, {}, d, s.shapes.heap());
}

constexpr DecoderFamily kFamilies[] = {
    {"gpt2", "gpt", "GPT2LMHeadModel GPT2Model", "GPT-2 and its variants", gpt2},
    {"nanogpt", "nanogpt", "GPT", "nanoGPT (its model_args as the config)", nanogpt},
    {"llama", "llama", "LlamaForCausalLM LLaMAForCausalLM LlamaModel",
     "Llama 1 to 3.3, SmolLM 1 and 2, TinyLlama, DeepSeek LLM and Coder, Yi", llama},
    {"mistral", "llama", "MistralForCausalLM MistralModel", "Mistral 7B, Mistral Nemo, Zephyr", mistral},
    {"qwen2", "llama", "Qwen2ForCausalLM Qwen2Model", "Qwen 2 and 2.5", qwen2},
    {"qwen3", "llama", "Qwen3ForCausalLM Qwen3Model", "Qwen 3", qwen3},
    {"gemma", "llama", "GemmaForCausalLM GemmaModel", "Gemma 1", read_gemma},
    {"gemma2", "gemma2", "Gemma2ForCausalLM Gemma2Model", "Gemma 2", gemma2},
    {"gemma3_text", "gemma2", "Gemma3ForCausalLM Gemma3TextModel", "Gemma 3, text", gemma3},
    {"phi3", "llama", "Phi3ForCausalLM Phi3Model", "Phi-3, Phi-3.5, Phi-4", phi3},
    {"smollm3", "llama", "SmolLM3ForCausalLM SmolLM3Model", "SmolLM 3", smollm3},
    {"olmo", "llama", "OlmoForCausalLM OlmoModel", "OLMo 1", olmo},
    {"olmo2", "olmo2", "Olmo2ForCausalLM Olmo2Model", "OLMo 2", olmo2},
    {"granite", "llama", "GraniteForCausalLM GraniteModel", "Granite 3", granite},
    {"stablelm", "llama", "StableLmForCausalLM StableLmModel", "StableLM", stablelm},
    {"gpt_neox", "gpt_neox", "GPTNeoXForCausalLM GPTNeoXModel", "GPT-NeoX, Pythia", gpt_neox},
};

}  // namespace

DecoderFamilies decoder_families() { return {kFamilies, std::size(kFamilies)}; }

// nanoGPT's model_args name no type, but the length of its texts by a word of its own.
const DecoderFamily* decoder_family_of(const ConfigFile& config) {
    const bool is_nanogpt = !config.has("model_type") && config.has("block_size");
    const std::string_view type = is_nanogpt ? "nanogpt" : config.text("model_type", "");
    for (const DecoderFamily& family : kFamilies)
        if (type == family.type) return &family;
    return nullptr;
}

DecoderConfig read_decoder(const DecoderFamily& family, const ConfigFile& config,
                           const WeightShapes& shapes) {
    DecoderSettings settings(config, shapes);
    family.read(settings);
    return settings.decoder;
}

}  // namespace volta
