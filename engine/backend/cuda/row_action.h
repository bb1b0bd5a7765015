// A row program over a loop space, in the form that fits its rows and columns.
#pragma once

#include "engine/backend/cuda/step.h"
#include "jitgen/cuda/row_launch.h"

namespace volta::cuda {

class RowAction final : public Action {
  public:
    RowAction(CudaStep& step, const jit::Program& program, const std::pmr::vector<Ref>& refs,
              const LoopSpace& loops, const RowUse& use);
    volta_status run(const StepCall& call) const noexcept override;
    const char* kernel_name() const noexcept override;
    bool may_be_stopped() const noexcept override { return true; }

  private:
    RowAction(CudaStep& step, const jit::RowPlan& plan, const std::pmr::vector<Ref>& refs,
              const LoopSpace& loops, const RowUse& use);
    const std::pmr::vector<Ref> refs_;
    const LoopSpace loops_;
    const RowUse use_;
    const jit::RowLaunch launch_;
    const Kernel *kernel_, *close_ = nullptr;  // the second of form segments
    Ref scratch_{kWorkspace, 0, 0};
};

}  // namespace volta::cuda
