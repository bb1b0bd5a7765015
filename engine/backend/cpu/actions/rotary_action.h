// Rotary positions as actions, and their table.
#pragma once

#include "engine/backend/cpu/step.h"

namespace volta::cpu {

// One call of the row kernel per token: its rows are the token's heads, so that cosines and sines are per
// column whatever the position is. Interleaved pairs, which only foreign weights have, are turned by the
// definition. Columns that no head turns are copied, where x and y are two places.
class RotaryAction final : public Action {
  public:
    RotaryAction(CpuStep& step, const RotaryStep& work);
    void run(const StepCall& call) const noexcept override;
    const char* kernel_name() const noexcept override;

  private:
    void transpose_by_definition(const StepCall& call, Range tokens) const noexcept;
    void turn(const StepCall& call, Range tokens, int worker) const noexcept;
    void copy_the_rest(const float* x, float* y) const noexcept;

    const RotaryStep work_;
    const int workers_;
    const jit::RowKernel* kernel_ = nullptr;
    Ref scratch_;
    std::size_t scratch_bytes_ = 0;  // per worker
};

// Where fold_constants has not made it a constant.
class RotaryTableAction final : public Action {
  public:
    explicit RotaryTableAction(const RotaryTableStep& work) : work_(work) {}
    void run(const StepCall& call) const noexcept override;
    const char* kernel_name() const noexcept override { return "rotary table"; }

  private:
    const RotaryTableStep work_;
};

}  // namespace volta::cpu
