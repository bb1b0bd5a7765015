#include "engine/backend/cuda/cublaslt_action.h"

#include <limits>

#include "engine/backend/cuda/product.h"
#include "engine/base/error.h"

namespace volta::cuda {
namespace {

// What an algorithm may ask for: enough for the parts of a split k, and a fraction of what a device has.
constexpr std::size_t kWorkspaceLimit = std::size_t{32} << 20;
constexpr std::uint64_t kWidestLoad = 16;                            // bytes: no kernel loads more at once
constexpr std::int64_t kUnit = kWidestLoad / sizeof(std::uint16_t);  // rows of bf16 are padded to this

// Bytes, at most kWidestLoad, that the address of every matrix of an operand is a multiple of. Regions begin
// at multiples of more.
unsigned alignment_of(const Ref& ref, std::int64_t batch_stride, std::size_t element_bytes) {
    const std::uint64_t distance = static_cast<std::uint64_t>(batch_stride) * element_bytes;
    const std::uint64_t bits = kWidestLoad | ref.offset | ref.micro_stride | distance;
    return static_cast<unsigned>(bits & (~bits + 1));
}

CublasLtLibrary& library_of(const CudaStep& step) {
    CublasLtLibrary* const library = step.matrices();
    if (library == nullptr)
        fail(VOLTA_INTERNAL, "a plan of level %s on a device that was made for level strict",
             level_name(step.plan.arithmetic.level));
    return *library;
}

}  // namespace

bool CublasLtAction::takes(const CudaStep& step, const ProductStep& work) {
    const ProductShape& shape = work.shape;
    return step.plan.arithmetic.level != Level::strict && !streams_b(shape, work.b_dtype) && shape.m > 0 &&
           shape.n > 0 && shape.k > 0 && shape.batch > 0 &&
           shape.batch <= std::numeric_limits<std::int32_t>::max();
}

CublasLtAction::CublasLtAction(CudaStep& step, const ProductStep& work)
    : c_(work.c),
      into_(work.into),
      accumulates_(work.accumulates),
      rounds_(step.plan.arithmetic.precision == Precision::bf16),
      batch_(work.shape.batch) {
    names_step = true;
    a_.given = a_.used = work.a;
    b_.given = b_.used = work.b;
    ProductShape shape = work.shape;
    if (rounds_) {
        const std::pmr::string name = step.kernels().add(kRows, jit::append_rounding_kernel);
        rounding_ = step.kernels().entry(name.c_str(), "bf16");
        const bool ta = shape.a_transposed, tb = shape.b_transposed;
        shape.lda = add_operand(step, a_, ta ? shape.k : shape.m, ta ? shape.m : shape.k, shape.lda,
                                &shape.batch_stride_a);
        shape.ldb = add_operand(step, b_, tb ? shape.n : shape.k, tb ? shape.k : shape.n, shape.ldb,
                                &shape.batch_stride_b);
    }
    const std::size_t element_bytes = rounds_ ? sizeof(std::uint16_t) : sizeof(float);
    CublasLtProblem problem{shape, step.plan.arithmetic.precision, {}, kWorkspaceLimit};
    problem.alignment[0] = alignment_of(a_.used, shape.batch_stride_a, element_bytes);
    problem.alignment[1] = alignment_of(b_.used, shape.batch_stride_b, element_bytes);
    problem.alignment[2] = alignment_of(c_, shape.batch_stride_c, sizeof(float));
    product_.emplace(library_of(step), problem);
    // Temporaries are aligned to less than the library asks for.
    if (product_->workspace_bytes() > 0)
        workspace_ = step.temporary(product_->workspace_bytes() + kLtWorkspaceAlignment - kTensorAlignment);
    if (work.epilogue != nullptr) add_epilogue(step, work);
}

// Gives the operand a bf16 copy. Returns the elements from row to row of it.
std::int64_t CublasLtAction::add_operand(CudaStep& step, Operand& operand, std::int64_t rows,
                                         std::int64_t columns, std::int64_t stride,
                                         std::int64_t* batch_stride) {
    const std::int64_t padded = (columns + kUnit - 1) / kUnit * kUnit;
    jit::CudaRoundingArgs& args = operand.rounding;
    args.batch = *batch_stride == 0 ? 1 : batch_;  // an operand that is repeated is rounded once
    args.rows = rows;
    args.columns = columns;
    args.from_row = stride;
    args.from_batch = *batch_stride;
    args.to_row = padded;
    args.to_batch = *batch_stride == 0 ? 0 : rows * padded;
    const bool is_aligned = alignment_of(operand.given, *batch_stride, sizeof(float)) == kWidestLoad;
    *batch_stride = args.to_batch;
    operand.used = step.temporary(static_cast<std::size_t>(args.batch * rows * padded) * sizeof *args.to);
    operand.grid = {jit::rounding_launch(args, is_aligned, step.multiprocessors())};
    return padded;
}

// The program over the rows of C, as memory has them.
void CublasLtAction::add_epilogue(CudaStep& step, const ProductStep& work) {
    const ProductEpilogue& epilogue = *work.epilogue;
    LoopSpace loops(step.heap());
    loops.rows = work.shape.batch * work.shape.m;
    loops.columns = work.shape.n;
    for (std::size_t i = 0; i < epilogue.refs->size(); ++i) {
        LoopOperand operand;
        operand.access = epilogue.program->operands[i].access;
        operand.row_stride = (*epilogue.row_strides)[i];
        loops.operands.push_back(operand);
    }
    RowUse use;
    use.counts_rows_over_step = epilogue.rows_per_micro_batch != 0;
    epilogue_.emplace(step, *epilogue.program, *epilogue.refs, loops, use);
}

volta_status CublasLtAction::run(const StepCall& call) const noexcept {
    if (rounds_)
        for (const Operand* const operand : {&a_, &b_}) {
            jit::CudaRoundingArgs args = operand->rounding;
            args.from = call.at<float>(operand->given);
            args.to = call.at<std::uint16_t>(operand->used);
            const volta_status status = launch(call, rounding_, operand->grid, jit::kRoundingThreads, args);
            if (status != VOLTA_OK) return status;
        }
    const auto unaligned = reinterpret_cast<std::uintptr_t>(call.at(workspace_));
    void* const workspace = product_->workspace_bytes() == 0
                                ? nullptr
                                : reinterpret_cast<void*>((unaligned + kLtWorkspaceAlignment - 1) /
                                                          kLtWorkspaceAlignment * kLtWorkspaceAlignment);
    const volta_status status = product_->run(call.at(a_.used), call.at(b_.used), call.at<float>(c_),
                                              into_ || (accumulates_ && call.micro_index > 0), workspace);
    return status != VOLTA_OK || !epilogue_ ? status : epilogue_->run(call);
}

}  // namespace volta::cuda
