// Texts to ids: a sorted list. It has no hash that a hostile vocabulary could make collide, costs 32 bytes a
// piece, and finds the longest piece at the start of a text as easily as a whole one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <string_view>
#include <vector>

namespace volta {

class PieceIndex final {
  public:
    explicit PieceIndex(std::pmr::memory_resource* heap) : entries_(heap) {}

    // The text is kept as a view. After the last one: sort.
    void add(std::string_view text, std::int32_t id) { entries_.push_back({text, start_of(text), id}); }
    void sort();
    bool empty() const { return entries_.empty(); }

    std::int32_t find(std::string_view text) const;  // of equal texts the lowest id; -1: none

    struct Match {
        std::int32_t id;    // -1: none
        std::size_t bytes;  // of the piece
    };
    Match longest_prefix(std::string_view text) const;  // the longest piece that `text` begins with
    template <class Visit>  // Visit: void(Match), of every piece that `text` begins with, the shortest first
    void each_prefix(std::string_view text, const Visit& visit) const;

  private:
    struct Entry {
        std::string_view text;
        std::uint64_t start;  // its first eight bytes: most comparisons need no look at the text
        std::int32_t id;
    };
    static std::uint64_t start_of(std::string_view text);
    // Below 0, 0 or above: as the texts compare.
    static int compare(const Entry& a, const Entry& b) {
        if (a.start != b.start) return a.start < b.start ? -1 : 1;
        return a.text.compare(b.text);
    }
    std::pmr::vector<Entry> entries_;  // ascending by text, then by id
};

// [low, high) are the entries that begin with the bytes seen so far; the shortest of them comes first.
template <class Visit>
void PieceIndex::each_prefix(std::string_view text, const Visit& visit) const {
    auto low = entries_.begin(), high = entries_.end();
    for (std::size_t at = 0; at < text.size() && low != high; ++at) {
        const auto wanted = static_cast<unsigned char>(text[at]);
        // Entries that end here stand before all others: as if their next byte were below 0.
        const auto byte = [at](const Entry& entry) {
            if (entry.text.size() <= at) return -1;
            if (at < sizeof entry.start) return static_cast<int>(entry.start >> (56 - 8 * at) & 0xff);
            return static_cast<int>(static_cast<unsigned char>(entry.text[at]));
        };
        low = std::partition_point(low, high, [&](const Entry& entry) { return byte(entry) < wanted; });
        high = std::partition_point(low, high, [&](const Entry& entry) { return byte(entry) == wanted; });
        if (low != high && low->text.size() == at + 1) visit(Match{low->id, at + 1});
    }
}

}  // namespace volta
