// The kind wordpiece, as BERT has it. A text is cleaned, cut into words at white space and Chinese
// characters, its letters are made small and lose their accents, it is cut at signs, and each word is covered
// from the left by the longest pieces.
#include <algorithm>
#include <memory>

#include "engine/base/error.h"
#include "engine/model/normaliser.h"
#include "engine/model/text.h"
#include "engine/model/tokenizer_model.h"
#include "engine/model/unicode.h"

namespace volta {
namespace {

constexpr std::string_view kContinuation = "##";
constexpr std::uint32_t kMostWordCharacters = 1000;  // bounds what one word costs, whatever the vocabulary

// White space that is no control character, and tab and line ends.
bool is_space(std::uint32_t c) {
    return c == '\t' || c == '\n' || c == '\r' || c == ' ' || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
           c == 0x3000;
}

// The character small and without accents. Visit: void(std::uint32_t code_point)
template <class Visit>
void visit_folded(std::uint32_t c, const Visit& visit) {
    std::uint32_t folded[kMostFolded];
    const int count = fold(c, folded);
    for (int i = 0; i < count; ++i) visit(folded[i]);
}

class WordPieceModel final : public TokenizerModel {
  public:
    explicit WordPieceModel(Vocabulary&& given)
        : TokenizerModel(std::move(given)), beginnings_(vocabulary.heap()), endings_(vocabulary.heap()) {
        space_prefix_ = true;
        if (vocabulary.options.unk < 0)
            fail(VOLTA_CORRUPT_MODEL, "its wordpiece tokenizer has no piece for unknown words");
        const std::uint32_t most = vocabulary.options.most_word_characters;
        if (most == 0 || most > kMostWordCharacters)
            fail(VOLTA_CORRUPT_MODEL,
                 "its wordpiece tokenizer allows words of %u characters; 1 to %u are possible", most,
                 kMostWordCharacters);
        index_pieces();
        write_texts();
    }

    // What is not UTF-8 is left out, like control characters.
    void encode(std::string_view text, std::size_t, IdSink& ids) const override {
        Word word(vocabulary.heap());
        for (std::size_t at = 0; at < text.size();) {
            const Character character = read_character(text, at);
            at += std::max<std::size_t>(1, character.bytes);
            const std::uint32_t c = character.code_point;
            if (character.bytes == 0 || c == 0xfffd || is_dropped_control(c)) continue;
            if (is_space(c)) {
                finish(word, ids);
            } else if (is_chinese(c)) {
                finish(word, ids);
                take(word, c, ids);
                finish(word, ids);
            } else {
                take(word, c, ids);
            }
        }
        finish(word, ids);
    }

  private:
    struct Word {
        explicit Word(std::pmr::memory_resource* heap) : text(heap) {}
        std::pmr::string text;
        std::uint32_t characters = 0;  // at most one more than a word may have; the text then stops growing
    };

    // Signs are looked for behind the folding, as BERT does: what is left of U+2260 is the sign "=".
    void take(Word& word, std::uint32_t c, IdSink& ids) const {
        const auto take_one = [&](std::uint32_t one) {
            const bool sign = is_sign(one);
            if (sign) finish(word, ids);
            add(word, one);
            if (sign) finish(word, ids);
        };
        if (vocabulary.options.has(kLowerCase))
            visit_folded(c, take_one);
        else
            take_one(c);
    }

    void add(Word& word, std::uint32_t c) const {
        if (word.characters > vocabulary.options.most_word_characters) return;
        append_character(c, &word.text);
        ++word.characters;
    }

    void finish(Word& word, IdSink& ids) const {
        if (!word.text.empty()) push_word(word, ids);
        word.text.clear();
        word.characters = 0;
    }

    void push_word(const Word& word, IdSink& ids) const {
        if (word.characters > vocabulary.options.most_word_characters || !covered(word.text))
            return ids.push(vocabulary.options.unk);
        cover(word.text, [&](std::int32_t id) { ids.push(id); });
    }

    bool covered(std::string_view word) const {
        return cover(word, [](std::int32_t) {});
    }

    template <class Visit>  // Visit: void(std::int32_t id)
    bool cover(std::string_view word, const Visit& visit) const {
        for (bool first = true; !word.empty(); first = false) {
            const PieceIndex::Match match = (first ? beginnings_ : endings_).longest_prefix(word);
            if (match.id < 0) return false;
            visit(match.id);
            word.remove_prefix(match.bytes);
        }
        return true;
    }

    // Which piece begins words, and what it is without its mark.
    struct Part {
        bool begins;
        std::string_view text;
    };
    Part part(std::int32_t id) const {
        const std::string_view piece = vocabulary.pieces[static_cast<std::size_t>(id)];
        const bool prefixed = vocabulary.options.has(kWordPrefix);
        const std::string_view mark = prefixed ? std::string_view(kWordMark) : kContinuation;
        const bool marked = piece.size() > mark.size() && piece.substr(0, mark.size()) == mark;
        return {marked == prefixed, marked ? piece.substr(mark.size()) : piece};
    }

    void index_pieces() {
        for (std::int32_t id = 0; id < vocabulary.size(); ++id) {
            if (vocabulary.type(id) != PieceType::normal) continue;
            const Part piece = part(id);
            if (!piece.text.empty()) (piece.begins ? beginnings_ : endings_).add(piece.text, id);
        }
        beginnings_.sort();
        endings_.sort();
    }

    void write_texts() {
        texts_.reserve(vocabulary.pieces.size());
        for (std::int32_t id = 0; id < vocabulary.size(); ++id) {
            texts_.emplace_back();
            if (vocabulary.type(id) == PieceType::control) continue;
            const Part piece = part(id);
            if (piece.begins || vocabulary.type(id) != PieceType::normal) texts_.back() += ' ';
            texts_.back() += piece.text;
        }
    }

    PieceIndex beginnings_, endings_;
};

}  // namespace

TokenizerRef make_wordpiece_model(Vocabulary&& vocabulary) {
    return share_tokenizer<WordPieceModel>(std::move(vocabulary));
}

}  // namespace volta
