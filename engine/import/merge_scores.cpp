#include "engine/import/merge_scores.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/import/bpe_files.h"
#include "engine/import/word_splits.h"
#include "engine/model/text.h"
#include "engine/model/tokenizer_model.h"

namespace volta {
namespace {

struct StepRow {
    std::uint8_t kind;
    std::uint32_t number;
    const char *first, *second;
};
constexpr std::uint8_t of(NormaliserKind kind) { return static_cast<std::uint8_t>(kind); }
constexpr std::uint8_t of(CutterKind kind) { return static_cast<std::uint8_t>(kind); }
constexpr StepRow kNone = {0, 0, "", ""};
constexpr StepRow kPrepend = {of(NormaliserKind::prepend), 0, kWordMark, ""},
                  kReplace = {of(NormaliserKind::replace), 0, " ", kWordMark};
constexpr StepRow kMetaspace = {of(CutterKind::metaspace), static_cast<std::uint32_t>(PrependScheme::never),
                                kWordMark, ""};

// The forms that published files have. Of Metaspace the one that prepends puts no space before a space, where
// SentencePiece puts one.
constexpr struct {
    StepRow normalisers[2], cutter;
    bool space_before;
} kForms[] = {
    {{kPrepend, kReplace}, kNone, true},
    {{kNone, kNone}, kMetaspace, false},
    {{kReplace, kNone}, kNone, false},
    {{kReplace, kNone},  // there are no spaces to cut at by then
     {of(CutterKind::split), static_cast<std::uint32_t>(SplitBehaviour::merged_with_previous), " ", ""},
     false},
};

void add(const StepRow& row, TextSteps* steps) {
    if (row.kind != 0) steps->emplace_back(row.kind, row.number, row.first, row.second);
}

// The id that each merge gives.
std::pmr::vector<std::int32_t> results(const Vocabulary& vocabulary, const PieceIndex& pieces) {
    std::pmr::vector<std::int32_t> ids(vocabulary.heap());
    std::pmr::string both(vocabulary.heap());
    for (const Merge& merge : vocabulary.merges) {
        both = vocabulary.pieces[static_cast<std::size_t>(merge.left)];
        both += vocabulary.pieces[static_cast<std::size_t>(merge.right)];
        ids.push_back(pieces.find(both));
    }
    return ids;
}

[[noreturn]] void fail_piece(const Vocabulary& vocabulary, std::int32_t id, const char* why) {
    const ShownName name = shown(vocabulary.pieces[static_cast<std::size_t>(id)]);
    fail(VOLTA_UNSUPPORTED, "the merges of its tokenizer are no scores, as GGUF files have them: '%.*s' %s",
         name.bytes, name.text, why);
}

// By score every pair that is a piece merges, so each must be in the list.
void check_whole(const Vocabulary& vocabulary, const PieceIndex& pieces) {
    std::pmr::vector<std::pair<std::int32_t, std::int32_t>> pairs(vocabulary.heap());
    for (const Merge& merge : vocabulary.merges) pairs.emplace_back(merge.left, merge.right);
    std::sort(pairs.begin(), pairs.end());
    for (std::int32_t id = 0; id < vocabulary.size(); ++id) {
        if (!vocabulary.in_model(id) || vocabulary.type(id) == PieceType::byte) continue;
        const std::string_view piece = vocabulary.pieces[static_cast<std::size_t>(id)];
        for (std::size_t at = 0; at < piece.size();) {
            at += std::max<std::size_t>(1, read_character(piece, at).bytes);
            const std::int32_t left = pieces.find(piece.substr(0, at)), right = pieces.find(piece.substr(at));
            const std::pair<std::int32_t, std::int32_t> pair(left, right);
            if (left >= 0 && right >= 0 && !std::binary_search(pairs.begin(), pairs.end(), pair))
                fail_piece(vocabulary, id, "has two parts that no merge joins");
        }
    }
}

}  // namespace

bool puts_space_before(const Vocabulary& vocabulary) {
    for (const auto& form : kForms) {
        TextSteps normalisers(vocabulary.heap()), cutters(vocabulary.heap());
        for (const StepRow& row : form.normalisers) add(row, &normalisers);
        add(form.cutter, &cutters);
        if (same_steps(vocabulary.normalisers, normalisers) && same_steps(vocabulary.cutters, cutters))
            return form.space_before;
    }
    fail(VOLTA_UNSUPPORTED,
         "its tokenizer makes words of a text in a way that has no name in GGUF files; the model can be "
         "written without one (--tokenizer none, no_tokenizer)");
}

std::pmr::vector<float> merge_scores(const Vocabulary& vocabulary) {
    if (!vocabulary.options.has(kByteFallback) || vocabulary.options.has(kWholeWords))
        fail(VOLTA_UNSUPPORTED, "its tokenizer has %s, which no GGUF file of characters can say",
             vocabulary.options.has(kWholeWords) ? "words that are not merged"
                                                 : "no bytes for what is unknown");
    const PieceIndex pieces = index_pieces(vocabulary);
    check_whole(vocabulary, pieces);
    std::pmr::vector<float> scores(vocabulary.pieces.size(), 0.0f, vocabulary.heap());
    std::pmr::vector<bool> made(vocabulary.pieces.size(), false, vocabulary.heap());
    float score = 0;
    std::int32_t last = -1;
    for (const std::int32_t id : results(vocabulary, pieces)) {
        if (id == last) continue;
        const auto at = static_cast<std::size_t>(id);
        if (made[at]) fail_piece(vocabulary, id, "is merged before and behind another piece");
        made[at] = true;
        scores[at] = --score;
        last = id;
    }
    for (std::size_t at = 0; at < scores.size(); ++at)  // nothing merges to these
        if (!made[at] && vocabulary.type(static_cast<std::int32_t>(at)) == PieceType::normal)
            scores[at] = --score;
    return scores;
}

}  // namespace volta
