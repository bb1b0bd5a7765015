// Unicode 16 as tokenizers need it: categories, small letters, normal forms. The same in every build,
// whatever the system's locale and version.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <string>
#include <string_view>

#include "engine/model/unicode_tables.h"

namespace volta {

// In the order of the table; a set of them is a mask.
enum class Category : std::uint8_t {
    // clang-format off
    Lu, Ll, Lt, Lm, Lo, Mn, Mc, Me, Nd, Nl, No, Pc, Pd, Ps, Pe, Pi, Pf, Po, Sm, Sc, Sk, So, Zs, Zl, Zp, Cc, Cf, Cs, Co, Cn
    // clang-format on
};
inline constexpr int kCategoryCount = 30;
using Categories = std::uint32_t;
constexpr Categories set_of(Category first, Category last) {
    return (~Categories{0} << static_cast<int>(first)) & (~Categories{0} >> (31 - static_cast<int>(last)));
}
inline constexpr Categories kLetters = set_of(Category::Lu, Category::Lo);
inline constexpr Categories kMarks = set_of(Category::Mn, Category::Me);
inline constexpr Categories kAccents = set_of(Category::Mn, Category::Mn);
inline constexpr Categories kNumbers = set_of(Category::Nd, Category::No);
inline constexpr Categories kPunctuation = set_of(Category::Pc, Category::Po);
// Not what is unassigned.
inline constexpr Categories kControls =
    set_of(Category::Cc, Category::Cf) | set_of(Category::Co, Category::Co);

Category category_of(std::uint32_t code_point);
inline bool contains(Categories set, std::uint32_t code_point) {
    return (set >> static_cast<int>(category_of(code_point)) & 1u) != 0;
}
bool is_white_space(std::uint32_t code_point);     // White_Space
bool is_sign(std::uint32_t code_point);            // punctuation, and every sign of ASCII
bool is_word_character(std::uint32_t code_point);  // of \w: alphabetic, marks, digits, connectors

// The small letter of a capital one, of others themselves; U+0130 becomes two: an "i" and the dot above it.
inline constexpr std::uint32_t kCapitalDottedI = 0x130, kDotAbove = 0x307;
std::uint32_t small_letter(std::uint32_t code_point);
void append_small(std::string_view text, std::pmr::string* out);

enum class NormalForm : std::uint8_t { nfc, nfd, nfkc, nfkd };
// Appends `text`, which is UTF-8, in a normal form.
void append_normal(std::string_view text, NormalForm form, std::pmr::string* out);

// What is left of a code point that is decomposed canonically, made small, and loses its accents, again until
// nothing changes: none, or at most kMostFolded.
inline constexpr int kMostFolded = 4;
int fold(std::uint32_t code_point, std::uint32_t* out);

void append_character(std::uint32_t code_point, std::pmr::string* out);

}  // namespace volta
