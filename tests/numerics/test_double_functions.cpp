// The engine's double functions: against long double, exact values, and fixed bits that every compiler must
// give.
#include "engine/numerics/double_functions.h"

#include "engine/base/hash.h"
#include "tests/support/tensors.h"

namespace {
using namespace volta;
using namespace volta::test;

constexpr double kInf = std::numeric_limits<double>::infinity();

double uniform(Random& random, double low, double high) {
    return low + (high - low) * static_cast<double>(random.next() >> 11) * 0x1p-53;
}

constexpr struct Row {
    const char* name;
    double (*f)(double);
    long double (*reference)(long double);
    double low, high;
    const char* hash;  // of 100,000 results
} kRows[] = {
    {"sind", sind, sinl, -1000, 1000, "6c532feff02cc04c305e6c24463f5e09"},
    {"sind, large", sind, sinl, -0x1p20, 0x1p20, "c1e6780ea8e43b883135b7a6904a0f0a"},
    {"cosd", cosd, cosl, -1000, 1000, "7d0aad3b8637fa004aaa41e7fe67469f"},
    {"cosd, large", cosd, cosl, -0x1p20, 0x1p20, "6c21c41e732493fdeb332425781826e7"},
    {"exp2d", exp2d, exp2l, -30, 30, "beeeeae0c85020c6688b919e85609a52"},
    {"exp2d, wide", exp2d, exp2l, -1020, 1023, "139a831a0ae743c8dff57f2fc65b5043"},
    {"log2d, near 1", log2d, log2l, 0.5, 2, "33dc573afbd0874e83770f718b80311d"},
    {"log2d", log2d, log2l, 1e-300, 1e6, "eb7fb6dcfab758edc76b0ed2872b013e"},
};

// Within 3 ulp: 7e-16 relative.
void test_accuracy(void** state) {
    const Row& row = *static_cast<const Row*>(*state);
    Random random(6);
    double worst = 0;
    for (int i = 0; i < 100000; ++i) {
        const double x = uniform(random, row.low, row.high);
        const long double expected = row.reference(x);
        worst = std::fmax(worst, static_cast<double>(std::fabs((row.f(x) - expected) / expected)));
    }
    if (worst > 7e-16) print_error("%s: relative error %g\n", row.name, worst);
    assert_true(worst <= 7e-16);
}

void test_results_have_fixed_bits(void** state) {
    const Row& row = *static_cast<const Row*>(*state);
    Random random(7);
    Hasher hasher;
    for (int i = 0; i < 100000; ++i) {
        const double y = row.f(uniform(random, row.low, row.high));
        hasher.add(&y, sizeof y);
    }
    assert_string_equal(to_text(hasher.result()).text, row.hash);
}

void test_multiples_of_a_quarter_turn_keep_their_digits(void**) {
    for (int n = 1; n < 600000; n += 7) {
        const double x = n * (kPi / 2);  // rounded: the result is what this rounding leaves
        const auto expected = static_cast<double>(n % 2 ? cosl(x) : sinl(x));
        assert_true(std::fabs((n % 2 ? cosd(x) : sind(x)) - expected) <= 7e-16 * std::fabs(expected));
    }
}

void test_exact_values(void**) {
    assert_true(sind(0.0) == 0 && !std::signbit(sind(0.0)) && std::signbit(sind(-0.0)) && cosd(0.0) == 1);
    assert_true(std::isnan(sind(0x1p21)) && std::isnan(cosd(-kInf)) && std::isnan(cosd(std::nan(""))));
    for (int k = -1074; k < 1024; ++k) assert_true(exp2d(k) == std::ldexp(1.0, k));
    assert_true(exp2d(1024) == kInf && exp2d(kInf) == kInf && exp2d(-1075) == 0 && exp2d(-kInf) == 0);
    assert_true(std::isnan(exp2d(std::nan(""))));
    for (int k = -1074; k < 1024; ++k) assert_true(log2d(std::ldexp(1.0, k)) == k);
    assert_true(log2d(0.0) == -kInf && log2d(-0.0) == -kInf && std::isnan(log2d(-1)) && log2d(kInf) == kInf);
}

void test_rotary_entries_follow_their_formula(void**) {
    for (const long long position : {0LL, 1LL, 255LL, 8191LL})
        for (long long i = 0; i < 32; ++i) {
            const double angle =
                static_cast<double>(position) * std::pow(10000.0, -static_cast<double>(2 * i) / 64);
            const RotaryEntry entry = rotary_entry(position, rotary_frequency(i, 64, 10000.0));
            assert_true(std::fabs(static_cast<double>(entry.cosine) - std::cos(angle)) < 1e-7);
            assert_true(std::fabs(static_cast<double>(entry.sine) - std::sin(angle)) < 1e-7);
        }
}
}  // namespace

int main() {
    const auto name = [](const Row& row) { return row.name; };
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_multiples_of_a_quarter_turn_keep_their_digits),
        cmocka_unit_test(test_exact_values),
        cmocka_unit_test(test_rotary_entries_follow_their_formula),
    };
    return run_rows("double functions: accuracy", kRows, test_accuracy, name) +
           run_rows("double functions: bits", kRows, test_results_have_fixed_bits, name) +
           cmocka_run_group_tests_name("double functions", tests, nullptr, nullptr);
}
