/* A program of C outside of Volta's tree: a model trains, and its hash is printed. */
#include <stdio.h>
#include <volta.h>

static int check(volta_status status, const char* what) {
    if (status == VOLTA_OK) return 0;
    fprintf(stderr, "%s: %s\n", what, volta_last_error());
    return 1;
}

int main(void) {
    volta_context* context = NULL;
    volta_model* model = NULL;
    volta_trainer* trainer = NULL;
    volta_gpt_options gpt = VOLTA_GPT_OPTIONS_INIT;
    volta_trainer_options options = VOLTA_TRAINER_OPTIONS_INIT;
    const int64_t shape[] = {2, 8};
    int32_t tokens[64];
    char hash[33];
    int i, failed;

    for (i = 0; i < 64; ++i) tokens[i] = i % 7;
    gpt.vocabulary = 8, gpt.layers = 1, gpt.dim = 16, gpt.heads = 2, gpt.context = 8;
    options.input_shapes = shape, options.input_extent_count = 2;
    failed = check(volta_context_create(NULL, &context), "context") ||
             check(volta_model_create_gpt(context, &gpt, 1, &model), "model") ||
             check(volta_trainer_create(model, &options, &trainer), "trainer") ||
             check(volta_trainer_set_tokens(trainer, tokens, 64), "tokens");
    for (i = 0; !failed && i < 10; ++i) failed = check(volta_trainer_step_tokens(trainer, NULL), "step");
    failed = failed || check(volta_trainer_hash(trainer, hash), "hash");
    if (!failed) printf("volta %s hash %s\n", volta_version(), hash);
    volta_trainer_release(trainer);
    volta_model_release(model);
    volta_context_release(context);
    return failed;
}
