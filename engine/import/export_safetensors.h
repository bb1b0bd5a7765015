// A model's parameters as a safetensors file, for other programs: Volta's own names, the metadata as texts.
// The tokenizer, the graph of a model that no builder makes and the state of training stay behind.
#pragma once

#include <memory_resource>

#include "engine/base/stop.h"
#include "engine/model/model.h"

namespace volta {

// Throws UNSUPPORTED, naming a parameter that is stored in fewer bits.
void require_f32(const Model& model);

// Crash-safe; the same model gives the same bytes; import_model gives a model of the same hash. Throws
// IO_ERROR.
void export_safetensors(const Model& model, const char* path, std::pmr::memory_resource* heap,
                        const Stop& stop = kNeverStops);

// The same parameters under Hugging Face's names, in its layouts, without the metadata, and at `config_path`
// the config.json that says what the model is; NULL: none. Throws UNSUPPORTED for a model that is none of
// GPT, Llama and BERT, or that Hugging Face computes otherwise.
void export_hugging_face(const Model& model, const char* path, const char* config_path,
                         std::pmr::memory_resource* heap, const Stop& stop = kNeverStops);

}  // namespace volta
