/* Many texts at once: sequences of one generator share every run of the model, each with its own prompt and
 * seed, and each gets the tokens that it would get alone.
 *   many_texts MODEL.volta PROMPT...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <volta.h>

#define CHECK(call)                                                             \
    do {                                                                        \
        if ((call) != VOLTA_OK) {                                               \
            fprintf(stderr, "many_texts: %s: %s\n", #call, volta_last_error()); \
            exit(1);                                                            \
        }                                                                       \
    } while (0)

enum { kMost = 8, kTokens = 12, kMostPrompt = 256 };

int main(int argc, char** argv) {
    if (argc < 3 || argc > 2 + kMost)
        return fprintf(stderr, "usage: many_texts MODEL.volta PROMPT... (1 to 8)\n"), 2;
    const size_t count = (size_t)argc - 2;
    volta_context* context;
    volta_model* model;
    volta_tokenizer* tokenizer;
    volta_generator* generator;
    CHECK(volta_context_create(NULL, &context));
    CHECK(volta_model_open(context, argv[1], NULL, &model));
    CHECK(volta_model_get_tokenizer(model, &tokenizer));
    if (tokenizer == NULL) return fprintf(stderr, "many_texts: %s has no tokenizer\n", argv[1]), 1;
    volta_generator_options options = VOLTA_GENERATOR_OPTIONS_INIT;
    options.sequences = (int64_t)count + 1;
    options.temperature = 0.8;
    CHECK(volta_generator_create(model, &options, &generator));

    volta_sequence* sequences[kMost];
    volta_sampling_options sampling = VOLTA_SAMPLING_OPTIONS_INIT;
    int32_t ids[kMostPrompt], next[kMost], first[kTokens];
    size_t length, of_first = 0;
    sampling.temperature = 0.8;
    for (size_t i = 0; i < count; ++i) {
        const char* prompt = argv[2 + i];
        sampling.seed = i + 1;
        CHECK(volta_tokenizer_encode(tokenizer, prompt, strlen(prompt), ids, kMostPrompt, &length));
        if (length == 0 || length > kMostPrompt)
            return fprintf(stderr, "many_texts: a prompt has %zu tokens\n", length), 1;
        CHECK(volta_sequence_create(generator, &sampling, &sequences[i]));
        CHECK(volta_sequence_append(sequences[i], ids, length));
        if (i == 0) of_first = length;
    }
    for (int step = 0; step < kTokens; ++step) { /* a token for each of them */
        CHECK(volta_generator_step(generator, sequences, count, next));
        first[step] = next[0];
    }
    for (size_t i = 0; i < count; ++i) {
        const int32_t *tokens, *end;
        CHECK(volta_sequence_tokens(sequences[i], &tokens, &length));
        int32_t before = -1;
        for (end = tokens + length; tokens < end; before = *tokens++) {
            const char* piece;
            size_t bytes;
            CHECK(volta_tokenizer_decode_after(tokenizer, before, *tokens, &piece, &bytes));
            fwrite(piece, 1, bytes, stdout);
        }
        printf("\n----\n");
    }

    /* The first one alone. */
    volta_sequence* alone;
    int same = 1;
    sampling.seed = 1;
    CHECK(volta_tokenizer_encode(tokenizer, argv[2], strlen(argv[2]), ids, kMostPrompt, &length));
    CHECK(volta_sequence_create(generator, &sampling, &alone));
    CHECK(volta_sequence_append(alone, ids, of_first));
    for (int step = 0; step < kTokens; ++step) {
        CHECK(volta_generator_step(generator, &alone, 1, next));
        same &= next[0] == first[step];
    }
    printf("alone the first text has %s tokens\n", same ? "the same" : "other");

    volta_sequence_release(alone);
    for (size_t i = 0; i < count; ++i) volta_sequence_release(sequences[i]);
    volta_generator_release(generator);
    volta_tokenizer_release(tokenizer);
    volta_model_release(model);
    volta_context_release(context);
    return same ? 0 : 1;
}
