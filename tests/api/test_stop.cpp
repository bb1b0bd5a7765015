// A host ends long calls: by should_stop at each question that a call asks, by a request, by a deadline, by
// an exception. The call reports CANCELLED and says before what; files, parameters and steps are as before,
// and the same call made again gives what it gives undisturbed.
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/cmocka_cpp.h"
#include "volta.h"

namespace {

using Status = volta_status;

// Says stop at question number `at` (1 is the first, 0: never).
struct Host {
    long asked = 0, at = 0;
    bool throws = false;
};

int32_t should_stop(void* user) {
    Host& host = *static_cast<Host*>(user);
    if (++host.asked != host.at) return 0;
    if (host.throws) throw std::runtime_error("enough");
    return 1;
}

Status listen_to(volta_context* context, Host& host) {
    volta_stop_options options = VOLTA_STOP_OPTIONS_INIT;
    options.should_stop = should_stop;
    options.user = &host;
    return volta_context_set_stop(context, &options);
}

std::string hash_of(const volta_model* model) {
    char text[33] = "";
    return volta_model_hash(model, text) == VOLTA_OK ? text : "";
}

std::string contents(const std::string& path) {
    std::string text;
    FILE* const file = fopen(path.c_str(), "rb");
    if (file == nullptr) return "none";
    char block[4096];
    for (size_t n; (n = fread(block, 1, sizeof block, file)) > 0;) text.append(block, n);
    fclose(file);
    return text;
}

// A folder of the test's own, a context and models in it.
class World {
  public:
    World() {
        char name[] = "/tmp/volta-stop-XXXXXX";
        folder_ = mkdtemp(name) != nullptr ? name : ".";
        volta_context_options options = VOLTA_CONTEXT_OPTIONS_INIT;
        options.thread_count = 2;
        volta_gpt_options gpt = VOLTA_GPT_OPTIONS_INIT;
        gpt.vocabulary = 64;
        gpt.layers = 2;
        gpt.dim = 64;
        gpt.heads = 4;
        gpt.context = 32;
        for (size_t i = 0; i < tokens_.size(); ++i) tokens_[i] = static_cast<int32_t>(i * i % 61);
        const int64_t shape[] = {2, 32};
        volta_trainer_options training = VOLTA_TRAINER_OPTIONS_INIT;
        training.input_shapes = shape;
        training.input_extent_count = 2;
        training.micro_batches = 4;
        volta_generator_options generating = VOLTA_GENERATOR_OPTIONS_INIT;
        generating.prefill_chunk = 4;
        const std::function<Status()> calls[] = {
            [&] { return volta_context_create(&options, &context); },
            [&] { return volta_model_create_gpt(context, &gpt, 5, &model); },
            [&] { return volta_trainer_create(model, &training, &trainer); },
            [&] { return volta_trainer_set_tokens(trainer, tokens_.data(), tokens_.size()); },
            [&] { return volta_generator_create(model, &generating, &generator); },
            [&] { return volta_model_save(model, path("saved.volta").c_str()); },
            [&] { return volta_model_export_safetensors(model, path("weights.safetensors").c_str()); },
            [&] { return volta_model_export_onnx(model, nullptr, path("graph.onnx").c_str()); },
            [&] { return volta_tensor_wrap(context, VOLTA_I32, shape, 2, tokens_.data(), &tensor); },
            [&] { return save_tensors(path("tensors.npz").c_str()); },
        };
        for (const auto& call : calls)
            if (status == VOLTA_OK) status = call();
        if (status != VOLTA_OK) print_error("%s\n", volta_last_error());
    }
    ~World() {
        volta_tensor_release(tensor);
        volta_generator_release(generator);
        volta_trainer_release(trainer);
        volta_model_release(model);
        volta_context_release(context);
        const std::string remove = "rm -rf '" + folder_ + "'";
        if (folder_ != ".") status = system(remove.c_str());
    }
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    Status save_tensors(const char* path) const {
        const char* const names[] = {"a", "b", "c"};
        const volta_tensor* const tensors[] = {tensor, tensor, tensor};
        return volta_tensors_save(context, path, names, tensors, 3);
    }
    std::string path(const char* name) const { return folder_ + "/" + name; }
    const std::vector<int32_t>& tokens() const { return tokens_; }
    std::string trainer_hash() const {
        char text[33] = "";
        volta_trainer_hash(trainer, text);
        return text + std::string(" ") + std::to_string(volta_trainer_current_step(trainer));
    }

    volta_context* context = nullptr;
    volta_model* model = nullptr;
    volta_trainer* trainer = nullptr;
    volta_generator* generator = nullptr;
    volta_tensor* tensor = nullptr;
    Status status = VOLTA_OK;

  private:
    std::string folder_;
    std::vector<int32_t> tokens_ = std::vector<int32_t>(500);
};

// One long call: what it does, and everything that one can see of it, before and after.
struct Case {
    const char* name;
    Status (*call)(World& world, std::string& result);
    std::string (*seen)(const World& world);  // what must not change when the call is ended
    long least;                               // questions that it asks
    const char* sentence;                     // a part of what it says at the first one
};

std::string nothing(const World&) { return ""; }

// `made` is a reference: what the call that gives the status has written, in whatever order arguments are
// evaluated.
Status give(Status status, volta_model* const& made, std::string& result) {
    if (status == VOLTA_OK) result = hash_of(made);
    volta_model_release(made);
    return status;
}

Status write_to(const World& world, const char* name, std::string& result,
                const std::function<Status(const char*)>& write) {
    const std::string path = world.path(name);
    const Status status = write(path.c_str());
    if (status == VOLTA_OK) result = contents(path);
    return status;
}

const Case kCases[] = {
    {"step_tokens",
     [](World& w, std::string& result) {
         volta_step_report report = VOLTA_STEP_REPORT_INIT;
         const Status status = volta_trainer_step_tokens(w.trainer, &report);
         if (status == VOLTA_OK) result = std::to_string(report.loss);
         return status;
     },
     [](const World& w) { return w.trainer_hash(); }, 5,
     "stopped before micro-batch 1 of 4: should_stop said so"},
    {"trainer evaluate",
     [](World& w, std::string& result) {
         double loss = 0;
         const Status status =
             volta_trainer_evaluate_tokens(w.trainer, w.tokens().data(), w.tokens().size(), &loss);
         if (status == VOLTA_OK) result = std::to_string(loss);
         return status;
     },
     [](const World& w) { return w.trainer_hash(); }, 8,
     "stopped before window 1 of 15: should_stop said so"},
    {"model evaluate",
     [](World& w, std::string& result) {
         double loss = 0;
         const Status status =
             volta_model_evaluate_tokens(w.model, w.tokens().data(), w.tokens().size(), &loss);
         if (status == VOLTA_OK) result = std::to_string(loss);
         return status;
     },
     nothing, 2, "stopped before window 1 of "},
    {"import safetensors",
     [](World& w, std::string& result) {
         volta_model* made = nullptr;
         return give(volta_model_import(w.context, w.path("weights.safetensors").c_str(), nullptr, &made),
                     made, result);
     },
     nothing, 10, "cannot import the model: stopped before parameter 1 of "},
    {"import onnx",
     [](World& w, std::string& result) {
         volta_model* made = nullptr;
         return give(volta_model_import(w.context, w.path("graph.onnx").c_str(), nullptr, &made), made,
                     result);
     },
     nothing, 10, "cannot import the model: stopped before tensor 1 of "},
    {"import onnx, node by node",
     [](World& w, std::string& result) {
         volta_import_options options = VOLTA_IMPORT_OPTIONS_INIT;
         options.exact_graph = 1;
         volta_model* made = nullptr;
         return give(volta_model_import(w.context, w.path("graph.onnx").c_str(), &options, &made), made,
                     result);
     },
     nothing, 30, "cannot import the model: stopped before node 1 of "},
    {"open, verified",
     [](World& w, std::string& result) {
         volta_open_options options = VOLTA_OPEN_OPTIONS_INIT;
         options.mode = VOLTA_LOAD_COPY;
         volta_model* made = nullptr;
         return give(volta_model_open(w.context, w.path("saved.volta").c_str(), &options, &made), made,
                     result);
     },
     nothing, 10, "cannot open the model: stopped before the checksum of tensor 1 of "},
    {"quantize",
     [](World& w, std::string& result) {
         volta_model* made = nullptr;
         return give(volta_model_quantize(w.model, VOLTA_INT8, &made), made, result);
     },
     nothing, 10, "stopped before parameter 1 of "},
    {"save over an old file",
     [](World& w, std::string& result) {
         return write_to(w, "saved.volta", result,
                         [&](const char* path) { return volta_model_save(w.model, path); });
     },
     [](const World& w) { return contents(w.path("saved.volta")); }, 10,
     "stopped before the checksum of tensor 1 of "},
    {"save a checkpoint",
     [](World& w, std::string& result) {
         return write_to(w, "checkpoint.volta", result,
                         [&](const char* path) { return volta_trainer_save(w.trainer, path); });
     },
     [](const World& w) { return w.trainer_hash(); }, 10, "stopped before the checksum of tensor 1 of "},
    {"export safetensors",
     [](World& w, std::string& result) {
         return write_to(w, "weights.safetensors", result,
                         [&](const char* path) { return volta_model_export_safetensors(w.model, path); });
     },
     [](const World& w) { return contents(w.path("weights.safetensors")); }, 2,
     "stopped before the rest of the file: should_stop said so"},
    {"save tensors",
     [](World& w, std::string& result) {
         return write_to(w, "tensors.npz", result, [&](const char* path) { return w.save_tensors(path); });
     },
     [](const World& w) { return contents(w.path("tensors.npz")); }, 2,
     "stopped before the rest of the file: should_stop said so"},
    {"open tensors",
     [](World& w, std::string& result) {
         volta_tensors* made = nullptr;
         const Status status = volta_tensors_open(w.context, w.path("tensors.npz").c_str(), &made);
         result = std::to_string(volta_tensors_count(made));
         volta_tensors_release(made);
         return status;
     },
     nothing, 3, "cannot read the tensors: stopped before tensor 1 of 3: should_stop said so"},
    {"export for Hugging Face",
     [](World& w, std::string& result) {
         volta_export_options options = VOLTA_EXPORT_OPTIONS_INIT;
         const std::string config = w.path("config.json");
         options.names = VOLTA_NAMES_HUGGING_FACE;
         options.config_path = config.c_str();
         return write_to(w, "hf.safetensors", result, [&](const char* path) {
             return volta_model_export_safetensors_with(w.model, &options, path);
         });
     },
     nothing, 2, "stopped before the rest of the file: should_stop said so"},
    {"export onnx",
     [](World& w, std::string& result) {
         return write_to(w, "graph.onnx", result,
                         [&](const char* path) { return volta_model_export_onnx(w.model, nullptr, path); });
     },
     [](const World& w) { return contents(w.path("graph.onnx")); }, 2,
     "stopped before the rest of the file: should_stop said so"},
    {"export gguf",
     [](World& w, std::string& result) {
         const volta_gguf_export_options options = {sizeof options, 0, 1};
         return write_to(w, "model.gguf", result,
                         [&](const char* path) { return volta_model_export_gguf(w.model, &options, path); });
     },
     [](const World& w) { return contents(w.path("model.gguf")); }, 2,
     "stopped before the rest of the file: should_stop said so"},
    {"export onnx with data beside it",
     [](World& w, std::string& result) {
         volta_onnx_export_options options = VOLTA_ONNX_EXPORT_OPTIONS_INIT;
         options.inline_bytes = 1;
         const Status status = write_to(w, "beside.onnx", result, [&](const char* path) {
             return volta_model_export_onnx(w.model, &options, path);
         });
         result += contents(w.path("beside.onnx.data"));
         return status;
     },
     nothing, 2, "stopped before the rest of the file: should_stop said so"},
    {"train a tokenizer",
     [](World& w, std::string& result) {
         std::string text;
         for (int i = 0; i < 2000; ++i) text += i % 3 == 0 ? "ba " : i % 5 == 0 ? "nana " : "koba ";
         volta_tokenizer* made = nullptr;
         const Status status = volta_tokenizer_train_bpe(w.context, text.data(), text.size(), 262, &made);
         if (status == VOLTA_OK) result = std::to_string(volta_tokenizer_size(made));
         volta_tokenizer_release(made);
         return status;
     },
     nothing, 5, "stopped before piece 257 of 262: should_stop said so"},
    {"a prompt in pieces",
     [](World& w, std::string& result) {
         int32_t token = -1;
         const int32_t another = 63;  // nothing of the prompt is computed
         Status status = volta_generator_start(w.generator, &another, 1);
         if (status == VOLTA_OK) status = volta_generator_start(w.generator, w.tokens().data(), 20);
         if (status == VOLTA_OK) status = volta_generator_next(w.generator, &token);
         if (status == VOLTA_OK) result = std::to_string(token);
         return status;
     },
     nothing, 4, "stopped before the next piece of the prompt: should_stop said so"},
};

volta_context* as_new(World& world, Host& host) {
    host.asked = host.at = 0;
    world.status = listen_to(world.context, host);
    return world.context;
}

// True if all went well; else it has said what did not.
bool survives(const Case& one) {
    World world;
    if (world.status != VOLTA_OK) return false;
    Host host;
    const auto complain = [&](const char* what, long at) {
        print_error("%s, question %ld: %s (%s)\n", one.name, at, what, volta_last_error());
        return false;
    };
    // Undisturbed, in a world of its own: what it gives, and how often it asks.
    std::string expected;
    long questions = 0;
    {
        World other;
        as_new(other, host);
        if (one.call(other, expected) != VOLTA_OK) return complain("does not work", 0);
        questions = host.asked;
        if (questions < one.least) return complain("asks too rarely", questions);
    }
    as_new(world, host);
    const std::string before = one.seen(world);
    const long stride = questions > 24 ? questions / 12 : 1;
    for (long at = 1; at <= questions; at += at < 4 ? 1 : stride)
        for (const bool throws : {false, true}) {
            std::string result;
            host = {0, at, throws};
            const Status status = one.call(world, result);
            if (status != VOLTA_CANCELLED) return complain("was not cancelled", at);
            const char* const sentence =
                throws ? "the host's should_stop threw an exception: enough" : "stopped before";
            if (std::strstr(volta_last_error(), sentence) == nullptr)
                return complain("says something else", at);
            if (!throws && at == 1 && std::strstr(volta_last_error(), one.sentence) == nullptr)
                return complain("says something else at first", at);
            if (one.seen(world) != before) return complain("has changed something", at);
        }
    // No temporary file is left, and the same call again does the same work.
    const std::string list = "ls '" + world.path("") + "' | grep -q tmp-";
    if (system(list.c_str()) == 0) return complain("has left a temporary file", 0);
    std::string result;
    host = {};
    if (one.call(world, result) != VOLTA_OK) return complain("fails afterwards", 0);
    if (result.empty() || result != expected) return complain("gives something else afterwards", 0);
    return true;
}

void test_a_call_that_is_ended_has_changed_nothing(void** state) {
    assert_true(survives(*static_cast<const Case*>(*state)));
}

// A request and a deadline are looked at where should_stop is asked.
void test_requests_and_deadlines(void**) {
    World world;
    volta_cancel cancel = VOLTA_CANCEL_INIT;
    volta_stop_options options = VOLTA_STOP_OPTIONS_INIT;
    options.cancel = &cancel;
    const Status set = volta_context_set_stop(world.context, &options);
    const Status before = volta_trainer_step_tokens(world.trainer, nullptr);
    volta_cancel_request(&cancel);
    const Status after = volta_trainer_step_tokens(world.trainer, nullptr);
    const std::string requested = volta_last_error();
    options = VOLTA_STOP_OPTIONS_INIT;
    options.max_seconds = 1e-6;
    volta_context_set_stop(world.context, &options);
    usleep(1000);
    const Status late = volta_trainer_step_tokens(world.trainer, nullptr);
    const std::string was_late = volta_last_error();
    options.max_seconds = 1e18;  // no clock runs over
    volta_context_set_stop(world.context, &options);
    const Status in_time = volta_trainer_step_tokens(world.trainer, nullptr);
    options.max_seconds = -1;
    const Status negative = volta_context_set_stop(world.context, &options);
    const std::string was_negative = volta_last_error();
    const Status cleared = volta_context_set_stop(world.context, nullptr);
    const Status free = volta_trainer_step_tokens(world.trainer, nullptr);
    const uint64_t steps = volta_trainer_current_step(world.trainer);
    assert_int_equal(set, VOLTA_OK);
    assert_int_equal(before, VOLTA_OK);
    assert_int_equal(after, VOLTA_CANCELLED);
    assert_string_equal(requested.c_str(),
                        "stopped before micro-batch 1 of 4: volta_cancel_request was called");
    assert_int_equal(late, VOLTA_CANCELLED);
    assert_string_equal(was_late.c_str(), "stopped before micro-batch 1 of 4: 1e-06 seconds are over");
    assert_int_equal(in_time, VOLTA_OK);
    assert_int_equal(negative, VOLTA_INVALID_ARGUMENT);
    assert_string_equal(was_negative.c_str(), "max_seconds is -1, it must be a finite number of at least 0");
    assert_int_equal(cleared, VOLTA_OK);
    assert_int_equal(free, VOLTA_OK);
    assert_int_equal(steps, 3);
}

// Writing ends as it does by its own options: well, with a reason.
void test_writing_ends_with_a_reason(void**) {
    World world;
    volta_tokenizer* tokenizer = nullptr;
    volta_write_options writing = VOLTA_WRITE_OPTIONS_INIT;
    volta_write_result stopped = VOLTA_WRITE_RESULT_INIT, late = VOLTA_WRITE_RESULT_INIT;
    writing.max_tokens = 20;
    volta_tokenizer_create_byte(world.context, &tokenizer);
    volta_generator_start(world.generator, world.tokens().data(), 10);
    Host host;
    as_new(world, host);
    host.at = 5;
    const Status first = volta_generator_write(world.generator, nullptr, tokenizer, &writing, &stopped);
    volta_stop_options options = VOLTA_STOP_OPTIONS_INIT;
    options.max_seconds = 1e-9;
    volta_context_set_stop(world.context, &options);
    const Status second = volta_generator_write(world.generator, nullptr, tokenizer, &writing, &late);
    volta_tokenizer_release(tokenizer);
    assert_int_equal(first, VOLTA_OK);
    assert_int_equal(stopped.reason, VOLTA_STOP_CANCELLED);
    assert_true(stopped.token_count > 0 && stopped.token_count < 5);
    assert_int_equal(second, VOLTA_OK);
    assert_int_equal(late.reason, VOLTA_STOP_DEADLINE);
    assert_int_equal(late.token_count, 0);
}

void test_tuning_ends_and_keeps_what_was_tuned(void**) {
    World world;
    Host host;
    const volta_tune_shape shapes[] = {{16, 64, 64, 0, 0, 0, 0, 0}, {16, 128, 64, 0, 0, 0, 0, 0}};
    volta_tune_options tuning = VOLTA_TUNE_OPTIONS_INIT;
    tuning.shapes = shapes;
    tuning.shape_count = 2;
    tuning.seconds = 0.2;
    as_new(world, host);
    host.at = 1;
    const Status first = volta_tune(world.context, &tuning);
    const std::string said = volta_last_error();
    host = {0, 2, true};
    const Status second = volta_tune(world.context, &tuning);
    const std::string threw = volta_last_error();
    host = {};
    const Status whole = volta_tune(world.context, &tuning);
    assert_int_equal(first, VOLTA_CANCELLED);
    assert_string_equal(said.c_str(), "stopped before the next race of the tuner: should_stop said so");
    assert_int_equal(second, VOLTA_CANCELLED);
    assert_string_equal(threw.c_str(), "the host's should_stop threw an exception: enough");
    assert_int_equal(whole, VOLTA_OK);
}

}  // namespace

int main() {
    constexpr size_t kCaseCount = sizeof kCases / sizeof *kCases;
    static CMUnitTest cases[kCaseCount];
    for (size_t i = 0; i < kCaseCount; ++i)
        cases[i] = {kCases[i].name, test_a_call_that_is_ended_has_changed_nothing, nullptr, nullptr,
                    const_cast<Case*>(&kCases[i])};
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_requests_and_deadlines),
        cmocka_unit_test(test_writing_ends_with_a_reason),
        cmocka_unit_test(test_tuning_ends_and_keeps_what_was_tuned),
    };
    const int failed = cmocka_run_group_tests_name("calls that ask", cases, nullptr, nullptr);
    return failed + cmocka_run_group_tests(tests, nullptr, nullptr);
}
