/* A forked child may use and release everything that it inherited: sessions, trainers, generators and their
 * contexts of several threads. What it computes has the bits of the parent's. What another thread was
 * computing with at the fork can be released. No child hangs. */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/api/small_world.h"

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

/* What it was at, nobody finishes: to go on in a child is refused, or works where the thread was between two
 * steps. */
static int is_refused_or_works(struct world* w) {
    static const char kSentence[] =
        "another thread was computing with this context when the process forked: here it can be released "
        "alone";
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        volta_status told;
        alarm(120);
        told = volta_trainer_step_tokens(w->trainer, NULL);
        if (told != VOLTA_OK && (told != VOLTA_INVALID_STATE || strcmp(volta_last_error(), kSentence) != 0))
            _exit(1);
        release(w, 0);
        _exit(told == VOLTA_OK ? 2 : 3);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

/* AddressSanitizer's own allocator may be locked by the other thread at the fork, for ever in the child
 * (clang 14). */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FORKS_ALONE 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define FORKS_ALONE 1
#endif

static void test_what_another_thread_computes_with_can_be_released(void** state) {
    struct world busy, idle;
    struct answers answers, expected;
    pthread_t thread;
    int i, refused = 0, worked = 0;
    (void)state;
#ifdef FORKS_ALONE
    skip();
#endif
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
    for (i = 0; i < 40; ++i) {
        const int end = is_refused_or_works(&busy);
        worked += end == 2;
        refused += end == 3;
        usleep(500);
    }
    assert_int_equal(worked + refused, 40);
    assert_true(refused > 0);
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
