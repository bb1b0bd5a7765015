// Operators over rows of x [rows, n] (docs/numerics.md, 3 to 5): reductions, softmax, losses, norms, dropout,
// and plain element maps. Dense, row-major. Outputs may be the input of the same shape unless said otherwise.
#pragma once

#include <algorithm>

#include "engine/numerics/canonical.h"
#include "engine/numerics/define_products.h"
#include "engine/numerics/functions.h"
#include "engine/numerics/random.h"

namespace volta::define {

// ---- Element maps: f is a function of functions.h, called as f(machine, x, ...)
// ------------------------------

template <class T, class F>
void map(std::int64_t n, const T* x, T* y, F f) {
    ScalarMachine<T> m;
    for (std::int64_t i = 0; i < n; ++i) y[i] = f(m, x[i]);
}

template <class T, class F>
void map(std::int64_t n, const T* a, const T* b, T* y, F f) {
    ScalarMachine<T> m;
    for (std::int64_t i = 0; i < n; ++i) y[i] = f(m, a[i], b[i]);
}

// ---- Reductions: y [rows]
// ------------------------------------------------------------------------------------

template <class T>
auto row_of(const T* x, std::int64_t n, std::int64_t row) {
    return [values = x + row * n](std::int64_t j) { return values[j]; };
}

template <class T>
void row_sums(std::int64_t rows, std::int64_t n, const T* x, T* y) {
    for (std::int64_t r = 0; r < rows; ++r) y[r] = row_sum<T>(n, row_of(x, n, r));
}

template <class T>
void row_means(std::int64_t rows, std::int64_t n, const T* x, T* y) {
    for (std::int64_t r = 0; r < rows; ++r) y[r] = row_sum<T>(n, row_of(x, n, r)) / static_cast<T>(n);
}

template <class T>
void row_maxima(std::int64_t rows, std::int64_t n, const T* x, T* y) {
    for (std::int64_t r = 0; r < rows; ++r) y[r] = row_max<T>(n, row_of(x, n, r));
}

template <class T>
void argmax(std::int64_t rows, std::int64_t n, const T* x, std::int32_t* y) {
    for (std::int64_t r = 0; r < rows; ++r)
        y[r] = static_cast<std::int32_t>(row_argmax<T>(n, row_of(x, n, r)));
}

// ---- Softmax
// -------------------------------------------------------------------------------------------------

// What a softmax needs of a row: p_j = exp(x_j - maximum) / sum.
template <class T>
struct SoftmaxRow {
    T maximum, sum;
};

template <class T, class X>
SoftmaxRow<T> softmax_row(std::int64_t n, X x) {
    ScalarMachine<T> m;
    const T maximum = row_max<T>(n, x);
    return {maximum, row_sum<T>(n, [&](std::int64_t j) { return exp(m, x(j) - maximum); })};
}

template <class T>
void softmax(std::int64_t rows, std::int64_t n, const T* x, T* p) {
    ScalarMachine<T> m;
    for (std::int64_t r = 0; r < rows; ++r) {
        const auto xr = row_of(x, n, r);
        const auto s = softmax_row<T>(n, xr);
        for (std::int64_t j = 0; j < n; ++j) p[r * n + j] = exp(m, xr(j) - s.maximum) / s.sum;
    }
}

template <class T>
void softmax_grad(std::int64_t rows, std::int64_t n, const T* p, const T* dp, T* dx) {
    for (std::int64_t r = 0; r < rows; ++r) {
        const auto pr = row_of(p, n, r), dpr = row_of(dp, n, r);
        const T d = row_sum<T>(n, [&](std::int64_t j) { return pr(j) * dpr(j); });
        for (std::int64_t j = 0; j < n; ++j) dx[r * n + j] = pr(j) * (dpr(j) - d);
    }
}

template <class T>
void log_softmax(std::int64_t rows, std::int64_t n, const T* x, T* y) {
    ScalarMachine<T> m;
    for (std::int64_t r = 0; r < rows; ++r) {
        const auto xr = row_of(x, n, r);
        const auto s = softmax_row<T>(n, xr);
        const T log_sum = log(m, s.sum);
        for (std::int64_t j = 0; j < n; ++j) y[r * n + j] = (xr(j) - s.maximum) - log_sum;
    }
}

template <class T>  // y: what log_softmax gave; exp(y) is p
void log_softmax_grad(std::int64_t rows, std::int64_t n, const T* y, const T* dy, T* dx) {
    ScalarMachine<T> m;
    for (std::int64_t r = 0; r < rows; ++r) {
        const auto yr = row_of(y, n, r), dyr = row_of(dy, n, r);
        const T d = row_sum<T>(n, dyr);
        for (std::int64_t j = 0; j < n; ++j) dx[r * n + j] = dyr(j) - exp(m, yr(j)) * d;
    }
}

// ---- Losses: one value per row; the mean over the whole step divides by a count at the end
// ------------------

inline constexpr std::int32_t kIgnoredTarget = -1;

// What a row of classes is compared with: the target, or `keep` of it and `share` of every class; each class
// times its weight.
template <class T>
struct ClassRule {
    double smoothing = 0;
    const T* weights = nullptr;  // [classes]; NULL: none

    T keep() const { return ScalarMachine<T>::real(1 - smoothing); }
    T share(std::int64_t classes) const {
        return ScalarMachine<T>::real(smoothing) / static_cast<T>(classes);
    }
    T of(std::int64_t target) const { return weights[target] + T(0); }  // of -0: +0
};

template <class T, class X>  // one row that is not ignored
T class_loss(std::int64_t classes, X x, std::int32_t y, const SoftmaxRow<T>& s, const ClassRule<T>& rule) {
    ScalarMachine<T> m;
    const T log_sum = log(m, s.sum);
    const auto loss = [&](std::int64_t j) { return log_sum - (x(j) - s.maximum); };
    const T hit = rule.weights != nullptr ? rule.of(y) * loss(y) : loss(y);
    if (rule.smoothing == 0) return hit;
    const T all = row_sum<T>(classes, [&](std::int64_t j) {
        return rule.weights != nullptr ? rule.weights[j] * loss(j) : loss(j);
    });
    return rule.keep() * hit + rule.share(classes) * all;
}

template <class T, class X>
void class_gradient(std::int64_t classes, X x, std::int32_t y, const SoftmaxRow<T>& s, T g,
                    const ClassRule<T>& rule, T* dx) {
    ScalarMachine<T> m;
    if (y == kIgnoredTarget) return static_cast<void>(std::fill_n(dx, classes, T(0)));
    const T keep = rule.keep(), share = rule.share(classes);
    const T chosen = rule.weights != nullptr ? rule.of(y) : T(1);
    const auto weight = [&](std::int64_t j) { return rule.weights[j]; };
    const bool is_both = rule.smoothing != 0 && rule.weights != nullptr;
    const T total = is_both ? keep * chosen + share * row_sum<T>(classes, weight) : T(1);
    for (std::int64_t j = 0; j < classes; ++j) {
        const T p = exp(m, x(j) - s.maximum) / s.sum;
        T d;
        if (rule.smoothing == 0) {
            d = p - (j == y ? T(1) : T(0));
            if (rule.weights != nullptr) d = d * chosen;
        } else {
            const T q = j == y ? keep + share : share;
            d = rule.weights != nullptr ? p * total - weight(j) * q : p - q;
        }
        dx[j] = d * g;
    }
}

template <class T>  // x [rows, classes], targets [rows], loss [rows]
void cross_entropy(std::int64_t rows, std::int64_t classes, const T* x, const std::int32_t* targets, T* loss,
                   const ClassRule<T>& rule = {}) {
    for (std::int64_t r = 0; r < rows; ++r) {
        const auto xr = row_of(x, classes, r);
        const auto s = softmax_row<T>(classes, xr);
        loss[r] = targets[r] == kIgnoredTarget ? T(0) : class_loss(classes, xr, targets[r], s, rule);
    }
}

template <class T>  // g = float(1.0 / targets of the whole step that are not ignored)
void cross_entropy_grad(std::int64_t rows, std::int64_t classes, const T* x, const std::int32_t* targets, T g,
                        T* dx, const ClassRule<T>& rule = {}) {
    for (std::int64_t r = 0; r < rows; ++r) {
        const auto xr = row_of(x, classes, r);
        class_gradient(classes, xr, targets[r], softmax_row<T>(classes, xr), g, rule, dx + r * classes);
    }
}

// The sum over a row of what every element and its target give: l1, huber, binary_cross_entropy.
template <class T, class F>  // x, t [rows, n], loss [rows]
void element_loss(std::int64_t rows, std::int64_t n, const T* x, const T* t, T* loss, F f) {
    for (std::int64_t r = 0; r < rows; ++r)
        loss[r] = row_sum<T>(n, [&](std::int64_t j) { return f(j, x[r * n + j], t[r * n + j]); });
}

template <class T>  // x, t [rows, n], loss [rows]
void mse(std::int64_t rows, std::int64_t n, const T* x, const T* t, T* loss) {
    for (std::int64_t r = 0; r < rows; ++r)
        loss[r] = row_sum<T>(n, [&](std::int64_t j) {
            const T d = x[r * n + j] - t[r * n + j];
            return d * d;
        });
}

template <class T>  // g = float(2.0 / (rows * n of the whole step))
void mse_grad(std::int64_t rows, std::int64_t n, const T* x, const T* t, T g, T* dx) {
    for (std::int64_t i = 0; i < rows * n; ++i) dx[i] = (x[i] - t[i]) * g;
}

template <class T>  // of all rows of a shard
T mean_loss(std::int64_t rows, const T* loss, std::int64_t count) {
    return row_sum<T>(rows, [&](std::int64_t r) { return loss[r]; }) / static_cast<T>(count);
}

// ---- Norms
// ---------------------------------------------------------------------------------------------------

// y [rows, n]; gain, bias [n]; mean, rs [rows] are what the gradient needs.
template <class T>
void layer_norm(std::int64_t rows, std::int64_t n, const T* x, const T* gain, const T* bias, T epsilon, T* y,
                T* mean, T* rs) {
    ScalarMachine<T> m;
    for (std::int64_t r = 0; r < rows; ++r) {
        const auto xr = row_of(x, n, r);
        mean[r] = row_sum<T>(n, xr) / static_cast<T>(n);
        const auto d = [&](std::int64_t j) { return xr(j) - mean[r]; };
        const T v = row_sum<T>(n, [&](std::int64_t j) { return d(j) * d(j); }) / static_cast<T>(n);
        rs[r] = rsqrt(m, v + epsilon);
        for (std::int64_t j = 0; j < n; ++j) y[r * n + j] = ((d(j) * rs[r]) * gain[j]) + bias[j];
    }
}

// The gradient of both norms for one row: dh = dy * gain, xh as the forward pass had it. `a1`: the mean of
// dh, or 0.
template <class T, class Dh, class Xh>
void norm_row_grad(std::int64_t n, Dh dh, Xh xh, bool centred, T rs, T* dx) {
    const T a1 = centred ? row_sum<T>(n, dh) / static_cast<T>(n) : T(0);
    const T a2 = row_sum<T>(n, [&](std::int64_t j) { return dh(j) * xh(j); }) / static_cast<T>(n);
    for (std::int64_t j = 0; j < n; ++j) dx[j] = ((centred ? dh(j) - a1 : dh(j)) - xh(j) * a2) * rs;
}

// dx [rows, n], d_gain, d_bias [n]; into: the latter two continue from what they hold. dx must not be x or
// dy.
template <class T>
void layer_norm_grad(std::int64_t rows, std::int64_t n, const T* x, const T* gain, const T* mean, const T* rs,
                     const T* dy, bool into, T* dx, T* d_gain, T* d_bias) {
    const auto xh = [&](std::int64_t r, std::int64_t j) { return (x[r * n + j] - mean[r]) * rs[r]; };
    for (std::int64_t r = 0; r < rows; ++r)
        norm_row_grad<T>(
            n, [&](std::int64_t j) { return dy[r * n + j] * gain[j]; },
            [&](std::int64_t j) { return xh(r, j); }, true, rs[r], dx + r * n);
    for (std::int64_t j = 0; j < n; ++j)
        d_gain[j] = column_sum(rows, into ? &d_gain[j] : nullptr,
                               [&](std::int64_t r) { return dy[r * n + j] * xh(r, j); });
    column_sums(rows, n, dy, into, d_bias);
}

template <class T>  // rs [rows]: 1 / sqrt(mean square + epsilon)
void rms_norm(std::int64_t rows, std::int64_t n, const T* x, const T* gain, T epsilon, T* y, T* rs) {
    ScalarMachine<T> m;
    for (std::int64_t r = 0; r < rows; ++r) {
        const auto xr = row_of(x, n, r);
        const T square = row_sum<T>(n, [&](std::int64_t j) { return xr(j) * xr(j); }) / static_cast<T>(n);
        rs[r] = rsqrt(m, square + epsilon);
        for (std::int64_t j = 0; j < n; ++j) y[r * n + j] = (xr(j) * rs[r]) * gain[j];
    }
}

template <class T>
void rms_norm_grad(std::int64_t rows, std::int64_t n, const T* x, const T* gain, const T* rs, const T* dy,
                   bool into, T* dx, T* d_gain) {
    const auto xh = [&](std::int64_t r, std::int64_t j) { return x[r * n + j] * rs[r]; };
    for (std::int64_t r = 0; r < rows; ++r)
        norm_row_grad<T>(
            n, [&](std::int64_t j) { return dy[r * n + j] * gain[j]; },
            [&](std::int64_t j) { return xh(r, j); }, false, rs[r], dx + r * n);
    for (std::int64_t j = 0; j < n; ++j)
        d_gain[j] = column_sum(rows, into ? &d_gain[j] : nullptr,
                               [&](std::int64_t r) { return dy[r * n + j] * xh(r, j); });
}

// ---- Dropout: forward on x, backward on dy
// ---------------------------------------------------------------------

template <class T>  // first_row: rows of earlier micro-batches of this step
void dropout(std::int64_t rows, std::int64_t n, const T* x, const RandomPlace& place, std::uint32_t first_row,
             const DropoutRule& rule, T* y) {
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t j = 0; j < n; ++j) {
            const std::uint32_t bits =
                element_bits(place, first_row + static_cast<std::uint32_t>(r), static_cast<std::uint32_t>(j));
            y[r * n + j] = bits >= rule.threshold ? x[r * n + j] * static_cast<T>(rule.scale) : T(0);
        }
}

}  // namespace volta::define
