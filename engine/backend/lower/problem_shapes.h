// What a product or an attention is, whoever computes it: extents, strides, constants. All strides are in
// elements.
#pragma once

#include <cstdint>

#include "engine/numerics/define_cached_attention.h"

namespace volta {

// C [m, n] = A [m, k] x B [k, n], `batch` times. An operand that is `transposed` is stored as its transpose:
// A as [k, m], B as [n, k]. Leading dimensions are in elements, of the stored matrix.
struct ProductShape {
    std::int64_t batch = 1, m = 0, n = 0, k = 0;
    bool a_transposed = false, b_transposed = false;
    std::int64_t lda = 0, ldb = 0, ldc = 0;
    std::int64_t batch_stride_a = 0, batch_stride_b = 0, batch_stride_c = 0;  // 0 repeats the operand
};
inline bool operator==(const ProductShape& x, const ProductShape& y) {
    return x.batch == y.batch && x.m == y.m && x.n == y.n && x.k == y.k && x.a_transposed == y.a_transposed &&
           x.b_transposed == y.b_transposed && x.lda == y.lda && x.ldb == y.ldb && x.ldc == y.ldc &&
           x.batch_stride_a == y.batch_stride_a && x.batch_stride_b == y.batch_stride_b &&
           x.batch_stride_c == y.batch_stride_c;
}

// Where what follows a product runs, which decides how the product may be cut.
enum class EpilogueKind : std::uint8_t {
    none,
    blocks,  // on finished blocks of C
    rows     // on whole rows: it reduces over them
};

struct AttentionShape {
    std::int64_t batch = 0, time = 0;      // sequences; queries and keys per sequence
    std::int64_t heads = 0, kv_heads = 0;  // heads is a multiple of kv_heads
    std::int64_t head_dim = 0;
    bool causal = true;
    float scale = 0;     // the factor itself, never 0 here
    double dropout = 0;  // probability; its stream and counters as in docs/numerics.md, 8
    std::uint32_t stream = 0;
    std::int64_t window = 0;  // keys that a query gives weight, the last that it sees; 0: all
    bool documents = false;   // and none before the start of its document
    float cap = 0;            // of scores; 0: none
    // Elements between consecutive tokens of one sequence. Head h of q starts h * head_dim after the token's
    // first element; the same for k, v (kv_heads of them) and o. Sequences follow each other at time *
    // stride.
    std::int64_t q_stride = 0, k_stride = 0, v_stride = 0, o_stride = 0;
    std::int64_t dq_stride = 0, dk_stride = 0, dv_stride = 0;  // backward outputs
};

struct CachedAttentionShape {
    std::int64_t rows = 0, heads = 0;  // new tokens, of any sequences; query heads
    define::CacheLayout cache;
    float scale = 0;
    std::int64_t window = 0;  // as in AttentionShape
    float cap = 0;
    std::int64_t q_stride = 0, k_stride = 0, v_stride = 0, o_stride = 0;  // elements from row to row
};

}  // namespace volta
