/* Batch norm on a tape: when running statistics follow, and when they stay. That they have a trainer's bits
 * over many steps of a network: test_tape_networks.c. */
#include <math.h>

#include "tests/api/api_test.h"

enum { kRows = 6, kChannels = 3, kTensors = 4 };

struct world {
    volta_context* context;
    volta_tape* tape;
    volta_tape_optimizer* optimizer;
    volta_tensor* tensors[kTensors]; /* scale, bias, running mean, running variance */
};

static volta_tensor* rows_of(volta_context* context, int64_t rows, int first) {
    const int64_t shape[] = {rows, kChannels};
    volta_tensor* x;
    assert_ok(volta_tensor_create(context, VOLTA_F32, shape, 2, &x));
    float* data = volta_tensor_data(x);
    for (int64_t i = 0; i < rows * kChannels; ++i)
        data[i] = (float)(((first * kChannels + i) * 37) % 23) / 16 - 0.7f;
    return x;
}

static void open_world(struct world* world, volta_tape_mode mode) {
    const int64_t channels[] = {kChannels};
    volta_tape_options options = VOLTA_TAPE_OPTIONS_INIT;
    volta_optimizer_options settings = VOLTA_OPTIMIZER_OPTIONS_INIT;
    options.mode = mode;
    settings.learning_rate = 0.01;
    assert_ok(volta_context_create(NULL, &world->context));
    assert_ok(volta_tape_create(world->context, &options, &world->tape));
    for (int t = 0; t < kTensors; ++t) {
        assert_ok(volta_tensor_create(world->context, VOLTA_F32, channels, 1, &world->tensors[t]));
        assert_ok(volta_tensor_fill(world->tensors[t], t % 3 == 0 ? 1 : 0));
        if (t < 2) assert_ok(volta_tensor_set_requires_grad(world->tensors[t], 1));
    }
    assert_ok(volta_tape_optimizer_create(world->tape, &settings, world->tensors, 2, &world->optimizer));
}

static void close_world(struct world* world) {
    volta_tape_optimizer_release(world->optimizer);
    volta_tape_release(world->tape);
    for (int t = 0; t < kTensors; ++t) volta_tensor_release(world->tensors[t]);
    volta_context_release(world->context);
}

static volta_tensor* norm(struct world* world, const char* op, volta_tensor* x) {
    volta_tensor** t = world->tensors;
    return volta_op(world->tape, op, x, t[0], t[1], t[2], t[3]);
}

static volta_tensor* loss_of(struct world* world, volta_tensor* x) {
    volta_tensor* y = norm(world, "batch_norm_train", x);
    return volta_op(world->tape, "mean", volta_op(world->tape, "mul", y, volta_op(world->tape, "tanh", y)));
}

/* What a trainer makes of them in one step of two micro-batches. */
static void train_two(float running[2][kChannels]) {
    static const char* const names[kTensors] = {"scale", "bias", "mean", "variance"};
    const int64_t shape[] = {kRows, kChannels}, channels[] = {kChannels};
    volta_context* context;
    volta_graph* graph;
    volta_model* model;
    volta_trainer* trainer;
    volta_value values[5];
    volta_trainer_options options = VOLTA_TRAINER_OPTIONS_INIT;
    assert_ok(volta_context_create(NULL, &context));
    assert_ok(volta_graph_create(context, &graph));
    assert_ok(volta_graph_input(graph, "x", VOLTA_F32, shape, 2, &values[0]));
    for (int t = 0; t < kTensors; ++t) {
        const volta_init init = {VOLTA_INIT_CONSTANT, t % 3 == 0 ? 1 : 0, 0};
        assert_ok(volta_graph_parameter(graph, names[t], channels, 1, &init, &values[1 + t]));
    }
    assert_ok(volta_graph_apply(graph, "batch_norm", values, 5, NULL, 0, &values[0], 1));
    assert_ok(volta_graph_output(graph, "y", values[0]));
    assert_ok(volta_model_create(graph, 1, &model));
    options.loss = VOLTA_LOSS_MSE;
    options.learning_rate = 0.01;
    options.micro_batches = 2;
    assert_ok(volta_trainer_create(model, &options, &trainer));
    volta_tensor *x = rows_of(context, 2 * kRows, 0), *targets = rows_of(context, 2 * kRows, 5);
    const volta_tensor* given = x;
    assert_ok(volta_trainer_step(trainer, &given, 1, targets, NULL));
    for (int r = 0; r < 2; ++r) {
        const float* data;
        size_t count;
        assert_ok(volta_trainer_parameter(trainer, names[2 + r], &data, &count));
        memcpy(running[r], data, sizeof running[r]);
    }
    volta_tensor_release(x);
    volta_tensor_release(targets);
    volta_trainer_release(trainer);
    volta_model_release(model);
    volta_graph_release(graph);
    volta_context_release(context);
}

static void batches_of_one_step_follow_one_after_the_other(void** state) {
    (void)state;
    float expected[2][kChannels];
    train_two(expected);
    for (int mode = VOLTA_TAPE_EAGER; mode <= VOLTA_TAPE_LAZY; ++mode) {
        struct world world;
        open_world(&world, mode);
        volta_tensor *first = rows_of(world.context, kRows, 0),
                     *second = rows_of(world.context, kRows, kRows);
        for (int round = 0; round < 2; ++round) { /* the second along the known trace */
            for (int r = 0; r < 2; ++r) assert_ok(volta_tensor_fill(world.tensors[2 + r], r));
            assert_ok(volta_tape_optimizer_zero_grad(world.optimizer));
            assert_ok(volta_tape_backward(world.tape, loss_of(&world, first)));
            assert_ok(volta_tape_backward(world.tape, loss_of(&world, second)));
            assert_ok(volta_tape_step(world.tape, world.optimizer, NULL));
            assert_ok(volta_tape_reset(world.tape));
            for (int r = 0; r < 2; ++r)
                assert_memory_equal(volta_tensor_data(world.tensors[2 + r]), expected[r], sizeof expected[r]);
        }
        volta_tensor_release(first);
        volta_tensor_release(second);
        close_world(&world);
    }
}

static void expect_running(struct world* world, int followed) {
    const float *mean = volta_tensor_data(world->tensors[2]),
                *variance = volta_tensor_data(world->tensors[3]);
    for (int c = 0; c < kChannels; ++c) assert_int_equal(mean[c] != 0 && variance[c] != 1, followed);
}

static void they_follow_in_a_step_that_is_made(void** state) {
    (void)state;
    for (int mode = VOLTA_TAPE_EAGER; mode <= VOLTA_TAPE_LAZY; ++mode) {
        struct world world;
        double before, after;
        open_world(&world, mode);
        volta_tensor* x = rows_of(world.context, kRows, 0);
        /* Without a step, and in a record that was only read. */
        assert_ok(volta_tensor_item(loss_of(&world, x), &before));
        expect_running(&world, 0);
        assert_ok(volta_tape_reset(world.tape));
        expect_running(&world, 0);
        /* In a step that is refused. */
        volta_tensor* y = volta_op(world.tape, "log", loss_of(&world, x));
        assert_ok(
            volta_tape_backward(world.tape, volta_op(world.tape, "log", volta_op(world.tape, "sub", y, y))));
        assert_int_equal(volta_tape_step(world.tape, world.optimizer, NULL), VOLTA_NOT_FINITE);
        expect_running(&world, 0);
        assert_ok(volta_tape_reset(world.tape));
        expect_running(&world, 0);
        /* While another record reads them. */
        volta_tape* other;
        assert_ok(volta_tape_create(world.context, NULL, &other));
        volta_op(other, "neg", world.tensors[2]);
        assert_ok(volta_tape_optimizer_zero_grad(world.optimizer));
        assert_ok(volta_tape_backward(world.tape, loss_of(&world, x)));
        assert_int_equal(volta_tape_step(world.tape, world.optimizer, NULL), VOLTA_INVALID_STATE);
        assert_non_null(strstr(volta_last_error(), "a tensor of shape [3] would change"));
        expect_running(&world, 0);
        assert_ok(volta_tape_reset(other));
        volta_tensor* early = volta_op(world.tape, "neg", world.tensors[2]);
        assert_ok(volta_tape_step(world.tape, world.optimizer, NULL));
        expect_running(&world, 1);
        /* What was to be made of the old ones was made in time, or is refused. */
        const float* old = volta_tensor_data(early);
        assert_int_equal(volta_last_status(), mode == VOLTA_TAPE_LAZY ? VOLTA_INVALID_STATE : VOLTA_OK);
        assert_true(mode == VOLTA_TAPE_LAZY || old[0] == 0);
        /* In the rest of this record they are what they are now. */
        assert_ok(volta_tensor_item(volta_op(world.tape, "mean", norm(&world, "batch_norm", x)), &before));
        assert_ok(volta_tape_reset(world.tape));
        assert_ok(volta_tensor_item(volta_op(world.tape, "mean", norm(&world, "batch_norm", x)), &after));
        assert_true(before == after);
        volta_tape_release(other);
        volta_tensor_release(x);
        close_world(&world);
    }
}

/* Captured, it is a batch_norm whose running statistics are parameters; so is one of inference. */
static void captured_it_is_a_batch_norm(void** state) {
    (void)state;
    for (int trained = 0; trained < 2; ++trained) {
        struct world world;
        volta_model* model;
        volta_tensor_info info;
        open_world(&world, VOLTA_TAPE_LAZY);
        volta_tensor* x = rows_of(world.context, kRows, 0);
        assert_ok(volta_tensor_fill(world.tensors[2], 0.25));
        volta_tensor* y = norm(&world, trained ? "batch_norm_train" : "batch_norm", x);
        assert_ok(volta_tape_capture(world.tape, &y, 1, NULL, &model));
        assert_int_equal(volta_model_parameter_count(model), 4);
        for (size_t p = 0; p < 4; ++p) {
            const float* data;
            size_t count;
            assert_ok(volta_model_parameter_info(model, p, &info));
            assert_ok(volta_model_parameter(model, info.name, &data, &count));
            assert_memory_equal(data, volta_tensor_data(world.tensors[p]), kChannels * sizeof(float));
        }
        volta_session* session;
        volta_tensor* result = rows_of(world.context, kRows, 0);
        const volta_tensor* given = x;
        assert_ok(volta_session_create(model, NULL, &session));
        assert_ok(volta_session_run(session, &given, 1, &result, 1));
        assert_memory_equal(volta_tensor_data(result), volta_tensor_data(norm(&world, "batch_norm", x)),
                            kRows * kChannels * sizeof(float));
        volta_session_release(session);
        volta_model_release(model);
        volta_tensor_release(result);
        volta_tensor_release(x);
        close_world(&world);
    }
}

static void wrong_ones_are_refused(void** state) {
    (void)state;
    struct world world;
    open_world(&world, VOLTA_TAPE_LAZY);
    volta_tensor *x = rows_of(world.context, kRows, 0), *one = rows_of(world.context, 1, 0),
                 **t = world.tensors;
    const struct {
        volta_tensor *x, *mean, *variance;
        volta_status status;
        const char* sentence;
    } cases[] = {
        {x, t[0], t[3], VOLTA_INVALID_ARGUMENT,
         "batch_norm_train: its running mean requires a gradient, it has none"},
        {x, t[2], t[2], VOLTA_INVALID_ARGUMENT,
         "batch_norm_train: its running mean and variance are one tensor"},
        {x, t[2], x, VOLTA_SHAPE_MISMATCH, "the running variance is [6, 3], not [3]"},
        {one, t[2], t[3], VOLTA_SHAPE_MISMATCH,
         "a channel needs at least 2 values to have a variance: [1, 3]"},
        {t[0], t[2], t[3], VOLTA_SHAPE_MISMATCH, "batch_statistics"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c) {
        volta_op(world.tape, "batch_norm_train", cases[c].x, t[0], t[1], cases[c].mean, cases[c].variance);
        assert_int_equal(volta_tape_status(world.tape), cases[c].status);
        if (strstr(volta_last_error(), cases[c].sentence) == NULL) {
            print_error("%s\n", volta_last_error());
            fail();
        }
        assert_ok(volta_tape_reset(world.tape));
    }
    volta_op(world.tape, "batch_norm_train", x, t[0], t[1], volta_op(world.tape, "neg", t[2]), t[3]);
    assert_int_equal(volta_tape_status(world.tape), VOLTA_INVALID_ARGUMENT);
    assert_non_null(strstr(volta_last_error(), "its running mean is a result"));
    assert_ok(volta_tape_reset(world.tape));
    volta_op(world.tape, "batch_norm_train", x, t[0], t[1]);
    assert_int_equal(volta_tape_status(world.tape), VOLTA_INVALID_ARGUMENT);
    assert_non_null(strstr(volta_last_error(), "batch_norm_train: 3 inputs are given, it takes 5"));
    volta_tensor_release(x);
    volta_tensor_release(one);
    close_world(&world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_of_one_step_follow_one_after_the_other),
        cmocka_unit_test(they_follow_in_a_step_that_is_made),
        cmocka_unit_test(captured_it_is_a_batch_norm),
        cmocka_unit_test(wrong_ones_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
