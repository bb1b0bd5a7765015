#include "engine/backend/cpu/actions/rotary_action.h"

#include <algorithm>

#include "engine/backend/lower/row_programs.h"
#include "engine/numerics/define_pairs.h"

namespace volta::cpu {
namespace {

constexpr double kOperationsPerElement = 16;  // see workers_for: memory is what it waits for

}  // namespace

RotaryAction::RotaryAction(CpuStep& step, const RotaryStep& work)
    : work_(work),
      workers_(step.workers_for(static_cast<double>(work.tokens * work.columns) * kOperationsPerElement)) {
    if (work.form.interleaved) return;
    kernel_ = &step.kernel(make_rotation(work.form.inverse, step.heap()));
    scratch_bytes_ = (kernel_->scratch_bytes(work.form.width / 2) + kTensorAlignment - 1) / kTensorAlignment *
                     kTensorAlignment;
    if (scratch_bytes_ > 0) scratch_ = step.temporary(scratch_bytes_ * static_cast<std::size_t>(workers_));
}

const char* RotaryAction::kernel_name() const noexcept {
    return kernel_ == nullptr ? "rotary" : kernel_->is_native() ? "rotary rows" : "rotary interpreted";
}

void RotaryAction::run(const StepCall& call) const noexcept {
    call.pool.run(workers_, [&](int worker, int count) noexcept {
        const Range tokens = part_of(work_.tokens, 1, worker, count);
        kernel_ != nullptr ? turn(call, tokens, worker) : transpose_by_definition(call, tokens);
    });
}

void RotaryAction::transpose_by_definition(const StepCall& call, Range tokens) const noexcept {
    const std::int64_t first = tokens.begin * work_.columns;
    define::rotary(tokens.end - tokens.begin, work_.columns, work_.form,
                   call.integers(work_.positions) + tokens.begin, call.floats(work_.table),
                   call.floats(work_.x) + first, call.floats(work_.y) + first);
}

void RotaryAction::turn(const StepCall& call, Range tokens, int worker) const noexcept {
    const std::int64_t half = work_.form.width / 2, stride = work_.form.stride;
    const std::int64_t strides[] = {stride, stride, 0, 0, stride, stride};
    const std::int32_t* const positions = call.integers(work_.positions);
    void* operands[6];
    jit::RowArgs args = {};
    args.operands = operands;
    args.row_strides = strides;
    args.rows = work_.form.heads;
    args.columns = half;
    if (scratch_bytes_ > 0)
        args.scratch = static_cast<unsigned char*>(call.at(scratch_)) +
                       scratch_bytes_ * static_cast<std::size_t>(worker);
    for (std::int64_t token = tokens.begin; token < tokens.end; ++token) {
        float* const x = call.floats(work_.x) + token * work_.columns;
        float* const y = call.floats(work_.y) + token * work_.columns;
        float* const angles = call.floats(work_.table) + positions[token] * work_.form.width;
        float* const places[] = {x, x + half, angles, angles + half, y, y + half};
        std::copy(places, places + 6, operands);
        kernel_->run(args);
        if (y != x) copy_the_rest(x, y);
    }
}

void RotaryAction::copy_the_rest(const float* x, float* y) const noexcept {
    const RotaryForm& form = work_.form;
    if (form.width < form.stride)
        for (std::int64_t head = 0; head < form.columns(); head += form.stride)
            std::copy(x + head + form.width, x + head + form.stride, y + head + form.width);
    std::copy(x + form.columns(), x + work_.columns, y + form.columns());
}

void RotaryTableAction::run(const StepCall& call) const noexcept {
    RotaryAngles<float> angles;
    angles.base = work_.base;
    angles.scale = work_.scale;
    if (work_.has_frequencies) angles.frequencies = call.floats(work_.frequencies);
    define::rotary_table(work_.limit, work_.width, angles, call.floats(work_.table));
}

}  // namespace volta::cpu
