#include "engine/runtime/compare_tensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/base/error.h"

namespace volta {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Of one pair of elements.
struct Difference {
    double absolute = 0, relative = 0;
    std::uint64_t ulps = 0;
};

std::int32_t bits_of(float value) {
    std::int32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}
std::int32_t bits_of(std::int32_t value) { return value; }

// Where a number stands among all of its type: neighbours are one apart, and both zeros are at 0.
std::int64_t place_of(float value) {
    const std::int64_t bits = bits_of(value);
    return bits < 0 ? -(bits & INT32_MAX) : bits;
}
std::int64_t place_of(std::int32_t value) { return value; }

std::uint64_t distance(std::int64_t a, std::int64_t b) {
    return static_cast<std::uint64_t>(a < b ? b - a : a - b);
}

template <class T>
Difference difference_of(T a, T b) {
    const double wide_a = static_cast<double>(a), wide_b = static_cast<double>(b);
    const bool is_nan_a = std::isnan(wide_a), is_nan_b = std::isnan(wide_b);
    if (is_nan_a && is_nan_b) return {};
    if (is_nan_a || is_nan_b) return {kInfinity, kInfinity, UINT64_MAX};
    if (wide_a == wide_b) return {};
    Difference difference = {std::fabs(wide_a - wide_b), kInfinity, distance(place_of(a), place_of(b))};
    if (std::isfinite(difference.absolute) && wide_b != 0)
        difference.relative = difference.absolute / std::fabs(wide_b);
    return difference;
}

template <class T>
bool are_same(T a, T b, const Difference& difference, Tolerance tolerance) {
    const double expected = static_cast<double>(b);
    if (tolerance.relative == 0 && tolerance.absolute == 0)
        return bits_of(a) == bits_of(b) || (std::isnan(static_cast<double>(a)) && std::isnan(expected));
    if (difference.absolute == 0) return true;
    // An infinite tolerance would hold what is beside an infinity for the same.
    return std::isfinite(difference.absolute) &&
           difference.absolute <= tolerance.absolute + tolerance.relative * std::fabs(expected);
}

template <class T>
volta_comparison compare(const TensorView& a, const TensorView& b, Tolerance tolerance) {
    const T *const left = static_cast<const T*>(a.data), *const right = static_cast<const T*>(b.data);
    volta_comparison report = {};
    report.first = -1;
    const std::int64_t count = a.shape.elements();
    for (std::int64_t i = 0; i < count; ++i) {
        const Difference difference = difference_of(left[i], right[i]);
        report.largest_absolute = std::max(report.largest_absolute, difference.absolute);
        report.largest_relative = std::max(report.largest_relative, difference.relative);
        report.largest_ulps = std::max(report.largest_ulps, difference.ulps);
        if (are_same(left[i], right[i], difference, tolerance)) continue;
        if (report.differing++ == 0) report.first = i;
    }
    report.is_equal = report.differing == 0;
    return report;
}

}  // namespace

volta_comparison compare_tensors(const TensorView& a, const TensorView& b, Tolerance tolerance) {
    if (a.shape != b.shape)
        fail(VOLTA_SHAPE_MISMATCH, "the tensors are of other shapes: %s and %s", to_text(a.shape).text,
             to_text(b.shape).text);
    require(a.dtype == b.dtype, "the tensors are of other types: %s and %s", dtype_name(a.dtype),
            dtype_name(b.dtype));
    return a.dtype == DType::f32 ? compare<float>(a, b, tolerance) : compare<std::int32_t>(a, b, tolerance);
}

}  // namespace volta
