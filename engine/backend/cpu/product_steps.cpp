// Products with what runs on their results while those are in cache.
#include "engine/backend/cpu/row_action.h"
#include "engine/backend/cpu/stored_product.h"
#include "engine/backend/row_programs.h"
#include "engine/graph/forms.h"

namespace volta::cpu {
namespace {

using jit::Access;

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

// The body of a product as a kernel over the rows of C. Operands: C, the node's further inputs, its outputs.
struct BodyKernel {
    explicit BodyKernel(std::pmr::memory_resource* heap) : refs(heap), loops(heap) {}
    const jit::RowKernel* kernel = nullptr;
    std::pmr::vector<Ref> refs;
    LoopSpace loops;
    // Are the operands rows and columns of C, as an epilogue needs them? Others are broadcast along inner
    // axes.
    bool follows_rows() const { return loops.outer_rank == 0; }
};

BodyKernel make_body(const StepCompiler& step, Ref c) {
    const Shape& space = step.output_shape();
    BodyKernel body(step.heap());
    std::pmr::vector<const Shape*> shapes({&space}, step.heap());
    body.refs.push_back(c);
    for (int i = 2; i < step.input_count(); ++i) {
        shapes.push_back(is_read_by_index(step.node, i) ? nullptr : &step.input_shape(i));
        body.refs.push_back(step.input(i));
    }
    for (int k = 0; k < step.node.output_count; ++k) {
        shapes.push_back(&space);
        body.refs.push_back(step.output(k));
    }
    if (shapes.size() > jit::kMaxOperands)
        step.unsupported("its epilogue has more operands than a kernel can take");
    body.loops = make_loop_space(space, shapes, true, step.heap());
    const std::size_t inputs = static_cast<std::size_t>(step.input_count()) - 1;
    std::pmr::vector<Access> accesses(step.heap());
    for (std::size_t k = 0; k < shapes.size(); ++k) {
        LoopOperand& operand = body.loops.operands[k];
        if (k == 0 || k >= inputs) operand.access = Access::full;
        accesses.push_back(operand.access);
    }
    body.kernel = &step.kernel(make_epilogue_program(step.plan.graph, step.node, accesses, step.heap()));
    return body;
}

class ProductAction final : public Action {
  public:
    // body: NULL or the epilogue.
    // `sums`: NULL or where the column sums of b go.
    ProductAction(StepCompiler& step, Ref c, const BodyKernel* body, const Ref* sums = nullptr)
        : a_(step.input(0)),
          b_(step.input(1)),
          c_(c),
          into_(step.accumulates()),
          refs_(step.heap()),
          strides_(step.heap()) {
        const MatmulForm form = matmul_form(step.node, step.input_shape(0), step.input_shape(1));
        if (body != nullptr) {
            kernel_ = body->kernel;
            refs_ = body->refs;
            for (const LoopOperand& operand : body->loops.operands) strides_.push_back(operand.row_stride);
            if (knows_position(step.node)) rows_per_micro_batch_ = form.batch * form.m;
        }
        rows_ = form.batch * form.m;
        columns_ = form.n;
        is_stored_ = is_stored(step.input_value(1).dtype);
        CompileContext kernels = step.kernels();
        kernels.keep_b = step.keeps(1);
        kernels.cold_b = step.is_cold(1);
        kernels.sum_b = sums != nullptr;
        product_ = is_stored_ ? compile_stored_product(product_shape(form), step.input_value(1).dtype,
                                                       kernel_, kernels)
                              : compile_product(product_shape(form), kernel_, kernels);
        if (product_->sums_b()) sums_ = *sums;
        if (product_->kept_bytes() > 0) kept_ = step.kept(product_->kept_bytes());
        if (product_->workspace_bytes() > 0) workspace_ = step.temporary(product_->workspace_bytes());
    }

    void run(const StepCall& call) const noexcept override {
        Epilogue epilogue;
        void* operands[jit::kMaxOperands];
        if (kernel_ != nullptr) {
            for (std::size_t k = 0; k < refs_.size(); ++k) operands[k] = call.at(refs_[k]);
            epilogue.kernel = kernel_;
            epilogue.args.operands = operands;
            epilogue.args.row_strides = strides_.data();
            epilogue.args.rows = rows_;
            epilogue.args.columns = columns_;
            epilogue.args.first_row = static_cast<std::uint32_t>(rows_per_micro_batch_ * call.micro_index);
        }
        ProductCall product = {};
        product.a = call.floats(a_);
        product.b = is_stored_ ? nullptr : call.floats(b_);
        product.stored = is_stored_ ? call.at(b_) : nullptr;
        product.c = call.floats(c_);
        product.into = into_ && call.micro_index > 0;
        product.workspace = call.at(workspace_);
        product.kept = product_->kept_bytes() > 0 ? call.floats(kept_) : nullptr;
        product.sums = product_->sums_b() ? call.floats(sums_) : nullptr;
        product.epilogue = kernel_ != nullptr ? &epilogue : nullptr;
        product_->run(call.pool, product);
    }
    void keep(const StepCall& call) const noexcept override {
        if (product_->kept_bytes() > 0) product_->keep(call.pool, call.floats(b_), call.floats(kept_));
    }
    const char* kernel_name() const noexcept override { return product_->kernel_name(); }
    const Product* product() const noexcept override { return is_stored_ ? nullptr : product_.get(); }

  private:
    Ref a_, b_, c_, sums_{kWorkspace, 0, 0}, workspace_{kWorkspace, 0, 0}, kept_{kKept, 0, 0};
    bool into_, is_stored_ = false;
    ProductPtr product_;
    const jit::RowKernel* kernel_ = nullptr;
    std::pmr::vector<Ref> refs_;
    std::pmr::vector<std::int64_t> strides_;
    std::int64_t rows_ = 0, columns_ = 0, rows_per_micro_batch_ = 0;
};

}  // namespace

void lower_product(StepCompiler& step) {
    const Node& node = step.node;
    if (node.op == Op::weight_gradient) {
        const Ref sums = step.output(1);
        const auto& product = step.add<ProductAction>(step, step.output(0), nullptr, &sums);
        const Shape& b = step.input_shape(1);
        if (!product.product()->sums_b()) add_column_sum(step, step.input(1), sums, b.rows(), b.last());
        return;
    }
    if (node.body.ops.empty()) {
        step.add<ProductAction>(step, step.output(), nullptr);
        return;
    }
    const Ref c = step.output(product_output(node));
    const BodyKernel body = make_body(step, c);
    step.add<ProductAction>(step, c, body.follows_rows() ? &body : nullptr);
    if (body.follows_rows()) return;
    RowAction& rows = step.add<RowAction>(step, *body.kernel, body.refs, body.loops);
    if (knows_position(node)) rows.count_rows_over_step();
}

}  // namespace volta::cpu
