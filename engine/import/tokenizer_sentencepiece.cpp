// SentencePiece's own files, tokenizer.model: a message of pieces with scores and types, what its trainer was
// asked for, and its normaliser. Field numbers are those of sentencepiece_model.proto.
#include <algorithm>

#include "engine/base/error.h"
#include "engine/import/config_file.h"
#include "engine/import/protobuf.h"
#include "engine/import/tokenizer_files.h"
#include "engine/model/text.h"
#include "engine/model/tokenizer_model.h"

namespace volta {
namespace {

enum class ModelType : std::int64_t { unigram = 1, bpe = 2 };

// Of the trainer's message. What is left out has these values.
struct Trainer {
    ModelType type = ModelType::unigram;
    bool byte_fallback = false, spaces_behind = false;
    std::string_view bos = "<s>", eos = "</s>", pad = "<pad>", unknown = " \xe2\x81\x87 ";
};

struct TextRules {
    std::string_view map;
    bool dummy = true, few_spaces = true, escaped = true;
};

// Classes of transformers whose ids are those of the file, and what they put around a text.
struct ClassRow {
    const char* name;
    bool bos, eos;
};
constexpr ClassRow kClasses[] = {{"LlamaTokenizer", true, false},     {"LlamaTokenizerFast", true, false},
                                 {"CodeLlamaTokenizer", true, false}, {"CodeLlamaTokenizerFast", true, false},
                                 {"GemmaTokenizer", true, false},     {"GemmaTokenizerFast", true, false},
                                 {"T5Tokenizer", false, true},        {"T5TokenizerFast", false, true},
                                 {"AlbertTokenizer", true, true},     {"AlbertTokenizerFast", true, true}};

class Reader {
  public:
    Reader(std::string_view bytes, const ConfigFile* beside, std::pmr::memory_resource* heap)
        : beside_(beside), vocabulary_(heap) {
        for (Fields fields(bytes); fields.next();) take(fields);
    }

    Tokenizer read() {
        if (vocabulary_.pieces.empty()) fail(VOLTA_CORRUPT_MODEL, "it has no pieces");
        if (trainer_.type == ModelType::bpe && is_plain()) {
            vocabulary_.kind = TokenizerKind::spm;
            if (rules_.dummy) vocabulary_.options.flags |= kSpacePrefix;
        } else {
            vocabulary_.kind = trainer_.type == ModelType::bpe ? TokenizerKind::sentencepiece_pairs
                                                               : TokenizerKind::sentencepiece_unigram;
            if (trainer_.byte_fallback) vocabulary_.options.flags |= kByteFallback;
            add_step();
        }
        find_special();
        return Tokenizer::from_vocabulary(std::move(vocabulary_));
    }

  private:
    // The message of the file.
    void take(Fields& fields) {
        switch (fields.number()) {
            case 1:
                return take_piece(fields.bytes());
            case 2:
                return take_trainer(fields.bytes());
            case 3:
                return take_rules(fields.bytes(), rules_);
            case 5: {
                TextRules back;
                take_rules(fields.bytes(), back);
                if (!back.map.empty())
                    fail(VOLTA_UNSUPPORTED,
                         "its denormalizer_spec has a character map, which this library does not apply");
                return;
            }
            default:  // samples to test it with, and what later versions add for training
                return;
        }
    }

    static PieceType type_of(std::int64_t type, std::size_t id, std::string_view piece) {
        const ShownName name = shown(piece);
        switch (type) {
            case 1:
                return PieceType::normal;
            case 2:
                return PieceType::unknown;
            case 3:
                return PieceType::control;
            case 4:
                return PieceType::user;
            case 5:
                fail(VOLTA_UNSUPPORTED,
                     "piece %zu, '%.*s', is marked as unused, which this library does not read", id,
                     name.bytes, name.text);
            case 6:
                return PieceType::byte;
            default:
                fail(VOLTA_CORRUPT_MODEL, "piece %zu, '%.*s', is of an unknown type, %lld", id, name.bytes,
                     name.text, static_cast<long long>(type));
        }
    }

    void take_piece(std::string_view message) {
        std::string_view piece;
        float score = 0;
        std::int64_t type = 1;
        for (Fields fields(message); fields.next();) {
            if (fields.number() == 1)
                piece = fields.bytes();
            else if (fields.number() == 2)
                score = fields.real();
            else if (fields.number() == 3)
                type = fields.integer();
        }
        const std::size_t id = vocabulary_.pieces.size();
        if (piece.empty()) fail(VOLTA_CORRUPT_MODEL, "piece %zu is empty", id);
        vocabulary_.types.push_back(type_of(type, id, piece));
        vocabulary_.pieces.emplace_back(piece);
        vocabulary_.scores.push_back(score);
        if (vocabulary_.types.back() != PieceType::unknown) return;
        if (vocabulary_.options.unk >= 0)
            fail(VOLTA_CORRUPT_MODEL, "the pieces %d and %zu are both for what is unknown",
                 vocabulary_.options.unk, id);
        vocabulary_.options.unk = static_cast<std::int32_t>(id);
    }

    void take_trainer(std::string_view message) {
        for (Fields fields(message); fields.next();) {
            switch (fields.number()) {
                case 3:
                    trainer_.type = checked_type(fields.integer());
                    break;
                case 24:
                    trainer_.spaces_behind = fields.integer() != 0;
                    break;
                case 35:
                    trainer_.byte_fallback = fields.integer() != 0;
                    break;
                case 44:
                    trainer_.unknown = fields.bytes();
                    break;
                case 46:
                    trainer_.bos = fields.bytes();
                    break;
                case 47:
                    trainer_.eos = fields.bytes();
                    break;
                case 48:
                    trainer_.pad = fields.bytes();
                    break;
                default:
                    break;
            }
        }
    }
    static ModelType checked_type(std::int64_t type) {
        if (type != 1 && type != 2)
            fail(VOLTA_UNSUPPORTED, "its model_type is %lld, neither 1 (unigram) nor 2 (bpe)",
                 static_cast<long long>(type));
        return static_cast<ModelType>(type);
    }

    static void take_rules(std::string_view message, TextRules& rules) {
        for (Fields fields(message); fields.next();) {
            if (fields.number() == 2)
                rules.map = fields.bytes();
            else if (fields.number() == 3)
                rules.dummy = fields.integer() != 0;
            else if (fields.number() == 4)
                rules.few_spaces = fields.integer() != 0;
            else if (fields.number() == 5)
                rules.escaped = fields.integer() != 0;
        }
    }

    // Whether it is what Llama's files are, the kind spm: every character is one, or its bytes.
    bool is_plain() const {
        return rules_.map.empty() && !rules_.few_spaces && rules_.escaped && !trainer_.spaces_behind &&
               trainer_.byte_fallback &&
               std::find(vocabulary_.types.begin(), vocabulary_.types.end(), PieceType::user) ==
                   vocabulary_.types.end();
    }

    void add_step() {
        std::uint32_t flags = 0;
        if (rules_.dummy) flags |= trainer_.spaces_behind ? kDummySuffix : kDummyPrefix;
        if (rules_.few_spaces) flags |= kFewSpaces;
        if (rules_.escaped) flags |= kEscapedSpaces;
        vocabulary_.normalisers.emplace_back(static_cast<std::uint8_t>(NormaliserKind::sentencepiece), flags,
                                             rules_.map, trainer_.unknown);
    }

    // ---- which pieces begin and end texts

    std::int32_t find_control(std::string_view name) const {
        for (std::int32_t id = 0; id < vocabulary_.size(); ++id)
            if (vocabulary_.type(id) == PieceType::control &&
                vocabulary_.pieces[static_cast<std::size_t>(id)] == name)
                return id;
        return -1;
    }
    // What a tokenizer_config.json beside the file calls it, else the trainer.
    std::int32_t find_named(const char* setting, std::string_view name) const {
        if (beside_ == nullptr) return find_control(name);
        std::pmr::string content(setting, vocabulary_.heap());
        content += ".content";
        if (beside_->has(content)) return find_control(beside_->text(content, ""));
        return find_control(beside_->has(setting) ? beside_->text(setting, "") : name);
    }

    void find_special() {
        TokenizerOptions& options = vocabulary_.options;
        options.bos = find_named("bos_token", trainer_.bos);
        options.eos = find_named("eos_token", trainer_.eos);
        options.pad = find_named("pad_token", trainer_.pad);
        bool bos = trainer_.type == ModelType::bpe, eos = !bos;  // as llama.cpp has it
        if (beside_ != nullptr && beside_->has("tokenizer_class")) {
            const std::string_view name = beside_->text("tokenizer_class", "");
            const auto row = std::find_if(std::begin(kClasses), std::end(kClasses),
                                          [&](const ClassRow& known) { return name == known.name; });
            const ShownName text = shown(name);
            if (row == std::end(kClasses))
                fail(VOLTA_UNSUPPORTED,
                     "in tokenizer_config.json beside it: the tokenizer_class '%.*s' may have other ids than "
                     "the file, and its tokenizer.json is not there",
                     text.bytes, text.text);
            bos = row->bos;
            eos = row->eos;
            if (name.substr(0, 6) == "Albert") {
                options.bos = find_named("cls_token", "[CLS]");
                options.eos = find_named("sep_token", "[SEP]");
            }
        }
        if (beside_ != nullptr) {
            bos = beside_->truth("add_bos_token", bos);
            eos = beside_->truth("add_eos_token", eos);
        }
        if (bos && options.bos >= 0) options.flags |= kAddBos;
        if (eos && options.eos >= 0) options.flags |= kAddEos;
    }

    const ConfigFile* beside_;
    Trainer trainer_;
    TextRules rules_;
    Vocabulary vocabulary_;
};

}  // namespace

// The first field, a piece, whose own fields are its text and then its score or type. Read by hand: a reader
// of fields throws, and a file of another format is no error.
bool looks_like_sentencepiece(std::string_view bytes) {
    constexpr char kFirstBytes = 1 << 3 | 2, kScore = 2 << 3 | 5, kType = 3 << 3;
    std::size_t at = 0;
    // The length of a field of bytes numbered 1 that begins here; 0: none of up to 16383 bytes.
    const auto length = [&]() -> std::size_t {
        if (at + 2 > bytes.size() || bytes[at] != kFirstBytes) return 0;
        const auto low = static_cast<unsigned char>(bytes[at + 1]);
        at += 2;
        if (low < 0x80) return low;
        if (at == bytes.size() || (bytes[at] & 0x80) != 0) return 0;
        return (low & 0x7fu) | static_cast<std::size_t>(bytes[at++]) << 7;
    };
    const std::size_t piece = length(), begin = at, text = piece == 0 ? 0 : length();
    return text > 0 && at + text < begin + piece && at + text < bytes.size() &&
           (bytes[at + text] == kScore || bytes[at + text] == kType);
}

Tokenizer read_sentencepiece_tokenizer(std::string_view bytes, std::pmr::memory_resource* heap,
                                       const ConfigFile* beside) {
    return Reader(bytes, beside, heap).read();
}

}  // namespace volta
