// The texts of pieces, as the decoder steps of a tokenizer make them.
#pragma once

#include <memory_resource>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/model/vocabulary.h"

namespace volta {

struct PieceTexts {
    explicit PieceTexts(std::pmr::memory_resource* heap) : texts(heap), firsts(heap) {}
    std::pmr::vector<std::pmr::string> texts;  // by id
    std::pmr::vector<std::pair<std::int32_t, std::pmr::string>>
        firsts;  // of ids whose text is another where a text begins
};

// Control pieces are no text; those of `other`, ascending by id, are decoded as that text. Throws
// CORRUPT_MODEL for a step that is none, or one whose result would depend on what follows.
PieceTexts make_piece_texts(const Vocabulary& vocabulary,
                            const std::pmr::vector<std::pair<std::pmr::string, std::int32_t>>& other);

int byte_of_piece(std::string_view piece);  // of one like "<0x0A>"; -1: it is none

}  // namespace volta
