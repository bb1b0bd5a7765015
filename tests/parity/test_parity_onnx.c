/* A GPT that PyTorch exported (tests/golden/parity_onnx_gpt.onnx), with batch and time open, and the losses
 * of 20 steps that PyTorch trained it in double precision (parity_onnx.json; both by parity_onnx.py
 * --update): imported and trained without PyTorch, within 1e-4 relative, with its operators recognised and as
 * it is written. */
#include <math.h>

#include "tests/parity/golden_numbers.h"
#include "volta.h"

enum { BATCH = 16, TIME = 12, VOCABULARY = 50, STEPS = 20 };
static const char* const kModel = "golden/parity_onnx_gpt.onnx";

static void make_batch(int step, int32_t* inputs, int32_t* targets) {
    for (int i = 0; i < BATCH * TIME; ++i) {
        inputs[i] = (int32_t)(splitmix((uint64_t)(2 * step), (uint64_t)i) % VOCABULARY);
        targets[i] = (int32_t)(splitmix((uint64_t)(2 * step + 1), (uint64_t)i) % VOCABULARY);
    }
}

static void train(int exact_graph) {
    char* const golden = read_golden("golden/parity_onnx.json");
    assert_non_null(golden);
    double losses[STEPS];
    read_numbers(after(golden, "losses"), losses, STEPS);
    volta_context* context = NULL;
    volta_model* model = NULL;
    volta_trainer* trainer = NULL;
    volta_context_options options = VOLTA_CONTEXT_OPTIONS_INIT;
    options.thread_count = 2;
    CHECK(volta_context_create(&options, &context));
    volta_import_options import = VOLTA_IMPORT_OPTIONS_INIT;
    import.exact_graph = exact_graph;
    static char survey[1 << 14];
    size_t bytes = 0;
    CHECK(volta_model_survey(context, kModel, &import, survey, sizeof survey, &bytes));
    assert_true(bytes < sizeof survey);
    assert_non_null(strstr(survey, exact_graph
                                       ? "\"recognised\": []"
                                       : "\"recognised\": [{\"operator\": \"attention\", \"count\": 2}, "
                                         "{\"operator\": \"gelu_erf\", \"count\": 2}]"));
    CHECK(volta_model_import(context, kModel, &import, &model));
    const int64_t shape[] = {BATCH, TIME};
    volta_trainer_options training = VOLTA_TRAINER_OPTIONS_INIT;
    training.input_shapes = shape;
    training.input_extent_count = 2;
    training.optimizer = VOLTA_SGD;
    training.steps = STEPS;
    training.learning_rate = training.final_learning_rate = 0.01;
    training.momentum = 0.9;
    CHECK(volta_trainer_create(model, &training, &trainer));
    int32_t inputs[BATCH * TIME], targets[BATCH * TIME];
    volta_tensor *given = NULL, *meant = NULL;
    CHECK(volta_tensor_wrap(context, VOLTA_I32, shape, 2, inputs, &given));
    CHECK(volta_tensor_wrap(context, VOLTA_I32, shape, 2, targets, &meant));
    for (int step = 0; step < STEPS; ++step) {
        make_batch(step, inputs, targets);
        volta_step_report report;
        memset(&report, 0, sizeof report);
        report.struct_size = sizeof report;
        const volta_tensor* const all[] = {given};
        CHECK(volta_trainer_step(trainer, all, 1, meant, &report));
        if (!(fabs((double)report.loss - losses[step]) <= 1e-4 * losses[step]))
            fail_msg("step %d: the loss is %.9g, PyTorch's is %.9g", step, (double)report.loss, losses[step]);
    }
    volta_tensor_release(given);
    volta_tensor_release(meant);
    volta_trainer_release(trainer);
    volta_model_release(model);
    volta_context_release(context);
    free(golden);
}

static void test_recognised(void** state) {
    (void)state;
    train(0);
}
static void test_as_it_is_written(void** state) {
    (void)state;
    train(1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recognised),
        cmocka_unit_test(test_as_it_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
