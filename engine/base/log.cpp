#include "engine/base/log.h"

#include <cstdarg>
#include <cstdio>

#include "engine/base/format.h"
#include "engine/base/host_call.h"

namespace volta {

void Log::operator()(int32_t level, const char* format, ...) const noexcept {
    if (write == nullptr) return;
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vformat(line, sizeof line, format, arguments);
    va_end(arguments);
    call_host([&] { write(user, level, line); });
}

}  // namespace volta
