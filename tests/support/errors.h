// What a call throws, as text, so that a test can compare it after everything with a destructor is gone.
#pragma once

#include <cstring>

#include "engine/base/error.h"
#include "tests/support/cmocka_cpp.h"

namespace volta::test {

struct Failure {
    volta_status status = VOLTA_OK;
    char text[512] = "";
};

template <class Body>
Failure failure_of(Body body) {
    Failure failure;
    try {
        body();
    } catch (const Error& e) {
        failure.status = e.status();
        snprintf(failure.text, sizeof failure.text, "%s", e.what());
    }
    return failure;
}

// Status, and a part that the text must contain.
inline void assert_failure(const Failure& failure, volta_status status, const char* part) {
    const bool right = failure.status == status && strstr(failure.text, part) != nullptr;
    if (!right)
        print_error("expected status %d and '%s', got %d: '%s'\n", status, part, failure.status,
                    failure.text);
    assert_true(right);
}

}  // namespace volta::test
