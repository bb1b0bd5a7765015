// A small Llama and its parameters as three other programs write them.
#pragma once

#include <string>
#include <vector>

#include "engine/import/weight_source.h"
#include "engine/model/llama.h"
#include "engine/numerics/storage_types.h"
#include "tests/import/gguf_bytes.h"
#include "tests/support/weight_files.h"

namespace volta::test {

// Every extent is another number, and grouped keys, so that nothing fits where it does not belong. Rows are
// whole blocks of 32, for the quantised types.
inline LlamaConfig small_llama(bool tied, bool interleaved) {
    LlamaConfig config;
    config.vocabulary = 48;
    config.layers = 2;
    config.dim = 64;
    config.heads = 4;
    config.kv_heads = 2;
    config.hidden = 96;
    config.context = 32;
    config.tied = tied;
    config.interleaved = interleaved;
    return config;
}

// Columns [first, first + width) of a parameter, transposed: [width, rows], as other programs store it.
inline std::vector<float> turned(const Model& model, const std::string& name, std::int64_t first,
                                 std::int64_t width) {
    const NamedTensor& tensor = *model.find_parameter(name.c_str());
    const auto* values = static_cast<const float*>(tensor.data);
    std::vector<float> out;
    for (std::int64_t j = first; j < first + width; ++j)
        for (std::int64_t i = 0; i < tensor.shape.rows(); ++i)
            out.push_back(values[i * tensor.shape.last() + j]);
    return out;
}

inline std::vector<float> plain(const Model& model, const std::string& name) {
    const NamedTensor& tensor = *model.find_parameter(name.c_str());
    const auto* values = static_cast<const float*>(tensor.data);
    return {values, values + tensor.shape.elements()};
}

// What each program calls a tensor; "" where it has none.
struct LlamaNames {
    const char *embedding, *norm1, *q, *k, *v, *o, *norm2, *gate, *up, *down, *norm, *head;
};
constexpr LlamaNames kHuggingFaceNames = {"model.embed_tokens.weight",
                                          "model.layers.%d.input_layernorm.weight",
                                          "model.layers.%d.self_attn.q_proj.weight",
                                          "model.layers.%d.self_attn.k_proj.weight",
                                          "model.layers.%d.self_attn.v_proj.weight",
                                          "model.layers.%d.self_attn.o_proj.weight",
                                          "model.layers.%d.post_attention_layernorm.weight",
                                          "model.layers.%d.mlp.gate_proj.weight",
                                          "model.layers.%d.mlp.up_proj.weight",
                                          "model.layers.%d.mlp.down_proj.weight",
                                          "model.norm.weight",
                                          "lm_head.weight"};
constexpr LlamaNames kGgufNames = {
    "token_embd.weight",    "blk.%d.attn_norm.weight",   "blk.%d.attn_q.weight",   "blk.%d.attn_k.weight",
    "blk.%d.attn_v.weight", "blk.%d.attn_output.weight", "blk.%d.ffn_norm.weight", "blk.%d.ffn_gate.weight",
    "blk.%d.ffn_up.weight", "blk.%d.ffn_down.weight",    "output_norm.weight",     "output.weight"};

inline std::vector<PlainTensor> llama_tensors(const Model& model, const LlamaConfig& c,
                                              const LlamaNames& names) {
    const std::int64_t head = c.dim / c.heads, kv = head * c.kv_heads;
    std::vector<PlainTensor> list;
    list.push_back({names.embedding, {c.vocabulary, c.dim}, plain(model, "token_embedding")});
    for (int layer = 0; layer < c.layers; ++layer) {
        const std::string block = "block." + std::to_string(layer) + ".";
        const auto add = [&](const char* pattern, std::vector<std::int64_t> shape,
                             std::vector<float> values) {
            std::string name = pattern;
            name.replace(name.find("%d"), 2, std::to_string(layer));
            list.push_back({name, std::move(shape), std::move(values)});
        };
        add(names.norm1, {c.dim}, plain(model, block + "norm1.weight"));
        add(names.q, {c.dim, c.dim}, turned(model, block + "qkv.weight", 0, c.dim));
        add(names.k, {kv, c.dim}, turned(model, block + "qkv.weight", c.dim, kv));
        add(names.v, {kv, c.dim}, turned(model, block + "qkv.weight", c.dim + kv, kv));
        add(names.o, {c.dim, c.dim}, turned(model, block + "proj.weight", 0, c.dim));
        add(names.norm2, {c.dim}, plain(model, block + "norm2.weight"));
        add(names.gate, {c.hidden, c.dim}, turned(model, block + "gate_up.weight", 0, c.hidden));
        add(names.up, {c.hidden, c.dim}, turned(model, block + "gate_up.weight", c.hidden, c.hidden));
        add(names.down, {c.dim, c.hidden}, turned(model, block + "down.weight", 0, c.dim));
    }
    list.push_back({names.norm, {c.dim}, plain(model, "norm_final.weight")});
    if (!c.tied) list.push_back({names.head, {c.vocabulary, c.dim}, plain(model, "head.weight")});
    return list;
}

// A llama2.c file of version 0: the header as it is given, the model's numbers.
inline std::string llama2c_bytes(const Model& model, const LlamaConfig& c,
                                 std::vector<std::int32_t> header = {}) {
    if (header.empty())
        for (const std::int64_t size : {c.dim, c.hidden, c.layers, c.heads, c.kv_heads,
                                        c.tied ? c.vocabulary : -c.vocabulary, c.context})
            header.push_back(static_cast<std::int32_t>(size));
    const std::int64_t head = c.dim / c.heads, kv = head * c.kv_heads;
    std::string file = bytes_of(header) + bytes_of(plain(model, "token_embedding"));
    const auto each = [&](auto values_of) {
        for (int layer = 0; layer < c.layers; ++layer)
            file += bytes_of<float>(values_of("block." + std::to_string(layer) + "."));
    };
    each([&](const std::string& block) { return plain(model, block + "norm1.weight"); });
    each([&](const std::string& block) { return turned(model, block + "qkv.weight", 0, c.dim); });
    each([&](const std::string& block) { return turned(model, block + "qkv.weight", c.dim, kv); });
    each([&](const std::string& block) { return turned(model, block + "qkv.weight", c.dim + kv, kv); });
    each([&](const std::string& block) { return turned(model, block + "proj.weight", 0, c.dim); });
    each([&](const std::string& block) { return plain(model, block + "norm2.weight"); });
    each([&](const std::string& block) { return turned(model, block + "gate_up.weight", 0, c.hidden); });
    each([&](const std::string& block) { return turned(model, block + "down.weight", 0, c.dim); });
    each([&](const std::string& block) {
        return turned(model, block + "gate_up.weight", c.hidden, c.hidden);
    });
    file += bytes_of(plain(model, "norm_final.weight"));
    file += bytes_of(std::vector<float>(static_cast<std::size_t>(c.context * head), 0.25f));  // rotary tables
    if (!c.tied) file += bytes_of(plain(model, "head.weight"));
    return file;
}

// The keys of a GGUF file that say what the model is.
inline GgufBytes gguf_keys(const LlamaConfig& c) {
    GgufBytes file;
    file.string("general.architecture", "llama")
        .u32("llama.block_count", static_cast<std::uint32_t>(c.layers))
        .u32("llama.context_length", static_cast<std::uint32_t>(c.context))
        .u32("llama.embedding_length", static_cast<std::uint32_t>(c.dim))
        .u32("llama.feed_forward_length", static_cast<std::uint32_t>(c.hidden))
        .u32("llama.attention.head_count", static_cast<std::uint32_t>(c.heads))
        .u32("llama.attention.head_count_kv", static_cast<std::uint32_t>(c.kv_heads))
        .entry("llama.attention.layer_norm_rms_epsilon", 6, raw(1e-5f))
        .entry("llama.rope.freq_base", 6, raw(10000.0f));
    return file;
}

// Adds a tensor whose values are `bytes` of GGUF type `type`.
inline void add_gguf_tensor(GgufBytes& file, const PlainTensor& tensor, std::uint32_t type,
                            const std::string& bytes) {
    file.data.resize((file.data.size() + file.alignment - 1) / file.alignment * file.alignment);
    const std::vector<std::uint64_t> extents(tensor.shape.rbegin(), tensor.shape.rend());
    file.tensor(tensor.name, extents, type, file.data.size());
    file.data += bytes;
}

enum GgufTensorNumber : std::uint32_t {
    kGgufF32 = 0,
    kGgufF16 = 1,
    kGgufQ40 = 2,
    kGgufQ50 = 6,
    kGgufQ80 = 8,
    kGgufIq4Nl = 20,
    kGgufF64 = 28,
    kGgufBf16 = 30
};

// Blocks of 32 integers, all that the type has, with scales of every sort: `values` become what they hold.
inline std::string quantised(std::vector<float>& values, bool four_bits) {
    std::string bytes;
    for (std::size_t i = 0; i < values.size(); i += 32) {
        const auto scale = static_cast<std::uint16_t>(0x2400 + i / 32 * 37 % 0x800 + (i % 96 == 0) * 0x8000);
        bytes += raw(scale);
        int q[32];
        for (std::size_t j = 0; j < 32; ++j) {
            q[j] = static_cast<int>((i / 32 + j * 11 + j / 16 * 5) % (four_bits ? 16 : 256)) -
                   (four_bits ? 8 : 128);
            values[i + j] = f32_from_f16(scale) * static_cast<float>(q[j]);
        }
        for (int j = 0; j < 16 && four_bits; ++j)
            bytes += static_cast<char>((q[j] + 8) | (q[16 + j] + 8) << 4);
        for (int j = 0; j < 32 && !four_bits; ++j) bytes += static_cast<char>(q[j]);
    }
    return bytes;
}

// 16 bits each, rounded: `values` become what they hold.
inline std::string halved(std::vector<float>& values, bool brain) {
    std::string bytes;
    for (float& value : values) {
        const std::uint16_t bits = brain ? bf16_from_f32(value) : f16_from_f32(value);
        value = brain ? f32_from_bf16(bits) : f32_from_f16(bits);
        bytes += raw(bits);
    }
    return bytes;
}

// Whole blocks of any bytes but for the scale that they begin with, which is finite; `values` become what
// they hold.
inline std::string any_blocks(std::vector<float>& values, const char* name) {
    const StoredType& type = *find_stored_type(name);
    const std::size_t blocks = values.size() / type.block_values;
    std::string bytes(blocks * type.block_bytes, '\0');
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 89 + i / 255 * 7);
    for (std::size_t i = 0; i < blocks; ++i)
        bytes[i * type.block_bytes + 1] = static_cast<char>(0x20 + i % 5);
    type.widen(reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<std::int64_t>(blocks),
               values.data());
    return bytes;
}

// Adds a tensor as that type; its values become what the file holds.
inline void add_gguf_as(GgufBytes& file, PlainTensor& tensor, GgufTensorNumber type) {
    const std::string bytes =
        type == kGgufF32     ? bytes_of(tensor.values)
        : type == kGgufQ50   ? any_blocks(tensor.values, "Q5_0")
        : type == kGgufIq4Nl ? any_blocks(tensor.values, "IQ4_NL")
        : type == kGgufF64   ? bytes_of(std::vector<double>(tensor.values.begin(), tensor.values.end()))
        : type == kGgufQ40 || type == kGgufQ80 ? quantised(tensor.values, type == kGgufQ40)
                                               : halved(tensor.values, type == kGgufBf16);
    add_gguf_tensor(file, tensor, type, bytes);
}

inline std::string gguf_bytes(const std::vector<PlainTensor>& tensors, GgufBytes file) {
    for (const PlainTensor& tensor : tensors) add_gguf_tensor(file, tensor, 0, bytes_of(tensor.values));
    return file.finish();
}

}  // namespace volta::test
