/* What the tests of the profiler share. */
#ifndef VOLTA_TESTS_PROFILE_TEST_H
#define VOLTA_TESTS_PROFILE_TEST_H

#include "tests/api/api_test.h"

enum { kBatch = 2, kTokens = 2000 };

static volta_profile_info info_of(volta_context* context) {
    volta_profile_info info = {0};
    info.struct_size = sizeof info;
    assert_ok(volta_profile_get_info(context, &info));
    return info;
}

static volta_profile_event event_of(volta_context* context, size_t index) {
    volta_profile_event event = {0};
    event.struct_size = sizeof event;
    assert_ok(volta_profile_get_event(context, index, &event));
    return event;
}

static volta_profile_operator operator_of(volta_context* context, size_t index) {
    volta_profile_operator row = {0};
    row.struct_size = sizeof row;
    assert_ok(volta_profile_get_operator(context, index, &row));
    return row;
}

static volta_trainer* new_trainer(volta_context* context, uint64_t micro_batches) {
    static int32_t tokens[kTokens];
    const int64_t extents[] = {kBatch, kContext};
    volta_trainer_options training = small_trainer_options(extents);
    volta_model* model = NULL;
    volta_trainer* trainer = NULL;
    fill_tokens(tokens, kTokens);
    training.micro_batches = micro_batches;
    assert_ok(small_gpt(context, 0.1, &model));
    assert_ok(volta_trainer_create(model, &training, &trainer));
    assert_ok(volta_trainer_set_tokens(trainer, tokens, kTokens));
    volta_model_release(model);
    return trainer;
}

static void train(volta_trainer* trainer, int steps) {
    int step;
    for (step = 0; step < steps; ++step) assert_ok(volta_trainer_step_tokens(trainer, NULL));
}

#endif
