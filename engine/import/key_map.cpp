#include "engine/import/key_map.h"

#include <charconv>

#include "engine/base/error.h"
#include "engine/model/text.h"

namespace volta {
namespace {

constexpr bool kTransposed = true;
constexpr std::string_view kUnused = "";

constexpr KeyRule unneeded(std::string_view pattern, Unneeded what) {
    return {pattern, kUnused, Part::whole, false, what};
}

// GPT-2 keeps its weights [in, out], as Volta does.
constexpr KeyRule kGptHuggingFace[] = {
    {"wte.weight", "token_embedding"},
    {"wpe.weight", "position_embedding"},
    {"h.%d.ln_1.weight", "block.%d.norm1.weight"},
    {"h.%d.ln_1.bias", "block.%d.norm1.bias"},
    {"h.%d.attn.c_attn.weight", "block.%d.qkv.weight"},
    {"h.%d.attn.c_attn.bias", "block.%d.qkv.bias"},
    {"h.%d.attn.c_proj.weight", "block.%d.proj.weight"},
    {"h.%d.attn.c_proj.bias", "block.%d.proj.bias"},
    {"h.%d.ln_2.weight", "block.%d.norm2.weight"},
    {"h.%d.ln_2.bias", "block.%d.norm2.bias"},
    {"h.%d.mlp.c_fc.weight", "block.%d.fc.weight"},
    {"h.%d.mlp.c_fc.bias", "block.%d.fc.bias"},
    {"h.%d.mlp.c_proj.weight", "block.%d.fc_proj.weight"},
    {"h.%d.mlp.c_proj.bias", "block.%d.fc_proj.bias"},
    {"ln_f.weight", "norm_final.weight"},
    {"ln_f.bias", "norm_final.bias"},
    {"lm_head.weight", "head.weight"},
    unneeded("h.%d.attn.bias", Unneeded::mask),
    unneeded("h.%d.attn.masked_bias", Unneeded::mask),
};

constexpr KeyRule kGptGguf[] = {
    {"token_embd.weight", "token_embedding"},
    {"position_embd.weight", "position_embedding"},
    {"blk.%d.attn_norm.weight", "block.%d.norm1.weight"},
    {"blk.%d.attn_norm.bias", "block.%d.norm1.bias"},
    {"blk.%d.attn_qkv.weight", "block.%d.qkv.weight", Part::whole, kTransposed},
    {"blk.%d.attn_qkv.bias", "block.%d.qkv.bias"},
    {"blk.%d.attn_output.weight", "block.%d.proj.weight", Part::whole, kTransposed},
    {"blk.%d.attn_output.bias", "block.%d.proj.bias"},
    {"blk.%d.ffn_norm.weight", "block.%d.norm2.weight"},
    {"blk.%d.ffn_norm.bias", "block.%d.norm2.bias"},
    {"blk.%d.ffn_up.weight", "block.%d.fc.weight", Part::whole, kTransposed},
    {"blk.%d.ffn_up.bias", "block.%d.fc.bias"},
    {"blk.%d.ffn_down.weight", "block.%d.fc_proj.weight", Part::whole, kTransposed},
    {"blk.%d.ffn_down.bias", "block.%d.fc_proj.bias"},
    {"output_norm.weight", "norm_final.weight"},
    {"output_norm.bias", "norm_final.bias"},
    {"output.weight", "head.weight"},
};

// The Llama namings differ in names alone: every product's weight is [out, in]. The rows of q and k stay as
// they are; which elements rotate together is the model's `interleaved`: a permutation would change the order
// in which each dot product of q and k is summed, and so the last bits, against the program they come from.
constexpr KeyRule kLlamaHuggingFace[] = {
    {"embed_tokens.weight", "token_embedding"},
    {"layers.%d.input_layernorm.weight", "block.%d.norm1.weight"},
    {"layers.%d.self_attn.q_proj.weight", "block.%d.qkv.weight", Part::q, kTransposed},
    {"layers.%d.self_attn.k_proj.weight", "block.%d.qkv.weight", Part::k, kTransposed},
    {"layers.%d.self_attn.v_proj.weight", "block.%d.qkv.weight", Part::v, kTransposed},
    {"layers.%d.self_attn.o_proj.weight", "block.%d.proj.weight", Part::whole, kTransposed},
    {"layers.%d.post_attention_layernorm.weight", "block.%d.norm2.weight"},
    {"layers.%d.mlp.gate_proj.weight", "block.%d.gate_up.weight", Part::gate, kTransposed},
    {"layers.%d.mlp.up_proj.weight", "block.%d.gate_up.weight", Part::up, kTransposed},
    {"layers.%d.mlp.down_proj.weight", "block.%d.down.weight", Part::whole, kTransposed},
    {"norm.weight", "norm_final.weight"},
    {"lm_head.weight", "head.weight"},
    // What its kin have beside it: biases, norms of q and k, products that are fused already.
    {"layers.%d.input_layernorm.bias", "block.%d.norm1.bias"},
    {"layers.%d.self_attn.q_proj.bias", "block.%d.qkv.bias", Part::q},
    {"layers.%d.self_attn.k_proj.bias", "block.%d.qkv.bias", Part::k},
    {"layers.%d.self_attn.v_proj.bias", "block.%d.qkv.bias", Part::v},
    {"layers.%d.self_attn.qkv_proj.weight", "block.%d.qkv.weight", Part::whole, kTransposed},
    {"layers.%d.self_attn.o_proj.bias", "block.%d.proj.bias"},
    {"layers.%d.self_attn.q_norm.weight", "block.%d.norm_q.weight"},
    {"layers.%d.self_attn.k_norm.weight", "block.%d.norm_k.weight"},
    {"layers.%d.post_attention_layernorm.bias", "block.%d.norm2.bias"},
    {"layers.%d.mlp.gate_up_proj.weight", "block.%d.gate_up.weight", Part::whole, kTransposed},
    {"layers.%d.mlp.gate_proj.bias", "block.%d.gate_up.bias", Part::gate},
    {"layers.%d.mlp.up_proj.bias", "block.%d.gate_up.bias", Part::up},
    {"layers.%d.mlp.down_proj.bias", "block.%d.down.bias"},
    {"norm.bias", "norm_final.bias"},
    unneeded("layers.%d.self_attn.rotary_emb.inv_freq", Unneeded::frequencies),
    unneeded("rotary_emb.inv_freq", Unneeded::frequencies),
};

// Norms before and behind each branch, and behind it alone. The other names are Llama's.
constexpr KeyRule kGemmaHuggingFace[] = {
    {"layers.%d.post_attention_layernorm.weight", "block.%d.norm1_after.weight"},
    {"layers.%d.pre_feedforward_layernorm.weight", "block.%d.norm2.weight"},
    {"layers.%d.post_feedforward_layernorm.weight", "block.%d.norm2_after.weight"},
};
constexpr KeyRule kOlmoHuggingFace[] = {
    {"layers.%d.post_attention_layernorm.weight", "block.%d.norm1_after.weight"},
    {"layers.%d.post_feedforward_layernorm.weight", "block.%d.norm2_after.weight"},
};

constexpr KeyRule kNeoxHuggingFace[] = {
    {"embed_in.weight", "token_embedding"},
    {"layers.%d.input_layernorm.weight", "block.%d.norm1.weight"},
    {"layers.%d.input_layernorm.bias", "block.%d.norm1.bias"},
    {"layers.%d.attention.query_key_value.weight", "block.%d.qkv.weight", Part::by_head, kTransposed},
    {"layers.%d.attention.query_key_value.bias", "block.%d.qkv.bias", Part::by_head},
    {"layers.%d.attention.dense.weight", "block.%d.proj.weight", Part::whole, kTransposed},
    {"layers.%d.attention.dense.bias", "block.%d.proj.bias"},
    {"layers.%d.post_attention_layernorm.weight", "block.%d.norm2.weight"},
    {"layers.%d.post_attention_layernorm.bias", "block.%d.norm2.bias"},
    {"layers.%d.mlp.dense_h_to_4h.weight", "block.%d.fc.weight", Part::whole, kTransposed},
    {"layers.%d.mlp.dense_h_to_4h.bias", "block.%d.fc.bias"},
    {"layers.%d.mlp.dense_4h_to_h.weight", "block.%d.fc_proj.weight", Part::whole, kTransposed},
    {"layers.%d.mlp.dense_4h_to_h.bias", "block.%d.fc_proj.bias"},
    {"final_layer_norm.weight", "norm_final.weight"},
    {"final_layer_norm.bias", "norm_final.bias"},
    {"embed_out.weight", "head.weight"},
    {"lm_head.weight", "head.weight"},
    unneeded("layers.%d.attention.bias", Unneeded::mask),
    unneeded("layers.%d.attention.masked_bias", Unneeded::mask),
    unneeded("layers.%d.attention.rotary_emb.inv_freq", Unneeded::frequencies),
    unneeded("rotary_emb.inv_freq", Unneeded::frequencies),
};

// GPT-2's names, but its weights are [out, in].
constexpr KeyRule kNanoGpt[] = {
    {"h.%d.attn.c_attn.weight", "block.%d.qkv.weight", Part::whole, kTransposed},
    {"h.%d.attn.c_proj.weight", "block.%d.proj.weight", Part::whole, kTransposed},
    {"h.%d.mlp.c_fc.weight", "block.%d.fc.weight", Part::whole, kTransposed},
    {"h.%d.mlp.c_proj.weight", "block.%d.fc_proj.weight", Part::whole, kTransposed},
};

constexpr KeyRule kLlamaGguf[] = {
    {"token_embd.weight", "token_embedding"},
    {"blk.%d.attn_norm.weight", "block.%d.norm1.weight"},
    {"blk.%d.attn_q.weight", "block.%d.qkv.weight", Part::q, kTransposed},
    {"blk.%d.attn_k.weight", "block.%d.qkv.weight", Part::k, kTransposed},
    {"blk.%d.attn_v.weight", "block.%d.qkv.weight", Part::v, kTransposed},
    {"blk.%d.attn_output.weight", "block.%d.proj.weight", Part::whole, kTransposed},
    {"blk.%d.ffn_norm.weight", "block.%d.norm2.weight"},
    {"blk.%d.ffn_gate.weight", "block.%d.gate_up.weight", Part::gate, kTransposed},
    {"blk.%d.ffn_up.weight", "block.%d.gate_up.weight", Part::up, kTransposed},
    {"blk.%d.ffn_down.weight", "block.%d.down.weight", Part::whole, kTransposed},
    {"output_norm.weight", "norm_final.weight"},
    {"output.weight", "head.weight"},
    unneeded("rope_freqs.weight", Unneeded::factors),
};

// A Llama with biases.
constexpr KeyRule kQwen2Gguf[] = {
    {"blk.%d.attn_q.bias", "block.%d.qkv.bias", Part::q},
    {"blk.%d.attn_k.bias", "block.%d.qkv.bias", Part::k},
    {"blk.%d.attn_v.bias", "block.%d.qkv.bias", Part::v},
};

// The names of Meta's own files; llama2c.cpp gives its tensors these.
constexpr KeyRule kLlamaMeta[] = {
    {"tok_embeddings.weight", "token_embedding"},
    {"layers.%d.attention_norm.weight", "block.%d.norm1.weight"},
    {"layers.%d.attention.wq.weight", "block.%d.qkv.weight", Part::q, kTransposed},
    {"layers.%d.attention.wk.weight", "block.%d.qkv.weight", Part::k, kTransposed},
    {"layers.%d.attention.wv.weight", "block.%d.qkv.weight", Part::v, kTransposed},
    {"layers.%d.attention.wo.weight", "block.%d.proj.weight", Part::whole, kTransposed},
    {"layers.%d.ffn_norm.weight", "block.%d.norm2.weight"},
    {"layers.%d.feed_forward.w1.weight", "block.%d.gate_up.weight", Part::gate, kTransposed},
    {"layers.%d.feed_forward.w3.weight", "block.%d.gate_up.weight", Part::up, kTransposed},
    {"layers.%d.feed_forward.w2.weight", "block.%d.down.weight", Part::whole, kTransposed},
    {"norm.weight", "norm_final.weight"},
    {"output.weight", "head.weight"},
    unneeded("rope.freqs", Unneeded::frequencies),
};

// Files of the first BERTs call a norm's weight gamma and its bias beta.
constexpr KeyRule kBertHuggingFace[] = {
    {"embeddings.word_embeddings.weight", "token_embedding"},
    {"embeddings.token_type_embeddings.weight", "segment_embedding"},
    {"embeddings.position_embeddings.weight", "position_embedding"},
    {"embeddings.LayerNorm.weight", "norm_embedding.weight"},
    {"embeddings.LayerNorm.bias", "norm_embedding.bias"},
    {"embeddings.LayerNorm.gamma", "norm_embedding.weight"},
    {"embeddings.LayerNorm.beta", "norm_embedding.bias"},
    {"encoder.layer.%d.attention.self.query.weight", "block.%d.qkv.weight", Part::q, kTransposed},
    {"encoder.layer.%d.attention.self.query.bias", "block.%d.qkv.bias", Part::q},
    {"encoder.layer.%d.attention.self.key.weight", "block.%d.qkv.weight", Part::k, kTransposed},
    {"encoder.layer.%d.attention.self.key.bias", "block.%d.qkv.bias", Part::k},
    {"encoder.layer.%d.attention.self.value.weight", "block.%d.qkv.weight", Part::v, kTransposed},
    {"encoder.layer.%d.attention.self.value.bias", "block.%d.qkv.bias", Part::v},
    {"encoder.layer.%d.attention.output.dense.weight", "block.%d.proj.weight", Part::whole, kTransposed},
    {"encoder.layer.%d.attention.output.dense.bias", "block.%d.proj.bias"},
    {"encoder.layer.%d.attention.output.LayerNorm.weight", "block.%d.norm1.weight"},
    {"encoder.layer.%d.attention.output.LayerNorm.bias", "block.%d.norm1.bias"},
    {"encoder.layer.%d.attention.output.LayerNorm.gamma", "block.%d.norm1.weight"},
    {"encoder.layer.%d.attention.output.LayerNorm.beta", "block.%d.norm1.bias"},
    {"encoder.layer.%d.intermediate.dense.weight", "block.%d.fc.weight", Part::whole, kTransposed},
    {"encoder.layer.%d.intermediate.dense.bias", "block.%d.fc.bias"},
    {"encoder.layer.%d.output.dense.weight", "block.%d.fc_proj.weight", Part::whole, kTransposed},
    {"encoder.layer.%d.output.dense.bias", "block.%d.fc_proj.bias"},
    {"encoder.layer.%d.output.LayerNorm.weight", "block.%d.norm2.weight"},
    {"encoder.layer.%d.output.LayerNorm.bias", "block.%d.norm2.bias"},
    {"encoder.layer.%d.output.LayerNorm.gamma", "block.%d.norm2.weight"},
    {"encoder.layer.%d.output.LayerNorm.beta", "block.%d.norm2.bias"},
    {"pooler.dense.weight", "pooler.weight", Part::whole, kTransposed},
    {"pooler.dense.bias", "pooler.bias"},
    {"classifier.weight", "classifier.weight", Part::whole, kTransposed},
    {"classifier.bias", "classifier.bias"},
    {"qa_outputs.weight", "classifier.weight", Part::whole, kTransposed},
    {"qa_outputs.bias", "classifier.bias"},
    {"cls.predictions.transform.dense.weight", "transform.weight", Part::whole, kTransposed},
    {"cls.predictions.transform.dense.bias", "transform.bias"},
    {"cls.predictions.transform.LayerNorm.weight", "norm_transform.weight"},
    {"cls.predictions.transform.LayerNorm.bias", "norm_transform.bias"},
    {"cls.predictions.transform.LayerNorm.gamma", "norm_transform.weight"},
    {"cls.predictions.transform.LayerNorm.beta", "norm_transform.bias"},
    {"cls.predictions.bias", "head.bias"},
    {"cls.predictions.decoder.weight", "head.weight"},
    {"cls.predictions.decoder.bias", "head.bias"},
    unneeded("cls.seq_relationship.weight", Unneeded::head),
    unneeded("cls.seq_relationship.bias", Unneeded::head),
    unneeded("embeddings.position_ids", Unneeded::positions),
};

// BERT's names, but for heads; the first rows of the positions are for padding.
constexpr KeyRule kRobertaHuggingFace[] = {
    {"embeddings.position_embeddings.weight", "position_embedding", Part::last_rows},
    {"classifier.dense.weight", "pooler.weight", Part::whole, kTransposed},
    {"classifier.dense.bias", "pooler.bias"},
    {"classifier.out_proj.weight", "classifier.weight", Part::whole, kTransposed},
    {"classifier.out_proj.bias", "classifier.bias"},
    {"lm_head.dense.weight", "transform.weight", Part::whole, kTransposed},
    {"lm_head.dense.bias", "transform.bias"},
    {"lm_head.layer_norm.weight", "norm_transform.weight"},
    {"lm_head.layer_norm.bias", "norm_transform.bias"},
    {"lm_head.bias", "head.bias"},
    {"lm_head.decoder.weight", "head.weight"},
    {"lm_head.decoder.bias", "head.bias"},
};

constexpr KeyRule kDistilbertHuggingFace[] = {
    {"transformer.layer.%d.attention.q_lin.weight", "block.%d.qkv.weight", Part::q, kTransposed},
    {"transformer.layer.%d.attention.q_lin.bias", "block.%d.qkv.bias", Part::q},
    {"transformer.layer.%d.attention.k_lin.weight", "block.%d.qkv.weight", Part::k, kTransposed},
    {"transformer.layer.%d.attention.k_lin.bias", "block.%d.qkv.bias", Part::k},
    {"transformer.layer.%d.attention.v_lin.weight", "block.%d.qkv.weight", Part::v, kTransposed},
    {"transformer.layer.%d.attention.v_lin.bias", "block.%d.qkv.bias", Part::v},
    {"transformer.layer.%d.attention.out_lin.weight", "block.%d.proj.weight", Part::whole, kTransposed},
    {"transformer.layer.%d.attention.out_lin.bias", "block.%d.proj.bias"},
    {"transformer.layer.%d.sa_layer_norm.weight", "block.%d.norm1.weight"},
    {"transformer.layer.%d.sa_layer_norm.bias", "block.%d.norm1.bias"},
    {"transformer.layer.%d.ffn.lin1.weight", "block.%d.fc.weight", Part::whole, kTransposed},
    {"transformer.layer.%d.ffn.lin1.bias", "block.%d.fc.bias"},
    {"transformer.layer.%d.ffn.lin2.weight", "block.%d.fc_proj.weight", Part::whole, kTransposed},
    {"transformer.layer.%d.ffn.lin2.bias", "block.%d.fc_proj.bias"},
    {"transformer.layer.%d.output_layer_norm.weight", "block.%d.norm2.weight"},
    {"transformer.layer.%d.output_layer_norm.bias", "block.%d.norm2.bias"},
    {"pre_classifier.weight", "pooler.weight", Part::whole, kTransposed},
    {"pre_classifier.bias", "pooler.bias"},
    {"vocab_transform.weight", "transform.weight", Part::whole, kTransposed},
    {"vocab_transform.bias", "transform.bias"},
    {"vocab_layer_norm.weight", "norm_transform.weight"},
    {"vocab_layer_norm.bias", "norm_transform.bias"},
    {"vocab_projector.weight", "head.weight"},
    {"vocab_projector.bias", "head.bias"},
};

constexpr KeyRule kBertGguf[] = {
    {"token_embd.weight", "token_embedding"},
    {"token_types.weight", "segment_embedding"},
    {"position_embd.weight", "position_embedding"},
    {"token_embd_norm.weight", "norm_embedding.weight"},
    {"token_embd_norm.bias", "norm_embedding.bias"},
    {"blk.%d.attn_q.weight", "block.%d.qkv.weight", Part::q, kTransposed},
    {"blk.%d.attn_q.bias", "block.%d.qkv.bias", Part::q},
    {"blk.%d.attn_k.weight", "block.%d.qkv.weight", Part::k, kTransposed},
    {"blk.%d.attn_k.bias", "block.%d.qkv.bias", Part::k},
    {"blk.%d.attn_v.weight", "block.%d.qkv.weight", Part::v, kTransposed},
    {"blk.%d.attn_v.bias", "block.%d.qkv.bias", Part::v},
    {"blk.%d.attn_qkv.weight", "block.%d.qkv.weight", Part::whole, kTransposed},
    {"blk.%d.attn_qkv.bias", "block.%d.qkv.bias"},
    {"blk.%d.attn_output.weight", "block.%d.proj.weight", Part::whole, kTransposed},
    {"blk.%d.attn_output.bias", "block.%d.proj.bias"},
    {"blk.%d.attn_output_norm.weight", "block.%d.norm1.weight"},
    {"blk.%d.attn_output_norm.bias", "block.%d.norm1.bias"},
    {"blk.%d.ffn_up.weight", "block.%d.fc.weight", Part::whole, kTransposed},
    {"blk.%d.ffn_up.bias", "block.%d.fc.bias"},
    {"blk.%d.ffn_down.weight", "block.%d.fc_proj.weight", Part::whole, kTransposed},
    {"blk.%d.ffn_down.bias", "block.%d.fc_proj.bias"},
    {"blk.%d.layer_output_norm.weight", "block.%d.norm2.weight"},
    {"blk.%d.layer_output_norm.bias", "block.%d.norm2.bias"},
    {"cls.weight", "pooler.weight", Part::whole, kTransposed},
    {"cls.bias", "pooler.bias"},
    {"cls.output.weight", "classifier.weight", Part::whole, kTransposed},
    {"cls.output.bias", "classifier.bias"},
};

template <std::size_t N>
constexpr Naming naming(const char* name, const char* architecture, std::string_view prefix,
                        const KeyRule (&rules)[N]) {
    return {name, architecture, prefix, rules, N};
}

// Its own rules first, then another naming's.
template <std::size_t N, std::size_t M>
constexpr Naming naming(const char* name, const char* architecture, std::string_view prefix,
                        const KeyRule (&rules)[N], const KeyRule (&shared)[M]) {
    return {name, architecture, prefix, rules, N, false, shared, M};
}

// Networks of pictures have torchvision's names.
constexpr KeyRule kNetworkPyTorch[] = {
    unneeded("*.num_batches_tracked", Unneeded::count),
};

// Programs for CIFAR call the last layer "linear".
constexpr KeyRule kResnetPyTorch[] = {
    {"linear.weight", "fc.weight"},
    {"linear.bias", "fc.bias"},
    unneeded("*.num_batches_tracked", Unneeded::count),
};

template <std::size_t N>
constexpr Naming own_otherwise(const char* name, const char* architecture, const KeyRule (&rules)[N]) {
    return {name, architecture, "", rules, N, true};
}

constexpr Naming kNamings[] = {
    naming("huggingface", "gpt", "transformer.", kGptHuggingFace),
    naming("gguf", "gpt", "", kGptGguf),
    naming("huggingface", "llama", "model.", kLlamaHuggingFace),
    naming("huggingface", "gemma2", "model.", kGemmaHuggingFace, kLlamaHuggingFace),
    naming("huggingface", "olmo2", "model.", kOlmoHuggingFace, kLlamaHuggingFace),
    naming("huggingface", "gpt_neox", "gpt_neox.", kNeoxHuggingFace),
    naming("huggingface", "nanogpt", "transformer.", kNanoGpt, kGptHuggingFace),
    naming("gguf", "llama", "", kLlamaGguf),
    naming("gguf", "qwen2", "", kQwen2Gguf, kLlamaGguf),
    naming("llama2.c", "llama", "", kLlamaMeta),
    {"volta", "gpt", "", nullptr, 0},
    naming("huggingface", "bert", "bert.", kBertHuggingFace),
    naming("huggingface", "roberta", "roberta.", kRobertaHuggingFace, kBertHuggingFace),
    naming("huggingface", "distilbert", "distilbert.", kDistilbertHuggingFace, kBertHuggingFace),
    naming("gguf", "bert", "", kBertGguf),
    {"volta", "llama", "", nullptr, 0},
    {"volta", "decoder", "", nullptr, 0},
    {"volta", "bert", "", nullptr, 0},
    own_otherwise("pytorch", "resnet", kResnetPyTorch),
    {"volta", "resnet", "", nullptr, 0},
    own_otherwise("pytorch", "mobilenet_v2", kNetworkPyTorch),
    {"volta", "mobilenet_v2", "", nullptr, 0},
    own_otherwise("pytorch", "cnn", kNetworkPyTorch),
    {"volta", "cnn", "", nullptr, 0},
};

constexpr const char* kUnneededNames[] = {"",
                                          "not needed: a mask",
                                          "not needed: rotary frequencies",
                                          "not needed: positions",
                                          "not needed: another head",
                                          "not needed: a count of batches",
                                          "factors of rotary positions, part of the architecture"};
constexpr const char* kPartNames[] = {"", "q", "k", "v", "gate", "up", "by head", "the last rows"};
constexpr std::string_view kLayer = "%d";
constexpr char kAny = '*';  // at the beginning of a pattern

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }
std::string_view trimmed(std::string_view text) {
    while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
    return text;
}

int layers_in(std::string_view pattern) {
    int count = 0;
    for (std::size_t at = 0; (at = pattern.find(kLayer, at)) != pattern.npos; at += kLayer.size()) ++count;
    return count;
}

// Splits off what follows the last ':'.
Part take_part(std::string_view& name, int line) {
    const std::size_t colon = name.rfind(':');
    if (colon == name.npos) return Part::whole;
    const std::string_view text = name.substr(colon + 1);
    name = name.substr(0, colon);
    for (std::size_t i = 1; i <= static_cast<std::size_t>(Part::up); ++i)
        if (text == kPartNames[i]) return static_cast<Part>(i);
    const ShownName part = shown(text);
    fail(VOLTA_INVALID_ARGUMENT,
         "line %d of the key map has the part '%.*s', which is none of q, k, v, gate, up", line, part.bytes,
         part.text);
}

}  // namespace

const char* unneeded_name(Unneeded unneeded) { return kUnneededNames[static_cast<std::size_t>(unneeded)]; }
const char* part_name(Part part) { return kPartNames[static_cast<std::size_t>(part)]; }

Namings all_namings() { return {kNamings, std::size(kNamings)}; }

const Naming& find_naming(std::string_view name, std::string_view architecture) {
    for (const Naming& naming : kNamings)
        if (name == naming.name && architecture == naming.architecture) return naming;
    fail(VOLTA_INTERNAL, "there is no naming '%.*s'", static_cast<int>(name.size()), name.data());
}

std::optional<std::int64_t> match_pattern(std::string_view pattern, std::string_view name) {
    if (!pattern.empty() && pattern.front() == kAny) {
        const std::string_view end = pattern.substr(1);
        if (name.size() < end.size() || name.substr(name.size() - end.size()) != end) return std::nullopt;
        return -1;
    }
    const std::size_t at = pattern.find(kLayer);
    if (at == pattern.npos) {
        if (pattern != name) return std::nullopt;
        return -1;
    }
    if (name.substr(0, at) != pattern.substr(0, at)) return std::nullopt;
    constexpr std::size_t kMostDigits = 6;
    std::size_t digits = 0;
    while (at + digits < name.size() && name[at + digits] >= '0' && name[at + digits] <= '9') ++digits;
    const bool leading_zero = digits > 1 && name[at] == '0';
    if (digits == 0 || digits > kMostDigits || leading_zero) return std::nullopt;
    if (name.substr(at + digits) != pattern.substr(at + kLayer.size())) return std::nullopt;
    std::int64_t layer = 0;
    std::from_chars(name.data() + at, name.data() + at + digits, layer);
    return layer;
}

std::pmr::string fill_pattern(std::string_view pattern, std::int64_t layer, std::pmr::memory_resource* heap) {
    const std::size_t at = pattern.find(kLayer);
    if (at == pattern.npos || layer < 0) return std::pmr::string(pattern, heap);
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, layer).ptr;
    std::pmr::string name(pattern.substr(0, at), heap);
    name.append(digits, end);
    name += pattern.substr(at + kLayer.size());
    return name;
}

KeyMap::KeyMap(const Naming& naming, std::string_view text, std::pmr::memory_resource* heap)
    : naming_(naming), text_(text, heap), wrapper_(heap), extra_(heap) {
    std::string_view rest = text_;
    for (int number = 1; !rest.empty(); ++number) {
        const std::size_t end = rest.find('\n');
        read_line(rest.substr(0, end), number);
        rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
    }
}

void KeyMap::read_line(std::string_view line, int number) {
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) return;
    const std::size_t equals = line.find('=');
    require(equals != line.npos, "line %d of the key map has no '='", number);
    KeyRule rule;
    rule.pattern = trimmed(line.substr(0, equals));
    std::string_view ours = trimmed(line.substr(equals + 1));
    const std::size_t space = ours.find_first_of(" \t");
    if (space != ours.npos) {
        const std::string_view word = trimmed(ours.substr(space));
        const ShownName part = shown(word);
        require(word == "transpose", "line %d of the key map ends with '%.*s', not with 'transpose'", number,
                part.bytes, part.text);
        rule.transposed = true;
        ours = ours.substr(0, space);
    }
    rule.part = take_part(ours, number);
    require(!rule.pattern.empty() && !ours.empty(), "line %d of the key map lacks a name", number);
    if (ours == "-") ours = kUnused;
    rule.parameter = ours;
    require(
        rule.pattern.front() != kAny || rule.parameter.empty(),
        "line %d of the key map gives a parameter to every name that fits a '*'; only '-' can stand there",
        number);
    const int theirs = layers_in(rule.pattern), layers = layers_in(ours);
    require(theirs <= 1 && layers <= theirs,
            "line %d of the key map has %%d %d times on the left and %d on the right", number, theirs,
            layers);
    extra_.push_back(rule);
}

namespace {

std::optional<KeyMatch> matched(const KeyRule& rule, bool given, std::string_view name,
                                std::pmr::memory_resource* heap) {
    const auto layer = match_pattern(rule.pattern, name);
    if (!layer) return std::nullopt;
    return KeyMatch{fill_pattern(rule.parameter, *layer, heap), rule.part, rule.transposed, rule.unneeded,
                    given};
}

}  // namespace

std::optional<KeyMatch> KeyMap::match_table(std::string_view name, std::pmr::memory_resource* heap) const {
    const std::string_view prefix = naming_.prefix;
    const bool prefixed = !prefix.empty() && name.substr(0, prefix.size()) == prefix;
    for (std::size_t i = 0; i < naming_.count(); ++i)
        if (auto found = matched(naming_.rule(i), false, prefixed ? name.substr(prefix.size()) : name, heap))
            return found;
    if (!naming_.own_otherwise) return std::nullopt;
    return KeyMatch{std::pmr::string(name, heap), Part::whole, false, Unneeded::no, false};
}

std::optional<KeyMatch> KeyMap::match(std::string_view name, std::pmr::memory_resource* heap) const {
    for (const KeyRule& rule : extra_)
        if (auto found = matched(rule, true, name, heap)) return found;
    if (naming_.rules == nullptr)
        return KeyMatch{std::pmr::string(name, heap), Part::whole, false, Unneeded::no, false};
    if (naming_.own_otherwise && name.substr(0, wrapper_.size()) == wrapper_)
        return match_table(name.substr(wrapper_.size()), heap);
    if (auto found = match_table(name, heap)) return found;
    if (name.substr(0, wrapper_.size()) != wrapper_) return std::nullopt;
    for (std::size_t dot = wrapper_.find('.'); dot != wrapper_.npos; dot = wrapper_.find('.', dot + 1))
        if (auto found = match_table(name.substr(dot + 1), heap)) return found;
    return std::nullopt;
}

std::pmr::string KeyMap::name_of(std::string_view parameter, Part part,
                                 std::pmr::memory_resource* heap) const {
    const auto named = [&](const KeyRule& rule) -> std::optional<std::pmr::string> {
        if (rule.part != part || rule.parameter.empty()) return std::nullopt;
        const auto layer = match_pattern(rule.parameter, parameter);
        if (!layer) return std::nullopt;
        return fill_pattern(rule.pattern, *layer, heap);
    };
    for (const KeyRule& rule : extra_)
        if (auto name = named(rule)) return *std::move(name);
    for (std::size_t i = 0; i < naming_.count(); ++i)
        if (auto name = named(naming_.rule(i))) return *std::move(name);
    return std::pmr::string(parameter, heap);
}

}  // namespace volta
