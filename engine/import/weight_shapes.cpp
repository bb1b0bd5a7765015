#include "engine/import/weight_shapes.h"

#include <algorithm>

namespace volta {

const WeightTensor* WeightShapes::find(std::string_view parameter, Part part) const {
    if (const WeightTensor* tensor = source_.find(keys_.name_of(parameter, part, heap_))) return tensor;
    for (const WeightTensor& tensor : source_.tensors) {  // behind a prefix, or under a name of the key map
        const auto match = keys_.match(tensor.name, heap_);
        if (match && match->parameter == parameter && match->part == part) return &tensor;
    }
    return nullptr;
}

std::int64_t WeightShapes::extent(std::string_view parameter, int axis, Part part) const {
    const WeightTensor* tensor = find(parameter, part);
    return tensor != nullptr && axis < tensor->shape.rank ? tensor->shape[axis] : 0;
}

std::int64_t WeightShapes::layers() const {
    std::int64_t count = 0;
    for (const WeightTensor& tensor : source_.tensors) {
        const auto match = keys_.match(tensor.name, heap_);
        if (!match) continue;
        const std::int64_t layer = match_pattern("block.%d.norm1.weight", match->parameter).value_or(-1);
        count = std::max(count, layer + 1);
    }
    return count;
}

}  // namespace volta
