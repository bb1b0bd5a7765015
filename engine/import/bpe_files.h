// What the files of byte-level BPE have in common: bytes written as letters, merges written as lines.
#pragma once

#include <string_view>

#include "engine/model/piece_index.h"
#include "engine/model/vocabulary.h"

namespace volta {

// GPT-2's files have no byte that is not printable: such bytes are written as letters from U+0100 on. This
// turns the normal pieces of the vocabulary into raw bytes. Throws CORRUPT_MODEL for a letter that is no
// byte.
void make_pieces_raw(Vocabulary& vocabulary);

// Bytes as such files write them: the inverse.
std::pmr::string as_letters(std::string_view raw, std::pmr::memory_resource* heap);

// Adds the merge of one line, "left right", or with a zero byte between them. `raw`: both are written as
// letters, and `pieces` has the raw ones. Throws CORRUPT_MODEL for a line of another form or of pieces that
// do not exist.
void add_merge(std::string_view line, const PieceIndex& pieces, bool raw, Vocabulary& vocabulary);

// The pieces that words are made of. The vocabulary must keep them where they are.
PieceIndex index_pieces(const Vocabulary& vocabulary);

}  // namespace volta
