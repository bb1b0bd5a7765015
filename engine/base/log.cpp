#include "engine/base/log.h"

#include <cstdarg>
#include <cstdio>

#include "engine/base/fp_environment.h"

namespace volta {

void Log::operator()(int32_t level, const char* format, ...) const noexcept {
    if (write == nullptr) return;
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    const HostCallback host_environment;
    write(user, level, line);
}

}  // namespace volta
