// Adapters as PEFT keeps them: a folder of adapter_config.json and adapter_model.safetensors.
#pragma once

#include <memory>
#include <memory_resource>

#include "engine/base/stop.h"
#include "engine/model/model.h"

namespace volta {

// `model`: one with adapters, or the model that their file is. `folder` is there. A product that is one
// module there and several parts here (GPT-2's c_attn) gets their ranks together, and zeros where a part has
// none of another's. Throws UNSUPPORTED: an architecture that has no names of Hugging Face; IO_ERROR.
void export_peft(const Model& model, const char* folder, std::pmr::memory_resource* heap,
                 const Stop& stop = kNeverStops);

// A model on `base` with the adapters of such a folder. Throws IO_ERROR; CORRUPT_MODEL: damaged, or of other
// sizes; UNSUPPORTED: a setting, a tensor or a module that Volta's adapters do not have, by its name.
HeapPtr<Model> import_peft(const std::shared_ptr<const Model>& base, const char* folder,
                           std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors);

}  // namespace volta
