// How the tests of whole products check one of them against the definition: all of C, the bytes between its
// rows, column sums, what follows it; and the way that a product goes. Operands and workspace end at
// protected pages.
#pragma once

#include <string>

#include "engine/backend/cpu/gemm/cost.h"
#include "tests/kernels/product_problem.h"
#include "tests/support/cmocka_cpp.h"

namespace volta::test {
struct Run {
    Isa isa;
    const char* tile;
    int threads;
    bool a_transposed, b_transposed;
    std::int64_t pad;
    bool cold = false;  // B comes from DRAM; else every third time, where the sizes would not say so
    const char* without_rule = nullptr;  // NULL: with all of them
};

inline void describe(const char* what, const Example& problem, const Run& run) {
    print_error("%s: %s, %s, %d threads, A%s B%s, pad %lld, [%lld x] %lld x %lld x %lld, into %d\n", what,
                isa_name(run.isa), run.tile ? run.tile : "chosen", run.threads, run.a_transposed ? "^T" : "",
                run.b_transposed ? "^T" : "", static_cast<long long>(run.pad),
                static_cast<long long>(problem.batch), static_cast<long long>(problem.m),
                static_cast<long long>(problem.n), static_cast<long long>(problem.k), problem.into);
}

// Of the columns of B, where the product computes them: all ways but those that are chosen for few rows.
inline void check_sums(const Example& problem, const Run& run, const Product& product, bool asked,
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
inline void check(const Example& problem, const Run& run) {
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
    context.overrides.without_rule = run.without_rule;
    // As if the weights of a plan filled a part of the last cache, most of it, or more than all.
    constexpr double kCacheUses[] = {0, 0.7, 2};
    context.request.cache_use = run.cold ? 2 : kCacheUses[(problem.k + problem.n + run.threads) % 3];
    context.machine.wants_repeated_prefetch = (problem.k + run.threads) % 2 == 0;
    context.request.sums_b = problem.batch == 1 && (problem.m + problem.n + run.threads) % 2 == 0;
    context.request.prepacked = problem.batch == 1 && (problem.n + problem.k) % 2 == 0;
    const ProductPtr product = compile_product(shape, nullptr, context);
    EdgeFloats kept(std::vector<float>(product->prepacked_bytes() / sizeof(float), 7.0f));
    const bool is_kept = kept.count() > 0;  // then the calls read B from there alone
    if (is_kept) product->prepack(pool(run.threads), b.data(), kept.data());
    EdgeFloats workspace(std::vector<float>((product->workspace_bytes() + 63) / 64 * 16, 5.0f));
    const std::vector<float> before = random_floats(problem.n, 99);
    EdgeFloats sums(before);
    product->run(pool(run.threads),
                 {a.data(), is_kept ? nullptr : b.data(), c.data(), problem.into, workspace.data(), nullptr,
                  is_kept ? kept.data() : nullptr, sums.data()});
    check_sums(problem, run, *product, context.request.sums_b, before, sums);

    if (first_difference(expected.data(), c.data(), c.count()) >= 0) describe("differs", problem, run);
    assert_same_bits(product->kernel_name(), expected.data(), c.data(), c.count());
}

template <class Body>
void for_each_isa(Body body) {
    for (const Isa isa : {Isa::scalar, Isa::avx2, Isa::avx512})
        if (host_cpu().has(isa)) body(isa);
}
template <class Body>
void for_each_order(Body body) {
    for (const bool a : {false, true})
        for (const bool b : {false, true}) body(a, b);
}

inline void check_epilogue(const jit::Program& program, const Example& problem, Isa isa, int threads,
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
    context.request.cache_use = cold ? 2 : 0;
    const ProductPtr product = compile_product(shape, kernel.get(), context);
    EdgeFloats workspace(std::vector<float>((product->workspace_bytes() + 63) / 64 * 16));
    product->run(pool(threads),
                 {a.data(), b.data(), fused.data(), problem.into, workspace.data(), &epilogue});
    assert_same_bits("product under an epilogue", problem.expected.data(), fused.data(), rows * n);
    assert_same_bits("epilogue", expected.data(), y.data(), rows * n);
}

// Of a product whose operands have no gaps; cold: B comes from DRAM.
inline Planned plan_of(Isa isa, int threads, std::int64_t m, std::int64_t n, std::int64_t k, bool cold) {
    ProductShape shape;
    shape.m = m;
    shape.n = shape.ldb = shape.ldc = n;
    shape.k = shape.lda = k;
    CompileContext context = engine(isa).context(threads, nullptr);
    context.machine = zen4(isa, threads);
    context.request.cache_use = cold ? 2 : 0;
    return plan_product(shape, context, {});
}

inline std::string way_of(ProductShape shape, Isa isa, int threads = 1) {
    shape.lda = shape.a_transposed ? shape.m : shape.k;
    shape.ldb = shape.b_transposed ? shape.k : shape.n;
    shape.ldc = shape.n;
    CompileContext context = engine(isa).context(threads, nullptr);
    context.machine = zen4(isa, threads);
    return compile_product(shape, nullptr, context)->kernel_name();
}
}  // namespace volta::test
