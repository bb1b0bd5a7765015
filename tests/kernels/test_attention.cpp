// Attention forward and backward against the definition, bit for bit: lengths around tiles and cuts, head
// sizes, groups, causal or not, dropout, threads, every tile; and what a key in the future may not do.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory_resource>

#include "engine/backend/cpu/attention/attention.h"
#include "engine/backend/cpu/gemm/kernel_cache.h"
#include "engine/numerics/definitions.h"
#include "tests/kernels/edge_floats.h"
#include "tests/support/cmocka_cpp.h"

namespace {
using namespace volta;
using namespace volta::cpu;
using namespace volta::test;

std::pmr::memory_resource* heap() { return std::pmr::new_delete_resource(); }

struct Engine {
    jit::CodeArena arena;
    KernelCache cache;
    Isa isa;
    explicit Engine(Isa wanted) : arena(heap(), false), cache(heap()), isa(wanted) {}
    CompileContext context(int threads, const char* tile) {
        return CompileContext{machine_of(host_cpu(), isa, threads), {&arena, &cache, heap()}, {}, {tile}};
    }
};
Engine& engine(Isa isa) {
    static Engine scalar(Isa::scalar), avx2(Isa::avx2), avx512(Isa::avx512);
    return isa == Isa::scalar ? scalar : isa == Isa::avx2 ? avx2 : avx512;
}
ThreadPool& pool(int threads) {
    static ThreadPool one(1, heap()), two(2, heap()), three(3, heap());
    return threads == 1 ? one : threads == 2 ? two : three;
}

struct Sizes {
    std::int64_t batch, time, heads, kv_heads, head_dim;
    bool causal;
    double dropout;
    std::int64_t window = 0;
    float cap = 0;
    bool negative = false;      // the scale
    std::int64_t document = 0;  // tokens of the longest document of a row; 0: there are none
};

// Documents of 1 to `longest` tokens, one behind the other; here and there what is above a token's own place.
std::vector<std::int32_t> random_starts(std::int64_t batch, std::int64_t time, std::int64_t longest,
                                        std::uint64_t seed) {
    std::vector<std::int32_t> starts;
    std::uint64_t state = seed;
    for (std::int64_t row = 0; row < batch && longest > 0; ++row)
        for (std::int64_t t = 0, start = 0, end = 0; t < time; ++t) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            if (t == end) {
                start = t;
                end = t + 1 + static_cast<std::int64_t>((state >> 33) % static_cast<std::uint64_t>(longest));
            }
            const bool is_above = t > start && (state >> 40) % 16 == 0;
            starts.push_back(static_cast<std::int32_t>(is_above ? time - 1 : start));
        }
    return starts;
}

constexpr RandomState kRandom = {0x12345678u, 0x9abcdef0u, 7};
constexpr std::uint32_t kStream = 3, kFirstSequence = 5;

// Inputs, and everything the definition makes of them. q, k and v stand in one tensor of [batch, time, heads
// + 2 kv_heads, head_dim], as a fused projection leaves them, and their gradients in another.
struct Example {
    Sizes sizes;
    std::int64_t stride, o_stride;
    float scale;
    std::vector<float> qkv, d_o;       // [batch * time, stride], [batch * time, o_stride]
    std::vector<std::int32_t> starts;  // [batch * time], or none
    std::vector<float> o, row_max, row_sum, d_qkv;

    Example(const Sizes& wanted, Data data, std::uint64_t seed)
        : sizes(wanted),
          stride((wanted.heads + 2 * wanted.kv_heads) * wanted.head_dim),
          o_stride(wanted.heads * wanted.head_dim + 1),
          scale(static_cast<float>(1 / std::sqrt(static_cast<double>(wanted.head_dim)))),
          qkv(random_floats(tokens() * stride, seed, data)),
          d_o(random_floats(tokens() * o_stride, seed + 1, data)),
          starts(random_starts(wanted.batch, wanted.time, wanted.document, seed)),
          o(size_of(o_stride), 9.0f),
          row_max(static_cast<std::size_t>(tokens() * wanted.heads)),
          row_sum(row_max.size()),
          d_qkv(size_of(stride), 9.0f) {
        if (wanted.negative) scale = -scale;
    }

    std::int64_t tokens() const { return sizes.batch * sizes.time; }
    std::size_t size_of(std::int64_t token_stride) const {
        return static_cast<std::size_t>(tokens() * token_stride);
    }
    std::int64_t k_at() const { return sizes.heads * sizes.head_dim; }
    std::int64_t v_at() const { return k_at() + sizes.kv_heads * sizes.head_dim; }

    void define() {
        define::AttentionSizes size;
        size.batch = sizes.batch;
        size.queries = size.keys = sizes.time;
        size.heads = sizes.heads;
        size.kv_heads = sizes.kv_heads;
        size.head_dim = sizes.head_dim;
        size.causal = sizes.causal;
        size.window = sizes.window;
        size.starts = starts.empty() ? nullptr : starts.data();
        size.cap = sizes.cap;
        size.q_stride = size.k_stride = size.v_stride = stride;
        size.dq_stride = size.dk_stride = size.dv_stride = stride;
        size.o_stride = o_stride;
        const RandomPlace place = {kRandom.seed_low | std::uint64_t{kRandom.seed_high} << 32, kRandom.step,
                                   Purpose::dropout, kStream};
        const define::AttentionDropout dropout = {place, dropout_rule(sizes.dropout), kFirstSequence,
                                                  sizes.time};
        const define::AttentionDropout* const random = sizes.dropout > 0 ? &dropout : nullptr;
        std::vector<float> workspace(static_cast<std::size_t>(2 * sizes.time * sizes.time));
        define::attention<float>(size, scale, random, qkv.data(), qkv.data() + k_at(), qkv.data() + v_at(),
                                 o.data(), row_max.data(), row_sum.data(), workspace.data());
        define::attention_grad<float>(size, scale, random, qkv.data(), qkv.data() + k_at(),
                                      qkv.data() + v_at(), o.data(), row_max.data(), row_sum.data(),
                                      d_o.data(), d_qkv.data(), d_qkv.data() + k_at(), d_qkv.data() + v_at(),
                                      workspace.data());
    }

    AttentionShape shape() const {
        AttentionShape shape;
        shape.batch = sizes.batch;
        shape.time = sizes.time;
        shape.heads = sizes.heads;
        shape.kv_heads = sizes.kv_heads;
        shape.head_dim = sizes.head_dim;
        shape.causal = sizes.causal;
        shape.window = sizes.window;
        shape.documents = !starts.empty();
        shape.cap = sizes.cap;
        shape.scale = scale;
        shape.dropout = sizes.dropout;
        shape.stream = kStream;
        shape.q_stride = shape.k_stride = shape.v_stride = stride;
        shape.dq_stride = shape.dk_stride = shape.dv_stride = stride;
        shape.o_stride = o_stride;
        return shape;
    }
};

// What the kernels make of the same inputs.
struct Result {
    std::vector<float> o, row_max, row_sum, d_qkv;
};

void run(const Attention& attention, int threads, AttentionCall call) {
    EdgeFloats workspace(std::vector<float>((attention.workspace_bytes() + 63) / 64 * 16,
                                            std::numeric_limits<float>::quiet_NaN()));
    call.random = &kRandom;
    call.first_sequence = kFirstSequence;
    call.workspace = workspace.data();
    attention.run(pool(threads), call);
}

Result compute(const Example& problem, Isa isa, int threads, const char* tile) {
    const CompileContext context = engine(isa).context(threads, tile);
    Result result = {std::vector<float>(problem.o.size(), 9.0f), std::vector<float>(problem.row_max.size()),
                     std::vector<float>(problem.row_sum.size()),
                     std::vector<float>(problem.d_qkv.size(), 9.0f)};
    AttentionCall call = {};
    EdgeFloats qkv(problem.qkv), d_o(problem.d_o);
    call.q = qkv.data();
    call.k = qkv.data() + problem.k_at();
    call.v = qkv.data() + problem.v_at();
    call.starts = problem.starts.empty() ? nullptr : problem.starts.data();
    call.o = result.o.data();
    call.row_max = result.row_max.data();
    call.row_sum = result.row_sum.data();
    call.d_o = d_o.data();
    call.dq = result.d_qkv.data();
    call.dk = result.d_qkv.data() + problem.k_at();
    call.dv = result.d_qkv.data() + problem.v_at();
    run(*compile_attention_forward(problem.shape(), context), threads, call);
    run(*compile_attention_backward(problem.shape(), context), threads, call);
    return result;
}

void check(const Example& problem, Isa isa, int threads, const char* tile) {
    const Result actual = compute(problem, isa, threads, tile);
    const Sizes& s = problem.sizes;
    char name[160];
    const auto compare = [&](const char* what, const std::vector<float>& expected,
                             const std::vector<float>& got) {
        snprintf(
            name, sizeof name,
            "%s of [%lld, %lld, %lld/%lld, %lld]%s, window %lld, documents %lld, cap %g, dropout %g, %s, %d "
            "threads, tile %s",
            what, static_cast<long long>(s.batch), static_cast<long long>(s.time),
            static_cast<long long>(s.heads), static_cast<long long>(s.kv_heads),
            static_cast<long long>(s.head_dim), s.causal ? " causal" : "", static_cast<long long>(s.window),
            static_cast<long long>(s.document), static_cast<double>(s.cap), s.dropout, isa_name(isa), threads,
            tile ? tile : "chosen");
        assert_same_bits(name, expected.data(), got.data(), static_cast<std::int64_t>(expected.size()));
    };
    compare("row_max", problem.row_max, actual.row_max);
    compare("row_sum", problem.row_sum, actual.row_sum);
    compare("o", problem.o, actual.o);
    compare("gradients", problem.d_qkv, actual.d_qkv);
}

template <class Body>
void for_each_isa(Body body) {
    for (const Isa isa : {Isa::scalar, Isa::avx2, Isa::avx512})
        if (host_cpu().has(isa)) body(isa);
}

void check_all(const Sizes& sizes, Data data, std::uint64_t seed) {
    Example problem(sizes, data, seed);
    problem.define();
    for_each_isa([&](Isa isa) { check(problem, isa, 1 + static_cast<int>(seed % 3), nullptr); });
}

void test_lengths_around_tiles(void**) {
    std::uint64_t seed = 1;
    for (std::int64_t time = 1; time <= 70; time += time < 34 ? 1 : 5)
        for (const bool causal : {true, false}) check_all({1, time, 2, 1, 5, causal, 0}, Data::plain, ++seed);
}

void test_lengths_around_cuts(void**) {
    std::uint64_t seed = 100;
    for (const std::int64_t time : {511, 512, 513, 1023, 1024, 1025})
        for (const bool causal : {true, false}) check_all({1, time, 1, 1, 2, causal, 0}, Data::plain, ++seed);
}

void test_head_sizes(void**) {
    std::uint64_t seed = 200;
    for (const std::int64_t head_dim : {1, 8, 16, 31, 64, 65, 130, 520})
        for (const bool causal : {true, false})
            check_all({1, 37, 2, 2, head_dim, causal, 0}, Data::plain, ++seed);
}

void test_groups(void**) {
    std::uint64_t seed = 300;
    for (const std::int64_t group : {1, 2, 4})
        for (const bool causal : {true, false})
            check_all({2, 45, 4, 4 / group, 16, causal, 0}, Data::plain, ++seed);
}

void test_dropout(void**) {
    std::uint64_t seed = 400;
    for (const std::int64_t time : {1, 40, 150})
        for (const bool causal : {true, false})
            check_all({2, time, 4, 2, 8, causal, 0.3}, Data::plain, ++seed);
}

void test_many_binades(void**) {
    check_all({2, 50, 2, 2, 9, true, 0}, Data::binades, 500);
    check_all({2, 50, 2, 2, 9, false, 0}, Data::binades, 501);
    check_all({2, 20, 2, 2, 9, true, 0.5}, Data::special, 502);
}

void test_every_tile_and_thread_count(void**) {
    for (const bool causal : {true, false}) {
        Example problem({1, 75, 3, 3, 40, causal, 0}, Data::plain, causal);
        problem.define();
        for (const GemmTile& tile : gemm_tiles()) {
            if (!host_cpu().has(tile.isa)) continue;
            for (const int threads : {1, 2, 3}) check(problem, tile.isa, threads, tile.name);
        }
    }
}

void test_negative_scales(void**) {
    check_all({2, 45, 2, 2, 16, true, 0, 0, 0, true}, Data::plain, 510);
    check_all({2, 45, 2, 2, 16, true, 0.3, 0, 0.5f, true}, Data::binades, 511);
    check_all({1, 45, 2, 2, 16, false, 0, 0, 0, true}, Data::special, 512);
}

void test_windows_and_caps(void**) {
    std::uint64_t seed = 520;
    for (const std::int64_t window : {0, 1, 5, 16, 44, 45, 46})
        for (const float cap : {0.0f, 0.5f, 30.0f}) {
            check_all({2, 45, 4, 2, 16, true, 0.2, window, cap}, Data::plain, ++seed);
            check_all({1, 45, 2, 2, 9, true, 0, window, cap, true}, Data::binades, ++seed);
            check_all({1, 20, 2, 1, 9, true, 0, window / 2, cap}, Data::special, ++seed);
        }
    check_all({2, 45, 4, 2, 16, false, 0.2, 0, 0.5f}, Data::plain, ++seed);
    check_all({1, 1040, 1, 1, 2, true, 0, 520, 0.5f}, Data::plain, ++seed);
}

// More keys than a chunk of a row sum has, most of them without weight.
void test_a_window_of_a_long_sequence(void**) {
    Example problem({1, 4200, 1, 1, 1, true, 0, 70, 0.75f}, Data::plain, 580);
    problem.define();
    check(problem, host_cpu().has(Isa::avx512) ? Isa::avx512 : Isa::avx2, 1, nullptr);
}

// A window that reaches back to the first key is none, and a cap far above all scores changes them by
// roundings alone.
void test_wide_windows_and_high_caps(void**) {
    Example plain({1, 60, 2, 2, 8, true, 0}, Data::plain, 590),
        wide({1, 60, 2, 2, 8, true, 0, 60}, Data::plain, 590),
        high({1, 60, 2, 2, 8, true, 0, 0, 1e4f}, Data::plain, 590);
    for (Example* problem : {&plain, &wide, &high}) problem->define();
    assert_same_bits("a wide window", plain.d_qkv.data(), wide.d_qkv.data(),
                     static_cast<std::int64_t>(plain.d_qkv.size()));
    for (std::size_t i = 0; i < plain.d_qkv.size(); ++i)
        assert_true(std::fabs(plain.d_qkv[i] - high.d_qkv[i]) < 1e-5f);
}

Sizes documents_of(std::int64_t time, std::int64_t longest) {
    Sizes sizes = {1, time, 2, 1, 5, true, 0};
    sizes.document = longest;
    return sizes;
}

void test_documents(void**) {
    std::uint64_t seed = 540;
    for (std::int64_t time = 1; time <= 70; time += time < 34 ? 1 : 5)
        for (const std::int64_t longest : {1, 7, 40})
            check_all(documents_of(time, longest), Data::plain, ++seed);
    for (const std::int64_t time : {511, 512, 513, 1030})
        for (const std::int64_t longest : {30, 700})
            check_all(documents_of(time, longest), Data::plain, ++seed);
    for (const std::int64_t window : {0, 5, 16})
        for (const float cap : {0.0f, 0.5f}) {
            Sizes sizes = {2, 45, 4, 2, 16, true, 0.2, window, cap};
            sizes.document = 15;
            check_all(sizes, Data::plain, ++seed);
            sizes = {1, 45, 2, 2, 9, true, 0, window, cap, true, 15};
            check_all(sizes, Data::binades, ++seed);
            sizes = {1, 20, 2, 1, 9, true, 0, window, cap, false, 6};
            check_all(sizes, Data::special, ++seed);
        }
}

void test_documents_on_every_tile_and_thread_count(void**) {
    Sizes sizes = {1, 75, 3, 3, 40, true, 0};
    sizes.document = 20;
    Example problem(sizes, Data::plain, 570);
    problem.define();
    for (const GemmTile& tile : gemm_tiles())
        for (const int threads : {1, 2, 3})
            if (host_cpu().has(tile.isa)) check(problem, tile.isa, threads, tile.name);
}

// One document that begins at 0 is a row without documents.
void test_one_document(void**) {
    Example plain({2, 60, 2, 2, 8, true, 0.1}, Data::plain, 575), one(plain);
    one.starts.assign(static_cast<std::size_t>(one.tokens()), 0);
    plain.define();
    one.define();
    assert_same_bits("one document", plain.d_qkv.data(), one.d_qkv.data(),
                     static_cast<std::int64_t>(plain.d_qkv.size()));
    for_each_isa([&](Isa isa) { check(one, isa, 2, nullptr); });
}

// A document has the bits that it has alone: where it begins at a multiple of 32 and no cut of 512 falls into
// it. What its neighbours hold, as long as it is finite, changes nothing.
void test_a_document_alone(void**) {
    constexpr std::int64_t kAt = 544, kTokens = 43, kTime = 600;
    Example row({1, kTime, 2, 1, 12, true, 0}, Data::plain, 590);
    for (std::int64_t t = 0; t < kTime; ++t)
        row.starts.push_back(t < 7 ? 0 : t < kAt ? 7 : t < kAt + kTokens ? kAt : kAt + kTokens);
    Example others(row), alone({1, kTokens, 2, 1, 12, true, 0}, Data::plain, 590);
    const auto place = [](std::int64_t stride) { return static_cast<std::ptrdiff_t>(kAt * stride); };
    const auto length = [](std::int64_t stride) { return static_cast<std::ptrdiff_t>(kTokens * stride); };
    const auto copy = [&](const std::vector<float>& from, std::vector<float>& to, std::int64_t stride) {
        std::copy_n(from.begin() + place(stride), length(stride), to.begin());
    };
    copy(row.qkv, alone.qkv, row.stride);
    copy(row.d_o, alone.d_o, row.o_stride);
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(others.qkv.size()); ++i)
        if (i < place(row.stride) || i >= place(row.stride) + length(row.stride))
            others.qkv[static_cast<std::size_t>(i)] *= -3;
    for (Example* each : {&row, &others, &alone}) each->define();
    for (const Example* each : {&row, &others}) {
        assert_same_bits("the result of a document alone", alone.o.data(),
                         each->o.data() + place(row.o_stride), length(row.o_stride));
        assert_same_bits("the gradients of a document alone", alone.d_qkv.data(),
                         each->d_qkv.data() + place(row.stride), length(row.stride));
        for_each_isa([&](Isa isa) { check(*each, isa, 1, nullptr); });
    }
}

// The shape of training: 256 queries, heads of 64.
void test_a_real_head(void**) {
    Example problem({1, 256, 2, 2, 64, true, 0.1}, Data::plain, 600);
    problem.define();
    for (const Isa isa : {Isa::avx2, Isa::avx512})
        if (host_cpu().has(isa)) check(problem, isa, 2, nullptr);
}

// A NaN in the last key and value reaches the last query and nobody else.
void test_a_later_key_is_not_seen(void**) {
    const Sizes sizes = {1, 60, 1, 1, 8, true, 0};
    Example clean(sizes, Data::plain, 700), poisoned(sizes, Data::plain, 700);
    for (std::int64_t c = 0; c < 8; ++c) {
        float* const token = &poisoned.qkv[static_cast<std::size_t>(59 * poisoned.stride)];
        token[poisoned.k_at() + c] = std::numeric_limits<float>::quiet_NaN();
        token[poisoned.v_at() + c] = std::numeric_limits<float>::infinity();
    }
    clean.define();
    poisoned.define();
    for_each_isa([&](Isa isa) {
        check(poisoned, isa, 1, nullptr);
        const Result got = compute(poisoned, isa, 1, nullptr);
        assert_same_bits("rows before a poisoned key", clean.o.data(), got.o.data(), 59 * clean.o_stride);
        assert_true(std::isnan(got.o[static_cast<std::size_t>(59 * clean.o_stride)]));
    });
}

// A sequence has the bits that it has alone.
void test_a_sequence_alone(void**) {
    Example both({2, 33, 2, 2, 12, true, 0}, Data::plain, 800);
    both.define();
    Example second({1, 33, 2, 2, 12, true, 0}, Data::plain, 800);
    second.qkv.assign(both.qkv.begin() + 33 * both.stride, both.qkv.end());
    second.d_o.assign(both.d_o.begin() + 33 * both.o_stride, both.d_o.end());
    second.define();
    for_each_isa([&](Isa isa) {
        check(both, isa, 2, nullptr);
        check(second, isa, 2, nullptr);
    });
    assert_same_bits("alone", second.d_qkv.data(), &both.d_qkv[static_cast<std::size_t>(33 * both.stride)],
                     static_cast<std::int64_t>(second.d_qkv.size()));
}
}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths_around_tiles),
        cmocka_unit_test(test_lengths_around_cuts),
        cmocka_unit_test(test_head_sizes),
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_dropout),
        cmocka_unit_test(test_many_binades),
        cmocka_unit_test(test_every_tile_and_thread_count),
        cmocka_unit_test(test_negative_scales),
        cmocka_unit_test(test_windows_and_caps),
        cmocka_unit_test(test_a_window_of_a_long_sequence),
        cmocka_unit_test(test_wide_windows_and_high_caps),
        cmocka_unit_test(test_documents),
        cmocka_unit_test(test_documents_on_every_tile_and_thread_count),
        cmocka_unit_test(test_one_document),
        cmocka_unit_test(test_a_document_alone),
        cmocka_unit_test(test_a_real_head),
        cmocka_unit_test(test_a_later_key_is_not_seen),
        cmocka_unit_test(test_a_sequence_alone),
    };
    return cmocka_run_group_tests_name("attention", tests, nullptr, nullptr);
}
