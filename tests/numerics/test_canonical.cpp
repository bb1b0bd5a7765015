// The orders of the contract against a second writing of them: explicit lanes, chunk results in a vector,
// segments.
#include "engine/numerics/canonical.h"

#include <algorithm>

#include "tests/support/tensors.h"

namespace {
using namespace volta;
using namespace volta::test;

// docs/numerics.md, 3, word by word.
float row_sum_by_vectors(std::vector<float> x) {
    if (x.empty()) return 0;
    std::vector<float> results;
    for (std::size_t first = 0; first < x.size(); first += 4096) {
        float lane[32] = {};
        for (std::size_t i = first; i < std::min(x.size(), first + 4096); ++i) lane[i & 31] += x[i];
        for (int h : {16, 8, 4, 2, 1})
            for (int l = 0; l < h; ++l) lane[l] += lane[l + h];
        results.push_back(lane[0]);
    }
    return results.size() == 1 ? results[0] : row_sum_by_vectors(results);
}

float row_sum_of(const std::vector<float>& x) {
    return row_sum<float>(static_cast<std::int64_t>(x.size()),
                          [&](std::int64_t i) { return x[static_cast<std::size_t>(i)]; });
}

bool row_sum_agrees(std::int64_t n) {
    const auto x = random_floats(n, static_cast<std::uint64_t>(n) + 1, Data::binades);
    const float expected = row_sum_by_vectors(x), actual = row_sum_of(x);
    if (bits_of(expected) == bits_of(actual)) return true;
    print_error("row_sum of %lld: expected %a, got %a\n", static_cast<long long>(n),
                static_cast<double>(expected), static_cast<double>(actual));
    return false;
}

void test_row_sum_of_every_length(void**) {
    bool all = true;
    for (std::int64_t n = 0; n <= 5000 && all; ++n) all = row_sum_agrees(n);
    for (const std::int64_t n : {4095, 4096, 4097, 8191, 8192, 8193, 131071, 131072, 131073})
        all = all && row_sum_agrees(n);
    all = all && row_sum_agrees(4096 * 4096 + 1);  // a third level
    assert_true(all);
}

void test_row_sum_ignores_zeros_beyond_the_end(void**) {
    Random random(5);
    bool all = true;
    for (int i = 0; i < 300 && all; ++i) {
        auto x = random_floats(random.below(18000), random.next(), Data::binades);
        for (float& value : x)
            if (random.below(4) == 0) value = -0.0f;
        const float trimmed = row_sum_of(x);
        x.resize(x.size() + static_cast<std::size_t>(random.below(300)), 0.0f);
        all = bits_of(trimmed) == bits_of(row_sum_of(x));
    }
    assert_true(all);
}

void test_row_sum_of_negative_zeros_is_positive(void**) {
    const float zero = 0, sum = row_sum<float>(3, [](std::int64_t) { return -0.0f; });
    assert_same_bits("a row of -0", &zero, &sum, 1);
}

// docs/numerics.md, 2.1, word by word; `first` is the absolute index of the first element.
float chain_by_segments(const std::vector<float>& a, const std::vector<float>& b, std::int64_t first,
                        const float* into) {
    float c = into ? *into : 0;
    bool stored = into != nullptr;
    const auto count = static_cast<std::int64_t>(a.size());
    for (std::int64_t s = 0; 512 * s < first + count; ++s) {
        const std::int64_t begin = std::max(first, 512 * s), end = std::min(first + count, 512 * (s + 1));
        if (begin >= end) continue;
        float acc = 0;
        for (std::int64_t k = begin; k < end; ++k) {
            const auto i = static_cast<std::size_t>(k - first);
            acc = std::fma(a[i], b[i], acc);
        }
        c = stored ? c + acc : acc;
        stored = true;
    }
    return c;
}

void test_product_chain_is_cut_at_absolute_multiples_of_512(void**) {
    bool all = true;
    for (const std::int64_t first : {0, 1, 300, 511, 512, 513})
        for (const std::int64_t count : {0, 1, 2, 210, 511, 512, 513, 1023, 1024, 1025, 1600}) {
            const auto a = random_floats(count, 1, Data::binades), b = random_floats(count, 2, Data::binades);
            const float start = 0.3f;
            for (const float* into : {static_cast<const float*>(nullptr), &start}) {
                const float actual = product_chain<float>(
                    first, first + count, into,
                    [&](std::int64_t k) { return a[static_cast<std::size_t>(k - first)]; },
                    [&](std::int64_t k) { return b[static_cast<std::size_t>(k - first)]; });
                all = all && bits_of(chain_by_segments(a, b, first, into)) == bits_of(actual);
            }
        }
    assert_true(all);
}

// -0 survives: the first segment is stored, not added to +0, when it underflows to -0 (fma starts it at +0).
void test_first_segment_is_stored(void**) {
    const float tiny = 1e-30f, minus_zero = -0.0f;
    const float underflow = product_chain<float>(
        0, 1, nullptr, [&](std::int64_t) { return -tiny; }, [&](std::int64_t) { return tiny; });
    assert_same_bits("underflow", &minus_zero, &underflow, 1);
    const float into_zero = 0, zero = 0;
    const float added = product_chain<float>(
        0, 1, &into_zero, [&](std::int64_t) { return -tiny; }, [&](std::int64_t) { return tiny; });
    assert_same_bits("underflow, added", &zero, &added, 1);
}

void test_column_sum_is_the_chain_of_ones(void**) {
    bool all = true;
    for (const std::int64_t n : {0, 1, 511, 512, 513, 1025, 2000}) {
        const auto x = random_floats(n, 3, Data::binades), ones = std::vector<float>(x.size(), 1.0f);
        const float start = -2;
        for (const float* into : {static_cast<const float*>(nullptr), &start}) {
            const float actual =
                column_sum<float>(n, into, [&](std::int64_t k) { return x[static_cast<std::size_t>(k)]; });
            all = all && bits_of(chain_by_segments(x, ones, 0, into)) == bits_of(actual);
        }
    }
    assert_true(all);
}

void test_maxima_do_not_depend_on_the_order(void**) {
    const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    const std::vector<std::vector<float>> sets = {{nan, -inf, -0.0f, 0.0f, 1.0f},
                                                  {-inf, -0.0f, 0.0f, -1.0f},
                                                  {-0.0f, 0.0f},
                                                  {-0.0f, -0.0f},
                                                  {-inf, -2.0f},
                                                  {1.0f, 2.0f, inf}};
    const float largest[] = {nan, 0.0f, 0.0f, 0.0f, -2.0f, inf},
                smallest[] = {nan, -inf, 0.0f, 0.0f, -inf, 1.0f};
    for (std::size_t set = 0; set < sets.size(); ++set) {
        std::vector<int> order(sets[set].size());
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
        do {
            const auto x = [&](std::int64_t i) {
                return sets[set][static_cast<std::size_t>(order[static_cast<std::size_t>(i)])];
            };
            const auto n = static_cast<std::int64_t>(order.size());
            const float expected[] = {largest[set], smallest[set]};
            const float actual[] = {row_max<float>(n, x), row_min<float>(n, x)};
            assert_same_bits("max and min", expected, actual, 2);
        } while (std::next_permutation(order.begin(), order.end()));
    }
}

void test_argmax_takes_the_lowest_and_nan_wins(void**) {
    const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    const struct {
        float x[4];
        std::int64_t expected;
    } rows[] = {{{1, 3, 3, 2}, 1},
                {{-0.0f, 0.0f, -1, 0.0f}, 0},
                {{1, nan, inf, nan}, 1},
                {{-inf, -inf, -inf, -inf}, 0},
                {{0, inf, 5, inf}, 1}};
    for (const auto& row : rows)
        assert_int_equal(row_argmax<float>(4, [&](std::int64_t i) { return row.x[i]; }), row.expected);
}
}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_row_sum_of_every_length),
        cmocka_unit_test(test_row_sum_ignores_zeros_beyond_the_end),
        cmocka_unit_test(test_row_sum_of_negative_zeros_is_positive),
        cmocka_unit_test(test_product_chain_is_cut_at_absolute_multiples_of_512),
        cmocka_unit_test(test_first_segment_is_stored),
        cmocka_unit_test(test_column_sum_is_the_chain_of_ones),
        cmocka_unit_test(test_maxima_do_not_depend_on_the_order),
        cmocka_unit_test(test_argmax_takes_the_lowest_and_nan_wins),
    };
    return cmocka_run_group_tests_name("canonical", tests, nullptr, nullptr);
}
