// How the time of a group's steps is told: of parts that are given, since those of a run are what they are.
#include "cli/step_times.h"

#include "tests/support/cmocka_cpp.h"

namespace {

using voltac::StepTimes;

volta_step_report report(double wait, double exchange) {
    volta_step_report made = VOLTA_STEP_REPORT_INIT;
    made.wait_seconds = wait;
    made.exchange_seconds = exchange;
    return made;
}

struct Case {
    double seconds, wait, exchange;
    const char* text;
};
constexpr Case kCases[] = {
    {10, 0.4, 1.5, "81 % compute, 4 % wait, 15 % exchange (rank 3)"},
    {1, 0, 0, "100 % compute, 0 % wait, 0 % exchange (rank 3)"},
    {1, 0.5, 0.5, "0 % compute, 50 % wait, 50 % exchange (rank 3)"},
    {1, 0.005, 0.995, "0 % compute, 0 % wait, 100 % exchange (rank 3)"},
    {1, 0.004, 0.994, "0 % compute, 1 % wait, 99 % exchange (rank 3)"},
    {3, 1, 1, "33 % compute, 34 % wait, 33 % exchange (rank 3)"},
    {1, 0.75, 0.75, "0 % compute, 50 % wait, 50 % exchange (rank 3)"},  // the step's clock began later
};

void test_parts_add_up(void**) {
    for (const Case& test : kCases) {
        StepTimes times;
        times.add(report(test.wait, test.exchange), test.seconds);
        const std::string text = times.text(3);
        assert_string_equal(text.c_str(), test.text);
    }
}

void test_steps_are_summed(void**) {
    StepTimes times;
    assert_true(times.is_empty());
    times.add(report(0.25, 0.5), 2);
    times.add(report(0.5, 0.25), 2);
    assert_false(times.is_empty());
    assert_float_equal(static_cast<float>(times.compute()), 2.5F, 0);
    assert_float_equal(static_cast<float>(times.wait()), 0.75F, 0);
    assert_float_equal(static_cast<float>(times.exchange()), 0.75F, 0);
    const std::string text = times.text(0);
    assert_string_equal(text.c_str(), "62 % compute, 19 % wait, 19 % exchange (rank 0)");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(test_parts_add_up), cmocka_unit_test(test_steps_are_summed)};
    return cmocka_run_group_tests_name("step times", tests, nullptr, nullptr);
}
