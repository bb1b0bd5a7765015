#include "engine/backend/cpu/convolution/weight_gradient.h"

#include <algorithm>
#include <cstdio>

#include "engine/backend/cpu/gemm/kernel_cache.h"

namespace volta::cpu {
namespace {

constexpr std::int64_t kLineFloats = 16;
constexpr std::int64_t kFloatBytes = sizeof(float);
constexpr std::int64_t kItemsPerThread = 4;  // where channels give fewer, taps are shared out too
constexpr std::int64_t kLeastChunks = 2, kChunksPerThread = 4;  // of a thread; before segments are added
constexpr std::int64_t kSegmentFloats = 1 << 18;                // of a thread's segments, at most
constexpr std::int64_t kAddFloats = 1024;  // that stay in L1 while segments are added to them

std::int64_t padded(std::int64_t floats) { return round_up(floats, kLineFloats); }

// Channels are the rows of tiles, in as many pieces as threads can share.
std::int64_t rows_of_tiles(std::int64_t channels, const GemmTile& tile, int workers) {
    const std::int64_t pieces = round_up(ceil_div(channels, tile.mr), workers);
    return std::max<std::int64_t>(1, ceil_div(channels, pieces));
}

// sum = sum + from, one by one.
void add(const float* from, std::int64_t count, float* sum) noexcept {
    for (std::int64_t i = 0; i < count; ++i) sum[i] = sum[i] + from[i];
}

// At least a segment of pixels, so that chains are seldom left and resumed.
std::int64_t pictures_of_chunk(const define::ConvolutionSizes& sizes) {
    return std::clamp<std::int64_t>(ceil_div(kSegment, std::max<std::int64_t>(sizes.pixels(), 1)), 1,
                                    std::max<std::int64_t>(sizes.batch, 1));
}

// How many chunks threads compute before their segments are added; 0: they had better share the results. A
// chunk ends with a segment, and has a thread to itself.
std::int64_t chunks_of_threads(const define::ConvolutionSizes& sizes, const GemmTile& tile, int workers) {
    const std::int64_t pictures = pictures_of_chunk(sizes), pixels = pictures * sizes.pixels();
    const std::int64_t tiles = sizes.groups * ceil_div(sizes.channels, tile.mr);
    if (workers == 1 || tiles >= kItemsPerThread * workers || pixels == 0 || pixels % kSegment != 0) return 0;
    if (sizes.batch / pictures < kLeastChunks * workers) return 0;
    const std::int64_t of_chunk =
        pixels / kSegment * sizes.groups * sizes.channels * sizes.taps() * sizes.filters;
    const std::int64_t copied = pictures * sizes.groups * sizes.channels * sizes.plane();
    if (of_chunk > kSegmentFloats || (pictures > 1 && copied > kSegmentFloats)) return 0;
    return workers * std::clamp<std::int64_t>(kSegmentFloats / std::max<std::int64_t>(of_chunk, 1), 1,
                                              kChunksPerThread);
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
      pictures_at_once_(pictures_of_chunk(work.sizes)),
      chunks_at_once_(chunks_of_threads(work.sizes, tile_, workers_)),
      channels_at_once_(rows_of_tiles(channels_, tile_, chunks_at_once_ > 0 ? 1 : workers_)),
      tiles_(channels_, filters_, tile_, channels_at_once_, context.compiler),
      transposes_(context.compiler.cache->transposes(context.machine.isa, *context.compiler.arena)) {
    const define::ConvolutionSizes& s = work.sizes;
    std::pmr::memory_resource* const heap = context.compiler.heap;
    const AxisPhases rows = forward_phases(s.rows, heap), columns = forward_phases(s.columns, heap);
    source_ = PictureSource(rows, columns, context.compiler, context.machine.isa);
    const std::int64_t items = groups_ * tiles_.cut().pieces;
    if (workers_ > 1 && chunks_at_once_ == 0 && items < kItemsPerThread * workers_)
        tap_parts_ = std::min(taps_, ceil_div(kItemsPerThread * workers_, std::max<std::int64_t>(items, 1)));
    copies_once_ = tap_parts_ > 1;
    const bool has_all_channels = !source_.is_copied() || copies_once_ || chunks_at_once_ > 0;
    const std::int64_t picture =
        (has_all_channels ? groups_ * channels_ : channels_at_once_) * source_.plane();
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

    const std::int64_t depth = pictures_at_once_ * pixels_;
    packed_floats_ = groups_ * padded(tiles_.packed_floats(depth));
    const std::int64_t results = padded(result_count());
    // Chains that end inside a segment wait for the next pictures.
    const bool carries = batch_ > pictures_at_once_ && depth % kSegment != 0;
    chain_floats_ = carries ? results : 0;
    results_floats_ = results + chain_floats_;
    copy_floats_ = source_.is_copied() ? padded(pictures_at_once_ * picture) : 0;
    workspace_bytes_ =
        static_cast<std::size_t>((packs() * packed_floats_ + results_floats_ + copies() * copy_floats_ +
                                  (chunks_at_once_ > 0 ? chunks_at_once_ * chunk_segments() * results : 0)) *
                                 kFloatBytes);
    std::snprintf(name_, sizeof name_, "conv_dw_%s", tile_.name);
}

WeightGradient::Chunk WeightGradient::chunk_at(std::int64_t first) const noexcept {
    Chunk chunk;
    chunk.first = first;
    chunk.count = std::min(pictures_at_once_, batch_ - first);
    chunk.step = first * pixels_;
    chunk.depth = chunk.count * pixels_;
    return chunk;
}

void WeightGradient::run(ThreadPool& pool, const Call& call) const noexcept {
    const std::int64_t rows = channels_ * taps_;
    if (batch_ == 0) {
        if (!call.into) std::fill_n(call.weight, groups_ * filters_ * rows, 0.0f);
        return;
    }
    const auto for_results = [&](auto body) {
        pool.run(workers_, [&](int worker, int count) noexcept {
            for (std::int64_t group = 0; group < groups_; ++group)
                body(group, part_of(rows, kLineFloats, worker, count));
        });
    };
    if (call.into) for_results([&](std::int64_t group, Range mine) { transpose_weights(call, group, mine); });
    if (chunks_at_once_ > 0)
        run_by_chunks(pool, call);
    else
        run_by_results(pool, call);
    for_results([&](std::int64_t group, Range mine) { transpose_results(call, group, mine); });
}

void WeightGradient::run_by_results(ThreadPool& pool, const Call& call) const noexcept {
    const std::int64_t planes = groups_ * channels_;
    for (std::int64_t n = 0; n < batch_; n += pictures_at_once_) {
        const Chunk chunk = chunk_at(n);
        const std::int64_t packs = groups_ * tiles_.pieces() * chunk.count;
        pool.run(workers_, [&](int worker, int count) noexcept {
            if (n == 0) {  // what lies around pictures stays
                const Range mine = part_of(copies() * copy_floats_, kLineFloats, worker, count);
                std::fill(copies(call) + mine.begin, copies(call) + mine.end, 0.0f);
            }
            const Range mine = part_of(packs, 1, worker, count);
            for (std::int64_t i = mine.begin; i < mine.end; ++i) pack_dy(call, chunk, i, packed(call));
        });
        if (copies_once_ && source_.is_copied())
            pool.run(workers_, [&](int worker, int count) noexcept {
                copy_planes(call, chunk, part_of(planes, 1, worker, count), copies(call));
            });
        pool.run_stealing(workers_, groups_ * tiles_.cut().pieces * tap_parts_, 1,
                          [&](int worker, ThreadPool::WorkItems& items) noexcept {
                              float* const copy = copies(call) + (copies_once_ ? 0 : worker * copy_floats_);
                              for (Range piece; items.next(&piece);)
                                  for (std::int64_t i = piece.begin; i < piece.end; ++i)
                                      run_item(call, chunk, i, copy);
                          });
    }
}

void WeightGradient::run_by_chunks(ThreadPool& pool, const Call& call) const noexcept {
    const std::int64_t results = padded(result_count()), of_chunk = chunk_segments() * results;
    const std::int64_t pictures = chunks_at_once_ * pictures_at_once_;
    for (std::int64_t n = 0; n < batch_; n += pictures) {
        const std::int64_t count = std::min(pictures, batch_ - n);
        const auto first_of = [&](std::int64_t chunk) { return n + chunk * pictures_at_once_; };
        pool.run_stealing(workers_, ceil_div(count, pictures_at_once_), 1,
                          [&](int worker, ThreadPool::WorkItems& chunks) noexcept {
                              float* const copy = copies(call) + worker * copy_floats_;
                              float* const mine = packed(call) + worker * packed_floats_;
                              if (n == 0)
                                  std::fill_n(copy, copy_floats_, 0.0f);  // what lies around pictures stays
                              for (Range piece; chunks.next(&piece);)
                                  for (std::int64_t c = piece.begin; c < piece.end; ++c) {
                                      const Chunk chunk = chunk_at(first_of(c));
                                      const std::int64_t packs = groups_ * tiles_.pieces() * chunk.count;
                                      for (std::int64_t i = 0; i < packs; ++i) pack_dy(call, chunk, i, mine);
                                      if (source_.is_copied())
                                          copy_planes(call, chunk, {0, groups_ * channels_}, copy);
                                      run_segments(call, chunk, mine, copy, segments(call) + c * of_chunk);
                                  }
                          });
        const std::int64_t done = ceil_div(count * pixels_, kSegment);
        pool.run(workers_, [&](int worker, int workers) noexcept {
            const Range mine = part_of(results, kLineFloats, worker, workers);
            for (std::int64_t at = mine.begin; at < mine.end; at += kAddFloats) {
                const std::int64_t floats = std::min<std::int64_t>(kAddFloats, mine.end - at);
                float* const sum = this->results(call) + at;
                const float* from = segments(call) + at;
                for (std::int64_t s = 0; s < done; ++s, from += results) {
                    if (s == 0 && n == 0 && !call.into)
                        std::copy_n(from, floats, sum);
                    else
                        add(from, floats, sum);
                }
            }
        });
    }
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

// Planes of all channels, for a copy of all of them.
void WeightGradient::copy_planes(const Call& call, const Chunk& chunk, Range planes,
                                 float* copy) const noexcept {
    const std::int64_t plane = source_.plane_of_source(), all = groups_ * channels_;
    for (std::int64_t n = 0; n < chunk.count; ++n)
        source_.copy(call.x + ((chunk.first + n) * all + planes.begin) * plane, planes.end - planes.begin,
                     copy + (n * all + planes.begin) * source_.plane());
}

void WeightGradient::run_segments(const Call& call, const Chunk& chunk, const float* packed,
                                  const float* copy, float* segments) const noexcept {
    const std::int64_t all = groups_ * channels_, lanes = jit::gemm_lanes(tile_.isa);
    const float* const x = source_.is_copied() ? copy : call.x + chunk.first * all * source_.plane();
    jit::GemmArgs args = {};
    args.a_stride = source_.plane();
    args.c_stride = args.accumulator_stride = taps_ * filters_;
    for (std::int64_t step = 0; step < chunk.depth; step += kSegment, segments += padded(result_count())) {
        args.a_offsets = offsets_.data() + step;
        args.b_stride = args.steps = std::min(kSegment, chunk.depth - step);
        for (std::int64_t group = 0; group < groups_; ++group)
            for (std::int64_t j = 0; j < tiles_.pieces(); ++j) {
                const std::int64_t first = tiles_.piece_begin(j);
                const int width = tiles_.piece_width(j);
                args.b = packed + group * (packed_floats_ / groups_) + first * chunk.depth +
                         step * round_up(width, lanes);
                for (std::int64_t tile = 0; tile < tiles_.cut().pieces; ++tile)
                    for (std::int64_t tap = 0; tap < taps_; ++tap) {
                        const std::int64_t channel = group * channels_ + tiles_.cut().begin(tile);
                        args.a = x + channel * source_.plane() + taps_at_[static_cast<std::size_t>(tap)];
                        args.c = segments + (channel * taps_ + tap) * filters_ + first;
                        tiles_.run_tile(args, width, tile);
                    }
            }
    }
}

// A tile of channels, some of its taps, all filters.
void WeightGradient::run_item(const Call& call, const Chunk& chunk, std::int64_t index,
                              float* copy) const noexcept {
    const std::int64_t part = index % tap_parts_, tile = index / tap_parts_ % tiles_.cut().pieces;
    const std::int64_t group = index / tap_parts_ / tiles_.cut().pieces;
    const std::int64_t channel = tiles_.cut().begin(tile), count = tiles_.cut().size(tile);
    const std::int64_t plane = source_.plane_of_source(), of_picture = groups_ * channels_;
    const float* x = call.x + (chunk.first * of_picture + group * channels_ + channel) * plane;
    if (copies_once_ && source_.is_copied()) {
        x = copy + (group * channels_ + channel) * source_.plane();
    } else if (source_.is_copied()) {
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
