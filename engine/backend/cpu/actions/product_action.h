// A product as an action, with its epilogue.
#pragma once

#include "engine/backend/cpu/gemm/product.h"
#include "engine/backend/cpu/step.h"

namespace volta::cpu {

class ProductAction final : public Action {
  public:
    ProductAction(CpuStep& step, const ProductStep& work);
    void run(const StepCall& call) const noexcept override;
    void keep(const StepCall& call) const noexcept override;
    const char* kernel_name() const noexcept override { return product_->kernel_name(); }
    const Product* product() const noexcept override { return is_stored_ ? nullptr : product_.get(); }
    bool sums_b() const noexcept { return product_->sums_b(); }

  private:
    Ref a_, b_, c_, sums_{kWorkspace, 0, 0}, workspace_{kWorkspace, 0, 0}, kept_{kKept, 0, 0};
    bool into_, accumulates_, is_stored_;
    bool is_filled_ = false;  // by an earlier step, what this one keeps
    ProductPtr product_;
    const jit::RowKernel* kernel_ = nullptr;  // of the epilogue
    std::pmr::vector<Ref> refs_;
    std::pmr::vector<std::int64_t> strides_;
    std::int64_t rows_, columns_, rows_per_micro_batch_ = 0;
};

}  // namespace volta::cpu
