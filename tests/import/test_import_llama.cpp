// Llamas of three programs become the model that create_llama would have made of the same numbers.
#include <cmath>

#include "engine/import/export_safetensors.h"
#include "engine/import/import_model.h"
#include "engine/import/llama2c.h"
#include "tests/import/llama_files.h"
#include "tests/import/same_model.h"
#include "tests/model/test_heap.h"
#include "tests/support/errors.h"

namespace {
using namespace volta;
using namespace volta::test;

struct Fixture {
    Fixture(bool tied, bool interleaved)
        : config(small_llama(tied, interleaved)),
          model(create_llama(config, 3, heap.structures(), heap.tensors())) {
        for (std::size_t i = 0; i < model->parameters.size(); ++i) {  // norm weights of their own
            if (model->parameters[i].shape.rank != 1) continue;
            float* values = model->mutable_parameter(i);
            for (std::int64_t j = 0; j < config.dim; ++j)
                values[j] = static_cast<float>((j * 13 + static_cast<std::int64_t>(i) * 7) % 61) / 32.0f;
        }
    }
    HeapPtr<Model> import(const std::string& path, const ImportOptions& options = {}) {
        return import_model(path.c_str(), options, heap.structures(), heap.tensors());
    }
    HeapPtr<Model> import_bytes(const std::string& bytes) { return import(folder.write("m", bytes)); }
    bool same(const Model& other) { return is_same_model(*model, other, heap.structures()); }
    std::string json_config() const {
        return std::string(R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2,)") +
               R"("num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 96,)" +
               R"("max_position_embeddings": 32, "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "vocab_size": 48,)" +
               R"("hidden_act": "silu", "rope_scaling": null, "head_dim": 16, "tie_word_embeddings": )" +
               (config.tied ? "true}" : "false}");
    }
    TestHeap heap;
    TemporaryFolder folder;
    LlamaConfig config;
    HeapPtr<Model> model;
};

void test_llama2c_files_are_the_model(void**) {
    for (const bool tied : {true, false}) {
        Fixture fixture(tied, true);
        assert_true(fixture.same(*fixture.import_bytes(llama2c_bytes(*fixture.model, fixture.config))));
    }
}

void test_safetensors_files_are_the_model(void**) {
    for (const bool tied : {true, false}) {
        Fixture fixture(tied, false);
        fixture.folder.write("config.json", fixture.json_config());
        SafetensorsWriter writer;
        for (const PlainTensor& tensor : llama_tensors(*fixture.model, fixture.config, kHuggingFaceNames))
            writer.add(tensor.name, tensor.shape, tensor.values);
        std::vector<float> frequencies(8);
        for (std::size_t i = 0; i < 8; ++i)
            frequencies[i] = static_cast<float>(std::pow(10000.0, static_cast<double>(i) / -8.0));
        writer.add("model.layers.1.self_attn.rotary_emb.inv_freq", {8}, frequencies);
        writer.add("model.rotary_emb.inv_freq", {8}, frequencies);
        assert_true(fixture.same(*fixture.import_bytes(writer.bytes())));
    }
}

void test_gguf_files_are_the_model(void**) {
    for (const bool tied : {true, false}) {
        Fixture fixture(tied, true);
        const auto tensors = llama_tensors(*fixture.model, fixture.config, kGgufNames);
        assert_true(fixture.same(*fixture.import_bytes(gguf_bytes(tensors, gguf_keys(fixture.config)))));
    }
}

// Factors of rotary positions, as Llama 3.1 has them, are the frequencies of the model; ones change nothing.
void test_rotary_factors_are_read(void**) {
    Fixture fixture(true, true);
    auto tensors = llama_tensors(*fixture.model, fixture.config, kGgufNames);
    tensors.push_back({"rope_freqs.weight", {8}, std::vector<float>(8, 1.0f)});
    std::vector<float>& factors = tensors.back().values;
    const auto import = [&] { return fixture.import_bytes(gguf_bytes(tensors, gguf_keys(fixture.config))); };
    assert_true(fixture.same(*import()));
    for (std::size_t i = 4; i < 8; ++i) factors[i] = 8;
    const auto model = import();
    DecoderConfig expected = decoder_of(fixture.config);
    expected.frequencies.count = 8;
    for (int i = 0; i < 8; ++i)
        expected.frequencies.values[i] =
            static_cast<float>(std::pow(10000.0, i / -8.0) / (i < 4 ? 1.0 : 8.0));
    auto described = Model::create(build_decoder(expected, "decoder", fixture.heap.structures()), 1,
                                   fixture.heap.structures(), fixture.heap.tensors());
    describe_decoder(expected, *described);
    assert_string_equal(model->find_metadata("volta.decoder.frequencies")->c_str(),
                        described->find_metadata("volta.decoder.frequencies")->c_str());
    assert_string_equal(model->find_metadata("volta.decoder.interleaved")->c_str(), "1");
    assert_true(hash_parameters(*model, fixture.heap.structures()) ==
                hash_parameters(*fixture.model, fixture.heap.structures()));
    for (const float wrong : {0.0f, -1.0f, NAN, INFINITY}) {
        factors[3] = wrong;
        assert_failure(failure_of([&] { import(); }), VOLTA_CORRUPT_MODEL,
                       "element 3 of tensor 'rope_freqs.weight' is ");
    }
    tensors.back() = {"rope_freqs.weight", {4}, std::vector<float>(4, 2.0f)};
    assert_failure(failure_of([&] { import(); }), VOLTA_UNSUPPORTED,
                   "tensor 'rope_freqs.weight' is F32 of shape [4]; a head has 8 pairs to turn");
}

void test_quantised_weights_are_widened(void**) {
    for (const bool four_bits : {false, true}) {
        Fixture fixture(true, true);
        auto tensors = llama_tensors(*fixture.model, fixture.config, kGgufNames);
        GgufBytes file = gguf_keys(fixture.config);
        for (PlainTensor& tensor : tensors)
            add_gguf_as(file, tensor, tensor.shape.size() < 2 ? kGgufF32 : four_bits ? kGgufQ40 : kGgufQ80);
        const auto quantised_model = fixture.import_bytes(file.finish());
        const auto expected = fixture.import_bytes(gguf_bytes(tensors, gguf_keys(fixture.config)));
        assert_true(hash_parameters(*quantised_model, fixture.heap.structures()) ==
                    hash_parameters(*expected, fixture.heap.structures()));
        assert_false(fixture.same(*expected));
    }
}

void test_an_export_is_the_same_model(void**) {
    for (const bool tied : {true, false}) {
        Fixture fixture(tied, !tied);
        const std::string path = fixture.folder.file("m.safetensors");
        export_safetensors(*fixture.model, path.c_str(), fixture.heap.structures());
        assert_true(fixture.same(*fixture.import(path)));
    }
}

struct Refusal {
    const char* name;
    std::vector<std::int32_t> header;  // dim, hidden, layers, heads, kv_heads, vocabulary, context
    volta_status status;
    const char* text;
};
const std::int32_t kMost = INT32_MAX;
const Refusal kHeaders[] = {
    {"zero", {0, 96, 2, 4, 2, 48, 32}, VOLTA_CORRUPT_MODEL, "its dim is 0"},
    {"negative", {64, -96, 2, 4, 2, 48, 32}, VOLTA_CORRUPT_MODEL, "its hidden_dim is -96"},
    {"layers", {64, 96, 513, 4, 2, 48, 32}, VOLTA_CORRUPT_MODEL, "its n_layers is 513"},
    {"no heads", {64, 96, 2, 0, 2, 48, 32}, VOLTA_CORRUPT_MODEL, "its n_heads is 0"},
    {"kv heads", {64, 96, 2, 4, 3, 48, 32}, VOLTA_CORRUPT_MODEL, "no multiple of n_kv_heads, is 4"},
    {"heads", {64, 96, 2, 3, 3, 48, 32}, VOLTA_CORRUPT_MODEL, "no multiple of n_heads, is 64"},
    {"odd heads", {12, 96, 2, 4, 2, 48, 32}, VOLTA_CORRUPT_MODEL, "odd size, is 12"},
    {"no vocabulary", {64, 96, 2, 4, 2, 0, 32}, VOLTA_CORRUPT_MODEL, "its vocab_size is 0"},
    {"smallest vocabulary",
     {64, 96, 2, 4, 2, INT32_MIN, 32},
     VOLTA_CORRUPT_MODEL,
     "vocab_size is 2147483648"},
    {"no context", {64, 96, 2, 4, 2, 48, -1}, VOLTA_CORRUPT_MODEL, "its seq_len is -1"},
    {"other size", {64, 96, 2, 4, 2, 49, 32}, VOLTA_CORRUPT_MODEL, "its sizes make a file of "},
    {"untied but no head", {64, 96, 2, 4, 2, -48, 32}, VOLTA_CORRUPT_MODEL, "its sizes make a file of "},
    {"overflow", {kMost - 1, kMost, 512, 1, 1, kMost, kMost}, VOLTA_CORRUPT_MODEL, "too large for any file"},
    {"later version", {0x616b3432, 1, 2, 4, 2, 48, 32}, VOLTA_UNSUPPORTED, "a llama2.c file of version 1"},
};

void test_header_refused(void** state) {
    const auto& refusal = *static_cast<const Refusal*>(*state);
    Fixture fixture(true, true);
    const std::string path =
        fixture.folder.write("m", llama2c_bytes(*fixture.model, fixture.config, refusal.header));
    ImportOptions options;
    options.format = WeightFormat::llama2c;
    assert_failure(failure_of([&] { fixture.import(path, options); }), refusal.status, refusal.text);
}

void test_a_llama2c_file_of_another_length_is_refused(void**) {
    Fixture fixture(true, true);
    const std::string whole = llama2c_bytes(*fixture.model, fixture.config);
    ImportOptions options;
    options.format = WeightFormat::llama2c;
    for (const std::string& bytes :
         {whole.substr(0, whole.size() - 1), whole + "x", whole.substr(0, 27), std::string()}) {
        const std::string path = fixture.folder.write("m", bytes);
        assert_failure(failure_of([&] { fixture.import(path, options); }), VOLTA_CORRUPT_MODEL,
                       bytes.size() < 28 ? "at least 28 bytes" : "its sizes make a file of");
        const Failure found = failure_of([&] { fixture.import(path); });
        if (bytes.size() < 28)
            assert_failure(found, VOLTA_UNSUPPORTED, bytes.empty() ? "it is empty" : "no file of weights");
        else
            assert_failure(found, VOLTA_CORRUPT_MODEL, "its sizes make a file of");
    }
}

// A cut is told wherever it is; the sentence has both sizes.
void test_a_cut_file_is_told_as_one(void**) {
    Fixture fixture(true, true);
    const std::string whole = llama2c_bytes(*fixture.model, fixture.config);
    for (const std::size_t bytes : {whole.size() - 1, whole.size() / 2, std::size_t{29}, std::size_t{28}}) {
        char text[80];
        std::snprintf(text, sizeof text, "its sizes make a file of %zu bytes, it has %zu", whole.size(),
                      bytes);
        assert_failure(failure_of([&] { fixture.import_bytes(whole.substr(0, bytes)); }), VOLTA_CORRUPT_MODEL,
                       text);
    }
    assert_failure(failure_of([&] { fixture.import_bytes(std::string("\x60\0\0\0\0\0\0\0{", 9)); }),
                   VOLTA_CORRUPT_MODEL, "it is cut: its header makes a file of at least 104 bytes, it has 9");
    assert_failure(failure_of([&] { fixture.import_bytes(std::string("\x60\0\0\0\0\0\0\0{ \"a\"", 13)); }),
                   VOLTA_CORRUPT_MODEL, "at least 104 bytes, it has 13");
}

// Sizes that divide each other do not make a file of weights.
void test_other_files_are_not_taken_for_a_cut_one(void**) {
    Fixture fixture(true, true);
    const std::string weights = bytes_of(std::vector<float>(40, 0.5f));
    const auto with_header = [&](const std::vector<std::int32_t>& header) {
        return bytes_of(header) + weights;
    };
    const std::string good = bytes_of<std::int32_t>({64, 96, 2, 4, 2, 48, 32});
    assert_failure(failure_of([&] { fixture.import_bytes(good + weights); }), VOLTA_CORRUPT_MODEL,
                   "its sizes make a file of");
    const std::string others[] = {with_header({1 << 17, 96, 2, 4, 2, 48, 32}),        // wider than any model
                                  with_header({64, 1 << 21, 2, 4, 2, 48, 32}),        //
                                  with_header({64, 96, 2, 4, 2, 1 << 21, 32}),        //
                                  with_header({64, 96, 2, 4, 2, -(1 << 21), 32}),     //
                                  with_header({64, 96, 2, 4, 2, 48, 1 << 25}),        //
                                  with_header({1 << 14, 96, 2, 1 << 13, 2, 48, 32}),  //
                                  good + bytes_of<std::int32_t>({464, 1256, 13, 7}),  // integers
                                  good + bytes_of<std::uint32_t>({0x7f800000}),       // infinity
                                  good + bytes_of<std::uint32_t>({0x3f000000, 0xffc00000}),
                                  "Once upon a time, there was a little girl named Lily.",
                                  std::string("\x1f\x8b\x09\0\0\0\0\0\0\x03", 10) + std::string(60, '\x55'),
                                  "\1" + std::string(4096, '\0'),
                                  bytes_of<std::int32_t>(std::vector<std::int32_t>(64, 2)),
                                  std::string("\x60\0\0\0\0\0\0\0{\x80", 10),  // no JSON behind the brace
                                  std::string("\x60\0\0\0\0\0\0\0[", 9),
                                  std::string("\x60\0\0\0\0\0\0\x10{\"a", 11)};
    for (const std::string& bytes : others)
        assert_failure(failure_of([&] { fixture.import_bytes(bytes); }), VOLTA_UNSUPPORTED,
                       "it is no file of weights that is known: safetensors, an index of several, GGUF, ONNX "
                       "or llama2.c");
}

struct GgufChange {
    const char* name;
    void (*change)(std::vector<PlainTensor>& tensors, LlamaConfig& config, GgufBytes& extra);
    volta_status status;
    const char* text;
};
const GgufChange kGgufChanges[] = {
    {"missing part", [](auto& t, auto&, auto&) { t.erase(t.begin() + 3); }, VOLTA_CORRUPT_MODEL,
     "tensor 'blk.0.attn_k.weight' is missing ('block.0.qkv.weight' of the model)"},
    {"missing gate", [](auto& t, auto&, auto&) { t.erase(t.begin() + 7); }, VOLTA_CORRUPT_MODEL,
     "tensor 'blk.0.ffn_gate.weight' is missing"},
    {"missing embedding", [](auto& t, auto&, auto&) { t.erase(t.begin()); }, VOLTA_CORRUPT_MODEL,
     "tensor 'token_embd.weight' is missing ('token_embedding' of the model)"},
    {"an embedding of one extent", [](auto& t, auto&, auto&) { t[0].shape = {48 * 64}; },
     VOLTA_SHAPE_MISMATCH, "'token_embd.weight' has the shape [3072], 'token_embedding' needs [3072, 64]"},
    {"unknown", [](auto& t, auto&, auto&) { t[3].name = "blk.0.attn_gate.weight"; }, VOLTA_UNSUPPORTED,
     "tensor 'blk.0.attn_gate.weight' is not known; a key map can say which parameter it is"},
    {"other shape",
     [](auto& t, auto&, auto&) {
         t[2].shape = {32, 128};
     },
     VOLTA_SHAPE_MISMATCH,
     "tensor 'blk.0.attn_q.weight' has the shape [32, 128], 'block.0.qkv.weight' needs [64, 64]"},
    {"kv heads", [](auto&, auto& c, auto&) { c.kv_heads = 4; }, VOLTA_SHAPE_MISMATCH, "needs [64, 64]"},
    {"heads", [](auto&, auto& c, auto&) { c.heads = 3; }, VOLTA_CORRUPT_MODEL, "its sizes cannot be: "},
    {"layers", [](auto&, auto& c, auto&) { c.layers = 1; }, VOLTA_CORRUPT_MODEL,
     "a model of these sizes has not"},
    {"scaling", [](auto&, auto&, auto& extra) { extra.string("llama.rope.scaling.type", "yarn"); },
     VOLTA_UNSUPPORTED, "'llama.rope.scaling.type' is 'yarn'"},
    {"scaling without a type",
     [](auto&, auto&, auto& extra) { extra.entry("llama.rope.scaling.factor", 6, raw(2.0f)); },
     VOLTA_UNSUPPORTED, "'llama.rope.scaling.factor' is 2, Volta's model is one where it is 1"},
    {"scaling of older files",
     [](auto&, auto&, auto& extra) { extra.entry("llama.rope.scale_linear", 6, raw(4.0f)); },
     VOLTA_UNSUPPORTED, "'llama.rope.scale_linear' is 4"},
    {"an encoder", [](auto&, auto&, auto& extra) { extra.boolean("llama.attention.causal", 0); },
     VOLTA_UNSUPPORTED, "'llama.attention.causal' says that a token sees those behind it"},
    {"the first part",
     [](auto&, auto&, auto& extra) { extra.entry("split.count", 2, raw<std::uint16_t>(2)); },
     VOLTA_UNSUPPORTED, "it is the first of 2 parts, and its name does not end in '-00001-of-00002.gguf'"},
    {"another part",
     [](auto&, auto&, auto& extra) {
         extra.entry("split.count", 2, raw<std::uint16_t>(3)).entry("split.no", 2, raw<std::uint16_t>(1));
     },
     VOLTA_UNSUPPORTED, "it is part 2 of 3: give the first, whose name ends in '-00001-of-00003.gguf'"},
    {"a part too many",
     [](auto&, auto&, auto& extra) {
         extra.entry("split.count", 2, raw<std::uint16_t>(3)).entry("split.no", 2, raw<std::uint16_t>(3));
     },
     VOLTA_CORRUPT_MODEL, "its 'split.no' is 3, and its 'split.count' 3"},
    {"many parts", [](auto&, auto&, auto& extra) { extra.entry("split.count", 2, raw<std::uint16_t>(1025)); },
     VOLTA_UNSUPPORTED, "it is one of 1025 parts, at most 1024 are read"},
    {"long contexts", [](auto&, auto& c, auto&) { c.context = 1048577; }, VOLTA_UNSUPPORTED,
     "it has 1048577 positions, the most that a model of Volta has are 1048576"},
    {"many layers", [](auto&, auto& c, auto&) { c.layers = 513; }, VOLTA_UNSUPPORTED,
     "it has 513 layers, the most that a model of Volta has are 512"},
    {"part of a head", [](auto&, auto&, auto& extra) { extra.u32("llama.rope.dimension_count", 8); },
     VOLTA_UNSUPPORTED, "'llama.rope.dimension_count' is 8, Volta's model is one where it is 16"},
    {"experts", [](auto&, auto&, auto& extra) { extra.u32("llama.expert_count", 8); }, VOLTA_UNSUPPORTED,
     "'llama.expert_count' is 8"},
};

void test_gguf_change(void** state) {
    const auto& change = *static_cast<const GgufChange*>(*state);
    Fixture fixture(true, true);
    auto tensors = llama_tensors(*fixture.model, fixture.config, kGgufNames);
    LlamaConfig config = fixture.config;
    GgufBytes ignored;
    change.change(tensors, config, ignored);  // sizes and tensors
    GgufBytes keys = gguf_keys(config);
    auto again = tensors;
    change.change(again, config, keys);  // further keys
    const std::string path = fixture.folder.write("m", gguf_bytes(tensors, keys));
    const long held = fixture.heap.held;
    assert_failure(failure_of([&] { fixture.import(path); }), change.status, change.text);
    assert_int_equal(fixture.heap.held, held);
}

// The tensors in three files, as llama.cpp splits them; `change` makes the keys of a part wrong.
struct Parts {
    explicit Parts(Fixture& fixture) : fixture_(fixture) {}
    std::string write(std::uint16_t count = 3, std::int32_t tensors_in_all = -1, int twice = -1) {
        const auto tensors = llama_tensors(*fixture_.model, fixture_.config, kGgufNames);
        for (std::uint16_t number = 0; number < 3; ++number) {
            GgufBytes file = number == 0 ? gguf_keys(fixture_.config) : GgufBytes();
            file.entry("split.no", 2, raw(number))
                .entry("split.count", 2, raw(number == 1 ? count : std::uint16_t{3}));
            file.entry("split.tensors.count", 5,
                       raw(tensors_in_all < 0 ? static_cast<std::int32_t>(tensors.size()) : tensors_in_all));
            std::vector<PlainTensor> own;
            for (std::size_t i = 0; i < tensors.size(); ++i)
                if (i % 3 == number || static_cast<int>(i) == twice) own.push_back(tensors[i]);
            fixture_.folder.write(name(number), gguf_bytes(own, file));
        }
        return fixture_.folder.file(name(0));
    }
    static std::string name(int number) { return "m-0000" + std::to_string(number + 1) + "-of-00003.gguf"; }

  private:
    Fixture& fixture_;
};

void test_parts_of_a_file_are_found(void**) {
    Fixture fixture(true, true);
    Parts parts(fixture);
    const std::string path = parts.write();
    const auto model = fixture.import(path);
    assert_true(fixture.same(*model));
    const long held = fixture.heap.held;
    const auto refused = [&](volta_status status, const char* text) {
        assert_failure(failure_of([&] { fixture.import(path); }), status, text);
        assert_int_equal(fixture.heap.held, held);
    };
    parts.write(4);
    refused(VOLTA_CORRUPT_MODEL, "in its part 2 of 3: it says that it is part 2 of 4");
    parts.write(3, 5);
    refused(VOLTA_CORRUPT_MODEL, "its 3 parts have 20 tensors, it says 5");
    parts.write(3, 21, 0);
    refused(VOLTA_CORRUPT_MODEL, "its 3 parts have 22 tensors, it says 21");
    parts.write(3, 22, 0);
    refused(VOLTA_CORRUPT_MODEL, "is there twice");
    fixture.folder.write(Parts::name(2), "GGUF");
    refused(VOLTA_CORRUPT_MODEL, "in its part 3 of 3: it is no GGUF file");
    std::remove(fixture.folder.file(Parts::name(1)).c_str());
    refused(VOLTA_IO_ERROR, "m-00002-of-00003.gguf");
}

void test_gguf_files_without_a_model_are_refused(void**) {
    Fixture fixture(true, true);
    GgufBytes other;
    other.string("general.architecture", "t5");
    assert_failure(failure_of([&] { fixture.import_bytes(other.finish()); }), VOLTA_UNSUPPORTED,
                   "its architecture is 't5'; Volta imports gpt2, llama, qwen2 and bert");
    assert_failure(failure_of([&] { fixture.import_bytes(GgufBytes().finish()); }), VOLTA_CORRUPT_MODEL,
                   "no key 'general.architecture'");
    const struct {
        const char* file;
        const char* text;
    } real[] = {{"gguf/iree_single.gguf", "its architecture is 'generic'"},
                {"gguf/iree_multiple.gguf", "its architecture is 'generic'"}};
    for (const auto& row : real) {
        const std::string path = real_file(row.file);
        if (!path.empty()) {
            const Failure failure = failure_of([&] { fixture.import(path); });
            assert_failure(failure, failure.status, row.text);
        }
    }
}

// The parameters of a trained model, noted once: whatever reads it must find these bits.
void test_stories260k(void**) {
    const std::string path = real_file("stories260K/stories260K.bin");
    if (path.empty()) skip();
    Fixture fixture(true, true);
    const auto model = fixture.import(path);
    const HashText hash = to_text(hash_parameters(*model, fixture.heap.structures()));
    assert_string_equal(hash.text, "8b406df5ed3f204a57ac2f55d7e66008");
    assert_string_equal(model->find_metadata("volta.llama.kv_heads")->c_str(), "4");
    assert_string_equal(model->find_metadata("volta.llama.hidden")->c_str(), "172");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_llama2c_files_are_the_model),
        cmocka_unit_test(test_safetensors_files_are_the_model),
        cmocka_unit_test(test_gguf_files_are_the_model),
        cmocka_unit_test(test_rotary_factors_are_read),
        cmocka_unit_test(test_quantised_weights_are_widened),
        cmocka_unit_test(test_an_export_is_the_same_model),
        cmocka_unit_test(test_a_llama2c_file_of_another_length_is_refused),
        cmocka_unit_test(test_a_cut_file_is_told_as_one),
        cmocka_unit_test(test_other_files_are_not_taken_for_a_cut_one),
        cmocka_unit_test(test_parts_of_a_file_are_found),
        cmocka_unit_test(test_gguf_files_without_a_model_are_refused),
        cmocka_unit_test(test_stories260k),
    };
    int failed = cmocka_run_group_tests_name("import_llama", tests, nullptr, nullptr);
    failed += run_rows("llama2c_headers", kHeaders, test_header_refused,
                       [](const Refusal& row) { return row.name; });
    return failed + run_rows("import_gguf_refusals", kGgufChanges, test_gguf_change,
                             [](const GgufChange& row) { return row.name; });
}
