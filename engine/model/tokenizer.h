// Text to ids and back. A tokenizer is a vocabulary and an integer algorithm: no arithmetic on floats, no
// locale.
#pragma once

#include <memory>
#include <string_view>

#include "engine/model/vocabulary.h"

namespace volta {

const char* tokenizer_kind_name(TokenizerKind kind);  // "byte", "char", "bpe", "spm", "wordpiece"

struct EncodeOptions {
    bool ends = false;     // bos and eos where the vocabulary's flags ask for them
    bool special = false;  // control pieces that stand in the text become their ids; else they are plain text
    const std::string_view* pair = nullptr;  // a second text, which stands behind
    std::size_t most = 0;                    // ids, with the ends; 0: all. See volta_encode_options
    std::int32_t* segments =
        nullptr;  // not NULL: `capacity` of them, of each id 0, or 1 behind the first text
};

class TokenizerModel;  // a vocabulary with its algorithm: engine/model/tokenizer_model.h

class Tokenizer final {
  public:
    static Tokenizer make_byte(std::pmr::memory_resource* heap);
    // The sorted distinct code points of a UTF-8 text. Throws INVALID_ARGUMENT: empty, or not UTF-8 (with
    // offset).
    static Tokenizer make_character(std::string_view text, std::pmr::memory_resource* heap);
    // From a vocabulary, on its heap. Throws CORRUPT_MODEL unless it is one that its kind can work with.
    static Tokenizer from_vocabulary(Vocabulary&& vocabulary);
    Tokenizer(const Tokenizer& other, std::pmr::memory_resource* heap);
    Tokenizer(Tokenizer&&) noexcept;
    Tokenizer(const Tokenizer&) = delete;  // a copy says on which heap
    Tokenizer& operator=(const Tokenizer&) = delete;
    ~Tokenizer();

    const Vocabulary& vocabulary() const;
    TokenizerKind kind() const { return vocabulary().kind; }
    std::int32_t size() const { return vocabulary().size(); }
    const std::pmr::vector<std::pmr::string>& pieces() const { return vocabulary().pieces; }

    // The text of an id inside a text: of a piece that begins a word, with the space before it; of a control
    // piece, nothing. Throws INVALID_ARGUMENT for an id outside [0, size).
    std::string_view piece(std::int32_t id) const;
    // The text of an id that follows `previous`, -1 at the start: without the space that stands for no space
    // of the text. The texts of all ids, one after the other, are the text that was encoded.
    std::string_view piece_after(std::int32_t previous, std::int32_t id) const;

    // Writes at most `capacity` ids and returns how many there are in all. Throws INVALID_ARGUMENT naming the
    // character ('é' U+00E9) and its byte offset when the vocabulary lacks it, or where `most` has no room
    // for the ends; UNSUPPORTED for a pair, of a vocabulary that joins two texts in a way that is not known.
    std::size_t encode(std::string_view text, std::int32_t* ids, std::size_t capacity,
                       const EncodeOptions& options = {}) const;

  private:
    explicit Tokenizer(std::shared_ptr<const TokenizerModel> model);
    std::size_t encode_fitted(std::string_view text, std::int32_t* ids, std::size_t capacity,
                              const EncodeOptions& options) const;
    std::shared_ptr<const TokenizerModel> model_;  // never NULL but in what was moved from
};

}  // namespace volta
