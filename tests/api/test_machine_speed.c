/* volta_measure_machine: finite figures that make sense together, wrong calls, refused memory. Nothing here
 * depends on how fast the machine is. */
#include <math.h>

#include "tests/api/api_test.h"
#include "tests/support/sampled.h"

static volta_machine_speed empty(void) {
    volta_machine_speed speed = {0};
    speed.struct_size = sizeof speed;
    return speed;
}

static void assert_figure(double median, double spread) {
    assert_true(isfinite(median) && median > 0);
    assert_true(isfinite(spread) && spread >= 0);
}

static void measure_on(uint32_t threads, volta_isa isa, uint32_t flags) {
    struct counting_heap heap = {0};
    volta_context* context = NULL;
    volta_context_info info = {0};
    volta_machine_speed speed = empty();
    assert_ok(context_on(&heap, threads, isa, flags, &context));
    const size_t before = heap.live_bytes;
    assert_ok(volta_measure_machine(context, &speed));
    assert_int_equal(heap.live_bytes, before);
    assert_int_equal(heap.tensor_peak, 0); /* a bill's peak is not disturbed */
    info.struct_size = sizeof info;
    assert_ok(volta_context_get_info(context, &info));
    assert_int_equal(speed.isa, info.isa);
    assert_int_equal(speed.thread_count, threads);
    assert_int_equal(info.code_bytes, 0);
    assert_true(speed.buffer_bytes >= (uint64_t)256 << 20 && speed.buffer_bytes <= (uint64_t)768 << 20);
    assert_figure(speed.fma_gflops, speed.fma_spread);
    assert_figure(speed.read_gb_s, speed.read_spread);
    assert_figure(speed.stream_gb_s, speed.stream_spread);
    volta_context_release(context);
    assert_int_equal(heap.live_bytes, 0);
}

static void test_figures_are_finite_and_positive(void** state) {
    (void)state;
    measure_on(2, VOLTA_ISA_AUTO, 0);
    measure_on(1, VOLTA_ISA_AUTO, VOLTA_CONTEXT_NO_JIT);
    if (sample_stride() > 1) return;
    measure_on(1, VOLTA_ISA_AUTO, 0);
    measure_on(1, VOLTA_ISA_SCALAR, 0);
}

static void test_wrong_calls(void** state) {
    (void)state;
    volta_context* context = NULL;
    volta_machine_speed speed = empty();
    assert_ok(context_on(NULL, 1, VOLTA_ISA_AUTO, 0, &context));
    assert_fails(volta_measure_machine(context, NULL), VOLTA_INVALID_ARGUMENT, "volta_machine_speed is NULL");
    speed.fma_gflops = 1;
    assert_fails(volta_measure_machine(NULL, &speed), VOLTA_INVALID_ARGUMENT, "context is NULL");
    assert_true(speed.fma_gflops == 0);
    speed.struct_size = 0;
    assert_fails(volta_measure_machine(context, &speed), VOLTA_INVALID_ARGUMENT,
                 "volta_machine_speed.struct_size is 0: set it to sizeof(volta_machine_speed)");
    volta_context_release(context);
}

/* Everything is allocated before anything is timed, so a refusal costs nothing and the figures stay zero. */
static void test_refused_memory(void** state) {
    (void)state;
    volta_status status = VOLTA_OUT_OF_MEMORY;
    for (uint64_t n = 1; status == VOLTA_OUT_OF_MEMORY; ++n) {
        struct counting_heap heap = {0};
        volta_context* context = NULL;
        volta_machine_speed speed = empty();
        assert_ok(context_on(&heap, 1, VOLTA_ISA_AUTO, 0, &context));
        heap.fail_at = heap.count + n;
        status = volta_measure_machine(context, &speed);
        assert_true((status == VOLTA_OK) == (heap.count < heap.fail_at));
        if (status != VOLTA_OK) {
            assert_int_equal(status, VOLTA_OUT_OF_MEMORY);
            assert_true(speed.fma_gflops == 0 && speed.read_gb_s == 0 && speed.stream_gb_s == 0);
        }
        volta_context_release(context);
        assert_int_equal(heap.live_bytes, 0);
        assert_true(n < 100);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_figures_are_finite_and_positive),
                                       cmocka_unit_test(test_wrong_calls),
                                       cmocka_unit_test(test_refused_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
