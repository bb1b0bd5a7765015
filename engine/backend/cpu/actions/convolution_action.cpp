#include "engine/backend/cpu/actions/convolution_action.h"

namespace volta::cpu {

namespace {

const jit::RowKernel* kernel_of(const CpuStep& step, const PictureEpilogue* epilogue) {
    return epilogue != nullptr ? &step.kernel(*epilogue->program) : nullptr;
}

}  // namespace

EpilogueRefs::EpilogueRefs(const PictureEpilogue* epilogue, std::pmr::memory_resource* heap)
    : refs_(heap), row_strides_(heap), loops_(heap) {
    if (epilogue == nullptr) return;
    refs_ = *epilogue->refs;
    loops_ = *epilogue->loops;
    for (const LoopOperand& operand : loops_.operands) row_strides_.push_back(operand.row_stride);
}

CallEpilogue EpilogueRefs::at(const StepCall& call, void** bases) const noexcept {
    for (std::size_t k = 0; k < refs_.size(); ++k) bases[k] = call.at(refs_[k]);
    return {bases, row_strides_.data(), &loops_};
}

DepthwiseConvolutionAction::DepthwiseConvolutionAction(CpuStep& step, const ConvolutionStep& work)
    : source_(work.gives == ConvolutionStep::Gives::x ? work.y : work.x),
      weight_(work.weight),
      result_(work.gives == ConvolutionStep::Gives::x ? work.x : work.y),
      convolution_(work, jit::WindowOp::products, kernel_of(step, work.epilogue), step.kernels()),
      epilogue_(work.epilogue, step.heap()) {
    if (convolution_.workspace_bytes() > 0) workspace_ = step.temporary(convolution_.workspace_bytes());
}

void DepthwiseConvolutionAction::run(const StepCall& call) const noexcept {
    void* bases[jit::kMaxOperands];
    const CallEpilogue epilogue = epilogue_.at(call, bases);
    convolution_.run(call.pool, {call.floats(source_), call.floats(weight_), call.floats(result_),
                                 call.at(workspace_), &epilogue});
}

namespace {

// A plane is a group of its own.
ConvolutionStep planes_of(const WindowStep& work) {
    ConvolutionStep planes;
    planes.sizes.batch = planes.sizes.channels = planes.sizes.filters = 1;
    planes.sizes.groups = work.planes;
    planes.sizes.rows = work.rows;
    planes.sizes.columns = work.columns;
    return planes;
}

jit::WindowOp op_of(const WindowStep& work) {
    return work.gives == WindowStep::Gives::maximum ? jit::WindowOp::maximum : jit::WindowOp::sum;
}

}  // namespace

bool WindowAction::fits(const WindowStep& work, const CompileContext& context) {
    return work.planes >= jit::kWindowLanes * context.machine.threads &&
           DepthwiseConvolution::fits(planes_of(work), context);
}

WindowAction::WindowAction(CpuStep& step, const WindowStep& work)
    : x_(work.x), y_(work.y), windows_(planes_of(work), op_of(work), nullptr, step.kernels()) {
    if (windows_.workspace_bytes() > 0) workspace_ = step.temporary(windows_.workspace_bytes());
}

void WindowAction::run(const StepCall& call) const noexcept {
    windows_.run(call.pool, {call.floats(x_), nullptr, call.floats(y_), call.at(workspace_), nullptr});
}

PictureConvolutionAction::PictureConvolutionAction(CpuStep& step, const ConvolutionStep& work)
    : source_(work.gives == ConvolutionStep::Gives::x ? work.y : work.x),
      weight_(work.weight),
      result_(work.gives == ConvolutionStep::Gives::x ? work.x : work.y),
      keeps_(step.keeps(work.weight)),
      convolution_(work, kernel_of(step, work.epilogue), step.kernels()),
      epilogue_(runs_epilogue() ? work.epilogue : nullptr, step.heap()) {
    if (convolution_.packed_bytes() > 0)
        packed_ =
            keeps_ ? step.kept(convolution_.packed_bytes()) : step.temporary(convolution_.packed_bytes());
    if (convolution_.workspace_bytes() > 0) workspace_ = step.temporary(convolution_.workspace_bytes());
}

void PictureConvolutionAction::run(const StepCall& call) const noexcept {
    if (!keeps_) convolution_.pack(call.pool, call.floats(weight_), call.floats(packed_));
    void* bases[jit::kMaxOperands];
    const CallEpilogue epilogue = epilogue_.at(call, bases);
    convolution_.run(call.pool, {call.floats(source_), call.floats(packed_), call.floats(result_),
                                 call.at(workspace_), &epilogue});
}

void PictureConvolutionAction::keep(const StepCall& call) const noexcept {
    if (keeps_) convolution_.pack(call.pool, call.floats(weight_), call.floats(packed_));
}

}  // namespace volta::cpu
