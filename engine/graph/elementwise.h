// What every elementwise operator computes, once for all machines: the evaluator instantiates these
// definitions with floats and doubles, backends with the builder of their kernels
// (engine/backend/lower/row_programs.cpp). To define an operator, overload define(); both then have it. What
// takes more than a line is a function of the contract (engine/numerics/functions.h).
//
// A definition sees its operator through S:
//
//   s.m                the machine (engine/numerics/machine.h)
//   s.real(i)          the element of input i, f32
//   s.whole(i)         the element of input i, i32
//   s.number(key)      an attribute, or its default
//   s.random(stream)   32 bits of this element's own (docs/numerics.md, 7); the last input holds seed and step
//
// and returns a Real or an Int of the machine. A recording machine records in the order of evaluation: where
// a call would leave the order open there is one statement per input.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "engine/graph/op.h"
#include "engine/numerics/functions.h"
#include "engine/numerics/random.h"

namespace volta::elementwise {

template <Op op>
struct Is {};

// ---- Parts -----------------------------------------------------------------------------------------------

// The gradient of maximum or minimum: the operand that was taken gets dy, which is a where a is NaN or wins
// strictly.
template <class S, class Wins>
auto choice_grad(S& s, Wins wins) {
    const auto a = s.real(0), b = s.real(1), dy = s.real(2), zero = s.m.real(0);
    const auto won = wins(a, b), nan = s.m.is_nan(a);
    const auto took_a = s.m.either(nan, won);
    const bool of_a = s.number(Attr::operand) == 0;
    return of_a ? s.m.select(took_a, dy, zero) : s.m.select(took_a, zero, dy);
}

// The gradient of prelu: that of x is leaky_relu's, and the slope matters where x is negative.
template <class S>
auto prelu_grad(S& s) {
    const auto x = s.real(0), slope = s.real(1), dy = s.real(2);
    if (s.number(Attr::operand) == 0) return leaky_relu_grad(s.m, x, dy, slope);
    const auto zero = s.m.real(0), of_slope = x * dy;
    return s.m.select(s.m.less(x, zero), of_slope, zero);
}

template <class S, class Compare>
auto comparison(S& s, Compare compare) {
    const auto a = s.real(0), b = s.real(1);
    const auto one = s.m.integer(1), zero = s.m.integer(0);
    return s.m.select(compare(a, b), one, zero);
}

template <class S>
auto where(S& s) {
    const auto mask = s.whole(0), zero = s.m.integer(0);
    const auto no = s.m.iequal(mask, zero);
    const auto yes = s.real(1), other = s.real(2);
    return s.m.select(no, other, yes);
}

template <class S>
auto dropout(S& s) {
    const auto bits = s.random(static_cast<std::uint32_t>(s.number(Attr::stream)));
    return volta::dropout(s.m, s.real(0), bits, dropout_rule(s.number(Attr::probability)));
}

template <class S>
auto clip_factor(S& s) {
    const auto norm = s.real(0), most = s.m.real(s.number(Attr::maximum_norm)), one = s.m.real(1);
    const auto above = s.m.less(most, norm);
    return s.m.select(above, most / norm, one);
}

// ---- Definitions -----------------------------------------------------------------------------------------

// clang-format off
template <class S> auto define(Is<Op::neg>, S& s)       { return s.m.neg(s.real(0)); }
template <class S> auto define(Is<Op::abs>, S& s)       { return s.m.abs(s.real(0)); }
template <class S> auto define(Is<Op::exp>, S& s)       { return exp(s.m, s.real(0)); }
template <class S> auto define(Is<Op::log>, S& s)       { return log(s.m, s.real(0)); }
template <class S> auto define(Is<Op::sqrt>, S& s)      { return s.m.sqrt(s.real(0)); }
template <class S> auto define(Is<Op::rsqrt>, S& s)     { return rsqrt(s.m, s.real(0)); }
template <class S> auto define(Is<Op::tanh>, S& s)      { return tanh(s.m, s.real(0)); }
template <class S> auto define(Is<Op::erf>, S& s)       { return erf(s.m, s.real(0)); }
template <class S> auto define(Is<Op::sigmoid>, S& s)   { return sigmoid(s.m, s.real(0)); }
template <class S> auto define(Is<Op::silu>, S& s)      { return silu(s.m, s.real(0)); }
template <class S> auto define(Is<Op::gelu_tanh>, S& s) { return gelu_tanh(s.m, s.real(0)); }
template <class S> auto define(Is<Op::gelu_erf>, S& s)  { return gelu_erf(s.m, s.real(0)); }
template <class S> auto define(Is<Op::relu>, S& s)      { return relu(s.m, s.real(0)); }
template <class S> auto define(Is<Op::leaky_relu>, S& s) {
    const auto alpha = s.m.real(s.number(Attr::alpha));
    return leaky_relu(s.m, s.real(0), alpha);
}
template <class S> auto define(Is<Op::elu>, S& s) {
    const auto alpha = s.m.real(s.number(Attr::alpha));
    return elu(s.m, s.real(0), alpha);
}
template <class S> auto define(Is<Op::softplus>, S& s)  { return softplus(s.m, s.real(0)); }
template <class S> auto define(Is<Op::hard_swish>, S& s) { return hard_swish(s.m, s.real(0)); }
template <class S> auto define(Is<Op::hard_sigmoid>, S& s) {
    const auto alpha = s.m.real(s.number(Attr::alpha)), beta = s.m.real(s.number(Attr::beta));
    return hard_sigmoid(s.m, s.real(0), alpha, beta);
}
template <class S> auto define(Is<Op::selu>, S& s) {
    const auto gamma = s.m.real(s.number(Attr::gamma)), below = s.m.real(s.number(Attr::gamma) * s.number(Attr::alpha));
    return selu(s.m, s.real(0), gamma, below);
}
template <class S> auto define(Is<Op::celu>, S& s) {
    const auto alpha = s.m.real(s.number(Attr::alpha));
    return celu(s.m, s.real(0), alpha);
}
template <class S> auto define(Is<Op::softsign>, S& s)  { return softsign(s.m, s.real(0)); }
template <class S> auto define(Is<Op::mish>, S& s)      { return mish(s.m, s.real(0)); }
template <class S> auto define(Is<Op::floor>, S& s)     { return floor(s.m, s.real(0)); }
template <class S> auto define(Is<Op::ceil>, S& s)      { return ceil(s.m, s.real(0)); }
template <class S> auto define(Is<Op::round>, S& s)     { return round(s.m, s.real(0)); }
template <class S> auto define(Is<Op::sin>, S& s)       { return sin(s.m, s.real(0)); }
template <class S> auto define(Is<Op::cos>, S& s)       { return cos(s.m, s.real(0)); }
template <class S> auto define(Is<Op::pow>, S& s)       { return pow(s.m, s.real(0), s.number(Attr::exponent)); }
template <class S> auto define(Is<Op::clamp>, S& s) {
    const auto low = s.m.real(s.number(Attr::low)), high = s.m.real(s.number(Attr::high));
    return clamp(s.m, s.real(0), low, high);
}

template <class S> auto define(Is<Op::add>, S& s)     { const auto a = s.real(0), b = s.real(1); return a + b; }
template <class S> auto define(Is<Op::sub>, S& s)     { const auto a = s.real(0), b = s.real(1); return a - b; }
template <class S> auto define(Is<Op::mul>, S& s)     { const auto a = s.real(0), b = s.real(1); return a * b; }
template <class S> auto define(Is<Op::div>, S& s)     { const auto a = s.real(0), b = s.real(1); return a / b; }
template <class S> auto define(Is<Op::maximum>, S& s) { const auto a = s.real(0), b = s.real(1); return maximum(s.m, a, b); }
template <class S> auto define(Is<Op::minimum>, S& s) { const auto a = s.real(0), b = s.real(1); return minimum(s.m, a, b); }
template <class S> auto define(Is<Op::prelu>, S& s)   { const auto x = s.real(0), slope = s.real(1); return leaky_relu(s.m, x, slope); }
template <class S> auto define(Is<Op::less>, S& s) {
    return comparison(s, [&](auto a, auto b) { return s.m.less(a, b); });
}
template <class S> auto define(Is<Op::less_equal>, S& s) {
    return comparison(s, [&](auto a, auto b) { return s.m.less_equal(a, b); });
}
template <class S> auto define(Is<Op::equal>, S& s) {
    return comparison(s, [&](auto a, auto b) { return s.m.equal(a, b); });
}
template <class S> auto define(Is<Op::where>, S& s) { return where(s); }

template <class S> auto define(Is<Op::gelu_tanh_grad>, S& s) { const auto x = s.real(0), dy = s.real(1); return gelu_tanh_grad(s.m, x, dy); }
template <class S> auto define(Is<Op::gelu_erf_grad>, S& s)  { const auto x = s.real(0), dy = s.real(1); return gelu_erf_grad(s.m, x, dy); }
template <class S> auto define(Is<Op::silu_grad>, S& s)      { const auto x = s.real(0), dy = s.real(1); return silu_grad(s.m, x, dy); }
template <class S> auto define(Is<Op::relu_grad>, S& s)      { const auto y = s.real(0), dy = s.real(1); return relu_grad(s.m, y, dy); }
template <class S> auto define(Is<Op::leaky_relu_grad>, S& s) {
    const auto alpha = s.m.real(s.number(Attr::alpha));
    const auto x = s.real(0), dy = s.real(1);
    return leaky_relu_grad(s.m, x, dy, alpha);
}
template <class S> auto define(Is<Op::elu_grad>, S& s) {
    const auto alpha = s.m.real(s.number(Attr::alpha));
    const auto x = s.real(0), dy = s.real(1);
    return elu_grad(s.m, x, dy, alpha);
}
template <class S> auto define(Is<Op::softplus_grad>, S& s)  { const auto x = s.real(0), dy = s.real(1); return softplus_grad(s.m, x, dy); }
template <class S> auto define(Is<Op::hard_swish_grad>, S& s) { const auto x = s.real(0), dy = s.real(1); return hard_swish_grad(s.m, x, dy); }
template <class S> auto define(Is<Op::hard_sigmoid_grad>, S& s) {
    const auto alpha = s.m.real(s.number(Attr::alpha)), beta = s.m.real(s.number(Attr::beta));
    const auto x = s.real(0), dy = s.real(1);
    return hard_sigmoid_grad(s.m, x, dy, alpha, beta);
}
template <class S> auto define(Is<Op::selu_grad>, S& s) {
    const auto gamma = s.m.real(s.number(Attr::gamma)), below = s.m.real(s.number(Attr::gamma) * s.number(Attr::alpha));
    const auto x = s.real(0), dy = s.real(1);
    return selu_grad(s.m, x, dy, gamma, below);
}
template <class S> auto define(Is<Op::celu_grad>, S& s) {
    const auto alpha = s.m.real(s.number(Attr::alpha));
    const auto x = s.real(0), dy = s.real(1);
    return celu_grad(s.m, x, dy, alpha);
}
template <class S> auto define(Is<Op::softsign_grad>, S& s) { const auto x = s.real(0), dy = s.real(1); return softsign_grad(s.m, x, dy); }
template <class S> auto define(Is<Op::mish_grad>, S& s)     { const auto x = s.real(0), dy = s.real(1); return mish_grad(s.m, x, dy); }
template <class S> auto define(Is<Op::maximum_grad>, S& s) {
    return choice_grad(s, [&](auto a, auto b) { return s.m.less(b, a); });
}
template <class S> auto define(Is<Op::minimum_grad>, S& s) {
    return choice_grad(s, [&](auto a, auto b) { return s.m.less(a, b); });
}
template <class S> auto define(Is<Op::prelu_grad>, S& s)  { return prelu_grad(s); }
template <class S> auto define(Is<Op::dropout>, S& s)     { return dropout(s); }
template <class S> auto define(Is<Op::accumulate>, S& s)  { return s.real(0); }  // of one micro-batch
template <class S> auto define(Is<Op::clip_factor>, S& s) { return clip_factor(s); }
// clang-format on

// ---- Walking them ----------------------------------------------------------------------------------------

template <Op op, class S, class = void>
struct IsDefined : std::false_type {};
template <Op op, class S>
struct IsDefined<op, S, std::void_t<decltype(define(Is<op>{}, std::declval<S&>()))>> : std::true_type {};

// One function per operator in the order of Op, NULL where there is no definition: Each::run<op>, for S =
// Each::Scope.
template <class Each>
using Function = decltype(&Each::template run<Op::neg>);
template <class Each, Op op>
constexpr Function<Each> function_of() {
    if constexpr (IsDefined<op, typename Each::Scope>::value)
        return &Each::template run<op>;
    else
        return nullptr;
}
template <class Each, std::size_t... i>
constexpr std::array<Function<Each>, kOpCount> functions_of(std::index_sequence<i...>) {
    return {{function_of<Each, static_cast<Op>(i)>()...}};
}
template <class Each>
constexpr std::array<Function<Each>, kOpCount> all_functions() {
    return functions_of<Each>(std::make_index_sequence<kOpCount>{});
}

}  // namespace volta::elementwise
