#include "engine/model/unicode.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "engine/model/text.h"

namespace volta {
namespace {

constexpr std::uint32_t kHangul = 0xac00, kHangulEnd = 0xd7a4;  // syllables, by arithmetic (Unicode, 3.12)
constexpr std::uint32_t kLeads = 0x1100, kVowels = 0x1161, kTails = 0x11a7;
constexpr std::uint32_t kLeadCount = 19, kVowelCount = 21, kTailCount = 28;

const DecompositionRow* find_decomposition(std::uint32_t c) {
    const DecompositionRow* end = kDecompositionRows + kDecompositionRowCount;
    const DecompositionRow* at = std::lower_bound(
        kDecompositionRows, end, c,
        [](const DecompositionRow& row, std::uint32_t point) { return row.code_point < point; });
    return at != end && at->code_point == c ? at : nullptr;
}

std::string_view text_of(const DecompositionRow& row) {
    return {reinterpret_cast<const char*>(kDecompositionTexts) + row.place, row.bytes};
}

template <class Visit>  // Visit: void(std::uint32_t)
bool visit_hangul(std::uint32_t c, const Visit& visit) {
    if (c < kHangul || c >= kHangulEnd) return false;
    const std::uint32_t index = c - kHangul, tail = index % kTailCount;
    visit(kLeads + index / (kVowelCount * kTailCount));
    visit(kVowels + index / kTailCount % kVowelCount);
    if (tail > 0) visit(kTails + tail);
    return true;
}

// Fully decomposed; the table has one step of it. Nothing nests more than a few deep.
template <class Visit>
void decompose(std::uint32_t c, bool compatible, const Visit& visit) {
    if (c < 0xa0) return visit(c);
    if (visit_hangul(c, visit)) return;
    const DecompositionRow* row = find_decomposition(c);
    if (row == nullptr || (row->compatible != 0 && !compatible)) return visit(c);
    const std::string_view text = text_of(*row);
    for (std::size_t at = 0; at < text.size();) {
        const Character character = read_character(text, at);
        decompose(character.code_point, compatible, visit);
        at += character.bytes;
    }
}

std::uint32_t class_of(std::uint32_t c) {
    if (c < 0x300) return 0;
    const ClassRow* end = kClassRows + kClassRowCount;
    const ClassRow* at = std::lower_bound(
        kClassRows, end, c, [](const ClassRow& row, std::uint32_t point) { return row.last < point; });
    return at != end && at->first <= c ? at->combining_class : 0;
}

struct Pair {
    std::uint32_t first, second;
};
Pair pair_of(const DecompositionRow& row) {
    const std::string_view text = text_of(row);
    const Character first = read_character(text, 0);
    return {first.code_point, read_character(text, first.bytes).code_point};
}

// What two code points are together; 0: nothing.
std::uint32_t compose(std::uint32_t first, std::uint32_t second) {
    if (first - kLeads < kLeadCount && second - kVowels < kVowelCount)
        return kHangul + ((first - kLeads) * kVowelCount + (second - kVowels)) * kTailCount;
    if (first >= kHangul && first < kHangulEnd && (first - kHangul) % kTailCount == 0 &&
        second - (kTails + 1) < kTailCount - 1)
        return first + (second - kTails);
    const std::uint16_t* end = kCompositionRows + kCompositionRowCount;
    const std::uint16_t* at = std::lower_bound(
        kCompositionRows, end, Pair{first, second}, [](std::uint16_t index, const Pair& wanted) {
            const Pair pair = pair_of(kDecompositionRows[index]);
            return pair.first != wanted.first ? pair.first < wanted.first : pair.second < wanted.second;
        });
    if (at == end) return 0;
    const Pair pair = pair_of(kDecompositionRows[*at]);
    return pair.first == first && pair.second == second ? std::uint32_t{kDecompositionRows[*at].code_point}
                                                        : 0;
}

struct Point {
    std::uint32_t code_point, combining_class;
};
using Points = std::pmr::vector<Point>;

// The marks behind each other in the order of their classes, which is stable.
void order(Points& points) {
    const auto is_starter = [](const Point& p) { return p.combining_class == 0; };
    for (auto at = points.begin(); at != points.end();) {
        const auto first = std::find_if_not(at, points.end(), is_starter);
        at = std::find_if(first, points.end(), is_starter);
        if (at - first > 1)
            std::stable_sort(first, at, [](const Point& a, const Point& b) {
                return a.combining_class < b.combining_class;
            });
    }
}

// A mark joins the starter before it unless something of its class, or another starter, is between them.
void compose_all(Points& points) {
    constexpr std::size_t kNone = SIZE_MAX;
    std::size_t starter = kNone, count = 0;
    std::uint32_t last_class = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
        const Point point = points[i];
        const bool beside = starter != kNone && (starter + 1 == count || last_class < point.combining_class);
        const std::uint32_t both = beside ? compose(points[starter].code_point, point.code_point) : 0;
        if (both != 0) {
            points[starter].code_point = both;
            continue;
        }
        if (point.combining_class == 0) starter = count;
        last_class = point.combining_class;
        points[count++] = point;
    }
    points.resize(count);
}

// Nothing below is changed by a form, or joins what stands before it.
bool is_plain(std::string_view text, NormalForm form) {
    const unsigned first = form == NormalForm::nfc ? 0xcc : 0x80;
    return std::none_of(text.begin(), text.end(),
                        [first](char c) { return static_cast<unsigned char>(c) >= first; });
}

void fold_into(std::uint32_t code_point, std::uint32_t* out, int* count) {
    decompose(code_point, false, [&](std::uint32_t part) {
        if (contains(kAccents, part)) return;
        const std::uint32_t small = part == kCapitalDottedI ? 'i' : small_letter(part);
        if (small != part)
            fold_into(small, out, count);  // which may decompose once more
        else if (*count < kMostFolded)
            out[(*count)++] = part;
    });
}

}  // namespace

Category category_of(std::uint32_t c) {
    if (c >= 0x110000) return Category::Cn;
    const std::uint32_t* first = kCategoryRows + kCategoryPages[c >> 8];
    const std::uint32_t* last = kCategoryRows + kCategoryPages[(c >> 8) + 1] + 1;
    return static_cast<Category>(*(std::upper_bound(first, last, c << 5 | 31u) - 1) & 31u);
}

bool is_white_space(std::uint32_t c) {
    if (c < 0x80) return c == ' ' || (c >= '\t' && c <= '\r');
    return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
           c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

bool is_sign(std::uint32_t c) {
    if (c < 0x80)
        return c > ' ' && c < 0x7f && !((c | 0x20) >= 'a' && (c | 0x20) <= 'z') && !(c >= '0' && c <= '9');
    return contains(kPunctuation, c);
}

bool is_word_character(std::uint32_t c) {
    constexpr Categories kWord =
        kLetters | kMarks | set_of(Category::Nd, Category::Nl) | set_of(Category::Pc, Category::Pc);
    // Signs that are alphabetic: letters in circles and squares.
    const bool alphabetic = (c >= 0x24b6 && c <= 0x24e9) || (c >= 0x1f130 && c <= 0x1f149) ||
                            (c >= 0x1f150 && c <= 0x1f169) || (c >= 0x1f170 && c <= 0x1f189);
    return contains(kWord, c) || alphabetic;
}

std::uint32_t small_letter(std::uint32_t c) {
    if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + 0x20 : c;
    const CaseRow* end = kCaseRows + kCaseRowCount;
    const CaseRow* at = std::lower_bound(
        kCaseRows, end, c, [](const CaseRow& row, std::uint32_t point) { return row.last < point; });
    if (at == end || c < at->first || (c - at->first) % static_cast<std::uint32_t>(at->step) != 0) return c;
    return c + static_cast<std::uint32_t>(at->delta);
}

void append_small(std::string_view text, std::pmr::string* out) {
    for (std::size_t at = 0; at < text.size();) {
        const Character character = read_character(text, at);
        const bool two = character.code_point == kCapitalDottedI;
        append_character(two ? 'i' : small_letter(character.code_point), out);
        if (two) append_character(kDotAbove, out);
        at += character.bytes;
    }
}

void append_normal(std::string_view text, NormalForm form, std::pmr::string* out) {
    if (is_plain(text, form)) {
        out->append(text);
        return;
    }
    const bool compatible = form == NormalForm::nfkc || form == NormalForm::nfkd;
    Points points(out->get_allocator().resource());
    const auto flush = [&] {
        order(points);
        if (form == NormalForm::nfc || form == NormalForm::nfkc) compose_all(points);
        for (const Point& point : points) append_character(point.code_point, out);
        points.clear();
    };
    for (std::size_t at = 0; at < text.size();) {
        const Character character = read_character(text, at);
        if (character.code_point < 0x80) flush();  // composes with nothing before it
        decompose(character.code_point, compatible, [&](std::uint32_t c) {
            points.push_back({c, class_of(c)});
        });
        at += character.bytes;
    }
    flush();
}

int fold(std::uint32_t code_point, std::uint32_t* out) {
    int count = 0;
    fold_into(code_point, out, &count);
    return count;
}

void append_character(std::uint32_t code_point, std::pmr::string* out) {
    char bytes[4];
    out->append(bytes, write_character(code_point, bytes));
}

}  // namespace volta
