/* The wrong call gets a status and one sentence that names what was wrong, and loses nothing. */
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/api/api_test.h"

static volta_context* context;
static volta_model* model;

static int set_up(void** state) {
    (void)state;
    return context_on(NULL, 1, 0, 0, &context) != VOLTA_OK || small_gpt(context, 0, &model) != VOLTA_OK;
}

static int tear_down(void** state) {
    (void)state;
    volta_model_release(model);
    volta_context_release(context);
    return 0;
}

static void test_context_options(void** state) {
    (void)state;
    volta_context* made = (volta_context*)1;
    volta_context_options options = {0};
    assert_fails(volta_context_create(NULL, NULL), VOLTA_INVALID_ARGUMENT, "out_context is NULL");
    assert_fails(volta_context_create(&options, &made), VOLTA_INVALID_ARGUMENT,
                 "volta_context_options.struct_size is 0: set it to sizeof(volta_context_options)");
    assert_null(made);
    options.struct_size = sizeof options;
    options.level = 3;
    assert_fails(volta_context_create(&options, &made), VOLTA_INVALID_ARGUMENT,
                 "level is 3, it must be in 0 .. 2");
    options.level = -1;
    assert_fails(volta_context_create(&options, &made), VOLTA_INVALID_ARGUMENT,
                 "level is -1, it must be in 0 .. 2");
    options.level = VOLTA_STRICT;
    options.precision = 3;
    assert_fails(volta_context_create(&options, &made), VOLTA_INVALID_ARGUMENT,
                 "precision is 3, it must be in 0 .. 2");
    options.precision = VOLTA_PRECISION_BF16;
    assert_fails(volta_context_create(&options, &made), VOLTA_INVALID_ARGUMENT,
                 "level strict computes in fp32: precision bf16 needs level repeatable or fast");
    options.precision = VOLTA_PRECISION_TF32;
    assert_fails(volta_context_create(&options, &made), VOLTA_INVALID_ARGUMENT,
                 "level strict computes in fp32: precision tf32 needs level repeatable or fast");
    options.precision = 0;
    options.isa = 9;
    assert_fails(volta_context_create(&options, &made), VOLTA_INVALID_ARGUMENT,
                 "isa is 9, it must be in 0 .. 3");
    options.isa = 0;
    options.thread_count = 1000;
    assert_fails(volta_context_create(&options, &made), VOLTA_INVALID_ARGUMENT,
                 "thread_count is 1000, at most 256 are supported");
    options.thread_count = 1;
    options.flags = 4;
    assert_fails(volta_context_create(&options, &made), VOLTA_INVALID_ARGUMENT,
                 "flags is 4, which has unknown bits");
    assert_ok(volta_context_create(NULL, &made));
    assert_string_equal(volta_last_error(), "");
    volta_context_release(made);
}

/* A caller of a newer header is served while the fields this library does not know are zero. */
static void test_larger_structs(void** state) {
    (void)state;
    struct {
        volta_context_options known;
        uint64_t newer;
    } options;
    volta_context* made;
    memset(&options, 0, sizeof options);
    options.known.struct_size = sizeof options;
    options.known.thread_count = 1;
    assert_ok(volta_context_create(&options.known, &made));
    volta_context_release(made);
    options.newer = 1;
    assert_fails(volta_context_create(&options.known, &made), VOLTA_INVALID_ARGUMENT,
                 "volta_context_options has a field that this version does not know");
}

static void test_graph_calls(void** state) {
    (void)state;
    volta_graph* graph;
    volta_value a, b, y;
    const int64_t a_shape[] = {64, 384}, b_shape[] = {256, 384}, empty[] = {0};
    assert_ok(volta_graph_create(context, &graph));
    assert_ok(volta_graph_input(graph, "a", VOLTA_F32, a_shape, 2, &a));
    assert_ok(volta_graph_parameter(graph, "b", b_shape, 2, NULL, &b));
    int64_t extents[VOLTA_MAX_RANK] = {0};
    int32_t rank = 7;
    assert_ok(volta_graph_value_shape(graph, b, extents, &rank));
    assert_int_equal(rank, 2);
    assert_memory_equal(extents, b_shape, sizeof b_shape);
    assert_fails(volta_graph_value_shape(graph, b, NULL, &rank), VOLTA_INVALID_ARGUMENT, "shape is NULL");
    assert_int_equal(rank, 0);
    assert_fails(volta_graph_binary(graph, "matmul", a, b, &y), VOLTA_SHAPE_MISMATCH,
                 "matmul: inner extents differ: [64, 384] x [256, 384]");
    assert_int_equal(y.id, -1);
    assert_fails(volta_graph_unary(graph, "sofmax", a, &y), VOLTA_INVALID_ARGUMENT,
                 "there is no operator sofmax");
    assert_fails(volta_graph_unary(graph, "adamw", a, &y), VOLTA_INVALID_ARGUMENT,
                 "there is no operator adamw");
    const volta_value foreign = {99};
    assert_fails(volta_graph_unary(graph, "exp", foreign, &y), VOLTA_INVALID_ARGUMENT,
                 "exp is value 99, which is none of this graph");
    const volta_attribute wrong = {"axsi", 1, NULL, 0};
    assert_fails(volta_graph_apply(graph, "softmax", &a, 1, &wrong, 1, &y, 1), VOLTA_INVALID_ARGUMENT,
                 "softmax has no attribute axsi");
    assert_fails(volta_graph_input(graph, "step/x", VOLTA_F32, a_shape, 2, &y), VOLTA_INVALID_ARGUMENT,
                 "the name step/x starts with step/, which is reserved");
    assert_fails(volta_graph_parameter(graph, "c", empty, 1, NULL, &y), VOLTA_INVALID_ARGUMENT,
                 "the extent of axis 0 is 0");
    const int64_t most[] = {1 << 20, 1 << 20}, more[] = {1 << 20, (1 << 20) + 1, -1};
    volta_value several[] = {{7}, {7}, {7}};
    assert_fails(volta_graph_input(graph, "c", VOLTA_F32, more, 3, &y), VOLTA_INVALID_ARGUMENT,
                 "shape [1048576, 1048577, -1] has more than 2^40 elements");
    assert_fails(volta_graph_apply(graph, "exp", &a, 1, NULL, 0, several, 2), VOLTA_INVALID_ARGUMENT,
                 "exp has 1 outputs, 2 are asked for");
    assert_true(several[0].id == -1 && several[1].id == -1 && several[2].id == 7);
    assert_ok(volta_graph_apply(graph, "exp", &a, 1, NULL, 0, several, 0)); /* nobody wants it */
    assert_ok(volta_graph_input(graph, "c", VOLTA_F32, most, 2, &y));
    volta_model* made;
    assert_fails(volta_model_create(graph, 1, &made), VOLTA_INVALID_ARGUMENT,
                 "the graph has no output: call volta_graph_output first");
    volta_graph_release(graph);
}

static void test_model_files(void** state) {
    (void)state;
    volta_model* opened;
    assert_int_equal(volta_model_open(context, "no/such/file.volta", NULL, &opened), VOLTA_IO_ERROR);
    assert_non_null(strstr(volta_last_error(), "no/such/file.volta"));
    assert_null(opened);
    assert_int_equal(volta_model_open(context, "/", NULL, &opened), VOLTA_IO_ERROR);
    assert_non_null(strstr(volta_last_error(), "directory"));
    assert_int_equal(volta_model_save(model, "no/such/folder/model.volta"), VOLTA_IO_ERROR);
    assert_int_equal(volta_model_save(model, "/"), VOLTA_IO_ERROR);
    const char junk[64] = "this is not a model";
    volta_open_options copy = {sizeof copy, VOLTA_LOAD_COPY, 0};
    assert_int_equal(volta_model_open_memory(context, junk, sizeof junk, &copy, &opened),
                     VOLTA_CORRUPT_MODEL);
    assert_non_null(volta_last_error()[0] ? volta_last_error() : NULL);
}

static void test_llama_options(void** state) {
    (void)state;
    volta_model* made;
    volta_llama_options llama = {0};
    llama.struct_size = sizeof llama;
    assert_fails(volta_model_create_llama(context, &llama, 1, &made), VOLTA_INVALID_ARGUMENT,
                 "vocabulary is 0; it must be from 1 to 2147483647");
    llama.vocabulary = 65;
    llama.kv_heads = 4;
    assert_fails(volta_model_create_llama(context, &llama, 1, &made), VOLTA_INVALID_ARGUMENT,
                 "heads 6 is not a multiple of kv_heads 4");
    llama.kv_heads = 0;
    llama.rope_base = -1;
    assert_int_equal(volta_model_create_llama(context, &llama, 1, &made), VOLTA_INVALID_ARGUMENT);
    llama.rope_base = 0;
    assert_int_equal(volta_model_create_llama(NULL, &llama, 1, &made), VOLTA_INVALID_ARGUMENT);
    assert_int_equal(volta_model_create_llama(context, NULL, 1, &made), VOLTA_INVALID_ARGUMENT);
    assert_int_equal(volta_model_create_llama(context, &llama, 1, NULL), VOLTA_INVALID_ARGUMENT);
    assert_null(made);
}

static void test_gpt_options(void** state) {
    (void)state;
    volta_model* made;
    volta_gpt_options gpt = {0};
    gpt.struct_size = sizeof gpt;
    assert_int_equal(volta_model_create_gpt(context, &gpt, 1, &made), VOLTA_INVALID_ARGUMENT);
    assert_non_null(strstr(volta_last_error(), "vocabulary"));
    gpt.vocabulary = 65;
    gpt.dim = 100;
    assert_int_equal(volta_model_create_gpt(context, &gpt, 1, &made), VOLTA_INVALID_ARGUMENT);
    assert_non_null(strstr(volta_last_error(), "100"));
    gpt.dim = INT64_MAX / 2;
    gpt.heads = 1;
    assert_int_not_equal(volta_model_create_gpt(context, &gpt, 1, &made), VOLTA_OK);
    gpt.dim = 384;
    gpt.heads = 6;
    gpt.dropout = -1;
    assert_int_equal(volta_model_create_gpt(context, &gpt, 1, &made), VOLTA_INVALID_ARGUMENT);
}

static void test_session_tensors(void** state) {
    (void)state;
    volta_session* session;
    volta_tensor *x, *y, *wrong;
    const int64_t shape[] = {2, 8}, out_shape[] = {2, 8, kVocabulary}, wrong_shape[] = {2, 9},
                  too_long[] = {1, kContext + 1};
    volta_session_options options = {sizeof options, shape, 2, 0};
    int32_t tokens[18] = {0};
    assert_fails(volta_session_create(model, NULL, &session), VOLTA_SHAPE_MISMATCH,
                 "input tokens: expected shape [-1, -1], got -1 on axis 0");
    options.input_shapes = too_long;
    assert_fails(volta_session_create(model, &options, &session), VOLTA_SHAPE_MISMATCH,
                 "position_ids: a sequence of 33 tokens is longer than the context 32");
    options.input_shapes = shape;
    options.input_extent_count = 1;
    assert_fails(volta_session_create(model, &options, &session), VOLTA_SHAPE_MISMATCH,
                 "input tokens: 1 extents are given, too few for its shape [-1, -1]");
    const int64_t more[] = {2, 8, 1};
    options.input_shapes = more;
    options.input_extent_count = 3;
    assert_fails(volta_session_create(model, &options, &session), VOLTA_SHAPE_MISMATCH,
                 "3 extents are given, but the inputs have 2");
    options.input_shapes = shape;
    options.input_extent_count = 2;
    assert_ok(volta_session_create(model, &options, &session));
    assert_ok(volta_tensor_wrap(context, VOLTA_I32, shape, 2, tokens, &x));
    assert_ok(volta_tensor_wrap(context, VOLTA_I32, wrong_shape, 2, tokens, &wrong));
    assert_ok(volta_tensor_create(context, VOLTA_F32, out_shape, 3, &y));
    for (int32_t axis = 0; axis < 3; ++axis) assert_int_equal(volta_tensor_extent(y, axis), out_shape[axis]);
    assert_int_equal(volta_tensor_extent(y, 3), -1);
    assert_int_equal(volta_tensor_extent(y, -1), -1);
    assert_int_equal(volta_tensor_extent(NULL, 0), -1);
    volta_tensor* huge;
    const int64_t beyond[] = {INT64_C(1) << 40, INT64_C(1) << 30}, further[] = {INT64_MAX, 3};
    assert_fails(volta_tensor_create(context, VOLTA_F32, beyond, 2, &huge), VOLTA_INVALID_ARGUMENT,
                 "the tensor would have more than 2^60 elements");
    assert_fails(volta_tensor_create(context, VOLTA_F32, further, 2, &huge), VOLTA_INVALID_ARGUMENT,
                 "the tensor would have more than 2^60 elements");
    assert_null(huge);
    const volta_tensor *good[] = {x}, *bad[] = {wrong};
    assert_fails(volta_session_run(session, bad, 1, &y, 1), VOLTA_SHAPE_MISMATCH,
                 "input 0: expected shape [2, 8], got [2, 9]");
    const volta_tensor* none[] = {NULL};
    volta_tensor* nowhere[] = {NULL};
    assert_fails(volta_session_run(session, none, 1, &y, 1), VOLTA_INVALID_ARGUMENT, "input 0 is NULL");
    assert_fails(volta_session_run(session, good, 1, nowhere, 1), VOLTA_INVALID_ARGUMENT, "output 0 is NULL");
    assert_fails(volta_session_run(session, good, 0, &y, 1), VOLTA_INVALID_ARGUMENT,
                 "0 inputs are given, the model has 1");
    assert_fails(volta_session_run(session, good, 1, NULL, 0), VOLTA_INVALID_ARGUMENT,
                 "0 outputs are given, the model has 1");
    assert_fails(volta_session_run(session, good, 1, &x, 1), VOLTA_SHAPE_MISMATCH,
                 "output 0: expected elements of f32, got i32");
    tokens[5] = kVocabulary;
    assert_fails(volta_session_run(session, good, 1, &y, 1), VOLTA_INVALID_ARGUMENT,
                 "tokens: element 5 is 29, outside 0 .. 28");
    tokens[5] = -1;
    assert_fails(volta_session_run(session, good, 1, &y, 1), VOLTA_INVALID_ARGUMENT,
                 "tokens: element 5 is -1, outside 0 .. 28");
    tokens[5] = 0;
    assert_ok(volta_session_run(session, good, 1, &y, 1));
    volta_tensor_release(y);
    volta_tensor_release(wrong);
    volta_tensor_release(x);
    volta_session_release(session);
}

static void test_trainer_options(void** state) {
    (void)state;
    const int64_t shape[] = {2, 8};
    volta_trainer* trainer;
    volta_trainer_options good = small_trainer_options(shape), options;
    static int32_t tokens[8] = {0};
#define expect(change, text)                                                                         \
    do {                                                                                             \
        options = good;                                                                              \
        change;                                                                                      \
        assert_fails(volta_trainer_create(model, &options, &trainer), VOLTA_INVALID_ARGUMENT, text); \
    } while (0)
    expect(options.learning_rate = -1, "learning_rate is -1, it must be in 0 .. 1e+30");
    expect(options.learning_rate = 0.0 / 0.0 * -1, "learning_rate is nan, it must be in 0 .. 1e+30");
    expect(options.learning_rate = -NAN, "learning_rate is nan, it must be in 0 .. 1e+30");
    expect(options.beta2 = -NAN, "beta2 is nan, it must be at least 0 and below 1, or -1 for 0");
    expect(options.beta1 = 1, "beta1 is 1, it must be at least 0 and below 1, or -1 for 0");
    expect(options.optimizer = 7, "optimizer is 7, which is none of 0 .. 3");
    expect(options.loss = -1, "loss is -1, it must be in 0 .. 4");
    expect(options.steps = UINT64_C(1) << 32, "steps is 4294967296, it must be below 2^32");
    expect(options.micro_batches = 1000001, "micro_batches is 1000001, at most 1000000 are supported");
    expect(options.warmup_steps = 41, "warmup_steps is 41, more than the 40 steps");
    expect(options.steps = 0, "the cosine schedule needs steps, which is 0");
    expect(options.output_index = 1, "output_index is 1, the model has 1 outputs");
    options = good;
    assert_ok(volta_trainer_create(model, &options, &trainer));
    assert_fails(volta_trainer_step_tokens(trainer, NULL), VOLTA_INVALID_STATE,
                 "the trainer has no tokens: call volta_trainer_set_tokens first");
    assert_fails(volta_trainer_set_tokens(trainer, tokens, 8), VOLTA_INVALID_ARGUMENT,
                 "the text has 8 tokens, one window of 8 needs 9");
    const float* data;
    size_t elements;
    assert_fails(volta_trainer_gradient(trainer, "token_embedding", &data, &elements), VOLTA_INVALID_STATE,
                 "there is no gradient before the first step");
    assert_fails(volta_trainer_parameter(trainer, "nothing", &data, &elements), VOLTA_INVALID_ARGUMENT,
                 "the model has no parameter nothing");
    assert_int_equal(volta_trainer_save(trainer, "no/such/folder/x.volta"), VOLTA_IO_ERROR);
    volta_trainer_release(trainer);
}

/* A loss that is not finite stops before anything is written: parameters, moments, step and cursor stay. */
/* A parameter takes as many elements as it has. */
static void test_parameter_elements(void** state) {
    (void)state;
    volta_graph* graph;
    volta_model* line;
    volta_value x, y;
    const int64_t shape[] = {4, 3};
    const float given[7] = {1, 2, 3, 4, 5, 6, 7};
    const float* data;
    size_t count;
    assert_ok(volta_graph_create(context, &graph));
    assert_ok(volta_graph_input(graph, "x", VOLTA_F32, shape, 2, &x));
    assert_ok(volta_graph_linear(graph, "line", x, 2, &y));
    assert_ok(volta_graph_output(graph, "y", y));
    assert_ok(volta_model_create(graph, 1, &line));
    assert_ok(volta_model_set_parameter(line, "line.weight", given, 6));
    for (size_t wrong = 0; wrong <= 7; ++wrong) {
        char text[80];
        snprintf(text, sizeof text, "parameter line.weight has 6 elements, %d are given", (int)wrong);
        if (wrong != 6)
            assert_fails(volta_model_set_parameter(line, "line.weight", given + 7 - wrong, wrong),
                         VOLTA_SHAPE_MISMATCH, text);
    }
    assert_fails(volta_model_set_parameter(line, "line.weights", given, 6), VOLTA_INVALID_ARGUMENT,
                 "the model has no parameter line.weights");
    assert_fails(volta_model_set_parameter(line, "line.weight", NULL, 6), VOLTA_INVALID_ARGUMENT,
                 "data is NULL");
    assert_ok(volta_model_parameter(line, "line.weight", &data, &count));
    assert_int_equal(count, 6);
    assert_memory_equal(data, given, sizeof(float[6]));
    volta_model_release(line);
    volta_graph_release(graph);
}

static void test_not_finite(void** state) {
    (void)state;
    volta_graph* graph;
    volta_model* line;
    volta_trainer* trainer;
    volta_value x, y;
    volta_tensor *points, *targets;
    float a[4] = {1, 2, 3, 4}, b[4] = {1, 2, 3, 4};
    const int64_t shape[] = {4, 1};
    char before[33], after[33];
    assert_ok(volta_graph_create(context, &graph));
    assert_ok(volta_graph_input(graph, "x", VOLTA_F32, shape, 2, &x));
    assert_ok(volta_graph_linear(graph, "line", x, 1, &y));
    assert_ok(volta_graph_output(graph, "y", y));
    assert_ok(volta_model_create(graph, 1, &line));
    assert_ok(volta_tensor_wrap(context, VOLTA_F32, shape, 2, a, &points));
    assert_ok(volta_tensor_wrap(context, VOLTA_F32, shape, 2, b, &targets));
    volta_trainer_options options = {0};
    options.struct_size = sizeof options;
    options.loss = VOLTA_LOSS_MSE;
    assert_ok(volta_trainer_create(line, &options, &trainer));
    const volta_tensor* inputs[] = {points};
    volta_step_report report = {0};
    report.struct_size = sizeof report;
    assert_ok(volta_trainer_step(trainer, inputs, 1, targets, &report));
    assert_ok(volta_trainer_hash(trainer, before));
    a[2] = 1e30f;
    assert_int_equal(volta_trainer_step(trainer, inputs, 1, targets, &report), VOLTA_NOT_FINITE);
    assert_string_equal(volta_last_error(), "step 2: the loss is inf");
    b[1] = a[1] = 0.0f / 0.0f;
    a[2] = 3;
    assert_int_equal(volta_trainer_step(trainer, inputs, 1, targets, &report), VOLTA_NOT_FINITE);
    assert_string_equal(volta_last_error(), "step 2: the loss is nan (not a number)");
    a[1] = 3e18f; /* the loss is finite, the square of the weight's gradient is not */
    b[1] = 2;
    assert_int_equal(volta_trainer_step(trainer, inputs, 1, targets, &report), VOLTA_NOT_FINITE);
    assert_non_null(strstr(volta_last_error(), "line.weight"));
    assert_ok(volta_trainer_hash(trainer, after));
    assert_string_equal(before, after);
    assert_int_equal(volta_trainer_current_step(trainer), 1);
    a[1] = 2;
    assert_ok(volta_trainer_step(trainer, inputs, 1, targets, &report));
    assert_int_equal(report.step, 2);
    volta_trainer_release(trainer);
    volta_tensor_release(targets);
    volta_tensor_release(points);
    volta_model_release(line);
    volta_graph_release(graph);
}

static void test_operator_without_gradient(void** state) {
    (void)state;
    volta_graph* graph;
    volta_model* made;
    volta_trainer* trainer;
    volta_value x, y;
    const int64_t shape[] = {4, 3};
    assert_ok(volta_graph_create(context, &graph));
    assert_ok(volta_graph_input(graph, "x", VOLTA_F32, shape, 2, &x));
    assert_ok(volta_graph_linear(graph, "a", x, 3, &y));
    const volta_value less[] = {y, x};
    volta_value mask;
    assert_ok(volta_graph_apply(graph, "less", less, 2, NULL, 0, &mask, 1));
    const volta_value where[] = {mask, y, x};
    assert_ok(volta_graph_apply(graph, "where", where, 3, NULL, 0, &y, 1));
    volta_value best;
    assert_ok(volta_graph_unary(graph, "argmax", y, &best));
    assert_ok(volta_graph_output(graph, "best", best));
    assert_ok(volta_model_create(graph, 1, &made));
    volta_trainer_options options = {0};
    options.struct_size = sizeof options;
    options.loss = VOLTA_LOSS_MSE;
    assert_int_not_equal(volta_trainer_create(made, &options, &trainer), VOLTA_OK);
    assert_null(trainer);
    volta_model_release(made);
    volta_graph_release(graph);
}

static void test_generator_calls(void** state) {
    (void)state;
    volta_generator* generator;
    volta_generator_options options = {0};
    int32_t token, many[kContext + 1] = {0};
    options.struct_size = sizeof options;
    options.temperature = -0.5;
    assert_fails(volta_generator_create(model, &options, &generator), VOLTA_INVALID_ARGUMENT,
                 "temperature is -0.5, it must be in 0 .. 1000");
    options.temperature = 1;
    options.top_p = 1.5;
    assert_fails(volta_generator_create(model, &options, &generator), VOLTA_INVALID_ARGUMENT,
                 "top_p is 1.5, it must be in 0 .. 1");
    options.top_p = 0;
    options.top_k = -3;
    assert_fails(volta_generator_create(model, &options, &generator), VOLTA_INVALID_ARGUMENT,
                 "top_k is -3, it must be 0 or more");
    options.top_k = 0;
    assert_ok(volta_generator_create(model, &options, &generator));
    assert_fails(volta_generator_next(generator, &token), VOLTA_INVALID_STATE,
                 "no sequence has been started");
    assert_fails(volta_generator_start(generator, many, kContext + 1), VOLTA_INVALID_ARGUMENT,
                 "the prompt has 33 tokens, the context holds 32");
    assert_fails(volta_generator_start(generator, many, 0), VOLTA_INVALID_ARGUMENT,
                 "a sequence needs at least one token to start from");
    many[1] = 77;
    assert_fails(volta_generator_start(generator, many, 2), VOLTA_INVALID_ARGUMENT,
                 "token 1 is 77, outside the vocabulary of 29");
    volta_generator_release(generator);
}

/* Tokens that see later ones can be trained and run, but there is nothing to generate from. */
static void test_generator_needs_causal_attention(void** state) {
    (void)state;
    volta_graph* graph;
    volta_model* sees_all;
    volta_generator* generator;
    volta_value tokens, table, x;
    const int64_t shape[] = {1, 8}, table_shape[] = {5, 12};
    const volta_init init = {VOLTA_INIT_NORMAL, 0.1, 0};
    const volta_attribute attributes[] = {
        {"packed", 1, NULL, 0}, {"heads", 2, NULL, 0}, {"causal", 0, NULL, 0}};
    volta_generator_options options = {0};
    options.struct_size = sizeof options;
    assert_ok(volta_graph_create(context, &graph));
    assert_ok(volta_graph_input(graph, "tokens", VOLTA_I32, shape, 2, &tokens));
    assert_ok(volta_graph_parameter(graph, "table", table_shape, 2, &init, &table));
    assert_ok(volta_graph_binary(graph, "gather", table, tokens, &x));
    assert_ok(volta_graph_apply(graph, "attention", &x, 1, attributes, 3, &x, 1));
    assert_ok(volta_graph_linear(graph, "head", x, 5, &x));
    assert_ok(volta_graph_output(graph, "logits", x));
    assert_ok(volta_model_create(graph, 1, &sees_all));
    volta_graph_release(graph);
    assert_fails(volta_generator_create(sees_all, &options, &generator), VOLTA_UNSUPPORTED,
                 "the next token needs causal attention: in node %3 a token sees later ones");
    volta_model_release(sees_all);
}

static void test_null_handles(void** state) {
    (void)state;
    volta_context_release(NULL);
    volta_tensor_release(NULL);
    volta_graph_release(NULL);
    volta_tokenizer_release(NULL);
    volta_model_release(NULL);
    volta_session_release(NULL);
    volta_trainer_release(NULL);
    volta_generator_release(NULL);
    char hash[33];
    assert_fails(volta_model_hash(NULL, hash), VOLTA_INVALID_ARGUMENT, "model is NULL");
    assert_fails(volta_session_run(NULL, NULL, 0, NULL, 0), VOLTA_INVALID_ARGUMENT, "session is NULL");
    assert_fails(volta_trainer_step(NULL, NULL, 0, NULL, NULL), VOLTA_INVALID_ARGUMENT, "trainer is NULL");
    assert_int_equal(volta_tensor_rank(NULL), -1);
    assert_int_equal(volta_model_parameter_count(NULL), 0);
    assert_string_equal(volta_status_name(VOLTA_NOT_FINITE), "VOLTA_NOT_FINITE");
    assert_string_equal(volta_status_name(77), "VOLTA_UNKNOWN");
    assert_string_equal(volta_status_name(-1), "VOLTA_UNKNOWN");
    volta_status behind = VOLTA_OK;
    while (strcmp(volta_status_name(behind), "VOLTA_UNKNOWN") != 0)
        assert_int_equal(strncmp(volta_status_name(behind++), "VOLTA_", 6), 0);
    for (volta_status status = behind; status < behind + 4; ++status)
        assert_string_equal(volta_status_name(status), "VOLTA_UNKNOWN");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_context_options),
        cmocka_unit_test(test_larger_structs),
        cmocka_unit_test(test_graph_calls),
        cmocka_unit_test(test_model_files),
        cmocka_unit_test(test_gpt_options),
        cmocka_unit_test(test_llama_options),
        cmocka_unit_test(test_session_tensors),
        cmocka_unit_test(test_trainer_options),
        cmocka_unit_test(test_parameter_elements),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_operator_without_gradient),
        cmocka_unit_test(test_generator_calls),
        cmocka_unit_test(test_generator_needs_causal_attention),
        cmocka_unit_test(test_null_handles),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
