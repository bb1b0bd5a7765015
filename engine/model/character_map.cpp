#include "engine/model/character_map.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "engine/base/error.h"
#include "engine/model/text.h"
#include "engine/model/unicode.h"

namespace volta {
namespace {

// A unit of the double array: its label, whether a key ends behind it, how far its children are.
constexpr std::uint32_t label_of(std::uint32_t unit) { return unit & 0x800000ffu; }
constexpr bool has_leaf(std::uint32_t unit) { return (unit >> 8 & 1) != 0; }
constexpr std::uint32_t offset_of(std::uint32_t unit) { return unit >> 10 << ((unit & 0x200u) >> 6); }
constexpr std::uint32_t value_of(std::uint32_t unit) { return unit & 0x7fffffffu; }

// What Unicode's boundaries of clusters need beside categories.
struct Range {
    std::uint32_t first, last;
};
constexpr Range kOtherExtend[] = {
    {0x9be, 0x9be},   {0x9d7, 0x9d7},   {0xb3e, 0xb3e},   {0xb57, 0xb57},     {0xbbe, 0xbbe},
    {0xbd7, 0xbd7},   {0xcc0, 0xcc0},   {0xcc2, 0xcc2},   {0xcc7, 0xcc8},     {0xcca, 0xccb},
    {0xcd5, 0xcd6},   {0xd3e, 0xd3e},   {0xd57, 0xd57},   {0xdcf, 0xdcf},     {0xddf, 0xddf},
    {0x1715, 0x1715}, {0x1734, 0x1734}, {0x1b35, 0x1b35}, {0x1b3b, 0x1b3b},   {0x1b3d, 0x1b3d},
    {0x1b43, 0x1b44}, {0x1baa, 0x1baa}, {0x1bf2, 0x1bf3}, {0x200c, 0x200d},   {0x302e, 0x302f},
    {0xa953, 0xa953}, {0xa9c0, 0xa9c0}, {0xff9e, 0xff9f}, {0x1f3fb, 0x1f3ff}, {0xe0020, 0xe007f}};
// Marks of category Mc that end a cluster before them.
constexpr Range kAloneMarks[] = {{0x102b, 0x102c},  {0x1038, 0x1038}, {0x1062, 0x1064}, {0x1067, 0x106d},
                                 {0x1083, 0x1083},  {0x1087, 0x108c}, {0x108f, 0x108f}, {0x109a, 0x109c},
                                 {0x1a61, 0x1a61},  {0x1a63, 0x1a64}, {0xaa7b, 0xaa7b}, {0xaa7d, 0xaa7d},
                                 {0x11720, 0x11721}};
constexpr Range kJoinedLetters[] = {{0xe33, 0xe33}, {0xeb3, 0xeb3}};
constexpr Range kPrepended[] = {{0x600, 0x605}, {0x6dd, 0x6dd}, {0x70f, 0x70f},
                                {0x890, 0x891}, {0x8e2, 0x8e2}, {0xd4e, 0xd4e}};

template <std::size_t count>
bool is_in(const Range (&ranges)[count], std::uint32_t c) {
    return std::any_of(std::begin(ranges), std::end(ranges),
                       [c](const Range& range) { return c >= range.first && c <= range.last; });
}

bool extends(std::uint32_t c) {
    if (c < 0x300) return false;
    constexpr Categories kAttached = set_of(Category::Mn, Category::Mn) | set_of(Category::Me, Category::Me);
    if (contains(kAttached, c) || is_in(kOtherExtend, c) || is_in(kJoinedLetters, c)) return true;
    return contains(set_of(Category::Mc, Category::Mc), c) && !is_in(kAloneMarks, c);
}

bool is_control(std::uint32_t c) {
    if (c < 0x20 || (c >= 0x7f && c < 0xa0)) return true;
    constexpr Categories kBreaks = set_of(Category::Zl, Category::Zp) | set_of(Category::Cc, Category::Cf);
    return contains(kBreaks, c) && !extends(c) && !is_in(kPrepended, c);
}

// Vowels and ends of Korean syllables, behind any part of one.
bool continues_syllable(std::uint32_t before, std::uint32_t c) {
    const bool syllable = (before >= 0x1100 && before < 0x1200) || (before >= 0xac00 && before < 0xd7a4);
    return syllable && c >= 0x1160 && c < 0x1200;
}

// The bytes of the cluster that `text` begins with.
std::size_t cluster_bytes(std::string_view text) {
    Character last = read_character(text, 0);
    std::size_t bytes = std::max<std::size_t>(1, last.bytes);
    if (last.code_point == '\r' && text.size() > 1 && text[1] == '\n') return 2;
    while (bytes < text.size() && !is_control(last.code_point)) {
        const Character next = read_character(text, bytes);
        const bool joined = extends(next.code_point) || is_in(kPrepended, last.code_point) ||
                            continues_syllable(last.code_point, next.code_point);
        if (next.bytes == 0 || is_control(next.code_point) || !joined) break;
        bytes += next.bytes;
        last = next;
    }
    return bytes;
}

// Nothing is found behind a zero.
CharacterMap::Rule rule_of(const CharacterMap& map, std::string_view part) {
    return map.shortest(part.substr(0, part.find('\0')));
}

}  // namespace

CharacterMap::CharacterMap(std::string_view blob) {
    if (blob.empty()) return;
    std::uint32_t bytes = 0;
    if (blob.size() > sizeof bytes) std::memcpy(&bytes, blob.data(), sizeof bytes);
    if (blob.size() <= sizeof bytes || bytes % 4 != 0 || bytes > blob.size() - sizeof bytes)
        fail(VOLTA_CORRUPT_MODEL,
             "the character map of its tokenizer has %zu bytes, and says that %u of them are its units",
             blob.size(), bytes);
    units_ = blob.substr(sizeof bytes, bytes);
    texts_ = blob.substr(sizeof bytes + bytes);
    if (!texts_.empty() && texts_.back() != '\0')
        fail(VOLTA_CORRUPT_MODEL, "the last text of the character map of its tokenizer does not end");
    if (find_invalid_utf8(texts_) != texts_.size())
        fail(VOLTA_CORRUPT_MODEL, "the character map of its tokenizer has a text that is not UTF-8");
}

bool CharacterMap::read(std::size_t place, std::uint32_t* unit) const {
    if (place >= units_.size() / sizeof *unit) return false;
    std::memcpy(unit, units_.data() + place * sizeof *unit, sizeof *unit);
    return true;
}

CharacterMap::Rule CharacterMap::find(std::string_view text, bool first) const {
    Rule rule;
    std::uint32_t unit = 0;
    if (!read(0, &unit)) return rule;
    std::size_t place = offset_of(unit);
    for (std::size_t at = 0; at < text.size(); ++at) {
        const auto byte = static_cast<unsigned char>(text[at]);
        place ^= byte;
        if (!read(place, &unit) || label_of(unit) != byte) break;
        place ^= offset_of(unit);
        std::uint32_t leaf = 0;
        if (!has_leaf(unit) || !read(place, &leaf) || value_of(leaf) >= texts_.size()) continue;
        const std::string_view rest = texts_.substr(value_of(leaf));
        rule = {at + 1, rest.substr(0, rest.find('\0'))};
        if (first) break;
    }
    return rule;
}

void append_precompiled(const CharacterMap& map, std::string_view text, std::size_t most,
                        std::pmr::string* out) {
    constexpr std::size_t kMostClusterBytes = 5;
    while (!text.empty() && out->size() <= most) {
        std::string_view cluster = text.substr(0, cluster_bytes(text));
        text.remove_prefix(cluster.size());
        const CharacterMap::Rule whole =
            cluster.size() <= kMostClusterBytes ? rule_of(map, cluster) : CharacterMap::Rule();
        if (whole.bytes > 0) {
            out->append(whole.text);
            continue;
        }
        while (!cluster.empty()) {
            const std::size_t bytes = std::max<std::size_t>(1, read_character(cluster, 0).bytes);
            const std::string_view character = cluster.substr(0, bytes);
            const CharacterMap::Rule rule = rule_of(map, character);
            out->append(rule.bytes > 0 ? rule.text : character);
            cluster.remove_prefix(bytes);
        }
    }
}

}  // namespace volta
