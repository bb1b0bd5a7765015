/* Where the profiler ends: no room for events, no memory, odd names, wrong calls, calls from callbacks, calls
 * that fail, two contexts. */
#include <unistd.h>

#include "tests/api/profile_test.h"

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
    assert_int_equal(event_of(context, 1).number, 0);
    assert_non_null(strstr(text, "\"number\":0"));
    volta_tensor_release(outputs[0]);
    volta_tensor_release(x);
    volta_session_release(session);
    volta_model_release(model);
    volta_graph_release(graph);
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
    volta_tensor* ids = NULL;
    const int64_t shape[] = {kBatch, kContext};
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
    assert_ok(volta_tensor_create(two, VOLTA_I32, shape, 2, &ids));
    ((int32_t*)volta_tensor_data(ids))[3] = kVocabulary;
    inputs[0] = ids;
    assert_ok(volta_profile_start(two, NULL));
    assert_int_equal(volta_trainer_step(second, inputs, 1, ids, NULL), VOLTA_INVALID_ARGUMENT);
    train(second, 1);
    assert_ok(volta_profile_stop(two));
    assert_string_equal(event_of(two, 0).name, "train_step");
    assert_string_equal(event_of(two, 1).name, "train_step");
    assert_int_equal(event_of(two, 1).depth, 0);
    assert_true(event_of(two, 0).end_ns > 0 && event_of(two, 0).end_ns <= event_of(two, 1).begin_ns);
    assert_int_equal(event_of(two, 1).number, event_of(two, 0).number);
    volta_tensor_release(ids);
    volta_trainer_release(first);
    volta_trainer_release(second);
    volta_context_release(one);
    volta_context_release(two);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dropped),
        cmocka_unit_test(test_trace_of_odd_names),
        cmocka_unit_test(test_refused_memory),
        cmocka_unit_test(test_misuse),
        cmocka_unit_test(test_stop_in_a_callback),
        cmocka_unit_test(test_contexts_are_independent),
    };
    return cmocka_run_group_tests_name("limits of profiles", tests, NULL, NULL);
}
