// Products with what runs on their results while those are in cache.
#include "engine/backend/lower/lowerings.h"
#include "engine/backend/lower/product_body.h"
#include "engine/backend/lower/row_programs.h"
#include "engine/graph/forms.h"

namespace volta {
namespace {

ProductShape product_shape(const MatmulForm& form) {
    ProductShape shape;
    shape.batch = form.batch;
    shape.m = form.m;
    shape.n = form.n;
    shape.k = form.k;
    shape.a_transposed = form.a_transposed;
    shape.b_transposed = form.b_transposed;
    shape.lda = form.a_transposed ? form.m : form.k;
    shape.ldb = form.b_transposed ? form.k : form.n;
    shape.ldc = form.n;
    if (form.batch > 1) {
        shape.batch_stride_a = form.m * form.k;
        shape.batch_stride_b = form.k * form.n;
        shape.batch_stride_c = form.m * form.n;
    }
    return shape;
}

ProductStep work_of(const StepLowering& step) {
    ProductStep work;
    work.shape = product_shape(matmul_form(step.node, step.input_shape(0), step.input_shape(1)));
    work.a = step.input(0);
    work.b = step.input(1);
    work.c = step.output();
    work.b_dtype = step.input_value(1).dtype;
    work.accumulates = step.accumulates();
    return work;
}

void add_product_with_sums(StepLowering& step, ProductStep work) {
    const Ref sums = step.output(1);
    work.b_sums = &sums;
    if (step.product(work)) return;
    const Shape& b = step.input_shape(1);
    add_column_sum(step, work.b, sums, b.rows(), b.last());
}

// Where the sum does not lie there already, it is copied.
void add_product_into(StepLowering& step, ProductStep work) {
    const Ref sum = step.input(2);
    if (sum.region != work.c.region || sum.offset != work.c.offset) {
        CopyLoops loops;
        loops.push(step.output_shape().elements(), 1, 1);
        step.copy(loops, sum, work.c, When::always);
    }
    work.into = true;
    step.product(work);
}

void add_product_with_body(StepLowering& step, ProductStep work) {
    work.c = step.output(product_output(step.node));
    const bool positioned = knows_position(step.node);
    const ProductBody body = make_rows_of_body(step, work.c);
    // Others are broadcast along inner axes.
    const bool follows_rows = body.loops.outer_rank == 0;
    if (!follows_rows) {
        step.product(work);
        RowUse use;
        use.counts_rows_over_step = positioned;
        return step.rows(body.program, body.refs, body.loops, use);
    }
    std::pmr::vector<std::int64_t> row_strides(step.heap());
    for (const LoopOperand& operand : body.loops.operands) row_strides.push_back(operand.row_stride);
    const ProductEpilogue epilogue = {&body.program, &body.refs, &row_strides,
                                      positioned ? work.shape.batch * work.shape.m : 0};
    work.epilogue = &epilogue;
    step.product(work);
}

}  // namespace

void lower_product(StepLowering& step) {
    if (step.node.op == Op::weight_gradient_into) return add_product_into(step, work_of(step));
    if (step.node.op == Op::weight_gradient) return add_product_with_sums(step, work_of(step));
    if (!step.node.body.ops.empty()) return add_product_with_body(step, work_of(step));
    step.product(work_of(step));
}

}  // namespace volta
