// What follows a product, or a convolution, in its own step: its body as a row program.
#pragma once

#include <memory_resource>
#include <vector>

#include "engine/backend/lower/step_lowering.h"

namespace volta {

// Operands: the finished product, the node's inputs behind the factors, its outputs.
struct ProductBody {
    explicit ProductBody(std::pmr::memory_resource* heap) : program(heap), refs(heap), loops(heap) {}
    jit::Program program;
    std::pmr::vector<Ref> refs;
    LoopSpace loops;
};

// Over rows along the last axis; with an outer extent where an operand is broadcast along an inner axis.
ProductBody make_rows_of_body(const StepLowering& step, Ref product);

// Over the planes of a result [batch, channels, spatial]: rows are channels, columns are pixels. Every
// operand is whole along the spatial axes or one number there, and no operation asks for its position.
bool has_planes(const StepLowering& step);
ProductBody make_planes_of_body(const StepLowering& step, Ref product);

}  // namespace volta
