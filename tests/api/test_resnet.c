/* Residual networks through the public header: sizes, sentences, one result of a few steps, and the trained
 * ResNet-20 on real pictures. Weights and pictures are not part of the project: VOLTA_TEST_DATA names the
 * folder that holds safetensors/ and cifar-10/, else ../shared/data beside the repository. */
#include "tests/api/api_test.h"

enum {
    kSide = 32,
    kPixels = 3 * kSide * kSide,
    kRecord = 1 + kPixels,
    kClasses = 10,
    kPictures = 2000,
    kBatch = 100
};

static volta_context* make_context(uint32_t threads) {
    volta_context* context;
    assert_ok(context_on(NULL, threads, 0, 0, &context));
    return context;
}

/* The published numbers of parameters. */
static void test_networks_have_their_sizes(void** state) {
    (void)state;
    static const struct {
        int64_t depth, elements;
    } rows[] = {{18, 11689512}, {34, 21797672}, {50, 25557032}, {20, 269722},
                {32, 464154},   {44, 658586},   {56, 853018}};
    volta_context* const context = make_context(1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        volta_resnet_options options = VOLTA_RESNET_OPTIONS_INIT;
        volta_model* model;
        options.depth = rows[i].depth;
        assert_ok(volta_model_create_resnet(context, &options, 1, &model));
        assert_int_equal(trained_elements(model), rows[i].elements);
        volta_model_release(model);
    }
    volta_context_release(context);
}

static void test_wrong_sizes_are_named(void** state) {
    (void)state;
    volta_context* const context = make_context(1);
    volta_model* model;
    volta_resnet_options options = VOLTA_RESNET_OPTIONS_INIT;
    options.depth = 19;
    assert_fails(volta_model_create_resnet(context, &options, 1, &model), VOLTA_INVALID_ARGUMENT,
                 "depth is 19; a ResNet has 18, 34 or 50 layers, or 20, 32, 44 or 56");
    options.depth = 20;
    options.stem = 3;
    assert_fails(volta_model_create_resnet(context, &options, 1, &model), VOLTA_INVALID_ARGUMENT,
                 "stem is 3; it must be from 0 to 2");
    options.stem = 0;
    options.rows = -1;
    assert_fails(volta_model_create_resnet(context, &options, 1, &model), VOLTA_INVALID_ARGUMENT,
                 "rows is -1; it must be from 1 to 65536");
    volta_context_release(context);
}

/* A ResNet-18 with the small stem and a ResNet-20, few classes, small pictures of odd sizes: the same bits.
 */
static void hash_after_steps(int64_t depth, uint32_t threads, uint32_t micro_batches, char* hash) {
    enum { kBatchOf = 6, kSteps = 2, kRows = 9, kColumns = 11 };
    volta_context* const context = make_context(threads);
    volta_resnet_options options = VOLTA_RESNET_OPTIONS_INIT;
    volta_model* model;
    volta_trainer* trainer;
    options.depth = depth;
    options.classes = 5;
    options.rows = kRows;
    options.columns = kColumns;
    options.stem = VOLTA_RESNET_STEM_SMALL;
    assert_ok(volta_model_create_resnet(context, &options, 3, &model));
    const int64_t shape[] = {kBatchOf, 3, kRows, kColumns}, classes[] = {kBatchOf};
    volta_trainer_options training = VOLTA_TRAINER_OPTIONS_INIT;
    training.input_shapes = shape;
    training.input_extent_count = 4;
    training.optimizer = VOLTA_SGD;
    training.beta1 = 0.9;
    training.micro_batches = micro_batches;
    training.steps = kSteps;
    training.learning_rate = 0.05;
    assert_ok(volta_trainer_create(model, &training, &trainer));
    static float pictures[kBatchOf * 3 * kRows * kColumns];
    int32_t targets[kBatchOf];
    for (int step = 0; step < kSteps; ++step) {
        for (size_t i = 0; i < sizeof pictures / sizeof *pictures; ++i)
            pictures[i] = (float)((i * 7919 + (size_t)step * 31) % 255) / 128 - 1;
        for (int i = 0; i < kBatchOf; ++i) targets[i] = (i * 3 + step) % 5;
        volta_tensor *x, *y;
        volta_step_report report = {0};
        report.struct_size = sizeof report;
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
    static const int64_t depths[] = {18, 20};
    for (size_t i = 0; i < 2; ++i) {
        char one[33], other[33];
        hash_after_steps(depths[i], 1, 1, one);
        for (uint32_t threads = 2; threads <= 8; threads += threads == 3 ? 5 : 1) {
            hash_after_steps(depths[i], threads, 1, other);
            assert_string_equal(other, one);
        }
    }
}

/* ---- The trained network ---- */

static const char* shared(const char* name, char* path, size_t bytes) {
    const char* folder = getenv("VOLTA_TEST_DATA");
    snprintf(path, bytes, "%s/%s", folder != NULL ? folder : "../../shared/data", name);
    FILE* const file = fopen(path, "rb");
    if (file == NULL) {
        print_message("no %s: set VOLTA_TEST_DATA to a folder that has it\n", path);
        return NULL;
    }
    fclose(file);
    return path;
}

static int count_right(volta_context* context, volta_session* session, const char* path) {
    FILE* const file = fopen(path, "rb");
    assert_non_null(file);
    static unsigned char records[kBatch * kRecord];
    static float pictures[kBatch * kPixels];
    static const float mean[] = {0.485f, 0.456f, 0.406f}, deviation[] = {0.229f, 0.224f, 0.225f};
    const int64_t shape[] = {kBatch, 3, kSide, kSide}, logits_shape[] = {kBatch, kClasses};
    volta_tensor *x, *logits;
    assert_ok(volta_tensor_wrap(context, VOLTA_F32, shape, 4, pictures, &x));
    assert_ok(volta_tensor_create(context, VOLTA_F32, logits_shape, 2, &logits));
    int right = 0;
    for (int first = 0; first < kPictures; first += kBatch) {
        assert_int_equal(fread(records, kRecord, kBatch, file), kBatch);
        for (int i = 0; i < kBatch; ++i)
            for (int p = 0; p < kPixels; ++p) {
                const int channel = p / (kSide * kSide);
                const float value = (float)records[i * kRecord + 1 + p] / 255;
                pictures[i * kPixels + p] = (value - mean[channel]) / deviation[channel];
            }
        const volta_tensor* inputs[] = {x};
        assert_ok(volta_session_run(session, inputs, 1, &logits, 1));
        for (int i = 0; i < kBatch; ++i) {
            const float* const row = (const float*)volta_tensor_data(logits) + i * kClasses;
            int best = 0;
            for (int c = 1; c < kClasses; ++c)
                if (row[c] > row[best]) best = c;
            right += best == records[i * kRecord];
        }
    }
    fclose(file);
    volta_tensor_release(x);
    volta_tensor_release(logits);
    return right;
}

static void test_the_trained_network_sees(void** state) {
    (void)state;
    char weights[1000], exact[1000], copies[1000];
    if (!shared("safetensors/cifar10_resnet20.safetensors", weights, sizeof weights) ||
        !shared("cifar-10/train_exact_4000.bin", exact, sizeof exact) ||
        !shared("cifar-10/test_jpeg_2000.bin", copies, sizeof copies)) {
        skip();
        return;
    }
    volta_context* const context = make_context(2);
    volta_resnet_options resnet = VOLTA_RESNET_OPTIONS_INIT;
    volta_import_options options = VOLTA_IMPORT_OPTIONS_INIT;
    volta_model* model;
    volta_session* session;
    resnet.depth = 20;
    options.resnet = &resnet;
    assert_ok(volta_model_import(context, weights, &options, &model));
    const int64_t shape[] = {kBatch, 3, kSide, kSide};
    const volta_session_options run = {sizeof run, shape, 4, 0};
    assert_ok(volta_session_create(model, &run, &session));
    const int of_exact = count_right(context, session, exact),
              of_copies = count_right(context, session, copies);
    print_message("ResNet-20: %d of %d training pictures, %d of %d JPEG copies of test pictures\n", of_exact,
                  kPictures, of_copies, kPictures);
    assert_in_range(of_exact, 1996, 1998);
    assert_in_range(of_copies, 1625, 1629);
    volta_session_release(session);
    volta_model_release(model);
    resnet.depth = 32;
    assert_int_equal(volta_model_import(context, weights, &options, &model), VOLTA_CORRUPT_MODEL);
    volta_context_release(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_networks_have_their_sizes),
        cmocka_unit_test(test_wrong_sizes_are_named),
        cmocka_unit_test(test_training_has_one_result),
        cmocka_unit_test(test_the_trained_network_sees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
