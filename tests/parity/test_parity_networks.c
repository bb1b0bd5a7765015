/* The golden numbers of PyTorch for networks of pictures (tests/golden/parity_networks.json, made by
 * parity_networks.py --update), checked without PyTorch: a ResNet-20 and a small MobileNetV2, whose
 * convolutions are depthwise. The losses of 20 steps within 1e-4 relative, every gradient of the first within
 * 1e-4 of its norm, and the running statistics after them within 1e-5. Weights and batches are made here and
 * there by the same few lines. */
#include <math.h>

#include "tests/parity/golden_numbers.h"
#include "volta.h"

enum { BATCH = 8, CHANNELS = 3, SIDE = 16, CLASSES = 10, STEPS = 20, SIGNS = 8 };
enum { PLANE = SIDE * SIDE, SAMPLE = CHANNELS * PLANE, MOST_VALUES = 4096 };

static char* golden; /* the file's text */
static volta_context* context;
static volta_model* model;
static volta_trainer* trainer;

/* In [-1, 1): a multiple of 2^-23. */
static float uniform(uint64_t seed, uint64_t index) {
    return (float)(splitmix(seed, index) >> 40) * 0x1p-23f - 1;
}

/* Noise, with a bright square at a place that the class says. */
static void make_batch(int step, float* x, int32_t* targets) {
    for (int i = 0; i < BATCH * SAMPLE; ++i) x[i] = uniform((uint64_t)(1000 + step), (uint64_t)i);
    for (int n = 0; n < BATCH; ++n) {
        const int t = (int)(splitmix((uint64_t)(5000 + step), (uint64_t)n) % CLASSES);
        targets[n] = t;
        for (int row = t; row < t + 4; ++row)
            for (int column = 12 - t; column < 16 - t; ++column)
                x[n * SAMPLE + t % 3 * PLANE + row * SIDE + column] += 1.5f;
    }
}

static int is_statistic(const char* name) { return strstr(name, ".running_") != NULL; }

/* Of trained parameters, numbered without the statistics: that numbers PyTorch's. */
static void set_weights(void) {
    uint64_t index = 0;
    for (size_t i = 0; i < volta_model_parameter_count(model); ++i) {
        volta_tensor_info info;
        CHECK(volta_model_parameter_info(model, i, &info));
        if (is_statistic(info.name)) continue;
        size_t count = 1, inputs = 1; /* of the whole, and of one output */
        for (int32_t axis = 0; axis < info.rank; ++axis) {
            count *= (size_t)info.shape[axis];
            if (axis > 0) inputs *= (size_t)info.shape[axis];
        }
        const int is_scale = info.rank == 1 && strstr(info.name, ".weight") != NULL;
        /* about 1 / sqrt(inputs), as PyTorch begins */
        const float scale = info.rank == 1 ? 0.25f : exp2f(rintf(-0.5f * log2f((float)inputs)));
        float* const values = malloc(count * sizeof(float));
        assert_non_null(values);
        for (size_t j = 0; j < count; ++j)
            values[j] = scale * uniform(100 + index, j) + (is_scale ? 1.0f : 0.0f);
        CHECK(volta_model_set_parameter(model, info.name, values, count));
        free(values);
        ++index;
    }
}

static void create(const volta_network_options* network, double rate) {
    const int64_t shape[] = {BATCH, CHANNELS, SIDE, SIDE};
    volta_context_options options = {0};
    volta_trainer_options training = VOLTA_TRAINER_OPTIONS_INIT;
    options.struct_size = sizeof options;
    options.thread_count = 2;
    CHECK(volta_context_create(&options, &context));
    CHECK(volta_model_create_network(context, network, 1, &model));
    set_weights();
    training.input_shapes = shape;
    training.input_extent_count = 4;
    training.optimizer = VOLTA_SGD;
    training.learning_rate = rate;
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

/* The name that follows; NULL: the next key is no name. */
static const char* read_name(const char* place, char* name) {
    place = after(place, "name");
    assert_int_equal(sscanf(place, "\"%63[^\"]\"", name), 1);
    return place;
}

/* Sums of a gradient with random signs differ by about the norm of what differs between two gradients: the
 * root of their mean square is compared with the gradient's own norm. What the next norm takes away again
 * (a bias before a convolution and its norm) has a gradient of 0 but for rounding, in both programs: no norm
 * counts as less than a thousandth of the largest. */
static const char* check_gradients(const char* place) {
    uint64_t index = 0;
    double largest = 0;
    const char* const first = place;
    for (int pass = 0; pass < 2; ++pass) {
        place = first;
        index = 0;
        for (size_t i = 0; i < volta_model_parameter_count(model); ++i) {
            volta_tensor_info info;
            char name[64];
            double sums[SIGNS], ours[SIGNS] = {0}, squares = 0;
            const float* gradient;
            size_t count;
            CHECK(volta_model_parameter_info(model, i, &info));
            if (is_statistic(info.name)) continue;
            place = read_name(place, name);
            assert_string_equal(name, info.name);
            const double norm = strtod(after(place, "norm"), NULL);
            place = read_numbers(after(place, "sums"), sums, SIGNS);
            if (norm > largest) largest = norm;
            if (pass == 1) {
                CHECK(volta_trainer_gradient(trainer, name, &gradient, &count));
                for (size_t j = 0; j < count; ++j) {
                    const uint64_t word = splitmix(9000 + index, j);
                    for (int s = 0; s < SIGNS; ++s)
                        ours[s] += word >> s & 1 ? -(double)gradient[j] : (double)gradient[j];
                }
                for (int s = 0; s < SIGNS; ++s) squares += (ours[s] - sums[s]) * (ours[s] - sums[s]);
                const double error = sqrt(squares / SIGNS);
                if (!(error <= 1e-4 * fmax(norm, 1e-3 * largest)))
                    fail_msg("the gradient of %s is %.3g away from PyTorch's, whose norm is %.3g", name,
                             error, norm);
            }
            ++index;
        }
    }
    return place;
}

static void check_statistics(const char* place) {
    static double expected[MOST_VALUES];
    for (size_t i = 0; i < volta_model_parameter_count(model); ++i) {
        volta_tensor_info info;
        char name[64];
        const float* values;
        size_t count;
        CHECK(volta_model_parameter_info(model, i, &info));
        if (!is_statistic(info.name)) continue;
        place = read_name(place, name);
        assert_string_equal(name, info.name);
        CHECK(volta_trainer_parameter(trainer, name, &values, &count));
        assert_in_range(count, 1, MOST_VALUES);
        place = read_numbers(after(place, "values"), expected, (int)count);
        for (size_t j = 0; j < count; ++j)
            if (!(fabs((double)values[j] - expected[j]) <= 1e-5 * (1 + fabs(expected[j]))))
                fail_msg("%s %d: %.9g, PyTorch %.9g", name, (int)j, (double)values[j], expected[j]);
    }
}

/* rate: as in parity_networks.py, which says why it is small. */
static void check_network(const volta_network_options* network, double rate) {
    double losses[STEPS];
    const char* place = after(golden, network->name);
    place = read_numbers(after(place, "loss"), losses, STEPS);
    create(network, rate);
    for (int i = 0; i < STEPS; ++i) {
        const double loss = step(i);
        if (!(fabs(loss - losses[i]) <= 1e-4 * losses[i]))
            fail_msg("loss of step %d: %.9g, PyTorch %.9g", i, loss, losses[i]);
        if (i == 0) place = check_gradients(after(place, "gradients"));
    }
    check_statistics(after(place, "statistics"));
    release();
}

static void test_a_resnet_follows_pytorch(void** state) {
    (void)state;
    volta_network_options network = VOLTA_NETWORK_OPTIONS_INIT;
    network.name = "resnet20";
    network.rows = network.columns = SIDE;
    check_network(&network, 1e-5);
}

static void test_a_depthwise_network_follows_pytorch(void** state) {
    (void)state;
    volta_network_options network = VOLTA_NETWORK_OPTIONS_INIT;
    network.name = "mobilenet_v2";
    network.classes = CLASSES;
    network.rows = network.columns = SIDE;
    network.width = 0.125;
    network.stem = VOLTA_STEM_SMALL;
    check_network(&network, 1e-7);
}

static int setup(void** state) {
    (void)state;
    golden = read_golden("golden/parity_networks.json");
    return golden != NULL ? 0 : -1;
}

static int teardown(void** state) {
    (void)state;
    free(golden);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_resnet_follows_pytorch),
        cmocka_unit_test(test_a_depthwise_network_follows_pytorch),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
