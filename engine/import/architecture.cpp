#include "engine/import/architecture.h"

#include <cstdio>

#include "engine/base/error.h"
#include "engine/import/decoder_families.h"
#include "engine/import/weight_shapes.h"
#include "engine/model/text.h"
#include "engine/model/transformer.h"
#include "engine/numerics/double_functions.h"

namespace volta {

const Naming& naming_of(const WeightSource& source, const ConfigFile* config) {
    if (const std::pmr::string* own = source.find_text("volta.architecture")) {
        for (const Naming& naming : all_namings())
            if (std::string_view(naming.name) == "volta" && *own == naming.architecture) return naming;
        const ShownName part = shown(*own);
        fail(VOLTA_UNSUPPORTED, "its architecture is '%.*s', which cannot be imported", part.bytes,
             part.text);
    }
    if (config == nullptr)
        fail(VOLTA_INVALID_ARGUMENT,
             "the file does not say what its model is: give a config, at least "
             "{\"model_type\": \"gpt2\", \"n_head\": 12} (a config.json beside the file is found by itself)");
    const std::string_view type = config->text("model_type", "");
    if (const char* encoder = encoder_naming(type)) return find_naming("huggingface", encoder);
    if (const DecoderFamily* family = decoder_family_of(*config))
        return find_naming("huggingface", family->naming);
    if (!config->has("model_type")) fail(VOLTA_UNSUPPORTED, "the config has no 'model_type'");
    const ShownName part = shown(type);
    char known[512];
    std::size_t at = 0;
    for (const DecoderFamily& family : decoder_families())
        at += static_cast<std::size_t>(std::snprintf(known + at, sizeof known - at, "%s, ", family.type));
    fail(VOLTA_UNSUPPORTED, "the config has the model_type '%.*s'; Volta imports %sbert, roberta, distilbert",
         part.bytes, part.text, known);
}

const Naming& naming_of(const GgufFile& file) {
    const std::string_view type = file.string("general.architecture");
    if (type == "gpt2") return find_naming("gguf", "gpt");
    if (type == "llama") return find_naming("gguf", "llama");
    if (type == "qwen2") return find_naming("gguf", "qwen2");
    if (type == "bert") return find_naming("gguf", "bert");
    const ShownName part = shown(type);
    fail(VOLTA_UNSUPPORTED, "its architecture is '%.*s'; Volta imports gpt2, llama, qwen2 and bert",
         part.bytes, part.text);
}

namespace {

// What a builder says about an argument is said about the file.
template <class Body>
auto of_the_file(Body body) {
    try {
        return body();
    } catch (const Error& error) {
        if (error.status() != VOLTA_INVALID_ARGUMENT) throw;
        fail(VOLTA_CORRUPT_MODEL, "its sizes cannot be: %s", error.what());
    }
}

// A size that a model may have, but none of Volta's.
void check_limit(const char* name, std::int64_t value, std::int64_t most) {
    if (value > most)
        fail(VOLTA_UNSUPPORTED, "it has %lld %s, the most that a model of Volta has are %lld",
             static_cast<long long>(value), name, static_cast<long long>(most));
}

}  // namespace

LlamaConfig completed(const LlamaConfig& config) {
    check_limit("positions", config.context, kMostPositions);
    check_limit("layers", config.layers, kMostLayers);
    return of_the_file([&] { return complete(config); });
}
NetworkConfig completed(const NetworkConfig& config, std::int64_t depth) {
    return of_the_file([&] {
        NetworkConfig network = config;
        if (network.network->depth > 0) network.network = &resnet_of(depth);
        return complete(network);
    });
}
BertConfig completed(const BertConfig& config) {
    check_limit("layers", config.layers, kMostLayers);
    return of_the_file([&] { return complete(config); });
}

Architecture completed(const DecoderConfig& config) {
    check_limit("positions", config.context, kMostPositions);
    check_limit("layers", config.layers, kMostLayers);
    return of_the_file([&]() -> Architecture {
        const DecoderConfig whole = complete(config);  // checked, before anything is computed of it
        if (const auto gpt = as_gpt(whole)) return *gpt;
        if (const auto llama = as_llama(whole)) return *llama;
        return whole;
    });
}

Graph build_graph(const Architecture& architecture, std::pmr::memory_resource* heap) {
    return of_the_file([&] {
        if (const auto* decoder = std::get_if<DecoderConfig>(&architecture))
            return build_decoder(*decoder, "decoder", heap);
        if (const auto* gpt = std::get_if<GptConfig>(&architecture)) {
            check_limit("layers", gpt->layers, kMostLayers);
            return build_gpt(*gpt, heap);
        }
        if (const auto* bert = std::get_if<BertConfig>(&architecture)) return build_bert(*bert, heap);
        if (const auto* network = std::get_if<NetworkConfig>(&architecture))
            return build_network(*network, heap);
        return build_llama(std::get<LlamaConfig>(architecture), heap);
    });
}

void describe(const Architecture& architecture, Model& model) {
    if (const auto* gpt = std::get_if<GptConfig>(&architecture)) return describe_gpt(*gpt, model);
    if (const auto* decoder = std::get_if<DecoderConfig>(&architecture))
        return describe_decoder(*decoder, model);
    if (const auto* bert = std::get_if<BertConfig>(&architecture)) return describe_bert(*bert, model);
    if (const auto* network = std::get_if<NetworkConfig>(&architecture))
        return describe_network(*network, model);
    describe_llama(std::get<LlamaConfig>(architecture), model);
}

bool of_another_head(const Architecture& architecture, std::string_view parameter) {
    const auto* bert = std::get_if<BertConfig>(&architecture);
    if (bert == nullptr) return false;
    for (const std::string_view part : {"pooler.", "classifier.", "transform.", "norm_transform.", "head."})
        if (parameter.substr(0, part.size()) == part)
            return bert->head != BertHead::masked || part != "head.";
    return false;
}

namespace {

// Heads of q, k and v, in this order, are what a fused qkv is made of.
struct Heads {
    std::int64_t queries, keys;
};

Heads heads_of(const Architecture& architecture) {
    if (const auto* gpt = std::get_if<GptConfig>(&architecture)) return {gpt->heads, gpt->heads};
    if (const auto* bert = std::get_if<BertConfig>(&architecture)) return {bert->heads, bert->heads};
    if (std::holds_alternative<NetworkConfig>(architecture)) return {1, 1};  // its parameters are whole
    if (const auto* decoder = std::get_if<DecoderConfig>(&architecture))
        return {decoder->heads, decoder->kv_heads};
    const auto& llama = std::get<LlamaConfig>(architecture);
    return {llama.heads, llama.kv_heads};
}

}  // namespace

ColumnSpan columns_of(const Architecture& architecture, Part part, std::int64_t columns) {
    const Heads heads = heads_of(architecture);
    const std::int64_t head = columns / (heads.queries + 2 * heads.keys);
    const std::int64_t q = heads.queries * head, k = heads.keys * head;
    switch (part) {
        case Part::whole:
        case Part::by_head:
        case Part::last_rows:
            return {0, columns};
        case Part::q:
            return {0, q};
        case Part::k:
            return {q, k};
        case Part::v:
            return {q + k, k};
        case Part::gate:
            return {0, columns / 2};
        case Part::up:
            return {columns / 2, columns / 2};
    }
    return {0, 0};
}

std::int64_t pieces_by_head(const Architecture& architecture) {
    const Heads heads = heads_of(architecture);
    return heads.queries + 2 * heads.keys;
}

ColumnSpan columns_of_head(const Architecture& architecture, std::int64_t piece, std::int64_t columns) {
    const Heads heads = heads_of(architecture);  // as many of keys as of queries
    const std::int64_t width = columns / (heads.queries + 2 * heads.keys);
    return {(piece % 3 * heads.queries + piece / 3) * width, width};
}

std::int64_t turning_pairs(const Architecture& architecture) {
    if (const auto* decoder = std::get_if<DecoderConfig>(&architecture))
        return decoder->learned_positions ? 0 : decoder->turned / 2;
    const auto* llama = std::get_if<LlamaConfig>(&architecture);
    return llama != nullptr ? llama->dim / llama->heads / 2 : 0;
}

double turning_of(const Architecture& architecture, std::int64_t pair) {
    if (pair >= turning_pairs(architecture)) return 0;
    if (const auto* llama = std::get_if<LlamaConfig>(&architecture))
        return rotary_frequency(pair, llama->dim / llama->heads, llama->rope_base);
    const auto& decoder = std::get<DecoderConfig>(architecture);
    if (decoder.frequencies.count > 0) return static_cast<double>(decoder.frequencies.values[pair]);
    return rotary_frequency(pair, decoder.turned, decoder.rope_base);
}

}  // namespace volta
