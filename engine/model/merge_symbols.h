// Merging neighbours, the step that bpe and spm share: of all pairs that are pieces together, the cheapest
// becomes one symbol, the leftmost of equals, until no pair is a piece. A queue keeps that at n log n for a
// word of any length.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <queue>
#include <string_view>
#include <vector>

#include "engine/base/error.h"

namespace volta {

// A stretch of the text; neighbours are linked, merged ones have 0 bytes.
struct Symbol {
    std::size_t start, bytes;
    std::int32_t previous, next;  // indices; -1: none
    std::int32_t id;              // -1: no piece of the vocabulary
};

struct PairCost {
    std::int32_t id;  // of the pair as one piece; -1: it is none
    double cost;      // lowest first: a rank, or a score negated
};

class SymbolMerger final {
  public:
    explicit SymbolMerger(std::pmr::memory_resource* heap) : symbols_(heap), queue_(heap) {}

    void clear() { symbols_.clear(); }
    void add(std::size_t start, std::size_t bytes, std::int32_t id) {
        if (symbols_.size() >= kMostSymbols)
            // unreachable: so many symbols take 64 GiB
            fail(VOLTA_INVALID_ARGUMENT, "a word of the text has more than %zu characters", kMostSymbols);
        const auto index = static_cast<std::int32_t>(symbols_.size());
        if (index > 0) symbols_.back().next = index;
        symbols_.push_back({start, bytes, index - 1, -1, id});
    }

    template <class Cost>  // Cost: PairCost(const Symbol& left, const Symbol& right)
    void merge(const Cost& cost) {
        for (std::size_t i = 1; i < symbols_.size(); ++i) consider(static_cast<std::int32_t>(i) - 1, cost);
        while (!queue_.empty()) {
            const Candidate best = queue_.top();
            queue_.pop();
            Symbol& left = symbols_[static_cast<std::size_t>(best.left)];
            // A symbol only grows: with the bytes it was queued with, the pair is the one that was queued.
            if (left.next < 0 || left.bytes == 0) continue;
            Symbol& right = symbols_[static_cast<std::size_t>(left.next)];
            if (left.bytes != best.left_bytes || right.bytes != best.right_bytes) continue;
            left.bytes += right.bytes;
            left.id = best.id;
            right.bytes = 0;
            left.next = right.next;
            if (left.next >= 0) symbols_[static_cast<std::size_t>(left.next)].previous = best.left;
            if (left.previous >= 0) consider(left.previous, cost);
            consider(best.left, cost);
        }
    }

    template <class Visit>  // Visit: void(const Symbol&), from left to right
    void each(const Visit& visit) const {
        for (const Symbol& symbol : symbols_)
            if (symbol.bytes > 0) visit(symbol);
    }

  private:
    static constexpr std::size_t kMostSymbols = INT32_MAX;

    struct Candidate {
        double cost;
        std::int32_t left, id;
        std::size_t left_bytes, right_bytes;
        bool operator<(const Candidate& other) const {  // the queue's top is its greatest
            return cost != other.cost ? cost > other.cost : left > other.left;
        }
    };

    template <class Cost>
    void consider(std::int32_t left, const Cost& cost) {
        const Symbol& a = symbols_[static_cast<std::size_t>(left)];
        if (a.next < 0) return;
        const Symbol& b = symbols_[static_cast<std::size_t>(a.next)];
        const PairCost pair = cost(a, b);
        if (pair.id >= 0) queue_.push({pair.cost, left, pair.id, a.bytes, b.bytes});
    }

    std::pmr::vector<Symbol> symbols_;
    std::priority_queue<Candidate, std::pmr::vector<Candidate>> queue_;
};

}  // namespace volta
