/* A host with a timer of 1 kHz, whose signal interrupts every system call that can be: whether its handler
 * asks for SA_RESTART or not, training, files and generation give what they give in peace. */
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/api/small_world.h"

static volatile sig_atomic_t signals;

static void count_signal(int number) {
    (void)number;
    signals = signals + 1;
}

static void start_timer(int flags) {
    struct sigaction action;
    const struct itimerval every = {{0, 1000}, {0, 1000}};
    memset(&action, 0, sizeof action);
    action.sa_handler = count_signal;
    action.sa_flags = flags;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
}

static void stop_timer(void) {
    const struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &never, NULL);
    signal(SIGALRM, SIG_DFL);
}

/* Everything that touches files, and its hash at the end; what fails is in `failed`. */
static volta_status use_files(struct world* w, const char* folder, char* hash, const char** failed) {
    char saved[256], weights[256];
    volta_model *opened = NULL, *imported = NULL;
    volta_open_options copy = {0};
    volta_status status;
    int i;
    snprintf(saved, sizeof saved, "%s/model.volta", folder);
    snprintf(weights, sizeof weights, "%s/model.safetensors", folder);
    copy.struct_size = sizeof copy;
    copy.mode = VOLTA_LOAD_COPY;
    *failed = "save";
    status = volta_trainer_save(w->trainer, saved);
    for (i = 0; i < 20 && status == VOLTA_OK; ++i) {
        *failed = "open";
        status = volta_model_open(w->context, saved, &copy, &opened);
        if (status == VOLTA_OK) *failed = "export", status = volta_model_export_safetensors(opened, weights);
        if (status == VOLTA_OK)
            *failed = "import", status = volta_model_import(w->context, weights, NULL, &imported);
        if (status == VOLTA_OK) *failed = "hash", status = volta_model_hash(imported, hash);
        volta_model_release(opened);
        volta_model_release(imported);
        opened = imported = NULL;
        if (status == VOLTA_OK) *failed = "save", status = volta_trainer_save(w->trainer, saved);
    }
    unlink(saved);
    unlink(weights);
    return status;
}

static void test_a_timer_disturbs_nothing(void** state) {
    static const int kFlags[] = {0, SA_RESTART};
    char folder[] = "/tmp/volta-signals-XXXXXX", expected_hash[33] = "";
    struct answers expected, found;
    struct world w;
    const char* failed = "";
    size_t i;
    (void)state;
    assert_non_null(mkdtemp(folder));
    make_world(&w, 2);
    compute(&w, &expected);
    assert_ok(use_files(&w, folder, expected_hash, &failed));
    release(&w, 0);
    for (i = 0; i < sizeof kFlags / sizeof *kFlags; ++i) {
        char hash[33] = "";
        volta_status status;
        int rounds = 0;
        signals = 0;
        make_world(&w, 2);
        start_timer(kFlags[i]);
        compute(&w, &found);
        status = use_files(&w, folder, hash, &failed);
        while (status == VOLTA_OK && signals < 200 && ++rounds < 50)
            status = use_files(&w, folder, hash, &failed);
        stop_timer();
        if (status != VOLTA_OK) print_error("%s: %s\n", failed, volta_last_error());
        release(&w, 0);
        assert_int_equal(status, VOLTA_OK);
        assert_memory_equal(&found, &expected, sizeof found);
        assert_string_equal(hash, expected_hash);
        assert_true(signals >= 200);
    }
    rmdir(folder);
}

/* The pool's threads take no signal of the host: a handler of it runs on the host's thread alone. */
static pthread_t host_thread;
static volatile sig_atomic_t elsewhere;

static void look_where(int number) {
    (void)number;
    signals = signals + 1;
    if (!pthread_equal(pthread_self(), host_thread)) elsewhere = elsewhere + 1;
}

static void test_the_pool_takes_no_signals(void** state) {
    struct sigaction action;
    struct world w;
    struct answers found;
    int i;
    (void)state;
    memset(&action, 0, sizeof action);
    action.sa_handler = look_where;
    action.sa_flags = SA_RESTART;
    host_thread = pthread_self();
    signals = elsewhere = 0;
    make_world(&w, 4);
    start_timer(SA_RESTART);
    sigaction(SIGALRM, &action, NULL);
    for (i = 0; i < 200 && signals < 100; ++i) compute(&w, &found);
    stop_timer();
    release(&w, 0);
    assert_true(signals >= 100);
    assert_int_equal(elsewhere, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_timer_disturbs_nothing),
        cmocka_unit_test(test_the_pool_takes_no_signals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
