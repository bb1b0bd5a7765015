// The kinds of SentencePiece's own files: its normaliser, then over the whole text pairs by score, or the
// pieces of the highest sum of scores. What files without a normaliser need is the kind spm
// (tokenizer_spm.cpp).
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "engine/base/error.h"
#include "engine/model/character_map.h"
#include "engine/model/merge_symbols.h"
#include "engine/model/normaliser.h"
#include "engine/model/piece_texts.h"
#include "engine/model/text.h"
#include "engine/model/tokenizer_model.h"

namespace volta {
namespace {

std::size_t character_bytes(std::string_view text, std::size_t at) {
    return std::max<std::size_t>(1, read_character(text, at).bytes);
}

const TextStep& checked_step(const Vocabulary& vocabulary) {
    if (vocabulary.normalisers.size() != 1 || !vocabulary.cutters.empty() || !vocabulary.decoders.empty() ||
        !vocabulary.added.empty() ||
        vocabulary.normalisers[0].kind != static_cast<std::uint8_t>(NormaliserKind::sentencepiece))
        fail(VOLTA_CORRUPT_MODEL, "its tokenizer of SentencePiece has the steps of another kind");
    const TextStep& step = vocabulary.normalisers[0];
    if ((step.number & ~static_cast<std::uint32_t>(kKnownSentencePieceFlags)) != 0)
        fail(VOLTA_CORRUPT_MODEL, "the normaliser of its tokenizer has the number %u", step.number);
    return step;
}

class SentencePieceModel : public TokenizerModel {
  public:
    explicit SentencePieceModel(Vocabulary&& given)
        : TokenizerModel(std::move(given)),
          index_(vocabulary.heap()),
          step_(checked_step(vocabulary)),
          map_(step_.first),
          own_(vocabulary.heap()),
          control_(vocabulary.heap()) {
        bytes_.fill(-1);
        check();
        for (std::int32_t id = 0; id < vocabulary.size(); ++id) add_piece(id);
        index_.sort();
        own_.sort();
        control_.sort();
        write_texts();
    }

    // Each stretch between names of control pieces is a text of its own.
    void encode_all(std::string_view text, bool special, IdSink& ids) const override {
        std::size_t start = 0;
        for (std::size_t at = 0; special && !control_.empty() && at < text.size();) {
            const PieceIndex::Match match = control_.longest_prefix(text.substr(at));
            if (match.id >= 0) {
                encode(text.substr(start, at - start), start, ids);
                ids.push(match.id);
                start = at + match.bytes;
            }
            at += match.id >= 0 ? match.bytes : 1;
        }
        encode(text.substr(start), start, ids);
    }

    void encode(std::string_view text, std::size_t, IdSink& ids) const override {
        if (text.size() >= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
            fail(VOLTA_INVALID_ARGUMENT, "the text has %zu bytes, too many for its tokenizer", text.size());
        const std::pmr::string normal = normalised(text);
        Output output(*this, ids);
        if (!normal.empty()) encode_normal(normal, output);
    }

    std::string_view text_after(std::int32_t previous, std::int32_t id) const override {
        const std::string_view whole = text(id);
        const bool begins = previous < 0 || vocabulary.type(previous) == PieceType::control;
        const bool drops = (step_.number & (kDummyPrefix | kDummySuffix | kFewSpaces)) != 0;
        return begins && drops && !whole.empty() && whole[0] == ' ' &&
                       vocabulary.type(id) != PieceType::unknown
                   ? whole.substr(1)
                   : whole;
    }

  protected:
    // Takes pieces from left to right. What is unknown becomes bytes, or one unknown piece for all beside
    // each other.
    class Output {
      public:
        Output(const SentencePieceModel& model, IdSink& ids) : model_(model), ids_(ids) {}
        void push(std::int32_t id, std::string_view text) {
            const bool unknown = id < 0;
            if (!unknown)
                ids_.push(id);
            else if (model_.vocabulary.options.has(kByteFallback))
                for (const char c : text) ids_.push(model_.bytes_[static_cast<unsigned char>(c)]);
            else if (!after_unknown_)
                ids_.push(model_.vocabulary.options.unk);
            after_unknown_ = unknown;
        }

      private:
        const SentencePieceModel& model_;
        IdSink& ids_;
        bool after_unknown_ = false;
    };

    virtual void encode_normal(std::string_view text, Output& output) const = 0;

    PieceIndex::Match own_piece(std::string_view text) const { return own_.longest_prefix(text); }

    PieceIndex index_;  // of the pieces that words are made of, the user's own too

  private:
    bool has(SentencePieceFlag flag) const { return (step_.number & flag) != 0; }

    void check() const {
        if (vocabulary.scores.size() != vocabulary.pieces.size())
            fail(VOLTA_CORRUPT_MODEL, "its tokenizer of SentencePiece has %zu pieces and %zu scores",
                 vocabulary.pieces.size(), vocabulary.scores.size());
        for (std::size_t i = 0; i < vocabulary.scores.size(); ++i)
            if (!(std::fabs(vocabulary.scores[i]) <= kMostScore))
                fail(VOLTA_CORRUPT_MODEL, "the score of piece %zu of its tokenizer is beyond %g", i,
                     static_cast<double>(kMostScore));
        if (vocabulary.options.unk < 0)
            fail(VOLTA_CORRUPT_MODEL, "its tokenizer of SentencePiece has no piece for what is unknown");
    }

    void add_piece(std::int32_t id) {
        const std::string_view piece = vocabulary.pieces[static_cast<std::size_t>(id)];
        const PieceType type = vocabulary.type(id);
        if (piece.empty()) fail(VOLTA_CORRUPT_MODEL, "piece %d of its tokenizer is empty", id);
        if (piece.size() > kMostSoughtBytes)
            fail(VOLTA_CORRUPT_MODEL, "piece %d of its tokenizer has %zu bytes, more than %zu", id,
                 piece.size(), kMostSoughtBytes);
        if (type == PieceType::normal || type == PieceType::user) index_.add(piece, id);
        if (type == PieceType::user) own_.add(piece, id);
        if (type == PieceType::control) control_.add(piece, id);
        if (type != PieceType::byte) return;
        const int byte = byte_of_piece(piece);
        if (byte < 0) fail(VOLTA_CORRUPT_MODEL, "piece %d of its tokenizer is no byte like <0x0A>", id);
        if (bytes_[static_cast<std::size_t>(byte)] < 0) bytes_[static_cast<std::size_t>(byte)] = id;
    }

    void write_texts() {
        const auto missing = std::find(bytes_.begin(), bytes_.end(), -1);
        if (vocabulary.options.has(kByteFallback) && missing != bytes_.end())
            fail(VOLTA_CORRUPT_MODEL, "its tokenizer has no piece for the byte %d",
                 static_cast<int>(missing - bytes_.begin()));
        texts_.reserve(vocabulary.pieces.size());
        for (std::int32_t id = 0; id < vocabulary.size(); ++id) {
            const std::string_view piece = vocabulary.pieces[static_cast<std::size_t>(id)];
            texts_.emplace_back();
            switch (vocabulary.type(id)) {
                case PieceType::control:
                    break;
                case PieceType::byte:
                    texts_.back().assign(1, static_cast<char>(byte_of_piece(piece)));
                    break;
                case PieceType::unknown:
                    texts_.back() = step_.second;
                    break;
                default:
                    append_replaced(piece, kWordMark, " ", &texts_.back());
            }
        }
    }

    // ---- SentencePiece's normaliser

    // What the start of a text becomes, and how much of it that is.
    struct Part {
        std::string_view text;
        std::size_t bytes;
    };
    Part normal_part(std::string_view text) const {
        const PieceIndex::Match own = own_.longest_prefix(text);
        if (own.id >= 0) return {text.substr(0, own.bytes), own.bytes};
        const CharacterMap::Rule rule = map_.longest(text);
        if (rule.bytes > 0) return {rule.text, rule.bytes};
        const std::size_t bytes = read_character(text, 0).bytes;
        if (bytes > 0) return {text.substr(0, bytes), bytes};
        return {"\xef\xbf\xbd", 1};  // U+FFFD for what is no UTF-8
    }

    std::pmr::string normalised(std::string_view text) const {
        const std::size_t most = most_normalised_bytes(text.size());
        std::pmr::string out(vocabulary.heap());
        const std::string_view space = has(kEscapedSpaces) ? kWordMark : " ";
        while (has(kFewSpaces) && !text.empty()) {
            const Part part = normal_part(text);
            if (part.text != " ") break;
            text.remove_prefix(part.bytes);
        }
        if (text.empty()) return out;
        if (has(kDummyPrefix)) out += space;
        for (bool after_space = has(kFewSpaces); !text.empty();) {
            const Part part = normal_part(text);
            text.remove_prefix(part.bytes);
            std::string_view made = part.text;
            while (after_space && !made.empty() && made[0] == ' ') made.remove_prefix(1);
            append_replaced(made, " ", space, &out);
            if (out.size() > most)
                fail(VOLTA_INVALID_ARGUMENT,
                     "the text has more than %zu bytes when it is normalised; that many are possible", most);
            if (!made.empty()) after_space = has(kFewSpaces) && made.back() == ' ';
        }
        while (has(kFewSpaces) && out.size() >= space.size() &&
               out.compare(out.size() - space.size(), space.size(), space) == 0)
            out.resize(out.size() - space.size());
        if (has(kDummySuffix)) out += space;
        return out;
    }

    static constexpr float kMostScore = 1e30f;
    const TextStep& step_;
    CharacterMap map_;
    PieceIndex own_, control_;
    std::array<std::int32_t, 256> bytes_{};  // ids of the byte pieces; -1: none
};

// Pieces of the user's are never merged with anything.
class PairsModel final : public SentencePieceModel {
  public:
    using SentencePieceModel::SentencePieceModel;

  private:
    void encode_normal(std::string_view text, Output& output) const override {
        SymbolMerger merger(vocabulary.heap());
        std::size_t start = 0;  // of the stretch before `at`
        for (std::size_t at = 0; at < text.size();) {
            const PieceIndex::Match own = own_piece(text.substr(at));
            if (own.id < 0) {
                at += character_bytes(text, at);
                continue;
            }
            merge(text.substr(start, at - start), merger, output);
            output.push(own.id, text.substr(at, own.bytes));
            start = at += own.bytes;
        }
        merge(text.substr(start), merger, output);
    }

    void merge(std::string_view text, SymbolMerger& merger, Output& output) const {
        merger.clear();
        for (std::size_t at = 0, bytes; at < text.size(); at += bytes) {
            bytes = character_bytes(text, at);
            merger.add(at, bytes, index_.find(text.substr(at, bytes)));
        }
        merger.merge([&](const Symbol& left, const Symbol& right) -> PairCost {
            const std::int32_t id = index_.find(text.substr(left.start, left.bytes + right.bytes));
            return {id, id < 0 ? 0.0 : -static_cast<double>(vocabulary.scores[static_cast<std::size_t>(id)])};
        });
        merger.each(
            [&](const Symbol& symbol) { output.push(symbol.id, text.substr(symbol.start, symbol.bytes)); });
    }
};

// Sums are floats, as SentencePiece has them: where two ways are equally good, that decides.
class UnigramPiecesModel final : public SentencePieceModel {
  public:
    explicit UnigramPiecesModel(Vocabulary&& given) : SentencePieceModel(std::move(given)) {
        float least = std::numeric_limits<float>::max();
        most_score_ = std::numeric_limits<float>::min();
        for (std::int32_t id = 0; id < vocabulary.size(); ++id) {
            if (vocabulary.type(id) != PieceType::normal) continue;
            const float score = vocabulary.scores[static_cast<std::size_t>(id)];
            least = std::min(least, score);
            most_score_ = std::max(most_score_, score);
        }
        unknown_score_ = least - 10.0f;
    }

  private:
    static constexpr std::int32_t kNothing = -1, kUnknown = -2;
    struct Node {
        float score;
        std::int32_t id, start;
    };

    float score_of(const PieceIndex::Match& piece) const {
        if (vocabulary.type(piece.id) == PieceType::user)
            return static_cast<float>(static_cast<double>(static_cast<float>(piece.bytes) * most_score_) -
                                      0.1);
        return vocabulary.scores[static_cast<std::size_t>(piece.id)];
    }

    static void offer(Node& node, float score, std::size_t start, std::int32_t id) {
        if (node.id == kNothing || score > node.score) node = {score, id, static_cast<std::int32_t>(start)};
    }

    void encode_normal(std::string_view text, Output& output) const override {
        std::pmr::vector<Node> nodes(text.size() + 1, Node{0, kNothing, 0}, vocabulary.heap());
        for (std::size_t at = 0, bytes; at < text.size(); at += bytes) {
            bytes = character_bytes(text, at);
            const float here = nodes[at].score;
            bool alone = false;
            index_.each_prefix(text.substr(at), [&](const PieceIndex::Match& piece) {
                offer(nodes[at + piece.bytes], score_of(piece) + here, at, piece.id);
                alone = alone || piece.bytes == bytes;
            });
            if (!alone) offer(nodes[at + bytes], unknown_score_ + here, at, kUnknown);
        }
        push_best(text, nodes, output);
    }

    // The starts of the best way's pieces are found from the end; each node then points at the next.
    static void push_best(std::string_view text, std::pmr::vector<Node>& nodes, Output& output) {
        std::size_t next = text.size();
        for (std::size_t end = text.size(); end > 0;) {
            const auto start = static_cast<std::size_t>(nodes[end].start);
            nodes[end].start = static_cast<std::int32_t>(next);  // of the piece behind the one that ends here
            next = end;
            end = start;
        }
        std::size_t at = 0;
        while (at < text.size()) {
            const std::size_t end = next;
            next = static_cast<std::size_t>(nodes[end].start);
            output.push(nodes[end].id == kUnknown ? -1 : nodes[end].id, text.substr(at, end - at));
            at = end;
        }
    }

    float unknown_score_ = 0, most_score_ = 0;
};

}  // namespace

TokenizerRef make_sentencepiece_model(Vocabulary&& vocabulary) {
    if (vocabulary.kind == TokenizerKind::sentencepiece_pairs)
        return share_tokenizer<PairsModel>(std::move(vocabulary));
    return share_tokenizer<UnigramPiecesModel>(std::move(vocabulary));
}

}  // namespace volta
