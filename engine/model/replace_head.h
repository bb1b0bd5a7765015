// A model whose last layer is a new one, of another number of classes.
#pragma once

#include <cstdint>
#include <memory_resource>

#include "engine/model/model.h"

namespace volta {

// The last layer is output 0: add(matmul(x, weight), bias) or the product alone, of parameters that nothing
// else reads. Throws INVALID_ARGUMENT, UNSUPPORTED: see volta_model_replace_head.
HeapPtr<Model> replace_head(const Model& model, std::int64_t classes, std::uint64_t seed,
                            std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors,
                            const InitMachine& machine = {});

}  // namespace volta
