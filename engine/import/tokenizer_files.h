// Tokenizers of other programs. Every file is hostile input, as a model file is. docs/tokenizers.md says what
// of each format is read.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <string_view>

#include "engine/import/gguf_file.h"
#include "engine/model/tokenizer.h"

namespace volta {

enum class TokenizerFormat : std::int32_t {
    automatic = 0,
    gguf = 1,
    llama2c = 2,
    gpt2 = 3
};  // as in volta.h

// From the keys tokenizer.ggml.* of a GGUF file. Throws CORRUPT_MODEL with what is wrong, or UNSUPPORTED for
// a model or a way to split words that is not known.
Tokenizer read_gguf_tokenizer(const GgufFile& file, std::pmr::memory_resource* heap);

// llama2.c's tokenizer.bin: the length of the longest piece, then score, length and bytes of each piece up to
// the end. A space in a piece is SentencePiece's mark; id 0 is unknown, 1 begins and 2 ends a text. Throws
// CORRUPT_MODEL.
Tokenizer read_llama2c_tokenizer(std::string_view bytes, std::pmr::memory_resource* heap);

// GPT-2's files encoder.json and vocab.bpe, as texts. Throws CORRUPT_MODEL.
Tokenizer read_gpt2_tokenizer(std::string_view pieces, std::string_view merges,
                              std::pmr::memory_resource* heap);

// From a file (or, of gpt2, its folder). Throws IO_ERROR, and what is wrong with the path in the sentence.
Tokenizer open_tokenizer(const char* path, TokenizerFormat format, std::pmr::memory_resource* heap);

}  // namespace volta
