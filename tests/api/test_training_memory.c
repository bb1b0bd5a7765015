/* Memory by choice: what a trainer does to need less of it, and that no bit depends on it. */
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/api/api_test.h"

enum { kBatch = 4, kSteps = 3, kSide = 32, kClasses = 10, kHash = 33 };

/* ---- Subjects ---- */

typedef struct subject {
    const char* name;
    volta_model* (*make)(volta_context* context);
    int64_t shape[4];
    int rank;
} subject;

static volta_model* gpt_with_dropout(volta_context* context) {
    volta_model* model;
    assert_ok(small_gpt(context, 0.2, &model));
    return model;
}
static volta_model* llama(volta_context* context) {
    volta_model* model;
    assert_ok(small_llama(context, 1, &model));
    return model;
}
static volta_model* network(volta_context* context, const char* name) {
    volta_network_options options = VOLTA_NETWORK_OPTIONS_INIT;
    volta_model* model;
    options.name = name;
    options.classes = kClasses;
    options.stem = VOLTA_STEM_SMALL;
    assert_ok(volta_model_create_network(context, &options, 7, &model));
    return model;
}
static volta_model* resnet(volta_context* context) { return network(context, "resnet20"); }

static const subject kSubjects[] = {
    {"a GPT with dropout", gpt_with_dropout, {kBatch, kContext}, 2},
    {"a Llama", llama, {kBatch, kContext}, 2},
    {"a ResNet-20 with batch norm", resnet, {kBatch, 3, kSide, kSide}, 4},
};
enum { kSubjectCount = sizeof kSubjects / sizeof *kSubjects };

static volta_trainer_options options_of(const subject* of) {
    volta_trainer_options options = small_trainer_options(of->shape);
    options.input_extent_count = (size_t)of->rank;
    return options;
}

static void make_step(volta_context* context, const subject* of, volta_trainer* trainer,
                      int64_t micro_batches, int step) {
    static float pixels[2 * kBatch * 3 * kSide * kSide];
    static int32_t tokens[2 * kBatch * kContext + 1];
    int64_t shape[4];
    volta_tensor *input, *targets;
    memcpy(shape, of->shape, sizeof shape);
    shape[0] *= micro_batches;
    if (of->rank == 2) {
        fill_tokens(tokens, sizeof tokens / sizeof *tokens);
        assert_ok(volta_tensor_wrap(context, VOLTA_I32, shape, 2, tokens, &input));
        assert_ok(volta_tensor_wrap(context, VOLTA_I32, shape, 2, tokens + 1, &targets));
    } else {
        for (int i = 0; i < 2 * kBatch * 3 * kSide * kSide; ++i)
            pixels[i] = (float)((i * 7919 + step * 104729) % 1009) / 1009.0f - 0.5f;
        fill_tokens(tokens, kBatch);
        for (int i = 0; i < 2 * kBatch; ++i) tokens[i] = (i + step) % kClasses;
        assert_ok(volta_tensor_wrap(context, VOLTA_F32, shape, 4, pixels, &input));
        assert_ok(volta_tensor_wrap(context, VOLTA_I32, shape, 1, tokens, &targets));
    }
    const volta_tensor* given[] = {input};
    assert_ok(volta_trainer_step(trainer, given, 1, targets, NULL));
    volta_tensor_release(input);
    volta_tensor_release(targets);
}

/* The hash after some steps, and the bill. */
static void train(volta_context* context, const subject* of, const volta_trainer_options* options, char* hash,
                  volta_bill* bill) {
    volta_model* const model = of->make(context);
    volta_trainer* trainer;
    assert_ok(volta_trainer_create(model, options, &trainer));
    volta_model_release(model);
    for (int step = 0; step < kSteps; ++step)
        make_step(context, of, trainer, options->micro_batches == 0 ? 1 : (int64_t)options->micro_batches,
                  step);
    assert_ok(volta_trainer_hash(trainer, hash));
    if (bill != NULL) assert_ok(volta_trainer_get_bill(trainer, bill));
    volta_trainer_release(trainer);
}

static void estimate(volta_context* context, const subject* of, const volta_trainer_options* options,
                     volta_bill* bill, volta_training_cost* cost) {
    volta_model* const model = of->make(context);
    assert_ok(volta_trainer_estimate(model, options, NULL, bill, cost));
    volta_model_release(model);
}

/* ---- Activations ---- */

static void check_budgets(volta_context* context, const subject* of, uint64_t micro_batches) {
    char whole[kHash], cut[kHash];
    volta_bill fastest = VOLTA_BILL_INIT, bill = VOLTA_BILL_INIT, planned = VOLTA_BILL_INIT;
    volta_training_cost cost = VOLTA_TRAINING_COST_INIT;
    volta_trainer_options options = options_of(of);
    options.micro_batches = micro_batches;
    estimate(context, of, &options, NULL, &cost);
    train(context, of, &options, whole, &fastest);
    assert_true(cost.smallest_activations < fastest.activations / 4 * 3);
    assert_true(cost.repeated_operations == 0);
    const uint64_t most = fastest.activations, least = cost.smallest_activations,
                   budgets[] = {most, most / 4 * 3 + least / 4, (most + least) / 2, least};
    for (int b = 0; b < 4; ++b) {
        options.activation_budget = budgets[b];
        train(context, of, &options, cut, &bill);
        if (strcmp(whole, cut) != 0)
            print_error("%s, %d micro-batches: %s, and %s in %llu bytes\n", of->name, (int)micro_batches,
                        whole, cut, (unsigned long long)budgets[b]);
        assert_string_equal(whole, cut);
        assert_true(bill.activations <= budgets[b]);
        estimate(context, of, &options, &planned, NULL);
        assert_memory_equal(&bill, &planned, sizeof bill);
    }
    estimate(context, of, &options, NULL, &cost);
    assert_true(cost.repeated_operations > 0 && cost.smallest_activations == least);
}

static void test_every_budget_has_the_same_bits(void** state) {
    (void)state;
    for (int s = 0; s < kSubjectCount; ++s)
        for (uint32_t parts = 1; parts <= 2; ++parts) { /* threads, and micro-batches of a step */
            volta_context* context;
            assert_ok(context_on(NULL, parts, 0, 0, &context));
            check_budgets(context, &kSubjects[s], parts);
            volta_context_release(context);
        }
}

/* ---- A loss in pieces of rows ---- */

/* 8 x 72 tokens of 700 classes: more than 512 rows of logits, which are most of what is alive. */
enum { kRows = 8, kLength = 72, kManyClasses = 700 };

static volta_model* many_classes(volta_context* context, int kind) {
    volta_model* model;
    if (kind == 0) {
        volta_gpt_options gpt = VOLTA_GPT_OPTIONS_INIT;
        gpt.vocabulary = kManyClasses, gpt.layers = 1, gpt.dim = 32, gpt.heads = 2, gpt.context = kLength;
        gpt.dropout = 0.1;
        assert_ok(volta_model_create_gpt(context, &gpt, 7, &model));
        return model;
    }
    volta_llama_options llama = VOLTA_LLAMA_OPTIONS_INIT;
    llama.vocabulary = kManyClasses, llama.layers = 1, llama.dim = 32, llama.heads = 2,
    llama.context = kLength;
    llama.untied = kind == 2;
    assert_ok(volta_model_create_llama(context, &llama, 7, &model));
    return model;
}

static void train_many_classes(volta_context* context, int kind, const volta_trainer_options* options,
                               char* hash, volta_bill* bill) {
    static int32_t tokens[kRows * kLength + 1];
    const int64_t shape[] = {kRows, kLength};
    volta_model* const model = many_classes(context, kind);
    volta_trainer* trainer;
    volta_tensor *input, *targets;
    for (int i = 0; i <= kRows * kLength; ++i) tokens[i] = i * 7919 % kManyClasses;
    for (int i = 0; i < 9; ++i) tokens[kRows * kLength - i * 31] = i % 3 == 0 ? kManyClasses - 1 : 0;
    assert_ok(volta_tensor_wrap(context, VOLTA_I32, shape, 2, tokens, &input));
    assert_ok(volta_tensor_wrap(context, VOLTA_I32, shape, 2, tokens + 1, &targets));
    assert_ok(volta_trainer_create(model, options, &trainer));
    const volta_tensor* given[] = {input};
    for (int step = 0; step < kSteps; ++step) assert_ok(volta_trainer_step(trainer, given, 1, targets, NULL));
    assert_ok(volta_trainer_hash(trainer, hash));
    assert_ok(volta_trainer_get_bill(trainer, bill));
    volta_tensor_release(input);
    volta_tensor_release(targets);
    volta_trainer_release(trainer);
    volta_model_release(model);
}

static void test_a_loss_in_pieces_has_the_same_bits(void** state) {
    (void)state;
    const int64_t shape[] = {kRows, kLength};
    for (int kind = 0; kind < 3; ++kind) /* tied, tied, with a head of its own */
        for (uint32_t threads = 1; threads <= 2; ++threads)
            for (int32_t update = 0; update < 2; ++update) {
                char whole[kHash], cut[kHash];
                volta_context* context;
                volta_bill fastest = VOLTA_BILL_INIT, bill = VOLTA_BILL_INIT;
                volta_training_cost cost = VOLTA_TRAINING_COST_INIT;
                volta_trainer_options options = small_trainer_options(shape);
                options.clip_norm = 0;
                options.update_in_backward = update;
                assert_ok(context_on(NULL, threads, 0, 0, &context));
                train_many_classes(context, kind, &options, whole, &fastest);
                volta_model* const model = many_classes(context, kind);
                assert_ok(volta_trainer_estimate(model, &options, NULL, NULL, &cost));
                volta_model_release(model);
                const uint64_t logits = sizeof(float) * kRows * kLength * kManyClasses;
                assert_true(cost.smallest_activations < fastest.activations && fastest.activations > logits);
                const uint64_t budgets[] = {fastest.activations - 1, cost.smallest_activations};
                for (int b = 0; b < 2; ++b) {
                    options.activation_budget = budgets[b];
                    train_many_classes(context, kind, &options, cut, &bill);
                    assert_string_equal(whole, cut);
                    assert_true(bill.activations <= budgets[b]);
                }
                volta_context_release(context);
            }
}

static void test_a_smaller_budget_is_no_larger_plan(void** state) {
    (void)state;
    enum { kBudgets = 8 };
    volta_context* context;
    assert_ok(context_on(NULL, 1, 0, 0, &context));
    for (int s = 0; s < kSubjectCount; ++s) {
        volta_trainer_options options = options_of(&kSubjects[s]);
        volta_bill fastest = VOLTA_BILL_INIT;
        volta_training_cost cost = VOLTA_TRAINING_COST_INIT;
        estimate(context, &kSubjects[s], &options, &fastest, &cost);
        const uint64_t least = cost.smallest_activations, most = fastest.activations;
        uint64_t peak = most;
        for (int b = kBudgets; b >= 0; --b) {
            volta_bill bill = VOLTA_BILL_INIT;
            options.activation_budget = least + (most - least) * (uint64_t)b / kBudgets;
            estimate(context, &kSubjects[s], &options, &bill, NULL);
            assert_true(bill.activations <= options.activation_budget && bill.activations <= peak);
            assert_true(bill.parameters == fastest.parameters && bill.gradients == fastest.gradients);
            peak = bill.activations;
        }
        assert_true(peak == least);
    }
    volta_context_release(context);
}

static void test_a_budget_too_small_is_refused_by_name(void** state) {
    (void)state;
    volta_context* context;
    volta_trainer* trainer = NULL;
    volta_training_cost cost = VOLTA_TRAINING_COST_INIT;
    volta_trainer_options options = options_of(&kSubjects[0]);
    char text[256];
    assert_ok(context_on(NULL, 1, 0, 0, &context));
    volta_model* const model = kSubjects[0].make(context);
    assert_ok(volta_trainer_estimate(model, &options, NULL, NULL, &cost));
    options.activation_budget = cost.smallest_activations - 1;
    snprintf(text, sizeof text,
             "activation_budget is %llu bytes: with all computed again that can be, activations need %llu",
             (unsigned long long)options.activation_budget, (unsigned long long)cost.smallest_activations);
    assert_fails(volta_trainer_create(model, &options, &trainer), VOLTA_OUT_OF_MEMORY, text);
    assert_null(trainer);
    options.activation_budget += 1;
    assert_ok(volta_trainer_create(model, &options, &trainer));
    volta_trainer_release(trainer);
    volta_model_release(model);
    volta_context_release(context);
}

/* The whole bill by the context's budget: activations give way, and then there is a sentence. */
static volta_context* context_of(uint64_t host_budget) {
    volta_context_options options = VOLTA_CONTEXT_OPTIONS_INIT;
    volta_context* context;
    options.thread_count = 1;
    options.host_budget = host_budget;
    assert_ok(volta_context_create(&options, &context));
    return context;
}

static void test_a_hosts_budget_is_met(void** state) {
    (void)state;
    for (int s = 0; s < kSubjectCount; ++s) {
        volta_trainer_options options = options_of(&kSubjects[s]);
        volta_bill fastest = VOLTA_BILL_INIT, bill = VOLTA_BILL_INIT;
        volta_training_cost cost = VOLTA_TRAINING_COST_INIT;
        volta_trainer* trainer = NULL;
        char whole[kHash], cut[kHash];
        volta_context* context = context_of(0);
        train(context, &kSubjects[s], &options, whole, &fastest);
        estimate(context, &kSubjects[s], &options, NULL, &cost);
        volta_context_release(context);

        const uint64_t spare = (fastest.activations - cost.smallest_activations) / 2;
        context = context_of(fastest.total - spare);
        train(context, &kSubjects[s], &options, cut, &bill);
        assert_string_equal(whole, cut);
        assert_true(bill.total <= fastest.total - spare);
        volta_context_release(context);

        context = context_of(fastest.total - fastest.activations + cost.smallest_activations / 2);
        volta_model* const model = kSubjects[s].make(context);
        assert_int_equal(volta_trainer_create(model, &options, &trainer), VOLTA_OUT_OF_MEMORY);
        assert_non_null(strstr(volta_last_error(), "with all computed again that can be"));
        assert_int_equal(volta_trainer_estimate(model, &options, NULL, &bill, NULL), VOLTA_OUT_OF_MEMORY);
        assert_true(bill.total == 0);
        volta_model_release(model);
        volta_context_release(context);
    }
}

static void assert_same_files(const char* a, const char* b) {
    FILE *const first = fopen(a, "rb"), *const second = fopen(b, "rb");
    int left, right;
    assert_true(first != NULL && second != NULL);
    do {
        left = getc(first), right = getc(second);
        assert_int_equal(left, right);
    } while (left != EOF);
    fclose(first);
    fclose(second);
}

/* Steps in the order that needs less memory: never more than in the other, and the same bits. */
static void test_the_order_of_steps_changes_no_bit(void** state) {
    (void)state;
    for (int s = 0; s < kSubjectCount; ++s) {
        const volta_trainer_options options = options_of(&kSubjects[s]);
        volta_bill bills[2] = {VOLTA_BILL_INIT, VOLTA_BILL_INIT};
        char hashes[2][kHash];
        for (int order = VOLTA_STEP_ORDER_GRAPH; order <= VOLTA_STEP_ORDER_MEMORY; ++order) {
            volta_context_options of_context = VOLTA_CONTEXT_OPTIONS_INIT;
            volta_context* context;
            of_context.step_order = order;
            assert_ok(volta_context_create(&of_context, &context));
            train(context, &kSubjects[s], &options, hashes[order], &bills[order]);
            volta_context_release(context);
        }
        assert_string_equal(hashes[0], hashes[1]);
        assert_true(bills[1].activations <= bills[0].activations);
    }
    volta_context_options wrong = VOLTA_CONTEXT_OPTIONS_INIT;
    volta_context* context = NULL;
    wrong.step_order = 2;
    assert_fails(volta_context_create(&wrong, &context), VOLTA_INVALID_ARGUMENT,
                 "step_order is 2, it must be 0 or 1");
}

static void test_checkpoints_know_nothing_of_it(void** state) {
    (void)state;
    static const char* const kPaths[] = {"test_training_memory_a.volta", "test_training_memory_b.volta"};
    volta_context* context;
    volta_trainer_options options = options_of(&kSubjects[0]), used = VOLTA_TRAINER_OPTIONS_INIT,
                          of_run = VOLTA_TRAINER_OPTIONS_INIT;
    volta_training_cost cost = VOLTA_TRAINING_COST_INIT;
    volta_model* model;
    volta_trainer* trainer;
    char hashes[2][kHash];
    assert_ok(context_on(NULL, 1, 0, 0, &context));
    estimate(context, &kSubjects[0], &options, NULL, &cost);
    for (int i = 0; i < 2; ++i) {
        options.activation_budget = i == 0 ? 0 : cost.smallest_activations;
        model = kSubjects[0].make(context);
        assert_ok(volta_trainer_create(model, &options, &trainer));
        make_step(context, &kSubjects[0], trainer, 1, 0);
        assert_ok(volta_trainer_save(trainer, kPaths[i]));
        volta_trainer_release(trainer);
        volta_model_release(model);
    }
    assert_same_files(kPaths[0], kPaths[1]);

    /* One goes on in less memory, one in none of its own. */
    of_run.activation_budget = cost.smallest_activations;
    for (int i = 0; i < 2; ++i) {
        assert_ok(volta_model_open(context, kPaths[i], NULL, &model));
        assert_ok(volta_trainer_resume(model, i == 0 ? &of_run : NULL, &trainer));
        assert_ok(volta_trainer_get_options(trainer, &used));
        assert_true(used.activation_budget == (i == 0 ? cost.smallest_activations : 0));
        assert_true(used.steps == 40);
        make_step(context, &kSubjects[0], trainer, 1, 1);
        assert_ok(volta_trainer_hash(trainer, hashes[i]));
        volta_trainer_release(trainer);
        volta_model_release(model);
        remove(kPaths[i]);
    }
    assert_string_equal(hashes[0], hashes[1]);
    volta_context_release(context);
}

/* ---- Moments in a file, updates in the backward pass ---- */

static int entries(const char* folder) {
    DIR* const open = opendir(folder);
    int count = 0;
    assert_non_null(open);
    while (readdir(open) != NULL) ++count;
    closedir(open);
    return count;
}

static void test_moments_in_a_file(void** state) {
    (void)state;
    char folder[] = "/tmp/volta_moments_XXXXXX", whole[kHash], filed[kHash];
    volta_trainer_options options = options_of(&kSubjects[0]), used = VOLTA_TRAINER_OPTIONS_INIT;
    volta_bill in_memory = VOLTA_BILL_INIT, bill = VOLTA_BILL_INIT, planned = VOLTA_BILL_INIT;
    volta_context* context;
    volta_trainer* trainer = NULL;
    assert_non_null(mkdtemp(folder));
    assert_ok(context_on(NULL, 2, 0, 0, &context));
    train(context, &kSubjects[0], &options, whole, &in_memory);
    options.state_folder = folder;
    train(context, &kSubjects[0], &options, filed, &bill);
    estimate(context, &kSubjects[0], &options, &planned, NULL);
    assert_string_equal(whole, filed);
    assert_true(in_memory.optimizer_state > 0 && bill.optimizer_state == 0);
    assert_true(bill.total == in_memory.total - in_memory.optimizer_state);
    assert_memory_equal(&bill, &planned, sizeof bill);

    volta_model* const model = kSubjects[0].make(context);
    assert_ok(volta_trainer_create(model, &options, &trainer));
    assert_int_equal(entries(folder), 2); /* nothing has a name, also while it is used */
    assert_ok(volta_trainer_get_options(trainer, &used));
    assert_string_equal(used.state_folder, folder);
    volta_trainer_release(trainer);

    options.state_folder = "/nowhere/at/all";
    assert_fails(volta_trainer_create(model, &options, &trainer), VOLTA_IO_ERROR,
                 "cannot make a file in '/nowhere/at/all': No such file or directory");
    options.state_folder = "";
    assert_fails(volta_trainer_create(model, &options, &trainer), VOLTA_INVALID_ARGUMENT,
                 "state_folder is empty");
    volta_model_release(model);
    volta_context_release(context);
    rmdir(folder);
}

static void test_updates_in_the_backward_pass(void** state) {
    (void)state;
    for (int s = 0; s < kSubjectCount; ++s)
        for (int optimizer = VOLTA_ADAMW; optimizer <= (s == 0 ? VOLTA_ADAGRAD : VOLTA_ADAMW); ++optimizer) {
            char apart[kHash], within[kHash];
            volta_trainer_options options = options_of(&kSubjects[s]);
            volta_bill bill = VOLTA_BILL_INIT, early = VOLTA_BILL_INIT;
            volta_training_cost cost = VOLTA_TRAINING_COST_INIT;
            volta_context* context;
            options.optimizer = optimizer;
            options.clip_norm = 0;
            assert_ok(context_on(NULL, 2, 0, 0, &context));
            train(context, &kSubjects[s], &options, apart, &bill);
            options.update_in_backward = 1;
            train(context, &kSubjects[s], &options, within, &early);
            assert_string_equal(apart, within);
            assert_true(bill.gradients > 0 && early.gradients == 0 && early.total < bill.total);
            estimate(context, &kSubjects[s], &options, NULL, &cost);
            options.activation_budget = cost.smallest_activations;
            train(context, &kSubjects[s], &options, within, NULL);
            assert_string_equal(apart, within);
            volta_context_release(context);
        }
}

static void test_what_updates_in_the_backward_pass_refuse(void** state) {
    (void)state;
    volta_context* context;
    volta_trainer* trainer = NULL;
    const float* gradient;
    size_t elements;
    volta_trainer_options options = options_of(&kSubjects[0]);
    assert_ok(context_on(NULL, 1, 0, 0, &context));
    volta_model* const model = kSubjects[0].make(context);
    options.update_in_backward = 1;
    assert_fails(volta_trainer_create(model, &options, &trainer), VOLTA_INVALID_ARGUMENT,
                 "update_in_backward has no norm of all gradients to clip by, clip_norm is 1");
    options.clip_norm = 0;
    options.micro_batches = 2;
    assert_fails(volta_trainer_create(model, &options, &trainer), VOLTA_INVALID_ARGUMENT,
                 "update_in_backward needs one micro-batch, micro_batches is 2");
    options.micro_batches = 1;
    options.update_in_backward = 2;
    assert_int_equal(volta_trainer_create(model, &options, &trainer), VOLTA_INVALID_ARGUMENT);
    options.update_in_backward = 1;
    options.learning_rate = 1e30;
    options.warmup_steps = 0;
    assert_ok(volta_trainer_create(model, &options, &trainer));
    make_step(context, &kSubjects[0], trainer, 1, 0);
    assert_fails(volta_trainer_gradient(trainer, "token_embedding", &gradient, &elements),
                 VOLTA_INVALID_STATE, "with update_in_backward no gradient is kept");

    /* What is not finite has been written by the time that it is found. */
    int32_t tokens[kBatch * kContext + 1];
    volta_tensor *input, *targets;
    fill_tokens(tokens, kBatch * kContext + 1);
    assert_ok(volta_tensor_wrap(context, VOLTA_I32, kSubjects[0].shape, 2, tokens, &input));
    assert_ok(volta_tensor_wrap(context, VOLTA_I32, kSubjects[0].shape, 2, tokens + 1, &targets));
    const volta_tensor* given[] = {input};
    volta_status status = VOLTA_OK;
    for (int step = 0; step < 4 && status == VOLTA_OK; ++step)
        status = volta_trainer_step(trainer, given, 1, targets, NULL);
    assert_int_equal(status, VOLTA_NOT_FINITE);
    assert_non_null(
        strstr(volta_last_error(), "failed while it changed the parameters, go on from a checkpoint"));
    assert_int_equal(volta_trainer_step(trainer, given, 1, targets, NULL), VOLTA_NOT_FINITE);
    assert_int_equal(volta_trainer_save(trainer, "test_training_memory_torn.volta"), VOLTA_NOT_FINITE);
    volta_tensor_release(input);
    volta_tensor_release(targets);
    volta_trainer_release(trainer);
    volta_model_release(model);
    volta_context_release(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_budget_has_the_same_bits),
        cmocka_unit_test(test_a_loss_in_pieces_has_the_same_bits),
        cmocka_unit_test(test_a_smaller_budget_is_no_larger_plan),
        cmocka_unit_test(test_a_budget_too_small_is_refused_by_name),
        cmocka_unit_test(test_a_hosts_budget_is_met),
        cmocka_unit_test(test_the_order_of_steps_changes_no_bit),
        cmocka_unit_test(test_checkpoints_know_nothing_of_it),
        cmocka_unit_test(test_moments_in_a_file),
        cmocka_unit_test(test_updates_in_the_backward_pass),
        cmocka_unit_test(test_what_updates_in_the_backward_pass_refuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
