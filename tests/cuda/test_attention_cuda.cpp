// Attention and its gradient, executed in the emulation, against engine/numerics/define_attention.h bit for
// bit: times around tiles, segments of 512 and chunks of 4096, heads of odd sizes and heads that share keys,
// operands side by side, dropout, special values. Whole buffers are compared: what lies between rows and
// behind the last keeps its bits.
#include <cstdio>

#include "tests/cuda/attention_problem.h"
#include "tests/cuda/entries.h"

namespace {
using namespace volta;
using namespace volta::test;

constexpr AttentionCase kCases[] = {
    {1, 1, 1, 1, Data::plain},    {2, 5, 2, 1, Data::special},   {1, 64, 2, 2, Data::plain},
    {1, 65, 1, 1, Data::special}, {2, 130, 3, 1, Data::plain},   {1, 100, 2, 2, Data::vanishing},
    {0, 7, 2, 2, Data::plain},    {1, 530, 2, 1, Data::binades},
};

void define_forward(const jit::CudaAttentionForm& form, AttentionProblem& p) {
    std::vector<float> workspace(static_cast<std::size_t>(p.size.keys));
    define::attention<float>(p.size, attention_scale(form.head_dim), form.dropout ? &p.dropout : nullptr,
                             p.q.data(), p.k.data(), p.v.data(), p.o.data(), p.maxima.data(), p.sums.data(),
                             workspace.data());
}

void define_backward(const jit::CudaAttentionForm& form, AttentionProblem& p) {
    std::vector<float> workspace(static_cast<std::size_t>(2 * p.size.queries * p.size.keys));
    define::attention_grad<float>(p.size, attention_scale(form.head_dim), form.dropout ? &p.dropout : nullptr,
                                  p.q.data(), p.k.data(), p.v.data(), p.o.data(), p.maxima.data(),
                                  p.sums.data(), p.d_o.data(), p.dq.data(), p.dk.data(), p.dv.data(),
                                  workspace.data());
}

std::string difference(const AttentionProblem& expected, const AttentionProblem& actual) {
    const std::pair<const char*, std::vector<float> AttentionProblem::*> all[] = {
        {"o", &AttentionProblem::o},          {"row_max", &AttentionProblem::maxima},
        {"row_sum", &AttentionProblem::sums}, {"dq", &AttentionProblem::dq},
        {"dk", &AttentionProblem::dk},        {"dv", &AttentionProblem::dv}};
    for (const auto& [name, member] : all) {
        const std::vector<float>&x = expected.*member, &y = actual.*member;
        const std::int64_t at = first_difference(x.data(), y.data(), static_cast<std::int64_t>(x.size()));
        if (at < 0) continue;
        char text[160];
        std::snprintf(text, sizeof text, "%s, element %lld: expected %a, got %a", name,
                      static_cast<long long>(at), static_cast<double>(x[static_cast<std::size_t>(at)]),
                      static_cast<double>(y[static_cast<std::size_t>(at)]));
        return text;
    }
    return "";
}

std::string compare(const NamedAttention& named, const AttentionCase& test, std::uint64_t seed,
                    bool with_gradient) {
    AttentionProblem expected = make_attention_problem(named.form, test, seed), actual = expected;
    const auto run = [&](bool backward) {
        return run_attention(named.form, named.name, actual,
                             {backward, static_cast<simt::Order>(seed % 3),
                              static_cast<unsigned>(1 + seed % 4), jit::kAttentionThreads});
    };
    define_forward(named.form, expected);
    std::string failure = run(false);
    if (failure.empty()) failure = difference(expected, actual);
    if (with_gradient && failure.empty()) {
        define_backward(named.form, expected);
        failure = run(true);
        if (failure.empty()) failure = difference(expected, actual);
    }
    if (failure.empty()) return failure;
    return std::string(named.name) + ", batch " + std::to_string(test.batch) + ", time " +
           std::to_string(test.time) + ", seed " + std::to_string(seed) + ": " + failure;
}

std::string failure;  // no object with a destructor is alive where an assertion leaves

void passed() {
    if (!failure.empty()) print_error("%s\n", failure.c_str());
    assert_true(failure.empty());
}

void test_attention(void** state) {
    const NamedAttention& named = *static_cast<const NamedAttention*>(*state);
    failure.clear();
    std::uint64_t seed = 1;
    for (const AttentionCase& test : kCases)
        if (const bool too_slow = named.form.head_dim > 64 && test.time > 200; !too_slow && failure.empty())
            failure = compare(named, test, seed++, true);
    passed();
}

// Row sums of more than one chunk.
void test_long_rows(void**) {
    failure = compare(attentions()[0], {1, 4150, 1, 1, Data::plain}, 3, false);
    passed();
}

void test_launches(void**) {
    jit::CudaAttentionArgs args{};
    args.batch = 8, args.time = 1000, args.heads = 12, args.kv_heads = 12;
    const jit::AttentionLaunch plain = jit::attention_launch(64, args, 132);
    assert_int_equal(plain.forward_x, 8 * 12 * 16);
    assert_int_equal(plain.terms_x, 16 * 132);
    assert_int_equal(plain.groups_x, 0);
    assert_int_equal(plain.scratch_bytes, 8 * 12 * 1000 * 4);
    args.kv_heads = 4;
    const jit::AttentionLaunch grouped = jit::attention_launch(64, args, 132);
    assert_true(grouped.groups_x > 0);
    assert_int_equal(grouped.scratch_bytes, 8 * 12 * 1000 * 4 * (1 + 2 * 64));
    args.batch = 0;
    assert_int_equal(jit::attention_launch(64, args, 132).forward_x, 0);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(test_launches), cmocka_unit_test(test_long_rows)};
    return run_rows("attention", attentions(), test_attention,
                    [](const NamedAttention& row) { return row.name; }) +
           cmocka_run_group_tests_name("launches", tests, nullptr, nullptr);
}
