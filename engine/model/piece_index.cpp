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

PieceIndex::Match PieceIndex::longest_prefix(std::string_view text) const {
    Match best{-1, 0};
    each_prefix(text, [&](const Match& match) { best = match; });
    return best;
}

}  // namespace volta
