#include "engine/import/weight_shapes.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/model/text.h"

namespace volta {

const WeightTensor* WeightShapes::find(std::string_view parameter, Part part) const {
    if (const WeightTensor* tensor = source_.find(keys_.name_of(parameter, part, heap_))) return tensor;
    for (const WeightTensor& tensor : source_.tensors) {  // behind a prefix, or under a name of the key map
        const auto match = keys_.match(tensor.name, heap_);
        if (match && match->parameter == parameter && match->part == part) return &tensor;
    }
    return nullptr;
}

void WeightShapes::fail_missing(std::string_view parameter, Part part, const char* lacks) const {
    const std::pmr::string theirs = keys_.name_of(parameter, part, heap_);
    const ShownName name = shown(theirs), ours = shown(parameter);
    fail(VOLTA_CORRUPT_MODEL, "%s%stensor '%.*s' is missing ('%.*s' of the model)",
         lacks != nullptr ? lacks : "", lacks != nullptr ? ", and " : "", name.bytes, name.text, ours.bytes,
         ours.text);
}

std::int64_t WeightShapes::extent(std::string_view parameter, int axis, Part part, const char* lacks) const {
    const WeightTensor* tensor = find(parameter, part);
    if (tensor == nullptr && parameter == "token_embedding") tensor = find("head.weight");
    if (tensor == nullptr) fail_missing(parameter, part, lacks);
    const ShownName name = shown(tensor->name);
    if (axis >= tensor->shape.rank)
        fail(VOLTA_SHAPE_MISMATCH, "tensor '%.*s' has the shape %s, where %d extents are needed", name.bytes,
             name.text, to_text(tensor->shape).text, axis + 1);
    return tensor->shape[axis];
}

std::int64_t WeightShapes::layers(const char* lacks) const {
    std::int64_t count = 0;
    for (const WeightTensor& tensor : source_.tensors) {
        const auto match = keys_.match(tensor.name, heap_);
        if (!match) continue;
        const std::int64_t layer = match_pattern("block.%d.norm1.weight", match->parameter).value_or(-1);
        count = std::max(count, layer + 1);
    }
    if (count == 0) fail_missing("block.0.norm1.weight", Part::whole, lacks);
    return count;
}

}  // namespace volta
