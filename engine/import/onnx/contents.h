// What is computed of constants alone, by the reference evaluator: scales and masks, as exporters write them.
#pragma once

#include <memory_resource>
#include <optional>

#include "engine/graph/evaluate.h"

namespace volta::onnx {

class Contents {
  public:
    Contents(const Graph& graph, std::pmr::memory_resource* heap) : graph_(graph), heap_(heap) {}
    // None: it is not made of constants alone, or is too much.
    std::optional<EvalTensor<float>> of(ValueId value, int most_nodes_deep = 24);
    // The one element of an f32.
    std::optional<float> scalar(ValueId value);

  private:
    bool spend(std::int64_t elements);
    const Graph& graph_;
    std::pmr::memory_resource* heap_;
    std::int64_t left_ = std::int64_t{1} << 28;  // elements, of everything that is asked
};

}  // namespace volta::onnx
