/* Text in one call: what ends it, what is told when, and the same tokens as a loop of steps. Most tests write
 * from a model that says a given text, one byte a token, whatever it was asked. */
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "tests/api/api_test.h"

enum { kMostBytes = 256, kMostPieces = 256 };

/* A model of bytes that says `text` after a prompt of one token: position p is followed by byte p. */
static volta_model* model_that_says(volta_context* context, const char* text, size_t bytes) {
    volta_graph* graph;
    volta_model* model;
    volta_value tokens, table, ids, logits;
    const int64_t open[] = {-1, -1}, shape[] = {kMostBytes, 256};
    const volta_attribute limit = {"limit", kMostBytes, NULL, 0};
    float* rows = calloc(kMostBytes * 256, sizeof *rows);
    for (size_t p = 0; p < kMostBytes; ++p) rows[p * 256 + (unsigned char)(p < bytes ? text[p] : '.')] = 100;
    assert_ok(volta_graph_create(context, &graph));
    assert_ok(volta_graph_input(graph, "tokens", VOLTA_I32, open, 2, &tokens));
    assert_ok(volta_graph_parameter(graph, "table", shape, 2, NULL, &table));
    assert_ok(volta_graph_apply(graph, "position_ids", &tokens, 1, &limit, 1, &ids, 1));
    assert_ok(volta_graph_binary(graph, "gather", table, ids, &logits));
    assert_ok(volta_graph_output(graph, "logits", logits));
    assert_ok(volta_model_create(graph, 1, &model));
    assert_ok(volta_model_set_parameter(model, "table", rows, kMostBytes * 256));
    volta_graph_release(graph);
    free(rows);
    return model;
}

/* What a host hears, and what it does about it. */
struct listener {
    char text[4 * kMostBytes];
    size_t bytes;
    int pieces;
    size_t piece_bytes[kMostPieces];
    int32_t tokens[kMostPieces];
    int stop_at;          /* answers 1 to this piece, counted from 1; 0: to none */
    volta_cancel* cancel; /* requested at piece `cancel_at`, by `request`        */
    int cancel_at;
    void (*request)(volta_cancel* cancel);
    struct counting_heap* heap; /* allocations at the first piece and now              */
    uint64_t first_count, last_count;
};

static int32_t hear(void* user, const char* text, size_t bytes, int32_t token) {
    struct listener* self = user;
    assert_non_null(text);
    assert_true(self->pieces < kMostPieces && self->bytes + bytes < sizeof self->text);
    memcpy(self->text + self->bytes, text, bytes);
    self->bytes += bytes;
    self->piece_bytes[self->pieces] = bytes;
    self->tokens[self->pieces++] = token;
    if (self->heap != NULL) {
        if (self->pieces == 1) self->first_count = self->heap->count;
        self->last_count = self->heap->count;
    }
    if (self->pieces == self->cancel_at) self->request(self->cancel);
    return self->pieces == self->stop_at;
}

/* A generator that is to say a text, with its byte tokenizer; started, or as a sequence of its own. */
struct speaker {
    volta_context* context;
    volta_model* model;
    volta_tokenizer* tokenizer;
    volta_generator* generator;
    volta_sequence* sequence; /* NULL: the generator's own */
};

static const int32_t kPrompt[] = {'>'};

static struct speaker speaker_of(const char* text, size_t bytes, int context, int as_sequence) {
    struct speaker s = {0};
    volta_generator_options options = {0};
    options.struct_size = sizeof options;
    options.context = context;
    assert_ok(context_on(NULL, 1, 0, 0, &s.context));
    s.model = model_that_says(s.context, text, bytes);
    assert_ok(volta_tokenizer_create_byte(s.context, &s.tokenizer));
    assert_ok(volta_generator_create(s.model, &options, &s.generator));
    if (as_sequence) {
        assert_ok(volta_sequence_create(s.generator, NULL, &s.sequence));
        assert_ok(volta_sequence_append(s.sequence, kPrompt, 1));
    } else {
        assert_ok(volta_generator_start(s.generator, kPrompt, 1));
    }
    return s;
}

static void end_speaker(struct speaker* s) {
    volta_sequence_release(s->sequence);
    volta_generator_release(s->generator);
    volta_tokenizer_release(s->tokenizer);
    volta_model_release(s->model);
    volta_context_release(s->context);
}

static volta_write_options write_options(struct listener* listener) {
    volta_write_options options = {0};
    options.struct_size = sizeof options;
    options.on_text = listener != NULL ? hear : NULL;
    options.user = listener;
    return options;
}

static volta_write_result write_with(const struct speaker* s, const volta_write_options* options) {
    volta_write_result result = {0};
    result.struct_size = sizeof result;
    assert_ok(volta_generator_write(s->generator, s->sequence, s->tokenizer, options, &result));
    return result;
}

static void check_text(const struct listener* listener, const char* expected) {
    assert_int_equal(listener->bytes, strlen(expected));
    assert_memory_equal(listener->text, expected, listener->bytes);
}

/* What the model says, until one of `count` stop texts. */
static void check_stop(const char* says, const char* const* stops, size_t count, const char* expected,
                       volta_stop_reason reason, int32_t index, int64_t tokens) {
    for (int as_sequence = 0; as_sequence < 2; ++as_sequence) {
        struct listener listener = {0};
        struct speaker s = speaker_of(says, strlen(says), 0, as_sequence);
        volta_write_options options = write_options(&listener);
        options.max_tokens = (int64_t)strlen(says);
        options.stop_texts = stops;
        options.stop_text_count = count;
        const volta_write_result result = write_with(&s, &options);
        check_text(&listener, expected);
        assert_int_equal(result.reason, reason);
        assert_int_equal(result.stop_index, index);
        assert_int_equal(result.token_count, tokens);
        assert_int_equal(result.last_token, (unsigned char)says[tokens - 1]);
        assert_int_equal(result.text_bytes, listener.bytes);
        assert_int_equal(listener.pieces, tokens); /* one for each token */
        for (int64_t i = 0; i < tokens; ++i) assert_int_equal(listener.tokens[i], (unsigned char)says[i]);
        end_speaker(&s);
    }
}

static void test_stop_texts(void** state) {
    (void)state;
    const char *const aab[] = {"aab"}, *const two[] = {"User:", "\n\n"}, *const nested[] = {"abcde", "bc"},
                      *const same_end[] = {"c", "abc"}, *const euro[] = {"\xe2\x82\xac"};
    check_stop("xaaab tail", aab, 1, "xa", VOLTA_STOP_TEXT, 0, 5);
    check_stop("Hi.\nUser: no", two, 2, "Hi.\n", VOLTA_STOP_TEXT, 0, 9);
    check_stop("Hi.\n\nUser: no", two, 2, "Hi.", VOLTA_STOP_TEXT, 1, 5);
    check_stop("zabcd", nested, 2, "za", VOLTA_STOP_TEXT, 1, 4);
    check_stop("zabcd", same_end, 2, "z", VOLTA_STOP_TEXT, 1, 4);
    check_stop("aab", aab, 1, "", VOLTA_STOP_TEXT, 0, 3);
    check_stop("\xe2\x82\xad\xe2\x82\xac!", euro, 1, "\xe2\x82\xad", VOLTA_STOP_TEXT, 0, 6);
    /* What was held back for a stop text that did not come is text. */
    check_stop("xyaa", aab, 1, "xyaa", VOLTA_STOP_MAX_TOKENS, -1, 4);
    check_stop("Use", two, 2, "Use", VOLTA_STOP_MAX_TOKENS, -1, 3);
}

/* Piece by piece: what is decided comes at once, what is not comes empty. */
static void test_when_text_comes(void** state) {
    (void)state;
    const char* const stops[] = {"aab"};
    const char says[] = "xaac\xc3\xa9\xf0\x9f\x98\x80\xff!aa";
    const size_t expected[] = {1, 0, 0, 3, 0, 2, 0, 0, 0, 4, 1, 1, 0, 2};
    struct listener listener = {0};
    struct speaker s = speaker_of(says, sizeof says - 1, 0, 0);
    volta_write_options options = write_options(&listener);
    options.max_tokens = sizeof says - 1;
    options.stop_texts = stops;
    options.stop_text_count = 1;
    write_with(&s, &options);
    check_text(&listener, says);
    assert_int_equal(listener.pieces, sizeof says - 1);
    assert_memory_equal(listener.piece_bytes, expected, sizeof expected);
    end_speaker(&s);
}

static void test_stop_tokens(void** state) {
    (void)state;
    const int32_t stops[] = {'q', ';'};
    struct listener listener = {0};
    struct speaker s = speaker_of("ab;cd", 5, 0, 0);
    volta_write_options options = write_options(&listener);
    options.stop_tokens = stops;
    options.stop_token_count = 2;
    volta_write_result result = write_with(&s, &options);
    check_text(&listener, "ab");
    assert_int_equal(result.reason, VOLTA_STOP_TOKEN);
    assert_int_equal(result.stop_index, 1);
    assert_int_equal(result.token_count, 3);
    assert_int_equal(result.last_token, ';');
    assert_int_equal(listener.tokens[2], ';'); /* heard of, without text */
    assert_int_equal(listener.piece_bytes[2], 0);
    /* The sequence has the stop token, and goes on behind it. */
    options.max_tokens = 2;
    result = write_with(&s, &options);
    check_text(&listener, "abcd");
    assert_int_equal(result.reason, VOLTA_STOP_MAX_TOKENS);
    assert_int_equal(result.stop_index, -1);
    /* A stop text that began is text when a stop token ends it. */
    const char* const begun[] = {"b;c"};
    memset(&listener, 0, sizeof listener);
    assert_ok(volta_generator_start(s.generator, kPrompt, 1));
    options.stop_texts = begun;
    options.stop_text_count = 1;
    options.max_tokens = 0;
    write_with(&s, &options);
    check_text(&listener, "ab");
    end_speaker(&s);
}

/* A file of llama2.c: ids 1 and 2 begin and end a text, 5 is "a", 6 is " a". */
static volta_tokenizer* tokenizer_with_ends(volta_context* context) {
    static const char* const kFile = "test_write.bin";
    static const char* const pieces[] = {"<unk>", "\n<s>\n", "\n</s>\n", "<0x0A>", " ", "a", " a"};
    const int32_t longest = 6;
    volta_tokenizer* tokenizer;
    FILE* file = fopen(kFile, "wb");
    assert_non_null(file);
    fwrite(&longest, sizeof longest, 1, file);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; ++i) {
        const float score = -(float)i;
        const int32_t bytes = (int32_t)strlen(pieces[i]);
        fwrite(&score, sizeof score, 1, file);
        fwrite(&bytes, sizeof bytes, 1, file);
        fwrite(pieces[i], 1, (size_t)bytes, file);
    }
    assert_int_equal(fclose(file), 0);
    assert_ok(volta_tokenizer_open(context, kFile, VOLTA_TOKENIZER_LLAMA2C, &tokenizer));
    remove(kFile);
    return tokenizer;
}

/* A text ends where the tokenizer says so, unless the host wants to see past it. */
static void test_end_of_text(void** state) {
    (void)state;
    const int32_t bos = 1, eos = 2, letter = 5;
    for (int ends = 1; ends <= 2; ++ends) {
        const char says[] = {6, 5, 6, (char)ends, 6, 5};
        struct listener listener = {0};
        struct speaker s = speaker_of(says, sizeof says, 0, 0);
        volta_tokenizer* tokenizer = tokenizer_with_ends(s.context);
        volta_write_options options = write_options(&listener);
        volta_write_result result = {0};
        result.struct_size = sizeof result;
        options.max_tokens = sizeof says;
        assert_ok(volta_generator_start(s.generator, &bos, 1));
        assert_ok(volta_generator_write(s.generator, NULL, tokenizer, &options, &result));
        check_text(&listener, "aa a"); /* without the space before the text */
        assert_int_equal(result.reason, VOLTA_STOP_END_OF_TEXT);
        assert_int_equal(result.stop_index, -1);
        assert_int_equal(result.token_count, 4);
        assert_int_equal(listener.tokens[3], ends);
        listener.bytes = 0, listener.pieces = 0;
        assert_ok(volta_generator_start(s.generator, &letter, 1));
        assert_ok(volta_generator_write(s.generator, NULL, tokenizer, &options, &result));
        check_text(&listener, " aa a"); /* it goes on behind a letter */
        options.flags = VOLTA_WRITE_PAST_END;
        listener.bytes = 0, listener.pieces = 0;
        assert_ok(volta_generator_start(s.generator, &bos, 1));
        assert_ok(volta_generator_write(s.generator, NULL, tokenizer, &options, &result));
        check_text(&listener, "aa aaa"); /* a second text */
        assert_int_equal(result.reason, VOLTA_STOP_MAX_TOKENS);
        options.flags = 0;
        options.stop_tokens = &eos; /* the host's own token counts first */
        options.stop_token_count = 1;
        assert_ok(volta_generator_start(s.generator, &bos, 1));
        assert_ok(volta_generator_write(s.generator, NULL, tokenizer, &options, &result));
        assert_int_equal(result.reason, ends == 2 ? VOLTA_STOP_TOKEN : VOLTA_STOP_END_OF_TEXT);
        volta_tokenizer_release(tokenizer);
        end_speaker(&s);
    }
}

/* max_tokens 0 writes until the context is full; then there is nothing to write. */
static void test_context_full(void** state) {
    (void)state;
    struct listener listener = {0};
    struct speaker s = speaker_of("abcdefghij", 10, 8, 1);
    volta_write_options options = write_options(&listener);
    volta_write_result result = write_with(&s, &options);
    check_text(&listener, "abcdefg");
    assert_int_equal(result.reason, VOLTA_STOP_CONTEXT_FULL);
    assert_int_equal(result.token_count, 7);
    result = write_with(&s, &options);
    assert_int_equal(result.reason, VOLTA_STOP_CONTEXT_FULL);
    assert_int_equal(result.token_count, 0);
    assert_int_equal(result.last_token, -1);
    check_text(&listener, "abcdefg");
    assert_ok(volta_sequence_rewind(s.sequence, 6));
    assert_ok(volta_generator_write(s.generator, s.sequence, s.tokenizer, NULL, NULL)); /* all defaults */
    const int32_t* tokens;
    size_t count;
    assert_ok(volta_sequence_tokens(s.sequence, &tokens, &count));
    assert_int_equal(count, 8);
    assert_int_equal(tokens[7], 'g');
    end_speaker(&s);
}

/* Characters stay whole but where writing ends; then the result says so. */
static void test_utf8(void** state) {
    (void)state;
    const char says[] = "h\xc3\xa9\xe2\x82\xac \xf0\x9f\x98\x80\xff\xc3(\xe2\x82";
    struct listener listener = {0};
    struct speaker s = speaker_of(says, sizeof says - 1, 0, 0);
    volta_write_options options = write_options(&listener);
    options.max_tokens = sizeof says - 1;
    volta_write_result result = write_with(&s, &options);
    check_text(&listener, says);
    assert_int_equal(result.unfinished_bytes, 2);
    /* Cut inside a character, and gone on: together it is the text. */
    memset(&listener, 0, sizeof listener);
    assert_ok(volta_generator_start(s.generator, kPrompt, 1));
    options.max_tokens = 9;
    result = write_with(&s, &options);
    assert_int_equal(result.unfinished_bytes, 2);
    options.max_tokens = sizeof says - 1 - 9;
    write_with(&s, &options);
    check_text(&listener, says);
    end_speaker(&s);
}

static void* request_in_a_thread(void* cancel) {
    volta_cancel_request(cancel);
    return NULL;
}
static void request_by_thread(volta_cancel* cancel) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, request_in_a_thread, cancel), 0);
    pthread_join(thread, NULL);
}

static volta_cancel signalled;
static void on_signal(int number) {
    (void)number;
    volta_cancel_request(&signalled);
}
static void request_by_signal(volta_cancel* cancel) {
    (void)cancel;
    raise(SIGUSR1);
}

/* From the callback, from another thread, from a signal handler: the next token is not drawn, the rest is
 * told, and writing can go on. */
static void test_cancel(void** state) {
    (void)state;
    void (*const ways[])(volta_cancel*) = {volta_cancel_request, request_by_thread, request_by_signal};
    signal(SIGUSR1, on_signal);
    for (int way = 0; way < 3; ++way) {
        const char* const stops[] = {"cde"};
        volta_cancel own = {0}, *cancel = way == 2 ? &signalled : &own;
        struct listener listener = {0};
        struct speaker s = speaker_of("abcdef", 6, 0, way % 2);
        volta_write_options options = write_options(&listener);
        listener.cancel = cancel;
        listener.cancel_at = 4;
        listener.request = ways[way];
        options.cancel = cancel;
        options.max_tokens = 5;
        options.stop_texts = stops;
        options.stop_text_count = 1;
        volta_write_result result = write_with(&s, &options);
        assert_int_equal(result.reason, VOLTA_STOP_CANCELLED);
        assert_int_equal(result.token_count, 4);
        check_text(&listener, "abcd");
        assert_int_equal(listener.pieces, 5); /* four tokens, and what was held back of "cde" */
        assert_int_equal(listener.tokens[4], -1);
        assert_int_equal(listener.piece_bytes[4], 2);
        result = write_with(&s, &options); /* still requested */
        assert_int_equal(result.reason, VOLTA_STOP_CANCELLED);
        assert_int_equal(result.token_count, 0);
        assert_int_equal(listener.pieces, 5);
        cancel->requested = 0;
        options.max_tokens = 2;
        result = write_with(&s, &options);
        assert_int_equal(result.reason, VOLTA_STOP_MAX_TOKENS);
        check_text(&listener, "abcdef");
        end_speaker(&s);
    }
    volta_cancel_request(NULL);
}

static void* request_soon(void* cancel) {
    const struct timespec pause = {0, 5000000};
    nanosleep(&pause, NULL);
    volta_cancel_request(cancel);
    return NULL;
}

/* At any moment: the thread does not know where the writing stands. */
static void test_cancel_any_time(void** state) {
    (void)state;
    pthread_t thread;
    volta_cancel cancel = {0};
    volta_write_result result = {0};
    struct speaker s = speaker_of("abc", 3, 0, 1);
    volta_write_options options = write_options(NULL);
    options.cancel = &cancel;
    assert_int_equal(pthread_create(&thread, NULL, request_soon, &cancel), 0);
    while (result.reason != VOLTA_STOP_CANCELLED) {
        result = write_with(&s, &options);
        assert_ok(volta_sequence_rewind(s.sequence, 1));
    }
    pthread_join(thread, NULL);
    end_speaker(&s);
}

static void test_callback_stops(void** state) {
    (void)state;
    const char* const stops[] = {"cde"};
    struct listener listener = {0};
    struct speaker s = speaker_of("abcdef", 6, 0, 0);
    volta_write_options options = write_options(&listener);
    options.stop_texts = stops;
    options.stop_text_count = 1;
    listener.stop_at = 3;
    const volta_write_result result = write_with(&s, &options);
    assert_int_equal(result.reason, VOLTA_STOP_CALLBACK);
    assert_int_equal(result.token_count, 3);
    assert_int_equal(listener.pieces, 3); /* not called again, not even for what was held back */
    check_text(&listener, "ab");
    assert_int_equal(result.text_bytes, 2);
    end_speaker(&s);
}

/* A time that is over at once draws nothing; one that is over within a long prompt ends between two of its
 * pieces. What was computed by then stays, and the tokens are those of a call that had all the time. */
static void test_deadline(void** state) {
    (void)state;
    enum { kPromptTokens = 480 };
    volta_gpt_options gpt = {0};
    volta_generator_options generating = {0};
    volta_context* context;
    volta_model* model;
    volta_tokenizer* tokenizer;
    volta_generator *hurried, *calm;
    int32_t prompt[kPromptTokens], token;
    gpt.struct_size = sizeof gpt;
    gpt.vocabulary = 256;
    gpt.layers = 2;
    gpt.dim = 64;
    gpt.heads = 4;
    gpt.context = 512;
    generating.struct_size = sizeof generating;
    generating.prefill_chunk = 16;
    for (int i = 0; i < kPromptTokens; ++i) prompt[i] = i * 7 % 256;
    assert_ok(context_on(NULL, 1, VOLTA_ISA_SCALAR, 0, &context));
    assert_ok(volta_model_create_gpt(context, &gpt, 7, &model));
    assert_ok(volta_tokenizer_create_byte(context, &tokenizer));
    assert_ok(volta_generator_create(model, &generating, &hurried));
    assert_ok(volta_generator_create(model, &generating, &calm));
    assert_ok(volta_generator_start(hurried, prompt, kPromptTokens));
    assert_ok(volta_generator_start(calm, prompt, kPromptTokens));
    volta_write_options options = write_options(NULL);
    volta_write_result result = {0};
    result.struct_size = sizeof result;
    options.max_tokens = 3;
    options.max_seconds = 1e-3;
    assert_ok(volta_generator_write(hurried, NULL, tokenizer, &options, &result));
    assert_int_equal(result.reason, VOLTA_STOP_DEADLINE);
    assert_int_equal(result.token_count, 0);
    options.max_seconds = 1e-12;
    assert_ok(volta_generator_write(hurried, NULL, tokenizer, &options, &result));
    assert_int_equal(result.reason, VOLTA_STOP_DEADLINE);
    assert_int_equal(result.token_count, 0);
    options.max_seconds = 3600;
    assert_ok(volta_generator_write(hurried, NULL, tokenizer, &options, &result));
    assert_int_equal(result.reason, VOLTA_STOP_MAX_TOKENS);
    for (int i = 0; i < 3; ++i) assert_ok(volta_generator_next(calm, &token));
    assert_int_equal(result.last_token, token);
    const float *a, *b;
    size_t count;
    assert_ok(volta_generator_logits(hurried, &a, &count));
    assert_ok(volta_generator_logits(calm, &b, &count));
    assert_memory_equal(a, b, count * sizeof(float));
    volta_generator_release(hurried);
    volta_generator_release(calm);
    volta_tokenizer_release(tokenizer);
    volta_model_release(model);
    volta_context_release(context);
}

/* The tokens and the logits of a loop of steps, bit for bit, with prompts in pieces, with and without a
 * cache; and no allocation after the first piece. */
static void test_same_tokens_as_a_loop(void** state) {
    (void)state;
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz\n .";
    const char* const stops[] = {"never this", "\n\n\n\n"};
    for (int round = 0; round < 8; ++round) {
        struct counting_heap heap = {0};
        volta_context* context;
        volta_model* model;
        volta_tokenizer* tokenizer;
        volta_generator *loop, *writer;
        volta_generator_options options = {0};
        int32_t prompt[9], token, expected[kContext];
        char text[kContext];
        const float* data;
        size_t elements;
        options.struct_size = sizeof options;
        options.temperature = 1.3;
        options.seed = (uint64_t)round;
        options.prefill_chunk = 4;
        options.flags = round % 2 ? VOLTA_GENERATOR_NO_CACHE : 0;
        fill_tokens(prompt, 9);
        assert_ok(context_on(&heap, 1, 0, 0, &context));
        assert_ok(round % 4 < 2 ? small_gpt(context, 0, &model) : small_llama(context, 0, &model));
        assert_ok(volta_model_parameter(model, "token_embedding", &data, &elements));
        float* wide = malloc(elements * sizeof(float)); /* initial weights give flat logits */
        for (size_t i = 0; i < elements; ++i) wide[i] = data[i] * 40;
        assert_ok(volta_model_set_parameter(model, "token_embedding", wide, elements));
        free(wide);
        assert_ok(volta_tokenizer_create_char(context, letters, sizeof letters - 1, &tokenizer));
        assert_ok(volta_model_set_tokenizer(model, tokenizer));
        assert_ok(volta_generator_create(model, &options, &loop));
        assert_ok(volta_generator_create(model, &options, &writer));
        assert_ok(volta_generator_start(loop, prompt, 9));
        for (int i = 9; i < kContext; ++i) {
            const char* piece;
            size_t bytes;
            assert_ok(volta_generator_next(loop, &expected[i]));
            assert_ok(volta_tokenizer_decode(tokenizer, expected[i], &piece, &bytes));
            text[i] = *piece;
        }
        struct listener listener = {0};
        volta_write_options writing = write_options(&listener);
        listener.heap = &heap;
        writing.stop_texts = stops;
        writing.stop_text_count = 1 + (size_t)(round % 2);
        assert_ok(volta_generator_start(writer, prompt, 9));
        assert_ok(volta_generator_write(writer, NULL, NULL, &writing, NULL)); /* the model's own tokenizer */
        assert_int_equal(listener.bytes, kContext - 9);
        assert_memory_equal(listener.text, text + 9, kContext - 9);
        assert_memory_equal(listener.tokens, expected + 9, (kContext - 9) * sizeof(int32_t));
        assert_int_equal(listener.first_count, listener.last_count);
        const float *a, *b;
        assert_ok(volta_generator_logits(loop, &a, &elements));
        assert_ok(volta_generator_logits(writer, &b, &elements));
        assert_memory_equal(a, b, elements * sizeof(float));
        assert_fails(volta_generator_next(writer, &token), VOLTA_INVALID_STATE,
                     "the context of 32 tokens is full");
        volta_generator_release(loop);
        volta_generator_release(writer);
        volta_tokenizer_release(tokenizer);
        volta_model_release(model);
        volta_context_release(context);
        assert_int_equal(heap.live_bytes, 0);
    }
}

static void test_what_is_refused(void** state) {
    (void)state;
    const char *const empty[] = {"a", ""}, *const null[] = {NULL}, *const latin1[] = {"caf\xe9!"};
    const int32_t outside[] = {5, 256};
    static char large[65538];
    const char* const too_large[] = {large};
    struct listener listener = {0};
    struct speaker s = speaker_of("abc", 3, 0, 1), other = speaker_of("abc", 3, 0, 1);
    volta_write_options options = write_options(&listener);
    volta_write_result result = {0};
    result.struct_size = sizeof result;
    memset(large, 'a', sizeof large - 1);
#define refused(status, text)                                                                                \
    do {                                                                                                     \
        result.token_count = 7;                                                                              \
        assert_fails(volta_generator_write(s.generator, s.sequence, s.tokenizer, &options, &result), status, \
                     text);                                                                                  \
        assert_int_equal(result.reason, VOLTA_STOP_NONE);                                                    \
        assert_int_equal(result.token_count, 0);                                                             \
        assert_int_equal(result.last_token, -1);                                                             \
        options = write_options(&listener);                                                                  \
    } while (0)
    options.max_tokens = -1;
    refused(VOLTA_INVALID_ARGUMENT, "max_tokens is -1, it must be at least 0");
    options.max_seconds = -2;
    refused(VOLTA_INVALID_ARGUMENT, "max_seconds is -2, it must be a finite number of at least 0");
    options.max_seconds = 1e308 * 10;
    refused(VOLTA_INVALID_ARGUMENT, "max_seconds is inf, it must be a finite number of at least 0");
    options.flags = 6;
    refused(VOLTA_INVALID_ARGUMENT, "flags is 6, which has unknown bits");
    options.stop_token_count = 2;
    refused(VOLTA_INVALID_ARGUMENT, "stop_tokens is NULL");
    options.stop_tokens = outside;
    options.stop_token_count = 2;
    refused(VOLTA_INVALID_ARGUMENT, "stop token 1 is 256, outside the vocabulary of 256");
    options.stop_tokens = outside;
    options.stop_token_count = (size_t)-1;
    refused(VOLTA_INVALID_ARGUMENT, "stop_token_count is 18446744073709551615, at most 65536 are possible");
    options.stop_text_count = 1;
    refused(VOLTA_INVALID_ARGUMENT, "stop_texts is NULL");
    options.stop_texts = empty;
    options.stop_text_count = 1025;
    refused(VOLTA_INVALID_ARGUMENT, "stop_text_count is 1025, at most 1024 are possible");
    options.stop_texts = empty;
    options.stop_text_count = 2;
    refused(VOLTA_INVALID_ARGUMENT, "stop text 1 is empty");
    options.stop_texts = null;
    options.stop_text_count = 1;
    refused(VOLTA_INVALID_ARGUMENT, "stop text 0 is NULL");
    options.stop_texts = latin1;
    options.stop_text_count = 1;
    refused(VOLTA_INVALID_ARGUMENT, "stop text 0 is not UTF-8: byte 0xe9 at offset 3");
    options.stop_texts = too_large;
    options.stop_text_count = 1;
    refused(VOLTA_INVALID_ARGUMENT, "stop text 0 has more than 65536 bytes");
    options.struct_size = 3;
    refused(VOLTA_INVALID_ARGUMENT,
            "volta_write_options.struct_size is 3: set it to sizeof(volta_write_options)");
    assert_fails(volta_generator_write(NULL, s.sequence, s.tokenizer, &options, &result),
                 VOLTA_INVALID_ARGUMENT, "generator is NULL");
    assert_fails(volta_generator_write(s.generator, other.sequence, s.tokenizer, &options, &result),
                 VOLTA_INVALID_ARGUMENT, "the sequence is another generator's");
    assert_fails(volta_generator_write(s.generator, NULL, s.tokenizer, &options, &result),
                 VOLTA_INVALID_STATE, "no sequence has been started");
    assert_fails(volta_generator_write(s.generator, s.sequence, NULL, &options, &result), VOLTA_INVALID_STATE,
                 "the model carries no tokenizer, and none is given");
    result.struct_size = 0;
    assert_int_equal(volta_generator_write(s.generator, s.sequence, s.tokenizer, &options, &result),
                     VOLTA_INVALID_ARGUMENT);
    assert_ok(volta_sequence_rewind(s.sequence, 0));
    result.struct_size = sizeof result;
    refused(VOLTA_INVALID_STATE, "sequence 0 has no tokens to go on from");
    assert_int_equal(listener.pieces, 0);
    end_speaker(&s);
    end_speaker(&other);
}

/* An error within: the result and the sequence have what was written before it. */
static void test_error_within(void** state) {
    (void)state;
    struct listener listener = {0};
    struct speaker s = speaker_of("ab~d", 4, 0, 0);
    volta_tokenizer* ascii;
    char letters[100];
    for (int i = 0; i < 100; ++i) letters[i] = (char)i; /* its ids are their characters; ~ is beyond them */
    assert_ok(volta_tokenizer_create_char(s.context, letters, 100, &ascii));
    volta_write_options options = write_options(&listener);
    volta_write_result result = {0};
    result.struct_size = sizeof result;
    assert_fails(volta_generator_write(s.generator, NULL, ascii, &options, &result), VOLTA_INVALID_ARGUMENT,
                 "token id 126 is outside the vocabulary [0, 100)");
    assert_int_equal(result.reason, VOLTA_STOP_NONE);
    assert_int_equal(result.token_count, 3);
    check_text(&listener, "ab");
    volta_tokenizer_release(ascii);
    end_speaker(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stop_texts),
        cmocka_unit_test(test_when_text_comes),
        cmocka_unit_test(test_stop_tokens),
        cmocka_unit_test(test_end_of_text),
        cmocka_unit_test(test_context_full),
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_cancel_any_time),
        cmocka_unit_test(test_callback_stops),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_same_tokens_as_a_loop),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_error_within),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
