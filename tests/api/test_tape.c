/* The tape: EAGER, LAZY and the trainer of the same graph give the same bits; results, gradients and updates
 * live as long as the header says; what cannot be done is said once, with its place. */
#include <math.h>

#include "tests/api/api_test.h"

enum { kBatch = 16, kIn = 24, kHidden = 40, kOut = 10, kSteps = 100, kParameters = 4 };

static const char* const kNames[kParameters] = {"first.weight", "first.bias", "second.weight", "second.bias"};

struct world {
    volta_context* context;
    volta_tensor* parameters[kParameters];
    volta_tensor *x, *targets;
};

static volta_model* perceptron(volta_context* context) {
    volta_graph* graph;
    volta_model* model;
    volta_value x, h, y;
    const int64_t shape[] = {-1, kIn};
    assert_ok(volta_graph_create(context, &graph));
    assert_ok(volta_graph_input(graph, "x", VOLTA_F32, shape, 2, &x));
    assert_ok(volta_graph_linear(graph, "first", x, kHidden, &h));
    assert_ok(volta_graph_unary(graph, "gelu_erf", h, &h));
    assert_ok(volta_graph_linear(graph, "second", h, kOut, &y));
    assert_ok(volta_graph_output(graph, "y", y));
    assert_ok(volta_model_create(graph, 7, &model));
    volta_graph_release(graph);
    return model;
}

/* The data of a step: every element depends on it. */
static void fill(struct world* world, int step) {
    float* x = volta_tensor_data(world->x);
    int32_t* targets = volta_tensor_data(world->targets);
    for (int i = 0; i < kBatch * kIn; ++i) x[i] = (float)((i * 37 + step * 11) % 23) / 8 - 1.25f;
    for (int i = 0; i < kBatch; ++i) targets[i] = (i * 3 + step) % kOut;
}

static void open_world(struct world* world, uint32_t threads, volta_isa isa) {
    volta_context_options options = VOLTA_CONTEXT_OPTIONS_INIT;
    const int64_t x[] = {kBatch, kIn}, targets[] = {kBatch};
    options.thread_count = threads;
    options.isa = isa;
    assert_ok(volta_context_create(&options, &world->context));
    assert_ok(volta_tensor_create(world->context, VOLTA_F32, x, 2, &world->x));
    assert_ok(volta_tensor_create(world->context, VOLTA_I32, targets, 1, &world->targets));
    const int64_t shapes[kParameters][2] = {{kIn, kHidden}, {kHidden, 0}, {kHidden, kOut}, {kOut, 0}};
    volta_model* model = perceptron(world->context);
    for (int p = 0; p < kParameters; ++p) {
        const float* data;
        size_t elements;
        assert_ok(volta_tensor_create(world->context, VOLTA_F32, shapes[p], p % 2 == 0 ? 2 : 1,
                                      &world->parameters[p]));
        assert_ok(volta_model_parameter(model, kNames[p], &data, &elements));
        memcpy(volta_tensor_data(world->parameters[p]), data, elements * sizeof(float));
        assert_ok(volta_tensor_set_requires_grad(world->parameters[p], 1));
    }
    volta_model_release(model);
}

static void close_world(struct world* world) {
    for (int p = 0; p < kParameters; ++p) volta_tensor_release(world->parameters[p]);
    volta_tensor_release(world->x);
    volta_tensor_release(world->targets);
    volta_context_release(world->context);
}

static volta_tape* tape_of(struct world* world, volta_tape_mode mode, uint32_t flags) {
    volta_tape* tape;
    volta_tape_options options = VOLTA_TAPE_OPTIONS_INIT;
    options.mode = mode;
    options.flags = flags;
    assert_ok(volta_tape_create(world->context, &options, &tape));
    return tape;
}

static volta_tensor* logits(struct world* world, volta_tape* tape) {
    volta_tensor** p = world->parameters;
    volta_tensor* h = volta_op(tape, "add", volta_op(tape, "matmul", world->x, p[0]), p[1]);
    h = volta_op(tape, "gelu_erf", h);
    return volta_op(tape, "add", volta_op(tape, "matmul", h, p[2]), p[3]);
}

static volta_tensor* loss_of(struct world* world, volta_tape* tape) {
    return volta_op(tape, "mean", volta_op(tape, "cross_entropy", logits(world, tape), world->targets));
}

static volta_optimizer_options adam(void) {
    volta_optimizer_options options = VOLTA_OPTIMIZER_OPTIONS_INIT;
    options.optimizer = VOLTA_ADAMW;
    options.learning_rate = 0.01;
    options.weight_decay = 0.1;
    options.clip_norm = 0.7;
    options.schedule = VOLTA_SCHEDULE_COSINE;
    options.steps = kSteps;
    options.warmup_steps = 5;
    return options;
}

static volta_tape_optimizer* optimizer_of(struct world* world, volta_tape* tape) {
    const volta_optimizer_options options = adam();
    volta_tape_optimizer* optimizer;
    assert_ok(volta_tape_optimizer_create(tape, &options, world->parameters, kParameters, &optimizer));
    return optimizer;
}

/* Trains on a tape; losses has kSteps places. */
static void train_on_tape(struct world* world, volta_tape_mode mode, float* losses) {
    volta_tape* tape = tape_of(world, mode, 0);
    volta_tape_optimizer* optimizer = optimizer_of(world, tape);
    for (int step = 0; step < kSteps; ++step) {
        volta_step_report report = VOLTA_STEP_REPORT_INIT;
        fill(world, step);
        assert_ok(volta_tape_optimizer_zero_grad(optimizer));
        assert_ok(volta_tape_backward(tape, loss_of(world, tape)));
        assert_ok(volta_tape_step(tape, optimizer, &report));
        assert_int_equal(report.step, step + 1);
        losses[step] = report.loss;
        assert_ok(volta_tape_reset(tape));
    }
    volta_tape_info info = VOLTA_TAPE_INFO_INIT;
    assert_ok(volta_tape_get_info(tape, &info));
    assert_int_equal(info.records, kSteps);
    assert_int_equal(info.traces, 1);
    if (mode == VOLTA_TAPE_LAZY) assert_int_equal(info.segments, kSteps);
    if (mode == VOLTA_TAPE_LAZY) assert_int_equal(info.plans_made, 1);
    volta_tape_optimizer_release(optimizer);
    volta_tape_release(tape);
}

static void train_with_trainer(struct world* world, float* losses) {
    volta_model* model = perceptron(world->context);
    volta_trainer* trainer;
    const int64_t shape[] = {kBatch, kIn};
    const volta_optimizer_options from = adam();
    volta_trainer_options options = VOLTA_TRAINER_OPTIONS_INIT;
    options.input_shapes = shape;
    options.input_extent_count = 2;
    options.optimizer = from.optimizer;
    options.learning_rate = from.learning_rate;
    options.weight_decay = from.weight_decay;
    options.clip_norm = from.clip_norm;
    options.schedule = from.schedule;
    options.steps = from.steps;
    options.warmup_steps = from.warmup_steps;
    assert_ok(volta_trainer_create(model, &options, &trainer));
    for (int step = 0; step < kSteps; ++step) {
        volta_step_report report = VOLTA_STEP_REPORT_INIT;
        const volta_tensor* x = world->x;
        fill(world, step);
        assert_ok(volta_trainer_step(trainer, &x, 1, world->targets, &report));
        losses[step] = report.loss;
    }
    for (int p = 0; p < kParameters; ++p) {
        const float* data;
        size_t elements;
        assert_ok(volta_trainer_parameter(trainer, kNames[p], &data, &elements));
        memcpy(volta_tensor_data(world->parameters[p]), data, elements * sizeof(float));
    }
    volta_trainer_release(trainer);
    volta_model_release(model);
}

/* A perceptron on a tape trains to the bits of the trainer, on any threads and instruction set. */
static void trains_to_the_trainers_bits(void** state) {
    (void)state;
    static const volta_isa isas[] = {VOLTA_ISA_AUTO, VOLTA_ISA_AVX2, VOLTA_ISA_SCALAR};
    struct world expected;
    float expected_losses[kSteps];
    open_world(&expected, 1, VOLTA_ISA_AUTO);
    train_with_trainer(&expected, expected_losses);
    assert_true(expected_losses[kSteps - 1] < expected_losses[0]);
    for (int mode = VOLTA_TAPE_EAGER; mode <= VOLTA_TAPE_LAZY; ++mode)
        for (int way = 0; way < 3; ++way) {
            struct world world;
            float losses[kSteps];
            open_world(&world, (uint32_t)(way % 2 + 1), isas[way]);
            train_on_tape(&world, mode, losses);
            assert_memory_equal(losses, expected_losses, sizeof losses);
            for (int p = 0; p < kParameters; ++p)
                assert_memory_equal(volta_tensor_data(world.parameters[p]),
                                    volta_tensor_data(expected.parameters[p]),
                                    (size_t)volta_tensor_elements(world.parameters[p]) * sizeof(float));
            close_world(&world);
        }
    close_world(&expected);
}

/* What is read, kept, detached and accumulated, in both modes. */
static void results_live_as_long_as_they_say(void** state) {
    (void)state;
    for (int mode = VOLTA_TAPE_EAGER; mode <= VOLTA_TAPE_LAZY; ++mode) {
        struct world world;
        open_world(&world, 2, VOLTA_ISA_AUTO);
        volta_tape* tape = tape_of(&world, mode, 0);
        volta_tensor* weight = world.parameters[3];
        float first[kOut];
        double loss = 0, again = 0;
        fill(&world, 0);

        /* A read in the middle changes nothing of what follows. */
        volta_tensor* result = loss_of(&world, tape);
        assert_null(volta_tensor_grad(weight));
        assert_ok(volta_tensor_item(result, &loss));
        assert_ok(volta_tape_backward(tape, result));
        assert_non_null(volta_tensor_grad(weight));
        memcpy(first, volta_tensor_data(volta_tensor_grad(weight)), sizeof first);
        assert_ok(volta_tape_reset(tape));

        /* A second backward adds: (0 + g) + g. */
        result = loss_of(&world, tape);
        assert_ok(volta_tape_backward(tape, result));
        volta_tensor* kept = volta_op(tape, "mul", result, result);
        assert_ok(volta_tensor_keep(kept));
        assert_ok(volta_tape_reset(tape));
        const float* sum = volta_tensor_data(volta_tensor_grad(weight));
        for (int i = 0; i < kOut; ++i) assert_true(sum[i] == first[i] + first[i]);
        assert_ok(volta_tensor_item(kept, &again));
        assert_true((float)again == (float)loss * (float)loss);
        volta_tensor_release(kept);

        /* Zeroed, it starts anew; twice in one record it adds up as well. */
        for (int p = 0; p < kParameters; ++p) assert_ok(volta_tensor_zero_grad(world.parameters[p]));
        assert_null(volta_tensor_grad(weight));
        result = loss_of(&world, tape);
        assert_ok(volta_tape_backward(tape, result));
        assert_ok(volta_tape_backward(tape, result));
        sum = volta_tensor_data(volta_tensor_grad(weight));
        for (int i = 0; i < kOut; ++i) assert_true(sum[i] == first[i] + first[i]);
        assert_ok(volta_tape_reset(tape));

        /* Zeroed before anybody has read it, too. */
        for (int p = 0; p < kParameters; ++p) assert_ok(volta_tensor_zero_grad(world.parameters[p]));
        result = loss_of(&world, tape);
        assert_ok(volta_tape_backward(tape, result));
        for (int p = 0; p < kParameters; ++p) assert_ok(volta_tensor_zero_grad(world.parameters[p]));
        assert_null(volta_tensor_grad(weight));
        assert_ok(volta_tape_backward(tape, result));
        assert_memory_equal(volta_tensor_data(volta_tensor_grad(weight)), first, sizeof first);
        assert_ok(volta_tape_reset(tape));

        /* Nothing goes back through what is detached, or made while gradients are off. */
        result = volta_op(tape, "mean", volta_tape_detach(tape, logits(&world, tape)));
        assert_fails(volta_tape_backward(tape, result), VOLTA_INVALID_STATE,
                     "backward: the loss depends on no tensor that requires a gradient");
        assert_ok(volta_tape_reset(tape));
        assert_fails(volta_tape_backward(tape, volta_tape_detach(tape, loss_of(&world, tape))),
                     VOLTA_INVALID_STATE, "backward: the loss depends on no tensor that requires a gradient");
        assert_ok(volta_tape_reset(tape));
        assert_ok(volta_tape_set_gradients(tape, 0));
        result = loss_of(&world, tape);
        assert_ok(volta_tape_set_gradients(tape, 1));
        assert_ok(volta_tensor_item(result, &again));
        assert_true(again == loss);
        assert_fails(volta_tape_backward(tape, result), VOLTA_INVALID_STATE,
                     "backward: the loss depends on no tensor that requires a gradient");
        volta_tape_release(tape);
        close_world(&world);
    }
}

/* One sentence for the first failure, with its place; what follows stands for nothing. */
static void failures_are_kept(void** state) {
    (void)state;
    struct world world;
    open_world(&world, 1, VOLTA_ISA_AUTO);
    volta_tape* tape = tape_of(&world, VOLTA_TAPE_LAZY, 0);
    char expected[256];
    fill(&world, 0);
    volta_tensor* wrong = volta_op(tape, "matmul", world.x, world.parameters[2]);
    snprintf(expected, sizeof expected, "matmul: inner extents differ: [16, 24] x [40, 10] (%s:%d)", __FILE__,
             __LINE__ - 2);
    volta_tensor* after = volta_op(tape, "no such operator", wrong);
    assert_non_null(after);
    assert_null(volta_tensor_data(after));
    assert_fails(volta_tape_status(tape), VOLTA_SHAPE_MISMATCH, expected);
    assert_fails(volta_tape_backward(tape, after), VOLTA_SHAPE_MISMATCH, expected);
    assert_fails(volta_tape_flush(tape), VOLTA_SHAPE_MISMATCH, expected);
    assert_ok(volta_tape_reset(tape));
    assert_ok(volta_tape_status(tape));

    /* The record goes on after a reset, and a result of the one before is none of it. */
    volta_tensor* result = loss_of(&world, tape);
    assert_ok(volta_tape_reset(tape));
    volta_op(tape, "neg", result);
    assert_int_equal(volta_tape_status(tape), VOLTA_INVALID_STATE);
    assert_non_null(
        strstr(volta_last_error(),
               "neg: input 0 is a result of a record that has ended: keep it with volta_tensor_keep"));
    assert_ok(volta_tape_reset(tape));

    /* What an update has made impossible is refused, not computed wrongly. */
    volta_tape_optimizer* optimizer = optimizer_of(&world, tape);
    assert_fails(volta_tape_step(tape, optimizer, NULL), VOLTA_INVALID_STATE,
                 "step: no tensor of the optimizer has a gradient: call volta_tape_backward");
    volta_tensor* early = logits(&world, tape);
    result = volta_op(tape, "mean", volta_op(tape, "cross_entropy", early, world.targets));
    assert_ok(volta_tape_backward(tape, result));
    assert_ok(volta_tape_step(tape, optimizer, NULL));
    assert_non_null(volta_tensor_data(result));
    assert_null(volta_tensor_data(early));
    assert_string_equal(
        volta_last_error(),
        "a result was not computed before a step or a new gradient changed a tensor that it depends "
        "on: read it before, or mark it with volta_tensor_keep");
    assert_int_equal(volta_tensor_keep(early), VOLTA_INVALID_STATE);
    /* The record goes on with the updated tensors. */
    double before = 0, now = 0;
    assert_ok(volta_tensor_item(result, &before));
    assert_ok(volta_tensor_item(loss_of(&world, tape), &now));
    assert_true(now < before);
    volta_tape_optimizer_release(optimizer);
    volta_tape_release(tape);

    /* One segment and no more. */
    tape = tape_of(&world, VOLTA_TAPE_LAZY, VOLTA_TAPE_ONE_SEGMENT);
    result = loss_of(&world, tape);
    assert_ok(volta_tensor_item(result, &before));
    assert_int_equal(volta_tensor_item(volta_op(tape, "exp", result), &now), VOLTA_INVALID_STATE);
    assert_string_equal(volta_last_error(),
                        "the record is to be one segment, and result read would be a second flush (VG002)");
    volta_tape_release(tape);
    close_world(&world);
}

/* Numbers that are not finite change no parameter. */
static void an_update_needs_finite_gradients(void** state) {
    (void)state;
    struct world world;
    open_world(&world, 1, VOLTA_ISA_AUTO);
    volta_tape* tape = tape_of(&world, VOLTA_TAPE_LAZY, 0);
    volta_tape_optimizer* optimizer = optimizer_of(&world, tape);
    float before[kOut];
    fill(&world, 0);
    ((float*)volta_tensor_data(world.x))[3] = INFINITY;
    memcpy(before, volta_tensor_data(world.parameters[3]), sizeof before);
    assert_ok(volta_tape_backward(tape, loss_of(&world, tape)));
    assert_int_equal(volta_tape_step(tape, optimizer, NULL), VOLTA_NOT_FINITE);
    assert_memory_equal(before, volta_tensor_data(world.parameters[3]), sizeof before);
    assert_ok(volta_tape_reset(tape));
    fill(&world, 0);
    assert_ok(volta_tape_optimizer_zero_grad(optimizer));
    assert_ok(volta_tape_backward(tape, loss_of(&world, tape)));
    volta_step_report report = VOLTA_STEP_REPORT_INIT;
    assert_ok(volta_tape_step(tape, optimizer, &report));
    assert_int_equal(report.step, 1);
    volta_tape_optimizer_release(optimizer);
    volta_tape_release(tape);
    close_world(&world);
}

static volta_tensor* number_of(volta_context* context, float value) {
    volta_tensor* tensor;
    const int64_t shape[] = {1};
    assert_ok(volta_tensor_create(context, VOLTA_F32, shape, 1, &tensor));
    assert_ok(volta_tensor_fill(tensor, value));
    return tensor;
}

/* loss = a x + b x + c, of which a and b are trained: their gradients are x, and each alone may be finite
 * where their norm or the loss is not. */
static void an_update_needs_a_finite_norm_and_loss(void** state) {
    (void)state;
    static const struct {
        float x, c;
        const char* sentence;
    } rows[] = {
        {1.4e19f, 0, "step 1: the gradient norm of all tensors together is not finite; nothing was updated"},
        {1, INFINITY, "step 1: the loss is not finite; nothing was updated"},
    };
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; ++row) {
        struct world world;
        open_world(&world, 1, VOLTA_ISA_AUTO);
        volta_tape* tape = tape_of(&world, VOLTA_TAPE_LAZY, 0);
        volta_tensor *trained[] = {number_of(world.context, 1e-3f), number_of(world.context, 2e-3f)},
                     *x = number_of(world.context, rows[row].x), *c = number_of(world.context, rows[row].c);
        volta_optimizer_options options = VOLTA_OPTIMIZER_OPTIONS_INIT;
        volta_tape_optimizer* optimizer;
        options.learning_rate = 0.1;
        for (int i = 0; i < 2; ++i) assert_ok(volta_tensor_set_requires_grad(trained[i], 1));
        assert_ok(volta_tape_optimizer_create(tape, &options, trained, 2, &optimizer));
        volta_tensor* sum =
            volta_op(tape, "add", volta_op(tape, "mul", trained[0], x), volta_op(tape, "mul", trained[1], x));
        assert_ok(volta_tape_backward(tape, volta_op(tape, "sum", volta_op(tape, "add", sum, c))));
        assert_fails(volta_tape_step(tape, optimizer, NULL), VOLTA_NOT_FINITE, rows[row].sentence);
        assert_ok(volta_tape_reset(tape));
        assert_true(*(const float*)volta_tensor_data(trained[0]) == 1e-3f);
        assert_true(*(const float*)volta_tensor_data(trained[1]) == 2e-3f);
        volta_tape_optimizer_release(optimizer);
        volta_tape_release(tape);
        for (int i = 0; i < 2; ++i) volta_tensor_release(trained[i]);
        volta_tensor_release(x);
        volta_tensor_release(c);
        close_world(&world);
    }
}

/* What is kept and cannot be computed has no elements; the record ends all the same, and so does the tape. */
static void a_record_ends_whatever_it_kept(void** state) {
    (void)state;
    struct world world;
    volta_tensor* kept[2];
    double value;
    open_world(&world, 1, VOLTA_ISA_AUTO);
    fill(&world, 0);
    volta_tape* tape = tape_of(&world, VOLTA_TAPE_LAZY, VOLTA_TAPE_ONE_SEGMENT);
    for (int end = 0; end < 2; ++end) {
        assert_ok(volta_tensor_item(volta_op(tape, "mean", world.x), &value));
        kept[end] = volta_op(tape, "neg", world.x);
        assert_ok(volta_tensor_keep(kept[end]));
        if (end == 1) break;
        assert_fails(volta_tape_reset(tape), VOLTA_INVALID_STATE,
                     "the record is to be one segment, and kept result would be a second flush (VG004)");
        assert_ok(volta_tape_status(tape));
    }
    volta_tape_release(tape);
    for (int end = 0; end < 2; ++end) {
        assert_null(volta_tensor_data(kept[end]));
        assert_int_equal(volta_last_status(), VOLTA_INVALID_STATE);
        volta_tensor_release(kept[end]);
    }
    close_world(&world);
}

/* A call that fails while nothing gets a gradient does not leave it so. */
static void a_failed_detach_leaves_gradients_on(void** state) {
    (void)state;
    struct world world;
    open_world(&world, 1, VOLTA_ISA_AUTO);
    fill(&world, 0);
    volta_tape* tape = tape_of(&world, VOLTA_TAPE_LAZY, 0);
    volta_tensor* result = loss_of(&world, tape);
    assert_ok(volta_tape_reset(tape));
    assert_null(volta_tensor_data(volta_tape_detach(tape, result)));
    assert_int_equal(volta_tape_status(tape), VOLTA_INVALID_STATE);
    assert_non_null(strstr(volta_last_error(), "reshape: input 0 is a result of a record that has ended"));
    assert_ok(volta_tape_reset(tape));
    assert_ok(volta_tape_backward(tape, loss_of(&world, tape)));
    assert_non_null(volta_tensor_grad(world.parameters[0]));
    volta_tape_release(tape);
    close_world(&world);
}

/* A model does not draw: what is captured of a dropout is what goes in. */
static void a_captured_dropout_drops_nothing(void** state) {
    (void)state;
    const volta_attribute half = {"probability", 0.5, NULL, 0};
    const int64_t shape[] = {kBatch, kIn};
    float out[kBatch * kIn];
    struct world world;
    volta_model* model;
    volta_session* session;
    volta_tensor* result;
    open_world(&world, 1, VOLTA_ISA_AUTO);
    fill(&world, 0);
    volta_tape* tape = tape_of(&world, VOLTA_TAPE_LAZY, 0);
    volta_tensor* y = volta_tape_call(tape, "dropout", &world.x, 1, &half, 1, __FILE__, __LINE__);
    assert_ok(volta_tape_capture(tape, &y, 1, NULL, &model));
    assert_int_equal(volta_model_input_count(model), 1);
    assert_ok(volta_session_create(model, NULL, &session));
    assert_ok(volta_tensor_wrap(world.context, VOLTA_F32, shape, 2, out, &result));
    const volta_tensor* given = world.x;
    assert_ok(volta_session_run(session, &given, 1, &result, 1));
    assert_memory_equal(out, volta_tensor_data(world.x), sizeof out);
    volta_tensor_release(result);
    volta_session_release(session);
    volta_model_release(model);
    volta_tape_release(tape);
    close_world(&world);
}

/* The report names each piece, its reason and the first difference to what came before. */
static void the_report_says_why(void** state) {
    (void)state;
    struct world world;
    const char* text;
    double value;
    open_world(&world, 1, VOLTA_ISA_AUTO);
    volta_tape* tape = tape_of(&world, VOLTA_TAPE_LAZY, 0);
    fill(&world, 0);
    assert_ok(volta_tensor_item(loss_of(&world, tape), &value));
    assert_ok(volta_tape_reset(tape));
    const int64_t fewer[] = {3, kIn};
    volta_tensor* x;
    assert_ok(volta_tensor_create(world.context, VOLTA_F32, fewer, 2, &x));
    assert_ok(
        volta_tensor_item(volta_op(tape, "mean", volta_op(tape, "matmul", x, world.parameters[0])), &value));
    assert_ok(volta_tape_report(tape, 0, &text));
    assert_non_null(strstr(text, "call 1: shape of input 0 of matmul was [16, 24], now [3, 24]"));
    assert_non_null(strstr(text, "VG002 result read, 2 times"));
    assert_ok(volta_tape_report(tape, 1, &text));
    assert_non_null(strstr(text, "\"segments\":2,\"plans_known\":0,\"plans_made\":2"));
    assert_ok(volta_tape_reset(tape));
    const int64_t row[] = {1, kBatch}, column[] = {kBatch, 1};
    const volta_attribute upright = {"shape", 0, column, 2};
    volta_tensor* x_row;
    assert_ok(volta_tensor_wrap(world.context, VOLTA_F32, row, 2, volta_tensor_data(world.x), &x_row));
    volta_tensor* integers;
    assert_ok(
        volta_tensor_wrap(world.context, VOLTA_I32, row, 2, volta_tensor_data(world.targets), &integers));
    for (int i = 0; i < 2; ++i) {
        volta_tensor** const input = i == 0 ? &x_row : &integers;
        assert_non_null(
            volta_tensor_data(volta_tape_call(tape, "reshape", input, 1, &upright, 1, __FILE__, __LINE__)));
        assert_ok(volta_tape_reset(tape));
    }
    assert_ok(volta_tape_report(tape, 0, &text));
    assert_non_null(strstr(text, "call 1: elements of input 0 of reshape were f32, now i32"));
    volta_tensor_release(x_row);
    volta_tensor_release(integers);
    volta_tape_release(tape);
    volta_tensor_release(x);
    close_world(&world);
}

/* A record that is longer than one plan takes is computed in pieces, and says so; its results are right. */
static void a_long_record_is_cut(void** state) {
    (void)state;
    const int64_t shape[] = {1};
    volta_context* context;
    volta_tape* tape;
    volta_tensor *one, *sum;
    volta_tape_options options = VOLTA_TAPE_OPTIONS_INIT;
    const char* text;
    double value = 0;
    options.mode = VOLTA_TAPE_LAZY;
    assert_ok(volta_context_create(NULL, &context));
    assert_ok(volta_tensor_create(context, VOLTA_F32, shape, 1, &one));
    assert_ok(volta_tensor_fill(one, 1));
    assert_ok(volta_tape_create(context, &options, &tape));
    sum = one;
    for (int call = 0; call < 4100; ++call) sum = volta_op(tape, "add", sum, one);
    assert_ok(volta_tape_status(tape));
    assert_ok(volta_tape_report(tape, 0, &text));
    assert_non_null(strstr(text, "VG007 long record, 1 times"));
    assert_ok(volta_tensor_item(sum, &value));
    assert_true(value == 4101);
    volta_tape_release(tape);
    volta_tensor_release(one);
    volta_context_release(context);
}

/* After the first records nothing is allocated, and memory stays as it is. */
static void a_known_record_allocates_nothing(void** state) {
    (void)state;
    struct world world;
    open_world(&world, 1, VOLTA_ISA_AUTO);
    volta_tape* tape = tape_of(&world, VOLTA_TAPE_LAZY, 0);
    volta_tape_optimizer* optimizer = optimizer_of(&world, tape);
    uint64_t warm = 0;
    for (int step = 0; step < 50; ++step) {
        volta_context_info info = VOLTA_CONTEXT_INFO_INIT;
        fill(&world, step);
        assert_ok(volta_tape_optimizer_zero_grad(optimizer));
        assert_ok(volta_tape_backward(tape, loss_of(&world, tape)));
        assert_ok(volta_tape_step(tape, optimizer, NULL));
        assert_ok(volta_tape_reset(tape));
        if (step == 3) {
            assert_ok(volta_context_get_info(world.context, &info));
            warm = info.allocation_count;
        }
    }
    volta_context_info info = VOLTA_CONTEXT_INFO_INIT;
    assert_ok(volta_context_get_info(world.context, &info));
    assert_int_equal(info.allocation_count - warm, 0);
    volta_tape_optimizer_release(optimizer);
    volta_tape_release(tape);
    close_world(&world);
}

/* Calls that draw have streams of their own, and draw anew after each record; both modes draw the same. */
static void dropout_draws(void** state) {
    (void)state;
    enum { kMany = 1000 };
    float drawn[2][2][2][kMany];
    for (int mode = VOLTA_TAPE_EAGER; mode <= VOLTA_TAPE_LAZY; ++mode) {
        const volta_attribute half = {"probability", 0.5, NULL, 0};
        const int64_t shape[] = {kMany};
        struct world world;
        volta_tensor* ones;
        open_world(&world, 2, VOLTA_ISA_AUTO);
        assert_ok(volta_tensor_create(world.context, VOLTA_F32, shape, 1, &ones));
        assert_ok(volta_tensor_fill(ones, 1));
        volta_tape* tape = tape_of(&world, mode, 0);
        for (int record = 0; record < 2; ++record) {
            for (int call = 0; call < 2; ++call) {
                volta_tensor* y = volta_tape_call(tape, "dropout", &ones, 1, &half, 1, __FILE__, __LINE__);
                assert_non_null(volta_tensor_data(y));
                memcpy(drawn[mode][record][call], volta_tensor_data(y), sizeof drawn[0][0][0]);
            }
            assert_ok(volta_tape_reset(tape));
        }
        volta_tape_release(tape);
        volta_tensor_release(ones);
        close_world(&world);
    }
    assert_memory_equal(drawn[0], drawn[1], sizeof drawn[0]);
    assert_memory_not_equal(drawn[0][0][0], drawn[0][0][1], sizeof drawn[0][0][0]);
    assert_memory_not_equal(drawn[0][0][0], drawn[0][1][0], sizeof drawn[0][0][0]);
}

/* A function of the host: two paths, by a number that it reads. */
struct path {
    volta_tensor* weight;
    int is_long, reads;
};
static volta_status path_of(void* user, volta_tape* tape, volta_tensor* const* inputs, size_t input_count,
                            volta_tensor** outputs, size_t output_count) {
    const struct path* path = user;
    assert_int_equal(input_count, 1);
    assert_int_equal(output_count, 1);
    volta_tensor* y = volta_op(tape, "matmul", inputs[0], path->weight);
    if (path->reads && volta_tensor_data(y) == NULL) return VOLTA_INVALID_STATE;
    outputs[0] = volta_op(tape, "tanh", y);
    if (path->is_long) outputs[0] = volta_op(tape, "neg", outputs[0]);
    return VOLTA_OK;
}

/* A compiled function runs each path as one plan, gives EAGER's bits, and becomes a model. */
static void functions_compile(void** state) {
    (void)state;
    struct world world;
    struct path path = {NULL, 0, 0}, eager_path = {NULL, 0, 0};
    volta_compiled* compiled;
    volta_tensor* x; /* of the same elements: a record holds its tensors until it ends */
    const int64_t weight_shape[] = {kIn, kHidden};
    volta_tensor *y, *eager;
    volta_tape_info info = VOLTA_TAPE_INFO_INIT;
    float kept[kBatch * kHidden];
    open_world(&world, 1, VOLTA_ISA_AUTO);
    fill(&world, 3);
    const int64_t x_shape[] = {kBatch, kIn};
    path.weight = world.parameters[0];
    assert_ok(volta_tensor_wrap(world.context, VOLTA_F32, x_shape, 2, volta_tensor_data(world.x), &x));
    assert_ok(volta_tensor_wrap(world.context, VOLTA_F32, weight_shape, 2, volta_tensor_data(path.weight),
                                &eager_path.weight));
    assert_ok(volta_compile(world.context, path_of, &path, NULL, &compiled));
    volta_tape* tape = tape_of(&world, VOLTA_TAPE_EAGER, 0);
    for (int call = 0; call < 6; ++call) {
        path.is_long = eager_path.is_long = call % 2;
        assert_ok(volta_compiled_call(compiled, &world.x, 1, &y, 1));
        assert_int_equal(path_of(&eager_path, tape, &x, 1, &eager, 1), VOLTA_OK);
        assert_memory_equal(volta_tensor_data(y), volta_tensor_data(eager), sizeof kept);
        assert_ok(volta_tape_reset(tape));
    }
    assert_ok(volta_tape_get_info(volta_compiled_tape(compiled), &info));
    assert_int_equal(info.segments, 6);
    assert_int_equal(info.plans_made, 2);
    assert_int_equal(info.traces, 1); /* the long path begins as the short one */

    /* As a model, of any number of rows. */
    volta_capture_options options = VOLTA_CAPTURE_OPTIONS_INIT;
    const volta_tensor* const named[] = {world.x, world.parameters[0]};
    const char *const names[] = {"pixels", "weight"}, *const output = "signs";
    volta_model* model;
    volta_session* session;
    volta_tensor_info about;
    const int64_t shape[] = {kBatch, kIn};
    volta_session_options session_options = VOLTA_SESSION_OPTIONS_INIT;
    options.tensors = named;
    options.names = names;
    options.name_count = 2;
    options.output_names = &output;
    options.open_batch = 1;
    assert_ok(volta_tape_capture(volta_compiled_tape(compiled), &y, 1, &options, &model));
    assert_ok(volta_model_input_info(model, 0, &about));
    assert_string_equal(about.name, "pixels");
    assert_int_equal(about.shape[0], -1);
    assert_ok(volta_model_parameter_info(model, 0, &about));
    assert_string_equal(about.name, "weight");
    session_options.input_shapes = shape;
    session_options.input_extent_count = 2;
    assert_ok(volta_session_create(model, &session_options, &session));
    const volta_tensor* given = world.x;
    const int64_t result_shape[] = {kBatch, kHidden};
    volta_tensor* result;
    assert_ok(volta_tensor_wrap(world.context, VOLTA_F32, result_shape, 2, kept, &result));
    assert_ok(volta_session_run(session, &given, 1, &result, 1));
    assert_memory_equal(kept, volta_tensor_data(y), sizeof kept);
    volta_tensor_release(result);
    volta_session_release(session);
    volta_model_release(model);
    assert_fails(volta_tape_capture(volta_compiled_tape(compiled), &world.x, 1, NULL, &model),
                 VOLTA_INVALID_STATE, "output 0 is no result of the record");

    /* One segment and no more, where that is asked for. */
    volta_compiled_release(compiled);
    volta_compile_options one = VOLTA_COMPILE_OPTIONS_INIT;
    one.flags = VOLTA_TAPE_ONE_SEGMENT;
    path.reads = 1;
    assert_ok(volta_compile(world.context, path_of, &path, &one, &compiled));
    assert_fails(volta_compiled_call(compiled, &world.x, 1, &y, 1), VOLTA_INVALID_STATE,
                 "the record is to be one segment, and flush would be a second flush (VG005)");
    volta_compiled_release(compiled);
    volta_tape_release(tape);
    volta_tensor_release(x);
    volta_tensor_release(eager_path.weight);
    close_world(&world);
}

/* The call fails, with a sentence that has this in it. */
#define assert_refused(call, expected_status, part)                                                    \
    do {                                                                                               \
        const volta_status status_ = (call);                                                           \
        if (status_ != (expected_status) || strstr(volta_last_error(), (part)) == NULL)                \
            print_error("%s, not '%s': %s\n", volta_status_name(status_), (part), volta_last_error()); \
        assert_int_equal(status_, (expected_status));                                                  \
        assert_non_null(strstr(volta_last_error(), (part)));                                           \
    } while (0)

/* Records a call that fails, and forgets it. */
static void assert_call_refused(volta_tape* tape, const char* op, volta_tensor* const* inputs, size_t count,
                                size_t outputs, volta_status status, const char* part) {
    volta_tensor* results[2] = {NULL, NULL};
    assert_refused(volta_tape_apply(tape, op, inputs, count, NULL, 0, results, outputs, NULL, 0), status,
                   part);
    assert_non_null(results[0]);
    assert_null(volta_tensor_data(results[0]));
    assert_ok(volta_tape_reset(tape));
}

static volta_status gives_nothing(void* user, volta_tape* tape, volta_tensor* const* inputs,
                                  size_t input_count, volta_tensor** outputs, size_t output_count) {
    (void)tape, (void)inputs, (void)input_count, (void)outputs, (void)output_count;
    return *(const volta_status*)user;
}

static void what_a_tape_refuses(void** state) {
    (void)state;
    struct world world, other;
    open_world(&world, 1, VOLTA_ISA_AUTO);
    open_world(&other, 1, VOLTA_ISA_AUTO);
    volta_tape *tape = tape_of(&world, VOLTA_TAPE_LAZY, 0), *second = tape_of(&world, VOLTA_TAPE_LAZY, 0);
    volta_tensor *empty, *result, **p = world.parameters;
    const int64_t none[] = {0};
    double value = 1;
    fill(&world, 0);

    /* Operands. */
    assert_ok(volta_tensor_create(world.context, VOLTA_F32, none, 1, &empty));
    assert_call_refused(tape, "neg", &empty, 1, 1, VOLTA_INVALID_ARGUMENT,
                        "neg: input 0 has no elements: [0]");
    assert_call_refused(tape, "neg", &other.x, 1, 1, VOLTA_INVALID_ARGUMENT,
                        "neg: input 0 belongs to another context");
    assert_call_refused(tape, "neg", &world.x, 1, 2, VOLTA_INVALID_ARGUMENT,
                        "neg has 1 outputs, 2 are asked for");
    result = volta_op(second, "neg", world.x);
    assert_call_refused(tape, "neg", &result, 1, 1, VOLTA_INVALID_ARGUMENT,
                        "neg: input 0 is a result of another tape: keep it with volta_tensor_keep");
    volta_tensor* norm[] = {world.x, p[1], p[1], result, p[1]};
    norm[3] = volta_op(tape, "neg", p[1]);
    assert_call_refused(tape, "batch_norm_train", norm, 5, 1, VOLTA_INVALID_ARGUMENT,
                        "batch_norm_train: its running mean is a result: a step could not change it");
    assert_ok(volta_tape_reset(second));

    /* Losses. */
    assert_refused(volta_tape_backward(tape, world.x), VOLTA_INVALID_STATE,
                   "backward: the loss is no result of this record");
    assert_ok(volta_tape_reset(tape));
    assert_refused(volta_tape_backward(tape, logits(&world, tape)), VOLTA_SHAPE_MISMATCH,
                   "backward: the loss is f32[16, 10], not one f32 element");
    assert_ok(volta_tape_reset(tape));
    assert_refused(volta_tape_backward(tape, volta_op(tape, "mean", world.x)), VOLTA_INVALID_STATE,
                   "backward: no tensor of the record requires a gradient: volta_tensor_set_requires_grad");
    assert_ok(volta_tape_reset(tape));

    /* Elements. */
    assert_refused(volta_tensor_item(world.x, &value), VOLTA_SHAPE_MISMATCH,
                   "the tensor has the shape [16, 24], not one element");
    assert_true(value == 0);
    result = loss_of(&world, tape);
    assert_ok(volta_tape_reset(tape));
    assert_refused(volta_tensor_item(result, &value), VOLTA_INVALID_STATE,
                   "a result of a record that has ended is read");

    /* Optimizers. */
    const volta_optimizer_options options = adam();
    volta_tape_optimizer *optimizer = optimizer_of(&world, tape), *refused;
    volta_tensor* twice[] = {p[0], p[0]};
    assert_refused(volta_tape_optimizer_create(tape, &options, twice, 2, &refused), VOLTA_INVALID_ARGUMENT,
                   "tensor 1 is tensor 0 again");
    assert_refused(volta_tape_optimizer_create(tape, &options, &world.x, 1, &refused), VOLTA_INVALID_ARGUMENT,
                   "tensor 0 requires no gradient: volta_tensor_set_requires_grad");
    assert_refused(volta_tape_step(second, optimizer, NULL), VOLTA_INVALID_ARGUMENT,
                   "the optimizer belongs to another tape");

    /* Functions that fail, or give nothing. */
    volta_compiled* compiled;
    volta_status says = VOLTA_NOT_FINITE;
    assert_ok(volta_compile(world.context, gives_nothing, &says, NULL, &compiled));
    assert_refused(volta_compiled_call(compiled, &world.x, 1, &result, 1), VOLTA_NOT_FINITE,
                   "the compiled function returned VOLTA_NOT_FINITE");
    says = VOLTA_OK;
    assert_refused(volta_compiled_call(compiled, &world.x, 1, &result, 1), VOLTA_INVALID_ARGUMENT,
                   "the compiled function has not set output 0");
    volta_compiled_release(compiled);

    volta_tape_optimizer_release(optimizer);
    volta_tape_release(second);
    volta_tape_release(tape);
    volta_tensor_release(empty);
    close_world(&other);
    close_world(&world);
}

/* One recorded step; 0: some call said that memory was refused. */
static int step_says_what_it_lacks(volta_context* context) {
    const int64_t shape[] = {4, 4};
    volta_tensor *x = NULL, *w = NULL, *y;
    volta_tape* tape = NULL;
    volta_tape_optimizer* optimizer = NULL;
    volta_tape_options options = VOLTA_TAPE_OPTIONS_INIT;
    const char* text;
    int complete = 0;
    options.mode = VOLTA_TAPE_LAZY;
    volta_status status = volta_tensor_create(context, VOLTA_F32, shape, 2, &x);
    if (status == VOLTA_OK) status = volta_tensor_create(context, VOLTA_F32, shape, 2, &w);
    if (status == VOLTA_OK) status = volta_tensor_set_requires_grad(w, 1);
    if (status == VOLTA_OK) status = volta_tape_create(context, &options, &tape);
    if (status == VOLTA_OK) status = volta_tape_optimizer_create(tape, NULL, &w, 1, &optimizer);
    for (int round = 0; round < 2 && status == VOLTA_OK; ++round) {
        y = volta_op(tape, "tanh", volta_op(tape, "matmul", x, w));
        volta_tensor* loss = volta_op(tape, "mean", volta_op(tape, "mul", y, y));
        status = volta_tape_status(tape);
        if (status == VOLTA_OK && volta_tensor_data(y) == NULL) status = VOLTA_OUT_OF_MEMORY;
        if (status == VOLTA_OK) status = volta_tensor_keep(y);
        if (status == VOLTA_OK) status = volta_tape_backward(tape, loss);
        if (status == VOLTA_OK) status = volta_tape_step(tape, optimizer, NULL);
        if (status == VOLTA_OK) status = volta_tape_report(tape, 1, &text);
        const volta_status ended = volta_tape_reset(tape);
        if (status == VOLTA_OK) status = ended;
        volta_tensor_release(y); /* no effect if it is not kept */
        if (status == VOLTA_OK) status = volta_tape_optimizer_zero_grad(optimizer);
        complete = round == 1 && status == VOLTA_OK;
    }
    if (!complete) assert_int_equal(status, VOLTA_OUT_OF_MEMORY);
    volta_tape_optimizer_release(optimizer);
    volta_tape_release(tape);
    volta_tensor_release(x);
    volta_tensor_release(w);
    return complete;
}

/* Memory refused at any point of a recorded step: a sentence, nothing lost, and the next try is whole. */
static void memory_may_be_refused_anywhere(void** state) {
    (void)state;
    uint64_t fail_at = 0, failures = 0;
    for (;;) {
        struct counting_heap heap = {0};
        const volta_allocator allocator = {counting_allocate, counting_release, &heap};
        volta_context_options options = VOLTA_CONTEXT_OPTIONS_INIT;
        volta_context* context;
        options.allocator = &allocator;
        options.thread_count = 1;
        assert_ok(volta_context_create(&options, &context));
        const uint64_t before = heap.count;
        heap.fail_at = fail_at == 0 ? 0 : before + fail_at;
        const int complete = step_says_what_it_lacks(context);
        const uint64_t asked = heap.count - before;
        heap.fail_at = 0;
        assert_true(step_says_what_it_lacks(context));
        volta_context_release(context);
        assert_int_equal(heap.live_bytes, 0);
        failures += !complete;
        if (fail_at != 0 && complete && fail_at > asked) break;
        /* The first hundred, then every seventh: most are of one plan being made. */
        fail_at += fail_at < 100 ? 1 : 7;
    }
    assert_true(failures > 100);
}

static volta_status gives_its_input(void* user, volta_tape* tape, volta_tensor* const* inputs,
                                    size_t input_count, volta_tensor** outputs, size_t output_count) {
    (void)user, (void)input_count, (void)output_count;
    outputs[0] = volta_op(tape, "neg", inputs[0]);
    return volta_tape_status(tape);
}

static void a_function_is_compiled_whole_or_not(void** state) {
    (void)state;
    struct counting_heap heap = {0};
    volta_context* context;
    volta_compiled* compiled;
    uint64_t refused = 0;
    assert_ok(context_on(&heap, 1, 0, 0, &context));
    const size_t held = heap.live_bytes;
    for (volta_status status = VOLTA_OUT_OF_MEMORY; status != VOLTA_OK; ++refused) {
        heap.fail_at = heap.count + refused + 1;
        status = volta_compile(context, gives_its_input, NULL, NULL, &compiled);
        if (status == VOLTA_OK) break;
        assert_int_equal(status, VOLTA_OUT_OF_MEMORY);
        assert_null(compiled);
        assert_int_equal(heap.live_bytes, held);
    }
    assert_true(refused > 1);
    volta_compiled_release(compiled);
    volta_context_release(context);
    assert_int_equal(heap.live_bytes, 0);
}

/* More inputs than a call has room for on its stack. */
static void an_operator_may_have_many_inputs(void** state) {
    (void)state;
    enum { kCount = 100 };
    volta_context* context;
    volta_tape* tape;
    volta_tensor* parts[kCount];
    const int64_t shape[] = {2};
    assert_ok(volta_context_create(NULL, &context));
    assert_ok(volta_tape_create(context, NULL, &tape));
    for (int i = 0; i < kCount; ++i) {
        assert_ok(volta_tensor_create(context, VOLTA_F32, shape, 1, &parts[i]));
        float* data = volta_tensor_data(parts[i]);
        data[0] = (float)i;
        data[1] = (float)-i;
    }
    volta_tensor* all = volta_tape_call(tape, "concat", parts, kCount, NULL, 0, NULL, 0);
    const float* joined = volta_tensor_data(all);
    assert_ok(volta_tape_status(tape));
    for (int i = 0; i < kCount; ++i) assert_true(joined[2 * i] == (float)i && joined[2 * i + 1] == (float)-i);
    for (int i = 0; i < kCount; ++i) volta_tensor_release(parts[i]);
    volta_tape_release(tape);
    volta_context_release(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trains_to_the_trainers_bits),
        cmocka_unit_test(results_live_as_long_as_they_say),
        cmocka_unit_test(failures_are_kept),
        cmocka_unit_test(an_update_needs_finite_gradients),
        cmocka_unit_test(an_update_needs_a_finite_norm_and_loss),
        cmocka_unit_test(a_record_ends_whatever_it_kept),
        cmocka_unit_test(a_failed_detach_leaves_gradients_on),
        cmocka_unit_test(a_captured_dropout_drops_nothing),
        cmocka_unit_test(the_report_says_why),
        cmocka_unit_test(dropout_draws),
        cmocka_unit_test(functions_compile),
        cmocka_unit_test(memory_may_be_refused_anywhere),
        cmocka_unit_test(a_long_record_is_cut),
        cmocka_unit_test(a_known_record_allocates_nothing),
        cmocka_unit_test(what_a_tape_refuses),
        cmocka_unit_test(a_function_is_compiled_whole_or_not),
        cmocka_unit_test(an_operator_may_have_many_inputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
