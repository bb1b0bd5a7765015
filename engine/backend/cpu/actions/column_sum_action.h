// Column sums of a matrix that comes from memory, as the product of a row of ones with it: the same chains in
// the same segments (docs/numerics.md, 2.1), and 1 x is x. A row kernel walks down narrow columns with its
// sums in registers, which is no stream to the memory; a product of one row reads whole rows, several at
// once.
#pragma once

#include <memory_resource>
#include <vector>

#include "engine/backend/cpu/gemm/product.h"
#include "engine/backend/cpu/step.h"

namespace volta::cpu {

class ColumnSumAction final : public Action {
  public:
    // The product where `program`, which sums columns and does nothing else, gains by it; else NULL. `loops`
    // are those of a RowAction.
    static ProductPtr product_of(const CpuStep& step, const jit::Program& program, const LoopSpace& loops);

    // refs: x and y, as of the program.
    ColumnSumAction(CpuStep& step, ProductPtr product, const std::pmr::vector<Ref>& refs, const RowUse& use);
    void run(const StepCall& call) const noexcept override;
    const char* kernel_name() const noexcept override { return product_->kernel_name(); }

  private:
    Ref x_, y_, workspace_{kWorkspace, 0, 0};
    bool continues_;
    ProductPtr product_;
};

}  // namespace volta::cpu
