// How a product is computed, as one line of words: "blocked tile=f32_gemm_8x48_avx512 b=on_first_use kc=512
// ...".
#pragma once

#include <cstdarg>
#include <cstddef>
#include <cstdio>

#include "engine/base/format.h"

namespace volta::cpu {

struct ScheduleText {
    char text[1024] = "";
    std::size_t length = 0;

    // Appends; what does not fit is cut, and everything fits.
    [[gnu::format(printf, 2, 3)]] void add(const char* format, ...) noexcept {
        std::va_list values;
        va_start(values, format);
        const int wanted = vformat(text + length, sizeof text - length, format, values);
        va_end(values);
        if (wanted > 0) length += static_cast<std::size_t>(wanted);
        if (length >= sizeof text) length = sizeof text - 1;
    }
};

}  // namespace volta::cpu
