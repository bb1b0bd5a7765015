// Texts to learn from and to evaluate: --text, a file, a stream or a folder, and --dataset text, of which
// libvolta_data says how folders are laid out.
#pragma once

#include <string>

#include "cli/pictures.h"

namespace voltac {

struct TextSource {
    std::string path;      // of --text or --data
    bool is_data = false;  // several paths separated by commas, each of them compressed or not
    TextSource(const std::string& text, const DatasetChoice& data)
        : path(data.is_of_text() ? data.data : text), is_data(data.is_of_text()) {}
    std::string name() const;
};

// Where a folder has no train part its validation part is learnt: the whole of its last tenth validates.
struct LearntText {
    std::string train, validation;  // validation empty: the last tenth of the train text's tokens
    std::string validated;          // what a validation loss is of; empty: the last tenth of one file
};
LearntText read_learnt_text(const std::string& command, const TextSource& source);

// `said`: which file it is, where the source leaves that open; empty: the source is the file.
std::string read_evaluated_text(const TextSource& source, const std::string& split, std::string& said);

}  // namespace voltac
