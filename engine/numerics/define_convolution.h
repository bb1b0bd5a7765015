// Convolution (docs/numerics.md, 2.3): a product whose one operand is read out of a picture. Pictures are
// [batch, channels, rows, columns], weights [filters, channels of a group, kernel rows, kernel columns].
#pragma once

#include "engine/numerics/canonical.h"

namespace volta::define {

// One spatial axis: output o meets tap t at input o * stride - pad + t * dilation, which lies in the padding
// where it is below 0 or at `in` and above.
struct ConvolutionAxis {
    std::int64_t in = 1, out = 1, taps = 1, stride = 1, dilation = 1, pad = 0;
    std::int64_t input(std::int64_t output, std::int64_t tap) const {
        return output * stride - pad + tap * dilation;
    }
    bool is_inside(std::int64_t input) const { return input >= 0 && input < in; }
    // Whether some output, which may lie outside of 0 .. out - 1, meets this tap at this input, and which.
    bool meets(std::int64_t input, std::int64_t tap) const {
        return (input + pad - tap * dilation) % stride == 0;
    }
    std::int64_t output(std::int64_t input, std::int64_t tap) const {
        return (input + pad - tap * dilation) / stride;
    }
    bool is_output(std::int64_t output) const { return output >= 0 && output < out; }
};

struct ConvolutionSizes {
    std::int64_t batch = 0, groups = 1;
    std::int64_t channels = 0, filters = 0;  // of a group
    ConvolutionAxis rows, columns;
    std::int64_t taps() const { return rows.taps * columns.taps; }
    std::int64_t pixels() const { return rows.out * columns.out; }
    std::int64_t plane() const { return rows.in * columns.in; }
};

// The element of a padded plane, +0 in the padding.
template <class T>
T padded_element(const ConvolutionSizes& s, const T* plane, std::int64_t row, std::int64_t column) {
    return s.rows.is_inside(row) && s.columns.is_inside(column) ? plane[row * s.columns.in + column] : T(0);
}

// y[n][o][p] = the chain over k = (c, tap row, tap column) of w[o][k] * x[n][c][p's pixel of the tap], +
// bias[o] where there is one.
template <class T>
void convolution(const ConvolutionSizes& s, const T* x, const T* w, const T* bias, T* y) {
    const std::int64_t taps = s.taps(), depth = s.channels * taps;
    for (std::int64_t n = 0; n < s.batch; ++n)
        for (std::int64_t o = 0; o < s.groups * s.filters; ++o) {
            const T* const picture = x + (n * s.groups + o / s.filters) * s.channels * s.plane();
            T* const out = y + (n * s.groups * s.filters + o) * s.pixels();
            for (std::int64_t p = 0; p < s.pixels(); ++p) {
                const std::int64_t row = p / s.columns.out, column = p % s.columns.out;
                const T sum = product_chain<T>(
                    0, depth, nullptr, [&](std::int64_t k) { return w[o * depth + k]; },
                    [&](std::int64_t k) {
                        const std::int64_t tap = k % taps;
                        return padded_element(s, picture + k / taps * s.plane(),
                                              s.rows.input(row, tap / s.columns.taps),
                                              s.columns.input(column, tap % s.columns.taps));
                    });
                out[p] = bias != nullptr ? sum + bias[o] : sum;
            }
        }
}

// x[n][c][pixel] = the chain over k = (o, tap row, tap column) of w[o][c][tap] * y[n][o][the output that
// meets the tap there], + bias[c]. Taps that stride and dilation leave out for this pixel are not in the
// chain; an output outside of the picture is +0.
template <class T>
void convolution_transposed(const ConvolutionSizes& s, const T* y, const T* w, const T* bias, T* x) {
    const std::int64_t taps = s.taps();
    for (std::int64_t n = 0; n < s.batch; ++n)
        for (std::int64_t c = 0; c < s.groups * s.channels; ++c) {
            const std::int64_t group = c / s.channels, filter = group * s.filters;
            for (std::int64_t pixel = 0; pixel < s.plane(); ++pixel) {
                const std::int64_t row = pixel / s.columns.in, column = pixel % s.columns.in;
                std::int64_t met = 0;  // taps of this pixel
                for (std::int64_t tap = 0; tap < taps; ++tap)
                    met += s.rows.meets(row, tap / s.columns.taps) &&
                           s.columns.meets(column, tap % s.columns.taps);
                std::int64_t o = filter, tap = -1;  // of the last element of the chain
                const auto next = [&] {
                    do {
                        if (++tap == taps) tap = 0, ++o;
                    } while (!s.rows.meets(row, tap / s.columns.taps) ||
                             !s.columns.meets(column, tap % s.columns.taps));
                };
                const T sum = segmented<T>(0, met * s.filters, nullptr, [&](T chain, std::int64_t) {
                    next();
                    const std::int64_t out_row = s.rows.output(row, tap / s.columns.taps),
                                       out_column = s.columns.output(column, tap % s.columns.taps);
                    const bool inside = s.rows.is_output(out_row) && s.columns.is_output(out_column);
                    const T* const plane = y + (n * s.groups * s.filters + o) * s.pixels();
                    return ScalarMachine<T>::fma(w[(o * s.channels + c % s.channels) * taps + tap],
                                                 inside ? plane[out_row * s.columns.out + out_column] : T(0),
                                                 chain);
                });
                x[(n * s.groups * s.channels + c) * s.plane() + pixel] =
                    bias != nullptr ? sum + bias[c] : sum;
            }
        }
}

// dw[o][c][tap] = the chain over k = (n, output pixel) of dy[n][o][pixel] * x[n][c][the tap's pixel], added
// to what dw holds with `into`.
template <class T>
void convolution_weight_gradient(const ConvolutionSizes& s, const T* x, const T* dy, bool into, T* dw) {
    const std::int64_t taps = s.taps(), pixels = s.pixels();
    for (std::int64_t o = 0; o < s.groups * s.filters; ++o)
        for (std::int64_t c = 0; c < s.channels; ++c)
            for (std::int64_t tap = 0; tap < taps; ++tap) {
                T& out = dw[(o * s.channels + c) * taps + tap];
                out = product_chain<T>(
                    0, s.batch * pixels, into ? &out : nullptr,
                    [&](std::int64_t k) {
                        return dy[(k / pixels * s.groups * s.filters + o) * pixels + k % pixels];
                    },
                    [&](std::int64_t k) {
                        const std::int64_t p = k % pixels;
                        const T* const plane =
                            x + ((k / pixels * s.groups + o / s.filters) * s.channels + c) * s.plane();
                        return padded_element(s, plane, s.rows.input(p / s.columns.out, tap / s.columns.taps),
                                              s.columns.input(p % s.columns.out, tap % s.columns.taps));
                    });
            }
}

// db[c] = the column sum over (n, pixel) of dy[n][c][pixel]: the same order and cuts, with plain adds.
template <class T>
void convolution_bias_gradient(std::int64_t batch, std::int64_t channels, std::int64_t pixels, const T* dy,
                               bool into, T* db) {
    for (std::int64_t c = 0; c < channels; ++c)
        db[c] = column_sum<T>(batch * pixels, into ? &db[c] : nullptr, [&](std::int64_t k) {
            return dy[(k / pixels * channels + c) * pixels + k % pixels];
        });
}

}  // namespace volta::define
