// Embeddings, clipping and updates as loops over whole tensors (docs/numerics.md, 6 and 7).
#pragma once

#include "engine/numerics/canonical.h"
#include "engine/numerics/functions.h"

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

template <class T>  // what every gradient is multiplied with; 1 is exact
T clip_factor(T norm, T most) {
    return most < norm ? most / norm : T(1);
}

// ---- Updates: w, g and the state [n]; states start at +0, g is not changed
// ------------------------------------

// The factors of one step, computed in double and rounded once.
template <class T>
struct AdamFactors {
    T a;      // lr / (1 - beta1^t)
    T r2;     // 1 / sqrt(1 - beta2^t)
    T decay;  // AdamW: 1 - lr * weight decay, a factor of w; Adam: the weight decay, which joins the gradient
    T b1, b2;  // beta1, beta2
    T q1, q2;  // 1 - beta1, 1 - beta2
    T eps;
};

template <class T>
void adam(std::int64_t n, const T* g, T clip, const AdamFactors<T>& f, bool decoupled, T* w, T* m, T* v) {
    ScalarMachine<T> machine;
    for (std::int64_t i = 0; i < n; ++i) {
        const T gi = decoupled ? g[i] * clip : machine.fma(f.decay, w[i], g[i] * clip);
        m[i] = machine.fma(f.b1, m[i], f.q1 * gi);
        v[i] = machine.fma(f.b2, v[i], (f.q2 * gi) * gi);
        const T u = m[i] / machine.fma(machine.sqrt(v[i]), f.r2, f.eps);
        w[i] = machine.fma(-f.a, u, decoupled ? w[i] * f.decay : w[i]);
    }
}

template <class T>
struct SgdFactors {
    T lr, mu, wd;
};

template <class T>
void sgd(std::int64_t n, const T* g, T clip, const SgdFactors<T>& f, bool nesterov, T* w, T* v) {
    ScalarMachine<T> machine;
    for (std::int64_t i = 0; i < n; ++i) {
        const T gi = machine.fma(f.wd, w[i], g[i] * clip);
        v[i] = machine.fma(f.mu, v[i], gi);
        const T u = nesterov ? machine.fma(f.mu, v[i], gi) : v[i];
        w[i] = machine.fma(-f.lr, u, w[i]);
    }
}

// Without momentum there is no v: u = g.
template <class T>
void sgd_plain(std::int64_t n, const T* g, T clip, T lr, T wd, T* w) {
    ScalarMachine<T> machine;
    for (std::int64_t i = 0; i < n; ++i) w[i] = machine.fma(-lr, machine.fma(wd, w[i], g[i] * clip), w[i]);
}

template <class T>
struct AdagradFactors {
    T lr, wd, eps;
};

template <class T>
void adagrad(std::int64_t n, const T* g, T clip, const AdagradFactors<T>& f, T* w, T* h) {
    ScalarMachine<T> machine;
    for (std::int64_t i = 0; i < n; ++i) {
        const T gi = machine.fma(f.wd, w[i], g[i] * clip);
        h[i] = machine.fma(gi, gi, h[i]);
        w[i] = machine.fma(-f.lr, gi / (machine.sqrt(h[i]) + f.eps), w[i]);
    }
}

}  // namespace volta::define
