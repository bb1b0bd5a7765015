#include "jitgen/cuda/product_launch.h"

#include <algorithm>

namespace volta::jit {
namespace {

constexpr std::int64_t kMostGridX = 0x7fffffff, kMostGridY = 65535;  // of every device, y and z
constexpr std::int64_t kCloseBlocks = 16;                            // per multiprocessor, 256 threads each

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::int64_t tiles_of(int tile, std::int64_t m, std::int64_t n) {
    return ceil_div(m, tile) * ceil_div(n, tile);
}

}  // namespace

int product_tile(std::int64_t m, std::int64_t n, int multiprocessors, std::int64_t batch) {
    return tiles_of(128, m, n) * batch >= multiprocessors ? 128 : 64;
}

ProductLaunch product_launch(int tile, std::int64_t m, std::int64_t n, std::int64_t k, int multiprocessors,
                             std::int64_t batch, SegmentsOf segments_of) {
    const std::int64_t tiles = tiles_of(tile, m, n), segments = ceil_div(k, kSumSegment);
    if (tiles == 0 || batch == 0) return {false, 0, 0, 0, 0, 0};
    const auto grid_x = static_cast<unsigned>(std::min(tiles, kMostGridX));
    const auto grid_z = static_cast<unsigned>(std::min(batch, kMostGridY));
    // In doubles, which no shape makes overflow.
    const double scratch = 4.0 * static_cast<double>(batch) * static_cast<double>(segments) *
                           static_cast<double>(m) * static_cast<double>(n);
    bool shares = tiles * batch < multiprocessors;
    if (segments_of == SegmentsOf::block) shares = false;
    if (segments_of == SegmentsOf::blocks && scratch <= static_cast<double>(kMostChosenScratch))
        shares = true;
    if (segments > 0 && (segments == 1 || !shares)) return {false, grid_x, 1, 0, 0, grid_z};
    const auto close = static_cast<unsigned>(
        std::min(ceil_div(batch * m * n, kProductThreads), kCloseBlocks * multiprocessors));
    if (segments == 0) return {true, 0, 0, close, 0, 0};
    const auto grid_y = static_cast<unsigned>(std::min(segments, kMostGridY));
    const auto floats = static_cast<std::size_t>(batch * segments * m * n);
    return {true, grid_x, grid_y, close, floats * sizeof(float), grid_z};
}

}  // namespace volta::jit
