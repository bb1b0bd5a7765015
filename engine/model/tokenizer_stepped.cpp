// The kinds with steps, as Hugging Face's tokenizer.json has them: pieces that are found whole, steps that
// normalise a text, steps that cut it into words, a model that makes ids of each, and steps that make a text
// of pieces.
#include <algorithm>

#include "engine/base/error.h"
#include "engine/model/added_pieces.h"
#include "engine/model/cutter.h"
#include "engine/model/normaliser.h"
#include "engine/model/piece_texts.h"
#include "engine/model/text.h"
#include "engine/model/tokenizer_model.h"
#include "engine/model/word_models.h"

namespace volta {
namespace {

class SteppedModel final : public TokenizerModel {
  public:
    explicit SteppedModel(Vocabulary&& given)
        : TokenizerModel(std::move(given)),
          raw_(vocabulary),
          normalised_(vocabulary),
          normaliser_(vocabulary.normalisers),
          cutter_(vocabulary.cutters, vocabulary.options.has(kBytePieces)),
          model_(make_word_model(vocabulary)),
          firsts_(vocabulary.heap()) {
        index_added();
        PieceTexts made =
            make_piece_texts(vocabulary, normalised_.texts());  // these are shown as they are found
        texts_ = std::move(made.texts);
        firsts_ = std::move(made.firsts);
    }

    void encode_all(std::string_view text, bool special, IdSink& ids) const override {
        Call call(*this, text, special, ids);
        raw_.each_stretch(text, special, [&](std::string_view stretch, std::int32_t id) {
            if (id >= 0)
                ids.push(id);
            else
                encode_stretch(stretch, stretch.data() == text.data(), call);
        });
    }

    // unreachable: only encode_all calls it, that of other kinds
    void encode(std::string_view text, std::size_t, IdSink& ids) const override {
        encode_all(text, false, ids);
    }

    std::string_view text_after(std::int32_t previous, std::int32_t id) const override {
        if (previous >= 0 && vocabulary.type(previous) != PieceType::control) return text(id);
        const auto at =
            std::lower_bound(firsts_.begin(), firsts_.end(), id,
                             [](const auto& row, std::int32_t wanted) { return row.first < wanted; });
        return at != firsts_.end() && at->first == id ? std::string_view(at->second) : text(id);
    }

  private:
    struct Call final : WordSink {
        Call(const SteppedModel& of, std::string_view text, bool with_special, IdSink& into)
            : model(of),
              ids(into),
              special(with_special),
              budget(text.size()),
              scratch(of.vocabulary.heap()),
              raw(of.vocabulary.heap()) {}
        void take(std::string_view word) override { model.encode_word(word, *this); }

        const SteppedModel& model;
        IdSink& ids;
        bool special;
        SearchBudget budget;
        WordScratch scratch;
        std::pmr::string raw;
    };

    void index_added() {
        SearchBudget budget(0);
        for (std::int32_t id = 0; id < vocabulary.size(); ++id) {
            if (vocabulary.type(id) != PieceType::user && vocabulary.type(id) != PieceType::control) continue;
            std::pmr::string text(vocabulary.pieces[static_cast<std::size_t>(id)], vocabulary.heap());
            const bool normalised = vocabulary.has(id, kNormalised);
            if (normalised && find_invalid_utf8(text) == text.size()) normaliser_.run(&text, budget);
            (normalised ? normalised_ : raw_).add(std::move(text), id);
        }
        raw_.finish();
        normalised_.finish();
    }

    // What is not UTF-8 goes by the steps.
    void encode_stretch(std::string_view text, bool first, Call& call) const {
        while (!text.empty()) {
            const std::size_t valid = find_invalid_utf8(text);
            if (valid > 0) encode_valid(text.substr(0, valid), first, call);
            text.remove_prefix(valid);
            first = false;
            for (; !text.empty() && read_character(text, 0).bytes == 0; text.remove_prefix(1))
                model_->encode_byte(static_cast<unsigned char>(text[0]), call.ids);
        }
    }

    void encode_valid(std::string_view text, bool first, Call& call) const {
        std::pmr::string made(vocabulary.heap());
        if (!normaliser_.empty()) {
            made = text;
            normaliser_.run(&made, call.budget);
            text = made;
        }
        normalised_.each_stretch(text, call.special, [&](std::string_view stretch, std::int32_t id) {
            if (id >= 0)
                call.ids.push(id);
            else
                cutter_.run(stretch, first && stretch.data() == text.data(), call.budget, call);
        });
    }

    void encode_word(std::string_view word, Call& call) const {
        if (vocabulary.options.has(kBytePieces) && letters_are_words()) {
            call.raw.clear();
            if (append_raw_bytes(word, &call.raw)) word = call.raw;
        }
        model_->encode(word, call.scratch, call.ids);
    }
    bool letters_are_words() const { return cutter_.gives_letters() || normaliser_.gives_letters(); }

    AddedPieces raw_,
        normalised_;  // by whether they are looked for in the text as it is, or as it is normalised
    Normaliser normaliser_;
    Cutter cutter_;
    WordModelRef model_;
    std::pmr::vector<std::pair<std::int32_t, std::pmr::string>> firsts_;  // ascending by id
};

}  // namespace

TokenizerRef make_stepped_model(Vocabulary&& vocabulary) {
    return share_tokenizer<SteppedModel>(std::move(vocabulary));
}

}  // namespace volta
