// All of a model but the bytes of its parameters and its training, as texts for files of other formats:
// graph, tokenizer and metadata as a model file has them, and what the graph's constants hold. In base64.
#pragma once

#include <memory_resource>
#include <string>
#include <string_view>

#include "engine/model/model.h"

namespace volta {

struct Description {
    std::pmr::string model, constants;
};

Description describe(const Model& model, std::pmr::memory_resource* heap);

// The model, whose parameters have no data. Treats the texts as hostile: throws CORRUPT_MODEL or UNSUPPORTED.
HeapPtr<Model> read_description(std::string_view model, std::string_view constants,
                                std::pmr::memory_resource* structures, std::pmr::memory_resource* tensors);

}  // namespace volta
