/* volta_profile_* from C: events nest, are ordered and are named as the plan's print says; times add up;
 * nothing is allocated while it records, and no bit changes. Nothing here depends on how fast anything is. */
#include "tests/api/profile_test.h"

enum { kMostSteps = 512, kMostText = 256 };

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
    uint64_t calls_ns = 0, steps_ns = 0, last_worker_end = 0, live_peak = 0;
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

/* What a thread of the pool has of a step is on its lane. It may have nothing: the caller takes the parts
 * that no thread has begun, and whether one has is the system's business. So steps are recorded until one
 * has. */
static void test_workers(void** state) {
    volta_context* context = NULL;
    volta_trainer* trainer;
    volta_profile_info info;
    uint64_t workers = 0;
    size_t i;
    int step;
    (void)state;
    assert_ok(context_on(NULL, 2, VOLTA_ISA_AUTO, 0, &context));
    trainer = new_trainer(context, 2);
    for (step = 0; step < 1000 && workers == 0; ++step) {
        assert_ok(volta_profile_start(context, NULL));
        train(trainer, 1);
        assert_ok(volta_profile_stop(context));
        info = info_of(context);
        for (i = 0; i < info.event_count; ++i) {
            const volta_profile_event event = event_of(context, i);
            workers += event.kind == VOLTA_PROFILE_WORKER && event.thread == 1;
        }
    }
    assert_true(workers > 0);
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

/* A trace is UTF-8, whatever bytes a host's names are made of. */
static void test_names_that_are_no_text(void** state) {
    static const char kPath[] = "test_profile_names.json";
    static char text[65536];
    const int64_t shape[] = {4, 3}, column[] = {3};
    volta_context* context = NULL;
    volta_graph* graph;
    volta_model* model;
    volta_session* session;
    volta_tensor* tensors[2];
    volta_value x, w, y;
    (void)state;
    assert_ok(context_on(NULL, 1, VOLTA_ISA_AUTO, 0, &context));
    assert_ok(volta_graph_create(context, &graph));
    assert_ok(volta_graph_input(graph, "x", VOLTA_F32, shape, 2, &x));
    assert_ok(volta_graph_parameter(graph, "a\xff\"\xc3\xa9", column, 1, NULL, &w));
    assert_ok(volta_graph_binary(graph, "mul", x, w, &y));
    assert_ok(volta_graph_output(graph, "y", y));
    assert_ok(volta_model_create(graph, 1, &model));
    assert_ok(volta_session_create(model, NULL, &session));
    for (int i = 0; i < 2; ++i) assert_ok(volta_tensor_create(context, VOLTA_F32, shape, 2, &tensors[i]));
    assert_ok(volta_profile_start(context, NULL));
    const volta_tensor* given = tensors[0];
    assert_ok(volta_session_run(session, &given, 1, &tensors[1], 1));
    assert_ok(volta_profile_stop(context));
    assert_ok(volta_profile_write_trace(context, kPath));
    FILE* const file = fopen(kPath, "rb");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    remove(kPath);
    assert_non_null(strstr(text, "\"node\":\"a\\ufffd\\u0022\xc3\xa9\""));
    for (int i = 0; i < 2; ++i) volta_tensor_release(tensors[i]);
    volta_session_release(session);
    volta_model_release(model);
    volta_graph_release(graph);
    volta_context_release(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_that_are_no_text),
        cmocka_unit_test(test_training),
        cmocka_unit_test(test_workers),
        cmocka_unit_test(test_operators),
        cmocka_unit_test(test_bits_and_allocations),
        cmocka_unit_test(test_generation),
    };
    return cmocka_run_group_tests_name("profile", tests, NULL, NULL);
}
