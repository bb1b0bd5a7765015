// The coefficients of the contract's functions, highest power first: one table for scalar, emitted and CUDA
// code. Found by tests/numerics/tools/fit_polynomials.py (minimax under the weight of the result's relative
// error, each coefficient rounded before the rest is fitted again). A changed digit is a new contract
// version.
#pragma once

namespace volta::polynomial {

// exp(r) on |r| <= log(2)/2.
inline constexpr float kExp[] = {
    0x1.6a243ap-10f, 0x1.1239ep-7f, 0x1.5558f2p-5f, 0x1.555492p-3f, 0x1.fffffcp-2f, 1.0f, 1.0f};

// log(1 + f) = f + f*f * (-1/2 + f*Q(f)) on |f| <= 1/3.
inline constexpr float kLog[] = {0x1.e04bbp-4f,   -0x1.07bc68p-3f, 0x1.bb3b62p-4f,
                                 -0x1.f33fdap-4f, 0x1.24d7b2p-3f,  -0x1.559bbp-3f,
                                 0x1.99985ep-3f,  -0x1.ffff02p-3f, 0x1.555556p-2f};

// tanh(x) = x + x * (y*P(y)), y = x*x, on |x| < 5/8.
inline constexpr float kTanh[] = {-0x1.750ce4p-8f, 0x1.51f8cep-6f, -0x1.b835a4p-5f, 0x1.1106f6p-3f,
                                  -0x1.555532p-2f};

// erf(x) = x + x*P(y), y = x*x, on |x| < 15/16; beyond it erf(x) = 1 - exp(P(x)), until 1 is all that is left
// at 4.
inline constexpr float kErfInner[] = {-0x1.36aa94p-11f, 0x1.466a9p-8f,   -0x1.b6698ep-6f,
                                      0x1.ce1856p-4f,   -0x1.8126dcp-2f, 0x1.06eba6p-3f};
inline constexpr float kErfOuter[] = {0x1.94a0dp-13f,  -0x1.8b092cp-9f, 0x1.6a40dap-6f,  -0x1.a8b6aep-4f,
                                      -0x1.4660ccp-1f, -0x1.20a4aap+0f, -0x1.ecffeep-13f};

// sin(r) = r + (r*y) * P(y) and cos(r) = 1 + y * (-1/2 + y*P(y)), y = r*r, on |r| <= pi/4.
inline constexpr float kSin[] = {-0x1.991c26p-13f, 0x1.1106c6p-7f, -0x1.555544p-3f};
inline constexpr float kCos[] = {0x1.99e336p-16f, -0x1.6c0c1ep-10f, 0x1.55554ap-5f};

// pi/2 in three floats. n * kHalfPi[0] is subtracted exactly for |x| <= 2^17.
inline constexpr float kHalfPi[] = {0x1.921fb6p+0f, -0x1.777a5cp-25f, -0x1.ee59dap-50f};

// The same in double, for the host's scalars: 2^r = 1 + r*P(r); log((1+s)/(1-s)) = 2s + s*(y*P(y)), y = s*s.
inline constexpr double kSinDouble[] = {0x1.5d8b5585462dap-33, -0x1.ae5e4b83bd660p-26,
                                        0x1.71de35552b331p-19, -0x1.a01a019be9216p-13,
                                        0x1.111111110f730p-7,  -0x1.5555555555548p-3};
inline constexpr double kCosDouble[] = {-0x1.8fa65e796c10bp-37, 0x1.1ee9db8e0eb45p-29,
                                        -0x1.27e4f7f140f15p-22, 0x1.a01a019c8ed06p-16,
                                        -0x1.6c16c16c15013p-10, 0x1.555555555554bp-5};
inline constexpr double kExp2Double[] = {0x1.f0a6fdcb2fd74p-32, 0x1.e63b9029b81e5p-28, 0x1.b5208febfe02dp-24,
                                         0x1.62bfb463e3565p-20, 0x1.ffcbfe667d311p-17, 0x1.4309131682aeep-13,
                                         0x1.5d87fe78457d0p-10, 0x1.3b2ab6fb9dab1p-7,  0x1.c6b08d704a26fp-5,
                                         0x1.ebfbdff82c5b3p-3,  0x1.62e42fefa39efp-1};
inline constexpr double kLogDouble[] = {0x1.2f117e8129798p-3, 0x1.39a0959bcd2b5p-3, 0x1.746649af2b53ep-3,
                                        0x1.c71c51d7cfd2fp-3, 0x1.249249422a45cp-2, 0x1.999999997f9f8p-2,
                                        0x1.5555555555593p-1};

// pi/2 in doubles of 33, 33 and 53 bits: products with n < 2^20 are exact for the first two.
inline constexpr double kHalfPiDouble[] = {0x1.921fb54400000p+0, 0x1.0b4611a600000p-34,
                                           0x1.3198a2e037073p-69};

}  // namespace volta::polynomial
