/* Training that is interrupted: half of the steps, a checkpoint, and the rest in another process give the
 * bits of all steps in one. Run it twice: the first call ends half-way, the second goes on.
 *   resume TEXT CHECKPOINT.volta STEPS [END]    END: the step to end at now
 */
#include <stdio.h>
#include <stdlib.h>
#include <volta.h>

#define CHECK(call)                                                         \
    do {                                                                    \
        if ((call) != VOLTA_OK) {                                           \
            fprintf(stderr, "resume: %s: %s\n", #call, volta_last_error()); \
            exit(1);                                                        \
        }                                                                   \
    } while (0)

enum { kMostBytes = 1 << 20 };

int main(int argc, char** argv) {
    if (argc < 4 || argc > 5 || atoi(argv[3]) < 2)
        return fprintf(stderr, "usage: resume TEXT CHECKPOINT.volta STEPS [END]\n"), 2;
    static char text[kMostBytes];
    static int32_t tokens[kMostBytes];
    FILE* file = fopen(argv[1], "rb");
    const size_t bytes = file != NULL ? fread(text, 1, sizeof text, file) : 0;
    if (bytes == 0) return fprintf(stderr, "resume: cannot read %s\n", argv[1]), 1;
    fclose(file);
    for (size_t i = 0; i < bytes; ++i) tokens[i] = (unsigned char)text[i]; /* a token is a byte */

    volta_context* context;
    volta_model* model;
    volta_trainer* trainer;
    const uint64_t steps = (uint64_t)atoi(argv[3]);
    uint64_t end = steps;
    CHECK(volta_context_create(NULL, &context));
    if (volta_model_open(context, argv[2], NULL, &model) == VOLTA_OK) {
        /* A checkpoint has all of it: moments, seed, step, place in the data, options. */
        CHECK(volta_trainer_resume(model, NULL, &trainer));
    } else {
        volta_gpt_options gpt = VOLTA_GPT_OPTIONS_INIT;
        gpt.vocabulary = 256, gpt.layers = 2, gpt.dim = 32, gpt.heads = 2, gpt.context = 32,
        gpt.dropout = 0.1;
        CHECK(volta_model_create_gpt(context, &gpt, 1, &model));
        const int64_t batch[] = {4, 32};
        volta_trainer_options options = VOLTA_TRAINER_OPTIONS_INIT;
        options.input_shapes = batch;
        options.input_extent_count = 2;
        options.steps = steps;
        options.schedule = VOLTA_SCHEDULE_COSINE;
        options.seed = 7;
        CHECK(volta_trainer_create(model, &options, &trainer));
        end = steps / 2;
    }
    if (argc == 5) end = (uint64_t)atoi(argv[4]);
    CHECK(volta_trainer_set_tokens(trainer, tokens, bytes));
    while (volta_trainer_current_step(trainer) < end) CHECK(volta_trainer_step_tokens(trainer, NULL));
    CHECK(volta_trainer_save(trainer, argv[2]));
    char hash[33];
    CHECK(volta_trainer_hash(trainer, hash));
    printf("step %llu hash %s\n", (unsigned long long)volta_trainer_current_step(trainer), hash);

    volta_trainer_release(trainer);
    volta_model_release(model);
    volta_context_release(context);
    return 0;
}
