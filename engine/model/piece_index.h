// Texts to ids: a sorted list. It has no hash that a hostile vocabulary could make collide, costs 32 bytes a
// piece, and finds the longest piece at the start of a text as easily as a whole one.
#pragma once

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

}  // namespace volta
