/* The golden numbers of PyTorch for batch, group and instance norm (tests/golden/parity_norms.json, made by
 * parity_norms.py --update), checked without PyTorch: the loss of 20 steps and every gradient of the first
 * within 1e-4 relative, the running statistics after them and inference by these within 1e-5. Parameters and
 * batches are made here and there by the same few lines. */
#include <math.h>

#include "tests/parity/golden_numbers.h"
#include "volta.h"

enum { BATCH = 8, CHANNELS = 6, SIDE = 5, GROUPS = 3, HIDDEN = 16, CLASSES = 5, STEPS = 20 };
enum { PLANE = SIDE * SIDE, SAMPLE = CHANNELS * PLANE };
static const double kEpsilon = 1e-3, kMomentum = 0.2;

static char* golden; /* the file's text */
static volta_context* context;
static volta_model* model;
static volta_trainer* trainer;

/* In [-1, 1): a multiple of 2^-23. */
static float uniform(uint64_t seed, uint64_t index) {
    return (float)(splitmix(seed, index) >> 40) * 0x1p-23f - 1;
}

/* Channel c lies around c - 2 and is (c + 1)/2 wide; class t lifts channel t. */
static void make_batch(int step, float* x, int32_t* targets) {
    for (int n = 0; n < BATCH; ++n)
        targets[n] = (int32_t)(splitmix((uint64_t)(5000 + step), (uint64_t)n) % CLASSES);
    for (int i = 0; i < BATCH * SAMPLE; ++i) {
        const int c = i / PLANE % CHANNELS;
        const float noise = uniform((uint64_t)(1000 + step), (uint64_t)i) * (0.5f * (float)(c + 1));
        x[i] = noise + (float)(c - 2) + (targets[i / SAMPLE] == c ? 0.5f : 0.0f);
    }
}

struct parameter {
    const char* name;
    int64_t rows, columns; /* columns 0: rank 1 */
    float scale, shift;
};
/* In PyTorch's order, which seeds them. */
static const struct parameter kTrained[] = {
    {"bn1.weight", CHANNELS, 0, 0.25f, 1},     {"bn1.bias", CHANNELS, 0, 0.25f, 0},
    {"gn.weight", CHANNELS, 0, 0.25f, 1},      {"gn.bias", CHANNELS, 0, 0.25f, 0},
    {"in.weight", CHANNELS, 0, 0.25f, 1},      {"in.bias", CHANNELS, 0, 0.25f, 0},
    {"fc1.weight", HIDDEN, SAMPLE, 0.125f, 0}, {"bn2.weight", HIDDEN, 0, 0.25f, 1},
    {"bn2.bias", HIDDEN, 0, 0.25f, 0},         {"fc2.weight", CLASSES, HIDDEN, 0.5f, 0},
};
enum { TRAINED = sizeof kTrained / sizeof *kTrained };
static const struct parameter kRunning[] = {{"bn1.running_mean", CHANNELS, 0, 0, 0},
                                            {"bn1.running_var", CHANNELS, 0, 0, 1},
                                            {"bn2.running_mean", HIDDEN, 0, 0, 0},
                                            {"bn2.running_var", HIDDEN, 0, 0, 1}};
enum { RUNNING = sizeof kRunning / sizeof *kRunning };

static volta_value declare(volta_graph* graph, const char* prefix, const char* name) {
    char full[64];
    snprintf(full, sizeof full, "%s.%s", prefix, name);
    for (int i = 0; i < TRAINED + RUNNING; ++i) {
        const struct parameter* p = i < TRAINED ? &kTrained[i] : &kRunning[i - TRAINED];
        if (strcmp(p->name, full) != 0) continue;
        const int64_t shape[] = {p->rows, p->columns};
        const volta_init init = {VOLTA_INIT_CONSTANT, (double)p->shift, 0};
        volta_value value;
        CHECK(volta_graph_parameter(graph, full, shape, p->columns ? 2 : 1, &init, &value));
        return value;
    }
    fail_msg("there is no parameter %s", full);
    return (volta_value){0};
}

static volta_value norm(volta_graph* graph, const char* op, const char* prefix, volta_value x) {
    const int is_batch = strcmp(op, "batch_norm") == 0, is_group = strcmp(op, "group_norm") == 0;
    const volta_attribute attributes[] = {
        {"epsilon", kEpsilon, NULL, 0},
        {is_batch ? "momentum" : "groups", is_batch ? kMomentum : (double)GROUPS, NULL, 0}};
    volta_value inputs[5], y;
    inputs[0] = x;
    inputs[1] = declare(graph, prefix, "weight");
    inputs[2] = declare(graph, prefix, "bias");
    if (is_batch) {
        inputs[3] = declare(graph, prefix, "running_mean");
        inputs[4] = declare(graph, prefix, "running_var");
    }
    CHECK(volta_graph_apply(graph, op, inputs, is_batch ? 5 : 3, attributes, is_batch || is_group ? 2 : 1, &y,
                            1));
    return y;
}

static volta_value relu(volta_graph* graph, volta_value x) {
    CHECK(volta_graph_unary(graph, "relu", x, &x));
    return x;
}

static volta_value linear(volta_graph* graph, const char* prefix, volta_value x) {
    const volta_value inputs[] = {x, declare(graph, prefix, "weight")};
    const volta_attribute transposed = {"transpose_b", 1, NULL, 0};
    volta_value y;
    CHECK(volta_graph_apply(graph, "matmul", inputs, 2, &transposed, 1, &y, 1));
    return y;
}

static void create(void) {
    const int64_t shape[] = {BATCH, CHANNELS, SIDE, SIDE}, flat[] = {BATCH, SAMPLE};
    const volta_attribute to_flat = {"shape", 0, flat, 2};
    volta_context_options options = {0};
    volta_trainer_options training = VOLTA_TRAINER_OPTIONS_INIT;
    volta_graph* graph;
    volta_value x;
    options.struct_size = sizeof options;
    options.thread_count = 2;
    CHECK(volta_context_create(&options, &context));
    CHECK(volta_graph_create(context, &graph));
    CHECK(volta_graph_input(graph, "x", VOLTA_F32, shape, 4, &x));
    x = relu(graph, norm(graph, "batch_norm", "bn1", x));
    x = relu(graph, norm(graph, "group_norm", "gn", x));
    x = relu(graph, norm(graph, "instance_norm", "in", x));
    CHECK(volta_graph_apply(graph, "reshape", &x, 1, &to_flat, 1, &x, 1));
    x = relu(graph, norm(graph, "batch_norm", "bn2", linear(graph, "fc1", x)));
    CHECK(volta_graph_output(graph, "logits", linear(graph, "fc2", x)));
    CHECK(volta_model_create(graph, 1, &model));
    volta_graph_release(graph);
    for (int i = 0; i < TRAINED; ++i) {
        static float values[HIDDEN * SAMPLE];
        const struct parameter* p = &kTrained[i];
        const int64_t count = p->rows * (p->columns ? p->columns : 1);
        for (int64_t j = 0; j < count; ++j)
            values[j] = p->scale * uniform((uint64_t)(100 + i), (uint64_t)j) + p->shift;
        CHECK(volta_model_set_parameter(model, p->name, values, (size_t)count));
    }
    training.optimizer = VOLTA_SGD;
    training.learning_rate = 0.01;
    training.momentum = 0.9;
    CHECK(volta_trainer_create(model, &training, &trainer));
}

static void release(void) {
    volta_trainer_release(trainer);
    volta_model_release(model);
    volta_context_release(context);
}

static double step(int number) {
    static float x[BATCH * SAMPLE];
    static int32_t targets[BATCH];
    const int64_t shape[] = {BATCH, CHANNELS, SIDE, SIDE};
    volta_tensor *input, *target;
    make_batch(number, x, targets);
    CHECK(volta_tensor_wrap(context, VOLTA_F32, shape, 4, x, &input));
    CHECK(volta_tensor_wrap(context, VOLTA_I32, shape, 1, targets, &target));
    volta_step_report report = VOLTA_STEP_REPORT_INIT;
    const volta_tensor* const list[] = {input};
    CHECK(volta_trainer_step(trainer, list, 1, target, &report));
    volta_tensor_release(target);
    volta_tensor_release(input);
    return (double)report.loss;
}

static int setup(void** state) {
    (void)state;
    golden = read_golden("golden/parity_norms.json");
    return golden != NULL ? 0 : -1;
}

static int teardown(void** state) {
    (void)state;
    free(golden);
    return 0;
}

static void assert_within(const char* what, int index, double value, double expected, double bound) {
    if (!(fabs(value - expected) <= bound))
        fail_msg("%s %d: %.9g, PyTorch %.9g", what, index, value, expected);
}

static void test_gradients_of_the_first_step_are_pytorchs(void** state) {
    (void)state;
    create();
    step(0);
    const char* place = after(golden, "gradients");
    for (int i = 0; i < TRAINED; ++i) {
        const float* gradient;
        size_t count;
        double first[5], squares = 0;
        char name[64];
        place = after(place, "name");
        assert_int_equal(sscanf(place, " \"%63[^\"]\"", name), 1);
        assert_string_equal(name, kTrained[i].name);
        const double expected = strtod(after(place, "norm"), NULL);
        place = read_numbers(after(place, "first"), first, 5);
        CHECK(volta_trainer_gradient(trainer, name, &gradient, &count));
        for (size_t j = 0; j < count; ++j) squares += (double)gradient[j] * (double)gradient[j];
        assert_within(name, -1, sqrt(squares), expected, 1e-4 * expected);
        for (int j = 0; j < 5; ++j) assert_within(name, j, (double)gradient[j], first[j], 1e-4 * expected);
    }
    release();
}

static void test_losses_statistics_and_inference_follow_pytorch(void** state) {
    (void)state;
    double losses[STEPS], expected[BATCH * CLASSES];
    read_numbers(after(golden, "loss"), losses, STEPS);
    create();
    for (int i = 0; i < STEPS; ++i) assert_within("loss of step", i, step(i), losses[i], 1e-4 * losses[i]);
    for (int i = 0; i < RUNNING; ++i) {
        const float* values;
        size_t count;
        read_numbers(after(golden, kRunning[i].name), expected, (int)kRunning[i].rows);
        CHECK(volta_trainer_parameter(trainer, kRunning[i].name, &values, &count));
        assert_int_equal(count, kRunning[i].rows);
        for (int j = 0; j < (int)count; ++j)
            assert_within(kRunning[i].name, j, (double)values[j], expected[j],
                          1e-5 * (1 + fabs(expected[j])));
    }

    static float x[BATCH * SAMPLE], logits[BATCH * CLASSES];
    static int32_t targets[BATCH];
    const int64_t shape[] = {BATCH, CHANNELS, SIDE, SIDE}, logits_shape[] = {BATCH, CLASSES};
    const volta_session_options options = VOLTA_SESSION_OPTIONS_INIT;
    volta_session* session;
    volta_tensor *input, *output;
    make_batch(STEPS, x, targets);
    CHECK(volta_trainer_update_model(trainer));
    CHECK(volta_session_create(model, &options, &session));
    CHECK(volta_tensor_wrap(context, VOLTA_F32, shape, 4, x, &input));
    CHECK(volta_tensor_wrap(context, VOLTA_F32, logits_shape, 2, logits, &output));
    const volta_tensor* const inputs[] = {input};
    CHECK(volta_session_run(session, inputs, 1, &output, 1));
    read_numbers(after(golden, "logits"), expected, BATCH * CLASSES);
    for (int i = 0; i < BATCH * CLASSES; ++i)
        assert_within("logit", i, (double)logits[i], expected[i], 1e-5 * (1 + fabs(expected[i])));
    volta_tensor_release(output);
    volta_tensor_release(input);
    volta_session_release(session);
    release();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients_of_the_first_step_are_pytorchs),
        cmocka_unit_test(test_losses_statistics_and_inference_follow_pytorch),
    };
    return cmocka_run_group_tests_name("parity_norms", tests, setup, teardown);
}
