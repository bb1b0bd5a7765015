// Files of text, one behind the other, or a part of a folder of them.
#pragma once

#include "data/data_set.h"

namespace volta::data {

struct TextFiles {
    Text bytes;  // all files' text; at least one byte
    Text name;   // of the first file
    std::uint64_t files;
};

TextFiles read_texts(const HomeRef& home, const Paths& paths);

}  // namespace volta::data
