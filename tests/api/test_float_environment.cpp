// Every function of volta.h, each called in the floating-point environments that a host may have: three more
// rounding modes, FTZ and DAZ, x87 with a shorter mantissa, and with every exception unmasked, where any
// inexact result would end the process. Statuses, doubles, floats, texts and files are those of the default
// environment, and after every call the host's is there again, flags too.
#include <cstdlib>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/support/cmocka_cpp.h"
#include "tests/support/public_header.h"
#include "tests/support/weight_files.h"
#include "volta.h"

namespace {
using namespace volta::test;

// y = LeakyRelu(x, alpha 0.25) + w: an ONNX file of opset 17, whose x is [N, 2].
constexpr char kOnnx[] =
    "\x08\x08\x12\x00\x3a\x6b\x0a\x22\x0a\x01\x78\x12\x01\x68\x22\x09\x4c\x65\x61\x6b\x79\x52\x65\x6c\x75"
    "\x2a\x0f\x0a\x05\x61\x6c\x70\x68\x61\x15\x00\x00\x80\x3e\xa0\x01\x01\x0a\x0e\x0a\x01\x68\x0a\x01\x77"
    "\x12\x01\x79\x22\x03\x41\x64\x64\x12\x01\x67\x2a\x11\x08\x02\x10\x01\x22\x08\x00\x00\xc0\x3f\x00\x00"
    "\x20\x40\x42\x01\x77\x5a\x14\x0a\x01\x78\x12\x0f\x0a\x0d\x08\x01\x12\x09\x0a\x03\x12\x01\x4e\x0a\x02"
    "\x08\x02\x62\x09\x0a\x01\x79\x12\x04\x0a\x02\x08\x01\x42\x04\x0a\x00\x10\x11";

struct Control {
    unsigned mxcsr;
    unsigned short x87;
    bool operator==(const Control& other) const { return mxcsr == other.mxcsr && x87 == other.x87; }
};

const struct {
    const char* name;
    Control control;
} kEnvironments[] = {
    {"upward", {0x5F80, 0x0B7F}},      {"downward", {0x3F80, 0x077F}},
    {"toward zero", {0x7F80, 0x0F7F}}, {"FTZ, DAZ and a mantissa of 53 bits", {0x9FC0, 0x027F}},
    {"traps", {0x0000, 0x0340}},
};
constexpr Control kDefault = {0x1F80, 0x037F};

void set_control(Control control) {
    asm volatile("fnclex\n\tfldcw %0\n\tldmxcsr %1" : : "m"(control.x87), "m"(control.mxcsr) : "memory");
}

Control get_control() {  // MXCSR with its sticky flags
    Control control = {};
    asm volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(control.mxcsr), "=m"(control.x87) : : "memory");
    return control;
}

unsigned x87_flags() {
    unsigned short status;
    asm volatile("fnstsw %0" : "=a"(status));
    return status & 0x3f;
}

// The host's functions check that they run in the host's environment.
struct Host {
    Control control = kDefault;
    bool saw_another = false;
    void look() {
        Control now = get_control();
        now.mxcsr &= ~0x3fu;
        if (!(now == control)) saw_another = true;
    }
};
Host host;

void* allocate(void*, size_t size, size_t alignment, volta_memory_kind) {
    host.look();
    void* memory = nullptr;
    return posix_memalign(&memory, alignment < 8 ? 8 : alignment, size ? size : 1) == 0 ? memory : nullptr;
}
void give_back(void*, void* pointer, size_t, size_t, volta_memory_kind) {
    host.look();
    free(pointer);
}
void line(void*, volta_log_level, const char*) { host.look(); }
int32_t on_text(void*, const char*, size_t, int32_t) { return host.look(), 0; }
int32_t on_progress(void*, const volta_tune_report*) { return host.look(), 0; }
int32_t never(void*) { return host.look(), 0; }
// The other rank of two sends what this one does, as far as it has it.
volta_status mirror(void*, uint32_t, const void* send, size_t send_bytes, void* receive, size_t receive_bytes,
                    char*, size_t) {
    host.look();
    if (receive_bytes > 0) memset(receive, 0, receive_bytes);
    const size_t bytes = send_bytes < receive_bytes ? send_bytes : receive_bytes;
    if (bytes > 0) memcpy(receive, send, bytes);
    return VOLTA_OK;
}

// One walk through the header in one environment, and all that it said.
class Walk {
  public:
    explicit Walk(Control control) : control_(control) { host.control = control; }

    // A call in the environment. What it returns is part of what was said.
    template <class Call>
    auto in(const char* name, Call call) {
        called_.insert(name);
        set_control(control_);
        auto result = call();
        leave(name);
        if (!std::is_pointer_v<decltype(result)>) say(name, &result, sizeof result);
        if (sizeof result == sizeof(volta_status)) say_text(name, volta_last_error());
        return result;
    }
    template <class Call>
    void in_void(const char* name, Call call) {
        called_.insert(name);
        set_control(control_);
        call();
        leave(name);
    }

    void say(const char* what, const void* data, size_t bytes) {
        static const char kHex[] = "0123456789abcdef";
        std::string said = std::string(what) + " ";
        for (size_t i = 0; i < bytes; ++i) {
            const unsigned byte = static_cast<const unsigned char*>(data)[i];
            said += kHex[byte >> 4];
            said += kHex[byte & 15];
        }
        said_.push_back(said);
    }
    void say_text(const char* what, const char* text) {
        said_.push_back(std::string(what) + " " + (text ? text : "-"));
    }
    void say_file(const std::string& path) {
        std::FILE* file = std::fopen(path.c_str(), "rb");
        std::string bytes;
        char block[4096];
        for (size_t n; file != nullptr && (n = std::fread(block, 1, sizeof block, file)) > 0;)
            bytes.append(block, n);
        if (file != nullptr) std::fclose(file);
        say("file", bytes.data(), bytes.size());
        file_bytes_ += bytes.size();
    }

    const std::vector<std::string>& said() const { return said_; }
    const std::set<std::string>& called() const { return called_; }
    const std::string& fault() const { return fault_; }
    size_t file_bytes() const { return file_bytes_; }

  private:
    void leave(const char* name) {
        const Control after = get_control();
        const unsigned flags = x87_flags();
        set_control(kDefault);
        if (!(after == control_) || flags != 0)
            fault_ += std::string(name) + ": the host's environment was not given back\n";
        if (host.saw_another)
            fault_ += std::string(name) + ": a function of the host ran in another environment\n";
        host.saw_another = false;
    }

    Control control_;
    std::vector<std::string> said_;
    std::set<std::string> called_;
    std::string fault_;
    size_t file_bytes_ = 0;
};

#define CALL(function, ...) walk.in(#function, [&] { return function(__VA_ARGS__); })
#define CALL_VOID(function, ...) walk.in_void(#function, [&] { function(__VA_ARGS__); })

struct Made {
    volta_context* context = nullptr;
    volta_tokenizer* tokenizer = nullptr;
    volta_model *graph_model = nullptr, *gpt = nullptr, *llama = nullptr;
    std::vector<int32_t> tokens;
};

void walk_context(Walk& walk, Made& made, const std::string& folder) {
    const volta_allocator allocator = {allocate, give_back, nullptr};
    volta_context_options options = {};
    options.struct_size = sizeof options;
    options.allocator = &allocator;
    options.log = line;
    options.thread_count = 2;
    options.level = VOLTA_REPEATABLE;  // so that there is a line of the log
    options.tuning_folder = folder.c_str();
    CALL(volta_context_create, &options, &made.context);
    volta_context_info info = {};
    info.struct_size = sizeof info;
    CALL(volta_context_get_info, made.context, &info);
    volta_device_info device = {};
    device.struct_size = sizeof device;
    uint32_t count = 0;
    CALL(volta_device_count, "cpu", &count);
    CALL(volta_device_describe, "cpu", 0, &device);
    CALL(volta_context_get_device, made.context, &device);
    volta_stop_options stop = {};
    stop.struct_size = sizeof stop;
    stop.should_stop = never;
    CALL(volta_context_set_stop, made.context, &stop);
    volta_machine_speed speed = {};  // refused: measuring takes a second, and says another thing each time
    CALL(volta_measure_machine, made.context, &speed);
    walk.say_text("version", CALL(volta_version) != nullptr ? "" : "none");
}

// Numbers as text, of which rounding shows; sums and quotients in double; files with floats of 64 bits.
void walk_tensors(Walk& walk, Made& made, const std::string& folder) {
    const int64_t shape[] = {2, 3};
    const volta_init uniform = {VOLTA_INIT_UNIFORM, -0.1, 0.7};
    volta_tensor *a = nullptr, *b = nullptr;
    volta_tensors* opened = nullptr;
    CALL(volta_tensor_create, made.context, VOLTA_F32, shape, 2, &a);
    CALL(volta_tensor_create, made.context, VOLTA_F32, shape, 2, &b);
    const char* text = nullptr;
    CALL(volta_tensor_fill, a, 0.1);
    walk.say("filled", volta_tensor_data(a), 6 * sizeof(float));
    CALL(volta_tensor_arange, a, 1e-40, 1e-7);
    walk.say("range", volta_tensor_data(a), 6 * sizeof(float));
    CALL(volta_tensor_print, a, &text);
    walk.say_text("text", text);
    CALL(volta_tensor_random, b, &uniform, 5, 1);
    CALL(volta_tensor_print, b, &text);
    walk.say_text("text", text);
    volta_comparison report = VOLTA_COMPARISON_INIT;
    CALL(volta_tensor_compare, a, b, 1e-7, 1e-41, &report);
    walk.say("comparison", &report, sizeof report);
    const char* const names[] = {"a", "b"};
    const volta_tensor* const tensors[] = {a, b};
    const std::string path = folder + "/tensors.npz";
    CALL(volta_tensors_save, made.context, path.c_str(), names, tensors, 2);
    walk.say_file(path);
    CALL(volta_tensors_open, made.context, path.c_str(), &opened);
    CALL(volta_tensors_count, opened);
    walk.say_text("name", CALL(volta_tensors_name, opened, 1));
    walk.say("values", volta_tensor_data(CALL(volta_tensors_tensor, opened, 1)), 6 * sizeof(float));
    CALL_VOID(volta_tensors_release, opened);
    CALL_VOID(volta_tensor_release, a);
    CALL_VOID(volta_tensor_release, b);
}

void walk_graph(Walk& walk, Made& made, const std::string& folder) {
    float data[6] = {0.1f, -1e-40f, 3.3f, 1e30f, 0.7f, 1.1f};
    const int64_t shape[] = {2, 3};
    volta_tensor *own = nullptr, *wrapped = nullptr;
    CALL(volta_tensor_create, made.context, VOLTA_F32, shape, 2, &own);
    CALL(volta_tensor_wrap, made.context, VOLTA_F32, shape, 2, data, &wrapped);
    CALL(volta_tensor_dtype, own);
    CALL(volta_tensor_rank, own);
    CALL(volta_tensor_extent, own, 1);
    CALL(volta_tensor_elements, own);
    walk.in_void("volta_tensor_data", [&] { static_cast<float*>(volta_tensor_data(own))[0] = 0.25f; });
    walk_tensors(walk, made, folder);
    volta_graph* graph = nullptr;
    volta_value x = {-1}, scale = {-1}, constant = {-1}, y = {-1};
    const volta_init init = {VOLTA_INIT_NORMAL, 0.3, 0};
    CALL(volta_graph_create, made.context, &graph);
    CALL(volta_graph_input, graph, "x", VOLTA_F32, shape, 2, &x);
    CALL(volta_graph_parameter, graph, "scale", shape + 1, 1, &init, &scale);
    CALL(volta_graph_constant, graph, wrapped, &constant);
    CALL(volta_graph_binary, graph, "mul", constant, constant, &y);  // folded: 1e60, 1e-80
    CALL(volta_graph_binary, graph, "add", x, y, &y);
    CALL(volta_graph_linear, graph, "fc", y, 5, &y);
    CALL(volta_graph_unary, graph, "gelu", y, &y);
    volta_attribute epsilon = {};
    epsilon.name = "epsilon", epsilon.number = 1.3e-5;
    CALL(volta_graph_apply, graph, "softmax", &y, 1, nullptr, 0, &y, 1);
    CALL(volta_graph_apply, graph, "rms_norm", &y, 1, &epsilon, 1, &y, 1);  // refused or not: the same
    CALL(volta_graph_output, graph, "y", y);
    int64_t extents[VOLTA_MAX_RANK] = {};
    int32_t rank = 0;
    CALL(volta_graph_value_shape, graph, y, extents, &rank);
    const char* text = nullptr;
    CALL(volta_graph_print, graph, &text);
    walk.say_text("graph", text);
    CALL(volta_model_create, graph, 5, &made.graph_model);
    volta_session* session = nullptr;
    CALL(volta_session_create, made.graph_model, nullptr, &session);
    volta_tensor* out = nullptr;
    const int64_t out_shape[] = {2, 5};
    CALL(volta_tensor_create, made.context, VOLTA_F32, out_shape, 2, &out);
    const volta_tensor* inputs[] = {wrapped};
    CALL(volta_session_run, session, inputs, 1, &out, 1);
    walk.say("y", volta_tensor_data(out), 10 * sizeof(float));
    volta_bill bill = {};
    bill.struct_size = sizeof bill;
    CALL(volta_session_output_shape, session, 0, extents, &rank);
    CALL(volta_session_get_bill, session, &bill);
    CALL(volta_session_print_plan, session, &text);
    walk.say_text("plan", text);
    CALL_VOID(volta_session_release, session);
    CALL_VOID(volta_tensor_release, out);
    CALL_VOID(volta_tensor_release, own);
    CALL_VOID(volta_tensor_release, wrapped);
    CALL_VOID(volta_graph_release, graph);
}

void walk_tokenizers(Walk& walk, Made& made, const std::string& folder) {
    const std::string text = "a cab, a baa: aab cab caab baac 0.1 1e-7";
    volta_tokenizer *character = nullptr, *bpe = nullptr, *opened = nullptr;
    CALL(volta_tokenizer_create_byte, made.context, &made.tokenizer);
    CALL(volta_tokenizer_create_char, made.context, text.c_str(), text.size(), &character);
    CALL(volta_tokenizer_train_bpe, made.context, text.c_str(), text.size(), 262, &bpe);
    // Scores are floats in text: SentencePiece's, of llama2.c, are binary; of a tokenizer.json text.
    CALL(volta_tokenizer_open, made.context, (folder + "/none").c_str(), VOLTA_TOKENIZER_AUTO, &opened);
    std::vector<int32_t> ids(100);
    size_t count = 0;
    volta_encode_options encode = {};
    encode.struct_size = sizeof encode;
    CALL(volta_tokenizer_encode, bpe, text.c_str(), text.size(), ids.data(), ids.size(), &count);
    CALL(volta_tokenizer_encode_with, bpe, &encode, text.c_str(), text.size(), ids.data(), ids.size(),
         &count);
    walk.say("ids", ids.data(), count * sizeof ids[0]);
    const char* piece = nullptr;
    size_t bytes = 0;
    CALL(volta_tokenizer_decode, bpe, ids[0], &piece, &bytes);
    CALL(volta_tokenizer_decode_after, bpe, ids[0], ids[1], &piece, &bytes);
    walk.say("piece", piece, bytes);
    volta_special_ids special = {};
    special.struct_size = sizeof special;
    CALL(volta_tokenizer_special, bpe, &special);
    walk.say_text("kind", CALL(volta_tokenizer_kind, bpe) != nullptr ? volta_tokenizer_kind(bpe) : "");
    CALL(volta_tokenizer_size, bpe);
    CALL_VOID(volta_tokenizer_release, character);
    CALL_VOID(volta_tokenizer_release, bpe);
}

void say_model(Walk& walk, volta_model* model, const std::string& path) {
    char hash[33] = "";
    CALL(volta_model_hash, model, hash);
    walk.say_text("hash", hash);
    CALL(volta_model_save, model, path.c_str());
    walk.say_file(path);
    CALL(volta_model_save_sharded, model, 2, (path + ".parts").c_str());
    walk.say_file(path + ".parts/volta.manifest");
}

void walk_models(Walk& walk, Made& made, const std::string& folder) {
    volta_gpt_options gpt = {};
    gpt.struct_size = sizeof gpt;
    gpt.vocabulary = 256, gpt.layers = 1, gpt.dim = 32, gpt.heads = 2, gpt.context = 16, gpt.dropout = 0.1;
    CALL(volta_model_create_gpt, made.context, &gpt, 1, &made.gpt);
    volta_llama_options llama = {};
    llama.struct_size = sizeof llama;
    llama.vocabulary = 256, llama.layers = 1, llama.dim = 32, llama.heads = 2, llama.context = 16;
    llama.rope_base = 10000.1, llama.epsilon = 1.3e-5;
    CALL(volta_model_create_llama, made.context, &llama, 1, &made.llama);
    volta_bert_options bert_options = {};
    bert_options.struct_size = sizeof bert_options;
    bert_options.vocabulary = 64, bert_options.layers = 1, bert_options.dim = 32, bert_options.heads = 2;
    bert_options.context = 16;
    volta_resnet_options resnet_options = VOLTA_RESNET_OPTIONS_INIT;
    resnet_options.depth = 20, resnet_options.rows = resnet_options.columns = 8;
    volta_model* resnet = nullptr;
    CALL(volta_model_create_resnet, made.context, &resnet_options, 1, &resnet);
    volta_network_options network_options = VOLTA_NETWORK_OPTIONS_INIT;
    network_options.name = "mobilenet_v2", network_options.width = 0.3, network_options.classes = 3;
    network_options.rows = network_options.columns = 8;
    volta_model* network = nullptr;
    CALL(volta_network_name, 0);
    CALL(volta_model_create_network, made.context, &network_options, 1, &network);
    volta_model *bert = nullptr, *opened = nullptr, *mapped = nullptr, *imported = nullptr, *small = nullptr;
    CALL(volta_model_create_bert, made.context, &bert_options, 1, &bert);
    CALL(volta_model_set_tokenizer, made.gpt, made.tokenizer);
    CALL(volta_model_set_metadata, made.gpt, "title", "0.1");
    const char* value = nullptr;
    CALL(volta_model_get_metadata, made.gpt, "title", &value);
    CALL(volta_chat_format_name, 0);
    CALL(volta_model_set_chat_format, made.gpt, "zephyr", nullptr);
    const volta_chat_message message = {"user", "0.1"};
    int32_t ids[64] = {}, end = 0;
    size_t id_count = 0;
    CALL(volta_model_encode_chat, made.gpt, &message, 1, 0, ids, nullptr, 64, &id_count);
    walk.say("conversation", ids, sizeof ids);
    CALL(volta_model_get_chat_end, made.gpt, &end);
    volta_tokenizer* tokenizer = nullptr;
    CALL(volta_model_get_tokenizer, made.gpt, &tokenizer);
    CALL_VOID(volta_tokenizer_release, tokenizer);
    for (volta_model* const model : {made.graph_model, made.gpt, made.llama, resnet, network, bert})
        say_model(walk, model, folder + "/model.volta");
    CALL(volta_model_open, made.context, (folder + "/model.volta").c_str(), nullptr, &opened);
    say_model(walk, opened, folder + "/again.volta");
    volta_open_options copy = {};
    copy.struct_size = sizeof copy;
    copy.mode = VOLTA_LOAD_COPY;
    CALL(volta_model_open_memory, made.context, folder.data(), folder.size(), &copy, &mapped);  // refused

    // Numbers as text: in the header of safetensors and in Hugging Face's config.json.
    const std::string weights = folder + "/llama.safetensors", config = folder + "/config.json";
    volta_export_options exporting = {};
    exporting.struct_size = sizeof exporting;
    exporting.names = VOLTA_NAMES_HUGGING_FACE, exporting.config_path = config.c_str();
    CALL(volta_model_export_safetensors_with, made.llama, &exporting, weights.c_str());
    walk.say_file(weights);
    walk.say_file(config);
    const std::string gguf = folder + "/llama.gguf";
    CALL(volta_model_export_gguf, made.llama, nullptr, gguf.c_str());
    walk.say_file(gguf);
    volta_import_options importing = {};
    importing.struct_size = sizeof importing;
    importing.config_path = config.c_str();
    CALL(volta_model_import, made.context, weights.c_str(), &importing, &imported);
    say_model(walk, imported, folder + "/imported.volta");
    CALL_VOID(volta_model_release, imported);
    // A graph with weights, and a number among a node's attributes.
    const std::string graph = folder + "/graph.onnx";
    FILE* const file = fopen(graph.c_str(), "wb");
    fwrite(kOnnx, 1, sizeof kOnnx - 1, file);
    fclose(file);
    const volta_input_shape shape_of_x = {"x", 2, {3, -1}};
    volta_import_options binding = {};
    binding.struct_size = sizeof binding;
    binding.shapes = &shape_of_x, binding.shape_count = 1;
    char survey[1024] = "";
    size_t survey_bytes = 0;
    CALL(volta_model_survey, made.context, graph.c_str(), &binding, survey, sizeof survey, &survey_bytes);
    walk.say_text("survey", survey);
    CALL(volta_model_import, made.context, graph.c_str(), &binding, &imported);
    say_model(walk, imported, folder + "/imported.volta");
    CALL_VOID(volta_model_release, imported);
    // The graph of a Llama, whose angles are computed for it, and the model that comes back.
    volta_onnx_export_options as_onnx = {};
    as_onnx.struct_size = sizeof as_onnx;
    as_onnx.opset = 17;
    CALL(volta_model_export_onnx, made.llama, &as_onnx, graph.c_str());
    walk.say_file(graph);
    CALL(volta_model_import, made.context, graph.c_str(), nullptr, &imported);
    say_model(walk, imported, folder + "/imported.volta");
    CALL_VOID(volta_model_release, imported);
    importing.weights = VOLTA_BF16;
    CALL(volta_model_import, made.context, weights.c_str(), &importing, &imported);
    say_model(walk, imported, folder + "/imported.volta");
    CALL(volta_model_export_safetensors, made.llama, weights.c_str());
    walk.say_file(weights);
    for (const volta_dtype dtype : {VOLTA_BF16, VOLTA_F16, VOLTA_INT8, VOLTA_INT4, VOLTA_F32_PANELS}) {
        CALL(volta_model_quantize, made.gpt, dtype, &small);
        say_model(walk, small, folder + "/small.volta");
        CALL_VOID(volta_model_release, small);
    }
    volta_model *headed = nullptr, *folded = nullptr, *states = nullptr;
    std::size_t folds = 0;
    CALL(volta_model_replace_head, resnet, 3, 5, &headed);
    say_model(walk, headed, folder + "/headed.volta");
    CALL(volta_model_fold_batch_norm, resnet, &folded, &folds);
    say_model(walk, folded, folder + "/folded.volta");
    CALL(volta_model_hidden_states, bert, &states);
    say_model(walk, states, folder + "/states.volta");
    for (volta_model* const model : {headed, folded, states}) CALL_VOID(volta_model_release, model);
    // Scales, settings as text, sums in double.
    volta_lora_options lora = VOLTA_LORA_OPTIONS_INIT;
    lora.rank = 3, lora.alpha = 1.1, lora.targets = "q+v+gate";
    volta_model *adapted = nullptr, *reopened = nullptr, *merged = nullptr, *imported_adapter = nullptr;
    double difference = 0;
    CALL(volta_model_add_lora, made.llama, &lora, &adapted);
    say_model(walk, adapted, folder + "/adapter.volta");
    CALL(volta_model_open_adapter, made.llama, (folder + "/adapter.volta").c_str(), nullptr, &reopened);
    CALL(volta_model_merge_adapter, adapted, &difference, &merged);
    say_model(walk, merged, folder + "/merged.volta");
    CALL(volta_model_export_peft, adapted, folder.c_str());
    walk.say_file(folder + "/adapter_config.json");
    walk.say_file(folder + "/adapter_model.safetensors");
    CALL(volta_model_import_peft, made.llama, folder.c_str(), &imported_adapter);
    say_model(walk, imported_adapter, folder + "/imported.volta");
    for (volta_model* const model : {adapted, reopened, merged, imported_adapter})
        CALL_VOID(volta_model_release, model);
    volta_level level;
    volta_precision precision;
    CALL(volta_model_get_arithmetic, made.gpt, &level, &precision);
    volta_tensor_info info = {};
    CALL(volta_model_input_count, made.gpt);
    CALL(volta_model_input_info, made.gpt, 0, &info);
    CALL(volta_model_output_count, made.gpt);
    CALL(volta_model_output_info, made.gpt, 0, &info);
    CALL(volta_model_parameter_count, made.gpt);
    CALL(volta_model_parameter_info, made.gpt, 0, &info);
    const float* data = nullptr;
    size_t elements = 0;
    CALL(volta_model_parameter, made.gpt, info.name, &data, &elements);
    const std::vector<float> copied(data, data + elements);
    CALL(volta_model_set_parameter, made.gpt, info.name, copied.data(), elements);
    for (volta_model* const model : {bert, resnet, network, opened, mapped, imported})
        CALL_VOID(volta_model_release, model);
}

// A trainer among others. What it makes of a mirror's answers is not asked, only that it is one thing.
void walk_groups(Walk& walk, Made& made, volta_trainer_options options) {
    volta_group_options joining = VOLTA_GROUP_OPTIONS_INIT;
    joining.transport = "host", joining.exchange = mirror, joining.timeout = 1.5;
    for (const uint32_t size : {1u, 2u}) {
        joining.size = size, joining.rank = size - 1;
        CALL(volta_group_create, made.context, &joining, &options.group);
        CALL(volta_group_rank, options.group);
        CALL(volta_group_size, options.group);
        options.shards = 2;
        volta_trainer* trainer = nullptr;
        CALL(volta_trainer_create, made.gpt, &options, &trainer);
        uint64_t first = 0, count = 0;
        CALL(volta_trainer_rows, trainer, &first, &count);
        walk.say("first row", &first, sizeof first);
        walk.say("rows", &count, sizeof count);
        volta_step_report report = VOLTA_STEP_REPORT_INIT;
        CALL(volta_trainer_set_tokens, trainer, made.tokens.data(), made.tokens.size());
        CALL(volta_trainer_step_tokens, trainer, &report);
        CALL_VOID(volta_trainer_release, trainer);
        CALL_VOID(volta_group_release, options.group);
    }
}

void walk_training(Walk& walk, Made& made, const std::string& folder) {
    const int64_t shape[] = {2, 16};
    volta_trainer_options options = {};
    options.struct_size = sizeof options;
    options.input_shapes = shape, options.input_extent_count = 2;
    options.learning_rate = 1e-2, options.weight_decay = 0.1, options.clip_norm = 0.7;
    options.schedule = VOLTA_SCHEDULE_COSINE, options.steps = 10, options.warmup_steps = 3;
    walk_groups(walk, made, options);
    volta_trainer *trainer = nullptr, *resumed = nullptr;
    volta_step_report report = {};
    report.struct_size = sizeof report;
    CALL(volta_trainer_create, made.gpt, &options, &trainer);
    CALL(volta_trainer_set_tokens, trainer, made.tokens.data(), made.tokens.size());
    for (int step = 0; step < 3; ++step) {
        CALL(volta_trainer_step_tokens, trainer, &report);
        walk.say("report", &report, sizeof report);
    }
    volta_tensor *inputs = nullptr, *targets = nullptr;
    CALL(volta_tensor_wrap, made.context, VOLTA_I32, shape, 2, made.tokens.data(), &inputs);
    CALL(volta_tensor_wrap, made.context, VOLTA_I32, shape, 2, made.tokens.data() + 1, &targets);
    const volta_tensor* given[] = {inputs};
    CALL(volta_trainer_step, trainer, given, 1, targets, &report);
    walk.say("report", &report, sizeof report);
    CALL_VOID(volta_tensor_release, inputs);
    CALL_VOID(volta_tensor_release, targets);
    double loss = 0;
    CALL(volta_trainer_evaluate_tokens, trainer, made.tokens.data(), made.tokens.size(), &loss);
    walk.say("trainer's loss", &loss, sizeof loss);
    CALL(volta_trainer_current_step, trainer);
    const float* data = nullptr;
    size_t elements = 0;
    volta_tensor_info info = {};
    volta_model_parameter_info(made.gpt, 1, &info);
    CALL(volta_trainer_parameter, trainer, info.name, &data, &elements);
    walk.say("parameter", data, elements * sizeof *data);
    CALL(volta_trainer_gradient, trainer, info.name, &data, &elements);
    walk.say("gradient", data, elements * sizeof *data);
    char hash[33] = "";
    CALL(volta_trainer_hash, trainer, hash);
    walk.say_text("hash", hash);
    CALL(volta_trainer_update_model, trainer);
    CALL(volta_trainer_extend, trainer, 1000);
    const std::string path = folder + "/checkpoint.volta";
    CALL(volta_trainer_save, trainer, path.c_str());
    walk.say_file(path);
    CALL(volta_trainer_save_sharded, trainer, (path + ".parts").c_str());
    walk.say_file(path + ".parts/volta.manifest");
    volta_bill bill = {};
    bill.struct_size = sizeof bill;
    volta_training_cost cost = VOLTA_TRAINING_COST_INIT;
    volta_machine_speed speed = VOLTA_MACHINE_SPEED_INIT;
    speed.fma_gflops = speed.stream_gb_s = 100;
    CALL(volta_trainer_estimate, made.gpt, &options, &speed, &bill, &cost);
    walk.say("estimate", &cost, sizeof cost);
    std::string steps;
    const volta_plan_visit visit = [](void* user, const volta_plan_step* step) {
        char text[64];
        std::snprintf(text, sizeof text, " %d %llu", step->part,
                      static_cast<unsigned long long>(step->alive));
        (*static_cast<std::string*>(user) += step->operation) += text;
    };
    CALL(volta_trainer_estimate_steps, made.gpt, &options, visit, &steps);
    walk.say_text("steps", steps.c_str());
    CALL(volta_trainer_get_options, trainer, &options);
    CALL(volta_trainer_get_bill, trainer, &bill);
    walk.say("bill", &bill, sizeof bill);
    const char* text = nullptr;
    CALL(volta_trainer_print_plan, trainer, &text);
    walk.say_text("plan", text);
    CALL_VOID(volta_trainer_release, trainer);
    volta_model* checkpoint = nullptr;
    CALL(volta_model_open, made.context, path.c_str(), nullptr, &checkpoint);
    CALL(volta_trainer_resume, checkpoint, nullptr, &resumed);
    CALL(volta_trainer_set_tokens, resumed, made.tokens.data(), made.tokens.size());
    CALL(volta_trainer_step_tokens, resumed, &report);
    walk.say("report", &report, sizeof report);
    CALL_VOID(volta_trainer_release, resumed);
    CALL_VOID(volta_model_release, checkpoint);
    for (volta_model* const model : {made.gpt, made.llama}) {
        CALL(volta_model_evaluate_tokens, model, made.tokens.data(), made.tokens.size(), &loss);
        walk.say("loss", &loss, sizeof loss);
    }
}

void walk_tape(Walk& walk, Made& made) {
    volta_tape_options lazy = VOLTA_TAPE_OPTIONS_INIT;
    lazy.mode = VOLTA_TAPE_LAZY, lazy.seed = 5;
    volta_optimizer_options options = VOLTA_OPTIMIZER_OPTIONS_INIT;
    options.learning_rate = 0.1, options.weight_decay = 0.3;
    volta_tape* tape = nullptr;
    volta_tape_optimizer* optimizer = nullptr;
    volta_tensor *x = nullptr, *w = nullptr;
    const int64_t shape[] = {3, 3};
    CALL(volta_tensor_create, made.context, VOLTA_F32, shape, 2, &x);
    CALL(volta_tensor_create, made.context, VOLTA_F32, shape, 2, &w);
    for (int i = 0; i < 9; ++i)
        static_cast<float*>(volta_tensor_data(x))[i] = 1.0f / static_cast<float>(i + 3);
    for (int i = 0; i < 9; ++i)
        static_cast<float*>(volta_tensor_data(w))[i] = 0.1f / static_cast<float>(i + 1);
    CALL(volta_tensor_set_requires_grad, w, 1);
    CALL(volta_tape_create, made.context, &lazy, &tape);
    CALL(volta_tape_optimizer_create, tape, &options, &w, 1, &optimizer);
    CALL(volta_tape_optimizer_zero_grad, optimizer);
    CALL(volta_tensor_zero_grad, w);
    CALL(volta_tape_set_gradients, tape, 1);
    volta_tensor* const both[] = {x, w};
    volta_tensor *product = nullptr, *loss = nullptr;
    CALL(volta_tape_apply, tape, "matmul", both, 2, nullptr, 0, &product, 1, nullptr, 0);
    const volta_attribute half = {"probability", 0.5, nullptr, 0};
    loss = CALL(volta_tape_call, tape, "dropout", &product, 1, &half, 1, nullptr, 0);
    loss = CALL(volta_tape_call, tape, "mean", &loss, 1, nullptr, 0, nullptr, 0);
    CALL(volta_tape_status, tape);
    volta_tensor* const apart = CALL(volta_tape_detach, tape, product);
    CALL(volta_tensor_keep, apart);
    CALL(volta_tape_at, tape, "here.c", 1);
    CALL(volta_tape_backward, tape, loss);
    CALL(volta_tape_flush, tape);
    CALL(volta_tape_step, tape, optimizer, nullptr);
    double value = 0;
    CALL(volta_tensor_item, loss, &value);
    walk.say("loss", &value, sizeof value);
    const char* text = nullptr;
    CALL(volta_tape_report, tape, 1, &text);
    walk.say_text("report", text);
    volta_tensor* const gradient = CALL(volta_tensor_grad, w);
    walk.say("gradient", volta_tensor_data(gradient), 9 * sizeof(float));
    CALL(volta_tape_reset, tape);
    walk.say("kept", volta_tensor_data(apart), 9 * sizeof(float));
    walk.say("updated", volta_tensor_data(w), 9 * sizeof(float));
    volta_tape_info info = VOLTA_TAPE_INFO_INIT;
    CALL(volta_tape_get_info, tape, &info);
    walk.say("info", &info, sizeof info);
    CALL_VOID(volta_tape_optimizer_release, optimizer);
    CALL_VOID(volta_tape_release, tape);
    const auto halved = [](void*, volta_tape* on, volta_tensor* const* inputs, size_t count,
                           volta_tensor** outputs, size_t) {
        return volta_tape_apply(on, "sigmoid", inputs, count, nullptr, 0, outputs, 1, nullptr, 0);
    };
    volta_compiled* compiled = nullptr;
    volta_tensor* result = nullptr;
    volta_model* captured = nullptr;
    CALL(volta_compile, made.context, halved, nullptr, nullptr, &compiled);
    CALL(volta_compiled_call, compiled, &w, 1, &result, 1);
    walk.say("sigmoid", volta_tensor_data(result), 9 * sizeof(float));
    CALL(volta_tape_capture, volta_compiled_tape(compiled), &result, 1, nullptr, &captured);
    CALL(volta_compiled_tape, compiled);
    CALL_VOID(volta_model_release, captured);
    CALL_VOID(volta_compiled_release, compiled);
    for (volta_tensor* const tensor : {x, w, apart}) CALL_VOID(volta_tensor_release, tensor);
}

void walk_generating(Walk& walk, Made& made) {
    volta_generator_options options = {};
    options.struct_size = sizeof options;
    options.temperature = 0.9, options.top_p = 0.95, options.min_p = 0.001, options.repetition_penalty = 1.1;
    options.sequences = 3;
    volta_generator* generator = nullptr;
    const int32_t prompt[] = {'x', 'y'};
    const float* logits = nullptr;
    const int32_t* tokens = nullptr;
    size_t count = 0;
    int32_t token = 0;
    CALL(volta_generator_create, made.llama, &options, &generator);
    CALL(volta_generator_start, generator, prompt, 2);
    for (int i = 0; i < 4; ++i) {
        CALL(volta_generator_next, generator, &token);
        walk.say("token", &token, sizeof token);
    }
    CALL(volta_generator_logits, generator, &logits, &count);
    walk.say("logits", logits, count * sizeof *logits);
    volta_bill bill = {};
    bill.struct_size = sizeof bill;
    volta_token_cost cost = {};
    cost.struct_size = sizeof cost;
    CALL(volta_generator_get_bill, generator, &bill);
    CALL(volta_generator_get_cost, generator, 3, &cost);
    walk.say("cost", &cost, sizeof cost);
    walk.say_text("reason", CALL(volta_generator_no_cache_reason, generator) != nullptr ? "" : "none");
    volta_sequence *one = nullptr, *two = nullptr;
    CALL(volta_sequence_create, generator, nullptr, &one);
    CALL(volta_sequence_append, one, prompt, 2);
    CALL(volta_sequence_fork, one, nullptr, &two);
    CALL(volta_sequence_append, two, prompt, 1);
    CALL(volta_sequence_rewind, two, 2);
    volta_sequence* const both[] = {one, two};
    int32_t drawn[2] = {};
    CALL(volta_generator_step, generator, both, 2, drawn);
    CALL(volta_sequence_tokens, two, &tokens, &count);
    walk.say("tokens", tokens, count * sizeof *tokens);
    CALL(volta_sequence_logits, two, &logits, &count);
    walk.say("logits", logits, count * sizeof *logits);
    volta_cancel cancel = {0};
    volta_write_options writing = {};
    writing.struct_size = sizeof writing;
    writing.on_text = on_text, writing.max_tokens = 3, writing.max_seconds = 1000;
    volta_write_result result = {};
    result.struct_size = sizeof result;
    CALL(volta_generator_write, generator, one, made.tokenizer, &writing, &result);
    walk.say("result", &result, sizeof result);
    CALL_VOID(volta_cancel_request, &cancel);
    CALL_VOID(volta_sequence_release, one);
    CALL_VOID(volta_sequence_release, two);
    CALL_VOID(volta_generator_release, generator);
}

// What they find differs from time to time; that they come back does not.
void walk_measuring(Walk& walk, Made& made, const std::string& folder) {
    volta_tune_shape shape = {};
    shape.m = shape.n = shape.k = 16;
    char why[8192] = {};
    size_t bytes = 0;
    CALL(volta_explain_matmul, made.context, &shape, 0, why, sizeof why, &bytes);
    walk.say("explanation", why, bytes);
    volta_tune_options tuning = {};
    tuning.struct_size = sizeof tuning;
    tuning.shapes = &shape, tuning.shape_count = 1, tuning.seconds = 0.01, tuning.progress = on_progress;
    CALL(volta_tune, made.context, &tuning);
    volta_session* session = nullptr;
    volta_session_create(made.graph_model, nullptr, &session);
    CALL(volta_profile_start, made.context, nullptr);
    double loss = 0;
    CALL(volta_model_evaluate_tokens, made.gpt, made.tokens.data(), made.tokens.size(), &loss);
    CALL(volta_profile_stop, made.context);
    volta_profile_info info = {};
    info.struct_size = sizeof info;
    volta_profile_operator row = {};
    row.struct_size = sizeof row;
    volta_profile_event event = {};
    event.struct_size = sizeof event;
    CALL(volta_profile_get_info, made.context, &info);
    CALL(volta_profile_get_operator, made.context, 0, &row);
    CALL(volta_profile_get_event, made.context, 0, &event);
    CALL(volta_profile_write_trace, made.context, (folder + "/trace.json").c_str());
    volta_session_release(session);
}

Walk walk_all(Control control, const std::string& folder) {
    Walk walk(control);
    Made made;
    assert_int_equal(system(("rm -rf " + folder + " && mkdir " + folder).c_str()), 0);
    for (int i = 0; i < 100; ++i) made.tokens.push_back(i * i % 251);
    walk.say_text("status", CALL(volta_status_name, VOLTA_OK) != nullptr ? "" : "none");
    CALL(volta_last_error);
    CALL(volta_last_status);
    walk_context(walk, made, folder);
    walk_graph(walk, made, folder);
    walk_tokenizers(walk, made, folder);
    walk_models(walk, made, folder);
    walk_training(walk, made, folder);
    walk_tape(walk, made);
    walk_generating(walk, made);
    walk_measuring(walk, made, folder);
    for (volta_model* const model : {made.graph_model, made.gpt, made.llama})
        CALL_VOID(volta_model_release, model);
    CALL_VOID(volta_tokenizer_release, made.tokenizer);
    CALL_VOID(volta_context_release, made.context);
    return walk;
}

void test_every_function_in_every_environment(void**) {
    const TemporaryFolder temporary;
    const std::string folder = temporary.file("x");  // sentences and plans name it
    const Walk expected = walk_all(kDefault, folder);
    assert_string_equal(expected.fault().c_str(), "");
    assert_true(expected.said().size() > 200 && expected.file_bytes() > 200000);
    for (const std::string& function : public_functions()) {
        if (expected.called().count(function) == 0) print_error("%s is not called\n", function.c_str());
        assert_true(expected.called().count(function) == 1);
    }
    for (const auto& environment : kEnvironments) {
        const Walk walk = walk_all(environment.control, folder);
        if (!walk.fault().empty()) print_error("%s: %s", environment.name, walk.fault().c_str());
        assert_true(walk.fault().empty());
        assert_int_equal(walk.said().size(), expected.said().size());
        for (size_t i = 0; i < expected.said().size(); ++i) {
            const std::string &one = walk.said()[i], &other = expected.said()[i];
            if (one != other)
                print_error("%s: %.200s, expected %.200s\n", environment.name, one.c_str(), other.c_str());
            assert_true(one == other);
        }
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(test_every_function_in_every_environment)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
