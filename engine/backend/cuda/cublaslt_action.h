// Products by cuBLASLt, at levels that allow another order of additions: operands rounded first where the
// precision is bf16, what follows the product as row work behind it.
#pragma once

#include <optional>

#include "engine/backend/cuda/cublaslt_product.h"
#include "engine/backend/cuda/row_action.h"
#include "engine/backend/cuda/step.h"
#include "jitgen/cuda/rounding_source.h"

namespace volta::cuda {

class CublasLtAction final : public Action {
  public:
    // Not: plans of level strict; products that wait for a weight and not for sums (streams_b); products
    // without elements or without k.
    static bool takes(const CudaStep& step, const ProductStep& work);

    CublasLtAction(CudaStep& step, const ProductStep& work);
    volta_status run(const StepCall& call) const noexcept override;
    const char* kernel_name() const noexcept override { return product_->name(); }

  private:
    struct Operand {
        Ref given, used;  // the same place, or its bf16 copy in the workspace
        jit::CudaRoundingArgs rounding = {};
        Grid grid{0};
    };
    std::int64_t add_operand(CudaStep& step, Operand& operand, std::int64_t rows, std::int64_t columns,
                             std::int64_t stride, std::int64_t* batch_stride);
    void add_epilogue(CudaStep& step, const ProductStep& work);

    Operand a_, b_;
    const Ref c_;
    const bool into_, accumulates_, rounds_;
    std::int64_t batch_;
    const Kernel* rounding_ = nullptr;
    std::optional<CublasLtProduct> product_;
    Ref workspace_{kWorkspace, 0, 0};
    std::optional<RowAction> epilogue_;
};

}  // namespace volta::cuda
