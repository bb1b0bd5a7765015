// The functions of the contract against double libm: sampled floats and all edges of binades within the
// bound, the exact values exactly. All 2^32 inputs are the work of sweep_functions.
#include <cstdio>

#include "engine/base/hash.h"
#include "tests/numerics/unary_functions.h"
#include "tests/support/tensors.h"

namespace {
using namespace volta;
using namespace volta::test;

constexpr std::uint32_t kStride = 1021;

void test_error_is_within_the_bound(void** state) {
    static const std::vector<float> x = sampled_floats(kStride);
    const auto& implementation = *static_cast<const Implementation*>(*state);
    const UnaryFunction& f = *find_function(implementation.function);
    std::vector<float> y(x.size());
    implementation.run(x.data(), y.data(), x.size());
    double worst = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
        if (const double error = error_of(f, x[i], y[i]); error > worst) worst = error, at = i;
    if (worst > 1)
        print_error("%s(%a) = %a, expected %a\n", f.name, static_cast<double>(x[at]),
                    static_cast<double>(y[at]), f.reference(static_cast<double>(x[at])));
    y = {};
    assert_true(worst <= 1);
}

// Every bit of every result, sampled: a digit of a coefficient that moves is seen although the bound still
// holds.
constexpr struct {
    const char *function, *hash;
} kHashes[] = {
    {"exp", "d57406de2ea2fb82938f6ad453fbe703"},       {"log", "de2046b7c8ada9d6c810201006b24a1d"},
    {"tanh", "a5f27fa8bc41388076b271074b6d18d9"},      {"erf", "ac42c3136b709e0aef0a0ee37be21c66"},
    {"sigmoid", "4716aa45af8eec9b2f18843214c2f09d"},   {"sin", "0b1e8eb0a5ea27317134b94b976e026c"},
    {"cos", "fb29b45019d248687c05d5cfd786c767"},       {"rsqrt", "de12aa469d6ee3c56df0f96bc50c14b3"},
    {"silu", "dc62583ac8c100c274972446b5a865eb"},      {"silu_grad", "d739e49204ab2d9bb730630abecaa247"},
    {"gelu_tanh", "cc1638956c03dad91178799d1169dd7e"}, {"gelu_tanh_grad", "1bdda058c39360647dd08ff2b22b7c8e"},
    {"gelu_erf", "61c04bb2076be0eb57b71ece2357bf6b"},  {"gelu_erf_grad", "86f7b9faf3be85356ff1a6c2cb276ccf"},
    {"relu", "63eebb6e97929ef24a6a51ad4558cfe0"},
};

void test_results_have_the_contracts_bits(void** state) {
    static const std::vector<float> x = sampled_floats(kStride);
    const auto& implementation = *static_cast<const Implementation*>(*state);
    std::vector<float> y(x.size());
    implementation.run(x.data(), y.data(), x.size());
    Hasher hasher;
    hasher.add_floats(y.data(), y.size());
    y = {};
    const HashText actual = to_text(hasher.result());
    const char* expected = "a row for this function";
    for (const auto& row : kHashes)
        if (std::strcmp(row.function, implementation.function) == 0) expected = row.hash;
    assert_string_equal(actual.text, expected);
}

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

constexpr struct {
    const char* function;
    float x, y;
} kExact[] = {
    {"exp", 0.0f, 1.0f},
    {"exp", -0.0f, 1.0f},
    {"exp", kInf, kInf},
    {"exp", -kInf, 0.0f},
    {"exp", kNan, kNan},
    {"exp", 88.73f, kInf},
    {"exp", 1000.0f, kInf},
    {"exp", -104.5f, 0.0f},
    {"exp", -1000.0f, 0.0f},
    {"log", 1.0f, 0.0f},
    {"log", 0.0f, -kInf},
    {"log", -0.0f, -kInf},
    {"log", -1.0f, kNan},
    {"log", -1e-45f, kNan},
    {"log", -kInf, kNan},
    {"log", kInf, kInf},
    {"log", kNan, kNan},
    {"tanh", 0.0f, 0.0f},
    {"tanh", -0.0f, -0.0f},
    {"tanh", kInf, 1.0f},
    {"tanh", -kInf, -1.0f},
    {"tanh", kNan, kNan},
    {"tanh", 1e-45f, 1e-45f},
    {"tanh", -1e-45f, -1e-45f},
    {"erf", 0.0f, 0.0f},
    {"erf", -0.0f, -0.0f},
    {"erf", kInf, 1.0f},
    {"erf", -kInf, -1.0f},
    {"erf", kNan, kNan},
    {"erf", 100.0f, 1.0f},
    {"sigmoid", 0.0f, 0.5f},
    {"sigmoid", -0.0f, 0.5f},
    {"sigmoid", kInf, 1.0f},
    {"sigmoid", -kInf, 0.0f},
    {"sigmoid", kNan, kNan},
    {"sin", 0.0f, 0.0f},
    {"sin", -0.0f, -0.0f},
    {"sin", 131073.0f, kNan},
    {"sin", kInf, kNan},
    {"sin", kNan, kNan},
    {"sin", 1e-45f, 1e-45f},
    {"cos", 0.0f, 1.0f},
    {"cos", -0.0f, 1.0f},
    {"cos", -131073.0f, kNan},
    {"cos", -kInf, kNan},
    {"cos", kNan, kNan},
    {"rsqrt", 4.0f, 0.5f},
    {"rsqrt", 0.0f, kInf},
    {"rsqrt", -0.0f, -kInf},
    {"rsqrt", kInf, 0.0f},
    {"rsqrt", -1.0f, kNan},
    {"relu", 0.0f, 0.0f},
    {"relu", -0.0f, -0.0f},
    {"relu", -1.0f, 0.0f},
    {"relu", kNan, kNan},
    {"relu", kInf, kInf},
    {"relu", -kInf, 0.0f},
    {"silu", 0.0f, 0.0f},
    {"silu", -0.0f, -0.0f},
    {"silu", kInf, kInf},
    {"silu", -kInf, kNan},
    {"gelu_tanh", 0.0f, 0.0f},
    {"gelu_tanh", kInf, kInf},
    {"gelu_tanh", -kInf, kNan},
    {"gelu_tanh", -1e20f, -0.0f},
    {"gelu_tanh_grad", -1e20f, 0.0f},
    {"gelu_tanh_grad", 1e20f, 1.0f},
    {"gelu_tanh_grad", kInf, 1.0f},
    {"gelu_tanh_grad", kNan, kNan},
    {"gelu_erf", 0.0f, 0.0f},
    {"gelu_erf", -1e20f, -0.0f},
    {"gelu_erf_grad", 1e10f, 1.0f},
};

void test_exact_values(void** state) {
    const auto& implementation = *static_cast<const Implementation*>(*state);
    for (const auto& row : kExact) {
        if (std::strcmp(row.function, implementation.function) != 0) continue;
        float y;
        implementation.run(&row.x, &y, 1);
        char name[64];
        snprintf(name, sizeof name, "%s(%a)", row.function, static_cast<double>(row.x));
        assert_same_bits(name, &row.y, &y, 1);
    }
}

void test_exp_of_nonpositive_has_the_bits_of_exp(void**) {
    ScalarMachine<float> m;
    for (std::uint64_t bits = 0x80000000u; bits < std::uint64_t{1} << 32; bits += kStride) {
        const float x = float_of_bits(static_cast<std::uint32_t>(bits));
        const float expected = exp(m, x), actual = exp_nonpositive(m, x);
        if (bits_of(expected) != bits_of(actual)) assert_same_bits("exp_nonpositive", &expected, &actual, 1);
    }
}

void test_selections_follow_their_formulas(void**) {
    ScalarMachine<float> m;
    const float values[] = {kNan, -kInf, -1.0f, -0.0f, 0.0f, 1.0f, kInf};
    for (const float a : values)
        for (const float b : values) {
            const float expected[] = {a != a || a > b ? a : b, a != a || a < b ? a : b, a <= 0 ? 0.0f : b};
            const float actual[] = {maximum(m, a, b), minimum(m, a, b), relu_grad(m, a, b)};
            assert_same_bits("maximum, minimum, relu_grad", expected, actual, 3);
        }
    assert_true(clamp(m, 3.0f, -1.0f, 1.0f) == 1.0f && clamp(m, -3.0f, -1.0f, 1.0f) == -1.0f);
    assert_true(std::isnan(clamp(m, kNan, -1.0f, 1.0f)));
}

// So the gradient of relu may be taken from its result (engine/graph/gradient_rules.cpp).
void test_relu_grad_of_the_result_is_that_of_the_argument(void**) {
    ScalarMachine<float> m;
    const float dy[] = {kNan, -kInf, -1.0f, -0.0f, 0.0f, 1.0f, kInf};
    for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += kStride) {
        const float x = float_of_bits(static_cast<std::uint32_t>(bits));
        for (const float each : dy) {
            const float expected = relu_grad(m, x, each), actual = relu_grad(m, relu(m, x), each);
            if (bits_of(expected) != bits_of(actual)) assert_same_bits("relu_grad", &expected, &actual, 1);
        }
    }
    for (const float x : dy)
        for (const float each : dy) {
            const float expected = relu_grad(m, x, each), actual = relu_grad(m, relu(m, x), each);
            assert_same_bits("relu_grad", &expected, &actual, 1);
        }
}

void test_powers_with_a_short_form_take_it(void**) {
    ScalarMachine<float> m;
    const float x = 1.7f;
    const float expected[] = {x * x, (x * x) * x,      std::sqrt(x),
                              1 / x, 1 / std::sqrt(x), exp(m, 2.5f * log(m, x))};
    const float actual[] = {pow(m, x, 2),  pow(m, x, 3),    pow(m, x, 0.5),
                            pow(m, x, -1), pow(m, x, -0.5), pow(m, x, 2.5)};
    assert_same_bits("pow", expected, actual, 6);
}
}  // namespace

int main() {
    const std::vector<Implementation> rows = scalar_implementations();
    const auto name = [](const Implementation& row) { return row.function; };
    const CMUnitTest others[] = {
        cmocka_unit_test(test_exp_of_nonpositive_has_the_bits_of_exp),
        cmocka_unit_test(test_selections_follow_their_formulas),
        cmocka_unit_test(test_relu_grad_of_the_result_is_that_of_the_argument),
        cmocka_unit_test(test_powers_with_a_short_form_take_it),
    };
    return run_rows("functions: bounds", rows, test_error_is_within_the_bound, name) +
           run_rows("functions: bits", rows, test_results_have_the_contracts_bits, name) +
           run_rows("functions: exact values", rows, test_exact_values, name) +
           cmocka_run_group_tests_name("functions", others, nullptr, nullptr);
}
