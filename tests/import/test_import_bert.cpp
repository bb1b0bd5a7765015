// BERT as Hugging Face writes it becomes the model that create_bert would have made of the same numbers.
#include <algorithm>

#include "engine/import/export_safetensors.h"
#include "engine/import/import_model.h"
#include "engine/import/safetensors.h"
#include "tests/import/bert_files.h"
#include "tests/import/same_model.h"
#include "tests/model/test_heap.h"
#include "tests/support/errors.h"

namespace {
using namespace volta;
using namespace volta::test;

constexpr const char* kConfig =
    R"({"model_type": "bert", "vocab_size": 40, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
        "intermediate_size": 48, "max_position_embeddings": 16, "type_vocab_size": 3, "hidden_act": "gelu",
        "layer_norm_eps": 1e-12, "position_embedding_type": "absolute", "hidden_dropout_prob": 0.1,
        "pad_token_id": 0, "is_decoder": false, "id2label": {"0": "no"}})";

struct Fixture {
    explicit Fixture(BertHead head = BertHead::masked) : config(small_bert(head)) { make(); }
    void make() {
        model = create_bert(config, 7, heap.structures(), heap.tensors());
        scatter(*model);
        tensors = bert_tensors(*model);
    }
    std::string write() { return folder.write("m.safetensors", safetensors_of(tensors)); }
    HeapPtr<Model> import(const char* json = kConfig, const ImportOptions& options = {}) {
        folder.write("config.json", json);
        return import_model(write().c_str(), options, heap.structures(), heap.tensors());
    }
    bool same(const Model& other) { return is_same_model(*model, other, heap.structures()); }
    PlainTensor& tensor(const std::string& name) { return find_tensor(tensors, name); }
    void rename(const std::string& from, const std::string& to) {
        for (PlainTensor& tensor : tensors) {
            const std::size_t at = tensor.name.find(from);
            if (at != tensor.name.npos) tensor.name.replace(at, from.size(), to);
        }
    }
    TestHeap heap;
    TemporaryFolder folder;
    BertConfig config;
    HeapPtr<Model> model;
    std::vector<PlainTensor> tensors;
};

void test_a_state_dict_is_the_model(void**) {
    for (const BertHead head : {BertHead::masked, BertHead::classes, BertHead::pooled, BertHead::hidden}) {
        Fixture fixture(head);
        assert_true(fixture.same(*fixture.import()));
        fixture.rename("bert.", "");  // as BertModel writes them
        assert_true(fixture.same(*fixture.import()));
    }
}

void test_sizes_come_from_the_weights(void**) {
    Fixture fixture(BertHead::classes);
    assert_true(fixture.same(*fixture.import(R"({"model_type": "bert", "num_attention_heads": 4})")));
}

void test_old_names_and_what_nothing_needs(void**) {
    Fixture fixture;
    fixture.rename("LayerNorm.weight", "LayerNorm.gamma");
    fixture.rename("LayerNorm.bias", "LayerNorm.beta");
    PlainTensor decoder = fixture.tensor("bert.embeddings.word_embeddings.weight");
    decoder.name = "cls.predictions.decoder.weight";
    PlainTensor bias = fixture.tensor("cls.predictions.bias");
    bias.name = "cls.predictions.decoder.bias";
    fixture.tensors.insert(fixture.tensors.end(), {decoder, bias});
    fixture.tensors.push_back({"bert.embeddings.position_ids", {1, 2}, {0, 1}});
    fixture.tensors.push_back({"cls.seq_relationship.weight", {2, 1}, {0, 1}});
    fixture.tensors.push_back({"cls.seq_relationship.bias", {2}, {0, 1}});
    fixture.tensors.push_back({"bert.pooler.dense.weight", {1, 1}, {0}});
    fixture.tensors.push_back({"bert.pooler.dense.bias", {1}, {0}});
    assert_true(fixture.same(*fixture.import()));
}

void test_the_host_chooses_head_and_inputs(void**) {
    Fixture masked;
    ImportOptions options;
    options.bert = BertChoice{BertHead::hidden, true, true, 0.25};
    const auto imported = masked.import(kConfig, options);
    Fixture expected(BertHead::hidden);
    expected.config.segment_input = expected.config.mask_input = true;
    expected.config.dropout = 0.25;
    expected.make();
    // The numbers of the other model: what both have is drawn from one seed.
    assert_true(print(expected.model->graph, expected.heap.structures()) ==
                print(imported->graph, masked.heap.structures()));
    assert_string_equal(imported->find_metadata("volta.bert.dropout")->c_str(), "0.25");
    options.bert->head = BertHead::pooled;
    assert_failure(failure_of([&] { masked.import(kConfig, options); }), VOLTA_CORRUPT_MODEL,
                   "tensor 'pooler.dense.weight' is missing ('pooler.weight' of the model)");
}

void test_an_export_is_the_same_model(void**) {
    for (const BertHead head : {BertHead::masked, BertHead::classes}) {
        Fixture fixture(head);
        fixture.config.mask_input = true;
        fixture.make();
        const std::string path = fixture.folder.file("own.safetensors");
        export_safetensors(*fixture.model, path.c_str(), fixture.heap.structures());
        ImportOptions options;
        const auto open = [&] {
            return import_model(path.c_str(), options, fixture.heap.structures(), fixture.heap.tensors());
        };
        assert_true(fixture.same(*open()));
        options.bert.emplace();
        assert_failure(failure_of([&] { open(); }), VOLTA_INVALID_ARGUMENT, "it says itself which it has");
    }
}

std::string read(const std::string& path) {
    std::string bytes;
    std::FILE* file = std::fopen(path.c_str(), "rb");
    for (int c; file != nullptr && (c = std::fgetc(file)) != EOF;) bytes += static_cast<char>(c);
    if (file != nullptr) std::fclose(file);
    return bytes;
}

// Every tensor that Hugging Face writes, in its name, shape and place: read back without knowing the key map.
void test_an_export_for_hugging_face_is_its_state_dict(void**) {
    for (const BertHead head : {BertHead::masked, BertHead::classes, BertHead::hidden}) {
        Fixture fixture(head);
        const std::string path = fixture.folder.file("hf.safetensors");
        const std::string config = fixture.folder.file("config.json");
        export_hugging_face(*fixture.model, path.c_str(), config.c_str(), fixture.heap.structures());
        const WeightSource source = read_safetensors(path.c_str(), fixture.heap.structures());
        assert_int_equal(source.tensors.size(), fixture.tensors.size());
        for (const PlainTensor& expected : fixture.tensors) {
            const WeightTensor* tensor = source.find(expected.name);
            assert_non_null(tensor);
            assert_int_equal(tensor->shape.rank, expected.shape.size());
            for (std::size_t i = 0; i < expected.shape.size(); ++i)
                assert_int_equal(tensor->shape[static_cast<int>(i)], expected.shape[i]);
            assert_memory_equal(tensor->data, expected.values.data(), tensor->bytes);
        }
        const auto imported =
            import_model(path.c_str(), {}, fixture.heap.structures(), fixture.heap.tensors());
        assert_true(fixture.same(*imported));
        assert_non_null(std::strstr(read(config).c_str(), "\"position_embedding_type\": \"absolute\""));
    }
}

// The same way back for the other architectures, and what cannot go.
void test_other_models_go_to_hugging_face_and_back(void**) {
    TestHeap heap;
    TemporaryFolder folder;
    const std::string path = folder.file("hf.safetensors"), config = folder.file("config.json");
    const auto returned = [&](const Model& model) {
        export_hugging_face(model, path.c_str(), config.c_str(), heap.structures());
        const auto imported = import_model(path.c_str(), {}, heap.structures(), heap.tensors());
        return hash_parameters(model, heap.structures()) == hash_parameters(*imported, heap.structures()) &&
               print(model.graph, heap.structures()) == print(imported->graph, heap.structures());
    };
    assert_true(returned(*create_gpt(small_gpt(), 7, heap.structures(), heap.tensors())));
    for (const bool tied : {true, false})
        assert_true(returned(*create_llama(small_llama(tied, false), 3, heap.structures(), heap.tensors())));
    const auto pairs = create_llama(small_llama(true, true), 3, heap.structures(), heap.tensors());
    assert_failure(failure_of([&] { returned(*pairs); }), VOLTA_UNSUPPORTED, "rotary pairs are neighbours");
    const auto own =
        Model::create(Graph(pairs->graph, heap.structures()), 1, heap.structures(), heap.tensors());
    assert_failure(failure_of([&] { returned(*own); }), VOLTA_UNSUPPORTED, "a graph of the host's own");
}

struct Change {
    const char* name;
    void (*change)(Fixture& fixture, std::string& config);
    volta_status status;
    const char* text;
};

void replace(std::string& text, const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
}

const Change kChanges[] = {
    {"positions", [](Fixture&, std::string& c) { replace(c, "\"absolute\"", "\"relative_key\""); },
     VOLTA_UNSUPPORTED,
     "the config has 'position_embedding_type' 'relative_key', Volta's model is one where it is 'absolute'"},
    {"activation", [](Fixture&, std::string& c) { replace(c, "\"gelu\"", "\"gelu_new\""); },
     VOLTA_UNSUPPORTED, "the config has 'hidden_act' 'gelu_new', Volta's model is one where it is 'gelu'"},
    {"decoder", [](Fixture&, std::string& c) { replace(c, "\"is_decoder\": false", "\"is_decoder\": true"); },
     VOLTA_UNSUPPORTED, "the config has 'is_decoder' true"},
    {"untied", [](Fixture&, std::string& c) { replace(c, "{", "{\"tie_word_embeddings\": false, "); },
     VOLTA_UNSUPPORTED, "the config has 'tie_word_embeddings' false"},
    {"another kind", [](Fixture&, std::string& c) { replace(c, "\"bert\"", "\"electra\""); },
     VOLTA_UNSUPPORTED, "the model_type 'electra'; Volta imports gpt2, nanogpt, llama, mistral,"},
    {"no heads", [](Fixture&, std::string& c) { replace(c, "num_attention_heads", "other"); },
     VOLTA_CORRUPT_MODEL, "the config has no 'num_attention_heads'"},
    {"heads", [](Fixture&, std::string& c) { replace(c, "_heads\": 4", "_heads\": 5"); }, VOLTA_CORRUPT_MODEL,
     "its sizes cannot be: dim 32 is not a multiple of heads 5"},
    {"segments", [](Fixture&, std::string& c) { replace(c, "vocab_size\": 3", "vocab_size\": 2"); },
     VOLTA_SHAPE_MISMATCH, "token_type_embeddings.weight' has the shape [3, 32]"},
    {"classes", [](Fixture& f, std::string&) { f.rename("transform", "untransform"); }, VOLTA_UNSUPPORTED,
     "tensor 'cls.predictions.untransform.LayerNorm.bias' is added to what the model computes"},
    {"no value",
     [](Fixture& f, std::string&) {
         f.rename("encoder.layer.1.attention.self.value.bias", "pooler.dense.bias");
     },
     VOLTA_CORRUPT_MODEL, "tensor 'encoder.layer.1.attention.self.value.bias' is missing"},
    {"both names of a norm",
     [](Fixture& f, std::string&) {
         PlainTensor again = f.tensor("bert.embeddings.LayerNorm.bias");
         again.name = "bert.embeddings.LayerNorm.beta";
         f.tensors.push_back(again);
     },
     VOLTA_CORRUPT_MODEL, "both are 'norm_embedding.bias'"},
    {"another decoder",
     [](Fixture& f, std::string&) {
         PlainTensor decoder = f.tensor("bert.embeddings.word_embeddings.weight");
         decoder.name = "cls.predictions.decoder.weight";
         decoder.values[3] += 1;
         f.tensors.push_back(decoder);
     },
     VOLTA_UNSUPPORTED, "this model's head is its embedding"},
    {"another bias",
     [](Fixture& f, std::string&) {
         PlainTensor bias = f.tensor("cls.predictions.bias");
         bias.name = "cls.predictions.decoder.bias";
         bias.values[3] += 1;
         f.tensors.push_back(bias);
     },
     VOLTA_UNSUPPORTED, "both are the head's bias"},
};

void test_change(void** state) {
    const auto& change = *static_cast<const Change*>(*state);
    Fixture fixture;
    std::string config = kConfig;
    change.change(fixture, config);
    const long held = fixture.heap.held;
    assert_failure(failure_of([&] { fixture.import(config.c_str()); }), change.status, change.text);
    assert_int_equal(fixture.heap.held, held);
}

void test_a_choice_for_another_model_is_refused(void**) {
    TestHeap heap;
    TemporaryFolder folder;
    const auto gpt = create_gpt(small_gpt(), 7, heap.structures(), heap.tensors());
    const std::string path = folder.write("m.safetensors", safetensors_of(gpt2_tensors(*gpt, 2, "")));
    folder.write("config.json", R"({"model_type": "gpt2", "n_head": 4})");
    ImportOptions options;
    options.bert.emplace();
    const auto import = [&] { import_model(path.c_str(), options, heap.structures(), heap.tensors()); };
    assert_failure(failure_of(import), VOLTA_INVALID_ARGUMENT, "but it is no BERT");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_a_state_dict_is_the_model),
        cmocka_unit_test(test_sizes_come_from_the_weights),
        cmocka_unit_test(test_old_names_and_what_nothing_needs),
        cmocka_unit_test(test_the_host_chooses_head_and_inputs),
        cmocka_unit_test(test_an_export_is_the_same_model),
        cmocka_unit_test(test_an_export_for_hugging_face_is_its_state_dict),
        cmocka_unit_test(test_other_models_go_to_hugging_face_and_back),
        cmocka_unit_test(test_a_choice_for_another_model_is_refused),
    };
    int failed = cmocka_run_group_tests_name("import_bert", tests, nullptr, nullptr);
    return failed + run_rows("import_bert_refusals", kChanges, test_change,
                             [](const Change& row) { return row.name; });
}
