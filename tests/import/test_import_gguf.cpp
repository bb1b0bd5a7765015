// GPT-2 and BERT as GGUF files hold them, with their tokenizers, become the models that Volta would have made
// of the same numbers. (Llama: test_import_llama.cpp.)
#include "engine/import/import_model.h"
#include "engine/model/gpt.h"
#include "tests/import/bert_files.h"
#include "tests/import/gpt_files.h"
#include "tests/import/llama_files.h"
#include "tests/import/same_model.h"
#include "tests/model/test_heap.h"
#include "tests/support/errors.h"

namespace {
using namespace volta;
using namespace volta::test;

// With %d for the layer. `part` of a third of our columns; matrices but tables are turned.
struct Name {
    const char *ours, *theirs;
    int part = -1;
    bool table = false;
};
constexpr Name kGgufGptNames[] = {
    {"token_embedding", "token_embd.weight", -1, true},
    {"position_embedding", "position_embd.weight", -1, true},
    {"block.%d.norm1.weight", "blk.%d.attn_norm.weight"},
    {"block.%d.norm1.bias", "blk.%d.attn_norm.bias"},
    {"block.%d.qkv.weight", "blk.%d.attn_qkv.weight"},
    {"block.%d.qkv.bias", "blk.%d.attn_qkv.bias"},
    {"block.%d.proj.weight", "blk.%d.attn_output.weight"},
    {"block.%d.proj.bias", "blk.%d.attn_output.bias"},
    {"block.%d.norm2.weight", "blk.%d.ffn_norm.weight"},
    {"block.%d.norm2.bias", "blk.%d.ffn_norm.bias"},
    {"block.%d.fc.weight", "blk.%d.ffn_up.weight"},
    {"block.%d.fc.bias", "blk.%d.ffn_up.bias"},
    {"block.%d.fc_proj.weight", "blk.%d.ffn_down.weight"},
    {"block.%d.fc_proj.bias", "blk.%d.ffn_down.bias"},
    {"norm_final.weight", "output_norm.weight"},
    {"norm_final.bias", "output_norm.bias"},
};
constexpr Name kGgufBertNames[] = {
    {"token_embedding", "token_embd.weight", -1, true},
    {"segment_embedding", "token_types.weight", -1, true},
    {"position_embedding", "position_embd.weight", -1, true},
    {"norm_embedding.weight", "token_embd_norm.weight"},
    {"norm_embedding.bias", "token_embd_norm.bias"},
    {"block.%d.qkv.weight", "blk.%d.attn_q.weight", 0},
    {"block.%d.qkv.bias", "blk.%d.attn_q.bias", 0},
    {"block.%d.qkv.weight", "blk.%d.attn_k.weight", 1},
    {"block.%d.qkv.bias", "blk.%d.attn_k.bias", 1},
    {"block.%d.qkv.weight", "blk.%d.attn_v.weight", 2},
    {"block.%d.qkv.bias", "blk.%d.attn_v.bias", 2},
    {"block.%d.proj.weight", "blk.%d.attn_output.weight"},
    {"block.%d.proj.bias", "blk.%d.attn_output.bias"},
    {"block.%d.norm1.weight", "blk.%d.attn_output_norm.weight"},
    {"block.%d.norm1.bias", "blk.%d.attn_output_norm.bias"},
    {"block.%d.fc.weight", "blk.%d.ffn_up.weight"},
    {"block.%d.fc.bias", "blk.%d.ffn_up.bias"},
    {"block.%d.fc_proj.weight", "blk.%d.ffn_down.weight"},
    {"block.%d.fc_proj.bias", "blk.%d.ffn_down.bias"},
    {"block.%d.norm2.weight", "blk.%d.layer_output_norm.weight"},
    {"block.%d.norm2.bias", "blk.%d.layer_output_norm.bias"},
    {"pooler.weight", "cls.weight"},
    {"pooler.bias", "cls.bias"},
    {"classifier.weight", "cls.output.weight"},
    {"classifier.bias", "cls.output.bias"},
};

PlainTensor tensor_of(const Model& model, const NamedTensor& tensor, const Name& name, int layer) {
    const std::string ours(tensor.name);
    PlainTensor made{
        with_layer(name.theirs, layer), {tensor.shape.extent, tensor.shape.extent + tensor.shape.rank}, {}};
    if (name.table) {
        made.values = plain(model, ours);
        return made;
    }
    const std::int64_t columns = name.part < 0 ? tensor.shape.last() : tensor.shape.last() / 3;
    made.values = turned(model, ours, std::max(name.part, 0) * columns, columns);
    made.shape = {columns};
    if (tensor.shape.rank == 2) made.shape.push_back(tensor.shape[0]);
    return made;
}

template <std::size_t N>
std::vector<PlainTensor> tensors_of(const Model& model, const Name (&names)[N]) {
    std::vector<PlainTensor> tensors;
    for (const Name& name : names)
        for (int layer = 0; layer < 2; ++layer) {
            const NamedTensor* tensor = model.find_parameter(with_layer(name.ours, layer).c_str());
            const bool layered = std::strstr(name.ours, "%d") != nullptr;
            if (tensor != nullptr && (layer == 0 || layered))
                tensors.push_back(tensor_of(model, *tensor, name, layer));
        }
    return tensors;
}

GgufBytes keys_of(const char* architecture, const GptConfig& c, std::int64_t hidden, float epsilon) {
    GgufBytes file;
    file.string("general.architecture", architecture);
    const std::string prefix = std::string(architecture) + ".";
    const auto integer = [&](const char* name, std::int64_t value) {
        file.u32(prefix + name, static_cast<std::uint32_t>(value));
    };
    integer("block_count", c.layers);
    integer("context_length", c.context);
    integer("embedding_length", c.dim);
    integer("feed_forward_length", hidden);
    integer("attention.head_count", c.heads);
    file.entry(prefix + "attention.layer_norm_epsilon", 6, raw(epsilon));
    return file;
}

// Forty pieces: the letters and 14 merges, as GPT-2 has them.
void add_bpe(GgufBytes& file) {
    std::vector<std::string> tokens, merges;
    for (char c = 'a'; c <= 'z'; ++c) tokens.emplace_back(1, c);
    for (char c = 'a'; c < 'a' + 13; ++c) {
        tokens.push_back({c, 't'});
        merges.push_back({c, ' ', 't'});
    }
    tokens.emplace_back("<|endoftext|>");
    std::vector<std::int32_t> types(39, 1);
    types.push_back(3);
    file.string("tokenizer.ggml.model", "gpt2").string("tokenizer.ggml.pre", "gpt-2");
    file.strings("tokenizer.ggml.tokens", tokens).strings("tokenizer.ggml.merges", merges);
    file.array("tokenizer.ggml.token_type", 5, types).u32("tokenizer.ggml.eos_token_id", 39);
}

// Forty pieces: words begin with U+2581.
void add_wordpiece(GgufBytes& file) {
    std::vector<std::string> tokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]"};
    for (char c = 'a'; c <= 'z'; ++c) tokens.push_back(std::string("\xe2\x96\x81") + c);
    for (char c = 'a'; c < 'a' + 10; ++c) tokens.emplace_back(1, c);
    file.string("tokenizer.ggml.model", "bert").strings("tokenizer.ggml.tokens", tokens);
    file.u32("tokenizer.ggml.cls_token_id", 2).u32("tokenizer.ggml.seperator_token_id", 3);
    file.u32("tokenizer.ggml.unknown_token_id", 1).u32("tokenizer.ggml.padding_token_id", 0);
    file.u32("tokenizer.ggml.token_type_count", 3).boolean("bert.attention.causal", 0);
}

struct Fixture {
    HeapPtr<Model> import(const std::string& bytes, const ImportOptions& options = {}) {
        return import_model(folder.write("m", bytes).c_str(), options, heap.structures(), heap.tensors());
    }
    bool same(const Model& other) { return is_same_model(*model, other, heap.structures()); }
    std::vector<std::int32_t> ids(const Model& other, const char* text) {
        std::vector<std::int32_t> ids(16);
        ids.resize(other.tokenizer->encode(text, ids.data(), ids.size()));
        return ids;
    }
    TestHeap heap;
    TemporaryFolder folder;
    HeapPtr<Model> model;
};

struct Gpt : Fixture {
    Gpt() {
        model = create_gpt(small_gpt(), 7, heap.structures(), heap.tensors());
        scatter(*model);
        tensors = tensors_of(*model, kGgufGptNames);
    }
    GgufBytes keys() const { return keys_of("gpt2", small_gpt(), 4 * small_gpt().dim, 1e-5f); }
    std::vector<PlainTensor> tensors;
};

struct Bert : Fixture {
    explicit Bert(BertHead head = BertHead::hidden) {
        model = create_bert(small_bert(head), 7, heap.structures(), heap.tensors());
        scatter(*model);
        tensors = tensors_of(*model, kGgufBertNames);
    }
    static GgufBytes keys() {
        return keys_of("bert", small_gpt(), small_bert(BertHead::hidden).hidden, 1e-12f);
    }
    std::vector<PlainTensor> tensors;
};

void test_gpt2_is_the_model(void**) {
    Gpt gpt;
    GgufBytes file = gpt.keys();
    add_bpe(file);
    PlainTensor head = gpt.tensors[0];  // these files have the embedding twice
    head.name = "output.weight";
    gpt.tensors.push_back(head);
    const auto imported = gpt.import(gguf_bytes(gpt.tensors, file));
    assert_true(gpt.same(*imported));
    assert_int_equal(imported->tokenizer->size(), 40);
    assert_true(gpt.ids(*imported, "cat") == (std::vector<std::int32_t>{2, 26}));
    gpt.tensors.back().values[5] += 1;
    assert_failure(failure_of([&] { gpt.import(gguf_bytes(gpt.tensors, gpt.keys())); }), VOLTA_UNSUPPORTED,
                   "tensor 'output.weight' differs from 'token_embd.weight'");
}

void test_what_a_gpt_has_otherwise_is_refused(void**) {
    Gpt gpt;
    const GgufBytes other = keys_of("gpt2", small_gpt(), 4 * small_gpt().dim, 1e-6f);
    assert_failure(failure_of([&] { gpt.import(gguf_bytes(gpt.tensors, other)); }), VOLTA_UNSUPPORTED,
                   "its layer norms add 1e-06 to the variance, Volta's GPT adds 1e-05");
}

void test_bert_is_the_model(void**) {
    for (const BertHead head : {BertHead::hidden, BertHead::pooled, BertHead::classes}) {
        Bert bert(head);
        GgufBytes file = Bert::keys();
        add_wordpiece(file);
        const auto imported = bert.import(gguf_bytes(bert.tensors, file));
        assert_true(bert.same(*imported));
        assert_true(bert.ids(*imported, "Cab d") == (std::vector<std::int32_t>{6, 30, 31, 7}));
    }
}

// One tensor for q, k and v, as converters of other encoders write it.
void test_bert_of_one_qkv(void**) {
    Bert bert;
    std::vector<PlainTensor> tensors;
    for (const PlainTensor& tensor : bert.tensors) {
        const std::size_t at = tensor.name.find("attn_q.");
        if (tensor.name.find("attn_k.") != tensor.name.npos ||
            tensor.name.find("attn_v.") != tensor.name.npos)
            continue;
        tensors.push_back(tensor);
        if (at == tensor.name.npos) continue;
        tensors.back().name.replace(at, 7, "attn_qkv.");
        tensors.back().shape[0] *= 3;
        for (const PlainTensor& other : bert.tensors)
            for (const char* part : {"attn_k.", "attn_v."}) {
                std::string name = tensor.name;
                if (other.name == name.replace(at, 7, part))
                    tensors.back().values.insert(tensors.back().values.end(), other.values.begin(),
                                                 other.values.end());
            }
    }
    assert_true(bert.same(*bert.import(gguf_bytes(tensors, Bert::keys()))));
}

void test_the_host_chooses_head_and_inputs(void**) {
    Bert bert(BertHead::classes);
    ImportOptions options;
    options.bert = BertChoice{BertHead::hidden, true, true, 0};
    const auto imported = bert.import(gguf_bytes(bert.tensors, Bert::keys()), options);
    assert_string_equal(imported->find_metadata("volta.bert.mask_input")->c_str(), "1");
    assert_string_equal(imported->find_metadata("volta.bert.head")->c_str(), "3");
    assert_null(imported->find_parameter("pooler.weight"));
    Gpt gpt;
    assert_failure(failure_of([&] { gpt.import(gguf_bytes(gpt.tensors, gpt.keys()), options); }),
                   VOLTA_INVALID_ARGUMENT, "but it is no BERT");
}

// A model whose host makes the ids, one whose vocabulary is of a kind that is not read, and one that is to
// come without.
void test_models_without_a_tokenizer(void**) {
    Gpt gpt;
    for (const char* model : {"no_vocab", "none"}) {
        GgufBytes file = gpt.keys();
        file.string("tokenizer.ggml.model", model);
        const auto imported = gpt.import(gguf_bytes(gpt.tensors, file));
        assert_true(gpt.same(*imported) && !imported->tokenizer);
    }
    const std::pair<const char*, const char*> others[] = {
        {"rwkv", ""}, {"t5", ""}, {"plamo2", ""}, {"gpt2", "deepseek-llm"}, {"gpt2", "of-nobody"}};
    ImportOptions without;
    without.no_tokenizer = true;
    for (const auto& other : others) {
        GgufBytes file = gpt.keys();
        file.string("tokenizer.ggml.model", other.first);
        if (*other.second != '\0') file.string("tokenizer.ggml.pre", other.second);
        file.strings("tokenizer.ggml.tokens", {"a"});
        const std::string bytes = gguf_bytes(gpt.tensors, file);
        const Failure failure = failure_of([&] { gpt.import(bytes); });
        assert_failure(failure, VOLTA_UNSUPPORTED, *other.second != '\0' ? other.second : other.first);
        assert_failure(failure, VOLTA_UNSUPPORTED, "the model can be had without one (--tokenizer none");
        const auto imported = gpt.import(bytes, without);
        assert_true(gpt.same(*imported) && !imported->tokenizer);
    }
    GgufBytes file = gpt.keys();
    add_bpe(file);
    assert_false(gpt.import(gguf_bytes(gpt.tensors, file), without)->tokenizer.has_value());
    assert_true(gpt.import(gguf_bytes(gpt.tensors, file))->tokenizer.has_value());
}

struct Refusal {
    const char* name;
    void (*change)(std::vector<PlainTensor>& tensors, GgufBytes& keys);
    volta_status status;
    const char* text;
};
void rename(std::vector<PlainTensor>& tensors, const char* from, const char* to) {
    for (PlainTensor& tensor : tensors)
        if (tensor.name == from) tensor.name = to;
}
const Refusal kRefusals[] = {
    {"a decoder", [](auto&, auto& keys) { keys.boolean("bert.attention.causal", 1); }, VOLTA_UNSUPPORTED,
     "its 'bert.attention.causal' says that a token sees those before it alone"},
    {"no segments", [](auto& tensors, auto&) { tensors.erase(tensors.begin() + 1); }, VOLTA_CORRUPT_MODEL,
     "tensor 'token_types.weight' is missing ('segment_embedding' of the model)"},
    {"no value", [](auto& tensors, auto&) { rename(tensors, "blk.1.attn_v.bias", "cls.bias"); },
     VOLTA_CORRUPT_MODEL, "tensor 'blk.1.attn_v.bias' is missing ('block.1.qkv.bias' of the model)"},
    {"gates", [](auto& tensors, auto&) { rename(tensors, "blk.1.ffn_up.bias", "blk.1.ffn_gate.weight"); },
     VOLTA_UNSUPPORTED, "tensor 'blk.1.ffn_gate.weight' is not known"},
    {"two of one", [](auto& tensors, auto&) { rename(tensors, "blk.0.attn_k.bias", "blk.0.attn_qkv.bias"); },
     VOLTA_SHAPE_MISMATCH, "tensor 'blk.0.attn_qkv.bias' has the shape [32], 'block.0.qkv.bias' needs [96]"},
};

void test_refusal(void** state) {
    const auto& refusal = *static_cast<const Refusal*>(*state);
    Bert bert;
    GgufBytes keys = Bert::keys();
    refusal.change(bert.tensors, keys);
    const std::string bytes = gguf_bytes(bert.tensors, keys);
    const long held = bert.heap.held;
    assert_failure(failure_of([&] { bert.import(bytes); }), refusal.status, refusal.text);
    assert_int_equal(bert.heap.held, held);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_gpt2_is_the_model),
        cmocka_unit_test(test_what_a_gpt_has_otherwise_is_refused),
        cmocka_unit_test(test_bert_is_the_model),
        cmocka_unit_test(test_bert_of_one_qkv),
        cmocka_unit_test(test_models_without_a_tokenizer),
        cmocka_unit_test(test_the_host_chooses_head_and_inputs),
    };
    const int failed = cmocka_run_group_tests_name("import_gguf", tests, nullptr, nullptr);
    return failed + run_rows("import_gguf_bert_refusals", kRefusals, test_refusal,
                             [](const Refusal& row) { return row.name; });
}
