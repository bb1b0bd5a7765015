// Lines to the host's callback. Nothing is printed when the host gave none.
#pragma once

#include "include/volta.h"

namespace volta {

struct Log {
    void (*write)(void* user, int32_t level, const char* line) = nullptr;
    void* user = nullptr;

    // One line, cut at 1023 bytes; lost where the host's function throws. Thread: any.
    void operator()(int32_t level, const char* format, ...) const noexcept
        __attribute__((format(printf, 3, 4)));
};

}  // namespace volta
