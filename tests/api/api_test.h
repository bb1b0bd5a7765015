/* What the tests of the public header share: CMocka, a counting and failing allocator, a small text and
 * models. */
#ifndef VOLTA_TESTS_API_TEST_H
#define VOLTA_TESTS_API_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <volta.h>

/* Contexts of tests are made on the device that VOLTA_TEST_DEVICE names, unless the test names one itself. */
static inline volta_status context_on_test_device(const volta_context_options* options, volta_context** out) {
    volta_context_options own;
    memset(&own, 0, sizeof own);
    own.struct_size = sizeof own;
    if (options != NULL && options->struct_size != sizeof own) return volta_context_create(options, out);
    if (options != NULL) own = *options;
    if (own.device == NULL) own.device = getenv("VOLTA_TEST_DEVICE");
    return volta_context_create(&own, out);
}
#define volta_context_create context_on_test_device

/* Fails the test with the library's sentence. */
#define assert_ok(call)                                                                         \
    do {                                                                                        \
        const volta_status status_ = (call);                                                    \
        if (status_ != VOLTA_OK)                                                                \
            print_error("%s: %s: %s\n", #call, volta_status_name(status_), volta_last_error()); \
        assert_int_equal(status_, VOLTA_OK);                                                    \
    } while (0)

/* The call must fail with this status and exactly this sentence. */
#define assert_fails(call, expected_status, expected_text)                           \
    do {                                                                             \
        const volta_status status_ = (call);                                         \
        if (status_ != (expected_status))                                            \
            print_error("%s: %s\n", volta_status_name(status_), volta_last_error()); \
        assert_int_equal(status_, (expected_status));                                \
        assert_string_equal(volta_last_error(), (expected_text));                    \
    } while (0)

/* An allocator that counts, and refuses the allocation number `fail_at` (1 is the first; 0: never). */
struct counting_heap {
    size_t live_bytes, tensor_bytes, tensor_peak;
    uint64_t count, fail_at;
};

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunused-function" /* not every test uses every helper */
#endif

static void* counting_allocate(void* user, size_t size, size_t alignment, volta_memory_kind kind) {
    struct counting_heap* heap = user;
    void* memory = NULL;
    if (++heap->count == heap->fail_at) return NULL;
    if (posix_memalign(&memory, alignment < sizeof(void*) ? sizeof(void*) : alignment, size ? size : 1) != 0)
        return NULL;
    heap->live_bytes += size;
    if (kind == VOLTA_MEMORY_TENSOR) {
        heap->tensor_bytes += size;
        if (heap->tensor_bytes > heap->tensor_peak) heap->tensor_peak = heap->tensor_bytes;
    }
    return memory;
}

static void counting_release(void* user, void* pointer, size_t size, size_t alignment,
                             volta_memory_kind kind) {
    struct counting_heap* heap = user;
    (void)alignment;
    heap->live_bytes -= size;
    if (kind == VOLTA_MEMORY_TENSOR) heap->tensor_bytes -= size;
    free(pointer);
}

static volta_status context_on(struct counting_heap* heap, uint32_t threads, volta_isa isa, uint32_t flags,
                               volta_context** out) {
    const volta_allocator allocator = {counting_allocate, counting_release, heap};
    volta_context_options options = {0};
    options.struct_size = sizeof options;
    options.allocator = heap != NULL ? &allocator : NULL;
    options.thread_count = threads;
    options.isa = isa;
    options.flags = flags;
    return volta_context_create(&options, out);
}

/* A GPT of 2 layers, width 64, that every test can train in milliseconds. */
enum { kVocabulary = 29, kContext = 32 };

static volta_status small_gpt(volta_context* context, double dropout, volta_model** out) {
    volta_gpt_options gpt = {0};
    gpt.struct_size = sizeof gpt;
    gpt.vocabulary = kVocabulary;
    gpt.layers = 2;
    gpt.dim = 64;
    gpt.heads = 4;
    gpt.context = kContext;
    gpt.dropout = dropout;
    return volta_model_create_gpt(context, &gpt, 7, out);
}

/* A Llama of that size, with two query heads per key head. */
static volta_status small_llama(volta_context* context, int32_t untied, volta_model** out) {
    volta_llama_options llama = {0};
    llama.struct_size = sizeof llama;
    llama.vocabulary = kVocabulary;
    llama.layers = 2;
    llama.dim = 64;
    llama.heads = 4;
    llama.kv_heads = 2;
    llama.context = kContext;
    llama.untied = untied;
    return volta_model_create_llama(context, &llama, 7, out);
}

/* A stream of ids to learn: the next one is 5 x + 1 or 5 x + 2, by a coin. A model that knows this has loss
 * ln 2. */
static void fill_tokens(int32_t* tokens, size_t count) {
    uint32_t state = 1;
    int32_t x = 0;
    for (size_t i = 0; i < count; ++i) {
        state = state * 1664525u + 1013904223u;
        tokens[i] = x = (5 * x + 1 + (int32_t)(state >> 31)) % kVocabulary;
    }
}

static volta_trainer_options small_trainer_options(const int64_t* shape) {
    volta_trainer_options options = {0};
    options.struct_size = sizeof options;
    options.input_shapes = shape;
    options.input_extent_count = 2;
    options.seed = 3;
    options.steps = 40;
    options.schedule = VOLTA_SCHEDULE_COSINE;
    options.warmup_steps = 5;
    options.learning_rate = 3e-3;
    options.weight_decay = 0.1;
    options.clip_norm = 1.0;
    return options;
}

/* Elements of parameters that are trained: all but running statistics. */
static inline int64_t trained_elements(const volta_model* model) {
    int64_t sum = 0;
    for (size_t i = 0; i < volta_model_parameter_count(model); ++i) {
        volta_tensor_info info;
        assert_ok(volta_model_parameter_info(model, i, &info));
        if (strstr(info.name, "running_") != NULL) continue;
        int64_t elements = 1;
        for (int32_t axis = 0; axis < info.rank; ++axis) elements *= info.shape[axis];
        sum += elements;
    }
    return sum;
}

#endif
