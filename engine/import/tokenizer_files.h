// Tokenizers of other programs. Every file is hostile input, as a model file is. docs/tokenizers.md says what
// of each format is read.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <string_view>

#include "engine/import/gguf_file.h"
#include "engine/model/tokenizer.h"

namespace volta {

class ConfigFile;

enum class TokenizerFormat : std::int32_t {
    automatic = 0,
    gguf = 1,
    llama2c = 2,
    gpt2 = 3,
    bert = 4,
    json = 5,
    sentencepiece = 6
};  // as in volta.h

// Whether a GGUF file has a vocabulary, or says that its model comes without.
bool has_gguf_tokenizer(const GgufFile& file);

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

// BERT's vocab.txt, as text. Throws CORRUPT_MODEL.
Tokenizer read_bert_tokenizer(std::string_view lines, bool lower_case, std::pmr::memory_resource* heap);

// Hugging Face's tokenizer.json, as text; `beside`, which may be NULL, is the tokenizer_config.json that
// names the pieces that begin and end texts. Throws CORRUPT_MODEL; UNSUPPORTED naming the setting that is not
// known.
Tokenizer read_json_tokenizer(std::string_view json, std::pmr::memory_resource* heap,
                              const ConfigFile* beside = nullptr);

// SentencePiece's tokenizer.model; `beside` as above. Throws likewise.
Tokenizer read_sentencepiece_tokenizer(std::string_view bytes, std::pmr::memory_resource* heap,
                                       const ConfigFile* beside = nullptr);
bool looks_like_sentencepiece(std::string_view bytes);

// Makes a wordpiece vocabulary of pieces, finding its special ones by their names.
void name_bert_pieces(Vocabulary& vocabulary, std::string_view unknown, bool lower_case);
inline constexpr std::uint32_t kMostBertWordCharacters = 100;  // where the file does not say
inline constexpr const char kEndOfText[] = "<|endoftext|>";    // of GPT-2

// From a file (or, of gpt2, its folder). Throws IO_ERROR, and what is wrong with the path in the sentence.
Tokenizer open_tokenizer(const char* path, TokenizerFormat format, std::pmr::memory_resource* heap);

}  // namespace volta
