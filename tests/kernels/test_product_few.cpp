// Products of few rows, or few columns, against the definition, bit for bit: sweeps over rows of B, dots with
// them, the transposed product; and their kernels by themselves.
#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>

#include "tests/kernels/product_checks.h"

namespace {
using namespace volta;
using namespace volta::cpu;
using namespace volta::test;

// One row, B prepacked in panels, near and far: tails of either extent.
void test_prepacked_rows(void**) {
    std::uint64_t seed = 60;
    for (const std::int64_t k : {64, 513, 1100})
        for (const std::int64_t n : {7, 160, 1035}) {
            const std::int64_t columns = n + (n + k) % 2;  // check() keeps B where n + k is even
            ++seed;
            const Example problem(1, 1, columns, k, seed % 2 == 0, Data::plain, seed);
            for_each_isa([&](Isa isa) {
                for (const bool transposed : {false, true})
                    for (const int threads : {1, 2, 7})
                        for (const bool far : {false, true})
                            check(problem, {isa, nullptr, threads, false, transposed, 3, far});
            });
        }
}

// Every sweep of any number of steps against its definition; what it prefetches ahead of its columns changes
// no bit.
void test_axpy_kernels(void**) {
    constexpr std::int64_t kColumns = 333, kMost = jit::kMaxAxpySteps;
    constexpr jit::AxpyPrefetch kAll[] = {jit::AxpyPrefetch::none, jit::AxpyPrefetch::near,
                                          jit::AxpyPrefetch::rows, jit::AxpyPrefetch::below,
                                          jit::AxpyPrefetch::next};
    Random random(77);
    std::vector<float> b(kColumns * kMost), a(jit::kMaxAxpyRows * kMost);
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
        for (int rows = 1; rows <= jit::kMaxAxpyRows; ++rows)
            for (int steps = 1; steps <= kMost; ++steps)
                for (const jit::AxpyPrefetch ahead : kAll) {
                    if (steps > jit::axpy_steps(isa, rows, ahead)) continue;
                    deepest = std::max(deepest, steps);
                    jit::AxpyForm form;
                    form.isa = isa;
                    form.rows = static_cast<std::uint8_t>(rows);
                    form.steps = static_cast<std::uint8_t>(steps);
                    form.prefetch = ahead;
                    std::vector<float> chains(static_cast<std::size_t>(rows * kColumns), 0.0f);
                    jit::AxpyArgs args = {};
                    args.a = a.data();
                    args.a_row = kMost;
                    args.a_step = 1;
                    args.b = b.data();
                    args.b_stride = args.accumulator_stride = args.columns = kColumns;
                    args.chains = chains.data();
                    args.prefetch_target = b.data();
                    context.compiler.cache->sweep(form, *context.compiler.arena)(&args);
                    assert_same_bits("sweep", expected(rows, steps).data(), chains.data(), rows * kColumns);
                }
    });
    assert_int_equal(deepest, host_cpu().has(Isa::avx2) ? kMost : 0);
}

// Rows of a far B that lie one behind the other are prefetched as one stream; for several rows tiles are
// chosen for it.
void test_short_rows(void**) {
    std::uint64_t seed = 6000;
    for (const std::int64_t k : {0, 1, 2, 3, 7, 16, 17, 511, 521, 1025})
        for (const std::int64_t n : {176, 192, 208, 384, 512, 768, 776, 832}) {
            ++seed;
            for (const std::int64_t m : {1, 5, 8}) {
                const Example problem(1, m, n, k, seed % 2 == 0, static_cast<Data>(seed % 3), seed);
                for (const Isa isa : {Isa::avx2, Isa::avx512})
                    if (host_cpu().has(isa)) check(problem, {isa, nullptr, 1, false, false, 0, true});
            }
        }
}

// Few rows walk over B in place, in groups of columns and a few steps of k at a time; seven and eight
// of AVX2 in two turns of each step.
void test_few_rows(void**) {
    std::uint64_t seed = 4000;
    for (const std::int64_t k : {0, 1, 7, 8, 9, 511, 512, 513, 1030}) {
        for (std::int64_t m = 1; m <= 8; ++m) {
            for (const std::int64_t n : {64, 65, 77, 600, 2048, 2051, 8195}) {
                if (m > 5 && n < 8195) continue;
                if (n == 8195 && (m < 3 || k % 512 > 9)) continue;
                ++seed;
                const Example problem(1, m, n, k, seed % 2 == 0, static_cast<Data>(seed % 3), seed);
                for (const Isa isa : {Isa::avx2, Isa::avx512})
                    if (host_cpu().has(isa))
                        check(problem, {isa, nullptr, 1 + static_cast<int>(seed % 3), seed % 4 < 2, false,
                                        static_cast<std::int64_t>(seed % 5)});
            }
        }
    }
    const Example wide(1, 3, 9000, 20, true, Data::plain, seed),
        batch(4, 1, 300, 530, false, Data::plain, seed);
    for_each_isa([&](Isa isa) {
        for (const int threads : {1, 3}) {
            check(wide, {isa, nullptr, threads, false, false, 1});
            check(batch, {isa, nullptr, threads, true, false, 1});
        }
    });
    for (const std::int64_t n : {65552, 65601}) {  // more than one group of a row that streams from memory
        const Example stream(1, 1, n, 19, false, Data::plain, seed);
        for_each_isa([&](Isa isa) { check(stream, {isa, nullptr, 1, false, false, 0, true}); });
    }
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
void test_skinny_with_a_large_b(void**) {
    constexpr std::int64_t kColumns = 1030, kSteps = 521;  // odd together: B is not kept packed
    if (!host_cpu().has(Isa::avx2)) return;
    for (const std::int64_t rows : {2, 3, 4, 6, 7, 8, 12, 16}) {
        for (const bool into : {false, true}) {
            const Example problem(1, rows, kColumns, kSteps, into, Data::binades,
                                  7000 + static_cast<std::uint64_t>(rows));
            for (const Isa isa : {Isa::avx2, Isa::avx512})
                for (const int threads : {1, 2, 3})
                    if (host_cpu().has(isa))
                        check(problem, {isa, nullptr, threads, rows == 7, false, rows % 3});
        }
        ProductShape shape;
        shape.m = rows;
        shape.n = shape.ldb = shape.ldc = kColumns;
        shape.k = shape.lda = kSteps;
        const CompileContext context = engine(Isa::avx2).context(1, nullptr);
        const ProductPtr product = compile_product(shape, nullptr, context);
        assert_int_equal(std::strstr(product->kernel_name(), "sweep") != nullptr,
                         rows <= 4 || rows == 7 || rows == 8);
        const Planned plan = plan_product(shape, context, {});
        assert_int_equal(plan.packs_b(), rows > 6);
        assert_int_equal(plan.carries(), rows > 6);
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
                const Example problem(1, m, columns, k, seed % 2 == 0, static_cast<Data>(seed % 3), seed);
                for (const Isa isa : {Isa::avx2, Isa::avx512})
                    for (const int threads : {2, 3, 7})
                        if (host_cpu().has(isa))
                            check(problem, {isa, nullptr, threads, false, false,
                                            static_cast<std::int64_t>(seed % 5), true});
            }
    const std::int64_t columns = 391, steps = 1100;
    for (const std::int64_t extra : {0, 1, 2}) {
        const Example problem(1, 1, columns + extra, steps, extra % 2 == 0, Data::plain, seed + 1);
        for (const Isa isa : {Isa::avx2, Isa::avx512})
            for (const int threads : {2, 3})
                if (host_cpu().has(isa)) {
                    check_epilogue(bias_relu(), problem, isa, threads, false, true);
                    check_epilogue(below_maximum(), problem, isa, threads, false, true);
                }
    }
}

// Few rows and a B that is stored transposed: 16 outputs at a time, the last ones with those before them.
void test_dot_form(void**) {
    std::uint64_t seed = 5000;
    for (const std::int64_t k : {16, 17, 19, 64, 66, 511, 512, 513, 1030})
        for (const std::int64_t n : {64, 65, 79, 80, 255, 257, 700}) {
            ++seed;
            const Example problem(1, 1 + static_cast<std::int64_t>(seed % 13), n, k, seed % 2 == 0,
                                  static_cast<Data>(seed % 3), seed);
            for (const Isa isa : {Isa::avx2, Isa::avx512}) {
                if (!host_cpu().has(isa)) continue;
                check(problem, {isa, nullptr, 1 + static_cast<int>(seed % 3), false, true,
                                static_cast<std::int64_t>(seed % 5)});
                check_epilogue(bias_relu(), problem, isa, 1 + static_cast<int>(seed % 3), true);
            }
        }
    const Example wide(1, 1, 3001, 300, false, Data::plain, seed);
    for (const Isa isa : {Isa::avx2, Isa::avx512}) {
        if (!host_cpu().has(isa)) continue;
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

// Every number of rows and groups of the kernel, near and far: what is prefetched changes no bit.
void test_rows_of_dot_form(void**) {
    constexpr std::int64_t kSteps = 84, kStride = 91;
    const std::vector<float> a = random_floats(12 * kStride, 1, Data::binades),
                             b = random_floats(32 * kStride, 2);
    for (const Isa isa : {Isa::avx2, Isa::avx512}) {
        if (!host_cpu().has(isa)) continue;
        const CompileContext context = engine(isa).context(1, nullptr);
        for (int rows = 1; rows <= jit::dot_rows(isa); ++rows)
            for (int form_index = 0; form_index < 4 * jit::dot_groups(isa, rows); ++form_index) {
                alignas(64) float sums[12 * 32];
                jit::DotForm form;
                form.isa = isa;
                form.rows = static_cast<std::uint8_t>(rows);
                form.groups = static_cast<std::uint8_t>(1 + form_index / 4);
                form.prefetches = form_index % 2 == 1;
                form.lines = form_index % 4 >= 2;
                if (form.lines && isa != Isa::avx512) continue;
                const jit::DotArgs args = {a.data(), kStride, b.data(), kStride, kSteps, sums, b.data()};
                context.compiler.cache->dots(form, *context.compiler.arena)(&args);
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
                const Example problem(1, m, n, k, seed % 2 == 0, static_cast<Data>(seed % 3), seed);
                for (const Isa isa : {Isa::avx2, Isa::avx512}) {
                    if (!host_cpu().has(isa)) continue;
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
    // Slices that prefetch C's lines ahead, several groups of columns, and passes over k (the last case: of a
    // B that is too long to be held packed). n + k is odd: check() keeps B otherwise, which is another way.
    constexpr std::int64_t kSizes[][3] = {{64, 256, 513}, {64, 333, 530},  {63, 272, 601}, {100, 701, 512},
                                          {33, 192, 127}, {64, 512, 4201}, {65, 448, 261}, {8, 151, 17000}};
    for (const auto& [m, n, k] : kSizes) {
        for (const bool into : {false, true}) {
            ++seed;
            const Example problem(1, m, n, k, into, static_cast<Data>(seed % 3), seed);
            for (const Isa isa : {Isa::avx2, Isa::avx512})
                for (const int threads : {1, 2, 3, 8})
                    if (host_cpu().has(isa))
                        check(problem,
                              {isa, nullptr, threads, false, true, static_cast<std::int64_t>(seed % 5)});
            if (k < 1000 && host_cpu().has(Isa::avx512)) {
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

// Few columns are computed as rows: one slice and several, the last of them shorter, C a column or not, with
// what C holds and what follows.
void test_few_columns(void**) {
    std::uint64_t seed = 6500;
    for (const std::int64_t k : {1, 17, 64, 513, 1100}) {
        for (const std::int64_t n : {1, 2, 3, 6, 11, 16, 17, 65}) {
            for (const std::int64_t m : {64, 131, 300}) {
                ++seed;
                const Example problem(1, m, n, k, seed % 2 == 0, static_cast<Data>(seed % 3), seed);
                const int threads = 1 + static_cast<int>(seed % 3);
                for (const Isa isa : {Isa::avx2, Isa::avx512}) {
                    if (!host_cpu().has(isa)) continue;
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
                if (!host_cpu().has(isa)) continue;
                const Example problem(1, m, n, k, threads == 2, Data::plain, ++seed);
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
}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_prepacked_rows),
        cmocka_unit_test(test_axpy_kernels),
        cmocka_unit_test(test_short_rows),
        cmocka_unit_test(test_few_rows),
        cmocka_unit_test(test_skinny_with_a_large_b),
        cmocka_unit_test(test_segments_of_threads),
        cmocka_unit_test(test_dot_form),
        cmocka_unit_test(test_rows_of_dot_form),
        cmocka_unit_test(test_swapped),
        cmocka_unit_test(test_few_columns),
    };
    return cmocka_run_group_tests_name("product of few rows or columns", tests, nullptr, nullptr);
}
