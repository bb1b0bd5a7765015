// From checked tensors to a model: every tensor is assigned to its parameter before memory for the first one
// is asked for, then parameters are filled one by one. There are never two copies of the weights.
#pragma once

#include <memory_resource>

#include "engine/base/log.h"
#include "engine/base/stop.h"
#include "engine/import/architecture.h"

namespace volta {

// `graph` is the architecture's (build_graph). `weights`: what the weights of products and look-ups become
// (make_parameter.h). Throws, naming the tensor: CORRUPT_MODEL for one that is missing or given twice,
// SHAPE_MISMATCH, UNSUPPORTED for one that is not known, or would change results, and for a type that is not
// read. `stop` is asked before each parameter. `log` is told what was rounded: tensors that f32 has not
// exactly, a warning, and by how much weights of the type that is wanted differ from the file's.
HeapPtr<Model> assemble(const WeightSource& source, const KeyMap& keys, const Architecture& architecture,
                        Graph&& graph, std::optional<DType> weights, std::pmr::memory_resource* structures,
                        std::pmr::memory_resource* tensors, const Stop& stop = kNeverStops,
                        const Log& log = Log());

}  // namespace volta
