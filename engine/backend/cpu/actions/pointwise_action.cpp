#include "engine/backend/cpu/actions/pointwise_action.h"

namespace volta::cpu {
namespace {

bool gives_x(const ConvolutionStep& work) { return work.gives == ConvolutionStep::Gives::x; }

// Steps of k that take as long as it takes to transpose a tile's results into planes. Measured (AVX-512, a
// picture of 14 x 14 and of 7 x 7): between 512 and 1,024 steps where 6 % of the lanes are idle, below 160 of
// 31 %.
constexpr std::int64_t kTransposition = 48;

// What follows a product runs on one picture: the others have their own planes.
std::int64_t pictures_at_once(const ConvolutionStep& work) {
    return work.epilogue != nullptr ? 1 : work.sizes.batch;
}

ProductShape shape_of(const ConvolutionStep& work) {
    const define::ConvolutionSizes& s = work.sizes;
    ProductShape shape;
    shape.batch = pictures_at_once(work);
    shape.m = gives_x(work) ? s.channels : s.filters;
    shape.k = gives_x(work) ? s.filters : s.channels;
    shape.n = shape.ldb = shape.ldc = s.pixels();
    shape.a_transposed = gives_x(work);
    shape.lda = s.channels;
    if (shape.batch > 1) {
        shape.batch_stride_b = shape.k * shape.n;
        shape.batch_stride_c = shape.m * shape.n;
    }
    return shape;
}

}  // namespace

bool PointwiseConvolutionAction::fits(const ConvolutionStep& work, const CompileContext& context) {
    const define::ConvolutionSizes& s = work.sizes;
    if (work.gives == ConvolutionStep::Gives::weight || s.groups != 1 || !is_pointwise(s)) return false;
    const ProductShape shape = shape_of(work);
    const std::int64_t idle = round_up(shape.n, jit::gemm_lanes(context.machine.isa)) - shape.n;
    return idle * shape.k <= kTransposition * shape.n;
}

PointwiseConvolutionAction::PointwiseConvolutionAction(CpuStep& step, const ConvolutionStep& work)
    : batch_(work.sizes.batch),
      from_picture_((gives_x(work) ? work.sizes.filters : work.sizes.channels) * work.sizes.pixels()),
      to_picture_((gives_x(work) ? work.sizes.channels : work.sizes.filters) * work.sizes.pixels()),
      source_(gives_x(work) ? work.y : work.x),
      weight_(work.weight),
      result_(gives_x(work) ? work.x : work.y),
      kernel_(work.epilogue != nullptr ? &step.kernel(*work.epilogue->program) : nullptr),
      epilogue_(work.epilogue, step.heap()),
      product_(compile_product(shape_of(work), kernel_, step.kernels())) {
    if (product_->workspace_bytes() > 0) workspace_ = step.temporary(product_->workspace_bytes());
}

void PointwiseConvolutionAction::run(const StepCall& call) const noexcept {
    void* bases[jit::kMaxOperands];
    void* operands[jit::kMaxOperands];
    const CallEpilogue all = epilogue_.at(call, bases);
    Epilogue epilogue;
    epilogue.kernel = kernel_;
    epilogue.args.operands = operands;
    epilogue.args.row_strides = all.row_strides;
    epilogue.args.rows = product_->shape().m;
    epilogue.args.columns = product_->shape().n;
    ProductCall product = {};
    product.a = call.floats(weight_);
    product.workspace = call.at(workspace_);
    product.epilogue = kernel_ != nullptr ? &epilogue : nullptr;
    for (std::int64_t n = 0; n < batch_; n += product_->shape().batch) {
        for (std::size_t k = 0; k < all.loops->operands.size(); ++k)
            operands[k] = offset(static_cast<float*>(bases[k]), all.loops->outer_offset(k, n));
        product.b = call.floats(source_) + n * from_picture_;
        product.c = call.floats(result_) + n * to_picture_;
        product_->run(call.pool, product);
    }
}

}  // namespace volta::cpu
