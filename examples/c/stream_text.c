/* Text as it is written, until a sentence is complete, the time is over, or Ctrl-C asks for an end.
 *   stream_text MODEL.volta PROMPT
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <volta.h>

#define CHECK(call)                                                              \
    do {                                                                         \
        if ((call) != VOLTA_OK) {                                                \
            fprintf(stderr, "stream_text: %s: %s\n", #call, volta_last_error()); \
            exit(1);                                                             \
        }                                                                        \
    } while (0)

static volta_cancel cancel = VOLTA_CANCEL_INIT;

static void stop(int signal) {
    (void)signal;
    volta_cancel_request(&cancel); /* the one call that a signal handler may make */
}

/* Whole characters, as soon as it is sure that no stop text begins with them. */
static int32_t show(void* user, const char* text, size_t bytes, int32_t token) {
    FILE* out = user;
    (void)token;
    return fwrite(text, 1, bytes, out) != bytes ||
           fflush(out) != 0; /* not 0 ends the text: nobody reads on */
}

int main(int argc, char** argv) {
    if (argc != 3) return fprintf(stderr, "usage: stream_text MODEL.volta PROMPT\n"), 2;
    volta_context* context;
    volta_model* model;
    volta_tokenizer* tokenizer;
    CHECK(volta_context_create(NULL, &context));
    CHECK(volta_model_open(context, argv[1], NULL, &model));
    CHECK(volta_model_get_tokenizer(model, &tokenizer));
    if (tokenizer == NULL) return fprintf(stderr, "stream_text: %s has no tokenizer\n", argv[1]), 1;

    size_t count;
    CHECK(volta_tokenizer_encode(tokenizer, argv[2], strlen(argv[2]), NULL, 0, &count));
    int32_t* prompt = malloc((count + 1) * sizeof *prompt);
    if (prompt == NULL) return fprintf(stderr, "stream_text: out of memory\n"), 1;
    CHECK(volta_tokenizer_encode(tokenizer, argv[2], strlen(argv[2]), prompt, count, &count));

    volta_generator* generator;
    volta_generator_options sampling = VOLTA_GENERATOR_OPTIONS_INIT;
    sampling.temperature = 0.8;
    sampling.top_p = 0.95;
    sampling.seed = 1;
    CHECK(volta_generator_create(model, &sampling, &generator));
    CHECK(volta_generator_start(generator, prompt, count));

    const char* const ends[] = {". ", ".\n"};
    volta_write_options writing = VOLTA_WRITE_OPTIONS_INIT;
    writing.stop_texts = ends;
    writing.stop_text_count = 2;
    writing.max_tokens = 200;
    writing.max_seconds = 10;
    writing.cancel = &cancel;
    writing.on_text = show;
    writing.user = stdout;
    volta_write_result result = VOLTA_WRITE_RESULT_INIT;
    signal(SIGINT, stop);
    printf("%s", argv[2]);
    CHECK(volta_generator_write(generator, NULL, NULL, &writing, &result));

    static const char* const reasons[] = {"nothing",         "a stop token", "the end of the text",
                                          "a stop text",     "max_tokens",   "the context is full",
                                          "nobody reads on", "Ctrl-C",       "the time is over"};
    printf("\n%lld tokens, ended by: %s\n", (long long)result.token_count, reasons[result.reason]);

    free(prompt);
    volta_generator_release(generator);
    volta_tokenizer_release(tokenizer);
    volta_model_release(model);
    volta_context_release(context);
    return 0;
}
