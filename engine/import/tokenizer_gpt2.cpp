// GPT-2's tokenizer as its authors published it: encoder.json, an object of pieces and their ids, and
// vocab.bpe, the merges line by line. The files vocab.json and merges.txt of others are the same.
#include "engine/base/error.h"
#include "engine/import/bpe_files.h"
#include "engine/import/file_kind.h"
#include "engine/import/json_events.h"
#include "engine/import/tokenizer_files.h"

namespace volta {
namespace {

// An object of names and whole numbers.
class PieceReader final : public JsonSink {
  public:
    explicit PieceReader(Vocabulary& vocabulary, std::pmr::memory_resource* heap)
        : ids_(heap), pieces_(heap), vocabulary_(vocabulary) {}

    void take(const JsonEvent& event) override {
        if (event.depth() == 0 &&
            (event.kind == JsonKind::begin_object || event.kind == JsonKind::end_object))
            return;
        if (event.depth() != 1 || event.kind != JsonKind::integer || event.integer > INT32_MAX)
            fail(VOLTA_CORRUPT_MODEL, "the pieces are no JSON object of names and ids");
        pieces_.emplace_back(event.path[0]);
        ids_.push_back(static_cast<std::int32_t>(event.integer));
    }

    // Puts the pieces into the vocabulary, by id: every id from 0 on, once.
    void finish() {
        vocabulary_.pieces.resize(ids_.size());
        std::pmr::vector<bool> seen(ids_.size(), false, vocabulary_.heap());
        for (std::size_t i = 0; i < ids_.size(); ++i) {
            const auto id = static_cast<std::size_t>(ids_[i]);
            if (id >= ids_.size() || seen[id])
                fail(VOLTA_CORRUPT_MODEL, "the id %d is there twice, or is beyond the %zu pieces", ids_[i],
                     ids_.size());
            seen[id] = true;
            vocabulary_.pieces[id] = std::move(pieces_[i]);
        }
    }

  private:
    std::pmr::vector<std::int32_t> ids_;
    std::pmr::vector<std::pmr::string> pieces_;
    Vocabulary& vocabulary_;
};

void read_pieces(std::string_view json, Vocabulary& vocabulary) {
    PieceReader reader(vocabulary, vocabulary.heap());
    read_json(json, "the file of pieces", reader, vocabulary.heap());
    reader.finish();
}

// The piece that ends a text is in the list like any other.
void mark_end_of_text(Vocabulary& vocabulary) {
    vocabulary.types.assign(vocabulary.pieces.size(), PieceType::normal);
    for (std::size_t id = 0; id < vocabulary.pieces.size(); ++id) {
        if (vocabulary.pieces[id] != kEndOfText) continue;
        vocabulary.types[id] = PieceType::control;
        vocabulary.options.bos = vocabulary.options.eos = static_cast<std::int32_t>(id);
    }
}

void read_merges(std::string_view lines, Vocabulary& vocabulary) {
    if (const char* kind = other_file_kind(lines)) fail(VOLTA_UNSUPPORTED, "the file of merges is %s", kind);
    const PieceIndex pieces = index_pieces(vocabulary);
    for (bool first = true; !lines.empty(); first = false) {
        const std::size_t end = std::min(lines.find('\n'), lines.size());
        std::string_view line = lines.substr(0, end);
        lines.remove_prefix(std::min(end + 1, lines.size()));
        if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
        const bool comment = first && line.substr(0, 9) == "#version:";
        if (!comment && !line.empty()) add_merge(line, pieces, true, vocabulary);
    }
}

}  // namespace

Tokenizer read_gpt2_tokenizer(std::string_view pieces, std::string_view merges,
                              std::pmr::memory_resource* heap) {
    Vocabulary vocabulary(heap);
    vocabulary.kind = TokenizerKind::bpe;
    vocabulary.options.split = WordSplit::gpt2;
    read_pieces(pieces, vocabulary);
    mark_end_of_text(vocabulary);
    make_pieces_raw(vocabulary);
    read_merges(merges, vocabulary);
    return Tokenizer::from_vocabulary(std::move(vocabulary));
}

}  // namespace volta
