#include "engine/backend/cpu/actions/convolution_action.h"

namespace volta::cpu {

PictureConvolutionAction::PictureConvolutionAction(CpuStep& step, const ConvolutionStep& work)
    : source_(work.gives == ConvolutionStep::Gives::x ? work.y : work.x),
      weight_(work.weight),
      result_(work.gives == ConvolutionStep::Gives::x ? work.x : work.y),
      keeps_(step.keeps(work.weight_value)),
      convolution_(work, work.epilogue ? &step.kernel(*work.epilogue->program) : nullptr, step.kernels()),
      refs_(step.heap()),
      row_strides_(step.heap()),
      loops_(step.heap()) {
    if (convolution_.packed_bytes() > 0)
        packed_ =
            keeps_ ? step.kept(convolution_.packed_bytes()) : step.temporary(convolution_.packed_bytes());
    if (convolution_.workspace_bytes() > 0) workspace_ = step.temporary(convolution_.workspace_bytes());
    if (!runs_epilogue()) return;
    refs_ = *work.epilogue->refs;
    loops_ = *work.epilogue->loops;
    for (const LoopOperand& operand : loops_.operands) row_strides_.push_back(operand.row_stride);
}

void PictureConvolutionAction::run(const StepCall& call) const noexcept {
    if (!keeps_) convolution_.pack(call.pool, call.floats(weight_), call.floats(packed_));
    void* bases[jit::kMaxOperands];
    for (std::size_t k = 0; k < refs_.size(); ++k) bases[k] = call.at(refs_[k]);
    const PictureConvolution::Epilogue epilogue = {bases, row_strides_.data(), &loops_};
    convolution_.run(call.pool, {call.floats(source_), call.floats(packed_), call.floats(result_),
                                 call.at(workspace_), &epilogue});
}

void PictureConvolutionAction::keep(const StepCall& call) const noexcept {
    if (keeps_) convolution_.pack(call.pool, call.floats(weight_), call.floats(packed_));
}

}  // namespace volta::cpu
