// Convolutions as actions.
#pragma once

#include "engine/backend/cpu/convolution/depthwise.h"
#include "engine/backend/cpu/convolution/depthwise_gradient.h"
#include "engine/backend/cpu/convolution/gradient_products.h"
#include "engine/backend/cpu/convolution/picture.h"
#include "engine/backend/cpu/convolution/weight_gradient.h"
#include "engine/backend/cpu/step.h"

namespace volta::cpu {

// Of an epilogue, or empty: where its operands lie.
class EpilogueRefs {
  public:
    EpilogueRefs(const PictureEpilogue* epilogue, std::pmr::memory_resource* heap);
    // `bases` has room for all operands.
    CallEpilogue at(const StepCall& call, void** bases) const noexcept;

  private:
    std::pmr::vector<Ref> refs_;
    std::pmr::vector<std::int64_t> row_strides_;
    LoopSpace loops_;
};

class DepthwiseConvolutionAction final : public Action {
  public:
    DepthwiseConvolutionAction(CpuStep& step, const ConvolutionStep& work);
    void run(const StepCall& call) const noexcept override;
    const char* kernel_name() const noexcept override { return convolution_.kernel_name(); }

  private:
    Ref source_, weight_, result_, workspace_{kWorkspace, 0, 0};
    DepthwiseConvolution convolution_;
    EpilogueRefs epilogue_;
};

class WindowAction final : public Action {
  public:
    // Whether there are kernels for it, and 16 planes for every thread.
    static bool fits(const WindowStep& work, const CompileContext& context);
    WindowAction(CpuStep& step, const WindowStep& work);
    void run(const StepCall& call) const noexcept override;
    const char* kernel_name() const noexcept override { return windows_.kernel_name(); }

  private:
    Ref x_, y_, workspace_{kWorkspace, 0, 0};
    DepthwiseConvolution windows_;
};

class PictureConvolutionAction final : public Action {
  public:
    PictureConvolutionAction(CpuStep& step, const ConvolutionStep& work);
    bool runs_epilogue() const { return convolution_.runs_epilogue(); }
    void run(const StepCall& call) const noexcept override;
    void keep(const StepCall& call) const noexcept override;
    const char* kernel_name() const noexcept override { return convolution_.kernel_name(); }

  private:
    Ref source_, weight_, result_, packed_{kWorkspace, 0, 0}, workspace_{kWorkspace, 0, 0};
    bool keeps_;  // the packed weight, over runs
    PictureConvolution convolution_;
    EpilogueRefs epilogue_;
};

// Gradient: WeightGradient, GradientProducts or DepthwiseGradient.
template <class Gradient>
class WeightGradientAction final : public Action {
  public:
    WeightGradientAction(CpuStep& step, const ConvolutionStep& work)
        : x_(work.x),
          dy_(work.y),
          weight_(work.weight),
          accumulates_(work.accumulates),
          gradient_(work, step.kernels()) {
        if (gradient_.workspace_bytes() > 0) workspace_ = step.temporary(gradient_.workspace_bytes());
    }
    void run(const StepCall& call) const noexcept override {
        gradient_.run(call.pool, {call.floats(x_), call.floats(dy_), call.floats(weight_),
                                  accumulates_ && call.micro_index > 0, call.at(workspace_)});
    }
    const char* kernel_name() const noexcept override { return gradient_.kernel_name(); }

  private:
    Ref x_, dy_, weight_, workspace_{kWorkspace, 0, 0};
    bool accumulates_;
    Gradient gradient_;
};

}  // namespace volta::cpu
