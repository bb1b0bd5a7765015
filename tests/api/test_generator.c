/* A sequence has the same tokens and the same logits, bit for bit, alone or in any batch, with its prompt in
 * pieces of any size, with cache or by running all of it for every token, on any threads and instruction set.
 */
#include "tests/api/api_test.h"
#include "tests/support/sampled.h"

enum { kMostTokens = 640, kMostVocabulary = 64 };

/* What a sequence is to give: found without a cache, on one thread. */
struct story {
    int prompt, drawn; /* tokens given, tokens drawn after them */
    uint64_t seed;
    int32_t tokens[kMostTokens];
    float* logits; /* [drawn, vocabulary] */
};

static volta_sampling_options sampling_of(const struct story* story) {
    volta_sampling_options sampling = {0};
    sampling.struct_size = sizeof sampling;
    sampling.seed = story->seed;
    sampling.temperature = story->seed % 2 == 0 ? 0 : 1.3; /* every second one is greedy */
    sampling.top_k = story->seed % 3 == 0 ? 7 : 0;
    sampling.repetition_penalty = story->seed % 5 == 0 ? 1.2 : 0;
    return sampling;
}

static volta_generator_options generator_options(int sequences, int chunk, uint32_t flags) {
    volta_generator_options options = {0};
    options.struct_size = sizeof options;
    options.sequences = sequences;
    options.prefill_chunk = chunk;
    options.flags = flags;
    return options;
}

static volta_generator* generator_of(volta_model* model, int sequences, int chunk, uint32_t flags) {
    volta_generator* generator;
    const volta_generator_options options = generator_options(sequences, chunk, flags);
    assert_ok(volta_generator_create(model, &options, &generator));
    return generator;
}

/* The logits of the latest token against those of the story. */
static void check_logits(const volta_sequence* sequence, const struct story* story, int index) {
    const float* logits;
    size_t count;
    assert_ok(volta_sequence_logits(sequence, &logits, &count));
    assert_memory_equal(logits, story->logits + (size_t)index * count, count * sizeof(float));
}

static void tell(volta_model* model, struct story* story) {
    volta_generator* generator = generator_of(model, 1, 0, VOLTA_GENERATOR_NO_CACHE);
    const volta_sampling_options sampling = sampling_of(story);
    volta_sequence* sequence;
    assert_string_equal(volta_generator_no_cache_reason(generator), "the host asked for none");
    assert_ok(volta_sequence_create(generator, &sampling, &sequence));
    assert_ok(volta_sequence_append(sequence, story->tokens, (size_t)story->prompt));
    story->logits = malloc((size_t)story->drawn * kMostVocabulary * sizeof(float));
    for (int i = 0; i < story->drawn; ++i) {
        const float* logits;
        size_t count;
        assert_ok(volta_generator_step(generator, &sequence, 1, story->tokens + story->prompt + i));
        assert_ok(volta_sequence_logits(sequence, &logits, &count));
        assert_true(count <= kMostVocabulary);
        memcpy(story->logits + (size_t)i * count, logits, count * sizeof(float));
    }
    volta_sequence_release(sequence);
    volta_generator_release(generator);
}

/* All stories through a generator of `sequences`: one joins as soon as there is room, one leaves when it is
 * done. */
static void retell(volta_model* model, const struct story* stories, int count, int sequences, int chunk,
                   uint32_t flags) {
    volta_generator* generator = generator_of(model, sequences, chunk, flags);
    volta_sequence* active[16];
    int story_of[16], drawn[16], used = 0, next = 0;
    while (used > 0 || next < count) {
        while (used < sequences && next < count) {
            const volta_sampling_options sampling = sampling_of(&stories[next]);
            assert_ok(volta_sequence_create(generator, &sampling, &active[used]));
            assert_ok(
                volta_sequence_append(active[used], stories[next].tokens, (size_t)stories[next].prompt));
            story_of[used] = next++;
            drawn[used++] = 0;
        }
        int32_t tokens[16];
        assert_ok(volta_generator_step(generator, active, (size_t)used, tokens));
        for (int i = used; i-- > 0;) {
            const struct story* story = &stories[story_of[i]];
            assert_int_equal(tokens[i], story->tokens[story->prompt + drawn[i]]);
            check_logits(active[i], story, drawn[i]);
            if (++drawn[i] < story->drawn) continue;
            volta_sequence_release(active[i]);
            --used;
            active[i] = active[used], story_of[i] = story_of[used], drawn[i] = drawn[used];
        }
    }
    volta_generator_release(generator);
}

/* Queries of four heads share the keys of two, by separate weights; biases, learned positions, and where it
 * turns rotary ones, which a generator computes as its sequences come to them. */
static volta_model* attending_model(volta_context* context, const volta_attribute* attributes,
                                    size_t attribute_count, int turns) {
    volta_graph* graph;
    volta_model* model;
    volta_value tokens, table, x, qkv[3], ids, places, positions, turned[3];
    const int64_t open[] = {-1, -1}, table_shape[] = {23, 40}, position_shape[] = {600, 40};
    const volta_init wide = {VOLTA_INIT_NORMAL, 0.8, 0};
    const volta_attribute limit = {"limit", 600, NULL, 0};
    const volta_attribute angles[] = {{"limit", 600, NULL, 0}, {"width", 10, NULL, 0}};
    assert_ok(volta_graph_create(context, &graph));
    assert_ok(volta_graph_input(graph, "tokens", VOLTA_I32, open, 2, &tokens));
    assert_ok(volta_graph_parameter(graph, "table", table_shape, 2, &wide, &table));
    assert_ok(volta_graph_parameter(graph, "position", position_shape, 2, &wide, &positions));
    assert_ok(volta_graph_apply(graph, "position_ids", &tokens, 1, &limit, 1, &ids, 1));
    assert_ok(volta_graph_binary(graph, "gather", table, tokens, &x));
    assert_ok(volta_graph_binary(graph, "gather", positions, ids, &places));
    assert_ok(volta_graph_binary(graph, "add", x, places, &x));
    assert_ok(volta_graph_linear(graph, "q", x, 40, &qkv[0]));
    assert_ok(volta_graph_linear(graph, "k", x, 20, &qkv[1]));
    assert_ok(volta_graph_linear(graph, "v", x, 20, &qkv[2]));
    if (turns) {
        turned[1] = ids;
        assert_ok(volta_graph_apply(graph, "rotary_table", NULL, 0, angles, 2, &turned[2], 1));
        for (int i = 0; i < 2; ++i) {
            const volta_attribute heads = {"heads", i == 0 ? 4 : 2, NULL, 0};
            turned[0] = qkv[i];
            assert_ok(volta_graph_apply(graph, "rotary", turned, 3, &heads, 1, &qkv[i], 1));
        }
    }
    assert_ok(volta_graph_apply(graph, "attention", qkv, 3, attributes, attribute_count, &x, 1));
    assert_ok(volta_graph_linear(graph, "head", x, 23, &x));
    assert_ok(volta_graph_unary(graph, "tanh", x, &x)); /* the head is not the last */
    assert_ok(volta_graph_output(graph, "logits", x));
    assert_ok(volta_model_create(graph, 3, &model));
    volta_graph_release(graph);
    return model;
}

static volta_model* grouped_model(volta_context* context) {
    const volta_attribute attributes[] = {{"heads", 4, NULL, 0}, {"kv_heads", 2, NULL, 0}};
    return attending_model(context, attributes, 2, 0);
}

/* Seven keys of weight, scores below 2, by a negative scale, rotary positions. */
static volta_model* windowed_model(volta_context* context) {
    const volta_attribute attributes[] = {{"heads", 4, NULL, 0},
                                          {"kv_heads", 2, NULL, 0},
                                          {"window", 7, NULL, 0},
                                          {"cap", 2, NULL, 0},
                                          {"scale", -0.4, NULL, 0}};
    return attending_model(context, attributes, 5, 1);
}

/* Initial weights give flat logits: with large embeddings the tokens differ. */
static void widen_embedding(volta_model* model) {
    const float* data;
    size_t count;
    assert_ok(volta_model_parameter(model, "token_embedding", &data, &count));
    float* scaled = malloc(count * sizeof(float));
    for (size_t i = 0; i < count; ++i) scaled[i] = data[i] * 40;
    assert_ok(volta_model_set_parameter(model, "token_embedding", scaled, count));
    free(scaled);
}

static volta_model* wide_gpt(volta_context* context) {
    volta_model* model;
    assert_ok(small_gpt(context, 0.1, &model)); /* dropout plays no part here */
    widen_embedding(model);
    return model;
}

/* Rotary positions, grouped keys, gated activations. */
static volta_model* wide_llama(volta_context* context) {
    volta_model* model;
    volta_llama_options llama = {0};
    llama.struct_size = sizeof llama;
    llama.vocabulary = kVocabulary;
    llama.layers = 2;
    llama.dim = 64;
    llama.heads = 4;
    llama.kv_heads = 2;
    llama.context = kContext;
    assert_ok(volta_model_create_llama(context, &llama, 7, &model));
    widen_embedding(model);
    return model;
}

/* Every instruction set retells the stories on 1 and 3 threads in five sizes of batches and pieces, and
 * without a cache. Of a sample each of these has one of the six ways, the next one another, and the next
 * model begins with another. */
static int turn;
static int is_in_turn(int way) { return sample_stride() == 1 || turn % 6 == way; }

static void check_model(volta_model* (*make)(volta_context*), const int (*sizes)[2], int count,
                        int vocabulary, int slow) {
    static struct story stories[8];
    for (int i = 0; i < count; ++i) {
        stories[i].prompt = sizes[i][0];
        stories[i].drawn = sizes[i][1];
        stories[i].seed = (uint64_t)i;
        for (int t = 0; t < sizes[i][0]; ++t) stories[i].tokens[t] = (t * t + 7 * i + t / 3) % vocabulary;
        free(stories[i].logits);
    }
    volta_context* context;
    assert_ok(context_on(NULL, 1, 0, 0, &context));
    volta_model* model = make(context);
    for (int i = 0; i < count; ++i) tell(model, &stories[i]);
    volta_model_release(model);
    volta_context_release(context);

    const int chunks[] = {1, 3, 16, 100, 256}, batches[] = {1, 2, 3, 5, 8};
    for (int isa = VOLTA_ISA_SCALAR; isa <= VOLTA_ISA_AVX512; ++isa)
        for (uint32_t threads = 1; threads <= 3; threads += 2) {
            if (context_on(NULL, threads, isa, 0, &context) != VOLTA_OK) continue;
            model = make(context);
            for (int i = 0; i < 5; ++i)
                if (is_in_turn(i) && (!slow || isa != VOLTA_ISA_SCALAR || i == 3))
                    retell(model, stories, count, batches[i], chunks[(i + (int)threads) % 5], 0);
            if (is_in_turn(5) && !slow) retell(model, stories, count, 3, 0, VOLTA_GENERATOR_NO_CACHE);
            volta_model_release(model);
            volta_context_release(context);
            ++turn;
        }
    ++turn;
    for (int i = 0; i < count; ++i) free(stories[i].logits), stories[i].logits = NULL;
}

static void test_gpt_batches(void** state) {
    (void)state;
    const int sizes[][2] = {{1, 31}, {5, 20}, {17, 15}, {16, 2}, {31, 1}, {2, 9}, {12, 12}};
    check_model(wide_gpt, sizes, 7, kVocabulary, 0);
}

static volta_model* stored(volta_model* model, volta_dtype dtype) {
    volta_model* made;
    assert_ok(volta_model_quantize(model, dtype, &made));
    volta_model_release(model);
    return made;
}
static volta_model* int8_gpt(volta_context* context) { return stored(wide_gpt(context), VOLTA_INT8); }
static volta_model* int4_llama(volta_context* context) { return stored(wide_llama(context), VOLTA_INT4); }
static volta_model* panels_llama(volta_context* context) {
    return stored(wide_llama(context), VOLTA_F32_PANELS);
}
static volta_model* bf16_gpt(volta_context* context) { return stored(wide_gpt(context), VOLTA_BF16); }
static volta_model* f16_grouped(volta_context* context) { return stored(grouped_model(context), VOLTA_F16); }

/* A quantized model is a model like any other. */
static void test_quantized_batches(void** state) {
    (void)state;
    const int sizes[][2] = {{1, 31}, {5, 20}, {17, 15}, {31, 1}};
    check_model(int8_gpt, sizes, 4, kVocabulary, 0);
    check_model(int4_llama, sizes, 4, kVocabulary, 0);
    check_model(bf16_gpt, sizes, 4, kVocabulary, 0);
    check_model(panels_llama, sizes, 4, kVocabulary, 0);
    check_model(f16_grouped, sizes, 4, 23, 0);
}

/* What f32 weights are needed for is refused. */
static void test_quantized_is_no_f32(void** state) {
    (void)state;
    volta_context* context;
    volta_trainer* trainer;
    volta_model *none, *model;
    const float* data;
    const float zeros[64 * 29] = {0};
    size_t elements;
    const int64_t shape[] = {2, 8};
    assert_ok(context_on(NULL, 1, 0, 0, &context));
    model = int8_gpt(context);
    const volta_trainer_options options = small_trainer_options(shape);
    assert_fails(volta_trainer_create(model, &options, &trainer), VOLTA_UNSUPPORTED,
                 "parameter 'token_embedding' is stored as int8: training needs f32");
    assert_fails(volta_model_parameter(model, "token_embedding", &data, &elements), VOLTA_UNSUPPORTED,
                 "parameter token_embedding is stored as int8: it has no elements of f32 to lend");
    assert_fails(volta_model_set_parameter(model, "token_embedding", zeros, 64 * 29), VOLTA_UNSUPPORTED,
                 "parameter token_embedding is stored as int8, which takes no elements of f32");
    assert_fails(volta_model_quantize(model, VOLTA_INT4, &none), VOLTA_INVALID_ARGUMENT,
                 "parameter 'token_embedding' is stored as int8 already: begin with the f32 model");
    assert_null(none);
    assert_fails(volta_model_quantize(model, VOLTA_F32, &none), VOLTA_INVALID_ARGUMENT,
                 "dtype is 1, weights are stored as VOLTA_BF16, VOLTA_F16, VOLTA_INT8, VOLTA_INT4 or "
                 "VOLTA_F32_PANELS");
    volta_model_release(model);
    volta_context_release(context);
}

static void test_llama_batches(void** state) {
    (void)state;
    const int sizes[][2] = {{1, 31}, {5, 20}, {17, 15}, {16, 2}, {31, 1}};
    check_model(wide_llama, sizes, 5, kVocabulary, 0);
}

/* Beyond the segments of 512 of the sum over keys. */
static void test_grouped_batches(void** state) {
    (void)state;
    const int sizes[][2] = {{1, 6}, {509, 8}, {30, 3}, {530, 2}};
    check_model(grouped_model, sizes, 4, 23, 1);
}

static void test_windowed_batches(void** state) {
    (void)state;
    const int sizes[][2] = {{1, 6}, {509, 8}, {5, 9}, {530, 2}};
    check_model(windowed_model, sizes, 4, 23, 1);
}

/* A fork goes on as its origin would, and with another seed as a sequence of these tokens would; going back
 * forgets. */
static void test_fork_and_rewind(void** state) {
    (void)state;
    volta_context* context;
    volta_sequence *first, *second, *fresh;
    int32_t tokens[3], drawn[12], again[12];
    const int32_t prompt[] = {3, 1, 4, 1, 5, 9, 2, 6};
    const float* logits[2];
    size_t count;
    assert_ok(context_on(NULL, 2, 0, 0, &context));
    volta_model* model = wide_gpt(context);
    volta_generator* generator = generator_of(model, 3, 4, 0);
    struct story one = {8, 12, 1, {0}, NULL}, other = {8, 12, 9, {0}, NULL};
    const volta_sampling_options sampling = sampling_of(&one), others = sampling_of(&other);
    assert_ok(volta_sequence_create(generator, &sampling, &first));
    assert_ok(volta_sequence_append(first, prompt, 8));
    for (int i = 0; i < 5; ++i) assert_ok(volta_generator_step(generator, &first, 1, &drawn[i]));

    assert_ok(volta_sequence_fork(first, &others, &second));
    const int32_t* all;
    assert_ok(volta_sequence_tokens(second, &all, &count));
    assert_int_equal(count, 13);
    assert_memory_equal(all, prompt, sizeof prompt);
    assert_ok(volta_sequence_create(generator, &others, &fresh));
    assert_ok(volta_sequence_append(fresh, all, count));
    volta_sequence* const all_three[] = {first, second, fresh};
    for (int i = 5; i < 12; ++i) {
        assert_ok(volta_generator_step(generator, all_three, 3, tokens));
        assert_int_equal(tokens[1], tokens[2]);
        assert_ok(volta_sequence_logits(second, &logits[0], &count));
        assert_ok(volta_sequence_logits(fresh, &logits[1], &count));
        assert_memory_equal(logits[0], logits[1], count * sizeof(float));
        drawn[i] = tokens[0];
    }

    assert_ok(volta_sequence_rewind(first, 10));
    for (int i = 2; i < 12; ++i) assert_ok(volta_generator_step(generator, &first, 1, &again[i]));
    assert_memory_equal(drawn + 2, again + 2, 10 * sizeof(int32_t));
    assert_ok(volta_sequence_rewind(first, 0));
    assert_fails(volta_generator_step(generator, &first, 1, tokens), VOLTA_INVALID_STATE,
                 "sequence 0 has no tokens to go on from");
    assert_ok(volta_sequence_append(first, prompt, 8));
    for (int i = 0; i < 12; ++i) assert_ok(volta_generator_step(generator, &first, 1, &again[i]));
    assert_memory_equal(drawn, again, sizeof again);

    volta_generator_release(generator); /* in any order: sequences keep it */
    volta_sequence_release(second);
    assert_fails(volta_generator_step(NULL, &first, 1, tokens), VOLTA_INVALID_ARGUMENT, "generator is NULL");
    volta_sequence_release(first);
    volta_sequence_release(fresh);
    volta_model_release(model);
    volta_context_release(context);
}

/* start takes over what its prompt shares with the sequence before, and nothing else. */
static void test_start_again(void** state) {
    (void)state;
    volta_context* context;
    const int32_t prompts[][6] = {
        {1, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5, 6}, {1, 2, 3, 9, 5, 6}, {7, 2, 3, 4, 5, 6}, {1, 2, 3, 4, 5, 6}};
    assert_ok(context_on(NULL, 1, 0, 0, &context));
    volta_model* model = wide_gpt(context);
    volta_generator* kept = generator_of(model, 1, 0, 0);
    for (int p = 0; p < 5; ++p) {
        volta_generator* fresh = generator_of(model, 1, 0, 0);
        assert_ok(volta_generator_start(kept, prompts[p], 6));
        assert_ok(volta_generator_start(fresh, prompts[p], 6));
        for (int i = 0; i < 9; ++i) {
            const float *a, *b;
            size_t count;
            int32_t x, y;
            assert_ok(volta_generator_next(kept, &x));
            assert_ok(volta_generator_next(fresh, &y));
            assert_int_equal(x, y);
            assert_ok(volta_generator_logits(kept, &a, &count));
            assert_ok(volta_generator_logits(fresh, &b, &count));
            assert_memory_equal(a, b, count * sizeof(float));
        }
        volta_generator_release(fresh);
    }
    volta_generator_release(kept);
    volta_model_release(model);
    volta_context_release(context);
}

/* The bill is what is allocated, the cache a part of it, and steps of a batch allocate nothing. */
static void test_memory(void** state) {
    (void)state;
    struct counting_heap heap = {0};
    volta_context* context;
    volta_sequence* sequences[3];
    int32_t tokens[3];
    volta_bill bill = {0};
    const int32_t prompt[] = {1, 2, 3, 4, 5};
    assert_ok(context_on(&heap, 2, 0, 0, &context));
    volta_model* model = wide_gpt(context);
    const size_t before = heap.tensor_bytes;
    heap.tensor_peak = before;
    volta_generator* generator = generator_of(model, 3, 0, 0);
    bill.struct_size = sizeof bill;
    assert_ok(volta_generator_get_bill(generator, &bill));
    assert_int_equal(heap.tensor_bytes - before, bill.total);
    assert_int_equal(bill.total, bill.parameters + bill.gradients + bill.optimizer_state + bill.activations +
                                     bill.workspace + bill.staging + bill.cache);
    assert_int_equal(bill.cache,
                     2 * 2 * 3 * kContext * 64 * sizeof(float)); /* layers, keys and values, sequences */
    volta_token_cost cost = {0};
    cost.struct_size = sizeof cost;
    assert_ok(volta_generator_get_cost(generator, 9, &cost));
    /* Per layer 12 squares of 64, 9 biases of 64 and 4 norms; the head's table; two looked-up rows; the last
     * norm. */
    assert_int_equal(cost.parameter_bytes,
                     4 * (2 * (12 * 64 * 64 + 9 * 64 + 4 * 64) + kVocabulary * 64 + 2 * 64 + 2 * 64));
    assert_int_equal(cost.cache_bytes, 2 * 2 * 10 * 64 * sizeof(float));
    assert_true(cost.operations == 2.0 * (2 * 12 * 64 * 64 + kVocabulary * 64) + 2 * 4.0 * 10 * 64);
    assert_fails(volta_generator_get_cost(generator, kContext, &cost), VOLTA_INVALID_ARGUMENT,
                 "position is 32, it must be in 0 .. 31");
    for (int i = 0; i < 3; ++i) {
        assert_ok(volta_sequence_create(generator, NULL, &sequences[i]));
        assert_ok(volta_sequence_append(sequences[i], prompt, 3 + (size_t)i % 3));
    }
    const uint64_t count = heap.count;
    for (int i = 0; i < 20; ++i) assert_ok(volta_generator_step(generator, sequences, 3, tokens));
    assert_ok(volta_generator_step(generator, sequences, 2, tokens));
    assert_int_equal(heap.count, count);
    assert_int_equal(heap.tensor_peak - before, bill.total);
    for (int i = 0; i < 3; ++i) volta_sequence_release(sequences[i]);
    volta_generator_release(generator);
    volta_model_release(model);
    volta_context_release(context);
    assert_int_equal(heap.live_bytes, 0);
}

/* A model whose tokens meet elsewhere is run whole, and says why. */
static void test_tokens_that_meet(void** state) {
    (void)state;
    volta_context* context;
    volta_graph* graph;
    volta_model* model;
    volta_value tokens, table, x, mean, ids;
    const int64_t open[] = {-1, -1}, table_shape[] = {11, 16}, axis = 1;
    const volta_init wide = {VOLTA_INIT_NORMAL, 1, 0};
    const volta_attribute limit = {"limit", 20, NULL, 0};
    const volta_attribute over_time[] = {{"axes", 0, &axis, 1}, {"keep_dims", 1, NULL, 0}};
    const int32_t prompt[] = {1, 2, 3};
    int32_t token;
    assert_ok(context_on(NULL, 1, 0, 0, &context));
    assert_ok(volta_graph_create(context, &graph));
    assert_ok(volta_graph_input(graph, "tokens", VOLTA_I32, open, 2, &tokens));
    assert_ok(volta_graph_parameter(graph, "table", table_shape, 2, &wide, &table));
    assert_ok(volta_graph_apply(graph, "position_ids", &tokens, 1, &limit, 1, &ids, 1));
    assert_ok(volta_graph_binary(graph, "gather", table, tokens, &x));
    assert_ok(volta_graph_apply(graph, "max", &x, 1, over_time, 2, &mean, 1));
    assert_ok(volta_graph_binary(graph, "sub", x, mean, &x));
    assert_ok(volta_graph_linear(graph, "head", x, 11, &x));
    assert_ok(volta_graph_output(graph, "logits", x));
    assert_ok(volta_model_create(graph, 3, &model));
    volta_graph_release(graph);
    volta_generator* generator = generator_of(model, 1, 0, 0);
    assert_string_equal(volta_generator_no_cache_reason(generator), "node %4 (max) joins tokens");
    assert_ok(volta_generator_start(generator, prompt, 3));
    assert_ok(volta_generator_next(generator, &token));
    volta_generator_release(generator);
    volta_model_release(model);
    volta_context_release(context);
}

/* Attention to tokens that follow gives no next token. A weight that two products read is read once. */
static void test_attention_and_cost_of_a_graph(void** state) {
    (void)state;
    volta_context* context;
    const int64_t open[] = {-1, -1}, table_shape[] = {11, 16}, wide_shape[] = {16, 48},
                  square_shape[] = {16, 16};
    const volta_init wide = {VOLTA_INIT_NORMAL, 1, 0};
    const volta_attribute limit = {"limit", 20, NULL, 0};
    uint64_t bytes[2] = {0};
    assert_ok(context_on(NULL, 1, 0, 0, &context));
    for (int form = 0; form < 3; ++form) { /* the square once, twice; tokens that see later ones */
        const volta_attribute attributes[] = {
            {"heads", 2, NULL, 0}, {"packed", 1, NULL, 0}, {"causal", form < 2, NULL, 0}};
        volta_graph* graph;
        volta_model* model;
        volta_value tokens, table, qkv, square, x, y[3], ids;
        assert_ok(volta_graph_create(context, &graph));
        assert_ok(volta_graph_input(graph, "tokens", VOLTA_I32, open, 2, &tokens));
        assert_ok(volta_graph_parameter(graph, "table", table_shape, 2, &wide, &table));
        assert_ok(volta_graph_parameter(graph, "qkv", wide_shape, 2, &wide, &qkv));
        assert_ok(volta_graph_parameter(graph, "square", square_shape, 2, &wide, &square));
        assert_ok(volta_graph_apply(graph, "position_ids", &tokens, 1, &limit, 1, &ids, 1));
        assert_ok(volta_graph_binary(graph, "gather", table, tokens, &x));
        assert_ok(volta_graph_binary(graph, "matmul", x, square, &x));
        if (form == 1) assert_ok(volta_graph_binary(graph, "matmul", x, square, &x));
        assert_ok(volta_graph_binary(graph, "matmul", x, qkv, &x));
        assert_ok(volta_graph_apply(graph, "attention", &x, 1, attributes, 3, y, 3));
        assert_ok(volta_graph_linear(graph, "head", y[0], 11, &x));
        assert_ok(volta_graph_output(graph, "logits", x));
        assert_ok(volta_model_create(graph, 3, &model));
        volta_graph_release(graph);
        if (form == 2) {
            const volta_generator_options options = generator_options(1, 0, 0);
            volta_generator* generator;
            assert_fails(volta_generator_create(model, &options, &generator), VOLTA_UNSUPPORTED,
                         "the next token needs causal attention: in node %8 a token sees later ones");
        } else {
            volta_generator* generator = generator_of(model, 1, 0, 0);
            volta_token_cost cost = {0};
            cost.struct_size = sizeof cost;
            assert_string_equal(volta_generator_no_cache_reason(generator), "");
            assert_ok(volta_generator_get_cost(generator, 3, &cost));
            bytes[form] = cost.parameter_bytes;
            volta_generator_release(generator);
        }
        volta_model_release(model);
    }
    assert_int_equal(bytes[0], bytes[1]);
    volta_context_release(context);
}

static void test_what_is_refused(void** state) {
    (void)state;
    volta_context* context;
    volta_generator *generator, *other;
    volta_sequence *a, *b, *foreign;
    int32_t tokens[2];
    const int32_t prompt[] = {1, 2, 30};
    assert_ok(context_on(NULL, 1, 0, 0, &context));
    volta_model* model = wide_gpt(context);
    volta_generator_options options = generator_options(-1, 0, 0);
    assert_fails(volta_generator_create(model, &options, &generator), VOLTA_INVALID_ARGUMENT,
                 "sequences is -1, it must be in 1 .. 65536");
    options = generator_options(1, -5, 0);
    assert_fails(volta_generator_create(model, &options, &generator), VOLTA_INVALID_ARGUMENT,
                 "prefill_chunk is -5, it must be in 1 .. 65536");
    options = generator_options(1, 0, 6);
    assert_fails(volta_generator_create(model, &options, &generator), VOLTA_INVALID_ARGUMENT,
                 "flags is 6, which has unknown bits");
    options = generator_options(2, 0, 0);
    options.context = kContext + 1;
    assert_fails(volta_generator_create(model, &options, &generator), VOLTA_INVALID_ARGUMENT,
                 "context is 33, it must be in 1 .. 32, which is the model's");
    options.context = 4;
    assert_ok(volta_generator_create(model, &options, &generator));
    options.sequences = 1;
    assert_ok(volta_generator_create(model, &options, &other));
    assert_ok(volta_sequence_create(generator, NULL, &a));
    assert_ok(volta_sequence_create(generator, NULL, &b));
    assert_ok(volta_sequence_create(other, NULL, &foreign));
    volta_sequence* none;
    assert_fails(volta_sequence_create(other, NULL, &none), VOLTA_INVALID_STATE,
                 "all 1 sequences of the generator are in use");
    assert_null(none);
    assert_fails(volta_generator_start(generator, prompt, 1), VOLTA_INVALID_STATE,
                 "all 2 sequences of the generator are in use");
    assert_fails(volta_sequence_append(a, prompt, 3), VOLTA_INVALID_ARGUMENT,
                 "token 2 is 30, outside the vocabulary of 29");
    assert_ok(volta_sequence_append(a, prompt, 2));
    assert_fails(volta_sequence_append(a, prompt, 3), VOLTA_INVALID_ARGUMENT,
                 "token 2 is 30, outside the vocabulary of 29");
    const int32_t many[] = {1, 1, 1};
    assert_fails(volta_sequence_append(a, many, 3), VOLTA_INVALID_ARGUMENT,
                 "3 tokens are to follow 2, the context holds 4");
    assert_fails(volta_sequence_rewind(a, 3), VOLTA_INVALID_ARGUMENT,
                 "the sequence has 2 tokens, it cannot go back to 3");
    const float* logits;
    size_t count;
    assert_fails(volta_sequence_logits(a, &logits, &count), VOLTA_INVALID_STATE,
                 "no token has been drawn yet");
    volta_sequence* const twice[] = {a, a};
    assert_fails(volta_generator_step(generator, twice, 2, tokens), VOLTA_INVALID_ARGUMENT,
                 "sequences 0 and 1 are the same");
    volta_sequence* const empty[] = {a, b};
    assert_fails(volta_generator_step(generator, empty, 2, tokens), VOLTA_INVALID_STATE,
                 "sequence 1 has no tokens to go on from");
    assert_fails(volta_generator_step(other, empty, 1, tokens), VOLTA_INVALID_ARGUMENT,
                 "sequence 0 is another generator's");
    assert_ok(volta_generator_step(generator, &a, 1, tokens));
    assert_ok(volta_generator_step(generator, &a, 1, tokens));
    assert_fails(volta_generator_step(generator, &a, 1, tokens), VOLTA_INVALID_STATE,
                 "the context of 4 tokens is full");
    volta_sequence_release(a);
    volta_sequence_release(b);
    volta_generator_release(generator);
    volta_generator_release(other);
    volta_sequence_release(foreign);
    volta_sequence_release(NULL);
    volta_model_release(model);
    volta_context_release(context);
}

/* Where there is no memory for its handle, a sequence is given back: both that the generator has can still be
 * made. */
static void test_a_sequence_without_a_handle_is_given_back(void** state) {
    (void)state;
    struct counting_heap heap = {0};
    volta_context* context;
    volta_model* model;
    volta_sequence *sequence, *fork;
    int refused[2] = {0, 0};
    const int32_t prompt[] = {3, 1};
    assert_ok(context_on(&heap, 1, 0, 0, &context));
    assert_ok(small_gpt(context, 0, &model));
    volta_generator* generator = generator_of(model, 2, 4, 0);
    for (volta_status status = VOLTA_OUT_OF_MEMORY; status != VOLTA_OK; ++refused[0]) {
        heap.fail_at = heap.count + (uint64_t)refused[0] + 1;
        status = volta_sequence_create(generator, NULL, &sequence);
        if (status != VOLTA_OK) assert_int_equal(status, VOLTA_OUT_OF_MEMORY);
        assert_true((sequence != NULL) == (status == VOLTA_OK));
    }
    heap.fail_at = 0;
    assert_ok(volta_sequence_append(sequence, prompt, 2));
    for (volta_status status = VOLTA_OUT_OF_MEMORY; status != VOLTA_OK; ++refused[1]) {
        heap.fail_at = heap.count + (uint64_t)refused[1] + 1;
        status = volta_sequence_fork(sequence, NULL, &fork);
        if (status != VOLTA_OK) assert_int_equal(status, VOLTA_OUT_OF_MEMORY);
        assert_true((fork != NULL) == (status == VOLTA_OK));
    }
    assert_true(refused[0] > 1 && refused[1] > 1);
    volta_sequence_release(fork);
    volta_sequence_release(sequence);
    volta_generator_release(generator);
    volta_model_release(model);
    volta_context_release(context);
    assert_int_equal(heap.live_bytes, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpt_batches),
        cmocka_unit_test(test_llama_batches),
        cmocka_unit_test(test_quantized_batches),
        cmocka_unit_test(test_quantized_is_no_f32),
        cmocka_unit_test(test_grouped_batches),
        cmocka_unit_test(test_windowed_batches),
        cmocka_unit_test(test_fork_and_rewind),
        cmocka_unit_test(test_start_again),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_tokens_that_meet),
        cmocka_unit_test(test_attention_and_cost_of_a_graph),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_a_sequence_without_a_handle_is_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
