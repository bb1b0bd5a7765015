#include "engine/backend/cpu/convolution/depthwise_gradient.h"

#include <algorithm>
#include <cstdio>

#include "engine/backend/cpu/gemm/kernel_cache.h"

namespace volta::cpu {
namespace {

constexpr std::int64_t kLanes = LanePicture::kLanes;
constexpr std::int64_t kFloatBytes = sizeof(float);
constexpr std::int64_t kMostDilation = 255;

}  // namespace

bool DepthwiseGradient::fits(const ConvolutionStep& work, const CompileContext& context) {
    const define::ConvolutionSizes& s = work.sizes;
    return s.channels == 1 && s.filters == 1 && s.groups > 1 && context.machine.isa != Isa::scalar &&
           context.compiler.arena->available() &&
           s.columns.taps <= jit::most_chain_taps(context.machine.isa) && s.columns.dilation <= kMostDilation;
}

DepthwiseGradient::DepthwiseGradient(const ConvolutionStep& work, const CompileContext& context)
    : sizes_(work.sizes),
      workers_(context.machine.threads),
      isa_(context.machine.isa),
      transposes_(context.compiler.cache->transposes(context.machine.isa, *context.compiler.arena)),
      x_(forward_phases(sizes_.rows, context.compiler.heap),
         forward_phases(sizes_.columns, context.compiler.heap), transposes_),
      passes_(context.compiler.heap) {
    const define::ConvolutionSizes& s = sizes_;
    const std::int64_t most =
        std::min<std::int64_t>(jit::kMostChainTapRows, jit::most_chain_taps(isa_) / s.columns.taps);
    for (std::int64_t row = 0; row < s.rows.taps; row += most) {
        const std::int64_t count = std::min(most, s.rows.taps - row);
        jit::LaneChainsForm form;
        form.isa = isa_;
        form.tap_rows = static_cast<std::uint8_t>(count);
        form.tap_columns = static_cast<std::uint8_t>(s.columns.taps);
        form.dilation = static_cast<std::uint8_t>(s.columns.dilation);
        passes_.push_back({context.compiler.cache->lane_chains(form, *context.compiler.arena), row, count});
    }
    dy_floats_ = x_.buffer_floats();
    chain_floats_ = s.taps() * kLanes;
    workspace_bytes_ =
        static_cast<std::size_t>(workers_ * (x_.floats() + dy_floats_ + 2 * chain_floats_) * kFloatBytes);
    std::snprintf(name_, sizeof name_, "conv_dw_lanes_%s", isa_name(isa_));
}

void DepthwiseGradient::run(ThreadPool& pool, const Call& call) const noexcept {
    const std::int64_t channels = sizes_.groups;
    pool.run_stealing(
        workers_, ceil_div(channels, kLanes), 1, [&](int worker, ThreadPool::WorkItems& items) noexcept {
            Buffers buffers;
            buffers.x =
                static_cast<float*>(call.workspace) + worker * (x_.floats() + dy_floats_ + 2 * chain_floats_);
            buffers.dy = buffers.x + x_.floats();
            buffers.chains = buffers.dy + dy_floats_;
            buffers.sums = buffers.chains + chain_floats_;
            // What lies around pictures stays, and lanes without a channel.
            std::fill_n(buffers.x, x_.floats() + dy_floats_, 0.0f);
            for (Range piece; items.next(&piece);)
                for (std::int64_t i = piece.begin; i < piece.end; ++i)
                    run_channels(call, i * kLanes, std::min(kLanes, channels - i * kLanes), buffers);
        });
}

void DepthwiseGradient::run_channels(const Call& call, std::int64_t first, std::int64_t count,
                                     const Buffers& buffers) const noexcept {
    const std::int64_t pixels = sizes_.pixels(), taps = sizes_.taps(), plane = sizes_.plane();
    bool has_sum = call.into;
    if (call.into)
        transpose(call.weight + first * taps, taps, count, taps, transposes_.of_16, buffers.sums, kLanes);
    const auto close = [&] {
        for (std::int64_t i = 0; i < chain_floats_; ++i)
            buffers.sums[i] = has_sum ? buffers.sums[i] + buffers.chains[i] : buffers.chains[i];
        has_sum = true;
        std::fill_n(buffers.chains, chain_floats_, 0.0f);
    };
    std::fill_n(buffers.chains, chain_floats_, 0.0f);
    std::int64_t step = 0;  // of the chains
    for (std::int64_t n = 0; n < sizes_.batch; ++n) {
        const float* const dy = call.dy + (n * sizes_.groups + first) * pixels;
        x_.copy(call.x + (n * sizes_.groups + first) * plane, count, buffers.dy, buffers.x);
        for (std::int64_t pixel = 0; pixel < pixels;) {
            const std::int64_t end = std::min(pixels, pixel + kSegment - step % kSegment);
            transpose(dy + pixel, pixels, count, end - pixel, transposes_.of_16, buffers.dy, kLanes);
            add_pixels(pixel, end, buffers);
            step += end - pixel;
            pixel = end;
            if (step % kSegment == 0) close();
        }
    }
    if (step % kSegment != 0 || !has_sum) close();
    for (std::int64_t c = 0; c < count; ++c)
        for (std::int64_t t = 0; t < taps; ++t)
            call.weight[(first + c) * taps + t] = buffers.sums[t * kLanes + c];
}

// The rest of a row, whole rows, the beginning of one.
void DepthwiseGradient::add_pixels(std::int64_t begin, std::int64_t end,
                                   const Buffers& buffers) const noexcept {
    const std::int64_t width = sizes_.columns.out;
    for (std::int64_t pixel = begin; pixel < end;) {
        const std::int64_t rest = pixel % width == 0 ? 0 : std::min(end - pixel, width - pixel % width);
        const std::int64_t rows = rest > 0 ? 1 : std::max<std::int64_t>(1, (end - pixel) / width);
        const std::int64_t columns = rest > 0 ? rest : std::min(width, end - pixel);
        add_rows(pixel, rows, columns, buffers.dy + (pixel - begin) * kLanes, buffers);
        pixel += rows * columns;
    }
}

void DepthwiseGradient::add_rows(std::int64_t pixel, std::int64_t rows, std::int64_t columns, const float* dy,
                                 const Buffers& buffers) const noexcept {
    const define::ConvolutionSizes& s = sizes_;
    const std::int64_t row = pixel / s.columns.out * s.rows.stride,
                       column = pixel % s.columns.out * s.columns.stride;
    jit::LaneChainsArgs args = {};
    args.rows = rows;
    args.columns = columns;
    args.b_step = s.columns.stride * kLanes * kFloatBytes;
    args.b_row = s.rows.stride * x_.row() * kLanes * kFloatBytes;
    args.tap_row = s.rows.dilation * x_.row() * kLanes * kFloatBytes;
    for (const Pass& pass : passes_)
        for (std::int64_t lane = 0; lane < kLanes; lane += jit::gemm_lanes(isa_)) {
            args.a = dy + lane;
            args.b =
                buffers.x + ((row + pass.first_row * s.rows.dilation) * x_.row() + column) * kLanes + lane;
            args.chains = buffers.chains + pass.first_row * s.columns.taps * kLanes + lane;
            pass.run(&args);
        }
}

}  // namespace volta::cpu
