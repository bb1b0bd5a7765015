#include "engine/numerics/double_functions.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "engine/numerics/polynomials.h"

namespace volta {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::uint64_t bits_of(double x) {
    std::uint64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}

double from_bits(std::uint64_t bits) {
    double x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

double power_of_two(int k) { return from_bits(static_cast<std::uint64_t>(k + 1023) << 52); }  // -1022 .. 1023

// To the nearest integer, |x| < 2^51: the sum has no bits behind the point. Needs round to nearest (MXCSR).
double round_to_integer(double x) {
    constexpr double kShift = 0x1.8p+52;
    return (x + kShift) - kShift;
}

template <std::size_t N>  // highest power first
double horner(double x, const double (&coefficients)[N]) {
    double sum = coefficients[0];
    for (std::size_t i = 1; i < N; ++i) sum = sum * x + coefficients[i];
    return sum;
}

// x = n * pi/2 + (high + low), |high| <= pi/4. The first two products are exact: 33 bits times at most 20.
struct Reduced {
    double high, low;
    unsigned quadrant;
};

Reduced reduce_to_quadrant(double x) {
    const auto& half_pi = polynomial::kHalfPiDouble;
    const double n = round_to_integer(x * 0x1.45f306dc9c883p-1);
    const double first = x - n * half_pi[0];  // exact: they are close
    const double taken = n * half_pi[1];
    const double second = first - taken;  // rounded; TwoSum below finds what it lost
    const double back = second - first;
    const double lost = (first - (second - back)) - (taken + back);
    const double tail = lost - n * half_pi[2];
    const double high = second + tail;
    return {high, (second - high) + tail, static_cast<unsigned>(static_cast<std::int64_t>(n)) & 3};
}

// The tail's share is its product with the derivative.
double sine_of(const Reduced& r) {
    const double y = r.high * r.high;
    return r.high + ((r.high * y) * horner(y, polynomial::kSinDouble) + r.low * (1 - 0.5 * y));
}

double cosine_of(const Reduced& r) {
    const double y = r.high * r.high, half = 0.5 * y;
    const double head = 1 - half, lost = (1 - head) - half;
    return head + (lost + ((y * y) * horner(y, polynomial::kCosDouble) - r.high * r.low));
}

constexpr double kLargestAngle = 0x1p20;

}  // namespace

double sind(double x) {
    if (x == 0) return x;
    if (!(x >= -kLargestAngle && x <= kLargestAngle)) return kNan;
    const Reduced r = reduce_to_quadrant(x);
    const double y = r.quadrant & 1 ? cosine_of(r) : sine_of(r);
    return r.quadrant & 2 ? -y : y;
}

double cosd(double x) {
    if (!(x >= -kLargestAngle && x <= kLargestAngle)) return kNan;
    const Reduced r = reduce_to_quadrant(x);
    const double y = r.quadrant & 1 ? sine_of(r) : cosine_of(r);
    return r.quadrant == 1 || r.quadrant == 2 ? -y : y;
}

double exp2d(double x) {
    if (x != x) return x;
    if (x > 1024) return kInfinity;
    if (x < -1076) return 0;
    const double n = round_to_integer(x), r = x - n;
    const double y = 1 + r * horner(r, polynomial::kExp2Double);
    const int k = static_cast<int>(n), half = k / 2;
    return (y * power_of_two(half)) * power_of_two(k - half);
}

double log2d(double x) {
    if (x == 0) return -kInfinity;
    if (!(x > 0)) return kNan;
    if (x == kInfinity) return x;
    const bool subnormal = x < 0x1p-1022;
    const std::uint64_t bits = bits_of(subnormal ? x * 0x1p54 : x);
    // x = 2^e * m, m in [sqrt(1/2), sqrt(2)).
    const std::int64_t e = static_cast<std::int64_t>(bits - 0x3fe6a09e667f3bcdu) >> 52;
    const double m = from_bits(bits - (static_cast<std::uint64_t>(e) << 52));
    const double s = (m - 1) / (m + 1), y = s * s;
    const double log_m = 2 * s + s * (y * horner(y, polynomial::kLogDouble));
    return static_cast<double>(subnormal ? e - 54 : e) + log_m * 0x1.71547652b82fep+0;
}

double rotary_frequency(long long i, long long head_dim, double base) {
    const double share = static_cast<double>(2 * i) / static_cast<double>(head_dim);
    return exp2d(-share * log2d(base));
}

RotaryEntry rotary_entry(long long position, double frequency, double scale) {
    const double angle = static_cast<double>(position) * frequency;
    return {static_cast<float>(cosd(angle) * scale), static_cast<float>(sind(angle) * scale)};
}

}  // namespace volta
