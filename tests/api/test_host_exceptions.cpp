// A C++ host's functions may throw: every one that volta.h takes, at every call of it, whatever it throws.
// Nothing passes through the library, the call reports what the header says, and everything can be used and
// released afterwards.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/cmocka_cpp.h"
#include "tests/support/public_header.h"
#include "volta.h"

namespace {

// What a host may throw.
void throw_standard() { throw std::runtime_error("the host's own"); }
void throw_number() { throw 7; }
void throw_memory() { throw std::bad_alloc(); }
const struct {
    const char* name;
    void (*raise)();
    const char* text;  // in the sentence of the call
} kThrown[] = {
    {"std::exception", throw_standard, "the host's own"},
    {"int", throw_number, "an object that is no std::exception"},
    {"std::bad_alloc", throw_memory, "std::bad_alloc"},
};

// One of the host's functions throws at its call number `at` (1 is the first, 0: never).
struct Host {
    void (*raise)() = throw_standard;
    long allocations = 0, allocation_that_throws = 0, held = 0;
    bool release_throws = false, log_throws = false;
    long lines = 0;
};

void* allocate(void* user, size_t size, size_t alignment, volta_memory_kind) {
    auto& host = *static_cast<Host*>(user);
    if (++host.allocations == host.allocation_that_throws) host.raise();
    void* memory = nullptr;
    if (posix_memalign(&memory, alignment < 8 ? 8 : alignment, size ? size : 1) != 0) return nullptr;
    ++host.held;
    return memory;
}

void release(void* user, void* pointer, size_t, size_t, volta_memory_kind) {
    auto& host = *static_cast<Host*>(user);
    --host.held;
    free(pointer);
    if (host.release_throws) host.raise();
}

void log_line(void* user, volta_log_level, const char*) {
    auto& host = *static_cast<Host*>(user);
    ++host.lines;
    if (host.log_throws) host.raise();
}

volta_status context_on(Host& host, uint32_t threads, volta_context** context, const char* folder = nullptr) {
    const volta_allocator allocator = {allocate, release, &host};
    volta_context_options options = {};
    options.struct_size = sizeof options;
    options.allocator = &allocator;
    options.log = log_line;
    options.log_user = &host;
    options.thread_count = threads;
    options.level = VOLTA_REPEATABLE;  // the log says so
    options.tuning_folder = folder;
    return volta_context_create(&options, context);
}

volta_status small_gpt(volta_context* context, volta_model** model) {
    volta_gpt_options gpt = {};
    gpt.struct_size = sizeof gpt;
    gpt.vocabulary = 256;
    gpt.layers = 1;
    gpt.dim = 32;
    gpt.heads = 2;
    gpt.context = 16;
    return volta_model_create_gpt(context, &gpt, 1, model);
}

int32_t on_text(void* user, const char*, size_t, int32_t) {
    const auto& raise = *static_cast<const std::function<void()>*>(user);
    raise();
    return 0;
}

int32_t on_progress(void* user, const volta_tune_report*) { return on_text(user, nullptr, 0, 0); }

// Everything that a model can do, with one status: the first that is not OK.
volta_status use_all(volta_context* context) {
    volta_model *model = nullptr, *small = nullptr;
    volta_tokenizer* tokenizer = nullptr;
    volta_trainer* trainer = nullptr;
    volta_generator* generator = nullptr;
    volta_session* session = nullptr;
    const int64_t shape[] = {2, 16};
    volta_trainer_options training = {};
    training.struct_size = sizeof training;
    training.input_shapes = shape;
    training.input_extent_count = 2;
    volta_session_options running = {};
    running.struct_size = sizeof running;
    running.input_shapes = shape;
    running.input_extent_count = 2;
    std::vector<int32_t> tokens(100);
    for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int32_t>(i * i % 256);
    double loss = 0;
    volta_write_options writing = {};
    writing.struct_size = sizeof writing;
    writing.max_tokens = 3;
    const std::function<volta_status()> calls[] = {
        [&] { return small_gpt(context, &model); },
        [&] { return volta_tokenizer_create_byte(context, &tokenizer); },
        [&] { return volta_model_set_tokenizer(model, tokenizer); },
        [&] { return volta_trainer_create(model, &training, &trainer); },
        [&] { return volta_trainer_set_tokens(trainer, tokens.data(), tokens.size()); },
        [&] { return volta_trainer_step_tokens(trainer, nullptr); },
        [&] { return volta_model_evaluate_tokens(model, tokens.data(), tokens.size(), &loss); },
        [&] { return volta_session_create(model, &running, &session); },
        [&] { return volta_model_quantize(model, VOLTA_INT8, &small); },
        [&] { return volta_generator_create(model, nullptr, &generator); },
        [&] { return volta_generator_start(generator, tokens.data(), 2); },
        [&] { return volta_generator_write(generator, nullptr, tokenizer, &writing, nullptr); },
    };
    volta_status status = VOLTA_OK;
    for (const auto& call : calls)
        if (status == VOLTA_OK) status = call();
    const std::string text = volta_last_error();
    volta_generator_release(generator);
    volta_session_release(session);
    volta_trainer_release(trainer);
    volta_tokenizer_release(tokenizer);
    volta_model_release(small);
    volta_model_release(model);
    return status;
}

bool says(const char* text) { return strstr(volta_last_error(), text) != nullptr; }

// Every allocation of a life in turn throws: out of memory, and nothing is left behind.
void test_allocate(void**) {
    for (const auto& thrown : kThrown) {
        long calls = 0;
        for (long at = 1;; ++at) {
            Host host;
            host.raise = thrown.raise;
            host.allocation_that_throws = at;
            volta_context* context = nullptr;
            volta_status status = context_on(host, 1, &context);
            bool told = status == VOLTA_OK || says(thrown.text);
            if (status == VOLTA_OK) {
                status = use_all(context);
                told = true;  // ending what was made said something since
            }
            const bool threw = host.allocations >= at;
            volta_context_release(context);
            assert_int_equal(host.held, 0);
            assert_true(told);
            if (threw) assert_int_equal(status, VOLTA_OUT_OF_MEMORY);
            if (!threw) {
                assert_int_equal(status, VOLTA_OK);
                break;
            }
            calls = at;
            at += at / 12;  // there are thousands: all of the first ones, then fewer and fewer
        }
        print_message("%s: thrown up to allocation %ld\n", thrown.name, calls);
        assert_true(calls > 10000);
    }
}

void test_release(void**) {
    for (const auto& thrown : kThrown) {
        Host host;
        host.raise = thrown.raise;
        host.release_throws = true;
        volta_context* context = nullptr;
        assert_int_equal(context_on(host, 2, &context), VOLTA_OK);
        assert_int_equal(use_all(context), VOLTA_OK);
        volta_context_release(context);
        assert_int_equal(host.held, 0);
    }
}

// A line from each place that writes one: making a context, a tuning file that cannot be used, a trainer that
// goes on with gradients that are not finite.
void test_log(void**) {
    char folder[] = "/tmp/volta-host-XXXXXX";
    assert_non_null(mkdtemp(folder));
    for (const auto& thrown : kThrown) {
        Host host;
        host.raise = thrown.raise;
        host.log_throws = true;
        volta_context* context = nullptr;
        assert_int_equal(context_on(host, 2, &context), VOLTA_OK);
        assert_string_equal(volta_last_error(), "");
        const long lines = host.lines;
        assert_true(lines > 0);
        assert_int_equal(use_all(context), VOLTA_OK);
        volta_context_release(context);
        assert_int_equal(host.held, 0);

        // A damaged tuning file, wherever the library looks for it.
        assert_int_equal(context_on(host, 1, &context, folder), VOLTA_OK);
        volta_tune_shape shape = {};
        shape.m = shape.n = shape.k = 16;
        volta_tune_options tuning = {};
        tuning.struct_size = sizeof tuning;
        tuning.shapes = &shape;
        tuning.shape_count = 1;
        tuning.seconds = 0.01;
        assert_int_equal(volta_tune(context, &tuning), VOLTA_OK);
        volta_context_release(context);
        const std::string damage = "for f in " + std::string(folder) + "/*; do echo x > $f; done";
        assert_int_equal(system(damage.c_str()), 0);
        const long before = host.lines;
        assert_int_equal(context_on(host, 1, &context, folder), VOLTA_OK);
        assert_true(host.lines >= before + 2);  // the level, and the file
        volta_context_release(context);
        assert_int_equal(host.held, 0);
    }
    const std::string clean = std::string("rm -rf ") + folder;
    assert_int_equal(system(clean.c_str()), 0);
}

void test_on_text(void**) {
    for (const auto& thrown : kThrown)
        for (int at = 1; at <= 3; ++at) {
            Host host;
            volta_context* context = nullptr;
            volta_model* model = nullptr;
            volta_tokenizer* tokenizer = nullptr;
            volta_generator* generator = nullptr;
            const int32_t prompt = 'x';
            assert_int_equal(context_on(host, 2, &context), VOLTA_OK);
            assert_int_equal(small_gpt(context, &model), VOLTA_OK);
            assert_int_equal(volta_tokenizer_create_byte(context, &tokenizer), VOLTA_OK);
            assert_int_equal(volta_generator_create(model, nullptr, &generator), VOLTA_OK);
            assert_int_equal(volta_generator_start(generator, &prompt, 1), VOLTA_OK);
            int calls = 0;
            std::function<void()> raise = [&] {
                if (++calls == at) thrown.raise();
            };
            volta_write_options writing = {};
            writing.struct_size = sizeof writing;
            writing.max_tokens = 5;
            writing.on_text = on_text;
            writing.user = &raise;
            volta_write_result result = {};
            result.struct_size = sizeof result;
            assert_int_equal(volta_generator_write(generator, nullptr, tokenizer, &writing, &result),
                             VOLTA_CANCELLED);
            const std::string expected = std::string("the host's on_text threw an exception: ") + thrown.text;
            assert_string_equal(volta_last_error(), expected.c_str());
            assert_int_equal(result.reason, VOLTA_STOP_NONE);
            assert_int_equal(result.token_count, at);
            // It goes on where it stopped.
            assert_int_equal(volta_generator_write(generator, nullptr, tokenizer, &writing, &result),
                             VOLTA_OK);
            assert_int_equal(result.token_count, 5);
            volta_generator_release(generator);
            volta_tokenizer_release(tokenizer);
            volta_model_release(model);
            volta_context_release(context);
            assert_int_equal(host.held, 0);
        }
}

void test_progress(void**) {
    for (const auto& thrown : kThrown)
        for (int at = 1; at <= 2; ++at) {
            Host host;
            volta_context* context = nullptr;
            assert_int_equal(context_on(host, 2, &context), VOLTA_OK);
            volta_tune_shape shapes[2] = {};
            for (volta_tune_shape& shape : shapes) shape.m = shape.n = shape.k = 16;
            shapes[1].n = 32;
            int calls = 0;
            std::function<void()> raise = [&] {
                if (++calls == at) thrown.raise();
            };
            volta_tune_options tuning = {};
            tuning.struct_size = sizeof tuning;
            tuning.shapes = shapes;
            tuning.shape_count = 2;
            tuning.seconds = 0.02;
            tuning.progress = on_progress;
            tuning.user = &raise;
            assert_int_equal(volta_tune(context, &tuning), VOLTA_CANCELLED);
            const std::string expected =
                std::string("the host's progress threw an exception: ") + thrown.text;
            assert_string_equal(volta_last_error(), expected.c_str());
            assert_int_equal(calls, at);
            volta_context_release(context);
            assert_int_equal(host.held, 0);
        }
}

// A part of the parts, then it throws: what it left out is computed, the call ends, and the next one works.
struct Executor {
    std::function<void()> raise;
    uint32_t parts = 0;  // that it runs before
};

void parallel_for(void* user, uint32_t count, volta_part part, void* part_user) {
    const auto& executor = *static_cast<const Executor*>(user);
    for (uint32_t i = 0; i < count; ++i) {
        if (i == executor.parts) executor.raise();
        part(part_user, i);
    }
}

void test_parallel_for(void**) {
    for (const auto& thrown : kThrown)
        for (uint32_t parts = 0; parts < 3; ++parts) {
            bool raises = false;
            Executor executor = {[&] {
                                     if (raises) thrown.raise();
                                 },
                                 parts};
            volta_context_options options = {};
            options.struct_size = sizeof options;
            options.thread_count = 3;
            options.parallel_for = parallel_for;
            options.parallel_user = &executor;
            volta_context* context = nullptr;
            volta_graph* graph = nullptr;
            volta_tensor *a = nullptr, *c = nullptr;
            volta_model* model = nullptr;
            volta_session* session = nullptr;
            const int64_t shape[] = {256, 256};
            assert_int_equal(volta_context_create(&options, &context), VOLTA_OK);
            assert_int_equal(volta_graph_create(context, &graph), VOLTA_OK);
            volta_value x = {-1}, y = {-1};
            assert_int_equal(volta_graph_input(graph, "x", VOLTA_F32, shape, 2, &x), VOLTA_OK);
            const volta_value operands[] = {x, x};
            assert_int_equal(volta_graph_apply(graph, "matmul", operands, 2, nullptr, 0, &y, 1), VOLTA_OK);
            assert_int_equal(volta_graph_output(graph, "y", y), VOLTA_OK);
            assert_int_equal(volta_model_create(graph, 1, &model), VOLTA_OK);
            assert_int_equal(volta_session_create(model, nullptr, &session), VOLTA_OK);
            assert_int_equal(volta_tensor_create(context, VOLTA_F32, shape, 2, &a), VOLTA_OK);
            assert_int_equal(volta_tensor_create(context, VOLTA_F32, shape, 2, &c), VOLTA_OK);
            auto* const in = static_cast<float*>(volta_tensor_data(a));
            for (int i = 0; i < 256 * 256; ++i) in[i] = static_cast<float>(i % 13) / 13;
            assert_int_equal(volta_session_run(session, &a, 1, &c, 1), VOLTA_OK);
            std::vector<float> expected(256 * 256);
            memcpy(expected.data(), volta_tensor_data(c), expected.size() * sizeof(float));
            memset(volta_tensor_data(c), 0, expected.size() * sizeof(float));
            raises = true;
            assert_int_equal(volta_session_run(session, &a, 1, &c, 1), VOLTA_CANCELLED);
            const std::string text =
                std::string("the host's parallel_for threw an exception: ") + thrown.text;
            assert_string_equal(volta_last_error(), text.c_str());
            assert_memory_equal(volta_tensor_data(c), expected.data(), expected.size() * sizeof(float));
            raises = false;
            assert_int_equal(volta_session_run(session, &a, 1, &c, 1), VOLTA_OK);
            volta_tensor_release(c);
            volta_tensor_release(a);
            volta_session_release(session);
            volta_model_release(model);
            volta_graph_release(graph);
            volta_context_release(context);
        }
}

int32_t should_stop(void* user) { return on_text(user, nullptr, 0, 0); }

void test_should_stop(void**) {
    for (const auto& thrown : kThrown)
        for (int at = 1; at <= 3; ++at) {
            Host host;
            volta_context* context = nullptr;
            volta_model *model = nullptr, *small = nullptr;
            assert_int_equal(context_on(host, 2, &context), VOLTA_OK);
            assert_int_equal(small_gpt(context, &model), VOLTA_OK);
            int calls = 0;
            std::function<void()> raise = [&] {
                if (++calls == at) thrown.raise();
            };
            volta_stop_options stop = VOLTA_STOP_OPTIONS_INIT;
            stop.should_stop = should_stop;
            stop.user = &raise;
            assert_int_equal(volta_context_set_stop(context, &stop), VOLTA_OK);
            assert_int_equal(volta_model_quantize(model, VOLTA_INT8, &small), VOLTA_CANCELLED);
            const std::string text = std::string("the host's should_stop threw an exception: ") + thrown.text;
            assert_string_equal(volta_last_error(), text.c_str());
            assert_null(small);
            assert_int_equal(calls, at);
            assert_int_equal(volta_model_quantize(model, VOLTA_INT8, &small), VOLTA_OK);
            volta_model_release(small);
            volta_model_release(model);
            volta_context_release(context);
            assert_int_equal(host.held, 0);
        }
}

// What a compiled function throws ends its call; the next one is whole.
volta_status compiled_function(void* user, volta_tape* tape, volta_tensor* const* inputs, size_t count,
                               volta_tensor** outputs, size_t) {
    const volta_status status =
        volta_tape_apply(tape, "exp", inputs, count, nullptr, 0, outputs, 1, nullptr, 0);
    on_text(user, nullptr, 0, 0);
    return status;
}

void test_function(void**) {
    for (const auto& thrown : kThrown) {
        Host host;
        volta_context* context = nullptr;
        volta_compiled* compiled = nullptr;
        volta_tensor *x = nullptr, *y = nullptr;
        bool throws = true;
        std::function<void()> raise = [&] {
            if (throws) thrown.raise();
        };
        const int64_t shape[] = {2};
        assert_int_equal(context_on(host, 1, &context), VOLTA_OK);
        assert_int_equal(volta_tensor_create(context, VOLTA_F32, shape, 1, &x), VOLTA_OK);
        assert_int_equal(volta_compile(context, compiled_function, &raise, nullptr, &compiled), VOLTA_OK);
        assert_int_equal(volta_compiled_call(compiled, &x, 1, &y, 1), VOLTA_CANCELLED);
        const std::string expected = std::string("the host's function threw an exception: ") + thrown.text;
        assert_string_equal(volta_last_error(), expected.c_str());
        throws = false;
        assert_int_equal(volta_compiled_call(compiled, &x, 1, &y, 1), VOLTA_OK);
        assert_true(static_cast<float*>(volta_tensor_data(y))[1] == 1);
        volta_compiled_release(compiled);
        volta_tensor_release(x);
        volta_context_release(context);
        assert_int_equal(host.held, 0);
    }
}

// What a visitor of steps throws ends the call, and it is asked no more.
void test_visit(void**) {
    for (const auto& thrown : kThrown) {
        Host host;
        volta_context* context = nullptr;
        volta_model* model = nullptr;
        int calls = 0;
        std::function<void()> raise = [&] {
            if (++calls == 3) thrown.raise();
        };
        const volta_plan_visit visit = [](void* user, const volta_plan_step*) {
            on_text(user, nullptr, 0, 0);
        };
        const int64_t shape[] = {2, 16};
        volta_trainer_options training = VOLTA_TRAINER_OPTIONS_INIT;
        training.input_shapes = shape;
        training.input_extent_count = 2;
        assert_int_equal(context_on(host, 1, &context), VOLTA_OK);
        assert_int_equal(small_gpt(context, &model), VOLTA_OK);
        assert_int_equal(volta_trainer_estimate_steps(model, &training, visit, &raise), VOLTA_CANCELLED);
        const std::string expected = std::string("the host's visit threw an exception: ") + thrown.text;
        assert_string_equal(volta_last_error(), expected.c_str());
        assert_int_equal(calls, 3);
        assert_int_equal(volta_trainer_estimate_steps(model, &training, visit, &raise), VOLTA_OK);
        assert_true(calls > 40);
        volta_model_release(model);
        volta_context_release(context);
        assert_int_equal(host.held, 0);
    }
}

volta_status exchange(void* user, uint32_t, const void*, size_t, void*, size_t, char*, size_t) {
    on_text(user, nullptr, 0, 0);
    return VOLTA_IO_ERROR;
}

// What an exchange throws ends its group: no later call asks it again.
void test_exchange(void**) {
    for (const auto& thrown : kThrown) {
        Host host;
        volta_context* context = nullptr;
        volta_model* model = nullptr;
        volta_trainer* trainer = nullptr;
        int calls = 0;
        const std::function<void()> raise = [&] {
            ++calls;
            thrown.raise();
        };
        volta_group_options joining = VOLTA_GROUP_OPTIONS_INIT;
        joining.transport = "host";
        joining.size = 2;
        joining.exchange = exchange;
        joining.user = const_cast<std::function<void()>*>(&raise);
        const int64_t shape[] = {2, 16};
        volta_trainer_options training = VOLTA_TRAINER_OPTIONS_INIT;
        training.input_shapes = shape;
        training.input_extent_count = 2;
        training.shards = 2;
        assert_int_equal(context_on(host, 1, &context), VOLTA_OK);
        assert_int_equal(small_gpt(context, &model), VOLTA_OK);
        assert_int_equal(volta_group_create(context, &joining, &training.group), VOLTA_OK);
        const std::string expected = std::string("the host's exchange threw an exception: ") + thrown.text;
        for (int time = 0; time < 2; ++time) {
            assert_int_equal(volta_trainer_create(model, &training, &trainer), VOLTA_IO_ERROR);
            assert_non_null(strstr(volta_last_error(), expected.c_str()));
            assert_null(trainer);
            assert_int_equal(calls, 1);
        }
        volta_group_release(training.group);
        volta_model_release(model);
        volta_context_release(context);
        assert_int_equal(host.held, 0);
    }
}

// A test for each: whoever adds a function of the host adds one here, and a row to engine/base/host_call.h.
void test_every_function_is_tested(void**) {
    const std::vector<std::string> tested = {"allocate",    "release", "log",     "parallel_for",
                                             "should_stop", "on_text", "progress"};
    assert_true(volta::test::host_functions() == tested);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_every_function_is_tested),
        cmocka_unit_test(test_allocate),
        cmocka_unit_test(test_release),
        cmocka_unit_test(test_log),
        cmocka_unit_test(test_on_text),
        cmocka_unit_test(test_progress),
        cmocka_unit_test(test_parallel_for),
        cmocka_unit_test(test_should_stop),
        cmocka_unit_test(test_function),
        cmocka_unit_test(test_visit),
        cmocka_unit_test(test_exchange),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
