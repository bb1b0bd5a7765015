// What a file is that is none of those read here, by its first bytes: what a download, a checkout or another
// program leaves under the name of a model, so that a message can say it.
#pragma once

#include <string_view>

namespace volta {

// What it is and what to do, to follow "it is ": "a pointer of git LFS: ..."; NULL: none of the kinds known.
const char* other_file_kind(std::string_view bytes) noexcept;

}  // namespace volta
