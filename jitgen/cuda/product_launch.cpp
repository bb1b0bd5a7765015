#include "jitgen/cuda/product_launch.h"

#include <algorithm>

namespace volta::jit {
namespace {

constexpr std::int64_t kMostGridX = 0x7fffffff, kMostGridY = 65535;  // of every device
constexpr std::int64_t kCloseBlocks = 16;                            // per multiprocessor, 256 threads each

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::int64_t tiles_of(int tile, std::int64_t m, std::int64_t n) {
    return ceil_div(m, tile) * ceil_div(n, tile);
}

}  // namespace

int product_tile(std::int64_t m, std::int64_t n, int multiprocessors) {
    return tiles_of(128, m, n) >= multiprocessors ? 128 : 64;
}

// Segments are shared where tiles alone leave multiprocessors idle.
ProductLaunch product_launch(int tile, std::int64_t m, std::int64_t n, std::int64_t k, int multiprocessors) {
    const std::int64_t tiles = tiles_of(tile, m, n), segments = ceil_div(k, kSumSegment);
    if (tiles == 0) return {false, 0, 0, 0, 0};
    const auto grid_x = static_cast<unsigned>(std::min(tiles, kMostGridX));
    if (segments > 0 && (segments == 1 || tiles >= multiprocessors)) return {false, grid_x, 1, 0, 0};
    const auto close =
        static_cast<unsigned>(std::min(ceil_div(m * n, kProductThreads), kCloseBlocks * multiprocessors));
    if (segments == 0) return {true, 0, 0, close, 0};
    const auto grid_y = static_cast<unsigned>(std::min(segments, kMostGridY));
    return {true, grid_x, grid_y, close, static_cast<std::size_t>(segments * m * n) * sizeof(float)};
}

}  // namespace volta::jit
