// The kinds byte and char: every byte, or every character of a set, is a piece.
#include <algorithm>
#include <array>
#include <memory>

#include "engine/base/error.h"
#include "engine/model/text.h"
#include "engine/model/tokenizer_model.h"

namespace volta {
namespace {

class ByteModel final : public TokenizerModel {
  public:
    explicit ByteModel(Vocabulary&& given) : TokenizerModel(std::move(given)) {
        bool right = vocabulary.size() == 256;
        for (std::size_t i = 0; right && i < 256; ++i)
            right =
                vocabulary.pieces[i].size() == 1 && static_cast<unsigned char>(vocabulary.pieces[i][0]) == i;
        if (!right)
            fail(VOLTA_CORRUPT_MODEL, "the pieces of its byte tokenizer are not the 256 bytes in order");
    }

    void encode(std::string_view text, std::size_t, IdSink& ids) const override {
        for (const char byte : text) ids.push(static_cast<unsigned char>(byte));
    }
};

[[noreturn]] void fail_invalid_utf8(std::string_view text, std::size_t at, std::size_t offset) {
    fail(VOLTA_INVALID_ARGUMENT, "the text is not UTF-8: byte 0x%02x at offset %zu",
         static_cast<unsigned>(static_cast<unsigned char>(text[at])), offset + at);
}

[[noreturn]] void fail_unknown(std::string_view text, std::size_t at, std::size_t offset,
                               const Character& character) {
    const bool printable = character.code_point >= 0x20 && character.code_point != 0x7f &&
                           (character.code_point < 0x80 || character.code_point >= 0xa0);
    if (!printable)
        fail(VOLTA_INVALID_ARGUMENT, "the vocabulary lacks the character U+%04X at offset %zu",
             character.code_point, offset + at);
    fail(VOLTA_INVALID_ARGUMENT, "the vocabulary lacks the character '%.*s' (U+%04X) at offset %zu",
         static_cast<int>(character.bytes), text.data() + at, character.code_point, offset + at);
}

class CharacterModel final : public TokenizerModel {
  public:
    explicit CharacterModel(Vocabulary&& given) : TokenizerModel(std::move(given)) {
        check_pieces();
        ascii_.fill(-1);
        for (std::int32_t id = 0; id < vocabulary.size(); ++id) {
            const std::pmr::string& piece = vocabulary.pieces[static_cast<std::size_t>(id)];
            if (piece.size() == 1) ascii_[static_cast<unsigned char>(piece[0])] = id;
        }
    }

    void encode(std::string_view text, std::size_t offset, IdSink& ids) const override {
        for (std::size_t at = 0; at < text.size();) {
            const Character character = read_character(text, at);
            if (character.bytes == 0) fail_invalid_utf8(text, at, offset);
            const std::int32_t id = find(text.substr(at, character.bytes));
            if (id < 0) fail_unknown(text, at, offset, character);
            ids.push(id);
            at += character.bytes;
        }
    }

  private:
    void check_pieces() const {
        const auto& pieces = vocabulary.pieces;
        if (pieces.empty()) fail(VOLTA_CORRUPT_MODEL, "its character tokenizer has no pieces");
        for (std::size_t i = 0; i < pieces.size(); ++i) {
            if (pieces[i].empty() || read_character(pieces[i], 0).bytes != pieces[i].size())
                fail(VOLTA_CORRUPT_MODEL, "piece %zu of its character tokenizer is not one UTF-8 character",
                     i);
            if (i > 0 && pieces[i] <= pieces[i - 1])
                fail(VOLTA_CORRUPT_MODEL,
                     "piece %zu of its character tokenizer does not come after the one before", i);
        }
    }

    // The id of the piece that is the character `text`; -1: none. UTF-8 sorts by bytes as by code points, so
    // the pieces are in both orders.
    std::int32_t find(std::string_view text) const {
        if (text.size() == 1) return ascii_[static_cast<unsigned char>(text[0])];
        const auto& pieces = vocabulary.pieces;
        const auto at = std::lower_bound(pieces.begin(), pieces.end(), text);
        return at != pieces.end() && *at == text ? static_cast<std::int32_t>(at - pieces.begin()) : -1;
    }

    std::array<std::int32_t, 128> ascii_{};  // id of each ASCII character, -1: none
};

}  // namespace

TokenizerRef make_byte_model(Vocabulary&& vocabulary) {
    return share_tokenizer<ByteModel>(std::move(vocabulary));
}
TokenizerRef make_character_model(Vocabulary&& vocabulary) {
    return share_tokenizer<CharacterModel>(std::move(vocabulary));
}

}  // namespace volta
