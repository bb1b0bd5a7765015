// The text of attention's gradient: dq by tiles of queries, dk and dv by tiles of keys.
#include "jitgen/cuda/attention_text.h"

namespace volta::jit {
namespace {

constexpr char kBackward[] = R"(
// D = row_sum(d_o * o) of every query, into scratch [batch, heads, time]: one warp per row.
template <int dim>
__device__ __forceinline__ void attention_terms(const VoltaAttentionArgs& args) {
    const int lane = threadIdx.x % 32;
    const long long warps = (long long)gridDim.x * (blockDim.x / 32);
    const long long rows = args.batch * args.heads * args.time;
    long long row = (long long)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    for (; row < rows; row += warps) {
        const long long index = row / args.time, token = index / args.heads * args.time + row % args.time;
        const long long at = token * args.o_stride + index % args.heads * dim;
        float lanes = 0.0f;
#pragma unroll
        for (int k = 0; k < (dim + 31) / 32; ++k) {
            const int c = 32 * k + lane;
            if (c < dim) lanes = __fadd_rn(lanes, __fmul_rn(args.d_o[at + c], args.o[at + c]));
        }
        const float sum = folded(lanes);
        if (lane == 0) args.scratch[row] = sum;
    }
}

// What a query brings to the gradient of its scores.
struct QueryTerms {
    float max, sum, term;
};
__device__ __forceinline__ QueryTerms query_terms(const VoltaAttentionArgs& args, const AttentionHead& head,
                                                  long long query) {
    const long long at = head.statistics + least(query, args.time - 1);  // beyond the last: nobody reads it
    return {args.row_max[at], args.row_sum[at], args.scratch[at]};
}

// Of one element: x from score chain to probability as it met its value, dp from gradient chain to that of the
// score chain. `place` of the key, seen from the query.
template <bool dropout, class Scores>
__device__ __forceinline__ void score_gradient(const VoltaAttentionArgs& args, const QueryTerms& query,
                                               long long place, bool kept, float& x, float& dp) {
    const Scores score = Scores::of(args, x, place);
    const float p = __fdiv_rn(exp_of(__fsub_rn(score.value, query.max)), query.sum);
    x = dropout ? dropped(args, kept, p) : p;
    const float of_p = dropout ? dropped(args, kept, dp) : dp;
    dp = __fmul_rn(score.scaled_gradient(__fmul_rn(p, __fsub_rn(of_p, query.term))), args.scale);
}

// dq of 64 queries: their chains run over the keys.
template <int dim, bool causal, bool dropout, class Scores>
__device__ __forceinline__ void attention_queries(const VoltaAttentionArgs& args) {
    alignas(16) __shared__ AttentionTiles<dim> tiles;
    const long long heads = args.batch * args.heads, blocks = (args.time + 63) / 64;
    float x[4][4], dp[4][4], sums[AttentionTiles<dim>::across][4][4];
    QueryTerms queries[4];
    int turn = 0, row_turn = 0;
    clear<dim>(sums);
    for (long long unit = blockIdx.x; unit < heads * blocks; unit += gridDim.x) {
        const AttentionHead head = attention_head<dim>(args, unit % heads);
        const HeadRows d_o = {args.d_o + head.o, args.o_stride};
        const long long first = 64 * (blocks - 1 - unit / heads);  // the longest first
        const long long end_key = causal ? least(args.time, first + 64) : args.time;
        float* const dq = args.dq + head.sequence * args.time * args.dq_stride + head.head * dim;
#pragma unroll
        for (int i = 0; i < 4; ++i)
            queries[i] = query_terms(args, head, first + tile_place(threadIdx.x / 16, i));
        for (long long key = 0; key < end_key; key += 64) {
            if (dropout && key % 128 == 0) draw_kept<dim>(args, head, tiles, first, key);
            tile_of_chains<dim>(tiles, head.q, first, head.k, key, args.time, turn, x);
            tile_of_chains<dim>(tiles, d_o, first, head.v, key, args.time, turn, dp);
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const unsigned kept = dropout ? kept_bits<dim>(tiles, tile_place(threadIdx.x / 16, i),
                                                               (int)(key % 128) + 4 * (threadIdx.x % 16))
                                              : 0;
#pragma unroll
                for (int j = 0; j < 4; ++j)
                    score_gradient<dropout, Scores>(args, queries[i], place_of(first, key, i, j),
                                                    (kept >> j & 1) != 0, x[i][j], dp[i][j]);
            }
            leave_weights<dim>(tiles, dp);
            const long long end = least(end_key, key + 64);
            if (causal && key == first)
                add_weighted_rows<dim, Steps::up_to_row>(tiles, head.k, key, end, row_turn, sums);
            else
                add_weighted_rows<dim, Steps::all>(tiles, head.k, key, end, row_turn, sums);
            if (end == end_key || end % 512 == 0)
                close_rows<dim>(dq, args.dq_stride, first, args.time, key >= 512, sums);
        }
    }
}

// Where dk and dv of one query head go: to their places, or to scratch [2, batch, time, heads, dim] behind D
// where several heads share keys.
struct KeyGradients {
    float *dk, *dv;
    long long dk_stride, dv_stride;
};
template <int dim>
__device__ __forceinline__ KeyGradients key_gradients(const VoltaAttentionArgs& args,
                                                      const AttentionHead& head) {
    const long long token = head.sequence * args.time;
    if (args.heads == args.kv_heads)
        return {args.dk + token * args.dk_stride + head.head * dim,
                args.dv + token * args.dv_stride + head.head * dim, args.dk_stride, args.dv_stride};
    const long long stride = args.heads * dim, rows = args.batch * args.time;
    float* const parts = args.scratch + rows * args.heads + token * stride + head.head * dim;
    return {parts, parts + rows * stride, stride, stride};
}

// dk and dv of 64 keys for one query head: their chains run over the queries.
template <int dim, bool causal, bool dropout, class Scores>
__device__ __forceinline__ void attention_keys(const VoltaAttentionArgs& args) {
    alignas(16) __shared__ AttentionTiles<dim> tiles;
    const long long heads = args.batch * args.heads, blocks = (args.time + 63) / 64;
    float x[4][4], dp[4][4];
    float dk[AttentionTiles<dim>::across][4][4], dv[AttentionTiles<dim>::across][4][4];
    int turn = 0, row_turn = 0;
    clear<dim>(dk);
    clear<dim>(dv);
    for (long long unit = blockIdx.x; unit < heads * blocks; unit += gridDim.x) {
        const AttentionHead head = attention_head<dim>(args, unit % heads);
        const HeadRows d_o = {args.d_o + head.o, args.o_stride};
        const KeyGradients to = key_gradients<dim>(args, head);
        const long long first = 64 * (unit / heads), first_query = causal ? first : 0;
        for (long long query = first_query; query < args.time; query += 64) {
            if (dropout) draw_kept<dim>(args, head, tiles, query, first);
            tile_of_chains<dim>(tiles, head.k, first, head.q, query, args.time, turn, x);
            tile_of_chains<dim>(tiles, head.v, first, d_o, query, args.time, turn, dp);
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                const int place = tile_place(threadIdx.x % 16, j);
                const QueryTerms terms = query_terms(args, head, query + place);
                const unsigned kept =
                    dropout ? kept_bits<dim>(tiles, place, (int)(first % 128) + 4 * (threadIdx.x / 16)) : 0;
#pragma unroll
                for (int i = 0; i < 4; ++i)
                    score_gradient<dropout, Scores>(args, terms, -place_of(first, query, i, j),
                                                    (kept >> i & 1) != 0, x[i][j], dp[i][j]);
            }
            const long long end = least(args.time, query + 64);
            const bool diagonal = causal && query == first;
            leave_weights<dim>(tiles, x);
            if (diagonal)
                add_weighted_rows<dim, Steps::from_row>(tiles, d_o, query, end, row_turn, dv);
            else
                add_weighted_rows<dim, Steps::all>(tiles, d_o, query, end, row_turn, dv);
            __syncthreads();  // before other weights take the place of these
            leave_weights<dim>(tiles, dp);
            if (diagonal)
                add_weighted_rows<dim, Steps::from_row>(tiles, head.q, query, end, row_turn, dk);
            else
                add_weighted_rows<dim, Steps::all>(tiles, head.q, query, end, row_turn, dk);
            if (end == args.time || end % 512 == 0) {
                const bool stored = query / 512 > first_query / 512;
                close_rows<dim>(to.dv, to.dv_stride, first, args.time, stored, dv);
                close_rows<dim>(to.dk, to.dk_stride, first, args.time, stored, dk);
            }
        }
    }
}

// The heads of a group, complete, added in ascending order: one thread per element.
template <int dim>
__device__ __forceinline__ void attention_groups(const VoltaAttentionArgs& args) {
    const long long group = args.heads / args.kv_heads, rows = args.batch * args.time;
    const long long count = rows * args.kv_heads * dim;
    const float* const parts = args.scratch + rows * args.heads;
    long long e = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    for (; e < 2 * count; e += (long long)gridDim.x * blockDim.x) {
        const bool is_dv = e >= count;
        const long long at = is_dv ? e - count : e, column = at % dim, head = at / dim % args.kv_heads;
        const long long row = at / dim / args.kv_heads;
        const float* const part = parts + (is_dv ? rows * args.heads * dim : 0) +
                                  (row * args.heads + head * group) * dim + column;
        float sum = part[0];
        for (long long h = 1; h < group; ++h) sum = __fadd_rn(sum, part[h * dim]);
        if (is_dv)
            args.dv[row * args.dv_stride + head * dim + column] = sum;
        else
            args.dk[row * args.dk_stride + head * dim + column] = sum;
    }
}
)";

}  // namespace

const char* attention_backward_text() { return kBackward; }

}  // namespace volta::jit
