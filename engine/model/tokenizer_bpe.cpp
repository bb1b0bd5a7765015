// The kind bpe: byte-level pair encoding, as GPT-2 has it. The text is cut into words; in each, neighbouring
// pieces are merged, the pair of the lowest rank first. Pieces are raw bytes.
#include <algorithm>
#include <array>
#include <memory>

#include "engine/base/error.h"
#include "engine/model/merge_symbols.h"
#include "engine/model/merge_table.h"
#include "engine/model/split_words.h"
#include "engine/model/tokenizer_model.h"

namespace volta {
namespace {

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
        merges_.fill(vocabulary, index);
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
