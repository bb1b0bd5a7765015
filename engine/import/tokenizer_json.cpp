// Hugging Face's tokenizer.json: settings, pieces with their ids, merges, added tokens. Two models of it
// compute what the kinds bpe and wordpiece do; anything in it that would change an id is refused by name.
#include "engine/base/error.h"
#include "engine/import/bpe_files.h"
#include "engine/import/config_file.h"
#include "engine/import/tokenizer_files.h"
#include "engine/model/text.h"

namespace volta {
namespace {

constexpr std::size_t kMostEnds = 8;  // items of a template; one that is read has three

struct Piece {
    std::pmr::string text;
    std::uint64_t id = 0;
    PieceType type = PieceType::normal;
    bool added = false, strips = false;
};

// What ConfigFile leaves out: the lists.
class ListSink final : public JsonSink {
  public:
    explicit ListSink(std::pmr::memory_resource* heap) : pieces(heap), merges(heap), ends(heap) {}

    void take(const JsonEvent& event) override {
        if (event.depth() < 2) return;
        const std::pmr::string &group = event.path[0], &name = event.path[1];
        if (group == "model" && name == "vocab" && event.depth() > 2) take_piece(event);
        if (group == "model" && name == "merges") take_merge(event);
        if (group == "added_tokens") take_added(event);
        if (group == "post_processor") take_end(event);
    }

    std::pmr::vector<Piece> pieces;
    std::pmr::vector<std::pmr::string> merges;  // "left right"
    std::pmr::vector<std::pmr::string> ends;    // what is put around a text, "$A"

  private:
    std::pmr::string copy(std::string_view text) const {
        return std::pmr::string(text, pieces.get_allocator().resource());
    }

    void take_piece(const JsonEvent& event) {
        if (event.depth() != 3 || event.kind != JsonKind::integer)
            fail(VOLTA_CORRUPT_MODEL, "its vocab is no object of pieces and ids");
        pieces.push_back({copy(event.path[2]), event.integer});
    }

    // "left right", or in later files ["left", "right"].
    void take_merge(const JsonEvent& event) {
        const bool pair = event.depth() == 4 && event.kind == JsonKind::text && in_pair_ < 2;
        if (event.depth() == 3 && event.kind == JsonKind::text) {
            merges.push_back(copy(event.text));
        } else if (event.depth() == 3 && event.kind == JsonKind::begin_array) {
            merges.push_back(copy(""));
            in_pair_ = 0;
        } else if (pair) {
            if (in_pair_++ == 1) merges.back() += ' ';
            merges.back() += event.text;
        } else if (event.depth() > 2 && event.kind != JsonKind::end_array) {
            fail(VOLTA_CORRUPT_MODEL, "merge %zu is no pair of texts", merges.size());
        }
    }

    void take_added(const JsonEvent& event) {
        if (event.depth() == 2 && event.kind == JsonKind::begin_object) {
            pieces.push_back({copy(""), UINT64_MAX, PieceType::user, true});
        } else if (event.depth() == 3 && !pieces.empty() && pieces.back().added) {
            Piece& piece = pieces.back();
            const std::pmr::string& field = event.path[2];
            if (field == "id" && event.kind == JsonKind::integer) piece.id = event.integer;
            if (field == "content" && event.kind == JsonKind::text) piece.text = event.text;
            if (field == "special" && event.truth) piece.type = PieceType::control;
            if (field == "single_word" || field == "lstrip" || field == "rstrip") piece.strips |= event.truth;
        }
    }

    // {"single": [{"SpecialToken": {"id": "[CLS]"}}, {"Sequence": {"id": "A"}}, ...]}, or {"sep": ["[SEP]",
    // 102], "cls": ["[CLS]", 101]}, which stands for the same.
    void take_end(const JsonEvent& event) {
        if (event.kind != JsonKind::text || ends.size() == kMostEnds) return;
        const std::pmr::string& list = event.path[1];
        if (list == "single" && event.depth() == 5 && event.path[4] == "id")
            ends.push_back(copy(event.path[3] == "Sequence" ? "$" : "") += event.text);
        if (list == "cls" && event.depth() == 3) ends.insert(ends.begin(), copy(event.text));
        if (list == "sep" && event.depth() == 3) ends.push_back(copy(event.text));
    }

    int in_pair_ = 2;
};

class Reader {
  public:
    Reader(std::string_view json, std::pmr::memory_resource* heap)
        : settings_(json, heap), lists_(heap), vocabulary_(heap) {
        read_json(json, "it", lists_, heap);
    }

    Tokenizer read() {
        const std::string_view type = settings_.text("model.type", lists_.merges.empty() ? "" : "BPE");
        if (type != "BPE" && type != "WordPiece") refuse("model.type", type);
        take_pieces();
        if (type == "BPE")
            read_bpe();
        else
            read_wordpiece();
        return Tokenizer::from_vocabulary(std::move(vocabulary_));
    }

  private:
    [[noreturn]] static void refuse(const char* name, std::string_view value) {
        const ShownName part = shown(value);
        fail(VOLTA_UNSUPPORTED, "its %s is '%.*s', which this library does not read", name, part.bytes,
             part.text);
    }
    void expect(const char* name, std::string_view value) const {
        const std::string_view given = settings_.text(name, value);
        if (given != value) refuse(name, given);
    }
    void expect(const char* name, bool value, bool fallback) const {
        if (settings_.truth(name, fallback) != value) refuse(name, value ? "false" : "true");
    }

    // Every id from 0 on, once; an added token may stand in the vocabulary as well.
    void take_pieces() {
        std::pmr::vector<const Piece*> by_id(lists_.pieces.size(), nullptr, vocabulary_.heap());
        std::size_t count = 0;
        for (const Piece& piece : lists_.pieces) {
            const ShownName text = shown(piece.text);
            if (piece.strips)
                fail(VOLTA_UNSUPPORTED,
                     "its added token '%.*s' is found as a word alone or with the spaces around it",
                     text.bytes, text.text);
            if (piece.id >= by_id.size() || piece.text.empty())
                fail(VOLTA_CORRUPT_MODEL, "piece '%.*s' has no text or no id below the number of pieces",
                     text.bytes, text.text);
            const Piece*& place = by_id[static_cast<std::size_t>(piece.id)];
            if (place != nullptr && (place->text != piece.text || place->added == piece.added))
                fail(VOLTA_CORRUPT_MODEL, "the id %llu is there twice",
                     static_cast<unsigned long long>(piece.id));
            count += place == nullptr;
            if (place == nullptr || piece.added) place = &piece;
        }
        for (std::size_t id = 0; id < count; ++id) {
            if (by_id[id] == nullptr) fail(VOLTA_CORRUPT_MODEL, "no piece has the id %zu", id);
            vocabulary_.pieces.emplace_back(by_id[id]->text);
            vocabulary_.types.push_back(by_id[id]->type);
        }
    }

    std::int32_t find(std::string_view text) const {
        for (std::int32_t id = 0; id < vocabulary_.size(); ++id)
            if (vocabulary_.pieces[static_cast<std::size_t>(id)] == text) return id;
        return -1;
    }

    void read_bpe() {
        expect("model.continuing_subword_prefix", "");
        expect("model.end_of_word_suffix", "");
        expect("model.byte_fallback", false, false);
        expect("model.ignore_merges", false, false);
        if (settings_.number("model.dropout", 0) != 0) refuse("model.dropout", "not 0");
        expect("normalizer.type", "");
        if (settings_.text("pre_tokenizer.type", "") != "ByteLevel")
            refuse("pre_tokenizer.type", settings_.text("pre_tokenizer.type", ""));
        expect("pre_tokenizer.add_prefix_space", false, true);
        expect("pre_tokenizer.use_regex", true, true);
        expect("post_processor.type", settings_.has("post_processor.type") ? "ByteLevel" : "");
        TokenizerOptions& options = vocabulary_.options;
        vocabulary_.kind = TokenizerKind::bpe;
        options.split = WordSplit::gpt2;
        const std::int32_t end = find(kEndOfText);
        if (end >= 0 && vocabulary_.type(end) == PieceType::control) options.bos = options.eos = end;
        make_pieces_raw(vocabulary_);
        const PieceIndex pieces = index_pieces(vocabulary_);
        for (const std::pmr::string& line : lists_.merges) add_merge(line, pieces, vocabulary_);
    }

    void read_wordpiece() {
        expect("model.continuing_subword_prefix", "##");
        expect("normalizer.type", "BertNormalizer");
        expect("normalizer.clean_text", true, true);
        expect("normalizer.handle_chinese_chars", true, true);
        expect("pre_tokenizer.type", "BertPreTokenizer");
        for (const char* name : {"normalizer.type", "pre_tokenizer.type"})
            if (!settings_.has(name)) refuse(name, "");
        for (const Piece& piece : lists_.pieces)  // would be found in the text as it is after normalizing
            if (piece.type == PieceType::user) refuse("added token", piece.text);
        const bool lower = settings_.truth("normalizer.lowercase", true);
        expect("normalizer.strip_accents", lower, lower);
        const std::int64_t most =
            settings_.integer("model.max_input_chars_per_word", kMostBertWordCharacters);
        if (most > INT32_MAX) fail(VOLTA_CORRUPT_MODEL, "its words have no bound");
        name_bert_pieces(vocabulary_, settings_.text("model.unk_token", "[UNK]"), lower);
        vocabulary_.options.most_word_characters = static_cast<std::uint32_t>(most);
        take_ends();
    }

    // Nothing, or one piece before and one behind a text.
    void take_ends() {
        TokenizerOptions& options = vocabulary_.options;
        options.flags &= ~static_cast<std::uint32_t>(kAddBos | kAddEos);
        if (!settings_.has("post_processor.type")) return;
        const std::string_view type = settings_.text("post_processor.type", "");
        auto& ends = lists_.ends;
        const bool whole = type == "TemplateProcessing" && ends.size() == 3 && ends[1] == "$A";
        if (!whole && !(type == "BertProcessing" && ends.size() == 2)) refuse("post_processor.type", type);
        options.bos = find(ends.front());
        options.eos = find(ends.back());
        if (options.bos < 0 || options.eos < 0)
            fail(VOLTA_CORRUPT_MODEL, "its post_processor puts a piece around a text that it has not");
        options.flags |= kAddBos | kAddEos;
    }

    ConfigFile settings_;
    ListSink lists_;
    Vocabulary vocabulary_;
};

}  // namespace

Tokenizer read_json_tokenizer(std::string_view json, std::pmr::memory_resource* heap) {
    return Reader(json, heap).read();
}

}  // namespace volta
