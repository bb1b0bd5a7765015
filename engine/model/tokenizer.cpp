#include "engine/model/tokenizer.h"

#include "engine/base/error.h"
#include "engine/model/text.h"
#include "engine/model/tokenizer_model.h"

namespace volta {
namespace {

constexpr std::uint32_t kCodePoints = 0x110000;
constexpr int kByteCount = 256;
// Of pieces that are looked for at every byte of a text: bounds what a text costs, whatever the vocabulary.
constexpr std::size_t kMostWholeBytes = 256;

// What a vocabulary may have beside its pieces.
enum Part : unsigned {
    kTypes = 1,
    kScores = 2,
    kMerges = 4,
    kIds = 8,
    kSplit = 16,
    kWordLength = 32,
    kWideScores = 64,
    kContinuation = 128,
    kSteps = 256  // and what is known of pieces that they look for
};

unsigned parts_of(const Vocabulary& v) {
    const TokenizerOptions& o = v.options;
    const bool ids = o.bos != -1 || o.eos != -1 || o.unk != -1 || o.pad != -1;
    return (v.types.empty() ? 0u : kTypes) | (v.scores.empty() ? 0u : kScores) |
           (v.merges.empty() ? 0u : kMerges) | (ids ? kIds : 0u) |
           (o.split != WordSplit::none ? kSplit : 0u) | (o.most_word_characters != 0 ? kWordLength : 0u) |
           (v.wide_scores.empty() ? 0u : kWideScores) | (v.continuation.empty() ? 0u : kContinuation) |
           (v.added.empty() && v.normalisers.empty() && v.cutters.empty() && v.decoders.empty() ? 0u
                                                                                                : kSteps);
}

// Add a kind: add its row, its file and its number in vocabulary.h. Nothing else lists kinds.
struct KindRow {
    TokenizerKind kind;
    const char* name;
    TokenizerRef (*make)(Vocabulary&&);
    unsigned parts;       // that it may have
    std::uint32_t flags;  // of TokenizerFlag, those that mean something
};
constexpr std::uint32_t kEnds = kAddBos | kAddEos | kTwoEosBetween | kNoPairs;
constexpr KindRow kKinds[] = {
    {TokenizerKind::byte, "byte", make_byte_model, 0, 0},
    {TokenizerKind::character, "char", make_character_model, 0, 0},
    {TokenizerKind::bpe, "bpe", make_bpe_model, kTypes | kMerges | kIds | kSplit, kAddBos | kAddEos},
    {TokenizerKind::spm, "spm", make_spm_model, kTypes | kScores | kIds, kAddBos | kAddEos | kSpacePrefix},
    {TokenizerKind::wordpiece, "wordpiece", make_wordpiece_model, kTypes | kIds | kWordLength,
     kAddBos | kAddEos | kLowerCase | kWordPrefix},
    {TokenizerKind::stepped_bpe, "bpe", make_stepped_model, kTypes | kMerges | kIds | kSteps,
     kEnds | kByteFallback | kWholeWords | kFuseUnknown | kBytePieces},
    {TokenizerKind::unigram, "unigram", make_stepped_model, kTypes | kWideScores | kIds | kSteps,
     kEnds | kByteFallback | kFuseUnknown},
    {TokenizerKind::stepped_wordpiece, "wordpiece", make_stepped_model,
     kTypes | kIds | kWordLength | kContinuation | kSteps, kEnds},
    {TokenizerKind::wordlevel, "wordlevel", make_stepped_model, kTypes | kIds | kSteps, kEnds},
    {TokenizerKind::sentencepiece_pairs, "spm", make_sentencepiece_model, kTypes | kScores | kIds | kSteps,
     kAddBos | kAddEos | kByteFallback},
    {TokenizerKind::sentencepiece_unigram, "unigram", make_sentencepiece_model,
     kTypes | kScores | kIds | kSteps, kAddBos | kAddEos | kByteFallback},
};

const KindRow* find_row(TokenizerKind kind) {
    for (const KindRow& row : kKinds)
        if (row.kind == kind) return &row;
    return nullptr;
}

void check_ids(const Vocabulary& vocabulary) {
    const TokenizerOptions& options = vocabulary.options;
    const struct {
        const char* name;
        std::int32_t id;
    } kIds[] = {{"bos", options.bos}, {"eos", options.eos}, {"unk", options.unk}, {"pad", options.pad}};
    for (const auto& row : kIds)
        if (row.id < -1 || row.id >= vocabulary.size())
            fail(VOLTA_CORRUPT_MODEL, "the id '%s' of its tokenizer is %d, outside the vocabulary [0, %d)",
                 row.name, row.id, vocabulary.size());
    if ((options.has(kAddBos) && options.bos < 0) || (options.has(kAddEos) && options.eos < 0))
        fail(VOLTA_CORRUPT_MODEL, "its tokenizer is to add an id that it does not have");
}

void check_types(const Vocabulary& vocabulary) {
    if (vocabulary.types.empty()) return;
    if (vocabulary.types.size() != vocabulary.pieces.size())
        fail(VOLTA_CORRUPT_MODEL, "its tokenizer has %zu pieces and %zu types of pieces",
             vocabulary.pieces.size(), vocabulary.types.size());
    for (std::size_t i = 0; i < vocabulary.types.size(); ++i) {
        const PieceType type = vocabulary.types[i];
        const std::size_t bytes = vocabulary.pieces[i].size();
        if (static_cast<std::uint8_t>(type) > kLastPieceType)
            fail(VOLTA_CORRUPT_MODEL, "piece %zu of its tokenizer is of the unknown type %d", i,
                 static_cast<int>(type));
        if ((type == PieceType::control || type == PieceType::user) && bytes > kMostWholeBytes)
            fail(VOLTA_CORRUPT_MODEL,
                 "piece %zu of its tokenizer, which is found whole, has %zu bytes, more than %zu", i, bytes,
                 kMostWholeBytes);
    }
}

void check_added(const Vocabulary& vocabulary) {
    if (vocabulary.added.empty()) return;
    if (vocabulary.added.size() != vocabulary.pieces.size())
        fail(VOLTA_CORRUPT_MODEL, "its tokenizer has %zu pieces, and says how %zu are found",
             vocabulary.pieces.size(), vocabulary.added.size());
    for (std::size_t i = 0; i < vocabulary.added.size(); ++i)
        if ((vocabulary.added[i] & ~static_cast<unsigned>(kKnownAddedFlags)) != 0)
            fail(VOLTA_CORRUPT_MODEL, "piece %zu of its tokenizer is found in the unknown way %d", i,
                 vocabulary.added[i]);
}

// What holds for all kinds; the rest is the kind's own.
const KindRow& checked_row(const Vocabulary& vocabulary) {
    const KindRow* row = find_row(vocabulary.kind);
    if (row == nullptr)
        fail(VOLTA_CORRUPT_MODEL, "its tokenizer is of an unknown kind, %d",
             static_cast<int>(vocabulary.kind));
    if (vocabulary.pieces.size() > static_cast<std::size_t>(INT32_MAX))
        // unreachable: so many pieces take 80 GiB
        fail(VOLTA_CORRUPT_MODEL, "its tokenizer has %zu pieces", vocabulary.pieces.size());
    if ((parts_of(vocabulary) & ~row->parts) != 0 || (vocabulary.options.flags & ~row->flags) != 0)
        fail(VOLTA_CORRUPT_MODEL, "its %s tokenizer has parts of another kind", row->name);
    check_types(vocabulary);
    check_added(vocabulary);
    check_ids(vocabulary);
    return *row;
}

TokenizerRef make_model(Vocabulary&& vocabulary) {
    const KindRow& row = checked_row(vocabulary);
    return row.make(std::move(vocabulary));
}

// Which code points a text has. Throws where it is not UTF-8.
std::pmr::vector<bool> seen_characters(std::string_view text, std::pmr::memory_resource* heap) {
    std::pmr::vector<bool> seen(kCodePoints, false, heap);
    for (std::size_t at = 0; at < text.size();) {
        const Character character = read_character(text, at);
        if (character.bytes == 0)
            fail(VOLTA_INVALID_ARGUMENT, "the text is not UTF-8: byte 0x%02x at offset %zu",
                 static_cast<unsigned>(static_cast<unsigned char>(text[at])), at);
        seen[character.code_point] = true;
        at += character.bytes;
    }
    return seen;
}

}  // namespace

TokenizerModel::TokenizerModel(Vocabulary&& given)
    : vocabulary(std::move(given)),
      texts_(vocabulary.heap()),
      user_(vocabulary.heap()),
      special_(vocabulary.heap()) {
    for (std::int32_t id = 0; id < vocabulary.size(); ++id) {
        const std::string_view piece = vocabulary.pieces[static_cast<std::size_t>(id)];
        if (piece.empty()) continue;
        if (vocabulary.type(id) == PieceType::user) user_.add(piece, id);
        if (vocabulary.type(id) == PieceType::control) special_.add(piece, id);
    }
    user_.sort();
    special_.sort();
}

PieceIndex::Match TokenizerModel::find_whole(std::string_view text, bool special) const {
    const PieceIndex::Match user = user_.longest_prefix(text);
    const PieceIndex::Match control = special ? special_.longest_prefix(text) : PieceIndex::Match{-1, 0};
    return user.bytes >= control.bytes ? user : control;
}

void TokenizerModel::encode_all(std::string_view text, bool special, IdSink& ids) const {
    std::size_t start = 0;  // of the stretch of plain text before `at`
    for (std::size_t at = 0; at < text.size() && has_whole(special);) {
        const PieceIndex::Match match = find_whole(text.substr(at), special);
        if (match.id >= 0) {
            encode(text.substr(start, at - start), start, ids);
            ids.push(match.id);
            start = at + match.bytes;
        }
        at += match.id >= 0 ? match.bytes : 1;
    }
    encode(text.substr(start), start, ids);
}

const char* tokenizer_kind_name(TokenizerKind kind) {
    const KindRow* row = find_row(kind);
    return row != nullptr ? row->name : "unknown";
}

Tokenizer Tokenizer::make_byte(std::pmr::memory_resource* heap) {
    Vocabulary vocabulary(heap);
    vocabulary.kind = TokenizerKind::byte;
    vocabulary.pieces.reserve(kByteCount);
    for (int byte = 0; byte < kByteCount; ++byte) vocabulary.pieces.emplace_back(1, static_cast<char>(byte));
    return from_vocabulary(std::move(vocabulary));
}

Tokenizer Tokenizer::make_character(std::string_view text, std::pmr::memory_resource* heap) {
    require(!text.empty(), "the text to take characters from is empty");
    const std::pmr::vector<bool> seen = seen_characters(text, heap);
    Vocabulary vocabulary(heap);
    vocabulary.kind = TokenizerKind::character;
    for (std::uint32_t code_point = 0; code_point < kCodePoints; ++code_point) {
        if (!seen[code_point]) continue;
        char piece[4];
        vocabulary.pieces.emplace_back(piece, write_character(code_point, piece));
    }
    return from_vocabulary(std::move(vocabulary));
}

Tokenizer Tokenizer::from_vocabulary(Vocabulary&& vocabulary) {
    return Tokenizer(make_model(std::move(vocabulary)));
}

Tokenizer::Tokenizer(std::shared_ptr<const TokenizerModel> model) : model_(std::move(model)) {}
Tokenizer::Tokenizer(const Tokenizer& other, std::pmr::memory_resource* heap)
    : model_(make_model(Vocabulary(other.vocabulary(), heap))) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

const Vocabulary& Tokenizer::vocabulary() const { return model_->vocabulary; }

std::string_view Tokenizer::piece(std::int32_t id) const {
    require(id >= 0 && id < size(), "token id %d is outside the vocabulary [0, %d)", static_cast<int>(id),
            static_cast<int>(size()));
    return model_->text(id);
}

std::string_view Tokenizer::piece_after(std::int32_t previous, std::int32_t id) const {
    require(previous >= -1 && previous < size(), "token id %d is outside the vocabulary [0, %d)",
            static_cast<int>(previous), static_cast<int>(size()));
    require(id >= 0 && id < size(), "token id %d is outside the vocabulary [0, %d)", static_cast<int>(id),
            static_cast<int>(size()));
    return model_->text_after(previous, id);
}

std::size_t Tokenizer::encode(std::string_view text, std::int32_t* ids, std::size_t capacity,
                              const EncodeOptions& options) const {
    if (options.pair != nullptr || options.most != 0 || options.segments != nullptr)
        return encode_fitted(text, ids, capacity, options);
    IdSink sink(ids, capacity);
    const TokenizerOptions& ends = vocabulary().options;
    if (options.ends && ends.has(kAddBos)) sink.push(ends.bos);
    model_->encode_all(text, options.special, sink);
    if (options.ends && ends.has(kAddEos)) sink.push(ends.eos);
    return sink.count();
}

namespace {

struct Lengths {
    std::size_t first, second;
};

// What transformers' "longest_first" keeps of two texts: the longer one loses until both are of one length,
// then both do, and of an odd number the longer one keeps one more.
Lengths longest_first(Lengths whole, std::size_t most) {
    if (whole.first <= most && whole.second <= most - whole.first) return whole;
    const bool first_is_longer = whole.first > whole.second;
    const std::size_t shorter = first_is_longer ? whole.second : whole.first, half = most / 2;
    const std::size_t least = shorter < half ? shorter : half;
    return first_is_longer ? Lengths{most - least, least} : Lengths{least, most - least};
}

}  // namespace

// A pair, a limit, segments. Texts are encoded twice, first to count, so that nothing is allocated.
std::size_t Tokenizer::encode_fitted(std::string_view text, std::int32_t* ids, std::size_t capacity,
                                     const EncodeOptions& options) const {
    const TokenizerOptions& ends = vocabulary().options;
    const bool bos = options.ends && ends.has(kAddBos), eos = options.ends && ends.has(kAddEos);
    const std::size_t between = eos ? (ends.has(kTwoEosBetween) ? 2 : 1) : 0;
    if (options.pair != nullptr && options.ends && ends.has(kNoPairs))
        fail(VOLTA_UNSUPPORTED, "the tokenizer's file puts two texts together in a way that is not known");
    const auto count = [&](std::string_view part) {
        IdSink none(nullptr, 0);
        model_->encode_all(part, options.special, none);
        return none.count();
    };
    Lengths kept = {count(text), options.pair != nullptr ? count(*options.pair) : 0};
    if (options.most != 0) {
        const std::size_t around =
            (bos ? 1u : 0u) + (eos ? 1u : 0u) + (options.pair != nullptr ? between : 0u);
        require(options.most >= around, "max_tokens is %zu, and %zu ids stand around the text", options.most,
                around);
        kept = longest_first(kept, options.most - around);
    }
    IdSink sink(ids, capacity);
    const auto put = [&](std::string_view part, std::size_t most) {
        IdSink begun = sink.next(most);
        model_->encode_all(part, options.special, begun);
        sink.skip(most);
    };
    if (bos) sink.push(ends.bos);
    put(text, kept.first);
    for (std::size_t i = 0; options.pair != nullptr && i < between; ++i) sink.push(ends.eos);
    const std::size_t first = options.pair != nullptr ? sink.count() : SIZE_MAX;
    if (options.pair != nullptr) put(*options.pair, kept.second);
    if (eos) sink.push(ends.eos);
    for (std::size_t i = 0; options.segments != nullptr && i < capacity && i < sink.count(); ++i)
        options.segments[i] = i < first ? 0 : 1;
    return sink.count();
}

}  // namespace volta
