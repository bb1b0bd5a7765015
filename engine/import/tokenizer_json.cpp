// Hugging Face's tokenizer.json: pieces with their ids, merges, added tokens, and steps around a model
// (tokenizer_json_steps.h). Anything in it that would change an id and is not known is refused by name.
#include <algorithm>

#include "engine/base/error.h"
#include "engine/import/bpe_files.h"
#include "engine/import/config_file.h"
#include "engine/import/tokenizer_files.h"
#include "engine/import/tokenizer_json_steps.h"
#include "engine/model/normaliser.h"
#include "engine/model/piece_texts.h"
#include "engine/model/text.h"

namespace volta {
namespace {

struct Piece {
    std::pmr::string text;
    std::uint64_t id = 0;
    double score = 0;
    PieceType type = PieceType::normal;
    bool added = false;
    std::uint8_t flags = 0;  // of AddedFlag
};

constexpr std::size_t kSettingsDepth = 2;  // below it are pieces and merges, by the hundred thousand

// What ConfigFile leaves out: the lists, and what nests.
class ListSink final : public JsonSink {
  public:
    explicit ListSink(std::pmr::memory_resource* heap)
        : pieces(heap),
          merges(heap),
          normaliser(1, heap),
          cutter(1, heap),
          processor(1, heap),
          decoder(1, heap) {}

    void take(const JsonEvent& event) override {
        if (event.depth() == 0) return;
        const std::pmr::string& group = event.path[0];
        const struct {
            const char* name;
            JsonTree& tree;
        } trees[] = {{"normalizer", normaliser},
                     {"pre_tokenizer", cutter},
                     {"post_processor", processor},
                     {"decoder", decoder}};
        for (const auto& row : trees)
            if (group == row.name) return row.tree.take(event);
        if (event.depth() < 2) return check_member(group);
        const std::pmr::string& name = event.path[1];
        if (group == "model" && event.depth() == 2) check_model_member(name);
        if (group == "model" && name == "vocab" && event.depth() > 2) take_piece(event);
        if (group == "model" && name == "merges") take_merge(event);
        if (group == "added_tokens") take_added(event);
    }

    std::pmr::vector<Piece> pieces;
    std::pmr::vector<std::pmr::string> merges;  // "left right", or left, a zero byte, right
    JsonTree normaliser, cutter, processor, decoder;

  private:
    std::pmr::string copy(std::string_view text) const {
        return std::pmr::string(text, pieces.get_allocator().resource());
    }

    // Of the file: truncation and padding are for batches of texts.
    static void check_member(const std::pmr::string& name) {
        expect_one_of(name, "its member", {"version", "truncation", "padding", "added_tokens", "model"});
    }
    static void check_model_member(const std::pmr::string& name) {
        expect_one_of(
            name, "its model's member",
            {"type", "vocab", "merges", "dropout", "unk_token", "unk_id", "continuing_subword_prefix",
             "end_of_word_suffix", "fuse_unk", "byte_fallback", "ignore_merges", "max_input_chars_per_word"});
    }
    static void expect_one_of(const std::pmr::string& name, const char* what,
                              std::initializer_list<const char*> names) {
        const ShownName part = shown(name);
        if (std::none_of(names.begin(), names.end(), [&](const char* known) { return name == known; }))
            fail(VOLTA_UNSUPPORTED, "%s '%.*s' is not known to this library", what, part.bytes, part.text);
    }

    // {"piece": id, ...}, or of Unigram [["piece", score], ...].
    void take_piece(const JsonEvent& event) {
        const bool listed = event.path[2].empty() && (in_list_ || event.kind == JsonKind::begin_array);
        if (listed) return take_scored(event);
        if (event.depth() != 3 || event.kind != JsonKind::integer)
            fail(VOLTA_CORRUPT_MODEL, "its vocab is no object of pieces and ids");
        pieces.push_back({copy(event.path[2]), event.integer});
    }
    void take_scored(const JsonEvent& event) {
        in_list_ = true;
        const bool number = event.kind == JsonKind::number || event.kind == JsonKind::integer;
        if (event.depth() == 3 && event.kind == JsonKind::begin_array) {
            pieces.push_back({copy(""), listed_++});
            in_pair_ = 0;
        } else if (event.depth() == 4 && event.kind == JsonKind::text && in_pair_ == 0 && !pieces.empty()) {
            pieces.back().text = event.text;
            in_pair_ = 1;
        } else if (event.depth() == 4 && number && in_pair_ == 1) {
            pieces.back().score = event.number;
            in_pair_ = 2;
        } else if (event.kind != JsonKind::end_array || in_pair_ != 2) {
            fail(VOLTA_CORRUPT_MODEL, "piece %zu of its vocab is no pair of a text and a score",
                 pieces.size());
        }
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
            if (in_pair_++ == 1) merges.back() += '\0';
            merges.back() += event.text;
        } else if (event.depth() > 2 && event.kind != JsonKind::end_array) {
            fail(VOLTA_CORRUPT_MODEL, "merge %zu is no pair of texts", merges.size());
        }
    }

    void take_added(const JsonEvent& event) {
        if (event.depth() == 2 && event.kind == JsonKind::begin_object) {
            pieces.push_back({copy(""), UINT64_MAX, 0, PieceType::user, true, kNormalised});
            says_normalised_ = false;
        } else if (event.depth() == 3 && !pieces.empty() && pieces.back().added) {
            take_added_field(event, pieces.back());
        }
    }
    void take_added_field(const JsonEvent& event, Piece& piece) {
        const std::pmr::string& field = event.path[2];
        const struct {
            const char* name;
            AddedFlag flag;
        } flags[] = {{"single_word", kSingleWord},
                     {"lstrip", kTakesLeft},
                     {"rstrip", kTakesRight},
                     {"normalized", kNormalised}};
        if (field == "id" && event.kind == JsonKind::integer) piece.id = event.integer;
        if (field == "content" && event.kind == JsonKind::text) piece.text = event.text;
        if (field == "special" && event.truth) piece.type = PieceType::control;
        if (field == "special" && event.truth && !says_normalised_)
            piece.flags &= static_cast<std::uint8_t>(~kNormalised);
        if (field == "normalized") says_normalised_ = true;
        for (const auto& row : flags)
            if (field == row.name)
                piece.flags =
                    static_cast<std::uint8_t>(event.truth ? piece.flags | row.flag : piece.flags & ~row.flag);
    }

    int in_pair_ = 2;
    std::uint64_t listed_ = 0;  // pieces of a list
    bool in_list_ = false, says_normalised_ = false;
};

struct ModelRow {
    const char* name;
    TokenizerKind kind;
};
constexpr ModelRow kModels[] = {{"BPE", TokenizerKind::stepped_bpe},
                                {"Unigram", TokenizerKind::unigram},
                                {"WordPiece", TokenizerKind::stepped_wordpiece},
                                {"WordLevel", TokenizerKind::wordlevel}};

using Ids = std::pmr::vector<std::int32_t>;

class Reader {
  public:
    Reader(std::string_view json, const ConfigFile* beside, std::pmr::memory_resource* heap)
        : settings_(json, heap, kSettingsDepth),
          beside_(beside),
          lists_(heap),
          before_(heap),
          after_(heap),
          between_(heap),
          vocabulary_(heap),
          json_(json) {}

    Tokenizer read() {
        vocabulary_.kind = model_kind();
        read_json(json_, "it", lists_, vocabulary_.heap());
        read_normaliser(lists_.normaliser.root(), &vocabulary_.normalisers);
        read_cutter(lists_.cutter.root(), &vocabulary_.cutters);
        read_steps_back();
        take_pieces();
        read_model();
        read_special();
        take_ends();
        if (is_gpt2()) become_gpt2();
        return Tokenizer::from_vocabulary(std::move(vocabulary_));
    }

  private:
    // Files of the first programs have no type: those with merges are BPE, a list of pieces is Unigram's.
    TokenizerKind model_kind() const {
        const char* guess = settings_.has("model.merges")      ? "BPE"
                            : settings_.is_list("model.vocab") ? "Unigram"
                                                               : "";
        const std::string_view type = settings_.text("model.type", guess);
        for (const ModelRow& row : kModels)
            if (type == row.name) return row.kind;
        refuse("model.type", type);
    }
    bool is_bpe() const { return vocabulary_.kind == TokenizerKind::stepped_bpe; }
    bool is_wordpiece() const { return vocabulary_.kind == TokenizerKind::stepped_wordpiece; }

    [[noreturn]] static void refuse(const char* name, std::string_view value) {
        const ShownName part = shown(value);
        fail(VOLTA_UNSUPPORTED, "its %s is '%.*s', which this library does not read", name, part.bytes,
             part.text);
    }
    void expect(const char* name, std::string_view value) const {
        const std::string_view given = settings_.text(name, value);
        if (given != value) refuse(name, given);
    }

    // Without a decoder pieces are shown as what they are made for.
    void read_steps_back() {
        TextSteps& steps = vocabulary_.decoders;
        read_decoder(lists_.decoder.root(), &steps);
        const bool letters = has_letters();
        if (letters && is_bpe()) vocabulary_.options.flags |= kBytePieces;
        if (lists_.decoder.root().kind != JsonKind::null) return;
        const DecoderKind kind = letters          ? DecoderKind::bytes
                                 : is_wordpiece() ? DecoderKind::wordpiece
                                                  : DecoderKind::spaces;
        steps.emplace_back(static_cast<std::uint8_t>(kind), kind == DecoderKind::wordpiece ? 1u : 0u,
                           kind == DecoderKind::wordpiece ? "##" : "", "");
    }
    bool has_letters() const {
        const auto writes = [](const TextSteps& steps, std::uint8_t kind) {
            return std::any_of(steps.begin(), steps.end(),
                               [kind](const TextStep& step) { return step.kind == kind; });
        };
        return writes(vocabulary_.normalisers, static_cast<std::uint8_t>(NormaliserKind::byte_letters)) ||
               writes(vocabulary_.cutters, static_cast<std::uint8_t>(CutterKind::byte_letters));
    }

    // Every id from 0 on, once; an added token may stand in the vocabulary as well.
    void take_pieces() {
        std::pmr::vector<const Piece*> by_id(lists_.pieces.size(), nullptr, vocabulary_.heap());
        std::pmr::vector<bool> in_model(lists_.pieces.size(), false, vocabulary_.heap());
        std::size_t count = 0;
        if (lists_.pieces.empty()) fail(VOLTA_CORRUPT_MODEL, "it has no pieces");
        for (const Piece& piece : lists_.pieces) {
            const ShownName text = shown(piece.text);
            if (piece.id >= by_id.size() || (piece.text.empty() && piece.added))
                fail(VOLTA_CORRUPT_MODEL, "piece '%.*s' has no text or no id below the number of pieces",
                     text.bytes, text.text);
            const auto id = static_cast<std::size_t>(piece.id);
            const Piece*& place = by_id[id];
            if (place != nullptr && (place->text != piece.text || place->added == piece.added))
                fail(VOLTA_CORRUPT_MODEL, "the id %zu is there twice", id);
            count += place == nullptr;
            in_model[id] = in_model[id] || !piece.added;
            if (place == nullptr || piece.added) place = &piece;
        }
        for (std::size_t id = 0; id < count; ++id) {
            if (by_id[id] == nullptr) fail(VOLTA_CORRUPT_MODEL, "no piece has the id %zu", id);
            add_piece(*by_id[id], in_model[id]);
        }
        check_added();
    }

    void add_piece(const Piece& piece, bool in_model) {
        vocabulary_.pieces.emplace_back(piece.text);
        vocabulary_.types.push_back(piece.type);
        vocabulary_.added.push_back(piece.added ? piece.flags : std::uint8_t{0});
        if (vocabulary_.kind == TokenizerKind::unigram) vocabulary_.wide_scores.push_back(piece.score);
        if (piece.type == PieceType::user && in_model && means_itself(piece.text))
            vocabulary_.added.back() |= kInModel;
    }
    // Whether words can be the piece as it is found whole: not where it is written in letters for other
    // bytes.
    bool means_itself(std::string_view text) const {
        std::pmr::string raw(vocabulary_.heap());
        return !vocabulary_.options.has(kBytePieces) || (append_raw_bytes(text, &raw) && raw == text);
    }

    // One that is a piece of the model as well has that piece's id.
    void check_added() const {
        PieceIndex index(vocabulary_.heap());
        for (std::int32_t id = 0; id < vocabulary_.size(); ++id)
            index.add(vocabulary_.pieces[static_cast<std::size_t>(id)], id);
        index.sort();
        for (const Piece& piece : lists_.pieces) {
            if (!piece.added) continue;
            const std::int32_t id = index.find(piece.text);
            const ShownName text = shown(piece.text);
            if (id >= 0 && static_cast<std::uint64_t>(id) != piece.id)
                fail(VOLTA_UNSUPPORTED, "its added token '%.*s' has the id %llu, and %d in its vocabulary",
                     text.bytes, text.text, static_cast<unsigned long long>(piece.id), id);
        }
    }

    std::int32_t find(std::string_view text) const {
        for (std::int32_t id = 0; id < vocabulary_.size(); ++id)
            if (vocabulary_.pieces[static_cast<std::size_t>(id)] == text) return id;
        return -1;
    }

    void read_model() {
        TokenizerOptions& options = vocabulary_.options;
        const auto flag = [&](const char* name, TokenizerFlag value, bool fallback) {
            if (settings_.truth(name, fallback)) options.flags |= value;
        };
        options.unk = find_unknown();
        if (options.unk >= 0 && vocabulary_.type(options.unk) == PieceType::normal)
            vocabulary_.types[static_cast<std::size_t>(options.unk)] = PieceType::unknown;
        if (is_bpe() || vocabulary_.kind == TokenizerKind::unigram) {
            flag("model.byte_fallback", kByteFallback, false);
            flag("model.fuse_unk", kFuseUnknown, vocabulary_.kind == TokenizerKind::unigram);
        }
        if (options.has(kByteFallback)) name_bytes();
        if (is_bpe()) read_bpe();
        if (is_wordpiece()) read_wordpiece();
    }

    std::int32_t find_unknown() const {
        if (vocabulary_.kind != TokenizerKind::unigram) {
            const std::string_view name = settings_.text("model.unk_token", is_wordpiece() ? "[UNK]" : "");
            const std::int32_t id = name.empty() ? -1 : find(name);
            const ShownName part = shown(name);
            if (!name.empty() && id < 0 && !is_bpe())
                fail(VOLTA_CORRUPT_MODEL, "its vocab has no piece for unknown words, '%.*s'", part.bytes,
                     part.text);
            return id;
        }
        if (!settings_.has("model.unk_id")) return -1;
        const std::int64_t id = settings_.integer("model.unk_id");
        if (id < 0 || id >= vocabulary_.size())
            fail(VOLTA_CORRUPT_MODEL, "its unk_id is %lld of %d pieces", static_cast<long long>(id),
                 vocabulary_.size());
        return static_cast<std::int32_t>(id);
    }

    // They are pieces like any other, too.
    void name_bytes() {
        for (std::int32_t id = 0; id < vocabulary_.size(); ++id) {
            const auto at = static_cast<std::size_t>(id);
            if (vocabulary_.types[at] != PieceType::normal || byte_of_piece(vocabulary_.pieces[at]) < 0)
                continue;
            vocabulary_.types[at] = PieceType::byte;
            vocabulary_.added[at] |= kInModel;
        }
    }

    void read_bpe() {
        expect("model.continuing_subword_prefix", "");
        expect("model.end_of_word_suffix", "");
        if (settings_.number("model.dropout", 0) != 0) refuse("model.dropout", "not 0");
        if (settings_.truth("model.ignore_merges", false)) vocabulary_.options.flags |= kWholeWords;
        const bool raw = vocabulary_.options.has(kBytePieces);
        if (raw) make_pieces_raw(vocabulary_);
        const PieceIndex pieces = index_pieces(vocabulary_);
        for (const std::pmr::string& line : lists_.merges) add_merge(line, pieces, raw, vocabulary_);
    }

    void read_wordpiece() {
        for (const char* name : {"[PAD]", "[CLS]", "[SEP]", "[MASK]"}) {  // older files do not add them
            const std::int32_t id = find(name);
            if (id >= 0 && vocabulary_.type(id) == PieceType::normal)
                vocabulary_.types[static_cast<std::size_t>(id)] = PieceType::control;
        }
        vocabulary_.continuation = settings_.text("model.continuing_subword_prefix", "##");
        const std::int64_t most =
            settings_.integer("model.max_input_chars_per_word", kMostBertWordCharacters);
        if (most > INT32_MAX) fail(VOLTA_CORRUPT_MODEL, "its words have no bound");
        vocabulary_.options.most_word_characters = static_cast<std::uint32_t>(most);
    }

    // ---- which pieces begin and end texts

    // By tokenizer_config.json beside the file; else by the names that such pieces have.
    void read_special() {
        TokenizerOptions& options = vocabulary_.options;
        options.bos = find_special("bos_token", {"<s>", "<bos>", "<|begin_of_text|>", "[CLS]", kEndOfText});
        options.eos = find_special("eos_token", {"</s>", "<eos>", "<|end_of_text|>", "[SEP]", kEndOfText});
        options.pad = find_special("pad_token", {"<pad>", "[PAD]"});
    }
    std::int32_t find_special(const char* setting, std::initializer_list<const char*> names) const {
        if (beside_ != nullptr) {
            std::pmr::string content(setting, vocabulary_.heap());
            content += ".content";
            const bool object = beside_->has(content);
            if (object || beside_->has(setting))
                return find(beside_->text(object ? std::string_view(content) : setting, ""));
        }
        for (const char* name : names) {
            const std::int32_t id = find(name);
            if (id >= 0 && vocabulary_.type(id) == PieceType::control) return id;
        }
        return -1;
    }

    // Nothing, or one piece before a text, or behind it, or both.
    void take_ends() {
        TokenizerOptions& options = vocabulary_.options;
        const JsonValue& root = lists_.processor.root();
        if (root.kind == JsonKind::null) return;
        const JsonStep step(root, "post_processor");
        if (step.type() == "Sequence") {
            step.only({"processors"});
            for (const JsonValue& inner : step.list("processors").members)
                put_around(JsonStep(inner, "post_processor"));
        } else {
            put_around(step);
        }
        if (before_.size() > 1 || after_.size() > 1)
            fail(VOLTA_UNSUPPORTED,
                 "its post_processor puts %zu pieces before a text and %zu behind it; at most one of each is "
                 "read",
                 before_.size(), after_.size());
        if (!before_.empty()) options.bos = before_[0], options.flags |= kAddBos;
        if (!after_.empty()) options.eos = after_[0], options.flags |= kAddEos;
        options.flags |= flags_of_pairs();
    }

    // What a pair has between its texts, as far as a vocabulary can say it: one eos, or none without one, or
    // two.
    std::uint32_t flags_of_pairs() const {
        if (!pairs_are_known_) return kNoPairs;
        if (between_ == after_) return 0;
        const bool two = after_.size() == 1 && between_.size() == 2 && between_[0] == after_[0] &&
                         between_[1] == after_[0];
        return two ? kTwoEosBetween : kNoPairs;
    }

    // Of several, a later one puts its pieces around those of an earlier one.
    void put_around(const JsonStep& step) {
        if (step.type() == "ByteLevel") return;  // is about offsets alone
        const bool is_first = before_.empty() && after_.empty();
        if (step.type() == "BertProcessing" || step.type() == "RobertaProcessing") {
            before_.insert(before_.begin(), id_of_pair(step, "cls"));
            after_.push_back(id_of_pair(step, "sep"));
            between_.assign(step.type() == "BertProcessing" ? 1 : 2, after_.back());
            pairs_are_known_ = is_first;
            return;
        }
        if (step.type() != "TemplateProcessing") refuse("post_processor.type", step.type());
        step.only({"single", "pair", "special_tokens"});
        std::size_t sequences = 0, before = 0;
        for (const JsonValue& item : step.list("single").members) {
            const JsonValue* sequence = item.find("Sequence");
            const JsonValue* special = item.find("SpecialToken");
            const JsonValue* id = sequence != nullptr  ? sequence->find("id")
                                  : special != nullptr ? special->find("id")
                                                       : nullptr;
            if (id == nullptr || !id->is_text())
                fail(VOLTA_CORRUPT_MODEL, "its post_processor puts something around a text that has no id");
            const ShownName name = shown(id->text);
            if (sequence != nullptr && (id->text != "A" || ++sequences > 1))
                fail(VOLTA_UNSUPPORTED, "its post_processor puts the sequence '%.*s' %s", name.bytes,
                     name.text, id->text != "A" ? "beside one text" : "twice");
            if (sequence != nullptr) continue;
            const std::int32_t piece = id_in_template(step, id->text);
            if (sequences > 0)
                after_.push_back(piece);
            else
                before_.insert(before_.begin() + static_cast<std::ptrdiff_t>(before++), piece);
        }
        if (sequences == 0) fail(VOLTA_UNSUPPORTED, "its post_processor leaves the text itself out");
        pairs_are_known_ = is_first && read_pair(step);
    }

    // [CLS] A [SEP] B [SEP]: what stands between the texts, if around both stands what is around one of them.
    bool read_pair(const JsonStep& step) {
        const JsonValue* pair = step.value().find("pair");
        if (pair == nullptr) return false;
        Ids parts[3] = {Ids(vocabulary_.heap()), Ids(vocabulary_.heap()), Ids(vocabulary_.heap())};
        std::size_t sequences = 0;
        for (const JsonValue& item : pair->members) {
            const JsonValue* sequence = item.find("Sequence");
            const JsonValue* special = item.find("SpecialToken");
            const JsonValue* id = sequence != nullptr  ? sequence->find("id")
                                  : special != nullptr ? special->find("id")
                                                       : nullptr;
            if (id == nullptr || !id->is_text()) return false;
            if (sequence != nullptr) {
                if (sequences == 2 || id->text != (sequences == 0 ? "A" : "B")) return false;
                ++sequences;
                continue;
            }
            const JsonValue* ids = ids_in_template(step, id->text);
            if (ids == nullptr || ids->members.size() != 1 || ids->members[0].kind != JsonKind::integer ||
                ids->members[0].integer >= static_cast<std::uint64_t>(vocabulary_.size()))
                return false;
            parts[sequences].push_back(static_cast<std::int32_t>(ids->members[0].integer));
        }
        between_ = parts[1];
        return sequences == 2 && parts[0] == before_ && parts[2] == after_;
    }

    static const JsonValue* ids_in_template(const JsonStep& step, std::string_view name) {
        const JsonValue* specials = step.value().find("special_tokens");
        const JsonValue* special = specials != nullptr ? specials->find(name) : nullptr;
        return special != nullptr ? special->find("ids") : nullptr;
    }

    // {"special_tokens": {"[CLS]": {"ids": [101]}}}. The ids of the file count, not the name, which is for
    // printing.
    std::int32_t id_in_template(const JsonStep& step, std::string_view name) const {
        const JsonValue* ids = ids_in_template(step, name);
        if (ids == nullptr) return no_id(name);
        const ShownName part = shown(name);
        if (ids->members.size() != 1)
            fail(VOLTA_UNSUPPORTED, "its post_processor puts '%.*s', which is %zu ids, around a text",
                 part.bytes, part.text, ids->members.size());
        return checked_id(name, ids->members[0]);
    }
    // ["[CLS]", 101]
    std::int32_t id_of_pair(const JsonStep& step, const char* name) const {
        const JsonValue* pair = step.value().find(name);
        if (pair == nullptr || pair->members.size() != 2) return no_id(name);
        return checked_id(name, pair->members[1]);
    }
    [[noreturn]] static std::int32_t no_id(std::string_view name) {
        const ShownName part = shown(name);
        fail(VOLTA_CORRUPT_MODEL, "its post_processor puts '%.*s' around a text, and does not say its id",
             part.bytes, part.text);
    }
    std::int32_t checked_id(std::string_view name, const JsonValue& id) const {
        const ShownName part = shown(name);
        if (id.kind != JsonKind::integer) no_id(name);
        if (id.integer >= static_cast<std::uint64_t>(vocabulary_.size()))
            fail(VOLTA_CORRUPT_MODEL, "its post_processor puts '%.*s' around a text, the id %llu of %d",
                 part.bytes, part.text, static_cast<unsigned long long>(id.integer), vocabulary_.size());
        return static_cast<std::int32_t>(id.integer);
    }

    // ---- the kind bpe, which files of format 1.1 can hold, does the same as the steps of GPT-2

    bool is_gpt2() const {
        const auto is = [](const TextStep& step, CutterKind kind) {
            return step.kind == static_cast<std::uint8_t>(kind);
        };
        const TextSteps& cutters = vocabulary_.cutters;
        const auto has_way = [](std::uint8_t added) { return (added & ~kNormalised) != 0; };
        return is_bpe() && vocabulary_.normalisers.empty() && cutters.size() == 2 &&
               is(cutters[0], CutterKind::gpt2_words) && is(cutters[1], CutterKind::byte_letters) &&
               vocabulary_.decoders.size() == 1 &&
               vocabulary_.decoders[0].kind == static_cast<std::uint8_t>(DecoderKind::bytes) &&
               (vocabulary_.options.flags &
                ~static_cast<unsigned>(kBytePieces | kFuseUnknown | kAddBos | kAddEos)) == 0 &&
               vocabulary_.options.unk < 0 &&
               std::none_of(vocabulary_.added.begin(), vocabulary_.added.end(), has_way);
    }
    void become_gpt2() {
        vocabulary_.kind = TokenizerKind::bpe;
        vocabulary_.options.split = WordSplit::gpt2;
        vocabulary_.options.flags &= static_cast<unsigned>(kAddBos | kAddEos);
        vocabulary_.cutters.clear();
        vocabulary_.decoders.clear();
        vocabulary_.added.clear();
    }

    ConfigFile settings_;
    const ConfigFile* beside_;
    ListSink lists_;
    Ids before_, after_;  // what is put around a text
    Ids between_;         // what stands between two
    bool pairs_are_known_ = true;
    Vocabulary vocabulary_;
    std::string_view json_;
};

}  // namespace

Tokenizer read_json_tokenizer(std::string_view json, std::pmr::memory_resource* heap,
                              const ConfigFile* beside) {
    return Reader(json, beside, heap).read();
}

}  // namespace volta
