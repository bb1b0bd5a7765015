/* BERT through the public header: it learns masked tokens and classes, has one result on every machine, and a
 * sequence has the same bits alone, in a batch and behind padding. */
#include <math.h>

#include "tests/api/api_test.h"
#include "tests/support/sampled.h"

enum { kMask = kVocabulary, kIds, kBatch = 4, kClasses = 3, kWidth = 64 };

struct shape_of_bert {
    volta_bert_head head;
    int32_t inputs; /* 1, or 3: with segments and a mask */
    double dropout;
};

static volta_status small_bert(volta_context* context, struct shape_of_bert wanted, volta_model** out) {
    volta_bert_options bert = {0};
    bert.struct_size = sizeof bert;
    bert.vocabulary = kIds;
    bert.layers = 2;
    bert.dim = kWidth;
    bert.heads = 4;
    bert.context = kContext;
    bert.head = wanted.head;
    bert.classes = wanted.head == VOLTA_BERT_CLASSES ? kClasses : 0;
    bert.segment_input = bert.mask_input = wanted.inputs == 3;
    bert.dropout = wanted.dropout;
    return volta_model_create_bert(context, &bert, 7, out);
}

/* Tensors [rows, kContext] of i32 over the host's memory, one per input. */
struct batch {
    int32_t tokens[kBatch * kContext], segments[kBatch * kContext], mask[kBatch * kContext];
    int32_t targets[kBatch * kContext];
    volta_tensor *inputs[3], *wrapped_targets;
};

static volta_tensor* wrapped(volta_context* context, int64_t rows, int64_t columns, int32_t* data) {
    const int64_t shape[] = {rows, columns};
    volta_tensor* tensor;
    assert_ok(volta_tensor_wrap(context, VOLTA_I32, shape, columns > 0 ? 2 : 1, data, &tensor));
    return tensor;
}

static void wrap(volta_context* context, int64_t target_columns, struct batch* b) {
    b->inputs[0] = wrapped(context, kBatch, kContext, b->tokens);
    b->inputs[1] = wrapped(context, kBatch, kContext, b->segments);
    b->inputs[2] = wrapped(context, kBatch, kContext, b->mask);
    b->wrapped_targets = wrapped(context, kBatch, target_columns, b->targets);
}

static void unwrap(struct batch* b) {
    for (int i = 0; i < 3; ++i) volta_tensor_release(b->inputs[i]);
    volta_tensor_release(b->wrapped_targets);
}

static uint32_t next_random(uint32_t* state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Lines of a text, of which every sixth token is masked and asked for; the end of each row is padding of
 * another length, the second half another segment. A line is known by what is left of it. */
static void fill_masked(struct batch* b, int step) {
    static const char* const kLines[] = {
        "the sea is wide and the sky is so", "a small boat came in from the rai",
        "nobody had seen the light go out ", "we counted nine gulls on the wall",
        "bread and salt were on the table ", "then the old clock struck at five"};
    uint32_t state = 77u + (uint32_t)step;
    for (int row = 0; row < kBatch; ++row) {
        const char* line = kLines[next_random(&state) % 6];
        for (int t = 0; t < kContext; ++t) {
            const int at = row * kContext + t, there = t < kContext - 3 * row;
            const int hidden = there && next_random(&state) % 6 == 0;
            const int32_t token = line[t] == ' ' ? 26 : line[t] - 'a';
            b->tokens[at] = hidden ? kMask : token;
            b->targets[at] = hidden ? token : -1;
            b->segments[at] = t >= kContext / 2;
            b->mask[at] = there;
        }
    }
    if (b->tokens[0] != kMask) b->targets[0] = b->tokens[0]; /* never a batch without any */
}

/* A sequence's class is that of the token it has most: here of a run of equal tokens somewhere in it. */
static void fill_classes(struct batch* b, int step) {
    uint32_t state = 99u + (uint32_t)step;
    for (int row = 0; row < kBatch; ++row) {
        const int32_t class_of_row = (int32_t)(next_random(&state) % kClasses);
        const int start = (int)(next_random(&state) % (kContext - 6));
        for (int t = 0; t < kContext; ++t) {
            const int at = row * kContext + t;
            b->tokens[at] =
                t >= start && t < start + 6 ? class_of_row : 5 + (int32_t)(next_random(&state) % 20);
            b->segments[at] = 0;
            b->mask[at] = 1;
        }
        b->targets[row] = class_of_row;
    }
}

static volta_trainer* make_trainer(volta_model* model, struct shape_of_bert wanted) {
    const int64_t shapes[] = {kBatch, kContext, kBatch, kContext, kBatch, kContext};
    volta_trainer_options options = small_trainer_options(shapes);
    volta_trainer* trainer;
    options.input_extent_count = (size_t)(2 * wanted.inputs);
    options.steps = 400;
    assert_ok(volta_trainer_create(model, &options, &trainer));
    return trainer;
}

/* Trains from step `first` on; returns the mean loss of the last ten steps. */
static double train(volta_context* context, volta_trainer* trainer, struct shape_of_bert wanted, int first,
                    int steps) {
    static struct batch b;
    const int classifies = wanted.head == VOLTA_BERT_CLASSES;
    double sum = 0;
    wrap(context, classifies ? 0 : kContext, &b);
    for (int step = first; step < first + steps; ++step) {
        volta_step_report report = {0};
        report.struct_size = sizeof report;
        if (classifies)
            fill_classes(&b, step);
        else
            fill_masked(&b, step);
        assert_ok(volta_trainer_step(trainer, (const volta_tensor* const*)b.inputs, (size_t)wanted.inputs,
                                     b.wrapped_targets, &report));
        if (step >= first + steps - 10) sum += (double)report.loss;
    }
    unwrap(&b);
    return sum / 10;
}

static double loss_after(struct shape_of_bert wanted, int steps) {
    volta_context* context;
    volta_model* model;
    assert_ok(context_on(NULL, 2, 0, 0, &context));
    assert_ok(small_bert(context, wanted, &model));
    volta_trainer* trainer = make_trainer(model, wanted);
    const double start = train(context, trainer, wanted, 0, 10);
    const double end = train(context, trainer, wanted, 10, steps);
    print_message("loss %.3f -> %.3f\n", start, end);
    volta_trainer_release(trainer);
    volta_model_release(model);
    volta_context_release(context);
    assert_true(start > end);
    return end;
}

/* Who knows the letters' frequencies alone has about 2.7. */
static void test_masked_tokens_are_learned(void** state) {
    (void)state;
    assert_true(loss_after((struct shape_of_bert){VOLTA_BERT_MASKED, 1, 0}, 230) < 1.0);
    assert_true(loss_after((struct shape_of_bert){VOLTA_BERT_MASKED, 3, 0}, 230) < 1.0);
}

static void test_classes_are_learned(void** state) {
    (void)state;
    assert_true(loss_after((struct shape_of_bert){VOLTA_BERT_CLASSES, 1, 0}, 190) < 0.3); /* ln 3 = 1.10 */
}

static void hash_after(struct shape_of_bert wanted, uint32_t threads, volta_isa isa, int stop_at,
                       char* hash) {
    static const char* const kPath = "test_bert_model.volta";
    volta_context* context;
    volta_model* model;
    assert_ok(context_on(NULL, threads, isa, 0, &context));
    assert_ok(small_bert(context, wanted, &model));
    volta_trainer* trainer = make_trainer(model, wanted);
    volta_model_release(model);
    if (stop_at > 0) {
        train(context, trainer, wanted, 0, stop_at);
        assert_ok(volta_trainer_save(trainer, kPath));
        volta_trainer_release(trainer);
        assert_ok(volta_model_open(context, kPath, NULL, &model));
        assert_ok(volta_trainer_resume(model, NULL, &trainer));
        volta_model_release(model);
        remove(kPath);
    }
    train(context, trainer, wanted, stop_at, 6 - stop_at);
    assert_ok(volta_trainer_hash(trainer, hash));
    volta_trainer_release(trainer);
    volta_context_release(context);
}

static void test_one_result(void** state) {
    (void)state;
    const struct shape_of_bert shapes[] = {
        {VOLTA_BERT_MASKED, 1, 0.1}, {VOLTA_BERT_MASKED, 3, 0.1}, {VOLTA_BERT_CLASSES, 3, 0}};
    const struct {
        uint32_t threads;
        volta_isa isa;
        int stop_at;
    } ways[] = {
        {3, VOLTA_ISA_AUTO, 0}, {1, VOLTA_ISA_AVX2, 0}, {2, VOLTA_ISA_SCALAR, 0}, {2, VOLTA_ISA_AUTO, 3}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
        char expected[33], hash[33];
        hash_after(shapes[i], 1, VOLTA_ISA_AUTO, 0, expected);
        for (size_t way = 0; way < sizeof ways / sizeof *ways; ++way) {
            /* of a sample each shape has two ways, the next one the others */
            if (sample_stride() > 1 && way % 2 != i % 2) continue;
            hash_after(shapes[i], ways[way].threads, ways[way].isa, ways[way].stop_at, hash);
            assert_string_equal(hash, expected);
        }
    }
}

/* The output of sequences [rows, time] of the batch, whose rows lie kContext apart. */
static void run(volta_context* context, volta_model* model, struct shape_of_bert wanted,
                const struct batch* b, int first_row, int64_t rows, int64_t time, float* output) {
    static int32_t packed[3][kBatch * kContext];
    const int32_t* const sources[] = {b->tokens, b->segments, b->mask};
    int64_t shapes[6], shape[3] = {rows, time, kWidth};
    volta_tensor *inputs[3], *result;
    volta_session* session;
    volta_session_options options = {0};
    const int by_token = wanted.head == VOLTA_BERT_HIDDEN;
    for (int i = 0; i < wanted.inputs; ++i) {
        for (int64_t row = 0; row < rows; ++row)
            memcpy(packed[i] + row * time, sources[i] + (first_row + row) * kContext,
                   (size_t)time * sizeof(int32_t));
        shapes[2 * i] = rows;
        shapes[2 * i + 1] = time;
        inputs[i] = wrapped(context, rows, time, packed[i]);
    }
    if (!by_token) shape[1] = kWidth;
    options.struct_size = sizeof options;
    options.input_shapes = shapes;
    options.input_extent_count = (size_t)(2 * wanted.inputs);
    assert_ok(volta_tensor_wrap(context, VOLTA_F32, shape, by_token ? 3 : 2, output, &result));
    assert_ok(volta_session_create(model, &options, &session));
    assert_ok(
        volta_session_run(session, (const volta_tensor* const*)inputs, (size_t)wanted.inputs, &result, 1));
    volta_session_release(session);
    volta_tensor_release(result);
    for (int i = 0; i < wanted.inputs; ++i) volta_tensor_release(inputs[i]);
}

static void test_a_sequence_has_its_bits_alone_and_padded(void** state) {
    (void)state;
    static float all[kBatch * kContext * kWidth], alone[kContext * kWidth], plain[kContext * kWidth];
    const volta_bert_head heads[] = {VOLTA_BERT_HIDDEN, VOLTA_BERT_POOLED};
    for (int i = 0; i < 2; ++i) {
        const struct shape_of_bert one = {heads[i], 1, 0}, three = {heads[i], 3, 0};
        const size_t row_floats = heads[i] == VOLTA_BERT_HIDDEN ? kContext * kWidth : kWidth;
        static struct batch b;
        volta_context* context;
        volta_model *padded, *unpadded;
        assert_ok(context_on(NULL, 2, 0, 0, &context));
        assert_ok(small_bert(context, three, &padded)); /* the same seed: the same parameters */
        assert_ok(small_bert(context, one, &unpadded));
        fill_masked(&b, 1);
        memset(b.segments, 0, sizeof b.segments);
        run(context, padded, three, &b, 0, kBatch, kContext, all);
        for (int row = 0; row < kBatch; ++row) {
            const int64_t time = kContext - 3 * row; /* what fill_masked left of it */
            const size_t bytes = (heads[i] == VOLTA_BERT_HIDDEN ? (size_t)time : 1) * kWidth * sizeof(float);
            run(context, padded, three, &b, row, 1, kContext, alone);
            assert_memory_equal(alone, all + (size_t)row * row_floats, row_floats * sizeof(float));
            run(context, unpadded, one, &b, row, 1, time, plain);
            assert_memory_equal(plain, alone, bytes);
        }
        volta_model_release(padded);
        volta_model_release(unpadded);
        volta_context_release(context);
    }
}

/* What a token sees: everything that the mask lets through, on both sides, and its segment. */
static void test_tokens_see_both_sides_but_no_padding(void** state) {
    (void)state;
    static float before[kContext * kWidth], after[kContext * kWidth];
    const struct shape_of_bert three = {VOLTA_BERT_HIDDEN, 3, 0};
    static struct batch b;
    volta_context* context;
    volta_model* model;
    assert_ok(context_on(NULL, 1, 0, 0, &context));
    assert_ok(small_bert(context, three, &model));
    fill_masked(&b, 2);
    const int row = 2, last = kContext - 3 * row - 1;
    run(context, model, three, &b, row, 1, kContext, before);
    b.tokens[row * kContext + last + 1] = (b.tokens[row * kContext + last + 1] + 1) % kVocabulary;
    run(context, model, three, &b, row, 1, kContext, after);
    assert_memory_equal(before, after, (size_t)(last + 1) * kWidth * sizeof(float));
    b.tokens[row * kContext + last] = (b.tokens[row * kContext + last] + 1) % kVocabulary;
    run(context, model, three, &b, row, 1, kContext, after);
    assert_memory_not_equal(before, after, kWidth * sizeof(float));
    memcpy(before, after, sizeof before);
    b.segments[row * kContext + last] ^= 1;
    run(context, model, three, &b, row, 1, kContext, after);
    assert_memory_not_equal(before, after, kWidth * sizeof(float));
    volta_model_release(model);
    volta_context_release(context);
}

/* A sequence that is all padding: numbers, whatever they are. */
static void test_padding_alone_gives_numbers(void** state) {
    (void)state;
    static float output[kContext * kWidth];
    const struct shape_of_bert three = {VOLTA_BERT_HIDDEN, 3, 0};
    static struct batch b;
    volta_context* context;
    volta_model* model;
    assert_ok(context_on(NULL, 1, 0, 0, &context));
    assert_ok(small_bert(context, three, &model));
    fill_masked(&b, 3);
    memset(b.mask, 0, sizeof b.mask);
    run(context, model, three, &b, 0, 1, kContext, output);
    for (int i = 0; i < kContext * kWidth; ++i) assert_true(isfinite(output[i]));
    volta_model_release(model);
    volta_context_release(context);
}

static void test_wrong_options_are_named(void** state) {
    (void)state;
    volta_context* context;
    volta_model* model;
    volta_bert_options bert = {0};
    assert_ok(context_on(NULL, 1, 0, 0, &context));
    bert.struct_size = sizeof bert;
    assert_fails(volta_model_create_bert(context, &bert, 1, &model), VOLTA_INVALID_ARGUMENT,
                 "vocabulary is 0; it must be from 1 to 2147483647");
    bert.vocabulary = 8;
    bert.head = 9;
    assert_fails(volta_model_create_bert(context, &bert, 1, &model), VOLTA_INVALID_ARGUMENT,
                 "head is 9; it must be from 0 to 4");
    bert.head = VOLTA_BERT_POOLED;
    bert.classes = 2;
    assert_fails(volta_model_create_bert(context, &bert, 1, &model), VOLTA_INVALID_ARGUMENT,
                 "classes is 2; it must be from 0 to 0");
    assert_null(model);
    assert_int_equal(volta_model_create_bert(NULL, &bert, 1, &model), VOLTA_INVALID_ARGUMENT);
    assert_int_equal(volta_model_create_bert(context, NULL, 1, &model), VOLTA_INVALID_ARGUMENT);
    assert_int_equal(volta_model_create_bert(context, &bert, 1, NULL), VOLTA_INVALID_ARGUMENT);
    volta_context_release(context);
}

/* Out under Hugging Face's names, back with another head and a mask: the same hidden states. */
static void test_weights_go_out_and_come_back(void** state) {
    (void)state;
    static const char *const kWeights = "test_bert_model.safetensors", *const kConfig =
                                                                           "test_bert_model.json";
    static float expected[kBatch * kContext * kWidth], actual[kBatch * kContext * kWidth];
    const struct shape_of_bert one = {VOLTA_BERT_HIDDEN, 1, 0}, three = {VOLTA_BERT_HIDDEN, 3, 0};
    static struct batch b;
    volta_context* context;
    volta_model *model, *hidden, *imported;
    volta_export_options export = {0};
    volta_import_options import = {0};
    volta_bert_options bert = {0};
    assert_ok(context_on(NULL, 2, 0, 0, &context));
    assert_ok(small_bert(context, (struct shape_of_bert){VOLTA_BERT_MASKED, 1, 0}, &model));
    assert_ok(small_bert(context, one, &hidden)); /* the same seed: the same parameters */
    export.struct_size = sizeof export;
    export.names = VOLTA_NAMES_HUGGING_FACE;
    export.config_path = kConfig;
    assert_ok(volta_model_export_safetensors_with(model, &export, kWeights));
    import.struct_size = sizeof import;
    import.config_path = kConfig;
    import.bert = &bert;
    bert.struct_size = sizeof bert;
    bert.head = VOLTA_BERT_HIDDEN;
    bert.segment_input = bert.mask_input = 1;
    assert_ok(volta_model_import(context, kWeights, &import, &imported));
    fill_masked(&b, 1);
    for (int i = 0; i < kBatch * kContext; ++i) b.segments[i] = 0, b.mask[i] = 1;
    run(context, hidden, one, &b, 0, kBatch, kContext, expected);
    run(context, imported, three, &b, 0, kBatch, kContext, actual);
    assert_memory_equal(expected, actual, sizeof expected);
    volta_model_release(imported);

    bert.layers = 2;
    assert_fails(volta_model_import(context, kWeights, &import, &imported), VOLTA_INVALID_ARGUMENT,
                 "bert has a size of 2: sizes are those of the file");
    export.names = 7;
    assert_fails(volta_model_export_safetensors_with(model, &export, kWeights), VOLTA_INVALID_ARGUMENT,
                 "names is 7, it must be 0 or 1");
    export.names = VOLTA_NAMES_OWN;
    assert_fails(volta_model_export_safetensors_with(model, &export, kWeights), VOLTA_INVALID_ARGUMENT,
                 "config_path is given, but an export with Volta's names has no config");
    volta_model_release(hidden);
    volta_model_release(model);
    volta_context_release(context);
    remove(kWeights);
    remove(kConfig);
}

/* Whoever sees both sides would copy the next token. */
static void test_a_stream_of_tokens_is_refused(void** state) {
    (void)state;
    const struct shape_of_bert one = {VOLTA_BERT_MASKED, 1, 0};
    volta_context* context;
    volta_model* model;
    int32_t tokens[200];
    fill_tokens(tokens, 200);
    assert_ok(context_on(NULL, 1, 0, 0, &context));
    assert_ok(small_bert(context, one, &model));
    volta_trainer* trainer = make_trainer(model, one);
    assert_int_equal(volta_trainer_set_tokens(trainer, tokens, 200), VOLTA_UNSUPPORTED);
    assert_non_null(strstr(volta_last_error(), "the next token needs causal attention"));
    volta_trainer_release(trainer);
    volta_model_release(model);
    volta_context_release(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_masked_tokens_are_learned),
        cmocka_unit_test(test_classes_are_learned),
        cmocka_unit_test(test_one_result),
        cmocka_unit_test(test_a_sequence_has_its_bits_alone_and_padded),
        cmocka_unit_test(test_tokens_see_both_sides_but_no_padding),
        cmocka_unit_test(test_padding_alone_gives_numbers),
        cmocka_unit_test(test_weights_go_out_and_come_back),
        cmocka_unit_test(test_a_stream_of_tokens_is_refused),
        cmocka_unit_test(test_wrong_options_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
