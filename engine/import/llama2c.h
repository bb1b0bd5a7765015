// The files of llama2.c, version 0: seven little-endian int32, then f32 weights in a fixed order, without
// names. The tensors get the names of Meta's own files.
#pragma once

#include <memory_resource>

#include "engine/import/weight_source.h"
#include "engine/model/llama.h"

namespace volta {

// Whether the sizes in the first bytes make a file of exactly this length, or are those of a model and stand
// before weights: such a file was cut, or something was added to it, and read_llama2c says so.
bool looks_like_llama2c(const unsigned char* data, std::size_t bytes) noexcept;

struct Llama2c {
    WeightSource source;
    LlamaConfig config;
};
// Throws CORRUPT_MODEL with the size that is wrong; UNSUPPORTED for a later version.
Llama2c read_llama2c(MappedFile&& file, std::pmr::memory_resource* heap);

}  // namespace volta
