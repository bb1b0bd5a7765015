// A model whose weights are stored in fewer bits (engine/numerics/stored_weights.h).
#pragma once

#include <memory_resource>

#include "engine/model/model.h"

namespace volta {

// `dtype` is a stored type. Weights that only products and look-ups of tokens read are stored, as [outputs,
// inputs]; the rest is copied. Throws INVALID_ARGUMENT: see volta_model_quantize.
HeapPtr<Model> quantize(const Model& model, DType dtype, std::pmr::memory_resource* structures,
                        std::pmr::memory_resource* tensors);

}  // namespace volta
