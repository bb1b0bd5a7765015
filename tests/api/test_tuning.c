/* volta_tune from C: what it reports, what it refuses, that results and bills hold under it, and what becomes
 * of its folder. Nothing here depends on how fast anything is. */
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/api/api_test.h"

enum { kBatch = 2 };

struct witness {
    size_t calls, done, count;
    size_t packed_once; /* products of which B was packed before */
    size_t stop_after;  /* products; 0: never */
    double last_share;
    int shares_ascend;
    char choices[4096];
};

static int32_t watch(void* user, const volta_tune_report* report) {
    struct witness* seen = user;
    seen->calls += 1;
    seen->count = report->count;
    if (report->share < seen->last_share || report->share > 1) seen->shares_ascend = 0;
    seen->last_share = report->share;
    if (report->done) {
        seen->done += 1;
        seen->packed_once += report->packed_once != 0;
        assert_true(report->default_seconds > 0);
        assert_true(report->tuned_seconds > 0 && report->tuned_seconds <= report->default_seconds);
        assert_true(report->plans_timed >= 1 && report->classic_seconds > 0);
        assert_true(report->shape.lda > 0 && report->shape.ldb > 0 && report->shape.ldc > 0);
        strncat(seen->choices, report->choice, sizeof seen->choices - strlen(seen->choices) - 1);
    }
    return seen->stop_after > 0 && seen->done >= seen->stop_after;
}

static volta_tune_options quick(struct witness* seen, const volta_tune_shape* shapes, size_t count) {
    volta_tune_options options = {0};
    memset(seen, 0, sizeof *seen);
    seen->shares_ascend = 1;
    options.struct_size = sizeof options;
    options.shapes = shapes;
    options.shape_count = count;
    options.runs = 2;
    options.seconds = 0.05 * (double)(count > 0 ? count : 10);
    options.progress = watch;
    options.user = seen;
    return options;
}

static void keep_line(void* user, volta_log_level level, const char* line) {
    (void)level;
    if (user != NULL) snprintf(user, 512, "%s", line);
}

static volta_context* context_with(const char* folder, char* log, uint32_t threads) {
    volta_context_options options = {0};
    volta_context* context = NULL;
    options.struct_size = sizeof options;
    options.tuning_folder = folder;
    options.thread_count = threads;
    options.log = keep_line;
    options.log_user = log;
    assert_ok(volta_context_create(&options, &context));
    return context;
}

static const volta_tune_shape kShapes[] = {
    {40, 70, 90, 0, 0, 0, 0, 0}, {33, 48, 600, 0, 1, 700, 0, 64}, {64, 65, 32, 1, 0, 0, 0, 0}};

static void test_shapes(void** state) {
    struct witness seen;
    volta_context* context = context_with(NULL, NULL, 2);
    volta_tune_options options = quick(&seen, kShapes, 3);
    (void)state;
    assert_ok(volta_tune(context, &options));
    assert_int_equal(seen.done, 3);
    assert_int_equal(seen.count, 3);
    assert_true(seen.calls >= 3 && seen.shares_ascend && seen.last_share == 1);
    /* The same shape twice is one product. */
    {
        const volta_tune_shape twice[] = {{8, 8, 8, 0, 0, 0, 0, 0}, {8, 8, 8, 0, 0, 8, 8, 8}};
        options = quick(&seen, twice, 2);
        assert_ok(volta_tune(context, &options));
        assert_int_equal(seen.done, 1);
    }
    volta_context_release(context);
}

static void test_refusals(void** state) {
    struct witness seen;
    volta_context *context = context_with(NULL, NULL, 1), *other = context_with(NULL, NULL, 1);
    volta_tune_options options = quick(&seen, NULL, 0);
    volta_tune_shape shape = {8, 8, 8, 0, 0, 0, 0, 0};
    volta_model* model = NULL;
    volta_trainer* trainer = NULL;
    const int64_t extents[] = {kBatch, kContext};
    volta_trainer_options training = small_trainer_options(extents);
    (void)state;
    assert_fails(volta_tune(NULL, &options), VOLTA_INVALID_ARGUMENT, "context is NULL");
    assert_fails(volta_tune(context, NULL), VOLTA_INVALID_ARGUMENT,
                 "there is nothing to tune: no shapes, no session and no trainer");
    assert_fails(volta_tune(context, &options), VOLTA_INVALID_ARGUMENT,
                 "there is nothing to tune: no shapes, no session and no trainer");
    options.shape_count = 1;
    assert_fails(volta_tune(context, &options), VOLTA_INVALID_ARGUMENT, "shapes is NULL");
    options.shapes = &shape;
    shape.k = 0;
    assert_fails(volta_tune(context, &options), VOLTA_INVALID_ARGUMENT,
                 "shape 0: k is 0, it must be in 1 .. 16777216");
    shape.k = 8;
    shape.m = (int64_t)1 << 25;
    assert_fails(volta_tune(context, &options), VOLTA_INVALID_ARGUMENT,
                 "shape 0: m is 33554432, it must be in 1 .. 16777216");
    shape.m = 8;
    shape.ldb = 7;
    assert_fails(volta_tune(context, &options), VOLTA_INVALID_ARGUMENT,
                 "shape 0: ldb is 7, it must be 0 or in 8 .. 67108864");
    shape.ldb = 0;
    options.runs = 65;
    assert_fails(volta_tune(context, &options), VOLTA_INVALID_ARGUMENT,
                 "runs is 65 and warmup is 0, at most 64 are possible");
    options.runs = 2;
    options.seconds = -1;
    assert_fails(volta_tune(context, &options), VOLTA_INVALID_ARGUMENT, "seconds is -1");
    options.seconds = 0.05;
    options.shape_count = 5000;
    assert_fails(volta_tune(context, &options), VOLTA_INVALID_ARGUMENT,
                 "shape_count is 5000, at most 4096 are possible");
    options.shape_count = 1;
    options.struct_size = 3;
    assert_fails(volta_tune(context, &options), VOLTA_INVALID_ARGUMENT,
                 "volta_tune_options.struct_size is 3: set it to sizeof(volta_tune_options)");
    options.struct_size = sizeof options;
    assert_ok(small_gpt(other, 0, &model));
    assert_ok(volta_trainer_create(model, &training, &trainer));
    options.trainer = trainer;
    assert_fails(volta_tune(context, &options), VOLTA_INVALID_ARGUMENT, "the trainer is of another context");
    assert_int_equal(seen.calls, 0);
    volta_trainer_release(trainer);
    volta_model_release(model);
    volta_context_release(other);
    volta_context_release(context);
    {
        volta_context_options wrong = {0};
        wrong.struct_size = sizeof wrong;
        wrong.tuning_folder = "";
        assert_fails(volta_context_create(&wrong, &context), VOLTA_INVALID_ARGUMENT,
                     "tuning_folder is empty");
    }
}

/* Three steps, and the hash of the parameters. The trainer takes what its bill says, to the byte. */
static void train_hash(volta_context* context, struct counting_heap* heap, char* hash) {
    static int32_t tokens[2000];
    const int64_t extents[] = {kBatch, kContext};
    volta_trainer_options training = small_trainer_options(extents);
    volta_model* model = NULL;
    volta_trainer* trainer = NULL;
    volta_bill bill = {0};
    size_t model_bytes;
    int step;
    fill_tokens(tokens, 2000);
    assert_ok(small_gpt(context, 0, &model));
    heap->tensor_peak = model_bytes = heap->tensor_bytes;
    assert_ok(volta_trainer_create(model, &training, &trainer));
    assert_ok(volta_trainer_set_tokens(trainer, tokens, 2000));
    for (step = 0; step < 3; ++step) assert_ok(volta_trainer_step_tokens(trainer, NULL));
    assert_ok(volta_trainer_hash(trainer, hash));
    bill.struct_size = sizeof bill;
    assert_ok(volta_trainer_get_bill(trainer, &bill));
    assert_int_equal(heap->tensor_peak - model_bytes, bill.total);
    volta_trainer_release(trainer);
    volta_model_release(model);
}

/* All products of a trainer and a session: the bits stay, the bill is exact to the byte, before and after. */
static void test_results_stay(void** state) {
    struct counting_heap heap = {0};
    struct witness seen;
    volta_context* context = NULL;
    volta_model* model = NULL;
    volta_trainer* trainer = NULL;
    volta_session* session = NULL;
    volta_session_options inference = {0};
    const int64_t extents[] = {kBatch, kContext};
    volta_trainer_options training = small_trainer_options(extents);
    volta_tune_options options = quick(&seen, NULL, 0);
    char before[33], after[33];
    size_t tensors;
    (void)state;
    assert_ok(context_on(&heap, 2, VOLTA_ISA_AUTO, 0, &context));
    train_hash(context, &heap, before);

    assert_ok(small_gpt(context, 0, &model));
    assert_ok(volta_trainer_create(model, &training, &trainer));
    inference.struct_size = sizeof inference;
    inference.input_shapes = extents;
    inference.input_extent_count = 2;
    assert_ok(volta_session_create(model, &inference, &session));
    options.trainer = trainer;
    options.session = session;
    options.seconds = 1;
    tensors = heap.tensor_bytes;
    assert_ok(volta_tune(context, &options));
    assert_true(seen.done >= 8); /* qkv, output, up, down, head and their gradients */
    assert_int_equal(heap.tensor_bytes, tensors);
    volta_session_release(session);
    volta_trainer_release(trainer);
    volta_model_release(model);

    assert_int_equal(heap.tensor_bytes, 0);
    train_hash(context, &heap, after);
    assert_string_equal(after, before);
    volta_context_release(context);
    assert_int_equal(heap.live_bytes, 0);
}

/* What a session that packs its weights uses is told apart from what others use, and timed as well. */
static void test_packed_weights_are_products_of_their_own(void** state) {
    struct witness seen;
    volta_context* context = context_with(NULL, NULL, 1);
    volta_model* model = NULL;
    const int64_t extents[] = {kBatch, kContext};
    uint32_t packs;
    (void)state;
    assert_ok(small_gpt(context, 0, &model));
    for (packs = 0; packs <= 1; ++packs) {
        volta_session_options inference = {0};
        volta_tune_options options = quick(&seen, NULL, 0);
        volta_session* session = NULL;
        inference.struct_size = sizeof inference;
        inference.input_shapes = extents;
        inference.input_extent_count = 2;
        inference.flags = packs ? VOLTA_SESSION_PACK_WEIGHTS : 0;
        assert_ok(volta_session_create(model, &inference, &session));
        options.session = session;
        assert_ok(volta_tune(context, &options));
        assert_true(seen.done >= 4 && (seen.packed_once > 0) == (packs == 1));
        volta_session_release(session);
    }
    volta_model_release(model);
    volta_context_release(context);
}

static void test_cancelling_keeps_what_is_done(void** state) {
    struct witness seen;
    volta_context* context = context_with(NULL, NULL, 1);
    volta_tune_options options = quick(&seen, kShapes, 3);
    (void)state;
    seen.stop_after = 1;
    assert_fails(volta_tune(context, &options), VOLTA_CANCELLED,
                 "tuning was cancelled after 1 of 3 products");
    assert_int_equal(seen.done, 1);
    volta_context_release(context);
}

/* The one file of the folder whose name ends so; its size, or -1. */
static long file_in(const char* folder, const char* ending, char* path) {
    DIR* listing = opendir(folder);
    const struct dirent* entry;
    struct stat status;
    long size = -1;
    if (listing == NULL) return -1;
    while ((entry = readdir(listing)) != NULL) {
        const size_t length = strlen(entry->d_name), tail = strlen(ending);
        if (length < tail || strcmp(entry->d_name + length - tail, ending) != 0) continue;
        snprintf(path, 512, "%s/%s", folder, entry->d_name);
        if (stat(path, &status) == 0) size = (long)status.st_size;
    }
    closedir(listing);
    return size;
}

/* An allocator that has no memory for large matrices. */
static void* allocate_little(void* user, size_t size, size_t alignment, volta_memory_kind kind) {
    return size > (size_t)1 << 28 ? NULL : counting_allocate(user, size, alignment, kind);
}

/* What was done before a product for which there is no memory is kept, and the error names that product. */
static void test_failure_keeps_what_is_done(void** state) {
    const volta_tune_shape shapes[] = {{16, 16, 16, 0, 0, 0, 0, 0}, {20000, 30000, 1, 0, 1, 0, 0, 0}};
    char folder[] = "/tmp/volta_tune_XXXXXX", path[512], command[128];
    struct counting_heap heap = {0};
    const volta_allocator allocator = {allocate_little, counting_release, &heap};
    struct witness seen;
    volta_context_options given = {0};
    volta_tune_options options = quick(&seen, shapes, 2);
    volta_context* context = NULL;
    (void)state;
    assert_non_null(mkdtemp(folder));
    given.struct_size = sizeof given;
    given.allocator = &allocator;
    given.tuning_folder = folder;
    given.thread_count = 1;
    assert_ok(volta_context_create(&given, &context));
    assert_fails(volta_tune(context, &options), VOLTA_OUT_OF_MEMORY,
                 "product 2 of 2, 20000 x 30000 x 1 B^T: the host allocator returned NULL for 2400000000 "
                 "bytes");
    assert_int_equal(seen.done, 1);
    volta_context_release(context);
    assert_int_equal(heap.live_bytes, 0);
    assert_true(file_in(folder, ".json", path) > 100);
    snprintf(command, sizeof command, "grep -q '\"m\":16,' '%s'/*.json && rm -rf '%s'", folder, folder);
    assert_int_equal(system(command), 0);
}

static void test_folder(void** state) {
    char folder[] = "/tmp/volta_tune_XXXXXX", below[64], path[512], log[512] = "", command[128];
    struct witness seen;
    volta_tune_options options;
    volta_context* context;
    FILE* file;
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(below, sizeof below, "%s/new", folder);
    /* Reading makes nothing. */
    context = context_with(below, log, 1);
    assert_int_equal(file_in(below, ".json", path), -1);
    assert_true(access(below, F_OK) != 0);
    options = quick(&seen, kShapes, 2);
    assert_ok(volta_tune(context, &options));
    volta_context_release(context);
    assert_true(file_in(below, ".json", path) > 100);
    context = context_with(below, log, 1);
    volta_context_release(context);
    assert_string_equal(log, "");
    /* A damaged file is one line of the log. */
    file = fopen(path, "w");
    assert_non_null(file);
    fputs("{", file);
    fclose(file);
    context = context_with(below, log, 1);
    assert_non_null(strstr(log, "is ignored: it is damaged: it is no JSON object"));
    volta_context_release(context);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
    /* A folder that cannot be written fails before anything is timed. */
    context = context_with("/dev/null/below", log, 1);
    options = quick(&seen, kShapes, 2);
    assert_int_equal(volta_tune(context, &options), VOLTA_IO_ERROR);
    assert_non_null(strstr(volta_last_error(), "/dev/null"));
    assert_int_equal(seen.calls, 0);
    volta_context_release(context);
}

/* A host that was built before tuning_folder existed passes a shorter struct. */
static void test_older_host(void** state) {
    volta_context_options options = {0};
    volta_context* context = NULL;
    (void)state;
    options.struct_size = offsetof(volta_context_options, tuning_folder);
    options.tuning_folder = (const char*)(uintptr_t)1; /* not part of what it passes */
    assert_ok(volta_context_create(&options, &context));
    volta_context_release(context);
}

/* The whole text, cut texts, what is refused; what tuning found counts. */
static void test_a_product_is_explained(void** state) {
    volta_context* const context = context_with(NULL, NULL, 1);
    const volta_tune_shape shape = {64, 1009, 512, 0, 0, 0, 0, 0}, none = {0, 8, 8, 0, 0, 0, 0, 0};
    char text[8192], cut[20];
    size_t bytes = 0, again = 0;
    (void)state;
    assert_ok(volta_explain_matmul(context, &shape, 0, NULL, 0, &bytes));
    assert_true(bytes > 100 && bytes < sizeof text);
    assert_ok(volta_explain_matmul(context, &shape, 0, text, sizeof text, &again));
    assert_int_equal(again, bytes);
    assert_int_equal(strlen(text), bytes);
    assert_true(strncmp(text, "machine ", 8) == 0);
    assert_non_null(strstr(text, "\nproduct   C[64,1009] = A[64,512] B[512,1009]"));
    assert_non_null(strstr(text, "\napplied   pack-b"));
    assert_non_null(strstr(text, "\nrejected  some-rows-in-place: rows of B conflict in L1's sets\n"));
    assert_non_null(strstr(text, "\nschedule  blocked tile=f32_gemm_"));
    assert_non_null(strstr(text, "\nkernel    f32_gemm_"));
    assert_ok(volta_explain_matmul(context, &shape, 0, cut, sizeof cut, &again));
    assert_int_equal(again, bytes);
    assert_int_equal(strlen(cut), sizeof cut - 1);
    assert_memory_equal(cut, text, sizeof cut - 1);
    assert_ok(volta_explain_matmul(context, &shape, VOLTA_EXPLAIN_PACKED_ONCE | VOLTA_EXPLAIN_FROM_MEMORY,
                                   text, sizeof text, &again));
    assert_non_null(strstr(text, "use       B is packed once, the plan's weights fill 1.50 of the LLC"));
    assert_non_null(strstr(text, "\napplied   prepack-b"));

    text[0] = 'x';
    assert_fails(volta_explain_matmul(NULL, &shape, 0, text, sizeof text, &bytes), VOLTA_INVALID_ARGUMENT,
                 "context is NULL");
    assert_int_equal(bytes, 0);
    assert_int_equal(text[0], 0);
    assert_fails(volta_explain_matmul(context, NULL, 0, text, sizeof text, &bytes), VOLTA_INVALID_ARGUMENT,
                 "shape is NULL");
    assert_fails(volta_explain_matmul(context, &shape, 0, text, sizeof text, NULL), VOLTA_INVALID_ARGUMENT,
                 "out_bytes is NULL");
    assert_fails(volta_explain_matmul(context, &shape, 0, NULL, 7, &bytes), VOLTA_INVALID_ARGUMENT,
                 "text is NULL and capacity is 7");
    assert_fails(volta_explain_matmul(context, &shape, 12, text, sizeof text, &bytes), VOLTA_INVALID_ARGUMENT,
                 "use is 0xc, known bits are 0x3");
    assert_fails(volta_explain_matmul(context, &none, 0, text, sizeof text, &bytes), VOLTA_INVALID_ARGUMENT,
                 "shape 0: m is 0, it must be in 1 .. 16777216");
    volta_context_release(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_product_is_explained),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_results_stay),
        cmocka_unit_test(test_cancelling_keeps_what_is_done),
        cmocka_unit_test(test_packed_weights_are_products_of_their_own),
        cmocka_unit_test(test_failure_keeps_what_is_done),
        cmocka_unit_test(test_folder),
        cmocka_unit_test(test_older_host),
    };
    return cmocka_run_group_tests_name("tuning", tests, NULL, NULL);
}
