/* Batch invariance over random models, shapes and courses: sequences that join, leave, fork, go back and get
 * more tokens, in batches and pieces of any size, on any threads and instruction set, with a cache of any
 * first size. Each token and its logits are those that the same tokens give alone, without a cache, from
 * scalar code or on one thread. And what a cache that grows promises beside that. */
#include "tests/api/api_test.h"

enum { kMostSequences = 5, kMostContext = 80, kRounds = 40, kTurns = 30 };

static uint32_t random_state;
static int below(int limit) { /* 0 .. limit - 1 */
    random_state = random_state * 1664525u + 1013904223u;
    return (int)((random_state >> 8) % (uint32_t)limit);
}

struct sizes {
    int is_llama, vocabulary, layers, heads, kv_heads, dim, context;
    volta_dtype weights; /* 0: f32 */
    uint64_t seed;
};

static struct sizes random_sizes(void) {
    static const volta_dtype types[] = {0,          0,          VOLTA_BF16,      VOLTA_F16,
                                        VOLTA_INT8, VOLTA_INT4, VOLTA_F32_PANELS};
    static const int ratios[] = {1, 2, 3};
    struct sizes sizes = {0};
    sizes.is_llama = below(2);
    sizes.vocabulary = 5 + below(56);
    sizes.layers = 1 + below(3);
    sizes.kv_heads = 1 + below(3);
    sizes.heads = sizes.kv_heads * (sizes.is_llama ? ratios[below(3)] : 1);
    sizes.dim = sizes.heads * 2 * (2 + below(10));
    sizes.context = below(4) == 0 ? 1 + below(8) : 8 + below(kMostContext - 7);
    sizes.weights = types[below(7)];
    sizes.seed = (uint64_t)below(1000);
    return sizes;
}

static void print_sizes(int round, const struct sizes* s) {
    print_error(
        "round %d: %s of vocabulary %d, %d layers, %d heads (%d of keys), width %d, context %d, weights %d\n",
        round, s->is_llama ? "Llama" : "GPT", s->vocabulary, s->layers, s->heads, s->kv_heads, s->dim,
        s->context, s->weights);
}

static volta_model* model_of(volta_context* context, const struct sizes* s) {
    volta_model *model, *stored;
    const float* data;
    size_t count;
    if (s->is_llama) {
        volta_llama_options llama = {0};
        llama.struct_size = sizeof llama;
        llama.vocabulary = s->vocabulary, llama.layers = s->layers, llama.dim = s->dim;
        llama.heads = s->heads, llama.kv_heads = s->kv_heads, llama.context = s->context;
        assert_ok(volta_model_create_llama(context, &llama, s->seed, &model));
    } else {
        volta_gpt_options gpt = {0};
        gpt.struct_size = sizeof gpt;
        gpt.vocabulary = s->vocabulary, gpt.layers = s->layers, gpt.dim = s->dim;
        gpt.heads = s->heads, gpt.context = s->context;
        assert_ok(volta_model_create_gpt(context, &gpt, s->seed, &model));
    }
    /* Initial weights give flat logits: with large embeddings the tokens differ. */
    assert_ok(volta_model_parameter(model, "token_embedding", &data, &count));
    float* scaled = malloc(count * sizeof(float));
    for (size_t i = 0; i < count; ++i) scaled[i] = data[i] * 40;
    assert_ok(volta_model_set_parameter(model, "token_embedding", scaled, count));
    free(scaled);
    if (s->weights == 0) return model;
    assert_ok(volta_model_quantize(model, s->weights, &stored));
    volta_model_release(model);
    return stored;
}

static volta_sampling_options random_sampling(void) {
    volta_sampling_options sampling = {0};
    sampling.struct_size = sizeof sampling;
    sampling.temperature = below(3) == 0 ? 0 : 0.3 + 0.1 * below(15);
    sampling.top_k = below(2) * below(9);
    sampling.top_p = below(2) * 0.1 * (5 + below(6));
    sampling.min_p = below(3) == 0 ? 0.05 : 0;
    sampling.repetition_penalty = below(2) == 0 ? 1.3 : 0;
    sampling.seed = (uint64_t)below(1000);
    return sampling;
}

/* A sequence, and what it holds by our own book. */
struct course {
    volta_sequence* sequence;
    volta_sampling_options sampling;
    int32_t tokens[kMostContext];
    int used;
};

static void append_random(struct course* course, const struct sizes* sizes, int count) {
    const int first = course->used;
    for (int i = 0; i < count; ++i) course->tokens[course->used++] = below(sizes->vocabulary);
    assert_ok(volta_sequence_append(course->sequence, course->tokens + first, (size_t)count));
}

/* The next token of these tokens alone. */
static int32_t alone(volta_generator* reference, const struct course* course, float* logits) {
    volta_sequence* sequence;
    const float* lent;
    size_t count;
    int32_t token;
    assert_ok(volta_sequence_create(reference, &course->sampling, &sequence));
    assert_ok(volta_sequence_append(sequence, course->tokens, (size_t)course->used));
    assert_ok(volta_generator_step(reference, &sequence, 1, &token));
    assert_ok(volta_sequence_logits(sequence, &lent, &count));
    memcpy(logits, lent, count * sizeof(float));
    volta_sequence_release(sequence);
    return token;
}

/* A step of some of the sequences that have tokens and room. */
static void step_some(volta_generator* generator, volta_generator* reference, struct course* courses,
                      int count, const struct sizes* sizes) {
    volta_sequence* chosen[kMostSequences];
    struct course* of[kMostSequences];
    int32_t tokens[kMostSequences];
    float expected[64];
    int used = 0;
    for (int i = 0; i < count; ++i) {
        if (courses[i].used == 0 || courses[i].used == sizes->context || below(4) == 0) continue;
        of[used] = &courses[i];
        chosen[used++] = courses[i].sequence;
    }
    if (used > 1 && below(2)) { /* in any order */
        volta_sequence* const sequence = chosen[0];
        struct course* const course = of[0];
        chosen[0] = chosen[used - 1], of[0] = of[used - 1];
        chosen[used - 1] = sequence, of[used - 1] = course;
    }
    if (used == 0) return;
    assert_ok(volta_generator_step(generator, chosen, (size_t)used, tokens));
    for (int i = 0; i < used; ++i) {
        const float* logits;
        size_t vocabulary;
        assert_int_equal(tokens[i], alone(reference, of[i], expected));
        assert_ok(volta_sequence_logits(chosen[i], &logits, &vocabulary));
        assert_int_equal(vocabulary, sizes->vocabulary);
        assert_memory_equal(logits, expected, vocabulary * sizeof(float));
        of[i]->tokens[of[i]->used++] = tokens[i];
    }
}

static void run_courses(volta_generator* generator, volta_generator* reference, int sequences,
                        const struct sizes* sizes) {
    struct course courses[kMostSequences];
    int count = 0;
    for (int turn = 0; turn < kTurns; ++turn) {
        struct course* const course = &courses[count > 0 ? below(count) : 0];
        switch (below(8)) {
            case 0: /* one joins */
                if (count == sequences) break;
                courses[count].sampling = random_sampling();
                courses[count].used = 0;
                assert_ok(
                    volta_sequence_create(generator, &courses[count].sampling, &courses[count].sequence));
                append_random(&courses[count], sizes, 1 + below(sizes->context));
                ++count;
                break;
            case 1: /* one leaves */
                if (count == 0) break;
                volta_sequence_release(course->sequence);
                *course = courses[--count];
                break;
            case 2: /* one forks, with its own options or others */
                if (count == 0 || count == sequences) break;
                courses[count] = *course;
                if (below(2)) courses[count].sampling = random_sampling();
                assert_ok(volta_sequence_fork(
                    course->sequence,
                    memcmp(&courses[count].sampling, &course->sampling, sizeof course->sampling) == 0
                        ? NULL
                        : &courses[count].sampling,
                    &courses[count].sequence));
                ++count;
                break;
            case 3: /* one goes back */
                if (count == 0) break;
                course->used = below(course->used + 1);
                assert_ok(volta_sequence_rewind(course->sequence, (size_t)course->used));
                break;
            case 4: /* somebody speaks */
                if (count > 0) append_random(course, sizes, below(sizes->context - course->used + 1));
                break;
            default:
                step_some(generator, reference, courses, count, sizes);
        }
    }
    while (count > 0) volta_sequence_release(courses[--count].sequence);
}

static void run_round(int round) {
    static const volta_isa isas[] = {VOLTA_ISA_SCALAR, VOLTA_ISA_AVX2, VOLTA_ISA_AVX512};
    random_state = 77u + (uint32_t)round * 7919u;
    const struct sizes sizes = random_sizes();
    volta_context *one, *other;
    volta_generator *reference, *generator;
    volta_generator_options options = {0};
    print_sizes(round, &sizes);
    options.struct_size = sizeof options;
    options.flags = VOLTA_GENERATOR_NO_CACHE;
    /* Whole sequences from scalar code take long: every fourth time. */
    assert_ok(context_on(NULL, 1, round % 4 == 0 ? VOLTA_ISA_SCALAR : VOLTA_ISA_AUTO, 0, &one));
    volta_model* const lonely = model_of(one, &sizes);
    assert_ok(volta_generator_create(lonely, &options, &reference));

    if (context_on(NULL, 1 + (uint32_t)below(3), isas[below(3)], 0, &other) != VOLTA_OK)
        assert_ok(context_on(NULL, 2, VOLTA_ISA_AUTO, 0, &other));
    volta_model* const model = model_of(other, &sizes);
    options.flags = below(8) == 0 ? VOLTA_GENERATOR_NO_CACHE : 0;
    options.sequences = 1 + below(kMostSequences);
    options.prefill_chunk = 1 + below(sizes.context);
    if (options.flags == 0 && below(3) > 0) options.cache_tokens = 1 + below(sizes.context);
    assert_ok(volta_generator_create(model, &options, &generator));
    if (options.flags == 0) assert_string_equal(volta_generator_no_cache_reason(generator), "");
    run_courses(generator, reference, (int)options.sequences, &sizes);

    volta_generator_release(generator);
    volta_generator_release(reference);
    volta_model_release(model);
    volta_model_release(lonely);
    volta_context_release(other);
    volta_context_release(one);
}

static void test_random_courses(void** state) {
    (void)state;
    for (int round = 0; round < kRounds; ++round) run_round(round);
}

/* A model may be made for very few tokens. */
static void test_short_contexts(void** state) {
    (void)state;
    volta_context* context;
    assert_ok(context_on(NULL, 1, VOLTA_ISA_AUTO, 0, &context));
    for (int is_llama = 0; is_llama < 2; ++is_llama)
        for (int length = 1; length <= 8; ++length) {
            const struct sizes sizes = {is_llama, 11, 1, 2, 2, 16, length, 0, 3};
            volta_model* const model = model_of(context, &sizes);
            volta_generator* generator;
            const int32_t first = 5;
            int32_t token;
            assert_ok(volta_generator_create(model, NULL, &generator));
            assert_string_equal(volta_generator_no_cache_reason(generator), "");
            assert_ok(volta_generator_start(generator, &first, 1));
            for (int i = 1; i < length; ++i) assert_ok(volta_generator_next(generator, &token));
            char full[64];
            snprintf(full, sizeof full, "the context of %d tokens is full", length);
            assert_fails(volta_generator_next(generator, &token), VOLTA_INVALID_STATE, full);
            volta_generator_release(generator);
            volta_model_release(model);
        }
    volta_context_release(context);
}

static uint64_t cache_of(const volta_generator* generator, uint64_t* total) {
    volta_bill bill = {0};
    bill.struct_size = sizeof bill;
    assert_ok(volta_generator_get_bill(generator, &bill));
    *total = bill.total;
    return bill.cache;
}

enum { kGrowing = 64, kRowBytes = 2 * 2 * 32 * (int)sizeof(float) }; /* keys and values of two layers */
static const struct sizes growing_sizes = {0, 29, 2, 2, 2, 32, kGrowing, 0, 3};

/* It begins with what was asked for, in panels of 16, doubles when a sequence outgrows it, ends at the
 * context, and is all that is held. Between two sizes steps allocate nothing. */
static void test_cache_grows(void** state) {
    (void)state;
    struct counting_heap heap = {0};
    volta_context* context;
    volta_sequence* sequences[2];
    volta_generator* generator;
    volta_generator_options options = {0};
    uint64_t total;
    int32_t tokens[2];
    const int32_t prompt[] = {3, 1, 4};
    assert_ok(context_on(&heap, 2, VOLTA_ISA_AUTO, 0, &context));
    volta_model* const model = model_of(context, &growing_sizes);
    const size_t before = heap.tensor_bytes;
    options.struct_size = sizeof options;
    options.sequences = 2;
    options.cache_tokens = 10;
    assert_ok(volta_generator_create(model, &options, &generator));
    for (int i = 0; i < 2; ++i) {
        assert_ok(volta_sequence_create(generator, NULL, &sequences[i]));
        assert_ok(volta_sequence_append(sequences[i], prompt, 3 - (size_t)i)); /* one is a token behind */
    }
    for (int used = 3; used < kGrowing; ++used) {
        const uint64_t count = heap.count;
        const int room_before = used - 1 <= 16 ? 16 : used - 1 <= 32 ? 32 : 64;
        const int room = used <= 16 ? 16 : used <= 32 ? 32 : 64;
        assert_ok(volta_generator_step(generator, sequences, 2, tokens));
        assert_int_equal(cache_of(generator, &total), (uint64_t)(2 * room * kRowBytes));
        assert_int_equal(heap.tensor_bytes - before, total);
        if (room == room_before && used > 3) assert_int_equal(heap.count, count);
    }
    for (int i = 0; i < 2; ++i) volta_sequence_release(sequences[i]);
    volta_generator_release(generator);
    volta_model_release(model);
    volta_context_release(context);
    assert_int_equal(heap.live_bytes, 0);
}

/* Refused at the n-th allocation while it grows, for the first n and ever fewer later ones: the step fails,
 * nothing is lost, and the same step succeeds afterwards with the token it would have had. Plans are compiled
 * once in a context, so each n has one of its own. */
static void test_growth_is_refused(void** state) {
    (void)state;
    const struct sizes small = {0, 29, 1, 1, 1, 16, kGrowing, 0, 3};
    int32_t prompt[16], expected = -1;
    int failures = 0;
    for (int i = 0; i < 16; ++i) prompt[i] = (7 * i + 2) % 29;
    for (uint64_t n = 1;; n += 1 + n / 8) {
        volta_context* fresh;
        volta_generator* generator;
        volta_generator_options options = {0};
        struct counting_heap own = {0};
        int32_t token = -1, after = -1;
        assert_ok(context_on(&own, 1, VOLTA_ISA_AUTO, 0, &fresh));
        volta_model* const copy = model_of(fresh, &small);
        options.struct_size = sizeof options;
        options.cache_tokens = 16;
        options.prefill_chunk = 4;
        assert_ok(volta_generator_create(copy, &options, &generator));
        assert_ok(volta_generator_start(generator, prompt, 16));
        assert_ok(volta_generator_next(generator, &token));
        own.fail_at = own.count + n;
        const volta_status status = volta_generator_next(generator, &token);
        own.fail_at = 0;
        if (status != VOLTA_OK) {
            ++failures;
            uint64_t total;
            assert_int_equal(status, VOLTA_OUT_OF_MEMORY);
            assert_int_equal(token, -1);
            assert_int_equal(cache_of(generator, &total), 16 * kRowBytes / 4);
            assert_ok(volta_generator_next(generator, &token));
        }
        assert_ok(volta_generator_next(generator, &after));
        if (n == 1) expected = token * 100 + after;
        assert_int_equal(token * 100 + after, expected);
        volta_generator_release(generator);
        volta_model_release(copy);
        volta_context_release(fresh);
        assert_int_equal(own.live_bytes, 0);
        if (status == VOLTA_OK) break;
    }
    assert_true(failures > 20);
}

static void test_what_is_refused(void** state) {
    (void)state;
    volta_context* context;
    volta_generator* generator;
    volta_generator_options options = {0};
    assert_ok(context_on(NULL, 1, VOLTA_ISA_AUTO, 0, &context));
    volta_model* const model = model_of(context, &growing_sizes);
    options.struct_size = sizeof options;
    options.context = 50;
    options.cache_tokens = 51;
    assert_fails(volta_generator_create(model, &options, &generator), VOLTA_INVALID_ARGUMENT,
                 "cache_tokens is 51, it must be in 1 .. 50, which is the context");
    options.cache_tokens = -1;
    assert_fails(volta_generator_create(model, &options, &generator), VOLTA_INVALID_ARGUMENT,
                 "cache_tokens is -1, it must be in 1 .. 50, which is the context");
    options.cache_tokens = 20;
    options.flags = VOLTA_GENERATOR_NO_CACHE;
    assert_fails(volta_generator_create(model, &options, &generator), VOLTA_INVALID_ARGUMENT,
                 "cache_tokens is 20, but the flags ask for no cache");
    assert_null(generator);
    volta_model_release(model);
    volta_context_release(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_courses),  cmocka_unit_test(test_short_contexts),
        cmocka_unit_test(test_cache_grows),     cmocka_unit_test(test_growth_is_refused),
        cmocka_unit_test(test_what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
