// The text that forward and backward attention on tensor cores share: operands as words of 32 bits, tiles of
// them in shared memory, and the two products: over the head dimension, and over keys or queries.
#include "jitgen/cuda/tensor_attention_source.h"
#include "jitgen/cuda/tensor_attention_text.h"

namespace volta::jit {
namespace {

constexpr char kInstructions[] = R"(
// ---- Attention on tensor cores ---------------------------------------------------------------------------
//
// Not strict: operands of products are rounded, exponentials are the device's own, and what order a tensor core
// adds in is the device's. All of it is the same run by run.

#ifdef __CUDACC__  // elsewhere an emulation brings these
// Both rounded to nearest even.
__device__ __forceinline__ unsigned bf16_pair(float low, float high) {
    unsigned word;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
}
// Rounded to nearest, ties away from zero.
__device__ __forceinline__ unsigned tf32_word(float x) {
    unsigned word;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(word) : "f"(x));
    return word;
}
// 2^x with a relative error of 2^-22; subnormal results are +0.
__device__ __forceinline__ float exp2_fast(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
// Of a warp: sums [16, 8] += a [16, 16] x b [16, 8] of bf16; of tf32 a [16, 8] x b [8, 8].
__device__ __forceinline__ void mma_bf16(float (&sums)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                 "{%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ void mma_tf32(float (&sums)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                 "{%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
#endif
)";

constexpr char kTiles[] = R"(
// Four lanes of a warp share a row of sums: lane 4 g + t has columns 2 t and 2 t + 1 of rows g and g + 8, as
// sums[0 .. 1] and sums[2 .. 3]. A product takes eight words of k at a time. Which step of k a word stands for is
// free as long as both operands agree, so that lane t of the four reads neighbours: words 2 t and 2 t + 1.
struct TensorLane {
    int warp, group, place;  // g and t
};
__device__ __forceinline__ TensorLane tensor_lane() {
    return {(int)threadIdx.x / 32, (int)threadIdx.x % 32 / 4, (int)threadIdx.x % 4};
}

struct alignas(8) WordPair {
    unsigned first, second;
};
struct alignas(16) WordFour {
    unsigned word[4];
};

// The same places of a tile of columns (below) are written by lanes that hold four neighbours and read by lanes that
// hold every one: shifted by one per four, they meet no bank twice.
__device__ __forceinline__ int column_place(int column) {
    return (column & ~3) | ((column + (column >> 2)) & 3);
}

// Words of two elements.
struct TensorBf16 {
    static constexpr int elements = 2, forward_keys = 64;

    static __device__ __forceinline__ void mma(float (&sums)[4], const unsigned (&a)[4], const WordPair& b) {
        mma_bf16(sums, a, b.first, b.second);
    }
    // Four neighbours of a row: words 2 t and 2 t + 1 of an operand.
    static __device__ __forceinline__ WordPair pair_of(const float4& x) {
        return {bf16_pair(x.x, x.y), bf16_pair(x.z, x.w)};
    }
    static __device__ __forceinline__ void store_four(unsigned* to, const float4& x) {
        *(WordPair*)to = pair_of(x);
    }
    // Sums as the first operand of a product over their columns: the k-th 16 of them.
    template <int tiles>
    static __device__ __forceinline__ void operand_of(const float (&sums)[tiles][4], int k, unsigned (&a)[4]) {
        a[0] = bf16_pair(sums[2 * k][0], sums[2 * k][1]);
        a[1] = bf16_pair(sums[2 * k][2], sums[2 * k][3]);
        a[2] = bf16_pair(sums[2 * k + 1][0], sums[2 * k + 1][1]);
        a[3] = bf16_pair(sums[2 * k + 1][2], sums[2 * k + 1][3]);
    }
};

// Words of one element.
struct TensorTf32 {
    static constexpr int elements = 1, forward_keys = 32;

    static __device__ __forceinline__ void mma(float (&sums)[4], const unsigned (&a)[4], const WordPair& b) {
        mma_tf32(sums, a, b.first, b.second);
    }
    static __device__ __forceinline__ void store_four(unsigned* to, const float4& x) {
        *(WordFour*)to = {{tf32_word(x.x), tf32_word(x.y), tf32_word(x.z), tf32_word(x.w)}};
    }
    template <int tiles>  // the k-th 8 of them
    static __device__ __forceinline__ void operand_of(const float (&sums)[tiles][4], int k, unsigned (&a)[4]) {
        a[0] = tf32_word(sums[k][0]);
        a[1] = tf32_word(sums[k][2]);
        a[2] = tf32_word(sums[k][1]);
        a[3] = tf32_word(sums[k][3]);
    }
};

// `count` rows of a head in shared memory, in one or both of two orders: as rows [row][stride], whose words follow the
// head dimension, and as columns [row / 16][column_place(column)][8], whose words follow the rows: of 16 rows, word 2 t
// has rows 2 t and 2 t + 1, word 2 t + 1 has rows 2 t + 8 and 2 t + 9. tf32 reads both from rows.
template <class T, int dim, int count>
struct TensorTile {
    static constexpr int words = dim / T::elements;
    static constexpr int stride = words % 16 == 0 ? words + 8 : words;  // 8 or 24 beside a multiple of 32 banks
    static constexpr int row_words = count * stride;
    static constexpr int column_words = T::elements == 2 ? count * dim / 2 : row_words;
};

// Vectors may be read where every row begins at a multiple of 16 bytes.
__device__ __forceinline__ bool is_aligned(const HeadRows& rows) {
    return (unsigned long long)rows.data % 16 == 0 && rows.stride % 4 == 0;
}

// Four neighbours, or zeros.
__device__ __forceinline__ float4 read_four(const float* from, bool inside, bool aligned) {
    float4 four = {0.0f, 0.0f, 0.0f, 0.0f};
    if (!inside) return four;
    if (aligned) return *(const float4*)from;
    four.x = from[0];
    four.y = from[1];
    four.z = from[2];
    four.w = from[3];
    return four;
}

// Rows first .. first + count - 1 of a head, rounded; zeros from row `end` on. A thread moves four rows of four
// columns at a time. NULL: not wanted in that order.
template <class T, int dim, int count, bool as_rows, bool as_columns>
__device__ __forceinline__ void load_tile(const HeadRows& from, long long first, long long end, unsigned* rows,
                                          unsigned* columns) {
    const bool aligned = is_aligned(from), plain = aligned && first + count <= end;
#pragma unroll 2
    for (int i = threadIdx.x; i < count * dim / 16; i += 128) {
        const int pair = i % 4, column = i / 4 % (dim / 4) * 4, sixteen = i / dim * 16;
        const float* const at = from.data + (first + sixteen + 2 * pair) * from.stride + column;
        float4 four[4];
        if (plain) {  // nothing in the way of all loads at once
#pragma unroll
            for (int r = 0; r < 4; ++r) four[r] = *(const float4*)(at + (r % 2 + r / 2 * 8) * from.stride);
        } else {
#pragma unroll
            for (int r = 0; r < 4; ++r) {
                const int row = r % 2 + r / 2 * 8;
                four[r] = read_four(at + row * from.stride, first + sixteen + 2 * pair + row < end, aligned);
            }
        }
        if constexpr (as_rows) {
#pragma unroll
            for (int r = 0; r < 4; ++r)
                T::store_four(rows + (sixteen + 2 * pair + r % 2 + r / 2 * 8) * TensorTile<T, dim, count>::stride +
                                  column / T::elements,
                              four[r]);
        }
        if constexpr (as_columns) {
            unsigned* const to = columns + sixteen / 2 * dim + 2 * pair;
            *(WordPair*)(to + 8 * column_place(column)) = {bf16_pair(four[0].x, four[1].x),
                                                           bf16_pair(four[2].x, four[3].x)};
            *(WordPair*)(to + 8 * column_place(column + 1)) = {bf16_pair(four[0].y, four[1].y),
                                                               bf16_pair(four[2].y, four[3].y)};
            *(WordPair*)(to + 8 * column_place(column + 2)) = {bf16_pair(four[0].z, four[1].z),
                                                               bf16_pair(four[2].z, four[3].z)};
            *(WordPair*)(to + 8 * column_place(column + 3)) = {bf16_pair(four[0].w, four[1].w),
                                                               bf16_pair(four[2].w, four[3].w)};
        }
    }
}

// The warp's 16 rows from `first` on as the first operand of products over the head dimension: `held` in registers, or
// read anew by every product where those are too few.
template <class T, int dim, bool held>
struct TensorRows {
    static constexpr int steps = dim / T::elements / 8;
    unsigned words[held ? steps : 1][4];
    const float *low, *high;  // rows g and g + 8
    bool has_low, has_high, aligned;

    __device__ __forceinline__ void begin(const HeadRows& rows, long long first, long long end) {
        const TensorLane lane = tensor_lane();
        const long long row = first + lane.group;
        low = rows.data + row * rows.stride;
        high = low + 8 * rows.stride;
        has_low = row < end;
        has_high = row + 8 < end;
        aligned = is_aligned(rows);
        if constexpr (held) {
#pragma unroll
            for (int k = 0; k < steps; ++k) fetch(k, words[k]);
        }
    }
    __device__ __forceinline__ void fetch(int k, unsigned (&a)[4]) const {
        const int t = tensor_lane().place;
        if constexpr (T::elements == 2) {
            const int column = 16 * k + 4 * t;
            const WordPair x = T::pair_of(read_four(low + column, has_low, aligned));
            const WordPair y = T::pair_of(read_four(high + column, has_high, aligned));
            a[0] = x.first;
            a[1] = y.first;
            a[2] = x.second;
            a[3] = y.second;
        } else {
            const int column = 8 * k + 2 * t;
            a[0] = tf32_word(has_low ? low[column] : 0.0f);
            a[1] = tf32_word(has_high ? high[column] : 0.0f);
            a[2] = tf32_word(has_low ? low[column + 1] : 0.0f);
            a[3] = tf32_word(has_high ? high[column + 1] : 0.0f);
        }
    }
    __device__ __forceinline__ void read(int k, unsigned (&a)[4]) const {
        if constexpr (held) {
#pragma unroll
            for (int i = 0; i < 4; ++i) a[i] = words[k][i];
        } else {
            fetch(k, a);
        }
    }
};

template <int tiles>
__device__ __forceinline__ void clear_sums(float (&sums)[tiles][4]) {
#pragma unroll
    for (int n = 0; n < tiles; ++n)
#pragma unroll
        for (int e = 0; e < 4; ++e) sums[n][e] = 0.0f;
}

// sums[16 x count] = the warp's rows times the rows of a tile, over the head dimension.
template <class T, int dim, int count, bool held>
__device__ __forceinline__ void multiply_rows(const TensorRows<T, dim, held>& a, const unsigned* tile,
                                              float (&sums)[count / 8][4]) {
    using Tile = TensorTile<T, dim, count>;
    const TensorLane lane = tensor_lane();
    const unsigned* const at = tile + lane.group * Tile::stride + 2 * lane.place;
    clear_sums(sums);
#pragma unroll(held ? Tile::words / 8 : 1)  // rows that do not stay in registers are not fetched far ahead
    for (int k = 0; k < Tile::words / 8; ++k) {
        unsigned words[4];
        a.read(k, words);
#pragma unroll
        for (int n = 0; n < count / 8; ++n)
            T::mma(sums[n], words, *(const WordPair*)(at + 8 * n * Tile::stride + 8 * k));
    }
}

// sums[16 x dim] += weights[16 x count] times the rows of a tile, in the order of columns (bf16) or of rows (tf32).
template <class T, int dim, int count>
__device__ __forceinline__ void add_weighted(const float (&weights)[count / 8][4], const unsigned* tile,
                                             float (&sums)[dim / 8][4]) {
    using Tile = TensorTile<T, dim, count>;
    const TensorLane lane = tensor_lane();
#pragma unroll
    for (int k = 0; k < count / (8 * T::elements); ++k) {
        unsigned words[4];
        T::operand_of(weights, k, words);
#pragma unroll
        for (int n = 0; n < dim / 8; ++n) {
            WordPair pair;
            if constexpr (T::elements == 2) {
                pair = *(const WordPair*)(tile + 8 * (k * dim + column_place(8 * n + lane.group)) + 2 * lane.place);
            } else {
                const unsigned* const at = tile + (8 * k + 2 * lane.place) * Tile::stride + 8 * n + lane.group;
                pair = {at[0], at[Tile::stride]};
            }
            T::mma(sums[n], words, pair);
        }
    }
}

// The warp's rows of sums, each times its factor, to rows from `first` on; nothing from row `end` on.
template <int dim>
__device__ __forceinline__ void store_sums(const float (&sums)[dim / 8][4], float low_factor, float high_factor,
                                           float* out, long long stride, long long first, long long end) {
    const TensorLane lane = tensor_lane();
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const long long row = first + lane.group + 8 * half;
        if (row >= end) continue;
        float* const to = out + row * stride + 2 * lane.place;
#pragma unroll
        for (int n = 0; n < dim / 8; ++n)
#pragma unroll
            for (int j = 0; j < 2; ++j)
                to[8 * n + j] = __fmul_rn(sums[n][2 * half + j], half == 0 ? low_factor : high_factor);
    }
}

// Dropout of `count` queries from `query` on and the 128 keys around `key`: the bits of strict attention.
template <int count>
__device__ __forceinline__ void draw_kept_bits(const VoltaAttentionArgs& args, const AttentionHead& head,
                                               unsigned (*kept)[4], long long query, long long key) {
    const int lane = threadIdx.x % 32;
    const unsigned counter = (unsigned)(key / 128 * 32) + lane;
#pragma unroll 1
    for (int q = threadIdx.x / 32; q < count; q += 4) {
        unsigned words[4];
        random_words(counter, head.random_row + (unsigned)(query + q), args.random[2], args.last_word,
                     args.random[0], args.random[1], words[0], words[1], words[2], words[3]);
#pragma unroll
        for (int w = 0; w < 4; ++w) {
            const unsigned bits = __ballot_sync(0xffffffffu, words[w] >= args.threshold);
            if (lane == w) kept[q][w] = bits;
        }
    }
}
)";

}  // namespace

void append_tensor_attention_prelude(std::pmr::string& text) {
    text += kInstructions;
    text += kTiles;
    text += tensor_attention_forward_text();
    text += tensor_attention_backward_text();
}

}  // namespace volta::jit
