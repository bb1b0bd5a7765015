#!/usr/bin/env python3
"""Finds the coefficients of engine/numerics/polynomials.h: weighted minimax polynomials by Remez' exchange, each
coefficient rounded to its type before the remaining ones are fitted again. Needs mpmath. Prints hexadecimal floats.

Usage: fit_polynomials.py [name ...]      (no name: all)
"""
import struct
import sys

from mpmath import cos, erf, erfc, linspace, log, lu_solve, matrix, mp, mpf, nstr, pi, sin, sqrt, tanh

mp.prec = 160


def to_f32(x):
    return mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def to_f64(x):
    return mpf(float(x))


def minimax(target, powers, low, high, weight, points=1200):
    """Coefficients c of sum(c[i] * x**powers[i]) with the least largest |weight * (target - sum)| on [low, high]."""
    n = len(powers)
    # Chebyshev-like grid: dense at both ends, where the extrema crowd.
    grid = [(low + high) / 2 - (high - low) / 2 * cos(pi * (i + mpf(1) / 2) / points) for i in range(points)]
    values = [target(x) for x in grid]
    weights = [weight(x) for x in grid]
    basis = [[x**p for p in powers] for x in grid]
    picks = [round((points - 1) * (1 - float(cos(pi * k / n))) / 2) for k in range(n + 1)]
    for _ in range(60):
        system = matrix(n + 1, n + 1)
        right = matrix(n + 1, 1)
        for row, k in enumerate(picks):
            for i in range(n):
                system[row, i] = weights[k] * basis[k][i]
            system[row, n] = (-1)**row
            right[row] = weights[k] * values[k]
        solution = lu_solve(system, right)
        coefficients = [solution[i] for i in range(n)]
        error = [weights[k] * (values[k] - sum(c * b for c, b in zip(coefficients, basis[k])))
                 for k in range(points)]
        extrema = []  # the largest error of each run of one sign
        for k in range(points):
            if extrema and (error[k] > 0) == (error[extrema[-1]] > 0):
                if abs(error[k]) > abs(error[extrema[-1]]):
                    extrema[-1] = k
            else:
                extrema.append(k)
        while len(extrema) > n + 1:  # drop the smaller end
            extrema.pop(0 if abs(error[extrema[0]]) < abs(error[extrema[-1]]) else -1)
        largest = max(abs(e) for e in error)
        if len(extrema) < n + 1:
            break
        if extrema == picks or largest < abs(solution[n]) * mpf("1.0001"):
            break
        picks = extrema
    return coefficients, largest


def fit(target, powers, low, high, weight, round_to=to_f32, fixed=()):
    """Rounds the coefficients one by one, lowest power first, and fits the rest again."""
    low, high = mpf(low), mpf(high)
    done = []
    rest = target
    for i in range(len(powers)):
        coefficients, _ = minimax(rest, powers[i:], low, high, weight)
        c = round_to(coefficients[0])
        done.append(c)
        rest = (lambda f, c, p: lambda x: f(x) - c * x**p)(rest, c, powers[i])
    worst = max(abs(weight(x) * rest(x)) for x in linspace(low, high, 2000))
    return done, worst


def hexadecimal(x):
    return float(x).hex()


def show(name, result):
    coefficients, worst = result
    print(f"{name}: largest weighted error {nstr(worst, 3)} = 2^{nstr(log(worst, 2), 4)}")
    for c in reversed(coefficients):
        print(f"    {hexadecimal(c)},")


def tanh_inner(n):
    # tanh(x) = x + x * (y * P(y)), y = x*x
    target = lambda y: (tanh(sqrt(y)) / sqrt(y) - 1) / y
    weight = lambda y: y * sqrt(y) / tanh(sqrt(y))
    return fit(target, range(n), mpf("1e-8"), mpf("0.625")**2, weight)


def erf_inner(n, limit):
    target = lambda y: erf(sqrt(y)) / sqrt(y) - 1
    weight = lambda y: sqrt(y) / erf(sqrt(y))
    return fit(target, range(n), mpf("1e-8"), mpf(limit)**2, weight)


def erf_outer(n, limit):
    # erf(x) = 1 - exp(P(x))
    target = lambda x: log(erfc(x))
    weight = lambda x: erfc(x)
    return fit(target, range(n), mpf(limit), 4, weight)


def log_fraction(n):
    # log(1 + f) = f + f*f * (-1/2 + f*Q(f))
    target = lambda f: ((log(1 + f) - f) / (f * f) + mpf(1) / 2) / f
    weight = lambda f: f**3 / log(1 + f)
    shifted = lambda f: f if abs(f) > mpf("1e-9") else mpf("1e-9")
    return fit(lambda f: target(shifted(f)), range(n), mpf(-1) / 3, mpf(1) / 3, lambda f: abs(weight(shifted(f))))


QUARTER = mpf("0.79")  # pi/4 and what the rounding of x*2/pi can add


def sin_quarter(n, round_to=to_f32, quarter=QUARTER):
    # sin(r) = r + (r*y) * P(y)
    target = lambda y: (sin(sqrt(y)) / sqrt(y) - 1) / y
    return fit(target, range(n), mpf("1e-8"), quarter**2, lambda y: y * sqrt(y) / sin(sqrt(y)), round_to)


def cos_quarter(n, round_to=to_f32, quarter=QUARTER):
    # cos(r) = 1 + y * (-1/2 + y * P(y))
    target = lambda y: ((cos(sqrt(y)) - 1) / y + mpf(1) / 2) / y
    return fit(target, range(n), mpf("1e-6"), quarter**2, lambda y: y * y / cos(sqrt(y)), round_to)


def exp2_double(n):
    # 2^r = 1 + r * P(r), |r| <= 1/2
    shifted = lambda r: r if abs(r) > mpf("1e-15") else mpf("1e-15")
    target = lambda r: (mpf(2)**shifted(r) - 1) / shifted(r)
    return fit(target, range(n), mpf("-0.5"), mpf("0.5"), lambda r: abs(shifted(r)) / mpf(2)**r, to_f64)


def log_double(n):
    # log(m) = 2s + s * (y * P(y)), s = (m-1)/(m+1), y = s*s, m in [sqrt(1/2), sqrt(2)]
    limit = (sqrt(mpf(2)) - 1) / (sqrt(mpf(2)) + 1)
    target = lambda y: (log((1 + sqrt(y)) / (1 - sqrt(y))) / sqrt(y) - 2) / y
    return fit(target, range(n), mpf("1e-8"), limit**2 * mpf("1.001"), lambda y: y / 2, to_f64)


FITS = {
    "tanh": lambda: tanh_inner(5),
    "erf_inner": lambda: erf_inner(6, "0.9375"),
    "erf_outer": lambda: erf_outer(7, "0.9375"),
    "log": lambda: log_fraction(9),
    "sin": lambda: sin_quarter(3),
    "cos": lambda: cos_quarter(3),
    "sind": lambda: sin_quarter(6, to_f64, mpf("0.7855")),
    "cosd": lambda: cos_quarter(6, to_f64, mpf("0.7855")),
    "exp2d": lambda: exp2_double(11),
    "logd": lambda: log_double(7),
}


def split(name, value, bits):
    parts = []
    for b in bits:
        scale = mpf(2)**(b - 1 - int(mp.floor(log(abs(value), 2))))
        part = mp.floor(value * scale + mpf(1) / 2) / scale
        parts.append(part)
        value -= part
    print(f"{name}: " + "  ".join(hexadecimal(p) for p in parts) + f"   rest {nstr(value, 3)}")


if __name__ == "__main__":
    for name in sys.argv[1:] or FITS:
        show(name, FITS[name]())
    if not sys.argv[1:]:
        split("pi/2 in floats", pi / 2, [24, 24, 24])
        split("pi/2 in short doubles", pi / 2, [33, 33, 53])
        print("log(2) f32", hexadecimal(to_f32(log(mpf(2)))), " 2/pi f32", hexadecimal(to_f32(2 / pi)))
        print("2/pi f64", hexadecimal(to_f64(2 / pi)), " 1/log(2) f64", hexadecimal(to_f64(1 / log(mpf(2)))))
