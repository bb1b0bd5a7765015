// Every unary function of the contract with its reference (double libm), its bound, and the ways to run it.
// The sampled test and the full sweep walk this table; a backend adds itself by appending implementations.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "engine/numerics/functions.h"
#include "tests/support/ulps.h"

namespace volta::test {

struct UnaryFunction {
    const char* name;
    double (*reference)(double x);
    double most_ulps;   // against the correctly rounded reference; 0: the function has no such bound,
    double most_error;  // but this one: |error| / max(1, |x|)
};

// Runs one function over an array. Thread: any.
struct Implementation {
    const char* function;  // a name of the table
    const char* backend;   // "scalar", ...
    void (*run)(const float* in, float* out, std::size_t n);
};

namespace reference {

inline constexpr double kPi = 3.14159265358979323846;
inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
inline double silu(double x) { return x * sigmoid(x); }
inline double silu_grad(double x) { return sigmoid(x) * (1 + x * (1 - sigmoid(x))); }
inline double gelu_inner(double x) { return std::sqrt(2 / kPi) * (x + 0.044715 * x * x * x); }
inline double gelu_tanh(double x) { return x * sigmoid(2 * gelu_inner(x)); }
inline double gelu_tanh_grad(double x) {
    if (std::fabs(x) > 30) return x > 0;  // x^3 may overflow; the rest is below 1e-300
    const double s = sigmoid(2 * gelu_inner(x));
    return s + x * s * (1 - s) * 2 * std::sqrt(2 / kPi) * (1 + 3 * 0.044715 * x * x);
}
inline double gelu_erf(double x) { return 0.5 * x * std::erfc(-x * std::sqrt(0.5)); }
inline double gelu_erf_grad(double x) {
    return 0.5 * std::erfc(-x * std::sqrt(0.5)) + x * std::exp(-0.5 * x * x) / std::sqrt(2 * kPi);
}
inline double bounded(double x, double y) { return std::fabs(x) <= 131072 ? y : std::nan(""); }

}  // namespace reference

inline constexpr UnaryFunction kUnaryFunctions[] = {
    {"exp", [](double x) { return std::exp(x); }, 2, 0},
    {"log", [](double x) { return std::log(x); }, 2, 0},
    {"tanh", [](double x) { return std::tanh(x); }, 2, 0},
    {"erf", [](double x) { return std::erf(x); }, 2, 0},
    {"sigmoid", reference::sigmoid, 2.5, 0},
    {"sin", [](double x) { return reference::bounded(x, std::sin(x)); }, 2, 0},
    {"cos", [](double x) { return reference::bounded(x, std::cos(x)); }, 2, 0},
    {"rsqrt", [](double x) { return 1 / std::sqrt(x); }, 2, 0},
    {"silu", reference::silu, 0, 1e-6},
    {"silu_grad", reference::silu_grad, 0, 1e-6},
    {"gelu_tanh", reference::gelu_tanh, 0, 1e-6},
    {"gelu_tanh_grad", reference::gelu_tanh_grad, 0, 4e-6},
    {"gelu_erf", reference::gelu_erf, 0, 1e-6},
    {"gelu_erf_grad", reference::gelu_erf_grad, 0, 1e-6},
    {"relu", [](double x) { return 0 > x ? 0 : x; }, 0.5, 0},
};

// f(machine, x) over an array, in the scalar machine.
template <class F>
void run_scalar(const float* in, float* out, std::size_t n, F f) {
    ScalarMachine<float> m;
    for (std::size_t i = 0; i < n; ++i) out[i] = f(m, in[i]);
}

inline std::vector<Implementation> scalar_implementations() {
    using Machine = ScalarMachine<float>;
#define VOLTA_ROW(name)                                                                                   \
    {                                                                                                     \
#name, "scalar",                                                                                  \
            [](const float* in, float* out,                                                               \
               std::size_t n) { run_scalar(in, out, n, [](Machine& m, float x) { return name(m, x); }); } \
    }
#define VOLTA_GRADIENT_ROW(name)                                                                        \
    {                                                                                                   \
#name, "scalar",                                                                                \
            [](const float* in, float* out,                                                             \
               std::size_t                                                                              \
                   n) { run_scalar(in, out, n, [](Machine& m, float x) { return name(m, x, 1.0f); }); } \
    }
    return {VOLTA_ROW(exp),       VOLTA_ROW(log),
            VOLTA_ROW(tanh),      VOLTA_ROW(erf),
            VOLTA_ROW(sigmoid),   VOLTA_ROW(sin),
            VOLTA_ROW(cos),       VOLTA_ROW(rsqrt),
            VOLTA_ROW(silu),      VOLTA_GRADIENT_ROW(silu_grad),
            VOLTA_ROW(gelu_tanh), VOLTA_GRADIENT_ROW(gelu_tanh_grad),
            VOLTA_ROW(gelu_erf),  VOLTA_GRADIENT_ROW(gelu_erf_grad),
            VOLTA_ROW(relu)};
#undef VOLTA_ROW
#undef VOLTA_GRADIENT_ROW
}

// How wrong y = f(x) is, in the units of the function's bound: more than 1 breaks it. NaN inputs give NaN.
inline double error_of(const UnaryFunction& f, float x, float y) {
    const double reference = f.reference(static_cast<double>(x));
    if (f.most_ulps > 0) return error_in_ulps(y, reference) / f.most_ulps;
    if (x != x) return y != y ? 0 : std::numeric_limits<double>::infinity();
    if (std::isinf(x)) return 0;  // -Inf * 0 is a NaN by definition: tested by name
    const double error = std::fabs(static_cast<double>(y) - reference) / std::fmax(1, std::fabs(x));
    return error <= std::numeric_limits<double>::max() ? error / f.most_error
                                                       : std::numeric_limits<double>::infinity();
}

inline const UnaryFunction* find_function(const char* name) {
    for (const UnaryFunction& f : kUnaryFunctions)
        if (std::strcmp(f.name, name) == 0) return &f;
    return nullptr;
}

}  // namespace volta::test
