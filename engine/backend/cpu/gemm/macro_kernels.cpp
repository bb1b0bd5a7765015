#include "engine/backend/cpu/gemm/macro_kernels.h"

#include <algorithm>

#include "engine/backend/cpu/gemm/partition.h"
#include "engine/backend/cpu/gemm/product.h"

namespace volta::cpu {
namespace {

jit::GemmForm form_of(const Schedule& schedule) {
    jit::GemmForm form;
    form.isa = schedule.tile->isa;
    form.b = schedule.packs_b() ? jit::GemmB::tile : jit::GemmB::rows;
    form.prefetch = static_cast<std::uint8_t>(schedule.prefetch.distance);
    form.repeated_prefetch = schedule.prefetch.repeated;
    form.unroll = static_cast<std::uint8_t>(schedule.unroll);
    return form;
}

// The kernels of all widths that K blocks have.
void add_widths(MacroKernel& strip, const Problem& problem, const Schedule& schedule,
                const Compiler& compiler) {
    const ThreadTiles tiles(problem.shape, schedule);
    for (std::int64_t j = 0; j < tiles.n_parts; ++j) {
        const std::int64_t columns = tiles.column_begin(j + 1) - tiles.column_begin(j);
        if (columns == 0) continue;
        if (columns >= schedule.nc) strip.add_columns(schedule.nc, compiler);
        strip.add_columns(columns % schedule.nc, compiler);
    }
}

}  // namespace

MacroKernels::MacroKernels(const Problem& problem, const Schedule& schedule, const Compiler& compiler)
    : kernels_(compiler.heap) {
    const ThreadTiles parts(problem.shape, schedule);
    for (std::int64_t i = 0; i < parts.m_parts; ++i) {
        const std::int64_t rows = parts.row_begin(i + 1) - parts.row_begin(i);
        if (schedule.transposed_rows == 0) {
            add_heights(rows, problem, schedule, compiler);
        } else {
            add_heights(std::min(rows, schedule.transposed_rows), problem, schedule, compiler);
            add_heights(rows % schedule.transposed_rows, problem, schedule, compiler);
        }
    }
    if (!problem.sums_b()) return;
    jit::GemmForm form = form_of(schedule);
    form.a = jit::GemmA::ones;
    sums_ = MacroKernel(form, schedule.tile->nr);
    add_widths(sums_, problem, schedule, compiler);
}

// The strips of so many rows.
void MacroKernels::add_heights(std::int64_t rows, const Problem& problem, const Schedule& schedule,
                               const Compiler& compiler) {
    const EvenCut tiles(rows, schedule.tile->mr);
    if (tiles.pieces == 0) return;
    for (const std::int64_t height : {tiles.size(0), tiles.size(tiles.pieces - 1)})
        for (const TileUse use : kTileUses)
            if (use == TileUse::plain || schedule.packs_on_first_use() ||
                (use == TileUse::prefetching && schedule.prefetch.a))
                add_kernel(static_cast<int>(height), use, problem, schedule, compiler);
}

void MacroKernels::add_kernel(int rows, TileUse use, const Problem& problem, const Schedule& schedule,
                              const Compiler& compiler) {
    std::uint8_t& index = index_[static_cast<int>(use)][rows];
    if (index != 0) return;
    jit::GemmForm form = form_of(schedule);
    form.mr = static_cast<std::uint8_t>(rows);
    form.a = problem.shape.a_transposed ? jit::GemmA::k_major : jit::GemmA::rows;
    if (use == TileUse::packing) {
        form.b = jit::GemmB::pack_on_first_use;
        form.prefetch = static_cast<std::uint8_t>(schedule.prefetch.packing);
    } else if (use == TileUse::prefetching) {
        form.prefetch_lines = 1;
        if (!schedule.packs_b()) form.prefetch = 0;  // the tiles above have brought B into L2
    }
    kernels_.emplace_back(form, schedule.tile->nr);
    add_widths(kernels_.back(), problem, schedule, compiler);
    index = static_cast<std::uint8_t>(kernels_.size());
}

}  // namespace volta::cpu
