/* Data of your own: rows of a CSV file, of which the last column is learned from the others. A source is a
 * function that fills the next batch, so that rows may as well come from a data base, a sensor or a
 * simulation.
 *   custom_data FILE.csv OUT.volta
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <volta.h>

#define CHECK(call)                                                              \
    do {                                                                         \
        if ((call) != VOLTA_OK) {                                                \
            fprintf(stderr, "custom_data: %s: %s\n", #call, volta_last_error()); \
            exit(1);                                                             \
        }                                                                        \
    } while (0)

enum { kBatch = 32, kMostColumns = 64, kSteps = 600 };

typedef struct table {
    float* rows; /* [count, columns] */
    size_t count, columns;
    uint64_t state; /* of the order in which rows come */
} table;

/* Numbers and commas, a row a line. */
static table read_csv(const char* path) {
    table all = {NULL, 0, 0, 1};
    FILE* file = fopen(path, "r");
    char line[4096];
    if (file == NULL) fprintf(stderr, "custom_data: cannot read %s\n", path), exit(1);
    while (fgets(line, sizeof line, file)) {
        float row[kMostColumns];
        size_t columns = 0;
        char* at = line;
        for (char* end; columns < kMostColumns; at = *end == ',' ? end + 1 : end) {
            const float value = strtof(at, &end);
            if (end == at) break;
            row[columns++] = value;
        }
        if (all.columns == 0) all.columns = columns;
        if (columns != all.columns || columns < 2)
            fprintf(stderr, "custom_data: line %zu of %s has %zu numbers\n", all.count + 1, path, columns),
                exit(1);
        float* grown = realloc(all.rows, (all.count + 1) * columns * sizeof *grown);
        if (grown == NULL) fprintf(stderr, "custom_data: out of memory\n"), exit(1);
        memcpy(grown + all.count++ * columns, row, columns * sizeof *row);
        all.rows = grown;
    }
    fclose(file);
    if (all.count < 5 * kBatch) fprintf(stderr, "custom_data: %s has too few rows\n", path), exit(1);
    return all;
}

/* A source: fills the next `count` rows. Every fifth row is left for the test. */
static void next_batch(void* user, float* inputs, float* targets, int count) {
    table* all = user;
    const size_t features = all->columns - 1;
    for (int i = 0; i < count; ++i) {
        size_t row;
        do {
            all->state = all->state * 6364136223846793005u + 1442695040888963407u;
            row = (size_t)(all->state >> 33) % all->count;
        } while (row % 5 == 0);
        memcpy(inputs + (size_t)i * features, all->rows + row * all->columns, features * sizeof *inputs);
        targets[i] = all->rows[row * all->columns + features];
    }
}

static volta_model* define(volta_context* context, int64_t features) {
    volta_graph* graph;
    volta_value x, h;
    volta_model* model;
    const int64_t shape[] = {-1, features};
    CHECK(volta_graph_create(context, &graph));
    CHECK(volta_graph_input(graph, "row", VOLTA_F32, shape, 2, &x));
    CHECK(volta_graph_linear(graph, "hidden", x, 32, &h));
    CHECK(volta_graph_unary(graph, "tanh", h, &h));
    CHECK(volta_graph_linear(graph, "result", h, 1, &h));
    CHECK(volta_graph_output(graph, "prediction", h));
    CHECK(volta_model_create(graph, 1, &model));
    volta_graph_release(graph);
    return model;
}

/* Root of the mean squared difference over every fifth row. */
static double test(volta_context* context, volta_model* model, const table* all) {
    const int64_t shape[] = {1, (int64_t)all->columns - 1}, one[] = {1, 1};
    volta_session_options options = VOLTA_SESSION_OPTIONS_INIT;
    volta_session* session;
    float prediction;
    double sum = 0;
    size_t count = 0;
    options.input_shapes = shape;
    options.input_extent_count = 2;
    CHECK(volta_session_create(model, &options, &session));
    for (size_t row = 0; row < all->count; row += 5, ++count) {
        volta_tensor *x, *y;
        CHECK(volta_tensor_wrap(context, VOLTA_F32, shape, 2, all->rows + row * all->columns, &x));
        CHECK(volta_tensor_wrap(context, VOLTA_F32, one, 2, &prediction, &y));
        const volta_tensor* inputs[] = {x};
        CHECK(volta_session_run(session, inputs, 1, &y, 1));
        const double difference =
            (double)prediction - (double)all->rows[row * all->columns + all->columns - 1];
        sum += difference * difference;
        volta_tensor_release(y);
        volta_tensor_release(x);
    }
    volta_session_release(session);
    return sqrt(sum / (double)count);
}

int main(int argc, char** argv) {
    if (argc != 3) return fprintf(stderr, "usage: custom_data FILE.csv OUT.volta\n"), 2;
    table all = read_csv(argv[1]);
    const int64_t features = (int64_t)all.columns - 1;
    float *inputs = malloc(kBatch * (size_t)features * sizeof *inputs), targets[kBatch];
    if (inputs == NULL) return fprintf(stderr, "custom_data: out of memory\n"), 1;

    volta_context* context;
    CHECK(volta_context_create(NULL, &context));
    volta_model* model = define(context, features);
    const double before = test(context, model, &all);

    const int64_t x_shape[] = {kBatch, features}, y_shape[] = {kBatch, 1};
    volta_tensor *x, *y;
    CHECK(volta_tensor_wrap(context, VOLTA_F32, x_shape, 2, inputs,
                            &x)); /* memory of the host: nothing is copied */
    CHECK(volta_tensor_wrap(context, VOLTA_F32, y_shape, 2, targets, &y));
    volta_trainer* trainer;
    volta_trainer_options options = VOLTA_TRAINER_OPTIONS_INIT;
    options.input_shapes = x_shape;
    options.input_extent_count = 2;
    options.loss = VOLTA_LOSS_MSE;
    options.learning_rate = 0.01;
    options.schedule = VOLTA_SCHEDULE_COSINE;
    options.steps = kSteps;
    CHECK(volta_trainer_create(model, &options, &trainer));
    const volta_tensor* batch[] = {x};
    for (int step = 0; step < kSteps; ++step) {
        next_batch(&all, inputs, targets, kBatch);
        CHECK(volta_trainer_step(trainer, batch, 1, y, NULL));
    }
    CHECK(volta_trainer_save(trainer, argv[2]));
    CHECK(volta_trainer_update_model(trainer));
    const double after = test(context, model, &all);
    printf("%zu rows of %lld features; error on rows that were not trained on: %.3f before, %.3f after\n",
           all.count, (long long)features, before, after);

    volta_trainer_release(trainer);
    volta_tensor_release(y);
    volta_tensor_release(x);
    volta_model_release(model);
    volta_context_release(context);
    free(inputs);
    free(all.rows);
    return after < before / 3 ? 0 : 1;
}
