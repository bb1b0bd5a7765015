/* Where the host called from: in the tape's report and in sentences; and the status of calls that give none.
 */
#include "tests/api/api_test.h"

enum { kExtent = 8 };

static volta_tape* tape_of(volta_context* context, uint32_t flags) {
    volta_tape_options options = VOLTA_TAPE_OPTIONS_INIT;
    volta_tape* tape;
    options.mode = VOLTA_TAPE_LAZY;
    options.flags = flags;
    assert_ok(volta_tape_create(context, &options, &tape));
    return tape;
}

static volta_tensor* vector_of(volta_context* context) {
    const int64_t shape[] = {kExtent};
    volta_tensor* tensor;
    assert_ok(volta_tensor_create(context, VOLTA_F32, shape, 1, &tensor));
    assert_ok(volta_tensor_fill(tensor, 0.5));
    return tensor;
}

static void expect_line(volta_tape* tape, const char* code, const char* place) {
    const char* text;
    char line[64];
    assert_ok(volta_tape_report(tape, 0, &text));
    for (const char* at = strstr(text, "record "); at != NULL; at = strstr(at + 1, "\nrecord ")) {
        const char* end = strchr(at + 1, '\n');
        const char* found = strstr(at, code);
        if (found == NULL || (end != NULL && found > end)) continue;
        const char* where = strstr(at, place);
        if (where != NULL && (end == NULL || where < end)) return;
    }
    snprintf(line, sizeof line, "no %s at %s", code, place);
    print_error("%s in\n%s", line, text);
    fail();
}

static void the_report_has_the_place_of_every_call(void** state) {
    (void)state;
    volta_context* context;
    volta_tape_optimizer* optimizer;
    volta_optimizer_options settings = VOLTA_OPTIMIZER_OPTIONS_INIT;
    double value;
    settings.learning_rate = 0.1;
    assert_ok(volta_context_create(NULL, &context));
    volta_tape* tape = tape_of(context, 0);
    volta_tensor *w = vector_of(context), *loss;
    assert_ok(volta_tensor_set_requires_grad(w, 1));
    assert_ok(volta_tape_optimizer_create(tape, &settings, &w, 1, &optimizer));

    loss = volta_op(tape, "mean", volta_op(tape, "exp", w));
    assert_ptr_equal(volta_tape_at(tape, "read.c", 11), tape);
    assert_ok(volta_tensor_item(loss, &value));
    assert_ok(volta_tape_backward(volta_tape_at(tape, "backward.c", 12), loss));
    volta_tape_at(tape, "gradient.c", 13);
    assert_non_null(volta_tensor_data(volta_tensor_grad(w)));
    assert_ok(volta_tape_step(volta_tape_at(tape, "step.c", 14), optimizer, NULL));
    volta_op(tape, "exp", w);
    assert_ok(
        volta_tape_flush(volta_tape_at(tape, "a/folder/with/a/long/name/as/they/are/in/builds/flush.c", 15)));
    assert_ok(volta_tape_reset(tape));
    expect_line(tape, "VG002", "at read.c:11");
    expect_line(tape, "VG006", "at gradient.c:13");
    expect_line(tape, "VG003", "at step.c:14");
    expect_line(tape, "VG005", "/builds/flush.c:15");

    /* It counts for one call that has none of its own, whatever that does. */
    loss = volta_op(tape, "mean", w);
    volta_tape_at(tape, "around.c", 16);
    volta_op(tape, "exp", w);
    assert_ok(volta_tensor_item(loss, &value));
    expect_line(tape, "VG002", "at around.c:16");
    volta_tape_at(tape, "stale.c", 17);
    assert_ok(volta_tensor_item(loss, &value)); /* there already */
    assert_ok(volta_tensor_item(volta_op(tape, "sum", w), &value));
    volta_tape_at(volta_tape_at(tape, "stale.c", 18), NULL, 0);
    assert_ok(volta_tensor_item(volta_op(tape, "abs", loss), &value));
    const char* text;
    assert_ok(volta_tape_report(tape, 0, &text));
    assert_null(strstr(text, "stale.c"));
    assert_null(volta_tape_at(NULL, "nowhere.c", 1));

    /* A record's end computes what is kept. */
    volta_tensor* kept = volta_op(tape, "log", w);
    assert_ok(volta_tensor_keep(kept));
    assert_ok(volta_tape_reset(volta_tape_at(tape, "end.c", 19)));
    volta_tensor_release(kept);
    expect_line(tape, "VG004", "at end.c:19");

    /* In C, volta_here says it. */
    volta_here(tape);
    assert_ok(volta_tensor_item(volta_op(tape, "mean", volta_op(tape, "tanh", w)), &value));
    volta_tensor* last = volta_op(tape, "mean", volta_op(tape, "sigmoid", w));
    char here[64];
    snprintf(here, sizeof here, "test_tape_places.c:%d", __LINE__ + 1);
    assert_ok(volta_tape_flush(volta_here(tape)));
    expect_line(tape, "VG005", here);
    (void)last;
    volta_tape_optimizer_release(optimizer);
    volta_tape_release(tape);
    volta_tensor_release(w);
    volta_context_release(context);
}

static void sentences_have_the_place(void** state) {
    (void)state;
    volta_context* context;
    assert_ok(volta_context_create(NULL, &context));
    volta_tape* tape = tape_of(context, 0);
    volta_tensor* w = vector_of(context);
    /* Whichever argument is evaluated first. */
    assert_int_equal(volta_tape_backward(volta_tape_at(tape, "train.c", 22), volta_op(tape, "mean", w)),
                     VOLTA_INVALID_STATE);
    assert_string_equal(
        volta_last_error(),
        "backward: no tensor of the record requires a gradient: volta_tensor_set_requires_grad "
        "(train.c:22)");
    /* A failure of the record keeps its own. */
    volta_tape_detach(volta_tape_at(tape, "train.c", 23), NULL);
    assert_int_equal(volta_tape_flush(volta_tape_at(tape, "train.c", 24)), VOLTA_INVALID_ARGUMENT);
    assert_string_equal(volta_last_error(), "tensor is NULL (train.c:23)");
    /* And ends with it: the tape is as good as new. */
    assert_ok(volta_tape_reset(tape));
    assert_ok(volta_tape_status(tape));
    double value;
    assert_ok(volta_tensor_item(volta_op(tape, "mean", w), &value));
    assert_true(value == 0.5);
    volta_tape_release(tape);
    volta_tensor_release(w);
    volta_context_release(context);
}

static void data_that_fails_has_a_status(void** state) {
    (void)state;
    volta_context* context;
    assert_ok(volta_context_create(NULL, &context));
    volta_tape* tape = tape_of(context, VOLTA_TAPE_ONE_SEGMENT);
    volta_tensor* w = vector_of(context);
    volta_tensor *first = volta_op(tape, "exp", w), *second = volta_op(tape, "neg", first);
    assert_non_null(volta_tensor_data(first));
    assert_int_equal(volta_last_status(), VOLTA_OK);
    volta_tape_at(tape, "look.c", 31);
    assert_null(volta_tensor_data(second));
    assert_int_equal(volta_last_status(), VOLTA_INVALID_STATE);
    assert_non_null(strstr(volta_last_error(), "would be a second flush (VG002) (look.c:31)"));
    assert_non_null(volta_tensor_data(first)); /* a call that succeeds is the latest then */
    assert_int_equal(volta_last_status(), VOLTA_OK);
    assert_null(volta_tensor_data(NULL));
    assert_int_equal(volta_last_status(), VOLTA_INVALID_ARGUMENT);
    assert_ok(volta_tape_reset(tape));
    assert_null(volta_tensor_data(first)); /* of a record that has ended */
    assert_int_equal(volta_last_status(), VOLTA_INVALID_STATE);

    const int64_t none[] = {0, 3};
    volta_tensor* empty;
    assert_ok(volta_tensor_create(context, VOLTA_F32, none, 2, &empty));
    assert_null(volta_tensor_data(NULL));
    volta_tensor_data(empty); /* whatever it is, it is no failure */
    assert_int_equal(volta_last_status(), VOLTA_OK);
    /* A poisoned tensor's is the record's first failure. */
    volta_tensor* poison = volta_op(tape, "matmul", w, empty);
    assert_null(volta_tensor_data(poison));
    const volta_status found = volta_last_status();
    assert_int_equal(found, volta_tape_status(tape));
    assert_int_not_equal(found, VOLTA_OK);
    volta_tensor_release(empty);
    volta_tape_release(tape);
    volta_tensor_release(w);
    volta_context_release(context);
}

/* Kept, it is the host's to release, but has no elements. */
static void what_a_failed_record_kept_is_refused(void** state) {
    (void)state;
    static const char kLost[] = "the tensor was kept, but its record failed before it was computed";
    volta_context* context;
    volta_graph* graph;
    volta_value constant;
    const char* text;
    double value;
    assert_ok(volta_context_create(NULL, &context));
    volta_tape* tape = tape_of(context, 0);
    volta_tensor *w = vector_of(context), *lost = volta_op(tape, "exp", w);
    assert_ok(volta_tensor_keep(lost));
    volta_op(tape, "no such operator", w);
    assert_ok(volta_tape_reset(tape));
    assert_int_equal(volta_tensor_item(volta_op(tape, "mean", lost), &value), VOLTA_INVALID_STATE);
    assert_non_null(strstr(volta_last_error(), "mean: input 0 has no elements yet"));
    assert_ok(volta_tape_reset(tape));
    assert_null(volta_tensor_data(lost));
    assert_int_equal(volta_last_status(), VOLTA_INVALID_STATE);
    assert_fails(volta_tensor_print(lost, &text), VOLTA_INVALID_STATE, kLost);
    assert_fails(volta_tensor_fill(lost, 1), VOLTA_INVALID_STATE, kLost);
    assert_fails(volta_tensor_arange(lost, 0, 1), VOLTA_INVALID_STATE, kLost);
    assert_fails(volta_tensor_set_requires_grad(lost, 1), VOLTA_INVALID_STATE, kLost);
    assert_ok(volta_graph_create(context, &graph));
    assert_fails(volta_graph_constant(graph, lost, &constant), VOLTA_INVALID_STATE, kLost);
    /* A result that is there only when it is asked for is a constant as any other. */
    assert_ok(volta_graph_constant(graph, volta_op(tape, "exp", w), &constant));
    volta_graph_release(graph);
    volta_tensor_release(lost);
    volta_tape_release(tape);
    volta_tensor_release(w);
    volta_context_release(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_report_has_the_place_of_every_call),
                                       cmocka_unit_test(sentences_have_the_place),
                                       cmocka_unit_test(data_that_fails_has_a_status),
                                       cmocka_unit_test(what_a_failed_record_kept_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
