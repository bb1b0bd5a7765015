// One product on a GPU: kernels and grids, decided by its shape, what follows it, and a choice that is free.
#pragma once

#include "engine/backend/cuda/kernel_batch.h"
#include "engine/backend/cuda/launch.h"
#include "engine/backend/cuda/product_choice.h"
#include "engine/backend/lower/problem_shapes.h"
#include "engine/base/shape.h"
#include "jitgen/cuda/product_launch.h"
#include "jitgen/cuda/rows_product_source.h"

namespace volta::cuda {

// Does it wait for B and not for sums: is B stored small, or are the rows of A few, as decoding has them?
// These have the form `rows` by the rule.
bool streams_b(const ProductShape& shape, DType b);

// The choice without a rule left in it, as it runs on a device of so many multiprocessors: what the shape
// cannot do becomes the rule. k = 0 has one form alone.
ProductChoice resolve(const ProductChoice& choice, const ProductShape& shape, DType b, int multiprocessors);

class Product final {
  public:
    // Adds its kernels to `kernels`, whose build() makes them ready to run; it outlives the product.
    // `epilogue`: elementwise, NULL for none.
    Product(KernelBatch& kernels, int multiprocessors, const ProductShape& shape, DType b,
            const jit::RowPlan* epilogue, const ProductChoice& choice);

    const ProductShape& shape() const noexcept { return shape_; }
    DType b() const noexcept { return b_; }
    bool has_epilogue() const noexcept { return has_epilogue_; }
    std::size_t scratch_bytes() const noexcept { return scratch_bytes_; }
    const char* kernel_name() const noexcept { return name_; }  // "cuda product tiles 128"

    // Everything that the shape says; addresses are the caller's to fill in.
    jit::CudaProductArgs arguments() const noexcept;
    volta_status run(Gpu& gpu, const jit::CudaProductArgs& args) const noexcept;

  private:
    void use_rows(KernelBatch& kernels, const jit::RowPlan* epilogue);
    void use_tiles(KernelBatch& kernels, int multiprocessors, const jit::RowPlan* epilogue,
                   const ProductChoice& way);

    ProductShape shape_;
    DType b_;
    bool has_epilogue_;
    const char* name_ = nullptr;
    // One of: rows alone; tiles alone; segments, if there are any, and close.
    const Kernel *rows_ = nullptr, *tiles_ = nullptr, *segments_ = nullptr, *close_ = nullptr;
    Grid grid_{0}, close_grid_{0};
    unsigned threads_ = jit::kProductThreads;
    std::size_t scratch_bytes_ = 0;
};

}  // namespace volta::cuda
