#include "engine/model/word_models.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/base/error.h"
#include "engine/model/merge_table.h"
#include "engine/model/piece_texts.h"
#include "engine/model/text.h"

namespace volta {
namespace {

constexpr std::uint32_t kMostWordCharacters = 1000;  // bounds what one word costs, whatever the vocabulary

std::size_t character_bytes(std::string_view text, std::size_t at) {
    return std::max<std::size_t>(1, read_character(text, at).bytes);
}

// What is common: the pieces that words are made of, the pieces of bytes, what is unknown.
class PieceModel : public WordModel {
  public:
    explicit PieceModel(const Vocabulary& given) : vocabulary(given), index(given.heap()) {
        bytes_.fill(-1);
        for (std::int32_t id = 0; id < vocabulary.size(); ++id) {
            if (vocabulary.type(id) == PieceType::byte) add_byte(id);
            if (!vocabulary.in_model(id)) continue;
            const std::string_view piece = vocabulary.pieces[static_cast<std::size_t>(id)];
            if (!piece.empty()) index.add(piece, id);
        }
        index.sort();
    }

    void encode_byte(unsigned char byte, IdSink& ids) const override {
        const char text = static_cast<char>(byte);
        if (!push_bytes(std::string_view(&text, 1), ids)) ids.push(unknown(std::string_view(&text, 1)));
    }

  protected:
    // Whether all bytes of `text` are pieces, and these then its ids.
    bool push_bytes(std::string_view text, IdSink& ids) const {
        if (!has_bytes(text)) return false;
        for (const char c : text) ids.push(byte_id(c));
        return true;
    }
    bool has_bytes(std::string_view text) const {
        return vocabulary.options.has(kByteFallback) &&
               std::all_of(text.begin(), text.end(), [&](char c) { return byte_id(c) >= 0; });
    }
    std::int32_t byte_id(char c) const { return bytes_[static_cast<unsigned char>(c)]; }

    std::int32_t unknown(std::string_view text) const {
        if (vocabulary.options.unk >= 0) return vocabulary.options.unk;
        const ShownName name = shown(text);
        if (find_invalid_utf8(text) != text.size())
            fail(VOLTA_INVALID_ARGUMENT,
                 "the vocabulary lacks the byte 0x%02x of the text, and a piece for what is unknown",
                 static_cast<unsigned>(static_cast<unsigned char>(text[0])));
        fail(VOLTA_INVALID_ARGUMENT,
             "the vocabulary lacks '%.*s' of the text, and a piece for what is unknown", name.bytes,
             name.text);
    }

    const Vocabulary& vocabulary;
    PieceIndex index;

  private:
    void add_byte(std::int32_t id) {
        const int byte = byte_of_piece(vocabulary.pieces[static_cast<std::size_t>(id)]);
        if (byte < 0) fail(VOLTA_CORRUPT_MODEL, "piece %d of its tokenizer is no byte like <0x0A>", id);
        if (bytes_[static_cast<std::size_t>(byte)] < 0) bytes_[static_cast<std::size_t>(byte)] = id;
    }

    std::array<std::int32_t, 256> bytes_{};  // -1: none
};

// Characters, or raw bytes, are merged, the pair of the lowest rank first.
class PairModel final : public PieceModel {
  public:
    explicit PairModel(const Vocabulary& given) : PieceModel(given), merges_(given.heap()) {
        merges_.fill(given, index);
        for (std::size_t byte = 0; byte < raw_.size(); ++byte) {
            const char piece = static_cast<char>(byte);
            raw_[byte] = index.find(std::string_view(&piece, 1));
        }
    }

    void encode(std::string_view word, WordScratch& scratch, IdSink& ids) const override {
        if (vocabulary.options.has(kWholeWords)) {
            const std::int32_t whole = index.find(word);
            if (whole >= 0) return ids.push(whole);
        }
        scratch.merger.clear();
        if (vocabulary.options.has(kBytePieces))
            add_bytes(word, scratch.merger);
        else
            add_characters(word, scratch.merger);
        scratch.merger.merge([&](const Symbol& a, const Symbol& b) { return merges_.find(a.id, b.id); });
        scratch.merger.each([&](const Symbol& symbol) { ids.push(symbol.id); });
    }

    void encode_byte(unsigned char byte, IdSink& ids) const override {
        if (!vocabulary.options.has(kBytePieces)) return PieceModel::encode_byte(byte, ids);
        const char text = static_cast<char>(byte);
        ids.push(raw_[byte] >= 0 ? raw_[byte] : unknown(std::string_view(&text, 1)));
    }

  private:
    void add_bytes(std::string_view word, SymbolMerger& merger) const {
        for (std::size_t i = 0; i < word.size(); ++i) {
            const std::int32_t id = raw_[static_cast<unsigned char>(word[i])];
            merger.add(i, 1, id >= 0 ? id : unknown(word.substr(i, 1)));
        }
    }

    // Unknown characters beside each other are one symbol where the vocabulary asks for it.
    void add_characters(std::string_view word, SymbolMerger& merger) const {
        std::size_t unknown_start = 0, unknown_bytes = 0;
        const auto flush = [&] {
            if (unknown_bytes > 0) merger.add(unknown_start, unknown_bytes, vocabulary.options.unk);
            unknown_bytes = 0;
        };
        for (std::size_t at = 0, bytes; at < word.size(); at += bytes) {
            bytes = character_bytes(word, at);
            const std::string_view character = word.substr(at, bytes);
            const std::int32_t id = index.find(character);
            if (id >= 0) {
                flush();
                merger.add(at, bytes, id);
            } else if (has_bytes(character)) {
                flush();
                for (std::size_t i = 0; i < bytes; ++i) merger.add(at + i, 1, byte_id(word[at + i]));
            } else {
                static_cast<void>(unknown(character));
                if (!vocabulary.options.has(kFuseUnknown)) flush();
                if (unknown_bytes == 0) unknown_start = at;
                unknown_bytes += bytes;
            }
        }
        flush();
    }

    MergeTable merges_;
    std::array<std::int32_t, 256> raw_{};  // ids of the pieces of one raw byte; -1: none
};

// The way through a word whose pieces have the highest sum of scores.
class UnigramModel final : public PieceModel {
  public:
    explicit UnigramModel(const Vocabulary& given) : PieceModel(given) {
        const auto& scores = given.wide_scores;
        if (scores.size() != given.pieces.size())
            fail(VOLTA_CORRUPT_MODEL, "its unigram tokenizer has %zu pieces and %zu scores",
                 given.pieces.size(), scores.size());
        for (std::size_t i = 0; i < scores.size(); ++i)
            if (!(std::fabs(scores[i]) <= kMostScore))
                fail(VOLTA_CORRUPT_MODEL, "the score of piece %zu of its tokenizer is beyond %g", i,
                     kMostScore);
        for (std::int32_t id = 0; id < given.size(); ++id)
            if (given.pieces[static_cast<std::size_t>(id)].size() > kMostSoughtBytes)
                fail(VOLTA_CORRUPT_MODEL, "piece %d of its tokenizer has more than %zu bytes", id,
                     kMostSoughtBytes);
        constexpr double kUnknownPenalty = 10;
        unknown_score_ =
            (scores.empty() ? 0 : *std::min_element(scores.begin(), scores.end())) - kUnknownPenalty;
    }

    void encode(std::string_view word, WordScratch& scratch, IdSink& ids) const override {
        find_ways(word, scratch.nodes);
        scratch.ids.clear();
        // From the end to the start; what is unknown is -1 - its number of bytes.
        for (std::size_t end = word.size(); end > 0;) {
            const WordScratch::Node& node = scratch.nodes[end];
            if (node.id != kUnknown)
                scratch.ids.push_back(node.id);
            else
                add_unknown(static_cast<std::int32_t>(end - node.start), scratch.ids);
            end = node.start;
        }
        push(word, scratch.ids, ids);
    }

  private:
    static constexpr std::int32_t kNothing = -1, kUnknown = -2;
    static constexpr double kMostScore = 1e30;

    void find_ways(std::string_view word, std::pmr::vector<WordScratch::Node>& nodes) const {
        if (word.size() >= static_cast<std::size_t>(INT32_MAX))
            fail(VOLTA_INVALID_ARGUMENT, "a word of the text has %zu bytes", word.size());
        nodes.assign(word.size() + 1, {0, 0, kNothing});
        for (std::size_t at = 0, bytes; at < word.size(); at += bytes) {
            bytes = character_bytes(word, at);
            const double here = nodes[at].score;
            bool alone = false;
            index.each_prefix(word.substr(at), [&](const PieceIndex::Match& piece) {
                offer(nodes[at + piece.bytes],
                      here + vocabulary.wide_scores[static_cast<std::size_t>(piece.id)], at, piece.id);
                alone = alone || piece.bytes == bytes;
            });
            if (!alone) offer(nodes[at + bytes], here + unknown_score_, at, kUnknown);
        }
    }

    static void offer(WordScratch::Node& node, double score, std::size_t start, std::int32_t id) {
        if (node.id == kNothing || score > node.score) node = {score, start, id};
    }

    void add_unknown(std::int32_t bytes, std::pmr::vector<std::int32_t>& ids) const {
        if (vocabulary.options.has(kFuseUnknown) && !ids.empty() && ids.back() < 0)
            ids.back() -= bytes;
        else
            ids.push_back(-1 - bytes);
    }

    void push(std::string_view word, const std::pmr::vector<std::int32_t>& backwards, IdSink& ids) const {
        std::size_t at = 0;
        for (auto id = backwards.rbegin(); id != backwards.rend(); ++id) {
            const std::size_t bytes = *id < 0 ? static_cast<std::size_t>(-1 - *id)
                                              : vocabulary.pieces[static_cast<std::size_t>(*id)].size();
            const std::string_view part = word.substr(at, bytes);
            if (*id >= 0)
                ids.push(*id);
            else if (!push_bytes(part, ids))
                ids.push(unknown(part));
            at += bytes;
        }
    }

    double unknown_score_ = 0;
};

// A word is covered from the left by the longest pieces, or unknown as a whole.
class CoverModel final : public PieceModel {
  public:
    explicit CoverModel(const Vocabulary& given) : PieceModel(given), endings_(given.heap()) {
        const std::uint32_t most = given.options.most_word_characters;
        if (most == 0 || most > kMostWordCharacters)
            fail(VOLTA_CORRUPT_MODEL,
                 "its wordpiece tokenizer allows words of %u characters; 1 to %u are possible", most,
                 kMostWordCharacters);
        const std::string_view mark = given.continuation;
        for (std::int32_t id = 0; id < given.size(); ++id) {
            const std::string_view piece = given.pieces[static_cast<std::size_t>(id)];
            if (given.in_model(id) && piece.size() > mark.size() && piece.substr(0, mark.size()) == mark)
                endings_.add(piece.substr(mark.size()), id);
        }
        endings_.sort();
    }

    void encode(std::string_view word, WordScratch& scratch, IdSink& ids) const override {
        scratch.ids.clear();
        if (!cover(word, scratch.ids)) return ids.push(unknown(word));
        for (const std::int32_t id : scratch.ids) ids.push(id);
    }

  private:
    bool cover(std::string_view word, std::pmr::vector<std::int32_t>& ids) const {
        std::uint32_t characters = 0;
        for (std::size_t at = 0; at < word.size(); at += character_bytes(word, at))
            if (++characters > vocabulary.options.most_word_characters) return false;
        for (bool first = true; !word.empty(); first = false) {
            const PieceIndex::Match match = (first ? index : endings_).longest_prefix(word);
            if (match.id < 0) return false;
            ids.push_back(match.id);
            word.remove_prefix(match.bytes);
        }
        return true;
    }

    PieceIndex endings_;
};

class WholeModel final : public PieceModel {
  public:
    using PieceModel::PieceModel;
    void encode(std::string_view word, WordScratch&, IdSink& ids) const override {
        const std::int32_t id = index.find(word);
        ids.push(id >= 0 ? id : unknown(word));
    }
};

template <class Model>
WordModelRef share(const Vocabulary& vocabulary) {
    return std::allocate_shared<Model>(std::pmr::polymorphic_allocator<Model>(vocabulary.heap()), vocabulary);
}

}  // namespace

WordModelRef make_word_model(const Vocabulary& vocabulary) {
    switch (vocabulary.kind) {
        case TokenizerKind::stepped_bpe:
            return share<PairModel>(vocabulary);
        case TokenizerKind::unigram:
            return share<UnigramModel>(vocabulary);
        case TokenizerKind::stepped_wordpiece:
            return share<CoverModel>(vocabulary);
        default:
            return share<WholeModel>(vocabulary);
    }
}

}  // namespace volta
