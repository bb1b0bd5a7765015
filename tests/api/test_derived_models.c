/* Training on from a model that is there, and models that are made from another: frozen parameters, a new
 * head, folded batch norms, states of tokens. */
#include <math.h>

#include "tests/api/api_test.h"

enum { kBatch = 4, kSide = 8, kClasses = 5, kPixels = 3 * kSide * kSide, kMost = 2 };
static const int64_t kShape[] = {kBatch, 3, kSide, kSide}, kTargets[] = {kBatch};
static const char* const kPath = "test_derived_models.volta";

static volta_model* make_resnet(volta_context* context) {
    volta_resnet_options options = VOLTA_RESNET_OPTIONS_INIT;
    volta_model* model;
    options.depth = 20, options.classes = kClasses, options.rows = options.columns = kSide;
    assert_ok(volta_model_create_resnet(context, &options, 3, &model));
    return model;
}

static void fill_pictures(float* pictures, int32_t* targets, int step) {
    uint32_t state = 11u + (uint32_t)step;
    for (int i = 0; i < kBatch * kPixels; ++i) {
        state = state * 1664525u + 1013904223u;
        pictures[i] = (float)(int32_t)state * 0x1p-30f + 0.5f;
    }
    for (int n = 0; n < kBatch; ++n) targets[n] = (n + step) % 3;
}

static float train_step(volta_context* context, volta_trainer* trainer, int step) {
    static float pictures[kBatch * kPixels];
    int32_t targets[kBatch];
    volta_tensor *x, *y;
    volta_step_report report = VOLTA_STEP_REPORT_INIT;
    fill_pictures(pictures, targets, step);
    assert_ok(volta_tensor_wrap(context, VOLTA_F32, kShape, 4, pictures, &x));
    assert_ok(volta_tensor_wrap(context, VOLTA_I32, kTargets, 1, targets, &y));
    const volta_tensor* inputs[] = {x};
    assert_ok(volta_trainer_step(trainer, inputs, 1, y, &report));
    volta_tensor_release(y);
    volta_tensor_release(x);
    return report.loss;
}

static volta_trainer_options resnet_training(void) {
    volta_trainer_options options = VOLTA_TRAINER_OPTIONS_INIT;
    options.input_shapes = kShape, options.input_extent_count = 4;
    options.optimizer = VOLTA_SGD, options.momentum = 0.9;
    options.learning_rate = 0.05, options.weight_decay = 1e-3, options.clip_norm = 1;
    return options;
}

/* The logits of one output [kBatch, classes] for the pictures of a step; the session's own shape of it. */
static void run_resnet(volta_context* context, volta_model* model, int step, int classes, float* logits) {
    static float pictures[kBatch * kPixels];
    int32_t targets[kBatch], rank;
    int64_t shape[VOLTA_MAX_RANK];
    volta_session_options options = VOLTA_SESSION_OPTIONS_INIT;
    volta_session* session;
    volta_tensor *x, *y;
    options.input_shapes = kShape, options.input_extent_count = 4;
    assert_ok(volta_session_create(model, &options, &session));
    assert_ok(volta_session_output_shape(session, 0, shape, &rank));
    assert_true(rank == 2 && shape[0] == kBatch && shape[1] == classes);
    assert_fails(volta_session_output_shape(session, 1, shape, &rank), VOLTA_INVALID_ARGUMENT,
                 "output 1 is asked for, the model has 1");
    assert_int_equal(rank, 0);
    fill_pictures(pictures, targets, step);
    assert_ok(volta_tensor_wrap(context, VOLTA_F32, kShape, 4, pictures, &x));
    assert_ok(volta_tensor_wrap(context, VOLTA_F32, shape, 2, logits, &y));
    const volta_tensor* inputs[] = {x};
    volta_tensor* outputs[] = {y};
    assert_ok(volta_session_run(session, inputs, 1, outputs, 1));
    volta_tensor_release(y);
    volta_tensor_release(x);
    volta_session_release(session);
}

static int is_frozen(const char* name) {
    return strncmp(name, "layer1.", 7) == 0 || strcmp(name, "bn1.bias") == 0;
}

/* Their bits stay, statistics of frozen norms too, all others move, and they cost no moments. */
static void test_frozen_parameters_keep_their_bits(void** state) {
    (void)state;
    static const char* const patterns[] = {"layer1.*", "bn1.bia?"};
    volta_context* context;
    volta_trainer *trainer, *free;
    volta_bill bill = VOLTA_BILL_INIT, whole = VOLTA_BILL_INIT;
    assert_ok(context_on(NULL, 2, 0, 0, &context));
    volta_model* const model = make_resnet(context);
    volta_trainer_options options = resnet_training();
    assert_ok(volta_trainer_create(model, &options, &free));
    options.frozen = patterns, options.frozen_count = 2;
    assert_ok(volta_trainer_create(model, &options, &trainer));
    assert_ok(volta_trainer_get_bill(free, &whole));
    assert_ok(volta_trainer_get_bill(trainer, &bill));
    for (int step = 0; step < 3; ++step) train_step(context, trainer, step);
    uint64_t frozen_bytes = 0;
    size_t frozen = 0, elements;
    for (size_t i = 0; i < volta_model_parameter_count(model); ++i) {
        volta_tensor_info info;
        const float *before, *now;
        assert_ok(volta_model_parameter_info(model, i, &info));
        assert_ok(volta_model_parameter(model, info.name, &before, &elements));
        assert_ok(volta_trainer_parameter(trainer, info.name, &now, &elements));
        const int same = memcmp(before, now, elements * sizeof *now) == 0;
        if (same != is_frozen(info.name)) print_error("%s: %s\n", info.name, same ? "stays" : "moves");
        assert_true(same == is_frozen(info.name));
        if (!same) continue;
        ++frozen;
        if (strstr(info.name, "running_") == NULL) frozen_bytes += elements * sizeof *now;
        assert_int_equal(volta_trainer_gradient(trainer, info.name, &now, &elements), VOLTA_INVALID_STATE);
    }
    assert_true(whole.optimizer_state - bill.optimizer_state >= frozen_bytes);
    assert_true(whole.gradients - bill.gradients >= frozen_bytes);
    assert_fails(volta_trainer_gradient(trainer, "bn1.bias", &(const float*){NULL}, &elements),
                 VOLTA_INVALID_STATE, "parameter bn1.bias is frozen: it has no gradient");
    volta_trainer_options used = VOLTA_TRAINER_OPTIONS_INIT;
    assert_ok(volta_trainer_get_options(trainer, &used));
    assert_int_equal(used.frozen_count, frozen);
    assert_string_equal(used.frozen[0], "bn1.bias");
    volta_trainer_release(free);
    volta_trainer_release(trainer);
    volta_model_release(model);
    volta_context_release(context);
}

/* With all but the head frozen, what is learned of is what inference gives. */
static void test_frozen_norms_use_their_statistics(void** state) {
    (void)state;
    static const char* const patterns[] = {"conv*", "bn*", "layer*"};
    static float logits[kBatch * kClasses], pictures[kBatch * kPixels];
    int32_t targets[kBatch];
    volta_context* context;
    volta_trainer* trainer;
    assert_ok(context_on(NULL, 2, 0, 0, &context));
    volta_model* const model = make_resnet(context);
    volta_trainer_options options = resnet_training();
    options.frozen = patterns, options.frozen_count = 3;
    assert_ok(volta_trainer_create(model, &options, &trainer));
    run_resnet(context, model, 0, kClasses, logits);
    fill_pictures(pictures, targets, 0);
    double loss = 0;
    for (int n = 0; n < kBatch; ++n) {
        double sum = 0;
        for (int c = 0; c < kClasses; ++c) sum += exp((double)logits[n * kClasses + c]);
        loss += (log(sum) - (double)logits[n * kClasses + targets[n]]) / kBatch;
    }
    const float first = train_step(context, trainer, 0);
    assert_true(fabs((double)first - loss) < 1e-5);
    for (int step = 0; step < 20; ++step) train_step(context, trainer, 0);
    assert_true(train_step(context, trainer, 0) < first - 0.1f);
    volta_trainer_release(trainer);
    volta_model_release(model);
    volta_context_release(context);
}

/* A checkpoint knows what is frozen: a run that is resumed ends as one that was not interrupted. */
static void test_a_resumed_run_freezes_the_same(void** state) {
    (void)state;
    static const char *const patterns[] = {"layer2.*", "conv1.weight"},
                             *const same[] = {"conv1.weight", "layer2.?.*"}, *const other[] = {"layer2.*"},
                             *const more[] = {"layer2.*", "conv1*", "fc.bias"};
    char whole[33], parts[33];
    for (int cut = 0; cut < 2; ++cut) {
        volta_context* context;
        volta_trainer* trainer;
        volta_model* opened = NULL;
        assert_ok(context_on(NULL, 1 + (uint32_t)cut, 0, 0, &context));
        volta_model* const model = make_resnet(context);
        volta_trainer_options options = resnet_training();
        options.frozen = patterns, options.frozen_count = 2;
        assert_ok(volta_trainer_create(model, &options, &trainer));
        for (int step = 0; step < 2; ++step) train_step(context, trainer, step);
        if (cut) {
            volta_trainer* resumed;
            assert_ok(volta_trainer_save(trainer, kPath));
            volta_trainer_release(trainer);
            assert_ok(volta_model_open(context, kPath, NULL, &opened));
            options.frozen = other, options.frozen_count = 1;
            assert_fails(volta_trainer_resume(opened, &options, &resumed), VOLTA_INVALID_ARGUMENT,
                         "parameter conv1.weight is not frozen, in the checkpoint it is");
            options.frozen = more, options.frozen_count = 3;
            assert_fails(volta_trainer_resume(opened, &options, &resumed), VOLTA_INVALID_ARGUMENT,
                         "parameter fc.bias is frozen, in the checkpoint it is not");
            options.frozen = same, options.frozen_count = 2;
            assert_ok(volta_trainer_resume(opened, &options, &resumed));
            volta_trainer_release(resumed);
            assert_ok(volta_trainer_resume(opened, NULL, &trainer));
        }
        for (int step = 2; step < 4; ++step) train_step(context, trainer, step);
        assert_ok(volta_trainer_hash(trainer, cut ? parts : whole));
        volta_trainer_release(trainer);
        /* A new run on the checkpoint's weights: step 0, nothing frozen. */
        if (opened != NULL) {
            const volta_trainer_options plain = resnet_training();
            volta_trainer_options used = VOLTA_TRAINER_OPTIONS_INIT;
            assert_ok(volta_trainer_create(opened, &plain, &trainer));
            assert_int_equal(volta_trainer_current_step(trainer), 0);
            assert_ok(volta_trainer_get_options(trainer, &used));
            assert_true(used.frozen == NULL && used.frozen_count == 0);
            volta_trainer_release(trainer);
        }
        volta_model_release(opened);
        volta_model_release(model);
        volta_context_release(context);
    }
    assert_string_equal(parts, whole);
    remove(kPath);
}

static void test_wrong_patterns_are_refused(void** state) {
    (void)state;
    static const char *const none[] = {"layer1.*", "layer9.*"}, *const half[] = {"*.running_mean"},
                             *const all[] = {"*"}, *const null[] = {NULL}, *const empty[] = {""};
    static const struct {
        const char* const* frozen;
        size_t count;
        const char* sentence;
    } rows[] = {
        {none, 2, "nothing is frozen by 'layer9.*': the model has no such parameter"},
        {empty, 1, "nothing is frozen by '': the model has no such parameter"},
        {half, 1,
         "the running mean 'bn1.running_mean' is frozen, the running variance of the same batch_norm is not: "
         "both "
         "are, or none"},
        {all, 1, "the loss depends on no parameter that is not frozen: there is nothing to train"},
        {null, 1, "frozen[0] is NULL"},
        {NULL, 1, "frozen is NULL and frozen_count is 1"},
        {all, 0, "frozen is given and frozen_count is 0"},
    };
    volta_context* context;
    volta_trainer* trainer;
    assert_ok(context_on(NULL, 1, 0, 0, &context));
    volta_model* const model = make_resnet(context);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        volta_trainer_options options = resnet_training();
        options.frozen = rows[i].frozen, options.frozen_count = rows[i].count;
        assert_fails(volta_trainer_create(model, &options, &trainer), VOLTA_INVALID_ARGUMENT,
                     rows[i].sentence);
    }
    volta_model_release(model);
    volta_context_release(context);
}

/* A language model's tables and products too; a name with a star in it means itself. */
static void test_language_models_freeze(void** state) {
    (void)state;
    static const char* const patterns[] = {"token_embedding", "block.0.*"};
    static int32_t tokens[600];
    const int64_t shape[] = {4, kContext};
    volta_context* context;
    assert_ok(context_on(NULL, 2, 0, 0, &context));
    fill_tokens(tokens, 600);
    for (int is_llama = 0; is_llama < 2; ++is_llama) {
        volta_model* model;
        volta_trainer* trainer;
        assert_ok(is_llama ? small_llama(context, 1, &model) : small_gpt(context, 0.1, &model));
        volta_trainer_options options = small_trainer_options(shape);
        options.frozen = patterns, options.frozen_count = 2;
        assert_ok(volta_trainer_create(model, &options, &trainer));
        assert_ok(volta_trainer_set_tokens(trainer, tokens, 600));
        for (int step = 0; step < 4; ++step) assert_ok(volta_trainer_step_tokens(trainer, NULL));
        for (size_t i = 0; i < volta_model_parameter_count(model); ++i) {
            volta_tensor_info info;
            const float *before, *now;
            size_t elements;
            assert_ok(volta_model_parameter_info(model, i, &info));
            assert_ok(volta_model_parameter(model, info.name, &before, &elements));
            assert_ok(volta_trainer_parameter(trainer, info.name, &now, &elements));
            const int frozen =
                strncmp(info.name, "block.0.", 8) == 0 || strcmp(info.name, "token_embedding") == 0;
            assert_true((memcmp(before, now, elements * sizeof *now) == 0) == frozen);
        }
        volta_trainer_release(trainer);
        volta_model_release(model);
    }
    volta_graph* graph;
    volta_value x, a, b, y;
    const int64_t in[] = {2, 3}, square[] = {3, 3};
    const volta_init normal = {VOLTA_INIT_NORMAL, 1, 0};
    static const char* const starred[] = {"a*"};
    volta_model* model;
    volta_trainer* trainer;
    volta_trainer_options options = VOLTA_TRAINER_OPTIONS_INIT, used = VOLTA_TRAINER_OPTIONS_INIT;
    assert_ok(volta_graph_create(context, &graph));
    assert_ok(volta_graph_input(graph, "x", VOLTA_F32, in, 2, &x));
    assert_ok(volta_graph_parameter(graph, "ab", square, 2, &normal, &a));
    assert_ok(volta_graph_parameter(graph, "a*", square, 2, &normal, &b));
    assert_ok(volta_graph_binary(graph, "matmul", x, a, &y));
    assert_ok(volta_graph_binary(graph, "matmul", y, b, &y));
    assert_ok(volta_graph_output(graph, "y", y));
    assert_ok(volta_model_create(graph, 1, &model));
    options.loss = VOLTA_LOSS_MSE, options.frozen = starred, options.frozen_count = 1;
    assert_ok(volta_trainer_create(model, &options, &trainer));
    assert_ok(volta_trainer_get_options(trainer, &used));
    assert_true(used.frozen_count == 1 && strcmp(used.frozen[0], "a*") == 0);
    volta_trainer_release(trainer);
    volta_model_release(model);
    volta_graph_release(graph);
    volta_context_release(context);
}

/* The new head is what a new model of so many classes has; everything else keeps its bits. */
static void test_a_new_head(void** state) {
    (void)state;
    static float logits[kBatch * 3];
    volta_context* context;
    volta_model *made, *expected, *stored, *gpt;
    volta_resnet_options options = VOLTA_RESNET_OPTIONS_INIT;
    options.depth = 20, options.classes = 3, options.rows = options.columns = kSide;
    assert_ok(context_on(NULL, 2, 0, 0, &context));
    volta_model* const model = make_resnet(context);
    assert_ok(volta_model_set_metadata(model, "title", "five"));
    assert_ok(volta_model_create_resnet(context, &options, 9, &expected));
    assert_ok(volta_model_replace_head(model, 3, 9, &made));
    for (size_t i = 0; i < volta_model_parameter_count(made); ++i) {
        volta_tensor_info info;
        const float *now, *from;
        size_t elements, count;
        assert_ok(volta_model_parameter_info(made, i, &info));
        assert_ok(volta_model_parameter(made, info.name, &now, &elements));
        assert_ok(volta_model_parameter(strncmp(info.name, "fc.", 3) == 0 ? expected : model, info.name,
                                        &from, &count));
        assert_int_equal(count, elements);
        assert_memory_equal(now, from, elements * sizeof *now);
    }
    const char* value;
    assert_ok(volta_model_get_metadata(made, "volta.resnet.classes", &value));
    assert_string_equal(value, "3");
    assert_ok(volta_model_get_metadata(made, "title", &value));
    assert_string_equal(value, "five");
    run_resnet(context, made, 0, 3, logits);
    assert_ok(volta_model_save(made, kPath));
    volta_model_release(made);
    assert_ok(volta_model_open(context, kPath, NULL, &made));
    volta_model_release(made);
    remove(kPath);
    assert_fails(volta_model_replace_head(model, 0, 9, &made), VOLTA_INVALID_ARGUMENT,
                 "classes is 0; it must be from 1 to 2147483647");
    assert_ok(small_gpt(context, 0, &gpt));
    assert_fails(
        volta_model_replace_head(gpt, 3, 9, &made), VOLTA_INVALID_ARGUMENT,
        "the last layer's weight 'token_embedding' is read elsewhere too: it has no head to replace");
    assert_ok(volta_model_quantize(gpt, VOLTA_INT8, &stored));
    assert_int_equal(volta_model_replace_head(stored, 3, 9, &made), VOLTA_UNSUPPORTED);
    assert_null(made);
    volta_model_release(stored);
    volta_model_release(gpt);
    volta_model_release(expected);
    volta_model_release(model);
    volta_context_release(context);
}

/* Trained a little, so that statistics are no longer 0 and 1: the same logits within rounding, without a
 * norm. */
static void test_batch_norms_fold(void** state) {
    (void)state;
    static float before[kBatch * kClasses], after[kBatch * kClasses];
    char hash[33], folded_hash[33];
    volta_context* context;
    volta_trainer* trainer;
    volta_model *folded, *none;
    size_t count;
    assert_ok(context_on(NULL, 2, 0, 0, &context));
    volta_model* const model = make_resnet(context);
    const volta_trainer_options options = resnet_training();
    assert_ok(volta_trainer_create(model, &options, &trainer));
    for (int step = 0; step < 5; ++step) train_step(context, trainer, step);
    assert_ok(volta_trainer_update_model(trainer));
    volta_trainer_release(trainer);
    assert_ok(volta_model_fold_batch_norm(model, &folded, &count));
    assert_int_equal(count, 19);
    run_resnet(context, model, 7, kClasses, before);
    run_resnet(context, folded, 7, kClasses, after);
    double largest = 0;
    for (int i = 0; i < kBatch * kClasses; ++i) largest = fmax(largest, fabs((double)before[i]));
    for (int i = 0; i < kBatch * kClasses; ++i)
        assert_true(fabs((double)before[i] - (double)after[i]) <= 1e-5 * largest);
    assert_ok(volta_model_hash(model, hash));
    assert_ok(volta_model_hash(folded, folded_hash));
    assert_string_not_equal(hash, folded_hash);
    assert_int_equal(volta_model_parameter_count(model) - volta_model_parameter_count(folded), 19 * 3);
    const float *weight, *bias, *scale, *w, *mean, *variance, *b;
    assert_ok(volta_model_parameter(folded, "conv1.bias", &bias, &count));
    assert_int_equal(count, 16);
    assert_ok(volta_model_parameter(folded, "conv1.weight", &weight, &count));
    assert_ok(volta_model_parameter(model, "conv1.weight", &w, &count));
    assert_ok(volta_model_parameter(model, "bn1.weight", &scale, &count));
    assert_ok(volta_model_parameter(model, "bn1.running_mean", &mean, &count));
    assert_ok(volta_model_parameter(model, "bn1.running_var", &variance, &count));
    assert_ok(volta_model_parameter(model, "bn1.bias", &b, &count));
    for (int c = 0; c < 16; ++c) { /* the formula of docs/numerics.md, 5, to the bit */
        const double factor = (double)scale[c] / sqrt((double)variance[c] + (double)1e-5f);
        assert_true(weight[c * 27 + 5] == (float)((double)w[c * 27 + 5] * factor));
        assert_true(bias[c] == (float)((0 - (double)mean[c]) * factor + (double)b[c]));
    }
    const char* value;
    assert_ok(volta_model_get_metadata(folded, "volta.architecture", &value));
    assert_null(value);
    assert_fails(
        volta_model_fold_batch_norm(folded, &none, &count), VOLTA_INVALID_ARGUMENT,
        "the model has no batch norm that follows a convolution with parameters of its own: there is nothing "
        "to fold");
    assert_true(none == NULL && count == 0);
    volta_model_release(folded);
    volta_model_release(model);
    volta_context_release(context);
}

/* Groups, a bias that is there, and the other direction: each channel by its own factor. */
static void test_all_kinds_of_convolutions_fold(void** state) {
    (void)state;
    enum { kRows = 5 };
    const int64_t in[] = {2, 4, kRows, kRows}, grouped[] = {6, 2, 3, 3}, back[] = {6, 4, 3, 3}, six = 6,
                  eight = 8;
    const volta_init normal = {VOLTA_INIT_NORMAL, 1, 0}, positive = {VOLTA_INIT_UNIFORM, 0.5, 2};
    const volta_attribute groups = {"groups", 2, NULL, 0};
    volta_context* context;
    volta_graph* graph;
    volta_model *model, *folded;
    volta_value x, y, inputs[5];
    size_t count;
    assert_ok(context_on(NULL, 2, 0, 0, &context));
    assert_ok(volta_graph_create(context, &graph));
    assert_ok(volta_graph_input(graph, "x", VOLTA_F32, in, 4, &x));
    inputs[0] = x;
    assert_ok(volta_graph_parameter(graph, "a.weight", grouped, 4, &normal, &inputs[1]));
    assert_ok(volta_graph_parameter(graph, "a.offset", &six, 1, &normal, &inputs[2]));
    assert_ok(volta_graph_apply(graph, "conv", inputs, 3, &groups, 1, &y, 1));
    for (int part = 0; part < 2; ++part) {
        const int64_t* const channels = part == 0 ? &six : &eight;
        char name[16];
        inputs[0] = y;
        for (int i = 1; i < 5; ++i) {
            snprintf(name, sizeof name, "n%d.%d", part, i);
            assert_ok(
                volta_graph_parameter(graph, name, channels, 1, i == 4 ? &positive : &normal, &inputs[i]));
        }
        assert_ok(volta_graph_apply(graph, "batch_norm", inputs, 5, NULL, 0, &y, 1));
        if (part == 1) break;
        inputs[0] = y;
        assert_ok(volta_graph_parameter(graph, "t.weight", back, 4, &normal, &inputs[1]));
        assert_ok(volta_graph_apply(graph, "conv_transpose", inputs, 2, &groups, 1, &y, 1));
    }
    assert_ok(volta_graph_output(graph, "y", y));
    assert_ok(volta_model_create(graph, 1, &model));
    assert_ok(volta_model_fold_batch_norm(model, &folded, &count));
    assert_int_equal(count, 2);
    float pictures[2 * 4 * kRows * kRows], results[2][2 * 8 * kRows * kRows];
    for (int i = 0; i < 2 * 4 * kRows * kRows; ++i) pictures[i] = (float)(i * 37 % 19) / 9 - 1;
    for (int i = 0; i < 2; ++i) {
        volta_session* session;
        volta_tensor *given, *taken;
        int64_t shape[VOLTA_MAX_RANK];
        int32_t rank;
        assert_ok(volta_session_create(i == 0 ? model : folded, NULL, &session));
        assert_ok(volta_session_output_shape(session, 0, shape, &rank));
        assert_ok(volta_tensor_wrap(context, VOLTA_F32, in, 4, pictures, &given));
        assert_ok(volta_tensor_wrap(context, VOLTA_F32, shape, rank, results[i], &taken));
        const volta_tensor* const given_all[] = {given};
        assert_ok(volta_session_run(session, given_all, 1, &taken, 1));
        volta_tensor_release(taken);
        volta_tensor_release(given);
        volta_session_release(session);
    }
    double largest = 0;
    for (int i = 0; i < 2 * 8 * kRows * kRows; ++i) largest = fmax(largest, fabs((double)results[0][i]));
    for (int i = 0; i < 2 * 8 * kRows * kRows; ++i)
        assert_true(fabs((double)results[0][i] - (double)results[1][i]) <= 1e-5 * largest);
    volta_model_release(folded);
    volta_model_release(model);
    volta_graph_release(graph);
    volta_context_release(context);
}

/* A BERT with all inputs keeps them; where nothing is padding its states have the bits of one without. */
static void states_with_a_mask(volta_context* context, volta_bert_options bert, int head,
                               const volta_model* from, const volta_tensor* ids, int32_t* zeros,
                               int32_t* ones, float* states) {
    const int64_t extents[] = {2, 6, 2, 6, 2, 6}, shape[] = {2, 6, 64};
    volta_model *model, *cut;
    volta_session_options options = VOLTA_SESSION_OPTIONS_INIT;
    volta_session* session;
    volta_tensor *segments, *mask, *y;
    bert.head = head, bert.classes = head == VOLTA_BERT_CLASSES ? 3 : 0;
    bert.segment_input = bert.mask_input = 1;
    assert_ok(volta_model_create_bert(context, &bert, 8, &model));
    for (size_t i = 0; i < volta_model_parameter_count(from); ++i) {
        volta_tensor_info info;
        const float* values;
        size_t elements;
        assert_ok(volta_model_parameter_info(from, i, &info));
        assert_ok(volta_model_parameter(from, info.name, &values, &elements));
        assert_ok(volta_model_set_parameter(model, info.name, values, elements));
    }
    assert_ok(volta_model_hidden_states(model, &cut));
    assert_int_equal(volta_model_input_count(cut), 3);
    options.input_shapes = extents, options.input_extent_count = 6;
    assert_ok(volta_session_create(cut, &options, &session));
    assert_ok(volta_tensor_wrap(context, VOLTA_I32, extents, 2, zeros, &segments));
    assert_ok(volta_tensor_wrap(context, VOLTA_I32, extents, 2, ones, &mask));
    assert_ok(volta_tensor_wrap(context, VOLTA_F32, shape, 3, states, &y));
    const volta_tensor* inputs[] = {ids, segments, mask};
    assert_ok(volta_session_run(session, inputs, 3, &y, 1));
    volta_tensor_release(y);
    volta_tensor_release(mask);
    volta_tensor_release(segments);
    volta_session_release(session);
    volta_model_release(cut);
    volta_model_release(model);
}

/* Of each architecture and head the same states: a BERT's as one that gives them itself has them. */
static void test_states_of_tokens(void** state) {
    (void)state;
    enum { kTime = 6, kDim = 64 };
    static int32_t tokens[2 * kTime];
    static float given[2 * kTime * kDim], taken[2 * kTime * kDim];
    const int64_t shape[] = {2, kTime}, states[] = {2, kTime, kDim};
    volta_context* context;
    volta_tensor *ids, *y;
    assert_ok(context_on(NULL, 2, 0, 0, &context));
    fill_tokens(tokens, 2 * kTime);
    assert_ok(volta_tensor_wrap(context, VOLTA_I32, shape, 2, tokens, &ids));
    const volta_tensor* inputs[] = {ids};
    static int32_t zeros[2 * kTime], ones[2 * kTime];
    for (int i = 0; i < 2 * kTime; ++i) ones[i] = 1;
    for (int kind = 0; kind < 6; ++kind) {
        volta_model *model, *cut;
        volta_bert_options bert = VOLTA_BERT_OPTIONS_INIT;
        bert.vocabulary = kVocabulary, bert.layers = 2, bert.dim = kDim, bert.heads = 4,
        bert.context = kContext;
        bert.head = kind < 4 ? kind : 0, bert.classes = kind == VOLTA_BERT_CLASSES ? 3 : 0,
        bert.dropout = 0.1;
        assert_ok(kind == 4   ? small_gpt(context, 0.1, &model)
                  : kind == 5 ? small_llama(context, 0, &model)
                              : volta_model_create_bert(context, &bert, 5, &model));
        assert_ok(volta_model_hidden_states(model, &cut));
        volta_tensor_info info;
        assert_ok(volta_model_output_info(cut, 0, &info));
        assert_true(strcmp(info.name, "hidden") == 0 && info.rank == 3 && info.shape[0] == -1 &&
                    info.shape[1] == -1 && info.shape[2] == kDim);
        volta_session_options options = VOLTA_SESSION_OPTIONS_INIT;
        volta_session* session;
        options.input_shapes = shape, options.input_extent_count = 2;
        assert_ok(volta_session_create(cut, &options, &session));
        assert_ok(volta_tensor_wrap(context, VOLTA_F32, states, 3, taken, &y));
        assert_ok(volta_session_run(session, inputs, 1, &y, 1));
        volta_tensor_release(y);
        volta_session_release(session);
        if (kind < 4) { /* the same parameters, in a BERT that ends with the states */
            volta_model* whole;
            bert.head = VOLTA_BERT_HIDDEN, bert.classes = 0;
            assert_ok(volta_model_create_bert(context, &bert, 8, &whole));
            assert_int_equal(volta_model_parameter_count(whole), volta_model_parameter_count(cut));
            for (size_t i = 0; i < volta_model_parameter_count(cut); ++i) {
                const float* values;
                size_t elements;
                assert_ok(volta_model_parameter_info(cut, i, &info));
                assert_ok(volta_model_parameter(cut, info.name, &values, &elements));
                assert_ok(volta_model_set_parameter(whole, info.name, values, elements));
            }
            assert_ok(volta_session_create(whole, &options, &session));
            assert_ok(volta_tensor_wrap(context, VOLTA_F32, states, 3, given, &y));
            assert_ok(volta_session_run(session, inputs, 1, &y, 1));
            assert_memory_equal(given, taken, sizeof given);
            volta_tensor_release(y);
            volta_session_release(session);
            volta_model_release(whole);
            states_with_a_mask(context, bert, kind, cut, inputs[0], zeros, ones, given);
            assert_memory_equal(given, taken, sizeof given);
        } else {
            for (int row = 0; row < 2 * kTime; ++row) { /* behind a norm with weight 1 and bias 0 */
                double square = 0;
                for (int i = 0; i < kDim; ++i)
                    square += (double)taken[row * kDim + i] * (double)taken[row * kDim + i];
                assert_true(fabs(square / kDim - 1) < 0.05);
            }
            const char* value;
            assert_ok(volta_model_get_metadata(cut, "volta.architecture", &value));
            assert_null(value);
        }
        volta_model_release(cut);
        volta_model_release(model);
    }
    volta_model *resnet = make_resnet(context), *none;
    assert_fails(volta_model_hidden_states(resnet, &none), VOLTA_UNSUPPORTED,
                 "the model is no GPT, Llama or BERT: it has no states of tokens");
    volta_model_release(resnet);
    volta_tensor_release(ids);
    volta_context_release(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frozen_parameters_keep_their_bits),
        cmocka_unit_test(test_frozen_norms_use_their_statistics),
        cmocka_unit_test(test_a_resumed_run_freezes_the_same),
        cmocka_unit_test(test_wrong_patterns_are_refused),
        cmocka_unit_test(test_language_models_freeze),
        cmocka_unit_test(test_a_new_head),
        cmocka_unit_test(test_batch_norms_fold),
        cmocka_unit_test(test_all_kinds_of_convolutions_fold),
        cmocka_unit_test(test_states_of_tokens),
    };
    return cmocka_run_group_tests_name("derived models", tests, NULL, NULL);
}
