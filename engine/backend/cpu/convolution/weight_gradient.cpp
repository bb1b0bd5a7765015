#include "engine/backend/cpu/convolution/weight_gradient.h"

#include <algorithm>
#include <cstdio>

#include "engine/backend/cpu/gemm/kernel_cache.h"

namespace volta::cpu {
namespace {

constexpr std::int64_t kLineFloats = 16;
constexpr std::int64_t kFloatBytes = sizeof(float);
constexpr std::int64_t kItemsPerThread = 4;  // where channels give fewer, taps are shared out too

std::int64_t padded(std::int64_t floats) { return round_up(floats, kLineFloats); }

// Channels are the rows of tiles, in as many pieces as threads can share.
std::int64_t rows_of_tiles(std::int64_t channels, const GemmTile& tile, int workers) {
    const std::int64_t pieces = round_up(ceil_div(channels, tile.mr), workers);
    return std::max<std::int64_t>(1, ceil_div(channels, pieces));
}

}  // namespace

WeightGradient::WeightGradient(const ConvolutionStep& work, const CompileContext& context)
    : batch_(work.sizes.batch),
      groups_(work.sizes.groups),
      channels_(work.sizes.channels),
      filters_(work.sizes.filters),
      taps_(work.sizes.taps()),
      pixels_(work.sizes.pixels()),
      workers_(context.machine.threads),
      offsets_(context.compiler.heap),
      taps_at_(context.compiler.heap),
      tile_(ConvolutionTiles::choose(context, channels_, filters_)),
      channels_at_once_(rows_of_tiles(channels_, tile_, workers_)),
      tiles_(channels_, filters_, tile_, channels_at_once_, context.compiler),
      transposes_(context.compiler.cache->transposes(context.machine.isa, *context.compiler.arena)) {
    const define::ConvolutionSizes& s = work.sizes;
    std::pmr::memory_resource* const heap = context.compiler.heap;
    const AxisPhases rows = forward_phases(s.rows, heap), columns = forward_phases(s.columns, heap);
    source_ = PictureSource(rows, columns);
    // At least a segment of pixels, so that chains are seldom left and resumed.
    pictures_at_once_ =
        std::clamp<std::int64_t>(ceil_div(kSegment, pixels_), 1, std::max<std::int64_t>(batch_, 1));
    const std::int64_t picture =
        source_.is_copied() ? channels_at_once_ * source_.plane() : groups_ * channels_ * source_.plane();
    const AxisPhase &row = rows.phases[0], &column = columns.phases[0];
    offsets_.reserve(static_cast<std::size_t>(pictures_at_once_ * pixels_));
    for (std::int64_t n = 0; n < pictures_at_once_; ++n)
        for (std::int64_t r = 0; r < row.count; ++r)
            for (std::int64_t c = 0; c < column.count; ++c)
                offsets_.push_back(
                    (n * picture + r * row.source_step * source_.row() + c * column.source_step) *
                    kFloatBytes);
    for (const AxisPhase::Tap& r : row.taps)
        for (const AxisPhase::Tap& c : column.taps) taps_at_.push_back(r.offset * source_.row() + c.offset);
    const std::int64_t items = groups_ * tiles_.cut().pieces;
    if (items < kItemsPerThread * workers_)
        tap_parts_ = std::min(taps_, ceil_div(kItemsPerThread * workers_, std::max<std::int64_t>(items, 1)));

    const std::int64_t depth = pictures_at_once_ * pixels_;
    packed_floats_ = groups_ * padded(tiles_.packed_floats(depth));
    const std::int64_t results = padded(groups_ * channels_ * taps_ * filters_);
    // Chains that end inside a segment wait for the next pictures.
    const bool carries = batch_ > pictures_at_once_ && depth % kSegment != 0;
    chain_floats_ = carries ? results : 0;
    results_floats_ = results + chain_floats_;
    copy_floats_ = source_.is_copied() ? padded(pictures_at_once_ * picture) : 0;
    workspace_bytes_ =
        static_cast<std::size_t>((packed_floats_ + results_floats_ + workers_ * copy_floats_) * kFloatBytes);
    std::snprintf(name_, sizeof name_, "conv_dw_%s", tile_.name);
}

void WeightGradient::run(ThreadPool& pool, const Call& call) const noexcept {
    const std::int64_t rows = channels_ * taps_;
    const auto for_results = [&](auto body) {
        pool.run(workers_, [&](int worker, int count) noexcept {
            for (std::int64_t group = 0; group < groups_; ++group)
                body(group, part_of(rows, kLineFloats, worker, count));
        });
    };
    const bool is_empty = batch_ == 0;
    if (call.into && !is_empty)
        for_results([&](std::int64_t group, Range mine) { transpose_weights(call, group, mine); });
    for (std::int64_t n = 0; n < batch_; n += pictures_at_once_) {
        Chunk chunk;
        chunk.first = n;
        chunk.count = std::min(pictures_at_once_, batch_ - n);
        chunk.step = n * pixels_;
        chunk.depth = chunk.count * pixels_;
        const std::int64_t packs = groups_ * tiles_.pieces() * chunk.count;
        pool.run(workers_, [&](int worker, int count) noexcept {
            const Range mine = part_of(packs, 1, worker, count);
            for (std::int64_t i = mine.begin; i < mine.end; ++i) pack_dy(call, chunk, i, packed(call));
        });
        pool.run_stealing(workers_, groups_ * tiles_.cut().pieces * tap_parts_, 1,
                          [&](int worker, ThreadPool::WorkItems& items) noexcept {
                              float* const copy = copies(call) + worker * copy_floats_;
                              for (Range piece; items.next(&piece);)
                                  for (std::int64_t i = piece.begin; i < piece.end; ++i)
                                      run_item(call, chunk, i, copy);
                          });
    }
    if (!is_empty)
        return for_results([&](std::int64_t group, Range mine) { transpose_results(call, group, mine); });
    if (call.into) return;
    std::fill_n(call.weight, groups_ * filters_ * rows, 0.0f);
}

// dy of one picture of the chunk and one piece of filters: [pixels, filters] of the chunk's packing.
void WeightGradient::pack_dy(const Call& call, const Chunk& chunk, std::int64_t index,
                             float* packed) const noexcept {
    const std::int64_t picture = index % chunk.count, j = index / chunk.count % tiles_.pieces();
    const std::int64_t group = index / chunk.count / tiles_.pieces(), first = tiles_.piece_begin(j);
    const int width = tiles_.piece_width(j);
    const std::int64_t lanes = jit::gemm_lanes(tile_.isa);
    float* const to = packed + group * (packed_floats_ / std::max<std::int64_t>(groups_, 1)) +
                      first * chunk.depth + picture * pixels_ * round_up(width, lanes);
    const std::int64_t plane = ((chunk.first + picture) * groups_ + group) * filters_ + first;
    pack_b(call.dy + plane * pixels_, pixels_, true, width, pixels_, transposes_, tiles_.widths(), to);
}

// A tile of channels, some of its taps, all filters.
void WeightGradient::run_item(const Call& call, const Chunk& chunk, std::int64_t index,
                              float* copy) const noexcept {
    const std::int64_t part = index % tap_parts_, tile = index / tap_parts_ % tiles_.cut().pieces;
    const std::int64_t group = index / tap_parts_ / tiles_.cut().pieces;
    const std::int64_t channel = tiles_.cut().begin(tile), count = tiles_.cut().size(tile);
    const std::int64_t plane = source_.plane_of_source(), of_picture = groups_ * channels_;
    const float* x = call.x + (chunk.first * of_picture + group * channels_ + channel) * plane;
    if (source_.is_copied()) {
        for (std::int64_t n = 0; n < chunk.count; ++n)
            source_.copy(x + n * of_picture * plane, count, copy + n * channels_at_once_ * source_.plane());
        x = copy;
    }
    const std::int64_t end = chunk.step + chunk.depth, all = batch_ * pixels_;
    const std::int64_t result = (group * channels_ + channel) * taps_ * filters_;
    jit::GemmArgs args = {};
    args.a_stride = source_.plane();
    args.a_offsets = offsets_.data();
    args.b_stride = chunk.depth;
    args.c_stride = args.accumulator_stride = taps_ * filters_;
    args.steps = chunk.depth;
    args.first_step = chunk.step;
    args.add = call.into || chunk.step >= kSegment;
    const bool resumed = chunk.step % kSegment != 0, unfinished = end < all && end % kSegment != 0;
    for (std::int64_t tap = part * taps_ / tap_parts_; tap < (part + 1) * taps_ / tap_parts_; ++tap)
        for (std::int64_t j = 0; j < tiles_.pieces(); ++j) {
            const std::int64_t first = tiles_.piece_begin(j), at = result + tap * filters_ + first;
            // The run's first row is channel 0.
            args.a = x + taps_at_[static_cast<std::size_t>(tap)];
            args.b = packed(call) + group * (packed_floats_ / groups_) + first * chunk.depth;
            args.c = results(call) + at;
            args.accumulators_in = resumed ? chains(call) + at : nullptr;
            args.accumulators_out = unfinished ? chains(call) + at : nullptr;
            tiles_.run_tile(args, tiles_.piece_width(j), tile);
        }
}

void WeightGradient::transpose_results(const Call& call, std::int64_t group, Range rows) const noexcept {
    const std::int64_t all = channels_ * taps_;
    transpose(results(call) + (group * all + rows.begin) * filters_, filters_, rows.end - rows.begin,
              filters_, transposes_.of_16, call.weight + group * filters_ * all + rows.begin, all);
}

void WeightGradient::transpose_weights(const Call& call, std::int64_t group, Range rows) const noexcept {
    const std::int64_t all = channels_ * taps_;
    transpose(call.weight + group * filters_ * all + rows.begin, all, filters_, rows.end - rows.begin,
              transposes_.of_16, results(call) + (group * all + rows.begin) * filters_, filters_);
}

}  // namespace volta::cpu
