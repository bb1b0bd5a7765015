// Every bit pattern of the 16-bit types against the value that its fields mean.
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

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_every_f16_is_the_value_of_its_fields),
        cmocka_unit_test(test_every_bf16_is_the_value_of_its_fields),
        cmocka_unit_test(test_two_bytes_are_read_low_first),
    };
    return cmocka_run_group_tests_name("storage_types", tests, nullptr, nullptr);
}
