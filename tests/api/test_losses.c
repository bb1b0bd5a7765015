/* The trainer's losses: what a step reports and its gradients against the formulas that PyTorch documents, in
 * double; what files keep of a loss; what is refused, and by which sentence. */
#include <math.h>

#include "tests/api/api_test.h"

enum { kRows = 12, kIn = 3, kOut = 5 };

static const double kWeights[kOut] = {0.5, 2, 1, 0, 3.25};
static const double kOnes[kOut] = {1, 1, 1, 1, 1};
static const char kPath[] = "losses.volta";

struct loss_case {
    const char* name;
    volta_loss loss;
    double smoothing, delta;
    const double* weights;
};
static const struct loss_case kCases[] = {
    {"cross-entropy", VOLTA_LOSS_CROSS_ENTROPY, 0, 0, NULL},
    {"cross-entropy, smoothed", VOLTA_LOSS_CROSS_ENTROPY, 0.1, 0, NULL},
    {"cross-entropy, weighted", VOLTA_LOSS_CROSS_ENTROPY, 0, 0, kWeights},
    {"cross-entropy, smoothed and weighted", VOLTA_LOSS_CROSS_ENTROPY, 0.3, 0, kWeights},
    {"mean square", VOLTA_LOSS_MSE, 0, 0, NULL},
    {"binary cross-entropy", VOLTA_LOSS_BINARY_CROSS_ENTROPY, 0, 0, NULL},
    {"binary cross-entropy, weighted", VOLTA_LOSS_BINARY_CROSS_ENTROPY, 0, 0, kWeights},
    {"L1", VOLTA_LOSS_L1, 0, 0, NULL},
    {"Huber", VOLTA_LOSS_HUBER, 0, 0, NULL},
    {"Huber of 0.25", VOLTA_LOSS_HUBER, 0, 0.25, NULL},
};

/* What the trainers learn: rows of kIn numbers, classes with two that are ignored, numbers in 0 .. 1. */
struct data {
    float x[kRows * kIn], numbers[kRows * kOut];
    int32_t classes[kRows];
};

static void fill(struct data* data) {
    for (int i = 0; i < kRows * kIn; ++i) data->x[i] = (float)(i * 37 % 23) / 8 - 1.25f;
    for (int i = 0; i < kRows * kOut; ++i) data->numbers[i] = i % 7 == 0 ? 1.0f : (float)(i * 29 % 11) / 16;
    for (int r = 0; r < kRows; ++r) data->classes[r] = r % 6 == 4 ? -1 : r * 3 % kOut;
}

static volta_context* context_of(uint32_t threads) {
    volta_context* context;
    volta_context_options options = {0};
    options.struct_size = sizeof options;
    options.thread_count = threads;
    assert_ok(volta_context_create(&options, &context));
    return context;
}

static volta_model* line(volta_context* context) {
    volta_graph* graph;
    volta_model* model;
    volta_value x, y;
    const int64_t shape[] = {-1, kIn};
    assert_ok(volta_graph_create(context, &graph));
    assert_ok(volta_graph_input(graph, "x", VOLTA_F32, shape, 2, &x));
    assert_ok(volta_graph_linear(graph, "line", x, kOut, &y));
    assert_ok(volta_graph_output(graph, "y", y));
    assert_ok(volta_model_create(graph, 3, &model));
    volta_graph_release(graph);
    return model;
}

static volta_trainer_options options_of(const struct loss_case* test, const int64_t* shape) {
    volta_trainer_options options = VOLTA_TRAINER_OPTIONS_INIT;
    options.input_shapes = shape;
    options.input_extent_count = 2;
    options.loss = test->loss;
    options.optimizer = VOLTA_SGD;
    options.learning_rate = 0.1;
    options.micro_batches = (uint64_t)(kRows / shape[0]);
    options.label_smoothing = test->smoothing;
    options.huber_delta = test->delta;
    options.class_weights = test->weights;
    options.class_weight_count = test->weights != NULL ? kOut : 0;
    return options;
}

static void make_step(volta_context* context, volta_trainer* trainer, const struct loss_case* test,
                      struct data* data, volta_step_report* report) {
    const int64_t in[] = {kRows, kIn}, out[] = {kRows, kOut};
    const int classes = test->loss == VOLTA_LOSS_CROSS_ENTROPY;
    volta_tensor *x, *targets;
    report->struct_size = sizeof *report;
    assert_ok(volta_tensor_wrap(context, VOLTA_F32, in, 2, data->x, &x));
    assert_ok(classes ? volta_tensor_wrap(context, VOLTA_I32, out, 1, data->classes, &targets)
                      : volta_tensor_wrap(context, VOLTA_F32, out, 2, data->numbers, &targets));
    const volta_tensor* inputs[] = {x};
    assert_ok(volta_trainer_step(trainer, inputs, 1, targets, report));
    volta_tensor_release(targets);
    volta_tensor_release(x);
}

/* ---- The formulas ---- */

/* Of one row of logits y: adds the loss and its slopes, and returns what the row adds to the divisor. */
static double class_row(const struct loss_case* test, const double* y, int target, double* loss,
                        double* slopes) {
    double sum = 0, all = 0, weights = 0, weight[kOut];
    memset(slopes, 0, kOut * sizeof *slopes);
    if (target < 0) return 0;
    for (int j = 0; j < kOut; ++j) sum += exp(y[j]);
    for (int j = 0; j < kOut; ++j) {
        weight[j] = test->weights != NULL ? test->weights[j] : 1;
        all += weight[j] * (log(sum) - y[j]);
        weights += weight[j];
    }
    *loss += (1 - test->smoothing) * weight[target] * (log(sum) - y[target]) + test->smoothing / kOut * all;
    for (int j = 0; j < kOut; ++j) {
        const double p = exp(y[j]) / sum;
        slopes[j] = (1 - test->smoothing) * weight[target] * (p - (j == target)) +
                    test->smoothing / kOut * (weights * p - weight[j]);
    }
    return weight[target];
}

static double element(const struct loss_case* test, int column, double y, double t, double* loss) {
    const double d = y - t, delta = test->delta == 0 ? 1 : test->delta, p = 1 / (1 + exp(-y));
    const double weight = test->weights != NULL ? test->weights[column] : 1;
    switch (test->loss) {
        case VOLTA_LOSS_MSE:
            *loss += d * d;
            return 2 * d;
        case VOLTA_LOSS_L1:
            *loss += fabs(d);
            return (d > 0) - (d < 0);
        case VOLTA_LOSS_HUBER:
            *loss += fabs(d) < delta ? 0.5 * d * d : delta * (fabs(d) - 0.5 * delta);
            return fabs(d) < delta ? d : delta * ((d > 0) - (d < 0));
        default:
            *loss -= weight * t * log(p) + (1 - t) * log(1 - p);
            return (1 - t) * p - weight * t * (1 - p);
    }
}

struct expectation {
    double loss, weight[kIn * kOut], bias[kOut];
};

static void expect(const struct loss_case* test, const struct data* data, const float* weight,
                   const float* bias, struct expectation* out) {
    double divisor = 0;
    memset(out, 0, sizeof *out);
    for (int r = 0; r < kRows; ++r) {
        const float* const x = data->x + r * kIn;
        double y[kOut], slopes[kOut];
        for (int j = 0; j < kOut; ++j) {
            y[j] = bias[j];
            for (int i = 0; i < kIn; ++i) y[j] += (double)x[i] * weight[i * kOut + j];
        }
        if (test->loss == VOLTA_LOSS_CROSS_ENTROPY) {
            divisor += class_row(test, y, data->classes[r], &out->loss, slopes);
        } else {
            divisor += kOut;
            for (int j = 0; j < kOut; ++j)
                slopes[j] = element(test, j, y[j], data->numbers[r * kOut + j], &out->loss);
        }
        for (int j = 0; j < kOut; ++j) {
            out->bias[j] += slopes[j];
            for (int i = 0; i < kIn; ++i) out->weight[i * kOut + j] += x[i] * slopes[j];
        }
    }
    out->loss /= divisor;
    for (int j = 0; j < kOut; ++j) out->bias[j] /= divisor;
    for (int i = 0; i < kIn * kOut; ++i) out->weight[i] /= divisor;
}

static void assert_close(const struct loss_case* test, const char* what, double actual, double expected) {
    const int close = fabs(actual - expected) <= 2e-6 * (1 + fabs(expected));
    if (!close) print_error("%s: %s is %.9g, not %.9g\n", test->name, what, actual, expected);
    assert_true(close);
}

static void test_a_step_is_the_formula(void** state) {
    (void)state;
    volta_context* const context = context_of(2);
    struct data data;
    fill(&data);
    for (size_t c = 0; c < sizeof kCases / sizeof *kCases; ++c)
        for (int64_t micro_batches = 1; micro_batches <= 3; micro_batches += 2) {
            const struct loss_case* const test = &kCases[c];
            const int64_t shape[] = {kRows / micro_batches, kIn};
            const volta_trainer_options options = options_of(test, shape);
            volta_model* const model = line(context);
            volta_trainer* trainer;
            volta_step_report report = {0};
            struct expectation expected;
            const float *weight, *bias, *gradient;
            size_t elements;
            assert_ok(volta_trainer_create(model, &options, &trainer));
            double first = 0;
            for (int step = 0; step < 60; ++step) {
                assert_ok(volta_trainer_parameter(trainer, "line.weight", &weight, &elements));
                assert_ok(volta_trainer_parameter(trainer, "line.bias", &bias, &elements));
                expect(test, &data, weight, bias, &expected);
                make_step(context, trainer, test, &data, &report);
                assert_close(test, "the loss", report.loss, expected.loss);
                assert_ok(volta_trainer_gradient(trainer, "line.weight", &gradient, &elements));
                for (int i = 0; i < kIn * kOut; ++i)
                    assert_close(test, "a weight's gradient", gradient[i], expected.weight[i]);
                assert_ok(volta_trainer_gradient(trainer, "line.bias", &gradient, &elements));
                for (int j = 0; j < kOut; ++j)
                    assert_close(test, "a bias's gradient", gradient[j], expected.bias[j]);
                if (step == 0) first = report.loss;
            }
            assert_true(report.loss < first);
            volta_trainer_release(trainer);
            volta_model_release(model);
        }
    volta_context_release(context);
}

/* Multiplying by 1 rounds nothing: the hashes are those of the plain losses. */
static void test_weights_of_one_change_nothing(void** state) {
    (void)state;
    const volta_loss losses[] = {VOLTA_LOSS_CROSS_ENTROPY, VOLTA_LOSS_BINARY_CROSS_ENTROPY};
    const int64_t shape[] = {kRows, kIn};
    volta_context* const context = context_of(1);
    struct data data;
    fill(&data);
    for (int l = 0; l < 2; ++l) {
        char hashes[2][33];
        for (int weighted = 0; weighted < 2; ++weighted) {
            const struct loss_case test = {"ones", losses[l], 0, 0, weighted ? kOnes : NULL};
            const volta_trainer_options options = options_of(&test, shape);
            volta_model* const model = line(context);
            volta_trainer* trainer;
            volta_step_report report = {0};
            assert_ok(volta_trainer_create(model, &options, &trainer));
            for (int step = 0; step < 5; ++step) make_step(context, trainer, &test, &data, &report);
            assert_ok(volta_trainer_hash(trainer, hashes[weighted]));
            volta_trainer_release(trainer);
            volta_model_release(model);
        }
        assert_string_equal(hashes[0], hashes[1]);
    }
    volta_context_release(context);
}

static void test_a_checkpoint_keeps_the_loss(void** state) {
    (void)state;
    const int64_t shape[] = {kRows, kIn};
    struct data data;
    fill(&data);
    for (size_t c = 0; c < sizeof kCases / sizeof *kCases; ++c) {
        const struct loss_case* const test = &kCases[c];
        const volta_trainer_options options = options_of(test, shape);
        volta_context* context = context_of(2);
        volta_model* model = line(context);
        volta_trainer* trainer;
        volta_step_report report = {0};
        char whole[33], resumed[33];
        assert_ok(volta_trainer_create(model, &options, &trainer));
        make_step(context, trainer, test, &data, &report);
        assert_ok(volta_trainer_save(trainer, kPath));
        make_step(context, trainer, test, &data, &report);
        assert_ok(volta_trainer_hash(trainer, whole));
        volta_trainer_release(trainer);
        volta_model_release(model);

        assert_ok(volta_model_open(context, kPath, NULL, &model));
        volta_trainer_options other = options;
        other.label_smoothing = 0.125;
        if (test->loss == VOLTA_LOSS_CROSS_ENTROPY)
            assert_int_equal(volta_trainer_resume(model, &other, &trainer), VOLTA_INVALID_ARGUMENT);
        assert_ok(volta_trainer_resume(model, c % 2 ? NULL : &options, &trainer));
        volta_trainer_options kept = {0};
        kept.struct_size = sizeof kept;
        assert_ok(volta_trainer_get_options(trainer, &kept));
        assert_int_equal(kept.loss, test->loss);
        assert_true(kept.label_smoothing == test->smoothing);
        assert_true(kept.huber_delta == (test->loss != VOLTA_LOSS_HUBER ? 0
                                         : test->delta == 0             ? 1
                                                                        : test->delta));
        assert_int_equal(kept.class_weight_count, options.class_weight_count);
        if (test->weights != NULL) assert_memory_equal(kept.class_weights, kWeights, sizeof kWeights);
        make_step(context, trainer, test, &data, &report);
        assert_ok(volta_trainer_hash(trainer, resumed));
        assert_string_equal(whole, resumed);
        volta_trainer_release(trainer);
        volta_model_release(model);
        volta_context_release(context);
    }
    remove(kPath);
}

static void test_resume_refuses_another_loss(void** state) {
    (void)state;
    const int64_t shape[] = {kRows, kIn};
    const double others[kOut] = {0.5, 7, 1, 0, 3.25};
    const struct loss_case weighted = {"", VOLTA_LOSS_CROSS_ENTROPY, 0.5, 0, kWeights};
    volta_context* const context = context_of(1);
    volta_model *model = line(context), *opened;
    volta_trainer *trainer, *other;
    volta_trainer_options options = options_of(&weighted, shape);
    assert_ok(volta_trainer_create(model, &options, &trainer));
    assert_ok(volta_trainer_save(trainer, kPath));
    assert_ok(volta_model_open(context, kPath, NULL, &opened));
    options.label_smoothing = 0.25;
    assert_fails(volta_trainer_resume(opened, &options, &other), VOLTA_INVALID_ARGUMENT,
                 "label_smoothing is 0.25, the checkpoint was trained with 0.5");
    options = options_of(&weighted, shape);
    options.class_weights = others;
    assert_fails(volta_trainer_resume(opened, &options, &other), VOLTA_INVALID_ARGUMENT,
                 "class_weight_000001 is 7, the checkpoint was trained with 2");
    options.class_weights = NULL;
    options.class_weight_count = 0;
    assert_fails(volta_trainer_resume(opened, &options, &other), VOLTA_INVALID_ARGUMENT,
                 "class_weight_count is 0, the checkpoint was trained with 5");
    volta_trainer_release(trainer);
    volta_model_release(opened);
    volta_model_release(model);

    const struct loss_case huber = {"", VOLTA_LOSS_HUBER, 0, 0, NULL};
    model = line(context);
    options = options_of(&huber, shape);
    assert_ok(volta_trainer_create(model, &options, &trainer));
    assert_ok(volta_trainer_save(trainer, kPath));
    assert_ok(volta_model_open(context, kPath, NULL, &opened));
    options.huber_delta = 0.5;
    assert_fails(volta_trainer_resume(opened, &options, &other), VOLTA_INVALID_ARGUMENT,
                 "huber_delta is 0.5, the checkpoint was trained with 1");
    volta_trainer_release(trainer);
    volta_model_release(opened);
    volta_model_release(model);
    volta_context_release(context);
    remove(kPath);
}

static void test_wrong_options_are_named(void** state) {
    (void)state;
    static const double kNegative[kOut] = {1, 1, -1, 1, 1}, kZeros[kOut] = {0};
    const double nan = 0.0 / 0.0;
    const int64_t shape[] = {kRows, kIn};
    const struct {
        volta_loss loss;
        double smoothing, delta;
        const double* weights;
        size_t weight_count;
        const char* sentence;
    } rows[] = {
        {5, 0, 0, NULL, 0, "loss is 5, it must be in 0 .. 4"},
        {-1, 0, 0, NULL, 0, "loss is -1, it must be in 0 .. 4"},
        {VOLTA_LOSS_CROSS_ENTROPY, 1, 0, NULL, 0, "label_smoothing is 1, it must be at least 0 and below 1"},
        {VOLTA_LOSS_CROSS_ENTROPY, -0.5, 0, NULL, 0,
         "label_smoothing is -0.5, it must be at least 0 and below 1"},
        {VOLTA_LOSS_CROSS_ENTROPY, nan, 0, NULL, 0, NULL},
        {VOLTA_LOSS_MSE, 0.1, 0, NULL, 0, "label_smoothing is 0.1, which the mean square loss does not have"},
        {VOLTA_LOSS_CROSS_ENTROPY, 0, 2, NULL, 0,
         "huber_delta is 2, which the cross-entropy loss does not have"},
        {VOLTA_LOSS_HUBER, 0, -1, NULL, 0, "huber_delta is -1, it must be in 1e-30 .. 1e+30"},
        {VOLTA_LOSS_HUBER, 0, nan, NULL, 0, NULL},
        {VOLTA_LOSS_L1, 0, 0, kWeights, kOut, "class_weights are given, which the L1 loss does not have"},
        {VOLTA_LOSS_CROSS_ENTROPY, 0, 0, NULL, 3, "class_weights is NULL and class_weight_count is 3"},
        {VOLTA_LOSS_CROSS_ENTROPY, 0, 0, kWeights, 0, "class_weights is given and class_weight_count is 0"},
        {VOLTA_LOSS_CROSS_ENTROPY, 0, 0, kWeights, 1000001,
         "class_weight_count is 1000001, at most 1000000 are supported"},
        {VOLTA_LOSS_CROSS_ENTROPY, 0, 0, kWeights, 4,
         "class_weights has 4 numbers, the last axis of the output has 5"},
        {VOLTA_LOSS_BINARY_CROSS_ENTROPY, 0, 0, kWeights, 2,
         "class_weights has 2 numbers, the last axis of the output has 5"},
        {VOLTA_LOSS_CROSS_ENTROPY, 0, 0, kNegative, kOut, "class_weights[2] is -1, it must be in 0 .. 1e+30"},
        {VOLTA_LOSS_CROSS_ENTROPY, 0, 0, kZeros, kOut, "class_weights are all 0: nothing would be learned"},
    };
    volta_context* const context = context_of(1);
    volta_model* const model = line(context);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; ++r) {
        volta_trainer* trainer;
        volta_trainer_options options = VOLTA_TRAINER_OPTIONS_INIT;
        options.input_shapes = shape;
        options.input_extent_count = 2;
        options.loss = rows[r].loss;
        options.label_smoothing = rows[r].smoothing;
        options.huber_delta = rows[r].delta;
        options.class_weights = rows[r].weights;
        options.class_weight_count = rows[r].weight_count;
        assert_int_equal(volta_trainer_create(model, &options, &trainer), VOLTA_INVALID_ARGUMENT);
        if (rows[r].sentence != NULL) assert_string_equal(volta_last_error(), rows[r].sentence);
        assert_null(trainer);
    }
    volta_model_release(model);
    volta_context_release(context);
}

/* Class 3 weighs nothing: a step of nothing else has nothing to divide by. */
static void test_a_step_needs_a_target_with_weight(void** state) {
    (void)state;
    const int64_t shape[] = {kRows, kIn};
    const struct loss_case test = {"", VOLTA_LOSS_CROSS_ENTROPY, 0.1, 0, kWeights};
    const volta_trainer_options options = options_of(&test, shape);
    volta_context* const context = context_of(1);
    volta_model* const model = line(context);
    volta_trainer* trainer;
    volta_tensor *x, *targets;
    struct data data;
    fill(&data);
    for (int r = 0; r < kRows; ++r) data.classes[r] = r % 2 ? 3 : -1;
    assert_ok(volta_trainer_create(model, &options, &trainer));
    assert_ok(volta_tensor_wrap(context, VOLTA_F32, shape, 2, data.x, &x));
    assert_ok(volta_tensor_wrap(context, VOLTA_I32, shape, 1, data.classes, &targets));
    const volta_tensor* inputs[] = {x};
    assert_fails(volta_trainer_step(trainer, inputs, 1, targets, NULL), VOLTA_INVALID_ARGUMENT,
                 "step 1 has no target that counts: all are -1 or of classes without weight");
    data.classes[5] = 4;
    assert_ok(volta_trainer_step(trainer, inputs, 1, targets, NULL));
    volta_tensor_release(targets);
    volta_tensor_release(x);
    volta_trainer_release(trainer);
    volta_model_release(model);
    volta_context_release(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_step_is_the_formula),
        cmocka_unit_test(test_weights_of_one_change_nothing),
        cmocka_unit_test(test_a_checkpoint_keeps_the_loss),
        cmocka_unit_test(test_resume_refuses_another_loss),
        cmocka_unit_test(test_wrong_options_are_named),
        cmocka_unit_test(test_a_step_needs_a_target_with_weight),
    };
    return cmocka_run_group_tests_name("losses", tests, NULL, NULL);
}
