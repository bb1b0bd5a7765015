#include "engine/import/bpe_files.h"

#include "engine/base/error.h"
#include "engine/model/normaliser.h"
#include "engine/model/text.h"

namespace volta {

void make_pieces_raw(Vocabulary& vocabulary) {
    for (std::int32_t id = 0; id < vocabulary.size(); ++id) {
        if (vocabulary.type(id) != PieceType::normal) continue;
        std::pmr::string& piece = vocabulary.pieces[static_cast<std::size_t>(id)];
        std::pmr::string raw(vocabulary.heap());
        const ShownName text = shown(piece);
        if (append_raw_bytes(piece, &raw))
            piece = std::move(raw);
        else if (vocabulary.kind == TokenizerKind::stepped_bpe)  // no word is ever like that
            vocabulary.types[static_cast<std::size_t>(id)] = PieceType::unknown;
        else
            fail(VOLTA_CORRUPT_MODEL, "piece %d, '%.*s', has a letter that stands for no byte", id,
                 text.bytes, text.text);
    }
}

std::pmr::string as_letters(std::string_view raw, std::pmr::memory_resource* heap) {
    std::pmr::string text(heap);
    append_byte_letters(raw, &text);
    return text;
}

PieceIndex index_pieces(const Vocabulary& vocabulary) {
    PieceIndex index(vocabulary.heap());
    for (std::int32_t id = 0; id < vocabulary.size(); ++id)
        if (vocabulary.in_model(id)) index.add(vocabulary.pieces[static_cast<std::size_t>(id)], id);
    index.sort();
    return index;
}

void add_merge(std::string_view line, const PieceIndex& pieces, bool raw, Vocabulary& vocabulary) {
    const std::size_t rank = vocabulary.merges.size(), zero = line.find('\0');
    const std::size_t space = zero != line.npos ? zero : line.find(' ');
    std::int32_t ids[2] = {-1, -1};
    for (int side = 0; side < 2 && space != line.npos; ++side) {
        const std::string_view part = side == 0 ? line.substr(0, space) : line.substr(space + 1);
        std::pmr::string bytes(vocabulary.heap());
        if (!raw || append_raw_bytes(part, &bytes))
            ids[side] = pieces.find(raw ? std::string_view(bytes) : part);
    }
    std::pmr::string name(line, vocabulary.heap());
    if (zero != line.npos) name[zero] = ' ';
    const ShownName text = shown(name);
    if (ids[0] < 0 || ids[1] < 0)
        fail(VOLTA_CORRUPT_MODEL, "merge %zu, '%.*s', is no pair of pieces", rank, text.bytes, text.text);
    vocabulary.merges.push_back({ids[0], ids[1]});
}

}  // namespace volta
