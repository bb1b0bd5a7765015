#include "engine/backend/cpu/gemm/transposed.h"

#include <cstdio>
#include <utility>

#include "engine/backend/cpu/gemm/tiles.h"

namespace volta::cpu {
namespace {

ProductShape swapped(const ProductShape& shape) {
    ProductShape other;
    other.m = shape.n;
    other.n = shape.m;
    other.k = shape.k;
    other.b_transposed = true;
    other.lda = shape.ldb;
    other.ldb = shape.lda;
    other.ldc = shape.ldc;
    return other;
}

// B streams by as rows of A do: each of them once, in a tile as wide as the few columns, and of fewer rows
// than a set of L1 has lines, because they often lie a power of two apart.
ProductPtr compile_inner(const ProductShape& shape, const jit::RowKernel* epilogue, CompileContext context) {
    ProductChoice choice;
    if (context.machine.isa == Isa::avx512) choice.tile = 1 + tile_row(*find_tile("f32_gemm_6x64_avx512"));
    context.forced_choice = &choice;
    context.sum_b = false;  // B is its A
    context.transpose_c = true;
    return compile_product(shape, epilogue, context);
}

class TransposedProduct final : public Product {
  public:
    TransposedProduct(const ProductShape& shape, const jit::RowKernel* epilogue,
                      const CompileContext& context)
        : shape_(shape), inner_(compile_inner(swapped(shape), epilogue, context)) {
        std::snprintf(name_, sizeof name_, "%.200s swapped", inner_->kernel_name());
    }

    std::size_t workspace_bytes() const noexcept override { return inner_->workspace_bytes(); }
    std::size_t kept_bytes() const noexcept override { return 0; }
    void keep(ThreadPool&, const float*, float*) const noexcept override {}
    const char* kernel_name() const noexcept override { return name_; }
    const ProductShape& shape() const noexcept override { return shape_; }
    EpilogueKind epilogue() const noexcept override { return inner_->epilogue(); }
    void describe(ScheduleText& text) const noexcept override {
        text.add("transposed of: ");
        inner_->describe(text);
    }

    void run(ThreadPool& pool, const ProductCall& call) const noexcept override {
        ProductCall swapped = call;
        std::swap(swapped.a, swapped.b);
        inner_->run(pool, swapped);
    }

  private:
    const ProductShape shape_;
    const ProductPtr inner_;
    char name_[256];
};

}  // namespace

// Packing B costs n k, packing A and transposing C around m k and twice m n; the last is the slowest per
// element.
bool gains_by_transposing(const ProductShape& shape) {
    const double m = static_cast<double>(shape.m), n = static_cast<double>(shape.n),
                 k = static_cast<double>(shape.k);
    return shape.batch == 1 && shape.b_transposed && !shape.a_transposed && shape.m > 1 &&
           m * k + 1.5 * m * n <= 0.5 * n * k;
}

ProductPtr compile_transposed(const ProductShape& shape, const jit::RowKernel* epilogue,
                              const CompileContext& context) {
    return as_product(make_on<TransposedProduct>(context.heap, shape, epilogue, context));
}

}  // namespace volta::cpu
