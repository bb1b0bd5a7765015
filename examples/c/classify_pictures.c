/* Pictures in a folder for each class: trains a small convolutional network on its train part, counts what is
 * right of its test part, and says what one more picture shows.
 *   classify_pictures FOLDER PICTURE OUT.volta
 */
#include <stdio.h>
#include <stdlib.h>
#include <volta.h>
#include <volta_data.h>

#define CHECK(call)                                                                    \
    do {                                                                               \
        if ((call) != VOLTA_OK) {                                                      \
            fprintf(stderr, "classify_pictures: %s: %s\n", #call, volta_last_error()); \
            exit(1);                                                                   \
        }                                                                              \
    } while (0)

/* libvolta_data keeps its own text. */
#define CHECK_DATA(call)                                                                    \
    do {                                                                                    \
        if ((call) != VOLTA_OK) {                                                           \
            fprintf(stderr, "classify_pictures: %s: %s\n", #call, volta_data_last_error()); \
            exit(1);                                                                        \
        }                                                                                   \
    } while (0)

enum { kBatch = 16, kSide = 28, kEpochs = 4 };

/* The same for training, testing and asking: grey, 28 x 28, about -2 to 2. */
static volta_transform_options transform(int random) {
    volta_transform_options made = VOLTA_TRANSFORM_OPTIONS_INIT;
    made.channels = 1;
    made.height = made.width = kSide;
    made.resize = VOLTA_RESIZE_EXACT;
    made.mean[0] = 0.5f;
    made.deviation[0] = 0.25f;
    made.random_crop = random;
    made.crop_padding = random ? 2 : 0;
    return made;
}

static volta_dataset* open_part(const char* folder, volta_data_split part) {
    volta_dataset* dataset;
    volta_dataset_options options = VOLTA_DATASET_OPTIONS_INIT;
    options.split = part;
    CHECK_DATA(volta_dataset_open(VOLTA_DATA_FOLDER, &folder, 1, &options, &dataset));
    return dataset;
}

static uint32_t likeliest(const float* logits, uint32_t classes) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < classes; ++i)
        if (logits[i] > logits[best]) best = i;
    return best;
}

static void train(volta_context* context, volta_model* model, volta_dataset* dataset, const char* path) {
    const int64_t x_shape[] = {kBatch, 1, kSide, kSide}, y_shape[] = {kBatch};
    const volta_transform_options prepared = transform(1);
    volta_loader* loader;
    volta_loader_options loading = VOLTA_LOADER_OPTIONS_INIT;
    loading.transform = &prepared;
    loading.batch = kBatch;
    loading.order = VOLTA_ORDER_SHUFFLED;
    loading.damaged = VOLTA_DAMAGED_SKIP;
    loading.seed = 1;
    CHECK_DATA(volta_loader_create(dataset, &loading, &loader));

    volta_trainer* trainer;
    volta_trainer_options options = VOLTA_TRAINER_OPTIONS_INIT;
    options.input_shapes = x_shape;
    options.input_extent_count = 4;
    options.learning_rate = 3e-3;
    CHECK(volta_trainer_create(model, &options, &trainer));
    volta_step_report report = VOLTA_STEP_REPORT_INIT;
    volta_batch batch = VOLTA_BATCH_INIT;
    for (;;) {
        CHECK_DATA(volta_loader_next(loader, &batch));
        if (batch.epoch == kEpochs) break;
        volta_tensor *x,
            *y; /* over the loader's memory, which is lent until the next call: nothing is copied */
        CHECK(volta_tensor_wrap(context, VOLTA_F32, x_shape, 4, (void*)batch.pixels, &x));
        CHECK(volta_tensor_wrap(context, VOLTA_I32, y_shape, 1, (void*)batch.labels, &y));
        const volta_tensor* inputs[] = {x};
        CHECK(volta_trainer_step(trainer, inputs, 1, y, &report));
        volta_tensor_release(y);
        volta_tensor_release(x);
        if (batch.batch + 1 == batch.batches_of_epoch)
            printf("epoch %llu loss %.4f\n", (unsigned long long)batch.epoch + 1, (double)report.loss);
    }
    CHECK(volta_trainer_save(trainer, path));
    CHECK(volta_trainer_update_model(trainer));
    volta_trainer_release(trainer);
    volta_loader_release(loader);
}

/* The class of one picture. */
static uint32_t classify(volta_context* context, volta_session* session, const volta_picture* picture,
                         uint32_t classes) {
    static float pixels[kSide * kSide], logits[1000];
    const int64_t x_shape[] = {1, 1, kSide, kSide}, y_shape[] = {1, classes};
    const volta_transform_options prepared = transform(0);
    volta_tensor *x, *y;
    CHECK_DATA(volta_picture_transform(picture, &prepared, pixels, kSide * kSide));
    CHECK(volta_tensor_wrap(context, VOLTA_F32, x_shape, 4, pixels, &x));
    CHECK(volta_tensor_wrap(context, VOLTA_F32, y_shape, 2, logits, &y));
    const volta_tensor* inputs[] = {x};
    CHECK(volta_session_run(session, inputs, 1, &y, 1));
    volta_tensor_release(y);
    volta_tensor_release(x);
    return likeliest(logits, classes);
}

int main(int argc, char** argv) {
    if (argc != 4) return fprintf(stderr, "usage: classify_pictures FOLDER PICTURE OUT.volta\n"), 2;
    volta_dataset* training = open_part(argv[1], VOLTA_SPLIT_TRAIN);
    volta_dataset* test = open_part(argv[1], VOLTA_SPLIT_TEST);
    volta_dataset_info info = VOLTA_DATASET_INFO_INIT, test_info = VOLTA_DATASET_INFO_INIT;
    CHECK_DATA(volta_dataset_get_info(training, &info));
    CHECK_DATA(volta_dataset_get_info(test, &test_info));
    if (info.class_count > 1000)
        return fprintf(stderr, "classify_pictures: %u classes are too many\n", info.class_count), 1;

    volta_context* context;
    volta_model* model;
    volta_network_options network = VOLTA_NETWORK_OPTIONS_INIT;
    network.name = "cnn"; /* or "resnet18", "mobilenet_v2", ... */
    network.classes = info.class_count;
    network.width = 0.25;
    CHECK(volta_context_create(NULL, &context));
    CHECK(volta_model_create_network(context, &network, 1, &model));
    train(context, model, training, argv[3]);

    volta_session* session;
    volta_session_options options = VOLTA_SESSION_OPTIONS_INIT;
    const int64_t shape[] = {1, 1, kSide, kSide};
    options.input_shapes = shape;
    options.input_extent_count = 4;
    CHECK(volta_session_create(model, &options, &session));
    uint64_t right = 0;
    for (uint64_t i = 0; i < test_info.sample_count; ++i) {
        volta_picture* picture;
        volta_picture_info shown = VOLTA_PICTURE_INFO_INIT;
        CHECK_DATA(volta_dataset_read(test, i, &picture));
        CHECK_DATA(volta_picture_get_info(picture, &shown));
        right += classify(context, session, picture, info.class_count) == (uint32_t)shown.label;
        volta_picture_release(picture);
    }
    printf("%llu of %llu test pictures right\n", (unsigned long long)right,
           (unsigned long long)test_info.sample_count);

    volta_picture* picture;
    CHECK_DATA(volta_picture_open(argv[2], NULL, &picture));
    printf("%s: %s\n", argv[2],
           volta_dataset_class_name(training, classify(context, session, picture, info.class_count)));

    volta_picture_release(picture);
    volta_session_release(session);
    volta_model_release(model);
    volta_context_release(context);
    volta_dataset_release(test);
    volta_dataset_release(training);
    return 0;
}
