#include "engine/import/bpe_files.h"

#include <array>

#include "engine/base/error.h"
#include "engine/model/text.h"

namespace volta {
namespace {

constexpr bool is_written_as_itself(unsigned byte) {
    return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

// The byte that each letter stands for; -1: none. The others follow one another from U+0100 on.
struct LetterTable {
    std::array<std::int16_t, 0x144> bytes{};
    constexpr LetterTable() {
        for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = -1;
        std::size_t next = 0x100;
        for (unsigned byte = 0; byte < 256; ++byte)
            bytes[is_written_as_itself(byte) ? byte : next++] = static_cast<std::int16_t>(byte);
    }
};
constexpr LetterTable kLetters;

// False: `letters` has one that is no byte.
bool append_raw(std::string_view letters, std::pmr::string* raw) {
    for (std::size_t at = 0; at < letters.size();) {
        const Character letter = read_character(letters, at);
        if (letter.bytes == 0 || letter.code_point >= kLetters.bytes.size() ||
            kLetters.bytes[letter.code_point] < 0)
            return false;
        *raw += static_cast<char>(kLetters.bytes[letter.code_point]);
        at += letter.bytes;
    }
    return true;
}

}  // namespace

void make_pieces_raw(Vocabulary& vocabulary) {
    for (std::int32_t id = 0; id < vocabulary.size(); ++id) {
        if (vocabulary.type(id) != PieceType::normal) continue;
        std::pmr::string& piece = vocabulary.pieces[static_cast<std::size_t>(id)];
        std::pmr::string raw(vocabulary.heap());
        const ShownName text = shown(piece);
        if (!append_raw(piece, &raw))
            fail(VOLTA_CORRUPT_MODEL, "piece %d, '%.*s', has a letter that stands for no byte", id,
                 text.bytes, text.text);
        piece = std::move(raw);
    }
}

std::pmr::string as_letters(std::string_view raw, std::pmr::memory_resource* heap) {
    std::array<std::uint16_t, 256> letters{};
    for (std::size_t letter = 0; letter < kLetters.bytes.size(); ++letter)
        if (kLetters.bytes[letter] >= 0)
            letters[static_cast<std::size_t>(kLetters.bytes[letter])] = static_cast<std::uint16_t>(letter);
    std::pmr::string text(heap);
    for (const char byte : raw) {
        char letter[4];
        text.append(letter, write_character(letters[static_cast<unsigned char>(byte)], letter));
    }
    return text;
}

PieceIndex index_pieces(const Vocabulary& vocabulary) {
    PieceIndex index(vocabulary.heap());
    for (std::int32_t id = 0; id < vocabulary.size(); ++id)
        if (vocabulary.type(id) == PieceType::normal)
            index.add(vocabulary.pieces[static_cast<std::size_t>(id)], id);
    index.sort();
    return index;
}

void add_merge(std::string_view line, const PieceIndex& pieces, Vocabulary& vocabulary) {
    const std::size_t rank = vocabulary.merges.size(), space = line.find(' ');
    const ShownName text = shown(line);
    std::int32_t ids[2] = {-1, -1};
    for (int side = 0; side < 2 && space != line.npos; ++side) {
        std::pmr::string raw(vocabulary.heap());
        if (append_raw(side == 0 ? line.substr(0, space) : line.substr(space + 1), &raw))
            ids[side] = pieces.find(raw);
    }
    if (ids[0] < 0 || ids[1] < 0)
        fail(VOLTA_CORRUPT_MODEL, "merge %zu, '%.*s', is no pair of pieces", rank, text.bytes, text.text);
    vocabulary.merges.push_back({ids[0], ids[1]});
}

}  // namespace volta
