// GPT-2's tokenizer as its authors published it: encoder.json, an object of pieces and their ids, and
// vocab.bpe, the merges line by line. The files vocab.json and merges.txt of others are the same. The JSON
// parser reads the pieces one by one and keeps nothing but the last, on the C heap.
#define JSON_ASSERT(condition) static_cast<void>(0)  // the engine never ends the process
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/import/bpe_files.h"
#include "engine/import/tokenizer_files.h"

namespace volta {
namespace {

using Json = nlohmann::json;

// An object of names and whole numbers; anything else ends the reading.
class PieceReader final : public nlohmann::json_sax<Json> {
  public:
    explicit PieceReader(Vocabulary& vocabulary, std::pmr::memory_resource* heap)
        : ids_(heap), pieces_(heap), vocabulary_(vocabulary) {}

    bool start_object(std::size_t) override { return depth_++ == 0; }
    bool end_object() override { return true; }
    bool key(std::string& name) override {
        pieces_.emplace_back(name);
        return true;
    }
    bool number_unsigned(std::uint64_t id) override {
        if (pieces_.size() != ids_.size() + 1 || id > INT32_MAX) return false;
        ids_.push_back(static_cast<std::int32_t>(id));
        return true;
    }
    bool null() override { return false; }
    bool boolean(bool) override { return false; }
    bool number_integer(std::int64_t) override { return false; }
    bool number_float(double, const std::string&) override { return false; }
    bool string(std::string&) override { return false; }
    bool binary(Json::binary_t&) override { return false; }
    bool start_array(std::size_t) override { return false; }
    bool end_array() override { return false; }
    bool parse_error(std::size_t, const std::string&, const Json::exception&) override { return false; }

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
    int depth_ = 0;
    std::pmr::vector<std::int32_t> ids_;
    std::pmr::vector<std::pmr::string> pieces_;
    Vocabulary& vocabulary_;
};

void read_pieces(std::string_view json, Vocabulary& vocabulary) {
    PieceReader reader(vocabulary, vocabulary.heap());
    if (!Json::sax_parse(json.begin(), json.end(), &reader))
        fail(VOLTA_CORRUPT_MODEL, "the pieces are no JSON object of names and ids");
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
    const PieceIndex pieces = index_pieces(vocabulary);
    for (bool first = true; !lines.empty(); first = false) {
        const std::size_t end = std::min(lines.find('\n'), lines.size());
        std::string_view line = lines.substr(0, end);
        lines.remove_prefix(std::min(end + 1, lines.size()));
        if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
        const bool comment = first && line.substr(0, 9) == "#version:";
        if (!comment && !line.empty()) add_merge(line, pieces, vocabulary);
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
