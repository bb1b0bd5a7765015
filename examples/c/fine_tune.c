/* Fine-tuning: weights of another program are imported, evaluated, trained further on a text, quantized and
 * given back.
 *   fine_tune WEIGHTS.safetensors TEXT OUT [STEPS]
 * writes OUT.volta, OUT.int8.volta and OUT.safetensors with OUT.json, which Hugging Face's GPT-2 reads. A
 * config.json lies beside the weights, and a tokenizer.json too, unless tokens are bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <volta.h>

#define CHECK(call)                                                            \
    do {                                                                       \
        if ((call) != VOLTA_OK) {                                              \
            fprintf(stderr, "fine_tune: %s: %s\n", #call, volta_last_error()); \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

static char* read_file(const char* path, size_t* bytes) {
    FILE* file = fopen(path, "rb");
    char* text = NULL;
    long size = 0;
    if (file != NULL && fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) > 0 &&
        fseek(file, 0, SEEK_SET) == 0)
        text = malloc((size_t)size);
    if (text == NULL || fread(text, 1, (size_t)size, file) != (size_t)size)
        fprintf(stderr, "fine_tune: cannot read %s\n", path), exit(1);
    fclose(file);
    *bytes = (size_t)size;
    return text;
}

static const char* named(char* room, size_t bytes, const char* stem, const char* end) {
    if ((size_t)snprintf(room, bytes, "%s%s", stem, end) >= bytes)
        fprintf(stderr, "fine_tune: the name is too long\n"), exit(1);
    return room;
}

int main(int argc, char** argv) {
    if (argc < 4 || argc > 5)
        return fprintf(stderr, "usage: fine_tune WEIGHTS.safetensors TEXT OUT [STEPS]\n"), 2;
    const int steps = argc == 5 ? atoi(argv[4]) : 100;
    char name[1024], other[1024];
    volta_context* context;
    volta_model *model, *small;
    volta_tokenizer* tokenizer;
    CHECK(volta_context_create(NULL, &context));

    /* 1. Import: architecture and sizes are what config.json says; weights become f32, exactly. */
    CHECK(volta_model_import(context, argv[1], NULL, &model));
    CHECK(volta_model_get_tokenizer(model, &tokenizer));
    if (tokenizer == NULL) {
        CHECK(volta_tokenizer_create_byte(context, &tokenizer));
        CHECK(volta_model_set_tokenizer(model, tokenizer));
    }

    /* 2. Data: nine tenths are trained on, one is kept to say whether that helped. */
    size_t bytes, count;
    char* text = read_file(argv[2], &bytes);
    CHECK(volta_tokenizer_encode(tokenizer, text, bytes, NULL, 0, &count));
    int32_t* tokens = malloc(count * sizeof *tokens);
    if (tokens == NULL) return fprintf(stderr, "fine_tune: out of memory\n"), 1;
    CHECK(volta_tokenizer_encode(tokenizer, text, bytes, tokens, count, &count));
    const size_t train = count * 9 / 10;
    double before, after, quantized;
    CHECK(volta_model_evaluate_tokens(model, tokens + train, count - train, &before));

    /* 3. Train: what the tables of tokens and positions hold stays; the rest moves slowly. */
    volta_trainer* trainer;
    const int64_t batch[] = {8, 32};
    const char* const frozen[] = {"*embedding*"};
    volta_trainer_options options = VOLTA_TRAINER_OPTIONS_INIT;
    options.input_shapes = batch;
    options.input_extent_count = 2;
    options.steps = (uint64_t)steps;
    options.schedule = VOLTA_SCHEDULE_COSINE;
    options.warmup_steps = (uint64_t)steps / 10;
    options.learning_rate = 1e-3;
    options.clip_norm = 1;
    options.frozen = frozen;
    options.frozen_count = 1;
    CHECK(volta_trainer_create(model, &options, &trainer));
    CHECK(volta_trainer_set_tokens(trainer, tokens, train));
    for (int step = 0; step < steps; ++step) CHECK(volta_trainer_step_tokens(trainer, NULL));
    CHECK(volta_trainer_update_model(trainer));
    volta_trainer_release(trainer);

    /* 4. Evaluate. */
    CHECK(volta_model_evaluate_tokens(model, tokens + train, count - train, &after));
    CHECK(volta_model_save(model, named(name, sizeof name, argv[3], ".volta")));

    /* 5. Quantize: a model of its own, a quarter of the size. */
    CHECK(volta_model_quantize(model, VOLTA_INT8, &small));
    CHECK(volta_model_evaluate_tokens(small, tokens + train, count - train, &quantized));
    CHECK(volta_model_save(small, named(name, sizeof name, argv[3], ".int8.volta")));
    printf("loss on the last tenth: %.4f imported, %.4f fine-tuned, %.4f in int8\n", before, after,
           quantized);

    /* 6. Export, under the names that the weights came with. */
    volta_export_options names = VOLTA_EXPORT_OPTIONS_INIT;
    names.names = VOLTA_NAMES_HUGGING_FACE;
    names.config_path = named(other, sizeof other, argv[3], ".json");
    CHECK(volta_model_export_safetensors_with(model, &names,
                                              named(name, sizeof name, argv[3], ".safetensors")));
    char hash[33];
    CHECK(volta_model_hash(model, hash));
    printf("hash %s\n", hash);

    free(tokens);
    free(text);
    volta_model_release(small);
    volta_model_release(model);
    volta_tokenizer_release(tokenizer);
    volta_context_release(context);
    return after < before && quantized < before ? 0 : 1;
}
