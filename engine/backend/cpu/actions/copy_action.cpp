#include "engine/backend/cpu/actions/copy_action.h"

#include <algorithm>
#include <cstring>

namespace volta::cpu {
namespace {

using Word = std::uint32_t;

constexpr std::int64_t kTile = 16;         // a tile of 16 x 16 words touches 16 cache lines on either side
constexpr double kOperationsPerWord = 16;  // see workers_for: memory is what it waits for
constexpr std::int64_t kLineGrain = 4096;  // words: where a long line may be cut for several workers

// Where an odometer stands in the loops, and what that is in elements.
struct Position {
    std::int64_t index[kMaxRank] = {};
    std::int64_t in = 0, out = 0;
};

// The position of line `line` over the first `axes` axes.
Position position_of(const CopyLoops& loops, int axes, std::int64_t line) {
    Position position;
    for (int i = axes; i-- > 0; line /= loops.extent[i]) {
        position.index[i] = line % loops.extent[i];
        position.in += position.index[i] * loops.in_stride[i];
        position.out += position.index[i] * loops.out_stride[i];
    }
    return position;
}

void advance(const CopyLoops& loops, int axes, Position& position) {
    for (int i = axes; i-- > 0;) {
        position.in += loops.in_stride[i];
        position.out += loops.out_stride[i];
        if (++position.index[i] < loops.extent[i]) return;
        position.index[i] = 0;
        position.in -= loops.extent[i] * loops.in_stride[i];
        position.out -= loops.extent[i] * loops.out_stride[i];
    }
}

void copy_line(const Word* in, std::int64_t in_stride, Word* out, std::int64_t out_stride,
               std::int64_t count) {
    if (in_stride == 1 && out_stride == 1) {
        std::memcpy(out, in, static_cast<std::size_t>(count) * sizeof(Word));
    } else if (in_stride == 0 && out_stride == 1) {
        std::fill_n(out, count, *in);
    } else {
        for (std::int64_t i = 0; i < count; ++i) out[i * out_stride] = in[i * in_stride];
    }
}

}  // namespace

CopyAction::CopyAction(const CpuStep& step, const CopyLoops& loops, Ref from, Ref to)
    : loops_(collapse(loops)), from_(from), to_(to) {
    workers_ = step.workers_for(static_cast<double>(loops_.count()) * kOperationsPerWord);
    const int last = loops_.rank - 1;
    if (loops_.in_stride[last] > 1)
        for (int i = 0; i < last; ++i)
            if (loops_.in_stride[i] == 1) transposed_ = i;
    if (transposed_ >= 0) {  // to the second last place, so that a tile is the two last axes
        for (int i = transposed_; i + 1 < last; ++i) {
            std::swap(loops_.extent[i], loops_.extent[i + 1]);
            std::swap(loops_.in_stride[i], loops_.in_stride[i + 1]);
            std::swap(loops_.out_stride[i], loops_.out_stride[i + 1]);
        }
        transposed_ = last - 1;
    }
}

void CopyAction::run(const StepCall& call) const noexcept {
    if (loops_.count() == 0) return;
    const auto* in = static_cast<const Word*>(call.at(from_));
    auto* out = static_cast<Word*>(call.at(to_));
    call.pool.run(workers_, [&](int worker, int count) noexcept {
        if (loops_.rank == 1) return copy_part(in, out, part_of(loops_.extent[0], kLineGrain, worker, count));
        const std::int64_t lines = loops_.count() / loops_.extent[loops_.rank - 1];
        if (transposed_ < 0) return copy_lines(in, out, part_of(lines, 1, worker, count));
        const std::int64_t strips = (loops_.extent[transposed_] + kTile - 1) / kTile;
        copy_tiles(in, out, part_of(lines / loops_.extent[transposed_] * strips, 1, worker, count));
    });
}

// Of the only line there is.
void CopyAction::copy_part(const Word* in, Word* out, Range part) const noexcept {
    const std::int64_t in_stride = loops_.in_stride[0], out_stride = loops_.out_stride[0];
    if (part.begin < part.end)
        copy_line(in + part.begin * in_stride, in_stride, out + part.begin * out_stride, out_stride,
                  part.end - part.begin);
}

void CopyAction::copy_lines(const Word* in, Word* out, Range lines) const noexcept {
    const int last = loops_.rank - 1;
    Position position = position_of(loops_, last, lines.begin);
    for (std::int64_t line = lines.begin; line < lines.end; ++line, advance(loops_, last, position))
        copy_line(in + position.in, loops_.in_stride[last], out + position.out, loops_.out_stride[last],
                  loops_.extent[last]);
}

// A part is kTile indices of the axis along which the input is dense, and all of the last axis.
void CopyAction::copy_tiles(const Word* in, Word* out, Range tiles) const noexcept {
    const int rows = transposed_, last = rows + 1;
    const std::int64_t extent = loops_.extent[rows], strips = (extent + kTile - 1) / kTile;
    const std::int64_t in_step = loops_.in_stride[last], out_step = loops_.out_stride[last];
    const std::int64_t out_row = loops_.out_stride[rows];
    for (std::int64_t tile = tiles.begin; tile < tiles.end; ++tile) {
        const Position outer = position_of(loops_, rows, tile / strips);
        const std::int64_t row0 = tile % strips * kTile, row1 = std::min(extent, row0 + kTile);
        for (std::int64_t column0 = 0; column0 < loops_.extent[last]; column0 += kTile) {
            const std::int64_t column1 = std::min(loops_.extent[last], column0 + kTile);
            for (std::int64_t row = row0; row < row1; ++row)
                for (std::int64_t column = column0; column < column1; ++column)
                    out[outer.out + row * out_row + column * out_step] =
                        in[outer.in + row + column * in_step];
        }
    }
}

ZeroAction::ZeroAction(const CpuStep& step, Ref to, std::int64_t count) : to_(to), count_(count) {
    workers_ = step.workers_for(static_cast<double>(count) * kOperationsPerWord);
}

void ZeroAction::run(const StepCall& call) const noexcept {
    auto* out = static_cast<Word*>(call.at(to_));
    call.pool.run(workers_, [&](int worker, int count) noexcept {
        const Range mine = part_of(count_, kLineGrain, worker, count);
        if (mine.begin < mine.end)
            std::memset(out + mine.begin, 0, static_cast<std::size_t>(mine.end - mine.begin) * sizeof(Word));
    });
}

void PositionAction::run(const StepCall& call) const noexcept {
    std::int32_t* const y = call.integers(work_.y);
    const std::int32_t* const starts = work_.documents ? call.integers(work_.starts) : nullptr;
    for (std::int64_t row = 0; row < work_.rows; ++row)
        for (std::int64_t column = 0; column < work_.columns; ++column) {
            const std::int64_t i = row * work_.columns + column;
            const auto t = static_cast<std::int32_t>(column);
            y[i] = starts == nullptr ? t : t - std::min(starts[i], t);
        }
}

}  // namespace volta::cpu
