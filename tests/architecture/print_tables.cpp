// Prints the tables of the documentation from the code that they describe: print_tables
// special|elementwise|polynomials|operators|passes|families|imports|capabilities|onnx|written|patterns|reasons.
// check_tables.sh compares them with the pages; `make docs-tables` writes them there.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory_resource>
#include <string>
#include <vector>

#include "engine/backend/lower/limits.h"
#include "engine/base/arithmetic.h"
#include "engine/base/hash.h"
#include "engine/graph/evaluate.h"
#include "engine/graph/op.h"
#include "engine/graph/print.h"
#include "engine/import/decoder_families.h"
#include "engine/import/key_map.h"
#include "engine/import/onnx/patterns.h"
#include "engine/import/onnx/table.h"
#include "engine/import/onnx/write_table.h"
#include "engine/import/other_tensors.h"
#include "engine/numerics/functions.h"
#include "engine/numerics/polynomials.h"
#include "engine/passes/pass.h"
#include "engine/tape/flush_reason.h"
#include "tests/support/elementwise_rows.h"
#include "tests/support/ulps.h"

namespace {
using namespace volta;
using M = ScalarMachine<float>;

struct SpecialRow {
    const char* name;
    float (*value)(float x);
};
M machine;

constexpr SpecialRow kSpecial[] = {
    // beside what the operators' rows give
    {"maximum(x, 1)", [](float x) { return maximum(machine, x, 1); }},
    {"minimum(x, 1)", [](float x) { return minimum(machine, x, 1); }},
    {"pow(x, 2)", [](float x) { return pow(machine, x, 2); }},
    {"pow(x, -1)", [](float x) { return pow(machine, x, -1); }},
    {"pow(x, 1.5)", [](float x) { return pow(machine, x, 1.5); }},
};

// An elementwise operator of the table on vectors, its attributes the defaults and examples.
std::pmr::vector<float> results(const OpRow& row, const std::vector<std::vector<float>>& inputs) {
    std::pmr::memory_resource* const heap = std::pmr::new_delete_resource();
    Graph graph(heap);
    std::vector<ValueId> values;
    for (std::size_t i = 0; i < inputs.size(); ++i)
        values.push_back(graph.input(("x" + std::to_string(i)).c_str(), DType::f32,
                                     {static_cast<std::int64_t>(inputs[i].size())}));
    const auto attributes = test::example_attributes(row);
    const ValueId y = graph.apply(row.op, values.data(), static_cast<int>(values.size()), attributes.data(),
                                  static_cast<int>(attributes.size()), Phase::each);
    std::pmr::vector<EvalTensor<float>> tensors(graph.values.size(), heap);
    for (std::size_t i = 0; i < inputs.size(); ++i)
        tensors[i].real.assign(inputs[i].begin(), inputs[i].end());
    evaluate(graph, tensors);
    const auto& result = tensors[static_cast<std::size_t>(y)];
    std::pmr::vector<float> reals(result.real, heap);
    if (reals.empty()) reals.assign(result.integer.begin(), result.integer.end());
    return reals;
}

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

constexpr float kArguments[] = {std::numeric_limits<float>::quiet_NaN(),
                                std::numeric_limits<float>::infinity(),
                                -std::numeric_limits<float>::infinity(),
                                0.0f,
                                -0.0f,
                                0x1p-140f,
                                std::numeric_limits<float>::max()};

// Of one argument, or a gradient at dy = 1.
void print_special_of(const char* name, const char* suffix, const OpRow& row) {
    std::vector<std::vector<float>> inputs = {{std::begin(kArguments), std::end(kArguments)}};
    if (row.min_inputs == 2) inputs.push_back(std::vector<float>(inputs[0].size(), 1.0f));
    std::printf("| %s%s", name, suffix);
    for (int i = 0; i < row.attribute_count; ++i)
        std::printf(", %s=%g", attr_name(row.attributes[i].key), row.attributes[i].default_number);
    std::printf(" |");
    for (const float y : results(row, inputs)) print_float(y);
    std::printf("\n");
}

void print_special() {
    std::printf("| f | NaN | +Inf | -Inf | +0 | -0 | sub | max |\n|---|---|---|---|---|---|---|---|\n");
    for (const OpRow* row : test::elementwise_rows(test::Operands::one)) {
        print_special_of(row->name, "", *row);
        if (row->gradient_op != Op::count_) print_special_of(row->name, "'", op_row(row->gradient_op));
    }
    for (const SpecialRow& row : kSpecial) {
        std::printf("| %s |", row.name);
        for (const float x : kArguments) print_float(row.value(x));
        std::printf("\n");
    }
}

// Hashes of the results over sampled floats: of two operands the second is a permutation of the first.
void print_elementwise() {
    std::vector<std::vector<float>> inputs = {test::sampled_floats(65521)};
    const std::size_t count = inputs[0].size();
    inputs.emplace_back(count);
    for (std::size_t i = 0; i < count; ++i) inputs[1][i] = inputs[0][i * 7919 % count];
    std::printf("| operator | bound, ulp | hash of %zu results |\n|---|---:|---|\n", count);
    for (const test::Operands operands :
         {test::Operands::one, test::Operands::same_shape, test::Operands::broadcast})
        for (const OpRow* row : test::elementwise_rows(operands)) {
            const auto y = results(*row, {inputs.begin(), inputs.begin() + row->min_inputs});
            Hasher hasher;
            hasher.add_floats(y.data(), y.size());
            std::printf("| %s |", row->name);
            if (row->most_ulps > 0) std::printf(" %g", row->most_ulps);
            std::printf(" | `%s` |\n", to_text(hasher.result()).text);
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
    std::printf("```text\n");
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
    for (std::size_t i = 0; i < naming.count(); ++i) {
        const KeyRule& rule = naming.rule(i);
        const char* const mark = rule.parameter.empty() ? "" : "`";
        std::printf("| `%.*s` | %s%.*s%s%s%s | %s |\n", static_cast<int>(rule.pattern.size()),
                    rule.pattern.data(), mark, static_cast<int>(rule.parameter.size()), rule.parameter.data(),
                    mark, rule.part == Part::whole ? "" : ", ", part_name(rule.part),
                    rule.parameter.empty() ? unneeded_name(rule.unneeded)
                    : rule.transposed      ? "transposed"
                                           : "");
    }
}

void print_families() {
    std::printf("| `model_type` | models | `architectures` |\n|---|---|---|\n");
    for (const DecoderFamily& family : decoder_families()) {
        std::printf("| `%s` | %s |", family.type, family.models);
        for (std::string_view rest = family.programs; !rest.empty();) {
            const std::string_view program = rest.substr(0, rest.find(' '));
            rest.remove_prefix(std::min(rest.size(), program.size() + 1));
            std::printf(" `%.*s`", static_cast<int>(program.size()), program.data());
        }
        std::printf(" |\n");
    }
}

void print_imports() {
    for (const Naming& naming : all_namings())
        if (naming.rules != nullptr) print_naming(naming);
    std::printf(
        "\nTensors that change results, by a part of their names:\n\n| part | what it does | nothing, where "
        "all are |\n"
        "|---|---|---|\n");
    for (const OtherTensor& other : other_tensors())
        std::printf("| `%.*s`%s | %s | %s |\n", static_cast<int>(other.part.size()), other.part.data(),
                    other.vector ? " of one extent" : "", other.does,
                    other.neutral == OtherTensor::Neutral::ones    ? "1"
                    : other.neutral == OtherTensor::Neutral::zeros ? "0"
                                                                   : "");
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

// An attribute with its default, what of it is imported, and its versions.
void print_attribute(const onnx::AttributeRow& row) {
    std::printf("`%s", row.name);
    if (row.text != nullptr) std::printf("=%s", row.text);
    const bool has_number =
        !row.required && (row.kind == onnx::AttributeKind::integer || row.kind == onnx::AttributeKind::real);
    if (has_number) std::printf("=%.9g", row.standard);
    std::printf("`");
    if (row.required) std::printf(" (required)");
    if (has_number && row.low == row.high) std::printf(" (that alone)");
    if (row.until != onnx::kAlways)
        std::printf(" to %d", row.until - 1);
    else if (row.since > 1)
        std::printf(" from %d", row.since);
    for (const char* at = row.only; at != nullptr && at[1] != '\0'; ++at) {
        if (*at != '|')
            std::printf("%c", *at);
        else
            std::printf("%s", at == row.only ? ": " : " or ");
    }
}

void print_onnx() {
    std::printf(
        "| operator | versions | attributes | becomes | at import, of known inputs | refused |\n"
        "|---|---|---|---|---|---|\n");
    int count = 0;
    const onnx::OperatorRow* const rows = onnx::operator_rows(&count);
    for (int i = 0; i < count; ++i) {
        const onnx::OperatorRow& row = rows[i];
        std::printf("| `%s` | %s | ", row.name, row.versions);
        for (int k = 0; k < row.attribute_count; ++k) {
            if (k > 0) std::printf("; ");
            print_attribute(row.attributes[k]);
        }
        std::printf(" | %s | %s | %s |\n", row.computes, row.fold != nullptr ? "yes" : "", row.refused);
    }
}

// Operators in their order; those that hosts may use and no row writes are told last, in one line.
void print_written() {
    std::printf("| Volta's operator | in ONNX | refused |\n|---|---|---|\n");
    std::string missing;
    for (int i = 0; i < kOpCount; ++i) {
        const OpRow& op = op_row(static_cast<Op>(i));
        const onnx::WriteRow* const row = onnx::find_write_row(op.op);
        if (row == nullptr) {
            const bool is_hosts = !op.internal && op.lowering != Lowering::source;
            if (is_hosts) missing += (missing.empty() ? "`" : ", `") + std::string(op.name) + "`";
            continue;
        }
        std::printf("| `%s` | ", op.name);
        if (row->native == nullptr)
            std::printf("%s", row->text);
        else if (row->since <= 13)
            std::printf("`%s`", row->native);
        else
            std::printf("%s; `%s` from %d", row->text, row->native, row->since);
        std::printf(" | %s |\n", row->refused);
    }
    std::printf("| %s | | always |\n", missing.c_str());
}

void print_patterns() {
    std::printf("| becomes | of these nodes | written by | the same bits |\n|---|---|---|---|\n");
    int count = 0;
    const onnx::PatternRow* const rows = onnx::pattern_rows(&count);
    for (int i = 0; i < count; ++i)
        std::printf("| `%s` | `%s` | %s | %s |\n", op_row(rows[i].op).name, rows[i].text, rows[i].written_by,
                    rows[i].same_bits ? "yes" : "");
}

void print_reasons() {
    std::printf("| code | reason | what happened | what to do |\n|---|---|---|---|\n");
    for (int i = 0; i < kFlushReasonCount; ++i) {
        const FlushReasonRow& row = flush_reason_row(static_cast<FlushReason>(i));
        std::printf("| `%s` | %s | %s | %s |\n", row.code, row.name, row.explanation, row.hint);
    }
}

}  // namespace

int main(int count, char** arguments) {
    const char* what = count == 2 ? arguments[1] : "";
    if (std::strcmp(what, "special") == 0) {
        print_special();
    } else if (std::strcmp(what, "elementwise") == 0) {
        print_elementwise();
    } else if (std::strcmp(what, "polynomials") == 0) {
        print_polynomials();
    } else if (std::strcmp(what, "operators") == 0) {
        std::fputs(print_operator_table(std::pmr::new_delete_resource()).c_str(), stdout);
    } else if (std::strcmp(what, "passes") == 0) {
        print_passes();
    } else if (std::strcmp(what, "families") == 0) {
        print_families();
    } else if (std::strcmp(what, "imports") == 0) {
        print_imports();
    } else if (std::strcmp(what, "capabilities") == 0) {
        print_capabilities();
    } else if (std::strcmp(what, "onnx") == 0) {
        print_onnx();
    } else if (std::strcmp(what, "written") == 0) {
        print_written();
    } else if (std::strcmp(what, "patterns") == 0) {
        print_patterns();
    } else if (std::strcmp(what, "reasons") == 0) {
        print_reasons();
    } else {
        std::fprintf(stderr,
                     "usage: print_tables "
                     "special|polynomials|operators|passes|families|imports|capabilities|onnx|written|"
                     "patterns|reasons\n");
        return 2;
    }
    return 0;
}
