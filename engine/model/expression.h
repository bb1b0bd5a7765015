// Regular expressions as tokenizers have them: alternatives, groups, (?i:..), classes with \p{..} and \s,
// counts that are greedy, lazy or possessive, a look ahead. An expression is compiled once into a program of
// bounded size, which backtracks as Oniguruma does; a text costs a bounded number of steps, whatever the
// expression. Captures, references back and what else no tokenizer uses are refused by name.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/unicode.h"

namespace volta {

// A set of code points: ascending ranges, apart from each other, and a bit for each ASCII character.
class CodePointSet final {
  public:
    struct Range {
        std::uint32_t first, last;
    };
    explicit CodePointSet(std::pmr::memory_resource* heap) : ranges_(heap) {}
    void add(std::uint32_t first, std::uint32_t last) { ranges_.push_back({first, last}); }
    void add(Categories categories);
    void add(const CodePointSet& other);
    void finish();  // before it is asked, and before what follows
    void negate();
    void keep(const CodePointSet& other);  // what both have

    bool has(std::uint32_t c) const {
        return c < 0x80 ? (ascii_[c >> 6] >> (c & 63) & 1) != 0 : has_beyond(c);
    }
    std::size_t range_count() const { return ranges_.size(); }

  private:
    bool has_beyond(std::uint32_t c) const;
    std::pmr::vector<Range> ranges_;
    std::array<std::uint64_t, 2> ascii_{};
};

class Expression final {
  public:
    // Throws UNSUPPORTED with the part of the expression that is not known.
    Expression(std::string_view text, std::pmr::memory_resource* heap);
    std::string_view text() const { return text_; }

    struct Instruction {
        enum Op : std::uint8_t {
            set,          // one code point of set a
            loop,         // from b to c code points of set a
            either,       // goes on at a, or else at b
            jump,         // goes on at a
            look,         // what follows this up to `done` matches here, or (negated) does not; then on at a
            atom,         // the same, and goes on at a behind it, at no other end
            behind,       // the code point before is of set a, or (negated) is not
            line_begins,  // ^
            line_ends,    // $
            text_begins,
            text_ends,
            word_edge,  // \b, or (negated) \B
            done
        } op;
        enum Greed : std::uint8_t { greedy, lazy, possessive } greed = greedy;
        bool negated = false;
        std::uint32_t a = 0, b = 0, c = 0;
    };
    static constexpr std::uint32_t kNoMost = UINT32_MAX;

  private:
    friend class Search;
    std::pmr::string text_;
    std::pmr::vector<CodePointSet> sets_;
    std::pmr::vector<Instruction> program_;
};

// How many steps all searches of a text may take together.
struct SearchBudget {
    explicit SearchBudget(std::size_t text_bytes);
    std::uint64_t all, left;
};

// The matches of an expression in a text, which is UTF-8, from left to right. Throws INVALID_ARGUMENT when
// the budget is spent.
class Search final {
  public:
    Search(const Expression& expression, std::string_view text, SearchBudget& budget,
           std::pmr::memory_resource* heap);

    struct Match {
        std::size_t begin, end;  // may be empty
    };
    bool next(Match* match);

  private:
    static constexpr std::size_t kNowhere = SIZE_MAX;
    struct Choice {
        std::uint32_t instruction;
        std::size_t at;      // of the text
        std::size_t low;     // of a greedy loop: it may give back up to here; of others `at`
        std::uint32_t left;  // of a lazy loop: how many more it may take
    };
    std::size_t match(std::uint32_t instruction, std::size_t at);  // its end
    bool step(std::uint32_t* instruction, std::size_t* at);
    bool enter_loop(std::uint32_t* instruction, std::size_t* at);
    bool go_back(std::size_t base, std::uint32_t* instruction, std::size_t* at);
    bool holds(const Expression::Instruction& assertion, std::size_t at) const;
    std::size_t take(std::uint32_t set, std::size_t at) const;  // behind the code point, or kNowhere
    std::size_t before(std::size_t at) const;
    std::uint32_t point_at(std::size_t at, std::size_t* bytes) const;
    void count_step();

    const Expression& expression_;
    std::string_view text_;
    std::pmr::vector<Choice> choices_;
    std::size_t at_ = 0, last_end_ = kNowhere;
    SearchBudget& budget_;
};

}  // namespace volta
