// A model as a GGUF file: the keys, tensors and tokenizer by which llama.cpp and its like run it
// (docs/import.md, "GGUF").
#pragma once

#include <memory_resource>
#include <optional>

#include "engine/base/stop.h"
#include "engine/model/model.h"

namespace volta {

struct GgufExport {
    // What the weights of products and the table of tokens become; none: what they are in the model.
    std::optional<DType> weights;
    bool no_tokenizer = false;
    const Stop* stop = &kNeverStops;
};

// Crash-safe; the same model gives the same bytes. Throws IO_ERROR; UNSUPPORTED, naming it, for a model, a
// setting, a value or a tokenizer that has no form there.
void export_gguf(const Model& model, const char* path, const GgufExport& wanted,
                 std::pmr::memory_resource* heap);

}  // namespace volta
