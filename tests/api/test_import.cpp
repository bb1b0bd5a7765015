// Import and export through the public header: a GPT written as GPT-2's state dict computes the same logits.
#include <initializer_list>
#include <string>
#include <vector>

#include "tests/support/cmocka_cpp.h"
#include "tests/support/weight_files.h"
#include "volta.h"

namespace {
using namespace volta::test;

struct Handles {
    Handles() {
        volta_context_options options = {};
        options.struct_size = sizeof options;
        options.thread_count = 1;
        volta_context_create(&options, &context);
        volta_gpt_options gpt = {};
        gpt.struct_size = sizeof gpt;
        gpt.vocabulary = 30;
        gpt.layers = 2;
        gpt.dim = 24;
        gpt.heads = 3;
        gpt.context = 12;
        volta_model_create_gpt(context, &gpt, 5, &model);
    }
    ~Handles() {
        volta_model_release(imported);
        volta_model_release(model);
        volta_context_release(context);
    }
    volta_context* context = nullptr;
    volta_model *model = nullptr, *imported = nullptr;
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const size_t at = text.find(from);
    return at == text.npos ? text : text.replace(at, from.size(), to);
}

std::string gpt2_name(std::string name) {
    const char* const names[][2] = {{"block.", "transformer.h."},
                                    {"token_embedding", "transformer.wte.weight"},
                                    {"position_embedding", "transformer.wpe.weight"},
                                    {"norm_final.", "transformer.ln_f."},
                                    {".norm1.", ".ln_1."},
                                    {".norm2.", ".ln_2."},
                                    {".qkv.", ".attn.c_attn."},
                                    {".proj.", ".attn.c_proj."},
                                    {".fc.", ".mlp.c_fc."},
                                    {".fc_proj.", ".mlp.c_proj."}};
    for (const auto& pair : names) name = replaced(name, pair[0], pair[1]);
    return name;
}

std::string state_dict(const volta_model* model) {
    SafetensorsWriter writer;
    for (size_t i = 0; i < volta_model_parameter_count(model); ++i) {
        volta_tensor_info info;
        volta_model_parameter_info(model, i, &info);
        const float* data = nullptr;
        size_t elements = 0;
        volta_model_parameter(model, info.name, &data, &elements);
        writer.add(gpt2_name(info.name), {info.shape, info.shape + info.rank}, {data, data + elements});
    }
    return writer.bytes();
}

// The logits of two sequences of nine tokens.
std::vector<float> logits(volta_context* context, volta_model* model) {
    const int64_t tokens_shape[] = {2, 9}, logits_shape[] = {2, 9, 30};
    std::vector<int32_t> tokens(18);
    for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int32_t>(i * 7 % 30);
    std::vector<float> values(2 * 9 * 30);
    volta_tensor *in = nullptr, *out = nullptr;
    volta_tensor_wrap(context, VOLTA_I32, tokens_shape, 2, tokens.data(), &in);
    volta_tensor_wrap(context, VOLTA_F32, logits_shape, 3, values.data(), &out);
    volta_session_options options = {};
    options.struct_size = sizeof options;
    options.input_shapes = tokens_shape;
    options.input_extent_count = 2;
    volta_session* session = nullptr;
    if (volta_session_create(model, &options, &session) != VOLTA_OK ||
        volta_session_run(session, &in, 1, &out, 1) != VOLTA_OK)
        values.clear();
    volta_session_release(session);
    volta_tensor_release(in);
    volta_tensor_release(out);
    return values;
}

void test_an_imported_gpt2_gives_the_same_logits(void**) {
    Handles handles;
    TemporaryFolder folder;
    folder.write("config.json", R"({"model_type": "gpt2", "n_head": 3})");
    const std::string path = folder.write("model.safetensors", state_dict(handles.model));
    assert_int_equal(volta_model_import(handles.context, path.c_str(), nullptr, &handles.imported), VOLTA_OK);
    const auto expected = logits(handles.context, handles.model);
    const auto actual = logits(handles.context, handles.imported);
    assert_int_equal(expected.size(), 2 * 9 * 30);
    assert_memory_equal(expected.data(), actual.data(), expected.size() * sizeof(float));
}

// Stored weights run, and what they cannot do is said.
void test_weights_of_another_type(void**) {
    TemporaryFolder folder;
    for (const int32_t weights :
         std::initializer_list<int32_t>{VOLTA_BF16, VOLTA_INT4, VOLTA_F32_PANELS, VOLTA_IMPORT_KEEP}) {
        Handles handles;
        folder.write("config.json", R"({"model_type": "gpt2", "n_head": 3})");
        const std::string path = folder.write("model.safetensors", state_dict(handles.model));
        volta_import_options options = {};
        options.struct_size = sizeof options;
        options.weights = weights;
        assert_int_equal(volta_model_import(handles.context, path.c_str(), &options, &handles.imported),
                         VOLTA_OK);
        volta_tensor_info info;  // of 4 dim inputs; dim is 24, too few to store
        assert_int_equal(volta_model_parameter_info(handles.imported, 12, &info), VOLTA_OK);
        assert_string_equal(info.name, "block.0.fc_proj.weight");
        assert_int_equal(info.dtype, weights == VOLTA_IMPORT_KEEP ? VOLTA_F32 : weights);
        assert_int_equal(logits(handles.context, handles.imported).size(), 2 * 9 * 30);
        const std::string out = folder.file("out.safetensors");
        const volta_status exported = volta_model_export_safetensors(handles.imported, out.c_str());
        assert_int_equal(exported, weights == VOLTA_IMPORT_KEEP ? VOLTA_OK : VOLTA_UNSUPPORTED);
    }
}

void test_a_graph_of_the_hosts_own_is_exported(void**) {
    Handles handles;
    TemporaryFolder folder;
    const std::string path = folder.file("g.safetensors");
    volta_graph* graph = nullptr;
    volta_value x, w, y;
    const int64_t two[] = {2};
    volta_graph_create(handles.context, &graph);
    volta_graph_input(graph, "x", VOLTA_F32, two, 1, &x);
    volta_graph_parameter(graph, "w", two, 1, nullptr, &w);
    volta_graph_binary(graph, "add", x, w, &y);
    volta_graph_output(graph, "y", y);
    volta_model* model = nullptr;
    assert_int_equal(volta_model_create(graph, 1, &model), VOLTA_OK);
    assert_int_equal(volta_model_export_safetensors(model, path.c_str()), VOLTA_OK);
    volta_model_release(model);
    volta_graph_release(graph);
    // Parameters alone are no model: nothing says what is computed with them.
    assert_int_equal(volta_model_import(handles.context, path.c_str(), nullptr, &handles.imported),
                     VOLTA_INVALID_ARGUMENT);
    assert_null(handles.imported);
}

void assert_text(const char* part) {
    if (strstr(volta_last_error(), part) == nullptr) print_error("%s\n", volta_last_error());
    assert_non_null(strstr(volta_last_error(), part));
}

void test_wrong_calls_are_told(void**) {
    Handles handles;
    volta_model* model = handles.model;  // must become NULL
    assert_int_equal(volta_model_import(handles.context, "none", nullptr, nullptr), VOLTA_INVALID_ARGUMENT);
    assert_int_equal(volta_model_import(nullptr, "none", nullptr, &model), VOLTA_INVALID_ARGUMENT);
    assert_null(model);
    assert_int_equal(volta_model_import(handles.context, "", nullptr, &model), VOLTA_INVALID_ARGUMENT);
    assert_int_equal(volta_model_import(handles.context, "none", nullptr, &model), VOLTA_IO_ERROR);
    assert_text("cannot import the model: cannot open 'none': ");
    volta_import_options options = {};
    assert_int_equal(volta_model_import(handles.context, "none", &options, &model), VOLTA_INVALID_ARGUMENT);
    assert_text("volta_import_options.struct_size is 0");
    options.struct_size = sizeof options;
    options.format = 77;
    assert_int_equal(volta_model_import(handles.context, "none", &options, &model), VOLTA_INVALID_ARGUMENT);
    assert_text("format is 77");
    options.format = VOLTA_WEIGHTS_AUTO;
    options.config_path = "";
    assert_int_equal(volta_model_import(handles.context, "none", &options, &model), VOLTA_INVALID_ARGUMENT);
    assert_text("config_path is empty");
    options.config_path = nullptr;
    for (const int32_t weights : {-2, 2, 8}) {
        options.weights = weights;
        assert_int_equal(volta_model_import(handles.context, "none", &options, &model),
                         VOLTA_INVALID_ARGUMENT);
        assert_text("which is neither VOLTA_IMPORT_KEEP nor a type of weights");
    }
    options.weights = 0;
    options.no_tokenizer = 2;
    assert_int_equal(volta_model_import(handles.context, "none", &options, &model), VOLTA_INVALID_ARGUMENT);
    assert_text("no_tokenizer is 2, neither 0 nor 1");
    options.no_tokenizer = 0;
    options.exact_graph = 2;
    assert_int_equal(volta_model_import(handles.context, "none", &options, &model), VOLTA_INVALID_ARGUMENT);
    assert_text("exact_graph is 2, neither 0 nor 1");
    options.exact_graph = 0;
    options.no_tokenizer = 1;
    options.tokenizer_path = "none";
    assert_int_equal(volta_model_import(handles.context, "none", &options, &model), VOLTA_INVALID_ARGUMENT);
    assert_text("no_tokenizer is 1, and tokenizer_path names one");
    assert_int_equal(volta_model_export_safetensors(nullptr, "x"), VOLTA_INVALID_ARGUMENT);
    assert_int_equal(volta_model_export_safetensors(handles.model, nullptr), VOLTA_INVALID_ARGUMENT);
    assert_int_equal(volta_model_export_safetensors(handles.model, "no/such/folder/x"), VOLTA_IO_ERROR);
}

// x [2, 3]: LayerNormalization, opset 17, and the sum of its result and of the mean that it gives beside it.
constexpr char kMeanOfNorm[] =
    "\010\010\022\001\164\072\166\012\040\012\001\170\012\001\147\022\001\156\022\001\155\042\022\114"
    "\141\171\145\162\116\157\162\155\141\154\151\172\141\164\151\157\156\012\016\012\001\156\012\001"
    "\155\022\001\171\042\003\101\144\144\022\001\147\052\025\010\003\020\001\102\001\147\112\014\000"
    "\000\200\077\000\000\000\100\000\000\100\100\132\023\012\001\170\022\016\012\014\010\001\022\010"
    "\012\002\010\002\012\002\010\003\142\023\012\001\171\022\016\012\014\010\001\022\010\012\002\010"
    "\002\012\002\010\003\102\004\012\000\020\021";

// A graph trains where every operator has a gradient; else the trainer names the one that has none.
void test_an_imported_graph_without_a_gradient(void**) {
    Handles handles;
    TemporaryFolder folder;
    const std::string path =
        folder.write("mean.onnx", std::string(kMeanOfNorm, kMeanOfNorm + sizeof kMeanOfNorm - 1));
    volta_model* model = nullptr;
    assert_int_equal(volta_model_import(handles.context, path.c_str(), nullptr, &model), VOLTA_OK);
    volta_trainer_options options = VOLTA_TRAINER_OPTIONS_INIT;
    options.loss = VOLTA_LOSS_MSE;
    options.steps = 1;
    options.learning_rate = 0.1;
    volta_trainer* trainer = nullptr;
    assert_int_equal(volta_trainer_create(model, &options, &trainer), VOLTA_UNSUPPORTED);
    assert_text("no gradient rule for layer_norm: only its first output is differentiable");
    assert_null(trainer);
    volta_model_release(model);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_an_imported_gpt2_gives_the_same_logits),
        cmocka_unit_test(test_weights_of_another_type),
        cmocka_unit_test(test_a_graph_of_the_hosts_own_is_exported),
        cmocka_unit_test(test_wrong_calls_are_told),
        cmocka_unit_test(test_an_imported_graph_without_a_gradient),
    };
    return cmocka_run_group_tests_name("import", tests, nullptr, nullptr);
}
