// Sizes that the weights of a file themselves show, for what its description leaves out.
#pragma once

#include <memory_resource>
#include <string_view>

#include "engine/import/key_map.h"
#include "engine/import/weight_source.h"

namespace volta {

class WeightShapes final {
  public:
    WeightShapes(const WeightSource& source, const KeyMap& keys, std::pmr::memory_resource* heap)
        : source_(source), keys_(keys), heap_(heap) {}

    std::pmr::memory_resource* heap() const { return heap_; }
    // The tensor that is this parameter, or this part of it; NULL: none.
    const WeightTensor* find(std::string_view parameter, Part part = Part::whole) const;
    // One of its extents as it stands in the file; of a token embedding that is not there, of the head that
    // it is. Throws CORRUPT_MODEL naming the tensor that is missing; SHAPE_MISMATCH when it has no such axis.
    // `lacks`: what else does not say the size, "the config has no 'vocab_size'", or NULL.
    std::int64_t extent(std::string_view parameter, int axis, Part part = Part::whole,
                        const char* lacks = nullptr) const;
    // One more than the highest layer of any tensor that is "block.<i>.norm1.weight"; throws as extent does.
    std::int64_t layers(const char* lacks) const;

  private:
    [[noreturn]] void fail_missing(std::string_view parameter, Part part, const char* lacks) const;

    const WeightSource& source_;
    const KeyMap& keys_;
    std::pmr::memory_resource* heap_;
};

}  // namespace volta
