// The contract's functions (docs/numerics.md, 3 and 5), written once over a machine M (machine.h). What
// stands here is what is computed: every operator and member is one rounding, in this order. Branches on
// values are selects over both sides, so that vectors and scalars agree. No expression holds two calls whose
// order C++ leaves open: a recording machine then records one program, whichever compiler built it.
#pragma once

#include <cstddef>
#include <limits>

#include "engine/numerics/machine.h"
#include "engine/numerics/polynomials.h"

namespace volta {

// ---- Selections ------------------------------------------------------------------------------------------

// NaN from either side; of +0 and -0 the second: operands must not be swapped.
template <class M>
typename M::Real maximum(M& m, typename M::Real a, typename M::Real b) {
    const auto nan = m.is_nan(a), greater = m.less(b, a);
    return m.select(m.either(nan, greater), a, b);
}

template <class M>
typename M::Real minimum(M& m, typename M::Real a, typename M::Real b) {
    const auto nan = m.is_nan(a), less = m.less(a, b);
    return m.select(m.either(nan, less), a, b);
}

template <class M>
typename M::Real clamp(M& m, typename M::Real x, typename M::Real low, typename M::Real high) {
    return minimum(m, maximum(m, x, low), high);
}

// NaN and -0 pass.
template <class M>
typename M::Real relu(M& m, typename M::Real x) {
    const auto zero = m.real(0);
    return m.select(m.less(x, zero), zero, x);
}

// relu'(0) = 0. relu passes a NaN x, so its gradient passes there too.
template <class M>
typename M::Real relu_grad(M& m, typename M::Real x, typename M::Real dy) {
    const auto zero = m.real(0);
    return m.select(m.less_equal(x, zero), zero, dy);
}

// ---- Building blocks -------------------------------------------------------------------------------------

template <class M, std::size_t N>  // coefficients: highest power first
typename M::Real horner(M& m, typename M::Real x, const float (&coefficients)[N]) {
    auto sum = m.real(coefficients[0]);
    for (std::size_t i = 1; i < N; ++i) sum = m.fma(sum, x, m.real(coefficients[i]));
    return sum;
}

template <class M>
typename M::Int sign_bit(M& m, typename M::Real x) {
    const auto mask = m.integer(0x80000000u);
    return m.iand(m.bits(x), mask);
}

template <class M>  // x with its sign flipped where `sign` has the sign bit
typename M::Real flip_sign(M& m, typename M::Real x, typename M::Int sign) {
    return m.from_bits(m.ixor(m.bits(x), sign));
}

template <class M>  // x * 2^k, -126 <= k <= 127
typename M::Real times_power(M& m, typename M::Real x, typename M::Int k) {
    const auto bias = m.integer(127);
    return x * m.from_bits(m.shl(m.iadd(k, bias), 23));
}

template <class M>
struct Rounded {
    typename M::Real shifted;  // its low bits are the integer
    typename M::Real value;    // the integer
};

// x * factor to the nearest integer below 2^22: adding 1.5 * 2^23 leaves no bits behind the point.
template <class M>
Rounded<M> round_product(M& m, typename M::Real x, double factor) {
    const auto f = m.real(factor), shift = m.real(12582912);
    const auto shifted = m.fma(x, f, shift);
    return {shifted, shifted - shift};
}

// ---- Exponential and what is made of it
// --------------------------------------------------------------------

// exp for x <= 0 or NaN, with the bits of exp(): there is no overflow to select.
template <class M>
typename M::Real exp_nonpositive(M& m, typename M::Real x) {
    const auto n = round_product(m, x, 0x1.715476p+0).value;  // x / log(2)
    auto r = m.fma(n, m.real(-0x1.63p-1), x);                 // x - n * log(2), in two parts
    r = m.fma(n, m.real(0x1.bd0106p-13), r);
    const auto p = horner(m, r, polynomial::kExp);
    const auto k = m.truncate(n), half = m.sar(k, 1), rest = m.isub(k, half);
    const auto y =
        times_power(m, times_power(m, p, half), rest);  // two steps: 2^k need not be a normal float
    const auto zero = m.real(0), lowest = m.real(-104);
    return m.select(m.less(x, lowest), zero, y);
}

template <class M>
typename M::Real exp(M& m, typename M::Real x) {
    const auto y = exp_nonpositive(m, x);
    const auto infinity = m.real(std::numeric_limits<double>::infinity()), highest = m.real(88.73);
    return m.select(m.less(highest, x), infinity, y);
}

template <class M>
typename M::Real sigmoid(M& m, typename M::Real x) {
    const auto zero = m.real(0), one = m.real(1);
    const auto e = exp_nonpositive(m, m.neg(m.abs(x)));
    const auto numerator = m.select(m.less(x, zero), e, one);
    return numerator / (one + e);
}

template <class M>
typename M::Real tanh(M& m, typename M::Real x) {
    const auto a = m.abs(x), y = a * a, one = m.real(1), two = m.real(2), limit = m.real(0.625);
    const auto inner = m.fma(a, y * horner(m, y, polynomial::kTanh), a);
    const auto outer = one - two / (exp(m, a + a) + one);
    const auto magnitude = m.select(m.less(a, limit), inner, outer);
    return flip_sign(m, magnitude, sign_bit(m, x));
}

template <class M>
typename M::Real erf(M& m, typename M::Real x) {
    const auto a = m.abs(x), y = a * a, one = m.real(1), limit = m.real(0.9375), highest = m.real(4);
    const auto inner = m.fma(a, horner(m, y, polynomial::kErfInner), a);
    const auto bounded = m.select(m.less(highest, a), highest, a);  // erf(4) rounds to 1; NaN passes
    const auto outer = one - exp_nonpositive(m, horner(m, bounded, polynomial::kErfOuter));
    const auto magnitude = m.select(m.less(a, limit), inner, outer);
    return flip_sign(m, magnitude, sign_bit(m, x));
}

// ---- Logarithm and powers
// ----------------------------------------------------------------------------------

// x = 2^e * (1 + f) with 1 + f in [2/3, 4/3): near 1 e is 0 and f is exact, so nothing cancels.
template <class M>
typename M::Real log(M& m, typename M::Real x) {
    const auto zero = m.real(0), one = m.real(1), infinity = m.real(std::numeric_limits<double>::infinity());
    const auto smallest_normal = m.real(0x1p-126), lift = m.real(0x1p23), lowered = m.real(-23);
    const auto subnormal = m.less(x, smallest_normal);
    const auto ix = m.bits(m.select(subnormal, x * lift, x));
    const auto two_thirds = m.integer(0x3f2aaaabu), high_bits = m.integer(0xff800000u);
    const auto exponent = m.iand(m.isub(ix, two_thirds), high_bits);  // e * 2^23
    const auto f = m.from_bits(m.isub(ix, exponent)) - one;
    const auto lifted = m.select(subnormal, lowered, zero), unit = m.real(0x1p-23),
               ln2 = m.real(0x1.62e43p-1);
    const auto e = m.fma(m.to_real(exponent), unit, lifted);
    const auto q = horner(m, f, polynomial::kLog), minus_half = m.real(-0.5);
    const auto tail = m.fma(f, q, minus_half);
    const auto y = m.fma(e, ln2, m.fma(f * f, tail, f));
    // log(0) = -Inf, log(< 0) = NaN; +Inf and NaN are their own logarithms.
    const auto minus_infinity = m.real(-std::numeric_limits<double>::infinity());
    const auto nan = m.real(std::numeric_limits<double>::quiet_NaN());
    const auto of_nonpositive = m.select(m.equal(x, zero), minus_infinity, nan);
    const auto finite = m.select(m.less_equal(x, zero), of_nonpositive, y);
    return m.select(m.less(x, infinity), finite, x);
}

template <class M>
typename M::Real rsqrt(M& m, typename M::Real x) {
    const auto one = m.real(1);
    return one / m.sqrt(x);
}

template <class M>  // the exponent is a constant of the graph
typename M::Real pow(M& m, typename M::Real x, double exponent) {
    if (exponent == 2) return x * x;
    if (exponent == 3) return (x * x) * x;
    if (exponent == 0.5) return m.sqrt(x);
    if (exponent == -1) return m.real(1) / x;
    if (exponent == -0.5) return rsqrt(m, x);
    const auto y = m.real(exponent);
    return exp(m, y * log(m, x));
}

// ---- Activations
// -------------------------------------------------------------------------------------------

template <class M>
struct Pair {
    typename M::Real first, second;
};

template <class M>
typename M::Real silu(M& m, typename M::Real x) {
    return x * sigmoid(m, x);
}

template <class M>
typename M::Real silu_grad(M& m, typename M::Real x, typename M::Real dy) {
    const auto s = sigmoid(m, x), one = m.real(1);
    return dy * (s * (one + x * (one - s)));
}

// Gated: the activation of a, times b. With dy the gradient of y: of a, then of b.
template <class M>
typename M::Real swiglu(M& m, typename M::Real a, typename M::Real b) {
    const auto gate = silu(m, a);
    return gate * b;
}

template <class M>
Pair<M> swiglu_grad(M& m, typename M::Real a, typename M::Real b, typename M::Real dy) {
    const auto gate = silu(m, a), da = silu_grad(m, a, dy * b);
    return {da, dy * gate};
}

// Leaky ReLU. At 0 the slope is alpha, as relu's is 0; NaN passes.
template <class M>
typename M::Real leaky_relu(M& m, typename M::Real x, typename M::Real alpha) {
    const auto zero = m.real(0), below = alpha * x;
    return m.select(m.less(x, zero), below, x);
}

template <class M>
typename M::Real leaky_relu_grad(M& m, typename M::Real x, typename M::Real dy, typename M::Real alpha) {
    const auto zero = m.real(0), below = alpha * dy;
    return m.select(m.less_equal(x, zero), below, dy);
}

// e^x - 1 of x <= 0 by the tangent of half the angle: 2t / (1 - t) with t = tanh(x/2) <= 0 cancels nowhere.
template <class M>
typename M::Real exp_minus_one_nonpositive(M& m, typename M::Real x) {
    const auto half = m.real(0.5), one = m.real(1);
    const auto t = tanh(m, half * x), twice = t + t, rest = one - t;
    return twice / rest;
}

template <class M>
typename M::Real elu(M& m, typename M::Real x, typename M::Real alpha) {
    const auto zero = m.real(0), below = alpha * exp_minus_one_nonpositive(m, x);
    return m.select(m.less(x, zero), below, x);
}

template <class M>
typename M::Real elu_grad(M& m, typename M::Real x, typename M::Real dy, typename M::Real alpha) {
    const auto zero = m.real(0), below = dy * (alpha * exp_nonpositive(m, x));
    return m.select(m.less_equal(x, zero), below, dy);
}

// log(1 + e) with e = e^-|x| <= 1. What rounding 1 + e to u loses is added again: log(1 + e) = log(u) +
// log(1 + c/u), c = e - (u - 1), and c is below 2^-24.
template <class M>
typename M::Real softplus_rest(M& m, typename M::Real x) {
    const auto one = m.real(1);
    const auto e = exp_nonpositive(m, m.neg(m.abs(x)));
    const auto u = one + e, c = e - (u - one);
    const auto of_u = log(m, u), lost = c / u;
    return of_u + lost;
}

// Softplus, log(1 + e^x), as max(x, 0) + log(1 + e^-|x|).
template <class M>
typename M::Real softplus(M& m, typename M::Real x) {
    const auto zero = m.real(0);
    const auto rest = softplus_rest(m, x), linear = maximum(m, x, zero);
    return linear + rest;
}

template <class M>
typename M::Real softplus_grad(M& m, typename M::Real x, typename M::Real dy) {
    return dy * sigmoid(m, x);
}

// Hard swish: x times a piecewise linear sigmoid, clamp(x + 3, 0, 6) / 6. Near -3 the sum is exact.
inline constexpr double kSixth = 0x1.555556p-3;

template <class M>
typename M::Real hard_swish(M& m, typename M::Real x) {
    const auto zero = m.real(0), three = m.real(3), six = m.real(6), sixth = m.real(kSixth);
    const auto gate = clamp(m, x + three, zero, six) * sixth;
    return x * gate;
}

template <class M>
typename M::Real hard_swish_grad(M& m, typename M::Real x, typename M::Real dy) {
    const auto zero = m.real(0), low = m.real(-3), high = m.real(3), sixth = m.real(kSixth);
    const auto between = dy * (((x + x) + high) * sixth);  // near -1.5 the sum is exact
    const auto right = m.select(m.less_equal(high, x), dy, between);
    return m.select(m.less_equal(x, low), zero, right);
}

// To the nearest integer, halves to the even one: between 2^23 and 2^24 floats have no places behind the
// point. Larger ones are integers already; a zero has the sign of x.
template <class M>
typename M::Real round(M& m, typename M::Real x) {
    const auto a = m.abs(x), shift = m.real(8388608);
    const auto nearest = (a + shift) - shift;
    const auto y = m.from_bits(m.ior(m.bits(nearest), sign_bit(m, x)));
    return m.select(m.less(a, shift), y, x);
}

template <class M>
typename M::Real floor(M& m, typename M::Real x) {
    const auto nearest = round(m, x), one = m.real(1);
    const auto below = nearest - one;
    return m.select(m.less(x, nearest), below, nearest);
}

template <class M>
typename M::Real ceil(M& m, typename M::Real x) {
    return m.neg(floor(m, m.neg(x)));
}

// Hard sigmoid: the line alpha * x + beta, rounded once, between 0 and 1; NaN passes. Flat at both ends.
inline constexpr double kHardSigmoidAlpha = 1.0 / 6;

template <class M>
typename M::Real hard_sigmoid(M& m, typename M::Real x, typename M::Real alpha, typename M::Real beta) {
    const auto zero = m.real(0), one = m.real(1);
    return clamp(m, m.fma(alpha, x, beta), zero, one);
}

template <class M>
typename M::Real hard_sigmoid_grad(M& m, typename M::Real x, typename M::Real dy, typename M::Real alpha,
                                   typename M::Real beta) {
    const auto zero = m.real(0), one = m.real(1);
    const auto line = m.fma(alpha, x, beta), inside = dy * alpha;
    const auto below_one = m.select(m.less_equal(one, line), zero, inside);
    return m.select(m.less_equal(line, zero), zero, below_one);
}

// SELU: gamma times ELU. `below` is gamma * alpha, rounded once.
inline constexpr double kSeluAlpha = 1.67326319217681884765625, kSeluGamma = 1.05070102214813232421875;

template <class M>
typename M::Real selu(M& m, typename M::Real x, typename M::Real gamma, typename M::Real below) {
    const auto zero = m.real(0), above = gamma * x, curve = below * exp_minus_one_nonpositive(m, x);
    return m.select(m.less(x, zero), curve, above);
}

template <class M>
typename M::Real selu_grad(M& m, typename M::Real x, typename M::Real dy, typename M::Real gamma,
                           typename M::Real below) {
    const auto zero = m.real(0), above = dy * gamma;
    const auto curve = dy * (below * exp_nonpositive(m, x));
    return m.select(m.less_equal(x, zero), curve, above);
}

// CELU: ELU whose slope is continuous at 0 for every alpha > 0.
template <class M>
typename M::Real celu(M& m, typename M::Real x, typename M::Real alpha) {
    const auto zero = m.real(0), curve = alpha * exp_minus_one_nonpositive(m, x / alpha);
    return m.select(m.less(x, zero), curve, x);
}

template <class M>
typename M::Real celu_grad(M& m, typename M::Real x, typename M::Real dy, typename M::Real alpha) {
    const auto zero = m.real(0), curve = dy * exp_nonpositive(m, x / alpha);
    return m.select(m.less_equal(x, zero), curve, dy);
}

template <class M>
typename M::Real softsign(M& m, typename M::Real x) {
    const auto one = m.real(1);
    return x / (one + m.abs(x));
}

// Two divisions: the square of the denominator would overflow.
template <class M>
typename M::Real softsign_grad(M& m, typename M::Real x, typename M::Real dy) {
    const auto one = m.real(1), denominator = one + m.abs(x);
    return (dy / denominator) / denominator;
}

// Mish, x * tanh(log(1 + e^x)). The tangent is n / (n + 2) with n = e^x * (e^x + 2); where x is not negative
// both are divided by e^2x. So it is a fraction of sums of positive numbers: nothing overflows or cancels.
template <class M>
struct MishGate {
    typename M::Real gate, rest;  // the tangent, and 1 - the tangent
};

template <class M>
MishGate<M> mish_gate(M& m, typename M::Real x) {
    const auto zero = m.real(0), one = m.real(1), two = m.real(2);
    const auto e = exp_nonpositive(m, m.neg(m.abs(x))), twice = e + e;
    const auto below = e * (e + two), above = one + twice;
    const auto negative = m.less(x, zero);
    const auto numerator = m.select(negative, below, above), rest = m.select(negative, two, twice * e);
    const auto denominator = numerator + rest, gate = numerator / denominator;
    return {gate, rest / denominator};
}

template <class M>
typename M::Real mish(M& m, typename M::Real x) {
    return x * mish_gate(m, x).gate;
}

template <class M>
typename M::Real mish_grad(M& m, typename M::Real x, typename M::Real dy) {
    const auto parts = mish_gate(m, x);
    const auto s = sigmoid(m, x), one = m.real(1);
    return dy * (parts.gate + x * (s * (parts.rest * (one + parts.gate))));
}

// GELU by tanh, as x * sigmoid(t): 0.5 * (1 + tanh(t/2)) is sigmoid(t), t = x * (c0 + c1 * x*x).
inline constexpr double kGeluC0 = 0x1.988454p+0;      // 2 * sqrt(2/pi)
inline constexpr double kGeluC1 = 0x1.2444f2p-4;      // 0.044715 * c0
inline constexpr double kGelu3C1 = 0x1.b6676cp-3;     // 3 * c1
inline constexpr double kHalfRoot = 0x1.6a09e6p-1;    // sqrt(1/2)
inline constexpr double kNormalPeak = 0x1.988454p-2;  // 1 / sqrt(2 pi)

template <class M>
typename M::Real gelu_tanh(M& m, typename M::Real x) {
    const auto c1 = m.real(kGeluC1), c0 = m.real(kGeluC0);
    const auto t = x * m.fma(x * x, c1, c0);
    return x * sigmoid(m, t);
}

// Beyond 16 the gradient is 0 or 1; the clamp keeps x*x*x from overflowing into Inf * 0.
template <class M>
typename M::Real gelu_tanh_grad(M& m, typename M::Real x, typename M::Real dy) {
    const auto low = m.real(-16), high = m.real(16), xc = clamp(m, x, low, high), x2 = xc * xc;
    const auto c1 = m.real(kGeluC1), c0 = m.real(kGeluC0), one = m.real(1);
    const auto s = sigmoid(m, xc * m.fma(x2, c1, c0));
    const auto slope = m.fma(x2, m.real(kGelu3C1), c0), rest = one - s;
    return dy * (s + ((xc * s) * rest) * slope);
}

template <class M>
typename M::Real gelu_erf(M& m, typename M::Real x) {
    const auto half = m.real(0.5), one = m.real(1), root = m.real(kHalfRoot), e = erf(m, x * root);
    const auto half_x = half * x;
    return half_x * (one + e);
}

template <class M>
typename M::Real gelu_erf_grad(M& m, typename M::Real x, typename M::Real dy) {
    const auto half = m.real(0.5), minus_half = m.real(-0.5), one = m.real(1);
    const auto root = m.real(kHalfRoot), peak = m.real(kNormalPeak);
    const auto below = half * (one + erf(m, x * root));  // the normal distribution's mass below x
    const auto x2 = x * x;
    const auto density = exp_nonpositive(m, minus_half * x2) * peak;
    return dy * (below + x * density);
}

// ---- Losses of one element
// ---------------------------------------------------------------------------------

// With d = x - target.
template <class M>
typename M::Real l1_slope(M& m, typename M::Real d, typename M::Real g) {
    const auto zero = m.real(0), negative = m.neg(g);
    const auto slope = m.select(m.less(d, zero), negative, g);
    return m.select(m.equal(d, zero), zero, slope);
}

template <class M>
typename M::Real huber_loss(M& m, typename M::Real d, double delta) {
    const auto half = m.real(0.5), edge = m.real(delta), half_edge = half * edge;
    const auto a = m.abs(d), inside = (half * d) * d, outside = edge * (a - half_edge);
    return m.select(m.less_equal(a, edge), inside, outside);
}

template <class M>
typename M::Real huber_slope(M& m, typename M::Real d, double delta, typename M::Real g) {
    const auto low = m.real(-delta), high = m.real(delta);
    return clamp(m, d, low, high) * g;
}

// Of logit x against target t in 0 .. 1: -log(p) and -log(1 - p), neither of which cancels. `weight` is the
// positive's; NULL: 1.
template <class M>
typename M::Real logit_loss(M& m, typename M::Real x, typename M::Real t, const typename M::Real* weight) {
    const auto zero = m.real(0), one = m.real(1);
    const auto rest = softplus_rest(m, x);
    const auto of_zero = maximum(m, x, zero) + rest, of_one = maximum(m, m.neg(x), zero) + rest;
    const auto plain = t * of_one, other = (one - t) * of_zero;
    const auto positive = weight != nullptr ? plain * *weight : plain;
    return positive + other;
}

template <class M>
typename M::Real logit_slope(M& m, typename M::Real x, typename M::Real t, const typename M::Real* weight,
                             typename M::Real g) {
    const auto one = m.real(1), p = sigmoid(m, x), rest = sigmoid(m, m.neg(x));
    const auto plain = t * rest, other = (one - t) * p;
    const auto positive = weight != nullptr ? plain * *weight : plain;
    return (other - positive) * g;
}

// ---- Sine and cosine
// ---------------------------------------------------------------------------------------

// |x| = n * pi/2 + r, |r| <= pi/4.
template <class M>
struct Quadrant {
    typename M::Real sine, cosine;  // of r
    typename M::Int n;              // its two low bits count
    typename M::Mask even;          // n is even
};

template <class M>
Quadrant<M> reduce_to_quadrant(M& m, typename M::Real a) {
    const auto n = round_product(m, a, 0x1.45f306p-1);  // a / (pi/2)
    auto r = a;
    for (const float part : polynomial::kHalfPi) r = m.fma(n.value, m.real(-part), r);
    const auto y = r * r, ry = r * y, one = m.real(1), minus_half = m.real(-0.5);
    const auto sine = m.fma(ry, horner(m, y, polynomial::kSin), r);
    const auto tail = m.fma(y, horner(m, y, polynomial::kCos), minus_half);
    const auto cosine = m.fma(y, tail, one);
    const auto bits = m.bits(n.shifted), bit = m.integer(1), zero = m.integer(0);
    return {sine, cosine, bits, m.iequal(m.iand(bits, bit), zero)};
}

// y, negated where bit 1 of n is set; NaN where a > 2^17: three floats no longer hold enough of pi/2.
template <class M>
typename M::Real in_quadrant(M& m, typename M::Real y, typename M::Int n, typename M::Real a) {
    const auto two = m.integer(2);
    const auto value = flip_sign(m, y, m.shl(m.iand(n, two), 30));
    const auto highest = m.real(0x1p17), nan = m.real(std::numeric_limits<double>::quiet_NaN());
    return m.select(m.less_equal(a, highest), value, nan);
}

template <class M>
typename M::Real sin(M& m, typename M::Real x) {
    const auto a = m.abs(x);
    const auto q = reduce_to_quadrant(m, a);
    const auto y = in_quadrant(m, m.select(q.even, q.sine, q.cosine), q.n, a);
    return flip_sign(m, y, sign_bit(m, x));
}

template <class M>
typename M::Real cos(M& m, typename M::Real x) {
    const auto a = m.abs(x);
    const auto q = reduce_to_quadrant(m, a);
    const auto one = m.integer(1), n = m.iadd(q.n, one);  // cos is negative in quadrants 1 and 2
    return in_quadrant(m, m.select(q.even, q.cosine, q.sine), n, a);
}

// ---- Scores of attention that are bounded by a cap. z = x * scale, -Inf of a key that has no weight: that
// stays.

template <class M>
typename M::Real score_tangent(M& m, typename M::Real z, typename M::Real cap) {
    return tanh(m, z / cap);
}

template <class M>
typename M::Real capped_score(M& m, typename M::Real z, typename M::Real tangent, typename M::Real cap) {
    const auto nothing = m.real(-std::numeric_limits<double>::infinity()), bounded = tangent * cap;
    return m.select(m.equal(z, nothing), nothing, bounded);
}

template <class M>  // the gradient of z, of that of the score
typename M::Real capped_score_grad(M& m, typename M::Real tangent, typename M::Real ds) {
    const auto one = m.real(1), slope = one - tangent * tangent;
    return ds * slope;
}

// ---- Rotary position: the pair (x0, x1) turned by the angle with this cosine and sine
// -------------------------

template <class M>  // backward: the same with -sine
Pair<M> rotate(M&, typename M::Real x0, typename M::Real x1, typename M::Real cosine, typename M::Real sine) {
    const auto x0c = x0 * cosine, x1s = x1 * sine, x0s = x0 * sine, x1c = x1 * cosine;
    const auto y0 = x0c - x1s, y1 = x0s + x1c;
    return {y0, y1};
}

// ---- The tests' independent reference: the same names in double precision, by libm
// ---------------------------

using Reference = ScalarMachine<double>;
inline double exp(Reference&, double x) { return std::exp(x); }
inline double exp_nonpositive(Reference&, double x) { return std::exp(x); }
inline double log(Reference&, double x) { return std::log(x); }
inline double tanh(Reference&, double x) { return std::tanh(x); }
inline double erf(Reference&, double x) { return std::erf(x); }
inline double sin(Reference&, double x) { return std::sin(x); }
inline double cos(Reference&, double x) { return std::cos(x); }
inline double round(Reference&, double x) { return std::rint(x); }
inline double floor(Reference&, double x) { return std::floor(x); }
inline double ceil(Reference&, double x) { return std::ceil(x); }

}  // namespace volta
