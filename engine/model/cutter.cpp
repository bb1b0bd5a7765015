#include "engine/model/cutter.h"

#include "engine/base/error.h"
#include "engine/model/normaliser.h"
#include "engine/model/split_words.h"
#include "engine/model/text.h"

namespace volta {
namespace {

constexpr std::size_t kMostMarkBytes = 16;

void check(const TextStep& step) {
    const auto kind = static_cast<CutterKind>(step.kind);
    if (step.kind == 0 || step.kind > kLastCutter)
        fail(VOLTA_CORRUPT_MODEL, "its tokenizer cuts texts by a step of the unknown kind %d", step.kind);
    const bool split = kind == CutterKind::split, metaspace = kind == CutterKind::metaspace;
    const std::uint32_t number = split ? step.number & ~kSplitInverted : step.number;
    const std::uint32_t most = split       ? kLastSplitBehaviour
                               : metaspace ? static_cast<std::uint32_t>(PrependScheme::first)
                                           : 0;
    if (number > most)
        fail(VOLTA_CORRUPT_MODEL, "a step that cuts texts of its tokenizer has the number %u", step.number);
    if (metaspace &&
        (step.first.empty() || step.first.size() > kMostMarkBytes ||
         step.first.find(' ') != step.first.npos || find_invalid_utf8(step.first) != step.first.size()))
        fail(VOLTA_CORRUPT_MODEL, "its tokenizer writes spaces as what is no character");
}

bool starts_with(std::string_view text, std::string_view start) {
    return text.substr(0, start.size()) == start;
}

// Joins matches and what is between them to words, as the behaviour says; each word is given away as soon as
// it is known.
template <class Give>  // Give: void(std::size_t begin, std::size_t end)
class Joiner final {
  public:
    Joiner(SplitBehaviour behaviour, const Give& give) : behaviour_(behaviour), give_(give) {}

    void take(std::size_t begin, std::size_t end, bool match) {
        switch (behaviour_) {
            case SplitBehaviour::removed:
                if (!match) give_(begin, end);
                break;
            case SplitBehaviour::isolated:
                give_(begin, end);
                break;
            case SplitBehaviour::merged_with_previous:  // behind what is no match, or behind nothing
                join(begin, end, match && !last_matches_);
                break;
            case SplitBehaviour::merged_with_next:
                join(begin, end, !match && last_matches_);
                break;
            case SplitBehaviour::contiguous:
                join(begin, end, match == last_matches_);
                break;
        }
        last_matches_ = match;
    }
    void finish() {
        if (open_) give_(begin_, end_);
        open_ = false;
    }

  private:
    void join(std::size_t begin, std::size_t end, bool to_last) {
        if (open_ && to_last) {
            end_ = end;
            return;
        }
        finish();
        begin_ = begin;
        end_ = end;
        open_ = true;
    }

    SplitBehaviour behaviour_;
    const Give& give_;
    std::size_t begin_ = 0, end_ = 0;
    bool open_ = false, last_matches_ = false;
};

}  // namespace

// One text on its way through all steps.
class Cutter::Run final {
  public:
    Run(const std::pmr::vector<Step>& steps, SearchBudget& budget, WordSink& words)
        : steps_(steps), budget_(budget), words_(words) {}

    void cut(std::size_t step, std::string_view text, bool first) {
        if (text.empty()) return;
        if (step == steps_.size()) return words_.take(text);
        const Step& now = steps_[step];
        switch (static_cast<CutterKind>(now.data->kind)) {
            case CutterKind::split:
                return split(step, text, first);
            case CutterKind::gpt2_words: {
                WordWalk walk(WordSplit::gpt2, text);
                for (std::string_view word = walk.next(); !word.empty(); word = walk.next())
                    cut(step + 1, word, first && word.data() == text.data());
                return;
            }
            case CutterKind::space_before: {
                if (text[0] == ' ') return cut(step + 1, text, first);
                std::pmr::string spaced(" ", heap());
                spaced += text;
                return cut(step + 1, spaced, first);
            }
            case CutterKind::metaspace:
                return mark_spaces(step, text, first);
            case CutterKind::byte_letters: {
                std::pmr::string letters(heap());
                append_byte_letters(text, &letters);
                return cut(step + 1, letters, first);
            }
        }
    }

  private:
    std::pmr::memory_resource* heap() const { return steps_.get_allocator().resource(); }

    void split(std::size_t step, std::string_view text, bool first) {
        const Step& now = steps_[step];
        const auto give = [&](std::size_t begin, std::size_t end) {
            cut(step + 1, text.substr(begin, end - begin), first && begin == 0);
        };
        const bool inverted = (now.data->number & kSplitInverted) != 0;
        Joiner<decltype(give)> joiner(static_cast<SplitBehaviour>(now.data->number & ~kSplitInverted), give);
        Search search(*now.expression, text, budget_, heap());
        std::size_t done = 0;
        for (Search::Match match; search.next(&match); done = match.end) {
            if (done < match.begin) joiner.take(done, match.begin, inverted);
            joiner.take(match.begin, match.end, !inverted);
        }
        if (done < text.size()) joiner.take(done, text.size(), inverted);
        joiner.finish();
    }

    void mark_spaces(std::size_t step, std::string_view text, bool first) {
        const TextStep& data = *steps_[step].data;
        std::pmr::string marked(heap());
        append_replaced(text, " ", data.first, &marked);
        const auto scheme = static_cast<PrependScheme>(data.number);
        const bool wanted = scheme == PrependScheme::always || (scheme == PrependScheme::first && first);
        if (wanted && !starts_with(marked, data.first)) marked.insert(0, data.first);
        cut(step + 1, marked, first);
    }

    const std::pmr::vector<Step>& steps_;
    SearchBudget& budget_;
    WordSink& words_;
};

Cutter::Cutter(const TextSteps& steps, bool raw_bytes) : steps_(steps.get_allocator().resource()) {
    if (steps.size() > kMostSteps)
        fail(VOLTA_CORRUPT_MODEL, "its tokenizer cuts texts in %zu steps, more than %zu", steps.size(),
             kMostSteps);
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const TextStep& step = steps[i];
        check(step);
        const bool letters = static_cast<CutterKind>(step.kind) == CutterKind::byte_letters;
        if (letters && raw_bytes && i + 1 == steps.size() && !letters_) break;
        if (letters && letters_)  // each time twice the bytes
            fail(VOLTA_CORRUPT_MODEL, "its tokenizer writes bytes as letters twice");
        letters_ = letters_ || letters;
        steps_.push_back({&step, std::nullopt});
        if (static_cast<CutterKind>(step.kind) == CutterKind::split)
            steps_.back().expression.emplace(step.first, steps.get_allocator().resource());
    }
}

void Cutter::run(std::string_view text, bool first, SearchBudget& budget, WordSink& words) const {
    Run(steps_, budget, words).cut(0, text, first);
}

}  // namespace volta
