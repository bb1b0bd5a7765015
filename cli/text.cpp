#include "cli/text.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace voltac {

std::string formatted(const char* format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    const int bytes = std::vsnprintf(nullptr, 0, format, arguments);
    va_end(arguments);
    std::string text(bytes > 0 ? static_cast<std::size_t>(bytes) : 0, '\0');
    std::vsnprintf(text.data(), text.size() + 1, format, again);
    va_end(again);
    return text;
}

std::vector<std::string> cut(const std::string& text, char at) {
    std::vector<std::string> parts;
    std::size_t begin = 0;
    for (std::size_t end; (end = text.find(at, begin)) != text.npos; begin = end + 1)
        parts.push_back(text.substr(begin, end - begin));
    parts.push_back(text.substr(begin));
    return parts;
}

namespace {

// Bytes of the UTF-8 character at `at`; 0: none is there.
std::size_t character_bytes(const std::string& text, std::size_t at) {
    const auto byte = [&](std::size_t i) {
        return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u;
    };
    const unsigned lead = byte(0);
    if (lead < 0x80) return 1;
    const std::size_t bytes = lead < 0xc2 || lead > 0xf4 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    for (std::size_t i = 1; i < bytes; ++i)
        if ((byte(i) & 0xc0) != 0x80) return 0;
    const unsigned least = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    const unsigned most = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    return bytes > 0 && byte(1) >= least && byte(1) <= most ? bytes : 0;
}

// U+0000 .. U+001F, U+007F .. U+009F.
bool is_control(const std::string& text, std::size_t at, std::size_t bytes) {
    const auto lead = static_cast<unsigned char>(text[at]);
    if (bytes == 1) return lead < 0x20 || lead == 0x7f;
    return bytes == 2 && lead == 0xc2 && static_cast<unsigned char>(text[at + 1]) < 0xa0;
}

std::string shown(const std::string& text, bool controls) {
    std::string safe;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t bytes = character_bytes(text, at);
        if (bytes == 0)
            safe += "\uFFFD";
        else if (!controls && is_control(text, at, bytes))
            safe += '?';
        else
            safe.append(text, at, bytes);
        at += std::max<std::size_t>(bytes, 1);
    }
    return safe;
}

}  // namespace

std::string as_utf8(const std::string& text) { return shown(text, true); }
std::string one_line(const std::string& text) { return shown(text, false); }

std::string json_text(const nlohmann::ordered_json& value) {
    return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

double unsigned_nan(double value) { return std::isnan(value) ? std::fabs(value) : value; }

int columns_of(int descriptor) {
    winsize size = {};
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

namespace {

int width_of(const std::string& word) {  // characters; none of ours is wide
    return static_cast<int>(
        std::count_if(word.begin(), word.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

std::string wrapped(const std::string& text, int columns, int indent, int at) {
    const std::string margin(static_cast<std::size_t>(indent), ' ');
    std::string lines;
    bool begins = true;  // a line, of which nothing but its margin is there
    for (std::size_t begin = 0; begin < text.size();) {
        if (text[begin] == '\n') {
            lines += '\n';
            ++begin;
            if (begin < text.size() && text[begin] != '\n') lines += margin;
            at = indent;
            begins = true;
            continue;
        }
        std::size_t end = std::min(text.find_first_of(" \n", begin), text.size());
        const auto room = static_cast<std::size_t>(std::max(columns - indent, 1));
        const std::size_t bar = end - begin > room ? text.rfind('|', begin + room - 1) : std::string::npos;
        const bool is_cut =
            bar != std::string::npos && bar > begin;  // a list of more than a line: "add|mul|..."
        if (is_cut) end = bar + 1;
        const std::string word = text.substr(begin, end - begin);
        const int width = width_of(word);
        if (!begins && at + 1 + width > columns) {
            lines += "\n" + margin;
            at = indent;
            begins = true;
        }
        if (!begins) lines += ' ';
        at += width + !begins;
        lines += word;
        begins = is_cut;
        if (is_cut) {
            lines += "\n" + margin;
            at = indent;
        }
        begin = end < text.size() && text[end] == ' ' ? end + 1 : end;
    }
    return lines;
}

std::string listed(const std::vector<Entry>& entries, int columns) {
    const int margin = 2, column = std::clamp(columns * 2 / 5, 16, 30);
    std::string text;
    for (const Entry& entry : entries) {
        std::string line = std::string(margin, ' ') + wrapped(entry.name, columns, 2 * margin, margin);
        const std::size_t last = line.rfind('\n') == std::string::npos ? 0 : line.rfind('\n') + 1;
        int at = static_cast<int>(line.size() - last);
        if (!entry.meaning.empty() && (at + 2 > column || last > 0)) {
            line += '\n';
            at = 0;
        }
        if (!entry.meaning.empty()) {
            line.append(static_cast<std::size_t>(column - at), ' ');
            line += wrapped(entry.meaning, columns, column, column);
        }
        text += line + "\n";
    }
    return text;
}

}  // namespace voltac
