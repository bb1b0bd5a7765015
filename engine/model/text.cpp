#include "engine/model/text.h"

#include <algorithm>

namespace volta {
namespace {

struct LeadByte {
    unsigned low, high;  // lead bytes of this row
    std::size_t bytes;   // of the whole character
    unsigned second_low,
        second_high;  // what the second byte may be: this excludes overlong forms and surrogates
};

constexpr LeadByte kLeadBytes[] = {
    {0xc2, 0xdf, 2, 0x80, 0xbf}, {0xe0, 0xe0, 3, 0xa0, 0xbf}, {0xe1, 0xec, 3, 0x80, 0xbf},
    {0xed, 0xed, 3, 0x80, 0x9f}, {0xee, 0xef, 3, 0x80, 0xbf}, {0xf0, 0xf0, 4, 0x90, 0xbf},
    {0xf1, 0xf3, 4, 0x80, 0xbf}, {0xf4, 0xf4, 4, 0x80, 0x8f},
};

unsigned byte_at(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

const LeadByte* find_lead(unsigned byte) {
    for (const LeadByte& row : kLeadBytes)
        if (byte >= row.low && byte <= row.high) return &row;
    return nullptr;
}

bool may_follow(unsigned byte, std::size_t index, const LeadByte& row) {
    return byte >= (index == 1 ? row.second_low : 0x80) && byte <= (index == 1 ? row.second_high : 0xbf);
}

Character read_long_character(std::string_view text, std::size_t at, const LeadByte& row) {
    if (text.size() - at < row.bytes) return {};
    std::uint32_t code_point = byte_at(text, at) & (0xffu >> (row.bytes + 1));
    for (std::size_t i = 1; i < row.bytes; ++i) {
        const unsigned byte = byte_at(text, at + i);
        if (!may_follow(byte, i, row)) return {};
        code_point = code_point << 6 | (byte & 0x3f);
    }
    return {code_point, row.bytes};
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

}  // namespace

Character read_character(std::string_view text, std::size_t at) {
    const unsigned lead = byte_at(text, at);
    if (lead < 0x80) return {lead, 1};
    const LeadByte* row = find_lead(lead);
    return row != nullptr ? read_long_character(text, at, *row) : Character{};
}

std::size_t write_character(std::uint32_t code_point, char* out) {
    const std::size_t bytes = code_point < 0x80 ? 1 : code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
    if (bytes == 1) {
        out[0] = static_cast<char>(code_point);
        return 1;
    }
    for (std::size_t i = bytes - 1; i > 0; --i, code_point >>= 6)
        out[i] = static_cast<char>(0x80 | (code_point & 0x3f));
    out[0] = static_cast<char>((0xf00u >> bytes & 0xffu) | code_point);
    return bytes;
}

std::size_t find_invalid_utf8(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
        const Character character = read_character(text, at);
        if (character.bytes == 0) break;
        at += character.bytes;
    }
    return at;
}

std::size_t unfinished_bytes(std::string_view text) {
    for (std::size_t tail = 1; tail <= 3 && tail <= text.size(); ++tail) {
        const std::size_t at = text.size() - tail;
        if ((byte_at(text, at) & 0xc0) == 0x80) continue;
        const LeadByte* row = find_lead(byte_at(text, at));
        if (row == nullptr || row->bytes <= tail) return 0;
        for (std::size_t i = 1; i < tail; ++i)
            if (!may_follow(byte_at(text, at + i), i, *row)) return 0;
        return tail;
    }
    return 0;
}

const char* name_problem(std::string_view name) {
    if (name.empty()) return "is empty";
    if (name.size() > kMaxNameBytes) return "is longer than 255 bytes";
    if (std::any_of(name.begin(), name.end(), is_control)) return "contains a control character";
    if (find_invalid_utf8(name) != name.size()) return "is not UTF-8";
    return nullptr;
}

ShownName shown(std::string_view name) {
    constexpr std::size_t kShown = 80;
    std::size_t bytes = std::min(name.size(), kShown);
    while (bytes > 0 && bytes < name.size() && (byte_at(name, bytes) & 0xc0) == 0x80) --bytes;
    return {static_cast<int>(bytes), name.data()};
}

}  // namespace volta
