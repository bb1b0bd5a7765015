// A model that is made from another one: what all such models take over.
#pragma once

#include <memory_resource>

#include "engine/model/model.h"

namespace volta {

// A model of `graph`, whose parameters take the values of the parameters of `from` that have their name, type
// and shape; others are zero until the caller fills them. Tokenizer, metadata and arithmetic come along, the
// state of training does not.
HeapPtr<Model> derive(const Model& from, Graph&& graph, std::pmr::memory_resource* structures,
                      std::pmr::memory_resource* tensors);

// What the library says of the architecture in the model's metadata, where the graph is no longer that one.
void forget_architecture(Model& model);

// How often nodes and outputs of the graph read a value.
std::ptrdiff_t readers(const Graph& graph, ValueId value);

// What a model that is to be changed and trained needs. Throws UNSUPPORTED "parameter 'x' is stored as int8:
// <what>, which needs f32".
void require_f32_parameters(const Model& model, const char* what);

}  // namespace volta
