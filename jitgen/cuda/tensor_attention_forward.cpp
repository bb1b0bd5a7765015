// The text of attention on tensor cores: one pass over the keys of 64 queries, rescaled as larger scores
// come.
#include "jitgen/cuda/tensor_attention_text.h"

namespace volta::jit {
namespace {

constexpr char kForward[] = R"(
// log2(e)
__device__ __forceinline__ float log2_e() { return 0x1.715476p+0f; }

// What a lane's two rows (g and g + 8) have met so far. All four lanes of a row hold the same maximum; each has the sum
// of its own columns.
struct SoftmaxRows {
    float max[2], sum[2];

    __device__ __forceinline__ void clear() {
        max[0] = max[1] = __uint_as_float(0xff800000u);
        sum[0] = sum[1] = 0.0f;
    }
    // Scores, -inf where nothing is seen, become exponentials below the new maxima. Returns what the old sums and
    // values are multiplied with.
    // `may_miss`: the first keys of a row may all be without weight.
    template <bool may_miss, int tiles>
    __device__ __forceinline__ void meet(float (&scores)[tiles][4], float (&factors)[2]) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float larger = max[half];
#pragma unroll
            for (int n = 0; n < tiles; ++n)
                larger = fmaxf(larger, fmaxf(scores[n][2 * half], scores[n][2 * half + 1]));
            larger = fmaxf(larger, __shfl_xor_sync(0xffffffffu, larger, 1));
            larger = fmaxf(larger, __shfl_xor_sync(0xffffffffu, larger, 2));
            const bool misses = may_miss && larger == __uint_as_float(0xff800000u);  // -inf - -inf is NaN
            const float shift = misses ? 0.0f : negated(__fmul_rn(larger, log2_e()));
            factors[half] = exp2_fast(__fmaf_rn(max[half], log2_e(), shift));
            max[half] = larger;
            sum[half] = __fmul_rn(sum[half], factors[half]);
#pragma unroll
            for (int n = 0; n < tiles; ++n)
#pragma unroll
                for (int j = 2 * half; j < 2 * half + 2; ++j) {
                    scores[n][j] = exp2_fast(__fmaf_rn(scores[n][j], log2_e(), shift));
                    sum[half] = __fadd_rn(sum[half], scores[n][j]);
                }
        }
    }
    // The sums of whole rows, in all four lanes.
    __device__ __forceinline__ void close() {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            sum[half] = __fadd_rn(sum[half], __shfl_xor_sync(0xffffffffu, sum[half], 1));
            sum[half] = __fadd_rn(sum[half], __shfl_xor_sync(0xffffffffu, sum[half], 2));
        }
    }
};

// Chains of queries (rows `row` and row + 8) and the keys from `key` on become scores.
template <int keys, bool causal, class Scores>
__device__ __forceinline__ void scale_scores(const VoltaAttentionArgs& args, long long row, long long key,
                                             float (&scores)[keys / 8][4]) {
    const bool whole = key + keys <= args.time && (!causal || key + keys <= row - tensor_lane().group + 1);
#pragma unroll
    for (int n = 0; n < keys / 8; ++n)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            const long long column = key + 8 * n + 2 * tensor_lane().place + e % 2;
            scores[n][e] = Scores::of(args, scores[n][e], column - (row + e / 2 * 8)).value;
        }
    if (whole) return;
#pragma unroll
    for (int n = 0; n < keys / 8; ++n)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            const long long column = key + 8 * n + 2 * tensor_lane().place + e % 2;
            if (column >= args.time || (causal && column > row + e / 2 * 8))
                scores[n][e] = __uint_as_float(0xff800000u);
        }
}

template <class T, int dim, bool causal, bool dropout, class Scores>
__device__ __forceinline__ void tensor_forward(const VoltaAttentionArgs& args) {
    constexpr int keys = T::forward_keys;
    using Tile = TensorTile<T, dim, keys>;
    alignas(16) __shared__ unsigned key_rows[Tile::row_words];
    alignas(16) __shared__ unsigned values[Tile::column_words];
    __shared__ unsigned kept[dropout ? 64 : 1][4];
    const long long heads = args.batch * args.heads, blocks = (args.time + 63) / 64;
    const TensorLane lane = tensor_lane();
    TensorRows<T, dim, true> q;
    SoftmaxRows rows;
    float sums[dim / 8][4];
    for (long long unit = blockIdx.x; unit < heads * blocks; unit += gridDim.x) {
        const AttentionHead head = attention_head<dim>(args, unit % heads);
        const long long first = 64 * (blocks - 1 - unit / heads);  // the longest first
        const long long end_key = causal ? least(args.time, first + 64) : args.time;
        const long long row = first + 16 * lane.warp + lane.group;
        q.begin(head.q, first + 16 * lane.warp, args.time);
        rows.clear();
        clear_sums(sums);
        for (long long key = 0; key < end_key; key += keys) {
            __syncthreads();  // all have read what was there
            load_tile<T, dim, keys, true, false>(head.k, key, args.time, key_rows, nullptr);
            load_tile<T, dim, keys, T::elements == 1, T::elements == 2>(head.v, key, args.time, values, values);
            if (dropout && key % 128 == 0) draw_kept_bits<64>(args, head, kept, first, key);
            __syncthreads();
            if (causal && key > first + 16 * lane.warp + 15) continue;  // seen by none of the warp's queries
            float scores[keys / 8][4], factors[2];
            multiply_rows<T, dim, keys>(q, key_rows, scores);
            scale_scores<keys, causal, Scores>(args, row, key, scores);
            rows.template meet<Scores::has_window>(scores, factors);
            if constexpr (dropout) {
#pragma unroll
                for (int n = 0; n < keys / 8; ++n)
#pragma unroll
                    for (int e = 0; e < 4; ++e) {
                        const unsigned* const bits = kept[16 * lane.warp + lane.group + e / 2 * 8];
                        const unsigned word = bits[(int)(key % 128) / 32 + n / 4];
                        if ((word >> (8 * (n % 4) + 2 * lane.place + e % 2) & 1) == 0) scores[n][e] = 0.0f;
                    }
            }
#pragma unroll
            for (int n = 0; n < dim / 8; ++n)
#pragma unroll
                for (int e = 0; e < 4; ++e) sums[n][e] = __fmul_rn(sums[n][e], factors[e / 2]);
            add_weighted<T, dim, keys>(scores, values, sums);
        }
        rows.close();
        const float part = dropout ? args.kept_scale : 1.0f;
        store_sums<dim>(sums, __fdiv_rn(part, rows.sum[0]), __fdiv_rn(part, rows.sum[1]), args.o + head.o,
                        args.o_stride, first + 16 * lane.warp, args.time);
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            if (lane.place != 0 || row + 8 * half >= args.time) continue;
            args.row_max[head.statistics + row + 8 * half] = rows.max[half];
            args.row_sum[head.statistics + row + 8 * half] = rows.sum[half];
        }
    }
}
)";

}  // namespace

const char* tensor_attention_forward_text() { return kForward; }

}  // namespace volta::jit
