/* Networks of both kinds, said once and built twice: as the graph of a trainer, and as calls on a tape. After
 * each step losses, and in the end all parameters, have the same bits. */
#include "tests/api/api_test.h"

enum { kSteps = 30, kMostParameters = 24, kBatch = 3, kTime = 12, kWidth = 32, kWords = 40, kClasses = 5 };

/* A value of the graph, or a tensor of the tape. */
struct node {
    volta_value value;
    volta_tensor* tensor;
};

struct builder {
    volta_context* context;
    volta_graph* graph; /* NULL: on the tape */
    volta_tape* tape;
    volta_tensor* parameters[kMostParameters];
    char names[kMostParameters][16];
    int follows[kMostParameters]; /* it is a running mean or variance: no gradient leads there */
    int count, next;
};

static struct node call(struct builder* b, const char* op, const struct node* inputs, size_t count,
                        const volta_attribute* attributes, size_t attribute_count) {
    struct node made = {{-1}, NULL};
    volta_value values[6];
    volta_tensor* tensors[6];
    for (size_t i = 0; i < count; ++i) values[i] = inputs[i].value;
    for (size_t i = 0; i < count; ++i) tensors[i] = inputs[i].tensor;
    if (b->graph != NULL)
        assert_ok(
            volta_graph_apply(b->graph, op, values, count, attributes, attribute_count, &made.value, 1));
    else
        made.tensor =
            volta_tape_call(b->tape, op, tensors, count, attributes, attribute_count, __FILE__, __LINE__);
    return made;
}

static struct node one(struct builder* b, const char* op, struct node x) {
    return call(b, op, &x, 1, NULL, 0);
}

static struct node two(struct builder* b, const char* op, struct node x, struct node y) {
    const struct node inputs[] = {x, y};
    return call(b, op, inputs, 2, NULL, 0);
}

static struct node parameter(struct builder* b, const int64_t* shape, int32_t rank, double deviation) {
    struct node made = {{-1}, NULL};
    assert_true(b->next < kMostParameters);
    if (b->graph != NULL) {
        const volta_init init = {deviation > 0 ? VOLTA_INIT_NORMAL : VOLTA_INIT_CONSTANT,
                                 deviation > 0 ? deviation : -deviation, 0};
        snprintf(b->names[b->next], sizeof b->names[0], "p%d", b->next);
        assert_ok(volta_graph_parameter(b->graph, b->names[b->next], shape, rank, &init, &made.value));
        b->count = b->next + 1;
    } else {
        made.tensor = b->parameters[b->next];
    }
    ++b->next;
    return made;
}

static struct node matrix(struct builder* b, int64_t rows, int64_t columns) {
    const int64_t shape[] = {rows, columns};
    return parameter(b, shape, 2, 0.2);
}

static struct node vector(struct builder* b, int64_t extent, double start) {
    const int64_t shape[] = {extent};
    return parameter(b, shape, 1, -start);
}

static struct node norm(struct builder* b, struct node x) {
    struct node inputs[3] = {x, {{-1}, NULL}, {{-1}, NULL}};
    inputs[1] = vector(b, kWidth, 1);
    inputs[2] = vector(b, kWidth, 0);
    return call(b, "layer_norm", inputs, 3, NULL, 0);
}

static struct node linear(struct builder* b, struct node x, int64_t in, int64_t out) {
    const struct node product = two(b, "matmul", x, matrix(b, in, out));
    return two(b, "add", product, vector(b, out, 0));
}

/* A block of a transformer between an embedding and the head that is tied to it. */
static struct node transformer(struct builder* b, struct node ids) {
    const volta_attribute attention[] = {{"heads", 4, NULL, 0}, {"packed", 1, NULL, 0}};
    const volta_attribute transposed = {"transpose_b", 1, NULL, 0};
    const struct node table = matrix(b, kWords, kWidth);
    struct node x = two(b, "gather", table, ids);
    const struct node qkv = linear(b, norm(b, x), kWidth, 3 * kWidth);
    x = two(b, "add", x, linear(b, call(b, "attention", &qkv, 1, attention, 2), kWidth, kWidth));
    const struct node hidden = one(b, "gelu_tanh", linear(b, norm(b, x), kWidth, 4 * kWidth));
    x = two(b, "add", x, linear(b, hidden, 4 * kWidth, kWidth));
    const struct node head[] = {norm(b, x), table};
    return call(b, "matmul", head, 2, &transposed, 1);
}

/* Pictures of two channels and 8 x 8: two convolutions, a pool, a head. */
static struct node pictures(struct builder* b, struct node x) {
    static const int64_t pads[] = {1, 1, 1, 1}, two_by_two[] = {2, 2}, flat[] = {kBatch, 6 * 4 * 4};
    const volta_attribute same = {"pads", 0, pads, 4},
                          kernel[] = {{"kernel", 0, two_by_two, 2}, {"strides", 0, two_by_two, 2}};
    const volta_attribute shape = {"shape", 0, flat, 2};
    const int64_t first[] = {6, 2, 3, 3}, second[] = {6, 6, 3, 3};
    const struct node a[] = {x, parameter(b, first, 4, 0.3), vector(b, 6, 0)};
    x = one(b, "relu", call(b, "conv", a, 3, &same, 1));
    x = call(b, "max_pool", &x, 1, kernel, 2);
    const struct node c[] = {x, parameter(b, second, 4, 0.2), vector(b, 6, 0)};
    x = one(b, "silu", call(b, "conv", c, 3, &same, 1));
    x = call(b, "reshape", &x, 1, &shape, 1);
    return linear(b, x, 6 * 4 * 4, kClasses);
}

/* Trained, by the statistics of the batch, on the tape by a call of its own. */
static struct node batch_norm(struct builder* b, struct node x, int64_t channels, double momentum) {
    const volta_attribute attributes[] = {{"momentum", momentum, NULL, 0}, {"epsilon", 1e-3, NULL, 0}};
    struct node inputs[5] = {x, {{-1}, NULL}, {{-1}, NULL}, {{-1}, NULL}, {{-1}, NULL}};
    inputs[1] = vector(b, channels, 1);
    inputs[2] = vector(b, channels, 0);
    b->follows[b->next] = b->follows[b->next + 1] = 1;
    inputs[3] = vector(b, channels, 0);
    inputs[4] = vector(b, channels, 1);
    return call(b, b->graph != NULL ? "batch_norm" : "batch_norm_train", inputs, 5, attributes,
                momentum != 0.1 ? 2 : 0);
}

/* The same pictures, with a batch norm behind each convolution, around a way past the second. */
static struct node residual(struct builder* b, struct node x) {
    static const int64_t pads[] = {1, 1, 1, 1}, flat[] = {kBatch, 6 * 8 * 8};
    const volta_attribute same = {"pads", 0, pads, 4}, shape = {"shape", 0, flat, 2};
    const int64_t first[] = {6, 2, 3, 3}, second[] = {6, 6, 3, 3};
    const struct node a[] = {x, parameter(b, first, 4, 0.3)};
    x = one(b, "relu", batch_norm(b, call(b, "conv", a, 2, &same, 1), 6, 0.1));
    const struct node c[] = {x, parameter(b, second, 4, 0.2)};
    x = one(b, "relu", two(b, "add", x, batch_norm(b, call(b, "conv", c, 2, &same, 1), 6, 0.25)));
    x = call(b, "reshape", &x, 1, &shape, 1);
    return linear(b, x, 6 * 8 * 8, kClasses);
}

struct network {
    struct node (*build)(struct builder* b, struct node input);
    volta_dtype dtype;
    int32_t rank, target_rank;
    int64_t shape[4], targets[2];
    int32_t classes;
};

static const struct network kNetworks[] = {
    {transformer, VOLTA_I32, 2, 2, {kBatch, kTime, 0, 0}, {kBatch, kTime}, kWords},
    {pictures, VOLTA_F32, 4, 1, {kBatch, 2, 8, 8}, {kBatch, 0}, kClasses},
    {residual, VOLTA_F32, 4, 1, {kBatch, 2, 8, 8}, {kBatch, 0}, kClasses},
};

static void fill(const struct network* network, volta_tensor* input, volta_tensor* targets, int step) {
    const int64_t count = volta_tensor_elements(input), target_count = volta_tensor_elements(targets);
    for (int64_t i = 0; i < count; ++i) {
        const int64_t number = (i * 7 + step * 5) % 37;
        if (network->dtype == VOLTA_I32)
            ((int32_t*)volta_tensor_data(input))[i] = (int32_t)number;
        else
            ((float*)volta_tensor_data(input))[i] = (float)number / 16 - 1;
    }
    for (int64_t i = 0; i < target_count; ++i)
        ((int32_t*)volta_tensor_data(targets))[i] = (int32_t)((i * 3 + step) % network->classes);
}

static void trains_to_the_trainers_bits(const struct network* network, volta_tape_mode mode,
                                        uint32_t threads) {
    struct builder b = {0};
    volta_context_options context_options = VOLTA_CONTEXT_OPTIONS_INIT;
    volta_model* model;
    volta_trainer* trainer;
    volta_tensor *input, *targets;
    volta_tensor* trained[kMostParameters];
    size_t trained_count = 0;
    struct node x = {{-1}, NULL};
    context_options.thread_count = threads;
    assert_ok(volta_context_create(&context_options, &b.context));
    assert_ok(volta_tensor_create(b.context, network->dtype, network->shape, network->rank, &input));
    assert_ok(volta_tensor_create(b.context, VOLTA_I32, network->targets, network->target_rank, &targets));

    assert_ok(volta_graph_create(b.context, &b.graph));
    assert_ok(volta_graph_input(b.graph, "x", network->dtype, network->shape, network->rank, &x.value));
    assert_ok(volta_graph_output(b.graph, "y", network->build(&b, x).value));
    assert_ok(volta_model_create(b.graph, 11, &model));
    volta_trainer_options trainer_options = VOLTA_TRAINER_OPTIONS_INIT;
    trainer_options.learning_rate = 0.01;
    trainer_options.weight_decay = 0.1;
    trainer_options.clip_norm = 1;
    assert_ok(volta_trainer_create(model, &trainer_options, &trainer));

    for (int p = 0; p < b.count; ++p) {
        volta_tensor_info info;
        const float* data;
        size_t elements;
        assert_ok(volta_model_parameter_info(model, (size_t)p, &info));
        assert_ok(volta_tensor_create(b.context, VOLTA_F32, info.shape, info.rank, &b.parameters[p]));
        assert_ok(volta_model_parameter(model, info.name, &data, &elements));
        memcpy(volta_tensor_data(b.parameters[p]), data, elements * sizeof(float));
        if (b.follows[p]) continue;
        assert_ok(volta_tensor_set_requires_grad(b.parameters[p], 1));
        trained[trained_count++] = b.parameters[p];
    }
    volta_tape_options options = VOLTA_TAPE_OPTIONS_INIT;
    volta_optimizer_options settings = VOLTA_OPTIMIZER_OPTIONS_INIT;
    volta_tape_optimizer* optimizer;
    options.mode = mode;
    settings.learning_rate = trainer_options.learning_rate;
    settings.weight_decay = trainer_options.weight_decay;
    settings.clip_norm = trainer_options.clip_norm;
    volta_graph_release(b.graph);
    b.graph = NULL;
    assert_ok(volta_tape_create(b.context, &options, &b.tape));
    assert_ok(volta_tape_optimizer_create(b.tape, &settings, trained, trained_count, &optimizer));
    for (int step = 0; step < kSteps; ++step) {
        volta_step_report expected = VOLTA_STEP_REPORT_INIT, report = VOLTA_STEP_REPORT_INIT;
        const volta_tensor* given = input;
        fill(network, input, targets, step);
        assert_ok(volta_trainer_step(trainer, &given, 1, targets, &expected));
        b.next = 0;
        x.tensor = input;
        volta_tensor* rows = volta_op(b.tape, "cross_entropy", network->build(&b, x).tensor, targets);
        assert_ok(volta_tape_optimizer_zero_grad(optimizer));
        assert_ok(volta_tape_backward(b.tape, volta_op(b.tape, "mean", rows)));
        assert_ok(volta_tape_step(b.tape, optimizer, &report));
        assert_ok(volta_tape_reset(b.tape));
        assert_memory_equal(&report.loss, &expected.loss, sizeof report.loss);
        assert_memory_equal(&report.gradient_norm, &expected.gradient_norm, sizeof report.gradient_norm);
    }
    for (int p = 0; p < b.count; ++p) {
        const float* data;
        size_t elements;
        assert_ok(volta_trainer_parameter(trainer, b.names[p], &data, &elements));
        assert_memory_equal(volta_tensor_data(b.parameters[p]), data, elements * sizeof(float));
        volta_tensor_release(b.parameters[p]);
    }
    volta_tape_optimizer_release(optimizer);
    volta_tape_release(b.tape);
    volta_trainer_release(trainer);
    volta_model_release(model);
    volta_tensor_release(input);
    volta_tensor_release(targets);
    volta_context_release(b.context);
}

static void networks_train_to_the_trainers_bits(void** state) {
    (void)state;
    for (size_t n = 0; n < sizeof kNetworks / sizeof kNetworks[0]; ++n)
        for (int mode = VOLTA_TAPE_EAGER; mode <= VOLTA_TAPE_LAZY; ++mode)
            trains_to_the_trainers_bits(&kNetworks[n], mode, (uint32_t)(mode + 1));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(networks_train_to_the_trainers_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
