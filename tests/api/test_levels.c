/* Levels and precisions: who offers what, which bits the processor computes at each level, and what a plan, a
 * file and the log say about the level that they were made at. Contexts without a device are made on the
 * device that VOLTA_TEST_DEVICE names; no bit of it is compared with another level's. */
#include <unistd.h>

#include "tests/api/api_test.h"

enum { kTokens = 400 };

/* Of this process: the tests of two devices run side by side. */
static char path[64], other_path[64];

struct lines {
    int infos, warnings;
    char last[2][256]; /* by volta_log_level */
};

static void keep_line(void* user, volta_log_level level, const char* line) {
    struct lines* lines = user;
    *(level == VOLTA_LOG_INFO ? &lines->infos : &lines->warnings) += 1;
    snprintf(lines->last[level], sizeof lines->last[level], "%s", line);
}

static volta_status create(const char* device, volta_level level, volta_precision precision,
                           struct lines* lines, volta_context** out) {
    volta_context_options options = {0};
    options.struct_size = sizeof options;
    options.device = device;
    options.level = level;
    options.precision = precision;
    options.thread_count = 1;
    options.log = lines != NULL ? keep_line : NULL;
    options.log_user = lines;
    return volta_context_create(&options, out);
}

static volta_context* context_at(const char* device, volta_level level, struct lines* lines) {
    volta_context* context = NULL;
    assert_ok(create(device, level, VOLTA_PRECISION_FP32, lines, &context));
    return context;
}

static const char* name_of(volta_context* context) {
    static volta_device_info info;
    info.struct_size = sizeof info;
    assert_ok(volta_context_get_device(context, &info));
    return info.name;
}

static void give_tokens(volta_trainer* trainer) {
    static int32_t tokens[kTokens];
    fill_tokens(tokens, kTokens);
    assert_ok(volta_trainer_set_tokens(trainer, tokens, kTokens));
}

static volta_trainer* trainer_of(volta_model* model) {
    const int64_t shape[] = {2, 8};
    const volta_trainer_options options = small_trainer_options(shape);
    volta_trainer* trainer = NULL;
    assert_ok(volta_trainer_create(model, &options, &trainer));
    give_tokens(trainer);
    return trainer;
}

static void train(volta_trainer* trainer, int steps) {
    while (steps-- > 0) assert_ok(volta_trainer_step_tokens(trainer, NULL));
}

/* Hash and plan of a few steps on the processor. */
static void trained_at(volta_level level, char hash[33], char* plan, size_t plan_bytes) {
    volta_context* const context = context_at("cpu", level, NULL);
    volta_model* model = NULL;
    volta_trainer* trainer;
    const char* text = NULL;
    assert_ok(small_gpt(context, 0.1, &model));
    trainer = trainer_of(model);
    train(trainer, 4);
    assert_ok(volta_trainer_hash(trainer, hash));
    assert_ok(volta_trainer_print_plan(trainer, &text));
    snprintf(plan, plan_bytes, "%s", text);
    volta_trainer_release(trainer);
    volta_model_release(model);
    volta_context_release(context);
}

static void test_the_processor_is_strict_at_every_level(void** state) {
    static char plans[3][100];
    char hashes[3][33];
    (void)state;
    for (volta_level level = VOLTA_STRICT; level <= VOLTA_FAST; ++level)
        trained_at(level, hashes[level], plans[level], sizeof plans[level]);
    assert_string_equal(hashes[VOLTA_REPEATABLE], hashes[VOLTA_STRICT]);
    assert_string_equal(hashes[VOLTA_FAST], hashes[VOLTA_STRICT]);
    assert_memory_equal(plans[VOLTA_STRICT], "plan of 1 micro-batch\ngraph\n", 28);
    assert_memory_equal(plans[VOLTA_REPEATABLE],
                        "plan of 1 micro-batch\nlevel repeatable, precision fp32\ngraph\n", 61);
    assert_memory_equal(plans[VOLTA_FAST], "plan of 1 micro-batch\nlevel fast, precision fp32\ngraph\n", 55);
}

static void test_contexts_say_their_level(void** state) {
    struct lines lines = {0};
    volta_context_info info = {0};
    char expected[256];
    volta_context* context = context_at(NULL, VOLTA_STRICT, &lines);
    (void)state;
    info.struct_size = sizeof info;
    assert_ok(volta_context_get_info(context, &info));
    assert_true(info.level == VOLTA_STRICT && info.precision == VOLTA_PRECISION_FP32);
    assert_null(strstr(lines.last[VOLTA_LOG_INFO], "level"));
    volta_context_release(context);

    context = context_at(NULL, VOLTA_REPEATABLE, &lines);
    assert_ok(volta_context_get_info(context, &info));
    assert_true(info.level == VOLTA_REPEATABLE && info.precision == VOLTA_PRECISION_FP32);
    snprintf(expected, sizeof expected, "level repeatable, precision fp32 on %s", name_of(context));
    assert_string_equal(lines.last[VOLTA_LOG_INFO], expected);
    volta_context_release(context);
}

/* tf32 and bf16 are CUDA's: the processor refuses them, and so does "auto" where it would be the processor.
 */
static void test_precisions_are_refused_by_the_processor(void** state) {
    volta_context* context = (volta_context*)1;
    uint32_t devices = 0;
    (void)state;
    assert_fails(create("cpu", VOLTA_REPEATABLE, VOLTA_PRECISION_BF16, NULL, &context), VOLTA_UNSUPPORTED,
                 "precision bf16 at level repeatable is offered on CUDA alone; the device is cpu");
    assert_null(context);
    assert_fails(create("cpu", VOLTA_FAST, VOLTA_PRECISION_TF32, NULL, &context), VOLTA_UNSUPPORTED,
                 "precision tf32 at level fast is offered on CUDA alone; the device is cpu");
    if (volta_device_count("cuda", &devices) == VOLTA_OK) return; /* "auto" is cuda here */
    assert_int_equal(create("auto", VOLTA_FAST, VOLTA_PRECISION_BF16, NULL, &context), VOLTA_UNSUPPORTED);
    assert_null(context);
    assert_non_null(strstr(volta_last_error(),
                           "precision bf16 at level fast is offered on CUDA "
                           "alone; the device is cpu, because cuda cannot be used: "));
    assert_ok(create("auto", VOLTA_FAST, VOLTA_PRECISION_FP32, NULL, &context));
    assert_string_equal(name_of(context), "cpu");
    volta_context_release(context);
}

static void assert_made_at(const volta_model* model, volta_level expected) {
    volta_level level = -1;
    volta_precision precision = -1;
    assert_ok(volta_model_get_arithmetic(model, &level, &precision));
    assert_int_equal(level, expected);
    assert_int_equal(precision, VOLTA_PRECISION_FP32);
}

/* What other_path says. */
static void assert_file_made_at(volta_context* context, volta_level expected) {
    volta_model* model = NULL;
    assert_ok(volta_model_open(context, other_path, NULL, &model));
    assert_made_at(model, expected);
    volta_model_release(model);
}

static void test_a_model_without_arguments_has_no_level(void** state) {
    volta_level level = 9;
    volta_precision precision = 9;
    (void)state;
    assert_fails(volta_model_get_arithmetic(NULL, &level, &precision), VOLTA_INVALID_ARGUMENT,
                 "model is NULL");
    assert_true(level == 0 && precision == 0);
}

static size_t read_file(const char* name, char* bytes, size_t most) {
    FILE* const file = fopen(name, "rb");
    size_t count;
    assert_non_null(file);
    count = fread(bytes, 1, most, file);
    fclose(file);
    assert_true(count > 0 && count < most);
    return count;
}

/* The level goes into the file, comes out of it in a context of any level, and is saved as it was read. */
static void test_files_keep_their_level(void** state) {
    static char first[1 << 20], second[1 << 20];
    volta_context *repeatable = context_at(NULL, VOLTA_REPEATABLE, NULL),
                  *strict = context_at(NULL, VOLTA_STRICT, NULL);
    volta_model *made = NULL, *opened = NULL, *stored = NULL;
    size_t bytes;
    (void)state;
    assert_ok(small_gpt(repeatable, 0, &made));
    assert_made_at(made, VOLTA_REPEATABLE);
    assert_ok(volta_model_save(made, path));
    assert_ok(volta_model_open(strict, path, NULL, &opened));
    assert_made_at(opened, VOLTA_REPEATABLE);
    assert_ok(volta_model_save(opened, other_path));
    bytes = read_file(path, first, sizeof first);
    assert_int_equal(read_file(other_path, second, sizeof second), bytes);
    assert_memory_equal(first, second, bytes);
    assert_ok(volta_model_quantize(opened, VOLTA_INT8, &stored));
    assert_made_at(stored, VOLTA_REPEATABLE);
    volta_model_release(stored);
    volta_model_release(opened);

    /* A trainer writes its context's, into the file and into the model. */
    assert_ok(volta_model_open(strict, path, NULL, &opened));
    {
        volta_trainer* const trainer = trainer_of(opened);
        train(trainer, 1);
        assert_ok(volta_trainer_save(trainer, other_path));
        assert_ok(volta_trainer_update_model(trainer));
        volta_trainer_release(trainer);
    }
    assert_made_at(opened, VOLTA_STRICT);
    volta_model_release(opened);
    assert_file_made_at(repeatable, VOLTA_STRICT);
    volta_model_release(made);
    volta_context_release(strict);
    volta_context_release(repeatable);
}

/* Goes on from path to step 4; the hash of the end, and what the log said. */
static void resumed_at(volta_level level, char hash[33], struct lines* lines) {
    volta_context* const context = context_at(NULL, level, lines);
    volta_model* model = NULL;
    volta_trainer* trainer = NULL;
    assert_ok(volta_model_open(context, path, NULL, &model));
    memset(lines, 0, sizeof *lines);
    assert_ok(volta_trainer_resume(model, NULL, &trainer));
    give_tokens(trainer);
    assert_ok(volta_trainer_save(trainer, other_path)); /* nothing is trained yet: nothing to say */
    assert_int_equal(lines->warnings, 0);
    assert_file_made_at(context, VOLTA_REPEATABLE);
    train(trainer, 2);
    assert_ok(volta_trainer_hash(trainer, hash));
    assert_ok(volta_trainer_save(trainer, other_path));
    volta_trainer_release(trainer);
    volta_model_release(model);
    assert_file_made_at(context, level);
    volta_context_release(context);
}

static void test_resuming_at_another_level_is_said(void** state) {
    volta_context* const context = context_at(NULL, VOLTA_REPEATABLE, NULL);
    volta_model* model = NULL;
    volta_trainer* trainer;
    struct lines lines;
    char whole[33], hash[33];
    (void)state;
    assert_ok(small_gpt(context, 0.1, &model));
    trainer = trainer_of(model);
    train(trainer, 2);
    assert_ok(volta_trainer_save(trainer, path));
    train(trainer, 2);
    assert_ok(volta_trainer_hash(trainer, whole));
    volta_trainer_release(trainer);
    volta_model_release(model);
    volta_context_release(context);

    resumed_at(VOLTA_REPEATABLE, hash, &lines);
    assert_string_equal(hash, whole); /* the same level: the same bits, and nothing to say */
    assert_int_equal(lines.warnings, 0);
    resumed_at(VOLTA_STRICT, hash, &lines);
    assert_int_equal(lines.warnings, 1);
    assert_string_equal(lines.last[VOLTA_LOG_WARNING],
                        "the checkpoint was trained at level repeatable in precision fp32, and goes on at "
                        "level strict in precision fp32");
}

static int remove_files(void** state) {
    (void)state;
    unlink(path);
    unlink(other_path);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_processor_is_strict_at_every_level),
        cmocka_unit_test(test_contexts_say_their_level),
        cmocka_unit_test(test_precisions_are_refused_by_the_processor),
        cmocka_unit_test(test_a_model_without_arguments_has_no_level),
        cmocka_unit_test(test_files_keep_their_level),
        cmocka_unit_test(test_resuming_at_another_level_is_said),
    };
    snprintf(path, sizeof path, "test_levels_%ld.volta", (long)getpid());
    snprintf(other_path, sizeof other_path, "test_levels_other_%ld.volta", (long)getpid());
    return cmocka_run_group_tests(tests, NULL, remove_files);
}
