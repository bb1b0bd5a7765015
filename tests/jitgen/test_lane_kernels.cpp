// Kernels of depthwise convolutions by themselves, with as many taps as they hold: the chains of their
// definition, in the registers of their instruction set.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/base/cpu_info.h"
#include "engine/base/error.h"
#include "engine/numerics/fma32.h"
#include "jitgen/lane_chains.h"
#include "jitgen/lane_windows.h"
#include "tests/support/tensors.h"

namespace {
using namespace volta;
using namespace volta::jit;

constexpr std::int64_t kLanes = kWindowLanes, kBytes = sizeof(float);
constexpr std::int64_t kRows = 2, kColumns = 7, kRowPixels = 64, kPixels = 16 * kRowPixels;

int vectors_of(Isa isa) { return isa == Isa::avx512 ? 32 : 16; }
int lanes_of(Isa isa) { return isa == Isa::avx512 ? 16 : 8; }

template <class Check>
void on_each_isa(Check check) {
    CodeArena arena(std::pmr::new_delete_resource(), false);
    if (!arena.available()) skip();
    for (const Isa isa : {Isa::avx2, Isa::avx512})
        if (host_cpu().has(isa)) check(isa, arena);
}

// Rows of five taps, and one row of all that there is room for.
template <class Form, class Check>
void on_each_form(Isa isa, int most, int most_rows, Check check) {
    for (const int columns : {5, most}) {
        Form form;
        form.isa = isa;
        form.tap_rows = static_cast<std::uint8_t>(std::min(most_rows, most / columns));
        form.tap_columns = static_cast<std::uint8_t>(columns);
        check(form);
    }
}

// What a maximum meets: of the first lanes a NaN among the taps, in the first of them, infinities, zeros of
// either sign.
void spread_special_values(std::vector<float>& x) {
    const float nan = std::numeric_limits<float>::quiet_NaN(),
                infinity = std::numeric_limits<float>::infinity();
    for (std::size_t i = 0; i < x.size(); i += 3 * kLanes) x[i] = nan;
    for (std::size_t i = 1; i < x.size(); i += kLanes) x[i] = i % 2 ? -0.0f : 0.0f;
    for (std::size_t i = 2; i < x.size(); i += 2 * kLanes) x[i] = -infinity;
    for (std::size_t i = 3; i < x.size(); i += 5 * kLanes) x[i] = infinity;
}

void test_windows_are_their_maxima_and_sums(void**) {
    on_each_isa([](Isa isa, CodeArena& arena) {
        on_each_form<LaneWindowsForm>(
            isa, most_window_taps(isa), kMostWindowTapRows, [&](LaneWindowsForm form) {
                for (const WindowOp op : {WindowOp::maximum, WindowOp::sum})
                    for (const bool continues : {false, true}) {
                        form.op = op;
                        form.continues = continues;
                        const auto run = emit_lane_windows(form, arena, std::pmr::new_delete_resource());
                        auto x = test::random_floats(kPixels * kLanes, 4);
                        spread_special_values(x);
                        const std::vector<float> first(
                            static_cast<std::size_t>(kLanes),
                            op == WindowOp::sum ? 0.0f : -std::numeric_limits<float>::infinity());
                        auto expected = test::random_floats(kRows * kColumns * kLanes, 5), actual = expected;
                        for (std::int64_t pixel = 0; pixel < kRows * kColumns; ++pixel)
                            for (std::int64_t i = 0; i < lanes_of(isa); ++i) {
                                float& y = expected[static_cast<std::size_t>(pixel * kLanes + i)];
                                if (!continues) y = first[0];
                                for (std::int64_t t = 0; t < form.tap_rows * form.tap_columns; ++t) {
                                    const std::int64_t at =
                                        (pixel / kColumns + t / form.tap_columns) * kRowPixels +
                                        pixel % kColumns + t % form.tap_columns;
                                    const float v = x[static_cast<std::size_t>(at * kLanes + i)];
                                    y = op == WindowOp::sum ? y + v : std::isnan(v) || v > y ? v : y;
                                }
                                if (op == WindowOp::maximum) y += 0.0f;
                            }
                        LaneWindowsArgs args = {};
                        args.x = x.data(), args.w = first.data(), args.y = actual.data();
                        args.rows = kRows, args.columns = kColumns;
                        args.tap_row = kRowPixels * kLanes * kBytes;
                        args.y_step = kLanes * kBytes;
                        args.x_skip = (kRowPixels - kColumns) * kLanes * kBytes;
                        run(&args);
                        test::assert_same_bits(isa_name(isa), expected.data(), actual.data(),
                                               static_cast<std::int64_t>(expected.size()));
                    }
            });
    });
}

void test_windows_are_their_chains(void**) {
    on_each_isa([](Isa isa, CodeArena& arena) {
        assert_in_range(most_window_taps(isa), 9, vectors_of(isa) - 4);  // pixels are computed by fours
        on_each_form<LaneWindowsForm>(
            isa, most_window_taps(isa), kMostWindowTapRows, [&](LaneWindowsForm form) {
                for (const bool continues : {false, true}) {
                    form.continues = continues;
                    form.step = 2;
                    const auto run = emit_lane_windows(form, arena, std::pmr::new_delete_resource());
                    const std::int64_t y_step = 3, taps = form.tap_rows * form.tap_columns;
                    const auto x = test::random_floats(kPixels * kLanes, 1),
                               w = test::random_floats(taps * kLanes, 2);
                    auto expected = test::random_floats(kRows * kColumns * y_step * kLanes, 3),
                         actual = expected;
                    for (std::int64_t row = 0; row < kRows; ++row)
                        for (std::int64_t column = 0; column < kColumns; ++column)
                            for (std::int64_t i = 0; i < lanes_of(isa); ++i) {
                                float& y = expected[static_cast<std::size_t>(
                                    (row * kColumns + column) * y_step * kLanes + i)];
                                if (!continues) y = 0;
                                for (std::int64_t t = 0; t < taps; ++t) {
                                    const std::int64_t at = (row + t / form.tap_columns) * kRowPixels +
                                                            column * form.step + t % form.tap_columns;
                                    y = fma32(w[static_cast<std::size_t>(t * kLanes + i)],
                                              x[static_cast<std::size_t>(at * kLanes + i)], y);
                                }
                            }
                    LaneWindowsArgs args = {};
                    args.x = x.data(), args.w = w.data(), args.y = actual.data();
                    args.rows = kRows, args.columns = kColumns;
                    args.tap_row = kRowPixels * kLanes * kBytes;
                    args.y_step = y_step * kLanes * kBytes;
                    args.x_skip = (kRowPixels - kColumns * form.step) * kLanes * kBytes;
                    run(&args);
                    test::assert_same_bits(isa_name(isa), expected.data(), actual.data(),
                                           static_cast<std::int64_t>(expected.size()));
                }
            });
    });
}

void test_chains_are_their_chains(void**) {
    on_each_isa([](Isa isa, CodeArena& arena) {
        assert_in_range(most_chain_taps(isa), 9, vectors_of(isa) - 1);
        on_each_form<LaneChainsForm>(isa, most_chain_taps(isa), kMostChainTapRows, [&](LaneChainsForm form) {
            const auto run = emit_lane_chains(form, arena, std::pmr::new_delete_resource());
            const std::int64_t taps = form.tap_rows * form.tap_columns;
            const auto a = test::random_floats(kRows * kColumns * kLanes, 1),
                       b = test::random_floats(kPixels * kLanes, 2);
            auto expected = test::random_floats(taps * kLanes, 3), actual = expected;
            for (std::int64_t step = 0; step < kRows * kColumns; ++step)
                for (std::int64_t t = 0; t < taps; ++t)
                    for (std::int64_t i = 0; i < lanes_of(isa); ++i) {
                        const std::int64_t at = (step / kColumns + t / form.tap_columns) * kRowPixels +
                                                step % kColumns + t % form.tap_columns;
                        float& chain = expected[static_cast<std::size_t>(t * kLanes + i)];
                        chain = fma32(a[static_cast<std::size_t>(step * kLanes + i)],
                                      b[static_cast<std::size_t>(at * kLanes + i)], chain);
                    }
            LaneChainsArgs args = {};
            args.a = a.data(), args.b = b.data(), args.chains = actual.data();
            args.rows = kRows, args.columns = kColumns;
            args.b_step = kLanes * kBytes;
            args.b_row = args.tap_row = kRowPixels * kLanes * kBytes;
            run(&args);
            test::assert_same_bits(isa_name(isa), expected.data(), actual.data(),
                                   static_cast<std::int64_t>(expected.size()));
        });
    });
}

void test_too_many_taps_are_refused(void**) {
    on_each_isa([](Isa isa, CodeArena& arena) {
        const auto refuses = [](auto emit) {
            try {
                emit();
            } catch (const Error& error) {
                return error.status() == VOLTA_INTERNAL;
            }
            return false;
        };
        LaneWindowsForm window;
        LaneChainsForm chains;
        window.isa = chains.isa = isa;
        window.tap_columns = static_cast<std::uint8_t>(most_window_taps(isa) + 1);
        chains.tap_columns = static_cast<std::uint8_t>(most_chain_taps(isa) + 1);
        assert_true(refuses([&] { emit_lane_windows(window, arena, std::pmr::new_delete_resource()); }));
        assert_true(refuses([&] { emit_lane_chains(chains, arena, std::pmr::new_delete_resource()); }));
    });
}

}  // namespace

int main() {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_windows_are_their_chains),
                                       cmocka_unit_test(test_windows_are_their_maxima_and_sums),
                                       cmocka_unit_test(test_chains_are_their_chains),
                                       cmocka_unit_test(test_too_many_taps_are_refused)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
