#include "engine/backend/cpu/product_strip.h"

#include <algorithm>

#include "engine/backend/cpu/kernel_cache.h"

namespace volta::cpu {

void TileStrip::resolve(const jit::GemmForm& form, int nr, std::int64_t columns, bool every_width,
                        const CompileContext& context) {
    form_ = form;
    nr_ = nr;
    const int lanes = jit::gemm_lanes(form.isa);
    if (columns >= nr) resolve_width(nr, context);
    if (columns % nr != 0) resolve_width(static_cast<int>(columns % nr), context);
    for (int width = lanes; every_width && width < std::min<std::int64_t>(nr, columns); width += lanes)
        resolve_width(width, context);
}

void TileStrip::resolve_width(int columns, const CompileContext& context) {
    const int lanes = jit::gemm_lanes(form_.isa);
    jit::GemmForm form = form_;
    form.vectors = static_cast<std::uint8_t>((columns + lanes - 1) / lanes);
    form.masked = columns % lanes != 0;
    GemmKernel* const kernels = form.masked ? masked_ : whole_[form.vectors];
    kernels[0] = context.cache->gemm(form, *context.arena);
    // A tile of one vector moves its pointer into the panel's second half instead.
    const bool halves = lanes < jit::kPanel && nr_ % jit::kPanel != 0 && form.vectors > 1;
    if (!halves || form.b != jit::GemmB::panels) return;
    form.half = true;
    kernels[1] = context.cache->gemm(form, *context.arena);
}

void TileStrip::run_tile(const jit::GemmArgs& strip, std::int64_t j, std::int64_t columns) const noexcept {
    const int lanes = jit::gemm_lanes(form_.isa);
    const int width = static_cast<int>(std::min<std::int64_t>(nr_, columns - j));
    const int vectors = (width + lanes - 1) / lanes;
    int half = 0;
    jit::GemmArgs args = strip;
    if (form_.b == jit::GemmB::panels) {
        const std::int64_t within = j % jit::kPanel;
        args.b += j / jit::kPanel * args.b_stride;
        if (vectors == 1) {
            args.b += within;
        } else {
            half = within != 0;
        }
    } else {
        args.b += j;
    }
    args.c += j;
    if (args.chain_in) args.chain_in += j;
    if (args.chain_out) args.chain_out += j;
    args.tail_columns = (width - 1) % lanes + 1;
    (width % lanes != 0 ? masked_ : whole_[vectors])[half](args);
}

}  // namespace volta::cpu
