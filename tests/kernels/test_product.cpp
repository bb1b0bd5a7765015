// Whole products against the definition, bit for bit: every tile forced, all operand orders, threads,
// batches, epilogues, and the bytes around C. Operands and workspace end at protected pages.
#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>
#include <string>

#include "engine/backend/cpu/product_plan.h"
#include "engine/base/error.h"
#include "tests/kernels/product_problem.h"
#include "tests/support/cmocka_cpp.h"

namespace {
using namespace volta;
using namespace volta::cpu;
using namespace volta::test;

struct Run {
    Isa isa;
    const char* tile;
    int threads;
    bool a_transposed, b_transposed;
    std::int64_t pad;
    bool cold = false;  // B comes from memory; else every third time, where the sizes would not say so
};

void describe(const char* what, const Problem& problem, const Run& run) {
    print_error("%s: %s, %s, %d threads, A%s B%s, pad %lld, [%lld x] %lld x %lld x %lld, into %d\n", what,
                isa_name(run.isa), run.tile ? run.tile : "chosen", run.threads, run.a_transposed ? "^T" : "",
                run.b_transposed ? "^T" : "", static_cast<long long>(run.pad),
                static_cast<long long>(problem.batch), static_cast<long long>(problem.m),
                static_cast<long long>(problem.n), static_cast<long long>(problem.k), problem.into);
}

// Of the columns of B, where the product computes them: all ways but those that are chosen for few rows.
void check_sums(const Problem& problem, const Run& run, const Product& product, bool asked,
                const std::vector<float>& before, EdgeFloats& sums) {
    std::vector<float> expected = before;
    if (product.sums_b())
        define::column_sums<float>(problem.k, problem.n, problem.b.data(), problem.into, expected.data());
    if (first_difference(expected.data(), sums.data(), problem.n) >= 0)
        describe("column sums differ", problem, run);
    assert_same_bits(product.kernel_name(), expected.data(), sums.data(), problem.n);
    if (!asked || (run.tile != nullptr && problem.m > 0 && problem.n > 0))
        assert_int_equal(product.sums_b(), asked);
}

// Runs and compares all of C, the floats between its rows included.
void check(const Problem& problem, const Run& run) {
    ProductShape shape;
    shape.batch = problem.batch;
    shape.m = problem.m;
    shape.n = problem.n;
    shape.k = problem.k;
    shape.a_transposed = run.a_transposed;
    shape.b_transposed = run.b_transposed;
    shape.lda = (run.a_transposed ? problem.m : problem.k) + run.pad;
    shape.ldb = (run.b_transposed ? problem.k : problem.n) + run.pad;
    shape.ldc = problem.n + run.pad;
    shape.batch_stride_a = (run.a_transposed ? problem.k : problem.m) * shape.lda;
    shape.batch_stride_b = (run.b_transposed ? problem.n : problem.k) * shape.ldb;
    shape.batch_stride_c = problem.m * shape.ldc;
    EdgeFloats a(stored(problem.a, problem.batch, problem.m, problem.k, run.a_transposed, run.pad));
    EdgeFloats b(stored(problem.b, problem.batch, problem.k, problem.n, run.b_transposed, run.pad));
    EdgeFloats c(stored(problem.before, problem.batch, problem.m, problem.n, false, run.pad));
    const std::vector<float> expected =
        stored(problem.expected, problem.batch, problem.m, problem.n, false, run.pad);

    CompileContext context = engine(run.isa).context(run.threads, run.tile);
    // As if the weights of a plan filled a part of the last cache, most of it, or more than all.
    constexpr double kCacheUses[] = {0, 0.7, 2};
    context.cache_use = run.cold ? 2 : kCacheUses[(problem.k + problem.n + run.threads) % 3];
    context.asks = (problem.k + run.threads) % 2 == 0;
    context.sum_b = problem.batch == 1 && (problem.m + problem.n + run.threads) % 2 == 0;
    context.keep_b = problem.batch == 1 && (problem.n + problem.k) % 2 == 0;
    const ProductPtr product = compile_product(shape, nullptr, context);
    EdgeFloats kept(std::vector<float>(product->kept_bytes() / sizeof(float), 7.0f));
    const bool is_kept = kept.count() > 0;  // then the calls read B from there alone
    if (is_kept) product->keep(pool(run.threads), b.data(), kept.data());
    EdgeFloats workspace(std::vector<float>((product->workspace_bytes() + 63) / 64 * 16, 5.0f));
    const std::vector<float> before = random_floats(problem.n, 99);
    EdgeFloats sums(before);
    product->run(pool(run.threads),
                 {a.data(), is_kept ? nullptr : b.data(), c.data(), problem.into, workspace.data(), nullptr,
                  is_kept ? kept.data() : nullptr, sums.data()});
    check_sums(problem, run, *product, context.sum_b, before, sums);

    if (first_difference(expected.data(), c.data(), c.count()) >= 0) describe("differs", problem, run);
    assert_same_bits(product->kernel_name(), expected.data(), c.data(), c.count());
}

Isa isas() { return host_cpu().best_isa; }
template <class Body>
void for_each_isa(Body body) {
    for (const Isa isa : {Isa::scalar, Isa::avx2, Isa::avx512})
        if (isa <= isas()) body(isa);
}
template <class Body>
void for_each_order(Body body) {
    for (const bool a : {false, true})
        for (const bool b : {false, true}) body(a, b);
}

void test_every_tile_forced(void**) {
    struct Size {
        std::int64_t m, n, k;
    };
    constexpr Size kSizes[] = {{1, 1, 1},    {5, 70, 33},    {37, 53, 129},
                               {70, 17, 40}, {33, 131, 515}, {17, 200, 8}};
    std::uint64_t seed = 1;
    for (const Size& size : kSizes) {
        ++seed;
        const Problem problem(1, size.m, size.n, size.k, seed % 2 == 0, static_cast<Data>(seed % 3), seed);
        for (const GemmTile& tile : gemm_tiles()) {
            if (!host_cpu().has(tile.isa)) continue;
            for_each_order([&](bool a, bool b) {
                for (const int threads : {1, 3})
                    check(problem, {tile.isa, tile.name, threads, a, b, static_cast<std::int64_t>(seed % 3)});
            });
        }
    }
}

// One row, B kept in panels, near and far: tails of either extent.
void test_kept_rows(void**) {
    std::uint64_t seed = 60;
    for (const std::int64_t k : {64, 513, 1100})
        for (const std::int64_t n : {7, 160, 1035}) {
            const std::int64_t columns = n + (n + k) % 2;  // check() keeps B where n + k is even
            ++seed;
            const Problem problem(1, 1, columns, k, seed % 2 == 0, Data::plain, seed);
            for_each_isa([&](Isa isa) {
                for (const bool transposed : {false, true})
                    for (const int threads : {1, 2, 7})
                        for (const bool far : {false, true})
                            check(problem, {isa, nullptr, threads, false, transposed, 3, far});
            });
        }
}

void test_small_sizes(void**) {
    std::uint64_t seed = 100;
    for (const std::int64_t k : {0, 1, 2, 7, 65, 513}) {
        for (std::int64_t m = 1; m <= 17; m += m > 4 ? 3 : 1) {
            for (std::int64_t n = 1; n <= 17; n += n > 4 ? 4 : 1, ++seed) {
                const Problem problem(1, m, n, k, seed % 2 == 0, static_cast<Data>(seed % 3), seed);
                for_each_isa([&](Isa isa) {
                    check(problem, {isa, nullptr, 1 + static_cast<int>(seed % 3), seed % 4 < 2, seed % 8 < 4,
                                    static_cast<std::int64_t>(seed % 5)});
                });
            }
        }
    }
}

void test_segments(void**) {
    std::uint64_t seed = 2000;
    for (const std::int64_t k : {511, 512, 513, 1023, 1024, 1025, 4096, 4097, 9001}) {
        ++seed;
        const Problem problem(1, 19, 50, k, seed % 2 == 0, Data::binades, seed);
        for_each_isa([&](Isa isa) {
            for_each_order([&](bool a, bool b) { check(problem, {isa, nullptr, 2, a, b, 1}); });
        });
    }
}

void test_large_sizes(void**) {
    for (const std::int64_t size : {128, 256, 512}) {
        const Problem problem(1, size, size, size, false, Data::plain, static_cast<std::uint64_t>(size));
        for (const Isa isa : {Isa::avx2, Isa::avx512}) {
            if (!host_cpu().has(isa)) continue;
            for_each_order([&](bool a, bool b) {
                for (const int threads : {1, 2, 3, 7}) check(problem, {isa, nullptr, threads, a, b, 0});
            });
        }
    }
    const Problem odd(1, 301, 203, 577, true, Data::plain, 9);
    for_each_isa([&](Isa isa) {
        for_each_order([&](bool a, bool b) {
            for (const int threads : {1, 2, 3, 7})
                if (isa != Isa::scalar || threads == 3) check(odd, {isa, nullptr, threads, a, b, 3});
        });
    });
}

// Long enough for threads to take slices of rows from each other's ends: a worker that wakes late finds less
// of its part, and in another order. Which depends on the moment, so each is computed several times.
void test_shared_slices(void**) {
    struct Size {
        std::int64_t batch, m, n, k;
    };
    constexpr Size kSizes[] = {{1, 300, 700, 130},
                               {1, 70, 96, 2100},
                               {1, 1500, 50, 60},
                               {2, 130, 300, 200},
                               {1, 150, 500, 1100}};  // the last in passes, all of which a copy of B holds
    std::uint64_t seed = 400;
    for (const Size& size : kSizes) {
        ++seed;
        const Problem problem(size.batch, size.m, size.n, size.k, seed % 2 == 0, static_cast<Data>(seed % 3),
                              seed);
        for_each_isa([&](Isa isa) {
            if (isa == Isa::scalar) return;
            for_each_order([&](bool a, bool b) {
                for (const int threads : {2, 3})
                    for (int time = 0; time < 4; ++time)
                        check(problem, {isa, nullptr, threads, a, b, 3 * threads});
            });
        });
    }
}

void test_batches(void**) {
    std::uint64_t seed = 3000;
    for (const std::int64_t batch : {2, 5}) {
        ++seed;
        const Problem problem(batch, 21, 34, 29, seed % 2 == 0, Data::binades, seed);
        for_each_isa([&](Isa isa) {
            for_each_order([&](bool a, bool b) {
                for (const int threads : {1, 2, 3, 7}) check(problem, {isa, nullptr, threads, a, b, 1});
            });
        });
    }
}

// A batch that shares B is folded into one product: the bits of the entries alone.
void test_shared_operand(void**) {
    constexpr std::int64_t kBatch = 3, kM = 9, kN = 40, kK = 25;
    const Problem one(1, kBatch * kM, kN, kK, false, Data::binades, 4);
    for_each_isa([&](Isa isa) {
        for (const std::int64_t gap : {0, 5}) {  // rows of C between the entries: not folded
            ProductShape shape;
            shape.batch = kBatch;
            shape.m = kM;
            shape.n = kN;
            shape.k = kK;
            shape.lda = kK;
            shape.ldb = kN;
            shape.ldc = kN;
            shape.batch_stride_a = kM * kK;
            shape.batch_stride_c = (kM + gap) * kN;
            std::vector<float> c(static_cast<std::size_t>(kBatch * (kM + gap) * kN), 3.0f), expected = c;
            for (std::int64_t e = 0; e < kBatch; ++e)
                std::memcpy(&expected[static_cast<std::size_t>(e * (kM + gap) * kN)],
                            &one.expected[static_cast<std::size_t>(e * kM * kN)], sizeof(float) * kM * kN);
            const ProductPtr product = compile_product(shape, nullptr, engine(isa).context(2, nullptr));
            EdgeFloats workspace(std::vector<float>((product->workspace_bytes() + 63) / 64 * 16));
            product->run(pool(2), {one.a.data(), one.b.data(), c.data(), false, workspace.data(), nullptr});
            assert_same_bits("shared operand", expected.data(), c.data(),
                             static_cast<std::int64_t>(c.size()));
        }
    });
}

void check_epilogue(const jit::Program& program, const Problem& problem, Isa isa, int threads,
                    bool b_transposed = false, bool cold = false, bool a_transposed = false) {
    const std::int64_t rows = problem.batch * problem.m, n = problem.n;
    const jit::RowKernelPtr kernel = jit::compile(program, isa, engine(isa).arena, heap());
    std::vector<float> bias = random_floats(n, 17), c = problem.expected;
    std::vector<float> expected(c.size()), y(c.size());
    std::vector<char> scratch(kernel->scratch_bytes(n) + 64);
    void* const aligned =
        reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(scratch.data()) + 63) / 64 * 64);
    void* separate[] = {c.data(), bias.data(), expected.data()};
    const std::int64_t strides[] = {n, 0, n};
    jit::RowArgs args = {separate, strides, rows, n, 0, 0, aligned, 0};
    kernel->run(args);

    ProductShape shape;
    shape.batch = problem.batch;
    shape.m = problem.m;
    shape.n = n;
    shape.k = problem.k;
    shape.a_transposed = a_transposed;
    shape.lda = a_transposed ? problem.m : problem.k;
    shape.b_transposed = b_transposed;
    shape.ldb = b_transposed ? problem.k : n;
    shape.ldc = n;
    const std::vector<float> a = stored(problem.a, problem.batch, problem.m, problem.k, a_transposed, 0);
    const std::vector<float> b = stored(problem.b, problem.batch, problem.k, n, b_transposed, 0);
    shape.batch_stride_a = problem.m * problem.k;
    shape.batch_stride_b = problem.k * n;
    shape.batch_stride_c = problem.m * n;
    std::vector<float> fused = problem.before;
    void* operands[] = {fused.data(), bias.data(), y.data()};
    args.operands = operands;
    args.scratch = nullptr;
    const Epilogue epilogue = {kernel.get(), args};
    CompileContext context = engine(isa).context(threads, nullptr);
    context.cache_use = cold ? 2 : 0;
    const ProductPtr product = compile_product(shape, kernel.get(), context);
    EdgeFloats workspace(std::vector<float>((product->workspace_bytes() + 63) / 64 * 16));
    product->run(pool(threads),
                 {a.data(), b.data(), fused.data(), problem.into, workspace.data(), &epilogue});
    assert_same_bits("product under an epilogue", problem.expected.data(), fused.data(), rows * n);
    assert_same_bits("epilogue", expected.data(), y.data(), rows * n);
}

// Every sweep of any number of steps against its definition; what it asks for ahead of its columns changes no
// bit.
void test_sweeps(void**) {
    constexpr std::int64_t kColumns = 333, kMost = jit::kMaxSweepSteps;
    constexpr jit::SweepAhead kAll[] = {jit::SweepAhead::none, jit::SweepAhead::near, jit::SweepAhead::rows,
                                        jit::SweepAhead::below, jit::SweepAhead::next};
    Random random(77);
    std::vector<float> b(kColumns * kMost), a(jit::kMaxSweepRows * kMost);
    for (float& x : b) x = random_float(random, Data::plain);
    for (float& x : a) x = random_float(random, Data::plain);
    const auto expected = [&](int rows, std::int64_t steps) {
        std::vector<float> chains(static_cast<std::size_t>(rows * kColumns), 0.0f);
        for (std::int64_t i = 0; i < rows; ++i)
            for (std::int64_t j = 0; j < kColumns; ++j)
                for (std::int64_t k = 0; k < steps; ++k) {
                    float& chain = chains[static_cast<std::size_t>(i * kColumns + j)];
                    chain = fma32(a[static_cast<std::size_t>(i * kMost + k)],
                                  b[static_cast<std::size_t>(k * kColumns + j)], chain);
                }
        return chains;
    };
    int deepest = 0;
    for_each_isa([&](Isa isa) {
        if (isa == Isa::scalar) return;
        const CompileContext context = engine(isa).context(1, nullptr);
        for (int rows = 1; rows <= jit::kMaxSweepRows; ++rows)
            for (int steps = 1; steps <= kMost; ++steps)
                for (const jit::SweepAhead ahead : kAll) {
                    if (steps > jit::sweep_steps(isa, rows, ahead)) continue;
                    deepest = std::max(deepest, steps);
                    jit::SweepForm form;
                    form.isa = isa;
                    form.rows = static_cast<std::uint8_t>(rows);
                    form.steps = static_cast<std::uint8_t>(steps);
                    form.ahead = ahead;
                    std::vector<float> chains(static_cast<std::size_t>(rows * kColumns), 0.0f);
                    jit::SweepArgs args = {};
                    args.a = a.data();
                    args.a_row = kMost;
                    args.a_step = 1;
                    args.b = b.data();
                    args.b_stride = args.chain_stride = args.columns = kColumns;
                    args.chains = chains.data();
                    args.ahead = b.data();
                    context.cache->sweep(form, *context.arena)(&args);
                    assert_same_bits("sweep", expected(rows, steps).data(), chains.data(), rows * kColumns);
                }
    });
    assert_int_equal(deepest, isas() >= Isa::avx512 ? kMost : isas() >= Isa::avx2 ? 8 : 0);
}

// Rows of a far B that lie one behind the other are asked for as one stream; for several rows tiles are
// chosen for it.
void test_short_rows(void**) {
    std::uint64_t seed = 6000;
    for (const std::int64_t k : {0, 1, 2, 3, 7, 16, 17, 511, 521, 1025})
        for (const std::int64_t n : {176, 192, 208, 384, 512, 768, 776, 832}) {
            ++seed;
            for (const std::int64_t m : {1, 5, 8}) {
                const Problem problem(1, m, n, k, seed % 2 == 0, static_cast<Data>(seed % 3), seed);
                for (const Isa isa : {Isa::avx2, Isa::avx512})
                    if (isa <= isas()) check(problem, {isa, nullptr, 1, false, false, 0, true});
            }
        }
}

// Few rows sweep over B where it lies, in groups of columns and a few steps of k at a time; seven and eight
// of AVX2 in two turns of each step.
void test_few_rows(void**) {
    std::uint64_t seed = 4000;
    for (const std::int64_t k : {0, 1, 7, 8, 9, 511, 512, 513, 1030}) {
        for (std::int64_t m = 1; m <= 8; ++m) {
            for (const std::int64_t n : {64, 65, 77, 600, 2048, 2051, 8195}) {
                if (m > 5 && n < 8195) continue;
                if (n == 8195 && (m < 3 || k % 512 > 9)) continue;
                ++seed;
                const Problem problem(1, m, n, k, seed % 2 == 0, static_cast<Data>(seed % 3), seed);
                for (const Isa isa : {Isa::avx2, Isa::avx512})
                    if (isa <= isas())
                        check(problem, {isa, nullptr, 1 + static_cast<int>(seed % 3), seed % 4 < 2, false,
                                        static_cast<std::int64_t>(seed % 5)});
            }
        }
    }
    const Problem wide(1, 3, 9000, 20, true, Data::plain, seed),
        batch(4, 1, 300, 530, false, Data::plain, seed);
    for_each_isa([&](Isa isa) {
        for (const int threads : {1, 3}) {
            check(wide, {isa, nullptr, threads, false, false, 1});
            check(batch, {isa, nullptr, threads, true, false, 1});
        }
    });
    if (!host_cpu().has(Isa::avx2)) return;
    ProductShape shape;
    shape.m = 1;
    shape.n = shape.ldb = shape.ldc = 100;
    shape.k = shape.lda = 30;
    const ProductPtr product = compile_product(shape, nullptr, engine(Isa::avx2).context(1, nullptr));
    assert_string_equal(product->kernel_name(), "f32_gemm_sweep_avx2");
    shape.m = 4;
    const ProductPtr narrow = compile_product(shape, nullptr, engine(Isa::avx2).context(1, nullptr));
    assert_null(std::strstr(narrow->kernel_name(), "sweep"));
    shape.n = shape.ldb = shape.ldc = 8192;
    const ProductPtr wide_rows = compile_product(shape, nullptr, engine(Isa::avx2).context(1, nullptr));
    assert_string_equal(wide_rows->kernel_name(), "f32_gemm_sweep_avx2");
}

// Few rows and a B beyond L2: AVX2 sweeps over it for up to four rows, and for seven and eight, which are
// more than a tile has; it packs it in small blocks, which leave chains unfinished, for more.
void test_few_rows_of_a_far_b(void**) {
    constexpr std::int64_t kColumns = 1030, kSteps = 521;  // odd together: B is not kept packed
    if (!host_cpu().has(Isa::avx2)) return;
    for (const std::int64_t rows : {2, 3, 4, 6, 7, 8, 12, 16}) {
        for (const bool into : {false, true}) {
            const Problem problem(1, rows, kColumns, kSteps, into, Data::binades,
                                  7000 + static_cast<std::uint64_t>(rows));
            for (const Isa isa : {Isa::avx2, Isa::avx512})
                for (const int threads : {1, 2, 3})
                    if (isa <= isas()) check(problem, {isa, nullptr, threads, rows == 7, false, rows % 3});
        }
        ProductShape shape;
        shape.m = rows;
        shape.n = shape.ldb = shape.ldc = kColumns;
        shape.k = shape.lda = kSteps;
        const CompileContext context = engine(Isa::avx2).context(1, nullptr);
        const ProductPtr product = compile_product(shape, nullptr, context);
        assert_int_equal(std::strstr(product->kernel_name(), "sweep") != nullptr,
                         rows <= 4 || rows == 7 || rows == 8);
        const ProductPlan plan = plan_product(shape, false, context, {});
        assert_int_equal(plan.pack_b, rows > 6);
        assert_int_equal(plan.carries_chains(), rows > 6);
    }
}

// Of a product whose operands have no gaps; cold: B comes from memory.
ProductPlan plan_of(Isa isa, int threads, std::int64_t m, std::int64_t n, std::int64_t k, bool cold) {
    ProductShape shape;
    shape.m = m;
    shape.n = shape.ldb = shape.ldc = n;
    shape.k = shape.lda = k;
    CompileContext context = engine(isa).context(threads, nullptr);
    context.cache_use = cold ? 2 : 0;
    return plan_product(shape, false, context, {});
}

// Some rows and a B whose rows do not meet in one set of a cache: read in place. Then packed: more rows, rows
// of B whole pages apart, a B from memory. With AVX2 in place only where it lies in L2 or near, by tiles that
// read it as few times as may be and ask for nothing that the rows above have read.
void test_some_rows_in_place(void**) {
    const auto plan = [](Isa isa, auto... arguments) { return plan_of(isa, 1, arguments...); };
    const auto packs = [&](auto... arguments) { return plan(arguments...).pack_b; };
    if (isas() >= Isa::avx512) {
        assert_false(packs(Isa::avx512, 64, 384, 384, false));
        assert_false(packs(Isa::avx512, 192, 1040, 900, false));
        assert_true(packs(Isa::avx512, 193, 384, 384, false));
        assert_true(packs(Isa::avx512, 64, 1024, 384, false));
        assert_true(packs(Isa::avx512, 64, 2049, 384, false));
        assert_true(packs(Isa::avx512, 64, 384, 384, true));
    }
    if (isas() >= Isa::avx2) {
        assert_false(packs(Isa::avx2, 64, 768, 512, false));
        assert_true(packs(Isa::avx2, 65, 300, 300, false));
        assert_true(packs(Isa::avx2, 32, 768, 700, false));
        assert_true(packs(Isa::avx2, 32, 300, 300, true));
        assert_string_equal(plan(Isa::avx2, 14, 768, 512, false).tile->name, "f32_gemm_6x16_avx2");
        assert_int_equal(plan(Isa::avx2, 14, 768, 512, false).prefetch, 0);
        assert_true(plan(Isa::avx2, 6, 768, 512, false).prefetch > 0);
        assert_true(plan(Isa::avx2, 6, 768, 768, false).prefetch > 0);
    }
    for (const std::int64_t rows : {17, 48, 191}) {
        const Problem problem(1, rows, 301, 530, rows % 2 == 0, Data::binades,
                              static_cast<std::uint64_t>(rows));
        for (const Isa isa : {Isa::avx2, Isa::avx512})
            for (const int threads : {1, 2, 3})
                if (isa <= isas()) check(problem, {isa, nullptr, threads, false, false, rows % 5});
    }
}

// Threads that read the same rows of B in place take columns of it each; not so of a tall product, or of few
// columns.
void test_threads_take_columns(void**) {
    const auto plan = [](auto... arguments) { return plan_of(arguments..., false); };
    for (const Isa isa : {Isa::avx2, Isa::avx512}) {
        if (isa > isas()) continue;
        for (const int threads : {2, 3}) {
            const ProductPlan few = plan(isa, threads, 64, 512, 512);
            assert_false(few.pack_b);
            assert_int_equal(few.n_parts, threads);
            assert_int_equal(few.m_parts, 1);
            assert_int_equal(few.workers, threads);
            assert_int_equal(few.panel_columns, 64);  // what they take from each other: 64 x 64 x 512
            assert_int_equal(few.asks_a, isa == Isa::avx512);
            std::int64_t most = 0, least = 512;
            for (std::int64_t j = 0; j < few.n_parts; ++j) {
                most = std::max(most, few.column_begin(j + 1) - few.column_begin(j));
                least = std::min(least, few.column_begin(j + 1) - few.column_begin(j));
            }
            assert_true(most - least <= few.tile->nr && (threads > 2 || most == least));
        }
        assert_int_equal(plan(isa, 2, 64, 240, 512).n_parts, 1);  // too few columns
        assert_int_equal(plan(isa, 1, 64, 512, 512).parts(), 1);
        assert_false(plan(isa, 1, 64, 512, 512).asks_a);
        if (isa == Isa::avx512) assert_int_equal(plan(isa, 2, 160, 512, 512).n_parts, 1);
        // So few steps of k that C's lines are most of the work.
        assert_int_equal(plan(isa, 2, 64, 256, 1).parts(), 2);
        assert_int_equal(plan(isa, 2, 64, 64, 1).parts(), 1);
    }
    // Rows that meet in the cache: the first tile packs them, column by column group.
    if (Isa::avx512 <= isas()) {
        const ProductPlan packs = plan(Isa::avx512, 2, 64, 1024, 512);
        assert_true(packs.packs_in_tiles() && packs.asks_a);
        assert_int_equal(packs.n_parts, 2);
        assert_int_equal(packs.panel_columns, 96);
        assert_false(plan(Isa::avx512, 2, 256, 1024, 512).asks_a);
    }
    for (const std::int64_t rows : {15, 64, 128})
        for (const std::int64_t n : {256, 385, 520}) {
            const Problem problem(1, rows, n, 530, rows == 64, Data::binades,
                                  static_cast<std::uint64_t>(rows + n));
            for (const Isa isa : {Isa::avx2, Isa::avx512})
                for (const int threads : {2, 3})
                    if (isa <= isas()) check(problem, {isa, nullptr, threads, false, false, rows % 5});
        }
}

// One row to four over a B from memory: threads take segments of k, whose chains are added in order, where
// columns would be short or segments are as many for each. Then what follows sees all columns.
void test_segments_of_threads(void**) {
    std::uint64_t seed = 9000;
    for (const std::int64_t k : {1025, 1536, 2048})
        for (const std::int64_t n : {391, 2312})
            for (const std::int64_t m : {1, 2, 4}) {
                const std::int64_t columns = n + 1 - (n + k) % 2;  // check() keeps B where n + k is even
                ++seed;
                const Problem problem(1, m, columns, k, seed % 2 == 0, static_cast<Data>(seed % 3), seed);
                for (const Isa isa : {Isa::avx2, Isa::avx512})
                    for (const int threads : {2, 3, 7})
                        if (isa <= isas())
                            check(problem, {isa, nullptr, threads, false, false,
                                            static_cast<std::int64_t>(seed % 5), true});
            }
    const std::int64_t columns = 391, steps = 1100;
    for (const std::int64_t extra : {0, 1, 2}) {
        const Problem problem(1, 1, columns + extra, steps, extra % 2 == 0, Data::plain, seed + 1);
        for (const Isa isa : {Isa::avx2, Isa::avx512})
            for (const int threads : {2, 3})
                if (isa <= isas()) {
                    check_epilogue(bias_relu(), problem, isa, threads, false, true);
                    check_epilogue(below_maximum(), problem, isa, threads, false, true);
                }
    }
}

// Few rows and a B that is stored transposed: 16 outputs at a time, the last ones with those before them.
void test_dots(void**) {
    std::uint64_t seed = 5000;
    for (const std::int64_t k : {16, 17, 19, 64, 66, 511, 512, 513, 1030})
        for (const std::int64_t n : {64, 65, 79, 80, 255, 257, 700}) {
            ++seed;
            const Problem problem(1, 1 + static_cast<std::int64_t>(seed % 13), n, k, seed % 2 == 0,
                                  static_cast<Data>(seed % 3), seed);
            for (const Isa isa : {Isa::avx2, Isa::avx512}) {
                if (isa > isas()) continue;
                check(problem, {isa, nullptr, 1 + static_cast<int>(seed % 3), false, true,
                                static_cast<std::int64_t>(seed % 5)});
                check_epilogue(bias_relu(), problem, isa, 1 + static_cast<int>(seed % 3), true);
            }
        }
    const Problem wide(1, 1, 3001, 300, false, Data::plain, seed);
    for (const Isa isa : {Isa::avx2, Isa::avx512}) {
        if (isa > isas()) continue;
        for (const int threads : {1, 2, 3, 7}) check(wide, {isa, nullptr, threads, false, true, 3});
        ProductShape shape;
        shape.m = 1;
        shape.n = shape.ldc = 100;
        shape.k = shape.lda = shape.ldb = 30;
        shape.b_transposed = true;
        CompileContext context = engine(isa).context(1, nullptr);
        const ProductPtr product = compile_product(shape, nullptr, context);
        assert_non_null(std::strstr(product->kernel_name(), "f32_gemm_dots"));
    }
}

// Every number of rows and groups of the kernel, near and far: what is asked for ahead changes no bit.
void test_rows_of_dots(void**) {
    constexpr std::int64_t kSteps = 84, kStride = 91;
    const std::vector<float> a = random_floats(12 * kStride, 1, Data::binades),
                             b = random_floats(32 * kStride, 2);
    for (const Isa isa : {Isa::avx2, Isa::avx512}) {
        if (isa > isas()) continue;
        const CompileContext context = engine(isa).context(1, nullptr);
        for (int rows = 1; rows <= jit::dots_rows(isa); ++rows)
            for (int form_index = 0; form_index < 4 * jit::dots_groups(isa, rows); ++form_index) {
                alignas(64) float sums[12 * 32];
                jit::DotsForm form;
                form.isa = isa;
                form.rows = static_cast<std::uint8_t>(rows);
                form.groups = static_cast<std::uint8_t>(1 + form_index / 4);
                form.far = form_index % 2 == 1;
                form.lines = form_index % 4 >= 2;
                if (form.lines && isa != Isa::avx512) continue;
                const jit::DotsArgs args = {a.data(), kStride, b.data(), kStride, kSteps, sums, b.data()};
                context.cache->dots(form, *context.arena)(&args);
                for (int group = 0; group < form.groups; ++group) {
                    std::vector<float> expected(static_cast<std::size_t>(rows * 16));
                    define::product<float>(rows, 16, kSteps, {a.data(), kStride},
                                           {b.data() + group * 16 * kStride, kStride, true}, false,
                                           expected.data(), 16);
                    assert_same_bits("dots", expected.data(), sums + group * rows * 16, rows * 16);
                }
            }
    }
}

// Few rows and a large B that is stored transposed: computed as the transpose.
void test_swapped(void**) {
    std::uint64_t seed = 6000;
    for (const std::int64_t k : {150, 512, 513, 1100}) {
        for (const std::int64_t m : {2, 7, 8, 16, 17, 30}) {
            for (const std::int64_t n : {300, 337, 400}) {
                ++seed;
                const Problem problem(1, m, n, k, seed % 2 == 0, static_cast<Data>(seed % 3), seed);
                for (const Isa isa : {Isa::avx2, Isa::avx512}) {
                    if (isa > isas()) continue;
                    const int threads = 1 + static_cast<int>(seed % 3);
                    check(problem, {isa, nullptr, threads, false, true, static_cast<std::int64_t>(seed % 5)});
                    if (n == 337) {
                        check_epilogue(bias_relu(), problem, isa, threads, true);
                        check_epilogue(below_maximum(), problem, isa, threads, true);
                    }
                }
            }
        }
    }
    // Slices that claim C's lines ahead, several groups of columns, and passes over k (the last case: of a B
    // that is too long to be held packed). n + k is odd: check() keeps B otherwise, which is another way.
    constexpr std::int64_t kSizes[][3] = {{64, 256, 513}, {64, 333, 530},  {63, 272, 601}, {100, 701, 512},
                                          {33, 192, 127}, {64, 512, 4201}, {65, 448, 261}, {8, 151, 17000}};
    for (const auto& [m, n, k] : kSizes) {
        for (const bool into : {false, true}) {
            ++seed;
            const Problem problem(1, m, n, k, into, static_cast<Data>(seed % 3), seed);
            for (const Isa isa : {Isa::avx2, Isa::avx512})
                for (const int threads : {1, 2, 3, 8})
                    if (isa <= isas())
                        check(problem,
                              {isa, nullptr, threads, false, true, static_cast<std::int64_t>(seed % 5)});
            if (k < 1000 && Isa::avx512 <= isas()) {
                check_epilogue(bias_relu(), problem, Isa::avx512, 2, true);
                check_epilogue(below_maximum(), problem, Isa::avx512, 3, true);
            }
        }
    }
    if (!host_cpu().has(Isa::avx2)) return;
    ProductShape shape;
    shape.m = 16;
    shape.n = shape.ldc = 400;
    shape.k = shape.lda = shape.ldb = 300;
    shape.b_transposed = true;
    const ProductPtr product = compile_product(shape, nullptr, engine(Isa::avx2).context(1, nullptr));
    assert_string_equal(product->kernel_name(), "f32_gemm_6x16_avx2 swapped");
}

std::string way_of(ProductShape shape, Isa isa, int threads = 1) {
    shape.lda = shape.a_transposed ? shape.m : shape.k;
    shape.ldb = shape.b_transposed ? shape.k : shape.n;
    shape.ldc = shape.n;
    return compile_product(shape, nullptr, engine(isa).context(threads, nullptr))->kernel_name();
}

// Few columns are computed as rows: one slice and several, the last of them shorter, C a column or not, with
// what C holds and what follows.
void test_few_columns(void**) {
    std::uint64_t seed = 6500;
    for (const std::int64_t k : {1, 17, 64, 513, 1100}) {
        for (const std::int64_t n : {1, 2, 3, 6, 11, 16, 17, 65}) {
            for (const std::int64_t m : {64, 131, 300}) {
                ++seed;
                const Problem problem(1, m, n, k, seed % 2 == 0, static_cast<Data>(seed % 3), seed);
                const int threads = 1 + static_cast<int>(seed % 3);
                for (const Isa isa : {Isa::avx2, Isa::avx512}) {
                    if (isa > isas()) continue;
                    for_each_order([&](bool a, bool b) {
                        for (const std::int64_t pad : {0, 3})
                            check(problem, {isa, nullptr, threads, a, b, pad});
                        check_epilogue(bias_relu(), problem, isa, threads, b, false, a);
                        check_epilogue(below_maximum(), problem, isa, threads, b, false, a);
                    });
                }
            }
        }
    }
    for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{2500, 5, 40}, {3333, 1, 130}, {1090, 12, 200}})
        for (const int threads : {1, 2, 8})
            for (const Isa isa : {Isa::avx2, Isa::avx512}) {
                if (isa > isas()) continue;
                const Problem problem(1, m, n, k, threads == 2, Data::plain, ++seed);
                for_each_order([&](bool a, bool b) { check(problem, {isa, nullptr, threads, a, b, 0}); });
                check_epilogue(bias_relu(), problem, isa, threads, false, false, true);
            }
    if (!host_cpu().has(Isa::avx2)) return;
    ProductShape shape;
    shape.m = 1024;
    shape.k = 384;
    shape.n = 1;
    assert_string_equal(way_of(shape, Isa::avx2).c_str(), "f32_gemm_dots_avx2 for few columns");
    shape.a_transposed = true;
    assert_string_equal(way_of(shape, Isa::avx2).c_str(), "f32_gemm_sweep_avx2 for few columns");
    shape.a_transposed = false;
    shape.n = 3;
    shape.k = 35;  // ends before it gains
    assert_null(std::strstr(way_of(shape, Isa::avx2).c_str(), "few"));
    shape.a_transposed = true;
    shape.n = 16;  // fill their vectors
    assert_null(std::strstr(way_of(shape, Isa::avx2).c_str(), "few"));
}

// Rows of A whole pages apart meet in a set of L1, which holds eight of their lines: no tile has more of
// them.
void test_meeting_rows(void**) {
    std::uint64_t seed = 6800;
    for (const std::int64_t n : {5, 8, 9, 16}) {
        const Problem problem(1, 37, n, 1024, n == 8, Data::plain, ++seed);
        for_each_isa([&](Isa isa) {
            for_each_order([&](bool a, bool b) { check(problem, {isa, nullptr, 2, a, b, 0}); });
        });
    }
    if (!host_cpu().has(Isa::avx2)) return;
    ProductShape shape;
    shape.m = 100;
    shape.n = 8;
    shape.k = 2048;
    assert_string_equal(way_of(shape, Isa::avx2).c_str(), "f32_gemm_8x8_avx2");
    shape.k = 2064;
    assert_string_equal(way_of(shape, Isa::avx2).c_str(), "f32_gemm_12x8_avx2");
    if (Isa::avx512 > isas()) return;
    shape.n = 16;
    assert_string_equal(way_of(shape, Isa::avx512).c_str(), "f32_gemm_14x32_avx512");
    shape.k = 2048;
    assert_string_equal(way_of(shape, Isa::avx512).c_str(), "f32_gemm_8x48_avx512");
}

// Rows of B further apart than pages are packed by themselves, not by the first tile.
void test_far_rows(void**) {
    const Problem problem(1, 40, 70, 33, false, Data::binades, 12);
    for_each_isa([&](Isa isa) {
        for_each_order([&](bool a, bool b) { check(problem, {isa, nullptr, 2, a, b, 17000}); });
    });
}

void test_epilogues(void**) {
    std::uint64_t seed = 5000;
    for (const std::int64_t k : {0, 37, 600, 4200}) {
        for (const std::int64_t batch : {1, 3}) {
            ++seed;
            const Problem problem(batch, k > 4096 ? 7 : 45, 150, k, seed % 2 == 0, Data::plain, seed);
            const Problem row(batch, 1, 150, k, seed % 2 == 0, Data::plain, seed);
            for_each_isa([&](Isa isa) {
                for (const int threads : {1, 2, 7}) {
                    check_epilogue(bias_relu(), problem, isa, threads);
                    check_epilogue(below_maximum(), problem, isa, threads);
                    check_epilogue(bias_relu(), row, isa, threads);
                    check_epilogue(below_maximum(), row, isa, threads);
                }
            });
        }
    }
}

// Nothing to compute: C is not touched, and an empty product (k = 0) keeps `into` or is +0.
void test_empty_extents(void**) {
    for_each_isa([&](Isa isa) {
        for (const bool into : {false, true}) {
            check(Problem(1, 0, 5, 5, into, Data::plain, 1), {isa, nullptr, 2, false, false, 1});
            check(Problem(1, 5, 0, 5, into, Data::plain, 1), {isa, nullptr, 2, false, false, 1});
            check(Problem(0, 5, 5, 5, into, Data::plain, 1), {isa, nullptr, 2, false, false, 1});
            check(Problem(2, 5, 40, 0, into, Data::special, 1), {isa, nullptr, 2, false, false, 1});
        }
    });
}

// Where the system refuses executable memory the plain form runs: the same bits.
void test_refused_code(void**) {
    Engine refused(host_cpu().best_isa, true);
    const Problem problem(1, 20, 40, 530, true, Data::binades, 6);
    std::vector<float> c = problem.before;
    ProductShape shape;
    shape.m = problem.m;
    shape.n = shape.ldb = shape.ldc = problem.n;
    shape.k = shape.lda = problem.k;
    const ProductPtr product = compile_product(shape, nullptr, refused.context(2, nullptr));
    EdgeFloats workspace(std::vector<float>((product->workspace_bytes() + 63) / 64 * 16));
    product->run(pool(2), {problem.a.data(), problem.b.data(), c.data(), true, workspace.data(), nullptr});
    assert_string_equal(product->kernel_name(), "f32_gemm_4x4_scalar");
    assert_same_bits("refused", problem.expected.data(), c.data(), static_cast<std::int64_t>(c.size()));
}

volta_status status_of(const CompileContext& context) {
    ProductShape shape;
    shape.m = shape.n = shape.k = shape.lda = shape.ldb = shape.ldc = 4;
    try {
        compile_product(shape, nullptr, context);
    } catch (const Error& error) {
        return error.status();
    }
    return VOLTA_OK;
}

void test_unknown_tiles_are_errors(void**) {
    assert_int_equal(status_of(engine(Isa::scalar).context(1, "f32_gemm_5x5_avx2")), VOLTA_INVALID_ARGUMENT);
    assert_int_equal(status_of(engine(Isa::scalar).context(1, "f32_gemm_6x16_avx2")), VOLTA_UNSUPPORTED);
    assert_int_equal(status_of(engine(Isa::scalar).context(1, "f32_gemm_4x4_scalar")), VOLTA_OK);
}

// A kernel is emitted once per description and context, however many products use it.
void test_kernels_are_shared(void**) {
    Engine fresh(host_cpu().best_isa, false);
    ProductShape shape;
    shape.m = shape.n = shape.k = shape.lda = shape.ldb = shape.ldc = 200;
    compile_product(shape, nullptr, fresh.context(2, nullptr));
    const std::size_t kernels = fresh.cache.kernel_count(), bytes = fresh.arena.bytes();
    shape.k = shape.lda = 400;
    compile_product(shape, nullptr, fresh.context(2, nullptr));
    assert_int_equal(fresh.cache.kernel_count(), kernels);
    assert_int_equal(fresh.arena.bytes(), bytes);
}
}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_every_tile_forced),
        cmocka_unit_test(test_kept_rows),
        cmocka_unit_test(test_small_sizes),
        cmocka_unit_test(test_segments),
        cmocka_unit_test(test_large_sizes),
        cmocka_unit_test(test_shared_slices),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_shared_operand),
        cmocka_unit_test(test_short_rows),
        cmocka_unit_test(test_few_rows),
        cmocka_unit_test(test_few_rows_of_a_far_b),
        cmocka_unit_test(test_some_rows_in_place),
        cmocka_unit_test(test_threads_take_columns),
        cmocka_unit_test(test_segments_of_threads),
        cmocka_unit_test(test_dots),
        cmocka_unit_test(test_rows_of_dots),
        cmocka_unit_test(test_sweeps),
        cmocka_unit_test(test_swapped),
        cmocka_unit_test(test_few_columns),
        cmocka_unit_test(test_meeting_rows),
        cmocka_unit_test(test_far_rows),
        cmocka_unit_test(test_epilogues),
        cmocka_unit_test(test_empty_extents),
        cmocka_unit_test(test_refused_code),
        cmocka_unit_test(test_unknown_tiles_are_errors),
        cmocka_unit_test(test_kernels_are_shared),
    };
    return cmocka_run_group_tests_name("product", tests, nullptr, nullptr);
}
