// Attention of new tokens over a cache of keys and values (docs/numerics.md, 4), with plain loops.
#pragma once

#include <limits>

#include "engine/numerics/canonical.h"
#include "engine/numerics/functions.h"

namespace volta::define {

inline constexpr std::int64_t kCachePanel = 16;

// Where element c of the key or value at a position lies. A slot holds one sequence: keys in panels of 16
// positions, [slots, kv_heads, capacity / 16, head_dim, 16], values in panels of 16 elements of a head,
// [slots, kv_heads, ceil(head_dim / 16), capacity, 16]: both are what a product reads as its packed B.
struct CacheLayout {
    std::int64_t slots = 0, kv_heads = 0, capacity = 0, head_dim = 0;

    std::int64_t value_panels() const { return (head_dim + kCachePanel - 1) / kCachePanel; }
    std::int64_t key_floats() const { return capacity * head_dim; }                        // of a head
    std::int64_t value_floats() const { return value_panels() * capacity * kCachePanel; }  // of a head
    std::int64_t key_head(std::int64_t slot, std::int64_t head) const {
        return (slot * kv_heads + head) * key_floats();
    }
    std::int64_t value_head(std::int64_t slot, std::int64_t head) const {
        return (slot * kv_heads + head) * value_floats();
    }
    // Within a head.
    std::int64_t key(std::int64_t position, std::int64_t c) const {
        return (position / kCachePanel * head_dim + c) * kCachePanel + position % kCachePanel;
    }
    std::int64_t value(std::int64_t position, std::int64_t c) const {
        return (c / kCachePanel * capacity + position) * kCachePanel + c % kCachePanel;
    }
};

struct CachedAttentionSizes {
    std::int64_t rows = 0, heads = 0;
    CacheLayout cache;
    std::int64_t q_stride = 0, k_stride = 0, v_stride = 0, o_stride = 0;  // elements from row to row
    std::int64_t window = 0;                                              // as in AttentionSizes
    float cap = 0;
};

// Row r is the token at positions[r] of the sequence in slots[r]; a row whose slot is -1 is no token: it
// leaves the cache alone and gives o = +0. All rows write their key and value first; then each attends to
// positions 0 .. its own. workspace [capacity].
template <class T>
void cached_attention(const CachedAttentionSizes& size, T scale, const std::int32_t* slots,
                      const std::int32_t* positions, const T* q, const T* k, const T* v, T* keys, T* values,
                      T* o, T* workspace) {
    const CacheLayout& cache = size.cache;
    const std::int64_t d = cache.head_dim;
    for (std::int64_t r = 0; r < size.rows; ++r)
        for (std::int64_t h = 0; slots[r] >= 0 && h < cache.kv_heads; ++h)
            for (std::int64_t c = 0; c < d; ++c) {
                keys[cache.key_head(slots[r], h) + cache.key(positions[r], c)] =
                    k[r * size.k_stride + h * d + c];
                values[cache.value_head(slots[r], h) + cache.value(positions[r], c)] =
                    v[r * size.v_stride + h * d + c];
            }
    ScalarMachine<T> m;
    for (std::int64_t r = 0; r < size.rows; ++r)
        for (std::int64_t h = 0; h < size.heads; ++h) {
            T *const row = o + r * size.o_stride + h * d, *const p = workspace;
            if (slots[r] < 0) {
                std::fill_n(row, d, T(0));
                continue;
            }
            const std::int64_t kv = h / (size.heads / cache.kv_heads), n = positions[r] + 1;
            const T* const query = q + r * size.q_stride + h * d;
            const T* const key = keys + cache.key_head(slots[r], kv);
            const T* const value = values + cache.value_head(slots[r], kv);
            for (std::int64_t j = 0; j < n; ++j) {
                const T x = product_chain<T>(
                    0, d, nullptr, [&](std::int64_t c) { return query[c]; },
                    [&](std::int64_t c) { return key[cache.key(j, c)]; });
                const bool has_weight = size.window == 0 || j > positions[r] - size.window;
                const T z = has_weight ? x * scale : -std::numeric_limits<T>::infinity(),
                        cap = static_cast<T>(size.cap);
                p[j] = cap == 0 ? z : capped_score(m, z, score_tangent(m, z, cap), cap);
            }
            const T maximum = row_max<T>(n, [&](std::int64_t j) { return p[j]; });
            for (std::int64_t j = 0; j < n; ++j) p[j] = exp(m, p[j] - maximum);
            const T total = row_sum<T>(n, [&](std::int64_t j) { return p[j]; });
            for (std::int64_t j = 0; j < n; ++j) p[j] = p[j] / total;
            for (std::int64_t c = 0; c < d; ++c)
                row[c] = product_chain<T>(
                    0, n, nullptr, [&](std::int64_t j) { return p[j]; },
                    [&](std::int64_t j) { return value[cache.value(j, c)]; });
        }
}

}  // namespace volta::define
