// Architectures from a config.json, and from the texts of a file that Volta wrote.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <initializer_list>
#include <iterator>

#include "engine/base/error.h"
#include "engine/import/architecture.h"
#include "engine/import/weight_shapes.h"
#include "engine/model/text.h"

namespace volta {
namespace {

// A model of transformers, by the name in the config's "architectures": the classes whose outputs one of
// Volta's models gives. Any other name is another head, or another model, under a known model_type.
struct Program {
    const char *type, *name;
    std::optional<BertHead> head;  // none: no BERT, or pooled where the file has a pooler, else hidden
};
constexpr Program kPrograms[] = {
    {"gpt2", "GPT2LMHeadModel", {}},
    {"gpt2", "GPT2Model", {}},  // with the head that is its embedding
    {"llama", "LlamaForCausalLM", {}},
    {"llama", "LLaMAForCausalLM", {}},  // of the first converters
    {"llama", "LlamaModel", {}},
    {"bert", "BertForMaskedLM", BertHead::masked},
    {"bert", "BertForPreTraining", BertHead::masked},  // whether a sentence follows another is left out
    {"bert", "BertLMHeadModel", BertHead::masked},
    {"bert", "BertForSequenceClassification", BertHead::classes},
    {"bert", "BertModel", {}},
};
// Other heads on the same BERT, which a host may ask for without them.
constexpr const char* kOtherBertHeads[] = {"BertForTokenClassification", "BertForQuestionAnswering",
                                           "BertForNextSentencePrediction", "BertForMultipleChoice"};

bool is_other_bert_head(std::string_view name) {
    return std::find(std::begin(kOtherBertHeads), std::end(kOtherBertHeads), name) !=
           std::end(kOtherBertHeads);
}

[[noreturn]] void fail_program(std::string_view type, std::string_view name) {
    const ShownName part = shown(name);
    char known[256];
    std::size_t at = 0;
    for (const Program& program : kPrograms)
        if (type == program.type)
            at += static_cast<std::size_t>(
                std::snprintf(known + at, sizeof known - at, at > 0 ? ", %s" : "%s", program.name));
    fail(VOLTA_UNSUPPORTED,
         "the config names the architecture '%.*s', whose outputs no model of Volta gives; of %.*s it "
         "imports %s",
         part.bytes, part.text, static_cast<int>(type.size()), type.data(), known);
}

// The row of the first name in "architectures"; NULL: the config has none, or the host has chosen a head that
// its model has as well.
const Program* find_program(const ConfigFile& config, const BertChoice& choice,
                            std::pmr::memory_resource* heap) {
    const std::string_view type = config.text("model_type", "");
    const Program* first = nullptr;
    for (const std::string_view name : config.list("architectures", heap)) {
        const Program* const found = std::find_if(
            std::begin(kPrograms), std::end(kPrograms),
            [&](const Program& program) { return type == program.type && name == program.name; });
        if (found != std::end(kPrograms)) {
            if (first == nullptr) first = found;
            continue;
        }
        const bool trunk = choice.head && *choice.head != BertHead::classes && is_other_bert_head(name);
        if (!trunk) fail_program(type, name);
    }
    return first;
}

// What a config says, and for what it leaves out the shapes of the weights.
class Sizes {
  public:
    Sizes(const ConfigFile& config, const WeightShapes& shapes) : config_(config), shapes_(shapes) {}

    using Names = std::initializer_list<std::string_view>;  // of one thing, by different programs
    std::int64_t size(Names names, std::string_view parameter, int axis, Part part = Part::whole) const {
        const std::string_view name = config_.first_of(names);
        if (config_.has(name)) return config_.integer(name);
        return shapes_.extent(parameter, axis, part, Lacks(name).text);
    }
    std::int64_t layers(Names names) const {
        const std::string_view name = config_.first_of(names);
        return config_.has(name) ? config_.integer(name) : shapes_.layers(Lacks(name).text);
    }
    std::int64_t heads(Names names) const {
        const std::string_view name = config_.first_of(names);
        if (!config_.has(name))
            fail(VOLTA_CORRUPT_MODEL,
                 "the config has no '%.*s': the number of heads cannot be seen in the weights",
                 static_cast<int>(name.size()), name.data());
        return config_.integer(name);
    }

  private:
    struct Lacks {
        explicit Lacks(std::string_view name) {
            std::snprintf(text, sizeof text, "the config has no '%.*s'", static_cast<int>(name.size()),
                          name.data());
        }
        char text[64];
    };
    const ConfigFile& config_;
    const WeightShapes& shapes_;
};

GptConfig gpt_from_config(const ConfigFile& config, const WeightShapes& shapes) {
    GptConfig gpt;
    const Sizes sizes(config, shapes);
    gpt.vocabulary = sizes.size({"vocab_size"}, "token_embedding", 0);
    gpt.layers = sizes.layers({"n_layer", "num_hidden_layers"});
    gpt.dim = sizes.size({"n_embd", "hidden_size"}, "token_embedding", 1);
    gpt.heads = sizes.heads({"n_head", "num_attention_heads"});
    gpt.context = sizes.size({"n_positions", "max_position_embeddings"}, "position_embedding", 0);
    const std::string_view activation =
        config.first_of({"activation_function", "hidden_act", "hidden_activation"});
    if (config.text(activation, "") != "gelu_pytorch_tanh")  // another name of the same function
        config.expect(activation, std::string_view("gelu_new"));
    config.expect(config.first_of({"n_inner", "intermediate_size"}), 4.0 * static_cast<double>(gpt.dim));
    config.expect(config.first_of({"layer_norm_epsilon", "layer_norm_eps"}), 1e-5);
    config.expect("tie_word_embeddings", true);
    config.expect("scale_attn_weights", true);
    config.expect("scale_attn_by_inverse_layer_idx", false);
    config.expect("add_cross_attention", false);
    return gpt;
}

// Positions as the base alone gives them. A type of "default" scales nothing; without a type, what else
// stands there may mean anything.
double rope_base_of(const ConfigFile& config) {
    const auto expect_unscaled = [&](std::string_view object, std::string_view rope_type,
                                     std::string_view older_type) {
        const std::string_view type = config.first_of({rope_type, older_type});
        if (config.has(type))
            config.expect(type, std::string_view("default"));
        else
            config.expect_only(object, "rope_theta");
    };
    expect_unscaled("rope_parameters", "rope_parameters.rope_type", "rope_parameters.type");
    expect_unscaled("rope_scaling", "rope_scaling.rope_type", "rope_scaling.type");
    for (const char* name : {"partial_rotary_factor", "rope_parameters.partial_rotary_factor",
                             "rope_scaling.partial_rotary_factor"})
        config.expect(name, 1.0);
    return config.number(
        config.first_of({"rope_theta", "rope_parameters.rope_theta", "rope_scaling.rope_theta"}), 10000);
}

LlamaConfig llama_from_config(const ConfigFile& config, const WeightShapes& shapes) {
    LlamaConfig llama;
    const Sizes sizes(config, shapes);
    llama.vocabulary = sizes.size({"vocab_size"}, "token_embedding", 0);
    llama.layers = sizes.layers({"num_hidden_layers"});
    llama.dim = sizes.size({"hidden_size"}, "token_embedding", 1);
    llama.heads = sizes.heads({"num_attention_heads"});
    llama.kv_heads = config.integer("num_key_value_heads", llama.heads);
    llama.hidden = sizes.size({"intermediate_size"}, "block.0.gate_up.weight", 0, Part::gate);
    llama.context = config.integer(config.first_of({"max_position_embeddings", "n_positions"}), 2048);
    llama.rope_base = rope_base_of(config);
    llama.epsilon = config.number("rms_norm_eps", 1e-6);
    llama.tied = config.truth("tie_word_embeddings", false);
    llama.interleaved = false;
    config.expect(config.first_of({"hidden_act", "hidden_activation", "activation_function"}),
                  std::string_view("silu"));
    config.expect("attention_bias", false);
    config.expect("mlp_bias", false);
    if (llama.heads > 0)
        config.expect("head_dim", static_cast<double>(llama.dim) / static_cast<double>(llama.heads));
    return completed(llama);
}

BertConfig bert_from_config(const ConfigFile& config, const WeightShapes& shapes, BertChoice choice,
                            const Program* program) {
    BertConfig bert;
    const Sizes sizes(config, shapes);
    bert.vocabulary = sizes.size({"vocab_size"}, "token_embedding", 0);
    bert.layers = sizes.layers({"num_hidden_layers"});
    bert.dim = sizes.size({"hidden_size"}, "token_embedding", 1);
    bert.heads = sizes.heads({"num_attention_heads"});
    bert.hidden = sizes.size({"intermediate_size"}, "block.0.fc.weight", 0);
    bert.context = sizes.size({"max_position_embeddings", "n_positions"}, "position_embedding", 0);
    bert.segments = sizes.size({"type_vocab_size"}, "segment_embedding", 0);
    bert.epsilon = config.number(config.first_of({"layer_norm_eps", "layer_norm_epsilon"}), bert.epsilon);
    if (!choice.head && program != nullptr)
        choice.head = program->head                             ? *program->head
                      : shapes.find("pooler.weight") != nullptr ? BertHead::pooled
                                                                : BertHead::hidden;
    choose_head(choice, shapes, bert);
    config.expect(config.first_of({"hidden_act", "hidden_activation", "activation_function"}),
                  std::string_view("gelu"));
    config.expect("position_embedding_type", std::string_view("absolute"));
    config.expect("is_decoder", false);
    config.expect("add_cross_attention", false);
    config.expect("tie_word_embeddings", true);
    return completed(bert);
}

// The head that the weights are there for.
BertHead head_of(const WeightShapes& shapes) {
    if (shapes.find("transform.weight") != nullptr) return BertHead::masked;
    const bool pooler = shapes.find("pooler.weight") != nullptr;
    if (shapes.find("classifier.weight") == nullptr) return pooler ? BertHead::pooled : BertHead::hidden;
    if (!pooler)
        fail(VOLTA_UNSUPPORTED,
             "it has a classifier but no pooler: its labels are of tokens or of something else that no BERT "
             "of "
             "Volta gives");
    return BertHead::classes;
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

// `row`: one of the file's architecture; a depth says which of them.
NetworkConfig network_from_texts(const Network& row, const std::pmr::vector<Metadata>& all) {
    NetworkConfig network;
    std::int64_t depth = 0;
    std::int32_t stem = 0;
    const Texts texts(all, row.architecture);
    network.network = &row;
    if (row.depth > 0) texts.read("depth", depth);
    texts.read("classes", network.classes);
    texts.read("channels", network.channels);
    texts.read("rows", network.rows);
    texts.read("columns", network.columns);
    if (row.has_stems) texts.read("stem", stem);
    network.stem = static_cast<Stem>(stem);
    if (row.has_width) texts.read("width", network.width);
    return completed(network, depth);
}

}  // namespace

void choose_head(const BertChoice& choice, const WeightShapes& shapes, BertConfig& bert) {
    bert.head = choice.head ? *choice.head : head_of(shapes);
    const WeightTensor* const classifier = shapes.find("classifier.weight");  // its absence is told by itself
    if (bert.head == BertHead::classes)
        bert.classes = classifier != nullptr && classifier->shape.rank > 0 ? classifier->shape[0] : 1;
    bert.segment_input = choice.segment_input;
    bert.mask_input = choice.mask_input;
    bert.dropout = choice.dropout;
}

Architecture network_architecture(const NetworkConfig& given, const WeightSource& source, const KeyMap& keys,
                                  std::pmr::memory_resource* heap) {
    NetworkConfig network = given;
    if (network.classes == 0)
        network.classes = WeightShapes(source, keys, heap).extent(network.network->classifier, 0);
    return complete(network);
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
    if (const Network* row = network_of_architecture(architecture)) return network_from_texts(*row, all);
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
    const std::string_view type = config.text("model_type", "");
    const Program* const program = find_program(config, choice, heap);
    if (type == "gpt2") return gpt_from_config(config, shapes);
    if (type == "bert") return bert_from_config(config, shapes, choice, program);
    return llama_from_config(config, shapes);
}

}  // namespace volta
