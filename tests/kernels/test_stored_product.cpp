// Products with packed weights against their definition, bit for bit: every type, instruction set, tile of
// rows and panels, number of threads and tail; and how weights are made from f32.
#include <cmath>
#include <cstring>
#include <string>

#include "engine/backend/cpu/gemm/product.h"
#include "engine/numerics/stored_weights.h"
#include "tests/kernels/product_problem.h"
#include "tests/support/cmocka_cpp.h"

namespace {
using namespace volta;
using namespace volta::cpu;
using namespace volta::test;

constexpr DType kTypes[] = {DType::bf16, DType::f16, DType::int8, DType::int4, DType::f32_panels};

template <class Body>
void for_each_isa(Body body) {
    for (const Isa isa : {Isa::scalar, Isa::avx2, Isa::avx512})
        if (host_cpu().has(isa)) body(isa);
}

// Bytes as a file may have them: any at all, but for infinite and NaN values, of which only the payload could
// differ. They end at a protected page.
EdgeFloats any_weights(DType dtype, std::int64_t n, std::int64_t k, std::uint64_t seed) {
    const std::size_t bytes = static_cast<std::size_t>(tensor_bytes(dtype, {n, k}));
    if (dtype == DType::f32_panels)
        return EdgeFloats(random_floats(static_cast<std::int64_t>(bytes / 4), seed, Data::plain));
    std::vector<float> memory((bytes + 3) / 4);
    const std::vector<float> random = random_floats(static_cast<std::int64_t>(memory.size()), seed);
    auto* const out = reinterpret_cast<unsigned char*>(memory.data());
    if (!memory.empty()) std::memcpy(out, random.data(), memory.size() * sizeof(float));
    for (std::size_t i = 0; i + 1 < bytes; i += 2) {
        out[i] = static_cast<unsigned char>(out[i] ^ out[i + 1] * 31);
        const bool is_half =
            !has_scales(dtype) || i % static_cast<std::size_t>(stored_group_bytes(dtype)) < 32;
        if (!is_half) continue;
        // Exponents near 1, so that sums round.
        out[i + 1] = static_cast<unsigned char>((out[i + 1] & 0x83) | (dtype == DType::bf16 ? 0x3c : 0x34));
    }
    return EdgeFloats(memory);
}

void check(DType dtype, Isa isa, int threads, std::int64_t m, std::int64_t n, std::int64_t k,
           const jit::Program* program, std::uint64_t seed, const std::vector<float>* given_a = nullptr) {
    static Sample sample;
    if (!sample.takes_next()) return;
    EdgeFloats weights = any_weights(dtype, n, k, seed);
    const std::vector<float> a = given_a != nullptr ? *given_a : random_floats(m * k, seed + 1, Data::plain);
    std::vector<float> expected(static_cast<std::size_t>(m * n));
    const StoredWeights w = {dtype, reinterpret_cast<const unsigned char*>(weights.data()), n, k};
    define::stored_product(m, a.data(), w, expected.data());

    ProductShape shape;
    shape.m = m;
    shape.n = n;
    shape.k = k;
    shape.b_transposed = true;
    shape.lda = shape.ldb = k;
    shape.ldc = n;
    Engine& own = engine(isa);
    CompileContext context = own.context(threads, nullptr);
    context.request.cache_use = seed % 2 == 0 ? 2 : 0;
    context.machine.wants_repeated_prefetch = seed % 5 != 0;  // one row that is cold: panel after panel
    const jit::RowKernel* kernel = program != nullptr ? &own.cache.row(*program, isa, own.arena) : nullptr;
    const ProductPtr product = compile_packed_weight_product(shape, dtype, kernel, context);
    EdgeFloats given(a), c(random_floats(m * n, seed + 2)), y(random_floats(m * n, seed + 3));
    EdgeFloats bias(random_floats(n, seed + 4));
    EdgeFloats workspace(std::vector<float>((product->workspace_bytes() + 63) / 64 * 16, 5.0f));
    Epilogue epilogue;
    void* operands[] = {c.data(), bias.data(), y.data()};
    const std::int64_t strides[] = {n, 0, n};
    epilogue.kernel = kernel;
    epilogue.args.operands = operands;
    epilogue.args.row_strides = strides;
    epilogue.args.rows = m;
    epilogue.args.columns = n;
    ProductCall call = {};
    call.a = given.data();
    call.c = c.data();
    call.workspace = workspace.data();
    call.packed_weight = weights.data();
    call.epilogue = kernel != nullptr ? &epilogue : nullptr;
    pool(threads).assume_core_to_core_ns(seed % 3 == 0 ? 340 : 60);  // what threads that share a weight go by
    product->run(pool(threads), call);
    pool(threads).assume_core_to_core_ns(0);
    const std::string what = std::string(product->kernel_name()) + ", " + std::to_string(threads) +
                             " threads, " + std::to_string(m) + " x " + std::to_string(n) + " x " +
                             std::to_string(k);
    assert_same_bits(what.c_str(), expected.data(), c.data(), m * n);
    if (kernel == nullptr) return;
    // The epilogue saw the finished product: the same kernel over all of it.
    std::vector<float> finished(static_cast<std::size_t>(m * n));
    operands[0] = expected.data();
    operands[2] = finished.data();
    std::vector<float> scratch(kernel->scratch_bytes(n) / sizeof(float) + 16);
    jit::run_block(*kernel, epilogue.args, 0, m, 0, n, scratch.data());
    assert_same_bits((what + ", epilogue").c_str(), finished.data(), y.data(), m * n);
}

void test_every_tile(void**) {
    std::uint64_t seed = 1;
    for_each_isa([&](Isa isa) {
        for (const DType dtype : kTypes)
            for (std::int64_t m = 1; m <= 49; m += m < 14 ? 1 : 7)
                for (const std::int64_t n : {1, 16, 33, 70, 129}) {
                    ++seed;
                    const std::int64_t k = 40 + static_cast<std::int64_t>(seed % 60);
                    check(dtype, isa, 1 + static_cast<int>(seed % 3), m, n, k, nullptr, seed);
                }
    });
}

void test_segments_and_tails(void**) {
    std::uint64_t seed = 5000;
    for_each_isa([&](Isa isa) {
        for (const DType dtype : kTypes)
            for (const std::int64_t k :
                 {0, 1, 7, 8, 9, 31, 32, 33, 63, 511, 512, 513, 543, 545, 1024, 1063, 1537})
                for (const std::int64_t m : {1, 5, 50}) check(dtype, isa, 2, m, 50, k, nullptr, ++seed);
    });
}

void test_epilogues_and_threads(void**) {
    const jit::Program blocks = bias_relu(), rows = below_maximum();
    std::uint64_t seed = 9000;
    for_each_isa([&](Isa isa) {
        for (const DType dtype : kTypes)
            for (const jit::Program* program : {&blocks, &rows})
                for (const int threads : {1, 2, 3, 7})
                    for (const std::int64_t m : {1, 3, 20})
                        check(dtype, isa, threads, m, 611, 96, program, ++seed);
    });
}

// Where a kernel that computes with larger weights and smaller scales would overflow and the definition does
// not, and where it would not round as subnormal numbers do. The bound of the first is 2^100.
void test_large_and_tiny_activations(void**) {
    std::uint64_t seed = 20000;
    for_each_isa([&](Isa isa) {
        for (const DType dtype : kTypes)
            for (const int exponent : {127, 110, 100, 98, 96, 94, 90, -99, -110, -126, -140, -149})
                for (const std::int64_t k : {32, 45, 96}) {
                    std::vector<float> a = random_floats(k, ++seed, Data::plain);
                    for (std::size_t p = 0; p < a.size(); ++p) {
                        const float size = std::fabs(a[p]) > 1 ? 1 / a[p] : a[p];
                        a[p] = std::ldexp(size, exponent - static_cast<int>(p % 3));
                    }
                    check(dtype, isa, 1, 1, 50, k, nullptr, seed, &a);
                    a[static_cast<std::size_t>(k) / 2] = HUGE_VALF;
                    check(dtype, isa, 2, 1, 50, k, nullptr, seed, &a);
                }
    });
}

// A wide product, whose threads take parts of its own.
void test_large(void**) {
    for_each_isa([&](Isa isa) {
        if (isa == Isa::scalar) return;
        for (const DType dtype : kTypes)
            for (const std::int64_t m : {1, 8, 100}) check(dtype, isa, 3, m, 1500, 700, nullptr, 77);
    });
}

// ---- Weights from f32 ---------------------------------------------------------------------------------

float of_bits(std::uint32_t bits) { return float_of_bits(bits); }

void test_halves_round_to_nearest(void**) {
    for (std::uint32_t half = 0; half < 65536; ++half) {
        const auto bits = static_cast<std::uint16_t>(half);
        const float f16 = f32_from_f16(bits), bf16 = f32_from_bf16(bits);
        if (f16 == f16) assert_int_equal(f16_from_f32(f16), bits);
        if (bf16 == bf16) assert_int_equal(bf16_from_f32(bf16), bits);
        // Between two neighbours: the middle goes to the even one, what is beside it to the nearer one.
        if ((half & 0x7fff) >= 0x7bff) continue;
        const float next = f32_from_f16(static_cast<std::uint16_t>(half + 1));
        const float middle = f16 + (next - f16) / 2;  // exact: f32 has 13 bits more
        const std::uint16_t even = static_cast<std::uint16_t>(half + (half & 1));
        assert_int_equal(f16_from_f32(middle), even);
        std::uint32_t word;
        std::memcpy(&word, &middle, sizeof word);
        assert_int_equal(f16_from_f32(of_bits(word + 1)), half + 1);
        assert_int_equal(f16_from_f32(of_bits(word - 1)), half);
    }
    assert_int_equal(f16_from_f32(65519.9f), 0x7bff);
    assert_int_equal(f16_from_f32(65520.0f), 0x7c00);
    assert_int_equal(f16_from_f32(1e30f), 0x7c00);
    assert_int_equal(f16_from_f32(of_bits(0xffc12345)), 0x7e00);
    assert_int_equal(bf16_from_f32(of_bits(0x3f808000)), 0x3f80);
    assert_int_equal(bf16_from_f32(of_bits(0x3f818000)), 0x3f82);
    assert_int_equal(bf16_from_f32(of_bits(0x3f808001)), 0x3f81);
    assert_int_equal(bf16_from_f32(of_bits(0x7f7fffff)), 0x7f80);
    assert_int_equal(bf16_from_f32(of_bits(0x7f800001)), 0x7fc0);
}

// Every element is within half a step of its weight, and lies where the layout says.
void test_store_rows(void**) {
    for (const DType dtype : kTypes)
        for (const std::int64_t k : {32, 45, 600}) {
            const std::int64_t n = 21;
            std::vector<unsigned char> bytes(static_cast<std::size_t>(tensor_bytes(dtype, {n, k})));
            const std::vector<float> w = random_floats(n * k, 3, Data::plain);
            for (std::int64_t j = 0; j < n; ++j)
                assert_true(store_row(dtype, w.data() + j * k, j, k, bytes.data()));
            const StoredWeights stored = {dtype, bytes.data(), n, k};
            for (std::int64_t j = 0; j < n; ++j)
                for (std::int64_t p = 0; p < k; ++p) {
                    const float wanted = w[static_cast<std::size_t>(j * k + p)];
                    const double step = has_scales(dtype)            ? std::fabs(stored.scale(j, p))
                                        : dtype == DType::f32_panels ? 0.0
                                        : dtype == DType::bf16       ? std::fabs(wanted) / 128
                                                                     : std::fabs(wanted) / 1024;
                    // One element of int4's group may be beyond 7 steps, where there is no 8.
                    const double most = dtype == DType::int4 && stored.value(j, p) == 7 ? 1.001 : 0.501;
                    assert_true(std::fabs(static_cast<double>(stored.element(j, p)) - wanted) <= most * step);
                }
        }
}

void test_what_cannot_be_stored(void**) {
    std::vector<unsigned char> bytes(4096);
    std::vector<float> w(32, 1.0f);
    for (const float bad : {HUGE_VALF, -HUGE_VALF, std::nanf("")}) {
        w[17] = bad;
        for (const DType dtype : kTypes)
            assert_true(store_row(dtype, w.data(), 0, 32, bytes.data()) == (dtype == DType::f32_panels));
        assert_memory_equal(bytes.data() + 17 * kStoredPanel * 4, &bad, 4);
    }
    w[17] = 1e6f;
    assert_false(store_row(DType::f16, w.data(), 0, 32, bytes.data()));
    assert_true(store_row(DType::int8, w.data(), 0, 32, bytes.data()));
    w[17] = 1e8f;
    assert_false(store_row(DType::int8, w.data(), 0, 32, bytes.data()));
    assert_false(store_row(DType::int4, w.data(), 0, 32, bytes.data()));
    std::uint64_t size = 0;
    assert_true(tensor_bytes_overflow(DType::int8, {INT64_MAX / 8, 2}, &size));
    assert_true(tensor_bytes_overflow(DType::bf16, {2, INT64_MAX / 8}, &size));
    assert_true(tensor_bytes_overflow(DType::f32_panels, {INT64_MAX / 8192, INT64_MAX / 8192}, &size));
    assert_true(tensor_bytes_overflow(DType::int4, {1 << 30, INT64_MAX / 4096}, &size));
    assert_false(tensor_bytes_overflow(DType::int4, {17, 33}, &size));
    assert_int_equal(size, 2 * 2 * 288);
    assert_false(tensor_bytes_overflow(DType::f32_panels, {17, 33}, &size));
    assert_int_equal(size, 2 * 33 * 64);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_every_tile),
        cmocka_unit_test(test_segments_and_tails),
        cmocka_unit_test(test_epilogues_and_threads),
        cmocka_unit_test(test_large_and_tiny_activations),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_halves_round_to_nearest),
        cmocka_unit_test(test_store_rows),
        cmocka_unit_test(test_what_cannot_be_stored),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
