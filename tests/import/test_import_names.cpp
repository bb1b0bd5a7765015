// Names under which files hold the same model, values that their configs say twice, heads that no model of
// Volta has, and tensors that would change what a model computes.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "engine/import/architecture.h"
#include "engine/import/export_safetensors.h"
#include "engine/import/import_model.h"
#include "tests/import/bert_files.h"
#include "tests/import/gpt_files.h"
#include "tests/import/llama_files.h"
#include "tests/import/same_model.h"
#include "tests/model/test_heap.h"
#include "tests/support/errors.h"

namespace {
using namespace volta;
using namespace volta::test;

constexpr const char* kGptConfig = R"({"model_type": "gpt2", "n_head": 4, )";
constexpr const char* kLlamaConfig =
    R"({"model_type": "llama", "num_attention_heads": 4, "num_key_value_heads": 2,
    "max_position_embeddings": 32, "rms_norm_eps": 1e-05, )";
constexpr const char* kBertConfig = R"({"model_type": "bert", "num_attention_heads": 4, )";

struct Fixture {
    static Fixture gpt() {
        Fixture f;
        f.model = create_gpt(small_gpt(), 7, f.heap->structures(), f.heap->tensors());
        scatter(*f.model);
        f.tensors = gpt2_tensors(*f.model, 2, "transformer.");
        f.config = kGptConfig;
        return f;
    }
    static Fixture llama(bool tied) {
        Fixture f;
        LlamaConfig config = small_llama(tied, false);
        f.model = create_llama(config, 3, f.heap->structures(), f.heap->tensors());
        f.tensors = llama_tensors(*f.model, config, kHuggingFaceNames);
        f.config = std::string(kLlamaConfig) + (tied ? "\"tie_word_embeddings\": true, " : "");
        return f;
    }
    static Fixture bert(BertHead head = BertHead::masked) {
        Fixture f;
        f.model = create_bert(small_bert(head), 7, f.heap->structures(), f.heap->tensors());
        scatter(*f.model);
        f.tensors = bert_tensors(*f.model);
        f.config = kBertConfig;
        return f;
    }

    HeapPtr<Model> import(const std::string& more = "") {
        std::string whole = config + more;
        whole.erase(whole.find_last_not_of(", ") + 1);
        folder->write("config.json", whole + "}");
        if (!keys.empty()) options.key_map_path = (key_path = folder->write("keys.txt", keys)).c_str();
        std::string bytes = safetensors_of(tensors);
        if (!metadata.empty()) {
            const std::string note = "{\"__metadata__\":{\"format\":\"pt\"," + metadata + "},";
            std::uint64_t length;
            std::memcpy(&length, bytes.data(), sizeof length);
            bytes = safetensors(note + bytes.substr(9, length - 1), bytes.substr(8 + length));
        }
        const std::string path = folder->write("m.safetensors", bytes);
        return import_model(path.c_str(), options, heap->structures(), heap->tensors());
    }
    Failure refusal(const std::string& more = "") {
        const long held = heap->held;
        const Failure failure = failure_of([&] { import(more); });
        assert_int_equal(heap->held, held);
        return failure;
    }
    bool same(const Model& other) { return computes_the_same(*model, other, heap->structures()); }
    PlainTensor& tensor(const std::string& name) { return find_tensor(tensors, name); }
    void add(const std::string& name, std::vector<std::int64_t> shape, float value) {
        std::size_t count = 1;
        for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
        tensors.push_back({name, std::move(shape), std::vector<float>(count, value)});
    }
    void copy(const std::string& from, const std::string& to) {
        PlainTensor again = tensor(from);
        again.name = to;
        tensors.push_back(again);
    }
    void wrap(const std::string& prefix) {
        for (PlainTensor& tensor : tensors) tensor.name = prefix + tensor.name;
    }

    std::unique_ptr<TestHeap> heap = std::make_unique<TestHeap>();
    std::unique_ptr<TemporaryFolder> folder = std::make_unique<TemporaryFolder>();
    HeapPtr<Model> model;
    std::vector<PlainTensor> tensors;
    std::string config, metadata, keys, key_path;
    ImportOptions options;
};

// ---- one matrix under either of its names

struct Tied {
    Fixture (*make)();
    const char *embedding, *head;
};
const Tied kTied[] = {
    {[] { return Fixture::gpt(); }, "transformer.wte.weight", "lm_head.weight"},
    {[] { return Fixture::llama(true); }, "model.embed_tokens.weight", "lm_head.weight"},
    {[] { return Fixture::bert(); }, "bert.embeddings.word_embeddings.weight",
     "cls.predictions.decoder.weight"},
    {[] { return Fixture::bert(BertHead::pooled); }, "bert.embeddings.word_embeddings.weight",
     "cls.predictions.decoder.weight"},
};

void test_a_tied_matrix_has_either_name(void**) {
    for (const Tied& row : kTied) {
        Fixture f = row.make();
        const std::string architecture =
            f.config == kBertConfig && f.model->find_parameter("pooler.weight") != nullptr
                ? "\"architectures\": [\"BertModel\"]"
                : "";
        f.copy(row.embedding, row.head);  // both, and equal
        assert_true(f.same(*f.import(architecture)));
        f.tensors.pop_back();
        f.tensor(row.embedding).name = row.head;  // the head's alone, with and without the note
        assert_true(f.same(*f.import(architecture)));
        f.metadata = std::string("\"") + row.embedding + "\":\"" + row.head + "\"";
        assert_true(f.same(*f.import(architecture)));
        f.tensor(row.head).name = row.embedding;  // the embedding's alone, with a note
        f.metadata = std::string("\"") + row.head + "\":\"" + row.embedding + "\"";
        assert_true(f.same(*f.import(architecture)));
    }
}

void test_a_tied_matrix_is_one(void**) {
    for (const Tied& row : kTied) {
        Fixture f = row.make();
        if (f.model->find_parameter("pooler.weight") != nullptr) continue;  // where no head is read
        f.copy(row.embedding, row.head);
        f.tensors.back().values[3] += 1;
        assert_failure(f.refusal(), VOLTA_UNSUPPORTED, "this model's head is its embedding");
    }
}

void test_an_untied_model_needs_both(void**) {
    Fixture f = Fixture::llama(false);
    assert_true(f.same(*f.import()));  // tie_word_embeddings is false where a Llama's config does not say
    PlainTensor head = f.tensor("lm_head.weight");
    f.tensors.pop_back();
    assert_failure(f.refusal(), VOLTA_CORRUPT_MODEL, "tensor 'lm_head.weight' is missing");
    f.tensor("model.embed_tokens.weight").name = "lm_head.weight";
    assert_failure(f.refusal(), VOLTA_CORRUPT_MODEL, "tensor 'embed_tokens.weight' is missing");
    f.metadata = "\"model.embed_tokens.weight\":\"lm_head.weight\"";  // shared without being tied
    const auto shared = f.import();
    const auto values = [&](const char* name) { return plain(*shared, name); };
    assert_true(values("token_embedding") == values("head.weight"));
}

// Any tensor may share its memory with another; a note about what nobody knows is none.
void test_notes_of_shared_tensors(void**) {
    Fixture f = Fixture::llama(true);
    PlainTensor& norm = f.tensor("model.layers.1.input_layernorm.weight");
    norm.values = f.tensor("model.layers.0.input_layernorm.weight").values;
    const auto expected = f.import();
    f.tensors.erase(f.tensors.begin() + (&norm - f.tensors.data()));
    f.metadata =
        R"("model.layers.1.input_layernorm.weight":"model.layers.0.input_layernorm.weight",
           "title":"lm_head.weight","some.tensor":"model.norm.weight","model.norm.bias":"none",
           "model.norm.weight":"model.layers.0.input_layernorm.weight")";
    assert_true(hash_parameters(*expected, f.heap->structures()) ==
                hash_parameters(*f.import(), f.heap->structures()));
}

// ---- what programs put before every name

void test_wrapped_names(void**) {
    for (const char* prefix : {"_orig_mod.", "module.", "model.", "module._orig_mod.",
                               "_orig_mod.module.model.", "net.", "_fsdp_wrapped_module."}) {
        for (const bool tied : {true, false}) {
            Fixture f = Fixture::llama(tied);
            f.wrap(prefix);
            assert_true(f.same(*f.import()));
        }
        Fixture gpt = Fixture::gpt(), bert = Fixture::bert(BertHead::classes);
        gpt.wrap(prefix);
        assert_true(gpt.same(*gpt.import()));
        bert.wrap(prefix);
        assert_true(bert.same(*bert.import()));
    }
    Fixture f = Fixture::gpt();
    f.tensors[3].name = "_orig_mod." + f.tensors[3].name;  // one alone is no wrapper
    assert_failure(f.refusal(), VOLTA_UNSUPPORTED,
                   "tensor '_orig_mod.transformer.h.1.ln_1.weight' is not known");
}

// ---- one value under two names

struct Twice {
    char kind;
    const char *more, *text;  // text NULL: imported
};
const Twice kTwice[] = {
    {'l', R"("rope_theta": 10000.0, "rope_parameters": {"rope_type": "default", "rope_theta": 10000})",
     nullptr},
    {'l', R"("rope_parameters": {"rope_type": "default", "rope_theta": 10000}, "rope_scaling": null)",
     nullptr},
    {'l', R"("rope_scaling": {"rope_type": "default"})", nullptr},
    {'l', R"("rope_scaling": {"type": "default", "rope_type": "default", "factor": 1.0})", nullptr},
    {'l', R"("rope_scaling": {}, "rope_parameters": {"rope_theta": 10000.0})", nullptr},
    {'l', R"("rope_scaling": {"rope_theta": 10000.0})", nullptr},
    {'l', R"("dtype": "float32", "torch_dtype": "bfloat16", "pad_token_id": -1, "bos_token_id": null)",
     nullptr},
    {'l', R"("initializer_range": NaN, "temperature": [Infinity, -Infinity], "eos_token_id": [1, 2])",
     nullptr},
    {'l', R"("head_dim": 16, "num_key_value_heads": 2, "partial_rotary_factor": 1.0)", nullptr},
    {'l', R"("rope_theta": 10000.0, "rope_parameters": {"rope_type": "default", "rope_theta": 500000.0})",
     "the config has 'rope_theta' 10000 and 'rope_parameters.rope_theta' 5e+05"},
    {'l', R"("rope_theta": 10000.0, "rope_scaling": {"rope_type": "default", "rope_theta": 20000})",
     "the config has 'rope_theta' 10000 and 'rope_scaling.rope_theta' 20000"},
    {'l',
     R"("rope_parameters": {"rope_theta": 1e4}, "rope_scaling": {"rope_type": "default", "rope_theta": 2e4})",
     "'rope_parameters.rope_theta' 10000 and 'rope_scaling.rope_theta' 20000"},
    {'l', R"("rope_theta": 10000.0, "rope_theta": 500000.0)",
     "the config has 'rope_theta' twice, 10000 and 5e+05"},
    {'l', R"("rope_scaling": {"type": "default", "rope_type": "llama3"})",
     "'rope_scaling.rope_type' 'llama3' and 'rope_scaling.type' 'default'"},
    {'l', R"("rope_scaling": {"rope_type": "llama3", "factor": 8.0})",
     "are of type 'llama3', but have no 'low_freq_factor'"},
    {'l', R"("rope_scaling": {"type": "linear"})", "are of type 'linear', but have no 'factor'"},
    {'l', R"("rope_scaling": {"type": "ntk", "factor": 2.0})",
     "are of type 'ntk'; Volta knows default, linear, dynamic, llama3, yarn and longrope"},
    {'l', R"("rope_scaling": {"type": "linear", "factor": 2.0, "offset": 3})",
     "the config has 'rope_scaling.offset' 3; what it does to the model is not known"},
    {'l', R"("rope_scaling": {"type": "longrope", "short_factor": [1, 2], "long_factor": [1, 2]})",
     "have 2 of 'short_factor' for 8 pairs of a head"},
    {'l', R"("rope_scaling": {"factor": 2.0})",
     "the config has 'rope_scaling.factor', which Volta's model has not"},
    {'l', R"("rope_scaling": "linear")", "the config has 'rope_scaling', which Volta's model has not"},
    {'l', R"("rope_parameters": {"full_attention": {"rope_theta": 10000}})",
     "'rope_parameters.full_attention'"},
    {'l', R"("rope_parameters": {"rope_type": "default"}, "rope_parameters": {"rope_type": "yarn"})",
     "the config has 'rope_parameters' twice"},
    {'l', R"("partial_rotary_factor": 1.5)", "turn 1.5 of each head"},
    {'l', R"("rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0})",
     "turn 0 of each head"},
    {'l',
     R"("partial_rotary_factor": 0.5, "rope_scaling": {"rope_type": "default", "partial_rotary_factor": 1})",
     "'partial_rotary_factor' 0.5 and 'rope_scaling.partial_rotary_factor' 1"},
    {'l', R"("rms_norm_eps": 1e-06)", "the config has 'rms_norm_eps' twice, 1e-05 and 1e-06"},
    {'l', R"("max_position_embeddings": 64)", "the config has 'max_position_embeddings' twice, 32 and 64"},
    {'l', R"("n_positions": 64)", "'max_position_embeddings' 32 and 'n_positions' 64"},
    {'l', R"("hidden_act": "silu", "hidden_activation": "gelu")",
     "'hidden_act' 'silu' and 'hidden_activation' 'gelu'"},
    {'l', R"("hidden_size": NaN)", "'hidden_size' of the config is no whole number"},
    {'g', R"("n_embd": 32, "hidden_size": 32, "n_positions": 16, "max_position_embeddings": 16, "n_ctx": 16)",
     nullptr},
    {'g', R"("hidden_size": 32, "num_hidden_layers": 2, "max_position_embeddings": 16)", nullptr},
    {'g', R"("n_embd": 32, "hidden_size": 64)", "the config has 'n_embd' 32 and 'hidden_size' 64"},
    {'g', R"("n_positions": 16, "max_position_embeddings": 32)",
     "the config has 'n_positions' 16 and 'max_position_embeddings' 32"},
    {'g', R"("num_attention_heads": 8)", "the config has 'n_head' 4 and 'num_attention_heads' 8"},
    {'g', R"("n_layer": 2, "num_hidden_layers": 1)", "'n_layer' 2 and 'num_hidden_layers' 1"},
    {'g', R"("activation_function": "gelu_new", "hidden_act": "relu")",
     "'activation_function' 'gelu_new' and 'hidden_act' 'relu'"},
    {'g', R"("layer_norm_epsilon": 1e-05, "layer_norm_eps": 1e-06)",
     "'layer_norm_epsilon' 1e-05 and 'layer_norm_eps' 1e-06"},
    {'b', R"("layer_norm_eps": 1e-12, "layer_norm_epsilon": 1e-05)",
     "'layer_norm_eps' 1e-12 and 'layer_norm_epsilon' 1e-05"},
    {'b', R"("hidden_act": "gelu", "activation_function": "relu")",
     "'hidden_act' 'gelu' and 'activation_function' 'relu'"},
};

Fixture made(char kind) {
    return kind == 'l' ? Fixture::llama(true) : kind == 'g' ? Fixture::gpt() : Fixture::bert();
}

void test_values_that_stand_twice(void**) {
    for (const Twice& row : kTwice) {
        Fixture f = made(row.kind);
        const Failure failure = f.refusal(row.more);
        if (row.text != nullptr) {
            assert_failure(failure, failure.status, row.text);
            assert_true(failure.status == VOLTA_UNSUPPORTED || failure.status == VOLTA_CORRUPT_MODEL);
        } else {
            if (failure.status != VOLTA_OK) print_error("%s: %s\n", row.more, failure.text);
            assert_true(f.same(*f.import(row.more)));
        }
    }
}

void test_the_nested_base_counts(void**) {
    for (const char* more :
         {R"("rope_parameters": {"rope_type": "default", "rope_theta": 500000.0})",
          R"("rope_scaling": {"rope_type": "default", "rope_theta": 500000.0})", R"("rope_theta": 500000)"}) {
        Fixture f = Fixture::llama(true);
        assert_string_equal(f.import(more)->find_metadata("volta.llama.rope_base")->c_str(), "5e+05");
    }
}

void test_long_contexts_are_no_damage(void**) {
    Fixture f = Fixture::llama(true);
    f.config.replace(f.config.find("\": 32"), 5, "\": 2097152");
    assert_failure(f.refusal(), VOLTA_UNSUPPORTED,
                   "it has 2097152 positions, the most that a model of Volta has are 1048576");
    Fixture gpt = Fixture::gpt();
    assert_failure(gpt.refusal(R"("n_layer": 600)"), VOLTA_UNSUPPORTED, "it has 600 layers, the most");
}

// ---- heads

struct Head {
    char kind;  // of the file: 'm'asked, 'c'lasses, 'p'ooled, 'h'idden
    const char* architecture;
    std::optional<BertHead> head;  // none: refused
};
const Head kHeads[] = {
    {'m', "BertForMaskedLM", BertHead::masked},
    {'m', "BertForPreTraining", BertHead::masked},
    {'c', "BertForSequenceClassification", BertHead::classes},
    {'p', "BertModel", BertHead::pooled},
    {'c', "BertModel", BertHead::pooled},  // what stands there beside is another model's
    {'m', "BertModel", BertHead::hidden},
    {'h', "BertModel", BertHead::hidden},
    {'c', "BertForTokenClassification", BertHead::tokens},
    {'c', "BertForQuestionAnswering", BertHead::tokens},
    {'c', "BertForMultipleChoice", {}},
    {'p', "BertForNextSentencePrediction", {}},
    {'m', "NomicBertForMaskedLM", {}},
    {'m', "RobertaForMaskedLM", {}},
    {'c', "BertForMultiLabelTokenClassification", {}},
    {'m', "", {}},
};

Fixture bert_of(char kind) {
    return Fixture::bert(kind == 'm'   ? BertHead::masked
                         : kind == 'c' ? BertHead::classes
                         : kind == 'p' ? BertHead::pooled
                                       : BertHead::hidden);
}

void test_the_architecture_says_which_head(void**) {
    for (const Head& row : kHeads) {
        Fixture f = bert_of(row.kind);
        const std::string more = std::string("\"architectures\": [\"") + row.architecture + "\"]";
        if (!row.head) {
            const std::string text =
                std::string("the config names the architecture '") + row.architecture +
                "', whose outputs no model of Volta gives; of bert it imports BertForMaskedLM";
            assert_failure(f.refusal(more), VOLTA_UNSUPPORTED, text.c_str());
            continue;
        }
        const auto imported = f.import(more);
        const std::string number = std::to_string(static_cast<int>(*row.head));
        assert_string_equal(imported->find_metadata("volta.bert.head")->c_str(), number.c_str());
    }
}

void test_the_head_of_another_file_is_missed(void**) {
    Fixture masked = bert_of('p'), classes = bert_of('p');
    assert_failure(masked.refusal("\"architectures\": [\"BertForMaskedLM\"]"), VOLTA_CORRUPT_MODEL,
                   "tensor 'cls.predictions.transform.dense.weight' is missing");
    assert_failure(classes.refusal("\"architectures\": [\"BertForSequenceClassification\"]"),
                   VOLTA_CORRUPT_MODEL, "tensor 'classifier.weight' is missing");
}

void test_a_classifier_of_tokens_is_seen(void**) {
    Fixture f = bert_of('c');
    const auto is_pooler = [](const PlainTensor& t) { return t.name.find("pooler") != t.name.npos; };
    f.tensors.erase(std::remove_if(f.tensors.begin(), f.tensors.end(), is_pooler), f.tensors.end());
    assert_string_equal(f.import()->find_metadata("volta.bert.head")->c_str(), "4");
}

// Without its head, a BERT with another one is the same BERT; its classifier is still of another kind.
void test_a_host_may_leave_another_head_out(void**) {
    const std::string more = "\"architectures\": [\"BertForTokenClassification\"]";
    for (const BertHead head : {BertHead::hidden, BertHead::pooled}) {
        Fixture f = bert_of('c');
        f.options.bert = BertChoice{head, false, false, 0};
        const std::string number = std::to_string(static_cast<int>(head));
        assert_string_equal(f.import(more)->find_metadata("volta.bert.head")->c_str(), number.c_str());
    }
    Fixture f = bert_of('c');
    f.options.bert = BertChoice{BertHead::classes, false, false, 0};
    assert_failure(f.refusal(more), VOLTA_UNSUPPORTED, "'BertForTokenClassification'");
    f.options.bert->head = BertHead::hidden;
    assert_failure(f.refusal("\"architectures\": [\"NomicBertModel\"]"), VOLTA_UNSUPPORTED,
                   "'NomicBertModel'");
}

void test_other_heads_of_decoders(void**) {
    for (const char* name : {"LlamaForSequenceClassification", "LlamaForTokenClassification",
                             "LlamaForQuestionAnswering", "LlamaForRewardModel", "MistralForCausalLM",
                             "LlamaForCausalLMEagle", "Qwen2ForCausalLM", "GPT2LMHeadModel"}) {
        Fixture f = Fixture::llama(true);
        assert_failure(f.refusal(std::string("\"architectures\": [\"") + name + "\"]"), VOLTA_UNSUPPORTED,
                       name);
    }
    for (const char* name : {"GPT2ForSequenceClassification", "GPT2DoubleHeadsModel",
                             "GPT2ForTokenClassification", "GPT2ForQuestionAnswering", "LlamaForCausalLM"}) {
        Fixture f = Fixture::gpt();
        assert_failure(f.refusal(std::string("\"architectures\": [\"") + name + "\"]"), VOLTA_UNSUPPORTED,
                       name);
    }
    for (const char* name : {"LlamaForCausalLM", "LLaMAForCausalLM", "LlamaModel"}) {
        Fixture f = Fixture::llama(true);
        assert_true(f.same(*f.import(std::string("\"architectures\": [\"") + name + "\"]")));
    }
    for (const char* name : {"GPT2LMHeadModel", "GPT2Model"}) {
        Fixture f = Fixture::gpt();
        assert_true(f.same(*f.import(std::string("\"architectures\": [\"") + name + "\"]")));
    }
    Fixture f = Fixture::llama(true);  // one of several
    assert_failure(f.refusal(R"("architectures": ["LlamaForCausalLM", "LlamaForScore"])"), VOLTA_UNSUPPORTED,
                   "'LlamaForScore'");
    Fixture none = Fixture::llama(true);
    none.config = R"({"num_attention_heads": 4, "architectures": ["LlamaForCausalLM"])";
    assert_failure(none.refusal(), VOLTA_UNSUPPORTED, "the config has no 'model_type'");
}

// ---- tensors that change results

struct Other {
    const char* name;
    std::vector<std::int64_t> shape;
    float neutral;  // NaN: no value changes nothing
    const char* text;
};
const float kNone = std::numeric_limits<float>::quiet_NaN();
const Other kOthers[] = {
    {"rope_freqs.weight", {8}, 1, "scales rotary positions"},
    {"rope_factors_long.weight", {8}, 1, "scales rotary positions"},
    {"rope_factors_short.weight", {8}, 1, "scales rotary positions"},
    {"model.layers.0.self_attn.sinks", {4}, kNone, "adds a sink"},
    {"blk.0.attn_sinks.weight", {4}, kNone, "adds a sink"},
    {"model.layers.1.self_attn.q_proj.bias", {64}, 0, "is added to what the model computes"},
    {"model.layers.1.mlp.down_proj.bias", {64}, 0, "is added to what the model computes"},
    {"lm_head.bias", {48}, 0, "is added to what the model computes"},
    {"model.layers.1.self_attn.q_norm.weight", {16}, kNone, "normalises queries"},
    {"blk.1.attn_k_norm.weight", {16}, kNone, "normalises keys"},
    {"model.layers.1.layer_scale.weight", {64}, 1, "scales what a layer gives"},
    {"model.layers.1.self_attn.q_proj.weight_scale", {1}, kNone, "is quantised in a way that is not read"},
    {"base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight",
     {4, 64},
     kNone,
     "belongs to an adapter"},
    {"model.layers.0.self_attn.q_proj.lora_B.default.weight", {64, 4}, kNone, "belongs to an adapter"},
    {"model.layers.0.mlp.experts.0.w1.weight", {64, 4}, kNone, "belongs to a mixture of experts"},
    {"model.layers.0.pre_feedforward_layernorm.weight", {64}, kNone, "is a norm"},
    {"blk.0.post_ffw_norm.weight", {64}, kNone, "is a norm"},
};

// Neither the file alone nor a key map that drops it gives a model, unless its values do nothing.
void test_what_changes_results_is_refused(void**) {
    for (const Other& other : kOthers)
        for (const bool drop : {false, true}) {
            Fixture f = Fixture::llama(true);
            f.add(other.name, other.shape, 0.5f);
            if (drop) f.keys = std::string(other.name) + " = -\n";
            const Failure failure = f.refusal();
            assert_failure(failure, VOLTA_UNSUPPORTED, other.text);
            assert_failure(failure, VOLTA_UNSUPPORTED, other.name);
            assert_null(std::strstr(failure.text, "drop"));
            if (other.neutral != other.neutral) continue;
            f.tensors.back().values.assign(f.tensors.back().values.size(), other.neutral);
            assert_true(f.same(*f.import()));
        }
}

void test_what_nobody_knows_is_not_dropped_by_a_hint(void**) {
    Fixture f = Fixture::llama(true);
    f.add("model.layers.0.something.weight", {4, 4}, 1);
    const Failure failure = f.refusal();
    assert_failure(failure, VOLTA_UNSUPPORTED, "tensor 'model.layers.0.something.weight' is not known");
    assert_null(std::strstr(failure.text, "drop"));
    f.keys = "model.layers.%d.something.weight = -";
    assert_true(f.same(*f.import()));
}

void test_buffers_are_what_their_names_say(void**) {
    const struct {
        char kind;
        const char* name;
        std::vector<std::int64_t> shape;
        const char* text;  // NULL: left out
    } rows[] = {
        {'g', "transformer.h.0.attn.bias", {1, 1, 8, 8}, nullptr},
        {'g', "transformer.h.0.attn.bias", {8, 8}, nullptr},
        {'g', "transformer.h.0.attn.masked_bias", {}, nullptr},
        {'g', "transformer.h.0.attn.bias", {96}, "of shape [96] is not a mask"},
        {'g', "transformer.h.0.attn.bias", {4, 1, 8, 8}, "is not a mask"},
        {'b', "bert.embeddings.position_ids", {1, 16}, nullptr},
        {'b', "bert.embeddings.position_ids", {2, 16}, "is not a row of positions"},
        {'l', "model.layers.0.self_attn.rotary_emb.inv_freq", {8}, "of shape [8] is not the frequencies"},
        {'l', "model.rotary_emb.inv_freq", {4}, "is not the frequencies"},
    };
    for (const auto& row : rows) {
        Fixture f = made(row.kind);
        f.add(row.name, row.shape, 0.25f);
        if (row.text == nullptr)
            assert_true(f.same(*f.import()));
        else
            assert_failure(f.refusal(), VOLTA_UNSUPPORTED, row.text);
    }
    for (const float scale : {1.0f, 0.98f, 1.5f}) {
        Fixture f = Fixture::llama(true);
        f.add("model.layers.1.self_attn.rotary_emb.inv_freq", {8}, 0);
        for (int i = 0; i < 8; ++i)
            f.tensors.back().values[static_cast<std::size_t>(i)] =
                static_cast<float>(std::pow(10000.0, -i / 8.0)) * scale;
        assert_int_equal(f.refusal().status, scale == 1.0f ? VOLTA_OK : VOLTA_UNSUPPORTED);
    }
}

// ---- what the texts of a model say, and what is asked of its names

void test_texts_of_a_model_are_numbers(void**) {
    Fixture f = Fixture::gpt();
    const auto read = [&] { return failure_of([&] { architecture_from_texts(f.model->metadata); }); };
    assert_failure(read(), VOLTA_OK, "");
    for (const char* wrong : {"2x", "", "99999999999999999999"}) {
        f.model->set_metadata("volta.gpt.layers", wrong);
        const std::string text = "its 'volta.gpt.layers' is '" + std::string(wrong) + "', which is no number";
        assert_failure(read(), VOLTA_CORRUPT_MODEL, text.c_str());
    }
}

// A file of Volta's own layout, with a key that no host could have set.
void test_keys_of_texts_are_names(void**) {
    Fixture f = Fixture::gpt();
    auto& metadata = f.model->metadata;
    metadata.insert(metadata.begin(), {std::pmr::string("\x01", f.heap->structures()),
                                       std::pmr::string("x", f.heap->structures())});
    const std::string path = f.folder->file("own.safetensors");
    export_safetensors(*f.model, path.c_str(), f.heap->structures());
    assert_failure(
        failure_of([&] { import_model(path.c_str(), {}, f.heap->structures(), f.heap->tensors()); }),
        VOLTA_CORRUPT_MODEL, "in its metadata: the metadata key contains a control character");
}

void test_heads_are_parts_of_a_bert(void**) {
    const Architecture gpt = small_gpt(), hidden = small_bert(BertHead::hidden),
                       masked = small_bert(BertHead::masked);
    for (const char* name :
         {"pooler.weight", "classifier.bias", "transform.weight", "norm_transform.weight"}) {
        assert_true(of_another_head(hidden, name) && of_another_head(masked, name));
        assert_false(of_another_head(gpt, name));
    }
    assert_true(of_another_head(hidden, "head.bias"));
    assert_false(of_another_head(masked, "head.bias"));
    assert_false(of_another_head(hidden, "block.0.qkv.weight"));
}

void test_a_naming_is_of_its_architecture(void**) {
    const Naming& naming = *all_namings().begin();
    assert_ptr_equal(&find_naming(naming.name, naming.architecture), &naming);
    assert_failure(failure_of([&] { find_naming(naming.name, "none"); }), VOLTA_INTERNAL,
                   ("there is no naming '" + std::string(naming.name) + "'").c_str());
}

void test_a_parameter_without_a_name_is_not_left_out(void**) {
    Fixture f = Fixture::gpt();
    f.model->parameters[0].name = "extra";
    const std::string path = f.folder->file("out.safetensors");
    assert_failure(
        failure_of([&] { export_hugging_face(*f.model, path.c_str(), nullptr, f.heap->structures()); }),
        VOLTA_UNSUPPORTED, "parameter 'extra' has no name in files of huggingface");
    assert_int_equal(access(path.c_str(), F_OK), -1);
}

void test_shapes_have_the_extents_that_are_asked_for(void**) {
    Fixture f = Fixture::gpt();
    PlainTensor& table = f.tensor("transformer.wte.weight");
    table.shape = {};
    table.values.resize(1);
    assert_failure(f.refusal(), VOLTA_SHAPE_MISMATCH,
                   "tensor 'transformer.wte.weight' has the shape [], where 1 extents are needed");
}

// A matrix that lies transposed in the file, and has a value that the stored type has not.
void test_values_of_transposed_matrices_fit_their_type(void**) {
    Fixture f = Fixture::gpt();
    f.options.weights = DType::f16;
    assert_failure(f.refusal(), VOLTA_OK, "");
    f.tensor("transformer.h.1.mlp.c_fc.weight").values[7] = std::numeric_limits<float>::infinity();
    assert_failure(f.refusal(), VOLTA_UNSUPPORTED,
                   "tensor 'transformer.h.1.mlp.c_fc.weight' cannot be stored as f16");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_a_tied_matrix_has_either_name),
        cmocka_unit_test(test_a_tied_matrix_is_one),
        cmocka_unit_test(test_an_untied_model_needs_both),
        cmocka_unit_test(test_notes_of_shared_tensors),
        cmocka_unit_test(test_wrapped_names),
        cmocka_unit_test(test_values_that_stand_twice),
        cmocka_unit_test(test_the_nested_base_counts),
        cmocka_unit_test(test_long_contexts_are_no_damage),
        cmocka_unit_test(test_the_architecture_says_which_head),
        cmocka_unit_test(test_the_head_of_another_file_is_missed),
        cmocka_unit_test(test_a_classifier_of_tokens_is_seen),
        cmocka_unit_test(test_a_host_may_leave_another_head_out),
        cmocka_unit_test(test_other_heads_of_decoders),
        cmocka_unit_test(test_what_changes_results_is_refused),
        cmocka_unit_test(test_what_nobody_knows_is_not_dropped_by_a_hint),
        cmocka_unit_test(test_buffers_are_what_their_names_say),
        cmocka_unit_test(test_texts_of_a_model_are_numbers),
        cmocka_unit_test(test_keys_of_texts_are_names),
        cmocka_unit_test(test_heads_are_parts_of_a_bert),
        cmocka_unit_test(test_a_naming_is_of_its_architecture),
        cmocka_unit_test(test_a_parameter_without_a_name_is_not_left_out),
        cmocka_unit_test(test_shapes_have_the_extents_that_are_asked_for),
        cmocka_unit_test(test_values_of_transposed_matrices_fit_their_type),
    };
    return cmocka_run_group_tests_name("import_names", tests, nullptr, nullptr);
}
