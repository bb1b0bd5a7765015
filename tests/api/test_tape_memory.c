/* Memory that stays flat: over many steps of training, and over many shapes, whose plans come and go. The
 * context's allocator says what the library holds, the system what the process does. VOLTA_TEST_STEPS and
 * VOLTA_TEST_SHAPES: how many (20,000 and 600). */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/api/api_test.h"

enum { kIn = 12, kHidden = 16, kOut = 5, kRows = 8 };

static size_t held, allocations;

static void* allocate(void* user, size_t size, size_t alignment, volta_memory_kind kind) {
    void* pointer = NULL;
    (void)user, (void)kind;
    if (posix_memalign(&pointer, alignment < sizeof(void*) ? sizeof(void*) : alignment, size) != 0)
        return NULL;
    held += size;
    ++allocations;
    return pointer;
}
static void give_back(void* user, void* pointer, size_t size, size_t alignment, volta_memory_kind kind) {
    (void)user, (void)alignment, (void)kind;
    if (pointer != NULL) held -= size;
    free(pointer);
}

/* A sanitizer keeps what is freed: resident memory says nothing there. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define KEEPS_WHAT_IS_FREED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define KEEPS_WHAT_IS_FREED 1
#endif

static size_t resident_bytes(void) {
#ifdef KEEPS_WHAT_IS_FREED
    return 0;
#else
    unsigned long pages = 0, resident = 0;
    FILE* file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu %lu", &pages, &resident), 2);
    fclose(file);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
#endif
}

static long wish(const char* name, long otherwise) {
    const char* text = getenv(name);
    return text != NULL ? atol(text) : otherwise;
}

struct world {
    volta_context* context;
    volta_tape* tape;
    volta_tape_optimizer* optimizer;
    volta_tensor *first, *second;
};

static volta_tensor* tensor_of(volta_context* context, volta_dtype dtype, int64_t rows, int64_t columns) {
    const int64_t shape[] = {rows, columns};
    volta_tensor* tensor;
    assert_ok(volta_tensor_create(context, dtype, shape, columns > 0 ? 2 : 1, &tensor));
    return tensor;
}

static void fill(volta_tensor* tensor, int64_t step) {
    float* data = volta_tensor_data(tensor);
    for (int64_t i = 0; i < volta_tensor_elements(tensor); ++i)
        data[i] = (float)((i * 37 + step * 11 + 5) % 23) / 32 - 0.35f;
}

static void open_world(struct world* world, uint64_t most_plans) {
    static const volta_allocator allocator = {allocate, give_back, NULL};
    volta_context_options options = VOLTA_CONTEXT_OPTIONS_INIT;
    volta_tape_options tape_options = VOLTA_TAPE_OPTIONS_INIT;
    volta_optimizer_options settings = VOLTA_OPTIMIZER_OPTIONS_INIT;
    options.allocator = &allocator;
    options.thread_count = 1;
    assert_ok(volta_context_create(&options, &world->context));
    tape_options.mode = VOLTA_TAPE_LAZY;
    tape_options.most_plans = most_plans;
    settings.learning_rate = 1e-3;
    world->first = tensor_of(world->context, VOLTA_F32, kIn, kHidden);
    world->second = tensor_of(world->context, VOLTA_F32, kHidden, kOut);
    volta_tensor* const weights[] = {world->first, world->second};
    for (int w = 0; w < 2; ++w) {
        fill(weights[w], w);
        assert_ok(volta_tensor_set_requires_grad(weights[w], 1));
    }
    assert_ok(volta_tape_create(world->context, &tape_options, &world->tape));
    assert_ok(volta_tape_optimizer_create(world->tape, &settings, weights, 2, &world->optimizer));
}

static void close_world(struct world* world) {
    volta_tape_optimizer_release(world->optimizer);
    volta_tape_release(world->tape);
    volta_tensor_release(world->first);
    volta_tensor_release(world->second);
    volta_context_release(world->context);
    assert_int_equal(held, 0);
}

static volta_tensor* logits(struct world* world, volta_tensor* x) {
    volta_tensor* h = volta_op(world->tape, "relu", volta_op(world->tape, "matmul", x, world->first));
    return volta_op(world->tape, "matmul", h, world->second);
}

static void steps_leave_nothing_behind(void** state) {
    (void)state;
    const long steps = wish("VOLTA_TEST_STEPS", 20000), warm = steps / 10;
    struct world world;
    size_t first_held = 0, first_allocations = 0, first_resident = 0;
    open_world(&world, 0);
    volta_tensor *x = tensor_of(world.context, VOLTA_F32, kRows, kIn),
                 *targets = tensor_of(world.context, VOLTA_I32, kRows, 0);
    for (long step = 0; step < steps; ++step) {
        if (step == warm) {
            first_held = held;
            first_allocations = allocations;
            first_resident = resident_bytes();
        }
        float* data = volta_tensor_data(x);
        for (int i = 0; i < kRows * kIn; ++i) data[i] = (float)((i * 7 + step) % 13) / 13;
        for (int i = 0; i < kRows; ++i)
            ((int32_t*)volta_tensor_data(targets))[i] = (int32_t)((i + step) % kOut);
        volta_tensor* rows = volta_op(world.tape, "cross_entropy", logits(&world, x), targets);
        assert_ok(volta_tape_optimizer_zero_grad(world.optimizer));
        assert_ok(volta_tape_backward(world.tape, volta_op(world.tape, "mean", rows)));
        assert_ok(volta_tape_step(world.tape, world.optimizer, NULL));
        assert_ok(volta_tape_reset(world.tape));
    }
    print_message("%ld steps: %zu bytes held, %zu resident\n", steps, held, resident_bytes());
    assert_int_equal(held, first_held);
    assert_int_equal(allocations, first_allocations);
    assert_true(resident_bytes() <= first_resident + (size_t)(1 << 20));
    volta_tensor_release(x);
    volta_tensor_release(targets);
    close_world(&world);
}

/* The sum of x xT, by columns. */
static double expected_sum(const float* x, int64_t rows, int64_t columns) {
    double sum = 0;
    for (int64_t c = 0; c < columns; ++c) {
        double column = 0;
        for (int64_t r = 0; r < rows; ++r) column += (double)x[r * columns + c];
        sum += column * column;
    }
    return sum;
}

/* Each shape is another plan, and comes once. Of 32 the oldest goes; what is held is that of 32, not of all.
 */
static void shapes_come_and_go(void** state) {
    (void)state;
    enum { kMostPlans = 32 };
    const long shapes = wish("VOLTA_TEST_SHAPES", 600);
    const int64_t side = (int64_t)ceil(sqrt((double)shapes));
    const volta_attribute transposed = {"transpose_b", 1, NULL, 0};
    struct world world;
    volta_tape_info info = VOLTA_TAPE_INFO_INIT;
    size_t most_held[2] = {0, 0}, first_resident = 0;
    open_world(&world, kMostPlans);
    for (long number = 0; number < shapes; ++number) {
        const int64_t place = number * 7919 % shapes; /* large and small ones in turns */
        const int64_t rows = 1 + place % side, columns = 1 + place / side;
        volta_tensor* x = tensor_of(world.context, VOLTA_F32, rows, columns);
        volta_tensor* const both[] = {x, x};
        double value;
        fill(x, number);
        volta_tensor* product =
            volta_tape_call(world.tape, "matmul", both, 2, &transposed, 1, __FILE__, __LINE__);
        assert_ok(volta_tensor_item(volta_op(world.tape, "sum", product), &value));
        const double expected = expected_sum(volta_tensor_data(x), rows, columns);
        assert_true(fabs(value - expected) <= 1e-4 * (1 + fabs(expected)));
        assert_ok(volta_tape_reset(world.tape));
        volta_tensor_release(x);
        const int late = number >= shapes / 2;
        if (number == shapes / 2) first_resident = resident_bytes();
        if (held > most_held[late]) most_held[late] = held;
        assert_ok(volta_tape_get_info(world.tape, &info));
        assert_true(info.plans_held <= kMostPlans);
        assert_int_equal(info.plans_held + info.plans_released, info.plans_made);
    }
    print_message(
        "%ld shapes: %llu plans made, %llu held; at most %zu, then %zu bytes held; %zu, then %zu resident\n",
        shapes, (unsigned long long)info.plans_made, (unsigned long long)info.plans_held, most_held[0],
        most_held[1], first_resident, resident_bytes());
    assert_int_equal(info.plans_made, shapes);
    assert_true(most_held[1] <= most_held[0] + most_held[0] / 4);
    assert_true(resident_bytes() <= first_resident + (size_t)(1 << 20));
    close_world(&world);
}

/* Fewer plans than a record has pieces: each is made again and again, and right. */
static void one_plan_at_a_time_is_enough(void** state) {
    (void)state;
    struct world world;
    volta_tape_info info = VOLTA_TAPE_INFO_INIT;
    double first = 0;
    open_world(&world, 1);
    volta_tensor* x = tensor_of(world.context, VOLTA_F32, kRows, kIn);
    fill(x, 3);
    for (int round = 0; round < 4; ++round) {
        double hidden, sum;
        volta_tensor* y = logits(&world, x);
        assert_ok(volta_tensor_item(volta_op(world.tape, "sum", y), &sum));
        assert_ok(volta_tensor_item(volta_op(world.tape, "mean", volta_op(world.tape, "exp", y)), &hidden));
        if (round == 0) first = sum + hidden;
        assert_true(sum + hidden == first);
        assert_ok(volta_tape_reset(world.tape));
    }
    assert_ok(volta_tape_get_info(world.tape, &info));
    assert_int_equal(info.plans_held, 1);
    assert_int_equal(info.plans_made, 8);
    assert_int_equal(info.plans_known, 0);
    volta_tensor_release(x);
    close_world(&world);
}

static void sum_of(struct world* world, int64_t rows) {
    volta_tensor* x = tensor_of(world->context, VOLTA_F32, rows, kIn);
    double value;
    assert_ok(volta_tensor_item(volta_op(world->tape, "sum", x), &value));
    assert_ok(volta_tape_reset(world->tape));
    volta_tensor_release(x);
}

static void the_plan_used_the_longest_ago_goes(void** state) {
    (void)state;
    static const int64_t rows[] = {1, 2, 1, 3, 1, 3, 2};
    static const int known[] = {0, 0, 1, 0, 1, 1, 0};
    struct world world;
    volta_tape_info info = VOLTA_TAPE_INFO_INIT;
    uint64_t before = 0;
    open_world(&world, 2);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        sum_of(&world, rows[i]);
        assert_ok(volta_tape_get_info(world.tape, &info));
        assert_int_equal(info.plans_known - before, known[i]);
        before = info.plans_known;
    }
    close_world(&world);
}

/* -x of so many floats, read; the record ends. */
static void negate(struct world* world, int64_t elements) {
    volta_tensor* x = tensor_of(world->context, VOLTA_F32, elements, 0);
    assert_ok(volta_tensor_fill(x, 2));
    const float* y = volta_tensor_data(volta_op(world->tape, "neg", x));
    assert_true(y[0] == -2 && y[elements - 1] == -2);
    assert_ok(volta_tape_reset(world->tape));
    volta_tensor_release(x);
}

/* Results above 1 MiB: of those that are free the smallest goes that fits, and none of which half is wasted.
 */
static void large_results_are_used_again(void** state) {
    (void)state;
    enum { kMiB = (1 << 20) / sizeof(float) };
    struct world world;
    volta_tape_info info = VOLTA_TAPE_INFO_INIT;
    open_world(&world, 0);
    volta_tensor *large = tensor_of(world.context, VOLTA_F32, 5 * kMiB / 2, 0),
                 *small = tensor_of(world.context, VOLTA_F32, 3 * kMiB / 2, 0);
    assert_ok(volta_tensor_fill(large, 1));
    assert_ok(volta_tensor_fill(small, 2));
    uint64_t held_then = 0;
    for (int record = 0; record < 4; ++record) {
        volta_tensor* const inputs[] = {record % 2 == 0 ? large : small, record % 2 == 0 ? small : large};
        for (int i = 0; i < 2; ++i) {
            const float* y = volta_tensor_data(volta_op(world.tape, "neg", inputs[i]));
            assert_true(y[3 * kMiB / 2 - 1] == (inputs[i] == large ? -1 : -2));
        }
        assert_ok(volta_tape_reset(world.tape));
        assert_ok(volta_tape_get_info(world.tape, &info));
        if (record == 0) held_then = info.held_bytes;
        assert_int_equal(info.held_bytes, held_then);
    }
    assert_true(held_then >= (size_t)4 * kMiB * sizeof(float));
    volta_tensor_release(large);
    volta_tensor_release(small);
    close_world(&world);
}

/* What is too small or too large for the next shapes goes back to the host, once it is more than was ever
 * used at one time. */
static void results_of_other_shapes_do_not_pile_up(void** state) {
    (void)state;
    enum { kMiB = (1 << 20) / sizeof(float) };
    struct world world;
    volta_tape_info info = VOLTA_TAPE_INFO_INIT;
    uint64_t most = 0;
    open_world(&world, 0);
    for (int64_t mib = 2; mib <= 32; mib *= 2) negate(&world, mib * kMiB + 1);
    for (int64_t mib = 3; mib <= 24; mib *= 2) {
        negate(&world, mib * kMiB + 1);
        assert_ok(volta_tape_get_info(world.tape, &info));
        if (info.held_bytes > most) most = info.held_bytes;
    }
    assert_true(most <= (uint64_t)2 * 33 << 20);
    close_world(&world);
}

/* Where even the list of what is free cannot grow, a result's memory goes back to the host. */
static void a_result_that_cannot_be_noted_is_freed(void** state) {
    (void)state;
    const int64_t shape[] = {1000};
    struct counting_heap heap = {0};
    volta_context* context;
    volta_tape* tape;
    volta_tensor* x;
    volta_tape_options options = VOLTA_TAPE_OPTIONS_INIT;
    options.mode = VOLTA_TAPE_LAZY;
    assert_ok(context_on(&heap, 1, 0, 0, &context));
    assert_ok(volta_tape_create(context, &options, &tape));
    assert_ok(volta_tensor_create(context, VOLTA_F32, shape, 1, &x));
    assert_ok(volta_tensor_fill(x, 1));
    assert_non_null(volta_tensor_data(volta_op(tape, "neg", x)));
    const size_t before = heap.tensor_bytes;
    heap.fail_at = heap.count + 1;
    assert_ok(volta_tape_reset(tape));
    assert_int_equal(heap.count, heap.fail_at);
    assert_int_equal(before - heap.tensor_bytes, 4096);
    const float* y = volta_tensor_data(volta_op(tape, "neg", x));
    assert_true(y != NULL && y[999] == -1);
    volta_tape_release(tape);
    volta_tensor_release(x);
    volta_context_release(context);
    assert_int_equal(heap.live_bytes, 0);
}

/* What a session has too stays for it when the tape lets go. */
static void a_sessions_plan_stays(void** state) {
    (void)state;
    struct world world;
    volta_model* model;
    volta_session* session;
    const volta_tensor* given;
    volta_tensor* result;
    open_world(&world, 1);
    volta_tensor* x = tensor_of(world.context, VOLTA_F32, kRows, kIn);
    fill(x, 3);
    volta_tensor* y = logits(&world, x);
    assert_ok(volta_tape_capture(world.tape, &y, 1, NULL, &model));
    assert_ok(volta_session_create(model, NULL, &session));
    assert_non_null(volta_tensor_data(y));
    result = tensor_of(world.context, VOLTA_F32, kRows, kOut);
    for (int round = 0; round < 3; ++round) {
        volta_tensor* other = volta_op(world.tape, round == 0 ? "exp" : "neg", y);
        assert_non_null(volta_tensor_data(other)); /* another plan: the one before goes */
        given = x;
        assert_ok(volta_session_run(session, &given, 1, &result, 1));
        assert_memory_equal(volta_tensor_data(result), volta_tensor_data(y), kRows * kOut * sizeof(float));
    }
    volta_session_release(session);
    volta_model_release(model);
    volta_tensor_release(x);
    volta_tensor_release(result);
    close_world(&world);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_leave_nothing_behind),
        cmocka_unit_test(shapes_come_and_go),
        cmocka_unit_test(one_plan_at_a_time_is_enough),
        cmocka_unit_test(the_plan_used_the_longest_ago_goes),
        cmocka_unit_test(large_results_are_used_again),
        cmocka_unit_test(results_of_other_shapes_do_not_pile_up),
        cmocka_unit_test(a_result_that_cannot_be_noted_is_freed),
        cmocka_unit_test(a_sessions_plan_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
