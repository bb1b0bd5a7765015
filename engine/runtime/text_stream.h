// A text that arrives in parts and is given out as soon as it is decided: never a byte of a stop text, never
// a part of a UTF-8 character. How it arrives in parts changes nothing about the whole. It knows nothing of
// tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <string>
#include <string_view>
#include <vector>

namespace volta {

class TextStream final {
  public:
    // Stop texts are borrowed, UTF-8 and not empty; they are looked for byte by byte. Parts of up to
    // `longest_part` bytes cost no allocation.
    TextStream(const std::string_view* stops, std::size_t count, std::size_t longest_part,
               std::pmr::memory_resource* heap);

    // The next part of the text. What follows a stop text is dropped.
    void add(std::string_view part);
    // What is decided and was not taken before. Lends: until the next add.
    std::string_view take();
    // The same with all that is held back: the text has ended, nothing is added any more.
    std::string_view take_rest();
    // Which stop text the text ran into: the first that was complete, of several the longest; -1: none. The
    // text ends before it.
    std::int32_t stop() const { return stop_; }

  private:
    // A stop text, and how much of its beginning the text ends with. borders[i]: the longest shorter
    // beginning of it that its first i + 1 bytes end with, where the search goes on after a byte that does
    // not fit.
    struct Search {
        std::string_view text;
        const std::uint32_t* borders;
        std::uint32_t matched;
    };
    static std::uint32_t advance(const Search& search, char byte);
    void search(char byte);
    std::string_view take(std::size_t end);

    std::pmr::vector<std::uint32_t> borders_;
    std::pmr::vector<Search> searches_;
    std::pmr::string text_;      // not given out yet, behind what was taken last
    std::size_t taken_ = 0;      // of text_: dropped by the next add
    std::size_t undecided_ = 0;  // at the end of text_: may begin a stop text
    std::int32_t stop_ = -1;
};

}  // namespace volta
