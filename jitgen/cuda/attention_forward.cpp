// The text of attention: maximum, sum and weighted values of 64 queries in three passes over their keys.
#include "jitgen/cuda/attention_text.h"

namespace volta::jit {
namespace {

constexpr char kForward[] = R"(
// The 16 threads of a row hold lane 4 (x % 8) + k of its sum in lanes[k], each lane twice. They fold 16, 8, 4,
// 2, 1; partners add the same two numbers, so all end with the sum.
__device__ __forceinline__ float folded_row(const float (&lanes)[4]) {
    float four[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        four[k] = lanes[k];
#pragma unroll
        for (int half = 4; half > 0; half /= 2)
            four[k] = __fadd_rn(four[k], __shfl_xor_sync(0xffffffffu, four[k], half));
    }
    return __fadd_rn(__fadd_rn(four[0], four[2]), __fadd_rn(four[1], four[3]));
}

// Row sums of four rows over up to 4096 chunks of 4096 keys.
struct FourSums {
    float lanes[4][4], chunks[4][4];

    __device__ __forceinline__ FourSums() {
#pragma unroll
        for (int i = 0; i < 4; ++i)
#pragma unroll
            for (int k = 0; k < 4; ++k) lanes[i][k] = chunks[i][k] = 0.0f;
    }
    // Of row i, key tile_place(x, k) of a tile of 64, which begins at a multiple of 64: lanes take the first
    // 32 keys and then the others.
    __device__ __forceinline__ void add(int i, int k, float e) {
        const float other = __shfl_xor_sync(0xffffffffu, e, 8);
        const bool first = threadIdx.x % 16 < 8;
        lanes[i][k] = __fadd_rn(lanes[i][k], first ? e : other);
        lanes[i][k] = __fadd_rn(lanes[i][k], first ? other : e);
    }
    // Chunk results are the elements of the next level. A single one keeps its bits there: lanes start at +0.
    __device__ __forceinline__ void close_chunk(long long chunk) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const float result = folded_row(lanes[i]);
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                if (chunk % 32 == 4 * (threadIdx.x % 8) + k) chunks[i][k] = __fadd_rn(chunks[i][k], result);
                lanes[i][k] = 0.0f;
            }
        }
    }
};

// Keys of the tile at `key` that row i of the thread sees.
template <bool causal>
__device__ __forceinline__ bool sees(const VoltaAttentionArgs& args, long long first, long long key, int i,
                                     int j) {
    const long long column = key + tile_place(threadIdx.x % 16, j);
    return column < args.time && (!causal || column <= first + tile_place(threadIdx.x / 16, i));
}

// Where key tile_place(x, j) of a tile from `key` on lies, seen from query tile_place(y, i) of one from `first` on.
__device__ __forceinline__ long long place_of(long long first, long long key, int i, int j) {
    return key + tile_place(threadIdx.x % 16, j) - (first + tile_place(threadIdx.x / 16, i));
}

template <int dim, bool causal, class Scores>
__device__ __forceinline__ void row_maxima(const VoltaAttentionArgs& args, const AttentionHead& head,
                                           AttentionTiles<dim>& tiles, long long first, long long end_key,
                                           int& turn, float (&maxima)[4]) {
    float scores[4][4];
#pragma unroll
    for (int i = 0; i < 4; ++i) maxima[i] = __uint_as_float(0xff800000u);
    for (long long key = 0; key < end_key; key += 64) {
        tile_of_chains<dim>(tiles, head.q, first, head.k, key, args.time, turn, scores);
#pragma unroll
        for (int i = 0; i < 4; ++i)
#pragma unroll
            for (int j = 0; j < 4; ++j)
                if (sees<causal>(args, first, key, i, j))
                    maxima[i] = larger(maxima[i],
                                       Scores::of(args, scores[i][j], place_of(first, key, i, j)).value);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int half = 8; half > 0; half /= 2)
            maxima[i] = larger(maxima[i], __shfl_xor_sync(0xffffffffu, maxima[i], half));
        maxima[i] = __fadd_rn(maxima[i], 0.0f);  // a zero is +0
    }
}

template <int dim, bool causal, class Scores>
__device__ __forceinline__ void row_sums(const VoltaAttentionArgs& args, const AttentionHead& head,
                                         AttentionTiles<dim>& tiles, long long first, long long end_key,
                                         int& turn, const float (&maxima)[4], float (&totals)[4]) {
    float scores[4][4];
    FourSums sums;
    for (long long key = 0; key < end_key; key += 64) {
        tile_of_chains<dim>(tiles, head.q, first, head.k, key, args.time, turn, scores);
#pragma unroll
        for (int i = 0; i < 4; ++i)
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                const float score = Scores::of(args, scores[i][j], place_of(first, key, i, j)).value;
                const float e = exp_of(__fsub_rn(score, maxima[i]));
                sums.add(i, j, sees<causal>(args, first, key, i, j) ? e : 0.0f);
            }
        if (key + 64 >= end_key || (key + 64) % 4096 == 0) sums.close_chunk(key / 4096);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) totals[i] = folded_row(sums.chunks[i]);
}

template <int dim, bool causal, bool dropout, class Scores>
__device__ __forceinline__ void attention_forward(const VoltaAttentionArgs& args) {
    alignas(16) __shared__ AttentionTiles<dim> tiles;
    const long long heads = args.batch * args.heads, blocks = (args.time + 63) / 64;
    float scores[4][4], maxima[4], totals[4], sums[AttentionTiles<dim>::across][4][4];
    int turn = 0, row_turn = 0;  // go on from tile to tile: no buffer is written that a slower thread reads
    clear<dim>(sums);
    for (long long unit = blockIdx.x; unit < heads * blocks; unit += gridDim.x) {
        const AttentionHead head = attention_head<dim>(args, unit % heads);
        const long long first = 64 * (blocks - 1 - unit / heads);  // the longest first
        const long long end_key = causal ? least(args.time, first + 64) : args.time;
        row_maxima<dim, causal, Scores>(args, head, tiles, first, end_key, turn, maxima);
        row_sums<dim, causal, Scores>(args, head, tiles, first, end_key, turn, maxima, totals);
        for (long long key = 0; key < end_key; key += 64) {
            if (dropout && key % 128 == 0) draw_kept<dim>(args, head, tiles, first, key);
            tile_of_chains<dim>(tiles, head.q, first, head.k, key, args.time, turn, scores);
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const unsigned kept = dropout ? kept_bits<dim>(tiles, tile_place(threadIdx.x / 16, i),
                                                               (int)(key % 128) + 4 * (threadIdx.x % 16))
                                              : 0;
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    const float score = Scores::of(args, scores[i][j], place_of(first, key, i, j)).value;
                    const float e = exp_of(__fsub_rn(score, maxima[i]));
                    const float p = __fdiv_rn(e, totals[i]);
                    scores[i][j] = dropout ? dropped(args, (kept >> j & 1) != 0, p) : p;
                }
            }
            leave_weights<dim>(tiles, scores);
            const long long end = least(end_key, key + 64);
            if (causal && key == first)
                add_weighted_rows<dim, Steps::up_to_row>(tiles, head.v, key, end, row_turn, sums);
            else
                add_weighted_rows<dim, Steps::all>(tiles, head.v, key, end, row_turn, sums);
            if (end == end_key || end % 512 == 0)
                close_rows<dim>(args.o + head.o, args.o_stride, first, args.time, key >= 512, sums);
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const long long row = first + tile_place(threadIdx.x / 16, i);
            if (threadIdx.x % 16 != 0 || row >= args.time) continue;
            args.row_max[head.statistics + row] = maxima[i];
            args.row_sum[head.statistics + row] = totals[i];
        }
    }
}
)";

}  // namespace

const char* attention_forward_text() { return kForward; }

}  // namespace volta::jit
