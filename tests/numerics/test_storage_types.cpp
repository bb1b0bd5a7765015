// Every bit pattern of the 16-bit types against the value that its fields mean, and the quantised blocks
// against their formula in double precision.
#include "engine/numerics/storage_types.h"

#include <cmath>
#include <cstring>

#include "tests/support/cmocka_cpp.h"

namespace {
using namespace volta;

std::uint32_t bits_of(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

// (-1)^s 2^(e - bias) 1.m, of a type with `mantissa_bits` and a maximal exponent for infinities and NaNs.
struct Fields {
    int mantissa_bits, exponent_bits;
};

std::uint32_t expected_bits(std::uint32_t pattern, Fields type) {
    const std::uint32_t mantissa = pattern & ((1u << type.mantissa_bits) - 1);
    const int top = (1 << type.exponent_bits) - 1, bias = top >> 1;
    const int exponent = static_cast<int>(pattern >> type.mantissa_bits) & top;
    const bool negative = pattern >> 15 & 1;
    if (exponent == top && mantissa != 0) return 0x7fc00000u;
    double value = exponent == top ? INFINITY
                   : exponent == 0 ? std::ldexp(mantissa, 1 - bias - type.mantissa_bits)
                                   : std::ldexp(mantissa + (1u << type.mantissa_bits),
                                                exponent - bias - type.mantissa_bits);
    return bits_of(static_cast<float>(negative ? -value : value));
}

void test_every_f16_is_the_value_of_its_fields(void**) {
    for (std::uint32_t pattern = 0; pattern < 65536; ++pattern)
        assert_int_equal(bits_of(f32_from_f16(static_cast<std::uint16_t>(pattern))),
                         expected_bits(pattern, {10, 5}));
}

void test_every_bf16_is_the_value_of_its_fields(void**) {
    for (std::uint32_t pattern = 0; pattern < 65536; ++pattern)
        assert_int_equal(bits_of(f32_from_bf16(static_cast<std::uint16_t>(pattern))),
                         expected_bits(pattern, {7, 8}));
}

void test_two_bytes_are_read_low_first(void**) {
    const unsigned char bytes[] = {0x34, 0xf2};
    assert_int_equal(load_u16(bytes), 0xf234);
}

// Every scale with every quantised value: products are exact, so double precision gives the same float.
template <class Check>
void each_scale(unsigned char* block, Check check) {
    for (std::uint32_t scale = 0; scale < 65536; ++scale) {
        if ((scale >> 10 & 31) == 31) continue;  // infinite or NaN
        block[0] = static_cast<unsigned char>(scale);
        block[1] = static_cast<unsigned char>(scale >> 8);
        check(static_cast<double>(f32_from_f16(static_cast<std::uint16_t>(scale))));
    }
}

void test_q8_0_is_scale_times_value(void**) {
    unsigned char block[kQ80BlockBytes];
    for (int first = -128; first < 128; first += 32) {
        for (int i = 0; i < 32; ++i) block[2 + i] = static_cast<unsigned char>(first + i);
        each_scale(block, [&](double scale) {
            float y[32];
            f32_from_q8_0(block, y);
            for (int i = 0; i < 32; ++i) assert_true(static_cast<double>(y[i]) == scale * (first + i));
        });
    }
}

void test_q4_0_has_its_first_half_in_low_nibbles(void**) {
    unsigned char block[kQ40BlockBytes];
    for (int i = 0; i < 16; ++i) block[2 + i] = static_cast<unsigned char>(i | (15 - i) << 4);
    each_scale(block, [&](double scale) {
        float y[32];
        f32_from_q4_0(block, y);
        for (int i = 0; i < 16; ++i) {
            assert_true(static_cast<double>(y[i]) == scale * (i - 8));
            assert_true(static_cast<double>(y[16 + i]) == scale * (7 - i));
        }
    });
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_every_f16_is_the_value_of_its_fields),
        cmocka_unit_test(test_every_bf16_is_the_value_of_its_fields),
        cmocka_unit_test(test_two_bytes_are_read_low_first),
        cmocka_unit_test(test_q8_0_is_scale_times_value),
        cmocka_unit_test(test_q4_0_has_its_first_half_in_low_nibbles),
    };
    return cmocka_run_group_tests_name("storage_types", tests, nullptr, nullptr);
}
