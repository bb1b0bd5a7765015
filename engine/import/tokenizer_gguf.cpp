// Tokenizers in GGUF files: the keys tokenizer.ggml.*.
#include <algorithm>

#include "engine/base/error.h"
#include "engine/import/bpe_files.h"
#include "engine/import/tokenizer_files.h"
#include "engine/model/text.h"
#include "engine/model/tokenizer_model.h"

namespace volta {
namespace {

constexpr const char kTokens[] = "tokenizer.ggml.tokens";

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

// The id under a key; -1: the key is missing. Whether it is in the vocabulary is seen later.
std::int32_t read_id(const GgufFile& file, std::string_view key) {
    const std::int64_t id = file.integer(key, -1);
    const ShownName name = shown(key);
    if (id < -1 || id > INT32_MAX)
        fail(VOLTA_CORRUPT_MODEL, "'%.*s' is %lld, which is no id", name.bytes, name.text,
             static_cast<long long>(id));
    return static_cast<std::int32_t>(id);
}

constexpr const char kBos[] = "tokenizer.ggml.bos_token_id", kEos[] = "tokenizer.ggml.eos_token_id";

void read_ends(const GgufFile& file, TokenizerOptions& options, const char* bos, const char* eos,
               bool add_bos, bool add_eos) {
    options.bos = read_id(file, bos);
    options.eos = read_id(file, eos);
    options.unk = read_id(file, "tokenizer.ggml.unknown_token_id");
    options.pad = read_id(file, "tokenizer.ggml.padding_token_id");
    // What is added by default is added only where it exists; what the file asks for must exist.
    if (file.boolean("tokenizer.ggml.add_bos_token", add_bos && options.bos >= 0)) options.flags |= kAddBos;
    if (file.boolean("tokenizer.ggml.add_eos_token", add_eos && options.eos >= 0)) options.flags |= kAddEos;
}

Tokenizer read_spm(const GgufFile& file, Vocabulary&& vocabulary) {
    vocabulary.kind = TokenizerKind::spm;
    vocabulary.scores = file.floats("tokenizer.ggml.scores", vocabulary.heap());
    read_ends(file, vocabulary.options, kBos, kEos, true, false);
    if (file.boolean("tokenizer.ggml.add_space_prefix", true)) vocabulary.options.flags |= kSpacePrefix;
    return Tokenizer::from_vocabulary(std::move(vocabulary));
}

Tokenizer read_bpe(const GgufFile& file, Vocabulary&& vocabulary) {
    vocabulary.kind = TokenizerKind::bpe;
    const std::string_view split = file.string("tokenizer.ggml.pre", "gpt-2");
    const ShownName name = shown(split);
    if (split != "gpt-2")
        fail(VOLTA_UNSUPPORTED, "its tokenizer splits words as '%.*s' does, which this library does not know",
             name.bytes, name.text);
    vocabulary.options.split = WordSplit::gpt2;
    read_ends(file, vocabulary.options, kBos, kEos, false, false);
    make_pieces_raw(vocabulary);
    const PieceIndex pieces = index_pieces(vocabulary);
    for (const std::string_view line : file.strings("tokenizer.ggml.merges", vocabulary.heap()))
        add_merge(line, pieces, vocabulary);
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
    read_ends(file, options, "tokenizer.ggml.cls_token_id", "tokenizer.ggml.seperator_token_id", true, true);
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

Tokenizer read_gguf_tokenizer(const GgufFile& file, std::pmr::memory_resource* heap) {
    const std::string_view model = file.string("tokenizer.ggml.model");
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
