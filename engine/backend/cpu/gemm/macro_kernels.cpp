#include "engine/backend/cpu/gemm/macro_kernels.h"

#include <algorithm>

namespace volta::cpu {
namespace {

jit::GemmForm form_of(const ProductPlan& plan) {
    jit::GemmForm form;
    form.isa = plan.tile->isa;
    form.b = plan.pack_b ? jit::GemmB::tile : jit::GemmB::rows;
    form.prefetch = static_cast<std::uint8_t>(plan.prefetch);
    form.repeated_prefetch = plan.repeated_prefetch;
    form.unroll = static_cast<std::uint8_t>(plan.unroll);
    return form;
}

// The kernels of all widths that passes have.
void add_widths(MacroKernel& strip, const ProductPlan& plan, const CompileContext& context) {
    for (std::int64_t j = 0; j < plan.n_parts; ++j) {
        const std::int64_t columns = plan.column_begin(j + 1) - plan.column_begin(j);
        if (columns == 0) continue;
        if (columns >= plan.nc) strip.add_columns(plan.nc, context);
        strip.add_columns(columns % plan.nc, context);
    }
}

}  // namespace

MacroKernels::MacroKernels(const ProductPlan& plan, bool sums, const CompileContext& context)
    : strips_(context.heap) {
    for (std::int64_t i = 0; i < plan.m_parts; ++i) {
        const std::int64_t rows = plan.row_begin(i + 1) - plan.row_begin(i);
        if (plan.transposed_rows == 0) {
            add_heights(rows, plan, context);
        } else {
            add_heights(std::min(rows, plan.transposed_rows), plan, context);
            add_heights(rows % plan.transposed_rows, plan, context);
        }
    }
    if (!sums) return;
    jit::GemmForm form = form_of(plan);
    form.a = jit::GemmA::ones;
    sums_ = MacroKernel(form, plan.tile->nr);
    add_widths(sums_, plan, context);
}

// The strips of so many rows.
void MacroKernels::add_heights(std::int64_t rows, const ProductPlan& plan, const CompileContext& context) {
    const EvenCut tiles(rows, plan.tile->mr);
    if (tiles.pieces == 0) return;
    for (const std::int64_t height : {tiles.size(0), tiles.size(tiles.pieces - 1)})
        for (const TileUse use : kTileUses)
            if (use == TileUse::plain || plan.packs_on_first_use() ||
                (use == TileUse::prefetching && plan.prefetch_a))
                add_strip(static_cast<int>(height), use, plan, context);
}

void MacroKernels::add_strip(int rows, TileUse use, const ProductPlan& plan, const CompileContext& context) {
    std::uint8_t& index = index_[static_cast<int>(use)][rows];
    if (index != 0) return;
    jit::GemmForm form = form_of(plan);
    form.mr = static_cast<std::uint8_t>(rows);
    form.a = plan.shape.a_transposed ? jit::GemmA::k_major : jit::GemmA::rows;
    if (use == TileUse::packing) {
        form.b = jit::GemmB::pack_on_first_use;
        form.prefetch = static_cast<std::uint8_t>(plan.packing_prefetch());
    } else if (use == TileUse::prefetching) {
        form.prefetch_lines = 1;
        if (!plan.pack_b) form.prefetch = 0;  // the tiles above have brought B into L2
    }
    strips_.emplace_back(form, plan.tile->nr);
    add_widths(strips_.back(), plan, context);
    index = static_cast<std::uint8_t>(strips_.size());
}

}  // namespace volta::cpu
