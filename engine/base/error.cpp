#include "engine/base/error.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace volta {
namespace {

// Names from files and hosts end up in messages: a control character must not break the one line.
bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

// Start of the UTF-8 character that `at` lies in, so that a cut leaves valid text.
std::size_t character_start(const char* text, std::size_t at) {
    while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) --at;
    return at;
}

}  // namespace

Error::Error(volta_status status, const char* text) noexcept : status_(status) {
    constexpr char kCut[] = "...";
    const std::size_t length = std::strlen(text);
    const bool fits = length < sizeof text_;
    const std::size_t kept = fits ? length : character_start(text, sizeof text_ - sizeof kCut);
    for (std::size_t i = 0; i < kept; ++i) text_[i] = is_control(text[i]) ? '?' : text[i];
    std::memcpy(text_ + kept, fits ? "" : kCut, fits ? 1 : sizeof kCut);
}

namespace {

[[noreturn]] void fail_with(volta_status status, const char* format, va_list arguments) {
    char text[1024];  // longer than Error keeps, so that Error sees that it has to cut
    std::vsnprintf(text, sizeof text, format, arguments);
    throw Error(status, text);
}

}  // namespace

// va_end after a throw is not reached; on every ABI this builds for it does nothing.
void fail(volta_status status, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fail_with(status, format, arguments);
}

void require(bool condition, const char* format, ...) {
    if (condition) return;
    va_list arguments;
    va_start(arguments, format);
    fail_with(VOLTA_INVALID_ARGUMENT, format, arguments);
}

}  // namespace volta
