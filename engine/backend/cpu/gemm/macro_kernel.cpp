#include "engine/backend/cpu/gemm/macro_kernel.h"

#include <algorithm>

#include "engine/backend/cpu/gemm/kernel_cache.h"
#include "engine/backend/cpu/gemm/product.h"
#include "engine/base/offset.h"

namespace volta::cpu {

void MacroKernel::add_columns(std::int64_t columns, const Compiler& compiler) {
    if (columns >= nr_) add_width(nr_, compiler);
    const std::int64_t whole = std::max<std::int64_t>(0, columns / nr_ - 1) * nr_;
    for (std::int64_t j = whole; j < columns; j += width_at(j, columns))
        add_width(width_at(j, columns), compiler);
}

void MacroKernel::add_whole_vectors(std::int64_t columns, const Compiler& compiler) {
    const int lanes = jit::gemm_lanes(form_.isa);
    for (int width = lanes; width <= std::min<std::int64_t>(nr_, columns); width += lanes)
        add_width(width, compiler);
}

void MacroKernel::add_width(int width, const Compiler& compiler) {
    const int lanes = jit::gemm_lanes(form_.isa);
    jit::GemmForm form = form_;
    set_width(form, width);
    GemmKernel* const kernels = kernels_[form.vectors][tail_of(width)];
    kernels[0] = compiler.cache->gemm(form, *compiler.arena);
    // A tile of one vector moves its pointer into the panel's second half instead.
    if (form.b != jit::GemmB::panels || lanes != 8 || form.vectors == 1 || nr_ == jit::kPanel) return;
    form.half = true;
    kernels[1] = compiler.cache->gemm(form, *compiler.arena);
}

jit::GemmArgs MacroKernel::at(const jit::GemmArgs& strip, std::int64_t j, int width) const noexcept {
    const int lanes = jit::gemm_lanes(form_.isa);
    jit::GemmArgs args = strip;
    args.b = offset(args.b, offset_of(args, j, width));
    if (form_.b == jit::GemmB::pack_on_first_use) args.packed += j * args.steps;
    if (form_.prefetch_lines > 0) args.prefetch.target = offset(args.prefetch.target, target_of(j));
    args.c += j;
    args.accumulators_in = offset(args.accumulators_in, j);
    args.accumulators_out = offset(args.accumulators_out, j);
    args.tail_columns = (width - 1) % lanes + 1;
    return args;
}

void MacroKernel::run_rows(const jit::GemmArgs& strip, std::int64_t j, int width, std::int64_t tiles,
                           std::int64_t a_next, std::int64_t prefetch_next) const noexcept {
    jit::GemmArgs args = at(strip, j, width);
    args.next.tiles = tiles;
    args.next.a = a_next;
    args.next.c = form_.mr * args.c_stride;
    args.next.accumulators = form_.mr * args.accumulator_stride;
    args.next.stream = prefetch_next;  // no more than one tile packs
    kernel(j, width)(args);
}

void MacroKernel::run(const jit::GemmArgs& strip, std::int64_t columns) const noexcept {
    std::int64_t j = 0;
    const bool is_even = form_.b != jit::GemmB::panels || nr_ % jit::kPanel == 0;
    if (is_even && columns >= 2 * nr_) {  // all whole tiles but the last in one call
        jit::GemmArgs args = at(strip, 0, nr_);
        args.next.tiles = columns % nr_ == 0 ? columns / nr_ : columns / nr_ - 1;
        args.next.b = offset_of(strip, nr_, nr_);
        args.next.c = args.next.accumulators = nr_;
        args.next.stream = form_.prefetch_lines > 0 ? target_of(nr_) : nr_ * args.steps;
        j = args.next.tiles * nr_;
        kernel(0, nr_)(args);
    }
    for (; j < columns; j += width_at(j, columns)) {
        jit::GemmArgs args = at(strip, j, width_at(j, columns));
        kernel(j, width_at(j, columns))(args);
    }
}

}  // namespace volta::cpu
