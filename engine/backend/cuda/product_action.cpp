#include "engine/backend/cuda/product_action.h"

#include <algorithm>
#include <optional>

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
    : a_(work.a), b_(work.b), c_(work.c), accumulates_(work.accumulates), refs_(step.heap()) {
    const ProductShape& shape = work.shape;
    args_.a_stride = shape.lda, args_.b_stride = shape.ldb, args_.c_stride = shape.ldc;
    args_.m = shape.m, args_.n = shape.n, args_.k = shape.k;
    args_.batch = shape.batch;
    args_.batch_stride_a = shape.batch_stride_a, args_.batch_stride_b = shape.batch_stride_b;
    args_.batch_stride_c = shape.batch_stride_c;
    args_.keep = 1;
    std::optional<jit::RowPlan> plan;
    if (work.epilogue != nullptr) {
        refs_ = *work.epilogue->refs;
        rows_per_micro_batch_ = work.epilogue->rows_per_micro_batch;
        plan.emplace(jit::cuda_plan(*work.epilogue->program, step.heap()));
        for (std::size_t i = 0; i < refs_.size(); ++i) {
            args_.epilogue.row_strides[i] = (*work.epilogue->row_strides)[i];
            // C is not wanted where the epilogue stores something else there.
            const bool is_c = refs_[i].region == c_.region && refs_[i].offset == c_.offset;
            if (is_c && stores(*plan, i)) args_.keep = 0;
        }
    }
    const jit::RowPlan* const epilogue = plan ? &*plan : nullptr;
    if (streams_b(work))
        choose_rows(step, work.b_dtype, shape.b_transposed, epilogue);
    else
        choose_tiles(step, shape, epilogue);
}

bool ProductAction::streams_b(const ProductStep& work) {
    const bool few_rows = work.shape.m <= jit::kMostProductRows && !work.shape.a_transposed;
    return few_rows || is_stored(work.b_dtype);
}

void ProductAction::choose_rows(CudaStep& step, DType b, bool b_transposed, const jit::RowPlan* epilogue) {
    jit::RowsProductForm form;
    form.b = b;
    form.transposed_b = b_transposed && !is_stored(b);
    form.rows = static_cast<int>(std::clamp<std::int64_t>(args_.m, 1, jit::kMostProductRows));
    const jit::RowsProductLaunch launch =
        jit::rows_product_launch(form, args_.m, args_.n, args_.k, args_.batch);
    const std::pmr::string name =
        step.kernels().add(kRowsProducts, [&](const char* unit, std::pmr::string& text) {
            jit::append_rows_product_kernel(form, epilogue, unit, text);
        });
    rows_ = step.kernels().entry(name.c_str(), "rows");
    grid_ = {launch.grid_x, 1, launch.grid_z};
    threads_ = launch.threads;
    name_ = is_stored(b) ? "cuda stored product" : "cuda product rows";
}

void ProductAction::choose_tiles(CudaStep& step, const ProductShape& shape, const jit::RowPlan* epilogue) {
    jit::ProductForm form;
    form.transposed_a = shape.a_transposed;
    form.transposed_b = shape.b_transposed;
    form.tile = jit::product_tile(shape.m, shape.n, step.multiprocessors(), shape.batch);
    const jit::ProductLaunch launch =
        jit::product_launch(form.tile, shape.m, shape.n, shape.k, step.multiprocessors(), shape.batch);
    const std::pmr::string name =
        step.kernels().add(kProducts, [&](const char* unit, std::pmr::string& text) {
            jit::append_product_kernels(form, epilogue, unit, text);
        });
    grid_ = {launch.grid_x, launch.grid_y, launch.grid_z};
    if (launch.scratch_bytes > 0) scratch_ = step.temporary(launch.scratch_bytes);
    if (!launch.split) {
        tiles_ = step.kernels().entry(name.c_str(), "tiles");
        name_ = form.tile == 128 ? "cuda product tiles 128" : "cuda product tiles 64";
        return;
    }
    if (launch.grid_x > 0) segments_ = step.kernels().entry(name.c_str(), "segments");
    close_ = step.kernels().entry(name.c_str(), "close");
    close_grid_ = {launch.close_grid_x};
    name_ = form.tile == 128 ? "cuda product segments 128" : "cuda product segments 64";
}

volta_status ProductAction::run(const StepCall& call) const noexcept {
    jit::CudaProductArgs args = args_;
    args.a = call.at<float>(a_);
    args.b = call.at<float>(b_);
    args.c = call.at<float>(c_);
    args.scratch = call.at<float>(scratch_);
    args.into = accumulates_ && call.micro_index > 0 ? 1 : 0;
    for (std::size_t i = 0; i < refs_.size(); ++i) args.epilogue.operands[i] = call.at(refs_[i]);
    args.epilogue.first_row = static_cast<std::uint32_t>(rows_per_micro_batch_ * call.micro_index);
    if (rows_ != nullptr) return launch(call, rows_, grid_, threads_, args);
    if (tiles_ != nullptr) return launch(call, tiles_, grid_, threads_, args);
    const volta_status status =
        segments_ == nullptr ? VOLTA_OK : launch(call, segments_, grid_, threads_, args);
    return status != VOLTA_OK ? status : launch(call, close_, close_grid_, threads_, args);
}

}  // namespace volta::cuda
