/* The whole life cycle of a small GPT in plain C: define, train, save, load in a fresh context, generate.
 *   train_gpt TEXT OUT.volta [STEPS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <volta.h>

/* Every call returns a status; on failure this prints the library's own sentence and ends the example. */
#define CHECK(call)                                                            \
    do {                                                                       \
        if ((call) != VOLTA_OK) {                                              \
            fprintf(stderr, "train_gpt: %s: %s\n", #call, volta_last_error()); \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

static char* read_file(const char* path, size_t* bytes) {
    FILE* file = fopen(path, "rb");
    char* text = NULL;
    size_t capacity = 0, count;
    *bytes = 0;
    if (file == NULL) return NULL;
    do {
        capacity = capacity * 2 + 65536;
        char* grown = realloc(text, capacity);
        if (grown == NULL) break;
        text = grown;
        count = fread(text + *bytes, 1, capacity - *bytes, file);
        *bytes += count;
    } while (*bytes == capacity);
    fclose(file);
    return text;
}

static void train(const char* text, size_t bytes, const char* path, int steps) {
    volta_context* context;
    volta_tokenizer* tokenizer;
    volta_model* model;
    volta_trainer* trainer;
    CHECK(volta_context_create(NULL, &context)); /* all cores, the best instruction set */

    CHECK(volta_tokenizer_create_char(context, text, bytes, &tokenizer));
    size_t count;
    CHECK(volta_tokenizer_encode(tokenizer, text, bytes, NULL, 0, &count));
    int32_t* tokens = malloc(count * sizeof *tokens);
    if (tokens == NULL) exit(1);
    CHECK(volta_tokenizer_encode(tokenizer, text, bytes, tokens, count, &count));

    volta_gpt_options gpt = VOLTA_GPT_OPTIONS_INIT;
    gpt.vocabulary = volta_tokenizer_size(tokenizer);
    gpt.layers = 2;
    gpt.dim = 64;
    gpt.heads = 4;
    gpt.context = 32;
    CHECK(volta_model_create_gpt(context, &gpt, 1, &model));
    CHECK(volta_model_set_tokenizer(model, tokenizer));

    const int64_t batch[] = {8, 32}; /* 8 sequences of 32 tokens */
    volta_trainer_options options = VOLTA_TRAINER_OPTIONS_INIT;
    options.input_shapes = batch;
    options.input_extent_count = 2;
    options.steps = (uint64_t)steps;
    options.schedule = VOLTA_SCHEDULE_COSINE;
    options.learning_rate = 3e-3;
    options.weight_decay = 0.1;
    options.clip_norm = 1.0;
    options.seed = 1;
    CHECK(volta_trainer_create(model, &options, &trainer));
    CHECK(volta_trainer_set_tokens(trainer, tokens, count));
    for (int step = 0; step < steps; ++step) {
        volta_step_report report = VOLTA_STEP_REPORT_INIT;
        CHECK(volta_trainer_step_tokens(trainer, &report));
        if (step % 50 == 0 || step + 1 == steps)
            fprintf(stderr, "step %d loss %.4f\n", step + 1, (double)report.loss);
    }
    CHECK(volta_trainer_save(trainer, path)); /* the model and everything to go on from here */
    char hash[33];
    CHECK(volta_trainer_hash(trainer, hash));
    printf("hash %s\n", hash);

    free(tokens);
    volta_trainer_release(trainer);
    volta_model_release(model);
    volta_tokenizer_release(tokenizer);
    volta_context_release(context);
}

/* Text as it comes, in whole characters. */
static int32_t show(void* user, const char* text, size_t bytes, int32_t token) {
    (void)user, (void)token;
    return fwrite(text, 1, bytes, stdout) != bytes; /* not 0 stops the writing */
}

static void generate(const char* path, const char* prompt, size_t prompt_bytes) {
    volta_context* context;
    volta_model* model;
    volta_tokenizer* tokenizer;
    volta_generator* generator;
    CHECK(volta_context_create(NULL, &context));
    CHECK(volta_model_open(context, path, NULL, &model)); /* mapped: opens in milliseconds */
    CHECK(volta_model_get_tokenizer(model, &tokenizer));

    int32_t ids[32];
    size_t count;
    CHECK(volta_tokenizer_encode(tokenizer, prompt, prompt_bytes, ids, 32, &count));
    volta_generator_options options = VOLTA_GENERATOR_OPTIONS_INIT;
    options.temperature = 0.8;
    options.seed = 1;
    CHECK(volta_generator_create(model, &options, &generator));
    CHECK(volta_generator_start(generator, ids, count));
    fwrite(prompt, 1, prompt_bytes, stdout);
    volta_write_options writing = VOLTA_WRITE_OPTIONS_INIT; /* all defaults: until the context is full */
    writing.on_text = show;
    CHECK(volta_generator_write(generator, NULL, tokenizer, &writing, NULL));
    putchar('\n');

    volta_generator_release(generator);
    volta_tokenizer_release(tokenizer);
    volta_model_release(model);
    volta_context_release(context);
}

int main(int argc, char** argv) {
    if (argc < 3 || argc > 4) return fprintf(stderr, "usage: train_gpt TEXT OUT.volta [STEPS]\n"), 2;
    size_t bytes;
    char* text = read_file(argv[1], &bytes);
    if (text == NULL || bytes == 0) return fprintf(stderr, "train_gpt: cannot read %s\n", argv[1]), 1;
    train(text, bytes, argv[2], argc == 4 ? atoi(argv[3]) : 200);
    generate(argv[2], text, 4);
    free(text);
    return 0;
}
