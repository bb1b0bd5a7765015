// Products by tiles against the definition, bit for bit: every tile forced, all operand orders, threads,
// batches, epilogues; and what is no product at all.
#include <algorithm>
#include <cstring>

#include "engine/base/error.h"
#include "tests/kernels/product_checks.h"
#include "tests/support/errors.h"

namespace {
using namespace volta;
using namespace volta::cpu;
using namespace volta::test;

void test_every_tile_forced(void**) {
    struct Size {
        std::int64_t m, n, k;
    };
    constexpr Size kSizes[] = {{1, 1, 1},    {5, 70, 33},    {37, 53, 129},
                               {70, 17, 40}, {33, 131, 515}, {17, 200, 8}};
    std::uint64_t seed = 1;
    for (const Size& size : kSizes) {
        ++seed;
        const Example problem(1, size.m, size.n, size.k, seed % 2 == 0, static_cast<Data>(seed % 3), seed);
        for (const GemmTile& tile : gemm_tiles()) {
            if (!host_cpu().has(tile.isa)) continue;
            for_each_order([&](bool a, bool b) {
                for (const int threads : {1, 3})
                    check(problem, {tile.isa, tile.name, threads, a, b, static_cast<std::int64_t>(seed % 3)});
            });
        }
    }
}

void test_small_sizes(void**) {
    std::uint64_t seed = 100;
    for (const std::int64_t k : {0, 1, 2, 7, 65, 513}) {
        for (std::int64_t m = 1; m <= 17; m += m > 4 ? 3 : 1) {
            for (std::int64_t n = 1; n <= 17; n += n > 4 ? 4 : 1, ++seed) {
                const Example problem(1, m, n, k, seed % 2 == 0, static_cast<Data>(seed % 3), seed);
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
        const Example problem(1, 19, 50, k, seed % 2 == 0, Data::binades, seed);
        for_each_isa([&](Isa isa) {
            for_each_order([&](bool a, bool b) { check(problem, {isa, nullptr, 2, a, b, 1}); });
        });
    }
}

void test_large_sizes(void**) {
    for (const std::int64_t size : {128, 256, 512}) {
        if (size == 512 && sample_stride() > 1) continue;  // a sample
        const Example problem(1, size, size, size, false, Data::plain, static_cast<std::uint64_t>(size));
        for (const Isa isa : {Isa::avx2, Isa::avx512}) {
            if (!host_cpu().has(isa)) continue;
            for_each_order([&](bool a, bool b) {
                for (const int threads : {1, 2, 3, 7}) check(problem, {isa, nullptr, threads, a, b, 0});
            });
        }
    }
    const Example odd(1, 301, 203, 577, true, Data::plain, 9);
    for_each_isa([&](Isa isa) {
        for_each_order([&](bool a, bool b) {
            for (const int threads : {1, 2, 3, 7})
                if (isa != Isa::scalar || threads == 3) check(odd, {isa, nullptr, threads, a, b, 3});
        });
    });
}

// Long enough for threads to take slices of rows from each other's ends: a worker that wakes late finds less
// of its part, and in another order. Which depends on the moment, so each is computed several times.
void test_stolen_slices(void**) {
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
        const Example problem(size.batch, size.m, size.n, size.k, seed % 2 == 0, static_cast<Data>(seed % 3),
                              seed);
        for_each_isa([&](Isa isa) {
            if (isa == Isa::scalar) return;
            for_each_order([&](bool a, bool b) {
                for (const int threads : {2, 3})
                    for (int time = 0; time < (sample_stride() > 1 ? 1 : 4); ++time)
                        check(problem, {isa, nullptr, threads, a, b, 3 * threads});
            });
        });
    }
}

void test_batches(void**) {
    std::uint64_t seed = 3000;
    for (const std::int64_t batch : {2, 5}) {
        ++seed;
        const Example problem(batch, 21, 34, 29, seed % 2 == 0, Data::binades, seed);
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
    const Example one(1, kBatch * kM, kN, kK, false, Data::binades, 4);
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

// Some rows and a B whose rows do not meet in one set of a cache: read in place. Then packed: more rows, rows
// of B whole pages apart, a B from memory. With AVX2 in place only where it lies in L2 or near, by tiles that
// read it as few times as may be and prefetch nothing that the rows above have read.
void test_some_rows_in_place(void**) {
    const auto plan = [](Isa isa, auto... arguments) { return plan_of(isa, 1, arguments...); };
    const auto packs = [&](auto... arguments) { return plan(arguments...).packs_b(); };
    if (host_cpu().has(Isa::avx512)) {
        assert_false(packs(Isa::avx512, 64, 384, 384, false));
        assert_false(packs(Isa::avx512, 192, 1040, 900, false));
        assert_true(packs(Isa::avx512, 193, 384, 384, false));
        assert_true(packs(Isa::avx512, 64, 1024, 384, false));
        assert_true(packs(Isa::avx512, 64, 2049, 384, false));
        assert_true(packs(Isa::avx512, 64, 384, 384, true));
    }
    if (host_cpu().has(Isa::avx2)) {
        assert_false(packs(Isa::avx2, 64, 768, 512, false));
        assert_true(packs(Isa::avx2, 65, 300, 300, false));
        assert_true(packs(Isa::avx2, 32, 768, 700, false));
        assert_true(packs(Isa::avx2, 32, 300, 300, true));
        assert_string_equal(plan(Isa::avx2, 14, 768, 512, false).tile->name, "f32_gemm_6x16_avx2");
        assert_int_equal(plan(Isa::avx2, 14, 768, 512, false).prefetch.distance, 0);
        assert_true(plan(Isa::avx2, 6, 768, 512, false).prefetch.distance > 0);
        assert_true(plan(Isa::avx2, 6, 768, 768, false).prefetch.distance > 0);
    }
    for (const std::int64_t rows : {17, 48, 191}) {
        const Example problem(1, rows, 301, 530, rows % 2 == 0, Data::binades,
                              static_cast<std::uint64_t>(rows));
        for (const Isa isa : {Isa::avx2, Isa::avx512})
            for (const int threads : {1, 2, 3})
                if (host_cpu().has(isa)) check(problem, {isa, nullptr, threads, false, false, rows % 5});
    }
}

// A B from memory is prefetched twice, and further ahead than one from L3; more than a tile of rows pack it.
// It is, if the model's weights exceed the caches, or if it does so by itself.
void test_asking_by_distance(void**) {
    constexpr std::int64_t kColumns = 3040;
    const auto l3 = static_cast<std::int64_t>(zen4(Isa::scalar, 1).l3_bytes);
    const std::int64_t beyond = l3 / (kColumns * 4);  // steps of k: a last cache's bytes
    for (const Isa isa : {Isa::avx2, Isa::avx512}) {
        if (!host_cpu().has(isa)) continue;
        const auto plan = [&](auto... arguments) { return plan_of(isa, 1, arguments...); };
        const Planned near = plan(5, kColumns, 64, false), cold = plan(5, kColumns, 64, true),
                      large = plan(5, kColumns, beyond, false);
        assert_true(near.prefetch.distance > 0 && !near.prefetch.repeated);
        assert_true(cold.prefetch.distance > near.prefetch.distance && cold.prefetch.repeated);
        assert_true(large.prefetch.distance == cold.prefetch.distance && large.prefetch.repeated);
        assert_true(plan(20, kColumns, beyond, false).packs_b());
        assert_false(plan(20, kColumns, 64, false).packs_b());
    }
}

// Threads that read the same rows of B in place take columns of it each; not so of a tall product, or of few
// columns.
void test_threads_take_columns(void**) {
    const auto plan = [](auto... arguments) { return plan_of(arguments..., false); };
    for (const Isa isa : {Isa::avx2, Isa::avx512}) {
        if (!host_cpu().has(isa)) continue;
        for (const int threads : {2, 3}) {
            const Planned few = plan(isa, threads, 64, 512, 512);
            assert_false(few.packs_b());
            assert_int_equal(few.n_parts, threads);
            assert_int_equal(few.m_parts, 1);
            assert_int_equal(few.workers, threads);
            assert_int_equal(few.nc, 64);  // what they take from each other: 64 x 64 x 512
            assert_int_equal(few.prefetch.a, isa == Isa::avx512);
            std::int64_t most = 0, least = 512;
            for (std::int64_t j = 0; j < few.n_parts; ++j) {
                most = std::max(most, few.column_begin(j + 1) - few.column_begin(j));
                least = std::min(least, few.column_begin(j + 1) - few.column_begin(j));
            }
            assert_true(most - least <= few.tile->nr && (threads > 2 || most == least));
        }
        assert_int_equal(plan(isa, 2, 64, 240, 512).n_parts, 1);  // too few columns
        assert_int_equal(plan(isa, 1, 64, 512, 512).parts(), 1);
        assert_false(plan(isa, 1, 64, 512, 512).prefetch.a);
        if (isa == Isa::avx512) assert_int_equal(plan(isa, 2, 160, 512, 512).n_parts, 1);
        // So few steps of k that C's lines are most of the work.
        assert_int_equal(plan(isa, 2, 64, 256, 1).parts(), 2);
        assert_int_equal(plan(isa, 2, 64, 64, 1).parts(), 1);
    }
    // Rows that meet in the cache: the first tile packs them, column by column group.
    if (host_cpu().has(Isa::avx512)) {
        const Planned packs = plan(Isa::avx512, 2, 64, 1024, 512);
        assert_true(packs.packs_on_first_use() && packs.prefetch.a);
        assert_int_equal(packs.n_parts, 2);
        assert_int_equal(packs.nc, 96);
        assert_false(plan(Isa::avx512, 2, 256, 1024, 512).prefetch.a);
        // Of a long k segment by segment: else L2 holds a tile's columns, and not those of the next.
        assert_int_equal(plan(Isa::avx512, 2, 64, 1024, 1024).kc, 1024);
        assert_int_equal(plan(Isa::avx512, 2, 64, 2048, 2048).kc, jit::kSegment);
        assert_int_equal(plan(Isa::avx512, 2, 64, 2048, 2048).nc, 96);
        assert_int_equal(plan(Isa::avx512, 1, 64, 2048, 2048).kc, 2048);
        for (const std::int64_t rows : {63, 128}) {
            const Example problem(1, rows, 1024, 1301, rows == 63, Data::binades, 8800);
            for (const int threads : {2, 3}) check(problem, {Isa::avx512, nullptr, threads, false, false, 0});
            check_epilogue(bias_relu(), problem, Isa::avx512, 2);
            check_epilogue(below_maximum(), problem, Isa::avx512, 2);
        }
    }
    for (const std::int64_t rows : {15, 64, 128})
        for (const std::int64_t n : {256, 385, 520}) {
            const Example problem(1, rows, n, 530, rows == 64, Data::binades,
                                  static_cast<std::uint64_t>(rows + n));
            for (const Isa isa : {Isa::avx2, Isa::avx512})
                for (const int threads : {2, 3})
                    if (host_cpu().has(isa)) check(problem, {isa, nullptr, threads, false, false, rows % 5});
        }
}

// Rows of A whole pages apart meet in a set of L1, which holds eight of their lines: no tile has more of
// them.
void test_conflicting_rows(void**) {
    std::uint64_t seed = 6800;
    for (const std::int64_t n : {5, 8, 9, 16}) {
        const Example problem(1, 37, n, 1024, n == 8, Data::plain, ++seed);
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
    if (!host_cpu().has(Isa::avx512)) return;
    shape.n = 16;
    assert_string_equal(way_of(shape, Isa::avx512).c_str(), "f32_gemm_14x32_avx512");
    shape.k = 2048;
    assert_string_equal(way_of(shape, Isa::avx512).c_str(), "f32_gemm_8x48_avx512");
}

// Rows of B further apart than pages are packed by themselves, not by the first tile.
void test_page_wide_rows(void**) {
    const Example problem(1, 40, 70, 33, false, Data::binades, 12);
    for_each_isa([&](Isa isa) {
        for_each_order([&](bool a, bool b) { check(problem, {isa, nullptr, 2, a, b, 17000}); });
    });
}

void test_epilogues(void**) {
    std::uint64_t seed = 5000;
    for (const std::int64_t k : {0, 37, 600, 4200}) {
        for (const std::int64_t batch : {1, 3}) {
            ++seed;
            const Example problem(batch, k > 4096 ? 7 : 45, 150, k, seed % 2 == 0, Data::plain, seed);
            const Example row(batch, 1, 150, k, seed % 2 == 0, Data::plain, seed);
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
            check(Example(1, 0, 5, 5, into, Data::plain, 1), {isa, nullptr, 2, false, false, 1});
            check(Example(1, 5, 0, 5, into, Data::plain, 1), {isa, nullptr, 2, false, false, 1});
            check(Example(0, 5, 5, 5, into, Data::plain, 1), {isa, nullptr, 2, false, false, 1});
            check(Example(2, 5, 40, 0, into, Data::special, 1), {isa, nullptr, 2, false, false, 1});
        }
    });
}

// Where the system refuses executable memory the plain form runs: the same bits.
void test_refused_code(void**) {
    Engine refused(host_cpu().best_isa, true);
    const Example problem(1, 20, 40, 530, true, Data::binades, 6);
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

// Threads that take segments of k, which read a B from memory in its order: also where the last one is short.
void test_threads_of_segments(void**) {
    std::uint64_t seed = 7000;
    for (const std::int64_t k : {1023, 1024, 2049, 9001})
        for (const std::int64_t m : {1, 2}) {
            const Example problem(1, m, 40, k, k % 2 == 0, Data::binades, ++seed);
            for_each_isa([&](Isa isa) {
                for (const int threads : {2, 3})
                    check(problem, {isa, nullptr, threads, false, false, 0, true});
            });
        }
}

// Rows may not reach into each other.
void test_leading_dimensions_hold_rows(void**) {
    Engine& plain = engine(Isa::scalar);
    std::int64_t ProductShape::*const strides[] = {&ProductShape::lda, &ProductShape::ldb,
                                                   &ProductShape::ldc};
    for (const auto stride : strides)
        for (const bool transposed : {false, true}) {
            ProductShape shape;
            shape.m = 5, shape.n = 6, shape.k = 7;
            shape.a_transposed = shape.b_transposed = transposed;
            shape.lda = transposed ? 5 : 7, shape.ldb = transposed ? 7 : 6, shape.ldc = 6;
            compile_product(shape, nullptr, plain.context(1, nullptr));
            --(shape.*stride);
            assert_int_equal(
                failure_of([&] { compile_product(shape, nullptr, plain.context(1, nullptr)); }).status,
                VOLTA_INTERNAL);
        }
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

// Rows of A that are gathered from anywhere: the bits of the product of their copy, in every block and with
// every epilogue; a row may stand several times.
void test_gathered_rows(void**) {
    struct Size {
        std::int64_t m, n, k;
        bool into, b_transposed;
    };
    constexpr Size kSizes[] = {{1, 64, 40, false, false},   {4, 3, 300, false, false},
                               {37, 53, 129, true, false},  {70, 300, 515, false, true},
                               {200, 96, 1100, true, true}, {24, 200, 4200, false, false},
                               {129, 40, 0, false, false}};
    std::uint64_t seed = 9100;
    for (const Size& size : kSizes) {
        const Example problem(1, size.m, size.n, size.k, size.into, Data::binades, ++seed);
        const std::int64_t lda = size.k + 5;
        ProductShape shape;
        shape.m = size.m;
        shape.n = shape.ldc = size.n;
        shape.k = shape.lda = size.k;
        shape.b_transposed = size.b_transposed;
        shape.ldb = size.b_transposed ? size.k : size.n;
        // Row i lies at place (7 i) % m of a larger memory, and the last is the first once more.
        std::vector<float> memory(static_cast<std::size_t>(size.m * lda), 3.0f);
        std::vector<const float*> rows(static_cast<std::size_t>(size.m));
        std::vector<float> copy(static_cast<std::size_t>(size.m * size.k));
        for (std::int64_t i = 0; i < size.m; ++i) {
            std::int64_t place = size.m % 7 == 0 ? (i * 5 + 1) % size.m : 7 * i % size.m;
            if (i == size.m - 1) place = size.m % 7 == 0 ? 1 % size.m : 0;
            float* const row = memory.data() + place * lda;
            std::copy_n(problem.a.data() + i * size.k, size.k, row);
            rows[static_cast<std::size_t>(i)] = row;
        }
        for (std::int64_t i = 0; i < size.m; ++i)
            std::copy_n(rows[static_cast<std::size_t>(i)], size.k, copy.data() + i * size.k);
        const std::vector<float> b = stored(problem.b, 1, size.k, size.n, size.b_transposed, 0);
        for_each_isa([&](Isa isa) {
            for (const int threads : {1, 3})
                for (const bool prepacked : {false, true}) {
                    CompileContext context = engine(isa).context(threads, nullptr);
                    context.request.prepacked = prepacked;
                    const ProductPtr plain = compile_product(shape, nullptr, context);
                    context.request.gathered_a = true;
                    const ProductPtr gathered = compile_product(shape, nullptr, context);
                    assert_true(gathered->schedule().algorithm == Algorithm::blocked);
                    assert_true(gathered->schedule().transposed == Transposed::no);
                    std::vector<float> expected = problem.before, actual = problem.before;
                    const auto run = [&](const Product& product, const float* a,
                                         const float* const* rows_of_a, std::vector<float>& c) {
                        EdgeFloats workspace(
                            std::vector<float>((product.workspace_bytes() + 63) / 64 * 16, 5.0f));
                        EdgeFloats packed(std::vector<float>(product.prepacked_bytes() / sizeof(float)));
                        const bool is_packed = packed.count() > 0;
                        if (is_packed) product.prepack(pool(threads), b.data(), packed.data());
                        ProductCall call = {};
                        call.a = a;
                        call.rows_of_a = rows_of_a;
                        call.b = is_packed ? nullptr : b.data();
                        call.c = c.data();
                        call.into = size.into;
                        call.workspace = workspace.data();
                        call.prepacked = is_packed ? packed.data() : nullptr;
                        product.run(pool(threads), call);
                    };
                    run(*plain, copy.data(), nullptr, expected);
                    run(*gathered, nullptr, rows.data(), actual);
                    assert_same_bits("gathered rows", expected.data(), actual.data(), size.m * size.n);
                }
        });
    }
}

// Without any one of the measured rules a product has the same bits.
void test_every_rule_can_be_switched_off(void**) {
    struct Size {
        std::int64_t m, n, k;
        bool a_transposed, b_transposed;
    };
    constexpr Size kSizes[] = {
        {1, 700, 600, false, false},  {2, 2100, 300, false, false}, {8, 5000, 130, false, false},
        {3, 300, 200, false, true},   {40, 700, 600, false, true},  {100, 4, 300, false, false},
        {100, 9, 1024, false, false}, {64, 64, 64, false, false},   {64, 1024, 700, false, false},
        {90, 512, 300, false, false}, {70, 120, 600, true, false},  {300, 96, 4200, false, false}};
    std::uint64_t seed = 9300;
    for (const Size& size : kSizes) {
        ++seed;
        const Example problem(1, size.m, size.n, size.k, seed % 2 == 0, Data::plain, seed);
        for_each_isa([&](Isa isa) {
            if (isa == Isa::scalar) return;
            for (const Rule& rule : rules()) {
                if (!is_measured(rule)) continue;
                Run run = {isa, nullptr, 2, size.a_transposed, size.b_transposed, 0};
                run.without_rule = rule.name;
                check(problem, run);
            }
        });
    }
    assert_null(find_rule("no such rule"));
    assert_non_null(find_rule("pack-b"));
}

// What a schedule is searched and printed by names the rules once each.
void test_rules_have_names_of_their_own(void**) {
    for (const Rule& rule : rules()) {
        assert_true(*rule.name != '\0' && rule.against != nullptr && rule.then != nullptr);
        assert_ptr_equal(find_rule(rule.name), &rule);
    }
}

// A processor is the row that it is nearest to, with what it says of its own caches.
void test_machines_are_rows(void**) {
    CpuInfo cpu = {};
    std::strcpy(cpu.vendor, "AuthenticAMD");
    cpu.family = 25;
    cpu.l2_bytes = std::size_t{1} << 20;
    cpu.l3_bytes = std::size_t{96} << 20;
    cpu.double_pumped_avx512 = true;
    const Machine zen4 = machine_of(cpu, Isa::avx512, 3);
    assert_string_equal(zen4.name, "zen4");
    assert_true(zen4.isa == Isa::avx512 && zen4.threads == 3 && zen4.l3_bytes == cpu.l3_bytes);
    assert_true(zen4.wants_repeated_prefetch && zen4.double_pumped_avx512);
    cpu.l2_bytes /= 2;
    assert_string_equal(machine_of(cpu, Isa::avx2, 1).name, "zen3");
    assert_false(machine_of(cpu, Isa::avx2, 1).wants_repeated_prefetch);
    std::strcpy(cpu.vendor, "GenuineIntel");
    assert_string_equal(machine_of(cpu, Isa::avx2, 1).name, "generic");
    int named = 0;
    for (const Machine& row : machines()) named += std::strcmp(row.name, zen4.name) == 0;
    assert_int_equal(named, 1);
}

// No instruction set comes before another: one includes those whose features it has.
void test_instruction_sets_include(void**) {
    for (const IsaRow& row : kIsas) {
        assert_true(includes(row.isa, row.isa) && includes(row.isa, Isa::scalar));
        assert_string_equal(isa_name(row.isa), row.name);
    }
    assert_true(includes(Isa::avx512, Isa::avx2));
    assert_false(includes(Isa::avx2, Isa::avx512));
    assert_false(includes(static_cast<Isa>(9), Isa::scalar));
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
        cmocka_unit_test(test_gathered_rows),
        cmocka_unit_test(test_every_rule_can_be_switched_off),
        cmocka_unit_test(test_rules_have_names_of_their_own),
        cmocka_unit_test(test_machines_are_rows),
        cmocka_unit_test(test_instruction_sets_include),
        cmocka_unit_test(test_small_sizes),
        cmocka_unit_test(test_segments),
        cmocka_unit_test(test_threads_of_segments),
        cmocka_unit_test(test_leading_dimensions_hold_rows),
        cmocka_unit_test(test_large_sizes),
        cmocka_unit_test(test_stolen_slices),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_shared_operand),
        cmocka_unit_test(test_some_rows_in_place),
        cmocka_unit_test(test_asking_by_distance),
        cmocka_unit_test(test_threads_take_columns),
        cmocka_unit_test(test_conflicting_rows),
        cmocka_unit_test(test_page_wide_rows),
        cmocka_unit_test(test_epilogues),
        cmocka_unit_test(test_empty_extents),
        cmocka_unit_test(test_refused_code),
        cmocka_unit_test(test_unknown_tiles_are_errors),
        cmocka_unit_test(test_kernels_are_shared),
    };
    return cmocka_run_group_tests_name("product", tests, nullptr, nullptr);
}
