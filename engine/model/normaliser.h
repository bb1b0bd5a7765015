// The steps that make a text ready to be cut into words.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/model/character_map.h"
#include "engine/model/expression.h"
#include "engine/model/vocabulary.h"

namespace volta {

class Normaliser final {
  public:
    // Throws CORRUPT_MODEL for a step that is none, UNSUPPORTED for an expression that is not known.
    explicit Normaliser(const TextSteps& steps);

    bool empty() const { return steps_.empty(); }
    bool gives_letters() const { return letters_; }  // for bytes
    // `text`, which is UTF-8, as it is behind all steps; what it was is lost.
    void run(std::pmr::string* text, SearchBudget& budget) const;

  private:
    struct Step {
        const TextStep* data;
        std::optional<Expression> expression;
        CharacterMap map;
    };
    static void apply(const Step& step, std::string_view text, SearchBudget& budget, std::size_t most,
                      std::pmr::string* out);
    std::pmr::vector<Step> steps_;
    bool letters_ = false;
};

// Each byte as the letter that the files of byte-level vocabularies write it as, and back. False: `letters`
// has one that is no byte.
void append_byte_letters(std::string_view bytes, std::pmr::string* out);
bool append_raw_bytes(std::string_view letters, std::pmr::string* out);

// The most bytes that a text of so many may have once it is normalised.
std::size_t most_normalised_bytes(std::size_t bytes);

// `text` with every `from`, which is not empty, replaced by `to`.
void append_replaced(std::string_view text, std::string_view from, std::string_view to,
                     std::pmr::string* out);

bool is_chinese(std::uint32_t code_point);  // of the blocks that BERT takes for words of one character
bool is_dropped_control(std::uint32_t code_point);  // control, format, private; but tab and line ends are not

}  // namespace volta
