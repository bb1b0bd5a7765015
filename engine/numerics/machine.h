// The machine a definition runs on. Every function of the contract (exp, tanh, gelu, ...) is written once, as
// a template over a machine M, and instantiated three times:
//
//   ScalarMachine<float>    plain C++, one element: the specification, the fallback, the tests' oracle
//   ScalarMachine<double>   double precision: gradient checks by central differences (tests only)
//   jit::Builder            records a Program that the interpreter, AVX2 and AVX-512 run (jitgen/program.h)
//
// M::Real has + - * / (one rounding each); everything else is a member of M:
//
//   Real  real(double constant)          rounded to float first, also in double precision
//   Int   integer(std::uint32_t bits)
//   Real  fma(a, b, c)  sqrt(a)  neg(a)  abs(a)          neg and abs are bit operations
//   Mask  less(a, b)  less_equal(a, b)  equal(a, b)      false when either is NaN
//   Mask  is_nan(a)
//   Mask  both(p, q)  either(p, q)  invert(p)
//   Real  select(p, yes, no)             both sides are computed; NaNs pass through untouched
//   Int   select(p, yes, no)
//   Int   bits(Real)      Real from_bits(Int)             reinterpretation
//   Int   iadd isub iand ior ixor (a, b)                  wrap around modulo 2^32
//   Int   shl(a, n)  shr(a, n)  sar(a, n)                 constant n in 0 .. 31; shr logical, sar arithmetic
//   Int   umul_low(a, b)  umul_high(a, b)                 unsigned 32 x 32 -> 64
//   Mask  iequal(a, b)    Mask uless(a, b)                unsigned comparison
//   Int   truncate(Real)                                  CVTTPS2DQ: toward zero; 0x80000000 out of range
//   Real  to_real(Int)                                    signed, rounded to nearest even
//
// ScalarMachine<double> has no bits, no from_bits and no integer arithmetic: the functions that use them are
// overloaded for it (functions.h), with libm, as the tests' independent reference.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "engine/numerics/fma32.h"

namespace volta {

template <class T>
struct ScalarMachine;

template <>
struct ScalarMachine<float> {
    using Real = float;
    using Int = std::uint32_t;
    using Mask = bool;
    static Real real(double constant) { return static_cast<float>(constant); }
    static Int integer(std::uint32_t value) { return value; }
    static Real fma(Real a, Real b, Real c) { return fma32(a, b, c); }
    static Real sqrt(Real a) { return std::sqrt(a); }
    static Real neg(Real a) { return from_bits(bits(a) ^ 0x80000000u); }
    static Real abs(Real a) { return from_bits(bits(a) & 0x7fffffffu); }
    static Mask less(Real a, Real b) { return a < b; }
    static Mask less_equal(Real a, Real b) { return a <= b; }
    static Mask equal(Real a, Real b) { return a == b; }
    static Mask is_nan(Real a) { return a != a; }
    static Mask both(Mask p, Mask q) { return p && q; }
    static Mask either(Mask p, Mask q) { return p || q; }
    static Mask invert(Mask p) { return !p; }
    static Real select(Mask p, Real yes, Real no) { return p ? yes : no; }
    static Int select(Mask p, Int yes, Int no) { return p ? yes : no; }
    static Int bits(Real a) {
        Int value;
        std::memcpy(&value, &a, sizeof value);
        return value;
    }
    static Real from_bits(Int a) {
        Real value;
        std::memcpy(&value, &a, sizeof value);
        return value;
    }
    static Int iadd(Int a, Int b) { return a + b; }
    static Int isub(Int a, Int b) { return a - b; }
    static Int iand(Int a, Int b) { return a & b; }
    static Int ior(Int a, Int b) { return a | b; }
    static Int ixor(Int a, Int b) { return a ^ b; }
    static Int shl(Int a, int n) { return a << n; }
    static Int shr(Int a, int n) { return a >> n; }
    static Int sar(Int a, int n) { return static_cast<Int>(static_cast<std::int32_t>(a) >> n); }
    static Int umul_low(Int a, Int b) { return a * b; }
    static Int umul_high(Int a, Int b) { return static_cast<Int>((std::uint64_t{a} * b) >> 32); }
    static Mask iequal(Int a, Int b) { return a == b; }
    static Mask uless(Int a, Int b) { return a < b; }
    static Int truncate(Real a) {  // NaN fails both comparisons
        return a >= -2147483648.0f && a < 2147483648.0f ? static_cast<Int>(static_cast<std::int32_t>(a))
                                                        : 0x80000000u;
    }
    static Real to_real(Int a) { return static_cast<float>(static_cast<std::int32_t>(a)); }
};

template <>
struct ScalarMachine<double> {
    using Real = double;
    using Int = std::uint32_t;
    using Mask = bool;
    static Real real(double constant) { return static_cast<float>(constant); }
    static Int integer(std::uint32_t value) { return value; }
    static Real fma(Real a, Real b, Real c) { return a * b + c; }
    static Real sqrt(Real a) { return std::sqrt(a); }
    static Real neg(Real a) { return -a; }
    static Real abs(Real a) { return std::fabs(a); }
    static Mask less(Real a, Real b) { return a < b; }
    static Mask less_equal(Real a, Real b) { return a <= b; }
    static Mask equal(Real a, Real b) { return a == b; }
    static Mask is_nan(Real a) { return a != a; }
    static Mask both(Mask p, Mask q) { return p && q; }
    static Mask either(Mask p, Mask q) { return p || q; }
    static Mask invert(Mask p) { return !p; }
    static Real select(Mask p, Real yes, Real no) { return p ? yes : no; }
    static Int select(Mask p, Int yes, Int no) { return p ? yes : no; }
    static Mask iequal(Int a, Int b) { return a == b; }
    static Mask uless(Int a, Int b) { return a < b; }
};

}  // namespace volta
