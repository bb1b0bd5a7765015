// What fine-tuning learns from: lines of JSON, as tokens and which of them are asked for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/support.h"

namespace voltac {

// One line of the file: tokens of a row, and for each whether a model is to say it from those before.
struct Document {
    std::vector<std::int32_t> tokens;
    std::vector<std::uint8_t> asked;
    std::vector<std::int32_t> segments;  // of a text and its pair: 0 and 1
    std::int32_t label = -1;             // of a classifier
    bool is_cut = false;                 // its texts were longer than a row
    std::size_t line = 0;                // in the file, from 1
};

// The documents of a file, by its name and its text. {"prompt", "completion"}: the completion is asked for,
// and the id that ends a text; {"messages": [{"role", "content"}, ...]}: the answers, by the model's chat
// format; {"text"}: all of it; {"text"[, "text_pair"], "label"}, for a model that classifies: the label, a
// number or one of `classes`; of its texts the longer one is cut until both have at most `most` ids with what
// stands around them. Failure "FILE:LINE: ..." for anything else.
std::vector<Document> parse_documents(const std::string& name, const std::string& text, const Model& model,
                                      const Tokenizer& tokenizer, const std::vector<std::string>& classes,
                                      std::size_t most);

// What a file's documents are, for a checkpoint to know them again.
std::string documents_mark(const std::vector<Document>& documents);

}  // namespace voltac
