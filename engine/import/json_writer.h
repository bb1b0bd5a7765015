// JSON by appending to a text.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace volta {

// Names and texts are UTF-8 (engine/model/text.h): only what JSON itself forbids is escaped.
inline void add_json_text(std::pmr::string& json, std::string_view text) {
    constexpr const char* kHex = "0123456789abcdef";
    json += '"';
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20) {
            json += "\\u00";
            json += kHex[byte >> 4];
            json += kHex[byte & 15];
            continue;
        }
        if (c == '"' || c == '\\') json += '\\';
        json += c;
    }
    json += '"';
}

// Digits that read back as the same number, whatever the host's locale.
template <class Number>
void add_json_number(std::pmr::string& json, Number number) {
    char digits[32];
    json.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

}  // namespace volta
