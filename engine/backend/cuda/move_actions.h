// Actions that move elements: copies, fills, positions, rows of tables and their gradient, rotary positions.
#pragma once

#include "engine/backend/cuda/step.h"
#include "jitgen/cuda/embedding_source.h"
#include "jitgen/cuda/move_source.h"
#include "jitgen/cuda/rotary_source.h"

namespace volta::cuda {

class CopyAction final : public Action {
  public:
    CopyAction(CudaStep& step, const CopyLoops& loops, Ref from, Ref to);
    volta_status run(const StepCall& call) const noexcept override;
    const char* kernel_name() const noexcept override;

  private:
    jit::CudaCopyArgs args_ = {};
    jit::CopyLaunch launch_;
    const Kernel* kernel_;
    Ref from_, to_;
};

class ZeroAction final : public Action {
  public:
    ZeroAction(Ref to, std::int64_t elements) : to_(to), elements_(elements) {}
    volta_status run(const StepCall& call) const noexcept override;
    const char* kernel_name() const noexcept override { return "cuda zero"; }

  private:
    Ref to_;
    std::int64_t elements_;
};

class PositionAction final : public Action {
  public:
    PositionAction(CudaStep& step, Ref to, std::int64_t rows, std::int64_t columns);
    volta_status run(const StepCall& call) const noexcept override;
    const char* kernel_name() const noexcept override { return "cuda positions"; }

  private:
    Ref to_;
    std::int64_t rows_, columns_;
    const Kernel* kernel_;
    unsigned grid_x_;
};

class GatherAction final : public Action {
  public:
    GatherAction(CudaStep& step, const GatherStep& work);
    volta_status run(const StepCall& call) const noexcept override;
    const char* kernel_name() const noexcept override { return "cuda gather"; }

  private:
    GatherStep work_;
    const Kernel* kernel_;
};

class EmbeddingGradientAction final : public Action {
  public:
    EmbeddingGradientAction(CudaStep& step, const EmbeddingGradientStep& work);
    volta_status run(const StepCall& call) const noexcept override;
    const char* kernel_name() const noexcept override { return "cuda embedding gradient"; }

  private:
    EmbeddingGradientStep work_;
    const Kernel *clear_, *list_, *sum_;
    Ref first_, end_, order_;
    int multiprocessors_;
};

class RotaryAction final : public Action {
  public:
    RotaryAction(CudaStep& step, const RotaryStep& work);
    volta_status run(const StepCall& call) const noexcept override;
    const char* kernel_name() const noexcept override { return "cuda rotary"; }

  private:
    RotaryStep work_;
    const Kernel* kernel_;
};

// The table is the host's work, as the definition says; it is computed and sent when the plan is compiled.
class RotaryTableAction final : public Action {
  public:
    RotaryTableAction(CudaStep& step, const RotaryTableStep& work);
    volta_status run(const StepCall& call) const noexcept override;
    const char* kernel_name() const noexcept override { return "cuda rotary table"; }

  private:
    Ref to_;
    DeviceMemory table_;
};

}  // namespace volta::cuda
