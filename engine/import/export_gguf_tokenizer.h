// A tokenizer as the keys tokenizer.ggml.* of a GGUF file: what tokenizer_gguf.cpp reads.
#pragma once

#include "engine/import/gguf_header.h"
#include "engine/model/vocabulary.h"

namespace volta {

// `rows` is how many ids the model has: those without a piece get names that stand in no text. Throws
// UNSUPPORTED for a tokenizer that has no form there.
void write_gguf_tokenizer(const Vocabulary& vocabulary, std::int64_t rows, GgufHeader& header);

// That there is none: the host makes the ids.
void write_no_gguf_tokenizer(GgufHeader& header);

}  // namespace volta
