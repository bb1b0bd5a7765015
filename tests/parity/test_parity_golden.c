/* The golden numbers of PyTorch (tests/golden/parity_gpt.json, made by parity_gpt.py --update), checked
 * without PyTorch through the public header: the loss of 20 steps and every parameter's gradient of the
 * first, within 1e-4 relative. The batches are made here and in parity_gpt.py by the same few lines. */
#include <math.h>

#include "tests/parity/golden_numbers.h"
#include "volta.h"

enum { BATCH = 4, TIME = 64, VOCABULARY = 65, STEPS = 20, SUMS = 4 };
static const double kTolerance = 1e-4;

static char* golden; /* the file's text */

/* Each token is 5 times the last plus 1 to 4: [BATCH, TIME] inputs, and targets one token later. */
static void make_batch(int step, int32_t* inputs, int32_t* targets) {
    for (int b = 0; b < BATCH; ++b) {
        int token = 0;
        for (int t = 0; t <= TIME; ++t) {
            token =
                (5 * token + 1 + (int)(splitmix((uint64_t)(1000 * step + b), (uint64_t)t) % 4)) % VOCABULARY;
            if (t < TIME) inputs[b * TIME + t] = token;
            if (t > 0) targets[b * TIME + t - 1] = token;
        }
    }
}

static int setup(void** state) {
    (void)state;
    golden = read_golden("golden/parity_gpt.json");
    return golden != NULL ? 0 : -1;
}

static int teardown(void** state) {
    (void)state;
    free(golden);
    return 0;
}

static volta_context* context;
static volta_model* model;
static volta_trainer* trainer;

static void create(void) {
    volta_context_options options = {0};
    options.struct_size = sizeof options;
    options.thread_count = 2;
    CHECK(volta_context_create(&options, &context));

    volta_gpt_options gpt = {sizeof gpt, VOCABULARY, 2, 64, 4, TIME, 0.0};
    CHECK(volta_model_create_gpt(context, &gpt, 1, &model));

    const int64_t shape[] = {BATCH, TIME};
    volta_trainer_options training;
    memset(&training, 0, sizeof training);
    training.struct_size = sizeof training;
    training.input_shapes = shape;
    training.input_extent_count = 2;
    training.steps = STEPS;
    training.schedule = VOLTA_SCHEDULE_COSINE;
    training.warmup_steps = 5;
    training.learning_rate = 1e-3;
    training.final_learning_rate = 1e-4;
    training.beta1 = 0.9;
    training.beta2 = 0.99;
    training.epsilon = 1e-8;
    training.weight_decay = 0.1;
    training.clip_norm = 1.0;
    CHECK(volta_trainer_create(model, &training, &trainer));
}

static void release(void) {
    volta_trainer_release(trainer);
    volta_model_release(model);
    volta_context_release(context);
}

static float step(int number) {
    static int32_t inputs[BATCH * TIME], targets[BATCH * TIME];
    const int64_t shape[] = {BATCH, TIME};
    volta_tensor *input, *target;
    make_batch(number, inputs, targets);
    CHECK(volta_tensor_wrap(context, VOLTA_I32, shape, 2, inputs, &input));
    CHECK(volta_tensor_wrap(context, VOLTA_I32, shape, 2, targets, &target));
    volta_step_report report = VOLTA_STEP_REPORT_INIT;
    const volta_tensor* const list[] = {input};
    CHECK(volta_trainer_step(trainer, list, 1, target, &report));
    volta_tensor_release(target);
    volta_tensor_release(input);
    return report.loss;
}

static void test_initial_parameters_are_those_of_the_golden_run(void** state) {
    (void)state;
    char hash[33];
    create();
    CHECK(volta_model_hash(model, hash));
    release();
    const char* expected = strchr(after(golden, "initial_hash"), '"') + 1;
    if (strncmp(hash, expected, 32) != 0)
        fail_msg("initial parameters changed: %s, golden run %.32s; run parity_gpt.py --update", hash,
                 expected);
}

static void test_loss_follows_pytorch_for_20_steps(void** state) {
    (void)state;
    double expected[STEPS];
    read_numbers(after(golden, "loss"), expected, STEPS);
    create();
    for (int i = 0; i < STEPS; ++i) {
        const double loss = (double)step(i);
        if (!(fabs(loss - expected[i]) <= kTolerance * expected[i]))
            fail_msg("step %d: loss %.7f, PyTorch %.7f", i + 1, loss, expected[i]);
    }
    release();
}

/* Norm, and sums under the random signs of parity_gpt.py's fingerprint(). */
static void assert_gradient(int index, const char* name, double norm, const double* sums) {
    const float* gradient;
    size_t count;
    double squares = 0, actual[SUMS] = {0, 0, 0, 0};
    CHECK(volta_trainer_gradient(trainer, name, &gradient, &count));
    for (size_t i = 0; i < count; ++i) squares += (double)gradient[i] * gradient[i];
    for (int r = 0; r < SUMS; ++r)
        for (size_t i = 0; i < count; ++i) {
            const uint64_t word = splitmix((uint64_t)(index * SUMS + r + 1), i / 64);
            actual[r] += (word >> (i % 64)) & 1 ? -(double)gradient[i] : (double)gradient[i];
        }
    if (!(fabs(sqrt(squares) - norm) <= kTolerance * norm))
        fail_msg("gradient of %s: norm %.9g, PyTorch %.9g", name, sqrt(squares), norm);
    for (int r = 0; r < SUMS; ++r)
        if (!(fabs(actual[r] - sums[r]) <= 4 * kTolerance * norm))
            fail_msg("gradient of %s: signed sum %d is %.9g, PyTorch %.9g", name, r, actual[r], sums[r]);
}

static void test_gradients_of_the_first_step_are_pytorchs(void** state) {
    (void)state;
    create();
    step(0);
    const char* place = after(golden, "gradients");
    const int parameters = (int)volta_model_parameter_count(model);
    for (int index = 0; index < parameters; ++index) {
        char name[64];
        double sums[SUMS];
        place = after(place, "name");
        assert_int_equal(sscanf(place, " \"%63[^\"]\"", name), 1);
        const double norm = strtod(after(place, "norm"), NULL);
        place = read_numbers(after(place, "sums"), sums, SUMS);
        assert_gradient(index, name, norm, sums);
    }
    assert_null(strstr(place, "\"name\":")); /* both sides know the same parameters */
    release();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_initial_parameters_are_those_of_the_golden_run),
        cmocka_unit_test(test_loss_follows_pytorch_for_20_steps),
        cmocka_unit_test(test_gradients_of_the_first_step_are_pytorchs),
    };
    return cmocka_run_group_tests_name("parity_golden", tests, setup, teardown);
}
