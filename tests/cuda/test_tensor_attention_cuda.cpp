// Attention on tensor cores and its gradient, executed in the emulation, against the definition in double
// precision: within what the rounding of operands explains (attention_bounds.h), for operands that are
// rounded and for operands that need no rounding. Equal bits with other grids and orders; what lies between
// rows and behind the last keeps its bits.
#include <cmath>
#include <cstdio>
#include <cstring>

#include "jitgen/cuda/tensor_attention_source.h"
#include "tests/cuda/attention_bounds.h"
#include "tests/cuda/entries.h"

namespace {
using namespace volta;
using namespace volta::test;

constexpr AttentionCase kCases[] = {
    {1, 1, 1, 1, Data::plain},  {2, 17, 2, 1, Data::plain}, {1, 63, 2, 2, Data::plain},
    {1, 64, 3, 1, Data::plain}, {2, 65, 2, 2, Data::plain}, {1, 200, 2, 1, Data::plain},
};

double roundoff_of(Precision precision) { return precision == Precision::bf16 ? 0x1p-8 : 0x1p-11; }

void round_all(std::vector<float>& values, Precision precision) {
    for (float& x : values)
        x = __uint_as_float(precision == Precision::bf16 ? bf16_pair(0, x) & 0xffff0000u : tf32_word(x));
}

// Where the results of both passes lie in a problem.
struct Part {
    const char* name;
    std::vector<float> AttentionProblem::*actual;
    std::vector<double> AttentionResults::*expected;
    std::int64_t rows, columns, stride;
};
std::vector<Part> parts_of(const define::AttentionSizes& size) {
    const std::int64_t tokens = size.batch * size.keys, query = size.heads * size.head_dim,
                       key = size.kv_heads * size.head_dim;
    return {{"o", &AttentionProblem::o, &AttentionResults::o, tokens, query, size.o_stride},
            {"row_max", &AttentionProblem::maxima, &AttentionResults::row_max, 1, tokens * size.heads, 0},
            {"row_sum", &AttentionProblem::sums, &AttentionResults::row_sum, 1, tokens * size.heads, 0},
            {"dq", &AttentionProblem::dq, &AttentionResults::dq, tokens, query, size.dq_stride},
            {"dk", &AttentionProblem::dk, &AttentionResults::dk, tokens, key, size.dk_stride},
            {"dv", &AttentionProblem::dv, &AttentionResults::dv, tokens, key, size.dv_stride}};
}

// "" or the first element beyond its bound, or one that belongs to nobody and has changed.
std::string difference(const Part& part, const AttentionProblem& before, const AttentionProblem& actual,
                       const AttentionResults& expected, const AttentionResults& bounds) {
    const std::vector<float>&is = actual.*part.actual, &was = before.*part.actual;
    const std::vector<double>&wanted = expected.*part.expected, &bound = bounds.*part.expected;
    char text[200];
    for (std::size_t at = 0; at < is.size(); ++at) {
        const auto place = static_cast<std::int64_t>(at);
        const std::int64_t row = part.rows > 1 ? place / part.stride : place / (part.stride + part.columns),
                           column = part.rows > 1 ? place % part.stride : place;
        if (row >= part.rows || column >= part.columns) {
            if (std::memcmp(&is[at], &was[at], sizeof(float)) == 0) continue;
            std::snprintf(text, sizeof text, "%s: element %lld lies between rows and was written", part.name,
                          static_cast<long long>(place));
            return text;
        }
        const auto element = static_cast<std::size_t>(row * part.columns + column);
        const double error = std::fabs(static_cast<double>(is[at]) - wanted[element]);
        if (error <= bound[element] + 1e-30) continue;  // NaN too is beyond
        std::snprintf(text, sizeof text, "%s: row %lld, column %lld: expected %g +- %g, got %g", part.name,
                      static_cast<long long>(row), static_cast<long long>(column), wanted[element],
                      bound[element], static_cast<double>(is[at]));
        return text;
    }
    return "";
}

std::string run_both(const NamedTensorAttention& named, AttentionProblem& p, AttentionRun how) {
    how.threads = jit::kTensorAttentionThreads;
    how.backward = false;
    const std::string failure = run_attention(named.form, named.name, p, how);
    how.backward = true;
    return failure.empty() ? run_attention(named.form, named.name, p, how) : failure;
}

std::string compare(const NamedTensorAttention& named, const AttentionCase& test, std::uint64_t seed,
                    bool exact) {
    AttentionProblem before = make_attention_problem(named.form, test, seed);
    if (exact)
        for (const auto operand :
             {&AttentionProblem::q, &AttentionProblem::k, &AttentionProblem::v, &AttentionProblem::d_o})
            round_all(before.*operand, named.precision);
    AttentionProblem actual = before, again = before;
    std::string failure = run_both(named, actual, {false, static_cast<simt::Order>(seed % 3), 1000, 0});
    if (!failure.empty()) return failure;
    const AttentionResults expected = attention_in_double(named.form, before),
                           bounds = attention_bounds(named.form, before, roundoff_of(named.precision), exact);
    for (const Part& part : parts_of(before.size))
        if (failure.empty()) failure = difference(part, before, actual, expected, bounds);
    // Other blocks, other multiprocessors, another order of threads.
    if (failure.empty())
        failure = run_both(
            named, again,
            {false, static_cast<simt::Order>((seed + 1) % 3), static_cast<unsigned>(1 + seed % 2), 0, 132});
    for (const Part& part : parts_of(before.size))
        if (failure.empty() && first_difference((actual.*part.actual).data(), (again.*part.actual).data(),
                                                static_cast<std::int64_t>((actual.*part.actual).size())) >= 0)
            failure = std::string(part.name) + ": another grid has other bits";
    return failure;
}

std::string failure;  // no object with a destructor is alive where an assertion leaves

void passed() {
    if (!failure.empty()) print_error("%s\n", failure.c_str());
    assert_true(failure.empty());
}

void test_tensor_attention(void** state) {
    const NamedTensorAttention& named = *static_cast<const NamedTensorAttention*>(*state);
    failure.clear();
    std::uint64_t seed = 1;
    for (const AttentionCase& test : kCases)
        for (const bool exact : {false, true}) {
            if (failure.empty()) failure = compare(named, test, seed, exact);
            if (!failure.empty() && failure.find("batch") == std::string::npos)
                failure.insert(0, std::string(named.name) + (exact ? ", exact, batch " : ", batch ") +
                                      std::to_string(test.batch) + ", time " + std::to_string(test.time) +
                                      ", seed " + std::to_string(seed) + ": ");
            ++seed;
        }
    passed();
}

// Of shapes without a sequence nothing is written.
void test_nothing(void**) {
    const NamedTensorAttention& named = tensor_attentions()[2];
    AttentionProblem before = make_attention_problem(named.form, {0, 7, 2, 1, Data::plain}, 3),
                     after = before;
    failure = run_both(named, after, {false, simt::Order::ascending, 10, 0});
    for (const Part& part : parts_of(before.size))
        if (before.*part.actual != after.*part.actual) failure = std::string(part.name) + " was written";
    passed();
}

// A query that meets a NaN is NaN; queries of blocks that do not see it keep their bits.
void test_special_values(void**) {
    const NamedTensorAttention& named = tensor_attentions()[2];
    AttentionProblem plain = make_attention_problem(named.form, {1, 130, 1, 1, Data::plain}, 4),
                     special = plain;
    special.k[static_cast<std::size_t>(70 * special.size.k_stride)] = NAN;
    const AttentionRun how = {false, simt::Order::ascending, 10, jit::kTensorAttentionThreads};
    failure = run_attention(named.form, named.name, plain, how) +
              run_attention(named.form, named.name, special, how);
    for (std::int64_t row = 0; row < 130; ++row) {
        const auto at = static_cast<std::size_t>(row * plain.size.o_stride);
        const bool good = row >= 70 ? special.o[at] != special.o[at] : special.o[at] == plain.o[at];
        if (!good && failure.empty()) failure = "row " + std::to_string(row) + " of o";
    }
    passed();
}

void test_which_heads(void**) {
    for (std::int64_t head_dim = 0; head_dim < 300; ++head_dim) {
        const bool fits = head_dim > 0 && head_dim % 16 == 0 && head_dim <= 128;
        assert_int_equal(jit::has_tensor_attention(head_dim, Precision::bf16), fits);
        assert_int_equal(jit::has_tensor_attention(head_dim, Precision::tf32), fits);
        assert_false(jit::has_tensor_attention(head_dim, Precision::fp32));
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(test_nothing), cmocka_unit_test(test_special_values),
                                cmocka_unit_test(test_which_heads)};
    return run_rows("tensor attention", tensor_attentions(), test_tensor_attention,
                    [](const NamedTensorAttention& row) { return row.name; }) +
           cmocka_run_group_tests_name("edges", tests, nullptr, nullptr);
}
