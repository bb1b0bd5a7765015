#include "engine/model/train_bpe.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <string>

#include "engine/base/error.h"
#include "engine/model/split_words.h"

namespace volta {
namespace {

using Pair = std::pair<std::int32_t, std::int32_t>;

// A distinct word: its symbols are a stretch of Trainer::symbols_ that shrinks as they merge.
struct Word {
    std::size_t start, symbols;
    std::int64_t count;  // how often the text has it
};

struct PairState {
    explicit PairState(std::pmr::memory_resource* heap) : words(heap) {}
    std::int64_t count = 0;                 // in the text
    std::pmr::vector<std::uint32_t> words;  // that have it, or had it; some more than once
};

struct Candidate {
    std::int64_t count;
    Pair pair;
    bool operator<(const Candidate& other) const {  // the queue's top is its greatest
        return count != other.count ? count < other.count : pair > other.pair;
    }
};

class Trainer final {
  public:
    Trainer(std::string_view text, std::pmr::memory_resource* heap)
        : heap_(heap),
          symbols_(heap),
          words_(heap),
          pairs_(heap),
          queue_(heap),
          ids_(heap),
          merged_(heap),
          vocabulary_(heap) {
        vocabulary_.kind = TokenizerKind::bpe;
        vocabulary_.options.split = WordSplit::gpt2;
        for (int byte = 0; byte < 256; ++byte) add_piece(std::pmr::string(1, static_cast<char>(byte), heap_));
        collect_words(text);
        for (std::size_t i = 0; i < words_.size(); ++i) count_pairs(static_cast<std::uint32_t>(i));
    }

    Vocabulary train(std::int32_t pieces, const Stop& stop) {
        while (vocabulary_.size() < pieces && !queue_.empty()) {
            stop.ask("piece", static_cast<std::size_t>(vocabulary_.size()), static_cast<std::size_t>(pieces));
            const Candidate best = queue_.top();
            queue_.pop();
            PairState& state = pairs_.at(best.pair);
            if (state.count == best.count)
                merge(best.pair, state);
            else if (state.count > 1 && state.count < best.count)  // it has become rarer since it was queued
                queue_.push({state.count, best.pair});
        }
        return std::move(vocabulary_);
    }

  private:
    std::int32_t add_piece(const std::pmr::string& piece) {
        const auto found = ids_.find(piece);
        if (found != ids_.end()) return found->second;  // another pair gave the same bytes
        const std::int32_t id = vocabulary_.size();
        vocabulary_.pieces.push_back(piece);
        ids_.emplace(piece, id);
        return id;
    }

    void collect_words(std::string_view text) {
        WordWalk walk(WordSplit::gpt2, text);
        std::pmr::vector<std::string_view> all(heap_);
        for (std::string_view word = walk.next(); !word.empty(); word = walk.next()) all.push_back(word);
        std::sort(all.begin(), all.end());
        require(all.size() <= UINT32_MAX, "the text to learn from has %zu words", all.size());
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (i > 0 && all[i] == all[i - 1]) {
                ++words_.back().count;
                continue;
            }
            words_.push_back({symbols_.size(), all[i].size(), 1});
            for (const char byte : all[i]) symbols_.push_back(static_cast<unsigned char>(byte));
        }
    }

    void count_pairs(std::uint32_t index) {
        const Word& word = words_[index];
        for (std::size_t i = 1; i < word.symbols; ++i)
            change({symbols_[word.start + i - 1], symbols_[word.start + i]}, word.count, index);
    }

    void change(const Pair& pair, std::int64_t by, std::uint32_t word) {
        PairState& state = pairs_.try_emplace(pair, heap_).first->second;
        state.count += by;
        if (by <= 0) return;
        if (state.words.empty() || state.words.back() != word) state.words.push_back(word);
        if (state.count > 1) queue_.push({state.count, pair});
    }

    void merge(const Pair& pair, PairState& state) {
        const std::pmr::string& left = vocabulary_.pieces[static_cast<std::size_t>(pair.first)];
        const std::pmr::string& right = vocabulary_.pieces[static_cast<std::size_t>(pair.second)];
        if (left.size() + right.size() > kMostMergedBytes) return;
        std::pmr::string piece(left, heap_);
        piece += right;
        const std::int32_t id = add_piece(piece);
        // A pair may come back when another merge gives one of its sides once more; it has its rank already.
        if (merged_.insert(pair).second) vocabulary_.merges.push_back({pair.first, pair.second});
        std::pmr::vector<std::uint32_t> words(std::move(state.words), heap_);
        state.words.clear();
        std::sort(words.begin(), words.end());
        words.erase(std::unique(words.begin(), words.end()), words.end());
        for (const std::uint32_t word : words) merge_in(word, pair, id);
    }

    // Merges from left to right. Only pairs at the places that change are counted anew.
    void merge_in(std::uint32_t index, const Pair& pair, std::int32_t id) {
        Word& word = words_[index];
        std::int32_t* symbols = &symbols_[word.start];
        std::size_t to = 0;
        for (std::size_t from = 0; from < word.symbols; ++to) {
            if (from + 1 == word.symbols || symbols[from] != pair.first || symbols[from + 1] != pair.second) {
                symbols[to] = symbols[from++];
                continue;
            }
            change(pair, -word.count, index);
            if (to > 0) {
                change({symbols[to - 1], pair.first}, -word.count, index);
                change({symbols[to - 1], id}, word.count, index);
            }
            if (from + 2 < word.symbols) {
                change({pair.second, symbols[from + 2]}, -word.count, index);
                change({id, symbols[from + 2]}, word.count, index);
            }
            symbols[to] = id;
            from += 2;
        }
        word.symbols = to;
    }

    std::pmr::memory_resource* heap_;
    std::pmr::vector<std::int32_t> symbols_;
    std::pmr::vector<Word> words_;
    std::pmr::map<Pair, PairState> pairs_;  // ordered: no hash that a text could make collide
    std::priority_queue<Candidate, std::pmr::vector<Candidate>> queue_;
    std::pmr::map<std::pmr::string, std::int32_t> ids_;
    std::pmr::set<Pair> merged_;
    Vocabulary vocabulary_;
};

}  // namespace

Tokenizer train_bpe(std::string_view text, std::int32_t pieces, std::pmr::memory_resource* heap,
                    const Stop& stop) {
    require(!text.empty(), "the text to learn a vocabulary from is empty");
    require(pieces >= 256 && pieces <= kMostTrainedPieces,
            "the vocabulary to learn has %d pieces; it may have 256 to %d", pieces, kMostTrainedPieces);
    return Tokenizer::from_vocabulary(Trainer(text, heap).train(pieces, stop));
}

}  // namespace volta
