// Attention and its gradient, executed in the emulation, against engine/numerics/define_attention.h bit for
// bit: times around tiles, segments of 512 and chunks of 4096, heads of odd sizes and heads that share keys,
// operands side by side, dropout, special values. Whole buffers are compared: what lies between rows and
// behind the last keeps its bits.
#include <algorithm>
#include <cstdio>

#include "engine/numerics/define_attention.h"
#include "tests/cuda/entries.h"
#include "tests/support/tensors.h"

namespace {
using namespace volta;
using namespace volta::test;

struct Case {
    std::int64_t batch, time, heads, kv_heads;
    Data data;
};
constexpr Case kCases[] = {
    {1, 1, 1, 1, Data::plain},    {2, 5, 2, 1, Data::special},   {1, 64, 2, 2, Data::plain},
    {1, 65, 1, 1, Data::special}, {2, 130, 3, 1, Data::plain},   {1, 100, 2, 2, Data::vanishing},
    {0, 7, 2, 2, Data::plain},    {1, 530, 2, 1, Data::binades},
};

// One problem: everything that the kernels and the definition read and write.
struct Problem {
    define::AttentionSizes size;
    define::AttentionDropout dropout;
    std::uint32_t random[3];
    std::vector<float> q, k, v, o, maxima, sums, d_o, dq, dk, dv;
};

float scale_of(int head_dim) { return static_cast<float>(1 / std::sqrt(static_cast<double>(head_dim))); }

Problem make_problem(const jit::CudaAttentionForm& form, const Case& test, std::uint64_t seed) {
    Problem p{};
    define::AttentionSizes& size = p.size;
    const auto gap = static_cast<std::int64_t>(seed % 4);
    size.batch = test.batch, size.queries = size.keys = test.time;
    size.heads = test.heads, size.kv_heads = test.kv_heads, size.head_dim = form.head_dim;
    size.causal = form.causal;
    const std::int64_t query = size.heads * size.head_dim, key = size.kv_heads * size.head_dim;
    size.q_stride = query + 2 * gap, size.k_stride = key + gap, size.v_stride = key + 3 * gap;
    size.o_stride = query + gap;
    size.dq_stride = query + 2 * key, size.dk_stride = key + gap, size.dv_stride = key;
    p.random[0] = 77, p.random[1] = static_cast<std::uint32_t>(seed), p.random[2] = 5;
    p.dropout.place = {p.random[0] | static_cast<std::uint64_t>(p.random[1]) << 32, 5, Purpose::dropout, 9};
    p.dropout.rule = dropout_rule(0.2);
    p.dropout.first_sequence = 3;
    p.dropout.time = test.time;
    const std::int64_t tokens = test.batch * test.time, rows = tokens * size.heads + 5;
    const auto values = [&](std::int64_t stride, int which) {
        return random_floats(tokens * stride + 7, 100 * seed + static_cast<std::uint64_t>(which), test.data);
    };
    p.q = values(size.q_stride, 0), p.k = values(size.k_stride, 1), p.v = values(size.v_stride, 2);
    p.o = values(size.o_stride, 3), p.d_o = values(size.o_stride, 4);
    p.dq = values(size.dq_stride, 5), p.dk = values(size.dk_stride, 6), p.dv = values(size.dv_stride, 7);
    p.maxima = random_floats(rows, seed), p.sums = random_floats(rows, seed + 1);
    return p;
}

void define_forward(const jit::CudaAttentionForm& form, Problem& p) {
    std::vector<float> workspace(static_cast<std::size_t>(p.size.keys));
    define::attention<float>(p.size, scale_of(form.head_dim), form.dropout ? &p.dropout : nullptr, p.q.data(),
                             p.k.data(), p.v.data(), p.o.data(), p.maxima.data(), p.sums.data(),
                             workspace.data());
}

void define_backward(const jit::CudaAttentionForm& form, Problem& p) {
    std::vector<float> workspace(static_cast<std::size_t>(2 * p.size.queries * p.size.keys));
    define::attention_grad<float>(p.size, scale_of(form.head_dim), form.dropout ? &p.dropout : nullptr,
                                  p.q.data(), p.k.data(), p.v.data(), p.o.data(), p.maxima.data(),
                                  p.sums.data(), p.d_o.data(), p.dq.data(), p.dk.data(), p.dv.data(),
                                  workspace.data());
}

jit::CudaAttentionArgs args_of(const jit::CudaAttentionForm& form, Problem& p) {
    jit::CudaAttentionArgs args{};
    args.q = p.q.data(), args.k = p.k.data(), args.v = p.v.data(), args.o = p.o.data();
    args.row_max = p.maxima.data(), args.row_sum = p.sums.data(), args.d_o = p.d_o.data();
    args.dq = p.dq.data(), args.dk = p.dk.data(), args.dv = p.dv.data();
    if (form.dropout) args.random = p.random;
    args.q_stride = p.size.q_stride, args.k_stride = p.size.k_stride, args.v_stride = p.size.v_stride;
    args.o_stride = p.size.o_stride, args.dq_stride = p.size.dq_stride;
    args.dk_stride = p.size.dk_stride, args.dv_stride = p.size.dv_stride;
    args.batch = p.size.batch, args.time = p.size.queries;
    args.heads = p.size.heads, args.kv_heads = p.size.kv_heads;
    args.scale = scale_of(form.head_dim);
    args.kept_scale = p.dropout.rule.scale, args.threshold = p.dropout.rule.threshold;
    args.last_word = purpose_and_stream(p.dropout.place.purpose, p.dropout.place.stream);
    args.first_sequence = p.dropout.first_sequence;
    return args;
}

constexpr float kGuard = -7777.0f;

// By at most `most` blocks, so that they walk over many tiles.
std::string run(const NamedAttention& named, Problem& p, bool backward, simt::Order order, unsigned most) {
    jit::CudaAttentionArgs args = args_of(named.form, p);
    const jit::AttentionLaunch how = jit::attention_launch(named.form.head_dim, args, 2);
    std::vector<float> scratch(how.scratch_bytes / sizeof(float) + 16, kGuard);
    args.scratch = scratch.data();
    std::string error;
    const auto start = [&](const char* entry, unsigned blocks) {
        simt::Launch grid;
        grid.grid.x = std::min(blocks, most);
        grid.block.x = jit::kAttentionThreads;
        grid.order = order;
        if (blocks > 0 && error.empty()) error = run_entry(named.name + std::string(entry), grid, &args);
    };
    if (!backward) {
        start("_forward", how.forward_x);
        return error;
    }
    start("_terms", how.terms_x);
    start("_queries", how.forward_x);
    start("_keys", how.forward_x);
    start("_groups", how.groups_x);
    if (!std::all_of(scratch.end() - 16, scratch.end(), [](float x) { return x == kGuard; }))
        error += "wrote behind the scratch memory";
    return error;
}

std::string difference(const Problem& expected, const Problem& actual) {
    const std::pair<const char*, std::vector<float> Problem::*> all[] = {
        {"o", &Problem::o},   {"row_max", &Problem::maxima}, {"row_sum", &Problem::sums},
        {"dq", &Problem::dq}, {"dk", &Problem::dk},          {"dv", &Problem::dv}};
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

std::string compare(const NamedAttention& named, const Case& test, std::uint64_t seed, bool with_gradient) {
    Problem expected = make_problem(named.form, test, seed), actual = expected;
    const auto order = static_cast<simt::Order>(seed % 3);
    const auto most = static_cast<unsigned>(1 + seed % 4);
    define_forward(named.form, expected);
    std::string failure = run(named, actual, false, order, most);
    if (failure.empty()) failure = difference(expected, actual);
    if (with_gradient && failure.empty()) {
        define_backward(named.form, expected);
        failure = run(named, actual, true, order, most);
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
    for (const Case& test : kCases)
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
