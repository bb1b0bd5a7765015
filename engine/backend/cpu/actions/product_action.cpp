#include "engine/backend/cpu/actions/product_action.h"

namespace volta::cpu {

ProductAction::ProductAction(CpuStep& step, const ProductStep& work)
    : a_(work.a),
      b_(work.b),
      c_(work.c),
      into_(work.into),
      accumulates_(work.accumulates),
      is_stored_(is_stored(work.b_dtype)),
      refs_(step.heap()),
      strides_(step.heap()),
      rows_(work.shape.batch * work.shape.m),
      columns_(work.shape.n) {
    if (work.epilogue != nullptr) {
        kernel_ = &step.kernel(*work.epilogue->program);
        refs_ = *work.epilogue->refs;
        strides_ = *work.epilogue->row_strides;
        rows_per_micro_batch_ = work.epilogue->rows_per_micro_batch;
    }
    CompileContext kernels = step.kernels();
    kernels.request.prepacked = step.keeps(work.b);
    kernels.request.cache_use = step.cache_use_beside(work.b);
    kernels.request.sums_b = work.b_sums != nullptr;
    product_ = !is_stored_ ? compile_product(work.shape, kernel_, kernels)
               : work.shape.b_transposed
                   ? compile_packed_weight_product(work.shape, work.b_dtype, kernel_, kernels)
                   : compile_dequantised_product(work.shape, work.b_dtype, kernel_, kernels);
    if (product_->sums_b()) sums_ = *work.b_sums;
    if (product_->prepacked_bytes() > 0) kept_ = step.kept_packing(*product_, work.b, &is_filled_);
    if (product_->workspace_bytes() > 0) workspace_ = step.temporary(product_->workspace_bytes());
}

void ProductAction::run(const StepCall& call) const noexcept {
    Epilogue epilogue;
    void* operands[jit::kMaxOperands];
    if (kernel_ != nullptr) {
        for (std::size_t k = 0; k < refs_.size(); ++k) operands[k] = call.at(refs_[k]);
        epilogue.kernel = kernel_;
        epilogue.args.operands = operands;
        epilogue.args.row_strides = strides_.data();
        epilogue.args.rows = rows_;
        epilogue.args.columns = columns_;
        epilogue.args.first_row = static_cast<std::uint32_t>(rows_per_micro_batch_ * call.step_micro_index);
    }
    ProductCall product = {};
    product.a = call.floats(a_);
    product.b = is_stored_ ? nullptr : call.floats(b_);
    product.packed_weight = is_stored_ ? call.at(b_) : nullptr;
    product.c = call.floats(c_);
    product.into = into_ || (accumulates_ && call.micro_index > 0);
    product.workspace = call.at(workspace_);
    product.prepacked = product_->prepacked_bytes() > 0 ? call.floats(kept_) : nullptr;
    product.sums = product_->sums_b() ? call.floats(sums_) : nullptr;
    product.epilogue = kernel_ != nullptr ? &epilogue : nullptr;
    product_->run(call.pool, product);
}

void ProductAction::keep(const StepCall& call) const noexcept {
    if (product_->prepacked_bytes() > 0 && !is_filled_)
        product_->prepack(call.pool, call.floats(b_), call.floats(kept_));
}

}  // namespace volta::cpu
