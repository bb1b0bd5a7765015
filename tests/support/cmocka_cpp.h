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
#include <string.h>

extern "C" {
#include <cmocka.h>
}
#include "tests/support/sampled.h"
#undef fail  // a macro without arguments, which would hide volta::fail; fail_msg goes with it
#undef fail_msg

namespace volta::test {

// Quick tiers take a sample of a long table (tests/CMakeLists.txt): rows 0, n, 2n, ... where
// VOLTA_TEST_EVERY=n, and those that VOLTA_TEST_ALSO=name,... names. Whether the next row, of those that have
// been asked about, is in it.
class Sample final {
  public:
    Sample() {
        if (const char* const also = getenv("VOLTA_TEST_ALSO")) also_ = also;
    }
    bool takes_next(const char* name = "") {
        const bool is_named = *name != '\0' && names(name);
        found_ += is_named;
        return next_++ % stride_ == 0 || is_named;
    }
    // How many of these names no row has had.
    int missing() const {
        int wanted = *also_ != '\0';
        for (const char* at = also_; *at != '\0'; ++at) wanted += *at == ',';
        return wanted - found_;
    }

  private:
    bool names(const char* name) const {
        const size_t length = strlen(name);
        for (const char* at = also_; *at != '\0'; at += strcspn(at, ","), at += *at == ',')
            if (strcspn(at, ",") == length && strncmp(at, name, length) == 0) return true;
        return false;
    }
    int stride_ = sample_stride(), next_ = 0, found_ = 0;
    const char* also_ = "";
};

// One CMocka test per row of a table: the row is handed over as the test's state.
template <class Rows, class Name>
int run_rows(const char* group, const Rows& rows, CMUnitTestFunction test, Name name_of) {
    constexpr int kMost = 256;
    static CMUnitTest tests[kMost];
    int count = 0;
    Sample sample;
    for (const auto& row : rows) {
        if (!sample.takes_next(name_of(row))) continue;
        if (count == kMost) return -1;
        tests[count++] = CMUnitTest{name_of(row), test, nullptr, nullptr,
                                    const_cast<void*>(static_cast<const void*>(&row))};
    }
    if (sample.missing() != 0) {
        print_error("%s: not all rows of VOLTA_TEST_ALSO=%s exist\n", group, getenv("VOLTA_TEST_ALSO"));
        return -1;
    }
    return _cmocka_run_group_tests(group, tests, static_cast<size_t>(count), nullptr, nullptr);
}

}  // namespace volta::test
