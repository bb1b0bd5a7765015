#include "engine/model/manifest.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "engine/base/error.h"
#include "engine/base/format.h"
#include "engine/base/memory.h"
#include "engine/model/text.h"

namespace volta {
namespace {

constexpr std::string_view kFirstWords = "volta parts ", kChecksum = "checksum ";
constexpr std::size_t kHexDigits = 32;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 62;

template <class... Values>
void append(std::pmr::string& text, const char* format, Values... values) {
    char line[160];
    format_text(line, sizeof line, format, values...);
    text += line;
}

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

int hex_value(char letter) {
    return is_digit(letter) ? letter - '0' : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

// What is left of a line, taken from its front. Each thing has one spelling.
class Words final {
  public:
    explicit Words(std::string_view text) : left_(text) {}
    bool is_through() const { return left_.empty(); }
    bool take(std::string_view word) {
        if (left_.substr(0, word.size()) != word) return false;
        left_.remove_prefix(word.size());
        return true;
    }
    bool take_number(std::uint64_t* number) {
        const bool has_zero_in_front = left_.size() > 1 && left_[0] == '0' && is_digit(left_[1]);
        std::size_t digits = 0;
        *number = 0;
        for (; digits < left_.size() && is_digit(left_[digits]); ++digits) {
            const auto digit = static_cast<std::uint64_t>(left_[digits] - '0');
            if (*number > (kMostBytes - digit) / 10) return false;
            *number = *number * 10 + digit;
        }
        left_.remove_prefix(digits);
        return digits > 0 && !has_zero_in_front;
    }
    bool take_hash(Hash128* hash) {
        *hash = {};
        if (left_.size() < kHexDigits) return false;
        for (std::size_t i = 0; i < kHexDigits; ++i) {
            const int value = hex_value(left_[i]);
            if (value < 0) return false;
            std::uint64_t& half = i < kHexDigits / 2 ? hash->high : hash->low;
            half = half << 4 | static_cast<std::uint64_t>(value);
        }
        left_.remove_prefix(kHexDigits);
        return true;
    }
    std::string_view take_until(char end) {
        const std::string_view word = left_.substr(0, left_.find(end));
        left_.remove_prefix(word.size());
        return word;
    }

  private:
    std::string_view left_;
};

// "volta-...-3-of-4.part": of which place.
bool take_part_name(std::string_view name, std::uint64_t* index, std::uint64_t* count) {
    Words words(name);
    Hash128 save;
    return words.take("volta-") && words.take_hash(&save) && words.take("-") && words.take_number(index) &&
           words.take("-of-") && words.take_number(count) && words.take(".part") && words.is_through() &&
           *index < *count && *count <= kMostParts;
}

class Parser final {
  public:
    Parser(std::string_view text, std::pmr::memory_resource* heap) : left_(text), heap_(heap) {}

    Manifest parse() {
        take_version();
        take_checksum();
        Manifest manifest(heap_);
        manifest.bytes = take_field("bytes ");
        const std::uint64_t parts = take_field("parts ");
        if (parts == 0 || parts > kMostParts)
            fail(VOLTA_CORRUPT_MODEL, "it names %" PRIu64 " parts, there are 1 .. %u", parts, kMostParts);
        for (std::uint64_t i = 0; i < parts; ++i) take_part(manifest, i, parts);
        if (!left_.empty()) refuse_line();
        require_cover(manifest);
        return manifest;
    }

  private:
    [[noreturn]] void refuse_line() const {
        fail(VOLTA_CORRUPT_MODEL, "its line %zu is not what belongs there", line_ + 1);
    }

    std::string_view next_line() const {
        const std::size_t end = left_.find('\n');
        if (end == std::string_view::npos) refuse_line();
        return left_.substr(0, end);
    }
    void skip_line() {
        left_.remove_prefix(next_line().size() + 1);
        ++line_;
    }

    std::uint64_t take_field(std::string_view name) {
        Words words(next_line());
        std::uint64_t number = 0;
        if (!words.take(name) || !words.take_number(&number) || !words.is_through()) refuse_line();
        skip_line();
        return number;
    }

    // Before the checksum: another version may have another one.
    void take_version() {
        if (left_.substr(0, kFirstWords.size()) != kFirstWords)
            fail(VOLTA_CORRUPT_MODEL, "it does not begin with '%s'", kFirstWords.data());
        whole_ = left_;
        const std::uint64_t version = take_field(kFirstWords);
        if (version != kManifestVersion)
            fail(VOLTA_UNSUPPORTED, "it has version %" PRIu64 "; this library reads version %u", version,
                 kManifestVersion);
    }

    // The last line, of all before it.
    void take_checksum() {
        const std::size_t bytes = kChecksum.size() + kHexDigits + 1;
        Hash128 checksum;
        Words words(left_.size() < bytes ? std::string_view() : left_.substr(left_.size() - bytes));
        if (!words.take(kChecksum) || !words.take_hash(&checksum) || !words.take("\n"))
            fail(VOLTA_CORRUPT_MODEL, "it is cut off: its last line is no checksum");
        left_.remove_suffix(bytes);
        if (hash_bytes(whole_.data(), whole_.size() - bytes) != checksum)
            fail(VOLTA_CORRUPT_MODEL, "its checksum does not match");
    }

    void take_part(Manifest& manifest, std::uint64_t index, std::uint64_t count) {
        Words words(next_line());
        if (!words.take("part ")) refuse_line();
        const std::string_view name = words.take_until(' ');
        std::uint64_t named_index = 0, named_count = 0, bytes = 0;
        if (!take_part_name(name, &named_index, &named_count) || named_index != index ||
            named_count != count) {
            const ShownName text = shown(name);
            fail(VOLTA_CORRUPT_MODEL,
                 "its line %zu names part %" PRIu64 " of %" PRIu64 " '%.*s', which is no name of it",
                 line_ + 1, index, count, text.bytes, text.text);
        }
        FilePart& part = manifest.parts.emplace_back(heap_);
        part.name = name;
        if (!words.take(" ") || !words.take_number(&bytes) || !words.take(" ") ||
            !words.take_hash(&part.checksum) || !words.is_through())
            refuse_line();
        skip_line();
        take_ranges(part);
        if (part.bytes() != bytes)
            fail(VOLTA_CORRUPT_MODEL, "part '%s' has %" PRIu64 " bytes and ranges of %" PRIu64,
                 part.name.c_str(), bytes, part.bytes());
    }

    void take_ranges(FilePart& part) {
        while (!left_.empty() && is_digit(left_[0])) {
            Words words(next_line());
            ByteRange range = {0, 0};
            if (!words.take_number(&range.begin) || !words.take(" ") || !words.take_number(&range.end) ||
                !words.is_through())
                refuse_line();
            if (range.begin >= range.end || (!part.ranges.empty() && range.begin < part.ranges.back().end))
                fail(VOLTA_CORRUPT_MODEL,
                     "its line %zu has the range %" PRIu64 " .. %" PRIu64
                     ", which is empty or not behind the one before",
                     line_ + 1, range.begin, range.end);
            if (++ranges_ > kMostRanges)
                fail(VOLTA_CORRUPT_MODEL, "it has more than %zu ranges", kMostRanges);
            part.ranges.push_back(range);
            skip_line();
        }
    }

    void require_cover(const Manifest& manifest) const {
        std::pmr::vector<ByteRange> all(heap_);
        all.reserve(ranges_);
        for (const FilePart& part : manifest.parts)
            all.insert(all.end(), part.ranges.begin(), part.ranges.end());
        std::sort(all.begin(), all.end(),
                  [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; });
        std::uint64_t end = 0;
        std::size_t fitting = 0;
        for (; fitting < all.size() && all[fitting].begin == end; ++fitting) end = all[fitting].end;
        if (fitting < all.size() || end != manifest.bytes)
            fail(VOLTA_CORRUPT_MODEL,
                 "its ranges do not cover the %" PRIu64
                 " bytes of the file once each: they do up to %" PRIu64,
                 manifest.bytes, end);
    }

    std::string_view left_, whole_;
    std::pmr::memory_resource* heap_;
    std::size_t line_ = 0, ranges_ = 0;
};

}  // namespace

std::uint64_t FilePart::bytes() const noexcept {
    std::uint64_t sum = 0;  // of ranges that do not overlap, so that it fits
    for (const ByteRange& range : ranges) sum += range.end - range.begin;
    return sum;
}

PartName part_name(Hash128 save, std::uint32_t index, std::uint32_t count) noexcept {
    PartName name;
    format_text(name.text, sizeof name.text, "volta-%s-%u-of-%u.part", to_text(save).text, index, count);
    return name;
}

bool is_part_name(std::string_view name) noexcept {
    std::uint64_t index = 0, count = 0;
    return take_part_name(name, &index, &count);
}

std::pmr::string print(const Manifest& manifest, std::pmr::memory_resource* heap) {
    std::pmr::string text(heap);
    append(text, "%s%u\n", kFirstWords.data(), kManifestVersion);
    append(text, "bytes %" PRIu64 "\n", manifest.bytes);
    append(text, "parts %zu\n", manifest.parts.size());
    for (const FilePart& part : manifest.parts) {
        append(text, "part %s %" PRIu64 " %s\n", part.name.c_str(), part.bytes(),
               to_text(part.checksum).text);
        for (const ByteRange& range : part.ranges)
            append(text, "%" PRIu64 " %" PRIu64 "\n", range.begin, range.end);
    }
    append(text, "%s%s\n", kChecksum.data(), to_text(hash_bytes(text.data(), text.size())).text);
    return text;
}

Manifest parse_manifest(std::string_view text, std::pmr::memory_resource* heap) {
    return Parser(text, heap).parse();
}

}  // namespace volta
