// Training at level repeatable with products in bf16, on a device that needs no GPU: the loss falls as
// strict's does, parameters stay fp32, a second run has the same bits, and plans say which algorithms they
// keep.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/runtime/context.h"
#include "tests/support/fake_cuda/fake_access.h"
#include "volta.h"

namespace {
using namespace volta;
using namespace volta::test;

char kernels[] = "/tmp/volta_mixed_XXXXXX";  // a folder: compiled once for all tests
constexpr int kSteps = 12;
constexpr std::int32_t kVocabulary = 97, kContext = 24;

struct Run {
    std::vector<float> losses;
    std::string hash, plan;
    int calls = 0, late_calls = 0;  // of cublasLtMatmul and cuMemAlloc: all, and after the third step
    double low_bits = 0;            // share of a weight's elements that bf16 could not hold
};

volta_context* make_context(const Arithmetic& arithmetic) {
    ContextOptions options;
    options.device = "cuda";
    options.thread_count = 1;
    options.kernel_folder = kernels;
    options.arithmetic = arithmetic;
    return reinterpret_cast<volta_context*>(Context::create(options));
}

bool ok(volta_status status) {
    if (status != VOLTA_OK) print_error("%s: %s\n", volta_status_name(status), volta_last_error());
    return status == VOLTA_OK;
}

volta_trainer* make_trainer(volta_model* model) {
    const std::int64_t shape[] = {2, kContext};
    volta_trainer_options options = {};
    options.struct_size = sizeof options;
    options.input_shapes = shape;
    options.input_extent_count = 2;
    options.micro_batches = 2;
    options.clip_norm = 1;
    options.learning_rate = 1e-2;
    volta_trainer* trainer = nullptr;
    return ok(volta_trainer_create(model, &options, &trainer)) ? trainer : nullptr;
}

bool train(volta_trainer* trainer, Run& run) {
    std::vector<std::int32_t> tokens(600);
    for (std::size_t i = 0; i < tokens.size(); ++i)
        tokens[i] = static_cast<std::int32_t>(i % 7 * 13);  // a melody that can be learnt
    bool good = ok(volta_trainer_set_tokens(trainer, tokens.data(), tokens.size()));
    for (int step = 0; step < kSteps && good; ++step) {
        volta_step_report report = {};
        report.struct_size = sizeof report;
        good = ok(volta_trainer_step_tokens(trainer, &report));
        run.losses.push_back(report.loss);
        run.calls = fake_calls("cublasLtMatmul") + fake_calls("cuMemAlloc_v2");
        if (step < 3) run.late_calls = -run.calls;
    }
    run.late_calls += run.calls;
    char hash[33] = "";
    const char* plan = nullptr;
    good = good && ok(volta_trainer_hash(trainer, hash)) && ok(volta_trainer_print_plan(trainer, &plan));
    run.hash = hash;
    if (good) run.plan = plan;
    return good;
}

double share_of_low_bits(volta_trainer* trainer, const char* parameter) {
    const float* data = nullptr;
    std::size_t count = 0, with_low_bits = 0;
    if (!ok(volta_trainer_parameter(trainer, parameter, &data, &count))) return 0;
    for (std::size_t i = 0; i < count; ++i) {
        std::uint32_t bits;
        std::memcpy(&bits, data + i, sizeof bits);
        with_low_bits += (bits & 0xffffu) != 0;
    }
    return static_cast<double>(with_low_bits) / static_cast<double>(count);
}

// A GPT with one layer. Fewer losses than steps: something failed, and was told.
Run run_of(const Arithmetic& arithmetic) {
    Run run;
    volta_context* const context = make_context(arithmetic);
    volta_gpt_options gpt = {};
    gpt.struct_size = sizeof gpt;
    gpt.vocabulary = kVocabulary;
    gpt.layers = 1;
    gpt.dim = 32;
    gpt.heads = 2;
    gpt.context = kContext;
    volta_model* model = nullptr;
    if (ok(volta_model_create_gpt(context, &gpt, 7, &model))) {
        volta_trainer* const trainer = make_trainer(model);
        if (trainer != nullptr && train(trainer, run))
            run.low_bits = share_of_low_bits(trainer, "token_embedding");
        volta_trainer_release(trainer);
    }
    volta_model_release(model);
    volta_context_release(context);
    return run;
}

const Run& repeatable() {
    static const Run run = run_of({Level::repeatable, Precision::bf16});
    return run;
}
const Run& strict() {
    static const Run run = run_of({});
    return run;
}

void test_loss_falls(void**) {
    assert_int_equal(repeatable().losses.size(), kSteps);
    assert_int_equal(strict().losses.size(), kSteps);
    for (int step = 0; step < 4; ++step) {  // then small differences have grown
        const float loss = repeatable().losses[static_cast<std::size_t>(step)];
        const float exact = strict().losses[static_cast<std::size_t>(step)];
        if (std::fabs(loss - exact) > 0.01f * exact)
            print_error("step %d: loss %g, strict has %g\n", step, static_cast<double>(loss),
                        static_cast<double>(exact));
        assert_true(std::fabs(loss - exact) <= 0.01f * exact);
    }
    assert_true(repeatable().losses.back() < 0.8f * repeatable().losses.front());
    assert_true(repeatable().hash != strict().hash);
    assert_true(nothing_is_left());
}

// From the third step on, a step is its graphs: products are launched with them, and nothing is allocated.
void test_products_are_recorded(void**) {
    assert_int_equal(repeatable().losses.size(), kSteps);
    assert_true(repeatable().calls > 40);
    assert_int_equal(repeatable().late_calls, 0);
}

void test_parameters_stay_fp32(void**) {
    assert_int_equal(repeatable().losses.size(), kSteps);
    assert_true(repeatable().low_bits > 0.95);
}

void test_again(void**) {
    static Run again;
    again = run_of({Level::repeatable, Precision::bf16});
    assert_int_equal(again.losses.size(), kSteps);
    assert_string_equal(again.hash.c_str(), repeatable().hash.c_str());
    assert_string_equal(again.plan.c_str(), repeatable().plan.c_str());
    again = Run();
}

// Products of training are the library's, forward and backward; a weight's gradient is named after its
// product.
void test_plan_names_algorithms(void**) {
    int products = 0;
    const std::string& plan = repeatable().plan;
    for (std::size_t at = plan.find(": cublaslt bf16 algo "); at != std::string::npos;
         at = plan.find(": cublaslt bf16 algo ", at + 1))
        ++products;
    if (products < 15) print_error("%d products in\n%s\n", products, plan.c_str());
    assert_true(products >= 15);
    assert_true(plan.find("weight_gradient: cuda") == std::string::npos);
    assert_true(strict().plan.find("cublaslt") == std::string::npos);
}

int remove_kernels(void**) {
    std::filesystem::remove_all(kernels);
    return 0;
}

}  // namespace

int main() {
    if (mkdtemp(kernels) == nullptr) return 1;
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_loss_falls),
        cmocka_unit_test(test_products_are_recorded),
        cmocka_unit_test(test_parameters_stay_fp32),
        cmocka_unit_test(test_again),
        cmocka_unit_test(test_plan_names_algorithms),
    };
    return cmocka_run_group_tests(tests, nullptr, remove_kernels);
}
