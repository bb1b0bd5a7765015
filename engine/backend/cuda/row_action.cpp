#include "engine/backend/cuda/row_action.h"

#include <algorithm>

#include "engine/base/error.h"

namespace volta::cuda {
namespace {

const char* form_of(jit::RowForm form) {
    return form == jit::RowForm::warps ? "warps" : form == jit::RowForm::blocks ? "blocks" : "segments";
}

}  // namespace

RowAction::RowAction(CudaStep& step, const jit::Program& program, const std::pmr::vector<Ref>& refs,
                     const LoopSpace& loops, const RowUse& use)
    : RowAction(step, jit::cuda_plan(program, step.heap()), refs, loops, use) {}

RowAction::RowAction(CudaStep& step, const jit::RowPlan& plan, const std::pmr::vector<Ref>& refs,
                     const LoopSpace& loops, const RowUse& use)
    : refs_(refs, step.heap()),
      loops_(loops, step.heap()),
      use_(use),
      launch_(jit::row_launch(plan, loops.rows, loops.columns, step.multiprocessors())) {
    if (refs.size() > jit::kMaxOperands || refs.size() != loops.operands.size())
        fail(VOLTA_INTERNAL, "%s: a row kernel of %zu operands, at most %d are possible",
             op_row(step.node.op).name, refs.size(), jit::kMaxOperands);
    const std::pmr::string name = step.kernels().add(
        kRows, [&](const char* unit, std::pmr::string& text) { jit::append_row_kernels(plan, unit, text); });
    kernel_ = step.kernels().entry(name.c_str(), form_of(launch_.form));
    if (launch_.form == jit::RowForm::segments) close_ = step.kernels().entry(name.c_str(), "close");
    if (launch_.scratch_bytes > 0) scratch_ = step.temporary(launch_.scratch_bytes);
}

volta_status RowAction::run(const StepCall& call) const noexcept {
    const std::int64_t outer_count = loops_.outer_count();
    const auto rows_before =
        use_.counts_rows_over_step ? outer_count * loops_.rows * call.step_micro_index : std::int64_t{0};
    jit::CudaRowArgs args = {};
    args.rows = loops_.rows;
    args.columns = loops_.columns;
    args.scratch = call.at<float>(scratch_);
    args.chunk_stride = launch_.chunk_stride;
    args.continue_columns = use_.continues_columns && call.micro_index > 0 ? 1 : 0;
    std::copy(call.needs_finite.begin(), call.needs_finite.end(), args.needs_finite);
    for (std::size_t k = 0; k < refs_.size(); ++k) args.row_strides[k] = loops_.operands[k].row_stride;
    for (std::int64_t outer = 0; outer < outer_count; ++outer) {
        for (std::size_t k = 0; k < refs_.size(); ++k)
            args.operands[k] = call.at(plus_elements(refs_[k], loops_.outer_offset(k, outer)));
        args.first_row = static_cast<std::uint32_t>(rows_before + outer * loops_.rows);
        volta_status status = launch(call, kernel_, {launch_.grid_x, launch_.grid_y}, launch_.threads, args);
        if (status == VOLTA_OK && close_ != nullptr)
            status = launch(call, close_, {launch_.grid_x}, launch_.threads, args);
        if (status != VOLTA_OK) return status;
    }
    return VOLTA_OK;
}

const char* RowAction::kernel_name() const noexcept {
    switch (launch_.form) {
        case jit::RowForm::warps:
            return "cuda row warps";
        case jit::RowForm::blocks:
            return "cuda row blocks";
        case jit::RowForm::segments:
            break;
    }
    return "cuda column segments";
}

}  // namespace volta::cuda
