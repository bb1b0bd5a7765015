// The tensors of a GGUF file as a WeightSource (the container itself: gguf_file.h).
#pragma once

#include <memory_resource>

#include "engine/import/gguf_file.h"
#include "engine/import/weight_source.h"

namespace volta {

// `file` reads the bytes of `mapping`, which the source keeps. Throws UNSUPPORTED naming a tensor of a type
// that is not read.
WeightSource weights_of(const GgufFile& file, MappedFile&& mapping, std::pmr::memory_resource* heap);

}  // namespace volta
