// Product problems for the tests of device kernels: operands with gaps between rows, batches, epilogues; and
// what the definition and the interpreter make of them.
#pragma once

#include <string>
#include <vector>

#include "engine/base/shape.h"
#include "jitgen/cuda/product_source.h"
#include "jitgen/program.h"
#include "tests/support/tensors.h"

namespace volta::test {

struct ProductExtents {
    std::int64_t m, n, k, batch = 1;
};

inline constexpr float kGuard = -7777.0f;  // behind what kernels write

// Everything that a kernel and the definition read, and where they write.
struct ProductProblem {
    ProductExtents shape;
    DType dtype;  // of b
    bool transposed_a, transposed_b, into;
    std::vector<float> a, b, c;
    std::vector<std::uint32_t> stored;  // b, where it is a stored weight
    std::int64_t shift;  // where a and b begin in their vectors: not always at a multiple of 16 bytes
    std::int64_t a_stride, b_stride, c_stride;
    std::int64_t batch_stride_a, batch_stride_b, batch_stride_c;
    std::vector<std::vector<float>> operands;  // of the epilogue, [batch * m, c_stride] each
    std::vector<std::int64_t> strides;

    // epilogue: NULL or what follows the product.
    ProductProblem(const ProductExtents& extents, DType b_dtype, bool a_is_transposed, bool b_is_transposed,
                   const jit::Program* epilogue, std::uint64_t seed);

    void expect(const jit::Program* epilogue);  // by the definition and the interpreter
    jit::CudaProductArgs args();                // without scratch
    // "" or the first element of c or of an epilogue's operand that differs.
    std::string difference(const ProductProblem& actual) const;
    std::string text() const;  // "3 x 5 x 7, batch 2"
};

}  // namespace volta::test
