// What a tokenizer is made of, as data: its pieces and what its kind needs beside them. Importers make it,
// model files hold it, and Tokenizer turns it into an algorithm.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <string>
#include <vector>

namespace volta {

// All numbers of this file are written to model files: never renumbered.
enum class TokenizerKind : std::uint8_t { byte = 1, character = 2, bpe = 3, spm = 4, wordpiece = 5 };
inline constexpr std::uint8_t kLastTokenizerKind = 5;

// What a piece is for. Only normal ones are found in plain text.
enum class PieceType : std::uint8_t {
    normal = 0,
    unknown = 1,  // stands for what the vocabulary lacks
    control = 2,  // no text: begins, ends, pads, separates
    byte = 3,     // spm: "<0x0A>", one byte of a character that the vocabulary lacks
    user = 4      // whole wherever it stands in a text, before anything is merged
};
inline constexpr std::uint8_t kLastPieceType = 4;

// How bpe cuts a text into words, which merges never cross.
enum class WordSplit : std::uint8_t { none = 0, gpt2 = 1 };
inline constexpr std::uint8_t kLastWordSplit = 1;

enum TokenizerFlag : std::uint32_t {
    kAddBos = 1,       // encoding with ends puts `bos` first
    kAddEos = 2,       // and `eos` last
    kSpacePrefix = 4,  // spm: a text begins with a space that it does not contain
    kLowerCase = 8,    // wordpiece: letters are made small and lose their accents
    kWordPrefix = 16,  // wordpiece: U+2581 marks pieces that begin a word; without it, "##" those that do not
    kKnownFlags = 31
};

struct TokenizerOptions {
    std::int32_t bos = -1, eos = -1, unk = -1, pad = -1;  // ids; -1: none
    std::uint32_t flags = 0;                              // of TokenizerFlag
    WordSplit split = WordSplit::none;
    std::uint32_t most_word_characters = 0;  // wordpiece: longer words are unknown
    bool has(TokenizerFlag flag) const { return (flags & flag) != 0; }
};

// Of a merge. Far above what words have; keeps the cost of checking a hostile list of merges within reason.
inline constexpr std::size_t kMostMergedBytes = 1024;

// Two pieces that become one. The order of merges is their rank.
struct Merge {
    std::int32_t left, right;  // ids
};

struct Vocabulary {
    explicit Vocabulary(std::pmr::memory_resource* heap)
        : pieces(heap), types(heap), scores(heap), merges(heap) {}
    Vocabulary(const Vocabulary& other, std::pmr::memory_resource* heap)
        : kind(other.kind),
          options(other.options),
          pieces(other.pieces, heap),
          types(other.types, heap),
          scores(other.scores, heap),
          merges(other.merges, heap) {}
    Vocabulary(Vocabulary&&) = default;
    Vocabulary(const Vocabulary&) = delete;  // a copy says on which heap

    std::pmr::memory_resource* heap() const { return pieces.get_allocator().resource(); }
    std::int32_t size() const { return static_cast<std::int32_t>(pieces.size()); }
    PieceType type(std::int32_t id) const {
        return types.empty() ? PieceType::normal : types[static_cast<std::size_t>(id)];
    }

    TokenizerKind kind = TokenizerKind::byte;
    TokenizerOptions options;
    std::pmr::vector<std::pmr::string> pieces;  // by id; of bpe: raw bytes
    std::pmr::vector<PieceType> types;          // by id; empty: all normal
    std::pmr::vector<float> scores;             // spm: by id, finite; the highest merges first
    std::pmr::vector<Merge> merges;             // bpe: by rank
};

}  // namespace volta
