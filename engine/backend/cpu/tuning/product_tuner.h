// The search for a product's fastest choice (docs/matmul_tuning.md). It knows no clock: how long a choice
// takes is asked from a ProductTimer, which on a real machine runs the product and in tests is a simulated
// processor.
#pragma once

#include <memory_resource>

#include "engine/backend/cpu/gemm/product.h"
#include "engine/backend/tuning/timed_runs.h"

namespace volta::cpu {

// Times contenders for one product.
class ProductTimer : public ContenderTimer {
  public:
    // Makes these choices ready to run; what was ready before is gone. They fit the product.
    virtual void open(const ProductChoice* contenders, int count) = 0;
};

using TunerResult = TunerResultOf<ProductChoice>;

// The fixed choice that tuners are measured against: tile 8x8, K_BLOCK 128, M_BLOCK 64, both operands packed.
// (4x4 where there is no machine code.)
ProductChoice classic_choice(const CompileContext& context);

// Searches from the default rules: tiles first, then one axis of the grid after the other, then pairs of axes
// that depend on each other, until nothing gains or the budget is used; then the play-off. What the cost
// model expects to be far slower, and what is resolved to a plan already timed, is not timed.
TunerResult tune_product(const ProductShape& shape, bool whole_rows, const CompileContext& context,
                         ProductTimer& timer, const TunerOptions& options);

}  // namespace volta::cpu
