// The kind bpe: byte-level pair encoding, as GPT-2 has it. The text is cut into words; in each, neighbouring
// pieces are merged, the pair of the lowest rank first. Pieces are raw bytes.
#include <algorithm>
#include <array>
#include <memory>

#include "engine/base/error.h"
#include "engine/model/merge_symbols.h"
#include "engine/model/split_words.h"
#include "engine/model/tokenizer_model.h"

namespace volta {
namespace {

// Merges by their left piece, then by their right one: a lookup looks at the few that share the left piece.
class MergeTable final {
  public:
    explicit MergeTable(std::pmr::memory_resource* heap) : rows_(heap), first_(heap) {}

    struct Row {
        std::int32_t left, right, merged, rank;
    };
    void add(const Row& row) { rows_.push_back(row); }

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

class BpeModel final : public TokenizerModel {
  public:
    explicit BpeModel(Vocabulary&& given) : TokenizerModel(std::move(given)), merges_(vocabulary.heap()) {
        index_pieces();
        write_texts();
    }

    void encode(std::string_view text, std::size_t offset, IdSink& ids) const override {
        SymbolMerger merger(vocabulary.heap());
        WordWalk words(vocabulary.options.split, text);
        for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
            merger.clear();
            for (std::size_t i = 0; i < word.size(); ++i)
                merger.add(i, 1, byte_id(word[i], offset + static_cast<std::size_t>(&word[i] - text.data())));
            merger.merge([&](const Symbol& a, const Symbol& b) { return merges_.find(a.id, b.id); });
            merger.each([&](const Symbol& symbol) { ids.push(symbol.id); });
        }
    }

  private:
    void index_pieces() {
        PieceIndex index(vocabulary.heap());
        for (std::int32_t id = 0; id < vocabulary.size(); ++id)
            if (vocabulary.type(id) == PieceType::normal)
                index.add(vocabulary.pieces[static_cast<std::size_t>(id)], id);
        index.sort();
        for (std::size_t byte = 0; byte < bytes_.size(); ++byte) {
            const char piece = static_cast<char>(byte);
            bytes_[byte] = index.find(std::string_view(&piece, 1));
        }
        if (vocabulary.merges.size() > static_cast<std::size_t>(INT32_MAX))
            fail(VOLTA_CORRUPT_MODEL, "its tokenizer has %zu merges", vocabulary.merges.size());
        for (std::size_t rank = 0; rank < vocabulary.merges.size(); ++rank) add_merge(rank);
        merges_.finish(vocabulary, index);
    }

    void add_merge(std::size_t rank) {
        const Merge& merge = vocabulary.merges[rank];
        for (const std::int32_t id : {merge.left, merge.right})
            if (id < 0 || id >= vocabulary.size())
                fail(VOLTA_CORRUPT_MODEL, "merge %zu of its tokenizer has the id %d, outside [0, %d)", rank,
                     id, vocabulary.size());
        merges_.add({merge.left, merge.right, -1, static_cast<std::int32_t>(rank)});
    }

    // The pieces, but for those that are no text; without such, there is nothing to write.
    void write_texts() {
        const auto& types = vocabulary.types;
        if (std::find(types.begin(), types.end(), PieceType::control) == types.end()) return;
        texts_.reserve(vocabulary.pieces.size());
        for (std::int32_t id = 0; id < vocabulary.size(); ++id)
            if (vocabulary.type(id) == PieceType::control)
                texts_.emplace_back();
            else
                texts_.emplace_back(vocabulary.pieces[static_cast<std::size_t>(id)]);
    }

    std::int32_t byte_id(char byte, std::size_t offset) const {
        const std::int32_t id = bytes_[static_cast<unsigned char>(byte)];
        if (id >= 0) return id;
        if (vocabulary.options.unk < 0)
            fail(VOLTA_INVALID_ARGUMENT, "the vocabulary lacks the byte 0x%02x at offset %zu",
                 static_cast<unsigned>(static_cast<unsigned char>(byte)), offset);
        return vocabulary.options.unk;
    }

    MergeTable merges_;
    std::array<std::int32_t, 256> bytes_{};  // ids of the pieces of one byte; -1: none
};

}  // namespace

TokenizerRef make_bpe_model(Vocabulary&& vocabulary) {
    return share_tokenizer<BpeModel>(std::move(vocabulary));
}

}  // namespace volta
