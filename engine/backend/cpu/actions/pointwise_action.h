// A convolution whose pixels have one tap each, in place: a product of the weight and each picture, whose
// result lies in planes as it is.
#pragma once

#include "engine/backend/cpu/actions/convolution_action.h"
#include "engine/backend/cpu/gemm/product.h"

namespace volta::cpu {

class PointwiseConvolutionAction final : public Action {
  public:
    // Whether a picture gives its kernels full vectors of pixels; PictureConvolution is for the others.
    static bool fits(const ConvolutionStep& work, const CompileContext& context);
    PointwiseConvolutionAction(CpuStep& step, const ConvolutionStep& work);
    void run(const StepCall& call) const noexcept override;
    const char* kernel_name() const noexcept override { return product_->kernel_name(); }

  private:
    const std::int64_t batch_, from_picture_, to_picture_;  // elements from a picture to the next
    Ref source_, weight_, result_, workspace_{kWorkspace, 0, 0};
    const jit::RowKernel* kernel_;
    EpilogueRefs epilogue_;
    ProductPtr product_;  // of one picture
};

}  // namespace volta::cpu
