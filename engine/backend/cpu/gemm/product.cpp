#include "engine/backend/cpu/gemm/product.h"

#include "engine/backend/cpu/gemm/blocked.h"
#include "engine/backend/cpu/gemm/narrow_n.h"
#include "engine/backend/cpu/gemm/prepacked_row.h"
#include "engine/backend/cpu/gemm/skinny_axpy.h"
#include "engine/backend/cpu/gemm/skinny_dot.h"
#include "engine/backend/cpu/gemm/tiles.h"
#include "engine/backend/cpu/gemm/transposed.h"
#include "engine/base/error.h"

namespace volta::cpu {
namespace {

void check(const ProductShape& shape, bool transpose_c) {
    const bool sizes = shape.batch >= 0 && shape.m >= 0 && shape.n >= 0 && shape.k >= 0;
    const std::int64_t a_row = shape.a_transposed ? shape.m : shape.k,
                       b_row = shape.b_transposed ? shape.k : shape.n;
    const bool strides =
        shape.lda >= a_row && shape.ldb >= b_row && shape.ldc >= (transpose_c ? shape.m : shape.n);
    if (!sizes || !strides)
        fail(VOLTA_INTERNAL,
             "a product of [%lld, %lld] and [%lld, %lld] with leading dimensions %lld, %lld and %lld",
             static_cast<long long>(shape.m), static_cast<long long>(shape.k),
             static_cast<long long>(shape.k), static_cast<long long>(shape.n),
             static_cast<long long>(shape.lda), static_cast<long long>(shape.ldb),
             static_cast<long long>(shape.ldc));
}

ProductUse use_of(const CompileContext& context) {
    return {context.prepacked, context.sum_b, context.cache_use};
}

// Forced, or as tuned for this product and this use of it; the default where the tuned tile cannot run
// (generated code refused).
ProductChoice choice_of(const ProductShape& shape, const jit::RowKernel* epilogue,
                        const CompileContext& context) {
    if (context.forced_choice) return *context.forced_choice;
    if (context.forced_tile || !context.tuning) return {};
    const TuningKey key =
        key_of(shape, epilogue_kind(epilogue), context.machine.isa, context.machine.threads, use_of(context));
    const ProductChoice choice = context.tuning->find(key);
    const bool runs = choice.tile == 0 || usable(gemm_tiles().rows[choice.tile - 1], context);
    return runs ? choice : ProductChoice();
}

ProductPtr compile_way(const ProductShape& shape, const jit::RowKernel* epilogue_kernel,
                       const CompileContext& context) {
    const bool whole_rows = epilogue_kernel && epilogue_kernel->program().needs_whole_rows();
    const ProductChoice choice = choice_of(shape, epilogue_kernel, context);
    const bool chosen_here = choice == ProductChoice() && !context.forced_tile;
    if (chosen_here && context.prepacked && gains_by_prepacked_row(shape, context))
        return compile_prepacked_row(shape, epilogue_kernel, context);
    const bool has_code = context.machine.isa != Isa::scalar && context.arena->available();
    if (chosen_here && !context.transpose_c && has_code && gains_by_narrow_n(shape, context))
        return compile_narrow_n(shape, epilogue_kernel, context);
    const bool free = chosen_here && !context.transpose_c && !context.prepacked && has_code;
    if (free && gains_by_axpy(shape, context.machine.isa))
        if (ProductPtr swept = compile_axpy(shape, epilogue_kernel, context)) return swept;
    if (free && !whole_rows && gains_by_dot(shape, context.machine.isa))
        if (ProductPtr dots = compile_dot(shape, epilogue_kernel, context)) return dots;
    if (free && !whole_rows && gains_by_transposing(shape))
        return compile_transposed(shape, epilogue_kernel, context);
    return compile_tiled(shape, epilogue_kernel, context, choice);
}

}  // namespace

EpilogueKind epilogue_kind(const jit::RowKernel* kernel) {
    if (kernel == nullptr) return EpilogueKind::none;
    return kernel->program().needs_whole_rows() ? EpilogueKind::rows : EpilogueKind::blocks;
}

ProductPtr compile_product(const ProductShape& shape, const jit::RowKernel* epilogue_kernel,
                           const CompileContext& context) {
    check(shape, context.transpose_c);
    if (epilogue_kernel && epilogue_kernel->program().has_column_sum())
        fail(VOLTA_INTERNAL, "an epilogue that sums columns runs after its product, not inside it");
    ProductPtr product = compile_way(shape, epilogue_kernel, context);
    product->set_use(use_of(context));
    return product;
}

}  // namespace volta::cpu
