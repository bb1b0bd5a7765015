#include <stdio.h>
#include <stdlib.h>
#include <volta.h>
/* in main */
volta_context* context;
volta_model* model;
volta_trainer* trainer;
static int32_t tokens[4096];
for (int i = 0; i < 4096; ++i) tokens[i] = "In the beginning was the word. "[i % 31];
const int64_t shape[] = {4, 32};
volta_gpt_options gpt = VOLTA_GPT_OPTIONS_INIT;
gpt.vocabulary = 256, gpt.layers = 1, gpt.dim = 32, gpt.heads = 2, gpt.context = 32;
volta_trainer_options training = VOLTA_TRAINER_OPTIONS_INIT;
training.input_shapes = shape, training.input_extent_count = 2;
if (volta_context_create(NULL, &context) != VOLTA_OK ||
    volta_model_create_gpt(context, &gpt, 1, &model) != VOLTA_OK ||
    volta_trainer_create(model, &training, &trainer) != VOLTA_OK ||
    volta_trainer_set_tokens(trainer, tokens, 4096) != VOLTA_OK)
    return 1;
