// Tokenizers in GGUF files: the keys tokenizer.ggml.*.
#include <algorithm>

#include "engine/base/error.h"
#include "engine/import/bpe_files.h"
#include "engine/import/tokenizer_files.h"
#include "engine/import/word_splits.h"
#include "engine/model/text.h"
#include "engine/model/tokenizer_model.h"

namespace volta {
namespace {

constexpr const char kModel[] = "tokenizer.ggml.model", kTokens[] = "tokenizer.ggml.tokens";
constexpr std::string_view kPadding = "tokenizer.ggml.padding_token_id";

void read_pieces(const GgufFile& file, Vocabulary& vocabulary) {
    const auto tokens = file.strings(kTokens, vocabulary.heap());
    vocabulary.pieces.reserve(tokens.size());
    for (const std::string_view token : tokens) vocabulary.pieces.emplace_back(token);
}

PieceType piece_type(std::int32_t type, std::size_t id) {
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
            return PieceType::control;  // unused: never in a text
        case 6:
            return PieceType::byte;
        default:
            fail(VOLTA_CORRUPT_MODEL, "token %zu is of an unknown type, %d", id, type);
    }
}

void read_types(const GgufFile& file, Vocabulary& vocabulary) {
    constexpr const char kKey[] = "tokenizer.ggml.token_type";
    if (file.find(kKey) == nullptr) return;
    const auto types = file.integers(kKey, vocabulary.heap());
    vocabulary.types.reserve(types.size());
    for (std::size_t id = 0; id < types.size(); ++id) vocabulary.types.push_back(piece_type(types[id], id));
}

// The id under a key; -1: the key is missing, or says so. Older writers stored that -1 as an unsigned number.
// An id that is no piece can only be meant for one that stands in no text, a padding; any other decides what
// ids a text has, or where it ends.
std::int32_t read_id(const GgufFile& file, std::string_view key, std::int32_t count) {
    const GgufEntry* entry = file.find(key);
    if (entry == nullptr) return -1;
    const bool wide = entry->type == GgufType::u32 || entry->type == GgufType::u64;
    if (wide && entry->bytes.find_first_not_of('\xff') == entry->bytes.npos) return -1;
    const std::int64_t id = file.integer(key);
    if (id >= -1 && id < count) return static_cast<std::int32_t>(id);
    if (key == kPadding) return -1;
    const ShownName name = shown(key);
    fail(VOLTA_CORRUPT_MODEL, "'%.*s' is %lld, outside its vocabulary [0, %d)", name.bytes, name.text,
         static_cast<long long>(id), count);
}

struct EndKeys {
    const char *id, *add;
};
constexpr EndKeys kBos = {"tokenizer.ggml.bos_token_id", "tokenizer.ggml.add_bos_token"};
constexpr EndKeys kEos = {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.add_eos_token"};
constexpr EndKeys kCls = {"tokenizer.ggml.cls_token_id", "tokenizer.ggml.add_bos_token"};
constexpr EndKeys kSep = {"tokenizer.ggml.seperator_token_id", "tokenizer.ggml.add_eos_token"};

// What is added by default is added only where it exists; what the file asks for must exist.
bool adds(const GgufFile& file, const EndKeys& keys, std::int32_t id, bool fallback) {
    const bool wanted = file.boolean(keys.add, fallback && id >= 0);
    if (wanted && id < 0)
        fail(VOLTA_CORRUPT_MODEL, "'%s' is true, and no '%s' says what to add", keys.add, keys.id);
    return wanted;
}

void read_ends(const GgufFile& file, Vocabulary& vocabulary, const EndKeys& bos, const EndKeys& eos,
               bool add_bos, bool add_eos) {
    TokenizerOptions& options = vocabulary.options;
    const std::int32_t count = vocabulary.size();
    options.bos = read_id(file, bos.id, count);
    options.eos = read_id(file, eos.id, count);
    options.unk = read_id(file, "tokenizer.ggml.unknown_token_id", count);
    options.pad = read_id(file, kPadding, count);
    if (adds(file, bos, options.bos, add_bos)) options.flags |= kAddBos;
    if (adds(file, eos, options.eos, add_eos)) options.flags |= kAddEos;
}

Tokenizer read_spm(const GgufFile& file, Vocabulary&& vocabulary) {
    vocabulary.kind = TokenizerKind::spm;
    vocabulary.scores = file.floats("tokenizer.ggml.scores", vocabulary.heap());
    read_ends(file, vocabulary, kBos, kEos, true, false);
    if (file.boolean("tokenizer.ggml.add_space_prefix", true)) vocabulary.options.flags |= kSpacePrefix;
    return Tokenizer::from_vocabulary(std::move(vocabulary));
}

Tokenizer read_bpe(const GgufFile& file, Vocabulary&& vocabulary) {
    vocabulary.kind = TokenizerKind::bpe;
    const std::string_view split = file.string("tokenizer.ggml.pre", "gpt-2");
    const WordSplitRow* row = find_word_split(split);
    const ShownName name = shown(split);
    if (row == nullptr)
        fail(VOLTA_UNSUPPORTED, "its tokenizer splits words as '%.*s' does, which this library does not know",
             name.bytes, name.text);
    set_word_split(*row, vocabulary);
    read_ends(file, vocabulary, kBos, kEos, begins_with_bos(*row), false);
    make_pieces_raw(vocabulary);
    const PieceIndex pieces = index_pieces(vocabulary);
    for (const std::string_view line : file.strings("tokenizer.ggml.merges", vocabulary.heap()))
        add_merge(line, pieces, true, vocabulary);
    return Tokenizer::from_vocabulary(std::move(vocabulary));
}

// The file's pieces begin words with U+2581, or continue them with "##".
bool begins_words_with_mark(const Vocabulary& vocabulary) {
    return std::any_of(vocabulary.pieces.begin(), vocabulary.pieces.end(), [](const std::pmr::string& piece) {
        return piece.compare(0, kWordMarkBytes, kWordMark) == 0;
    });
}

Tokenizer read_wordpiece(const GgufFile& file, Vocabulary&& vocabulary) {
    vocabulary.kind = TokenizerKind::wordpiece;
    TokenizerOptions& options = vocabulary.options;
    read_ends(file, vocabulary, kCls, kSep, true, true);
    options.flags |= kLowerCase;
    if (begins_words_with_mark(vocabulary)) options.flags |= kWordPrefix;
    options.most_word_characters = kMostBertWordCharacters;
    return Tokenizer::from_vocabulary(std::move(vocabulary));
}

struct ModelRow {
    const char* name;
    Tokenizer (*read)(const GgufFile&, Vocabulary&&);
};
constexpr ModelRow kModels[] = {{"gpt2", read_bpe}, {"llama", read_spm}, {"bert", read_wordpiece}};

}  // namespace

bool has_gguf_tokenizer(const GgufFile& file) {
    const std::string_view model = file.string(kModel, "none");
    return model != "none" && model != "no_vocab";  // of models whose host makes the ids
}

Tokenizer read_gguf_tokenizer(const GgufFile& file, std::pmr::memory_resource* heap) {
    const std::string_view model = file.string(kModel);
    const ShownName name = shown(model);
    for (const ModelRow& row : kModels) {
        if (model != row.name) continue;
        Vocabulary vocabulary(heap);
        read_pieces(file, vocabulary);
        read_types(file, vocabulary);
        return row.read(file, std::move(vocabulary));
    }
    fail(VOLTA_UNSUPPORTED, "its tokenizer is '%.*s', which this library does not read", name.bytes,
         name.text);
}

}  // namespace volta
