// Files of text, one behind the other, or a part of a folder of them: which one is said by names, and all
// files are the train part where no name says so.
#pragma once

#include "data/data_set.h"

namespace volta::data {

struct TextFiles {
    Text bytes;  // all files' text; at least one byte
    Text name;   // of the first file
    std::uint64_t files;
};

// Bits 1 << split of what the folder has. IO_ERROR: there is no folder.
std::uint32_t text_parts(const char* folder, std::pmr::memory_resource* heap);

TextFiles read_texts(const HomeRef& home, const Paths& paths);

}  // namespace volta::data
