#include "engine/backend/cpu/gemm/product.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "engine/base/error.h"
#include "engine/base/format.h"

namespace volta::cpu {
namespace {

void check(const ProductShape& shape, bool transposed_c) {
    const bool sizes = shape.batch >= 0 && shape.m >= 0 && shape.n >= 0 && shape.k >= 0;
    const std::int64_t a_row = shape.a_transposed ? shape.m : shape.k,
                       b_row = shape.b_transposed ? shape.k : shape.n;
    const bool strides =
        shape.lda >= a_row && shape.ldb >= b_row && shape.ldc >= (transposed_c ? shape.m : shape.n);
    if (!sizes || !strides)
        fail(VOLTA_INTERNAL,
             "a product of [%lld, %lld] and [%lld, %lld] with leading dimensions %lld, %lld and %lld",
             static_cast<long long>(shape.m), static_cast<long long>(shape.k),
             static_cast<long long>(shape.k), static_cast<long long>(shape.n),
             static_cast<long long>(shape.lda), static_cast<long long>(shape.ldb),
             static_cast<long long>(shape.ldc));
}

// Forced, or as tuned for this product and this use of it; the default where the tuned tile cannot run
// (generated code refused).
ProductChoice choice_of(const ProductShape& shape, EpilogueKind epilogue, const Machine& machine,
                        const CompileContext& context) {
    if (context.overrides.choice) return *context.overrides.choice;
    if (context.overrides.tile || !context.tuned) return {};
    const ProductChoice choice = context.tuned->find(shape, epilogue, machine, context.request);
    const bool runs = choice.tile == 0 || usable(gemm_tiles().rows[choice.tile - 1], machine);
    return runs ? choice : ProductChoice();
}

ProductPtr compile_by(const Order& order) {
    if (order.schedule.transposed != Transposed::no) return compile_transposed(order);
    switch (order.schedule.algorithm) {
        case Algorithm::skinny_axpy:
            return compile_skinny_axpy(order);
        case Algorithm::skinny_dot:
            return compile_skinny_dot(order);
        case Algorithm::prepacked:
            return compile_prepacked(order);
        case Algorithm::blocked:
            break;
    }
    return compile_blocked(order);
}

// Again where executable memory was refused meanwhile: then rules know of no code.
ProductPtr compile(const ProductShape& shape, DType format, const jit::RowKernel* epilogue,
                   const CompileContext& context) {
    const Problem problem = problem_of(shape, epilogue_kind(epilogue), context.request, format);
    Machine machine = context.machine;
    for (;;) {
        machine.code = context.machine.code && context.compiler.arena->available();
        const ProductChoice choice = choice_of(shape, problem.epilogue, machine, context);
        const Schedule schedule = decide(problem, machine, context.overrides, choice);
        if (ProductPtr made = compile_by({shape, problem, machine, schedule, epilogue, context, choice}))
            return made;
    }
}

}  // namespace

EpilogueKind epilogue_kind(const jit::RowKernel* kernel) {
    if (kernel == nullptr) return EpilogueKind::none;
    return kernel->program().needs_whole_rows() ? EpilogueKind::rows : EpilogueKind::blocks;
}

void Product::describe(ScheduleText& text) const noexcept { cpu::describe(problem_, isa_, schedule_, text); }

void Product::set_name(const char* format, ...) noexcept {
    std::va_list values;
    va_start(values, format);
    vformat(name_, sizeof name_, format, values);
    va_end(values);
}

void close_segment(const float* accumulators, std::int64_t stride, std::int64_t rows, std::int64_t columns,
                   bool stored, float* c, std::int64_t ldc) noexcept {
    for (std::int64_t i = 0; i < rows; ++i) {
        const float* const from = accumulators + i * stride;
        float* const to = c + i * ldc;
        if (stored) {
            std::copy_n(from, columns, to);
        } else {
            for (std::int64_t j = 0; j < columns; ++j) to[j] = to[j] + from[j];
        }
    }
}

Schedule blocked_schedule(const Problem& problem, const CompileContext& context,
                          const ProductChoice& choice) {
    Machine machine = context.machine;
    machine.code = machine.code && context.compiler.arena->available();
    Overrides overrides = context.overrides;
    overrides.blocked = true;
    return decide(problem, machine, overrides, choice);
}

ProductPtr compile_product(const ProductShape& shape, const jit::RowKernel* epilogue,
                           const CompileContext& context) {
    check(shape, context.request.transposed_c);
    if (epilogue && epilogue->program().has_column_sum())
        fail(VOLTA_INTERNAL, "an epilogue that sums columns runs after its product, not inside it");
    return compile(shape, DType::f32, epilogue, context);
}

ProductPtr compile_packed_weight_product(const ProductShape& shape, DType format,
                                         const jit::RowKernel* epilogue, const CompileContext& context) {
    return compile(shape, format, epilogue, context);
}

// The rules see a B that each call packs and no kernel reads in place, which one stored transposed is.
ProductPtr compile_dequantised_product(const ProductShape& shape, DType format,
                                       const jit::RowKernel* epilogue, const CompileContext& context) {
    ProductShape turned = shape;
    turned.b_transposed = true;
    turned.ldb = turned.k;
    Request request;
    request.cache_use = context.request.cache_use;
    const Problem problem = problem_of(turned, epilogue_kind(epilogue), request);
    Machine machine = context.machine;
    machine.code = machine.code && context.compiler.arena->available();
    const Schedule schedule = blocked_schedule(problem, context, {});
    return compile_blocked({turned, problem, machine, schedule, epilogue, context, {}, format});
}

}  // namespace volta::cpu
