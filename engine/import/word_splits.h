// The ways to cut a text into words that GGUF files know by name (tokenizer.ggml.pre), as steps of a
// vocabulary of byte-level pairs. They are those of the tokenizer.json that such a file was made of.
#pragma once

#include <string_view>

#include "engine/model/vocabulary.h"

namespace volta {

struct WordSplitRow;

// NULL: the name is not known.
const WordSplitRow* find_word_split(std::string_view name);
// Whether a text begins with bos where the file does not say.
bool begins_with_bos(const WordSplitRow& row);
// Makes the vocabulary, whose kind is bpe, cut words in this way; of GPT-2's own it stays of that kind.
void set_word_split(const WordSplitRow& row, Vocabulary& vocabulary);
// The name of the way in which a vocabulary of raw bytes cuts words; NULL: it has none.
const char* word_split_name(const Vocabulary& vocabulary);

bool same_steps(const TextSteps& a, const TextSteps& b);

}  // namespace volta
