// GPT-2 as other programs write it becomes the model that create_gpt would have made of the same numbers.
#include "engine/import/export_safetensors.h"
#include "engine/import/import_model.h"
#include "tests/import/gpt_files.h"
#include "tests/import/same_model.h"
#include "tests/model/test_heap.h"
#include "tests/support/errors.h"

namespace {
using namespace volta;
using namespace volta::test;

constexpr const char* kConfig =
    R"({"model_type": "gpt2", "n_head": 4, "n_layer": 2, "n_embd": 32, "n_positions": 16, "vocab_size": 40,
        "activation_function": "gelu_new", "layer_norm_epsilon": 1e-05, "n_inner": null,
        "task_specific_params": {"text-generation": {"do_sample": true}}, "architectures": ["GPT2LMHeadModel"]})";
constexpr const char* kShortConfig = R"({"model_type": "gpt2", "n_head": 4})";

struct Fixture {
    Fixture() : model(create_gpt(small_gpt(), 7, heap.structures(), heap.tensors())) {
        scatter(*model);
        tensors = gpt2_tensors(*model, 2, "");
    }
    HeapPtr<Model> import(const std::string& path, const ImportOptions& options = {}) {
        return import_model(path.c_str(), options, heap.structures(), heap.tensors());
    }
    bool same(const Model& other) { return is_same_model(*model, other, heap.structures()); }
    PlainTensor& tensor(const char* name) { return find_tensor(tensors, name); }
    TestHeap heap;
    TemporaryFolder folder;
    HeapPtr<Model> model;
    std::vector<PlainTensor> tensors;
};

void test_a_state_dict_is_the_model(void**) {
    Fixture fixture;
    fixture.folder.write("config.json", kConfig);
    for (const char* prefix : {"", "transformer."}) {
        const std::string path =
            fixture.folder.write("m.safetensors", safetensors_of(gpt2_tensors(*fixture.model, 2, prefix)));
        const auto imported = fixture.import(path);
        assert_true(fixture.same(*imported));
        assert_string_equal(imported->find_metadata("volta.gpt.heads")->c_str(), "4");
    }
}

void test_sizes_come_from_the_weights(void**) {
    Fixture fixture;
    const std::string config = fixture.folder.write("short.json", kShortConfig);
    const std::string path = fixture.folder.write("m.safetensors", safetensors_of(fixture.tensors));
    ImportOptions options;
    options.config_path = config.c_str();
    assert_true(fixture.same(*fixture.import(path, options)));
}

void test_what_nothing_needs_may_be_there(void**) {
    Fixture fixture;
    fixture.folder.write("config.json", kConfig);
    SafetensorsWriter writer;
    for (const PlainTensor& tensor : fixture.tensors) writer.add(tensor.name, tensor.shape, tensor.values);
    writer.add("h.0.attn.bias", "BOOL", {1, 1, 4, 4}, std::string("\1\0\0\0\1\1\0\0\1\1\1\0\1\1\1\1", 16));
    writer.add("h.1.attn.masked_bias", {}, {-1e4f});
    const PlainTensor& embedding = fixture.tensor("wte.weight");
    writer.add("lm_head.weight", embedding.shape, embedding.values);
    assert_true(fixture.same(*fixture.import(fixture.folder.write("m.safetensors", writer.bytes()))));
}

void test_sixteen_bit_weights_are_widened(void**) {
    Fixture fixture;
    fixture.folder.write("config.json", kConfig);
    // Half of each parameter's bits: the model of those is expected.
    SafetensorsWriter writer;
    for (std::size_t i = 0; i < fixture.model->parameters.size(); ++i) {
        float* values = fixture.model->mutable_parameter(i);
        for (std::int64_t j = 0; j < fixture.model->parameters[i].shape.elements(); ++j) {
            std::uint32_t bits;
            std::memcpy(&bits, values + j, 4);
            bits &= 0xffff0000u;
            std::memcpy(values + j, &bits, 4);
        }
    }
    for (const PlainTensor& tensor : gpt2_tensors(*fixture.model, 2, "")) {
        std::string bytes;
        for (const float value : tensor.values) bytes.append(reinterpret_cast<const char*>(&value) + 2, 2);
        writer.add(tensor.name, "BF16", tensor.shape, bytes);
    }
    assert_true(fixture.same(*fixture.import(fixture.folder.write("m.safetensors", writer.bytes()))));
}

void test_sharded_files_are_one_model(void**) {
    Fixture fixture;
    fixture.folder.write("config.json", kConfig);
    std::string map;
    SafetensorsWriter writers[2];
    for (std::size_t i = 0; i < fixture.tensors.size(); ++i) {
        const PlainTensor& tensor = fixture.tensors[i];
        writers[i % 2].add(tensor.name, tensor.shape, tensor.values);
        map += (i > 0 ? ",\"" : "\"") + tensor.name + "\":\"part" + std::to_string(i % 2) + "\"";
    }
    fixture.folder.write("part0", writers[0].bytes());
    fixture.folder.write("part1", writers[1].bytes());
    const std::string path = fixture.folder.write("m.index.json", "{\"weight_map\":{" + map + "}}");
    assert_true(fixture.same(*fixture.import(path)));
}

void test_a_key_map_renames(void**) {
    Fixture fixture;
    fixture.folder.write("config.json", kConfig);
    SafetensorsWriter writer;
    for (const PlainTensor& tensor : fixture.tensors) {
        if (tensor.name.find("mlp.c_fc.weight") != std::string::npos) {
            std::vector<float> turned(tensor.values.size());  // [32, 128] as [128, 32]
            for (std::size_t i = 0; i < 32; ++i)
                for (std::size_t j = 0; j < 128; ++j) turned[j * 32 + i] = tensor.values[i * 128 + j];
            writer.add("up." + std::string(tensor.name, 2, 1), {128, 32}, turned);
        } else if (tensor.name.find("attn.c_attn.bias") != std::string::npos) {
            for (std::size_t part = 0; part < 3; ++part)
                writer.add("b." + std::string(tensor.name, 2, 1) + "." + "qkv" [part], { 32 },
                           {tensor.values.begin() + static_cast<std::ptrdiff_t>(32 * part),
                            tensor.values.begin() + static_cast<std::ptrdiff_t>(32 * part + 32)});
        } else {
            writer.add(tensor.name, tensor.shape, tensor.values);
        }
    }
    writer.add("counter", "I64", {}, std::string(8, '\0'));
    const std::string keys = fixture.folder.write("keys.txt",
                                                  "# names of a program\n"
                                                  "up.%d = block.%d.fc.weight transpose\r\n\n"
                                                  "b.%d.q=block.%d.qkv.bias:q\n"
                                                  "b.%d.k=block.%d.qkv.bias:k # the keys\n"
                                                  "b.%d.v=block.%d.qkv.bias:v\n"
                                                  "counter = -");
    const std::string path = fixture.folder.write("m.safetensors", writer.bytes());
    ImportOptions options;
    options.key_map_path = keys.c_str();
    assert_true(fixture.same(*fixture.import(path, options)));
}

void test_an_export_is_the_same_model(void**) {
    Fixture fixture;
    fixture.model->set_metadata("title", "a \"quoted\" \\ line\nand \xc3\xa9");
    const std::string a = fixture.folder.file("a.safetensors"), b = fixture.folder.file("b.safetensors");
    export_safetensors(*fixture.model, a.c_str(), fixture.heap.structures());
    const auto imported = fixture.import(a);
    assert_true(fixture.same(*imported));
    assert_string_equal(imported->find_metadata("title")->c_str(),
                        fixture.model->find_metadata("title")->c_str());
    export_safetensors(*imported, b.c_str(), fixture.heap.structures());
    const Buffer first = read_file(a.c_str(), fixture.heap.structures());
    const Buffer second = read_file(b.c_str(), fixture.heap.structures());
    assert_int_equal(first.bytes(), second.bytes());
    assert_memory_equal(first.data(), second.data(), first.bytes());
}

struct Change {
    const char* name;
    void (*change)(Fixture& fixture);
    const char* config;
    const char* keys;
    volta_status status;
    const char* text;
};

void nothing(Fixture&) {}
void rename(Fixture& fixture, const char* from, const char* to) { fixture.tensor(from).name = to; }

const Change kChanges[] = {
    {"no config", nothing, nullptr, nullptr, VOLTA_INVALID_ARGUMENT,
     "does not say what its model is: give a config"},
    {"no heads", nothing, R"({"model_type": "gpt2"})", nullptr, VOLTA_CORRUPT_MODEL,
     "no 'n_head': the number of heads cannot be seen"},
    {"heads do not divide", nothing, R"({"model_type": "gpt2", "n_head": 5})", nullptr, VOLTA_CORRUPT_MODEL,
     "dim 32 is not a multiple of heads 5"},
    {"other architecture", nothing, R"({"model_type": "t5"})", nullptr, VOLTA_UNSUPPORTED, "'t5'"},
    {"unknown activation", nothing, R"({"model_type": "gpt2", "n_head": 4, "activation_function": "snake"})",
     nullptr, VOLTA_UNSUPPORTED, "'activation_function' 'snake', an activation that no decoder of Volta has"},
    {"other width", nothing, R"({"model_type": "gpt2", "n_head": 4, "n_inner": 100})", nullptr,
     VOLTA_SHAPE_MISMATCH, "'block.0.fc.bias' needs [100]"},
    {"unscaled", nothing, R"({"model_type": "gpt2", "n_head": 4, "scale_attn_weights": false})", nullptr,
     VOLTA_UNSUPPORTED, "'scale_attn_weights' false"},
    {"a setting that nobody knows", nothing, R"({"model_type": "gpt2", "n_head": 4, "extra_layers": 3})",
     nullptr, VOLTA_UNSUPPORTED, "the config has 'extra_layers' 3; what it does to the model is not known"},
    {"untied", nothing, R"({"model_type": "gpt2", "n_head": 4, "tie_word_embeddings": false})", nullptr,
     VOLTA_CORRUPT_MODEL, "tensor 'lm_head.weight' is missing ('head.weight' of the model)"},
    {"text for a number", nothing, R"({"model_type": "gpt2", "n_head": "4"})", nullptr, VOLTA_CORRUPT_MODEL,
     "'n_head' of the config is no whole number"},
    {"config is a list", nothing, "[1]", nullptr, VOLTA_CORRUPT_MODEL, "the config is no object"},
    {"config is cut", nothing, "{\"n_head\": ", nullptr, VOLTA_CORRUPT_MODEL,
     "the config is no valid JSON at byte"},
    {"config of huge sizes", nothing, R"({"model_type": "gpt2", "n_head": 1, "n_embd": 4611686018427387903})",
     nullptr, VOLTA_CORRUPT_MODEL, "dim is 4611686018427387903"},
    {"missing", [](Fixture& f) { rename(f, "h.1.mlp.c_fc.bias", "counter"); }, kShortConfig, "counter = -",
     VOLTA_CORRUPT_MODEL, "tensor 'h.1.mlp.c_fc.bias' is missing ('block.1.fc.bias' of the model)"},
    {"no mask", [](Fixture& f) { rename(f, "h.1.mlp.c_fc.bias", "h.1.attn.bias"); }, kShortConfig, nullptr,
     VOLTA_UNSUPPORTED, "tensor 'h.1.attn.bias' of shape [128] is not a mask, which no model of Volta needs"},
    {"unknown", [](Fixture& f) { rename(f, "ln_f.bias", "ln_g.weight"); }, kShortConfig, nullptr,
     VOLTA_UNSUPPORTED, "tensor 'ln_g.weight' is not known; a key map can say which parameter it is"},
    {"leading zero", [](Fixture& f) { rename(f, "h.1.ln_1.weight", "h.01.ln_1.weight"); }, kShortConfig,
     nullptr, VOLTA_UNSUPPORTED, "tensor 'h.01.ln_1.weight' is not known"},
    {"no embedding and no sizes", [](Fixture& f) { rename(f, "wte.weight", "counter"); }, kShortConfig,
     "counter = -", VOLTA_CORRUPT_MODEL,
     "the config has no 'vocab_size', and tensor 'wte.weight' is missing ('token_embedding' of the model)"},
    {"no embedding", [](Fixture& f) { rename(f, "wte.weight", "counter"); }, kConfig, "counter = -",
     VOLTA_CORRUPT_MODEL, "tensor 'wte.weight' is missing ('token_embedding' of the model)"},
    {"no layers and no sizes",
     [](Fixture& f) {
         for (PlainTensor& tensor : f.tensors)
             if (tensor.name[0] == 'h') tensor.name[0] = 'g';
     },
     kShortConfig, nullptr, VOLTA_CORRUPT_MODEL,
     "the config has no 'n_layer', and tensor 'h.0.ln_1.weight' is missing"},
    {"twice", [](Fixture& f) { rename(f, "h.1.ln_1.bias", "transformer.ln_f.bias"); }, kShortConfig, nullptr,
     VOLTA_CORRUPT_MODEL, "is missing ('block.1.norm1.bias'"},
    {"twice under two names",
     [](Fixture& f) {
         f.tensors.push_back({"transformer.ln_f.bias", {32}, std::vector<float>(32)});
     },
     kShortConfig, nullptr, VOLTA_CORRUPT_MODEL,
     "the tensors 'ln_f.bias' and 'transformer.ln_f.bias' both are 'norm_final.bias'"},
    {"a layer too many", [](Fixture& f) { rename(f, "h.1.ln_2.bias", "h.7.ln_2.bias"); }, kShortConfig,
     nullptr, VOLTA_CORRUPT_MODEL,
     "'h.7.ln_2.bias' would be 'block.7.norm2.bias', which a model of these sizes has not"},
    {"other shape",
     [](Fixture& f) {
         f.tensor("ln_f.bias").shape = {4, 8};
     },
     kShortConfig, nullptr, VOLTA_SHAPE_MISMATCH,
     "tensor 'ln_f.bias' has the shape [4, 8], 'norm_final.bias' needs [32]"},
    {"transposed",
     [](Fixture& f) {
         f.tensor("h.0.attn.c_attn.weight").shape = {96, 32};
     },
     kShortConfig, nullptr, VOLTA_SHAPE_MISMATCH, "needs [32, 96]"},
    {"untied head",
     [](Fixture& f) {
         f.tensors.push_back({"lm_head.weight", {40, 32}, std::vector<float>(1280)});
     },
     kShortConfig, nullptr, VOLTA_UNSUPPORTED, "tensor 'lm_head.weight' differs from 'wte.weight'"},
    {"key map without =", nothing, kShortConfig, "\nabc\n", VOLTA_INVALID_ARGUMENT,
     "line 2 of the key map has no '='"},
    {"key map with half a line", nothing, kShortConfig, "abc =", VOLTA_INVALID_ARGUMENT,
     "line 1 of the key map lacks"},
    {"key map with a foreign word", nothing, kShortConfig, "a = b turned", VOLTA_INVALID_ARGUMENT,
     "ends with 'turned'"},
    {"key map with a foreign part", nothing, kShortConfig, "a = b:w", VOLTA_INVALID_ARGUMENT, "part 'w'"},
    {"key map with two layers", nothing, kShortConfig, "a.%d.%d = b.%d", VOLTA_INVALID_ARGUMENT,
     "2 times on the left"},
    {"key map from every name to one", nothing, kShortConfig, "\n*.bias = b", VOLTA_INVALID_ARGUMENT,
     "line 2 of the key map gives a parameter to every name that fits a '*'"},
    {"key map that drops what counts", nothing, kShortConfig, "*.c_attn.bias = -", VOLTA_UNSUPPORTED,
     "'h.0.attn.c_attn.bias'"},
    {"key map to nowhere", nothing, kShortConfig, "ln_f.bias = final", VOLTA_CORRUPT_MODEL,
     "'ln_f.bias' would be 'final', which"},
};

void test_change(void** state) {
    const auto& change = *static_cast<const Change*>(*state);
    Fixture fixture;
    change.change(fixture);
    const std::string path = fixture.folder.write("m.safetensors", safetensors_of(fixture.tensors));
    std::string config, keys;
    ImportOptions options;
    if (change.config != nullptr) {
        config = fixture.folder.write("c.json", change.config);
        options.config_path = config.c_str();
    }
    if (change.keys != nullptr) {
        keys = fixture.folder.write("k.txt", change.keys);
        options.key_map_path = keys.c_str();
    }
    const long held = fixture.heap.held;
    const Failure failure = failure_of([&] { fixture.import(path, options); });
    assert_failure(failure, change.status, change.text);
    assert_failure(failure, change.status, "cannot import the model: ");
    assert_int_equal(fixture.heap.held, held);
}

// Each failure names the file that it is about, once, and no other.
void test_the_file_that_is_wrong_is_named(void**) {
    Fixture fixture;
    const TemporaryFolder& folder = fixture.folder;
    const std::string sound = folder.write("m.safetensors", safetensors_of(fixture.tensors));
    const std::string config = folder.write("c.json", kShortConfig);
    const std::string nonsense = folder.write("n.txt", "nonsense"), none = folder.file("none");
    const std::string five = folder.write("five.json", R"({"model_type": "gpt2", "n_head": 5})");
    const std::string other = folder.write("other.json", R"({"model_type": "t5"})");
    const std::string many = folder.write(
        "many.bin", bytes_of<std::int32_t>({1}) + [] {
            std::string pieces;
            for (int id = 0; id < 41; ++id) pieces += std::string(4, '\0') + std::string("\1\0\0\0a", 5);
            return pieces;
        }());
    const struct {
        std::string weights, config, keys, tokenizer, named;
    } rows[] = {{sound, config, nonsense, "", nonsense},
                {sound, config, none, "", none},
                {sound, config, "", nonsense, nonsense},
                {sound, config, "", none, none},
                {sound, config, "", many, many},
                {sound, nonsense, "", "", nonsense},
                {sound, none, "", "", none},
                {sound, five, "", "", five},
                {sound, other, "", "", other},
                {nonsense, config, "", "", nonsense},
                {none, config, "", "", none}};
    for (const auto& row : rows) {
        ImportOptions options;
        options.config_path = row.config.c_str();
        if (!row.keys.empty()) options.key_map_path = row.keys.c_str();
        if (!row.tokenizer.empty()) options.tokenizer_path = row.tokenizer.c_str();
        const Failure failure = failure_of([&] { fixture.import(row.weights, options); });
        assert_failure(failure, failure.status, "cannot import the model: ");
        const std::string text = failure.text, quoted = "'" + row.named + "'";
        const bool right =
            text.find(quoted) != text.npos && text.find(folder.file("")) == text.rfind(folder.file(""));
        if (!right) print_error("expected %s once, and no other path: %s\n", quoted.c_str(), failure.text);
        assert_true(right);
    }
}

void test_types_that_are_not_read_are_named(void**) {
    Fixture fixture;
    fixture.folder.write("config.json", kConfig);
    SafetensorsWriter writer;
    for (const PlainTensor& tensor : fixture.tensors)
        if (tensor.name == "ln_f.bias")
            writer.add(tensor.name, "I64", tensor.shape, std::string(32 * 8, '\0'));
        else
            writer.add(tensor.name, tensor.shape, tensor.values);
    const std::string path = fixture.folder.write("m.safetensors", writer.bytes());
    assert_failure(failure_of([&] { fixture.import(path); }), VOLTA_UNSUPPORTED,
                   "tensor 'ln_f.bias' is stored as I64, which is not read");
}

void test_files_of_other_kinds_are_told_apart(void**) {
    Fixture fixture;
    const struct {
        const char *bytes, *text;
        volta_status status;
    } files[] = {
        {"PK\3\4", "tools/pt_to_safetensors.py", VOLTA_UNSUPPORTED},
        {"VOLTA", "a model of Volta already", VOLTA_UNSUPPORTED},
        {"", "it is empty", VOLTA_UNSUPPORTED},
        {"hello, world", "no file of weights that is known", VOLTA_UNSUPPORTED},
    };
    for (const auto& file : files) {
        const std::string path = fixture.folder.write("m", file.bytes);
        assert_failure(failure_of([&] { fixture.import(path); }), file.status, file.text);
    }
    assert_failure(failure_of([&] { fixture.import(fixture.folder.file("none")); }), VOLTA_IO_ERROR, "none");
    SafetensorsWriter writer;
    const std::string graph = safetensors(R"({"__metadata__":{"volta.architecture":"mlp"}})", "");
    const std::string path = fixture.folder.write("graph.safetensors", graph);
    assert_failure(failure_of([&] { fixture.import(path); }), VOLTA_UNSUPPORTED, "architecture is 'mlp'");
}

void test_every_allocation_may_fail(void**) {
    Fixture fixture;
    fixture.folder.write("config.json", kConfig);
    const std::string path = fixture.folder.write("m.safetensors", safetensors_of(fixture.tensors));
    for (long n = 1;; n += 1 + n / 16) {
        TestHeap heap;
        heap.refused_call = n;
        bool done = false;
        try {
            import_model(path.c_str(), {}, heap.structures(), heap.tensors());
            done = true;
        } catch (const std::bad_alloc&) {
        }
        assert_int_equal(heap.held, 0);
        if (done) break;
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_a_state_dict_is_the_model),
        cmocka_unit_test(test_sizes_come_from_the_weights),
        cmocka_unit_test(test_what_nothing_needs_may_be_there),
        cmocka_unit_test(test_sixteen_bit_weights_are_widened),
        cmocka_unit_test(test_sharded_files_are_one_model),
        cmocka_unit_test(test_a_key_map_renames),
        cmocka_unit_test(test_an_export_is_the_same_model),
        cmocka_unit_test(test_the_file_that_is_wrong_is_named),
        cmocka_unit_test(test_types_that_are_not_read_are_named),
        cmocka_unit_test(test_files_of_other_kinds_are_told_apart),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    const int failed = cmocka_run_group_tests_name("import_gpt", tests, nullptr, nullptr);
    return failed + run_rows("import_gpt_refusals", kChanges, test_change,
                             [](const Change& change) { return change.name; });
}
