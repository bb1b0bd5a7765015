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

    // The tensor that is this parameter, or this part of it; NULL: none.
    const WeightTensor* find(std::string_view parameter, Part part = Part::whole) const;
    // One of its extents as it stands in the file; 0 when there is none.
    std::int64_t extent(std::string_view parameter, int axis, Part part = Part::whole) const;
    // One more than the highest layer of any tensor that is "block.<i>.norm1.weight".
    std::int64_t layers() const;

  private:
    const WeightSource& source_;
    const KeyMap& keys_;
    std::pmr::memory_resource* heap_;
};

}  // namespace volta
