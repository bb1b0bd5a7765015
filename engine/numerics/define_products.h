// Products (docs/numerics.md, 2): matrix product with either operand transposed, and the column sum that goes
// with it (the gradient of a bias).
#pragma once

#include "engine/numerics/canonical.h"

namespace volta::define {

// A matrix in memory: element (i, j) is data[i * stride + j], or data[j * stride + i] when
// transposed.
template <class T>
struct Matrix {
    const T* data;
    std::int64_t stride;
    bool transposed = false;
    T operator()(std::int64_t i, std::int64_t j) const {
        return transposed ? data[j * stride + i] : data[i * stride + j];
    }
};

// c [m, n] = a [m, k] x b [k, n]. With `into` the product is added to what c holds (accumulated
// micro-batches).
template <class T>
void product(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<T> a, Matrix<T> b, bool into, T* c,
             std::int64_t c_stride) {
    for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
            T& out = c[i * c_stride + j];
            out = product_chain(
                0, k, into ? &out : nullptr, [&](std::int64_t p) { return a(i, p); },
                [&](std::int64_t p) { return b(p, j); });
        }
}

// out [n] = sum over the rows of x [rows, n].
template <class T>
void column_sums(std::int64_t rows, std::int64_t n, const T* x, bool into, T* out) {
    for (std::int64_t j = 0; j < n; ++j)
        out[j] = column_sum(rows, into ? &out[j] : nullptr, [&](std::int64_t i) { return x[i * n + j]; });
}

}  // namespace volta::define
