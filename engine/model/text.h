// Text that comes from files and hosts: strict UTF-8, and what a name may be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace volta {

// A code point and the bytes that hold it; bytes 0: none starts here.
struct Character {
    std::uint32_t code_point = 0;
    std::size_t bytes = 0;
};

// The character at byte `at` < text.size(). Strict (Unicode 15, table 3-7): no overlong form, no surrogate,
// nothing above U+10FFFF, nothing cut off.
Character read_character(std::string_view text, std::size_t at);

// Writes a code point as UTF-8; returns its bytes. The inverse of read_character. Shape: out has room for 4.
std::size_t write_character(std::uint32_t code_point, char* out);

// The offset of the first byte that is not UTF-8; text.size() when all of it is.
std::size_t find_invalid_utf8(std::string_view text);

// How many bytes at the end of the text begin a character that its next bytes may complete: 0 to 3. What no
// byte can complete any more is not counted.
std::size_t unfinished_bytes(std::string_view text);

inline constexpr std::size_t kMaxNameBytes = 255;

// Why `name` cannot name a tensor, an output or a metadata key, as the end of a sentence ("is empty", "is not
// UTF-8", ...); NULL when it can. The same rule at save and at load: what was saved loads.
const char* name_problem(std::string_view name);

// The part of a name that a message shows, for "%.*s".
struct ShownName {
    int bytes;
    const char* text;
};
ShownName shown(std::string_view name);

}  // namespace volta
