// The kind spm, as Llama models use it: SentencePiece's merging by score. A text's spaces become U+2581; its
// characters are merged, highest score first; a character that no piece has becomes its bytes.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "engine/base/error.h"
#include "engine/model/merge_symbols.h"
#include "engine/model/normaliser.h"
#include "engine/model/piece_texts.h"
#include "engine/model/text.h"
#include "engine/model/tokenizer_model.h"

namespace volta {
namespace {

// `text` with every `from` replaced by `to`.
std::pmr::string replaced(std::string_view text, std::string_view from, std::string_view to,
                          std::pmr::memory_resource* heap) {
    std::pmr::string out(heap);
    out.reserve(text.size());
    append_replaced(text, from, to, &out);
    return out;
}

class SpmModel final : public TokenizerModel {
  public:
    explicit SpmModel(Vocabulary&& given) : TokenizerModel(std::move(given)), index_(vocabulary.heap()) {
        space_prefix_ = vocabulary.options.has(kSpacePrefix);
        check_scores();
        index_pieces();
        write_texts();
    }

    void encode(std::string_view text, std::size_t, IdSink& ids) const override {
        if (text.empty()) return;
        std::pmr::string marked = replaced(text, " ", kWordMark, vocabulary.heap());
        if (space_prefix_) marked.insert(0, kWordMark);
        SymbolMerger merger(vocabulary.heap());
        for (std::string_view rest = marked; !rest.empty();) {
            const std::size_t bytes = words_apart_ ? word_bytes(rest) : rest.size();
            encode_word(rest.substr(0, bytes), merger, ids);
            rest.remove_prefix(bytes);
        }
    }

  private:
    void encode_word(std::string_view word, SymbolMerger& merger, IdSink& ids) const {
        merger.clear();
        for (std::size_t at = 0; at < word.size();) {
            const std::size_t bytes = std::max<std::size_t>(1, read_character(word, at).bytes);
            merger.add(at, bytes, index_.find(word.substr(at, bytes)));
            at += bytes;
        }
        merger.merge([&](const Symbol& left, const Symbol& right) -> PairCost {
            const std::int32_t id = index_.find(word.substr(left.start, left.bytes + right.bytes));
            return {id, id < 0 ? 0.0 : -static_cast<double>(vocabulary.scores[static_cast<std::size_t>(id)])};
        });
        merger.each([&](const Symbol& symbol) {
            if (symbol.id >= 0)
                ids.push(symbol.id);
            else
                push_bytes(word.substr(symbol.start, symbol.bytes), ids);
        });
    }

    // The bytes up to the first mark behind something else.
    static std::size_t word_bytes(std::string_view text) {
        std::size_t at = 0;
        while (text.substr(at, kWordMarkBytes) == kWordMark) at += kWordMarkBytes;
        return std::min(text.find(kWordMark, at), text.size());
    }

    void check_scores() const {
        if (vocabulary.scores.size() != vocabulary.pieces.size())
            fail(VOLTA_CORRUPT_MODEL, "its spm tokenizer has %zu pieces and %zu scores",
                 vocabulary.pieces.size(), vocabulary.scores.size());
        for (std::size_t i = 0; i < vocabulary.scores.size(); ++i)
            if (!std::isfinite(vocabulary.scores[i]))
                fail(VOLTA_CORRUPT_MODEL, "the score of piece %zu of its tokenizer is not finite", i);
    }

    void index_pieces() {
        bytes_.fill(-1);
        for (std::int32_t id = 0; id < vocabulary.size(); ++id) {
            const std::string_view piece = vocabulary.pieces[static_cast<std::size_t>(id)];
            if (vocabulary.type(id) == PieceType::normal) {
                index_.add(piece, id);
                words_apart_ = words_apart_ && word_bytes(piece) == piece.size();
            }
            if (vocabulary.type(id) != PieceType::byte) continue;
            const int byte = byte_of_piece(piece);
            if (byte < 0) fail(VOLTA_CORRUPT_MODEL, "piece %d of its tokenizer is no byte like <0x0A>", id);
            if (bytes_[static_cast<std::size_t>(byte)] < 0) bytes_[static_cast<std::size_t>(byte)] = id;
        }
        index_.sort();
    }

    void write_texts() {
        texts_.reserve(vocabulary.pieces.size());
        for (std::int32_t id = 0; id < vocabulary.size(); ++id) {
            const std::string_view piece = vocabulary.pieces[static_cast<std::size_t>(id)];
            switch (vocabulary.type(id)) {
                case PieceType::control:
                    texts_.emplace_back();
                    break;
                case PieceType::byte:
                    texts_.emplace_back(1, static_cast<char>(byte_of_piece(piece)));
                    break;
                default:
                    texts_.push_back(replaced(piece, kWordMark, " ", vocabulary.heap()));
            }
        }
    }

    // A character that is no piece.
    void push_bytes(std::string_view character, IdSink& ids) const {
        const auto byte_id = [&](char c) { return bytes_[static_cast<unsigned char>(c)]; };
        if (std::all_of(character.begin(), character.end(), [&](char c) { return byte_id(c) >= 0; })) {
            for (const char c : character) ids.push(byte_id(c));
            return;
        }
        if (vocabulary.options.unk < 0)
            fail(VOLTA_INVALID_ARGUMENT,
                 "the vocabulary lacks the byte 0x%02x of the text, and a piece for what is unknown",
                 static_cast<unsigned>(static_cast<unsigned char>(character[0])));
        ids.push(vocabulary.options.unk);
    }

    PieceIndex index_;
    bool words_apart_ = true;  // no piece reaches from one word into the next, so words are merged one by one
    std::array<std::int32_t, 256> bytes_{};  // ids of the byte pieces; -1: none
};

}  // namespace

TokenizerRef make_spm_model(Vocabulary&& vocabulary) {
    return share_tokenizer<SpmModel>(std::move(vocabulary));
}

}  // namespace volta
