// Padding and resampling (docs/numerics.md, 3): along one axis at a time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/numerics/canonical.h"

namespace volta::define {

// Which elements of x, `in` of them along the axis, an element of y, one of `out`, is made of.
struct AxisMap {
    enum class Kind : std::uint8_t { constant, reflect, edge, nearest, linear };
    Kind kind = Kind::constant;
    std::int64_t in = 1, out = 1, pad = 0;  // pad: elements of y in front of x

    bool is_changed() const { return in != out || pad != 0; }
    bool is_linear() const { return kind == Kind::linear; }
    // The source of element o; of `linear`, the one before the source coordinate. -1: none.
    std::int64_t source(std::int64_t o) const {
        const std::int64_t i = o - pad;
        switch (kind) {
            case Kind::constant:
                return i >= 0 && i < in ? i : -1;
            case Kind::reflect:
                return i < 0 ? -i : i < in ? i : 2 * (in - 1) - i;
            case Kind::edge:
                return inside(i);
            case Kind::nearest:
                return o * in / out;
            case Kind::linear:
                break;
        }
        return inside(below(o));
    }
    // Of `linear`: the source behind the coordinate, and how far the coordinate is from the one before it.
    std::int64_t next_source(std::int64_t o) const { return inside(below(o) + 1); }
    template <class T>
    T fraction(std::int64_t o) const {
        return static_cast<T>(coordinate(o) - below(o) * 2 * out) / static_cast<T>(2 * out);
    }

  private:
    std::int64_t inside(std::int64_t i) const { return std::clamp<std::int64_t>(i, 0, in - 1); }
    std::int64_t coordinate(std::int64_t o) const { return (2 * o + 1) * in - out; }  // times 2 * out
    std::int64_t below(std::int64_t o) const { return coordinate(o) < 0 ? -1 : coordinate(o) / (2 * out); }
};

// y [outer, out, inner] of x [outer, in, inner].
template <class T>
void map_axis(const AxisMap& map, std::int64_t outer, std::int64_t inner, T value, const T* x, T* y) {
    for (std::int64_t n = 0; n < outer; ++n, x += map.in * inner)
        for (std::int64_t o = 0; o < map.out; ++o) {
            const std::int64_t source = map.source(o);
            for (std::int64_t j = 0; j < inner; ++j, ++y) {
                *y = source < 0 ? value : x[source * inner + j];
                if (map.is_linear())
                    *y =
                        ScalarMachine<T>::fma(map.fraction<T>(o), x[map.next_source(o) * inner + j] - *y, *y);
            }
        }
}

// dx [outer, in, inner] of dy [outer, out, inner]: +0, then what each element of y gives back, ascending.
template <class T>
void map_axis_gradient(const AxisMap& map, std::int64_t outer, std::int64_t inner, const T* dy, T* dx) {
    for (std::int64_t n = 0; n < outer; ++n, dx += map.in * inner) {
        std::fill_n(dx, map.in * inner, T(0));
        for (std::int64_t o = 0; o < map.out; ++o)
            for (std::int64_t j = 0; j < inner; ++j, ++dy) {
                const std::int64_t source = map.source(o);
                if (source < 0) continue;
                T& sum = dx[source * inner + j];
                if (!map.is_linear()) {
                    sum = sum + *dy;
                    continue;
                }
                const T fraction = map.fraction<T>(o);
                sum = ScalarMachine<T>::fma(T(1) - fraction, *dy, sum);
                T& next = dx[map.next_source(o) * inner + j];
                next = ScalarMachine<T>::fma(fraction, *dy, next);
            }
    }
}

}  // namespace volta::define
