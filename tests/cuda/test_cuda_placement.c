/* Where plans run: on the device that the context names, all of it, or not at all. Who computes is counted by
 * what the processor leaves behind: steps that name a kernel of its own, parts that threads of the pool had,
 * pages of machine code. */
#include "tests/api/api_test.h"

enum { kTokens = 400, kThreads = 3 };

static volta_context* context_of(const char* device) {
    volta_context_options options = {0};
    volta_context* context = NULL;
    options.struct_size = sizeof options;
    options.device = device;
    options.thread_count = kThreads;
    assert_ok(volta_context_create(&options, &context));
    return context;
}

static volta_trainer* trainer_of(volta_model* model) {
    static int32_t tokens[kTokens];
    const int64_t shape[] = {2, 8};
    const volta_trainer_options options = small_trainer_options(shape);
    volta_trainer* trainer = NULL;
    fill_tokens(tokens, kTokens);
    assert_ok(volta_trainer_create(model, &options, &trainer));
    assert_ok(volta_trainer_set_tokens(trainer, tokens, kTokens));
    return trainer;
}

/* Training, an evaluation and a text. */
static void work(volta_model* model) {
    static const int32_t prompt[] = {1, 2, 3};
    volta_trainer* trainer;
    volta_generator* generator = NULL;
    double loss = 0;
    int32_t token = -1;
    int i;
    trainer = trainer_of(model);
    for (i = 0; i < 3; ++i) assert_ok(volta_trainer_step_tokens(trainer, NULL));
    assert_ok(volta_trainer_evaluate_tokens(trainer, prompt, 3, &loss));
    assert_ok(volta_trainer_update_model(trainer));
    volta_trainer_release(trainer);
    assert_ok(volta_generator_create(model, NULL, &generator));
    assert_ok(volta_generator_start(generator, prompt, 3));
    for (i = 0; i < 3; ++i) assert_ok(volta_generator_next(generator, &token));
    volta_generator_release(generator);
}

struct share {
    uint64_t device_steps, host_steps, pool_parts, code_bytes, launches;
    int jit_active;
};

/* What the steps of a profile and the context say about who computed. */
static struct share share_of(const char* device) {
    volta_context* const context = context_of(device);
    volta_profile_info profile = {0};
    volta_context_info info = {0};
    volta_device_info traffic = {0};
    volta_model* model = NULL;
    struct share share = {0};
    uint64_t i;
    profile.struct_size = sizeof profile, info.struct_size = sizeof info,
    traffic.struct_size = sizeof traffic;
    assert_ok(small_gpt(context, 0.1, &model)); /* the processor draws what parameters begin with */
    assert_ok(volta_context_get_info(context, &info));
    share.code_bytes = info.code_bytes;
    assert_ok(volta_profile_start(context, NULL));
    work(model);
    assert_ok(volta_profile_stop(context));
    assert_ok(volta_profile_get_info(context, &profile));
    assert_int_equal(profile.dropped, 0);
    for (i = 0; i < profile.event_count; ++i) {
        volta_profile_event event = {0};
        event.struct_size = sizeof event;
        assert_ok(volta_profile_get_event(context, i, &event));
        if (event.kind == VOLTA_PROFILE_WORKER) ++share.pool_parts;
        if (event.kind != VOLTA_PROFILE_STEP) continue;
        if (strncmp(event.kernel, "cuda ", 5) == 0)
            ++share.device_steps;
        else
            ++share.host_steps;
    }
    assert_ok(volta_context_get_info(context, &info));
    assert_ok(volta_context_get_device(context, &traffic));
    share.code_bytes = info.code_bytes - share.code_bytes;
    share.jit_active = info.jit_active;
    share.launches = traffic.launches;
    volta_model_release(model);
    volta_context_release(context);
    return share;
}

static void test_no_kernel_of_the_host_runs(void** state) {
    const struct share cpu = share_of("cpu"), cuda = share_of("cuda");
    (void)state;
    /* What is counted can be seen. */
    assert_int_equal(cpu.device_steps, 0);
    assert_true(cpu.host_steps > 100);
    assert_true(cpu.code_bytes > 0 || !cpu.jit_active);
    assert_int_equal(cpu.launches, 0);

    assert_int_equal(cuda.host_steps, 0);
    assert_int_equal(cuda.pool_parts, 0);
    assert_int_equal(cuda.code_bytes, 0);
    assert_int_equal(cuda.device_steps, cpu.host_steps);
    assert_true(cuda.launches >= cuda.device_steps);
}

static void test_the_plan_says_where_it_runs(void** state) {
    static const char* const devices[] = {"cpu", "cuda"};
    int i;
    (void)state;
    for (i = 0; i < 2; ++i) {
        volta_context* const context = context_of(devices[i]);
        volta_model* model = NULL;
        volta_trainer* trainer;
        const char *text = NULL, *place;
        assert_ok(small_gpt(context, 0, &model));
        trainer = trainer_of(model);
        assert_ok(volta_trainer_print_plan(trainer, &text));
        place = strstr(text, i == 0 ? "\nkernels\n" : "\nkernels on cuda:0\n");
        assert_non_null(place);
        assert_null(strstr(place + 1, "\nkernels"));
        volta_trainer_release(trainer);
        volta_model_release(model);
        volta_context_release(context);
    }
}

static volta_device_info device_of(volta_context* context) {
    volta_device_info device = {0};
    device.struct_size = sizeof device;
    assert_ok(volta_context_get_device(context, &device));
    return device;
}

/* Trainers in a context of this budget: one, and then another, which may not fit. Returns what the first took
 * of the device. */
static uint64_t trainers_within(uint64_t budget, volta_status expected) {
    const int64_t shape[] = {2, 8};
    const volta_trainer_options training = small_trainer_options(shape);
    volta_context_options options = {0};
    volta_context* context = NULL;
    volta_model* model = NULL;
    volta_trainer *trainer = NULL, *second = NULL;
    uint64_t held;
    options.struct_size = sizeof options;
    options.device = "cuda";
    options.device_budget = budget;
    assert_ok(volta_context_create(&options, &context));
    assert_true(device_of(context).memory_bytes > budget);
    assert_int_equal(device_of(context).free_bytes, budget);
    assert_ok(small_gpt(context, 0, &model));
    assert_ok(volta_trainer_create(model, &training, &trainer));
    held = device_of(context).bytes_in_use;
    assert_int_equal(device_of(context).free_bytes, budget - held);
    assert_int_equal(volta_trainer_create(model, &training, &second), expected);
    if (expected != VOLTA_OK) assert_non_null(strstr(volta_last_error(), "the device has "));
    volta_trainer_release(second);
    volta_trainer_release(trainer);
    volta_model_release(model);
    assert_int_equal(device_of(context).free_bytes, budget);
    volta_context_release(context);
    return held;
}

/* What is free is what the budget leaves, however much the device has. */
static void test_budget(void** state) {
    const uint64_t held = trainers_within((uint64_t)1 << 30, VOLTA_OK);
    (void)state;
    assert_true(held > 0);
    trainers_within(held + held / 2, VOLTA_OUT_OF_MEMORY);
}

static char why[256]; /* the sentence of the latest call below */

/* One head of 257 elements, which the processor computes. */
static volta_status wide_attention(volta_context* context) {
    static const char* const names[] = {"q", "k", "v"};
    const int64_t shape[] = {1, 4, 257};
    const volta_attribute heads = {"heads", 1, NULL, 0};
    volta_value inputs[3], outputs[3];
    volta_graph* graph = NULL;
    volta_model* model = NULL;
    volta_session* session = NULL;
    volta_status status;
    int i;
    assert_ok(volta_graph_create(context, &graph));
    for (i = 0; i < 3; ++i) assert_ok(volta_graph_input(graph, names[i], VOLTA_F32, shape, 3, &inputs[i]));
    assert_ok(volta_graph_apply(graph, "attention", inputs, 3, &heads, 1, outputs, 3));
    assert_ok(volta_graph_output(graph, "o", outputs[0]));
    assert_ok(volta_model_create(graph, 1, &model));
    volta_graph_release(graph);
    status = volta_session_create(model, NULL, &session);
    snprintf(why, sizeof why, "%s", volta_last_error());
    volta_session_release(session);
    volta_model_release(model);
    return status;
}

/* Of a GPT, whose positions come before its attention. */
static volta_status packed_trainer(volta_context* context) {
    const int64_t shape[] = {2, 16};
    volta_trainer_options options = small_trainer_options(shape);
    volta_model* model = NULL;
    volta_trainer* trainer = NULL;
    volta_status status;
    options.packed_documents = 1;
    assert_ok(small_gpt(context, 0, &model));
    status = volta_trainer_create(model, &options, &trainer);
    snprintf(why, sizeof why, "%s", volta_last_error());
    volta_trainer_release(trainer);
    volta_model_release(model);
    return status;
}

/* One row of four tokens, of two documents. */
static volta_status attention_of_documents(volta_context* context) {
    const int64_t shape[] = {1, 4, 24}, places[] = {1, 4};
    const volta_attribute attributes[] = {
        {"heads", 2, NULL, 0}, {"packed", 1, NULL, 0}, {"documents", 1, NULL, 0}};
    volta_value inputs[2], outputs[3];
    volta_graph* graph = NULL;
    volta_model* model = NULL;
    volta_session* session = NULL;
    volta_status status;
    assert_ok(volta_graph_create(context, &graph));
    assert_ok(volta_graph_input(graph, "qkv", VOLTA_F32, shape, 3, &inputs[0]));
    assert_ok(volta_graph_input(graph, "starts", VOLTA_I32, places, 2, &inputs[1]));
    assert_ok(volta_graph_apply(graph, "attention", inputs, 2, attributes, 3, outputs, 3));
    assert_ok(volta_graph_output(graph, "o", outputs[0]));
    assert_ok(volta_model_create(graph, 1, &model));
    volta_graph_release(graph);
    status = volta_session_create(model, NULL, &session);
    snprintf(why, sizeof why, "%s", volta_last_error());
    volta_session_release(session);
    volta_model_release(model);
    return status;
}

static void test_what_the_device_lacks_is_named(void** state) {
    volta_context *cpu = context_of("cpu"), *cuda = context_of("cuda");
    (void)state;
    assert_ok(packed_trainer(cpu));
    assert_int_equal(packed_trainer(cuda), VOLTA_UNSUPPORTED);
    assert_string_equal(why, "position_ids: its rows hold packed documents on CUDA at level strict");
    assert_ok(attention_of_documents(cpu));
    assert_int_equal(attention_of_documents(cuda), VOLTA_UNSUPPORTED);
    assert_string_equal(why, "attention: its rows hold packed documents on CUDA at level strict");
    assert_ok(wide_attention(cpu));
    assert_int_equal(wide_attention(cuda), VOLTA_UNSUPPORTED);
    assert_string_equal(why, "attention: heads have more than 256 elements on CUDA at level strict");
    volta_context_release(cpu);
    volta_context_release(cuda);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_kernel_of_the_host_runs),
        cmocka_unit_test(test_the_plan_says_where_it_runs),
        cmocka_unit_test(test_what_the_device_lacks_is_named),
        cmocka_unit_test(test_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
