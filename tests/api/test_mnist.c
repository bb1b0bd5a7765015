/* A two-layer classifier learns MNIST, with the same bits on one thread and on three. The images are not part
 * of the project: VOLTA_TEST_DATA names the folder that holds mnist/, else ../shared/data beside the
 * repository. */
#include "tests/api/api_test.h"

enum { kTrain = 60000, kTest = 10000, kPixels = 28 * 28, kClasses = 10, kBatch = 100, kSteps = 3000 };

/* The elements of a gzipped IDX file, unsigned bytes; NULL if there is no such file. The caller frees them.
 */
static unsigned char* read_idx(const char* name, size_t header_bytes, size_t bytes) {
    const char* folder = getenv("VOLTA_TEST_DATA");
    char path[1000], command[1100];
    if (folder == NULL) folder = "../../shared/data";
    snprintf(path, sizeof path, "%s/mnist/%s.gz", folder, name);
    FILE* file = fopen(path, "rb");
    if (file == NULL) {
        print_message("no %s: set VOLTA_TEST_DATA to a folder with mnist/\n", path);
        return NULL;
    }
    fclose(file);
    snprintf(command, sizeof command, "gzip -dc '%s'", path);
    FILE* const pipe = popen(command, "r");
    assert_non_null(pipe);
    unsigned char* const content = malloc(header_bytes + bytes);
    assert_non_null(content);
    assert_int_equal(fread(content, 1, header_bytes + bytes, pipe), header_bytes + bytes);
    assert_int_equal(pclose(pipe), 0);
    memmove(content, content + header_bytes, bytes);
    return content;
}

struct digits {
    float* pixels; /* [count, 784], 0 to 1 */
    int32_t* classes;
};

static int read_digits(const char* part, size_t count, struct digits* out) {
    char name[100];
    snprintf(name, sizeof name, "%s-images-idx3-ubyte", part);
    unsigned char* const images = read_idx(name, 16, count * kPixels);
    snprintf(name, sizeof name, "%s-labels-idx1-ubyte", part);
    unsigned char* const labels = images != NULL ? read_idx(name, 8, count) : NULL;
    if (labels == NULL) return free(images), 0;
    out->pixels = malloc(count * kPixels * sizeof(float));
    out->classes = malloc(count * sizeof(int32_t));
    assert_true(out->pixels != NULL && out->classes != NULL);
    for (size_t i = 0; i < count * kPixels; ++i) out->pixels[i] = (float)images[i] / 255;
    for (size_t i = 0; i < count; ++i) out->classes[i] = labels[i];
    free(images);
    free(labels);
    return 1;
}

static volta_model* make_classifier(volta_context* context) {
    volta_graph* graph;
    volta_value x, h;
    volta_model* model;
    const int64_t shape[] = {-1, kPixels};
    assert_ok(volta_graph_create(context, &graph));
    assert_ok(volta_graph_input(graph, "pixels", VOLTA_F32, shape, 2, &x));
    assert_ok(volta_graph_linear(graph, "hidden", x, 128, &h));
    assert_ok(volta_graph_unary(graph, "relu", h, &h));
    assert_ok(volta_graph_linear(graph, "head", h, kClasses, &h));
    assert_ok(volta_graph_output(graph, "logits", h));
    assert_ok(volta_model_create(graph, 1, &model));
    volta_graph_release(graph);
    return model;
}

static void train(volta_context* context, volta_model* model, const struct digits* digits, char* hash) {
    volta_trainer* trainer;
    volta_step_report report = {0};
    const int64_t shape[] = {kBatch, kPixels}, class_shape[] = {kBatch};
    volta_trainer_options options = {0};
    options.struct_size = sizeof options;
    options.input_shapes = shape;
    options.input_extent_count = 2;
    options.optimizer = VOLTA_ADAM;
    options.steps = kSteps;
    options.schedule = VOLTA_SCHEDULE_COSINE;
    options.learning_rate = 2e-3;
    assert_ok(volta_trainer_create(model, &options, &trainer));
    for (size_t step = 0; step < kSteps; ++step) {
        const size_t first = step * kBatch % kTrain;
        volta_tensor *x, *y;
        assert_ok(volta_tensor_wrap(context, VOLTA_F32, shape, 2, digits->pixels + first * kPixels, &x));
        assert_ok(volta_tensor_wrap(context, VOLTA_I32, class_shape, 1, digits->classes + first, &y));
        const volta_tensor* inputs[] = {x};
        report.struct_size = sizeof report;
        assert_ok(volta_trainer_step(trainer, inputs, 1, y, &report));
        volta_tensor_release(x);
        volta_tensor_release(y);
    }
    assert_ok(volta_trainer_hash(trainer, hash));
    assert_ok(volta_trainer_update_model(trainer));
    volta_trainer_release(trainer);
}

static int count_right(volta_context* context, volta_model* model, const struct digits* digits) {
    volta_session* session;
    volta_tensor *x, *logits;
    const int64_t shape[] = {kTest, kPixels}, logits_shape[] = {kTest, kClasses};
    const volta_session_options options = {sizeof options, shape, 2, 0};
    assert_ok(volta_session_create(model, &options, &session));
    assert_ok(volta_tensor_wrap(context, VOLTA_F32, shape, 2, digits->pixels, &x));
    assert_ok(volta_tensor_create(context, VOLTA_F32, logits_shape, 2, &logits));
    const volta_tensor* inputs[] = {x};
    assert_ok(volta_session_run(session, inputs, 1, &logits, 1));
    int right = 0;
    for (size_t i = 0; i < kTest; ++i) {
        const float* const row = (const float*)volta_tensor_data(logits) + i * kClasses;
        int best = 0;
        for (int c = 1; c < kClasses; ++c)
            if (row[c] > row[best]) best = c;
        right += best == digits->classes[i];
    }
    volta_tensor_release(x);
    volta_tensor_release(logits);
    volta_session_release(session);
    return right;
}

static void test_mnist_is_learnt_with_one_result(void** state) {
    (void)state;
    struct digits learn = {NULL, NULL}, judge = {NULL, NULL};
    char hashes[2][33];
    if (!read_digits("train", kTrain, &learn) || !read_digits("t10k", kTest, &judge)) {
        skip();
        return;
    }
    for (uint32_t run = 0; run < 2; ++run) {
        volta_context* context;
        assert_ok(context_on(NULL, run == 0 ? 1 : 3, 0, 0, &context));
        volta_model* const model = make_classifier(context);
        train(context, model, &learn, hashes[run]);
        const int right = count_right(context, model, &judge);
        print_message("%d of %d unseen digits right\n", right, (int)kTest);
        assert_true(right > kTest * 97 / 100);
        volta_model_release(model);
        volta_context_release(context);
    }
    assert_string_equal(hashes[0], hashes[1]);
    free(learn.pixels);
    free(learn.classes);
    free(judge.pixels);
    free(judge.classes);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_mnist_is_learnt_with_one_result)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
