// Double-precision functions for the host's scalars: schedules, bias corrections, rotary tables. The engine's
// own, of + - * / alone, because libm's differ between machines and every bit of a training run depends on
// them. Within 3 ulp (7e-16 relative) of the exact value; the same bits from every compiler and at every
// level.
#pragma once

namespace volta {

inline constexpr double kPi = 0x1.921fb54442d18p+1;

double sind(double x);   // |x| <= 2^20, NaN beyond it; +-0 gives +-0
double cosd(double x);   // |x| <= 2^20, NaN beyond it
double exp2d(double x);  // 2^x; +Inf from 1024 on, +0 from -1075 down
double log2d(double x);  // -Inf for +-0, NaN below

// The rotary table's entry for pair i of a head of `head_dim` elements at a position, times `scale`, rounded
// once. Positions up to 2^20: pair 0 turns by one radian per position.
struct RotaryEntry {
    float cosine, sine;
};
double rotary_frequency(long long i, long long head_dim, double base);  // radians per position
RotaryEntry rotary_entry(long long position, double frequency, double scale = 1);

}  // namespace volta
