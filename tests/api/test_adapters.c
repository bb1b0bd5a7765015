/* LoRA: adapters beside the weights of a base, trained, kept in a file of their own, merged. */
#include <math.h>

#include "tests/api/api_test.h"

enum { kBatch = 2, kTime = 16, kTokens = 400 };
static const int64_t kShape[] = {kBatch, kTime};
static const char *const kPath = "test_adapters.volta", *const kAll = "q+k+v+o+gate+up+down";

static volta_model* add(const volta_model* base, const char* targets) {
    volta_lora_options options = VOLTA_LORA_OPTIONS_INIT;
    volta_model* model;
    options.rank = 4, options.alpha = 6, options.targets = targets, options.seed = 5;
    assert_ok(volta_model_add_lora(base, &options, &model));
    return model;
}

static int is_adapter(const char* name) { return strstr(name, ".lora.") != NULL; }

/* B of a new adapter is zero, which hides A: numbers for both. */
static void fill_adapters(volta_model* model) {
    uint32_t state = 77;
    for (size_t i = 0; i < volta_model_parameter_count(model); ++i) {
        volta_tensor_info info;
        const float* data;
        size_t elements;
        assert_ok(volta_model_parameter_info(model, i, &info));
        if (!is_adapter(info.name)) continue;
        assert_ok(volta_model_parameter(model, info.name, &data, &elements));
        float* const values = malloc(elements * sizeof *values);
        for (size_t j = 0; j < elements; ++j) {
            state = state * 1664525u + 1013904223u;
            values[j] = (float)(int32_t)state * 0x1p-33f;
        }
        assert_ok(volta_model_set_parameter(model, info.name, values, elements));
        free(values);
    }
}

static void run(volta_context* context, volta_model* model, float* logits) {
    const int64_t out[] = {kBatch, kTime, kVocabulary};
    int32_t tokens[kBatch * kTime];
    volta_session_options options = VOLTA_SESSION_OPTIONS_INIT;
    volta_session* session;
    volta_tensor *x, *y;
    options.input_shapes = kShape, options.input_extent_count = 2;
    assert_ok(volta_session_create(model, &options, &session));
    fill_tokens(tokens, kBatch * kTime);
    assert_ok(volta_tensor_wrap(context, VOLTA_I32, kShape, 2, tokens, &x));
    assert_ok(volta_tensor_wrap(context, VOLTA_F32, out, 3, logits, &y));
    const volta_tensor* inputs[] = {x};
    volta_tensor* outputs[] = {y};
    assert_ok(volta_session_run(session, inputs, 1, outputs, 1));
    volta_tensor_release(y);
    volta_tensor_release(x);
    volta_session_release(session);
}

static volta_trainer* start(volta_model* model) {
    static int32_t tokens[kTokens];
    volta_trainer_options options = small_trainer_options(kShape);
    volta_trainer* trainer;
    options.clip_norm = 0, options.weight_decay = 0;
    assert_ok(volta_trainer_create(model, &options, &trainer));
    fill_tokens(tokens, kTokens);
    assert_ok(volta_trainer_set_tokens(trainer, tokens, kTokens));
    return trainer;
}

static double loss_of(volta_model* model) {
    volta_step_report report = VOLTA_STEP_REPORT_INIT;
    volta_trainer* const trainer = start(model);
    assert_ok(volta_trainer_step_tokens(trainer, &report));
    volta_trainer_release(trainer);
    return (double)report.loss;
}

static float largest_difference(const float* a, const float* b, size_t count) {
    float largest = 0;
    for (size_t i = 0; i < count; ++i) largest = fmaxf(largest, fabsf(a[i] - b[i]));
    return largest;
}

/* Made of every base: of f32, and of all types that weights are stored as. */
static const volta_dtype kBases[] = {VOLTA_F32,  VOLTA_BF16, VOLTA_F16,
                                     VOLTA_INT8, VOLTA_INT4, VOLTA_F32_PANELS};
enum { kBaseCount = sizeof kBases / sizeof *kBases };

static volta_model* make_base(volta_context* context, volta_dtype dtype) {
    volta_model *model, *stored;
    assert_ok(small_llama(context, 0, &model));
    if (dtype == VOLTA_F32) return model;
    assert_ok(volta_model_quantize(model, dtype, &stored));
    volta_model_release(model);
    return stored;
}

static void test_new_adapters_change_nothing(void** state) {
    (void)state;
    static float before[kBatch * kTime * kVocabulary], after[kBatch * kTime * kVocabulary];
    volta_context* context;
    assert_ok(context_on(NULL, 2, 0, 0, &context));
    for (int i = 0; i < kBaseCount; ++i) {
        volta_model* const base = make_base(context, kBases[i]);
        volta_model* const model = add(base, kAll);
        run(context, base, before);
        run(context, model, after);
        assert_memory_equal(before, after, sizeof before);
        fill_adapters(model);
        run(context, model, after);
        assert_true(largest_difference(before, after, kBatch * kTime * kVocabulary) > 1e-3f);
        volta_model_release(model);
        volta_model_release(base);
    }
    volta_context_release(context);
}

/* Every adapter's gradient against the loss a little to both sides of one of its elements. */
static void test_gradients(void** state) {
    (void)state;
    volta_context* context;
    assert_ok(context_on(NULL, 2, 0, 0, &context));
    for (int b = 0; b < kBaseCount; ++b) {
        volta_model* const base = make_base(context, kBases[b]);
        volta_model* const model = add(base, kAll);
        fill_adapters(model);
        volta_trainer* const trainer = start(model);
        assert_ok(volta_trainer_step_tokens(trainer, NULL));
        for (size_t i = 0; i < volta_model_parameter_count(model); ++i) {
            volta_tensor_info info;
            const float *data, *gradient;
            size_t elements, largest = 0;
            assert_ok(volta_model_parameter_info(model, i, &info));
            if (!is_adapter(info.name)) continue;
            assert_ok(volta_trainer_gradient(trainer, info.name, &gradient, &elements));
            for (size_t j = 0; j < elements; ++j)
                if (fabsf(gradient[j]) > fabsf(gradient[largest])) largest = j;
            assert_ok(volta_model_parameter(model, info.name, &data, &elements));
            float* const values = malloc(elements * sizeof *values);
            memcpy(values, data, elements * sizeof *values);
            const float step = 0.02f, own = values[largest];
            values[largest] = own + step;
            assert_ok(volta_model_set_parameter(model, info.name, values, elements));
            const double above = loss_of(model);
            values[largest] = own - step;
            assert_ok(volta_model_set_parameter(model, info.name, values, elements));
            const double below = loss_of(model), wanted = (above - below) / (2 * (double)step);
            values[largest] = own;
            assert_ok(volta_model_set_parameter(model, info.name, values, elements));
            free(values);
            const double found = (double)gradient[largest];
            if (!(fabs(found - wanted) <= 0.03 * fabs(wanted) + 2e-5))
                print_error("base %d, %s: %g, by differences %g\n", kBases[b], info.name, found, wanted);
            assert_true(fabs(found - wanted) <= 0.03 * fabs(wanted) + 2e-5);
        }
        volta_trainer_release(trainer);
        volta_model_release(model);
        volta_model_release(base);
    }
    volta_context_release(context);
}

/* The base is neither copied nor trained, and may be released first. */
static void test_base_stays(void** state) {
    (void)state;
    struct counting_heap heap = {0};
    volta_context* context;
    volta_bill bill = VOLTA_BILL_INIT, whole = VOLTA_BILL_INIT;
    const float *lent, *own;
    size_t elements, adapters = 0;
    char before[33], after[33];
    assert_ok(context_on(&heap, 2, 0, 0, &context));
    volta_model* const base = make_base(context, VOLTA_F32);
    volta_trainer* const full = start(base);
    assert_ok(volta_trainer_get_bill(full, &whole));
    volta_trainer_release(full);
    assert_ok(volta_model_hash(base, before));
    const size_t bytes = heap.tensor_bytes;
    volta_model* const model = add(base, "q+v");
    for (size_t i = 0; i < volta_model_parameter_count(model); ++i) {
        volta_tensor_info info;
        assert_ok(volta_model_parameter_info(model, i, &info));
        if (is_adapter(info.name)) adapters += (size_t)(info.shape[0] * info.shape[1]) * sizeof(float);
    }
    assert_int_equal(heap.tensor_bytes - bytes, adapters);
    assert_ok(volta_model_parameter(base, "block.0.qkv.weight", &lent, &elements));
    assert_ok(volta_model_parameter(model, "block.0.qkv.weight", &own, &elements));
    assert_ptr_equal(lent, own);
    assert_fails(volta_model_set_parameter(base, "block.0.qkv.weight", lent, elements), VOLTA_INVALID_STATE,
                 "parameter block.0.qkv.weight cannot be set: there are adapters on the model");
    assert_fails(
        volta_model_set_parameter(model, "block.0.qkv.weight", lent, elements), VOLTA_INVALID_STATE,
        "parameter block.0.qkv.weight is of the base that the adapters are on, which keeps its values");
    volta_trainer* const trainer = start(model);
    assert_ok(volta_trainer_get_bill(trainer, &bill));
    assert_int_equal(bill.parameters, adapters);
    assert_int_equal(bill.gradients, adapters);
    assert_int_equal(bill.optimizer_state, 2 * adapters);
    assert_true(bill.activations + bill.workspace <= whole.activations + whole.workspace + (1 << 20));
    for (int step = 0; step < 3; ++step) assert_ok(volta_trainer_step_tokens(trainer, NULL));
    assert_fails(volta_trainer_gradient(trainer, "block.0.qkv.weight", &own, &elements), VOLTA_INVALID_STATE,
                 "parameter block.0.qkv.weight is frozen: it has no gradient");
    assert_ok(volta_model_hash(base, after));
    assert_string_equal(before, after);
    assert_ok(volta_trainer_update_model(trainer));
    assert_ok(volta_model_hash(model, before));
    volta_model_release(base);
    volta_model_release(model);
    assert_ok(volta_trainer_step_tokens(trainer, NULL));
    assert_ok(volta_trainer_save(trainer, kPath));
    volta_trainer_release(trainer);
    volta_context_release(context);
    assert_int_equal(heap.live_bytes, 0);
    remove(kPath);
}

/* A file of adapters goes on where it was, on every base, and is refused by another one. */
static void test_file_and_resume(void** state) {
    (void)state;
    volta_context* context;
    assert_ok(context_on(NULL, 2, 0, 0, &context));
    for (int i = 0; i < kBaseCount; ++i) {
        static int32_t tokens[kTokens];
        char at_once[33], resumed[33];
        volta_model *opened, *none;
        volta_trainer *again, *lost;
        volta_model* const base = make_base(context, kBases[i]);
        volta_model* const model = add(base, "q+o+down");
        volta_trainer* const trainer = start(model);
        for (int step = 0; step < 2; ++step) assert_ok(volta_trainer_step_tokens(trainer, NULL));
        assert_ok(volta_trainer_save(trainer, kPath));
        for (int step = 0; step < 3; ++step) assert_ok(volta_trainer_step_tokens(trainer, NULL));
        assert_ok(volta_trainer_hash(trainer, at_once));

        assert_ok(volta_model_open_adapter(base, kPath, NULL, &opened));
        assert_ok(volta_trainer_resume(opened, NULL, &again));
        fill_tokens(tokens, kTokens);
        assert_ok(volta_trainer_set_tokens(again, tokens, kTokens));
        for (int step = 0; step < 3; ++step) assert_ok(volta_trainer_step_tokens(again, NULL));
        assert_ok(volta_trainer_hash(again, resumed));
        assert_string_equal(at_once, resumed);

        assert_ok(volta_model_open(context, kPath, NULL, &none));
        assert_fails(
            volta_trainer_resume(none, NULL, &lost), VOLTA_INVALID_STATE,
            "the checkpoint is of adapters, which go on beside their base: volta_model_open_adapter first");
        volta_model_release(none);
        volta_model* const other = make_base(context, kBases[(i + 1) % kBaseCount]);
        assert_int_equal(volta_model_open_adapter(other, kPath, NULL, &none), VOLTA_INVALID_ARGUMENT);
        assert_non_null(
            strstr(volta_last_error(), "the adapters are of another base, whose parameters have the"));
        assert_int_equal(volta_model_open_adapter(base, "nowhere.volta", NULL, &none), VOLTA_IO_ERROR);
        assert_null(none);
        volta_model_release(other);
        volta_trainer_release(again);
        volta_model_release(opened);
        volta_trainer_release(trainer);
        volta_model_release(model);
        volta_model_release(base);
    }
    volta_context_release(context);
    remove(kPath);
}

/* Saving what was opened gives the same bytes. */
static void test_file_keeps_its_bytes(void** state) {
    (void)state;
    static char first[1 << 16], second[1 << 16];
    volta_context* context;
    volta_model *opened, *alone;
    const char* value;
    assert_ok(context_on(NULL, 1, 0, 0, &context));
    volta_model* const base = make_base(context, VOLTA_INT8);
    volta_model* const model = add(base, "v+gate");
    fill_adapters(model);
    assert_ok(volta_model_set_metadata(model, "note", "of a test"));
    assert_ok(volta_model_save(model, kPath));
    FILE* file = fopen(kPath, "rb");
    const size_t bytes = fread(first, 1, sizeof first, file);
    fclose(file);
    assert_true(bytes > 1000 && bytes < sizeof first);
    assert_ok(volta_model_open_adapter(base, kPath, NULL, &opened));
    assert_ok(volta_model_get_metadata(opened, "note", &value));
    assert_string_equal(value, "of a test");
    assert_ok(volta_model_save(opened, kPath));
    file = fopen(kPath, "rb");
    assert_int_equal(fread(second, 1, sizeof second, file), bytes);
    fclose(file);
    assert_memory_equal(first, second, bytes);
    assert_ok(volta_model_open(context, kPath, NULL, &alone)); /* a model of its own: the products A B */
    assert_ok(volta_model_get_metadata(alone, "volta.adapter.targets", &value));
    assert_string_equal(value, "v+gate");
    assert_int_equal(volta_model_output_count(alone), 4);
    volta_model_release(alone);
    volta_model_release(opened);
    volta_model_release(model);
    volta_model_release(base);
    volta_context_release(context);
    remove(kPath);
}

/* Tokens one by one compute what they do together. */
static void test_generator(void** state) {
    (void)state;
    static float logits[kBatch * kTime * kVocabulary];
    volta_context* context;
    assert_ok(context_on(NULL, 2, 0, 0, &context));
    for (int i = 0; i < kBaseCount; ++i) {
        volta_model* const base = make_base(context, kBases[i]);
        volta_model* const model = add(base, "q+v+down");
        volta_generator_options options = VOLTA_GENERATOR_OPTIONS_INIT;
        volta_generator* generator;
        int32_t tokens[kBatch * kTime], drawn;
        fill_adapters(model);
        run(context, model, logits);
        fill_tokens(tokens, kBatch * kTime);
        options.context = kTime + 1;
        assert_ok(volta_generator_create(model, &options, &generator));
        assert_ok(volta_generator_start(generator, tokens, kTime));
        const float* found;
        size_t count;
        assert_ok(volta_generator_next(generator, &drawn));
        assert_ok(volta_generator_logits(generator, &found, &count));
        assert_int_equal(count, kVocabulary);
        assert_memory_equal(found, logits + (kTime - 1) * kVocabulary, kVocabulary * sizeof(float));
        volta_generator_release(generator);
        volta_model_release(model);
        volta_model_release(base);
    }
    volta_context_release(context);
}

static void test_merged(void** state) {
    (void)state;
    static float apart[kBatch * kTime * kVocabulary], together[kBatch * kTime * kVocabulary];
    static const double most[kBaseCount] = {1e-7, 1e-3, 2e-4, 2e-3, 3e-2, 1e-7};
    volta_context* context;
    assert_ok(context_on(NULL, 2, 0, 0, &context));
    for (int i = 0; i < kBaseCount; ++i) {
        volta_model *merged, *none;
        double difference = -1;
        volta_model* const base = make_base(context, kBases[i]);
        volta_model* const model = add(base, kAll);
        fill_adapters(model);
        run(context, model, apart);
        assert_ok(volta_model_merge_adapter(model, &difference, &merged));
        assert_true(difference > 0 && difference < most[i]);
        run(context, merged, together);
        assert_true(largest_difference(apart, together, kBatch * kTime * kVocabulary) <
                    200 * (float)difference + 1e-5f);
        assert_int_equal(volta_model_parameter_count(merged), volta_model_parameter_count(base));
        assert_fails(volta_model_merge_adapter(merged, NULL, &none), VOLTA_INVALID_ARGUMENT,
                     "the model has no adapters to merge");
        volta_model_release(base);
        volta_model_release(model);
        volta_model_release(merged);
    }
    volta_context_release(context);
}

static void test_refused(void** state) {
    (void)state;
    static const struct {
        int64_t rank;
        double alpha;
        const char *targets, *text;
    } rows[] = {
        {-1, 0, NULL, "rank is -1; it must be from 1 to 4096"},
        {4097, 0, NULL, "rank is 4097; it must be from 1 to 4096"},
        {INT64_MAX, 0, NULL, "rank is 9223372036854775807; it must be from 1 to 4096"},
        {0, -2, NULL, "alpha is -2; it must be above 0 and at most 1e+06"},
        {0, NAN, NULL, "alpha is nan; it must be above 0 and at most 1e+06"},
        {0, INFINITY, NULL, "alpha is inf; it must be above 0 and at most 1e+06"},
        {0, 0, "",
         "targets is empty: it names parts, q, k, v, o, gate, up, down, fc, fc_proj, or weights, joined by "
         "+"},
        {0, 0, "q+x",
         "'x' is no target: those are parts, q, k, v, o, gate, up, down, fc, fc_proj, and names of weights"},
        {0, 0, "q+fc", "the model has no part 'fc': none of its weights is a 'fc.weight'"},
        {0, 0, "q+q", "targets name the same outputs of 'block.0.qkv.weight' twice"},
        {0, 0, "v+block.1.qkv.weight", "targets name the same outputs of 'block.1.qkv.weight' twice"},
        {0, 0, "token_embedding",
         "'token_embedding' cannot be a target: it is no matrix that products alone read as their second "
         "operand"},
        {0, 0, "norm_final.weight",
         "'norm_final.weight' cannot be a target: it is no matrix that products alone read as their second "
         "operand"},
    };
    volta_context* context;
    volta_model* none;
    assert_ok(context_on(NULL, 1, 0, 0, &context));
    volta_model* const base = make_base(context, VOLTA_F32);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        volta_lora_options options = VOLTA_LORA_OPTIONS_INIT;
        options.rank = rows[i].rank, options.alpha = rows[i].alpha, options.targets = rows[i].targets;
        assert_fails(volta_model_add_lora(base, &options, &none), VOLTA_INVALID_ARGUMENT, rows[i].text);
        assert_null(none);
    }
    volta_model* const model = add(base, "q+block.0.down.weight");
    assert_fails(volta_model_add_lora(model, NULL, &none), VOLTA_INVALID_ARGUMENT,
                 "the base has adapters itself: merge them into it first");
    assert_fails(volta_model_quantize(model, VOLTA_INT8, &none), VOLTA_UNSUPPORTED,
                 "the model has adapters, of which this would make nothing: volta_model_merge_adapter first");
    assert_ok(volta_model_save(base, kPath));
    assert_fails(volta_model_open_adapter(base, kPath, NULL, &none), VOLTA_CORRUPT_MODEL,
                 "the file holds no adapters: it lacks the metadata 'volta.adapter.rank'");
    remove(kPath);
    volta_model_release(model);
    volta_model_release(base);
    volta_context_release(context);
}

/* Parts are a table over names of weights: a GPT has others, and a BERT, and a perceptron its own names. */
static void test_other_architectures(void** state) {
    (void)state;
    volta_context* context;
    volta_graph* graph;
    volta_value h;
    const int64_t rows[] = {-1, 40};
    volta_bert_options bert = VOLTA_BERT_OPTIONS_INIT;
    volta_model *gpt, *encoder, *perceptron;
    assert_ok(context_on(NULL, 1, 0, 0, &context));
    assert_ok(small_gpt(context, 0.1, &gpt));
    bert.vocabulary = 30, bert.layers = 2, bert.dim = 32, bert.heads = 4, bert.context = 16;
    assert_ok(volta_model_create_bert(context, &bert, 1, &encoder));
    assert_ok(volta_graph_create(context, &graph));
    assert_ok(volta_graph_input(graph, "x", VOLTA_F32, rows, 2, &h));
    assert_ok(volta_graph_linear(graph, "hidden", h, 48, &h));
    assert_ok(volta_graph_unary(graph, "relu", h, &h));
    assert_ok(volta_graph_linear(graph, "head", h, 3, &h));
    assert_ok(volta_graph_output(graph, "y", h));
    assert_ok(volta_model_create(graph, 1, &perceptron));
    const struct {
        volta_model* base;
        const char* targets;
        size_t adapters;
    } rows_of[] = {{gpt, "q+k+v+o+fc+fc_proj", 12},
                   {encoder, "q+v+fc+transform.weight", 7},
                   {perceptron, "hidden.weight+head.weight", 2}};
    for (size_t i = 0; i < 3; ++i) {
        volta_model* const model = add(rows_of[i].base, rows_of[i].targets);
        assert_int_equal(volta_model_parameter_count(model) - volta_model_parameter_count(rows_of[i].base),
                         2 * rows_of[i].adapters);
        assert_ok(volta_model_save(model, kPath));
        volta_model_release(model);
    }
    volta_model* const model = add(gpt, "q+v+fc");
    volta_trainer* const trainer = start(model);
    double first = loss_of(model);
    volta_step_report report = VOLTA_STEP_REPORT_INIT;
    for (int step = 0; step < 30; ++step) assert_ok(volta_trainer_step_tokens(trainer, &report));
    assert_true((double)report.loss < first - 0.02);
    volta_trainer_release(trainer);
    volta_model_release(model);
    volta_lora_options options = VOLTA_LORA_OPTIONS_INIT;
    volta_model* none;
    options.targets = "q";
    assert_fails(volta_model_add_lora(perceptron, &options, &none), VOLTA_INVALID_ARGUMENT,
                 "the model has no part 'q': none of its weights is a 'qkv.weight'");
    volta_model_release(perceptron);
    volta_graph_release(graph);
    volta_model_release(encoder);
    volta_model_release(gpt);
    volta_context_release(context);
    remove(kPath);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new_adapters_change_nothing),
        cmocka_unit_test(test_gradients),
        cmocka_unit_test(test_base_stays),
        cmocka_unit_test(test_file_and_resume),
        cmocka_unit_test(test_file_keeps_its_bytes),
        cmocka_unit_test(test_generator),
        cmocka_unit_test(test_merged),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_other_architectures),
    };
    return cmocka_run_group_tests_name("adapters", tests, NULL, NULL);
}
