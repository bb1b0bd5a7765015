// The merges of a pair encoding, as a table that pairs are looked up in.
#pragma once

#include <algorithm>
#include <memory_resource>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "engine/model/merge_symbols.h"
#include "engine/model/piece_index.h"
#include "engine/model/vocabulary.h"

namespace volta {

// Merges by their left piece, then by their right one: a lookup looks at the few that share the left piece.
class MergeTable final {
  public:
    explicit MergeTable(std::pmr::memory_resource* heap) : rows_(heap), first_(heap) {}

    // All merges of the vocabulary. Throws CORRUPT_MODEL: one twice, or of or to what `index` lacks.
    void fill(const Vocabulary& vocabulary, const PieceIndex& index) {
        if (vocabulary.merges.size() > static_cast<std::size_t>(INT32_MAX))
            // unreachable: so many merges take 16 GiB
            fail(VOLTA_CORRUPT_MODEL, "its tokenizer has %zu merges", vocabulary.merges.size());
        rows_.reserve(vocabulary.merges.size());
        for (std::size_t rank = 0; rank < vocabulary.merges.size(); ++rank) add(rank, vocabulary);
        finish(vocabulary, index);
    }

    PairCost find(std::int32_t left, std::int32_t right) const {
        if (left < 0 || right < 0) return {-1, 0};
        const auto row_at = [&](std::int32_t id) {
            return rows_.begin() + first_[static_cast<std::size_t>(id)];
        };
        const auto end = row_at(left + 1);
        const auto at = std::lower_bound(row_at(left), end, right,
                                         [](const Row& row, std::int32_t id) { return row.right < id; });
        if (at == end || at->right != right) return {-1, 0};
        return {at->merged, static_cast<double>(at->rank)};
    }

  private:
    struct Row {
        std::int32_t left, right, merged, rank;
    };

    void add(std::size_t rank, const Vocabulary& vocabulary) {
        const Merge& merge = vocabulary.merges[rank];
        for (const std::int32_t id : {merge.left, merge.right})
            if (id < 0 || id >= vocabulary.size())
                fail(VOLTA_CORRUPT_MODEL, "merge %zu of its tokenizer has the id %d, outside [0, %d)", rank,
                     id, vocabulary.size());
        rows_.push_back({merge.left, merge.right, -1, static_cast<std::int32_t>(rank)});
    }

    // Sorts the rows, and finds out which piece each merge gives. Throws CORRUPT_MODEL: a merge twice, or
    // none.
    void finish(const Vocabulary& vocabulary, const PieceIndex& index) {
        std::sort(rows_.begin(), rows_.end(), [](const Row& a, const Row& b) {
            return a.left != b.left ? a.left < b.left : a.right < b.right;
        });
        for (std::size_t i = 1; i < rows_.size(); ++i)
            if (rows_[i].left == rows_[i - 1].left && rows_[i].right == rows_[i - 1].right)
                fail(VOLTA_CORRUPT_MODEL, "the merges %d and %d of its tokenizer are the same",
                     std::min(rows_[i].rank, rows_[i - 1].rank), std::max(rows_[i].rank, rows_[i - 1].rank));
        for (Row& row : rows_) row.merged = merged_piece(row, vocabulary, index);
        first_.assign(vocabulary.pieces.size() + 1, 0);
        for (const Row& row : rows_) ++first_[static_cast<std::size_t>(row.left) + 1];
        for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
    }

    static std::int32_t merged_piece(const Row& row, const Vocabulary& vocabulary, const PieceIndex& index) {
        const std::pmr::string& left = vocabulary.pieces[static_cast<std::size_t>(row.left)];
        const std::pmr::string& right = vocabulary.pieces[static_cast<std::size_t>(row.right)];
        if (left.size() + right.size() > kMostMergedBytes)
            fail(VOLTA_CORRUPT_MODEL, "merge %d of its tokenizer gives %zu bytes, the most are %zu", row.rank,
                 left.size() + right.size(), kMostMergedBytes);
        char both[kMostMergedBytes];
        left.copy(both, left.size());
        right.copy(both + left.size(), right.size());
        const std::int32_t id = index.find(std::string_view(both, left.size() + right.size()));
        if (id < 0) fail(VOLTA_CORRUPT_MODEL, "merge %d of its tokenizer gives no piece", row.rank);
        return id;
    }

    std::pmr::vector<Row> rows_;
    std::pmr::vector<std::int32_t> first_;  // by left piece: its first row; one more at the end
};

}  // namespace volta
