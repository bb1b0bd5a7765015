#include "engine/backend/cpu/convolution/picture.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "engine/backend/cpu/gemm/kernel_cache.h"

namespace volta::cpu {
namespace {

constexpr std::int64_t kLineFloats = 16;
constexpr std::int64_t kFloatBytes = sizeof(float);
// Pixels of a work item: their results stay in L1 until they are transposed.
constexpr std::int64_t kItemPixels = 224;
// So many pictures a thread, and each has its own: no thread waits for another's copies.
constexpr std::int64_t kPicturesPerThread = 4;

std::int64_t padded(std::int64_t floats) { return round_up(floats, kLineFloats); }

// Do the rows of pixels continue each other in the source?
bool is_one_run(const AxisPhase& rows, const AxisPhase& columns, const PictureSource& source) {
    return rows.count == 1 || source.row() * rows.source_step == columns.count * columns.source_step;
}
std::int64_t length_of(const AxisPhase& rows, const AxisPhase& columns, const PictureSource& source) {
    return is_one_run(rows, columns, source) ? rows.count * columns.count : columns.count;
}

}  // namespace

PictureConvolution::Phase::Phase(const AxisPhase& rows, const AxisPhase& columns, const PictureSource& source,
                                 std::int64_t inputs, std::int64_t filters, std::int64_t taps_in_row,
                                 const CompileContext& context)
    : width(columns.count),
      runs(is_one_run(rows, columns, source) ? 1 : rows.count),
      run_stride(source.row() * rows.source_step),
      length(length_of(rows, columns, source)),
      step(columns.source_step),
      first_row(rows.first),
      first_column(columns.first),
      row_step(rows.step),
      column_step(columns.step),
      depth(inputs * static_cast<std::int64_t>(rows.taps.size() * columns.taps.size())),
      taps(static_cast<std::int64_t>(rows.taps.size() * columns.taps.size())),
      offsets(context.compiler.heap),
      kernel_taps(context.compiler.heap),
      tiles(length, filters, ConvolutionTiles::choose(context, length, filters),
            ConvolutionTiles::choose(context, length, filters).mr, context.compiler),
      at_once(std::max<std::int64_t>(1, kItemPixels / (runs == 1 ? tiles.tile().mr : length))),
      blocks(ceil_div(runs == 1 ? tiles.cut().pieces : runs, at_once)) {
    for (const AxisPhase::Tap& row : rows.taps)
        for (const AxisPhase::Tap& column : columns.taps)
            kernel_taps.push_back(row.kernel * taps_in_row + column.kernel);
    offsets.reserve(static_cast<std::size_t>(depth));
    for (std::int64_t channel = 0; channel < inputs; ++channel)
        for (const AxisPhase::Tap& row : rows.taps)
            for (const AxisPhase::Tap& column : columns.taps)
                offsets.push_back((channel * source.plane() + row.offset * source.row() + column.offset) *
                                  kFloatBytes);
}

std::int64_t PictureConvolution::Phase::pixels_at_once() const {
    return runs == 1 ? std::min(at_once * tiles.tile().mr, length) : std::min(at_once, runs) * length;
}

PictureConvolution::PictureConvolution(const ConvolutionStep& work, const jit::RowKernel* epilogue,
                                       const CompileContext& context)
    : is_transposed_(work.gives == ConvolutionStep::Gives::x),
      batch_(work.sizes.batch),
      groups_(work.sizes.groups),
      inputs_(is_transposed_ ? work.sizes.filters : work.sizes.channels),
      filters_(is_transposed_ ? work.sizes.channels : work.sizes.filters),
      plane_(is_transposed_ ? work.sizes.plane() : work.sizes.pixels()),
      columns_(is_transposed_ ? work.sizes.columns.in : work.sizes.columns.out),
      taps_(work.sizes.taps()),
      workers_(context.machine.threads),
      most_piece_(static_cast<std::int64_t>(context.machine.likely_l2_bytes() / 2 / sizeof(float))),
      by_pictures_(batch_ % workers_ == 0 || batch_ >= kPicturesPerThread * workers_),
      phases_(context.compiler.heap),
      transposes_(context.compiler.cache->transposes(context.machine.isa, *context.compiler.arena)),
      epilogue_(epilogue) {
    const define::ConvolutionSizes& s = work.sizes;
    std::pmr::memory_resource* const heap = context.compiler.heap;
    const AxisPhases rows = is_transposed_ ? transposed_phases(s.rows, heap) : forward_phases(s.rows, heap);
    const AxisPhases columns =
        is_transposed_ ? transposed_phases(s.columns, heap) : forward_phases(s.columns, heap);
    source_ = PictureSource(rows, columns, context.compiler, context.machine.isa);
    phases_.reserve(rows.phases.size() * columns.phases.size());
    for (const AxisPhase& row : rows.phases)
        for (const AxisPhase& column : columns.phases) {
            if (row.taps.empty() || column.taps.empty() || inputs_ == 0) {
                has_gaps_ = true;
                continue;
            }
            Phase& phase =
                phases_.emplace_back(row, column, source_, inputs_, filters_, s.columns.taps, context);
            phase.packed_begin = packed_floats_;
            packed_floats_ += groups_ * phase.packed_group();
            tile_floats_ = std::max(tile_floats_, padded(phase.pixels_at_once() * phase.tiles.tile().nr));
        }
    // Each of several phases finishes every other pixel alone.
    const bool has_steps = phases_.size() != 1 || has_gaps_;
    if (has_steps) epilogue_ = nullptr;
    const double pictures = static_cast<double>(batch_ * groups_) *
                            static_cast<double>(inputs_ * source_.plane_of_source() + filters_ * plane_);
    streams_ = !has_steps && epilogue_ == nullptr && transposes_.streaming != nullptr &&
               plane_ % kLineFloats == 0 &&
               pictures * kFloatBytes > static_cast<double>(context.machine.likely_llc_bytes());
    scratch_floats_ = (has_steps ? 2 : 1) * tile_floats_;
    if (epilogue_ != nullptr)
        scratch_floats_ += padded(ceil_div(
            static_cast<std::int64_t>(epilogue_->scratch_bytes(phases_[0].pixels_at_once())), kFloatBytes));
    copy_floats_ = source_.is_copied() ? padded(groups_ * inputs_ * source_.plane()) : 0;
    workspace_bytes_ = static_cast<std::size_t>(
        ((by_pictures_ ? workers_ : 1) * copy_floats_ + workers_ * scratch_floats_) * kFloatBytes);
    if (!phases_.empty())
        std::snprintf(name_, sizeof name_, "conv_%s%s", phases_[0].tiles.tile().name,
                      phases_.size() > 1 ? " phases"
                      : streams_         ? " streaming"
                                         : "");
}

// ---- Packing ---------------------------------------------------------------------------------------------

void PictureConvolution::pack(ThreadPool& pool, const float* weight, float* packed) const noexcept {
    for (const Phase& phase : phases_) {
        const std::int64_t pieces = phase.tiles.pieces();
        pool.run(workers_, [&](int worker, int count) noexcept {
            const Range mine = part_of(groups_ * pieces, 1, worker, count);
            for (std::int64_t i = mine.begin; i < mine.end; ++i)
                pack_piece(phase, i / pieces, i % pieces, weight, packed);
        });
    }
}

void PictureConvolution::pack_piece(const Phase& phase, std::int64_t group, std::int64_t piece,
                                    const float* weight, float* packed) const noexcept {
    const std::int64_t first = phase.tiles.piece_begin(piece);
    const int columns = phase.tiles.piece_width(piece);
    float* to = packed + phase.packed_begin + group * phase.packed_group() + first * phase.depth;
    if (!is_transposed_)
        return pack_b(weight + (group * filters_ + first) * phase.depth, phase.depth, true, columns,
                      phase.depth, transposes_, phase.tiles.widths(), to);
    const std::int64_t lanes = jit::gemm_lanes(phase.tiles.tile().isa), stride = round_up(columns, lanes);
    for (std::int64_t o = 0; o < inputs_; ++o, to += phase.taps * stride) {
        const float* const from = weight + ((group * inputs_ + o) * filters_ + first) * taps_;
        if (phase.taps == taps_) {
            transpose(from, taps_, columns, taps_, transposes_.of_16, to, stride);
        } else {
            for (std::int64_t i = 0; i < columns; ++i)
                for (std::int64_t t = 0; t < phase.taps; ++t)
                    to[t * stride + i] = from[i * taps_ + phase.kernel_taps[static_cast<std::size_t>(t)]];
        }
        for (std::int64_t t = 0; t < phase.taps && columns < stride; ++t)
            std::fill(to + t * stride + columns, to + (t + 1) * stride, 0.0f);
    }
}

// ---- Running ---------------------------------------------------------------------------------------------

std::int64_t PictureConvolution::items() const {
    std::int64_t sum = 0;
    for (const Phase& phase : phases_) sum += groups_ * phase.tiles.pieces() * phase.blocks;
    return sum;
}

// Blocks of a piece follow each other: its weights stay in L2.
PictureConvolution::Item PictureConvolution::item(std::int64_t index) const noexcept {
    const Phase* phase = phases_.data();
    for (;; ++phase) {
        const std::int64_t of_it = groups_ * phase->tiles.pieces() * phase->blocks;
        if (index < of_it) break;
        index -= of_it;
    }
    const std::int64_t block = index % phase->blocks, piece = index / phase->blocks % phase->tiles.pieces();
    return {phase, index / phase->blocks / phase->tiles.pieces(), piece, block};
}

void PictureConvolution::run(ThreadPool& pool, const Call& call) const noexcept {
    float* const copies = static_cast<float*>(call.workspace);
    float* const scratch = copies + (by_pictures_ ? workers_ : 1) * copy_floats_;
    const std::int64_t all = items(), planes = groups_ * inputs_;
    if (has_gaps_)
        pool.run(workers_, [&](int worker, int count) noexcept {
            const Range mine = part_of(batch_ * groups_ * filters_, 1, worker, count);
            std::fill(call.result + mine.begin * plane_, call.result + mine.end * plane_, 0.0f);
        });
    if (by_pictures_) {
        pool.run_stealing(workers_, batch_, 1, [&](int worker, ThreadPool::WorkItems& pictures) noexcept {
            float* const copy = copies + worker * copy_floats_;
            std::fill_n(copy, copy_floats_, 0.0f);  // what lies around pictures stays
            for (Range piece; pictures.next(&piece);)
                for (std::int64_t n = piece.begin; n < piece.end; ++n) {
                    const float* from = planes_of(call, n);
                    if (source_.is_copied()) source_.copy(std::exchange(from, copy), planes, copy);
                    for (std::int64_t i = 0; i < all; ++i)
                        run_item(call, item(i), n, from, scratch + worker * scratch_floats_);
                }
        });
        return;
    }
    for (std::int64_t n = 0; n < batch_; ++n) {
        const float* from = planes_of(call, n);
        if (source_.is_copied()) {
            pool.run(workers_, [&](int worker, int count) noexcept {
                const Range mine = part_of(planes, 1, worker, count);
                if (n == 0)
                    std::fill(copies + mine.begin * source_.plane(), copies + mine.end * source_.plane(),
                              0.0f);
                source_.copy(planes_of(call, n) + mine.begin * source_.plane_of_source(),
                             mine.end - mine.begin, copies + mine.begin * source_.plane());
            });
            from = copies;
        }
        pool.run_stealing(workers_, all, 1, [&](int worker, ThreadPool::WorkItems& mine) noexcept {
            for (Range piece; mine.next(&piece);)
                for (std::int64_t i = piece.begin; i < piece.end; ++i)
                    run_item(call, item(i), n, from, scratch + worker * scratch_floats_);
        });
    }
}

void PictureConvolution::run_item(const Call& call, const Item& item, std::int64_t picture,
                                  const float* planes, float* scratch) const noexcept {
    const Phase& phase = *item.phase;
    const ConvolutionTiles& tiles = phase.tiles;
    const std::int64_t first = tiles.piece_begin(item.piece), stride = tiles.tile().nr;
    const int width = tiles.piece_width(item.piece);
    jit::GemmArgs args = {};
    args.a = planes + item.group * inputs_ * source_.plane();
    args.a_stride = phase.step;
    args.a_offsets = phase.offsets.data();
    args.b = call.packed + phase.packed_begin + item.group * phase.packed_group() + first * phase.depth;
    args.c = scratch;
    args.c_stride = stride;
    // Of a piece that L2 holds all tiles take all steps; of a larger one, a segment after the other.
    const std::int64_t vectors = round_up(width, jit::gemm_lanes(tiles.tile().isa));
    const std::int64_t at_once = phase.depth * vectors > most_piece_ ? kSegment : phase.depth;
    const std::int64_t begin = item.block * phase.at_once;
    const std::int64_t end =
        std::min(begin + phase.at_once, phase.runs == 1 ? tiles.cut().pieces : phase.runs);
    const std::int64_t pixel = phase.runs == 1 ? tiles.cut().begin(begin) : begin * phase.length;
    const std::int64_t pixels = (phase.runs == 1 ? tiles.cut().begin(end) : end * phase.length) - pixel;
    for (std::int64_t step = 0; step < phase.depth; step += at_once) {
        args.steps = std::min(at_once, phase.depth - step);
        args.first_step = step;
        args.add = step > 0;
        if (phase.runs == 1) {
            tiles.run(args, width, begin, end);
        } else {
            jit::GemmArgs run = args;
            run.a += begin * phase.run_stride;
            for (std::int64_t r = begin; r < end; ++r) {
                tiles.run(run, width, 0, tiles.cut().pieces);
                run.a += phase.run_stride;
                run.c += phase.length * stride;
            }
        }
        args.a_offsets += args.steps;
        args.b += args.steps * vectors;
    }
    write(phase, scratch, pixel, pixels, width,
          call.result + ((picture * groups_ + item.group) * filters_ + first) * plane_);
    if (epilogue_ == nullptr) return;
    const std::int64_t channel = item.group * filters_ + first;
    call.epilogue->run(*epilogue_, picture, {channel, channel + width}, {pixel, pixel + pixels},
                       scratch + tile_floats_);
}

// [pixels, width] -> `width` planes. Those of one phase are put together first: planes may meet in one set of
// L1, all of which one pixel after the other would need.
void PictureConvolution::write(const Phase& phase, float* scratch, std::int64_t pixel, std::int64_t pixels,
                               int width, float* to) const noexcept {
    const std::int64_t stride = phase.tiles.tile().nr;
    if (phase.row_step == 1 && phase.column_step == 1) {
        const bool streams = streams_ && pixel % kLineFloats == 0 && pixels % kLineFloats == 0 &&
                             reinterpret_cast<std::uintptr_t>(to) % (kLineFloats * sizeof(float)) == 0;
        transpose(scratch, stride, pixels, width, streams ? transposes_.streaming : transposes_.of_16,
                  to + pixel, plane_);
        if (streams) transposes_.fence();  // ordinary stores tell other threads that the work is done
        return;
    }
    const float* from = scratch + tile_floats_;
    transpose(scratch, stride, pixels, width, transposes_.of_16, scratch + tile_floats_, pixels);
    for (std::int64_t o = 0; o < width; ++o, to += plane_)
        for (std::int64_t p = pixel; p < pixel + pixels;) {
            const std::int64_t row = phase.first_row + p / phase.width * phase.row_step;
            const std::int64_t column = p % phase.width;
            const std::int64_t count = std::min(phase.width - column, pixel + pixels - p);
            float* const at = to + row * columns_ + phase.first_column + column * phase.column_step;
            for (std::int64_t i = 0; i < count; ++i) at[i * phase.column_step] = from[i];
            from += count;
            p += count;
        }
}

}  // namespace volta::cpu
