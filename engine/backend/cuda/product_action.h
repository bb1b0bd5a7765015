// Products with what follows them in registers: by tiles of C, or, where rows are few or B is stored small,
// by one pass over B.
#pragma once

#include "engine/backend/cuda/step.h"
#include "jitgen/cuda/product_launch.h"
#include "jitgen/cuda/rows_product_source.h"

namespace volta::cuda {

class ProductAction final : public Action {
  public:
    ProductAction(CudaStep& step, const ProductStep& work);
    // Does it wait for b and not for sums: is b stored small, or are the rows of a few, as decoding has them?
    static bool streams_b(const ProductStep& work);
    volta_status run(const StepCall& call) const noexcept override;
    const char* kernel_name() const noexcept override { return name_; }

  private:
    void choose_rows(CudaStep& step, DType b, bool b_transposed, const jit::RowPlan* epilogue);
    void choose_tiles(CudaStep& step, const ProductShape& shape, const jit::RowPlan* epilogue);

    jit::CudaProductArgs args_ = {};  // all but the addresses
    const Ref a_, b_, c_;
    const bool accumulates_;
    std::pmr::vector<Ref> refs_;  // of the epilogue
    std::int64_t rows_per_micro_batch_ = 0;
    const char* name_ = nullptr;
    // One of: rows alone; tiles alone; segments, if there are any, and close.
    const Kernel *rows_ = nullptr, *tiles_ = nullptr, *segments_ = nullptr, *close_ = nullptr;
    Grid grid_{0}, close_grid_{0};
    unsigned threads_ = jit::kProductThreads;
    Ref scratch_{kWorkspace, 0, 0};
};

}  // namespace volta::cuda
