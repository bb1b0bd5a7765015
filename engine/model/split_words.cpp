#include "engine/model/split_words.h"

#include <cstdint>

#include "engine/model/text.h"
#include "engine/model/unicode.h"

namespace volta {
namespace {

enum class Kind { none, space, letter, number, sign };  // none: the text ends, or is not UTF-8

struct Sign {
    Kind kind;
    std::size_t bytes;
};

Kind kind_of(std::uint32_t c) {
    if (c < 0x80) {
        if ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') return Kind::letter;
        if (c == ' ' || (c >= '\t' && c <= '\r')) return Kind::space;
        return c >= '0' && c <= '9' ? Kind::number : Kind::sign;
    }
    const Category category = category_of(c);
    if (category <= Category::Lo) return Kind::letter;
    if (is_white_space(c)) return Kind::space;
    return category >= Category::Nd && category <= Category::No ? Kind::number : Kind::sign;
}

Sign sign_at(std::string_view text, std::size_t at) {
    const Character character = at < text.size() ? read_character(text, at) : Character{};
    if (character.bytes == 0) return {Kind::none, 0};
    return {kind_of(character.code_point), character.bytes};
}

// How far the text goes on with this kind; *last is where the last one of it begins.
std::size_t end_of_run(std::string_view text, std::size_t at, Kind kind, std::size_t* last) {
    for (Sign sign = sign_at(text, at); sign.kind == kind; sign = sign_at(text, at)) {
        *last = at;
        at += sign.bytes;
    }
    return at;
}

constexpr std::string_view kContractions[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};

// Where GPT-2's expression ends that begins at `at`, which is UTF-8:
//     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// Contractions, letters, numbers and the rest, each with the space before it, then white space, of which the
// last one goes to the word that follows.
std::size_t end_of_gpt2_word(std::string_view text, std::size_t at) {
    if (text[at] == '\'')
        for (const std::string_view contraction : kContractions)
            if (text.substr(at, contraction.size()) == contraction) return at + contraction.size();
    std::size_t last = at;
    const std::size_t word = text[at] == ' ' ? at + 1 : at;
    const Kind kind = sign_at(text, word).kind;
    if (kind != Kind::none && kind != Kind::space) return end_of_run(text, word, kind, &last);
    const std::size_t end = end_of_run(text, at, Kind::space, &last);
    return sign_at(text, end).kind == Kind::none || last == at ? end : last;
}

std::size_t end_of_invalid(std::string_view text, std::size_t at) {
    while (at < text.size() && read_character(text, at).bytes == 0) ++at;
    return at;
}

}  // namespace

std::string_view WordWalk::next() noexcept {
    const std::size_t begin = at_;
    if (begin >= text_.size()) return {};
    if (split_ == WordSplit::none)
        at_ = text_.size();
    else if (sign_at(text_, begin).kind == Kind::none)
        at_ = end_of_invalid(text_, begin);
    else
        at_ = end_of_gpt2_word(text_, begin);
    return text_.substr(begin, at_ - begin);
}

}  // namespace volta
