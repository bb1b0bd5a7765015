// A product to be computed: what its speed depends on beside the machine.
#pragma once

#include <cstdint>

#include "engine/backend/lower/problem_shapes.h"
#include "engine/base/shape.h"

namespace volta::cpu {

// What a plan wants of a product, beside its result.
struct Request {
    bool prepacked = false;     // B does not change between calls: it may be packed once
    bool sums_b = false;        // the column sums of B are wanted as well
    double cache_use = 0;       // of all weights of the plan, as Machine::cache_use; 0: not known
    bool transposed_c = false;  // C is stored as its transpose: c[j * ldc + i]
    bool gathered_a = false;    // calls say where each row of A begins: A by rows, no batch
};

struct Problem {
    ProductShape shape;        // a batch that shares B is folded into one taller product
    std::int64_t entries = 1;  // of the batch, before it was folded
    EpilogueKind epilogue = EpilogueKind::none;
    Request request;
    DType format = DType::f32;  // of B; else a packed weight (engine/numerics/stored_weights.h)

    // Whether tiles compute the column sums of B that are wanted; other ways see no whole B, and leave them
    // to their caller.
    bool sums_b() const { return request.sums_b && shape.m > 0 && shape.n > 0 && entries == 1; }
    bool whole_rows() const { return epilogue == EpilogueKind::rows; }
};

Problem problem_of(const ProductShape& shape, EpilogueKind epilogue, const Request& request,
                   DType format = DType::f32);

// A batch whose entries share B and follow each other in A and C is one taller product.
ProductShape folded(ProductShape shape);

}  // namespace volta::cpu
