// The text of attention's gradient on tensor cores: dq by blocks of queries, dk and dv by blocks of keys. Row
// terms and the sum over heads that share keys are those of attention_backward.cpp.
#include "jitgen/cuda/tensor_attention_text.h"

namespace volta::jit {
namespace {

constexpr char kBackward[] = R"(
// What a query brings: exponentials are 2^(chain * scale * log2(e) - shift), times `part` a probability.
struct TensorTerms {
    float shift, part, term;
};
__device__ __forceinline__ TensorTerms tensor_terms(const VoltaAttentionArgs& args, const AttentionHead& head,
                                                    long long query) {
    const QueryTerms terms = query_terms(args, head, query);
    return {__fmul_rn(terms.max, log2_e()), __fdiv_rn(1.0f, terms.sum), terms.term};
}

// Of one element: x from score chain to probability as it met its value, dp from gradient chain to that of the score;
// both +0 where the query does not see the key. What both gradients share, the scale, is multiplied at their end.
template <bool dropout, class Scores>
__device__ __forceinline__ void tensor_gradient(const VoltaAttentionArgs& args, const TensorTerms& query,
                                                float factor, bool seen, bool kept, float& x, float& dp) {
    const Scores score = Scores::of(args, x, 0);  // what has no weight is not seen
    const float power = Scores::has_cap ? __fmaf_rn(score.value, log2_e(), negated(query.shift))
                                        : __fmaf_rn(x, factor, negated(query.shift));
    const float p = seen ? __fmul_rn(exp2_fast(power), query.part) : 0.0f;
    x = dropout ? dropped(args, kept, p) : p;
    const float of_p = dropout ? dropped(args, kept, dp) : dp;
    dp = seen ? score.scaled_gradient(__fmul_rn(p, __fsub_rn(of_p, query.term))) : 0.0f;
}

// Are so many operands left in registers beside the sums? A lane has 255.
template <class T, int dim>
constexpr bool holds_queries = dim / T::elements + dim / 2 <= 160;
template <class T, int dim>
constexpr bool holds_keys = dim / T::elements + dim <= 160;

// dq of 64 queries, over blocks of 32 keys.
template <class T, int dim, bool causal, bool dropout, class Scores>
__device__ __forceinline__ void tensor_queries(const VoltaAttentionArgs& args) {
    using Tile = TensorTile<T, dim, 32>;
    constexpr bool apart = T::elements == 2;  // columns lie beside rows
    alignas(16) __shared__ unsigned key_rows[Tile::row_words];
    alignas(16) __shared__ unsigned key_columns[apart ? Tile::column_words : 4];
    alignas(16) __shared__ unsigned value_rows[Tile::row_words];
    __shared__ unsigned kept[dropout ? 64 : 1][4];
    const long long heads = args.batch * args.heads, blocks = (args.time + 63) / 64;
    const TensorLane lane = tensor_lane();
    const float factor = __fmul_rn(args.scale, log2_e());
    TensorRows<T, dim, holds_queries<T, dim>> q, d_o;
    TensorTerms queries[2];
    float sums[dim / 8][4], x[4][4], dp[4][4];
    for (long long unit = blockIdx.x; unit < heads * blocks; unit += gridDim.x) {
        const AttentionHead head = attention_head<dim>(args, unit % heads);
        const long long first = 64 * (blocks - 1 - unit / heads);  // the longest first
        const long long end_key = causal ? least(args.time, first + 64) : args.time;
        const long long own = first + 16 * lane.warp, row = own + lane.group;
        q.begin(head.q, own, args.time);
        d_o.begin({args.d_o + head.o, args.o_stride}, own, args.time);
        queries[0] = tensor_terms(args, head, row);
        queries[1] = tensor_terms(args, head, row + 8);
        clear_sums(sums);
        for (long long key = 0; key < end_key; key += 32) {
            __syncthreads();  // all have read what was there
            load_tile<T, dim, 32, true, apart>(head.k, key, args.time, key_rows, key_columns);
            load_tile<T, dim, 32, true, false>(head.v, key, args.time, value_rows, nullptr);
            if (dropout && key % 128 == 0) draw_kept_bits<64>(args, head, kept, first, key);
            __syncthreads();
            if (causal && key > own + 15) continue;  // seen by none of the warp's queries
            multiply_rows<T, dim, 32>(q, key_rows, x);
            multiply_rows<T, dim, 32>(d_o, value_rows, dp);
#pragma unroll
            for (int n = 0; n < 4; ++n)
#pragma unroll
                for (int e = 0; e < 4; ++e) {
                    const int place = 8 * n + 2 * lane.place + e % 2;
                    const long long column = key + place;
                    const long long distance = column - (row + e / 2 * 8);
                    const bool seen = column < args.time && (!causal || distance <= 0) &&
                                      Scores::has_weight(args, distance);
                    const unsigned* const bits = kept[dropout ? 16 * lane.warp + lane.group + e / 2 * 8 : 0];
                    const bool is_kept = dropout && (bits[(int)(key % 128) / 32] >> place & 1) != 0;
                    tensor_gradient<dropout, Scores>(args, queries[e / 2], factor, seen, is_kept, x[n][e],
                                                     dp[n][e]);
                }
            add_weighted<T, dim, 32>(dp, apart ? key_columns : key_rows, sums);
        }
        store_sums<dim>(sums, args.scale, args.scale,
                        args.dq + head.sequence * args.time * args.dq_stride + head.head * dim, args.dq_stride, own,
                        args.time);
    }
}

// dk and dv of 64 keys for one query head, over blocks of 32 queries.
template <class T, int dim, bool causal, bool dropout, class Scores>
__device__ __forceinline__ void tensor_keys(const VoltaAttentionArgs& args) {
    using Tile = TensorTile<T, dim, 32>;
    constexpr bool apart = T::elements == 2;
    alignas(16) __shared__ unsigned query_rows[Tile::row_words];
    alignas(16) __shared__ unsigned query_columns[apart ? Tile::column_words : 4];
    alignas(16) __shared__ unsigned gradient_rows[Tile::row_words];
    alignas(16) __shared__ unsigned gradient_columns[apart ? Tile::column_words : 4];
    __shared__ unsigned kept[dropout ? 32 : 1][4];
    __shared__ TensorTerms queries[32];
    const long long heads = args.batch * args.heads, blocks = (args.time + 63) / 64;
    const TensorLane lane = tensor_lane();
    const float factor = __fmul_rn(args.scale, log2_e());
    TensorRows<T, dim, holds_keys<T, dim>> k, v;
    float dk[dim / 8][4], dv[dim / 8][4], x[4][4], dp[4][4];
    for (long long unit = blockIdx.x; unit < heads * blocks; unit += gridDim.x) {
        const AttentionHead head = attention_head<dim>(args, unit % heads);
        const HeadRows d_o = {args.d_o + head.o, args.o_stride};
        const KeyGradients to = key_gradients<dim>(args, head);
        const long long first = 64 * (unit / heads), own = first + 16 * lane.warp, row = own + lane.group;
        k.begin(head.k, own, args.time);
        v.begin(head.v, own, args.time);
        clear_sums(dk);
        clear_sums(dv);
        for (long long query = causal ? first : 0; query < args.time; query += 32) {
            __syncthreads();  // all have read what was there
            load_tile<T, dim, 32, true, apart>(head.q, query, args.time, query_rows, query_columns);
            load_tile<T, dim, 32, true, apart>(d_o, query, args.time, gradient_rows, gradient_columns);
            if (threadIdx.x < 32) queries[threadIdx.x] = tensor_terms(args, head, query + threadIdx.x);
            if (dropout) draw_kept_bits<32>(args, head, kept, query, first);
            __syncthreads();
            if (causal && query + 31 < own) continue;  // none of these sees one of the warp's keys
            multiply_rows<T, dim, 32>(k, query_rows, x);
            multiply_rows<T, dim, 32>(v, gradient_rows, dp);
#pragma unroll
            for (int n = 0; n < 4; ++n)
#pragma unroll
                for (int e = 0; e < 4; ++e) {
                    const int place = 8 * n + 2 * lane.place + e % 2;
                    const long long key = row + e / 2 * 8;
                    const bool seen = query + place < args.time && (!causal || query + place >= key) &&
                                      Scores::has_weight(args, key - (query + place));
                    const unsigned word = dropout ? kept[dropout ? place : 0][(int)(key % 128) / 32] : 0;
                    tensor_gradient<dropout, Scores>(args, queries[place], factor, seen,
                                                     (word >> key % 32 & 1) != 0, x[n][e], dp[n][e]);
                }
            add_weighted<T, dim, 32>(x, apart ? gradient_columns : gradient_rows, dv);
            add_weighted<T, dim, 32>(dp, apart ? query_columns : query_rows, dk);
        }
        store_sums<dim>(dk, args.scale, args.scale, to.dk, to.dk_stride, own, args.time);
        store_sums<dim>(dv, 1.0f, 1.0f, to.dv, to.dv_stride, own, args.time);
    }
}
)";

}  // namespace

const char* tensor_attention_backward_text() { return kBackward; }

}  // namespace volta::jit
