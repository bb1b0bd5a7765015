/* The same plans in a hundred processes: nothing in a plan depends on addresses, on the iteration order of a
 * hash container or on what a process did before. Started without arguments this program starts itself a
 * hundred times, each child with another amount of memory in use, and compares what they print. */
#include "tests/api/api_test.h"

enum { kProcesses = 100, kMostText = 1 << 20 };

static void print_plans(int child) {
    volta_context* context;
    volta_model* model;
    volta_trainer* trainer;
    volta_session* session;
    const char* text;
    const int64_t shape[] = {4, kContext};
    const volta_trainer_options trainer_options = small_trainer_options(shape);
    const volta_session_options session_options = {sizeof session_options, shape, 2, 0};
    void* const moved = malloc((size_t)child * 4096 + 1); /* later allocations lie elsewhere */
    assert_ok(context_on(NULL, 2, VOLTA_ISA_SCALAR, 0, &context));
    assert_ok(small_gpt(context, 0.1, &model));
    assert_ok(volta_trainer_create(model, &trainer_options, &trainer));
    assert_ok(volta_trainer_print_plan(trainer, &text));
    fputs(text, stdout);
    assert_ok(volta_session_create(model, &session_options, &session));
    assert_ok(volta_session_print_plan(session, &text));
    fputs(text, stdout);
    volta_session_release(session);
    volta_trainer_release(trainer);
    volta_model_release(model);
    volta_context_release(context);
    free(moved);
}

/* What child number `child` of this program prints. */
static size_t run_child(const char* program, int child, char* text) {
    char command[1000];
    snprintf(command, sizeof command, "'%s' %d", program, child);
    FILE* const pipe = popen(command, "r");
    assert_non_null(pipe);
    const size_t size = fread(text, 1, kMostText - 1, pipe);
    assert_int_equal(pclose(pipe), 0);
    text[size] = 0;
    return size;
}

static const char* program;

static void test_plans_are_equal_in_a_hundred_processes(void** state) {
    (void)state;
    char* const first = malloc(kMostText);
    char* const other = malloc(kMostText);
    assert_true(first != NULL && other != NULL);
    assert_true(run_child(program, 1, first) > 1000);
    assert_non_null(strstr(first, "hash "));
    for (int child = 2; child <= kProcesses; ++child) {
        run_child(program, child, other);
        assert_string_equal(first, other);
    }
    free(first);
    free(other);
}

int main(int argc, char** argv) {
    program = argv[0];
    if (argc == 2) return print_plans(atoi(argv[1])), 0;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_plans_are_equal_in_a_hundred_processes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
