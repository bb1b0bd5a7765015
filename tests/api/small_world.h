/* One of everything that computes, made from a context, and what it gives: the same answers whatever the
 * threads, the executor, the process and its surroundings. */
#ifndef VOLTA_TESTS_SMALL_WORLD_H
#define VOLTA_TESTS_SMALL_WORLD_H

#include "tests/api/api_test.h"

enum { kWorldSteps = 3, kWorldTokens = 8 };

struct world {
    volta_context* context;
    volta_model* model;
    volta_session* session;
    volta_trainer* trainer;
    volta_generator* generator;
    volta_tensor *in, *out;
    int32_t stream[400];
};

/* What computing with a world gives. */
struct answers {
    float logits[kContext * kVocabulary];
    char hash[33];
    int32_t tokens[kWorldTokens];
    volta_status status;
};

/* dim: 64, a model of small_gpt; wider ones have work for several threads. */
static volta_status try_world(struct world* w, const volta_context_options* context, int64_t dim,
                              uint64_t micro_batches) {
    const int64_t shape[] = {2, kContext}, one[] = {1, kContext}, out[] = {1, kContext, kVocabulary};
    volta_trainer_options options = small_trainer_options(shape);
    volta_session_options session = {0};
    volta_gpt_options gpt = {0};
    volta_status status;
    memset(w, 0, sizeof *w);
    session.struct_size = sizeof session;
    session.input_shapes = one;
    session.input_extent_count = 2;
    options.micro_batches = micro_batches;
    gpt.struct_size = sizeof gpt;
    gpt.vocabulary = kVocabulary;
    gpt.layers = 2;
    gpt.dim = dim;
    gpt.heads = 4;
    gpt.context = kContext;
    fill_tokens(w->stream, 400);
    status = volta_context_create(context, &w->context);
    if (status == VOLTA_OK) status = volta_model_create_gpt(w->context, &gpt, 7, &w->model);
    if (status == VOLTA_OK) status = volta_session_create(w->model, &session, &w->session);
    if (status == VOLTA_OK) status = volta_trainer_create(w->model, &options, &w->trainer);
    if (status == VOLTA_OK) status = volta_trainer_set_tokens(w->trainer, w->stream, 400);
    if (status == VOLTA_OK) status = volta_generator_create(w->model, NULL, &w->generator);
    if (status == VOLTA_OK) status = volta_generator_start(w->generator, w->stream, 4);
    if (status == VOLTA_OK) status = volta_tensor_wrap(w->context, VOLTA_I32, one, 2, w->stream, &w->in);
    if (status == VOLTA_OK) status = volta_tensor_create(w->context, VOLTA_F32, out, 3, &w->out);
    return status;
}

static void make_world(struct world* w, uint32_t threads) {
    volta_context_options options = {0};
    options.struct_size = sizeof options;
    options.thread_count = threads;
    assert_ok(try_world(w, &options, 64, 1));
}

static void compute(struct world* w, struct answers* a) {
    const volta_tensor* in = w->in;
    int i;
    memset(a, 0, sizeof *a);
    a->status = volta_session_run(w->session, &in, 1, &w->out, 1);
    memcpy(a->logits, volta_tensor_data(w->out), sizeof a->logits);
    for (i = 0; i < kWorldSteps && a->status == VOLTA_OK; ++i)
        a->status = volta_trainer_step_tokens(w->trainer, NULL);
    if (a->status == VOLTA_OK) a->status = volta_trainer_hash(w->trainer, a->hash);
    for (i = 0; i < kWorldTokens && a->status == VOLTA_OK; ++i)
        a->status = volta_generator_next(w->generator, &a->tokens[i]);
}

/* Objects in one order or the other: the context first, or last. */
static void release(struct world* w, int context_first) {
    if (context_first) volta_context_release(w->context);
    volta_tensor_release(w->in);
    volta_tensor_release(w->out);
    volta_generator_release(w->generator);
    volta_trainer_release(w->trainer);
    volta_session_release(w->session);
    volta_model_release(w->model);
    if (!context_first) volta_context_release(w->context);
}

#endif
