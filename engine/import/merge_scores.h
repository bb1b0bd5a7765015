// Pairs of characters, as a tokenizer.json of Llama has them, as the scores of pieces that SentencePiece and
// GGUF files know.
#pragma once

#include "engine/model/vocabulary.h"

namespace volta {

// Whether a text begins with a space that it does not contain; only of the steps that such files have. Throws
// UNSUPPORTED naming what no file of that kind can say.
bool puts_space_before(const Vocabulary& vocabulary);

// By id. What merges first has the highest score. Throws UNSUPPORTED where scores would merge otherwise.
std::pmr::vector<float> merge_scores(const Vocabulary& vocabulary);

}  // namespace volta
