/* A host's executor: the bits of the pool's own threads, whatever the order and the threads that parts run
 * on; no thread of the library's; and a sentence for an executor that does not do what it should, with whole
 * results. */
#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "tests/api/executors.h"
#include "tests/api/small_world.h"
#include "tests/support/sampled.h"

enum { kWide = 128 }; /* a model that has work for several threads */

typedef void (*parallel_for)(void*, uint32_t, volta_part, void*);

static volta_status world_on(struct world* w, parallel_for function, void* user, uint32_t parts) {
    volta_context_options options = {0};
    options.struct_size = sizeof options;
    options.thread_count = parts;
    options.parallel_for = function;
    options.parallel_user = user;
    return try_world(w, &options, kWide, 2);
}

/* Of one thread of the library's. */
static void expect_answers(struct answers* expected) {
    struct world w;
    assert_ok(world_on(&w, NULL, NULL, 1));
    compute(&w, expected);
    assert_int_equal(expected->status, VOLTA_OK);
    release(&w, 0);
}

static int threads_of_process(void) {
    int count = 0;
    struct dirent* entry;
    DIR* tasks = opendir("/proc/self/task");
    if (tasks == NULL) return -1;
    while ((entry = readdir(tasks)) != NULL) count += entry->d_name[0] != '.';
    closedir(tasks);
    return count;
}

static void test_every_executor_gives_the_same_bits(void** state) {
    static const uint32_t kParts[] = {2, 3, 8};
    static const struct {
        const char* name;
        parallel_for function;
    } kExecutors[] = {{"forwards", run_forwards},
                      {"backwards", run_backwards},
                      {"in random order", run_in_random_order},
                      {"on new threads", run_on_new_threads}};
    struct answers expected, found;
    size_t e, p;
    (void)state;
    expect_answers(&expected);
    for (e = 0; e < sizeof kExecutors / sizeof *kExecutors; ++e)
        for (p = 0; p < sizeof kParts / sizeof *kParts; ++p) {
            struct executor counts = {0};
            struct world w;
            /* of a sample each has one number of parts, the next one another */
            if (sample_stride() > 1 && p != e % 3) continue;
            assert_ok(world_on(&w, kExecutors[e].function, &counts, kParts[p]));
            compute(&w, &found);
            release(&w, (int)p % 2);
            if (memcmp(&found, &expected, sizeof found) != 0)
                print_error("%u parts %s: %s\n", kParts[p], kExecutors[e].name, found.hash);
            assert_memory_equal(&found, &expected, sizeof found);
            assert_int_equal(counts.most, kParts[p]);
            assert_true(counts.calls > 100);
        }
}

/* Convolutions share their work otherwise than products do. */
static void resnet_hash(parallel_for function, void* user, uint32_t parts, char* hash) {
    const int64_t pictures[] = {8, 3, 32, 32}, labels[] = {8};
    volta_context_options options = {0};
    volta_resnet_options resnet = {0};
    volta_trainer_options training = {0};
    volta_context* context;
    volta_model* model;
    volta_trainer* trainer;
    volta_tensor *in, *targets;
    const volta_tensor* inputs[1];
    int i;
    options.struct_size = sizeof options;
    options.thread_count = parts;
    options.parallel_for = function;
    options.parallel_user = user;
    resnet.struct_size = sizeof resnet;
    resnet.depth = 20;
    training.struct_size = sizeof training;
    training.input_shapes = pictures;
    training.input_extent_count = 4;
    assert_ok(volta_context_create(&options, &context));
    assert_ok(volta_model_create_resnet(context, &resnet, 1, &model));
    assert_ok(volta_trainer_create(model, &training, &trainer));
    assert_ok(volta_tensor_create(context, VOLTA_F32, pictures, 4, &in));
    assert_ok(volta_tensor_create(context, VOLTA_I32, labels, 1, &targets));
    for (i = 0; i < 8 * 3 * 32 * 32; ++i) ((float*)volta_tensor_data(in))[i] = (float)(i % 251) / 251;
    for (i = 0; i < 8; ++i) ((int32_t*)volta_tensor_data(targets))[i] = i;
    inputs[0] = in;
    for (i = 0; i < 2; ++i) assert_ok(volta_trainer_step(trainer, inputs, 1, targets, NULL));
    assert_ok(volta_trainer_hash(trainer, hash));
    volta_tensor_release(in);
    volta_tensor_release(targets);
    volta_trainer_release(trainer);
    volta_model_release(model);
    volta_context_release(context);
}

static void test_convolutions_have_the_same_bits(void** state) {
    struct executor counts = {0};
    struct pool pool;
    char expected[33], found[33];
    (void)state;
    resnet_hash(NULL, NULL, 1, expected);
    resnet_hash(run_in_random_order, &counts, 5, found);
    assert_string_equal(found, expected);
    assert_int_equal(counts.most, 5);
    pool_start(&pool, 2);
    resnet_hash(run_on_pool, &pool, 3, found);
    pool_stop(&pool);
    assert_string_equal(found, expected);
}

static void test_no_thread_is_created(void** state) {
    struct executor counts = {0};
    struct world w;
    struct answers found;
    volta_context_info info = {0};
    const int before = threads_of_process();
    (void)state;
    if (before < 0) {
        print_message("skipped: there is no /proc/self/task\n");
        return;
    }
    assert_ok(world_on(&w, run_forwards, &counts, 8));
    assert_int_equal(threads_of_process(), before);
    compute(&w, &found);
    assert_int_equal(found.status, VOLTA_OK);
    assert_int_equal(threads_of_process(), before);
    info.struct_size = sizeof info;
    assert_ok(volta_context_get_info(w.context, &info));
    assert_int_equal(info.thread_count, 8);
    release(&w, 0);
    assert_ok(world_on(&w, NULL, NULL, 8)); /* and it would be seen */
    assert_int_equal(threads_of_process(), before + 7);
    release(&w, 0);
}

/* Contexts of two threads of the host at once, on one pool that also has threads of its own. */
struct side {
    struct world world;
    struct answers answers;
    struct pool* pool;
};

static void* compute_side(void* data) {
    struct side* side = data;
    memset(&side->answers, 0, sizeof side->answers);
    side->answers.status = world_on(&side->world, run_on_pool, side->pool, 4);
    if (side->answers.status == VOLTA_OK) compute(&side->world, &side->answers);
    release(&side->world, 1);
    return NULL;
}

static void test_two_contexts_share_a_pool(void** state) {
    struct pool pool;
    struct side sides[2];
    struct answers expected;
    pthread_t thread;
    int round;
    (void)state;
    expect_answers(&expected);
    pool_start(&pool, 3);
    sides[0].pool = sides[1].pool = &pool;
    for (round = 0; round < 3; ++round) {
        assert_int_equal(pthread_create(&thread, NULL, compute_side, &sides[1]), 0);
        compute_side(&sides[0]);
        pthread_join(thread, NULL);
        assert_memory_equal(&sides[0].answers, &expected, sizeof expected);
        assert_memory_equal(&sides[1].answers, &expected, sizeof expected);
    }
    pool_stop(&pool);
    assert_true(pool.counts.calls > 100);
}

/* In a forked child the host's threads are not there either. */
static void test_a_forked_child_calls_no_executor(void** state) {
    struct pool pool;
    struct world w;
    struct answers expected;
    pid_t child;
    int status = 0;
    (void)state;
    expect_answers(&expected);
    pool_start(&pool, 2);
    assert_ok(world_on(&w, run_on_pool, &pool, 3));
    child = fork();
    if (child == 0) {
        struct answers found;
        const uint64_t calls = pool.counts.calls;
        alarm(120);
        compute(&w, &found);
        release(&w, 0);
        _exit(memcmp(&found, &expected, sizeof found) == 0 && pool.counts.calls == calls ? 0 : 1);
    }
    waitpid(child, &status, 0);
    release(&w, 0);
    pool_stop(&pool);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

#if defined(__x86_64__)
/* Parts bring the contract's floating-point environment along, and give back what they found. */
struct strange {
    struct executor counts;
    unsigned host, seen_changed, seen_other;
};

static void run_strangely(void* user, uint32_t count, volta_part part, void* part_user) {
    static const unsigned kSettings[] = {0x9fc0 /* FTZ, DAZ */, 0x7f80, 0x3f80, 0x5f80};
    struct strange* s = user;
    uint32_t i;
    count_call(&s->counts, count);
    s->seen_other += (_mm_getcsr() & ~0x3fu) != s->host; /* the caller's own */
    for (i = 0; i < count; ++i) {
        const unsigned set = kSettings[(s->counts.calls + i) % 4];
        _mm_setcsr(set);
        part(part_user, i);
        s->seen_changed += _mm_getcsr() != set;
    }
    _mm_setcsr(s->host);
}

static void test_parts_have_the_contracts_environment(void** state) {
    struct answers expected, found;
    struct strange s = {{0, 0, 0, 0}, 0x5f80, 0, 0};
    struct world w;
    (void)state;
    expect_answers(&expected);
    _mm_setcsr(s.host);
    const volta_status status = world_on(&w, run_strangely, &s, 4);
    if (status == VOLTA_OK) compute(&w, &found);
    release(&w, 0);
    _mm_setcsr(0x1f80);
    assert_int_equal(status, VOLTA_OK);
    assert_memory_equal(&found, &expected, sizeof found);
    assert_int_equal(s.seen_other, 0);
    assert_int_equal(s.seen_changed, 0);
}
#endif

/* ---- Executors that do wrong: at their call number `at`, or at every period-th one (at 0). */

struct wrong {
    struct executor counts;
    uint64_t at, period;
    int kind;
    struct one_part late[kMostParts];
    uint32_t late_count;
};

enum { kLeavesOut, kRunsTwice, kRunsAnother, kRunsNone, kReturnsEarly };

static void run_wrongly(void* user, uint32_t count, volta_part part, void* part_user) {
    struct wrong* w = user;
    uint32_t i;
    count_call(&w->counts, count);
    if (w->at != 0 ? w->counts.calls != w->at : w->counts.calls % w->period != 0) {
        for (i = 0; i < count; ++i) part(part_user, i);
        return;
    }
    for (i = 0; i < count; ++i) {
        if (w->kind == kLeavesOut && i == count / 2) continue;
        if (w->kind == kRunsNone) continue;
        if (w->kind == kReturnsEarly && i == count - 1 && w->late_count < kMostParts) {
            struct one_part* late = &w->late[w->late_count];
            late->part = part;
            late->part_user = part_user;
            late->index = i;
            if (pthread_create(&late->thread, NULL, run_one_part, late) == 0) ++w->late_count;
            continue;
        }
        part(part_user, i);
        if (w->kind == kRunsTwice) part(part_user, i);
    }
    if (w->kind == kRunsAnother) part(part_user, count);
}

/* Goes on after every failure as the header says, to the same end. */
static int compute_in_spite(struct world* w, struct answers* a, const char* sentence) {
    const volta_tensor* in = w->in;
    int failures = 0, i = 0;
    memset(a, 0, sizeof *a);
    while (volta_session_run(w->session, &in, 1, &w->out, 1) != VOLTA_OK) {
        if (strstr(volta_last_error(), sentence) == NULL || ++failures > 3) break;
    }
    memcpy(a->logits, volta_tensor_data(w->out), sizeof a->logits);
    while (volta_trainer_current_step(w->trainer) < kWorldSteps) {
        if (volta_trainer_step_tokens(w->trainer, NULL) == VOLTA_OK) continue;
        if (strstr(volta_last_error(), sentence) == NULL || ++failures > 20) break;
    }
    volta_trainer_hash(w->trainer, a->hash);
    while (i < kWorldTokens) {
        if (volta_generator_next(w->generator, &a->tokens[i]) == VOLTA_OK) {
            ++i;
            continue;
        }
        if (strstr(volta_last_error(), sentence) == NULL || ++failures > 30) break;
    }
    return failures;
}

static void check_wrong(int kind, const char* sentence, const struct answers* expected) {
    const uint64_t tried = sample_stride() > 1 ? 3 : 7;
    uint64_t at, calls = 1;
    for (at = 1; at <= calls; at += 1 + calls / tried) {
        struct wrong w;
        struct world world;
        struct answers found;
        int failures;
        memset(&w, 0, sizeof w);
        w.kind = kind;
        w.at = ~UINT64_C(0); /* not yet: objects are made */
        assert_ok(world_on(&world, run_wrongly, &w, 4));
        w.at = w.counts.calls + at;
        failures = compute_in_spite(&world, &found, sentence);
        if (calls == 1) calls = w.counts.calls - w.at + at;
        release(&world, 0);
        while (w.late_count > 0) pthread_join(w.late[--w.late_count].thread, NULL);
        if (failures != 1) print_error("kind %d at call %u: %d failures\n", kind, (unsigned)at, failures);
        assert_int_equal(failures, 1);
        assert_memory_equal(&found, expected, sizeof found);
    }
    assert_true(calls > 100);
}

static void test_a_part_that_is_left_out_is_told(void** state) {
    struct answers expected;
    (void)state;
    expect_answers(&expected);
    check_wrong(kLeavesOut, "the host's parallel_for returned without 1 of its ", &expected);
    check_wrong(kRunsNone, "the host's parallel_for returned without ", &expected);
}

static void test_a_part_too_many_is_told(void** state) {
    struct answers expected;
    (void)state;
    expect_answers(&expected);
    check_wrong(kRunsTwice, ", which had been run or is none", &expected);
    check_wrong(kRunsAnother, ", which had been run or is none", &expected);
}

/* What it says depends on how far the threads had come, even nothing if they were through; what it computes
 * does not. */
static void test_an_executor_that_returns_early_loses_nothing(void** state) {
    struct answers expected, found;
    struct wrong* w = calloc(1, sizeof *w);
    struct world world;
    (void)state;
    assert_non_null(w);
    expect_answers(&expected);
    w->kind = kReturnsEarly;
    w->at = ~UINT64_C(0);
    assert_ok(world_on(&world, run_wrongly, w, 4));
    w->at = 0;
    w->period = 499; /* steps in between are made */
    memset(&found, 0, sizeof found);
    compute_in_spite(&world, &found, "the host's parallel_for ");
    while (w->late_count > 0) pthread_join(w->late[--w->late_count].thread, NULL);
    w->at = ~UINT64_C(0); /* what came late may be told now */
    release(&world, 0);
    assert_memory_equal(&found.tokens, &expected.tokens, sizeof found.tokens);
    assert_string_equal(found.hash, expected.hash);
    free(w);
}

static void test_the_status_says_what_it_was(void** state) {
    struct wrong w;
    struct world world;
    const volta_tensor* in;
    (void)state;
    memset(&w, 0, sizeof w);
    w.kind = kLeavesOut;
    w.at = ~UINT64_C(0);
    assert_ok(world_on(&world, run_wrongly, &w, 4));
    w.at = 0;
    w.period = 1;
    in = world.in;
    assert_fails(volta_session_run(world.session, &in, 1, &world.out, 1), VOLTA_INVALID_STATE,
                 "the host's parallel_for returned without 1 of its 4 parts");
    assert_fails(volta_trainer_step_tokens(world.trainer, NULL), VOLTA_INVALID_STATE,
                 "the host's parallel_for returned without 1 of its 4 parts");
    assert_int_equal(volta_trainer_current_step(world.trainer), 0);
    w.at = ~UINT64_C(0);
    assert_ok(volta_session_run(world.session, &in, 1, &world.out, 1));
    assert_ok(volta_trainer_step_tokens(world.trainer, NULL));
    release(&world, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_executor_gives_the_same_bits),
        cmocka_unit_test(test_convolutions_have_the_same_bits),
        cmocka_unit_test(test_no_thread_is_created),
        cmocka_unit_test(test_two_contexts_share_a_pool),
        cmocka_unit_test(test_a_forked_child_calls_no_executor),
#if defined(__x86_64__)
        cmocka_unit_test(test_parts_have_the_contracts_environment),
#endif
        cmocka_unit_test(test_a_part_that_is_left_out_is_told),
        cmocka_unit_test(test_a_part_too_many_is_told),
        cmocka_unit_test(test_an_executor_that_returns_early_loses_nothing),
        cmocka_unit_test(test_the_status_says_what_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
