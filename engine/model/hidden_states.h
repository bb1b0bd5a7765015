// A language model that gives the states of its tokens in the place of what its head makes of them.
#pragma once

#include <memory_resource>

#include "engine/model/model.h"

namespace volta {

// Of the GPT, Llama or BERT `model`: output "hidden" [batch, time, dim], behind the last block and its norm;
// the same inputs. Throws UNSUPPORTED: it is something else.
HeapPtr<Model> hidden_states(const Model& model, std::pmr::memory_resource* structures,
                             std::pmr::memory_resource* tensors);

}  // namespace volta
