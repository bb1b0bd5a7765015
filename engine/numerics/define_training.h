// Embeddings, clipping and updates as loops over whole tensors (docs/numerics.md, 6 and 7).
#pragma once

#include "engine/numerics/canonical.h"
#include "engine/numerics/optimizers.h"

namespace volta::define {

// y [positions, n] = table [vocabulary, n] at tokens [positions], every one of them in the vocabulary.
template <class T>
void embedding(std::int64_t positions, std::int64_t n, const std::int32_t* tokens, const T* table, T* y) {
    for (std::int64_t p = 0; p < positions; ++p)
        for (std::int64_t c = 0; c < n; ++c) y[p * n + c] = table[tokens[p] * n + c];
}

// d_table [vocabulary, n]: every row starts at +0 (into: at what it holds) and adds dy of its positions in
// order.
template <class T>
void embedding_grad(std::int64_t positions, std::int64_t n, const std::int32_t* tokens, const T* dy,
                    std::int64_t vocabulary, bool into, T* d_table) {
    if (!into) std::fill_n(d_table, vocabulary * n, T(0));
    for (std::int64_t p = 0; p < positions; ++p)
        for (std::int64_t c = 0; c < n; ++c) {
            T& sum = d_table[tokens[p] * n + c];
            sum = sum + dy[p * n + c];
        }
}

// A table that is also the head: d_table holds the complete gradient of the head, to which the complete
// embedding gradient is added on rows that have tokens. The others keep their bits.
template <class T>
void tied_embedding_grad(std::int64_t positions, std::int64_t n, const std::int32_t* tokens, const T* dy,
                         std::int64_t vocabulary, T* d_table) {
    for (std::int64_t v = 0; v < vocabulary; ++v) {
        if (std::find(tokens, tokens + positions, v) == tokens + positions) continue;
        for (std::int64_t c = 0; c < n; ++c) {
            T sum = 0;
            for (std::int64_t p = 0; p < positions; ++p)
                if (tokens[p] == v) sum = sum + dy[p * n + c];
            d_table[v * n + c] = d_table[v * n + c] + sum;
        }
    }
}

template <class T>  // one q per tensor; the global norm is sqrt(row_sum(q)) over the tensors in declaration
                    // order
T square_sum(std::int64_t n, const T* g) {
    return row_sum<T>(n, [&](std::int64_t i) { return g[i] * g[i]; });
}

template <class T>
T global_norm(std::int64_t tensors, const T* square_sums) {
    return ScalarMachine<T>::sqrt(row_sum<T>(tensors, [&](std::int64_t i) { return square_sums[i]; }));
}

// w, g, m, v [n]; g is not changed.
template <class T>
void adamw(std::int64_t n, const T* g, T clip, const AdamFactors<T>& f, T* w, T* m, T* v) {
    ScalarMachine<T> machine;
    for (std::int64_t i = 0; i < n; ++i) {
        const AdamElement<T> e = volta::adamw(machine, {w[i], m[i], v[i]}, g[i], clip, f);
        w[i] = e.w, m[i] = e.m, v[i] = e.v;
    }
}

template <class T>
void adam(std::int64_t n, const T* g, T clip, const AdamFactors<T>& f, T* w, T* m, T* v) {
    ScalarMachine<T> machine;
    for (std::int64_t i = 0; i < n; ++i) {
        const AdamElement<T> e = volta::adam(machine, {w[i], m[i], v[i]}, g[i], clip, f);
        w[i] = e.w, m[i] = e.m, v[i] = e.v;
    }
}

template <class T>
void sgd(std::int64_t n, const T* g, T clip, const SgdFactors<T>& f, bool nesterov, T* w, T* v) {
    ScalarMachine<T> machine;
    for (std::int64_t i = 0; i < n; ++i) {
        const SgdElement<T> e = volta::sgd(machine, {w[i], v[i]}, g[i], clip, f, nesterov);
        w[i] = e.w, v[i] = e.v;
    }
}

template <class T>
void adagrad(std::int64_t n, const T* g, T clip, const AdagradFactors<T>& f, T* w, T* h) {
    ScalarMachine<T> machine;
    for (std::int64_t i = 0; i < n; ++i) {
        const AdagradElement<T> e = volta::adagrad(machine, {w[i], h[i]}, g[i], clip, f);
        w[i] = e.w, h[i] = e.h;
    }
}

}  // namespace volta::define
