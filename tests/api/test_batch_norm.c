/* Batch norm through the public header: a net is trained by the statistics of its micro-batches, the running
 * ones are parameters that follow, and inference takes those. */
#include <math.h>

#include "tests/api/api_test.h"

static const char* const kPath = "test_batch_norm.volta";

enum { kBatch = 6, kChannels = 3, kHeight = 3, kWidth = 5, kHidden = 8, kClasses = 4, kMost = 2 };
enum { kPlane = kHeight * kWidth, kSample = kChannels * kPlane };

struct norm {
    volta_value scale, bias, mean, variance;
};

static volta_value parameter(volta_graph* graph, const char* prefix, const char* name, const int64_t* shape,
                             int32_t rank, volta_init init) {
    char full[64];
    volta_value value;
    snprintf(full, sizeof full, "%s.%s", prefix, name);
    assert_ok(volta_graph_parameter(graph, full, shape, rank, &init, &value));
    return value;
}

static struct norm norm_parameters(volta_graph* graph, const char* prefix, int64_t channels) {
    const volta_init zeros = {VOLTA_INIT_CONSTANT, 0, 0}, ones = {VOLTA_INIT_CONSTANT, 1, 0};
    const volta_init scales = {VOLTA_INIT_UNIFORM, 0.5, 1.5}, biases = {VOLTA_INIT_UNIFORM, -0.5, 0.5};
    struct norm norm;
    norm.scale = parameter(graph, prefix, "weight", &channels, 1, scales);
    norm.bias = parameter(graph, prefix, "bias", &channels, 1, biases);
    norm.mean = parameter(graph, prefix, "running_mean", &channels, 1, zeros);
    norm.variance = parameter(graph, prefix, "running_var", &channels, 1, ones);
    return norm;
}

static volta_value apply_norm(volta_graph* graph, volta_value x, struct norm norm, double momentum) {
    const volta_value inputs[] = {x, norm.scale, norm.bias, norm.mean, norm.variance};
    const volta_attribute attribute = {"momentum", momentum, NULL, 0};
    volta_value y;
    assert_ok(volta_graph_apply(graph, "batch_norm", inputs, 5, &attribute, 1, &y, 1));
    return y;
}

/* x [N, 3, 3, 5] -> norm with planes -> relu -> linear -> norm without planes -> linear -> 4 classes. */
static volta_model* make_net(volta_context* context) {
    const int64_t x_shape[] = {-1, kChannels, kHeight, kWidth}, flat[] = {-1, kSample};
    const int64_t first[] = {kSample, kHidden}, second[] = {kHidden, kClasses};
    const volta_init normal = {VOLTA_INIT_NORMAL, 0.2, 0};
    const volta_attribute to_flat = {"shape", 0, flat, 2};
    volta_graph* graph;
    volta_model* model;
    volta_value x, normed, y;
    assert_ok(volta_graph_create(context, &graph));
    assert_ok(volta_graph_input(graph, "x", VOLTA_F32, x_shape, 4, &x));
    normed = apply_norm(graph, x, norm_parameters(graph, "bn1", kChannels), 0.1);
    assert_ok(volta_graph_unary(graph, "relu", normed, &y));
    assert_ok(volta_graph_apply(graph, "reshape", &y, 1, &to_flat, 1, &y, 1));
    assert_ok(
        volta_graph_binary(graph, "matmul", y, parameter(graph, "fc1", "weight", first, 2, normal), &y));
    y = apply_norm(graph, y, norm_parameters(graph, "bn2", kHidden), 0.25);
    assert_ok(
        volta_graph_binary(graph, "matmul", y, parameter(graph, "fc2", "weight", second, 2, normal), &y));
    assert_ok(volta_graph_output(graph, "logits", y));
    assert_ok(volta_graph_output(graph, "normed", normed));
    assert_ok(volta_model_create(graph, 11, &model));
    volta_graph_release(graph);
    return model;
}

static volta_trainer_options net_options(const int64_t* shape, uint64_t micro_batches) {
    volta_trainer_options options = VOLTA_TRAINER_OPTIONS_INIT;
    options.input_shapes = shape;
    options.input_extent_count = 4;
    options.micro_batches = micro_batches;
    options.learning_rate = 0.01;
    options.weight_decay = 0.1;
    options.decay_all_parameters = 1; /* not the running statistics, which have no gradient */
    return options;
}

/* Step `step`: channel c lies around c - 1, and moves with a bit of the class where it has one. */
static void fill_batch(int step, int samples, float* x, int32_t* targets) {
    uint32_t state = 77u + (uint32_t)step;
    for (int n = 0; n < samples; ++n) {
        state = state * 1664525u + 1013904223u;
        targets[n] = (int32_t)(state >> 30);
        for (int i = 0; i < kSample; ++i) {
            const int c = i / kPlane;
            const float bit = c < 2 ? (float)(targets[n] >> c & 1) - 0.5f : 0;
            state = state * 1664525u + 1013904223u;
            x[n * kSample + i] = (float)c - 1 + bit + 2 * ((float)(int32_t)state * 0x1p-31f);
        }
    }
}

static volta_status train_step(volta_context* context, volta_trainer* trainer, const float* x,
                               const int32_t* targets, int samples, volta_step_report* report) {
    const int64_t x_shape[] = {samples, kChannels, kHeight, kWidth}, target_shape[] = {samples};
    volta_tensor *input, *target;
    volta_step_report own = VOLTA_STEP_REPORT_INIT;
    assert_ok(volta_tensor_wrap(context, VOLTA_F32, x_shape, 4, (void*)(uintptr_t)x, &input));
    assert_ok(volta_tensor_wrap(context, VOLTA_I32, target_shape, 1, (void*)(uintptr_t)targets, &target));
    const volta_tensor* inputs[] = {input};
    const volta_status status = volta_trainer_step(trainer, inputs, 1, target, &own);
    volta_tensor_release(target);
    volta_tensor_release(input);
    if (report != NULL) *report = own;
    return status;
}

static void train_from(volta_context* context, volta_trainer* trainer, int first, int last, int samples) {
    float x[kMost * kBatch * kSample];
    int32_t targets[kMost * kBatch];
    for (int step = first; step < last; ++step) {
        fill_batch(step, samples, x, targets);
        assert_ok(train_step(context, trainer, x, targets, samples, NULL));
    }
}

/* What the running statistics of the first norm are after a batch, which it sees itself. */
static void follow(const float* x, double* mean, double* variance) {
    for (int c = 0; c < kChannels; ++c) {
        const double count = kBatch * kPlane;
        double sum = 0, squares = 0;
        for (int pass = 0; pass < 2; ++pass)
            for (int n = 0; n < kBatch; ++n)
                for (int i = 0; i < kPlane; ++i) {
                    const double value = (double)x[n * kSample + c * kPlane + i];
                    if (pass == 0)
                        sum += value;
                    else
                        squares += (value - sum / count) * (value - sum / count);
                }
        mean[c] += 0.1 * (sum / count - mean[c]);
        variance[c] += 0.1 * (squares / (count - 1) - variance[c]);
    }
}

static void assert_close(const char* what, const float* values, const double* expected, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        const int close = fabs((double)values[i] - expected[i]) <= 1e-5 * (1 + fabs(expected[i]));
        if (!close) print_error("%s %zu: %.9g, not %.9g\n", what, i, (double)values[i], expected[i]);
        assert_true(close);
    }
}

/* One micro-batch after the other, also within a step; and none of it is an optimizer's business. */
static void test_running_statistics_follow_the_micro_batches(void** state) {
    (void)state;
    const int64_t shape[] = {kBatch, kChannels, kHeight, kWidth};
    for (int micro_batches = 1; micro_batches <= 2; ++micro_batches) {
        volta_context* context;
        volta_trainer* trainer;
        volta_step_report report = VOLTA_STEP_REPORT_INIT;
        const volta_trainer_options options = net_options(shape, (uint64_t)micro_batches);
        const int samples = kBatch * micro_batches;
        double mean[kChannels] = {0}, variance[kChannels] = {1, 1, 1};
        float x[kMost * kBatch * kSample], first = 0;
        int32_t targets[kMost * kBatch];
        const float* data;
        size_t count;
        assert_ok(context_on(NULL, 2, 0, 0, &context));
        volta_model* model = make_net(context);
        assert_ok(volta_trainer_create(model, &options, &trainer));
        for (int step = 0; step < 60; ++step) {
            fill_batch(step, samples, x, targets);
            assert_ok(train_step(context, trainer, x, targets, samples, &report));
            for (int m = 0; m < micro_batches; ++m) follow(x + m * kBatch * kSample, mean, variance);
            if (step == 0) first = report.loss;
        }
        assert_true(report.loss < first - 0.2f);
        assert_ok(volta_trainer_parameter(trainer, "bn1.running_mean", &data, &count));
        assert_int_equal(count, kChannels);
        assert_close("mean", data, mean, count);
        assert_ok(volta_trainer_parameter(trainer, "bn1.running_var", &data, &count));
        assert_close("variance", data, variance, count);
        assert_ok(volta_trainer_gradient(trainer, "bn1.weight", &data, &count));
        assert_fails(volta_trainer_gradient(trainer, "bn1.running_mean", &data, &count), VOLTA_INVALID_STATE,
                     "the loss does not depend on bn1.running_mean: it has no gradient");
        volta_trainer_release(trainer);
        volta_model_release(model);
        volta_context_release(context);
    }
}

/* y of the first norm by the running statistics that the file holds, of one sample too. */
static void test_inference_takes_the_running_statistics(void** state) {
    (void)state;
    const int64_t shape[] = {kBatch, kChannels, kHeight, kWidth};
    const int64_t one[] = {1, kChannels, kHeight, kWidth}, logits_shape[] = {1, kClasses};
    const volta_trainer_options options = net_options(shape, 1);
    const volta_session_options session_options = {sizeof session_options, one, 4, 0};
    static const char* const kNames[] = {"bn1.weight", "bn1.bias", "bn1.running_mean", "bn1.running_var"};
    volta_context* context;
    volta_trainer* trainer;
    volta_model* opened;
    volta_session* session;
    volta_tensor *input, *outputs[2];
    const float* values[4];
    float x[kSample];
    double expected[kSample];
    int32_t target;
    size_t count;
    assert_ok(context_on(NULL, 2, 0, 0, &context));
    volta_model* model = make_net(context);
    assert_ok(volta_trainer_create(model, &options, &trainer));
    train_from(context, trainer, 0, 5, kBatch);
    assert_ok(volta_trainer_save(trainer, kPath));
    volta_trainer_release(trainer);
    volta_model_release(model);

    assert_ok(volta_model_open(context, kPath, NULL, &opened));
    for (int i = 0; i < 4; ++i) assert_ok(volta_model_parameter(opened, kNames[i], &values[i], &count));
    fill_batch(900, 1, x, &target);
    for (int i = 0; i < kSample; ++i) {
        const int c = i / kPlane;
        const double rs = 1 / sqrt((double)values[3][c] + (double)1e-5f);
        expected[i] =
            ((double)x[i] - (double)values[2][c]) * rs * (double)values[0][c] + (double)values[1][c];
    }
    assert_ok(volta_session_create(opened, &session_options, &session));
    assert_ok(volta_tensor_wrap(context, VOLTA_F32, one, 4, x, &input));
    assert_ok(volta_tensor_create(context, VOLTA_F32, logits_shape, 2, &outputs[0]));
    assert_ok(volta_tensor_create(context, VOLTA_F32, one, 4, &outputs[1]));
    const volta_tensor* inputs[] = {input};
    assert_ok(volta_session_run(session, inputs, 1, outputs, 2));
    assert_close("y", volta_tensor_data(outputs[1]), expected, kSample);
    for (int i = 0; i < 2; ++i) volta_tensor_release(outputs[i]);
    volta_tensor_release(input);
    volta_session_release(session);
    volta_model_release(opened);
    volta_context_release(context);
    remove(kPath);
}

/* Threads, instruction sets, devices, and a run that was saved in the middle: one hash, for ever, which the
 * statistics are in. */
static void test_one_result(void** state) {
    (void)state;
    const int64_t shape[] = {kBatch, kChannels, kHeight, kWidth};
    const volta_trainer_options options = net_options(shape, 2);
    const struct {
        uint32_t threads;
        volta_isa isa;
        uint32_t flags;
    } machines[] = {{1, VOLTA_ISA_AUTO, 0},
                    {2, VOLTA_ISA_AUTO, 0},
                    {3, VOLTA_ISA_AUTO, 0},
                    {8, VOLTA_ISA_AUTO, 0},
                    {2, VOLTA_ISA_AVX2, 0},
                    {2, VOLTA_ISA_SCALAR, 0},
                    {2, VOLTA_ISA_AUTO, VOLTA_CONTEXT_NO_JIT}};
    const char* const expected = "74ca8b84cfea4692c5dd496e207ea0b6";
    char hash[33];
    for (size_t i = 0; i < sizeof machines / sizeof *machines; ++i)
        for (int stops = 0; stops < 2; ++stops) {
            volta_context* context;
            volta_trainer* trainer;
            if (context_on(NULL, machines[i].threads, machines[i].isa, machines[i].flags, &context) !=
                VOLTA_OK)
                continue; /* a processor without it */
            volta_model* model = make_net(context);
            assert_ok(volta_trainer_create(model, &options, &trainer));
            train_from(context, trainer, 0, 4, 2 * kBatch);
            if (stops) {
                volta_model* opened;
                assert_ok(volta_trainer_save(trainer, kPath));
                volta_trainer_release(trainer);
                assert_ok(volta_model_open(context, kPath, NULL, &opened));
                assert_ok(volta_trainer_resume(opened, NULL, &trainer));
                volta_model_release(opened);
            }
            train_from(context, trainer, 4, 9, 2 * kBatch);
            assert_ok(volta_trainer_hash(trainer, hash));
            assert_string_equal(hash, expected);
            if (i == 0 && !stops) { /* the hash is of the statistics too */
                assert_ok(volta_trainer_update_model(trainer));
                const float other[kChannels] = {1, 2, 3};
                assert_ok(volta_model_set_parameter(model, "bn1.running_mean", other, kChannels));
                assert_ok(volta_model_hash(model, hash));
                assert_string_not_equal(hash, expected);
            }
            volta_trainer_release(trainer);
            volta_model_release(model);
            volta_context_release(context);
        }
    remove(kPath);
}

/* What is not finite stops the step before the statistics follow. */
static void test_a_refused_step_changes_no_statistics(void** state) {
    (void)state;
    const int64_t shape[] = {kBatch, kChannels, kHeight, kWidth};
    const volta_trainer_options options = net_options(shape, 2);
    volta_context* context;
    volta_trainer* trainer;
    float x[2 * kBatch * kSample];
    int32_t targets[2 * kBatch];
    char before[33], after[33];
    assert_ok(context_on(NULL, 2, 0, 0, &context));
    volta_model* model = make_net(context);
    assert_ok(volta_trainer_create(model, &options, &trainer));
    train_from(context, trainer, 0, 3, 2 * kBatch);
    assert_ok(volta_trainer_hash(trainer, before));
    fill_batch(3, 2 * kBatch, x, targets);
    x[7] = HUGE_VALF; /* in the first of two micro-batches */
    assert_fails(train_step(context, trainer, x, targets, 2 * kBatch, NULL), VOLTA_NOT_FINITE,
                 "step 4: the loss is nan (not a number)");
    assert_ok(volta_trainer_hash(trainer, after));
    assert_string_equal(before, after);
    train_from(context, trainer, 3, 4, 2 * kBatch);
    assert_ok(volta_trainer_hash(trainer, after));
    assert_string_not_equal(before, after);
    volta_trainer_release(trainer);
    volta_model_release(model);
    volta_context_release(context);
}

static void test_what_cannot_be_trained_is_refused(void** state) {
    (void)state;
    const int64_t one[] = {1, kChannels, kHeight, kWidth}, x_shape[] = {4, 3};
    volta_trainer_options options = net_options(one, 1);
    volta_context* context;
    volta_trainer* trainer;
    volta_model* model;
    assert_ok(context_on(NULL, 1, 0, 0, &context));
    model = make_net(context);
    assert_fails(
        volta_trainer_create(model, &options, &trainer), VOLTA_SHAPE_MISMATCH,
        "batch_norm: training needs at least 2 values of each channel in a micro-batch, x is [1, 8]");
    volta_model_release(model);
    options.input_shapes = NULL;
    options.input_extent_count = 0;
    for (int shared = 0; shared < 2; ++shared) {
        volta_graph* graph;
        volta_value x, given, y;
        assert_ok(volta_graph_create(context, &graph));
        assert_ok(volta_graph_input(graph, "x", VOLTA_F32, x_shape, 2, &x));
        struct norm norm = norm_parameters(graph, "bn", 3);
        if (!shared) {
            assert_ok(volta_graph_input(graph, "mean", VOLTA_F32, x_shape + 1, 1, &given));
            norm.mean = given;
        }
        y = apply_norm(graph, x, norm, 0.1);
        if (shared) y = apply_norm(graph, y, norm, 0.1);
        assert_ok(volta_graph_output(graph, "y", y));
        assert_ok(volta_model_create(graph, 1, &model));
        assert_fails(volta_trainer_create(model, &options, &trainer), VOLTA_INVALID_ARGUMENT,
                     shared ? "batch_norm: its running mean 'bn.running_mean' is used 2 times in the model: "
                              "training needs one of its own for each"
                            : "batch_norm: its running mean is no parameter of the model, so training has no "
                              "place for it");
        volta_model_release(model);
        volta_graph_release(graph);
    }
    volta_context_release(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_running_statistics_follow_the_micro_batches),
        cmocka_unit_test(test_inference_takes_the_running_statistics),
        cmocka_unit_test(test_one_result),
        cmocka_unit_test(test_a_refused_step_changes_no_statistics),
        cmocka_unit_test(test_what_cannot_be_trained_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
