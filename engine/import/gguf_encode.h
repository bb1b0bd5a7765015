// f32 as the types of tensors that GGUF files are written in, by the rounding of llama.cpp's reference
// (docs/import.md, "GGUF").
#pragma once

#include <cstdint>

#include "engine/numerics/stored_weights.h"

namespace volta {

// `file_type` is the number of "general.file_type" of a file whose matrices are mostly of this type.
struct GgufOutputType {
    const char* name;  // as find_stored_type has it
    DType of;          // the type of weights that it is written for
    std::uint32_t id, file_type;
    std::uint32_t block_values, block_bytes;
    // `count` values, whole blocks. False: one is not finite, or becomes infinite; nothing may be made of it.
    bool (*encode)(const float* values, std::int64_t count, unsigned char* out);
};
const GgufOutputType* find_gguf_output(DType dtype);  // NULL: none; of f32_panels it is that of f32

// Row j of weights of integers as the blocks that hold the same: int8 as Q8_0, int4 as Q4_0; k whole groups.
void encode_stored_row(const StoredWeights& weights, std::int64_t j, unsigned char* out);

}  // namespace volta
