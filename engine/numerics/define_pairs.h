// Operators over pairs of columns of one row (docs/numerics.md, 4 and 5): rotary positions rotate two
// elements of a head by the angle of their position; a gated activation multiplies the two halves of a row.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/numerics/double_functions.h"
#include "engine/numerics/functions.h"

namespace volta {

// How a row holds what rotary rotates: `heads` heads of `stride` elements side by side from its start on, of
// which each turns its first `width`.
struct RotaryForm {
    std::int64_t heads = 0, width = 0;
    bool interleaved = false;  // pairs are (2i, 2i + 1), else (i, i + width/2)
    bool inverse = false;      // by the negative angle: the gradient
    std::int64_t stride = 0;   // at least width
    std::int64_t columns() const { return heads * stride; }
};

// What a rotary table is made of, beside its extents.
template <class T>
struct RotaryAngles {
    double base = 1;                 // radians per position by the formula,
    const T* frequencies = nullptr;  // or these, of the width/2 pairs
    double scale = 1;                // of cosines and sines
};

namespace define {

// Rows `first` to `last` - 1 of table [limit, width]: row p holds the cosines of the width/2 pairs at
// position p, then their sines.
template <class T>
void rotary_rows(std::int64_t first, std::int64_t last, std::int64_t width, const RotaryAngles<T>& angles,
                 T* table) {
    const std::int64_t half = width / 2;
    for (std::int64_t i = 0; i < half; ++i) {
        const double frequency = angles.frequencies != nullptr ? static_cast<double>(angles.frequencies[i])
                                                               : rotary_frequency(i, width, angles.base);
        for (std::int64_t p = first; p < last; ++p) {
            const RotaryEntry entry = rotary_entry(p, frequency, angles.scale);
            table[p * width + i] = entry.cosine;
            table[p * width + half + i] = entry.sine;
        }
    }
}
template <class T>  // all of them
void rotary_table(std::int64_t limit, std::int64_t width, const RotaryAngles<T>& angles, T* table) {
    rotary_rows(0, limit, width, angles, table);
}

// x, y [rows, columns], positions [rows], every one of them a row of the table. What no head turns is copied.
// y may be x.
template <class T>
void rotary(std::int64_t rows, std::int64_t columns, const RotaryForm& form, const std::int32_t* positions,
            const T* table, const T* x, T* y) {
    ScalarMachine<T> m;
    const std::int64_t half = form.width / 2;
    for (std::int64_t r = 0; r < rows; ++r, x += columns, y += columns) {
        const T *cosine = table + positions[r] * form.width, *sine = cosine + half;
        for (std::int64_t head = 0; head < form.columns(); head += form.stride) {
            for (std::int64_t i = 0; i < half; ++i) {
                const std::int64_t first = head + (form.interleaved ? 2 * i : i);
                const std::int64_t second = first + (form.interleaved ? 1 : half);
                const auto pair =
                    rotate(m, x[first], x[second], cosine[i], form.inverse ? -sine[i] : sine[i]);
                y[first] = pair.first;
                y[second] = pair.second;
            }
            if (y != x) std::copy(x + head + form.width, x + head + form.stride, y + head + form.width);
        }
        if (y != x) std::copy(x + form.columns(), x + columns, y + form.columns());
    }
}

// x [rows, 2n] holds a and b side by side; y [rows, n].
template <class T>
void swiglu(std::int64_t rows, std::int64_t n, const T* x, T* y) {
    ScalarMachine<T> m;
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t j = 0; j < n; ++j) y[r * n + j] = swiglu(m, x[r * 2 * n + j], x[r * 2 * n + n + j]);
}

template <class T>  // dx [rows, 2n] may be x
void swiglu_grad(std::int64_t rows, std::int64_t n, const T* x, const T* dy, T* dx) {
    ScalarMachine<T> m;
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t j = 0; j < n; ++j) {
            const std::int64_t a = r * 2 * n + j, b = a + n;
            const auto gradient = swiglu_grad(m, x[a], x[b], dy[r * n + j]);
            dx[a] = gradient.first;
            dx[b] = gradient.second;
        }
}

}  // namespace define
}  // namespace volta
