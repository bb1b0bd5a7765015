#include "engine/import/export_gguf_tokenizer.h"

#include <algorithm>
#include <cstdio>

#include "engine/base/error.h"
#include "engine/import/bpe_files.h"
#include "engine/import/merge_scores.h"
#include "engine/import/tokenizer_json_steps.h"
#include "engine/import/word_splits.h"
#include "engine/model/text.h"
#include "engine/model/tokenizer.h"
#include "engine/model/tokenizer_model.h"

namespace volta {
namespace {

constexpr std::int32_t kUnusedType = 5;
constexpr float kUnusedScore = -1000;  // of a piece that must not be merged to

std::int32_t gguf_type(PieceType type) {
    switch (type) {
        case PieceType::normal:
            return 1;
        case PieceType::unknown:
            return 2;
        case PieceType::control:
            return 3;
        case PieceType::user:
            return 4;
        case PieceType::byte:
            return 6;
    }
    return kUnusedType;
}

// BERT's pieces there: a mark begins a word, none continues one; names of special pieces stay.
std::pmr::string marked(std::string_view piece, bool is_normal, std::pmr::memory_resource* heap) {
    std::pmr::string text(piece, heap);
    if (!is_normal || (piece.size() > 1 && piece.front() == '[' && piece.back() == ']')) return text;
    if (piece.substr(0, 2) == "##")
        text.erase(0, 2);
    else
        text.insert(0, kWordMark);
    return text;
}

// Whether texts go through BERT's steps before they are words, and how a tokenizer.json says so.
bool has_bert_steps(const Vocabulary& vocabulary, bool lowercase) {
    TextSteps normalisers(vocabulary.heap()), cutters(vocabulary.heap());
    add_bert_steps(lowercase, &normalisers, &cutters);
    return same_steps(vocabulary.normalisers, normalisers) && same_steps(vocabulary.cutters, cutters) &&
           vocabulary.continuation == "##";
}

std::pmr::string written_piece(const Vocabulary& vocabulary, std::int32_t id) {
    const std::pmr::string& piece = vocabulary.pieces[static_cast<std::size_t>(id)];
    const bool is_normal = vocabulary.type(id) == PieceType::normal;
    const bool is_raw = vocabulary.kind == TokenizerKind::bpe || vocabulary.kind == TokenizerKind::byte ||
                        vocabulary.options.has(kBytePieces);
    if (is_raw && is_normal) return as_letters(piece, vocabulary.heap());
    const bool is_cover =
        vocabulary.kind == TokenizerKind::wordpiece || vocabulary.kind == TokenizerKind::stepped_wordpiece;
    if (is_cover && !vocabulary.options.has(kWordPrefix)) return marked(piece, is_normal, vocabulary.heap());
    return std::pmr::string(piece, vocabulary.heap());
}

// Control pieces are found only where a host asks for it, and then by their text.
void check_found_plainly(const Vocabulary& vocabulary) {
    for (std::int32_t id = 0; id < vocabulary.size(); ++id) {
        const bool own_way = vocabulary.has(id, kSingleWord) || vocabulary.has(id, kTakesLeft) ||
                             vocabulary.has(id, kTakesRight);
        const ShownName name = shown(vocabulary.pieces[static_cast<std::size_t>(id)]);
        if (own_way && vocabulary.type(id) == PieceType::user)
            fail(VOLTA_UNSUPPORTED,
                 "piece %d of its tokenizer, '%.*s', takes what stands beside it into account, which no GGUF "
                 "file can say",
                 id, name.bytes, name.text);
    }
}

class Writer {
  public:
    Writer(const Vocabulary& vocabulary, std::int64_t rows, GgufHeader& header)
        : vocabulary_(vocabulary), rows_(std::max<std::int64_t>(rows, vocabulary.size())), header_(header) {}

    // A byte is a piece that nothing merges: words do not matter then.
    void bpe() {
        const bool cuts = vocabulary_.kind != TokenizerKind::byte;
        const char* const split = cuts ? word_split_name(vocabulary_) : "gpt-2";
        if (split == nullptr)
            fail(VOLTA_UNSUPPORTED,
                 "its tokenizer makes words of a text in a way that has no name in GGUF files; the model can "
                 "be "
                 "written without one (--tokenizer none, no_tokenizer)");
        model("gpt2", split);
        header_.array("tokenizer.ggml.merges", GgufType::string, vocabulary_.merges.size());
        std::pmr::string line(vocabulary_.heap());
        for (const Merge& merge : vocabulary_.merges) {
            line = written_piece(vocabulary_, merge.left);
            line += ' ';
            line += written_piece(vocabulary_, merge.right);
            header_.element(std::string_view(line));
        }
        ends("bos", "eos");
    }

    void spm(const std::pmr::vector<float>& scores, bool space_before) {
        model("llama", "default");
        header_.array("tokenizer.ggml.scores", GgufType::f32, rows());
        for (const float score : scores) header_.element(score);
        for (std::size_t id = scores.size(); id < rows(); ++id) header_.element(kUnusedScore);
        ends("bos", "eos");
        header_.boolean("tokenizer.ggml.add_space_prefix", space_before);
    }

    void wordpiece() {
        const bool steps = vocabulary_.kind == TokenizerKind::stepped_wordpiece;
        const bool small = steps ? has_bert_steps(vocabulary_, true) : vocabulary_.options.has(kLowerCase);
        if (steps && !small && !has_bert_steps(vocabulary_, false))
            fail(VOLTA_UNSUPPORTED,
                 "its tokenizer makes words of a text otherwise than BERT does, the one way that is written");
        if (!small)
            fail(VOLTA_UNSUPPORTED, "its tokenizer tells capital letters apart, which no GGUF file can say");
        model("bert", "default");
        ends("bos", "eos");
        special("cls", vocabulary_.options.bos);
        special("seperator", vocabulary_.options.eos);  // as the format spells it
    }

  private:
    std::size_t rows() const { return static_cast<std::size_t>(rows_); }

    void model(std::string_view name, std::string_view split) {
        header_.text("tokenizer.ggml.model", name);
        header_.text("tokenizer.ggml.pre", split);
        header_.array("tokenizer.ggml.tokens", GgufType::string, rows());
        char padding[32];
        for (std::int64_t id = 0; id < rows_; ++id) {
            if (id < vocabulary_.size()) {
                const std::pmr::string piece = written_piece(vocabulary_, static_cast<std::int32_t>(id));
                header_.element(std::string_view(piece));
                continue;
            }
            std::snprintf(padding, sizeof padding, "[PAD%lld]", static_cast<long long>(id));
            header_.element(std::string_view(padding));
        }
        header_.array("tokenizer.ggml.token_type", GgufType::i32, rows());
        for (std::int32_t id = 0; id < rows_; ++id)
            header_.element(id < vocabulary_.size() ? gguf_type(vocabulary_.type(id)) : kUnusedType);
    }

    void special(const char* name, std::int32_t id) {
        char key[64];
        std::snprintf(key, sizeof key, "tokenizer.ggml.%s_token_id", name);
        if (id >= 0) header_.u32(key, static_cast<std::uint32_t>(id));
    }

    void ends(const char* bos, const char* eos) {
        const TokenizerOptions& options = vocabulary_.options;
        special(bos, options.bos);
        special(eos, options.eos);
        special("unknown", options.unk);
        special("padding", options.pad);
        header_.boolean("tokenizer.ggml.add_bos_token", options.has(kAddBos));
        header_.boolean("tokenizer.ggml.add_eos_token", options.has(kAddEos));
    }

    const Vocabulary& vocabulary_;
    std::int64_t rows_;
    GgufHeader& header_;
};

}  // namespace

void write_gguf_tokenizer(const Vocabulary& vocabulary, std::int64_t rows, GgufHeader& header) {
    check_found_plainly(vocabulary);
    Writer writer(vocabulary, rows, header);
    switch (vocabulary.kind) {
        case TokenizerKind::byte:
        case TokenizerKind::bpe:
            return writer.bpe();
        case TokenizerKind::stepped_bpe: {
            if (vocabulary.options.has(kBytePieces)) return writer.bpe();
            const bool space_before = puts_space_before(vocabulary);  // first: its sentence says more
            return writer.spm(merge_scores(vocabulary), space_before);
        }
        case TokenizerKind::spm:
            return writer.spm(vocabulary.scores, vocabulary.options.has(kSpacePrefix));
        case TokenizerKind::wordpiece:
        case TokenizerKind::stepped_wordpiece:
            return writer.wordpiece();
        default:
            fail(VOLTA_UNSUPPORTED,
                 "its tokenizer is of the kind '%s', which is written to no GGUF file; the model can be "
                 "written without one (--tokenizer none, no_tokenizer)",
                 tokenizer_kind_name(vocabulary.kind));
    }
}

void write_no_gguf_tokenizer(GgufHeader& header) { header.text("tokenizer.ggml.model", "no_vocab"); }

}  // namespace volta
