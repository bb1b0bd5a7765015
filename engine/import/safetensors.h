// The safetensors container: 8 bytes that hold the length of a JSON header, the header, the tensors' bytes.
// And the index of a model in several such files: {"weight_map": {"<tensor>": "<file in the same folder>"}}.
#pragma once

#include <memory_resource>

#include "engine/import/weight_source.h"

namespace volta {

// Whether the first bytes are those of such a file; what it holds may still be wrong, or cut.
bool looks_like_safetensors(const unsigned char* data, std::size_t bytes) noexcept;

// Throw IO_ERROR; CORRUPT_MODEL with the reason: everything in the files is checked, the texts of
// "__metadata__" are the source's.
WeightSource read_safetensors(const char* path, std::pmr::memory_resource* heap);
WeightSource read_safetensors_index(const char* path, std::pmr::memory_resource* heap);

}  // namespace volta
