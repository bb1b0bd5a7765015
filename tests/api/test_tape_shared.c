/* What several tapes have in common: tensors that more than one record reads, gradients that add up from
 * record to record, and refusals where one record would change what another has yet to read. */
#include "tests/api/api_test.h"

enum { kRows = 4, kColumns = 6 };

struct world {
    volta_context* context;
    volta_tensor *x, *w;
    volta_tape* tapes[2];
    volta_tape_optimizer* optimizers[2];
};

static void fill(volta_tensor* tensor, int step) {
    float* data = volta_tensor_data(tensor);
    for (int64_t i = 0; i < volta_tensor_elements(tensor); ++i)
        data[i] = (float)((i * 37 + step * 11 + 5) % 23) / 16 - 0.7f;
}

static void open_world(struct world* world, volta_tape_mode first, volta_tape_mode second) {
    const int64_t x[] = {kRows, kColumns}, w[] = {kColumns, kColumns};
    const volta_tape_mode modes[] = {first, second};
    assert_ok(volta_context_create(NULL, &world->context));
    assert_ok(volta_tensor_create(world->context, VOLTA_F32, x, 2, &world->x));
    assert_ok(volta_tensor_create(world->context, VOLTA_F32, w, 2, &world->w));
    fill(world->x, 0);
    fill(world->w, 1);
    assert_ok(volta_tensor_set_requires_grad(world->w, 1));
    for (int t = 0; t < 2; ++t) {
        volta_tape_options options = VOLTA_TAPE_OPTIONS_INIT;
        volta_optimizer_options settings = VOLTA_OPTIMIZER_OPTIONS_INIT;
        options.mode = modes[t];
        settings.learning_rate = 0.1;
        assert_ok(volta_tape_create(world->context, &options, &world->tapes[t]));
        assert_ok(
            volta_tape_optimizer_create(world->tapes[t], &settings, &world->w, 1, &world->optimizers[t]));
    }
}

static void close_world(struct world* world) {
    for (int t = 0; t < 2; ++t) {
        volta_tape_optimizer_release(world->optimizers[t]);
        volta_tape_release(world->tapes[t]);
    }
    volta_tensor_release(world->x);
    volta_tensor_release(world->w);
    volta_context_release(world->context);
}

/* Another function of both tensors per tape. */
static volta_tensor* loss_of(struct world* world, int t) {
    volta_tape* tape = world->tapes[t];
    volta_tensor* y =
        volta_op(tape, t == 0 ? "tanh" : "sigmoid", volta_op(tape, "matmul", world->x, world->w));
    return volta_op(tape, "mean", volta_op(tape, "mul", y, y));
}

static double loss_alone(int t) {
    struct world world;
    double value;
    open_world(&world, VOLTA_TAPE_LAZY, VOLTA_TAPE_LAZY);
    assert_ok(volta_tensor_item(loss_of(&world, t), &value));
    close_world(&world);
    return value;
}

static void records_read_one_tensor(void** state) {
    (void)state;
    const double expected[] = {loss_alone(0), loss_alone(1)};
    for (int mode = 0; mode < 4; ++mode) {
        struct world world;
        double values[2];
        open_world(&world, mode % 2, mode / 2);
        for (int round = 0; round < 3; ++round) {
            volta_tensor *first = loss_of(&world, 0), *second = loss_of(&world, 1);
            assert_ok(volta_tape_status(world.tapes[0]));
            assert_ok(volta_tape_status(world.tapes[1]));
            /* The tensors are in both records, whichever ends first. */
            if (round == 1) assert_ok(volta_tensor_item(first, &values[0]));
            if (round == 1) assert_ok(volta_tape_reset(world.tapes[0]));
            assert_ok(volta_tensor_item(second, &values[1]));
            if (round == 1) first = loss_of(&world, 0);
            assert_ok(volta_tensor_item(first, &values[0]));
            assert_true(values[0] == expected[0] && values[1] == expected[1]);
            for (int t = 0; t < 2; ++t) assert_ok(volta_tape_reset(world.tapes[t]));
        }
        close_world(&world);
    }
}

/* y = w * w in a function of its own, within another tape's record. */
static volta_status square(void* user, volta_tape* tape, volta_tensor* const* inputs, size_t input_count,
                           volta_tensor** outputs, size_t output_count) {
    (void)user, (void)input_count, (void)output_count;
    outputs[0] = volta_op(tape, "mul", inputs[0], inputs[0]);
    return volta_tape_status(tape);
}

static void a_compiled_function_reads_what_a_record_holds(void** state) {
    (void)state;
    struct world world;
    volta_compiled* compiled;
    volta_tensor* squares;
    double value;
    open_world(&world, VOLTA_TAPE_LAZY, VOLTA_TAPE_LAZY);
    assert_ok(volta_compile(world.context, square, NULL, NULL, &compiled));
    volta_tensor* loss = loss_of(&world, 0);
    assert_ok(volta_compiled_call(compiled, &world.w, 1, &squares, 1));
    const float w = ((const float*)volta_tensor_data(world.w))[3];
    assert_true(((const float*)volta_tensor_data(squares))[3] == w * w);
    assert_ok(volta_tensor_item(loss, &value));
    assert_true(value == loss_alone(0));
    volta_compiled_release(compiled);
    close_world(&world);
}

static void refused(volta_status status, const char* sentence) {
    assert_int_equal(status, VOLTA_INVALID_STATE);
    assert_non_null(strstr(volta_last_error(), sentence));
}

/* Both losses' gradients, one record after the other, are those of one record. */
static void gradients_add_up(void** state) {
    (void)state;
    float expected[kColumns * kColumns];
    for (int mode = 0; mode < 4; ++mode) {
        struct world world;
        open_world(&world, mode % 2, mode / 2);
        for (int t = 0; t < 2; ++t) {
            assert_ok(volta_tape_backward(world.tapes[t], loss_of(&world, t)));
            assert_ok(volta_tape_reset(world.tapes[t]));
        }
        const float* gradient = volta_tensor_data(volta_tensor_grad(world.w));
        if (mode == 0) memcpy(expected, gradient, sizeof expected);
        assert_memory_equal(gradient, expected, sizeof expected);
        /* And a step of either tape takes them. */
        volta_tensor* loss = loss_of(&world, 1);
        assert_ok(volta_tape_step(world.tapes[1], world.optimizers[1], NULL));
        (void)loss;
        close_world(&world);
    }
}

static void a_gradient_is_added_to_in_one_record_at_a_time(void** state) {
    (void)state;
    static const char kHeld[] =
        "backward: the gradient of a tensor of shape [6, 6] is held by the record of another tape";
    for (int known = 0; known < 2; ++known)
        for (int mode = 0; mode < 4; ++mode) {
            struct world world;
            open_world(&world, mode % 2, mode / 2);
            if (known) /* the refused call is then the known trace's */
                for (int t = 0; t < 2; ++t) {
                    assert_ok(volta_tape_backward(world.tapes[t], loss_of(&world, t)));
                    assert_ok(volta_tape_reset(world.tapes[t]));
                    assert_ok(volta_tensor_zero_grad(world.w));
                }
            assert_ok(volta_tape_backward(world.tapes[0], loss_of(&world, 0)));
            volta_tensor* second = loss_of(&world, 1);
            refused(volta_tape_backward(world.tapes[1], second), kHeld);
            assert_ok(volta_tape_status(world.tapes[1])); /* which can go on */
            refused(volta_tape_step(world.tapes[1], world.optimizers[1], NULL), "another tape");
            assert_ok(volta_tape_reset(world.tapes[0]));
            assert_ok(volta_tape_backward(world.tapes[1], second));
            assert_ok(volta_tape_step(world.tapes[1], world.optimizers[1], NULL));
            close_world(&world);
        }
}

static void a_gradient_of_another_record_is_no_operand(void** state) {
    (void)state;
    struct world world;
    open_world(&world, VOLTA_TAPE_LAZY, VOLTA_TAPE_LAZY);
    assert_ok(volta_tape_backward(world.tapes[0], loss_of(&world, 0)));
    volta_op(world.tapes[1], "neg", volta_tensor_grad(world.w));
    refused(volta_tape_status(world.tapes[1]),
            "neg: input 0 is a gradient that the record of another tape holds until its reset");
    assert_ok(volta_tape_reset(world.tapes[1]));
    assert_ok(volta_tape_status(world.tapes[1])); /* the failure ended with the record */
    assert_ok(volta_tape_reset(world.tapes[0]));
    double value;
    assert_ok(volta_tensor_item(
        volta_op(world.tapes[1], "sum", volta_op(world.tapes[1], "neg", volta_tensor_grad(world.w))),
        &value));
    close_world(&world);
}

/* What another record has yet to read does not change under it. */
static void a_step_changes_what_its_own_record_alone_reads(void** state) {
    (void)state;
    struct world world;
    float before[kColumns * kColumns];
    double value;
    open_world(&world, VOLTA_TAPE_LAZY, VOLTA_TAPE_LAZY);
    memcpy(before, volta_tensor_data(world.w), sizeof before);
    volta_tensor* waiting = loss_of(&world, 1);
    assert_ok(volta_tape_backward(world.tapes[0], loss_of(&world, 0)));
    refused(
        volta_tape_step(world.tapes[0], world.optimizers[0], NULL),
        "step: a tensor of shape [6, 6] would change that the record of another tape reads until its reset");
    assert_memory_equal(volta_tensor_data(world.w), before, sizeof before);
    refused(volta_tensor_set_requires_grad(world.w, 0), "a record holds the tensor");
    assert_ok(volta_tensor_item(waiting, &value));
    assert_true(value == loss_alone(1));
    assert_ok(volta_tape_reset(world.tapes[1]));
    assert_ok(volta_tape_step(world.tapes[0], world.optimizers[0], NULL));
    assert_true(memcmp(volta_tensor_data(world.w), before, sizeof before) != 0);
    /* Changed, it is a new value in this record, also where the other has it first. */
    double again;
    volta_tensor* other = loss_of(&world, 1);
    assert_ok(volta_tensor_item(loss_of(&world, 0), &value));
    assert_ok(volta_tape_reset(world.tapes[0]));
    assert_ok(volta_tensor_item(loss_of(&world, 0), &again));
    assert_true(value == again);
    assert_ok(volta_tensor_item(other, &value));
    close_world(&world);
}

/* A tape that ends lets go of what it read. */
static void a_tape_that_ends_holds_nothing(void** state) {
    (void)state;
    struct world world;
    double value;
    open_world(&world, VOLTA_TAPE_LAZY, VOLTA_TAPE_LAZY);
    volta_tensor* loss = loss_of(&world, 1);
    loss_of(&world, 0);
    volta_tape_optimizer_release(world.optimizers[0]);
    volta_tape_release(world.tapes[0]);
    world.optimizers[0] = NULL;
    world.tapes[0] = NULL;
    assert_ok(volta_tape_backward(world.tapes[1], loss));
    assert_ok(volta_tape_step(world.tapes[1], world.optimizers[1], NULL));
    assert_ok(volta_tensor_item(loss, &value));
    assert_ok(volta_tape_reset(world.tapes[1]));
    assert_ok(volta_tensor_set_requires_grad(world.w, 0));
    close_world(&world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_read_one_tensor),
        cmocka_unit_test(a_compiled_function_reads_what_a_record_holds),
        cmocka_unit_test(gradients_add_up),
        cmocka_unit_test(a_gradient_is_added_to_in_one_record_at_a_time),
        cmocka_unit_test(a_gradient_of_another_record_is_no_operand),
        cmocka_unit_test(a_step_changes_what_its_own_record_alone_reads),
        cmocka_unit_test(a_tape_that_ends_holds_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
