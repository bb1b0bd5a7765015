// Hugging Face's tokenizer.json: settings, pieces with their ids, merges, added tokens. Two models of it
// compute what the kinds bpe and wordpiece do; anything in it that would change an id is refused by name.
#include "engine/base/error.h"
#include "engine/import/bpe_files.h"
#include "engine/import/config_file.h"
#include "engine/import/tokenizer_files.h"
#include "engine/model/text.h"

namespace volta {
namespace {

struct Piece {
    std::pmr::string text;
    std::uint64_t id = 0;
    PieceType type = PieceType::normal;
    bool added = false, strips = false;
};

// A piece that a post-processor names, and its ids.
struct Special {
    std::pmr::string name;
    std::pmr::vector<std::uint64_t> ids;
};

// What is put around a text: {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "[CLS]"}},
// {"Sequence": {"id": "A"}}, ...], "special_tokens": {"[CLS]": {"ids": [101]}, ...}}, or {"type":
// "BertProcessing", "sep": ["[SEP]", 102], "cls": ["[CLS]", 101]}, which stands for the same.
struct Processor {
    explicit Processor(std::pmr::memory_resource* heap) : type(heap), items(heap), specials(heap) {}
    struct Item {
        std::pmr::string name;
        bool sequence;
    };
    std::pmr::string type;
    std::pmr::vector<Item> items;        // of "single"
    std::pmr::vector<Special> specials;  // of "special_tokens"; "cls" and "sep"
};

constexpr std::size_t kSettingsDepth = 2;  // below it are pieces and merges, by the hundred thousand

// What ConfigFile leaves out: the lists.
class ListSink final : public JsonSink {
  public:
    explicit ListSink(std::pmr::memory_resource* heap) : pieces(heap), merges(heap), processors(heap) {}

    void take(const JsonEvent& event) override {
        if (event.depth() > 0 && event.path[0] == "post_processor") return take_processor(event);
        if (event.depth() < 2) return;
        const std::pmr::string &group = event.path[0], &name = event.path[1];
        if (group == "model" && name == "vocab" && event.depth() > 2) take_piece(event);
        if (group == "model" && name == "merges") take_merge(event);
        if (group == "added_tokens") take_added(event);
    }

    std::pmr::vector<Piece> pieces;
    std::pmr::vector<std::pmr::string> merges;  // "left right"
    std::pmr::vector<Processor> processors;     // the first is the file's, behind it those of a Sequence

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

    // Of the file's processor, at post_processor, or of one in a list, at post_processor.processors[].
    void take_processor(const JsonEvent& event) {
        const bool listed = event.depth() > 2 && event.path[1] == "processors" && event.path[2].empty();
        const std::size_t base = listed ? 3 : 1, below = event.depth() - base;
        if (below == 0 && event.kind == JsonKind::begin_object)
            processors.emplace_back(pieces.get_allocator().resource());
        if (below == 0 || processors.empty()) return;
        Processor& processor = listed ? processors.back() : processors.front();
        const auto key = [&](std::size_t i) -> std::string_view { return event.path[base + i]; };
        const bool text = event.kind == JsonKind::text, number = event.kind == JsonKind::integer;
        if (below == 1 && key(0) == "type" && text) processor.type = event.text;
        if (below == 4 && key(0) == "single" && key(3) == "id" && text)
            processor.items.push_back({copy(event.text), key(2) == "Sequence"});
        const bool list = below == 2 && (key(0) == "cls" || key(0) == "sep");
        if ((below == 2 && key(0) == "special_tokens" && event.kind == JsonKind::begin_object) ||
            (list && text))
            add_special(processor, list ? key(0) : key(1));
        const bool id = below == 4 && key(0) == "special_tokens" && key(2) == "ids";
        if ((id || list) && number && !processor.specials.empty())
            processor.specials.back().ids.push_back(event.integer);
    }

    void add_special(Processor& processor, std::string_view name) const {
        std::pmr::memory_resource* heap = pieces.get_allocator().resource();
        processor.specials.push_back({copy(name), std::pmr::vector<std::uint64_t>(heap)});
    }

    int in_pair_ = 2;
};

class Reader {
  public:
    Reader(std::string_view json, std::pmr::memory_resource* heap)
        : settings_(json, heap, kSettingsDepth),
          lists_(heap),
          before_(heap),
          after_(heap),
          vocabulary_(heap),
          json_(json) {}

    Tokenizer read() {
        const std::string_view type = model_type();
        if (type != "BPE" && type != "WordPiece") refuse("model.type", type);
        read_json(json_, "it", lists_, vocabulary_.heap());
        take_pieces();
        if (type == "BPE")
            read_bpe();
        else
            read_wordpiece();
        return Tokenizer::from_vocabulary(std::move(vocabulary_));
    }

  private:
    // Files of the first programs have no type: those with merges are BPE, a list of pieces is Unigram's.
    std::string_view model_type() const {
        return settings_.text("model.type", settings_.has("model.merges")      ? "BPE"
                                            : settings_.is_list("model.vocab") ? "Unigram"
                                                                               : "");
    }

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
        if (settings_.has("decoder.type")) expect("decoder.type", "ByteLevel");
        TokenizerOptions& options = vocabulary_.options;
        vocabulary_.kind = TokenizerKind::bpe;
        options.split = WordSplit::gpt2;
        const std::int32_t end = find(kEndOfText);
        if (end >= 0 && vocabulary_.type(end) == PieceType::control) options.bos = options.eos = end;
        take_ends();
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
        if (settings_.has("decoder.type")) expect("decoder.type", "WordPiece");
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

    // Nothing, or one piece before a text, or behind it, or both.
    void take_ends() {
        TokenizerOptions& options = vocabulary_.options;
        options.flags &= ~static_cast<std::uint32_t>(kAddBos | kAddEos);
        if (!settings_.has("post_processor")) return;
        const auto& processors = lists_.processors;
        const std::string_view type = settings_.text("post_processor.type", "");
        if (processors.empty()) refuse("post_processor.type", type);
        if (type == "Sequence")
            for (std::size_t i = 1; i < processors.size(); ++i) put_around(processors[i]);
        else
            put_around(processors.front());
        if (before_.size() > 1 || after_.size() > 1)
            fail(VOLTA_UNSUPPORTED,
                 "its post_processor puts %zu pieces before a text and %zu behind it; at most one of each is "
                 "read",
                 before_.size(), after_.size());
        if (!before_.empty()) options.bos = before_[0], options.flags |= kAddBos;
        if (!after_.empty()) options.eos = after_[0], options.flags |= kAddEos;
    }

    // Of several, a later one puts its pieces around those of an earlier one.
    void put_around(const Processor& processor) {
        if (processor.type == "ByteLevel") return;  // is about offsets alone
        if (processor.type == "BertProcessing" || processor.type == "RobertaProcessing") {
            before_.insert(before_.begin(), find_special(processor, "cls"));
            return after_.push_back(find_special(processor, "sep"));
        }
        if (processor.type != "TemplateProcessing") refuse("post_processor.type", processor.type);
        std::size_t sequences = 0, before = 0;
        for (const Processor::Item& item : processor.items) {
            const ShownName name = shown(item.name);
            if (item.sequence && (item.name != "A" || ++sequences > 1))
                fail(VOLTA_UNSUPPORTED, "its post_processor puts the sequence '%.*s' %s", name.bytes,
                     name.text, item.name != "A" ? "beside one text" : "twice");
            if (item.sequence) continue;
            const std::int32_t id = find_special(processor, item.name);
            if (sequences > 0)
                after_.push_back(id);
            else
                before_.insert(before_.begin() + static_cast<std::ptrdiff_t>(before++), id);
        }
        if (sequences == 0) fail(VOLTA_UNSUPPORTED, "its post_processor leaves the text itself out");
    }

    // The ids of the file count, not the name, which is for printing.
    std::int32_t find_special(const Processor& processor, std::string_view name) const {
        const ShownName part = shown(name);
        const Special* found = nullptr;
        for (const Special& special : processor.specials) {
            if (special.name != name) continue;
            if (found != nullptr)
                fail(VOLTA_UNSUPPORTED, "its post_processor has '%.*s' twice", part.bytes, part.text);
            found = &special;
        }
        if (found == nullptr)
            fail(VOLTA_CORRUPT_MODEL, "its post_processor puts '%.*s' around a text, and does not say its id",
                 part.bytes, part.text);
        if (found->ids.size() != 1)
            fail(VOLTA_UNSUPPORTED, "its post_processor puts '%.*s', which is %zu ids, around a text",
                 part.bytes, part.text, found->ids.size());
        if (found->ids[0] >= static_cast<std::uint64_t>(vocabulary_.size()))
            fail(VOLTA_CORRUPT_MODEL, "its post_processor puts '%.*s' around a text, the id %llu of %d",
                 part.bytes, part.text, static_cast<unsigned long long>(found->ids[0]), vocabulary_.size());
        return static_cast<std::int32_t>(found->ids[0]);
    }

    ConfigFile settings_;
    ListSink lists_;
    std::pmr::vector<std::int32_t> before_, after_;  // what is put around a text
    Vocabulary vocabulary_;
    std::string_view json_;
};

}  // namespace

Tokenizer read_json_tokenizer(std::string_view json, std::pmr::memory_resource* heap) {
    return Reader(json, heap).read();
}

}  // namespace volta
