// What a tokenizer is made of, as data: its pieces and what its kind needs beside them. Importers make it,
// model files hold it, and Tokenizer turns it into an algorithm.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace volta {

// All numbers of this file are written to model files: never renumbered.
// Those from stepped_bpe on are a model of words between steps: normalisers, cutters, decoders.
enum class TokenizerKind : std::uint8_t {
    byte = 1,
    character = 2,
    bpe = 3,
    spm = 4,
    wordpiece = 5,
    stepped_bpe = 6,
    unigram = 7,
    stepped_wordpiece = 8,
    wordlevel = 9,
    // SentencePiece's own, whose one normaliser is the kind of that name.
    sentencepiece_pairs = 10,
    sentencepiece_unigram = 11
};
inline constexpr std::uint8_t kLastTokenizerKind = 11;

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
    kByteFallback =
        32,            // stepped_bpe, unigram, sentencepiece: a character that no piece has becomes its bytes
    kWholeWords = 64,  // stepped_bpe: a word that is a piece is not merged
    kFuseUnknown = 128,  // stepped_bpe, unigram: unknown characters beside each other are one unknown piece
    kBytePieces = 256,   // stepped_bpe: pieces are raw bytes
    // Kinds with steps, of two texts beside each other; without these one eos is between them, as behind.
    kTwoEosBetween = 512,
    kNoPairs = 1024,  // stand in a way that is not known
    kKnownFlags = 2047
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
// Of a piece that is sought at every character of a text.
inline constexpr std::size_t kMostSoughtBytes = 1024;

// What else is known of a piece of type control or user that steps look for, or 0.
enum AddedFlag : std::uint8_t {
    kSingleWord = 1,  // found only where no letter or digit stands beside it
    kTakesLeft = 2,   // takes the white space before it, and behind it
    kTakesRight = 4,
    kNormalised = 8,  // its text is normalised, and found in the normalised text
    kInModel = 16,    // is also a piece that words are made of
    kKnownAddedFlags = 31
};

// What a text goes through before its words are pieces, and pieces before they are a text. Written to model
// files: never renumbered.
enum class NormaliserKind : std::uint8_t {
    nfc = 1,
    nfd = 2,
    nfkc = 3,
    nfkd = 4,
    small_letters = 5,
    drop_marks = 6,          // M*
    drop_accents = 7,        // Mn
    replace = 8,             // each `first` by `second`
    replace_expression = 9,  // each match of `first` by `second`
    prepend = 10,            // `first`, unless the text is empty
    strip = 11,              // white space; number: 1 left, 2 right, 3 both
    clean = 12,              // as BERT: control characters out, white space to spaces
    space_chinese = 13,      // spaces around Chinese characters
    byte_letters = 14,       // each byte as the letter that byte-level vocabularies write it as
    nmt = 15,                // some control characters out, others and marks of direction to spaces
    precompiled = 16,        // `first`: the bytes of a CharacterMap, as Hugging Face applies it
    sentencepiece = 17  // the same as SentencePiece does; number: of SentencePieceFlag; `second`: unknown
};
inline constexpr std::uint8_t kLastNormaliser = 17;
enum SentencePieceFlag : std::uint32_t {
    kDummyPrefix = 1,    // a space stands before a text
    kDummySuffix = 2,    // or behind it
    kFewSpaces = 4,      // several are one, and none begins or ends a text
    kEscapedSpaces = 8,  // are U+2581
    kKnownSentencePieceFlags = 15
};

enum class CutterKind : std::uint8_t {
    split = 1,         // at the matches of the expression `first`; number: SplitBehaviour, and kSplitInverted
    gpt2_words = 2,    // as GPT-2's expression cuts
    space_before = 3,  // a space before each part, unless it has one
    metaspace = 4,     // spaces become `first`, and one stands before; number: PrependScheme
    byte_letters = 5
};
inline constexpr std::uint8_t kLastCutter = 5;
enum class SplitBehaviour : std::uint32_t {
    removed = 0,
    isolated = 1,
    merged_with_previous = 2,
    merged_with_next = 3,
    contiguous = 4
};
inline constexpr std::uint32_t kSplitInverted = 8, kLastSplitBehaviour = 4;
enum class PrependScheme : std::uint32_t { never = 0, always = 1, first = 2 };

enum class DecoderKind : std::uint8_t {
    bytes = 1,        // pieces of raw bytes
    replace = 2,      // each `first` by `second`
    byte_pieces = 3,  // "<0x0A>" is a byte
    fuse = 4,         // all pieces are one, for what follows
    strip = 5,        // `first`, a character: number / 65536 of them behind, the rest of number before
    metaspace =
        6,  // `first` is a space, but nothing in the first piece unless number is PrependScheme::never
    wordpiece = 7,  // `first` continues a word, others have a space before them; number 1: none before signs
    spaces = 8      // a space between pieces
};
inline constexpr std::uint8_t kLastDecoder = 8;

struct TextStep {
    using allocator_type = std::pmr::polymorphic_allocator<char>;
    explicit TextStep(const allocator_type& heap) : first(heap), second(heap) {}
    TextStep(std::uint8_t step_kind, std::uint32_t step_number, std::string_view step_first,
             std::string_view step_second, const allocator_type& heap)
        : kind(step_kind), number(step_number), first(step_first, heap), second(step_second, heap) {}
    TextStep(const TextStep& other, const allocator_type& heap)
        : kind(other.kind), number(other.number), first(other.first, heap), second(other.second, heap) {}
    TextStep(TextStep&& other, const allocator_type& heap)
        : kind(other.kind),
          number(other.number),
          first(std::move(other.first), heap),
          second(std::move(other.second), heap) {}
    TextStep(TextStep&&) = default;
    TextStep& operator=(TextStep&&) = default;
    TextStep(const TextStep&) = delete;  // a copy says on which heap

    std::uint8_t kind = 0;  // of the list that it stands in
    std::uint32_t number = 0;
    std::pmr::string first, second;
};
using TextSteps = std::pmr::vector<TextStep>;
inline constexpr std::size_t kMostSteps = 64;  // of one list

// Two pieces that become one. The order of merges is their rank.
struct Merge {
    std::int32_t left, right;  // ids
};

struct Vocabulary {
    explicit Vocabulary(std::pmr::memory_resource* heap)
        : pieces(heap),
          types(heap),
          scores(heap),
          merges(heap),
          added(heap),
          wide_scores(heap),
          normalisers(heap),
          cutters(heap),
          decoders(heap),
          continuation(heap) {}
    Vocabulary(const Vocabulary& other, std::pmr::memory_resource* heap)
        : kind(other.kind),
          options(other.options),
          pieces(other.pieces, heap),
          types(other.types, heap),
          scores(other.scores, heap),
          merges(other.merges, heap),
          added(other.added, heap),
          wide_scores(other.wide_scores, heap),
          normalisers(other.normalisers, heap),
          cutters(other.cutters, heap),
          decoders(other.decoders, heap),
          continuation(other.continuation, heap) {}
    Vocabulary(Vocabulary&&) = default;
    Vocabulary(const Vocabulary&) = delete;  // a copy says on which heap

    std::pmr::memory_resource* heap() const { return pieces.get_allocator().resource(); }
    std::int32_t size() const { return static_cast<std::int32_t>(pieces.size()); }
    PieceType type(std::int32_t id) const {
        return types.empty() ? PieceType::normal : types[static_cast<std::size_t>(id)];
    }
    bool has(std::int32_t id, AddedFlag flag) const {
        return !added.empty() && (added[static_cast<std::size_t>(id)] & flag) != 0;
    }
    // Whether words are made of it.
    bool in_model(std::int32_t id) const { return type(id) == PieceType::normal || has(id, kInModel); }

    TokenizerKind kind = TokenizerKind::byte;
    TokenizerOptions options;
    std::pmr::vector<std::pmr::string> pieces;  // by id; of bpe: raw bytes
    std::pmr::vector<PieceType> types;          // by id; empty: all normal
    std::pmr::vector<float> scores;             // spm, sentencepiece: by id, finite; the highest merges first
    std::pmr::vector<Merge> merges;             // bpe: by rank
    // Of the kinds with steps:
    std::pmr::vector<std::uint8_t> added;  // by id, of AddedFlag; empty: all 0
    std::pmr::vector<double> wide_scores;  // unigram: by id, finite
    TextSteps normalisers, cutters, decoders;
    std::pmr::string continuation;  // wordpiece: what pieces that continue a word begin with
};

}  // namespace volta
