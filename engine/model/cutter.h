// The steps that cut a normalised text into words.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/model/expression.h"
#include "engine/model/vocabulary.h"

namespace volta {

// Takes words as they are cut.
class WordSink {
  public:
    virtual void take(std::string_view word) = 0;  // never empty; gone when it returns

  protected:
    ~WordSink() = default;
};

class Cutter final {
  public:
    // Throws as Normaliser does. Of pieces of raw bytes the last step, byte_letters, is left out.
    Cutter(const TextSteps& steps, bool raw_bytes);

    // The words of `text`, which is UTF-8. `first`: the whole text that is encoded begins with it.
    void run(std::string_view text, bool first, SearchBudget& budget, WordSink& words) const;
    // Whether words are written in letters for bytes.
    bool gives_letters() const { return letters_; }

  private:
    class Run;
    struct Step {
        const TextStep* data;
        std::optional<Expression> expression;
    };
    std::pmr::vector<Step> steps_;
    bool letters_ = false;
};

}  // namespace volta
