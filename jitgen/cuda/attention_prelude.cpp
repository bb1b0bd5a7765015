// The text that forward and backward attention share: a tile of 64 x 64 chains over the head dimension, and a
// tile of weighted rows that are added up over keys or queries.
#include <cstddef>
#include <cstdio>

#include "engine/numerics/random.h"
#include "jitgen/cuda/attention_source.h"
#include "jitgen/cuda/attention_text.h"
#include "jitgen/cuda/row_source.h"

namespace volta::jit {
namespace {

constexpr char kArguments[] = R"(
// ---- Attention -------------------------------------------------------------------------------------------

struct VoltaAttentionArgs {
    const float *q, *k, *v;
    float *o, *row_max, *row_sum;
    const float* d_o;
    float *dq, *dk, *dv, *scratch;
    const unsigned* random;
    long long q_stride, k_stride, v_stride, o_stride, dq_stride, dk_stride, dv_stride;
    long long batch, time, heads, kv_heads, window;
    float scale, kept_scale;
    unsigned threshold, last_word, first_sequence;
    float cap;
};
static_assert(sizeof(VoltaAttentionArgs) == %zu, "the host's struct CudaAttentionArgs");
#ifndef __CUDACC_RTC__
static_assert(__builtin_offsetof(VoltaAttentionArgs, q_stride) == %zu &&
                  __builtin_offsetof(VoltaAttentionArgs, scale) == %zu,
              "the host's struct CudaAttentionArgs");
#endif
)";

constexpr char kTiles[] = R"(
// Which rows of a tile on the diagonal a step belongs to: steps are keys and rows queries, or the other way.
enum class Steps { all, up_to_row, from_row };

// One head's rows of a tensor.
struct HeadRows {
    const float* data;
    long long stride;
};

// One head of one sequence, and where it lies in everything.
struct AttentionHead {
    long long sequence, head, kv_head, statistics;
    unsigned random_row;  // of query 0
    HeadRows q, k, v;
    long long o;  // offset of o and d_o
};
template <int dim>
__device__ __forceinline__ AttentionHead attention_head(const VoltaAttentionArgs& args, long long index) {
    AttentionHead head;
    head.sequence = index / args.heads;
    head.head = index % args.heads;
    head.kv_head = head.head / (args.heads / args.kv_heads);
    head.statistics = index * args.time;
    head.random_row = (unsigned)((args.first_sequence * args.heads + index) * args.time);
    const long long token = head.sequence * args.time;
    head.q = {args.q + token * args.q_stride + head.head * dim, args.q_stride};
    head.k = {args.k + token * args.k_stride + head.kv_head * dim, args.k_stride};
    head.v = {args.v + token * args.v_stride + head.kv_head * dim, args.v_stride};
    head.o = token * args.o_stride + head.head * dim;
    return head;
}

// What the threads of a block share.
template <int dim>
struct AttentionTiles {
    static constexpr int across = (dim + 63) / 64;  // tiles of 64 columns of a head
    static constexpr int stages = across == 1 ? 4 : across == 2 ? 3 : 2;  // as many as fit 48 KiB
    alignas(16) float a[stages][8][68];  // eight columns of 64 rows, in turn
    alignas(16) float b[stages][8][68];
    alignas(16) float rows[stages][across][8][68];  // eight rows, in turn
    alignas(16) float weights[64][68];              // [step][row]
    unsigned kept[64][4];                           // dropout: of 64 queries and 128 keys, one bit each
};

// sums[i][j]: the chain over the head dimension of row first_a + tile_place(y, i) of a and row first_b +
// tile_place(x, j) of b. Rows from `end` on are zeros.
template <int dim>
__device__ __forceinline__ void tile_of_chains(AttentionTiles<dim>& tiles, const HeadRows& a,
                                               long long first_a, const HeadRows& b, long long first_b,
                                               long long end, int& turn, float (&sums)[4][4]) {
    constexpr int stages = AttentionTiles<dim>::stages;
    TileLoader<64, false> from_a, from_b;
    from_a.begin(a.data, a.stride, first_a, end, 0);
    from_b.begin(b.data, b.stride, first_b, end, 0);
    const auto copy = [&](int stage, long long left) {
        from_a.copy(tiles.a[stage], left);
        from_b.copy(tiles.b[stage], left);
    };
    fill_stages<stages>(turn, dim, copy);
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) sums[i][j] = 0.0f;
    for (int p = 0; p < dim; p += 8) {
        meet_stage<stages>(turn, dim - p, copy);
#pragma unroll
        for (int s = 0; s < 8; ++s)  // never a step too many: fma(0, 0, -0) is +0
            if (dim % 8 == 0 || p + s < dim) multiply<4>(tiles.a[turn][s], tiles.b[turn][s], sums);
        turn = stage_after<stages>(turn, 1);
    }
}

// Writes what thread (x, y) has computed for rows tile_place(y, i) and steps tile_place(x, j).
template <int dim>
__device__ __forceinline__ void leave_weights(AttentionTiles<dim>& tiles, const float (&values)[4][4]) {
    const int y = threadIdx.x / 16, x = threadIdx.x % 16;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        alignas(16) const float four[4] = {values[0][j], values[1][j], values[2][j], values[3][j]};
        *(float4*)&tiles.weights[4 * x + j][4 * y] = *(const float4*)four;
    }
}

// sums[t][i][j] += weight of (step, row tile_place(y, i)) x element 64 t + tile_place(x, j) of the step's row,
// for steps first .. end-1, at most 64 of them, ascending.
template <int dim, Steps steps>
__device__ __forceinline__ void add_weighted_rows(AttentionTiles<dim>& tiles, const HeadRows& rows,
                                                  long long first, long long end, int& turn,
                                                  float (&sums)[AttentionTiles<dim>::across][4][4]) {
    constexpr int across = AttentionTiles<dim>::across, stages = AttentionTiles<dim>::stages;
    const int count = (int)(end - first);
    TileLoader<64, true> loaders[across];
#pragma unroll
    for (int t = 0; t < across; ++t) loaders[t].begin(rows.data, rows.stride, 64 * t, dim, first);
    const auto copy = [&](int stage, long long left) {
#pragma unroll
        for (int t = 0; t < across; ++t) loaders[t].copy(tiles.rows[stage][t], left);
    };
    fill_stages<stages>(turn, count, copy);
    for (int p = 0; p < count; p += 8) {
        meet_stage<stages>(turn, count - p, copy);
        const int most = count - p < 8 ? count - p : 8;
#pragma unroll
        for (int s = 0; s < 8; ++s) {
            if (s >= most) continue;
            float weights[4];
            read_fragment<4>(tiles.weights[p + s], threadIdx.x / 16, weights);
#pragma unroll
            for (int t = 0; t < across; ++t) {
                float elements[4];
                read_fragment<4>(tiles.rows[turn][t][s], threadIdx.x % 16, elements);
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    const int row = tile_place(threadIdx.x / 16, i);
                    if (steps == Steps::up_to_row && p + s > row) continue;
                    if (steps == Steps::from_row && p + s < row) continue;
#pragma unroll
                    for (int j = 0; j < 4; ++j)
                        sums[t][i][j] = __fmaf_rn(weights[i], elements[j], sums[t][i][j]);
                }
            }
        }
        turn = stage_after<stages>(turn, 1);
    }
}

// Ends a segment of those sums: stored, or added to the segments before it. A thread meets its own elements
// only.
template <int dim>
__device__ __forceinline__ void close_rows(float* out, long long stride, long long first, long long end,
                                           bool stored, float (&sums)[AttentionTiles<dim>::across][4][4]) {
#pragma unroll
    for (int t = 0; t < AttentionTiles<dim>::across; ++t)
#pragma unroll
        for (int i = 0; i < 4; ++i)
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                const long long row = first + tile_place(threadIdx.x / 16, i);
                const int column = 64 * t + tile_place(threadIdx.x % 16, j);
                if (row < end && column < dim) {
                    float* const c = out + row * stride + column;
                    *c = stored ? __fadd_rn(*c, sums[t][i][j]) : sums[t][i][j];
                }
                sums[t][i][j] = 0.0f;
            }
}

template <int dim>
__device__ __forceinline__ void clear(float (&sums)[AttentionTiles<dim>::across][4][4]) {
#pragma unroll
    for (int t = 0; t < AttentionTiles<dim>::across; ++t)
#pragma unroll
        for (int i = 0; i < 4; ++i)
#pragma unroll
            for (int j = 0; j < 4; ++j) sums[t][i][j] = 0.0f;
}

// Dropout of 64 queries from `query` on and the 128 keys around `key`: a block of four random words serves
// four keys, 32 apart, so a warp finds the bits of a query at once.
template <int dim>
__device__ __forceinline__ void draw_kept(const VoltaAttentionArgs& args, const AttentionHead& head,
                                          AttentionTiles<dim>& tiles, long long query, long long key) {
    const int lane = threadIdx.x % 32;
    const unsigned counter = (unsigned)(key / 128 * 32) + lane;
#pragma unroll 1
    for (int q = threadIdx.x / 32; q < 64; q += 8) {
        unsigned words[4];
        random_words(counter, head.random_row + (unsigned)(query + q), args.random[2], args.last_word,
                     args.random[0], args.random[1], words[0], words[1], words[2], words[3]);
#pragma unroll
        for (int w = 0; w < 4; ++w) {
            const unsigned bits = __ballot_sync(0xffffffffu, words[w] >= args.threshold);
            if (lane == w) tiles.kept[q][w] = bits;
        }
    }
}

// The bits of a query's keys from `key` on, a multiple of 4 and below 128.
template <int dim>
__device__ __forceinline__ unsigned kept_bits(const AttentionTiles<dim>& tiles, int query, int key) {
    return tiles.kept[query][key / 32] >> key % 32;
}

// Of a probability or of its gradient: kept and scaled, or +0.
__device__ __forceinline__ float dropped(const VoltaAttentionArgs& args, bool kept, float x) {
    return kept ? __fmul_rn(x, args.kept_scale) : 0.0f;
}
)";

constexpr char kScores[] = R"(
__device__ __forceinline__ float exp_of(float x) {
    float y;
    exp_nonpositive(x, y);
    return y;
}

// From chain to score, and back: with a window, keys that lie below it have the score -Inf; with a cap, scores are
// bounded. Args of either attention.
template <bool window, bool cap>
struct AttentionScores {
    static constexpr bool has_window = window, has_cap = cap;
    float value, tangent;

    // `place` of the key, seen from the query: 0 its own position, -1 the one before.
    template <class Args>
    static __device__ __forceinline__ bool has_weight(const Args& args, long long place) {
        return !window || place > -args.window;
    }
    template <class Args>
    static __device__ __forceinline__ AttentionScores of(const Args& args, float chain, long long place) {
        AttentionScores score;
        score.value = __fmul_rn(chain, args.scale);
        if (!has_weight(args, place)) score.value = __uint_as_float(0xff800000u);
        score.tangent = score.value;
        if (cap) capped(score.value, args.cap, score.value, score.tangent);
        return score;
    }
    // The gradient of chain * scale, from that of the score.
    __device__ __forceinline__ float scaled_gradient(float ds) const {
        if (cap) capped_gradient(tangent, ds, ds);
        return ds;
    }
};
)";

Program exponential(std::pmr::memory_resource* heap) {
    Builder b(heap);
    const Real x = b.load(b.input(Access::full));
    b.store(b.output(Access::full), exp_nonpositive(b, x));
    return b.finish();
}

// z, cap -> the score and the tangent that its gradient needs.
Program capped(std::pmr::memory_resource* heap) {
    Builder b(heap);
    const Real z = b.load(b.input(Access::full)), cap = b.load(b.input(Access::full));
    const Real tangent = score_tangent(b, z, cap);
    b.store(b.output(Access::full), capped_score(b, z, tangent, cap));
    b.store(b.output(Access::full), tangent);
    return b.finish();
}

Program capped_gradient(std::pmr::memory_resource* heap) {
    Builder b(heap);
    const Real tangent = b.load(b.input(Access::full)), ds = b.load(b.input(Access::full));
    b.store(b.output(Access::full), capped_score_grad(b, tangent, ds));
    return b.finish();
}

// The four words of a counter: the first counter word, row, step, last word, seed (low, high).
Program random_words(std::pmr::memory_resource* heap) {
    Builder b(heap);
    Int in[6];
    for (Int& word : in) word = b.load_int(b.input(Access::full, Type::integer));
    const auto block = philox(b, {{in[0], in[1], in[2], in[3]}}, PhiloxKey<Int>{in[4], in[5]});
    for (const Int word : block.word) b.store(b.output(Access::full, Type::integer), word);
    return b.finish();
}

}  // namespace

std::pmr::string attention_scores_type(bool window, bool cap, std::pmr::memory_resource* heap) {
    std::pmr::string text("AttentionScores<", heap);
    text += window ? "true, " : "false, ";
    return text += cap ? "true>" : "false>";
}

void append_attention_functions(std::pmr::string& text) {
    std::pmr::memory_resource* const heap = text.get_allocator().resource();
    append_row_function(exponential(heap), "exp_nonpositive", text);
    append_row_function(capped(heap), "capped", text);
    append_row_function(capped_gradient(heap), "capped_gradient", text);
    text += kScores;
}

void append_attention_prelude(std::pmr::string& text) {
    char arguments[sizeof kArguments + 64];
    std::snprintf(arguments, sizeof arguments, kArguments, sizeof(CudaAttentionArgs),
                  offsetof(CudaAttentionArgs, q_stride), offsetof(CudaAttentionArgs, scale));
    text += arguments;
    append_row_function(random_words(text.get_allocator().resource()), "random_words", text);
    text += kTiles;
    text += attention_forward_text();
    text += attention_backward_text();
}

}  // namespace volta::jit
