#include "engine/backend/cpu/convolution/tiles.h"

#include <algorithm>

#include "engine/backend/cpu/gemm/cost.h"

namespace volta::cpu {
namespace {

MacroKernel kernel_of(std::int64_t rows, std::int64_t columns, const GemmTile& tile,
                      const Compiler& compiler) {
    jit::GemmForm form;
    form.isa = tile.isa;
    form.a = jit::GemmA::offsets;
    form.b = jit::GemmB::tile;
    form.mr = static_cast<std::uint8_t>(rows);
    MacroKernel kernel(form, tile.nr);
    kernel.add_columns(columns, compiler);
    return kernel;
}

}  // namespace

const GemmTile& ConvolutionTiles::choose(const CompileContext& context, std::int64_t length,
                                         std::int64_t columns) {
    if (context.overrides.tile != nullptr) return forced_tile(context.overrides.tile, context.machine);
    return cheapest_tile(context.machine, length, columns, false, false);
}

ConvolutionTiles::ConvolutionTiles(std::int64_t length, std::int64_t columns, const GemmTile& tile,
                                   std::int64_t most, const Compiler& compiler)
    : cut_(length, most), tile_(&tile), columns_(columns), begins_(compiler.heap) {
    for (std::int64_t j = 0; j < columns; j += widths().at(j, columns)) begins_.push_back(j);
    begins_.push_back(columns);
    if (cut_.pieces == 0) return;
    larger_ = kernel_of(cut_.size(0), columns, tile, compiler);
    if (cut_.larger > 0) smaller_ = kernel_of(cut_.low, columns, tile, compiler);
}

void ConvolutionTiles::run(const jit::GemmArgs& args, int width, std::int64_t first,
                           std::int64_t end) const noexcept {
    jit::GemmArgs strip = args;
    const std::int64_t base = cut_.begin(first);
    while (first < end) {
        const bool is_larger = first < cut_.larger;
        const std::int64_t next = is_larger ? std::min(end, cut_.larger) : end, row = cut_.begin(first);
        strip.a = args.a + row * args.a_stride;
        strip.c = args.c + (row - base) * args.c_stride;
        const std::int64_t chains = (row - base) * args.accumulator_stride;
        if (args.accumulators_in) strip.accumulators_in = args.accumulators_in + chains;
        if (args.accumulators_out) strip.accumulators_out = args.accumulators_out + chains;
        kernel(first).run_rows(strip, 0, width, next - first, kernel(first).rows() * args.a_stride, 0);
        first = next;
    }
}

void ConvolutionTiles::run_tile(const jit::GemmArgs& args, int width, std::int64_t tile) const noexcept {
    kernel(tile).run_rows(args, 0, width, 1, 0, 0);
}

}  // namespace volta::cpu
