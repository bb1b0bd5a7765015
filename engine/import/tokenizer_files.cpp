#include "engine/import/tokenizer_files.h"

#include <cstring>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/file.h"
#include "engine/import/config_file.h"
#include "engine/import/file_kind.h"
#include "engine/import/import_error.h"
#include "engine/model/tokenizer_model.h"

namespace volta {
namespace {

constexpr std::int32_t kMostPieceBytes = 1 << 16;  // llama2.c's lengths are small

// ---- llama2.c

template <class T>
T take(std::string_view& bytes, const char* what) {
    T value;
    if (bytes.size() < sizeof value)
        fail(VOLTA_CORRUPT_MODEL, "it ends inside %s, %zu bytes before its end", what,
             sizeof value - bytes.size());
    std::memcpy(&value, bytes.data(), sizeof value);
    bytes.remove_prefix(sizeof value);
    return value;
}

std::pmr::string marked(std::string_view piece, std::pmr::memory_resource* heap) {
    std::pmr::string out(heap);
    for (const char c : piece)
        if (c == ' ')
            out += kWordMark;
        else
            out += c;
    return out;
}

bool is_byte_piece(std::string_view piece) {
    return piece.size() == 6 && piece.substr(0, 3) == "<0x" && piece[5] == '>';
}

void read_llama2c_piece(std::string_view& bytes, Vocabulary& vocabulary) {
    const auto id = vocabulary.pieces.size();
    vocabulary.scores.push_back(take<float>(bytes, "a score"));
    const auto length = take<std::int32_t>(bytes, "a length");
    if (length < 0 || length > kMostPieceBytes || static_cast<std::size_t>(length) > bytes.size())
        fail(VOLTA_CORRUPT_MODEL, "piece %zu has the length %d, and %zu bytes follow", id, length,
             bytes.size());
    const std::string_view piece = bytes.substr(0, static_cast<std::size_t>(length));
    bytes.remove_prefix(piece.size());
    vocabulary.types.push_back(is_byte_piece(piece) ? PieceType::byte : PieceType::normal);
    vocabulary.pieces.push_back(marked(piece, vocabulary.heap()));
}

// The first three pieces, whose names in the file are made for printing ("\n<s>\n").
void name_llama2c_ends(Vocabulary& vocabulary) {
    constexpr struct {
        const char* name;
        PieceType type;
    } kFirst[] = {{"<unk>", PieceType::unknown}, {"<s>", PieceType::control}, {"</s>", PieceType::control}};
    if (vocabulary.pieces.size() < 3)
        fail(VOLTA_CORRUPT_MODEL, "it has %zu pieces, fewer than 3", vocabulary.pieces.size());
    for (std::size_t id = 0; id < 3; ++id) {
        vocabulary.pieces[id] = kFirst[id].name;
        vocabulary.types[id] = kFirst[id].type;
    }
    vocabulary.options.unk = 0;
    vocabulary.options.bos = 1;
    vocabulary.options.eos = 2;
    vocabulary.options.flags = kAddBos | kSpacePrefix;
}

// ---- which format

std::string_view view(const MappedFile& file) {
    return {reinterpret_cast<const char*>(file.data()), file.bytes()};
}

bool ends_with(std::string_view text, std::string_view end) {
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// The two names of GPT-2's pair of files.
constexpr struct {
    const char *pieces, *merges;
} kPairs[] = {{"encoder.json", "vocab.bpe"}, {"vocab.json", "merges.txt"}};

struct Pair {
    std::pmr::string pieces, merges;  // paths; empty: none
};

// The pair in the folder `path`, or the one whose first file `path` is.
Pair find_pair(std::string_view path, std::pmr::memory_resource* heap) {
    for (const auto& names : kPairs) {
        std::pmr::string folder(path, heap);
        if (ends_with(path, names.pieces))
            folder.resize(path.size() - std::strlen(names.pieces));
        else if (folder.back() != '/')
            folder += '/';
        Pair pair{std::pmr::string(folder, heap), std::pmr::string(folder, heap)};
        pair.pieces += names.pieces;
        pair.merges += names.merges;
        if (file_exists(pair.pieces.c_str()) && file_exists(pair.merges.c_str())) return pair;
    }
    return {std::pmr::string(heap), std::pmr::string(heap)};
}

Tokenizer open_pair(const char* path, const Pair& pair, std::pmr::memory_resource* heap) {
    if (pair.pieces.empty())
        fail(VOLTA_IO_ERROR, "'%s' is neither encoder.json with vocab.bpe beside it nor a folder of both",
             path);
    const MappedFile pieces(pair.pieces.c_str()), merges(pair.merges.c_str());
    return read_gpt2_tokenizer(view(pieces), view(merges), heap);
}

// Whether a line of BERT's vocabulary for unknown words is there.
bool names_unknown(std::string_view lines) {
    constexpr std::string_view kPiece = "[UNK]";
    for (std::size_t at = 0; (at = lines.find(kPiece, at)) != lines.npos; ++at) {
        const std::size_t end = at + kPiece.size();
        if ((at == 0 || lines[at - 1] == '\n') &&
            (end == lines.size() || lines[end] == '\n' || lines[end] == '\r'))
            return true;
    }
    return false;
}

// The tokenizer_config.json beside a file.
std::optional<ConfigFile> config_beside(std::string_view path, std::pmr::memory_resource* heap) {
    std::pmr::string beside(path.substr(0, path.rfind('/') + 1), heap);
    beside += "tokenizer_config.json";
    if (!file_exists(beside.c_str())) return std::nullopt;
    return ConfigFile(beside.c_str(), heap);
}

// What it says of a vocab.txt, whose pieces do not.
bool is_lower_case(std::string_view path, std::pmr::memory_resource* heap) {
    try {
        const std::optional<ConfigFile> beside = config_beside(path, heap);
        return !beside || beside->truth("do_lower_case", true);
    } catch (const Error& error) {
        fail(error.status(), "in tokenizer_config.json beside it: %s", error.what());
    }
}

Tokenizer open_json(const char* path, std::string_view json, std::pmr::memory_resource* heap) {
    const std::optional<ConfigFile> beside = config_beside(path, heap);
    return read_json_tokenizer(json, heap, beside ? &*beside : nullptr);
}

Tokenizer open_any(const char* path, TokenizerFormat format, std::pmr::memory_resource* heap) {
    const bool open = format == TokenizerFormat::automatic;
    const Pair pair = find_pair(path, heap);
    if (format == TokenizerFormat::gpt2 || (open && !pair.pieces.empty())) return open_pair(path, pair, heap);
    const MappedFile file(path);
    if (const char* kind = other_file_kind(view(file))) fail(VOLTA_UNSUPPORTED, "it is %s", kind);
    if (view(file).find_first_not_of(" \t\r\n") == std::string_view::npos)
        fail(VOLTA_CORRUPT_MODEL, "it is empty");
    if (format == TokenizerFormat::gguf || (open && view(file).substr(0, 4) == "GGUF"))
        return read_gguf_tokenizer(GgufFile(file.data(), file.bytes(), heap), heap);
    if (format == TokenizerFormat::sentencepiece || (open && looks_like_sentencepiece(view(file)))) {
        const std::optional<ConfigFile> beside = config_beside(path, heap);
        return read_sentencepiece_tokenizer(view(file), heap, beside ? &*beside : nullptr);
    }
    const std::size_t first = view(file).find_first_not_of(" \t\r\n");
    const bool object = first != std::string_view::npos && view(file)[first] == '{';
    if (format == TokenizerFormat::json || (open && object)) return open_json(path, view(file), heap);
    if (format == TokenizerFormat::bert || (open && names_unknown(view(file))))
        return read_bert_tokenizer(view(file), is_lower_case(path, heap), heap);
    return read_llama2c_tokenizer(view(file), heap);
}

}  // namespace

Tokenizer read_llama2c_tokenizer(std::string_view bytes, std::pmr::memory_resource* heap) {
    const auto longest = take<std::int32_t>(bytes, "the length of the longest piece");
    if (longest < 1 || longest > kMostPieceBytes)
        fail(VOLTA_CORRUPT_MODEL, "it is no tokenizer of llama2.c: its longest piece has %d bytes", longest);
    Vocabulary vocabulary(heap);
    vocabulary.kind = TokenizerKind::spm;
    while (!bytes.empty()) read_llama2c_piece(bytes, vocabulary);
    name_llama2c_ends(vocabulary);
    return Tokenizer::from_vocabulary(std::move(vocabulary));
}

Tokenizer open_tokenizer(const char* path, TokenizerFormat format, std::pmr::memory_resource* heap) {
    require(path != nullptr && *path != '\0', "the path of the tokenizer is empty");
    try {
        return open_any(path, format, heap);
    } catch (const Error& error) {
        fail_about(error, "cannot open the tokenizer", path);
    }
}

}  // namespace volta
