// Tensors and architecture of a GGUF file.
#include "engine/import/gguf_weights.h"

#include <charconv>
#include <cstdio>
#include <string>

#include "engine/base/error.h"
#include "engine/import/architecture.h"
#include "engine/import/other_tensors.h"
#include "engine/import/weight_shapes.h"
#include "engine/model/text.h"
#include "engine/numerics/double_functions.h"

namespace volta {
namespace {

WeightTensor weight_tensor(const GgufFile& file, const GgufTensor& tensor, std::pmr::memory_resource* heap) {
    WeightTensor weight{std::pmr::string(tensor.name, heap), nullptr, {}, file.data(tensor), tensor.bytes};
    weight.type = find_stored_type(tensor.type->name);
    const ShownName name = shown(tensor.name);
    if (weight.type == nullptr)
        fail(VOLTA_UNSUPPORTED, "tensor '%.*s' is stored as %s, which is not read", name.bytes, name.text,
             tensor.type->name);
    weight.shape.rank = static_cast<std::int32_t>(tensor.rank);
    for (std::uint32_t axis = 0; axis < tensor.rank; ++axis)  // GGUF has the contiguous one first
        weight.shape[static_cast<int>(tensor.rank - 1 - axis)] =
            static_cast<std::int64_t>(tensor.extent[axis]);
    return weight;
}

// Keys "<architecture>.<name>".
class Keys {
  public:
    Keys(const GgufFile& file, std::string_view architecture, std::pmr::memory_resource* heap)
        : file_(file), prefix_(architecture, heap), heap_(heap) {
        prefix_ += '.';
    }
    std::int64_t integer(std::string_view name) const { return file_.integer(key(name)); }
    std::int64_t integer(std::string_view name, std::int64_t fallback) const {
        return file_.integer(key(name), fallback);
    }
    // The shortest decimal number that is this float: 1e-05 as a float is not the double 1e-05, but means it.
    double number(std::string_view name, double fallback) const {
        const double stored = file_.number(key(name), fallback);
        const auto narrow = static_cast<float>(stored);
        if (static_cast<double>(narrow) != stored) return stored;
        char text[64];
        const auto end = std::to_chars(text, text + sizeof text, narrow).ptr;
        double value = stored;
        std::from_chars(text, end, value);
        return value;
    }
    void expect(std::string_view name, std::int64_t value) const {
        const std::int64_t given = integer(name, value);
        if (given != value)
            fail(VOLTA_UNSUPPORTED, "its '%s' is %lld, Volta's model is one where it is %lld",
                 key(name).c_str(), static_cast<long long>(given), static_cast<long long>(value));
    }
    void expect(std::string_view name, double value) const {
        const double given = file_.number(key(name), value);
        if (given != value)
            fail(VOLTA_UNSUPPORTED, "its '%s' is %g, Volta's model is one where it is %g", key(name).c_str(),
                 given, value);
    }
    void expect(std::string_view name, std::string_view value) const {
        const std::string_view given = file_.string(key(name), value);
        const ShownName part = shown(given);
        if (given != value)
            fail(VOLTA_UNSUPPORTED, "its '%s' is '%.*s', Volta's model is one where it is '%.*s'",
                 key(name).c_str(), part.bytes, part.text, static_cast<int>(value.size()), value.data());
    }

    void expect(std::string_view name, bool value, const char* otherwise) const {
        if (file_.boolean(key(name), value) != value)
            fail(VOLTA_UNSUPPORTED, "its '%s' says that %s", key(name).c_str(), otherwise);
    }

  private:
    std::pmr::string key(std::string_view name) const {
        std::pmr::string whole(prefix_, heap_);
        whole += name;
        return whole;
    }
    const GgufFile& file_;
    std::pmr::string prefix_;
    std::pmr::memory_resource* heap_;
};

constexpr float kMostRopeFactor = 1e9f;

GptConfig gpt_from_keys(const Keys& keys, const WeightShapes& shapes) {
    GptConfig gpt;
    gpt.vocabulary = shapes.extent("token_embedding", 0);
    gpt.layers = keys.integer("block_count");
    gpt.dim = keys.integer("embedding_length");
    gpt.heads = keys.integer("attention.head_count");
    gpt.context = keys.integer("context_length");
    if (gpt.dim < INT32_MAX) keys.expect("feed_forward_length", 4 * gpt.dim);
    keys.expect("attention.head_count_kv", gpt.heads);
    keys.expect("attention.causal", true, "a token sees those behind it, Volta's GPT is a decoder");
    const double epsilon = keys.number("attention.layer_norm_epsilon", 1e-5);
    if (epsilon != 1e-5)
        fail(VOLTA_UNSUPPORTED, "its layer norms add %g to the variance, Volta's GPT adds 1e-05", epsilon);
    return gpt;
}

LlamaConfig llama_from_keys(const Keys& keys, const WeightShapes& shapes) {
    LlamaConfig llama;
    llama.vocabulary = shapes.extent("token_embedding", 0);
    llama.layers = keys.integer("block_count");
    llama.dim = keys.integer("embedding_length");
    llama.heads = keys.integer("attention.head_count");
    llama.kv_heads = keys.integer("attention.head_count_kv", llama.heads);
    llama.hidden = keys.integer("feed_forward_length");
    llama.context = keys.integer("context_length");
    llama.rope_base = keys.number("rope.freq_base", 10000);
    llama.epsilon = keys.number("attention.layer_norm_rms_epsilon", 1e-5);
    llama.tied = shapes.find("head.weight") == nullptr;
    llama.interleaved = true;  // the writers of these files turn half-split rows into pairs
    keys.expect("rope.scaling.type", std::string_view("none"));
    keys.expect("rope.scaling.factor", 1.0);  // without a type it means "linear"
    keys.expect("rope.scale_linear", 1.0);
    keys.expect("expert_count", std::int64_t{0});
    keys.expect("attention.causal", true, "a token sees those behind it, Volta's Llama is a decoder");
    if (llama.heads > 0 && llama.dim % llama.heads == 0)
        for (const char* name : {"rope.dimension_count", "attention.key_length", "attention.value_length"})
            keys.expect(name, llama.dim / llama.heads);
    return completed(llama);
}

// Llama 3.1 and those after it divide the frequency of each pair by a factor of its own.
void read_rope_factors(const WeightSource& source, DecoderConfig& decoder) {
    const WeightTensor* const factors = source.find("rope_freqs.weight");
    if (factors == nullptr || is_neutral(*factors, OtherTensor::Neutral::ones)) return;
    const std::int64_t turned = decoder.dim / decoder.heads, pairs = turned / 2;
    const StoredType& type = *factors->type;
    if (factors->shape.elements() != pairs || pairs > kMostFrequencies || type.widen == nullptr ||
        type.block_values != 1)
        fail(VOLTA_UNSUPPORTED, "tensor 'rope_freqs.weight' is %s of shape %s; a head has %lld pairs to turn",
             type.name, to_text(factors->shape).text, static_cast<long long>(pairs));
    decoder.frequencies.count = pairs;
    for (std::int64_t i = 0; i < pairs; ++i) {
        float factor = 0;
        type.widen(factors->data + i * type.block_bytes, 1, &factor);
        if (!(factor > 0) || factor > kMostRopeFactor)
            fail(VOLTA_CORRUPT_MODEL, "element %lld of tensor 'rope_freqs.weight' is %g; a factor is above 0",
                 static_cast<long long>(i), static_cast<double>(factor));
        decoder.frequencies.values[i] =
            static_cast<float>(rotary_frequency(i, turned, decoder.rope_base) / static_cast<double>(factor));
    }
}

Architecture llama_from_gguf(const Keys& keys, const WeightShapes& shapes, const WeightSource& source) {
    DecoderConfig llama = decoder_of(llama_from_keys(keys, shapes));
    read_rope_factors(source, llama);
    return completed(llama);
}

// A Llama whose rotary pairs are halves of a head, with biases of q, k and v.
Architecture qwen2_from_gguf(const Keys& keys, const WeightShapes& shapes, const WeightSource& source) {
    DecoderConfig qwen = decoder_of(llama_from_keys(keys, shapes));
    read_rope_factors(source, qwen);
    qwen.interleaved = false;
    qwen.qkv_bias = shapes.find("block.0.qkv.bias", Part::q) != nullptr;
    return completed(qwen);
}

BertConfig bert_from_keys(const Keys& keys, const WeightShapes& shapes, const BertChoice& choice) {
    BertConfig bert;
    bert.vocabulary = shapes.extent("token_embedding", 0);
    bert.segments = shapes.extent("segment_embedding", 0);
    bert.layers = keys.integer("block_count");
    bert.dim = keys.integer("embedding_length");
    bert.heads = keys.integer("attention.head_count");
    bert.hidden = keys.integer("feed_forward_length");
    bert.context = keys.integer("context_length");
    bert.epsilon = keys.number("attention.layer_norm_epsilon", bert.epsilon);
    choose_head(choice, shapes, bert);
    keys.expect("attention.head_count_kv", bert.heads);
    keys.expect("attention.causal", false, "a token sees those before it alone, Volta's BERT is no decoder");
    return completed(bert);
}

void add_part(WeightSource& source, const GgufFile& file, MappedFile&& mapping,
              std::pmr::memory_resource* heap) {
    for (const GgufTensor& tensor : file.tensors()) add_tensor(source, weight_tensor(file, tensor, heap));
    source.files.push_back(std::move(mapping));
}

// --- files that were split

constexpr std::int64_t kMostParts = 1024;

// What every part says; a file that is whole is the first part of one.
struct Split {
    std::int64_t number, count, tensors;  // number counts from 0; tensors of all parts, -1: not said
};

Split split_of(const GgufFile& file) {
    return {file.integer("split.no", 0), file.integer("split.count", 1),
            file.integer("split.tensors.count", -1)};
}

// How the name of part `number` ends: "-00001-of-00003.gguf".
struct PartEnding {
    char text[64];
    PartEnding(std::int64_t number, std::int64_t count) {
        std::snprintf(text, sizeof text, "-%05lld-of-%05lld.gguf", static_cast<long long>(number + 1),
                      static_cast<long long>(count));
    }
};

void check_first(const Split& split) {
    if (split.count <= 1) return;
    const auto number = static_cast<long long>(split.number), count = static_cast<long long>(split.count);
    if (split.count > kMostParts)
        fail(VOLTA_UNSUPPORTED, "it is one of %lld parts, at most %lld are read", count,
             static_cast<long long>(kMostParts));
    if (split.number < 0 || split.number >= split.count)
        fail(VOLTA_CORRUPT_MODEL, "its 'split.no' is %lld, and its 'split.count' %lld", number, count);
    if (split.number > 0)
        fail(VOLTA_UNSUPPORTED, "it is part %lld of %lld: give the first, whose name ends in '%s'",
             number + 1, count, PartEnding(0, split.count).text);
}

// The path of another part, in the place of the first one's.
std::pmr::string part_path(std::string_view first, const Split& split, std::int64_t number,
                           std::pmr::memory_resource* heap) {
    const PartEnding own(0, split.count);
    const std::string_view ending = own.text;
    if (first.size() < ending.size() || first.substr(first.size() - ending.size()) != ending)
        fail(
            VOLTA_UNSUPPORTED,
            "it is the first of %lld parts, and its name does not end in '%s', by which the others are found",
            static_cast<long long>(split.count), own.text);
    std::pmr::string path(first.substr(0, first.size() - ending.size()), heap);
    path += PartEnding(number, split.count).text;
    return path;
}

void add_other_part(WeightSource& source, const Split& split, std::int64_t number, const char* path,
                    std::pmr::memory_resource* heap) {
    MappedFile mapping(path);
    try {
        const GgufFile file(mapping.data(), mapping.bytes(), heap);
        const Split own = split_of(file);
        if (own.number != number || own.count != split.count)
            fail(VOLTA_CORRUPT_MODEL, "it says that it is part %lld of %lld",
                 static_cast<long long>(own.number) + 1, static_cast<long long>(own.count));
        add_part(source, file, std::move(mapping), heap);
    } catch (const Error& error) {
        fail(error.status(), "in its part %lld of %lld: %s", static_cast<long long>(number) + 1,
             static_cast<long long>(split.count), error.what());
    }
}

void add_other_parts(WeightSource& source, const Split& split, const char* path,
                     std::pmr::memory_resource* heap) {
    for (std::int64_t number = 1; number < split.count; ++number)
        add_other_part(source, split, number, part_path(path, split, number, heap).c_str(), heap);
    const auto found = static_cast<std::int64_t>(source.tensors.size());
    if (split.tensors >= 0 && split.tensors != found)
        fail(VOLTA_CORRUPT_MODEL, "its %lld parts have %lld tensors, it says %lld",
             static_cast<long long>(split.count), static_cast<long long>(found),
             static_cast<long long>(split.tensors));
}

}  // namespace

void require_first_part(const GgufFile& file) { check_first(split_of(file)); }

WeightSource read_gguf_weights(const GgufFile& file, MappedFile&& mapping, const char* path,
                               std::pmr::memory_resource* heap) {
    const Split split = split_of(file);
    WeightSource source(heap);
    add_part(source, file, std::move(mapping), heap);
    if (split.count > 1) add_other_parts(source, split, path, heap);
    finish_tensors(source);
    return source;
}

Architecture architecture_from_gguf(const GgufFile& file, const WeightSource& source, const KeyMap& keys,
                                    const BertChoice& choice, std::pmr::memory_resource* heap) {
    const std::string_view type = file.string("general.architecture");
    const WeightShapes shapes(source, keys, heap);
    if (type == "gpt2") return gpt_from_keys(Keys(file, type, heap), shapes);
    if (type == "qwen2") return qwen2_from_gguf(Keys(file, type, heap), shapes, source);
    if (type == "bert") return bert_from_keys(Keys(file, type, heap), shapes, choice);
    return llama_from_gguf(Keys(file, type, heap), shapes, source);
}

}  // namespace volta
