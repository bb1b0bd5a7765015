// Between the kinds of tokenizers and engine/model/tokenizer.cpp, which lists them in a table. A kind is a
// file: tokenizer_<kind>.cpp derives from TokenizerModel, checks the vocabulary it is given, and encodes
// plain text.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "engine/model/piece_index.h"
#include "engine/model/vocabulary.h"

namespace volta {

// Where ids go: as many as there is room for, and a count of all.
class IdSink final {
  public:
    IdSink(std::int32_t* ids, std::size_t capacity) : ids_(ids), capacity_(capacity) {}
    void push(std::int32_t id) {
        if (count_ < capacity_) ids_[count_] = id;
        ++count_;
    }
    // For the next ids, of which at most `most` are kept.
    IdSink next(std::size_t most) const {
        const std::size_t at = count_ < capacity_ ? count_ : capacity_;
        const std::size_t room = capacity_ - at;
        return IdSink(room == 0 ? nullptr : ids_ + at, most < room ? most : room);
    }
    void skip(std::size_t count) { count_ += count; }
    std::size_t count() const { return count_; }

  private:
    std::int32_t* ids_;
    std::size_t capacity_, count_ = 0;
};

// Immutable once made; any thread may encode.
class TokenizerModel {
  public:
    explicit TokenizerModel(Vocabulary&& given);
    TokenizerModel(const TokenizerModel&) = delete;
    TokenizerModel& operator=(const TokenizerModel&) = delete;
    virtual ~TokenizerModel() = default;

    // The ids of a whole text, without those that begin and end it; with `special`, control pieces are found
    // in it.
    virtual void encode_all(std::string_view text, bool special, IdSink& ids) const;

    // The ids of `text`, a stretch of the text that begins at byte `offset`: messages count from there.
    virtual void encode(std::string_view text, std::size_t offset, IdSink& ids) const = 0;

    // The text of an id that follows `previous`, -1 at the start.
    virtual std::string_view text_after(std::int32_t previous, std::int32_t id) const {
        const std::string_view whole = text(id);
        return space_prefix_ && !whole.empty() && whole[0] == ' ' && begins_text(previous) ? whole.substr(1)
                                                                                           : whole;
    }

    // The text of an id; it is inside the vocabulary.
    std::string_view text(std::int32_t id) const {
        const auto at = static_cast<std::size_t>(id);
        return texts_.empty() ? std::string_view(vocabulary.pieces[at]) : std::string_view(texts_[at]);
    }
    // Whether a text begins after this id.
    bool begins_text(std::int32_t previous) const {
        return previous < 0 || vocabulary.type(previous) == PieceType::control ||
               vocabulary.type(previous) == PieceType::user;
    }

    const Vocabulary vocabulary;

  protected:
    // Pieces that are found whole, before plain text is encoded: those of type user, and with `special` those
    // of type control.
    bool has_whole(bool special) const { return !user_.empty() || (special && !special_.empty()); }
    PieceIndex::Match find_whole(std::string_view text, bool special) const;

    std::pmr::vector<std::pmr::string> texts_;  // by id; empty: the pieces are their texts
    bool space_prefix_ = false;                 // the first space of a text is the tokenizer's own

  private:
    PieceIndex user_, special_;
};

using TokenizerRef = std::shared_ptr<const TokenizerModel>;

// One function for each kind: takes the vocabulary's contents, on its heap. Throws CORRUPT_MODEL.
TokenizerRef make_byte_model(Vocabulary&& vocabulary);
TokenizerRef make_character_model(Vocabulary&& vocabulary);
TokenizerRef make_bpe_model(Vocabulary&& vocabulary);
TokenizerRef make_spm_model(Vocabulary&& vocabulary);
TokenizerRef make_wordpiece_model(Vocabulary&& vocabulary);
TokenizerRef make_stepped_model(Vocabulary&& vocabulary);        // of all kinds with steps
TokenizerRef make_sentencepiece_model(Vocabulary&& vocabulary);  // of both kinds

template <class Kind>
TokenizerRef share_tokenizer(Vocabulary&& vocabulary) {
    std::pmr::memory_resource* heap = vocabulary.heap();
    return std::allocate_shared<Kind>(std::pmr::polymorphic_allocator<Kind>(heap), std::move(vocabulary));
}

inline constexpr char kWordMark[] = "\xe2\x96\x81";  // U+2581, which stands for a space
inline constexpr std::size_t kWordMarkBytes = 3;

}  // namespace volta
