/* volta_profile_* from C: events nest, are ordered and are named as the plan's print says; times add up;
 * nothing is allocated while it records, and no bit changes; what does not fit is counted; contexts know
 * nothing of each other. Nothing here depends on how fast anything is. */
#include <ctype.h>
#include <unistd.h>

#include "tests/api/api_test.h"

enum { kBatch = 2, kTokens = 2000, kMostSteps = 512, kMostText = 256 };

static volta_profile_info info_of(volta_context* context) {
    volta_profile_info info = {0};
    info.struct_size = sizeof info;
    assert_ok(volta_profile_get_info(context, &info));
    return info;
}

static volta_profile_event event_of(volta_context* context, size_t index) {
    volta_profile_event event = {0};
    event.struct_size = sizeof event;
    assert_ok(volta_profile_get_event(context, index, &event));
    return event;
}

static volta_profile_operator operator_of(volta_context* context, size_t index) {
    volta_profile_operator row = {0};
    row.struct_size = sizeof row;
    assert_ok(volta_profile_get_operator(context, index, &row));
    return row;
}

static volta_trainer* new_trainer(volta_context* context, uint64_t micro_batches) {
    static int32_t tokens[kTokens];
    const int64_t extents[] = {kBatch, kContext};
    volta_trainer_options training = small_trainer_options(extents);
    volta_model* model = NULL;
    volta_trainer* trainer = NULL;
    fill_tokens(tokens, kTokens);
    training.micro_batches = micro_batches;
    assert_ok(small_gpt(context, 0.1, &model));
    assert_ok(volta_trainer_create(model, &training, &trainer));
    assert_ok(volta_trainer_set_tokens(trainer, tokens, kTokens));
    volta_model_release(model);
    return trainer;
}

static void train(volta_trainer* trainer, int steps) {
    int step;
    for (step = 0; step < steps; ++step) assert_ok(volta_trainer_step_tokens(trainer, NULL));
}

/* The rows of "kernels" of a plan's print, "  12 %34 matmul: f32_gemm_8x48_avx512". */
struct printed_step {
    long long value;
    char op[64], kernel[kMostText];
};
static size_t printed_steps(const char* text, struct printed_step* steps) {
    const char* line = strstr(text, "\nkernels\n");
    size_t count = 0, number;
    assert_non_null(line);
    for (line += strlen("\nkernels\n"); *line == ' '; line = strchr(line, '\n') + 1) {
        assert_true(count < kMostSteps);
        assert_int_equal(sscanf(line, " %zu %%%lld %63[^:]: %255[^\n]", &number, &steps[count].value,
                                steps[count].op, steps[count].kernel),
                         4);
        assert_int_equal(number, count);
        ++count;
    }
    return count;
}

/* A training step of two micro-batches: three levels, each inside the one above, in order, on the host's
 * lane; every step of the plan, by the names of its print, as often as its phase runs. */
static void test_training(void** state) {
    static struct printed_step printed[kMostSteps];
    static unsigned runs[kMostSteps];
    volta_context* context = NULL;
    volta_trainer* trainer;
    volta_profile_event outer[3];
    volta_profile_info info;
    volta_bill bill = {0};
    uint64_t calls_ns = 0, steps_ns = 0, workers = 0, last_worker_end = 0, live_peak = 0;
    size_t i, count;
    const char* text;
    char phases[64] = "";
    int gradients = 0, weights = 0;
    (void)state;
    assert_ok(context_on(NULL, 2, VOLTA_ISA_AUTO, 0, &context));
    trainer = new_trainer(context, 2);
    train(trainer, 2);
    assert_ok(volta_profile_start(context, NULL));
    train(trainer, 1);
    assert_ok(volta_profile_stop(context));
    assert_ok(volta_trainer_print_plan(trainer, &text));
    count = printed_steps(text, printed);
    memset(runs, 0, sizeof runs);
    info = info_of(context);
    assert_int_equal(info.dropped, 0);
    assert_int_equal(info.thread_count, 2);
    memset(outer, 0, sizeof outer);
    for (i = 0; i < info.event_count; ++i) {
        const volta_profile_event event = event_of(context, i);
        assert_true(event.end_ns >= event.begin_ns && event.end_ns <= info.duration_ns);
        assert_non_null(event.name);
        if (event.kind >= VOLTA_PROFILE_STEP) {
            const struct printed_step* step = &printed[event.step];
            assert_in_range(event.step, 0, count - 1);
            assert_string_equal(event.name, step->op);
            assert_string_equal(event.kernel, step->kernel);
            assert_int_equal(event.value, step->value);
        }
        if (event.kind == VOLTA_PROFILE_WORKER) {
            assert_int_equal(event.thread, 1);
            assert_int_equal(event.depth, 0);
            assert_int_equal(event.step, outer[VOLTA_PROFILE_STEP].step); /* the one that it has a part of */
            assert_true(event.begin_ns >= last_worker_end &&
                        event.begin_ns >= outer[VOLTA_PROFILE_STEP].begin_ns &&
                        event.end_ns <= outer[VOLTA_PROFILE_STEP].end_ns);
            last_worker_end = event.end_ns;
            ++workers;
            continue;
        }
        assert_int_equal(event.thread, 0);
        assert_int_equal(event.depth, event.kind);
        if (event.kind > 0) {
            const volta_profile_event* parent = &outer[event.kind - 1];
            assert_true(event.begin_ns >= parent->begin_ns && event.end_ns <= parent->end_ns);
        }
        if (outer[event.kind].name != NULL) assert_true(event.begin_ns >= outer[event.kind].end_ns);
        outer[event.kind] = event;
        if (event.kind == VOLTA_PROFILE_CALL) {
            assert_string_equal(event.name, "train_step");
            assert_int_equal(event.number, 3);
            calls_ns += event.end_ns - event.begin_ns;
        } else if (event.kind == VOLTA_PROFILE_PHASE) {
            sprintf(phases + strlen(phases), "%s %d ", event.name, (int)event.number);
        } else {
            runs[event.step] += 1;
            steps_ns += event.end_ns - event.begin_ns;
            gradients += strncmp(event.node, "gradient/", 9) == 0;
            weights += strcmp(event.node, "block.0.qkv.weight") == 0;
            if (event.live_bytes > live_peak) live_peak = event.live_bytes;
        }
    }
    assert_string_equal(phases, "each 0 each 1 reduce 0 update 0 ");
    assert_true(gradients > 0 && weights >= 3); /* forward, backward, update */
    assert_true(workers > 0);
    for (i = 0; i < count; ++i) {
        char each[32];
        snprintf(each, sizeof each, "\n  %zu each ", i);
        if (runs[i] != (strstr(text, each) != NULL ? 2u : 1u)) fail_msg("step %zu ran %u times", i, runs[i]);
    }
    assert_true(steps_ns <= calls_ns && calls_ns <= info.duration_ns);
    assert_int_equal(info.calls_ns, calls_ns);
    assert_int_equal(info.steps_ns, steps_ns);
    /* Memory: the fullest step is what the arena was made for. */
    bill.struct_size = sizeof bill;
    assert_ok(volta_trainer_get_bill(trainer, &bill));
    assert_int_equal(live_peak, bill.activations);
    assert_int_equal(info.live_bytes_peak, bill.activations);
    assert_int_equal(info.held_bytes_peak, bill.total);
    volta_trainer_release(trainer);
    volta_context_release(context);
}

/* The table says of each operator what its events say together, the longest first. */
static void test_operators(void** state) {
    volta_context* context = NULL;
    volta_trainer* trainer;
    volta_profile_info info;
    uint64_t events = 0, before = UINT64_MAX;
    double shares = 0, operations = 0;
    size_t i, row;
    (void)state;
    assert_ok(context_on(NULL, 1, VOLTA_ISA_AUTO, 0, &context));
    trainer = new_trainer(context, 1);
    assert_ok(volta_profile_start(context, NULL));
    train(trainer, 2);
    assert_ok(volta_profile_stop(context));
    info = info_of(context);
    assert_true(info.operator_count > 8);
    for (row = 0; row < info.operator_count; ++row) {
        const volta_profile_operator all = operator_of(context, row);
        volta_profile_operator sum = {0};
        for (i = 0; i < info.event_count; ++i) {
            const volta_profile_event event = event_of(context, i);
            assert_int_not_equal(event.kind, VOLTA_PROFILE_WORKER); /* one thread has no workers */
            if (event.kind != VOLTA_PROFILE_STEP || strcmp(event.name, all.name) != 0) continue;
            sum.calls += 1;
            sum.total_ns += event.end_ns - event.begin_ns;
            sum.operations += event.operations;
            sum.bytes += event.bytes;
        }
        assert_int_equal(sum.calls, all.calls);
        assert_int_equal(sum.total_ns, all.total_ns);
        assert_int_equal(sum.bytes, all.bytes);
        assert_true(sum.operations == all.operations);
        assert_true(all.total_ns <= before);
        before = all.total_ns;
        events += all.calls;
        shares += all.share;
        if (strcmp(all.name, "matmul") == 0 || strcmp(all.name, "weight_gradient") == 0)
            operations += all.operations;
        if (strcmp(all.name, "adamw") == 0) assert_true(all.bytes > 0 && all.operations == 0);
    }
    assert_true(shares > 0.999 && shares < 1.001);
    assert_int_equal(info.event_count, events + 2 * (1 + 3)); /* calls, and the phases in them */
    /* Products: 6 per weight and token but for the embedding of tokens, of two steps. */
    assert_true(operations == 2.0 * 6 * kBatch * kContext *
                                  (2 * (64 * 192 + 64 * 64 + 64 * 256 + 256 * 64) + 64 * kVocabulary));
    volta_trainer_release(trainer);
    volta_context_release(context);
}

/* Braces and brackets pair outside strings, which are closed and hold no control character. */
static int is_balanced(const char* text) {
    char open[64];
    int depth = 0, in_string = 0;
    for (; *text != '\0'; ++text) {
        if (in_string) {
            if (*text == '"') in_string = 0;
            if ((unsigned char)*text < 0x20) return 0;
            if (*text == '\\') ++text;
        } else if (*text == '"') {
            in_string = 1;
        } else if (*text == '{' || *text == '[') {
            if (depth == 64) return 0;
            open[depth++] = *text;
        } else if (*text == '}' || *text == ']') {
            if (depth == 0 || (*text == '}') != (open[--depth] == '{')) return 0;
        }
    }
    return depth == 0 && !in_string;
}

/* A name that could end a string of the trace stays a name. (tests/cli has traces read by a JSON parser.) */
static void test_trace_of_odd_names(void** state) {
    static char text[100000];
    char path[] = "/tmp/volta_trace_XXXXXX";
    const int file = mkstemp(path);
    const int64_t shape[] = {4};
    volta_context* context = NULL;
    volta_graph* graph = NULL;
    volta_model* model = NULL;
    volta_session* session = NULL;
    volta_session_options options = {0};
    volta_tensor* x = NULL;
    volta_value values[2], sum;
    const volta_tensor* inputs[1];
    volta_tensor* outputs[1];
    FILE* trace;
    (void)state;
    assert_true(file >= 0);
    close(file);
    options.struct_size = sizeof options;
    assert_ok(context_on(NULL, 2, VOLTA_ISA_AUTO, 0, &context));
    assert_ok(volta_graph_create(context, &graph));
    assert_ok(volta_graph_input(graph, "x", VOLTA_F32, shape, 1, &values[0]));
    assert_ok(volta_graph_parameter(graph, "a\"},\\<b>\xc3\xa9", shape, 1, NULL, &values[1]));
    assert_ok(volta_graph_binary(graph, "add", values[0], values[1], &sum));
    assert_ok(volta_graph_output(graph, "y", sum));
    assert_ok(volta_model_create(graph, 1, &model));
    assert_ok(volta_session_create(model, &options, &session));
    assert_ok(volta_tensor_create(context, VOLTA_F32, shape, 1, &x));
    inputs[0] = x;
    assert_ok(volta_tensor_create(context, VOLTA_F32, shape, 1, &outputs[0]));
    assert_ok(volta_profile_start(context, NULL));
    assert_ok(volta_session_run(session, inputs, 1, outputs, 1));
    assert_ok(volta_profile_stop(context));
    assert_int_equal(info_of(context).event_count, 3);
    assert_string_equal(event_of(context, 0).name, "session_run");
    assert_string_equal(event_of(context, 2).node, "a\"},\\<b>\xc3\xa9");
    assert_ok(volta_profile_write_trace(context, path));
    trace = fopen(path, "r");
    assert_non_null(trace);
    text[fread(text, 1, sizeof text - 1, trace)] = '\0';
    fclose(trace);
    unlink(path);
    assert_true(is_balanced(text));
    assert_non_null(strstr(text, "\"node\":\"a\\u0022},\\u005c<b>\xc3\xa9\""));
    assert_non_null(strstr(text, "\"name\":\"worker 1\""));
    volta_tensor_release(outputs[0]);
    volta_tensor_release(x);
    volta_session_release(session);
    volta_model_release(model);
    volta_graph_release(graph);
    volta_context_release(context);
}

static void hash_of_training(uint32_t threads, int profiled, char* hash) {
    struct counting_heap heap = {0};
    volta_context* context = NULL;
    volta_trainer* trainer;
    uint64_t allocations;
    assert_ok(context_on(&heap, threads, VOLTA_ISA_AUTO, 0, &context));
    trainer = new_trainer(context, 1);
    train(trainer, 1);
    if (profiled) assert_ok(volta_profile_start(context, NULL));
    allocations = heap.count;
    train(trainer, 6);
    assert_int_equal(heap.count, allocations); /* nothing is allocated while it records */
    if (profiled) {
        volta_profile_info info = {0};
        assert_ok(volta_profile_stop(context));
        info = info_of(context);
        assert_int_equal(heap.count, allocations);
        assert_true(info.event_count > 100);
    }
    assert_ok(volta_trainer_hash(trainer, hash));
    volta_trainer_release(trainer);
    volta_context_release(context);
    assert_int_equal(heap.live_bytes, 0);
}

static void test_bits_and_allocations(void** state) {
    char plain[33], profiled[33], threaded[33];
    (void)state;
    hash_of_training(1, 0, plain);
    hash_of_training(1, 1, profiled);
    hash_of_training(2, 1, threaded);
    assert_string_equal(profiled, plain);
    assert_string_equal(threaded, plain);
}

/* Ten places: the first ten events, their surroundings among them; the rest is counted, and the table is
 * complete. */
static void test_dropped(void** state) {
    volta_context* context = NULL;
    volta_trainer* trainer;
    volta_profile_options options = {0};
    volta_profile_info full, few;
    uint64_t calls = 0, more = 0;
    size_t i;
    char path[] = "/tmp/volta_trace_XXXXXX", text[512];
    const int file = mkstemp(path);
    FILE* trace;
    (void)state;
    assert_true(file >= 0);
    options.struct_size = sizeof options;
    assert_ok(context_on(NULL, 1, VOLTA_ISA_AUTO, 0, &context));
    trainer = new_trainer(context, 1);
    assert_ok(volta_profile_start(context, &options));
    train(trainer, 1);
    assert_ok(volta_profile_stop(context));
    full = info_of(context);
    for (i = 0; i < full.operator_count; ++i) calls += operator_of(context, i).calls;
    options.capacity = 10;
    assert_ok(volta_profile_start(context, &options));
    train(trainer, 1);
    assert_ok(volta_profile_stop(context));
    few = info_of(context);
    assert_int_equal(few.event_count, 10);
    assert_int_equal(few.dropped, full.event_count - 10);
    assert_int_equal(few.operator_count, full.operator_count);
    for (i = 0; i < few.operator_count; ++i) more += operator_of(context, i).calls;
    assert_int_equal(more, calls);
    assert_string_equal(event_of(context, 0).name, "train_step");
    assert_true(event_of(context, 0).end_ns >= event_of(context, 9).end_ns);
    assert_ok(volta_profile_write_trace(context, path));
    trace = fopen(path, "r");
    assert_non_null(trace);
    text[fread(text, 1, sizeof text - 1, trace)] = '\0';
    fclose(trace);
    close(file);
    {
        char expected[64];
        snprintf(expected, sizeof expected, "\"dropped_events\":%llu", (unsigned long long)few.dropped);
        assert_non_null(strstr(text, expected));
    }
    unlink(path);
    volta_trainer_release(trainer);
    volta_context_release(context);
}

/* A prompt in pieces and tokens after it: each is a call in a token_step. */
static void test_generation(void** state) {
    static int32_t prompt[20];
    volta_context* context = NULL;
    volta_model* model = NULL;
    volta_generator* generator = NULL;
    volta_generator_options options = {0};
    volta_profile_info info;
    char calls[256] = "";
    int32_t token;
    size_t i;
    (void)state;
    fill_tokens(prompt, 20);
    assert_ok(context_on(NULL, 1, VOLTA_ISA_AUTO, 0, &context));
    assert_ok(small_gpt(context, 0, &model));
    options.struct_size = sizeof options;
    options.prefill_chunk = 16;
    assert_ok(
        volta_profile_start(context, NULL)); /* plans that are made while it records are described too */
    assert_ok(volta_generator_create(model, &options, &generator));
    assert_ok(volta_generator_start(generator, prompt, 20));
    assert_ok(volta_generator_next(generator, &token));
    assert_ok(volta_generator_next(generator, &token));
    assert_ok(volta_profile_stop(context));
    info = info_of(context);
    for (i = 0; i < info.event_count; ++i) {
        const volta_profile_event event = event_of(context, i);
        if (event.kind == VOLTA_PROFILE_CALL)
            sprintf(calls + strlen(calls), "%u:%s:%d ", event.depth, event.name, (int)event.number);
        if (event.kind == VOLTA_PROFILE_STEP && strcmp(event.name, "cached_attention") == 0)
            assert_true(event.bytes == 0 && event.operations == 0 && event.node[0] != '\0');
    }
    assert_string_equal(calls,
                        "0:token_step:1 1:prefill:16 1:prefill:4 1:sample:1 "
                        "0:token_step:1 1:decode:1 1:sample:1 ");
    volta_generator_release(generator);
    volta_model_release(model);
    volta_context_release(context);
}

/* Whichever allocation of the start the host refuses: nothing is recorded, nothing leaks, the trainer goes
 * on. */
static void test_refused_memory(void** state) {
    struct counting_heap heap = {0};
    volta_context* context = NULL;
    volta_trainer* trainer;
    volta_status status = VOLTA_OUT_OF_MEMORY;
    uint64_t refused = 0;
    (void)state;
    assert_ok(context_on(&heap, 1, VOLTA_ISA_AUTO, 0, &context));
    trainer = new_trainer(context, 1);
    train(trainer, 1);
    while (status == VOLTA_OUT_OF_MEMORY) {
        heap.fail_at = heap.count + ++refused;
        status = volta_profile_start(context, NULL);
        train(trainer, 1);
    }
    assert_int_equal(status, VOLTA_OK);
    assert_true(refused > 3); /* the profile, its room, the facts about the plan */
    assert_ok(volta_profile_stop(context));
    assert_true(info_of(context).event_count > 10);
    volta_trainer_release(trainer);
    volta_context_release(context);
    assert_int_equal(heap.live_bytes, 0);
}

static volta_status stop_from_log;
static void stop_in_log(void* user, volta_log_level level, const char* line) {
    (void)level, (void)line;
    if (*(volta_context**)user != NULL) stop_from_log = volta_profile_stop(*(volta_context**)user);
}

static void test_misuse(void** state) {
    struct counting_heap heap = {0};
    volta_context* context = NULL;
    volta_profile_options options = {0};
    volta_profile_info info = {0};
    volta_profile_event event = {0};
    volta_profile_operator row = {0};
    (void)state;
    info.struct_size = sizeof info;
    event.struct_size = sizeof event;
    row.struct_size = sizeof row;
    assert_ok(context_on(&heap, 1, VOLTA_ISA_AUTO, 0, &context));
    assert_fails(volta_profile_start(NULL, NULL), VOLTA_INVALID_ARGUMENT, "context is NULL");
    assert_fails(volta_profile_stop(context), VOLTA_INVALID_STATE, "the context is not recording a profile");
    assert_fails(volta_profile_get_info(context, &info), VOLTA_INVALID_STATE,
                 "the context has no profile: call volta_profile_start first");
    options.struct_size = sizeof options;
    options.capacity = (1 << 24) + 1;
    assert_fails(volta_profile_start(context, &options), VOLTA_INVALID_ARGUMENT,
                 "capacity is 16777217, at most 16777216 events are possible");
    options.capacity = 0;
    assert_ok(volta_profile_start(context, &options));
    assert_fails(volta_profile_start(context, &options), VOLTA_INVALID_STATE,
                 "the context is recording a profile already");
    assert_fails(volta_profile_write_trace(context, "/tmp/never"), VOLTA_INVALID_STATE,
                 "the profile is being recorded: call volta_profile_stop first");
    assert_ok(volta_profile_stop(context));
    assert_ok(volta_profile_get_info(context, &info));
    assert_int_equal(info.event_count, 0);
    assert_int_equal(info.operator_count, 0);
    assert_fails(volta_profile_get_event(context, 0, &event), VOLTA_INVALID_ARGUMENT,
                 "index is 0, the profile has 0 events");
    assert_fails(volta_profile_get_operator(context, 3, &row), VOLTA_INVALID_ARGUMENT,
                 "index is 3, the profile has 0 operators");
    assert_fails(volta_profile_write_trace(context, NULL), VOLTA_INVALID_ARGUMENT, "path is NULL or empty");
    assert_fails(volta_profile_get_info(context, NULL), VOLTA_INVALID_ARGUMENT, "volta_profile_info is NULL");
    assert_int_equal(volta_profile_write_trace(context, "/dev/null/trace.json"), VOLTA_IO_ERROR);
    assert_non_null(strstr(volta_last_error(), "/dev/null/trace.json"));
    /* The host refuses the room: the profile before stays, and nothing is recorded. */
    heap.fail_at = heap.count + 2;
    assert_int_equal(volta_profile_start(context, NULL), VOLTA_OUT_OF_MEMORY);
    assert_ok(volta_profile_get_info(context, &info));
    assert_ok(volta_profile_start(context, NULL)); /* released while it records */
    volta_context_release(context);
    assert_int_equal(heap.live_bytes, 0);
}

/* A host that ends the profile from a callback of the call that is recorded is refused, and the call goes on.
 */
static void test_stop_in_a_callback(void** state) {
    volta_context *context = NULL, *lent = NULL;
    volta_context_options options = {0};
    volta_model* model = NULL;
    volta_trainer* trainer = NULL;
    volta_trainer_options training;
    const int64_t extents[] = {kBatch, kContext};
    static int32_t tokens[kTokens];
    (void)state;
    options.struct_size = sizeof options;
    options.log = stop_in_log;
    options.log_user = &lent;
    assert_ok(volta_context_create(&options, &context));
    assert_ok(small_gpt(context, 0, &model));
    training = small_trainer_options(extents);
    training.learning_rate = 1e30;
    training.warmup_steps = 0;
    training.clip_norm = 0;
    training.nonfinite = VOLTA_NONFINITE_LOG;
    assert_ok(volta_trainer_create(model, &training, &trainer));
    fill_tokens(tokens, kTokens);
    assert_ok(volta_trainer_set_tokens(trainer, tokens, kTokens));
    assert_ok(volta_profile_start(context, NULL));
    lent = context;
    stop_from_log = VOLTA_OK;
    train(trainer, 3);
    lent = NULL;
    assert_int_equal(stop_from_log, VOLTA_INVALID_STATE);
    assert_ok(volta_profile_stop(context));
    volta_trainer_release(trainer);
    volta_model_release(model);
    volta_context_release(context);
}

/* A call that fails ends its event; two contexts have two profiles. */
static void test_contexts_are_independent(void** state) {
    volta_context *one = NULL, *two = NULL;
    volta_trainer *first, *second;
    volta_tensor* wrong = NULL;
    const int64_t shape[] = {1, 1};
    const volta_tensor* inputs[1];
    (void)state;
    assert_ok(context_on(NULL, 1, VOLTA_ISA_AUTO, 0, &one));
    assert_ok(context_on(NULL, 1, VOLTA_ISA_AUTO, 0, &two));
    first = new_trainer(one, 1);
    second = new_trainer(two, 1);
    assert_ok(volta_profile_start(one, NULL));
    train(second, 2);
    train(first, 1);
    assert_ok(volta_profile_start(two, NULL));
    train(first, 1);
    assert_ok(volta_profile_stop(one));
    train(second, 1);
    assert_ok(volta_profile_stop(two));
    train(first, 1);
    {
        const volta_profile_info a = info_of(one), b = info_of(two);
        assert_int_equal(a.event_count, 2 * b.event_count);
        assert_int_equal(event_of(two, 0).number, 3);
    }
    assert_ok(volta_tensor_create(two, VOLTA_I32, shape, 2, &wrong));
    assert_ok(volta_profile_start(two, NULL));
    inputs[0] = wrong;
    assert_int_equal(volta_trainer_step(second, inputs, 1, wrong, NULL), VOLTA_SHAPE_MISMATCH);
    train(second, 1);
    assert_ok(volta_profile_stop(two));
    assert_int_equal(event_of(two, 0).depth, 0);
    volta_tensor_release(wrong);
    volta_trainer_release(first);
    volta_trainer_release(second);
    volta_context_release(one);
    volta_context_release(two);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_training),
        cmocka_unit_test(test_operators),
        cmocka_unit_test(test_dropped),
        cmocka_unit_test(test_bits_and_allocations),
        cmocka_unit_test(test_trace_of_odd_names),
        cmocka_unit_test(test_generation),
        cmocka_unit_test(test_misuse),
        cmocka_unit_test(test_refused_memory),
        cmocka_unit_test(test_stop_in_a_callback),
        cmocka_unit_test(test_contexts_are_independent),
    };
    return cmocka_run_group_tests_name("profile", tests, NULL, NULL);
}
