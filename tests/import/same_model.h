// Whether an imported model is the one that its file was made of.
#pragma once

#include "engine/graph/print.h"
#include "engine/model/model.h"

namespace volta::test {

// Graph and parameters: what it computes.
inline bool computes_the_same(const Model& a, const Model& b, std::pmr::memory_resource* heap) {
    return hash_parameters(a, heap) == hash_parameters(b, heap) &&
           print(a.graph, heap) == print(b.graph, heap);
}

// What it says of itself, too.
inline bool is_same_model(const Model& a, const Model& b, std::pmr::memory_resource* heap) {
    bool same = a.metadata.size() == b.metadata.size();
    for (std::size_t i = 0; same && i < a.metadata.size(); ++i)
        same = a.metadata[i].key == b.metadata[i].key && a.metadata[i].value == b.metadata[i].value;
    return same && computes_the_same(a, b, heap);
}

}  // namespace volta::test
