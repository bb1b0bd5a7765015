#include "engine/model/piece_index.h"

#include <algorithm>

namespace volta {

// The first byte is the highest, and what is missing is 0: numbers are in the order of the texts, or equal.
std::uint64_t PieceIndex::start_of(std::string_view text) {
    std::uint64_t start = 0;
    for (std::size_t at = 0; at < sizeof start; ++at)
        start = start << 8 | (at < text.size() ? static_cast<unsigned char>(text[at]) : 0u);
    return start;
}

void PieceIndex::sort() {
    std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
        const int order = compare(a, b);
        return order != 0 ? order < 0 : a.id < b.id;
    });
}

std::int32_t PieceIndex::find(std::string_view text) const {
    const auto at =
        std::lower_bound(entries_.begin(), entries_.end(), Entry{text, start_of(text), -1},
                         [](const Entry& entry, const Entry& wanted) { return compare(entry, wanted) < 0; });
    return at != entries_.end() && at->text == text ? at->id : -1;
}

// [low, high) are the entries that begin with the bytes seen so far; the shortest of them comes first.
PieceIndex::Match PieceIndex::longest_prefix(std::string_view text) const {
    Match best{-1, 0};
    auto low = entries_.begin(), high = entries_.end();
    for (std::size_t at = 0; at < text.size() && low != high; ++at) {
        const auto wanted = static_cast<unsigned char>(text[at]);
        // Entries that end here stand before all others: as if their next byte were below 0.
        const auto byte = [at](const Entry& entry) {
            return entry.text.size() > at ? static_cast<int>(static_cast<unsigned char>(entry.text[at])) : -1;
        };
        low = std::partition_point(low, high, [&](const Entry& entry) { return byte(entry) < wanted; });
        high = std::partition_point(low, high, [&](const Entry& entry) { return byte(entry) == wanted; });
        if (low != high && low->text.size() == at + 1) best = {low->id, at + 1};
    }
    return best;
}

}  // namespace volta
