#include "engine/backend/cpu/convolution/depthwise.h"

#include <algorithm>
#include <cstdio>
#include <limits>

#include "engine/backend/cpu/gemm/kernel_cache.h"

namespace volta::cpu {
namespace {

constexpr std::int64_t kLanes = LanePicture::kLanes;
constexpr std::int64_t kFloatBytes = sizeof(float), kPixelBytes = kLanes * kFloatBytes;
constexpr std::int64_t kMostStep = 127;
// Items a thread wants, and rows of a band at least: each copies the rows of its neighbours' windows again.
constexpr std::int64_t kItemsPerThread = 2, kLeastBand = 8;

bool is_transposed(const ConvolutionStep& work) { return work.gives == ConvolutionStep::Gives::x; }
AxisPhases phases_of(const ConvolutionStep& work, const define::ConvolutionAxis& axis,
                     std::pmr::memory_resource* heap) {
    return is_transposed(work) ? transposed_phases(axis, heap) : forward_phases(axis, heap);
}

// Taps of a phase are evenly spaced.
std::int64_t step_of(const AxisPhase& phase) {
    return phase.taps.size() > 1 ? phase.taps[1].offset - phase.taps[0].offset : 1;
}

}  // namespace

bool DepthwiseConvolution::fits(const ConvolutionStep& work, const CompileContext& context) {
    const define::ConvolutionSizes& s = work.sizes;
    return s.channels == 1 && s.filters == 1 && s.groups > 1 && context.machine.isa != Isa::scalar &&
           context.compiler.arena->available() &&
           s.columns.taps <= jit::most_window_taps(context.machine.isa) && s.taps() <= kSegment &&
           s.columns.dilation <= kMostStep && s.columns.stride <= kMostStep;
}

DepthwiseConvolution::DepthwiseConvolution(const ConvolutionStep& work, jit::WindowOp op,
                                           const jit::RowKernel* epilogue, const CompileContext& context)
    : batch_(work.sizes.batch),
      channels_(work.sizes.groups),
      plane_(is_transposed(work) ? work.sizes.plane() : work.sizes.pixels()),
      columns_(is_transposed(work) ? work.sizes.columns.in : work.sizes.columns.out),
      taps_(work.sizes.taps()),
      workers_(context.machine.threads),
      isa_(context.machine.isa),
      op_(op),
      transposes_(context.compiler.cache->transposes(isa_, *context.compiler.arena)),
      source_(phases_of(work, work.sizes.rows, context.compiler.heap),
              phases_of(work, work.sizes.columns, context.compiler.heap), transposes_),
      epilogue_(epilogue),
      phases_(context.compiler.heap) {
    const AxisPhases rows = phases_of(work, work.sizes.rows, context.compiler.heap),
                     columns = phases_of(work, work.sizes.columns, context.compiler.heap);
    phases_.reserve(rows.phases.size() * columns.phases.size());
    for (const AxisPhase& row : rows.phases)
        for (const AxisPhase& column : columns.phases)
            if (!row.taps.empty() && !column.taps.empty()) {
                add_phase(row, column, context);
                Phase& phase = phases_.back();
                for (const AxisPhase::Tap& r : row.taps)
                    for (const AxisPhase::Tap& c : column.taps)
                        phase.taps.push_back(r.kernel * work.sizes.columns.taps + c.kernel);
                phase.first_weight = weight_floats_;
                weight_floats_ += static_cast<std::int64_t>(phase.taps.size()) * kLanes;
            }
    is_whole_ = rows.phases.size() == 1 && columns.phases.size() == 1 && phases_.size() == 1;
    if (is_whole_) {
        const std::int64_t items = batch_ * ceil_div(channels_, kLanes);
        bands_ =
            std::clamp<std::int64_t>(ceil_div(kItemsPerThread * workers_, std::max<std::int64_t>(items, 1)),
                                     1, std::max<std::int64_t>(phases_[0].rows / kLeastBand, 1));
        if (workers_ == 1) bands_ = 1;
        tap_rows_ = {source_.pad(), source_.pad()};
        for (const AxisPhase::Tap& tap : rows.phases[0].taps) {
            tap_rows_.begin = std::min<std::int64_t>(tap_rows_.begin, tap.offset);
            tap_rows_.end = std::max<std::int64_t>(tap_rows_.end, tap.offset + 1);
        }
        tap_rows_ = {tap_rows_.begin - source_.pad(), tap_rows_.end - source_.pad()};
    }
    rows_at_once_ = std::max<std::int64_t>(1, kSegment / std::max<std::int64_t>(columns_, 1));
    y_floats_ = (is_whole_ ? std::min(rows_at_once_ * columns_, plane_) : plane_) * kLanes;
    if (epilogue_ != nullptr)
        scratch_floats_ = round_up(
            ceil_div(static_cast<std::int64_t>(epilogue_->scratch_bytes(plane_)), kFloatBytes), kLanes);
    const std::int64_t floats = source_.floats() + y_floats_ + source_.buffer_floats() + weight_floats_ +
                                taps_ * kLanes + scratch_floats_;
    workspace_bytes_ = static_cast<std::size_t>(workers_ * floats * kFloatBytes);
    const char* const does[] = {"conv", "maximum", "sum"};
    std::snprintf(name_, sizeof name_, "%s_lanes_%s", does[static_cast<int>(op_)], isa_name(isa_));
}

void DepthwiseConvolution::add_phase(const AxisPhase& rows, const AxisPhase& columns,
                                     const CompileContext& context) {
    Phase& phase = phases_.emplace_back(context.compiler.heap);
    phase.rows = rows.count;
    phase.columns = columns.count;
    phase.source_row = rows.source_step * source_.row();
    phase.source_step = columns.source_step;
    phase.first_row = rows.first;
    phase.first_column = columns.first;
    phase.row_step = rows.step;
    phase.column_step = columns.step;
    const auto tap_rows = static_cast<std::int64_t>(rows.taps.size()),
               tap_columns = static_cast<std::int64_t>(columns.taps.size());
    const std::int64_t most =
        std::min<std::int64_t>(jit::kMostWindowTapRows, jit::most_window_taps(isa_) / tap_columns);
    for (std::int64_t row = 0; row < tap_rows; row += most) {
        jit::LaneWindowsForm form;
        form.isa = isa_;
        form.tap_rows = static_cast<std::uint8_t>(std::min(most, tap_rows - row));
        form.tap_columns = static_cast<std::uint8_t>(tap_columns);
        form.tap_step = static_cast<std::int8_t>(step_of(columns));
        form.step = static_cast<std::uint8_t>(columns.source_step);
        form.continues = row > 0;
        form.op = op_;
        const std::int64_t x =
            rows.taps[static_cast<std::size_t>(row)].offset * source_.row() + columns.taps[0].offset;
        phase.passes.push_back({context.compiler.cache->lane_windows(form, *context.compiler.arena),
                                x * kLanes, step_of(rows) * source_.row() * kPixelBytes, row * tap_columns});
    }
}

void DepthwiseConvolution::run(ThreadPool& pool, const Call& call) const noexcept {
    const std::int64_t items = batch_ * ceil_div(channels_, kLanes) * bands_;
    const std::int64_t floats = static_cast<std::int64_t>(workspace_bytes_) / (workers_ * kFloatBytes);
    pool.run_stealing(workers_, items, 1, [&](int worker, ThreadPool::WorkItems& mine) noexcept {
        Buffers buffers;
        buffers.x = static_cast<float*>(call.workspace) + worker * floats;
        buffers.y = buffers.x + source_.floats();
        buffers.transposed = buffers.y + y_floats_;
        buffers.weights = buffers.transposed + source_.buffer_floats();
        buffers.scratch = buffers.weights + weight_floats_ + taps_ * kLanes;
        // What lies around pictures stays, and pixels that no tap meets.
        std::fill_n(buffers.x, floats - scratch_floats_, 0.0f);
        if (op_ == jit::WindowOp::maximum) {
            constexpr float kLeast = -std::numeric_limits<float>::infinity();
            std::fill_n(buffers.x, source_.floats(), kLeast);
            std::fill_n(buffers.weights, kLanes, kLeast);
        }
        for (Range piece; mine.next(&piece);)
            for (std::int64_t i = piece.begin; i < piece.end; ++i) run_item(call, i, buffers);
    });
}

void DepthwiseConvolution::run_item(const Call& call, std::int64_t index,
                                    const Buffers& buffers) const noexcept {
    const std::int64_t blocks = ceil_div(channels_, kLanes), band = index % bands_;
    const std::int64_t picture = index / bands_ / blocks;
    const std::int64_t first = index / bands_ % blocks * kLanes, count = std::min(kLanes, channels_ - first);
    if (has_weight()) take_weights(call, first, count, buffers);
    const std::int64_t plane = source_.plane();
    const float* const source = call.source + (picture * channels_ + first) * plane;
    const Range channels{first, first + count};
    if (!is_whole_) {
        source_.copy(source, count, buffers.transposed, buffers.x);
        for (const Phase& phase : phases_)
            run_rows(phase, {0, phase.rows},
                     buffers.y + (phase.first_row * columns_ + phase.first_column) * kLanes,
                     phase.row_step * columns_ * kPixelBytes, buffers);
        return finish(call, picture, channels, {0, plane_}, buffers.y, buffers);
    }
    const Phase& phase = phases_[0];
    const Range rows{phase.rows * band / bands_, phase.rows * (band + 1) / bands_};
    const std::int64_t step = phase.source_row / source_.row();
    source_.copy_rows(source, count,
                      {rows.begin * step + tap_rows_.begin, (rows.end - 1) * step + tap_rows_.end},
                      buffers.transposed, buffers.x);
    for (std::int64_t row = rows.begin; row < rows.end; row += rows_at_once_) {
        const std::int64_t end = std::min<std::int64_t>(row + rows_at_once_, rows.end);
        run_rows(phase, {row, end}, buffers.y, columns_ * kPixelBytes, buffers);
        finish(call, picture, channels, {row * columns_, end * columns_}, buffers.y, buffers);
    }
}

// Of each phase, in its order.
void DepthwiseConvolution::take_weights(const Call& call, std::int64_t first, std::int64_t count,
                                        const Buffers& buffers) const noexcept {
    float* const weights = buffers.weights + weight_floats_;  // in the kernel's order
    transpose(call.weight + first * taps_, taps_, count, taps_, transposes_.of_16, weights, kLanes);
    for (const Phase& phase : phases_)
        for (std::size_t t = 0; t < phase.taps.size(); ++t)
            std::copy_n(weights + phase.taps[t] * kLanes, kLanes,
                        buffers.weights + phase.first_weight + static_cast<std::int64_t>(t) * kLanes);
}

void DepthwiseConvolution::run_rows(const Phase& phase, Range rows, float* y, std::int64_t y_row,
                                    const Buffers& buffers) const noexcept {
    jit::LaneWindowsArgs args = {};
    args.rows = rows.end - rows.begin;
    args.columns = phase.columns;
    if (args.rows == 0 || args.columns == 0) return;
    args.y_step = phase.column_step * kPixelBytes;
    args.y_skip = y_row - phase.columns * args.y_step;
    args.x_skip = (phase.source_row - phase.columns * phase.source_step) * kPixelBytes;
    for (const Pass& pass : phase.passes)
        for (std::int64_t lane = 0; lane < kLanes; lane += jit::gemm_lanes(isa_)) {
            args.x = buffers.x + rows.begin * phase.source_row * kLanes + pass.x_offset + lane;
            args.w =
                buffers.weights + phase.first_weight + (has_weight() ? pass.first_tap * kLanes : 0) + lane;
            args.y = y + lane;
            args.tap_row = pass.tap_row;
            pass.run(&args);
        }
}

// Pixels of y become planes, which are finished while they are in cache.
void DepthwiseConvolution::finish(const Call& call, std::int64_t picture, Range channels, Range pixels,
                                  const float* y, const Buffers& buffers) const noexcept {
    transpose(y, kLanes, pixels.end - pixels.begin, channels.end - channels.begin, transposes_.of_16,
              call.result + (picture * channels_ + channels.begin) * plane_ + pixels.begin, plane_);
    if (epilogue_ != nullptr) call.epilogue->run(*epilogue_, picture, channels, pixels, buffers.scratch);
}

}  // namespace volta::cpu
