// Updates of parameters (docs/numerics.md, 6): the factors of a step, computed in double and rounded once,
// and the update of one element over a machine M. Every update starts with the clipping factor, which is 1
// without clipping.
#pragma once

#include <cmath>
#include <cstdint>

#include "engine/numerics/double_functions.h"
#include "engine/numerics/functions.h"

namespace volta {

// Learning rate of step t = 0, 1, ...: linear from high/warmup to high, then constant or a half cosine to
// low.
struct Schedule {
    bool cosine = false;
    double high = 0, low = 0;
    std::int64_t warmup = 0, total = 0;
};

inline double learning_rate(const Schedule& s, std::int64_t t) {
    if (t < s.warmup) return s.high * static_cast<double>(t + 1) / static_cast<double>(s.warmup);
    if (!s.cosine) return s.high;
    const double length = static_cast<double>(s.total - s.warmup);
    const double share = t < s.total ? static_cast<double>(t - s.warmup) / length : 1;
    return s.low + 0.5 * (s.high - s.low) * (1 + cosd(kPi * share));
}

// The host's side of AdamW and Adam. beta1_power and beta2_power are the running products after this step's
// multiplication (beta^t at step t = 1, 2, ...); they are kept as doubles and saved bit for bit.
struct AdamOptions {
    double beta1, beta2, epsilon, weight_decay;
};

template <class Real>
struct AdamFactors {
    Real beta1, one_minus_beta1, beta2, one_minus_beta2;
    Real rate;  // lr / (1 - beta1^t)
    Real root;  // 1 / sqrt(1 - beta2^t)
    Real epsilon;
    Real keep;   // AdamW: 1 - lr * weight decay
    Real decay;  // Adam: weight decay, added to the gradient
};

inline AdamFactors<float> adam_factors(const AdamOptions& o, double lr, double beta1_power,
                                       double beta2_power) {
    const auto f = [](double x) { return static_cast<float>(x); };
    return {f(o.beta1),
            f(1 - o.beta1),
            f(o.beta2),
            f(1 - o.beta2),
            f(lr / (1 - beta1_power)),
            f(1 / std::sqrt(1 - beta2_power)),
            f(o.epsilon),
            f(1 - lr * o.weight_decay),
            f(o.weight_decay)};
}

template <class Real>
struct AdamElement {
    Real w, m, v;  // parameter, first and second moment; the moments start at +0
};

// w - rate * u, u = m / (sqrt(v) * root + epsilon), of the moments that g has joined.
template <class M>
AdamElement<typename M::Real> adam_step(M& m, AdamElement<typename M::Real> e, typename M::Real g,
                                        const AdamFactors<typename M::Real>& f) {
    const auto m1 = m.fma(f.beta1, e.m, f.one_minus_beta1 * g);
    const auto v1 = m.fma(f.beta2, e.v, (f.one_minus_beta2 * g) * g);
    const auto u = m1 / m.fma(m.sqrt(v1), f.root, f.epsilon);
    return {m.fma(m.neg(f.rate), u, e.w), m1, v1};
}

// Decoupled weight decay: w shrinks before the step, the gradient does not see it.
template <class M>
AdamElement<typename M::Real> adamw(M& m, AdamElement<typename M::Real> e, typename M::Real g,
                                    typename M::Real clip, const AdamFactors<typename M::Real>& f) {
    const auto clipped = g * clip, kept = e.w * f.keep;
    return adam_step(m, {kept, e.m, e.v}, clipped, f);
}

template <class M>
AdamElement<typename M::Real> adam(M& m, AdamElement<typename M::Real> e, typename M::Real g,
                                   typename M::Real clip, const AdamFactors<typename M::Real>& f) {
    const auto decayed = m.fma(f.decay, e.w, g * clip);
    return adam_step(m, e, decayed, f);
}

template <class Real>
struct SgdFactors {
    Real rate, momentum, decay;
};

template <class Real>
struct SgdElement {
    Real w, v;  // parameter, velocity; the velocity starts at +0
};

template <class M>
SgdElement<typename M::Real> sgd(M& m, SgdElement<typename M::Real> e, typename M::Real g,
                                 typename M::Real clip, const SgdFactors<typename M::Real>& f,
                                 bool nesterov) {
    const auto decayed = m.fma(f.decay, e.w, g * clip);
    const auto v = m.fma(f.momentum, e.v, decayed);
    const auto u = nesterov ? m.fma(f.momentum, v, decayed) : v;
    return {m.fma(m.neg(f.rate), u, e.w), v};
}

template <class Real>
struct AdagradFactors {
    Real rate, epsilon;
};

template <class Real>
struct AdagradElement {
    Real w, h;  // parameter, sum of squared gradients, which starts at +0
};

template <class M>
AdagradElement<typename M::Real> adagrad(M& m, AdagradElement<typename M::Real> e, typename M::Real g,
                                         typename M::Real clip, const AdagradFactors<typename M::Real>& f) {
    const auto clipped = g * clip;
    const auto h = m.fma(clipped, clipped, e.h);
    const auto step = clipped / (m.sqrt(h) + f.epsilon);
    return {m.fma(m.neg(f.rate), step, e.w), h};
}

// What every gradient is multiplied with: 1 (exactly) while the global norm is at most `most`.
template <class M>
typename M::Real clip_factor(M& m, typename M::Real norm, typename M::Real most) {
    const auto one = m.real(1), shrunk = most / norm;
    return m.select(m.less(most, norm), shrunk, one);
}

}  // namespace volta
