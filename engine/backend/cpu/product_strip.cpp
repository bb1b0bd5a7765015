#include "engine/backend/cpu/product_strip.h"

#include <algorithm>

#include "engine/backend/cpu/kernel_cache.h"

namespace volta::cpu {

void TileStrip::add_columns(std::int64_t columns, const CompileContext& context) {
    if (columns >= nr_) add_width(nr_, context);
    const std::int64_t whole = std::max<std::int64_t>(0, columns / nr_ - 1) * nr_;
    for (std::int64_t j = whole; j < columns; j += width_at(j, columns))
        add_width(width_at(j, columns), context);
}

void TileStrip::add_whole_vectors(std::int64_t columns, const CompileContext& context) {
    const int lanes = jit::gemm_lanes(form_.isa);
    for (int width = lanes; width <= std::min<std::int64_t>(nr_, columns); width += lanes)
        add_width(width, context);
}

void TileStrip::add_width(int width, const CompileContext& context) {
    const int lanes = jit::gemm_lanes(form_.isa);
    jit::GemmForm form = form_;
    form.vectors = static_cast<std::uint8_t>((width + lanes - 1) / lanes);
    form.masked = width % lanes != 0;
    GemmKernel* const kernels = kernels_[form.vectors][form.masked];
    kernels[0] = context.cache->gemm(form, *context.arena);
    // A tile of one vector moves its pointer into the panel's second half instead.
    if (form.b == jit::GemmB::rows || lanes != 8 || form.vectors == 1 || nr_ == jit::kPanel) return;
    form.half = true;
    kernels[1] = context.cache->gemm(form, *context.arena);
}

void TileStrip::run_tile(const jit::GemmArgs& strip, std::int64_t j, int width) const noexcept {
    const int lanes = jit::gemm_lanes(form_.isa);
    const int vectors = (width + lanes - 1) / lanes;
    jit::GemmArgs args = strip;
    const std::int64_t panel = j / jit::kPanel, within = j % jit::kPanel;
    const int half = vectors > 1 && within != 0 && form_.b != jit::GemmB::rows;
    if (form_.b == jit::GemmB::panels) {
        args.b += panel * args.b_stride + (half ? 0 : within);
    } else {
        args.b += j;
    }
    if (form_.b == jit::GemmB::rows_to_panels)
        args.packed += panel * args.packed_stride + (half ? 0 : within);
    if (form_.ahead) args.ahead += j;
    args.c += j;
    if (args.chain_in) args.chain_in += j;
    if (args.chain_out) args.chain_out += j;
    args.tail_columns = (width - 1) % lanes + 1;
    kernels_[vectors][width % lanes != 0][half](args);
}

}  // namespace volta::cpu
