#include "engine/backend/cpu/actions/attention_action.h"

namespace volta::cpu {

AttentionAction::AttentionAction(CpuStep& step, const AttentionStep& work) : work_(work) {
    attention_ = work.backward ? compile_attention_backward(work.shape, step.kernels())
                               : compile_attention_forward(work.shape, step.kernels());
    if (attention_->workspace_bytes() > 0) workspace_ = step.temporary(attention_->workspace_bytes());
}

void AttentionAction::run(const StepCall& call) const noexcept {
    RandomState random = {};
    AttentionCall attention = {};
    attention.q = call.floats(work_.q);
    attention.k = call.floats(work_.k);
    attention.v = call.floats(work_.v);
    attention.o = call.floats(work_.o);
    attention.row_max = call.floats(work_.row_max);
    attention.row_sum = call.floats(work_.row_sum);
    if (work_.backward) {
        attention.d_o = call.floats(work_.d_o);
        attention.dq = call.floats(work_.dq);
        attention.dk = call.floats(work_.dk);
        attention.dv = call.floats(work_.dv);
    }
    if (work_.shape.documents) attention.starts = call.integers(work_.starts);
    if (work_.shape.dropout > 0) {
        const std::int32_t* words = call.integers(work_.random);
        random = {static_cast<std::uint32_t>(words[0]), static_cast<std::uint32_t>(words[1]),
                  static_cast<std::uint32_t>(words[2])};
        attention.random = &random;
    }
    attention.first_sequence = static_cast<std::uint32_t>(work_.shape.batch * call.step_micro_index);
    attention.workspace = call.at(workspace_);
    attention_->run(call.pool, attention);
}

CachedAttentionAction::CachedAttentionAction(CpuStep& step, const CachedAttentionStep& work)
    : work_(work),
      attention_(work.shape, step.context.operations_per_worker, step.kernels()),
      workspace_(step.temporary(attention_.workspace_bytes())) {}

void CachedAttentionAction::run(const StepCall& call) const noexcept {
    CachedAttentionCall attention = {};
    attention.slots = call.integers(work_.slots);
    attention.positions = call.integers(work_.positions);
    attention.q = call.floats(work_.q);
    attention.k = call.floats(work_.k);
    attention.v = call.floats(work_.v);
    attention.o = call.floats(work_.o);
    attention.keys = call.floats(work_.keys);
    attention.values = call.floats(work_.values);
    attention.workspace = call.at(workspace_);
    attention_.run(call.pool, attention);
}

}  // namespace volta::cpu
