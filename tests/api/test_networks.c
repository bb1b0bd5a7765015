/* Networks of pictures by their names, through the public header: the list, published sizes, torchvision's
 * names, sentences, and one result of a few steps. */
#include <math.h>

#include "tests/api/api_test.h"

static volta_context* make_context(uint32_t threads) {
    volta_context* context;
    assert_ok(context_on(NULL, threads, 0, 0, &context));
    return context;
}

static volta_network_options named(const char* name) {
    volta_network_options options = VOLTA_NETWORK_OPTIONS_INIT;
    options.name = name;
    return options;
}

static void test_every_name_is_a_network(void** state) {
    (void)state;
    size_t count = 0;
    volta_context* const context = make_context(1);
    for (const char* name; (name = volta_network_name(count)) != NULL; ++count) {
        volta_network_options options = named(name);
        volta_model* model;
        volta_tensor_info input, output;
        options.rows = options.columns = 16;
        assert_ok(volta_model_create_network(context, &options, 1, &model));
        assert_ok(volta_model_input_info(model, 0, &input));
        assert_ok(volta_model_output_info(model, 0, &output));
        assert_string_equal(input.name, "pictures");
        assert_string_equal(output.name, "logits");
        volta_model_release(model);
    }
    assert_true(count >= 9);
    assert_null(volta_network_name(count));
    assert_null(volta_network_name(SIZE_MAX));
    volta_context_release(context);
}

/* Zeros are what the papers have. Numbers of parameters are torchvision's; 1.4 and 0.5 as
 * mobilenet_v2(width_mult=...) has them there. */
static void test_networks_have_their_sizes(void** state) {
    (void)state;
    static const struct {
        const char* name;
        double width;
        int64_t elements, channels, side, classes;
    } rows[] = {
        {"mobilenet_v2", 0, 3504872, 3, 224, 1000},
        {"mobilenet_v2", 1.4, 6108776, 3, 224, 1000},
        {"mobilenet_v2", 0.5, 1968680, 3, 224, 1000},
        {"resnet18", 0, 11689512, 3, 224, 1000},
        {"resnet20", 0, 269722, 3, 32, 10},
        {"cnn", 0, 104426, 1, 28, 10},
        {"cnn", 0.5, 29178, 1, 28, 10},
    };
    volta_context* const context = make_context(1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        volta_network_options options = named(rows[i].name);
        volta_model* model;
        volta_tensor_info input, output;
        options.width = rows[i].width;
        assert_ok(volta_model_create_network(context, &options, 1, &model));
        assert_int_equal(trained_elements(model), rows[i].elements);
        assert_ok(volta_model_input_info(model, 0, &input));
        assert_int_equal(input.shape[1], rows[i].channels);
        assert_int_equal(input.shape[2], rows[i].side);
        assert_int_equal(input.shape[3], rows[i].side);
        assert_ok(volta_model_output_info(model, 0, &output));
        assert_int_equal(output.shape[output.rank - 1], rows[i].classes);
        volta_model_release(model);
    }
    volta_context_release(context);
}

/* A few of torchvision's state dict, with their shapes: all parts of the network. */
static void test_mobilenet_has_torchvisions_names(void** state) {
    (void)state;
    static const struct {
        const char* name;
        int64_t shape[4];
    } rows[] = {
        {"features.0.0.weight", {32, 3, 3, 3}},
        {"features.0.1.running_mean", {32}},
        {"features.1.conv.0.0.weight", {32, 1, 3, 3}},
        {"features.1.conv.1.weight", {16, 32, 1, 1}},
        {"features.1.conv.2.running_var", {16}},
        {"features.2.conv.0.0.weight", {96, 16, 1, 1}},
        {"features.2.conv.1.0.weight", {96, 1, 3, 3}},
        {"features.2.conv.1.1.bias", {96}},
        {"features.2.conv.2.weight", {24, 96, 1, 1}},
        {"features.2.conv.3.weight", {24}},
        {"features.17.conv.2.weight", {320, 960, 1, 1}},
        {"features.18.0.weight", {1280, 320, 1, 1}},
        {"features.18.1.bias", {1280}},
        {"classifier.1.weight", {1000, 1280}},
        {"classifier.1.bias", {1000}},
    };
    volta_context* const context = make_context(1);
    const volta_network_options options = named("mobilenet_v2");
    volta_model* model;
    assert_ok(volta_model_create_network(context, &options, 1, &model));
    /* 52 convolutions, 52 norms of four, a classifier of two */
    assert_int_equal(volta_model_parameter_count(model), 52 + 4 * 52 + 2);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        volta_tensor_info info = {0};
        size_t at = 0;
        for (; at < volta_model_parameter_count(model); ++at) {
            assert_ok(volta_model_parameter_info(model, at, &info));
            if (strcmp(info.name, rows[i].name) == 0) break;
        }
        if (at == volta_model_parameter_count(model)) fail_msg("there is no %s", rows[i].name);
        for (int32_t axis = 0; axis < 4; ++axis)
            assert_int_equal(axis < info.rank ? info.shape[axis] : 0, rows[i].shape[axis]);
    }
    volta_model_release(model);
    volta_context_release(context);
}

/* volta_model_create_resnet is the same call by another name. */
static void test_a_resnet_by_either_call_is_one_model(void** state) {
    (void)state;
    char by_depth[33], by_name[33];
    volta_context* const context = make_context(1);
    volta_resnet_options resnet = VOLTA_RESNET_OPTIONS_INIT;
    volta_network_options network = named("resnet20");
    volta_model* model;
    resnet.depth = 20;
    assert_ok(volta_model_create_resnet(context, &resnet, 7, &model));
    assert_ok(volta_model_hash(model, by_depth));
    volta_model_release(model);
    assert_ok(volta_model_create_network(context, &network, 7, &model));
    assert_ok(volta_model_hash(model, by_name));
    const char* depth = NULL;
    assert_ok(volta_model_get_metadata(model, "volta.resnet.depth", &depth));
    assert_string_equal(depth, "20");
    volta_model_release(model);
    assert_string_equal(by_depth, by_name);
    volta_context_release(context);
}

static void test_wrong_options_are_named(void** state) {
    (void)state;
    static const struct {
        const char *name, *text;
        double width;
        int64_t rows;
        volta_network_stem stem;
    } rows[] = {
        {NULL, "name is NULL", 0, 0, 0},
        {"vgg16", "there is no network 'vgg16': volta_network_name tells those that there are", 0, 0, 0},
        {"resnet18", "width is 0.5, but a ResNet has none", 0.5, 0, 0},
        {"mobilenet_v2", "width is -1; it must be from 0.015625 to 64", -1, 0, 0},
        {"mobilenet_v2", "width is 65; it must be from 0.015625 to 64", 65, 0, 0},
        {"mobilenet_v2", "width is nan; it must be from 0.015625 to 64", NAN, 0, 0},
        {"mobilenet_v2", "stem is 3; it must be from 0 to 2", 0, 0, 3},
        {"cnn", "stem is 1, but a cnn has the small one only, 2", 0, 0, 1},
        {"mobilenet_v2", "rows is -1; it must be from 1 to 65536", 0, -1, 0},
        {"cnn", "rows is 7; it must be from 8 to 65536", 0, 7, 0},
    };
    volta_context* const context = make_context(1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        volta_network_options options = named(rows[i].name);
        volta_model* model;
        options.width = rows[i].width;
        options.rows = rows[i].rows;
        options.stem = rows[i].stem;
        assert_fails(volta_model_create_network(context, &options, 1, &model), VOLTA_INVALID_ARGUMENT,
                     rows[i].text);
        assert_null(model);
    }
    volta_context_release(context);
}

/* Two steps on small pictures of odd sizes, depthwise convolutions of stride 1 and 2. */
static void hash_after_steps(const char* name, uint32_t threads, char* hash) {
    enum { kBatch = 6, kSteps = 2, kRows = 9, kColumns = 11 };
    volta_context* const context = make_context(threads);
    volta_network_options options = named(name);
    volta_model* model;
    volta_trainer* trainer;
    options.classes = 5;
    options.channels = 3;
    options.rows = kRows;
    options.columns = kColumns;
    options.width = 0.25;
    options.stem = VOLTA_STEM_SMALL;
    assert_ok(volta_model_create_network(context, &options, 3, &model));
    const int64_t shape[] = {kBatch, 3, kRows, kColumns}, classes[] = {kBatch};
    volta_trainer_options training = VOLTA_TRAINER_OPTIONS_INIT;
    training.input_shapes = shape;
    training.input_extent_count = 4;
    training.optimizer = VOLTA_SGD;
    training.momentum = 0.9;
    training.steps = kSteps;
    training.learning_rate = 0.05;
    assert_ok(volta_trainer_create(model, &training, &trainer));
    static float pictures[kBatch * 3 * kRows * kColumns];
    int32_t targets[kBatch];
    for (int step = 0; step < kSteps; ++step) {
        for (size_t i = 0; i < sizeof pictures / sizeof *pictures; ++i)
            pictures[i] = (float)((i * 7919 + (size_t)step * 31) % 255) / 128 - 1;
        for (int i = 0; i < kBatch; ++i) targets[i] = (i * 3 + step) % 5;
        volta_tensor *x, *y;
        volta_step_report report = VOLTA_STEP_REPORT_INIT;
        assert_ok(volta_tensor_wrap(context, VOLTA_F32, shape, 4, pictures, &x));
        assert_ok(volta_tensor_wrap(context, VOLTA_I32, classes, 1, targets, &y));
        const volta_tensor* inputs[] = {x};
        assert_ok(volta_trainer_step(trainer, inputs, 1, y, &report));
        volta_tensor_release(x);
        volta_tensor_release(y);
    }
    assert_ok(volta_trainer_hash(trainer, hash));
    volta_trainer_release(trainer);
    volta_model_release(model);
    volta_context_release(context);
}

static void test_training_has_one_result(void** state) {
    (void)state;
    static const char* const names[] = {"mobilenet_v2", "cnn"};
    for (size_t i = 0; i < 2; ++i) {
        char one[33], other[33];
        hash_after_steps(names[i], 1, one);
        for (uint32_t threads = 2; threads <= 8; threads += threads == 3 ? 5 : 1) {
            hash_after_steps(names[i], threads, other);
            assert_string_equal(other, one);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_name_is_a_network),
        cmocka_unit_test(test_networks_have_their_sizes),
        cmocka_unit_test(test_mobilenet_has_torchvisions_names),
        cmocka_unit_test(test_a_resnet_by_either_call_is_one_model),
        cmocka_unit_test(test_wrong_options_are_named),
        cmocka_unit_test(test_training_has_one_result),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
