// Architectures from a config.json, and from the texts of a file that Volta wrote.
#include <charconv>

#include "engine/base/error.h"
#include "engine/import/architecture.h"
#include "engine/import/weight_shapes.h"
#include "engine/model/text.h"

namespace volta {
namespace {

std::int64_t heads_of(const ConfigFile& config, const char* name) {
    if (!config.has(name))
        fail(VOLTA_CORRUPT_MODEL, "the config has no '%s': the number of heads cannot be seen in the weights",
             name);
    return config.integer(name);
}

void expect_text(const ConfigFile& config, std::string_view name, std::string_view value) {
    const ShownName given = shown(config.text(name, value));
    if (config.text(name, value) != value)
        fail(VOLTA_UNSUPPORTED, "the config has '%.*s' '%.*s', Volta's model is one where it is '%.*s'",
             static_cast<int>(name.size()), name.data(), given.bytes, given.text,
             static_cast<int>(value.size()), value.data());
}

GptConfig gpt_from_config(const ConfigFile& config, const WeightShapes& shapes) {
    GptConfig gpt;
    gpt.vocabulary = config.integer("vocab_size", shapes.extent("token_embedding", 0));
    gpt.layers = config.integer("n_layer", shapes.layers());
    gpt.dim = config.integer("n_embd", shapes.extent("token_embedding", 1));
    gpt.heads = heads_of(config, "n_head");
    gpt.context = config.integer("n_positions", shapes.extent("position_embedding", 0));
    if (config.text("activation_function", "") != "gelu_pytorch_tanh")  // another name of the same function
        expect_text(config, "activation_function", "gelu_new");
    config.expect("n_inner", 4.0 * static_cast<double>(gpt.dim));
    config.expect("layer_norm_epsilon", 1e-5);
    config.expect("tie_word_embeddings", true);
    config.expect("scale_attn_weights", true);
    config.expect("scale_attn_by_inverse_layer_idx", false);
    config.expect("add_cross_attention", false);
    return gpt;
}

LlamaConfig llama_from_config(const ConfigFile& config, const WeightShapes& shapes) {
    LlamaConfig llama;
    llama.vocabulary = config.integer("vocab_size", shapes.extent("token_embedding", 0));
    llama.layers = config.integer("num_hidden_layers", shapes.layers());
    llama.dim = config.integer("hidden_size", shapes.extent("token_embedding", 1));
    llama.heads = heads_of(config, "num_attention_heads");
    llama.kv_heads = config.integer("num_key_value_heads", llama.heads);
    llama.hidden =
        config.integer("intermediate_size", shapes.extent("block.0.gate_up.weight", 0, Part::gate));
    llama.context = config.integer("max_position_embeddings", 2048);
    llama.rope_base = config.number("rope_theta", config.number("rope_parameters.rope_theta", 10000));
    llama.epsilon = config.number("rms_norm_eps", 1e-6);
    llama.tied = config.truth("tie_word_embeddings", false);
    llama.interleaved = false;
    expect_text(config, "hidden_act", "silu");
    expect_text(config, "rope_parameters.rope_type", "default");
    config.expect_absent("rope_scaling");
    config.expect("attention_bias", false);
    config.expect("mlp_bias", false);
    if (llama.heads > 0)
        config.expect("head_dim", static_cast<double>(llama.dim) / static_cast<double>(llama.heads));
    return completed(llama);
}

// The head that the weights are there for.
BertHead head_of(const WeightShapes& shapes) {
    if (shapes.find("transform.weight") != nullptr) return BertHead::masked;
    if (shapes.find("classifier.weight") != nullptr) return BertHead::classes;
    return shapes.find("pooler.weight") != nullptr ? BertHead::pooled : BertHead::hidden;
}

BertConfig bert_from_config(const ConfigFile& config, const WeightShapes& shapes, const BertChoice& choice) {
    BertConfig bert;
    bert.vocabulary = config.integer("vocab_size", shapes.extent("token_embedding", 0));
    bert.layers = config.integer("num_hidden_layers", shapes.layers());
    bert.dim = config.integer("hidden_size", shapes.extent("token_embedding", 1));
    bert.heads = heads_of(config, "num_attention_heads");
    bert.hidden = config.integer("intermediate_size", shapes.extent("block.0.fc.weight", 0));
    bert.context = config.integer("max_position_embeddings", shapes.extent("position_embedding", 0));
    bert.segments = config.integer("type_vocab_size", shapes.extent("segment_embedding", 0));
    bert.epsilon = config.number("layer_norm_eps", bert.epsilon);
    choose_head(choice, shapes, bert);
    expect_text(config, "hidden_act", "gelu");
    expect_text(config, "position_embedding_type", "absolute");
    config.expect("is_decoder", false);
    config.expect("add_cross_attention", false);
    config.expect("tie_word_embeddings", true);
    return completed(bert);
}

// "volta.<architecture>.<name>" of the file's texts.
class Texts {
  public:
    Texts(const std::pmr::vector<Metadata>& texts, const char* architecture)
        : texts_(texts), architecture_(architecture) {}

    template <class Number>
    void read(const char* name, Number& value) const {
        char key[64];
        std::snprintf(key, sizeof key, "volta.%s.%s", architecture_, name);
        const std::pmr::string* text = find_text(texts_, key);
        if (text == nullptr) fail(VOLTA_CORRUPT_MODEL, "it has no '%s'", key);
        const char* const end = text->data() + text->size();
        const auto result = std::from_chars(text->data(), end, value);
        const ShownName part = shown(*text);
        if (result.ec != std::errc() || result.ptr != end)
            fail(VOLTA_CORRUPT_MODEL, "its '%s' is '%.*s', which is no number", key, part.bytes, part.text);
    }
    void read(const char* name, bool& value) const {
        std::int64_t number = 0;
        read(name, number);
        value = number != 0;
    }

  private:
    const std::pmr::vector<Metadata>& texts_;
    const char* architecture_;
};

}  // namespace

void choose_head(const BertChoice& choice, const WeightShapes& shapes, BertConfig& bert) {
    bert.head = choice.head ? *choice.head : head_of(shapes);
    if (bert.head == BertHead::classes) bert.classes = shapes.extent("classifier.weight", 0);
    bert.segment_input = choice.segment_input;
    bert.mask_input = choice.mask_input;
    bert.dropout = choice.dropout;
}

Architecture architecture_from_texts(const std::pmr::vector<Metadata>& all) {
    const std::string_view architecture = *find_text(all, "volta.architecture");
    if (architecture == "gpt") {
        GptConfig gpt;
        const Texts texts(all, "gpt");
        texts.read("vocabulary", gpt.vocabulary);
        texts.read("layers", gpt.layers);
        texts.read("dim", gpt.dim);
        texts.read("heads", gpt.heads);
        texts.read("context", gpt.context);
        texts.read("dropout", gpt.dropout);
        return gpt;
    }
    if (architecture == "bert") {
        BertConfig bert;
        std::int32_t head = 0;
        const Texts texts(all, "bert");
        texts.read("vocabulary", bert.vocabulary);
        texts.read("layers", bert.layers);
        texts.read("dim", bert.dim);
        texts.read("heads", bert.heads);
        texts.read("hidden", bert.hidden);
        texts.read("context", bert.context);
        texts.read("segments", bert.segments);
        texts.read("head", head);
        bert.head = static_cast<BertHead>(head);
        texts.read("classes", bert.classes);
        texts.read("segment_input", bert.segment_input);
        texts.read("mask_input", bert.mask_input);
        texts.read("dropout", bert.dropout);
        texts.read("epsilon", bert.epsilon);
        return completed(bert);
    }
    LlamaConfig llama;
    const Texts texts(all, "llama");
    texts.read("vocabulary", llama.vocabulary);
    texts.read("layers", llama.layers);
    texts.read("dim", llama.dim);
    texts.read("heads", llama.heads);
    texts.read("kv_heads", llama.kv_heads);
    texts.read("hidden", llama.hidden);
    texts.read("context", llama.context);
    texts.read("rope_base", llama.rope_base);
    texts.read("epsilon", llama.epsilon);
    texts.read("tied", llama.tied);
    texts.read("interleaved", llama.interleaved);
    return completed(llama);
}

Architecture architecture_from_config(const ConfigFile& config, const WeightSource& source,
                                      const KeyMap& keys, const BertChoice& choice,
                                      std::pmr::memory_resource* heap) {
    const WeightShapes shapes(source, keys, heap);
    if (config.text("model_type", "") == "gpt2") return gpt_from_config(config, shapes);
    if (config.text("model_type", "") == "bert") return bert_from_config(config, shapes, choice);
    return llama_from_config(config, shapes);
}

}  // namespace volta
