/* ONNX in, a few steps of training, ONNX out: a classifier of points, which learns that the spirals have been
 * turned.
 *   fine_tune_onnx IN.onnx OUT.onnx
 * IN.onnx takes "points" f32 [batch, 2] and gives logits of two classes.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <volta.h>

#define CHECK(call)                                                                 \
    do {                                                                            \
        if ((call) != VOLTA_OK) {                                                   \
            fprintf(stderr, "fine_tune_onnx: %s: %s\n", #call, volta_last_error()); \
            exit(1);                                                                \
        }                                                                           \
    } while (0)

enum { kPoints = 256, kSteps = 400 };

/* Two spirals as in train_mlp.c, turned by half a radian. */
static void make_spirals(float* points, int32_t* classes) {
    for (int i = 0; i < kPoints; ++i) {
        const int along = i / 2, all = kPoints / 2;
        const double t = (double)along / all, angle = 9.42 * t + 3.14159265 * (i % 2) + 0.5;
        points[2 * i] = (float)(t * cos(angle));
        points[2 * i + 1] = (float)(t * sin(angle));
        classes[i] = i % 2;
    }
}

static int right(volta_context* context, volta_model* model, const volta_tensor* points,
                 const int32_t* classes) {
    static float logits[2 * kPoints];
    const int64_t shape[] = {kPoints, 2};
    volta_session_options options = VOLTA_SESSION_OPTIONS_INIT;
    volta_session* session;
    volta_tensor* scores;
    options.input_shapes = shape;
    options.input_extent_count = 2;
    CHECK(volta_session_create(model, &options, &session));
    CHECK(volta_tensor_wrap(context, VOLTA_F32, shape, 2, logits, &scores));
    CHECK(volta_session_run(session, &points, 1, &scores, 1));
    int count = 0;
    for (int i = 0; i < kPoints; ++i) count += (logits[2 * i + 1] > logits[2 * i]) == classes[i];
    volta_tensor_release(scores);
    volta_session_release(session);
    return count;
}

int main(int argc, char** argv) {
    if (argc != 3) return fprintf(stderr, "usage: fine_tune_onnx IN.onnx OUT.onnx\n"), 2;
    static float points[2 * kPoints];
    static int32_t classes[kPoints];
    make_spirals(points, classes);

    volta_context* context;
    volta_model *model, *again;
    volta_tensor *x, *y;
    const int64_t points_shape[] = {kPoints, 2}, classes_shape[] = {kPoints};
    CHECK(volta_context_create(NULL, &context));
    CHECK(volta_tensor_wrap(context, VOLTA_F32, points_shape, 2, points, &x));
    CHECK(volta_tensor_wrap(context, VOLTA_I32, classes_shape, 1, classes, &y));

    /* An import says by itself what the file is. Operators that it cannot have are named. */
    CHECK(volta_model_import(context, argv[1], NULL, &model));
    const int before = right(context, model, x, classes);

    volta_trainer* trainer;
    volta_trainer_options options = VOLTA_TRAINER_OPTIONS_INIT;
    options.input_shapes = points_shape;
    options.input_extent_count = 2;
    options.learning_rate = 0.01;
    CHECK(volta_trainer_create(model, &options, &trainer));
    const volta_tensor* inputs[] = {x};
    for (int step = 0; step < kSteps; ++step) CHECK(volta_trainer_step(trainer, inputs, 1, y, NULL));
    CHECK(volta_trainer_update_model(trainer));
    volta_trainer_release(trainer);
    const int after = right(context, model, x, classes);
    printf("%d of %d points right before, %d after\n", before, kPoints, after);

    CHECK(volta_model_export_onnx(model, NULL, argv[2]));
    CHECK(volta_model_import(context, argv[2], NULL, &again)); /* the same model, in every bit */
    char hash[33], hash_again[33];
    CHECK(volta_model_hash(model, hash));
    CHECK(volta_model_hash(again, hash_again));
    printf("hash %s, of the ONNX file %s\n", hash, hash_again);

    volta_model_release(again);
    volta_model_release(model);
    volta_tensor_release(y);
    volta_tensor_release(x);
    volta_context_release(context);
    return strcmp(hash, hash_again) == 0 && after > before && after > kPoints * 9 / 10 ? 0 : 1;
}
