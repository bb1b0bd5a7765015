#include "engine/import/export_config.h"

#include "engine/base/error.h"
#include "engine/import/json_writer.h"

namespace volta {
namespace {

class ConfigWriter {
  public:
    ConfigWriter(const char* type, const char* program, std::pmr::memory_resource* heap) : json_(heap) {
        json_ += R"({"architectures":[)";
        add_json_text(json_, program);
        json_ += ']';
        text("model_type", type);
        text("torch_dtype", "float32");
    }
    void text(const char* name, const char* value) { add_json_text(member(name), value); }
    void truth(const char* name, bool value) { member(name) += value ? "true" : "false"; }
    template <class Number>
    void number(const char* name, Number value) {
        add_json_number(member(name), value);
    }
    std::pmr::string finish() {
        json_ += "}\n";
        return std::move(json_);
    }

  private:
    std::pmr::string& member(const char* name) {
        json_ += ",\n ";
        add_json_text(json_, name);
        return json_ += ": ";
    }
    std::pmr::string json_;
};

std::pmr::string config_of(const GptConfig& gpt, std::pmr::memory_resource* heap) {
    ConfigWriter config("gpt2", "GPT2LMHeadModel", heap);
    config.number("vocab_size", gpt.vocabulary);
    config.number("n_layer", gpt.layers);
    config.number("n_embd", gpt.dim);
    config.number("n_head", gpt.heads);
    config.number("n_positions", gpt.context);
    for (const char* name : {"embd_pdrop", "attn_pdrop", "resid_pdrop"}) config.number(name, gpt.dropout);
    config.text("activation_function", "gelu_new");
    config.number("layer_norm_epsilon", 1e-5);
    return config.finish();
}

std::pmr::string config_of(const LlamaConfig& llama, std::pmr::memory_resource* heap) {
    ConfigWriter config("llama", "LlamaForCausalLM", heap);
    config.number("vocab_size", llama.vocabulary);
    config.number("num_hidden_layers", llama.layers);
    config.number("hidden_size", llama.dim);
    config.number("num_attention_heads", llama.heads);
    config.number("num_key_value_heads", llama.kv_heads);
    config.number("intermediate_size", llama.hidden);
    config.number("max_position_embeddings", llama.context);
    config.number("rope_theta", llama.rope_base);
    config.number("rms_norm_eps", llama.epsilon);
    config.truth("tie_word_embeddings", llama.tied);
    config.text("hidden_act", "silu");
    return config.finish();
}

std::pmr::string config_of(const BertConfig& bert, std::pmr::memory_resource* heap) {
    if (bert.segments == 0 || bert.pools_by_relu)
        fail(VOLTA_UNSUPPORTED, "an encoder without segments is no BERT of Hugging Face");
    const bool classifies = bert.head == BertHead::classes || bert.head == BertHead::tokens;
    ConfigWriter config("bert",
                        bert.head == BertHead::tokens   ? "BertForTokenClassification"
                        : classifies                    ? "BertForSequenceClassification"
                        : bert.head == BertHead::masked ? "BertForMaskedLM"
                                                        : "BertModel",
                        heap);
    config.number("vocab_size", bert.vocabulary);
    config.number("num_hidden_layers", bert.layers);
    config.number("hidden_size", bert.dim);
    config.number("num_attention_heads", bert.heads);
    config.number("intermediate_size", bert.hidden);
    config.number("max_position_embeddings", bert.context);
    config.number("type_vocab_size", bert.segments);
    config.number("layer_norm_eps", bert.epsilon);
    if (classifies) config.number("num_labels", bert.classes);
    for (const char* name : {"hidden_dropout_prob", "attention_probs_dropout_prob"})
        config.number(name, bert.dropout);
    config.text("hidden_act", "gelu");
    config.text("position_embedding_type", "absolute");
    return config.finish();
}

// Its names are its own, by which no such file is known (export_hugging_face.cpp refuses it before).
std::pmr::string config_of(const NetworkConfig&, std::pmr::memory_resource*) {
    fail(VOLTA_UNSUPPORTED, "a network of pictures has no config of Hugging Face");
}

std::pmr::string config_of(const DecoderConfig&, std::pmr::memory_resource*) {  // likewise
    fail(VOLTA_UNSUPPORTED, "a decoder that is neither GPT-2 nor Llama has no config of Hugging Face");
}

}  // namespace

std::pmr::string config_json(const Architecture& architecture, std::pmr::memory_resource* heap) {
    return std::visit([&](const auto& config) { return config_of(config, heap); }, architecture);
}

}  // namespace volta
