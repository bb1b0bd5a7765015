// Cuts a text into the words that merges never cross, by a regular expression (PCRE2, the one user of it).
// PCRE2's memory is the host's, its machine code generator is never used, and its limits keep any text from
// taking long. What counts as a letter is the business of PCRE2's Unicode tables.
#pragma once

#include <memory_resource>
#include <string_view>

#include "engine/model/vocabulary.h"

struct pcre2_real_code_8;
struct pcre2_real_match_data_8;
struct pcre2_real_general_context_8;
struct pcre2_real_match_context_8;

namespace volta {

// A compiled expression; any thread may use it.
class WordSplitter final {
  public:
    WordSplitter(WordSplit split, std::pmr::memory_resource* heap);
    ~WordSplitter() { release(); }
    WordSplitter(const WordSplitter&) = delete;
    WordSplitter& operator=(const WordSplitter&) = delete;

    // One walk over a text, by one thread. Words cover the text; bytes that are not UTF-8 are words of their
    // own.
    class Walk final {
      public:
        Walk(const WordSplitter& splitter, std::string_view text);
        ~Walk();
        Walk(const Walk&) = delete;
        Walk& operator=(const Walk&) = delete;
        std::string_view next();  // empty at the end

      private:
        std::string_view next_invalid();
        std::size_t match(std::size_t at);

        const WordSplitter& splitter_;
        std::string_view text_,
            valid_;           // what is left; and how much of it is known to be UTF-8, from its start
        std::size_t at_ = 0;  // in valid_
        pcre2_real_match_data_8* match_;
    };

  private:
    void release() noexcept;

    std::pmr::memory_resource* heap_;
    pcre2_real_general_context_8* memory_ = nullptr;
    pcre2_real_code_8* code_ = nullptr;  // NULL: the whole text is one word
    pcre2_real_match_context_8* limits_ = nullptr;
};

}  // namespace volta
