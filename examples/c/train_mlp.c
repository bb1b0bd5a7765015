/* A two-layer classifier defined operator by operator: two interleaved spirals, trained with Adam, saved,
 * loaded, and run in a session.
 *   train_mlp OUT.volta
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <volta.h>

#define CHECK(call)                                                            \
    do {                                                                       \
        if ((call) != VOLTA_OK) {                                              \
            fprintf(stderr, "train_mlp: %s: %s\n", #call, volta_last_error()); \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

enum { kPoints = 256, kHidden = 32, kSteps = 400 };

/* Point i of class i % 2 on a spiral arm of one and a half turns. */
static void make_spirals(float* points, int32_t* classes) {
    for (int i = 0; i < kPoints; ++i) {
        const int place = i / 2, places = kPoints / 2;
        const double t = (double)place / places, angle = 9.42 * t + 3.14159265 * (i % 2);
        points[2 * i] = (float)(t * cos(angle));
        points[2 * i + 1] = (float)(t * sin(angle));
        classes[i] = i % 2;
    }
}

static volta_model* define(volta_context* context) {
    volta_graph* graph;
    volta_value x, h;
    volta_model* model;
    const int64_t shape[] = {-1, 2}; /* any number of points */
    CHECK(volta_graph_create(context, &graph));
    CHECK(volta_graph_input(graph, "points", VOLTA_F32, shape, 2, &x));
    CHECK(volta_graph_linear(graph, "hidden1", x, kHidden, &h));
    CHECK(volta_graph_unary(graph, "tanh", h, &h));
    CHECK(volta_graph_linear(graph, "hidden2", h, kHidden, &h));
    CHECK(volta_graph_unary(graph, "relu", h, &h));
    CHECK(volta_graph_linear(graph, "head", h, 2, &h));
    CHECK(volta_graph_output(graph, "logits", h));
    CHECK(volta_model_create(graph, 1, &model));
    volta_graph_release(graph);
    return model;
}

int main(int argc, char** argv) {
    if (argc != 2) return fprintf(stderr, "usage: train_mlp OUT.volta\n"), 2;
    static float points[2 * kPoints], logits[2 * kPoints];
    static int32_t classes[kPoints];
    make_spirals(points, classes);

    volta_context* context;
    volta_tensor *x, *y, *scores;
    const int64_t points_shape[] = {kPoints, 2}, classes_shape[] = {kPoints};
    CHECK(volta_context_create(NULL, &context));
    CHECK(volta_tensor_wrap(context, VOLTA_F32, points_shape, 2, points, &x));
    CHECK(volta_tensor_wrap(context, VOLTA_I32, classes_shape, 1, classes, &y));
    CHECK(volta_tensor_wrap(context, VOLTA_F32, points_shape, 2, logits, &scores));

    volta_model* model = define(context);
    volta_trainer* trainer;
    volta_trainer_options options = VOLTA_TRAINER_OPTIONS_INIT;
    options.input_shapes = points_shape;
    options.input_extent_count = 2;
    options.loss = VOLTA_LOSS_CROSS_ENTROPY;
    options.optimizer = VOLTA_ADAM;
    options.learning_rate = 0.01;
    CHECK(volta_trainer_create(model, &options, &trainer));
    const volta_tensor* inputs[] = {x};
    volta_step_report report = VOLTA_STEP_REPORT_INIT;
    for (int step = 0; step < kSteps; ++step) {
        CHECK(volta_trainer_step(trainer, inputs, 1, y, &report));
        if (step % 100 == 0) printf("step %d loss %.6f\n", step + 1, (double)report.loss);
    }
    printf("step %d loss %.6f\n", kSteps, (double)report.loss);
    CHECK(volta_trainer_save(trainer, argv[1]));
    volta_trainer_release(trainer);
    volta_model_release(model);

    volta_session* session;
    volta_session_options session_options = VOLTA_SESSION_OPTIONS_INIT;
    session_options.input_shapes = points_shape;
    session_options.input_extent_count = 2;
    CHECK(volta_model_open(context, argv[1], NULL, &model));
    CHECK(volta_session_create(model, &session_options, &session));
    CHECK(volta_session_run(session, inputs, 1, &scores, 1));
    int right = 0;
    for (int i = 0; i < kPoints; ++i) right += (logits[2 * i + 1] > logits[2 * i]) == classes[i];
    printf("%d of %d points right\n", right, kPoints);

    volta_session_release(session);
    volta_model_release(model);
    volta_tensor_release(scores);
    volta_tensor_release(y);
    volta_tensor_release(x);
    volta_context_release(context);
    return right > kPoints * 9 / 10 ? 0 : 1;
}
