// A compiled model, ready to run on the host's tensors, which are read and written in place.
#pragma once

#include <cstdint>
#include <memory>
#include <memory_resource>

#include "engine/model/model.h"
#include "engine/runtime/model_memory.h"
#include "engine/runtime/program_memory.h"

namespace volta {

using ModelRef = std::shared_ptr<Model>;

// A host tensor for the length of a call.
struct TensorView {
    DType dtype = DType::f32;
    Shape shape;
    void* data = nullptr;
};

// Throws INVALID_ARGUMENT naming input, element and value if an i32 input holds an id outside its limits.
void check_limits(const ProgramMemory& memory);

// "input 1: expected f32 [32, 784], got f32 [33, 784]", as SHAPE_MISMATCH; the dtype too.
void check_tensor(const char* what, std::size_t index, DType dtype, const Shape& expected,
                  const TensorView& given);

// The model's inputs that the host gives (those named "step/..." are the trainer's), as values of `graph`.
std::pmr::vector<ValueId> host_inputs(const Graph& graph, std::pmr::memory_resource* heap);

// Cuts a flat list of extents into one shape per input of `graph`, and checks it against the declared shapes.
// extents NULL: every input must be of fixed shape.
std::pmr::vector<Shape> read_input_shapes(const Graph& graph, const std::int64_t* extents, std::size_t count,
                                          std::pmr::memory_resource* heap);

class Session final {
  public:
    // pack_weights: parameters are prepacked for products.
    Session(const ContextRef& context, ModelRef model, const std::pmr::vector<Shape>& input_shapes,
            bool pack_weights = false);
    void run(const TensorView* const* inputs, std::size_t input_count, const TensorView* const* outputs,
             std::size_t output_count);
    Shape output_shape(std::size_t index) const;  // throws INVALID_ARGUMENT: there is none
    volta_bill bill() const;
    const char* plan_text();  // lends
    const Program& program() const { return memory_.program(); }

  private:
    void take_parameters();
    ContextRef context_;
    ModelRef model_;
    ModelMemory parameters_;
    ProgramMemory memory_;
    std::pmr::vector<int> input_regions_, output_regions_;  // in the model's declared order
    std::uint64_t version_ = 0;                             // of the parameters that were taken
    std::pmr::string plan_text_;
};

}  // namespace volta
