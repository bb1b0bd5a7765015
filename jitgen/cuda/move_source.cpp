// The text of kernels that move words.
#include "jitgen/cuda/move_source.h"

#include <cstddef>
#include <cstdio>

namespace volta::jit {
namespace {

constexpr char kArguments[] = R"(
// ---- Moving words ----------------------------------------------------------------------------------------

struct VoltaCopyArgs {
    const unsigned* from;
    unsigned* to;
    long long extent[%d], in_stride[%d], out_stride[%d];
    int rank, dense_axis;
    unsigned width, unused;
};
struct VoltaFillArgs {
    unsigned* to;
    long long count;
    unsigned word, unused;
};
struct VoltaPositionArgs {
    int* to;
    long long rows, columns;
};
static_assert(sizeof(VoltaCopyArgs) == %zu && sizeof(VoltaFillArgs) == %zu && sizeof(VoltaPositionArgs) == %zu,
              "the host's structs of jitgen/cuda/move_source.h");
)";

constexpr char kMoves[] = R"(
__device__ __forceinline__ long long global_thread() {
    return (long long)blockIdx.x * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ long long all_threads() { return (long long)gridDim.x * blockDim.x; }

// Where a line begins on both sides: an index over all axes but the last, and but `skipped`.
struct LineStart {
    long long in, out;
};
__device__ __forceinline__ LineStart line_start(const VoltaCopyArgs& args, long long line, int skipped) {
    LineStart start = {0, 0};
    for (int axis = args.rank - 2; axis >= 0; --axis) {
        if (axis == skipped) continue;
        const long long index = line % args.extent[axis];
        line /= args.extent[axis];
        start.in += index * args.in_stride[axis];
        start.out += index * args.out_stride[axis];
    }
    return start;
}

// `width` neighbouring threads take a line along the last axis, or 1024 words of a longer one.
extern "C" __global__ void __launch_bounds__(256) move_copy(const VoltaCopyArgs args) {
    const int last = args.rank - 1;
    const long long columns = args.extent[last], in = args.in_stride[last], out = args.out_stride[last];
    const long long pieces = (columns + 1023) / 1024;
    long long units = pieces;
    for (int axis = 0; axis < last; ++axis) units *= args.extent[axis];
    const long long step = all_threads() / args.width;
    for (long long unit = global_thread() / args.width; unit < units; unit += step) {
        const LineStart start = line_start(args, unit / pieces, -1);
        const long long first = unit % pieces * 1024, end = least(columns, first + 1024);
        for (long long j = first + threadIdx.x % args.width; j < end; j += args.width)
            args.to[start.out + j * out] = args.from[start.in + j * in];
    }
}

// Tiles of 32 x 32 words that are read along the input's dense axis and written along the output's, the last:
// both sides meet whole sectors of memory.
extern "C" __global__ void __launch_bounds__(256) move_tiles(const VoltaCopyArgs args) {
    __shared__ unsigned tile[32][33];
    const int last = args.rank - 1, dense = args.dense_axis;
    const long long rows = args.extent[dense], columns = args.extent[last];
    const long long across = (columns + 31) / 32, tiles = (rows + 31) / 32 * across;
    long long units = tiles;
    for (int axis = 0; axis < last; ++axis)
        if (axis != dense) units *= args.extent[axis];
    const int x = threadIdx.x % 32, y = threadIdx.x / 32;
    for (long long unit = blockIdx.x; unit < units; unit += gridDim.x) {
        const LineStart start = line_start(args, unit / tiles, dense);
        const long long row = unit % tiles / across * 32, column = unit % tiles % across * 32;
        for (int k = y; k < 32; k += 8)
            if (row + x < rows && column + k < columns)
                tile[k][x] = args.from[start.in + (row + x) + (column + k) * args.in_stride[last]];
        __syncthreads();
        for (int k = y; k < 32; k += 8)
            if (row + k < rows && column + x < columns)
                args.to[start.out + (row + k) * args.out_stride[dense] + (column + x)] = tile[x][k];
        __syncthreads();  // before the next tile overwrites this one
    }
}

extern "C" __global__ void __launch_bounds__(256) move_fill(const VoltaFillArgs args) {
    for (long long i = global_thread(); i < args.count; i += all_threads()) args.to[i] = args.word;
}

extern "C" __global__ void __launch_bounds__(256) move_positions(const VoltaPositionArgs args) {
    const long long count = args.rows * args.columns;
    for (long long i = global_thread(); i < count; i += all_threads()) args.to[i] = (int)(i % args.columns);
}
)";

}  // namespace

void append_move_kernels(std::pmr::string& text) {
    char arguments[sizeof kArguments + 64];
    std::snprintf(arguments, sizeof arguments, kArguments, kMaxRank, kMaxRank, kMaxRank, sizeof(CudaCopyArgs),
                  sizeof(CudaFillArgs), sizeof(CudaPositionArgs));
    text += arguments;
    text += kMoves;
}

}  // namespace volta::jit
