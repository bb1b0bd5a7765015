// The orders of the contract (docs/numerics.md, 2 and 3): in which order a product, a sum of columns, a sum
// of rows and a maximum take their elements. Templates over T = float (the contract) and double (gradient
// checks). Elements are given as functions of their index, so that a definition reads like its formula.
#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/numerics/machine.h"

namespace volta {

inline constexpr std::int64_t kSegment = 512;    // of the chain of a product or a column sum
inline constexpr std::int64_t kLanes = 32;       // of a row sum: 4 ymm, 2 zmm or 1 warp
inline constexpr std::int64_t kSumChunk = 4096;  // elements of a row sum that share lanes

// The segmented chain over k in [first, last). It is cut at absolute multiples of kSegment; every segment
// starts at +0, and finished segments are added to `into`, or to the first segment where there is none. No k:
// *into or +0.
template <class T, class Step>  // Step: T(T sum, int64 k), the sum with element k
T segmented(std::int64_t first, std::int64_t last, const T* into, Step step) {
    bool stored = into != nullptr;
    T total = stored ? *into : T(0);
    for (std::int64_t k = first; k < last;) {
        const std::int64_t end = std::min(last, (k / kSegment + 1) * kSegment);
        T sum = 0;
        for (; k < end; ++k) sum = step(sum, k);
        total = stored ? total + sum : sum;
        stored = true;
    }
    return total;
}

template <class T, class A, class B>  // A, B: T(int64 k)
T product_chain(std::int64_t first, std::int64_t last, const T* into, A a, B b) {
    return segmented(first, last, into,
                     [&](T sum, std::int64_t k) { return ScalarMachine<T>::fma(a(k), b(k), sum); });
}

template <class T, class X>  // X: T(int64 k), of one column
T column_sum(std::int64_t rows, const T* into, X x) {
    return segmented(0, rows, into, [&](T sum, std::int64_t k) { return sum + x(k); });
}

// One chunk of a row sum: element i joins lane i mod 32, lanes add in ascending order and fold 16, 8, 4,
// 2, 1. A lane starts at +0 and never becomes -0, so elements of +0 beyond the end would change nothing.
template <class T, class X>
T sum_of_lanes(std::int64_t first, std::int64_t last, X x) {
    T lane[kLanes] = {};
    for (std::int64_t i = first; i < last; ++i) lane[i % kLanes] = lane[i % kLanes] + x(i);
    for (std::int64_t half = kLanes / 2; half > 0; half /= 2)
        for (std::int64_t i = 0; i < half; ++i) lane[i] = lane[i] + lane[i + half];
    return lane[0];
}

// Element i of level 0 is x(i); element i of the next level is the sum of chunk i of the level below.
template <class T, class X>
T sum_level_element(int level, std::int64_t i, const std::int64_t* counts, X& x) {
    if (level == 0) return x(i);
    const std::int64_t first = i * kSumChunk, last = std::min(counts[level - 1], first + kSumChunk);
    return sum_of_lanes<T>(first, last,
                           [&](std::int64_t j) { return sum_level_element<T>(level - 1, j, counts, x); });
}

// The row sum of n elements: chunks of 4096, whose sums are summed by the same rule. n = 0: +0.
template <class T, class X>  // X: T(int64 i), a value that is rounded already
T row_sum(std::int64_t n, X x) {
    if (n == 0) return T(0);
    std::int64_t counts[8] = {n};  // 4096^6 > 2^63
    int level = 0;
    do {
        counts[level + 1] = (counts[level] + kSumChunk - 1) / kSumChunk;
        ++level;
    } while (counts[level] > 1);
    return sum_level_element<T>(level, 0, counts, x);
}

// The largest element: NaN if any is NaN, and +0 for a zero, so that no order of elements can show. n >= 1.
template <class T, class X>
T row_max(std::int64_t n, X x) {
    T largest = x(0);
    for (std::int64_t i = 1; i < n; ++i) {
        const T value = x(i);
        if (value != value || value > largest) largest = value;  // a NaN stays: nothing compares above it
    }
    return largest + T(0);
}

template <class T, class X>
T row_min(std::int64_t n, X x) {
    T smallest = x(0);
    for (std::int64_t i = 1; i < n; ++i) {
        const T value = x(i);
        if (value != value || value < smallest) smallest = value;
    }
    return smallest + T(0);
}

// The index of the largest element; NaN counts as the largest, ties (and +-0) take the lowest index. n >= 1.
template <class T, class X>
std::int64_t row_argmax(std::int64_t n, X x) {
    std::int64_t best = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        const T value = x(i);
        if (value != value) return i;
        if (value > x(best)) best = i;
    }
    return best;
}

}  // namespace volta
