#include "engine/backend/cuda/product.h"

#include <algorithm>

#include "engine/base/error.h"

namespace volta::cuda {
namespace {

jit::SegmentsOf segments_of(ProductForm form) {
    return form == ProductForm::tiles      ? jit::SegmentsOf::block
           : form == ProductForm::segments ? jit::SegmentsOf::blocks
                                           : jit::SegmentsOf::rule;
}

jit::ProductLaunch launch_of(const ProductShape& shape, int multiprocessors, int tile, ProductForm form) {
    return jit::product_launch(tile, shape.m, shape.n, shape.k, multiprocessors, shape.batch,
                               segments_of(form));
}

}  // namespace

bool streams_b(const ProductShape& shape, DType b) {
    return is_stored(b) || (shape.m <= jit::kMostProductRows && !shape.a_transposed);
}

ProductChoice resolve(const ProductChoice& choice, const ProductShape& shape, DType b, int multiprocessors) {
    const bool wants_rows =
        choice.form == ProductForm::rows || (choice.form == ProductForm::rule && choice.tile == 0);
    if (is_stored(b) || (wants_rows && streams_b(shape, b))) return {ProductForm::rows, 0};
    ProductChoice way;
    way.tile =
        choice.tile != 0 ? choice.tile : jit::product_tile(shape.m, shape.n, multiprocessors, shape.batch);
    const bool split = launch_of(shape, multiprocessors, way.tile, choice.form).split;
    way.form = split ? ProductForm::segments : ProductForm::tiles;
    return way;
}

Product::Product(KernelBatch& kernels, int multiprocessors, const ProductShape& shape, DType b,
                 const jit::RowPlan* epilogue, const ProductChoice& choice)
    : shape_(shape), b_(b), has_epilogue_(epilogue != nullptr) {
    if (is_stored(b) && !shape.b_transposed)
        fail(VOLTA_UNSUPPORTED, "no CUDA kernel goes back through a weight stored as %s: train on the CPU",
             dtype_name(b));
    const ProductChoice way = resolve(choice, shape, b, multiprocessors);
    if (way.form == ProductForm::rows)
        use_rows(kernels, epilogue);
    else
        use_tiles(kernels, multiprocessors, epilogue, way);
}

void Product::use_rows(KernelBatch& kernels, const jit::RowPlan* epilogue) {
    jit::RowsProductForm form;
    form.b = b_;
    form.transposed_b = shape_.b_transposed && !is_stored(b_);
    form.rows = static_cast<int>(std::clamp<std::int64_t>(shape_.m, 1, jit::kMostProductRows));
    const jit::RowsProductLaunch launch =
        jit::rows_product_launch(form, shape_.m, shape_.n, shape_.k, shape_.batch);
    const std::pmr::string name = kernels.add(kRowsProducts, [&](const char* unit, std::pmr::string& text) {
        jit::append_rows_product_kernel(form, epilogue, unit, text);
    });
    rows_ = kernels.entry(name.c_str(), "rows");
    grid_ = {launch.grid_x, 1, launch.grid_z};
    threads_ = launch.threads;
    name_ = is_stored(b_) ? "cuda product packed" : "cuda product rows";
}

void Product::use_tiles(KernelBatch& kernels, int multiprocessors, const jit::RowPlan* epilogue,
                        const ProductChoice& way) {
    jit::ProductForm form;
    form.transposed_a = shape_.a_transposed;
    form.transposed_b = shape_.b_transposed;
    form.tile = way.tile;
    const jit::ProductLaunch launch = launch_of(shape_, multiprocessors, way.tile, way.form);
    const std::pmr::string name = kernels.add(kProducts, [&](const char* unit, std::pmr::string& text) {
        jit::append_product_kernels(form, epilogue, unit, text);
    });
    grid_ = {launch.grid_x, launch.grid_y, launch.grid_z};
    scratch_bytes_ = launch.scratch_bytes;
    if (!launch.split) {
        tiles_ = kernels.entry(name.c_str(), "tiles");
        name_ = form.tile == 128 ? "cuda product tiles 128" : "cuda product tiles 64";
        return;
    }
    if (launch.grid_x > 0) segments_ = kernels.entry(name.c_str(), "segments");
    close_ = kernels.entry(name.c_str(), "close");
    close_grid_ = {launch.close_grid_x};
    name_ = form.tile == 128 ? "cuda product segments 128" : "cuda product segments 64";
}

jit::CudaProductArgs Product::arguments() const noexcept {
    jit::CudaProductArgs args = {};
    args.a_stride = shape_.lda, args.b_stride = shape_.ldb, args.c_stride = shape_.ldc;
    args.m = shape_.m, args.n = shape_.n, args.k = shape_.k;
    args.batch = shape_.batch;
    args.batch_stride_a = shape_.batch_stride_a, args.batch_stride_b = shape_.batch_stride_b;
    args.batch_stride_c = shape_.batch_stride_c;
    args.keep = 1;
    return args;
}

volta_status Product::run(Gpu& gpu, const jit::CudaProductArgs& args) const noexcept {
    if (rows_ != nullptr) return launch(gpu, *rows_, grid_, threads_, args);
    if (tiles_ != nullptr) return launch(gpu, *tiles_, grid_, threads_, args);
    const volta_status status =
        segments_ == nullptr ? VOLTA_OK : launch(gpu, *segments_, grid_, threads_, args);
    return status != VOLTA_OK ? status : launch(gpu, *close_, close_grid_, threads_, args);
}

}  // namespace volta::cuda
