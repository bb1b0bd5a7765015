// Attention (docs/numerics.md, 4) for one query row, key and head at a time: the formula with plain loops.
#pragma once

#include <limits>

#include "engine/numerics/canonical.h"
#include "engine/numerics/functions.h"
#include "engine/numerics/random.h"

namespace volta::define {

// Query row i has the absolute position first + i; keys have the positions 0 .. keys-1. A cache of keys makes
// first > 0. Element c of head h of token t lies at base[t * stride + h * head_dim + c], and sequences follow
// each other at tokens * stride.
struct AttentionSizes {
    std::int64_t batch = 0, queries = 0, keys = 0, heads = 0, kv_heads = 0, head_dim = 0;
    std::int64_t first = 0;   // position of the first query
    bool causal = true;       // a query sees the keys up to its own position
    std::int64_t window = 0;  // and gives weight to so many of them, the last ones; 0: to all
    float cap = 0;            // of scores; 0: none
    // [batch, queries]: where the document of each query begins, whose keys alone get weight; NULL: at 0. A
    // query's own key is always of its document.
    const std::int32_t* starts = nullptr;
    std::int64_t q_stride = 0, k_stride = 0, v_stride = 0, o_stride = 0;  // forward, and d_o
    std::int64_t dq_stride = 0, dk_stride = 0, dv_stride = 0;             // backward
    // Does the key lie below the window, or before the document? Its score is -Inf, and it stays in the
    // chains.
    bool has_no_weight(std::int64_t sequence, std::int64_t row, std::int64_t key) const {
        const bool is_before =
            starts != nullptr && key < std::min<std::int64_t>(starts[sequence * queries + row], first + row);
        return is_before || (window > 0 && key <= first + row - window);
    }
    std::int64_t visible_keys(std::int64_t row) const {
        return causal ? std::min(keys, first + row + 1) : keys;
    }
    std::int64_t first_query_of(std::int64_t key) const {
        return causal ? std::max<std::int64_t>(0, key - first) : 0;
    }
};

// Dropout of the probabilities: random row (sequence * heads + head) * time + position, column key.
struct AttentionDropout {
    RandomPlace place;
    DropoutRule rule;
    std::uint32_t first_sequence;  // sequences of earlier micro-batches of this step
    std::int64_t time;             // positions per sequence
};

// One head of one sequence. Every member is one line of the definition.
template <class T>
struct AttentionHead {
    const AttentionSizes& size;
    T scale;
    const AttentionDropout* random;  // NULL: none
    std::int64_t sequence, head;
    const T *q, *k, *v;  // of this head: element c of row i is q[i * q_stride + c]

    T scaled(std::int64_t i, std::int64_t j) const {
        if (size.has_no_weight(sequence, i, j)) return -std::numeric_limits<T>::infinity();
        const T x = product_chain<T>(
            0, size.head_dim, nullptr, [&](std::int64_t c) { return q[i * size.q_stride + c]; },
            [&](std::int64_t c) { return k[j * size.k_stride + c]; });
        return x * scale;
    }
    T tangent(T z) const {
        ScalarMachine<T> m;
        return score_tangent(m, z, static_cast<T>(size.cap));
    }
    T score(T z) const {
        ScalarMachine<T> m;
        return size.cap == 0 ? z : capped_score(m, z, tangent(z), static_cast<T>(size.cap));
    }
    T scaled_grad(T z, T ds) const {
        ScalarMachine<T> m;
        return size.cap == 0 ? ds : capped_score_grad(m, tangent(z), ds);
    }
    // Forward on a probability, backward on its gradient.
    T dropped(std::int64_t i, std::int64_t j, T p) const {
        if (random == nullptr) return p;
        const std::int64_t row = ((random->first_sequence + sequence) * size.heads + head) * random->time;
        const std::uint32_t bits = element_bits(
            random->place, static_cast<std::uint32_t>(row + size.first + i), static_cast<std::uint32_t>(j));
        return bits >= random->rule.threshold ? p * static_cast<T>(random->rule.scale) : T(0);
    }
};

// Forward. q, o [batch, queries, heads, head_dim], k, v [batch, keys, kv_heads, head_dim] by their strides;
// row_max, row_sum [batch, heads, queries]; workspace [keys]. A query that sees no key gives o = +0.
template <class T>
void attention(const AttentionSizes& size, T scale, const AttentionDropout* random, const T* q, const T* k,
               const T* v, T* o, T* row_maximum, T* row_total, T* workspace) {
    ScalarMachine<T> m;
    const std::int64_t group = size.heads / size.kv_heads;
    for (std::int64_t b = 0; b < size.batch; ++b)
        for (std::int64_t h = 0; h < size.heads; ++h) {
            const std::int64_t d = size.head_dim, kv = h / group;
            const AttentionHead<T> head = {size,
                                           scale,
                                           random,
                                           b,
                                           h,
                                           q + b * size.queries * size.q_stride + h * d,
                                           k + b * size.keys * size.k_stride + kv * d,
                                           v + b * size.keys * size.v_stride + kv * d};
            for (std::int64_t i = 0; i < size.queries; ++i) {
                const std::int64_t n = size.visible_keys(i), row = (b * size.heads + h) * size.queries + i;
                T* const p = workspace;
                for (std::int64_t j = 0; j < n; ++j) p[j] = head.score(head.scaled(i, j));
                const T maximum = n > 0 ? row_max<T>(n, [&](std::int64_t j) { return p[j]; }) : T(0);
                for (std::int64_t j = 0; j < n; ++j) p[j] = exp(m, p[j] - maximum);
                const T total = row_sum<T>(n, [&](std::int64_t j) { return p[j]; });
                for (std::int64_t j = 0; j < n; ++j) p[j] = head.dropped(i, j, p[j] / total);
                for (std::int64_t c = 0; c < d; ++c)
                    o[(b * size.queries + i) * size.o_stride + h * d + c] = product_chain<T>(
                        0, n, nullptr, [&](std::int64_t j) { return p[j]; },
                        [&](std::int64_t j) { return head.v[j * size.v_stride + c]; });
                row_maximum[row] = maximum;
                row_total[row] = total;
            }
        }
}

// What the backward pass of one head holds: kept probabilities p' and score gradients dx, both [queries,
// keys].
template <class T>
void attention_scores_grad(const AttentionHead<T>& head, const T* o, const T* d_o, const T* row_maximum,
                           const T* row_total, T* kept, T* dx) {
    ScalarMachine<T> m;
    const AttentionSizes& size = head.size;
    for (std::int64_t i = 0; i < size.queries; ++i) {
        const T *const oi = o + i * size.o_stride, *const doi = d_o + i * size.o_stride;
        const T delta = row_sum<T>(size.head_dim, [&](std::int64_t c) { return doi[c] * oi[c]; });
        for (std::int64_t j = 0; j < size.visible_keys(i); ++j) {
            const T z = head.scaled(i, j), p = exp(m, head.score(z) - row_maximum[i]) / row_total[i];
            const T d_kept = product_chain<T>(
                0, size.head_dim, nullptr, [&](std::int64_t c) { return doi[c]; },
                [&](std::int64_t c) { return head.v[j * size.v_stride + c]; });
            kept[i * size.keys + j] = head.dropped(i, j, p);
            const T ds = p * (head.dropped(i, j, d_kept) - delta);
            dx[i * size.keys + j] = head.scaled_grad(z, ds) * head.scale;
        }
    }
}

// Backward. dq by dq_stride, dk and dv (of the kv heads) by theirs; workspace [2, queries, keys].
template <class T>
void attention_grad(const AttentionSizes& size, T scale, const AttentionDropout* random, const T* q,
                    const T* k, const T* v, const T* o, const T* row_maximum, const T* row_total,
                    const T* d_o, T* dq, T* dk, T* dv, T* workspace) {
    const std::int64_t d = size.head_dim, group = size.heads / size.kv_heads;
    T *const kept = workspace, *const dx = workspace + size.queries * size.keys;
    for (std::int64_t b = 0; b < size.batch; ++b)
        for (std::int64_t h = 0; h < size.heads; ++h) {
            const std::int64_t kv = h / group, row = (b * size.heads + h) * size.queries;
            const std::int64_t o_first = b * size.queries * size.o_stride + h * d;
            const AttentionHead<T> head = {size,
                                           scale,
                                           random,
                                           b,
                                           h,
                                           q + b * size.queries * size.q_stride + h * d,
                                           k + b * size.keys * size.k_stride + kv * d,
                                           v + b * size.keys * size.v_stride + kv * d};
            const T* const d_oh = d_o + o_first;
            attention_scores_grad(head, o + o_first, d_oh, row_maximum + row, row_total + row, kept, dx);
            for (std::int64_t i = 0; i < size.queries; ++i)
                for (std::int64_t c = 0; c < d; ++c)
                    dq[(b * size.queries + i) * size.dq_stride + h * d + c] = product_chain<T>(
                        0, size.visible_keys(i), nullptr,
                        [&](std::int64_t j) { return dx[i * size.keys + j]; },
                        [&](std::int64_t j) { return head.k[j * size.k_stride + c]; });
            // Chains over the queries, cut at absolute positions; the heads of a group are added in order.
            for (std::int64_t j = 0; j < size.keys; ++j)
                for (std::int64_t c = 0; c < d; ++c) {
                    const std::int64_t from = size.first + size.first_query_of(j),
                                       to = size.first + size.queries;
                    const auto over_queries = [&](const T* factor, const T* rows, std::int64_t stride) {
                        return product_chain<T>(
                            from, to, nullptr,
                            [&](std::int64_t t) { return factor[(t - size.first) * size.keys + j]; },
                            [&](std::int64_t t) { return rows[(t - size.first) * stride + c]; });
                    };
                    T& dk_jc = dk[(b * size.keys + j) * size.dk_stride + kv * d + c];
                    T& dv_jc = dv[(b * size.keys + j) * size.dv_stride + kv * d + c];
                    const T dk_head = over_queries(dx, head.q, size.q_stride);
                    const T dv_head = over_queries(kept, d_oh, size.o_stride);
                    const bool first_of_group = h % group == 0;
                    dk_jc = first_of_group ? dk_head : dk_jc + dk_head;
                    dv_jc = first_of_group ? dv_head : dv_jc + dv_head;
                }
        }
}

}  // namespace volta::define
