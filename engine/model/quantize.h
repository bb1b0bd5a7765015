// A model whose weights are stored in fewer bits (engine/numerics/stored_weights.h).
#pragma once

#include <memory_resource>

#include "engine/base/stop.h"
#include "engine/model/model.h"

namespace volta {

// How all readers of a parameter together see it: products with b [outputs, inputs] and look-ups of tokens,
// products with b [inputs, outputs], or anything else. Of rank 2 and with a group of inputs or more, unless
// `other`.
enum class WeightLayout : std::uint8_t { unread, outputs_first, inputs_first, other };
std::pmr::vector<WeightLayout> weight_layouts(const Graph& graph, std::pmr::memory_resource* heap);

// The graph in which parameter i, in the order of its sources, is stored as dtypes[i], [outputs, inputs];
// one whose type is f32, or whose layout is `other`, stays.
Graph stored_graph(const Graph& from, const std::pmr::vector<WeightLayout>& layouts,
                   const std::pmr::vector<DType>& dtypes, std::pmr::memory_resource* heap);

// w as [n, k], or as [k, n] where the inputs are first, into `out`, the zeroed bytes of the stored tensor.
// False as store_row.
bool store_matrix(const float* w, WeightLayout layout, DType dtype, const Shape& stored,
                  std::pmr::memory_resource* heap, unsigned char* out);

// `dtype` is a stored type. Weights that only products and look-ups of tokens read are stored, as [outputs,
// inputs]; the rest is copied. Throws INVALID_ARGUMENT: see volta_model_quantize. `stop` is asked before each
// parameter.
HeapPtr<Model> quantize(const Model& model, DType dtype, std::pmr::memory_resource* structures,
                        std::pmr::memory_resource* tensors, const Stop& stop = kNeverStops);

}  // namespace volta
