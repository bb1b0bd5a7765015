// A plan's product: where its operands lie, and what follows it in registers.
#pragma once

#include <optional>

#include "engine/backend/cuda/product.h"
#include "engine/backend/cuda/step.h"

namespace volta::cuda {

class ProductAction final : public Action {
  public:
    ProductAction(CudaStep& step, const ProductStep& work);
    volta_status run(const StepCall& call) const noexcept override;
    const char* kernel_name() const noexcept override { return product_->kernel_name(); }
    const Product* product() const noexcept override { return &*product_; }

  private:
    jit::CudaProductArgs args_ = {};  // all but the addresses
    const Ref a_, b_, c_;
    const bool into_, accumulates_;
    std::pmr::vector<Ref> refs_;  // of the epilogue
    std::int64_t rows_per_micro_batch_ = 0;
    std::optional<Product> product_;
    Ref scratch_{kWorkspace, 0, 0};
};

}  // namespace volta::cuda
