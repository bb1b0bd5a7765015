// The tensors of a GGUF file as a WeightSource (the container itself: gguf_file.h).
#pragma once

#include <memory_resource>

#include "engine/import/gguf_file.h"
#include "engine/import/weight_source.h"

namespace volta {

// Only the first part of a file that was split has the keys of the model. Throws UNSUPPORTED for another one.
void require_first_part(const GgufFile& file);

// `file` reads the bytes of `mapping`, which the source keeps, at `path`; of a file that was split it is the
// first part, and the others are found beside it by its name. Throws UNSUPPORTED naming a tensor of a type
// that is not read; CORRUPT_MODEL for a part that is not what its name says.
WeightSource read_gguf_weights(const GgufFile& file, MappedFile&& mapping, const char* path,
                               std::pmr::memory_resource* heap);

}  // namespace volta
