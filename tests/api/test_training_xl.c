/* GPT-2 XL, 1.56 billion parameters, trains where its step of 26 GB does not fit: weights once, one gradient
 * at a time, moments in a mapped file, activations of a block. Minutes; skipped where memory or disk are too
 * small. */
#include <math.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "tests/api/api_test.h"

enum { kLayers = 48, kWidth = 1600, kHeads = 25, kWords = 50257, kLength = 64, kSteps = 3 };
#define GIB ((uint64_t)1 << 30)
static const uint64_t kLimit = 16 * GIB, kDisk = 14 * GIB;
static const char* const kFolder = "/var/tmp";

static int lacks_room(void) {
    struct statvfs disk;
    const uint64_t pages = (uint64_t)sysconf(_SC_AVPHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    if (pages < kLimit - GIB)
        print_message("%llu bytes of memory are free: too few\n", (unsigned long long)pages);
    if (pages < kLimit - GIB) return 1;
    if (statvfs(kFolder, &disk) != 0 || (uint64_t)disk.f_bavail * disk.f_frsize < kDisk) {
        print_message("%s has less than %llu bytes free\n", kFolder, (unsigned long long)kDisk);
        return 1;
    }
    return 0;
}

static void test_gpt2_xl_in_16_gib(void** state) {
    (void)state;
    static int32_t tokens[kLength + 1];
    const int64_t shape[] = {1, kLength};
    struct counting_heap heap = {0};
    volta_context* context;
    volta_model* model;
    volta_trainer* trainer;
    volta_tensor *input, *targets;
    volta_bill bill = VOLTA_BILL_INIT, whole = VOLTA_BILL_INIT;
    volta_training_cost cost = VOLTA_TRAINING_COST_INIT;
    volta_step_report report = VOLTA_STEP_REPORT_INIT;
    volta_gpt_options gpt = VOLTA_GPT_OPTIONS_INIT;
    volta_trainer_options options = small_trainer_options(shape);
    if (lacks_room()) skip();
    gpt.vocabulary = kWords, gpt.layers = kLayers, gpt.dim = kWidth, gpt.heads = kHeads, gpt.context = 1024;
    options.clip_norm = 0, options.learning_rate = 1e-5, options.warmup_steps = 0;
    assert_ok(context_on(&heap, 2, 0, 0, &context));
    assert_ok(volta_model_create_gpt(context, &gpt, 7, &model));
    assert_ok(volta_trainer_estimate(model, &options, NULL, &whole, NULL));
    assert_true(whole.total > 23 * GIB);

    options.update_in_backward = 1; /* a gradient then lies among the activations */
    options.state_folder = kFolder;
    assert_ok(volta_trainer_estimate(model, &options, NULL, NULL, &cost));
    options.activation_budget = cost.smallest_activations;
    assert_ok(volta_trainer_create(model, &options, &trainer));
    volta_model_release(model);
    assert_ok(volta_trainer_get_bill(trainer, &bill));
    assert_true(bill.total < 7 * GIB);

    for (int i = 0; i <= kLength; ++i) tokens[i] = i * 7919 % kWords;
    assert_ok(volta_tensor_wrap(context, VOLTA_I32, shape, 2, tokens, &input));
    assert_ok(volta_tensor_wrap(context, VOLTA_I32, shape, 2, tokens + 1, &targets));
    const volta_tensor* given[] = {input};
    float before = INFINITY;
    for (int step = 0; step < kSteps; ++step) {
        assert_ok(volta_trainer_step(trainer, given, 1, targets, &report));
        print_message("step %d: loss %.4f\n", step + 1, (double)report.loss);
        assert_true(report.loss < before);
        before = report.loss;
    }
    print_message("%.2f GiB at most, the fastest plan alone needs %.2f GiB\n",
                  (double)heap.tensor_peak / (double)GIB, (double)whole.total / (double)GIB);
    assert_true(heap.tensor_peak < kLimit);
    volta_tensor_release(input);
    volta_tensor_release(targets);
    volta_trainer_release(trainer);
    volta_context_release(context);
    assert_int_equal(heap.live_bytes, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gpt2_xl_in_16_gib)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
