#include "engine/model/piece_index.h"

#include <algorithm>

namespace volta {

void PieceIndex::sort() {
    std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
        return a.text != b.text ? a.text < b.text : a.id < b.id;
    });
}

std::int32_t PieceIndex::find(std::string_view text) const {
    const auto at = std::lower_bound(entries_.begin(), entries_.end(), text,
                                     [](const Entry& a, std::string_view b) { return a.text < b; });
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
