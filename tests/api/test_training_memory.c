/* Memory by choice: what a trainer does to need less of it, and that no bit depends on it. */
#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/api/api_test.h"
#include "tests/support/sampled.h"

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

static volta_status try_step(volta_context* context, const subject* of, volta_trainer* trainer,
                             int64_t micro_batches, int step, volta_step_report* report) {
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
    const volta_status status = volta_trainer_step(trainer, given, 1, targets, report);
    volta_tensor_release(input);
    volta_tensor_release(targets);
    return status;
}
static volta_step_report make_step(volta_context* context, const subject* of, volta_trainer* trainer,
                                   int64_t micro_batches, int step) {
    volta_step_report report = VOLTA_STEP_REPORT_INIT;
    assert_ok(try_step(context, of, trainer, micro_batches, step, &report));
    return report;
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
            if (!sample_takes_next()) continue;
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
        if (!sample_takes_next()) continue;
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

/* Trains within what is spared of activations; refused with less than the least. */
static void check_hosts_budget(const subject* of, const volta_trainer_options* options) {
    volta_bill fastest = VOLTA_BILL_INIT, bill = VOLTA_BILL_INIT;
    volta_training_cost cost = VOLTA_TRAINING_COST_INIT;
    volta_trainer* trainer = NULL;
    char whole[kHash], cut[kHash];
    volta_context* context = context_of(0);
    train(context, of, options, whole, &fastest);
    estimate(context, of, options, NULL, &cost);
    volta_context_release(context);

    const uint64_t spare = (fastest.activations - cost.smallest_activations) / 2;
    context = context_of(fastest.total - spare);
    train(context, of, options, cut, &bill);
    assert_string_equal(whole, cut);
    assert_true(bill.total <= fastest.total - spare);
    volta_context_release(context);

    context = context_of(fastest.total - fastest.activations + cost.smallest_activations - 1);
    volta_model* const model = of->make(context);
    assert_int_equal(volta_trainer_create(model, options, &trainer), VOLTA_OUT_OF_MEMORY);
    assert_non_null(strstr(volta_last_error(), "with all computed again that can be"));
    assert_int_equal(volta_trainer_estimate(model, options, NULL, &bill, NULL), VOLTA_OUT_OF_MEMORY);
    assert_true(bill.total == 0);
    volta_model_release(model);
    volta_context_release(context);
}

static void test_a_hosts_budget_is_met(void** state) {
    (void)state;
    for (int s = 0; s < kSubjectCount; ++s) {
        if (!sample_takes_next()) continue;
        const volta_trainer_options options = options_of(&kSubjects[s]);
        check_hosts_budget(&kSubjects[s], &options);
    }
}

/* ---- The steps of a plan ---- */

enum { kMostSteps = 4096 };
typedef struct told {
    uint64_t alive[kMostSteps], largest;
    volta_plan_part part[kMostSteps];
    int count;
} told;

static void tell(void* user, const volta_plan_step* step) {
    told* const all = user;
    assert_true(step->struct_size == sizeof *step && all->count < kMostSteps);
    assert_non_null(step->operation);
    if (step->alive > all->largest) all->largest = step->alive;
    all->alive[all->count] = step->alive;
    all->part[all->count++] = step->part;
}

static void tell_steps(volta_context* context, const subject* of, const volta_trainer_options* options,
                       told* all) {
    volta_model* const model = of->make(context);
    memset(all, 0, sizeof *all);
    assert_ok(volta_trainer_estimate_steps(model, options, tell, all));
    volta_model_release(model);
}

/* The fullest step is what the bill has as activations: there are no gaps on GPTs, and few elsewhere. */
static void test_the_steps_of_a_plan_are_its_bill(void** state) {
    (void)state;
    static told all, again;
    volta_context* context;
    assert_ok(context_on(NULL, 1, 0, 0, &context));
    for (int s = 0; s < kSubjectCount; ++s)
        for (int smallest = 0; smallest < 2; ++smallest) {
            if (!sample_takes_next()) continue;
            volta_bill bill = VOLTA_BILL_INIT;
            volta_training_cost cost = VOLTA_TRAINING_COST_INIT;
            volta_trainer_options options = options_of(&kSubjects[s]);
            if (smallest) {
                estimate(context, &kSubjects[s], &options, NULL, &cost);
                options.activation_budget = cost.smallest_activations;
            }
            estimate(context, &kSubjects[s], &options, &bill, NULL);
            tell_steps(context, &kSubjects[s], &options, &all);
            assert_true(all.largest <= bill.activations);
            assert_true(all.largest > bill.activations / 10 * 9);
            if (s == 0 && !smallest) assert_true(all.largest == bill.activations);
            for (int i = 1; i < all.count; ++i) assert_true(all.part[i - 1] <= all.part[i]);
            assert_int_equal(all.part[0], VOLTA_PLAN_FORWARD);
            assert_int_equal(all.part[all.count - 1], VOLTA_PLAN_UPDATE);
            tell_steps(context, &kSubjects[s], &options, &again);
            assert_memory_equal(&all, &again, sizeof all);
        }
    /* Updates in the backward pass stand in it; what follows them is the backward pass again. */
    volta_trainer_options options = options_of(&kSubjects[0]);
    int returns = 0;
    options.clip_norm = 0;
    options.update_in_backward = 1;
    tell_steps(context, &kSubjects[0], &options, &all);
    for (int i = 1; i < all.count; ++i) returns += all.part[i] < all.part[i - 1];
    assert_true(returns > 2);
    volta_context_release(context);
}

static void test_wrong_calls_of_the_steps(void** state) {
    (void)state;
    static told all;
    volta_context* context;
    volta_trainer_options options = options_of(&kSubjects[0]);
    assert_ok(context_on(NULL, 1, 0, 0, &context));
    volta_model* const model = kSubjects[0].make(context);
    assert_fails(volta_trainer_estimate_steps(NULL, &options, tell, &all), VOLTA_INVALID_ARGUMENT,
                 "model is NULL");
    assert_fails(volta_trainer_estimate_steps(model, &options, NULL, &all), VOLTA_INVALID_ARGUMENT,
                 "visit is NULL");
    options.activation_budget = 1;
    assert_int_equal(volta_trainer_estimate_steps(model, &options, tell, &all), VOLTA_OUT_OF_MEMORY);
    options.activation_budget = 0;
    options.optimizer = 99;
    assert_int_equal(volta_trainer_estimate_steps(model, &options, tell, &all), VOLTA_INVALID_ARGUMENT);
    assert_int_equal(all.count, 0);
    volta_model_release(model);
    volta_context_release(context);
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
            if (!sample_takes_next()) continue;
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

/* ---- Clipping with them: the norm by a pass before ---- */

enum { kClipSteps = 3 };
static const double kClip = 0.05; /* below every norm here */

/* The hash, the sum of what the steps report, and the bill, which is the planned one. */
static void clip(volta_context* context, const subject* of, const volta_trainer_options* options, char* hash,
                 double* reports, volta_bill* bill) {
    volta_bill planned = VOLTA_BILL_INIT;
    volta_model* const model = of->make(context);
    volta_trainer* trainer;
    *reports = 0;
    assert_ok(volta_trainer_estimate(model, options, NULL, &planned, NULL));
    assert_ok(volta_trainer_create(model, options, &trainer));
    volta_model_release(model);
    for (int step = 0; step < kClipSteps; ++step) {
        const volta_step_report report = make_step(context, of, trainer, 1, step);
        assert_true(report.gradient_norm > kClip && report.step == (uint64_t)step + 1);
        *reports += report.loss + report.gradient_norm;
    }
    assert_ok(volta_trainer_hash(trainer, hash));
    assert_ok(volta_trainer_get_bill(trainer, bill));
    assert_memory_equal(bill, &planned, sizeof planned);
    volta_trainer_release(trainer);
}

static void check_clipping(volta_context* context, const subject* of, volta_trainer_options options) {
    char apart[kHash], within[kHash];
    volta_bill bill = VOLTA_BILL_INIT, early = VOLTA_BILL_INIT, without = VOLTA_BILL_INIT;
    double reports, same;
    clip(context, of, &options, apart, &reports, &bill);
    options.update_in_backward = 1;
    clip(context, of, &options, within, &same, &early);
    assert_string_equal(apart, within);
    assert_true(reports == same);

    /* One arena for both passes: not more than the second has alone. */
    options.clip_norm = 0;
    estimate(context, of, &options, &without, NULL);
    assert_true(early.gradients == 0 && early.total < bill.total);
    assert_true(early.activations <= without.activations + without.activations / 50);
}

static void check_clipping_in_the_least(volta_context* context, const subject* of,
                                        volta_trainer_options options) {
    char apart[kHash], within[kHash];
    volta_bill bill = VOLTA_BILL_INIT;
    volta_training_cost cost = VOLTA_TRAINING_COST_INIT, plain = VOLTA_TRAINING_COST_INIT;
    double reports, same;
    estimate(context, of, &options, NULL, &plain);
    clip(context, of, &options, apart, &reports, &bill);
    options.update_in_backward = 1;
    estimate(context, of, &options, NULL, &cost);
    assert_true(cost.operations > 1.9 * plain.operations && cost.repeated_operations == 0);
    options.activation_budget = cost.smallest_activations;
    clip(context, of, &options, within, &same, &bill);
    assert_string_equal(apart, within);
    assert_true(reports == same && bill.activations <= cost.smallest_activations);
    options.activation_budget -= 1;
    volta_model* const model = of->make(context);
    volta_trainer* trainer = NULL;
    char text[64];
    snprintf(text, sizeof text, "activations need %llu", (unsigned long long)cost.smallest_activations);
    assert_int_equal(volta_trainer_create(model, &options, &trainer), VOLTA_OUT_OF_MEMORY);
    assert_non_null(strstr(volta_last_error(), text));
    volta_model_release(model);
}

static void test_clipping_with_updates_in_the_backward_pass(void** state) {
    (void)state;
    for (int s = 0; s < kSubjectCount; ++s)
        for (int optimizer = VOLTA_ADAMW; optimizer <= (s == 1 ? VOLTA_ADAMW : VOLTA_ADAGRAD); ++optimizer) {
            if (!sample_takes_next()) continue;
            volta_trainer_options options = options_of(&kSubjects[s]);
            volta_context* context;
            options.optimizer = optimizer;
            options.clip_norm = kClip;
            options.momentum = optimizer == VOLTA_SGD ? 0.9 : 0;
            assert_ok(context_on(NULL, 1 + (uint32_t)s % 2, 0, 0, &context));
            check_clipping(context, &kSubjects[s], options);
            if (optimizer == VOLTA_ADAMW) check_clipping_in_the_least(context, &kSubjects[s], options);
            volta_context_release(context);
        }
}

static void test_a_hosts_budget_holds_both_passes(void** state) {
    (void)state;
    for (int s = 0; s < kSubjectCount; s += 2) {
        if (!sample_takes_next()) continue;
        volta_trainer_options options = options_of(&kSubjects[s]);
        options.clip_norm = kClip;
        options.update_in_backward = 1;
        check_hosts_budget(&kSubjects[s], &options);
    }
}

static void test_a_clipped_run_goes_on_either_way(void** state) {
    (void)state;
    static const char kPath[] = "test_training_memory_c.volta";
    for (int s = 0; s < kSubjectCount; ++s) {
        char whole[kHash], resumed[kHash];
        volta_trainer_options options = options_of(&kSubjects[s]);
        volta_context* context;
        options.clip_norm = kClip;
        assert_ok(context_on(NULL, 2, 0, 0, &context));
        train(context, &kSubjects[s], &options, whole, NULL);
        for (int early = 0; early < 2; ++early) { /* in the first part of the run, then in the second */
            volta_model* model = kSubjects[s].make(context);
            volta_trainer* trainer;
            options.update_in_backward = early;
            assert_ok(volta_trainer_create(model, &options, &trainer));
            make_step(context, &kSubjects[s], trainer, 1, 0);
            assert_ok(volta_trainer_save(trainer, kPath));
            volta_trainer_release(trainer);
            volta_model_release(model);
            assert_ok(volta_model_open(context, kPath, NULL, &model));
            volta_trainer_options of_run = VOLTA_TRAINER_OPTIONS_INIT;
            of_run.update_in_backward = !early;
            assert_ok(volta_trainer_resume(model, &of_run, &trainer));
            for (int step = 1; step < kSteps; ++step) make_step(context, &kSubjects[s], trainer, 1, step);
            assert_ok(volta_trainer_hash(trainer, resumed));
            assert_string_equal(whole, resumed);
            volta_trainer_release(trainer);
            volta_model_release(model);
        }
        remove(kPath);
        volta_context_release(context);
    }
}

/* With the norm known before, a step that is not finite has changed nothing. */
static void test_a_clipped_step_that_is_not_finite_changes_nothing(void** state) {
    (void)state;
    const subject* const of = &kSubjects[0];
    char logged[2][kHash], before[kHash], after[kHash];
    volta_context* context;
    assert_ok(context_on(NULL, 1, 0, 0, &context));
    for (int stops = 0; stops < 2; ++stops)
        for (int early = 0; early < 2; ++early) {
            volta_trainer_options options = options_of(of);
            volta_model* const model = of->make(context);
            volta_trainer* trainer;
            volta_step_report report = VOLTA_STEP_REPORT_INIT;
            options.update_in_backward = early;
            options.learning_rate = 1e30;
            options.warmup_steps = 0;
            options.nonfinite = stops ? VOLTA_NONFINITE_STOP : VOLTA_NONFINITE_LOG;
            assert_ok(volta_trainer_create(model, &options, &trainer));
            make_step(context, of, trainer, 1, 0);
            assert_ok(volta_trainer_hash(trainer, before));
            for (int time = 0; time < 2; ++time) {
                const volta_status status = try_step(context, of, trainer, 1, 1 + time, &report);
                assert_int_equal(status, stops ? VOLTA_NOT_FINITE : VOLTA_OK);
            }
            assert_ok(volta_trainer_hash(trainer, stops ? after : logged[early]));
            assert_true(volta_trainer_current_step(trainer) == (stops ? 1 : 3));
            if (stops) assert_string_equal(before, after);
            volta_trainer_release(trainer);
            volta_model_release(model);
        }
    assert_string_equal(logged[0], logged[1]);
    volta_context_release(context);
}

/* Wherever a host ends it, nothing has changed, and the step made again is the step. */
static int32_t stops_at_zero(void* left) { return (*(int*)left)-- == 0; }

static void test_a_clipped_step_that_is_stopped_changes_nothing(void** state) {
    (void)state;
    const subject* const of = &kSubjects[0];
    char whole[kHash], again[kHash];
    volta_trainer_options options = options_of(of);
    volta_step_report report = VOLTA_STEP_REPORT_INIT;
    volta_context* context;
    int cancelled = 0;
    assert_ok(context_on(NULL, 1, 0, 0, &context));
    train(context, of, &options, whole, NULL);
    options.update_in_backward = 1;
    for (int at = 0, ended = 0; !ended; ++at) {
        volta_model* const model = of->make(context);
        volta_trainer* trainer;
        volta_stop_options stop = VOLTA_STOP_OPTIONS_INIT;
        int left = at;
        stop.should_stop = stops_at_zero;
        stop.user = &left;
        assert_ok(volta_trainer_create(model, &options, &trainer));
        assert_ok(volta_context_set_stop(context, &stop));
        const volta_status status = try_step(context, of, trainer, 1, 0, &report);
        assert_ok(volta_context_set_stop(context, NULL));
        assert_true(status == VOLTA_OK || status == VOLTA_CANCELLED);
        ended = status == VOLTA_OK;
        cancelled += !ended;
        for (int step = ended; step < kSteps; ++step) make_step(context, of, trainer, 1, step);
        assert_ok(volta_trainer_hash(trainer, again));
        assert_string_equal(whole, again);
        volta_trainer_release(trainer);
        volta_model_release(model);
    }
    assert_int_equal(cancelled, 2); /* before each pass */
    volta_context_release(context);
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
    options.shards = options.micro_batches = 2;
    assert_fails(volta_trainer_create(model, &options, &trainer), VOLTA_INVALID_ARGUMENT,
                 "update_in_backward needs one shard, shards is 2");
    options.shards = 1;
    options.clip_norm = 0;
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
        cmocka_unit_test(test_the_steps_of_a_plan_are_its_bill),
        cmocka_unit_test(test_wrong_calls_of_the_steps),
        cmocka_unit_test(test_checkpoints_know_nothing_of_it),
        cmocka_unit_test(test_moments_in_a_file),
        cmocka_unit_test(test_updates_in_the_backward_pass),
        cmocka_unit_test(test_clipping_with_updates_in_the_backward_pass),
        cmocka_unit_test(test_a_hosts_budget_holds_both_passes),
        cmocka_unit_test(test_a_clipped_run_goes_on_either_way),
        cmocka_unit_test(test_a_clipped_step_that_is_not_finite_changes_nothing),
        cmocka_unit_test(test_a_clipped_step_that_is_stopped_changes_nothing),
        cmocka_unit_test(test_what_updates_in_the_backward_pass_refuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
