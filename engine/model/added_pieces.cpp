#include "engine/model/added_pieces.h"

#include <algorithm>

#include "engine/model/text.h"
#include "engine/model/unicode.h"

namespace volta {
namespace {

// Where the last character before `at` begins; none: at.
std::size_t character_before(std::string_view text, std::size_t at) {
    for (std::size_t bytes = 1; bytes <= 4 && bytes <= at; ++bytes)
        if (read_character(text, at - bytes).bytes == bytes) return at - bytes;
    return at;
}

bool is_word(std::uint32_t c) {
    constexpr std::uint32_t kNonJoiner = 0x200c, kJoiner = 0x200d;
    constexpr Categories kNo = set_of(Category::No, Category::No);
    return c == kNonJoiner || c == kJoiner || (is_word_character(c) && !contains(kNo, c));
}

bool word_before(std::string_view text, std::size_t at) {
    const std::size_t before = character_before(text, at);
    return before < at && is_word(read_character(text, before).code_point);
}
bool word_at(std::string_view text, std::size_t at) {
    if (at >= text.size()) return false;
    const Character character = read_character(text, at);
    return character.bytes > 0 && is_word(character.code_point);
}

std::size_t spaces_before(std::string_view text, std::size_t at) {
    for (;;) {
        const std::size_t before = character_before(text, at);
        if (before == at || !is_white_space(read_character(text, before).code_point)) return at;
        at = before;
    }
}
std::size_t spaces_behind(std::string_view text, std::size_t at) {
    while (at < text.size()) {
        const Character character = read_character(text, at);
        if (character.bytes == 0 || !is_white_space(character.code_point)) break;
        at += character.bytes;
    }
    return at;
}

}  // namespace

void AddedPieces::add(std::pmr::string&& text, std::int32_t id) {
    if (!text.empty()) texts_.emplace_back(std::move(text), id);
}

void AddedPieces::finish() {
    for (const auto& [text, id] : texts_) {
        index_.add(text, id);
        starts_.set(static_cast<unsigned char>(text[0]));
    }
    index_.sort();
}

bool AddedPieces::is_wanted(std::string_view text, bool special, const Found& found) const {
    if (!special && vocabulary_.type(found.id) == PieceType::control) return false;
    return !vocabulary_.has(found.id, kSingleWord) ||
           (!word_before(text, found.begin) && !word_at(text, found.end));
}

// The next piece at or behind *at, which then is behind the piece itself, without the space it takes. One
// that is not wanted still hides others that begin inside it.
bool AddedPieces::find(std::string_view text, bool special, std::size_t done, std::size_t* at,
                       Found* found) const {
    while (*at < text.size()) {
        if (!starts_[static_cast<unsigned char>(text[*at])]) {
            ++*at;
            continue;
        }
        const PieceIndex::Match match = index_.longest_prefix(text.substr(*at));
        *found = {match.id, *at, *at + match.bytes};
        *at += std::max<std::size_t>(1, match.bytes);
        if (match.id < 0 || !is_wanted(text, special, *found)) continue;
        if (vocabulary_.has(match.id, kTakesLeft))
            found->begin = std::max(done, spaces_before(text, found->begin));
        if (vocabulary_.has(match.id, kTakesRight)) found->end = spaces_behind(text, found->end);
        return true;
    }
    return false;
}

}  // namespace volta
