// CMocka from C++: its four headers first, in C linkage. A failed assert leaves by longjmp, so no object with
// a destructor may be alive across an assert that can fail: compute first, assert on plain values afterwards,
// or accept a leak in a test that has failed anyway.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

extern "C" {
#include <cmocka.h>
}
#undef fail  // a macro without arguments, which would hide volta::fail; fail_msg goes with it
#undef fail_msg

namespace volta::test {

// Quick tiers take a sample of a long table (tests/CMakeLists.txt): rows 0, n, 2n, ... where
// VOLTA_TEST_EVERY=n. Whether the next row, of those that have been asked about, is in it.
class Sample final {
  public:
    Sample() {
        const char* const every = getenv("VOLTA_TEST_EVERY");
        if (every != nullptr && atoi(every) > 0) stride_ = atoi(every);
    }
    bool takes_next() { return next_++ % stride_ == 0; }

  private:
    int stride_ = 1, next_ = 0;
};

// One CMocka test per row of a table: the row is handed over as the test's state.
template <class Rows, class Name>
int run_rows(const char* group, const Rows& rows, CMUnitTestFunction test, Name name_of) {
    constexpr int kMost = 256;
    static CMUnitTest tests[kMost];
    int count = 0;
    Sample sample;
    for (const auto& row : rows) {
        if (!sample.takes_next()) continue;
        if (count == kMost) return -1;
        tests[count++] = CMUnitTest{name_of(row), test, nullptr, nullptr,
                                    const_cast<void*>(static_cast<const void*>(&row))};
    }
    return _cmocka_run_group_tests(group, tests, static_cast<size_t>(count), nullptr, nullptr);
}

}  // namespace volta::test
