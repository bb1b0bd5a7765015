// Pooling (docs/numerics.md, 3): windows of planes [rows, columns], by the axes of convolutions.
#pragma once

#include <limits>

#include "engine/numerics/canonical.h"
#include "engine/numerics/define_convolution.h"

namespace volta::define {

struct PoolingSizes {
    std::int64_t planes = 0;
    ConvolutionAxis rows, columns;
    // Elements behind the picture that count in an average: padding, where that is asked for. Else 0, and
    // none in front.
    bool counts_padding = false;
    std::int64_t row_padding = 0, column_padding = 0;
    std::int64_t plane() const { return rows.in * columns.in; }
    std::int64_t pixels() const { return rows.out * columns.out; }
    std::int64_t taps() const { return rows.taps * columns.taps; }
};

// body(tap, element of the plane) for each tap of output `pixel` inside of the plane, in row-major order.
template <class Body>
void for_taps(const PoolingSizes& s, std::int64_t pixel, Body body) {
    for (std::int64_t tap = 0; tap < s.taps(); ++tap) {
        const std::int64_t row = s.rows.input(pixel / s.columns.out, tap / s.columns.taps);
        const std::int64_t column = s.columns.input(pixel % s.columns.out, tap % s.columns.taps);
        if (s.rows.is_inside(row) && s.columns.is_inside(column)) body(tap, row * s.columns.in + column);
    }
}

// y: the largest of the window, by the rule of maxima; -Inf where no tap is inside.
template <class T>
void max_pool(const PoolingSizes& s, const T* x, T* y) {
    for (std::int64_t p = 0; p < s.planes; ++p, x += s.plane())
        for (std::int64_t pixel = 0; pixel < s.pixels(); ++pixel) {
            T largest = -std::numeric_limits<T>::infinity();
            for_taps(s, pixel, [&](std::int64_t, std::int64_t at) {
                if (x[at] != x[at] || x[at] > largest) largest = x[at];
            });
            *y++ = largest + T(0);
        }
}

// The first tap whose element is y's, by its index; -1: none.
template <class T>
std::int64_t chosen_tap(const PoolingSizes& s, const T* x, T y, std::int64_t pixel) {
    std::int64_t chosen = -1;
    for_taps(s, pixel, [&](std::int64_t tap, std::int64_t at) {
        const bool is_it = x[at] == y || (x[at] != x[at] && y != y);
        if (chosen < 0 && is_it) chosen = tap;
    });
    return chosen;
}

// dx: +0, then + dy of each window that chose the element, in ascending order of outputs.
template <class T>
void max_pool_grad(const PoolingSizes& s, const T* x, const T* y, const T* dy, T* dx) {
    for (std::int64_t p = 0; p < s.planes; ++p, x += s.plane(), dx += s.plane()) {
        for (std::int64_t i = 0; i < s.plane(); ++i) dx[i] = 0;
        for (std::int64_t pixel = 0; pixel < s.pixels(); ++pixel, ++y, ++dy) {
            const std::int64_t chosen = chosen_tap(s, x, *y, pixel);
            for_taps(s, pixel, [&](std::int64_t tap, std::int64_t at) {
                if (tap == chosen) dx[at] = dx[at] + *dy;
            });
        }
    }
}

// Elements of a window that its average is over.
inline std::int64_t counted(const ConvolutionAxis& axis, std::int64_t output, bool counts_padding,
                            std::int64_t padding) {
    std::int64_t count = 0;
    for (std::int64_t tap = 0; tap < axis.taps; ++tap) {
        const std::int64_t at = axis.input(output, tap);
        count += counts_padding ? at >= -axis.pad && at < axis.in + padding : axis.is_inside(at);
    }
    return count;
}
template <class T>
T count_of(const PoolingSizes& s, std::int64_t pixel) {
    return static_cast<T>(counted(s.rows, pixel / s.columns.out, s.counts_padding, s.row_padding) *
                          counted(s.columns, pixel % s.columns.out, s.counts_padding, s.column_padding));
}

// y: +0, then + each element of the window in row-major order; then one division by their number.
template <class T>
void average_pool(const PoolingSizes& s, const T* x, T* y) {
    for (std::int64_t p = 0; p < s.planes; ++p, x += s.plane())
        for (std::int64_t pixel = 0; pixel < s.pixels(); ++pixel) {
            T sum = 0;
            for_taps(s, pixel, [&](std::int64_t, std::int64_t at) { sum = sum + x[at]; });
            *y++ = sum / count_of<T>(s, pixel);
        }
}

// dx: +0, then + dy / count of each window that holds the element, in ascending order of outputs.
template <class T>
void average_pool_grad(const PoolingSizes& s, const T* dy, T* dx) {
    for (std::int64_t p = 0; p < s.planes; ++p, dx += s.plane()) {
        for (std::int64_t i = 0; i < s.plane(); ++i) dx[i] = 0;
        for (std::int64_t pixel = 0; pixel < s.pixels(); ++pixel, ++dy) {
            const T share = *dy / count_of<T>(s, pixel);
            for_taps(s, pixel, [&](std::int64_t, std::int64_t at) { dx[at] = dx[at] + share; });
        }
    }
}

}  // namespace volta::define
