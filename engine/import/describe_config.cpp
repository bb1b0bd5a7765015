// Architectures from a config.json, and from the texts of a file that Volta wrote.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <initializer_list>
#include <iterator>

#include "engine/base/error.h"
#include "engine/import/architecture.h"
#include "engine/import/config_sizes.h"
#include "engine/import/decoder_families.h"
#include "engine/import/weight_shapes.h"
#include "engine/model/text.h"

namespace volta {
namespace {

// A BERT of transformers, by the name in the config's "architectures": the classes whose outputs one of
// Volta's models gives. Any other name is another head.
struct Program {
    const char *type, *name;
    std::optional<BertHead> head;  // none: pooled where the file has a pooler, else hidden
};
constexpr Program kPrograms[] = {
    {"bert", "BertForMaskedLM", BertHead::masked},
    {"bert", "BertForPreTraining", BertHead::masked},  // whether a sentence follows another is left out
    {"bert", "BertLMHeadModel", BertHead::masked},
    {"bert", "BertForSequenceClassification", BertHead::classes},
    {"bert", "BertForTokenClassification", BertHead::tokens},
    {"bert", "BertForQuestionAnswering", BertHead::tokens},
    {"bert", "BertModel", {}},
    {"roberta", "RobertaForMaskedLM", BertHead::masked},
    {"roberta", "RobertaForSequenceClassification", BertHead::classes},
    {"roberta", "RobertaForTokenClassification", BertHead::tokens},
    {"roberta", "RobertaForQuestionAnswering", BertHead::tokens},
    {"roberta", "RobertaModel", {}},
    {"xlm-roberta", "XLMRobertaForMaskedLM", BertHead::masked},
    {"xlm-roberta", "XLMRobertaForSequenceClassification", BertHead::classes},
    {"xlm-roberta", "XLMRobertaForTokenClassification", BertHead::tokens},
    {"xlm-roberta", "XLMRobertaForQuestionAnswering", BertHead::tokens},
    {"xlm-roberta", "XLMRobertaModel", {}},
    {"distilbert", "DistilBertForMaskedLM", BertHead::masked},
    {"distilbert", "DistilBertForSequenceClassification", BertHead::classes},
    {"distilbert", "DistilBertForTokenClassification", BertHead::tokens},
    {"distilbert", "DistilBertForQuestionAnswering", BertHead::tokens},
    {"distilbert", "DistilBertModel", {}},
};
// Other heads on the same encoders, which a host may ask for without them.
constexpr std::string_view kOtherHeads[] = {"ForNextSentencePrediction", "ForMultipleChoice"};

bool is_other_head(std::string_view name) {
    return std::any_of(std::begin(kOtherHeads), std::end(kOtherHeads), [&](std::string_view end) {
        return name.size() > end.size() && name.substr(name.size() - end.size()) == end;
    });
}

[[noreturn]] void fail_program(std::string_view type, std::string_view name, std::string_view known) {
    const ShownName part = shown(name);
    fail(VOLTA_UNSUPPORTED,
         "the config names the architecture '%.*s', whose outputs no model of Volta gives; of %.*s it "
         "imports %.*s",
         part.bytes, part.text, static_cast<int>(type.size()), type.data(), static_cast<int>(known.size()),
         known.data());
}

// A head that every file of an encoder may have the weights of.
bool is_trunk(BertHead head) { return head != BertHead::classes && head != BertHead::tokens; }

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
        if (choice.head && is_trunk(*choice.head) && is_other_head(name)) continue;
        std::pmr::string known(heap);
        for (const Program& program : kPrograms)
            if (type == program.type) (known += known.empty() ? "" : ", ") += program.name;
        fail_program(type, name, known);
    }
    return first;
}

// Every name in "architectures" must be one of the family's programs.
void check_programs(const DecoderFamily& family, const ConfigFile& config, std::pmr::memory_resource* heap) {
    for (const std::string_view name : config.list("architectures", heap)) {
        std::pmr::string known(heap);
        bool found = false;
        for (std::string_view rest = family.programs; !rest.empty();) {
            const std::string_view program = rest.substr(0, rest.find(' '));
            rest.remove_prefix(std::min(rest.size(), program.size() + 1));
            found = found || program == name;
            (known += known.empty() ? "" : ", ") += program;
        }
        if (!found) fail_program(family.type, name, known);
    }
}

// Settings that change no output of a model that is loaded: how it was trained, what its program keeps or
// returns, which ids begin and end a text, names of classes.
constexpr std::string_view kWithoutEffect[] = {"model_type",
                                               "architectures",
                                               "auto_map",
                                               "torch_dtype",
                                               "dtype",
                                               "transformers_version",
                                               "_name_or_path",
                                               "name_or_path",
                                               "_commit_hash",
                                               "return_dict",
                                               "return_dict_in_generate",
                                               "use_return_dict",
                                               "output_hidden_states",
                                               "output_attentions",
                                               "output_scores",
                                               "torchscript",
                                               "use_bfloat16",
                                               "chunk_size_feed_forward",
                                               "use_cache",
                                               "cache_implementation",
                                               "initializer_range",
                                               "initializer_factor",
                                               "init_std",
                                               "gradient_checkpointing",
                                               "pretraining_tp",
                                               "finetuning_task",
                                               "task_specific_params",
                                               "problem_type",
                                               "tokenizer_class",
                                               "prefix",
                                               "bos_token_id",
                                               "eos_token_id",
                                               "pad_token_id",
                                               "sep_token_id",
                                               "cls_token_id",
                                               "mask_token_id",
                                               "unk_token_id",
                                               "decoder_start_token_id",
                                               "forced_bos_token_id",
                                               "forced_eos_token_id",
                                               "suppress_tokens",
                                               "begin_suppress_tokens",
                                               "bad_words_ids",
                                               "id2label",
                                               "label2id",
                                               "num_labels",
                                               "_num_labels",
                                               "_attn_implementation",
                                               "_attn_implementation_autoset",
                                               "attn_implementation",
                                               "_flash_attn_2_enabled",
                                               "use_flash_attn",
                                               "attention_dropout",
                                               "hidden_dropout",
                                               "embd_pdrop",
                                               "attn_pdrop",
                                               "resid_pdrop",
                                               "embedding_dropout",
                                               "resid_dropout",
                                               "dropout",
                                               "classifier_dropout",
                                               "hidden_dropout_prob",
                                               "attention_probs_dropout_prob",
                                               "summary_type",
                                               "summary_use_proj",
                                               "summary_activation",
                                               "summary_proj_to_labels",
                                               "summary_first_dropout",
                                               "reorder_and_upcast_attn",
                                               "n_ctx",
                                               "max_length",
                                               "min_length",
                                               "do_sample",
                                               "early_stopping",
                                               "num_beams",
                                               "num_beam_groups",
                                               "diversity_penalty",
                                               "temperature",
                                               "top_k",
                                               "top_p",
                                               "typical_p",
                                               "repetition_penalty",
                                               "length_penalty",
                                               "no_repeat_ngram_size",
                                               "encoder_no_repeat_ngram_size",
                                               "num_return_sequences",
                                               "remove_invalid_values",
                                               "exponential_decay_length_penalty",
                                               "transformers.js_config",
                                               "unsloth_version",
                                               "unsloth_fixed",
                                               "tf_legacy_loss",
                                               "directionality",
                                               "pooler_fc_size",
                                               "pooler_num_attention_heads",
                                               "pooler_num_fc_layers",
                                               "pooler_size_per_head",
                                               "qa_dropout",
                                               "seq_classif_dropout",
                                               "sinusoidal_pos_embds",
                                               "tie_weights_",
                                               "pooler_type",
                                               "original_config_format",
                                               "_sliding_window_pattern"};

bool has_no_effect(std::string_view name) {
    return std::find(std::begin(kWithoutEffect), std::end(kWithoutEffect), name) != std::end(kWithoutEffect);
}

BertConfig bert_from_config(const ConfigFile& config, const WeightShapes& shapes, BertChoice choice,
                            const Program* program) {
    const std::string_view type = config.text("model_type", "");
    const bool is_distilbert = type == "distilbert";
    BertConfig bert;
    const ConfigSizes sizes(config, shapes);
    bert.vocabulary = sizes.size({"vocab_size"}, "token_embedding", 0);
    bert.layers = is_distilbert ? sizes.layers({"n_layers"}) : sizes.layers({"num_hidden_layers"});
    bert.dim = is_distilbert ? sizes.size({"dim"}, "token_embedding", 1)
                             : sizes.size({"hidden_size"}, "token_embedding", 1);
    bert.heads = is_distilbert ? sizes.heads({"n_heads"}) : sizes.heads({"num_attention_heads"});
    bert.hidden = is_distilbert ? sizes.size({"hidden_dim"}, "block.0.fc.weight", 0)
                                : sizes.size({"intermediate_size"}, "block.0.fc.weight", 0);
    bert.context = sizes.size({"max_position_embeddings", "n_positions"}, "position_embedding", 0);
    bert.segments = is_distilbert ? 0 : sizes.size({"type_vocab_size"}, "segment_embedding", 0);
    if (!is_distilbert)
        bert.epsilon = config.number(config.first_of({"layer_norm_eps", "layer_norm_epsilon"}), bert.epsilon);
    bert.pools_by_relu = is_distilbert;
    if (type == "roberta" || type == "xlm-roberta")  // positions begin behind that of padding
        bert.context -= config.integer("pad_token_id", 1) + 1;
    if (choice.head && !is_trunk(*choice.head) && program != nullptr && program->head != choice.head)
        fail(VOLTA_UNSUPPORTED,
             "the config names the architecture '%s', which has no head of the kind asked for",
             program->name);
    if (!choice.head && program != nullptr)
        choice.head = program->head                             ? *program->head
                      : shapes.find("pooler.weight") != nullptr ? BertHead::pooled
                                                                : BertHead::hidden;
    choose_head(choice, shapes, bert);
    config.expect(config.first_of({"hidden_act", "hidden_activation", "activation_function", "activation"}),
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
    if (!pooler) return BertHead::tokens;
    return BertHead::classes;
}

// "volta.<architecture>.<name>" of the file's texts.
class Texts {
  public:
    Texts(const std::pmr::vector<Metadata>& texts, const char* architecture)
        : texts_(texts), architecture_(architecture) {}

    template <class Number>
    void read(const char* name, Number& value) const {
        const std::string_view text = find(name);
        const char* const end = text.data() + text.size();
        const auto result = std::from_chars(text.data(), end, value);
        if (result.ec != std::errc() || result.ptr != end) fail_number(name, text);
    }
    void read(const char* name, bool& value) const {
        std::int64_t number = 0;
        read(name, number);
        value = number != 0;
    }
    void read(const char* name, DecoderNorm& value) const { read_kind(name, value); }
    void read(const char* name, DecoderOrder& value) const { read_kind(name, value); }
    void read(const char* name, DecoderActivation& value) const { read_kind(name, value); }
    void read(const char* name, HeadNorm& value) const { read_kind(name, value); }
    void read(const char* name, Frequencies& frequencies) const {
        const std::string_view text = find(name);
        for (const char *at = text.data(), *const end = at + text.size(); at != end;) {
            float value = 0;
            const auto result = std::from_chars(at, end, value);
            if (result.ec != std::errc() || (result.ptr != end && *result.ptr != ' '))
                fail_number(name, text);
            if (frequencies.count == kMostFrequencies) fail_number(name, text);
            frequencies.values[frequencies.count++] = value;
            at = result.ptr == end ? end : result.ptr + 1;
        }
    }

  private:
    struct Key {
        Key(const char* architecture, const char* name) {
            std::snprintf(text, sizeof text, "volta.%s.%s", architecture, name);
        }
        char text[64];
    };
    std::string_view find(const char* name) const {
        const Key key(architecture_, name);
        const std::pmr::string* text = find_text(texts_, key.text);
        if (text == nullptr) fail(VOLTA_CORRUPT_MODEL, "it has no '%s'", key.text);
        return *text;
    }
    [[noreturn]] void fail_number(const char* name, std::string_view text) const {
        const ShownName part = shown(text);
        fail(VOLTA_CORRUPT_MODEL, "its '%s' is '%.*s', which is no number", Key(architecture_, name).text,
             part.bytes, part.text);
    }
    template <class Kind>  // what it may be is checked with the whole
    void read_kind(const char* name, Kind& value) const {
        std::int32_t number = 0;
        read(name, number);
        value = static_cast<Kind>(number);
    }

    const std::pmr::vector<Metadata>& texts_;
    const char* architecture_;
};

DecoderConfig decoder_from_texts(const std::pmr::vector<Metadata>& all) {
    DecoderConfig decoder;
    const Texts texts(all, "decoder");
    each_member(decoder, [&](const char* name, auto& member) { texts.read(name, member); });
    return decoder;
}

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

const char* encoder_naming(std::string_view type) {
    for (const char* name : {"bert", "distilbert", "roberta"})
        if (type == name) return name;
    return type == "xlm-roberta" ? "roberta" : nullptr;
}

void choose_head(const BertChoice& choice, const WeightShapes& shapes, BertConfig& bert) {
    bert.head = choice.head ? *choice.head : head_of(shapes);
    const WeightTensor* const classifier = shapes.find("classifier.weight");  // its absence is told by itself
    if (!is_trunk(bert.head))
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
        if (find_text(all, "volta.bert.pools_by_relu") != nullptr)
            texts.read("pools_by_relu", bert.pools_by_relu);
        return completed(bert);
    }
    if (const Network* row = network_of_architecture(architecture)) return network_from_texts(*row, all);
    if (architecture == "decoder") return completed(decoder_from_texts(all));
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
    if (const DecoderFamily* family = decoder_family_of(config)) {
        check_programs(*family, config, heap);
        const DecoderConfig decoder = read_decoder(*family, config, shapes);
        config.expect_all_read(has_no_effect);
        return completed(decoder);
    }
    const BertConfig bert = bert_from_config(config, shapes, choice, find_program(config, choice, heap));
    config.expect_all_read(has_no_effect);
    return bert;
}

}  // namespace volta
