#include "engine/model/normaliser.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "engine/base/error.h"
#include "engine/model/text.h"
#include "engine/model/unicode.h"

namespace volta {
namespace {

constexpr bool is_written_as_itself(unsigned byte) {
    return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

// The byte that each letter stands for, -1: none; and the letter of each byte. Bytes that are not printable
// follow one another from U+0100 on.
struct LetterTable {
    std::array<std::int16_t, 0x144> bytes{};
    std::array<std::uint16_t, 256> letters{};
    constexpr LetterTable() {
        for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = -1;
        std::size_t next = 0x100;
        for (unsigned byte = 0; byte < 256; ++byte) {
            letters[byte] = static_cast<std::uint16_t>(is_written_as_itself(byte) ? byte : next++);
            bytes[letters[byte]] = static_cast<std::int16_t>(byte);
        }
    }
};
constexpr LetterTable kByteLetters;

constexpr CodePointSet::Range kChinese[] = {{0x4e00, 0x9fff},   {0x3400, 0x4dbf},   {0x20000, 0x2a6df},
                                            {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b820, 0x2ceaf},
                                            {0xf900, 0xfaff},   {0x2f800, 0x2fa1f}};

template <class Visit>  // Visit: void(std::uint32_t code_point, std::string_view its bytes)
void each_character(std::string_view text, const Visit& visit) {
    for (std::size_t at = 0; at < text.size();) {
        const Character character = read_character(text, at);
        visit(character.code_point, text.substr(at, character.bytes));
        at += character.bytes;
    }
}

void append_without(Categories categories, std::string_view text, std::pmr::string* out) {
    each_character(text, [&](std::uint32_t c, std::string_view bytes) {
        if (c < 0x80 || !contains(categories, c)) out->append(bytes);
    });
}

void append_clean(std::string_view text, std::pmr::string* out) {
    each_character(text, [&](std::uint32_t c, std::string_view bytes) {
        if (c == 0xfffd || is_dropped_control(c)) return;
        if (is_white_space(c))
            *out += ' ';
        else
            out->append(bytes);
    });
}

void append_nmt(std::string_view text, std::pmr::string* out) {
    each_character(text, [&](std::uint32_t c, std::string_view bytes) {
        const bool dropped = (c >= 0x01 && c <= 0x08) || c == 0x0b || (c >= 0x0e && c <= 0x1f) || c == 0x7f ||
                             c == 0x8f || c == 0x9f;
        const bool space = c == 0x09 || c == 0x0a || c == 0x0c || c == 0x0d || c == 0x1680 ||
                           (c >= 0x200b && c <= 0x200f) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                           c == 0xfeff || c == 0xfffd;
        if (dropped) return;
        if (space)
            *out += ' ';
        else
            out->append(bytes);
    });
}

void append_spaced_chinese(std::string_view text, std::pmr::string* out) {
    each_character(text, [&](std::uint32_t c, std::string_view bytes) {
        // Hugging Face's block of extension E begins 256 later than BERT's.
        const bool chinese = is_chinese(c) && !(c >= 0x2b820 && c < 0x2b920);
        if (chinese) *out += ' ';
        out->append(bytes);
        if (chinese) *out += ' ';
    });
}

void append_matches_replaced(const Expression& expression, std::string_view text, std::string_view to,
                             SearchBudget& budget, std::pmr::string* out) {
    Search search(expression, text, budget, out->get_allocator().resource());
    std::size_t done = 0;
    for (Search::Match match; search.next(&match); done = match.end) {
        out->append(text.substr(done, match.begin - done));
        out->append(to);
    }
    out->append(text.substr(done));
}

std::string_view stripped(std::string_view text, bool left, bool right) {
    std::size_t begin = 0, end = 0;
    bool inside = !left;
    each_character(text, [&](std::uint32_t c, std::string_view bytes) {
        const auto at = static_cast<std::size_t>(bytes.data() - text.data());
        const bool space = is_white_space(c);
        if (!space && !inside) begin = at, inside = true;
        if (!space || !right) end = at + bytes.size();
    });
    return inside && end > begin ? text.substr(begin, end - begin) : std::string_view();
}

// Keep steps behind one another from growing a text without bound.
constexpr std::size_t kMostPartBytes = 256, kMostGrowth = 64, kLeastRoom = 1 << 16;

void check(const TextStep& step) {
    if (step.kind == 0 || step.kind > kLastNormaliser)
        fail(VOLTA_CORRUPT_MODEL, "its tokenizer has a normaliser of the unknown kind %d", step.kind);
    const auto kind = static_cast<NormaliserKind>(step.kind);
    if (kind == NormaliserKind::sentencepiece)
        fail(VOLTA_CORRUPT_MODEL, "a normaliser of its tokenizer is that of another kind of tokenizer");
    if (kind == NormaliserKind::replace && step.first.empty())
        fail(VOLTA_CORRUPT_MODEL, "a normaliser of its tokenizer replaces an empty text");
    if (kind == NormaliserKind::strip ? step.number < 1 || step.number > 3 : step.number != 0)
        fail(VOLTA_CORRUPT_MODEL, "a normaliser of its tokenizer has the number %u", step.number);
    if (step.second.size() > kMostPartBytes ||
        (kind == NormaliserKind::prepend && step.first.size() > kMostPartBytes))
        fail(VOLTA_CORRUPT_MODEL, "a normaliser of its tokenizer puts more than %zu bytes into a text",
             kMostPartBytes);
    const bool text = kind != NormaliserKind::precompiled;
    if ((text && find_invalid_utf8(step.first) != step.first.size()) ||
        find_invalid_utf8(step.second) != step.second.size())
        fail(VOLTA_CORRUPT_MODEL, "a normaliser of its tokenizer has a text that is not UTF-8");
}

}  // namespace

Normaliser::Normaliser(const TextSteps& steps) : steps_(steps.get_allocator().resource()) {
    if (steps.size() > kMostSteps)
        fail(VOLTA_CORRUPT_MODEL, "its tokenizer has %zu normalisers, more than %zu", steps.size(),
             kMostSteps);
    for (const TextStep& step : steps) {
        check(step);
        steps_.push_back({&step, std::nullopt, {}});
        letters_ = letters_ || static_cast<NormaliserKind>(step.kind) == NormaliserKind::byte_letters;
        if (static_cast<NormaliserKind>(step.kind) == NormaliserKind::replace_expression)
            steps_.back().expression.emplace(step.first, steps.get_allocator().resource());
        if (static_cast<NormaliserKind>(step.kind) == NormaliserKind::precompiled)
            steps_.back().map = CharacterMap(step.first);
    }
}

void Normaliser::apply(const Step& step, std::string_view text, SearchBudget& budget, std::size_t most,
                       std::pmr::string* out) {
    switch (static_cast<NormaliserKind>(step.data->kind)) {
        case NormaliserKind::nfc:
            return append_normal(text, NormalForm::nfc, out);
        case NormaliserKind::nfd:
            return append_normal(text, NormalForm::nfd, out);
        case NormaliserKind::nfkc:
            return append_normal(text, NormalForm::nfkc, out);
        case NormaliserKind::nfkd:
            return append_normal(text, NormalForm::nfkd, out);
        case NormaliserKind::small_letters:
            return append_small(text, out);
        case NormaliserKind::drop_marks:
            return append_without(kMarks, text, out);
        case NormaliserKind::drop_accents:
            return append_without(kAccents, text, out);
        case NormaliserKind::replace:
            return append_replaced(text, step.data->first, step.data->second, out);
        case NormaliserKind::replace_expression:
            return append_matches_replaced(*step.expression, text, step.data->second, budget, out);
        case NormaliserKind::prepend:
            if (!text.empty()) out->append(step.data->first);
            out->append(text);
            return;
        case NormaliserKind::strip:
            out->append(stripped(text, (step.data->number & 1) != 0, (step.data->number & 2) != 0));
            return;
        case NormaliserKind::clean:
            return append_clean(text, out);
        case NormaliserKind::space_chinese:
            return append_spaced_chinese(text, out);
        case NormaliserKind::byte_letters:
            return append_byte_letters(text, out);
        case NormaliserKind::nmt:
            return append_nmt(text, out);
        case NormaliserKind::precompiled:
            return append_precompiled(step.map, text, most, out);
        case NormaliserKind::sentencepiece:
            return;  // is no step of these
    }
}

std::size_t most_normalised_bytes(std::size_t bytes) {
    return kLeastRoom + std::min(bytes, SIZE_MAX / 2 / kMostGrowth) * kMostGrowth;
}

void Normaliser::run(std::pmr::string* text, SearchBudget& budget) const {
    const std::size_t most = most_normalised_bytes(text->size());
    for (const Step& step : steps_) {
        std::pmr::string out(text->get_allocator());
        out.reserve(text->size());
        apply(step, *text, budget, most, &out);
        if (out.size() > most)
            fail(VOLTA_INVALID_ARGUMENT, "the text has %zu bytes when it is normalised; %zu are possible",
                 out.size(), most);
        *text = std::move(out);
    }
}

void append_byte_letters(std::string_view bytes, std::pmr::string* out) {
    for (const char c : bytes) append_character(kByteLetters.letters[static_cast<unsigned char>(c)], out);
}

bool append_raw_bytes(std::string_view letters, std::pmr::string* out) {
    for (std::size_t at = 0; at < letters.size();) {
        const Character letter = read_character(letters, at);
        if (letter.bytes == 0 || letter.code_point >= kByteLetters.bytes.size() ||
            kByteLetters.bytes[letter.code_point] < 0)
            return false;
        *out += static_cast<char>(kByteLetters.bytes[letter.code_point]);
        at += letter.bytes;
    }
    return true;
}

void append_replaced(std::string_view text, std::string_view from, std::string_view to,
                     std::pmr::string* out) {
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t found = text.find(from, at);
        out->append(text.substr(at, found - at));
        if (found == text.npos) break;
        out->append(to);
        at = found + from.size();
    }
}

bool is_chinese(std::uint32_t c) {
    return std::any_of(std::begin(kChinese), std::end(kChinese),
                       [c](const auto& range) { return c >= range.first && c <= range.last; });
}

bool is_dropped_control(std::uint32_t c) {
    return c != '\t' && c != '\n' && c != '\r' && contains(kControls, c);
}

}  // namespace volta
