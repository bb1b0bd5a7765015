// A model whose batch norms of given statistics are part of the convolutions before them.
#pragma once

#include <cstddef>
#include <memory_resource>

#include "engine/model/model.h"

namespace volta {

// Every batch_norm of a convolution's result is folded into that convolution's weight and bias
// (docs/numerics.md, 5), where both are of parameters that nothing else reads; *folded is how many. Throws
// INVALID_ARGUMENT: see volta_model_fold_batch_norm.
HeapPtr<Model> fold_batch_norm(const Model& model, std::size_t* folded, std::pmr::memory_resource* structures,
                               std::pmr::memory_resource* tensors);

}  // namespace volta
