// The order of the data (docs/training.md): every sample of an epoch once, targets one ahead, a function of
// the seed alone, and a cursor that goes back to any place. And the schedule.
#include "engine/runtime/token_stream.h"

#include <algorithm>
#include <vector>

#include "engine/base/error.h"
#include "engine/runtime/optimizer.h"
#include "tests/support/cmocka_cpp.h"
#include "tests/support/errors.h"

namespace {

using namespace volta;
using namespace volta::test;

std::vector<std::int32_t> counting(std::size_t count) {
    std::vector<std::int32_t> tokens(count);
    for (std::size_t i = 0; i < count; ++i) tokens[i] = static_cast<std::int32_t>(i);
    return tokens;
}

void test_an_epoch_holds_every_sample_once(void**) {
    std::pmr::memory_resource* heap = std::pmr::new_delete_resource();
    const auto tokens = counting(1000);
    TokenStream stream(tokens.data(), tokens.size(), 10, 1000, 42, heap);
    bool good = true, orders_differ = false;
    std::vector<std::int32_t> first_epoch;
    for (std::uint64_t epoch = 0; epoch < 5; ++epoch) {
        std::vector<std::int32_t> starts;
        std::int32_t x[10], y[10];
        do {
            stream.next(1, x, y);
            if (stream.epoch() != epoch) break;
            starts.push_back(x[0]);
            for (int i = 0; i < 10; ++i) good = good && x[i] == x[0] + i && y[i] == x[i] + 1;
            // an epoch ends when the next sample belongs to the next one
        } while (stream.cursor() < (999 - static_cast<std::uint64_t>(starts[0] % 10)) / 10);
        std::vector<std::int32_t> sorted = starts;
        std::sort(sorted.begin(), sorted.end());
        for (std::size_t i = 1; i < sorted.size(); ++i) good = good && sorted[i] == sorted[i - 1] + 10;
        good = good && starts.size() >= 98;
        if (epoch == 0) first_epoch = starts;
        orders_differ = orders_differ || starts != first_epoch;
    }
    assert_true(good);
    assert_true(orders_differ);
}

void test_cursor_goes_back(void**) {
    std::pmr::memory_resource* heap = std::pmr::new_delete_resource();
    const auto tokens = counting(300);
    TokenStream a(tokens.data(), tokens.size(), 16, 300, 7, heap),
        b(tokens.data(), tokens.size(), 16, 300, 7, heap);
    std::vector<std::int32_t> xa(16 * 50), ya(16 * 50), xb(16 * 50), yb(16 * 50);
    a.next(37, xa.data(), ya.data());
    b.set(a.epoch(), a.cursor());
    a.next(50, xa.data(), ya.data());
    b.next(50, xb.data(), yb.data());
    const bool same = xa == xb && ya == yb;
    assert_true(same);
}

void test_short_texts(void**) {
    std::pmr::memory_resource* heap = std::pmr::new_delete_resource();
    const auto tokens = counting(17);
    TokenStream stream(tokens.data(), 17, 16, 17, 1, heap);  // one sample, no offset
    std::int32_t x[48], y[48];
    stream.next(3, x, y);
    assert_int_equal(x[0] + x[16] + x[32], 0);
    assert_int_equal(y[15], 16);
    volta_status status = VOLTA_OK;
    try {
        TokenStream refused(tokens.data(), 16, 16, 17, 1, heap);
    } catch (const Error& error) {
        status = error.status();
    }
    assert_int_equal(status, VOLTA_INVALID_ARGUMENT);
    const std::int32_t few[] = {0, 1, 17};
    assert_failure(failure_of([&] { TokenStream(few, 3, 2, 17, 1, heap); }), VOLTA_INVALID_ARGUMENT,
                   "token 2 is 17, outside the vocabulary of 17");
    // Refused before one of them is read.
    assert_failure(failure_of([&] { TokenStream(few, std::size_t{1} << 31, 2, 17, 1, heap); }),
                   VOLTA_INVALID_ARGUMENT,
                   "the text has 2147483648 tokens, at most 2147483647 are supported");
}

// Whatever the offset, the last target is the last token of the text at most.
void test_targets_end_with_the_text(void**) {
    std::pmr::memory_resource* heap = std::pmr::new_delete_resource();
    for (const std::size_t count : {17u, 18u, 32u, 33u, 48u, 49u}) {
        const auto tokens = counting(count);
        TokenStream stream(tokens.data(), count, 16, static_cast<std::int32_t>(count), 3, heap);
        std::int32_t x[16], y[16];
        for (int row = 0; row < 200; ++row) {
            stream.next(1, x, y);
            for (int i = 0; i < 16; ++i) assert_true(x[i] == x[0] + i && y[i] == x[i] + 1);
            assert_in_range(y[15], 16, count - 1);
        }
    }
}

void test_cursors_beyond_the_epoch_are_refused(void**) {
    std::pmr::memory_resource* heap = std::pmr::new_delete_resource();
    const auto tokens = counting(17);
    TokenStream stream(tokens.data(), 17, 16, 17, 1, heap);  // one sample
    stream.set(3, 1);
    assert_failure(failure_of([&] { stream.set(3, 2); }), VOLTA_INVALID_ARGUMENT,
                   "the data cursor 2 is beyond the 1 samples of epoch 3");
    assert_failure(failure_of([&] { stream.set(std::uint64_t{1} << 32, 0); }), VOLTA_INVALID_ARGUMENT,
                   "epoch 4294967296 is beyond 2^32");
}

void test_schedule(void**) {
    const Schedule cosine{VOLTA_SCHEDULE_COSINE, 1e-3, 1e-4, 100, 1000};
    assert_true(learning_rate_at(cosine, 0) == 1e-3 / 100);
    assert_true(learning_rate_at(cosine, 99) == 1e-3);
    assert_true(learning_rate_at(cosine, 100) == 1e-3);
    const double middle = learning_rate_at(cosine, 550);
    assert_true(middle > 5.49999e-4 && middle < 5.50001e-4);
    assert_true(learning_rate_at(cosine, 1000) == 1e-4 && learning_rate_at(cosine, 5000) == 1e-4);
    const Schedule constant{VOLTA_SCHEDULE_CONSTANT, 0.5, 0, 0, 0};
    assert_true(learning_rate_at(constant, 0) == 0.5 && learning_rate_at(constant, 1u << 31) == 0.5);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(test_an_epoch_holds_every_sample_once),
                                cmocka_unit_test(test_cursor_goes_back),
                                cmocka_unit_test(test_short_texts),
                                cmocka_unit_test(test_targets_end_with_the_text),
                                cmocka_unit_test(test_cursors_beyond_the_epoch_are_refused),
                                cmocka_unit_test(test_schedule)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
