// Weights that a file holds in fewer bits stay so, value by value, where they are imported to be kept.
#include <cmath>

#include "engine/graph/evaluate.h"
#include "engine/graph/verify.h"
#include "engine/import/export_safetensors.h"
#include "engine/import/import_model.h"
#include "engine/import/make_parameter.h"
#include "engine/model/quantize.h"
#include "engine/numerics/stored_weights.h"
#include "tests/import/gpt_files.h"
#include "tests/import/llama_files.h"
#include "tests/model/test_heap.h"
#include "tests/support/errors.h"

namespace {
using namespace volta;
using namespace volta::test;

// No part of qkv begins at a panel, no count of outputs is a multiple of 16.
LlamaConfig odd_llama(bool tied) {
    LlamaConfig config;
    config.vocabulary = 50;
    config.layers = 2;
    config.dim = 96;
    config.heads = 12;
    config.kv_heads = 3;
    config.hidden = 32 * 3;
    config.context = 32;
    config.tied = tied;
    config.interleaved = true;
    return config;
}

struct Fixture {
    explicit Fixture(bool tied = true)
        : config(odd_llama(tied)),
          model(create_llama(config, 3, heap.structures(), heap.tensors())),
          tensors(llama_tensors(*model, config, kGgufNames)) {}

    // type_of(tensor) for every matrix; vectors are f32.
    template <class TypeOf>
    std::string write(TypeOf type_of) {
        GgufBytes file = gguf_keys(config);
        for (PlainTensor& tensor : tensors)
            add_gguf_as(file, tensor, tensor.shape.size() < 2 ? kGgufF32 : type_of(tensor));
        bytes = file.finish();
        return folder.write("m", bytes);
    }
    std::string write(GgufTensorNumber type) {
        return write([type](const PlainTensor&) { return type; });
    }
    HeapPtr<Model> import(const std::string& path, std::optional<DType> weights) {
        ImportOptions options;
        options.weights = weights;
        return import_model(path.c_str(), options, heap.structures(), heap.tensors());
    }
    TestHeap heap;
    TemporaryFolder folder;
    LlamaConfig config;
    HeapPtr<Model> model;
    std::vector<PlainTensor> tensors;
    std::string bytes;
};

// Element (output j, input p) of a parameter of a kept model and of the f32 one are the same bits.
void check_same_values(const Model& kept, const Model& whole) {
    verify(kept.graph);
    assert_int_equal(kept.parameters.size(), whole.parameters.size());
    for (std::size_t i = 0; i < kept.parameters.size(); ++i) {
        const NamedTensor &a = kept.parameters[i], &b = whole.parameters[i];
        assert_true(a.name == b.name && b.dtype == DType::f32);
        const auto* const w = static_cast<const float*>(b.data);
        if (!is_stored(a.dtype)) {
            assert_true(a.shape == b.shape);
            assert_memory_equal(a.data, b.data, b.bytes());
            continue;
        }
        const auto layout = weight_layouts(
            whole.graph,
            whole.structures())[static_cast<std::size_t>(whole.graph.find_source(b.name.c_str()))];
        const StoredWeights stored = {a.dtype, static_cast<const unsigned char*>(a.data), a.shape[0],
                                      a.shape[1]};
        for (std::int64_t j = 0; j < stored.n; ++j)
            for (std::int64_t p = 0; p < stored.k; ++p) {
                const float actual = stored.element(j, p), wanted = layout == WeightLayout::inputs_first
                                                                        ? w[p * stored.n + j]
                                                                        : w[j * stored.k + p];
                assert_memory_equal(&actual, &wanted, sizeof actual);
            }
    }
}

DType dtype_of(const Model& model, const char* name) { return model.find_parameter(name)->dtype; }

const char* const kStored[] = {"token_embedding", "block.0.qkv.weight", "block.0.proj.weight",
                               "block.1.down.weight", "block.1.gate_up.weight"};

void test_every_type_is_kept_exactly(void**) {
    const struct {
        GgufTensorNumber type;
        DType dtype;
    } rows[] = {{kGgufF32, DType::f32},  {kGgufF16, DType::f16},  {kGgufBf16, DType::bf16},
                {kGgufQ80, DType::int8}, {kGgufQ50, DType::int8}, {kGgufIq4Nl, DType::int8},
                {kGgufQ40, DType::int4}};
    for (const bool tied : {true, false})
        for (const auto& row : rows) {
            Fixture fixture(tied);
            const std::string path = fixture.write(row.type);
            const auto kept = fixture.import(path, std::nullopt);
            const auto whole = fixture.import(path, DType::f32);
            for (const char* name : kStored) assert_int_equal(dtype_of(*kept, name), row.dtype);
            assert_int_equal(dtype_of(*kept, "norm_final.weight"), DType::f32);
            if (!tied) assert_int_equal(dtype_of(*kept, "head.weight"), row.dtype);
            check_same_values(*kept, *whole);
            std::size_t total = 0;
            for (const NamedTensor& parameter : kept->parameters) total += parameter.bytes();
            const bool grows = row.type == kGgufQ50 || row.type == kGgufIq4Nl;  // whose integers take a byte
            assert_true(total <
                        fixture.bytes.size() * (grows ? 9 : 5) / 4);  // 50 rows in panels of 16 are 64
        }
}

// The type that has the values of all parts; f32 where none does.
void test_parts_of_several_types(void**) {
    Fixture fixture;
    const std::string path = fixture.write([](const PlainTensor& tensor) {
        const auto is = [&](const char* part) { return tensor.name.find(part) != std::string::npos; };
        if (is("attn_v") || is("ffn_gate") || is("token_embd")) return kGgufQ80;
        return is("ffn_up") ? kGgufF16 : is("attn_output") ? kGgufF32 : kGgufQ40;
    });
    const auto kept = fixture.import(path, std::nullopt);
    assert_int_equal(dtype_of(*kept, "block.0.qkv.weight"), DType::int8);
    assert_int_equal(dtype_of(*kept, "block.0.gate_up.weight"), DType::f32);
    assert_int_equal(dtype_of(*kept, "block.0.down.weight"), DType::int4);
    assert_int_equal(dtype_of(*kept, "block.0.proj.weight"), DType::f32);
    assert_int_equal(dtype_of(*kept, "token_embedding"), DType::int8);
    check_same_values(*kept, *fixture.import(path, DType::f32));
}

// A type that is asked for is what quantize makes of the f32 import; but blocks that it has are kept.
void test_a_type_is_asked_for(void**) {
    for (const DType dtype : {DType::bf16, DType::f16, DType::int8, DType::int4, DType::f32_panels}) {
        Fixture fixture;
        const std::string path = fixture.write(kGgufF32);
        const auto whole = fixture.import(path, DType::f32);
        const auto expected = quantize(*whole, dtype, fixture.heap.structures(), fixture.heap.tensors());
        const auto actual = fixture.import(path, dtype);
        verify(actual->graph);
        assert_true(hash_parameters(*actual, fixture.heap.structures()) ==
                    hash_parameters(*expected, fixture.heap.structures()));
    }
    Fixture fixture;
    const std::string path = fixture.write(kGgufQ40);
    check_same_values(*fixture.import(path, DType::int8), *fixture.import(path, DType::f32));
    check_same_values(*fixture.import(path, DType::int4), *fixture.import(path, DType::f32));
}

struct Lines {
    std::vector<std::pair<int, std::string>> lines;
    static void write(void* self, std::int32_t level, const char* line) {
        static_cast<Lines*>(self)->lines.emplace_back(level, line);
    }
};

std::vector<std::pair<int, std::string>> told(Fixture& fixture, const std::string& path,
                                              std::optional<DType> weights) {
    Lines lines;
    ImportOptions options;
    options.weights = weights;
    options.log = {Lines::write, &lines};
    import_model(path.c_str(), options, fixture.heap.structures(), fixture.heap.tensors());
    return lines.lines;
}

// By how much what is stored differs from the file, in one line; nothing where it does not.
void test_the_log_says_what_was_rounded(void**) {
    Fixture fixture;
    std::string path = fixture.write(kGgufF32);
    assert_true(told(fixture, path, DType::f32).empty());
    assert_true(told(fixture, path, DType::f32_panels).empty());
    for (const DType dtype : {DType::bf16, DType::int8, DType::int4}) {
        const auto whole = fixture.import(path, DType::f32), made = fixture.import(path, dtype);
        Rounding all;
        for (const NamedTensor& parameter : made->parameters) {
            if (!is_stored(parameter.dtype)) continue;
            const auto* const w =
                static_cast<const float*>(whole->find_parameter(parameter.name.c_str())->data);
            const StoredWeights stored = {dtype, static_cast<const unsigned char*>(parameter.data),
                                          parameter.shape[0], parameter.shape[1]};
            const bool table = parameter.name == "token_embedding";
            for (std::int64_t j = 0; j < stored.n; ++j)
                for (std::int64_t p = 0; p < stored.k; ++p)
                    all.add(static_cast<double>(table ? w[j * stored.k + p] : w[p * stored.n + j]),
                            static_cast<double>(stored.element(j, p)));
        }
        char text[100];
        snprintf(text, sizeof text, "weights as %s differ from the file's by %.3g of their root mean square",
                 dtype_name(dtype), all.share());
        const auto lines = told(fixture, path, dtype);
        assert_int_equal(lines.size(), 1);
        assert_int_equal(lines[0].first, VOLTA_LOG_INFO);
        assert_true(lines[0].second.rfind(text, 0) == 0 && all.share() > 1e-4 && all.share() < 0.1);
    }
    path = fixture.write(kGgufQ80);
    for (const std::optional<DType> exact : {std::optional<DType>(), std::optional<DType>(DType::int8)})
        assert_true(told(fixture, path, exact).empty());
    assert_int_equal(told(fixture, path, DType::int4).size(), 1);

    path = fixture.write(kGgufF64);
    const auto lines = told(fixture, path, DType::f32);
    assert_int_equal(lines.size(), 1);
    assert_int_equal(lines[0].first, VOLTA_LOG_WARNING);
    assert_string_equal(lines[0].second.c_str(),
                        "15 tensors are of F64 and were rounded to f32, 'token_embd.weight' the first");
}

// As the inputs lie first, the whole matrix is measured.
void test_the_log_measures_matrices_too(void**) {
    TestHeap heap;
    TemporaryFolder folder;
    const auto model = create_gpt(small_gpt(), 7, heap.structures(), heap.tensors());
    const std::string path = folder.file("m.safetensors");
    export_safetensors(*model, path.c_str(), heap.structures());
    Lines lines;
    ImportOptions options;
    options.weights = DType::int8;
    options.log = {Lines::write, &lines};
    import_model(path.c_str(), options, heap.structures(), heap.tensors());
    assert_int_equal(lines.lines.size(), 1);
    double share = 0;
    const char* const line = lines.lines[0].second.c_str();
    assert_int_equal(sscanf(line, "weights as int8 differ from the file's by %lf", &share), 1);
    assert_true(share > 1e-3 && share < 0.02);  // a wrong layout would give more than 1
}

// GPT-2's own files have the inputs first.
void test_weights_with_the_inputs_first(void**) {
    for (const bool brain : {false, true}) {
        TestHeap heap;
        TemporaryFolder folder;
        const auto model = create_gpt(small_gpt(), 7, heap.structures(), heap.tensors());
        scatter(*model);
        SafetensorsWriter writer;
        for (PlainTensor& tensor : gpt2_tensors(*model, 2, ""))
            writer.add(tensor.name, brain ? "BF16" : "F16", tensor.shape, halved(tensor.values, brain));
        folder.write("config.json", R"({"model_type": "gpt2", "n_head": 4})");
        const std::string path = folder.write("m.safetensors", writer.bytes());
        ImportOptions options;
        const auto whole = import_model(path.c_str(), options, heap.structures(), heap.tensors());
        options.weights.reset();
        const auto kept = import_model(path.c_str(), options, heap.structures(), heap.tensors());
        for (const char* name : {"token_embedding", "block.0.qkv.weight", "block.1.fc_proj.weight"})
            assert_int_equal(dtype_of(*kept, name), brain ? DType::bf16 : DType::f16);
        assert_int_equal(dtype_of(*kept, "position_embedding"), DType::f32);
        check_same_values(*kept, *whole);
    }
}

// Blocks along the outputs are no groups along the inputs, and five outputs take a panel of sixteen.
void test_what_stays_f32(void**) {
    Fixture fixture;
    const std::string path = fixture.write(kGgufQ80);
    const std::string keys =
        fixture.folder.write("keys", "blk.%d.attn_output.weight = block.%d.proj.weight\n");
    ImportOptions options;
    options.weights.reset();
    options.key_map_path = keys.c_str();
    const auto kept = import_model(path.c_str(), options, fixture.heap.structures(), fixture.heap.tensors());
    assert_int_equal(dtype_of(*kept, "block.0.proj.weight"), DType::f32);
    assert_int_equal(dtype_of(*kept, "block.0.down.weight"), DType::int8);

    LlamaConfig config = odd_llama(true);
    config.vocabulary = 5;
    const auto small = create_llama(config, 3, fixture.heap.structures(), fixture.heap.tensors());
    GgufBytes file = gguf_keys(config);
    for (PlainTensor& tensor : llama_tensors(*small, config, kGgufNames))
        add_gguf_as(file, tensor, tensor.shape.size() < 2 ? kGgufF32 : kGgufF16);
    const auto few = fixture.import(fixture.folder.write("few", file.finish()), std::nullopt);
    assert_int_equal(dtype_of(*few, "token_embedding"), DType::f32);
    assert_int_equal(dtype_of(*few, "block.0.qkv.weight"), DType::f16);
}

void test_a_model_of_few_inputs_is_refused(void**) {
    Fixture fixture;
    GptConfig config = small_gpt();
    config.dim = 4;
    const auto model = create_gpt(config, 1, fixture.heap.structures(), fixture.heap.tensors());
    const std::string path = fixture.folder.file("few.safetensors");
    export_safetensors(*model, path.c_str(), fixture.heap.structures());
    assert_failure(failure_of([&] { fixture.import(path, DType::int8); }), VOLTA_INVALID_ARGUMENT,
                   "the model has no weight to store as int8");
    fixture.import(path, std::nullopt);
}

// The logits in double, where rounding hides nothing.
std::vector<double> logits(const Model& model, std::pmr::memory_resource* heap) {
    const Shape shape{2, 7};
    const Graph graph = specialize(model.graph, &shape, 1, heap);
    std::pmr::vector<EvalTensor<double>> tensors(graph.values.size(), heap);
    for (int i = 0; i < 14; ++i)
        tensors[static_cast<std::size_t>(graph.find_source("tokens"))].integer.push_back(i * 7 % 50);
    for (const NamedTensor& parameter : model.parameters) {
        EvalTensor<double>& tensor =
            tensors[static_cast<std::size_t>(graph.find_source(parameter.name.c_str()))];
        const auto* const values = static_cast<const float*>(parameter.data);
        if (is_stored(parameter.dtype))
            tensor.stored = static_cast<const unsigned char*>(parameter.data);
        else
            tensor.real.assign(values, values + parameter.shape.elements());
    }
    evaluate(graph, tensors);
    const auto& out = tensors[static_cast<std::size_t>(graph.outputs[0].value)].real;
    return {out.begin(), out.end()};
}

void test_a_kept_model_computes_what_the_f32_one_does(void**) {
    for (const GgufTensorNumber type : {kGgufF16, kGgufBf16, kGgufQ80, kGgufQ40}) {
        Fixture fixture;
        const std::string path = fixture.write(type);
        const auto kept = logits(*fixture.import(path, std::nullopt), fixture.heap.structures());
        const auto whole = logits(*fixture.import(path, DType::f32), fixture.heap.structures());
        assert_int_equal(kept.size(), whole.size());
        double largest = 0;
        for (const double value : whole) largest = std::max(largest, std::fabs(value));
        assert_true(largest > 1e-3);
        for (std::size_t i = 0; i < whole.size(); ++i)
            assert_true(std::fabs(kept[i] - whole[i]) <= 1e-9 * largest);
    }
}

void test_values_that_are_not_finite_are_refused(void**) {
    const struct {
        GgufTensorNumber type;
        const char *infinite, *text;
    } rows[] = {{kGgufQ80, "\x00\x7c", "tensor 'token_embd.weight' cannot be stored as int8"},
                {kGgufQ40, "\x01\x7e", "cannot be stored as int4"},
                {kGgufF16, "\x00\xfc", "cannot be stored as f16"},
                {kGgufBf16, "\x80\x7f", "cannot be stored as bf16"}};
    for (const auto& row : rows) {
        Fixture fixture;
        GgufBytes file = gguf_keys(fixture.config);
        for (PlainTensor& tensor : fixture.tensors)
            add_gguf_as(file, tensor, tensor.shape.size() < 2 ? kGgufF32 : row.type);
        file.data.replace(0, 2, row.infinite, 2);  // of the embedding, which is the first tensor
        const std::string path = fixture.folder.write("m", file.finish());
        const long held = fixture.heap.held;
        assert_failure(failure_of([&] { fixture.import(path, std::nullopt); }), VOLTA_UNSUPPORTED, row.text);
        assert_int_equal(fixture.heap.held, held);
        fixture.import(path, DType::f32);
    }
}

void test_every_allocation_may_fail(void**) {
    Fixture fixture;
    const std::string path = fixture.write(kGgufQ40);
    ImportOptions options;
    options.weights.reset();
    for (long n = 1;; n += 1 + n / 16) {
        TestHeap heap;
        heap.refused_call = n;
        bool done = false;
        try {
            import_model(path.c_str(), options, heap.structures(), heap.tensors());
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
        cmocka_unit_test(test_every_type_is_kept_exactly),
        cmocka_unit_test(test_parts_of_several_types),
        cmocka_unit_test(test_a_type_is_asked_for),
        cmocka_unit_test(test_the_log_says_what_was_rounded),
        cmocka_unit_test(test_the_log_measures_matrices_too),
        cmocka_unit_test(test_weights_with_the_inputs_first),
        cmocka_unit_test(test_what_stays_f32),
        cmocka_unit_test(test_a_model_of_few_inputs_is_refused),
        cmocka_unit_test(test_a_kept_model_computes_what_the_f32_one_does),
        cmocka_unit_test(test_values_that_are_not_finite_are_refused),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("import_stored", tests, nullptr, nullptr);
}
