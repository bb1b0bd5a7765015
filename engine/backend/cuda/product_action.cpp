#include "engine/backend/cuda/product_action.h"

#include <algorithm>

#include "jitgen/cuda/row_source.h"

namespace volta::cuda {
namespace {

bool stores(const jit::RowPlan& plan, std::size_t operand) {
    return std::any_of(plan.code.begin(), plan.code.end(), [&](const jit::Instruction& x) {
        return x.code == jit::Code::store && x.a == static_cast<std::int32_t>(operand);
    });
}

}  // namespace

ProductAction::ProductAction(CudaStep& step, const ProductStep& work)
    : a_(work.a),
      b_(work.b),
      c_(work.c),
      into_(work.into),
      accumulates_(work.accumulates),
      refs_(step.heap()) {
    std::optional<jit::RowPlan> plan;
    if (work.epilogue != nullptr) plan.emplace(jit::cuda_plan(*work.epilogue->program, step.heap()));
    product_.emplace(step.kernels(), step.multiprocessors(), work.shape, work.b_dtype,
                     plan ? &*plan : nullptr, step.choice_of(work.shape, plan.has_value()));
    args_ = product_->arguments();
    if (product_->scratch_bytes() > 0) scratch_ = step.temporary(product_->scratch_bytes());
    if (!plan) return;
    refs_ = *work.epilogue->refs;
    rows_per_micro_batch_ = work.epilogue->rows_per_micro_batch;
    for (std::size_t i = 0; i < refs_.size(); ++i) {
        args_.epilogue.row_strides[i] = (*work.epilogue->row_strides)[i];
        // C is not wanted where the epilogue stores something else there.
        const bool is_c = refs_[i].region == c_.region && refs_[i].offset == c_.offset;
        if (is_c && stores(*plan, i)) args_.keep = 0;
    }
}

volta_status ProductAction::run(const StepCall& call) const noexcept {
    jit::CudaProductArgs args = args_;
    args.a = call.at<float>(a_);
    args.b = call.at<float>(b_);
    args.c = call.at<float>(c_);
    args.scratch = call.at<float>(scratch_);
    args.into = into_ || (accumulates_ && call.micro_index > 0) ? 1 : 0;
    for (std::size_t i = 0; i < refs_.size(); ++i) args.epilogue.operands[i] = call.at(refs_[i]);
    args.epilogue.first_row = static_cast<std::uint32_t>(rows_per_micro_batch_ * call.step_micro_index);
    return product_->run(call.gpu, args);
}

}  // namespace volta::cuda
