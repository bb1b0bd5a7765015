// printf's text as the library writes it: numbers have a point, whatever the locale of the host says.
#pragma once

#include <cstdarg>
#include <cstddef>

namespace volta {

// As vsnprintf and snprintf.
int vformat(char* out, std::size_t size, const char* format, va_list arguments)
    __attribute__((format(printf, 3, 0)));
int format_text(char* out, std::size_t size, const char* format, ...) __attribute__((format(printf, 3, 4)));

}  // namespace volta
