// Attention over a cache, executed in the emulation, against engine/numerics/define_cached_attention.h bit
// for bit: prompts and single tokens of several sequences in one run, rows that are none, positions around
// panels, segments of 512 and chunks of 4096. The whole cache is compared.
#include <algorithm>
#include <cstdio>

#include "engine/numerics/define_cached_attention.h"
#include "jitgen/cuda/cached_attention_source.h"
#include "tests/cuda/entries.h"
#include "tests/support/tensors.h"

namespace {
using namespace volta;
using namespace volta::test;

struct Row {
    std::int32_t slot, position;
};
struct Case {
    std::int64_t capacity, heads, kv_heads;
    std::vector<Row> rows;
    Data data;
    bool wide = true;  // heads of all sizes; else of the first one alone
};
const Case kCases[] = {
    {16, 1, 1, {{0, 0}}, Data::plain},
    {48, 4, 2, {{1, 0}, {1, 1}, {1, 2}, {-1, 0}, {0, 47}, {2, 16}, {2, 17}}, Data::special},
    {640, 2, 2, {{0, 511}, {1, 512}, {2, 639}, {-1, 5}}, Data::plain},
    {640, 3, 1, {{1, 600}, {0, 30}}, Data::vanishing},
    {2064, 2, 1, {{0, 1100}, {1, 2063}, {1, 2000}}, Data::binades},
    {4240, 1, 1, {{0, 4095}, {1, 4096}, {2, 4239}}, Data::plain, false},
    {4096, 1, 1, {{0, 4095}, {2, 2700}}, Data::plain, false},
    {16, 2, 1, {}, Data::plain},
};

struct Problem {
    define::CachedAttentionSizes size;
    std::vector<std::int32_t> slots, positions;
    std::vector<float> q, k, v, keys, values, o;
};

float scale_of(std::int64_t head_dim) {
    return static_cast<float>(1 / std::sqrt(static_cast<double>(head_dim)));
}

Problem make_problem(const Case& test, const jit::CudaCachedAttentionForm& form, std::uint64_t seed) {
    Problem p{};
    const std::int64_t head_dim = form.head_dim;
    if (form.window) p.size.window = 1 + 700 * static_cast<std::int64_t>(seed % 3);
    if (form.cap) p.size.cap = 0.5f;
    const auto rows = static_cast<std::int64_t>(test.rows.size()), gap = static_cast<std::int64_t>(seed % 3);
    p.size.rows = rows, p.size.heads = test.heads;
    p.size.cache = {3, test.kv_heads, test.capacity, head_dim};
    p.size.q_stride = (test.heads + 2 * test.kv_heads) * head_dim;
    p.size.k_stride = p.size.v_stride = test.kv_heads * head_dim + gap;
    p.size.o_stride = test.heads * head_dim + gap;
    for (const Row& row : test.rows) {
        p.slots.push_back(row.slot);
        p.positions.push_back(row.position);
    }
    p.q = random_floats(rows * p.size.q_stride, seed, test.data);
    p.k = random_floats(rows * p.size.k_stride, seed + 1, test.data);
    p.v = random_floats(rows * p.size.v_stride, seed + 2, test.data);
    p.o = random_floats(rows * p.size.o_stride + 3, seed + 3);
    p.keys = random_floats(3 * test.kv_heads * p.size.cache.key_floats(), seed + 4, test.data);
    p.values = random_floats(3 * test.kv_heads * p.size.cache.value_floats(), seed + 5, test.data);
    return p;
}

void expect(Problem& p) {
    std::vector<float> workspace(static_cast<std::size_t>(p.size.cache.capacity));
    define::cached_attention<float>(p.size, scale_of(p.size.cache.head_dim), p.slots.data(),
                                    p.positions.data(), p.q.data(), p.k.data(), p.v.data(), p.keys.data(),
                                    p.values.data(), p.o.data(), workspace.data());
}

constexpr float kGuard = -7777.0f;

// By one launch or by three.
std::string run(const NamedCachedAttention& named, Problem& p, bool decode, simt::Order order,
                unsigned most) {
    const int head_dim = named.form.head_dim;
    jit::CudaCachedAttentionArgs args{};
    args.slots = p.slots.data(), args.positions = p.positions.data();
    args.q = p.q.data(), args.k = p.k.data(), args.v = p.v.data();
    args.keys = p.keys.data(), args.values = p.values.data(), args.o = p.o.data();
    args.q_stride = p.size.q_stride, args.k_stride = p.size.k_stride;
    args.v_stride = p.size.v_stride, args.o_stride = p.size.o_stride;
    args.rows = p.size.rows, args.heads = p.size.heads;
    args.kv_heads = p.size.cache.kv_heads, args.capacity = p.size.cache.capacity;
    args.window = p.size.window;
    args.scale = scale_of(head_dim);
    args.cap = p.size.cap;
    const jit::CachedAttentionLaunch how = jit::cached_attention_launch(head_dim, args, 1);
    std::vector<float> scratch(how.scratch_bytes / sizeof(float) + 16, kGuard);
    args.scratch = scratch.data();
    std::string error;
    const auto start = [&](const char* entry, unsigned x, unsigned y, unsigned threads) {
        simt::Launch grid;
        grid.grid = {std::min(x, most), std::min(y, most), 1};
        grid.block.x = threads;
        grid.order = order;
        if (x > 0 && error.empty()) error = run_entry(named.name + std::string(entry), grid, &args);
    };
    if (decode) {
        const unsigned blocks = jit::cached_decode_blocks(head_dim, args);
        start("_decode", blocks, 1, jit::kCachedThreads);
        return error;
    }
    start("_store", how.store_x, 1, jit::kCachedThreads);
    start("_scores", how.scores_x, how.scores_y, jit::kCachedScoreThreads);
    start("_values", how.values_x, 1, jit::kCachedThreads);
    if (!std::all_of(scratch.end() - 16, scratch.end(), [](float x) { return x == kGuard; }))
        error += "wrote behind the scratch memory";
    return error;
}

std::string difference(const char* name, const std::vector<float>& x, const std::vector<float>& y) {
    const std::int64_t at = first_difference(x.data(), y.data(), static_cast<std::int64_t>(x.size()));
    if (at < 0) return "";
    char text[160];
    std::snprintf(text, sizeof text, "%s, element %lld: expected %a, got %a", name,
                  static_cast<long long>(at), static_cast<double>(x[static_cast<std::size_t>(at)]),
                  static_cast<double>(y[static_cast<std::size_t>(at)]));
    return text;
}

std::string failure;  // no object with a destructor is alive where an assertion leaves

void test_cached(void** state) {
    const NamedCachedAttention& named = *static_cast<const NamedCachedAttention*>(*state);
    failure.clear();
    std::uint64_t seed = 1;
    for (const Case& test : kCases)
        for (int turn = 0; turn < 4 && failure.empty(); ++turn, ++seed) {
            if (!test.wide && (turn % 2 > 0 || named.form.head_dim > 5)) continue;
            Problem expected = make_problem(test, named.form, seed), actual = expected;
            const bool decode = turn >= 2;
            if (decode && test.capacity > jit::kMostDecodeCapacity) continue;
            expect(expected);
            failure = run(named, actual, decode, static_cast<simt::Order>(seed % 3),
                          static_cast<unsigned>(1 + seed % 4));
            if (failure.empty()) failure = difference("o", expected.o, actual.o);
            if (failure.empty()) failure = difference("keys", expected.keys, actual.keys);
            if (failure.empty()) failure = difference("values", expected.values, actual.values);
            if (!failure.empty())
                failure.insert(0, std::string(named.name) + (decode ? ", decode" : "") + ", capacity " +
                                      std::to_string(test.capacity) + ", seed " + std::to_string(seed) +
                                      ": ");
        }
    if (!failure.empty()) print_error("%s\n", failure.c_str());
    assert_true(failure.empty());
}

}  // namespace

int main() {
    return run_rows("cached attention", cached_attentions(), test_cached,
                    [](const NamedCachedAttention& row) { return row.name; });
}
