#include "engine/model/tokenizer.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/model/text.h"

namespace volta {
namespace {

constexpr std::uint32_t kCodePoints = 0x110000;
constexpr std::int32_t kByteCount = 256;

void append_piece(std::pmr::vector<std::pmr::string>& pieces, std::string_view piece) {
    pieces.emplace_back(piece);
}

// Writes a code point as UTF-8; returns its bytes. The inverse of read_character.
std::size_t write_character(std::uint32_t code_point, char* out) {
    const std::size_t bytes = code_point < 0x80 ? 1 : code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
    if (bytes == 1) {
        out[0] = static_cast<char>(code_point);
        return 1;
    }
    for (std::size_t i = bytes - 1; i > 0; --i, code_point >>= 6)
        out[i] = static_cast<char>(0x80 | (code_point & 0x3f));
    out[0] = static_cast<char>((0xf00u >> bytes & 0xffu) | code_point);
    return bytes;
}

bool is_one_character(std::string_view piece) {
    return !piece.empty() && read_character(piece, 0).bytes == piece.size();
}

[[noreturn]] void fail_invalid_utf8(std::string_view text, std::size_t at) {
    fail(VOLTA_INVALID_ARGUMENT, "the text is not UTF-8: byte 0x%02x at offset %zu",
         static_cast<unsigned>(static_cast<unsigned char>(text[at])), at);
}

[[noreturn]] void fail_unknown(std::string_view text, std::size_t at, const Character& character) {
    const bool printable = character.code_point >= 0x20 && character.code_point != 0x7f &&
                           (character.code_point < 0x80 || character.code_point >= 0xa0);
    if (!printable)
        fail(VOLTA_INVALID_ARGUMENT, "the vocabulary lacks the character U+%04X at offset %zu",
             character.code_point, at);
    fail(VOLTA_INVALID_ARGUMENT, "the vocabulary lacks the character '%.*s' (U+%04X) at offset %zu",
         static_cast<int>(character.bytes), text.data() + at, character.code_point, at);
}

}  // namespace

const char* tokenizer_kind_name(TokenizerKind kind) { return kind == TokenizerKind::byte ? "byte" : "char"; }

Tokenizer Tokenizer::make_byte(std::pmr::memory_resource* heap) {
    Tokenizer tokenizer(heap);
    tokenizer.kind_ = TokenizerKind::byte;
    tokenizer.pieces_.reserve(kByteCount);
    for (int byte = 0; byte < kByteCount; ++byte) {
        const char piece = static_cast<char>(byte);
        append_piece(tokenizer.pieces_, std::string_view(&piece, 1));
    }
    return tokenizer;
}

Tokenizer Tokenizer::make_character(std::string_view text, std::pmr::memory_resource* heap) {
    require(!text.empty(), "the text to take characters from is empty");
    std::pmr::vector<bool> seen(kCodePoints, false, heap);
    std::size_t count = 0;
    for (std::size_t at = 0; at < text.size();) {
        const Character character = read_character(text, at);
        if (character.bytes == 0) fail_invalid_utf8(text, at);
        if (!seen[character.code_point]) ++count;
        seen[character.code_point] = true;
        at += character.bytes;
    }
    Tokenizer tokenizer(heap);
    tokenizer.kind_ = TokenizerKind::character;
    tokenizer.pieces_.reserve(count);
    for (std::uint32_t code_point = 0; code_point < kCodePoints; ++code_point) {
        if (!seen[code_point]) continue;
        char piece[4];
        append_piece(tokenizer.pieces_, std::string_view(piece, write_character(code_point, piece)));
    }
    tokenizer.index_ascii();
    return tokenizer;
}

Tokenizer Tokenizer::from_pieces(TokenizerKind kind, const std::pmr::vector<std::pmr::string>& pieces,
                                 std::pmr::memory_resource* heap) {
    if (kind == TokenizerKind::byte) {
        Tokenizer made = make_byte(heap);
        if (pieces != made.pieces_)
            fail(VOLTA_CORRUPT_MODEL, "the pieces of its byte tokenizer are not the 256 bytes in order");
        return made;
    }
    if (kind != TokenizerKind::character)
        fail(VOLTA_CORRUPT_MODEL, "its tokenizer is of an unknown kind, %d", static_cast<int>(kind));
    if (pieces.empty()) fail(VOLTA_CORRUPT_MODEL, "its character tokenizer has no pieces");
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        if (!is_one_character(pieces[i]))
            fail(VOLTA_CORRUPT_MODEL, "piece %zu of its character tokenizer is not one UTF-8 character", i);
        if (i > 0 && pieces[i] <= pieces[i - 1])
            fail(VOLTA_CORRUPT_MODEL,
                 "piece %zu of its character tokenizer does not come after the one before", i);
    }
    Tokenizer tokenizer(heap);
    tokenizer.kind_ = kind;
    tokenizer.pieces_.assign(pieces.begin(), pieces.end());
    tokenizer.index_ascii();
    return tokenizer;
}

Tokenizer::Tokenizer(const Tokenizer& other, std::pmr::memory_resource* heap)
    : kind_(other.kind_), pieces_(other.pieces_, heap), ascii_(other.ascii_) {}

std::string_view Tokenizer::piece(std::int32_t id) const {
    require(id >= 0 && id < size(), "token id %d is outside the vocabulary [0, %d)", static_cast<int>(id),
            static_cast<int>(size()));
    return pieces_[static_cast<std::size_t>(id)];
}

// UTF-8 sorts by bytes as by code points, so the pieces are in both orders.
std::int32_t Tokenizer::find_character(std::string_view text) const {
    if (text.size() == 1) return ascii_[static_cast<unsigned char>(text[0])];
    const auto at = std::lower_bound(pieces_.begin(), pieces_.end(), text);
    return at != pieces_.end() && *at == text ? static_cast<std::int32_t>(at - pieces_.begin()) : -1;
}

void Tokenizer::index_ascii() {
    ascii_.fill(-1);
    for (std::size_t id = 0; id < pieces_.size(); ++id)
        if (pieces_[id].size() == 1)
            ascii_[static_cast<unsigned char>(pieces_[id][0])] = static_cast<std::int32_t>(id);
}

std::size_t Tokenizer::encode(std::string_view text, std::int32_t* ids, std::size_t capacity) const {
    if (kind_ == TokenizerKind::byte) {
        for (std::size_t i = 0; i < std::min(text.size(), capacity); ++i)
            ids[i] = static_cast<unsigned char>(text[i]);
        return text.size();
    }
    std::size_t count = 0;
    for (std::size_t at = 0; at < text.size(); ++count) {
        const Character character = read_character(text, at);
        if (character.bytes == 0) fail_invalid_utf8(text, at);
        const std::int32_t id = find_character(text.substr(at, character.bytes));
        if (id < 0) fail_unknown(text, at, character);
        if (count < capacity) ids[count] = id;
        at += character.bytes;
    }
    return count;
}

}  // namespace volta
