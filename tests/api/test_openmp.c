/* OpenMP's threads as the host's executor. What goes into the region goes by atomics, which ThreadSanitizer
 * sees; the barriers of OpenMP's library it does not. */
#include <omp.h>

#include "tests/api/executors.h"
#include "tests/api/small_world.h"

static struct {
    volta_part part;
    void* part_user;
    uint32_t count, next;
} region;

static void run_on_openmp(void* user, uint32_t count, volta_part part, void* part_user) {
    count_call(user, count);
    __atomic_store_n(&region.part, part, __ATOMIC_RELAXED);
    __atomic_store_n(&region.part_user, part_user, __ATOMIC_RELAXED);
    __atomic_store_n(&region.count, count, __ATOMIC_RELAXED);
    __atomic_store_n(&region.next, 0, __ATOMIC_RELEASE);
#pragma omp parallel
    for (;;) {
        const uint32_t mine = __atomic_fetch_add(&region.next, 1, __ATOMIC_ACQ_REL);
        if (mine >= __atomic_load_n(&region.count, __ATOMIC_RELAXED)) break;
        __atomic_load_n(&region.part, __ATOMIC_RELAXED)(__atomic_load_n(&region.part_user, __ATOMIC_RELAXED),
                                                        mine);
    }
}

static void test_openmp_gives_the_same_bits(void** state) {
    struct executor counts = {0};
    struct answers expected, found;
    volta_context_options options = {0};
    struct world w;
    (void)state;
    options.struct_size = sizeof options;
    options.thread_count = 1;
    assert_ok(try_world(&w, &options, 128, 2));
    compute(&w, &expected);
    release(&w, 0);
    assert_int_equal(expected.status, VOLTA_OK);
    omp_set_num_threads(4);
    options.thread_count = 4;
    options.parallel_for = run_on_openmp;
    options.parallel_user = &counts;
    assert_ok(try_world(&w, &options, 128, 2));
    compute(&w, &found);
    release(&w, 0);
    assert_memory_equal(&found, &expected, sizeof found);
    assert_int_equal(counts.most, 4);
    assert_true(counts.calls > 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_openmp_gives_the_same_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
