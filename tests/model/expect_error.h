// Runs something that must fail and hands back how, as plain values that survive CMocka's longjmp.
#pragma once

#include <cstdio>
#include <cstring>
#include <new>

#include "engine/base/error.h"

namespace volta::test {

struct Failure {
    volta_status status = VOLTA_OK;
    char text[512] = "";
    bool mentions(const char* part) const { return std::strstr(text, part) != nullptr; }
};

template <class Body>
Failure failure_of(Body body) {
    Failure failure;
    try {
        body();
    } catch (const Error& error) {
        failure.status = error.status();
        std::snprintf(failure.text, sizeof failure.text, "%s", error.what());
    } catch (const std::bad_alloc&) {
        failure.status = VOLTA_OUT_OF_MEMORY;
    }
    return failure;
}

}  // namespace volta::test
