// Norms of channels (docs/numerics.md, 5): x [N, C, ...], a plane per sample and channel.
#pragma once

#include "engine/numerics/canonical.h"
#include "engine/numerics/functions.h"

namespace volta {

// x as [batch, channels, plane], row-major: plane are the elements of all axes behind the channels, 1 if
// there is none.
struct ChannelPlanes {
    std::int64_t batch, channels, plane;
    std::int64_t per_channel() const { return batch * plane; }
    std::int64_t first(std::int64_t n, std::int64_t c) const { return (n * channels + c) * plane; }
};

namespace define {

// The sum over a channel: of each plane, then over the planes.
template <class T, class X>  // X: T(int64 element of x)
T channel_sum(const ChannelPlanes& p, std::int64_t c, X x) {
    return column_sum(p.batch, static_cast<const T*>(nullptr), [&](std::int64_t n) {
        return row_sum<T>(p.plane, [&](std::int64_t i) { return x(p.first(n, c) + i); });
    });
}

// f(channel, element) for all elements of x.
template <class F>
void for_each_element(const ChannelPlanes& p, F f) {
    for (std::int64_t n = 0; n < p.batch; ++n)
        for (std::int64_t c = 0; c < p.channels; ++c)
            for (std::int64_t i = p.first(n, c); i < p.first(n, c) + p.plane; ++i) f(c, i);
}

// mean, variance [channels]: two passes, as in layer norm.
template <class T>
void batch_statistics(const ChannelPlanes& p, const T* x, T* mean, T* variance) {
    const T count = static_cast<T>(p.per_channel());
    for (std::int64_t c = 0; c < p.channels; ++c) {
        mean[c] = channel_sum<T>(p, c, [&](std::int64_t i) { return x[i]; }) / count;
        variance[c] = channel_sum<T>(p, c,
                                     [&](std::int64_t i) {
                                         const T d = x[i] - mean[c];
                                         return d * d;
                                     }) /
                      count;
    }
}

// scale, bias, mean, variance [channels], whoever's statistics those are.
template <class T>
void batch_norm(const ChannelPlanes& p, const T* x, const T* scale, const T* bias, const T* mean,
                const T* variance, T epsilon, T* y) {
    ScalarMachine<T> m;
    for_each_element(p, [&](std::int64_t c, std::int64_t i) {
        const T rs = rsqrt(m, variance[c] + epsilon);
        y[i] = (((x[i] - mean[c]) * rs) * scale[c]) + bias[c];
    });
}

// frozen: the statistics do not depend on x. d_scale, d_bias [channels]; dx may be neither x nor dy.
template <class T>
void batch_norm_grad(const ChannelPlanes& p, const T* dy, const T* x, const T* scale, const T* mean,
                     const T* variance, T epsilon, bool frozen, T* dx, T* d_scale, T* d_bias) {
    ScalarMachine<T> m;
    const T count = static_cast<T>(p.per_channel());
    const auto rs = [&](std::int64_t c) { return rsqrt(m, variance[c] + epsilon); };
    const auto xh = [&](std::int64_t c, std::int64_t i) { return (x[i] - mean[c]) * rs(c); };
    for (std::int64_t c = 0; c < p.channels; ++c) {
        d_bias[c] = channel_sum<T>(p, c, [&](std::int64_t i) { return dy[i]; });
        d_scale[c] = channel_sum<T>(p, c, [&](std::int64_t i) { return dy[i] * xh(c, i); });
    }
    for_each_element(p, [&](std::int64_t c, std::int64_t i) {
        const T factor = scale[c] * rs(c);
        dx[i] = frozen ? dy[i] * factor
                       : ((dy[i] - d_bias[c] / count) - xh(c, i) * (d_scale[c] / count)) * factor;
    });
}

// One micro-batch joins the running statistics [channels]; elements: those that the variance is of, per
// channel, at least 2.
template <class T>
void running_statistics(std::int64_t channels, T momentum, double elements, const T* mean, const T* variance,
                        T* running_mean, T* running_variance) {
    const T unbiased = static_cast<T>(elements / (elements - 1.0));
    for (std::int64_t c = 0; c < channels; ++c) {
        running_mean[c] = ScalarMachine<T>::fma(momentum, mean[c] - running_mean[c], running_mean[c]);
        running_variance[c] = ScalarMachine<T>::fma(momentum, variance[c] * unbiased - running_variance[c],
                                                    running_variance[c]);
    }
}

// Layer norm of the channels of a group as one row; scale, bias [channels], mean, rs [batch, groups].
template <class T>
void group_norm(const ChannelPlanes& p, std::int64_t groups, const T* x, const T* scale, const T* bias,
                T epsilon, T* y, T* mean, T* rs) {
    ScalarMachine<T> m;
    const std::int64_t n = p.channels / groups * p.plane;
    for (std::int64_t r = 0; r < p.batch * groups; ++r) {
        const auto element = [&](std::int64_t j) { return x[r * n + j]; };
        mean[r] = row_sum<T>(n, element) / static_cast<T>(n);
        const auto d = [&](std::int64_t j) { return element(j) - mean[r]; };
        const T variance = row_sum<T>(n, [&](std::int64_t j) { return d(j) * d(j); }) / static_cast<T>(n);
        rs[r] = rsqrt(m, variance + epsilon);
        for (std::int64_t j = 0; j < n; ++j) {
            const std::int64_t c = (r * n + j) / p.plane % p.channels;
            y[r * n + j] = ((d(j) * rs[r]) * scale[c]) + bias[c];
        }
    }
}

template <class T>
void group_norm_grad(const ChannelPlanes& p, std::int64_t groups, const T* dy, const T* x, const T* scale,
                     const T* mean, const T* rs, T* dx, T* d_scale, T* d_bias) {
    const std::int64_t n = p.channels / groups * p.plane;
    const auto xh = [&](std::int64_t i) { return (x[i] - mean[i / n]) * rs[i / n]; };
    for (std::int64_t c = 0; c < p.channels; ++c) {
        d_bias[c] = channel_sum<T>(p, c, [&](std::int64_t i) { return dy[i]; });
        d_scale[c] = channel_sum<T>(p, c, [&](std::int64_t i) { return dy[i] * xh(i); });
    }
    for (std::int64_t r = 0; r < p.batch * groups; ++r) {
        const auto dh = [&](std::int64_t j) {
            return dy[r * n + j] * scale[(r * n + j) / p.plane % p.channels];
        };
        const T a1 = row_sum<T>(n, dh) / static_cast<T>(n);
        const T a2 = row_sum<T>(n, [&](std::int64_t j) { return dh(j) * xh(r * n + j); }) / static_cast<T>(n);
        for (std::int64_t j = 0; j < n; ++j) dx[r * n + j] = ((dh(j) - a1) - xh(r * n + j) * a2) * rs[r];
    }
}

}  // namespace define
}  // namespace volta
