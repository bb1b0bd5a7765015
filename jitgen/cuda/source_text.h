// Program text as it grows: lines, indented by the braces around them.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <memory_resource>
#include <string>

#include "engine/base/error.h"
#include "engine/base/format.h"

namespace volta::jit {

// A short piece of a line: a value, an operand's name, an expression.
struct SourceTerm {
    char text[192];
};
__attribute__((format(printf, 1, 2))) inline SourceTerm term(const char* format, ...) {
    SourceTerm result;
    va_list arguments;
    va_start(arguments, format);
    const int length = vformat(result.text, sizeof result.text, format, arguments);
    va_end(arguments);
    if (length >= static_cast<int>(sizeof result.text))
        fail(VOLTA_INTERNAL, "a piece of kernel text has %d characters: is a name too long?", length);
    return result;
}

class SourceText {
  public:
    explicit SourceText(std::pmr::memory_resource* heap) : text_(heap) {}

    __attribute__((format(printf, 2, 3))) void line(const char* format, ...) {
        va_list arguments;
        va_start(arguments, format);
        append(format, arguments);
        va_end(arguments);
    }
    // A line that ends in "{"; what follows is indented until close().
    __attribute__((format(printf, 2, 3))) void open(const char* format, ...) {
        va_list arguments;
        va_start(arguments, format);
        append(format, arguments);
        va_end(arguments);
        ++depth_;
    }
    void close(const char* after = "") {
        --depth_;
        line("}%s", after);
    }
    void verbatim(const char* lines) { text_ += lines; }
    std::pmr::string take() { return std::move(text_); }

  private:
    void append(const char* format, va_list arguments) {
        char line[512];
        const int length = vformat(line, sizeof line, format, arguments);
        if (length >= static_cast<int>(sizeof line))
            fail(VOLTA_INTERNAL, "a line of kernel text has %d characters: is a name too long?", length);
        if (line[0] != '\0') text_.append(static_cast<std::size_t>(4 * depth_), ' ') += line;
        text_ += '\n';
    }

    std::pmr::string text_;
    int depth_ = 0;
};

}  // namespace volta::jit
