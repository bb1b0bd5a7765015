// Philox against the published vectors, and the mapping from places to numbers.
#include "engine/numerics/random.h"

#include <algorithm>
#include <numeric>

#include "tests/support/tensors.h"

namespace {
using namespace volta;
using namespace volta::test;

using Block = PhiloxBlock<std::uint32_t>;

// From kat_vectors of the authors' Random123 library: philox4x32, 10 rounds.
constexpr struct {
    Block counter;
    PhiloxKey<std::uint32_t> key;
    Block expected;
} kPublished[] = {
    {{{0, 0, 0, 0}}, {0, 0}, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}},
    {{{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}},
     {0xffffffff, 0xffffffff},
     {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}},
    {{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
     {0xa4093822, 0x299f31d0},
     {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}},
};

void test_published_vectors(void**) {
    ScalarMachine<float> m;
    for (const auto& row : kPublished) {
        const Block actual = philox(m, row.counter, row.key);
        assert_memory_equal(actual.word, row.expected.word, sizeof actual.word);
    }
}

const RandomPlace kPlace = {0x123456789abcdef0u, 7, Purpose::dropout, 5};

void test_counter_words_are_column_row_step_purpose(void**) {
    ScalarMachine<float> m;
    const Block expected = philox(m, {{3, 11, 7, 0x01000005u}}, {0x9abcdef0u, 0x12345678u});
    const Block actual = random_block(kPlace, 3, 11);
    assert_memory_equal(actual.word, expected.word, sizeof actual.word);
}

// Columns 32 w + l of a group of 128 take word w of counter l.
void test_columns_share_counters(void**) {
    for (std::uint32_t column = 0; column < 1000; ++column) {
        const std::uint32_t group = column / 128, word = column % 128 / 32, lane = column % 32;
        const std::uint32_t expected = random_block(kPlace, group * 32 + lane, 2).word[word];
        assert_int_equal(element_bits(kPlace, 2, column), expected);
        ScalarMachine<float> m;
        assert_int_equal(element_bits(m, 2u, column, 7u, 0x01000005u, {0x9abcdef0u, 0x12345678u}), expected);
    }
}

void test_uniform_and_normal_values_have_their_moments(void**) {
    constexpr int kCount = 200000;
    double sum = 0, squares = 0, normal_sum = 0, normal_squares = 0, normal_fourth = 0;
    float least = 1, most = 0;
    for (std::uint32_t i = 0; i < kCount; ++i) {
        const float u = init_uniform(kPlace, i / 500, i % 500, 0, 1);
        const float z = init_normal(kPlace, i / 500, i % 500, 1);
        least = std::min(least, u), most = std::max(most, u);
        sum += u, squares += u * u, normal_sum += z, normal_squares += z * z, normal_fourth += z * z * z * z;
    }
    assert_true(least >= 0 && most < 1);
    assert_true(std::fabs(sum / kCount - 0.5) < 0.003 && std::fabs(squares / kCount - 1.0 / 3) < 0.003);
    assert_true(std::fabs(normal_sum / kCount) < 0.01 && std::fabs(normal_squares / kCount - 1) < 0.02);
    assert_true(std::fabs(normal_fourth / kCount - 3) < 0.15);
}

// The formula of the contract with libm, within the rounding of four operations.
void test_normal_values_follow_box_and_muller(void**) {
    for (std::uint32_t i = 0; i < 1000; ++i) {
        const Block block = random_block(kPlace, i, 4);
        const double u1 = ((block.word[0] >> 8) + 1) * 0x1p-24, u2 = (block.word[1] >> 8) * 0x1p-24;
        const double expected = std::sqrt(-2 * std::log(u1)) * std::cos(6.283185307179586 * u2) * 0.02;
        assert_true(std::fabs(static_cast<double>(init_normal(kPlace, 4, i, 0.02f)) - expected) < 1e-7);
    }
}

void test_integers_are_the_high_half_of_the_product(void**) {
    const Block block = random_block(kPlace, 9, 1);
    const std::uint64_t bits = block.word[0] | std::uint64_t{block.word[1]} << 32;
    assert_int_equal(random_below(kPlace, 9, 1, 1), 0);
    assert_int_equal(random_below(kPlace, 9, 1, std::uint64_t{1} << 32), bits >> 32);
    assert_true(random_below(kPlace, 9, 1, ~std::uint64_t{0}) == bits - 1 || bits == 0);
    for (std::uint32_t i = 0; i < 1000; ++i) assert_true(random_below(kPlace, i, 0, 10) < 10);
}

void test_shuffle_is_fisher_yates_from_the_end(void**) {
    RandomPlace place = {42, 3, Purpose::data_order, 0};
    int items[100], expected[100];
    std::iota(items, items + 100, 0);
    std::iota(expected, expected + 100, 0);
    for (std::uint32_t i = 99; i > 0; --i) std::swap(expected[i], expected[random_below(place, i, 0, i + 1)]);
    shuffle(place, items, 100);
    assert_memory_equal(items, expected, sizeof items);
    std::sort(expected, expected + 100);
    std::sort(items, items + 100);
    assert_memory_equal(items, expected, sizeof items);
    shuffle(place, items, 0);
}

void test_dropout_keeps_at_and_above_the_threshold(void**) {
    ScalarMachine<float> m;
    const DropoutRule rule = dropout_rule(0.1);
    assert_int_equal(rule.threshold, 429496729);  // floor(0.1 * 2^32)
    assert_true(rule.scale == 1.0f / (1.0f - 0.1f));
    assert_true(dropout(m, 2.0f, rule.threshold, rule) == 2.0f * rule.scale);
    const float dropped = dropout(m, std::numeric_limits<float>::infinity(), rule.threshold - 1, rule),
                zero = 0;
    assert_same_bits("a dropped infinity", &zero, &dropped, 1);
    assert_int_equal(dropout_rule(0).threshold, 0);
    assert_true(dropout_rule(0).scale == 1.0f);
}
}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_published_vectors),
        cmocka_unit_test(test_counter_words_are_column_row_step_purpose),
        cmocka_unit_test(test_columns_share_counters),
        cmocka_unit_test(test_uniform_and_normal_values_have_their_moments),
        cmocka_unit_test(test_normal_values_follow_box_and_muller),
        cmocka_unit_test(test_integers_are_the_high_half_of_the_product),
        cmocka_unit_test(test_shuffle_is_fisher_yates_from_the_end),
        cmocka_unit_test(test_dropout_keeps_at_and_above_the_threshold),
    };
    return cmocka_run_group_tests_name("random", tests, nullptr, nullptr);
}
