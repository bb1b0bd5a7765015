/* Rows that hold documents side by side: training learns of each what it learns of it alone in a row. */
#include <math.h>

#include "tests/api/api_test.h"

enum { kRows = 2, kDocuments = 5, kPlaces = kDocuments * kContext };
static const char* const kPath = "test_packed_documents.volta";
static const int kLengths[kDocuments] = {9, 5, 18, 20, 7}; /* the first three fill a row */

/* Tokens, where the documents of each begin and what comes next, -1 where nothing does. */
struct rows {
    int32_t tokens[kPlaces], starts[kPlaces], targets[kPlaces];
};

static void put(struct rows* rows, int at, int document) {
    int32_t tokens[kDocuments * kContext];
    const int start = at % kContext;
    fill_tokens(tokens, kPlaces);
    for (int i = 0; i < kLengths[document]; ++i) {
        const int32_t* const token = tokens + document * kContext + i;
        rows->tokens[at + i] = token[0];
        rows->targets[at + i] = i + 1 < kLengths[document] ? token[1] : -1;
        rows->starts[at + i] = start;
    }
}

static void clear(struct rows* rows) {
    memset(rows, 0, sizeof *rows);
    for (int i = 0; i < kPlaces; ++i) rows->targets[i] = -1;
}

/* What stands behind the last document of a row is one of its own, of which nothing is asked. */
static void pack(struct rows* rows) {
    int at = 0;
    clear(rows);
    for (int d = 0; d < kDocuments; ++d) {
        if (at % kContext + kLengths[d] > kContext) at = (at / kContext + 1) * kContext;
        put(rows, at, d);
        at += kLengths[d];
    }
    for (int end = at; at < kRows * kContext; ++at) rows->starts[at] = end % kContext;
}

static void apart(struct rows* rows) {
    clear(rows);
    for (int d = 0; d < kDocuments; ++d) put(rows, d * kContext, d);
}

static volta_trainer* trainer_of(volta_model* model, const int64_t* shape, int32_t packed) {
    volta_trainer_options options = small_trainer_options(shape);
    volta_trainer* trainer;
    options.packed_documents = packed;
    assert_ok(volta_trainer_create(model, &options, &trainer));
    return trainer;
}

static volta_status try_step(volta_context* context, volta_trainer* trainer, int64_t count, struct rows* rows,
                             size_t inputs, volta_step_report* report) {
    const int64_t shape[] = {count, kContext};
    volta_tensor* tensors[3];
    int32_t* const places[] = {rows->tokens, rows->starts, rows->targets};
    for (int i = 0; i < 3; ++i)
        assert_ok(volta_tensor_wrap(context, VOLTA_I32, shape, 2, places[i], &tensors[i]));
    const volta_tensor* given[] = {tensors[0], tensors[1]};
    const volta_status status = volta_trainer_step(trainer, given, inputs, tensors[2], report);
    for (int i = 0; i < 3; ++i) volta_tensor_release(tensors[i]);
    return status;
}

typedef volta_model* (*make_model)(volta_context* context);
static volta_model* learned_positions(volta_context* context) {
    volta_model* model;
    assert_ok(small_gpt(context, 0, &model));
    return model;
}
static volta_model* rotary_positions(volta_context* context) {
    volta_model* model;
    assert_ok(small_llama(context, 1, &model));
    return model;
}
static volta_model* adapters(volta_context* context) {
    volta_lora_options options = VOLTA_LORA_OPTIONS_INIT;
    volta_model *base = rotary_positions(context), *model;
    options.rank = 4, options.alpha = 8, options.targets = "q+v+down", options.seed = 5;
    assert_ok(volta_model_add_lora(base, &options, &model));
    volta_model_release(base);
    return model;
}
static const make_model kModels[] = {learned_positions, rotary_positions, adapters};
enum { kModelCount = sizeof kModels / sizeof *kModels, kSteps = 6 };

static void assert_close(const char* what, int model, int step, double a, double b, double tolerance) {
    if (fabs(a - b) <= tolerance * fabs(b)) return;
    print_error("model %d, step %d: the %s is %.9g, and %.9g of documents apart\n", model, step, what, a, b);
    assert_true(0);
}

static void test_as_documents_apart(void** state) {
    (void)state;
    const int64_t packed_shape[] = {kRows, kContext}, apart_shape[] = {kDocuments, kContext};
    static struct rows packed, alone;
    volta_context* context;
    pack(&packed);
    apart(&alone);
    assert_ok(context_on(NULL, 2, 0, 0, &context));
    for (int m = 0; m < kModelCount; ++m) {
        volta_model* const model = kModels[m](context);
        volta_trainer *const a = trainer_of(model, packed_shape, 1),
                             *const b = trainer_of(model, apart_shape, 0),
                             *const c = trainer_of(model, packed_shape, 0);
        volta_step_report of_packed = VOLTA_STEP_REPORT_INIT, of_alone = VOLTA_STEP_REPORT_INIT,
                          of_crossing = VOLTA_STEP_REPORT_INIT;
        for (int step = 1; step <= kSteps; ++step) {
            assert_ok(try_step(context, a, kRows, &packed, 2, &of_packed));
            assert_ok(try_step(context, b, kDocuments, &alone, 1, &of_alone));
            assert_close("loss", m, step, (double)of_packed.loss, (double)of_alone.loss, 2e-6);
            assert_close("gradient's norm", m, step, (double)of_packed.gradient_norm,
                         (double)of_alone.gradient_norm, 2e-5);
        }
        /* What would be learnt if documents saw each other is something else. */
        for (int step = 1; step <= kSteps; ++step)
            assert_ok(try_step(context, c, kRows, &packed, 1, &of_crossing));
        assert_true(fabs((double)of_crossing.loss - (double)of_alone.loss) > 1e-4);
        volta_trainer_release(c);
        volta_trainer_release(b);
        volta_trainer_release(a);
        volta_model_release(model);
    }
    volta_context_release(context);
}

/* Rows of a step may come in micro-batches. */
static void test_micro_batches(void** state) {
    (void)state;
    const int64_t whole[] = {kRows, kContext}, one[] = {1, kContext};
    static struct rows packed;
    volta_context* context;
    pack(&packed);
    assert_ok(context_on(NULL, 1, 0, 0, &context));
    volta_model* const model = learned_positions(context);
    volta_trainer_options options = small_trainer_options(one);
    volta_trainer *const a = trainer_of(model, whole, 1), *b;
    options.packed_documents = 1, options.micro_batches = kRows;
    assert_ok(volta_trainer_create(model, &options, &b));
    for (int step = 1; step <= kSteps; ++step) {
        volta_step_report in_one = VOLTA_STEP_REPORT_INIT, cut = VOLTA_STEP_REPORT_INIT;
        assert_ok(try_step(context, a, kRows, &packed, 2, &in_one));
        assert_ok(try_step(context, b, kRows, &packed, 2, &cut));
        assert_close("loss", 0, step, (double)cut.loss, (double)in_one.loss, 2e-6);
    }
    volta_trainer_release(b);
    volta_trainer_release(a);
    volta_model_release(model);
    volta_context_release(context);
}

/* The file is that of the model, and a checkpoint goes on bit for bit. */
static void test_saved_and_gone_on_with(void** state) {
    (void)state;
    const int64_t shape[] = {kRows, kContext};
    static struct rows packed;
    char whole[33], resumed[33];
    volta_context* context;
    pack(&packed);
    assert_ok(context_on(NULL, 2, 0, 0, &context));
    for (int m = 0; m < 2; ++m) {
        volta_model *const model = kModels[m](context), *opened;
        volta_trainer* trainer = trainer_of(model, shape, 1);
        volta_trainer_options options = VOLTA_TRAINER_OPTIONS_INIT;
        for (int step = 0; step < kSteps; ++step) {
            if (step == kSteps / 2) assert_ok(volta_trainer_save(trainer, kPath));
            assert_ok(try_step(context, trainer, kRows, &packed, 2, NULL));
        }
        assert_ok(volta_trainer_hash(trainer, whole));
        volta_trainer_release(trainer);

        assert_ok(volta_model_open(context, kPath, NULL, &opened));
        assert_int_equal(volta_model_input_count(opened), 1);
        assert_int_equal(volta_model_parameter_count(opened), volta_model_parameter_count(model));
        volta_generator* generator;
        int32_t token;
        assert_ok(volta_generator_create(opened, NULL, &generator));
        assert_ok(volta_generator_start(generator, packed.tokens, 4));
        assert_ok(volta_generator_next(generator, &token));
        volta_generator_release(generator);

        assert_ok(volta_trainer_resume(opened, NULL, &trainer));
        assert_ok(volta_trainer_get_options(trainer, &options));
        assert_int_equal(options.packed_documents, 1);
        for (int step = kSteps / 2; step < kSteps; ++step)
            assert_ok(try_step(context, trainer, kRows, &packed, 2, NULL));
        assert_ok(volta_trainer_hash(trainer, resumed));
        assert_string_equal(whole, resumed);
        volta_trainer_release(trainer);

        options = small_trainer_options(shape);
        assert_fails(volta_trainer_resume(opened, &options, &trainer), VOLTA_INVALID_ARGUMENT,
                     "packed_documents is 0, the checkpoint was trained with 1");
        volta_model_release(opened);
        volta_model_release(model);
    }
    remove(kPath);
    volta_context_release(context);
}

/* A head on a look-up of tokens and one of their positions. `beside`: with attention to documents of its own,
 * which reads no tokens. */
static volta_model* look_up(volta_context* context, const int64_t* shape, int beside) {
    const int64_t table_shape[] = {kVocabulary, 16}, places_shape[] = {kContext, 16}, qkv_shape[] = {1, 3, 6},
                  starts_shape[] = {1, 3};
    int32_t starts[] = {0, 0, 2};
    const volta_attribute limit = {"limit", kContext, NULL, 0};
    const volta_attribute own[] = {
        {"heads", 1, NULL, 0}, {"packed", 1, NULL, 0}, {"causal", 1, NULL, 0}, {"documents", 1, NULL, 0}};
    volta_graph* graph;
    volta_model* model;
    volta_tensor* where;
    volta_value tokens, table, places, positions, x[2], attended[2], y;
    assert_ok(volta_graph_create(context, &graph));
    assert_ok(volta_graph_input(graph, "tokens", VOLTA_I32, shape, 2, &tokens));
    assert_ok(volta_graph_parameter(graph, "table", table_shape, 2, NULL, &table));
    assert_ok(volta_graph_parameter(graph, "places", places_shape, 2, NULL, &places));
    assert_ok(volta_graph_apply(graph, "position_ids", &tokens, 1, &limit, 1, &positions, 1));
    assert_ok(volta_graph_binary(graph, "gather", table, tokens, &x[0]));
    assert_ok(volta_graph_binary(graph, "gather", places, positions, &x[1]));
    assert_ok(volta_graph_binary(graph, "add", x[0], x[1], &y));
    assert_ok(volta_graph_linear(graph, "head", y, kVocabulary, &y));
    assert_ok(volta_graph_output(graph, "logits", y));
    if (beside) {
        assert_ok(volta_tensor_wrap(context, VOLTA_I32, starts_shape, 2, starts, &where));
        assert_ok(volta_graph_parameter(graph, "qkv", qkv_shape, 3, NULL, &attended[0]));
        assert_ok(volta_graph_constant(graph, where, &attended[1]));
        assert_ok(volta_graph_apply(graph, "attention", attended, 2, own, 4, &y, 1));
        assert_ok(volta_graph_output(graph, "beside", y));
        volta_tensor_release(where);
    }
    assert_ok(volta_model_create(graph, 1, &model));
    volta_graph_release(graph);
    return model;
}

static void test_models_whose_rows_cannot_be_kept_apart(void** state) {
    (void)state;
    static const char kHas[] = "packed documents: node %";
    const int64_t fixed[] = {kRows, kContext}, open[] = {-1, -1};
    volta_context* context;
    volta_trainer* trainer;
    assert_ok(context_on(NULL, 1, 0, 0, &context));
    volta_trainer_options options = small_trainer_options(fixed);
    options.packed_documents = 1;
    volta_model* model = look_up(context, fixed, 0);
    assert_fails(
        volta_trainer_create(model, &options, &trainer), VOLTA_UNSUPPORTED,
        "packed documents cannot be kept apart in this model: its input has the fixed shape [2, 32]");
    volta_model_release(model);
    model = look_up(context, open, 1);
    assert_int_equal(volta_trainer_create(model, &options, &trainer), VOLTA_UNSUPPORTED);
    assert_memory_equal(volta_last_error(), kHas, sizeof kHas - 1);
    assert_non_null(strstr(volta_last_error(), " (attention) has documents already"));
    volta_model_release(model);
    model = look_up(context, open, 0);
    assert_ok(volta_trainer_create(model, &options, &trainer));
    volta_trainer_release(trainer);
    volta_model_release(model);
    volta_context_release(context);
}

static void test_models_and_options_that_do_not_fit(void** state) {
    (void)state;
    const int64_t shape[] = {kRows, kContext};
    volta_context* context;
    volta_model* bert;
    volta_trainer* trainer;
    volta_bert_options small = {0};
    assert_ok(context_on(NULL, 1, 0, 0, &context));
    volta_model* const model = learned_positions(context);
    volta_trainer_options options = small_trainer_options(shape);
    options.packed_documents = 2;
    assert_fails(volta_trainer_create(model, &options, &trainer), VOLTA_INVALID_ARGUMENT,
                 "packed_documents is 2, it must be in 0 .. 1");
    options.packed_documents = 1;
    options.loss = VOLTA_LOSS_MSE;
    assert_fails(
        volta_trainer_create(model, &options, &trainer), VOLTA_INVALID_ARGUMENT,
        "packed_documents needs the cross-entropy loss of output 0, it is the mean square loss of output 0");
    options.loss = VOLTA_LOSS_CROSS_ENTROPY;
    small.struct_size = sizeof small;
    small.vocabulary = kVocabulary, small.layers = 1, small.dim = 16, small.heads = 2,
    small.context = kContext;
    assert_ok(volta_model_create_bert(context, &small, 1, &bert));
    assert_fails(volta_trainer_create(bert, &options, &trainer), VOLTA_UNSUPPORTED,
                 "the next token needs causal attention: in node %19 a token sees later ones");
    volta_model_release(bert);
    volta_model_release(model);
    volta_context_release(context);
}

static void test_starts_that_are_none(void** state) {
    (void)state;
    const int64_t shape[] = {kRows, kContext};
    static struct rows packed;
    static int32_t tokens[400];
    volta_context* context;
    const struct {
        int place;
        int32_t start;
        const char* sentence;
    } wrong[] = {
        {0, 1, "document starts: row 0 has 1 at place 0, where a document begins or that of 0 goes on"},
        {0, -1, "document starts: row 0 has -1 at place 0, where a document begins or that of 0 goes on"},
        {12, 8, "document starts: row 0 has 8 at place 12, where a document begins or that of 9 goes on"},
        {12, 13, "document starts: row 0 has 13 at place 12, where a document begins or that of 9 goes on"},
        {kContext + 3, 0x7fffffff,
         "document starts: row 1 has 2147483647 at place 3, where a document begins or that of 0 goes on"},
    };
    assert_ok(context_on(NULL, 1, 0, 0, &context));
    volta_model* const model = learned_positions(context);
    volta_trainer* const trainer = trainer_of(model, shape, 1);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        pack(&packed);
        packed.starts[wrong[i].place] = wrong[i].start;
        assert_fails(try_step(context, trainer, kRows, &packed, 2, NULL), VOLTA_INVALID_ARGUMENT,
                     wrong[i].sentence);
    }
    assert_fails(try_step(context, trainer, kRows, &packed, 1, NULL), VOLTA_INVALID_ARGUMENT,
                 "1 inputs are given, tokens and where their documents begin are 2");
    fill_tokens(tokens, 400);
    assert_fails(volta_trainer_set_tokens(trainer, tokens, 400), VOLTA_INVALID_ARGUMENT,
                 "a token stream has no documents, and the trainer packs them");
    assert_int_equal(volta_trainer_current_step(trainer), 0);
    pack(&packed);
    assert_ok(try_step(context, trainer, kRows, &packed, 2, NULL));
    volta_trainer_release(trainer);
    volta_model_release(model);
    volta_context_release(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_documents_apart),
        cmocka_unit_test(test_micro_batches),
        cmocka_unit_test(test_saved_and_gone_on_with),
        cmocka_unit_test(test_models_whose_rows_cannot_be_kept_apart),
        cmocka_unit_test(test_models_and_options_that_do_not_fit),
        cmocka_unit_test(test_starts_that_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
