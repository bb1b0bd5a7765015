// Attention as actions: forward, backward, and of new tokens over a cache.
#pragma once

#include "engine/backend/cpu/attention/attention.h"
#include "engine/backend/cpu/attention/cached.h"
#include "engine/backend/cpu/step.h"

namespace volta::cpu {

class AttentionAction final : public Action {
  public:
    AttentionAction(CpuStep& step, const AttentionStep& work);
    void run(const StepCall& call) const noexcept override;
    const char* kernel_name() const noexcept override { return attention_->kernel_name(); }

  private:
    const AttentionStep work_;
    AttentionPtr attention_;
    Ref workspace_{kWorkspace, 0, 0};
};

class CachedAttentionAction final : public Action {
  public:
    CachedAttentionAction(CpuStep& step, const CachedAttentionStep& work);
    void run(const StepCall& call) const noexcept override;
    const char* kernel_name() const noexcept override { return attention_.kernel_name(); }

  private:
    const CachedAttentionStep work_;
    const CachedAttention attention_;
    const Ref workspace_;
};

}  // namespace volta::cpu
