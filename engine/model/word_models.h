// What makes the ids of a word: pair encoding, unigrams, WordPiece, whole words. Between the steps of
// tokenizer_stepped.cpp.
#pragma once

#include <memory>
#include <memory_resource>
#include <string_view>
#include <vector>

#include "engine/model/merge_symbols.h"
#include "engine/model/tokenizer_model.h"

namespace volta {

// What one call needs beside its text, kept from word to word.
struct WordScratch {
    struct Node {
        double score;
        std::size_t start;
        std::int32_t id;  // -1: none ends here
    };
    explicit WordScratch(std::pmr::memory_resource* heap) : merger(heap), nodes(heap), ids(heap) {}
    SymbolMerger merger;
    std::pmr::vector<Node> nodes;
    std::pmr::vector<std::int32_t> ids;
};

class WordModel {
  public:
    virtual ~WordModel() = default;
    // `word` is not empty, and UTF-8 unless pieces are raw bytes. Throws INVALID_ARGUMENT for what the
    // vocabulary lacks.
    virtual void encode(std::string_view word, WordScratch& scratch, IdSink& ids) const = 0;
    // The id of a byte that is no UTF-8, or that of what is unknown; as above.
    virtual void encode_byte(unsigned char byte, IdSink& ids) const = 0;
};
using WordModelRef = std::shared_ptr<const WordModel>;

// Of the vocabulary's kind; the vocabulary must stay where it is. Throws CORRUPT_MODEL.
WordModelRef make_word_model(const Vocabulary& vocabulary);

}  // namespace volta
