/* A forked child may use and release everything that it inherited: sessions, trainers, generators and their
 * contexts of several threads. What it computes has the bits of the parent's. What another thread was
 * computing with at the fork can be released. No child hangs. */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/api/api_test.h"

enum { kSteps = 3, kTokens = 8 };

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
    int32_t tokens[kTokens];
    volta_status status;
};

static void make_world(struct world* w, uint32_t threads) {
    const int64_t shape[] = {2, kContext}, one[] = {1, kContext}, out[] = {1, kContext, kVocabulary};
    const volta_trainer_options options = small_trainer_options(shape);
    volta_session_options session = {0};
    memset(w, 0, sizeof *w);
    session.struct_size = sizeof session;
    session.input_shapes = one;
    session.input_extent_count = 2;
    fill_tokens(w->stream, 400);
    assert_ok(context_on(NULL, threads, VOLTA_ISA_AUTO, 0, &w->context));
    assert_ok(small_gpt(w->context, 0, &w->model));
    assert_ok(volta_session_create(w->model, &session, &w->session));
    assert_ok(volta_trainer_create(w->model, &options, &w->trainer));
    assert_ok(volta_trainer_set_tokens(w->trainer, w->stream, 400));
    assert_ok(volta_generator_create(w->model, NULL, &w->generator));
    assert_ok(volta_generator_start(w->generator, w->stream, 4));
    assert_ok(volta_tensor_wrap(w->context, VOLTA_I32, one, 2, w->stream, &w->in));
    assert_ok(volta_tensor_create(w->context, VOLTA_F32, out, 3, &w->out));
}

static void compute(struct world* w, struct answers* a) {
    const volta_tensor* in = w->in;
    int i;
    memset(a, 0, sizeof *a);
    a->status = volta_session_run(w->session, &in, 1, &w->out, 1);
    memcpy(a->logits, volta_tensor_data(w->out), sizeof a->logits);
    for (i = 0; i < kSteps && a->status == VOLTA_OK; ++i)
        a->status = volta_trainer_step_tokens(w->trainer, NULL);
    if (a->status == VOLTA_OK) a->status = volta_trainer_hash(w->trainer, a->hash);
    for (i = 0; i < kTokens && a->status == VOLTA_OK; ++i)
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

/* The child's answers by a pipe; its exit status is 0. */
static int forked(struct world* w, int computes, int context_first, struct answers* a) {
    int ends[2], status = 0;
    pid_t child;
    ssize_t got = 0;
    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        struct answers own;
        alarm(120);
        memset(&own, 0, sizeof own);
        if (computes) compute(w, &own);
        release(w, context_first);
        _exit(write(ends[1], &own, sizeof own) == (ssize_t)sizeof own ? 0 : 1);
    }
    close(ends[1]);
    while (got < (ssize_t)sizeof *a) {
        const ssize_t n = read(ends[0], (char*)a + got, sizeof *a - (size_t)got);
        if (n <= 0) break;
        got += n;
    }
    close(ends[0]);
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) print_error("the child was ended by signal %d\n", WTERMSIG(status));
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 && got == (ssize_t)sizeof *a;
}

static void test_a_child_computes_the_same_and_releases(void** state) {
    static const uint32_t kThreads[] = {1, 2, 4};
    size_t t;
    (void)state;
    for (t = 0; t < sizeof kThreads / sizeof *kThreads; ++t) {
        struct world w;
        struct answers first, second, parent;
        make_world(&w, kThreads[t]);
        assert_true(forked(&w, 1, 0, &first));
        assert_true(forked(&w, 1, 1, &second));
        compute(&w, &parent); /* where the children began, since their steps are their own */
        assert_int_equal(parent.status, VOLTA_OK);
        assert_memory_equal(&first, &parent, sizeof parent);
        assert_memory_equal(&second, &parent, sizeof parent);
        release(&w, 0);
    }
}

/* The grandchild's too, and a child's own context with threads of its own. */
static void test_children_of_children_and_contexts_of_their_own(void** state) {
    struct world w;
    struct answers parent;
    pid_t child;
    int status = 0;
    (void)state;
    make_world(&w, 2);
    child = fork();
    if (child == 0) {
        struct world own;
        struct answers inherited, made;
        alarm(120);
        if (!forked(&w, 1, 0, &inherited)) _exit(1);
        make_world(&own, 2);
        compute(&own, &made);
        release(&own, 0);
        if (memcmp(&inherited, &made, sizeof made) != 0) _exit(2);
        compute(&w, &inherited);
        release(&w, 1);
        _exit(memcmp(&inherited, &made, sizeof made) != 0 ? 3 : 0);
    }
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    compute(&w, &parent);
    assert_int_equal(parent.status, VOLTA_OK);
    release(&w, 0);
}

static int stop_training;

static void* train(void* data) {
    struct world* w = data;
    while (!__atomic_load_n(&stop_training, __ATOMIC_ACQUIRE)) volta_trainer_step_tokens(w->trainer, NULL);
    return NULL;
}

static void test_what_another_thread_computes_with_can_be_released(void** state) {
    struct world busy, idle;
    struct answers answers, expected;
    pthread_t thread;
    int i;
    (void)state;
    make_world(&busy, 2);
    make_world(&idle, 2);
    stop_training = 0;
    assert_int_equal(pthread_create(&thread, NULL, train, &busy), 0);
    for (i = 0; i < 10; ++i) {
        usleep(1000u * (unsigned)i);
        assert_true(forked(&busy, 0, i % 2, &answers));
        assert_true(forked(&idle, 1, i % 2, &answers)); /* another context is as good as ever */
        if (i == 0) expected = answers;
        assert_memory_equal(&answers, &expected, sizeof expected);
    }
    __atomic_store_n(&stop_training, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    release(&busy, 0);
    release(&idle, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_child_computes_the_same_and_releases),
        cmocka_unit_test(test_children_of_children_and_contexts_of_their_own),
        cmocka_unit_test(test_what_another_thread_computes_with_can_be_released),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
