// fma32 against the C library's fma, which rounds once: random floats and the cases where rounding twice
// shows.
#include "engine/numerics/fma32.h"

#include "tests/support/tensors.h"

namespace {
using namespace volta;
using namespace volta::test;

bool same(float a, float b, float c) {
    const float expected = std::fma(a, b, c), actual = fma32(a, b, c);
    if (bits_of(expected) == bits_of(actual)) return true;
    print_error("fma(%a, %a, %a): expected %a, got %a\n", static_cast<double>(a), static_cast<double>(b),
                static_cast<double>(c), static_cast<double>(expected), static_cast<double>(actual));
    return false;
}

float any_float(Random& random) {
    const auto bits = static_cast<std::uint32_t>(random.next() >> 32);
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

void test_random_bits(void**) {
    Random random(1);
    bool all = true;
    for (int i = 0; i < 4000000 && all; ++i)
        all = same(any_float(random), any_float(random), any_float(random));
    assert_true(all);
}

// c close to -a*b: the sum loses most of its leading bits.
void test_cancellation(void**) {
    Random random(2);
    bool all = true;
    for (int i = 0; i < 2000000 && all; ++i) {
        const float a = random_float(random, Data::binades), b = random_float(random, Data::binades);
        float c = -a * b;
        for (std::int64_t step = random.below(3); step > 0; --step)
            c = std::nextafter(c, random.uniform() - 0.5f);
        all = same(a, b, c);
    }
    assert_true(all);
}

// (1 + i/4096) * (1 + j/4096) with odd i and j lies exactly between two floats, and c is too small to show in
// the double sum: rounding to double and then to float would ignore it.
void test_ties_of_floats(void**) {
    Random random(3);
    bool all = true;
    for (int i = 0; i < 2000000 && all; ++i) {
        const float a = 1 + static_cast<float>(random.below(800) * 2 + 1) * 0x1p-12f;
        const float b = 1 + static_cast<float>(random.below(800) * 2 + 1) * 0x1p-12f;
        const float c = std::ldexp(random.uniform() - 0.5f, -static_cast<int>(random.below(140)));
        all = same(a, b, c) && same(-a, b, c);
    }
    assert_true(all);
}

void test_subnormal_and_overflowing_results(void**) {
    Random random(4);
    bool all = true;
    for (int i = 0; i < 2000000 && all; ++i) {
        const float a =
            std::ldexp(random_float(random, Data::plain), -75 + static_cast<int>(random.below(20)));
        const float b =
            std::ldexp(random_float(random, Data::plain), -75 + static_cast<int>(random.below(20)));
        const float c =
            std::ldexp(random_float(random, Data::plain), -149 + static_cast<int>(random.below(26)));
        const float large = std::ldexp(random_float(random, Data::plain), 64);
        all = same(a, b, c) && same(large, large, c) && same(large, large, -large * large);
    }
    assert_true(all);
}

void test_special_values(void**) {
    const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    const float values[] = {0.0f, -0.0f,  1.0f,    -1.0f,         inf,           -inf,
                            nan,  1e-45f, -1e-45f, 3.4028235e38f, -3.4028235e38f};
    bool all = true;
    for (const float a : values)
        for (const float b : values)
            for (const float c : values) all = same(a, b, c) && all;
    assert_true(all);
}
}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_random_bits),    cmocka_unit_test(test_cancellation),
        cmocka_unit_test(test_ties_of_floats), cmocka_unit_test(test_subnormal_and_overflowing_results),
        cmocka_unit_test(test_special_values),
    };
    return cmocka_run_group_tests_name("fma32", tests, nullptr, nullptr);
}
