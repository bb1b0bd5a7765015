#include "engine/backend/cpu/actions/column_sum_action.h"

#include <utility>

#include "engine/backend/lower/row_programs.h"

namespace volta::cpu {
namespace {

constexpr float kOne = 1;  // every element of the row of ones: its strides are 0

}  // namespace

ProductPtr ColumnSumAction::product_of(const CpuStep& step, const jit::Program& program,
                                       const LoopSpace& loops) {
    if (loops.outer_count() != 1 || !program.has_column_sum() || program.operands.size() != 2) return nullptr;
    if (!(program == make_column_sum(step.heap()))) return nullptr;
    ProductShape shape;
    shape.m = 1;
    shape.n = loops.columns;
    shape.k = loops.rows;
    shape.a_transposed = true;
    shape.ldb = loops.operands[0].row_stride;
    shape.ldc = shape.n;
    const CompileContext kernels = step.kernels();
    if (!kernels.compiler.arena->available()) return nullptr;
    const Problem problem = problem_of(shape, EpilogueKind::none, Request());
    if (!b_is_in_dram(problem, kernels.machine, kernels.machine.dram_use)) return nullptr;
    const Schedule schedule = decide(problem, kernels.machine, Overrides(), ProductChoice());
    if (schedule.algorithm != Algorithm::skinny_axpy) return nullptr;
    return compile_skinny_axpy({shape, problem, kernels.machine, schedule, nullptr, kernels});
}

ColumnSumAction::ColumnSumAction(CpuStep& step, ProductPtr product, const std::pmr::vector<Ref>& refs,
                                 const RowUse& use)
    : x_(refs[0]), y_(refs[1]), continues_(use.continues_columns), product_(std::move(product)) {
    when = use.when;
    if (product_->workspace_bytes() > 0) workspace_ = step.temporary(product_->workspace_bytes());
}

void ColumnSumAction::run(const StepCall& call) const noexcept {
    ProductCall product = {};
    product.a = &kOne;
    product.b = call.floats(x_);
    product.c = call.floats(y_);
    product.into = continues_ && call.micro_index > 0;
    product.workspace = call.at(workspace_);
    product_->run(call.pool, product);
}

}  // namespace volta::cpu
