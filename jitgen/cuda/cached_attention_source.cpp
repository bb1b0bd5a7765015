// The text of attention over a cache, and how it is launched.
#include "jitgen/cuda/cached_attention_source.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "engine/base/error.h"
#include "engine/numerics/define_cached_attention.h"
#include "jitgen/cuda/attention_source.h"
#include "jitgen/cuda/source_text.h"

namespace volta::jit {
namespace {

static_assert(define::kCachePanel == 16, "written out in the text of kernels");

constexpr std::int64_t kMostGridX = 0x7fffffff, kMostGridY = 65535;  // of every device
constexpr std::int64_t kBlocks = 16;  // per multiprocessor, where threads share elements

constexpr char kArguments[] = R"(
// ---- Attention over a cache ------------------------------------------------------------------------------

struct VoltaCachedAttentionArgs {
    const int *slots, *positions;
    const float *q, *k, *v;
    float *keys, *values, *o, *scratch;
    long long q_stride, k_stride, v_stride, o_stride;
    long long rows, heads, kv_heads, capacity, window;
    float scale, cap;
};
static_assert(sizeof(VoltaCachedAttentionArgs) == %zu, "the host's struct CudaCachedAttentionArgs");
)";

constexpr char kKernels[] = R"(
// New keys into panels of 16 positions, [capacity / 16][dim][16] of a head, and new values into panels of 16
// elements, [ceil(dim / 16)][capacity][16]: one thread per element.
template <int dim>
__device__ __forceinline__ void cached_store(const VoltaCachedAttentionArgs& args) {
    constexpr long long panels = (dim + 15) / 16;
    const long long count = args.rows * args.kv_heads * dim;
    long long e = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    for (; e < count; e += (long long)gridDim.x * blockDim.x) {
        const long long c = e % dim, head = e / dim % args.kv_heads, row = e / dim / args.kv_heads;
        const long long slot = args.slots[row], position = args.positions[row];
        if (slot < 0) continue;
        const long long of_head = slot * args.kv_heads + head;
        args.keys[of_head * args.capacity * dim + (position / 16 * dim + c) * 16 + position % 16] =
            args.k[row * args.k_stride + head * dim + c];
        args.values[((of_head * panels + c / 16) * args.capacity + position) * 16 + c % 16] =
            args.v[row * args.v_stride + head * dim + c];
    }
}

// One thread per key: neighbours read the positions of one panel.
template <int dim, class Scores>
__device__ __forceinline__ void cached_scores(const VoltaCachedAttentionArgs& args) {
    __shared__ float query[dim];
    const long long group = args.heads / args.kv_heads;
    for (long long unit = blockIdx.y; unit < args.rows * args.heads; unit += gridDim.y) {
        const long long row = unit / args.heads, head = unit % args.heads, slot = args.slots[row];
        if (slot < 0) continue;
        const long long count = args.positions[row] + 1LL, step = (long long)gridDim.x * blockDim.x;
        long long j = (long long)blockIdx.x * blockDim.x;
        if (j >= count) continue;
        __syncthreads();  // before the next query takes the place of one that is still read
        for (int c = threadIdx.x; c < dim; c += blockDim.x)
            query[c] = args.q[row * args.q_stride + head * dim + c];
        __syncthreads();
        const float* const keys =
            args.keys + (slot * args.kv_heads + head / group) * args.capacity * dim;
        for (j += threadIdx.x; j < count; j += step) {
            const float* const key = keys + j / 16 * dim * 16 + j % 16;
            float sum = 0.0f;
#pragma unroll 32
            for (int c = 0; c < dim; ++c) sum = __fmaf_rn(query[c], key[c * 16], sum);
            args.scratch[unit * args.capacity + j] = Scores::of(args, sum, j + 1 - count).value;
        }
    }
}

// What the threads of a block share.
struct CachedTiles {
    float weights[4096];    // of a chunk of keys
    float stage[256][16];   // values on their way
    float parts[8][16];     // finished segments of a chunk
    float slots[32], total;
};

// The maximum and the sum of a row of scores, by all threads of a block.
struct RowStatistics {
    float max, sum;
};
__device__ inline RowStatistics row_statistics(CachedTiles& tiles, const float* scores, long long count) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float max = __uint_as_float(0xff800000u);
    for (long long j = threadIdx.x; j < count; j += 256) max = larger(max, scores[j]);
    max = max_of_warp(max);
    if (lane == 0) tiles.slots[warp] = max;
    __syncthreads();
    max = max_of_warps(tiles.slots, 8, lane);
    ChunkSum sum = {};
    for (long long chunk = 0; chunk < count; chunk += 4096) {
        const int size = (int)least(4096, count - chunk);
        for (int j = threadIdx.x; j < size; j += 256)
            tiles.weights[j] = exp_of(__fsub_rn(scores[chunk + j], max));
        __syncthreads();
        if (warp == 0) {
            float lanes = 0.0f;
#pragma unroll 8
            for (int j = lane; j < size; j += 32) lanes = __fadd_rn(lanes, tiles.weights[j]);
            add_chunk(sum, chunk / 4096, lanes, lane);
            if (chunk + 4096 >= count) {
                const float total = row_total(sum, count, lane);
                if (lane == 0) tiles.total = total;
            }
        }
        __syncthreads();
    }
    return {max, tiles.total};
}

// Up to eight segments of 512 keys at once: 16 threads each hold the chains of 16 columns, and all threads
// fetch the next values while those are multiplied. `size` keys; values(key, column of the panel).
// Weights may have been written just before: no chain begins before all threads have met.
template <class Values>
__device__ __forceinline__ void chains_of_chunk(CachedTiles& tiles, const Values& values, int size) {
    const int segments = (size + 511) / 512, column = threadIdx.x % 16;
    const int steps = segments == 1 ? 256 : segments == 2 ? 128 : segments <= 4 ? 64 : 32;  // of a round
    const int end = size < 512 ? size : 512;
    float held[16], sum = 0.0f;
    const auto load = [&](int first) {
#pragma unroll
        for (int t = 0; t < 16; ++t) {
            const int place = threadIdx.x / 16 + 16 * t, step = first + place % steps;
            const int key = place / steps * 512 + step;
            held[t] = 0.0f;
            if (step < 512 && key < size) held[t] = values(key, column);
        }
    };
    load(0);
    for (int first = 0; first < end; first += steps) {
#pragma unroll
        for (int t = 0; t < 16; ++t) tiles.stage[threadIdx.x / 16 + 16 * t][column] = held[t];
        __syncthreads();
        load(first + steps);
        const int segment = threadIdx.x / 16, key = 512 * segment + first;
        const int most = size - key < steps ? size - key : steps;
        if (segment < segments) {
#pragma unroll 8
            for (int s = 0; s < most; ++s)
                sum = __fmaf_rn(tiles.weights[key + s], tiles.stage[segment * steps + s][column], sum);
        }
        __syncthreads();
    }
    if (threadIdx.x < 16 * segments) tiles.parts[threadIdx.x / 16][column] = sum;
    __syncthreads();
}

// A block per row, head and panel of 16 columns: the softmax of the row, and its weighted values.
template <int dim>
__device__ __forceinline__ void cached_values(const VoltaCachedAttentionArgs& args) {
    alignas(16) __shared__ CachedTiles tiles;
    constexpr long long panels = (dim + 15) / 16;
    const long long group = args.heads / args.kv_heads;
    for (long long unit = blockIdx.x; unit < args.rows * args.heads * panels; unit += gridDim.x) {
        const long long panel = unit % panels, head = unit / panels % args.heads;
        const long long row = unit / panels / args.heads, slot = args.slots[row];
        const bool writes = threadIdx.x < 16 && 16 * panel + threadIdx.x < dim;
        float result = 0.0f;
        const long long count = slot < 0 ? 0 : args.positions[row] + 1LL;
        if (count > 0) {
            const float* const scores = args.scratch + unit / panels * args.capacity;
            const float* const values =
                args.values +
                ((slot * args.kv_heads + head / group) * panels + panel) * args.capacity * 16;
            const RowStatistics statistics = row_statistics(tiles, scores, count);
            for (long long chunk = 0; chunk < count; chunk += 4096) {
                const int size = (int)least(4096, count - chunk);
                for (int j = threadIdx.x; j < size; j += 256) {
                    // A thread finds its own elements where it has left them, if they are still there.
                    const float e = count <= 4096 ? tiles.weights[j]
                                                  : exp_of(__fsub_rn(scores[chunk + j], statistics.max));
                    tiles.weights[j] = __fdiv_rn(e, statistics.sum);
                }
                const float* const of_chunk = values + chunk * 16;
                chains_of_chunk(
                    tiles, [&](int key, int column) { return of_chunk[key * 16 + column]; }, size);
                if (threadIdx.x < 16)
                    for (int s = 0; 512 * s < size; ++s)
                        result = chunk + s == 0 ? tiles.parts[0][threadIdx.x]
                                                : __fadd_rn(result, tiles.parts[s][threadIdx.x]);
            }
        }
        if (writes) args.o[row * args.o_stride + head * dim + 16 * panel + threadIdx.x] = result;
    }
}

// ---- One launch, for few rows and caches of up to 4096 positions

// The new tokens of one sequence. Their keys and values are read where they come from: no block waits for
// another that stores them.
struct NewTokens {
    int positions[16];  // of every row; -1: of another sequence

    __device__ __forceinline__ int row_of(int position, int rows) const {
        int found = -1;
        for (int r = 0; r < rows; ++r)
            if (positions[r] == position) found = r;
        return found;
    }
};

// All that NAME_store, NAME_scores and NAME_values do, by a block per row, head and panel of 16 columns.
template <int dim, class Scores>
__device__ __forceinline__ void cached_decode(const VoltaCachedAttentionArgs& args) {
    alignas(16) __shared__ CachedTiles tiles;
    __shared__ NewTokens tokens;
    __shared__ float query[dim];
    constexpr long long panels = (dim + 15) / 16;
    const long long group = args.heads / args.kv_heads;
    const int rows = (int)args.rows;
    for (long long unit = blockIdx.x; unit < rows * args.heads * panels; unit += gridDim.x) {
        const int panel = (int)(unit % panels), row = (int)(unit / panels / args.heads);
        const long long head = unit / panels % args.heads, kv_head = head / group;
        const long long slot = args.slots[row], of_head = slot * args.kv_heads + kv_head;
        const int lane = threadIdx.x % 16, column = 16 * panel + lane;
        float* const o = args.o + row * args.o_stride + head * dim;
        if (slot < 0) {
            if (threadIdx.x < 16 && column < dim) o[column] = 0.0f;
            continue;
        }
        if (threadIdx.x < 16)
            tokens.positions[threadIdx.x] = (int)threadIdx.x < rows && args.slots[threadIdx.x] == slot
                                                ? args.positions[threadIdx.x]
                                                : -1;
        for (int c = threadIdx.x; c < dim; c += 256) query[c] = args.q[row * args.q_stride + head * dim + c];
        __syncthreads();
        const int position = tokens.positions[row], count = position + 1;
        float* const keys = args.keys + of_head * args.capacity * dim;
        float* const values = args.values + (of_head * panels + panel) * args.capacity * 16;
        const float* const new_keys = args.k + kv_head * dim;
        const float* const new_values = args.v + kv_head * dim;
        for (int j = threadIdx.x; j < count; j += 256) {
            const int source = tokens.row_of(j, rows);
            const float* const key =
                source < 0 ? keys + j / 16 * dim * 16 + j % 16 : new_keys + source * args.k_stride;
            const int step = source < 0 ? 16 : 1;
            float sum = 0.0f;
#pragma unroll 32
            for (int c = 0; c < dim; ++c) sum = __fmaf_rn(query[c], key[c * step], sum);
            tiles.weights[j] = Scores::of(args, sum, j + 1 - count).value;
        }
        // Each thread meets its own scores again, in the same places.
        const RowStatistics statistics = row_statistics(tiles, tiles.weights, count);
        for (int j = threadIdx.x; j < count; j += 256)
            tiles.weights[j] = __fdiv_rn(tiles.weights[j], statistics.sum);
        const auto value = [&](int key, int lane_of_panel) {
            const int source = tokens.row_of(key, rows), c = 16 * panel + lane_of_panel;
            if (source < 0) return values[key * 16 + lane_of_panel];
            return c < dim ? new_values[source * args.v_stride + c] : 0.0f;
        };
        chains_of_chunk(tiles, value, count);
        if (threadIdx.x < 16 && column < dim) {
            float result = tiles.parts[0][lane];
            for (int s = 1; 512 * s < count; ++s) result = __fadd_rn(result, tiles.parts[s][lane]);
            o[column] = result;
        }
        if (head % group != 0) continue;  // one block of a group stores the token
        if (threadIdx.x < 16 && column < dim)
            values[position * 16 + lane] = new_values[row * args.v_stride + column];
        for (int c = threadIdx.x; panel == 0 && c < dim; c += 256)
            keys[(position / 16 * dim + c) * 16 + position % 16] = new_keys[row * args.k_stride + c];
    }
}
)";

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
unsigned clamped(std::int64_t blocks, std::int64_t most) {
    return static_cast<unsigned>(std::min(blocks, most));
}

}  // namespace

void append_cached_attention_prelude(std::pmr::string& text) {
    char arguments[sizeof kArguments + 64];
    std::snprintf(arguments, sizeof arguments, kArguments, sizeof(CudaCachedAttentionArgs));
    text += arguments;
    text += kKernels;
}

void append_cached_attention_kernels(const CudaCachedAttentionForm& form, const char* name,
                                     std::pmr::string& text) {
    const int head_dim = form.head_dim;
    if (head_dim < 1) fail(VOLTA_INTERNAL, "attention kernel %s: heads of %d elements", name, head_dim);
    const std::pmr::string scores =
        attention_scores_type(form.window, form.cap, text.get_allocator().resource());
    SourceText lines(text.get_allocator().resource());
    lines.line("%s", "");
    lines.line("// %s: attention over a cache with heads of %d.", name, head_dim);
    for (const char* entry : {"store", "scores", "values", "decode"}) {
        const unsigned threads = entry[1] == 'c' ? kCachedScoreThreads : kCachedThreads;
        lines.line(
            "extern \"C\" __global__ void __launch_bounds__(%u) %s_%s(const VoltaCachedAttentionArgs args) {",
            threads, name, entry);
        const bool scores_keys = std::strcmp(entry, "scores") == 0 || std::strcmp(entry, "decode") == 0;
        if (scores_keys)
            lines.line("    cached_%s<%d, %s>(args);", entry, head_dim, scores.c_str());
        else
            lines.line("    cached_%s<%d>(args);", entry, head_dim);
        lines.line("}");
    }
    text += lines.take();
}

CachedAttentionLaunch cached_attention_launch(int head_dim, const CudaCachedAttentionArgs& args,
                                              int multiprocessors) {
    const std::int64_t rows = args.rows * args.heads;
    if (rows == 0 || args.capacity == 0) return {};
    CachedAttentionLaunch launch;
    launch.store_x =
        clamped(ceil_div(args.rows * args.kv_heads * head_dim, kCachedThreads), kBlocks * multiprocessors);
    launch.scores_x = clamped(ceil_div(args.capacity, kCachedScoreThreads), kMostGridX);
    launch.scores_y = clamped(rows, kMostGridY);
    launch.values_x = clamped(rows * ceil_div(head_dim, define::kCachePanel), kMostGridX);
    launch.scratch_bytes = static_cast<std::size_t>(rows * args.capacity) * sizeof(float);
    return launch;
}

unsigned cached_decode_blocks(int head_dim, const CudaCachedAttentionArgs& args) {
    if (args.rows > kMostDecodeRows || args.capacity > kMostDecodeCapacity) return 0;
    return clamped(args.rows * args.heads * ceil_div(head_dim, define::kCachePanel), kMostGridX);
}

}  // namespace volta::jit
