#include "engine/runtime/text_stream.h"

#include <algorithm>

#include "engine/model/text.h"

namespace volta {

TextStream::TextStream(const std::string_view* stops, std::size_t count, std::size_t longest_part,
                       std::pmr::memory_resource* heap)
    : borders_(heap), searches_(heap), text_(heap) {
    std::size_t bytes = 0, longest = 0;
    for (std::size_t i = 0; i < count; ++i) {
        bytes += stops[i].size();
        longest = std::max(longest, stops[i].size());
    }
    borders_.resize(bytes);
    searches_.reserve(count);
    text_.reserve(longest + 3 + longest_part);  // 3: of an unfinished character
    std::uint32_t* borders = borders_.data();
    for (std::size_t i = 0; i < count; ++i) {
        // The search in the stop text itself gives its borders, each before it is needed (Knuth, Morris,
        // Pratt).
        Search search{stops[i], borders, 0};
        for (std::size_t byte = 1; byte < stops[i].size(); ++byte)
            borders[byte] = search.matched = advance(search, stops[i][byte]);
        search.matched = 0;
        searches_.push_back(search);
        borders += stops[i].size();
    }
}

std::uint32_t TextStream::advance(const Search& search, char byte) {
    std::uint32_t matched = search.matched;
    while (matched > 0 && search.text[matched] != byte) matched = search.borders[matched - 1];
    return search.text[matched] == byte ? matched + 1 : 0;
}

void TextStream::search(char byte) {
    undecided_ = 0;
    std::size_t stop_bytes = 0;
    for (std::size_t i = 0; i < searches_.size(); ++i) {
        Search& one = searches_[i];
        one.matched = advance(one, byte);
        undecided_ = std::max<std::size_t>(undecided_, one.matched);
        if (one.matched < one.text.size() || one.matched <= stop_bytes) continue;
        stop_bytes = one.matched;
        stop_ = static_cast<std::int32_t>(i);
    }
    if (stop_bytes == 0) return;
    text_.resize(text_.size() - stop_bytes);
    undecided_ = 0;
}

void TextStream::add(std::string_view part) {
    text_.erase(0, taken_);
    taken_ = 0;
    for (const char byte : part) {
        if (stop_ >= 0) return;
        text_ += byte;
        search(byte);
    }
}

std::string_view TextStream::take() {
    const std::string_view decided(text_.data(), text_.size() - undecided_);
    // A stop text begins with a whole character: what stands before one is not completed any more.
    const bool is_last = stop_ < 0 && undecided_ == 0;
    return take(decided.size() - (is_last ? unfinished_bytes(decided) : 0));
}

std::string_view TextStream::take_rest() { return take(text_.size()); }

std::string_view TextStream::take(std::size_t end) {
    const std::string_view text = std::string_view(text_).substr(taken_, end - taken_);
    taken_ = end;
    return text;
}

}  // namespace volta
