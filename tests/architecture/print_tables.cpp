// Prints the tables of the documentation from the code that they describe: print_tables
// special|polynomials|operators|passes|imports|capabilities. check_tables.sh compares them with the pages;
// `make docs-tables` writes them there.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory_resource>

#include "engine/backend/lower/limits.h"
#include "engine/base/arithmetic.h"
#include "engine/graph/op.h"
#include "engine/graph/print.h"
#include "engine/import/key_map.h"
#include "engine/numerics/functions.h"
#include "engine/numerics/polynomials.h"
#include "engine/passes/pass.h"

namespace {
using namespace volta;
using M = ScalarMachine<float>;

struct SpecialRow {
    const char* name;
    float (*value)(float x);
};
M machine;

constexpr SpecialRow kSpecial[] = {
    {"exp", [](float x) { return exp(machine, x); }},
    {"log", [](float x) { return log(machine, x); }},
    {"sqrt", [](float x) { return M::sqrt(x); }},
    {"rsqrt", [](float x) { return rsqrt(machine, x); }},
    {"tanh", [](float x) { return tanh(machine, x); }},
    {"erf", [](float x) { return erf(machine, x); }},
    {"sigmoid", [](float x) { return sigmoid(machine, x); }},
    {"sin", [](float x) { return sin(machine, x); }},
    {"cos", [](float x) { return cos(machine, x); }},
    {"relu", [](float x) { return relu(machine, x); }},
    {"relu'", [](float x) { return relu_grad(machine, x, 1); }},
    {"silu", [](float x) { return silu(machine, x); }},
    {"silu'", [](float x) { return silu_grad(machine, x, 1); }},
    {"gelu_tanh", [](float x) { return gelu_tanh(machine, x); }},
    {"gelu_tanh'", [](float x) { return gelu_tanh_grad(machine, x, 1); }},
    {"gelu_erf", [](float x) { return gelu_erf(machine, x); }},
    {"gelu_erf'", [](float x) { return gelu_erf_grad(machine, x, 1); }},
    {"maximum(x, 1)", [](float x) { return maximum(machine, x, 1); }},
    {"minimum(x, 1)", [](float x) { return minimum(machine, x, 1); }},
    {"pow(x, 2)", [](float x) { return pow(machine, x, 2); }},
    {"pow(x, -1)", [](float x) { return pow(machine, x, -1); }},
    {"pow(x, 1.5)", [](float x) { return pow(machine, x, 1.5); }},
};

void print_float(float y) {
    if (y != y) {
        std::printf(" NaN |");
    } else if (std::isinf(y)) {
        std::printf(" %cInf |", y > 0 ? '+' : '-');
    } else if (y == 0) {
        std::printf(" %c0 |", std::signbit(y) ? '-' : '+');
    } else if (y == static_cast<float>(static_cast<int>(std::fabs(y) < 16 ? y : 0))) {
        std::printf(" %d |", static_cast<int>(y));
    } else {
        std::printf(" %a |", static_cast<double>(y));
    }
}

void print_special() {
    const float inf = std::numeric_limits<float>::infinity();
    const float arguments[] = {std::numeric_limits<float>::quiet_NaN(), inf, -inf, 0.0f, -0.0f, 0x1p-140f,
                               std::numeric_limits<float>::max()};
    std::printf("| f | NaN | +Inf | -Inf | +0 | -0 | sub | max |\n|---|---|---|---|---|---|---|---|\n");
    for (const SpecialRow& row : kSpecial) {
        std::printf("| %s |", row.name);
        for (const float x : arguments) print_float(row.value(x));
        std::printf("\n");
    }
}

template <std::size_t N>
void print_coefficients(const char* name, const float (&coefficients)[N]) {
    std::printf("%-10s", name);
    for (std::size_t i = 0; i < N; ++i) {
        if (i > 0 && i % 5 == 0) std::printf("\n%-10s", "");
        std::printf(" %a", static_cast<double>(coefficients[i]));
    }
    std::printf("\n");
}

void print_polynomials() {
    std::printf("```\n");
    print_coefficients("exp", polynomial::kExp);
    print_coefficients("log", polynomial::kLog);
    print_coefficients("tanh", polynomial::kTanh);
    print_coefficients("erf_inner", polynomial::kErfInner);
    print_coefficients("erf_outer", polynomial::kErfOuter);
    print_coefficients("sin", polynomial::kSin);
    print_coefficients("cos", polynomial::kCos);
    print_coefficients("half_pi", polynomial::kHalfPi);
    std::printf("```\n");
}

void print_passes() {
    std::printf("| pass | what it does |\n|---|---|\n");
    for (int i = 0; i < kPassCount; ++i) std::printf("| `%s` | %s |\n", kPasses[i].name, kPasses[i].meaning);
}

void print_naming(const Naming& naming) {
    std::printf("\n%s names of a %s%s%.*s%s:\n\n| tensor | parameter |  |\n|---|---|---|\n", naming.name,
                naming.architecture, naming.prefix.empty() ? "" : ", behind `",
                static_cast<int>(naming.prefix.size()), naming.prefix.data(),
                naming.prefix.empty() ? "" : "` or not");
    for (std::size_t i = 0; i < naming.rule_count; ++i) {
        const KeyRule& rule = naming.rules[i];
        const char* const mark = rule.parameter.empty() ? "" : "`";
        std::printf("| `%.*s` | %s%.*s%s%s%s | %s |\n", static_cast<int>(rule.pattern.size()),
                    rule.pattern.data(), mark, static_cast<int>(rule.parameter.size()), rule.parameter.data(),
                    mark, rule.part == Part::whole ? "" : ", ", part_name(rule.part),
                    rule.parameter.empty() ? "not needed"
                    : rule.transposed      ? "transposed"
                                           : "");
    }
}

void print_imports() {
    for (const Naming& naming : all_namings())
        if (naming.rules != nullptr) print_naming(naming);
    std::printf("\n");
}

// The backends of lowerings, by the names that refusals use. The processor computes the bits of strict
// always.
constexpr struct {
    const char *title, *name;
} kColumns[] = {{"cpu, every level", "the CPU"}, {"cuda, strict", "CUDA"}};

bool is_step(const OpRow& row) { return row.lowering != Lowering::source && row.lowering != Lowering::alias; }

// The sentences that can refuse this operator on the backend, each in front of ";" and space but the first.
void print_limits(const OpRow& row, const char* backend, const char*& separator) {
    for (int i = 0; i < kLimitCount; ++i) {
        const LimitRow& limit = limit_row(static_cast<Limit>(i));
        if (row.op < limit.first || row.op > limit.last) continue;
        if (limit.backend != nullptr && std::strcmp(limit.backend, backend) != 0) continue;
        std::printf("%son %s, not where %s", separator, backend, limit.why);
        separator = "; ";
    }
}

// Every backend implements every piece of work that lowerings ask for, or does not compile (StepLowering):
// what can differ are limits. A gradient is made of operators of the same table. Levels refuse nothing by
// themselves: what they change is the arithmetic of some steps.
void print_capabilities() {
    std::printf("| operator |");
    for (const auto& column : kColumns)
        std::printf(" %s, forward | %s, gradient |", column.title, column.title);
    std::printf(" cuda, %s and %s | not |\n|---|---|---|---|---|---|---|\n", level_name(Level::repeatable),
                level_name(Level::fast));
    for (int i = 0; i < kOpCount; ++i) {
        const OpRow& row = op_row(static_cast<Op>(i));
        std::printf("| `%s` |", row.name);
        for (std::size_t k = 0; k < sizeof kColumns / sizeof *kColumns; ++k)
            std::printf(" %s | %s |", is_step(row) ? "yes" : "no step",
                        row.gradient != nullptr ? "yes" : "none");
        std::printf(" %s |", may_differ_below_strict(row) ? "another order; tf32, bf16"
                             : is_step(row)               ? "as strict"
                                                          : "no step");
        const char* separator = " ";
        if (row.gradient == nullptr && row.no_gradient != nullptr) {
            std::printf(" no gradient: %s", row.no_gradient);
            separator = "; ";
        }
        for (const auto& column : kColumns) print_limits(row, column.name, separator);
        std::printf(" |\n");
    }
}
}  // namespace

int main(int count, char** arguments) {
    const char* what = count == 2 ? arguments[1] : "";
    if (std::strcmp(what, "special") == 0) {
        print_special();
    } else if (std::strcmp(what, "polynomials") == 0) {
        print_polynomials();
    } else if (std::strcmp(what, "operators") == 0) {
        std::fputs(print_operator_table(std::pmr::new_delete_resource()).c_str(), stdout);
    } else if (std::strcmp(what, "passes") == 0) {
        print_passes();
    } else if (std::strcmp(what, "imports") == 0) {
        print_imports();
    } else if (std::strcmp(what, "capabilities") == 0) {
        print_capabilities();
    } else {
        std::fprintf(stderr,
                     "usage: print_tables special|polynomials|operators|passes|imports|capabilities\n");
        return 2;
    }
    return 0;
}
