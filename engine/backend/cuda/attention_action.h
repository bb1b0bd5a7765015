// Attention and its gradient by tiles of queries and keys, where level and precision allow it on tensor
// cores; and attention of new tokens over a cache.
#pragma once

#include "engine/backend/cuda/step.h"
#include "jitgen/cuda/attention_source.h"
#include "jitgen/cuda/cached_attention_source.h"

namespace volta::cuda {

class AttentionAction final : public Action {
  public:
    AttentionAction(CudaStep& step, const AttentionStep& work);
    volta_status run(const StepCall& call) const noexcept override;
    const char* kernel_name() const noexcept override;

  private:
    jit::CudaAttentionArgs args_of(const StepCall& call) const noexcept;
    const AttentionStep work_;
    // What tensor cores round operands to; fp32: the kernels are those of level strict, which keep every
    // level.
    const Precision precision_;
    jit::CudaAttentionArgs args_ = {};  // all but the addresses
    jit::AttentionLaunch launch_;
    const Kernel *forward_ = nullptr, *terms_ = nullptr, *queries_ = nullptr, *keys_ = nullptr,
                 *groups_ = nullptr;
    Ref scratch_{kWorkspace, 0, 0};
};

class CachedAttentionAction final : public Action {
  public:
    CachedAttentionAction(CudaStep& step, const CachedAttentionStep& work);
    volta_status run(const StepCall& call) const noexcept override;
    const char* kernel_name() const noexcept override {
        return decode_x_ > 0 ? "cuda cached attention decode" : "cuda cached attention";
    }

  private:
    const CachedAttentionStep work_;
    jit::CudaCachedAttentionArgs args_ = {};  // all but the addresses
    // One launch for few rows, else three.
    unsigned decode_x_;
    jit::CachedAttentionLaunch launch_ = {};
    const Kernel *decode_ = nullptr, *store_ = nullptr, *scores_ = nullptr, *values_ = nullptr;
    Ref scratch_{kWorkspace, 0, 0};
};

}  // namespace volta::cuda
