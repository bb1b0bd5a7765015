// How copies are launched: axes joined, and one of two kernels chosen.
#include <algorithm>

#include "jitgen/cuda/move_source.h"

namespace volta::jit {
namespace {

constexpr std::int64_t kBlocksPerMultiprocessor = 16;
constexpr std::int64_t kTile = 32;  // words; the kernel's tiles are square

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// The axis along which the input is dense, where the output is dense along the last: -1 if it is none, or too
// short for tiles.
int transposed_axis(const CudaCopyArgs& args) {
    const int last = args.rank - 1;
    if (args.out_stride[last] != 1 || args.in_stride[last] == 1 || args.extent[last] < kTile / 2) return -1;
    for (int i = 0; i < last; ++i)
        if (args.in_stride[i] == 1 && args.extent[i] >= kTile / 2) return i;
    return -1;
}

}  // namespace

void CudaCopyArgs::push(std::int64_t new_extent, std::int64_t in, std::int64_t out) {
    if (new_extent == 1) return;
    const int last = rank - 1;
    if (last >= 0 && in_stride[last] == in * new_extent && out_stride[last] == out * new_extent) {
        extent[last] *= new_extent;
    } else {
        extent[rank++] = new_extent;
    }
    in_stride[rank - 1] = in;
    out_stride[rank - 1] = out;
}

std::int64_t CudaCopyArgs::count() const {
    std::int64_t product = 1;
    for (int i = 0; i < rank; ++i) product *= extent[i];
    return product;
}

unsigned blocks_for(std::int64_t count, int multiprocessors) {
    return static_cast<unsigned>(
        std::min(ceil_div(count, kMoveThreads), kBlocksPerMultiprocessor * multiprocessors));
}

CopyLaunch copy_launch(CudaCopyArgs& args, int multiprocessors) {
    if (args.rank == 0) {
        args.rank = 1;
        args.extent[0] = args.in_stride[0] = args.out_stride[0] = 1;
    }
    const std::int64_t count = args.count(), last = args.extent[args.rank - 1];
    if (count == 0) return {false, 0};
    args.dense_axis = transposed_axis(args);
    if (args.dense_axis >= 0) {
        const std::int64_t across = args.extent[args.dense_axis];
        const std::int64_t tiles = ceil_div(across, kTile) * ceil_div(last, kTile) * (count / across / last);
        return {true, static_cast<unsigned>(std::min(tiles, kBlocksPerMultiprocessor * multiprocessors))};
    }
    args.width = 1;
    while (args.width < 32 && 2 * args.width <= last) args.width *= 2;
    return {false, blocks_for(count, multiprocessors)};
}

}  // namespace volta::jit
