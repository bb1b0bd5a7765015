#include "engine/base/error.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "engine/base/format.h"

namespace volta {
namespace {

// Bytes of the UTF-8 character at `text`, before a closing zero; 0: none is there. As read_character of
// engine/model/text.h, which is above this folder.
std::size_t character_bytes(const char* text) {
    const auto* const byte = reinterpret_cast<const unsigned char*>(text);
    const unsigned lead = byte[0];
    if (lead < 0x80) return 1;
    const std::size_t bytes = lead < 0xc2 || lead > 0xf4 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    for (std::size_t i = 1; i < bytes; ++i)
        if ((byte[i] & 0xc0) != 0x80) return 0;
    const unsigned least = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    const unsigned most = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    return bytes > 0 && byte[1] >= least && byte[1] <= most ? bytes : 0;
}

// Names from files and hosts end up in messages: neither a control character nor a byte that is no text may
// break the one line.
void copy_line(const char* text, std::size_t bytes, char* line) {
    for (std::size_t i = 0; i < bytes;) {
        const std::size_t length = character_bytes(text + i);
        const auto lead = static_cast<unsigned char>(text[i]);
        const bool shown = length > 1 || (length == 1 && lead >= 0x20 && lead != 0x7f);
        std::memcpy(line + i, shown ? text + i : "?", shown ? length : 1);
        i += shown ? length : 1;
    }
}

// Start of the UTF-8 character that `at` lies in, so that a cut leaves valid text.
std::size_t character_start(const char* text, std::size_t at) {
    std::size_t start = at;
    while (start > at - 3 && (static_cast<unsigned char>(text[start]) & 0xc0) == 0x80) --start;
    return character_bytes(text + start) > at - start ? start : at;
}

}  // namespace

Error::Error(volta_status status, const char* text) noexcept : status_(status) {
    constexpr char kCut[] = "...";
    const std::size_t length = std::strlen(text);
    const bool fits = length < sizeof text_;
    const std::size_t kept = fits ? length : character_start(text, sizeof text_ - sizeof kCut);
    copy_line(text, kept, text_);
    std::memcpy(text_ + kept, fits ? "" : kCut, fits ? 1 : sizeof kCut);
}

namespace {

// printf tells the sign of a NaN, which means nothing. Only a whole word is one: names stay as they are.
void drop_signs_of_nans(char* text) {
    for (char* at = text; (at = std::strstr(at, "-nan")) != nullptr; ++at) {
        const bool begins = at == text || std::strchr(" ([", at[-1]) != nullptr;
        if (begins && (at[4] == '\0' || std::strchr(" ,;:)]", at[4]) != nullptr))
            std::memmove(at, at + 1, std::strlen(at));
    }
}

[[noreturn]] void fail_with(volta_status status, const char* format, va_list arguments) {
    char text[1024];  // longer than Error keeps, so that Error sees that it has to cut
    vformat(text, sizeof text, format, arguments);
    drop_signs_of_nans(text);
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
