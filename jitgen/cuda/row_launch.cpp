#include "jitgen/cuda/row_launch.h"

#include <algorithm>

namespace volta::jit {
namespace {

constexpr std::int64_t kMostGridY = 65535;            // of every device
constexpr std::int64_t kWarpsPerMultiprocessor = 32;  // enough to hide the latency of memory
constexpr std::int64_t kLongRow = 1024;               // columns that are worth a block's barriers

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
unsigned clamped(std::int64_t blocks, std::int64_t most) {
    return static_cast<unsigned>(std::clamp<std::int64_t>(blocks, 1, most));
}

bool reduces(const RowPlan& plan) {
    return std::any_of(plan.code.begin(), plan.code.end(),
                       [](const Instruction& x) { return is_row_reduction(x.code); });
}

int column_sums(const RowPlan& plan) {
    return static_cast<int>(std::count_if(plan.code.begin(), plan.code.end(),
                                          [](const Instruction& x) { return x.code == Code::column_sum; }));
}

RowLaunch warps(std::int64_t rows, std::int64_t wanted_warps) {
    constexpr std::int64_t kWarps = 8;
    return {RowForm::warps, clamped(ceil_div(rows, kWarps), wanted_warps), 1, 32 * kWarps, 0, 0};
}

RowLaunch blocks(const RowPlan& plan, std::int64_t rows, std::int64_t columns, std::int64_t wanted_warps) {
    if (!reduces(plan)) {
        constexpr std::int64_t kThreads = 256, kEach = 4;  // elements of a thread
        const std::int64_t most =
            std::min(kMostGridY, ceil_div(wanted_warps, std::max<std::int64_t>(rows, 1)));
        return {RowForm::blocks,
                clamped(rows, wanted_warps),
                clamped(ceil_div(columns, kThreads * kEach), most),
                kThreads,
                0,
                0};
    }
    const unsigned threads = columns > 4 * kSumChunk ? 1024 : 256;
    const unsigned grid = clamped(rows, wanted_warps * 32 / threads);
    const auto chunk_bytes = static_cast<std::int64_t>(chunk_row_bytes(columns));
    const std::size_t scratch =
        static_cast<std::size_t>(chunk_bytes) * grid * static_cast<unsigned>(plan.row_sums);
    return {RowForm::blocks, grid, 1, threads, chunk_bytes / 4, scratch};
}

RowLaunch segments(const RowPlan& plan, std::int64_t rows, std::int64_t columns, std::int64_t wanted_warps) {
    const std::int64_t count = ceil_div(rows, kSumSegment),
                       threads = 64;  // small: few columns, many segments
    const auto parts = static_cast<std::size_t>(count * columns) * static_cast<unsigned>(column_sums(plan));
    return {RowForm::segments,
            clamped(ceil_div(columns, threads), wanted_warps),
            clamped(count, kMostGridY),
            static_cast<unsigned>(threads),
            0,
            parts * sizeof(float)};
}

}  // namespace

RowLaunch row_launch(const RowPlan& plan, RowForm form, std::int64_t rows, std::int64_t columns,
                     int multiprocessors) {
    const std::int64_t wanted = kWarpsPerMultiprocessor * multiprocessors;
    if (form == RowForm::segments) return segments(plan, rows, columns, wanted);
    return form == RowForm::warps ? warps(rows, wanted) : blocks(plan, rows, columns, wanted);
}

// A warp per row leaves a device idle where rows are few, and the longer they are the longer.
RowLaunch row_launch(const RowPlan& plan, std::int64_t rows, std::int64_t columns, int multiprocessors) {
    if (plan.column_sums) return row_launch(plan, RowForm::segments, rows, columns, multiprocessors);
    const bool few = rows < kWarpsPerMultiprocessor * multiprocessors;
    const RowForm form = few && columns >= kLongRow ? RowForm::blocks : RowForm::warps;
    return row_launch(plan, form, rows, columns, multiprocessors);
}

}  // namespace volta::jit
