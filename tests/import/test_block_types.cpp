// Blocks of weights against their formulas in double precision, and against what the package gguf makes of
// the same bytes (tests/parity/parity_gguf.py --rows).
#include "engine/numerics/block_types.h"

#include <cmath>
#include <cstring>
#include <vector>

#include "engine/import/gguf_file.h"
#include "engine/import/weight_source.h"
#include "tests/support/cmocka_cpp.h"

namespace {
using namespace volta;

std::uint32_t bits_of(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
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
            f32_from_scaled<q8_0_integers>(block, y);
            for (int i = 0; i < 32; ++i) assert_true(static_cast<double>(y[i]) == scale * (first + i));
        });
    }
}

void test_q4_0_has_its_first_half_in_low_nibbles(void**) {
    unsigned char block[kQ40BlockBytes];
    for (int i = 0; i < 16; ++i) block[2 + i] = static_cast<unsigned char>(i | (15 - i) << 4);
    each_scale(block, [&](double scale) {
        float y[32];
        f32_from_scaled<q4_0_integers>(block, y);
        for (int i = 0; i < 16; ++i) {
            assert_true(static_cast<double>(y[i]) == scale * (i - 8));
            assert_true(static_cast<double>(y[16 + i]) == scale * (7 - i));
        }
    });
}

void test_the_fifth_bit_of_q5_0_is_apart(void**) {
    unsigned char block[kQ50BlockBytes];
    for (int i = 0; i < 16; ++i) block[6 + i] = static_cast<unsigned char>(i | (15 - i) << 4);
    for (int i = 0; i < 4; ++i) block[2 + i] = i % 2 == 0 ? 0xff : 0x00;  // of values 0 to 7 and 16 to 23
    each_scale(block, [&](double scale) {
        float y[32];
        f32_from_scaled<q5_0_integers>(block, y);
        for (int i = 0; i < 16; ++i) {
            const int fifth = i < 8 ? 16 : 0;
            assert_true(static_cast<double>(y[i]) == scale * (i + fifth - 16));
            assert_true(static_cast<double>(y[16 + i]) == scale * (15 - i + fifth - 16));
        }
    });
}

// 16384 values of bytes that a linear congruential generator gives, as the package has them: a hash of all,
// the first, the second, the middle and the last of the first block.
struct Row {
    const char* name;
    std::uint32_t values, bytes;
    std::uint64_t hash;
    std::uint32_t some[4];
};
constexpr Row kRows[] = {
    {"Q4_0", 32, 18, 0x2b054027c2a23b25u, {0x430ae000, 0xc3505000, 0x430ae000, 0x00000000}},
    {"Q4_1", 32, 20, 0x919d539f27ca4a46u, {0x46af9800, 0x46923c00, 0x46be4600, 0x45666000}},
    {"Q5_0", 32, 22, 0x93b49b98117c2925u, {0x46bed600, 0x4692cc00, 0xc612cc00, 0x464d8400}},
    {"Q5_1", 32, 24, 0x96bfdadaa5c52966u, {0x7fc00000, 0x7fc00000, 0x7fc00000, 0x7fc00000}},
    {"Q8_0", 32, 34, 0x4a629d7a1ec66da5u, {0x41013a00, 0xbf0b0000, 0x3e8b0000, 0xc0367000}},
    {"Q2_K", 256, 84, 0x0f401ea7f584b881u, {0x4303d600, 0x43427400, 0x41ffe800, 0x417d8000}},
    {"Q3_K", 256, 110, 0x58539d8517613565u, {0xc4e08800, 0x44608800, 0x456bc200, 0xc586b800}},
    {"Q4_K", 256, 144, 0x24fc90f44c6adf17u, {0x46e81dbc, 0x46e9aab8, 0x46faf8bc, 0x46015050}},
    {"Q5_K", 256, 176, 0x9ba0996c6acaf026u, {0x477a0e00, 0x47499fc0, 0x470f7000, 0x48336280}},
    {"Q6_K", 256, 210, 0x3c2d0b2dcbcd22ffu, {0x4242b000, 0xc316e200, 0x43cc6c00, 0xc2f0ed00}},
    {"IQ4_NL", 32, 18, 0x24330af0a3d1f625u, {0xbc69bd00, 0x3cb70580, 0x3c1a5b00, 0x3c8f5480}},
    {"MXFP4", 32, 17, 0xd5dd50dec9c72325u, {0x2f800000, 0xb0400000, 0xaf800000, 0xb1000000}},
};

void test_blocks_are_those_of_the_package(void**) {
    for (const Row& row : kRows) {
        const StoredType* type = find_stored_type(row.name);
        assert_non_null(type);
        assert_int_equal(type->block_values, row.values);
        assert_int_equal(type->block_bytes, row.bytes);
        std::uint32_t state = 0;
        for (const char* letter = row.name; *letter != '\0'; ++letter)
            state += static_cast<unsigned char>(*letter);
        const std::uint32_t blocks = 16384 / row.values;
        std::vector<unsigned char> bytes(1 + blocks * row.bytes);  // at an odd address
        for (std::size_t i = 1; i < bytes.size(); ++i) {
            state = state * 1664525u + 1013904223u;
            bytes[i] = static_cast<unsigned char>(state >> 24);
        }
        std::vector<float> values(16384);
        type->widen(bytes.data() + 1, blocks, values.data());
        const std::uint32_t places[4] = {0, 1, row.values / 2, row.values - 1};
        for (int i = 0; i < 4; ++i) assert_int_equal(bits_of(values[places[i]]), row.some[i]);
        std::uint64_t hash = 0xcbf29ce484222325u;
        for (const float value : values) hash = (hash ^ bits_of(value)) * 0x100000001b3u;
        assert_true(hash == row.hash);
    }
}

// What the container counts with is what the weights are read by.
void test_the_container_knows_the_same_sizes(void**) {
    int count = 0;
    for (std::uint32_t id = 0; id < 256; ++id) {
        const GgufTensorType* contained = find_gguf_tensor_type(id);
        if (contained == nullptr) continue;
        const StoredType* read = find_stored_type(contained->name);
        assert_non_null(read);
        assert_int_equal(read->block_values, contained->block_elements);
        assert_int_equal(read->block_bytes, contained->block_bytes);
        ++count;
    }
    assert_int_equal(count, 16);
}

// (-1)^s 2^(e - bias) 1.m in double.
double fields(unsigned char byte, int mantissa_bits, int bias) {
    const int mantissa = byte & ((1 << mantissa_bits) - 1), exponent = (byte & 0x7f) >> mantissa_bits;
    const double value = exponent == 0
                             ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                             : std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
    return byte >> 7 ? -value : value;
}

void test_eight_bits_are_their_fields(void**) {
    for (int i = 0; i < 256; ++i) {
        const auto byte = static_cast<unsigned char>(i);
        const auto e4m3 = static_cast<float>(fields(byte, 3, 7)),
                   e5m2 = static_cast<float>(fields(byte, 2, 15));
        assert_int_equal(bits_of(f32_from_f8_e4m3(byte)), (i & 0x7f) == 0x7f ? kQuietNan : bits_of(e4m3));
        const std::uint32_t infinite = i >> 7 ? 0xff800000u : 0x7f800000u;
        assert_int_equal(bits_of(f32_from_f8_e5m2(byte)), (i & 0x7f) > 0x7c    ? kQuietNan
                                                          : (i & 0x7f) == 0x7c ? infinite
                                                                               : bits_of(e5m2));
    }
}

void test_f64_is_rounded_once(void**) {
    const double halfway = 1 + std::ldexp(1, -24), values[] = {1.0 / 3, halfway, std::nextafter(halfway, 2.0),
                                                               1e300,   -0.0,    std::ldexp(1, -149)};
    const float expected[] = {1.0f / 3, 1,     1 + std::ldexp(1.0f, -23),
                              INFINITY, -0.0f, std::ldexp(1.0f, -149)};
    const StoredType& type = *find_stored_type("F64");
    assert_true(type.rounds);
    float actual[6];
    type.widen(reinterpret_cast<const unsigned char*>(values), 6, actual);
    for (int i = 0; i < 6; ++i) assert_int_equal(bits_of(actual[i]), bits_of(expected[i]));
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_q8_0_is_scale_times_value),
        cmocka_unit_test(test_q4_0_has_its_first_half_in_low_nibbles),
        cmocka_unit_test(test_the_fifth_bit_of_q5_0_is_apart),
        cmocka_unit_test(test_blocks_are_those_of_the_package),
        cmocka_unit_test(test_the_container_knows_the_same_sizes),
        cmocka_unit_test(test_eight_bits_are_their_fields),
        cmocka_unit_test(test_f64_is_rounded_once),
    };
    return cmocka_run_group_tests_name("block_types", tests, nullptr, nullptr);
}
