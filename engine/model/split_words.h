// Cuts a text into the words that merges never cross. What is a letter or a number is the business of tables
// of one version of Unicode (unicode_tables.h): a text has the same words wherever the library was built.
#pragma once

#include <cstddef>
#include <string_view>

#include "engine/model/vocabulary.h"

namespace volta {

// One walk over a text. Words cover the text; bytes that are not UTF-8 are words of their own. Every byte is
// looked at a few times, and nothing is allocated.
class WordWalk final {
  public:
    WordWalk(WordSplit split, std::string_view text) noexcept : split_(split), text_(text) {}
    std::string_view next() noexcept;  // empty at the end

  private:
    WordSplit split_;  // none: the whole text is one word
    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace volta
