// Resampling: the operator `resize` where it takes the same elements; else each axis for itself, a sum of
// weighted rows that are gathered. Places are computed in float, as ONNX Runtime has them.
#include <algorithm>
#include <cmath>

#include "engine/import/onnx/rules.h"

namespace volta::onnx {
namespace {

using Whole = std::int64_t;
constexpr Whole kMostExtent = Whole{1} << 24;  // places are exact floats
constexpr int kMostTaps = 64;

// What one axis becomes.
struct Axis {
    Whole in = 0, out = 0;
    float scale = 1;
    bool fits = true;  // out is in * scale
    double roi_begin = 0, roi_end = 1;
};

struct Modes {
    std::string_view mode, coordinates, nearest;
    bool antialias = false, excludes_outside = false;
    double cubic = -0.75;
    bool is_nearest() const { return mode == "nearest"; }
};

// Of each element of the result: which elements it is made of, and how much of each.
struct Taps {
    explicit Taps(std::pmr::memory_resource* heap) : places(heap), weights(heap), outside(heap) {}
    int count = 1;
    std::pmr::vector<std::int32_t> places;   // [count, out]
    std::pmr::vector<float> weights;         // [count, out]
    std::pmr::vector<std::int32_t> outside;  // of a crop: [out]
    bool any_outside = false;
};

float place_of(const Axis& axis, const Modes& modes, Whole index) {
    const float x = static_cast<float>(index), in = static_cast<float>(axis.in),
                out = static_cast<float>(axis.out);
    if (modes.coordinates == "asymmetric") return x / axis.scale;
    if (modes.coordinates == "align_corners") return axis.out == 1 ? 0 : x * (in - 1) / (out - 1);
    if (modes.coordinates == "tf_half_pixel_for_nn") return (x + 0.5f) / axis.scale;
    if (modes.coordinates == "tf_crop_and_resize") {
        const float begin = static_cast<float>(axis.roi_begin), end = static_cast<float>(axis.roi_end);
        if (axis.out == 1) return 0.5f * (begin + end) * (in - 1);
        return begin * (in - 1) + x * (end - begin) * (in - 1) / (out - 1);
    }
    const float half = (x + 0.5f) / axis.scale - 0.5f;
    if (modes.coordinates == "pytorch_half_pixel") return axis.out == 1 ? 0 : half;
    if (modes.coordinates != "half_pixel_symmetric") return half;
    const float adjustment = out / (axis.scale * in);
    return in / 2 * (1 - adjustment) + half;
}

Whole nearest_of(const Axis& axis, const Modes& modes, float x) {
    if (modes.nearest == "round_prefer_floor") return static_cast<Whole>(std::ceil(x - 0.5f));
    if (modes.nearest == "round_prefer_ceil") return static_cast<Whole>(std::floor(x + 0.5f));
    const bool up = modes.nearest == "ceil" || (modes.nearest.empty() && axis.scale < 1);
    return static_cast<Whole>(up ? std::ceil(x) : std::floor(x));
}

// How much of an element at this distance.
double cubic_weight(double distance, double a) {
    const double x = std::fabs(distance);
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}
double linear_weight(double distance) { return std::max(0.0, 1 - std::fabs(distance)); }

Taps taps_of(Call& call, const Axis& axis, const Modes& modes) {
    Taps taps(call.heap());
    const double narrow = modes.antialias ? std::min(static_cast<double>(axis.scale), 1.0) : 1;
    const double reach = (modes.mode == "cubic" ? 2 : 1) / narrow;
    const int first = modes.is_nearest() ? 0 : static_cast<int>(std::floor(-std::min(reach, 1e6))) + 1;
    taps.count = modes.is_nearest() ? 1 : 2 - 2 * first;
    if (taps.count > kMostTaps)
        call.refuse("an element of its result is made of %d; at most %d are imported", taps.count, kMostTaps);
    const auto total = static_cast<std::size_t>(taps.count) * static_cast<std::size_t>(axis.out);
    call.graph().spend(2 * total);
    taps.places.resize(total);
    taps.weights.resize(total);
    for (Whole i = 0; i < axis.out; ++i) {
        const float exact = place_of(axis, modes, i);
        const float x = exact == exact ? std::clamp(exact, -1e9f, 1e9f) : -1e9f;
        const bool is_outside =
            modes.coordinates == "tf_crop_and_resize" && !(x >= 0 && x <= static_cast<float>(axis.in - 1));
        taps.outside.push_back(is_outside);
        taps.any_outside = taps.any_outside || is_outside;
        const auto at = [&](int tap) { return static_cast<std::size_t>(tap * axis.out + i); };
        if (modes.is_nearest()) {
            taps.places[at(0)] =
                static_cast<std::int32_t>(std::clamp<Whole>(nearest_of(axis, modes, x), 0, axis.in - 1));
            taps.weights[at(0)] = 1;
            continue;
        }
        const Whole base = static_cast<Whole>(std::ceil(x)) - 1;
        const double rest = static_cast<double>(x) - static_cast<double>(base);
        double sum = 0, weights[kMostTaps];
        for (int tap = 0; tap < taps.count; ++tap) {
            const Whole place = base + first + tap;
            const double distance = narrow * (first + tap - rest);
            const bool is_left_out = modes.excludes_outside && (place < 0 || place >= axis.in);
            weights[tap] = is_left_out             ? 0
                           : modes.mode == "cubic" ? cubic_weight(distance, modes.cubic)
                                                   : linear_weight(distance);
            sum += weights[tap];
            taps.places[at(tap)] = static_cast<std::int32_t>(std::clamp<Whole>(place, 0, axis.in - 1));
        }
        const bool normalises = modes.antialias || modes.excludes_outside;
        for (int tap = 0; tap < taps.count; ++tap)
            taps.weights[at(tap)] = static_cast<float>(normalises ? weights[tap] / sum : weights[tap]);
    }
    return taps;
}

// The axis goes first: rows of a table, of which each tap gathers as many as the result has.
ValueId resampled(Call& call, ValueId x, int axis, const Taps& taps, double extrapolated) {
    const ValueId first = call.move_axis(x, axis, 0);
    const Extents moved = call.extents_of(first);
    const auto out = static_cast<Whole>(taps.outside.size());
    Extents table, to;
    table.append(moved, 0);
    table.append(1);
    for (int k = 1; k < moved.rank(); ++k) {
        table.now[1] = multiplied(call, table.now[1], moved.now[k]);
        table.later[1] = multiplied(call, table.later[1], moved.later[k]);
    }
    to.append(out);
    for (int k = 1; k < moved.rank(); ++k) to.append(moved, k);
    const ValueId rows = call.reshape(first, table);
    ValueId y = -1;
    for (int tap = 0; tap < taps.count; ++tap) {
        const std::size_t begin = static_cast<std::size_t>(tap) * static_cast<std::size_t>(out);
        const float* const weights = taps.weights.data() + begin;
        const bool has_none = std::all_of(weights, weights + out, [](float weight) { return weight == 0; });
        if (has_none && (tap + 1 < taps.count || y >= 0)) continue;
        const ValueId ids = call.graph().constant(DType::i32, {out}, taps.places.data() + begin);
        ValueId part = call.apply(Op::gather, {rows, ids});
        if (!std::all_of(weights, weights + out, [](float weight) { return weight == 1; }))
            part = call.apply(Op::mul, {part, call.graph().constant(DType::f32, {out, 1}, weights)});
        y = y < 0 ? part : call.apply(Op::add, {y, part});
    }
    if (taps.any_outside)
        y = call.apply(Op::where, {call.graph().constant(DType::i32, {out, 1}, taps.outside.data()),
                                   call.scalar(extrapolated), y});
    return call.move_axis(call.reshape(y, to), 0, axis);
}

// Whether `resize` has this: nearest of asymmetric places rounded down, linear of half pixels.
bool is_plain(const Axis& axis, const Modes& modes) {
    if (axis.in == axis.out && axis.fits && modes.coordinates != "tf_crop_and_resize") return true;
    if (!axis.fits || modes.antialias || modes.excludes_outside) return false;
    if (modes.mode == "linear")
        return modes.coordinates == "half_pixel" ||
               (modes.coordinates == "pytorch_half_pixel" && axis.out > 1);
    if (!modes.is_nearest()) return false;
    if (modes.coordinates == "asymmetric")
        return modes.nearest == "floor" ||
               (modes.nearest.empty() && (axis.scale >= 1 || axis.in % axis.out == 0));
    return modes.coordinates == "half_pixel" && axis.out % axis.in == 0 &&
           (modes.nearest == "round_prefer_floor" || modes.nearest == "round_prefer_ceil");
}

// Which axes scales, sizes and the region are of; the others stay.
std::pmr::vector<Whole> named_by(Call& call, int rank) {
    std::pmr::vector<Whole> axes(call.heap());
    if (call.given("axes")) axes = call.integers("axes");
    if (axes.empty())
        for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
    for (Whole& axis : axes) axis = call.axis(axis, rank);
    return axes;
}

void check_extent(Call& call, int axis, double out) {
    if (!(out >= 1 && out <= static_cast<double>(kMostExtent)))
        call.refuse("axis %d becomes %g elements", axis, out);
}

void scale_axes(Call& call, const Extents& from, const std::pmr::vector<double>& scales,
                const std::pmr::vector<Whole>& axes, Axis* made) {
    if (scales.size() != axes.size())
        call.refuse("it has %zu scales for %zu axes", scales.size(), axes.size());
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const int k = static_cast<int>(axes[i]);
        Axis& axis = made[k];
        if (!(scales[i] > 0 && scales[i] < 1e6)) call.refuse("its scale of axis %d is %g", k, scales[i]);
        if (scales[i] == 1) continue;
        if (from.is_open(k)) call.refuse("it resizes axis %d, whose extent is open", k);
        axis.scale = static_cast<float>(scales[i]);
        const double out = static_cast<double>(axis.in) * scales[i];
        check_extent(call, k, std::floor(out));
        axis.out = static_cast<Whole>(out);
        axis.fits = static_cast<double>(axis.out) == out;
    }
}

void size_axes(Call& call, const Extents& from, const KnownPair& sizes, const std::pmr::vector<Whole>& axes,
               Axis* made) {
    for (const int lane : {0, 1}) {
        const auto& extents = sizes.at(lane).whole;
        if (extents.size() != axes.size())
            call.refuse("it has %zu sizes for %zu axes", extents.size(), axes.size());
        for (std::size_t i = 0; i < axes.size(); ++i) {
            const int k = static_cast<int>(axes[i]);
            if (from.is_open(k)) {
                if (extents[i] != (lane == 0 ? from.now : from.later)[k])
                    call.refuse("it resizes axis %d, whose extent is open", k);
            } else if (lane == 1 && extents[i] != made[k].out) {
                call.refuse("its sizes are computed from extents that are open");
            } else {
                check_extent(call, k, static_cast<double>(extents[i]));
                made[k].out = extents[i];
            }
        }
    }
    const std::string_view policy = call.text("keep_aspect_ratio_policy");
    const bool smaller = policy == "not_larger";
    double common = smaller ? 1e300 : 0;
    for (const Whole axis : axes) {
        const double own = static_cast<double>(made[axis].out) / static_cast<double>(made[axis].in);
        common = smaller ? std::min(common, own) : std::max(common, own);
        made[axis].scale = static_cast<float>(own);
    }
    if (call.opset() < 18 || policy == "stretch") return;
    for (const Whole axis : axes) {
        const double out = std::floor(common * static_cast<double>(made[axis].in) + 0.5);
        if (from.is_open(static_cast<int>(axis))) call.refuse("its sizes keep the ratio of an open extent");
        check_extent(call, static_cast<int>(axis), out);
        made[axis].out = static_cast<Whole>(out);
        made[axis].scale = static_cast<float>(common);
        made[axis].fits = out == common * static_cast<double>(made[axis].in);
    }
}

void crop_axes(Call& call, const std::pmr::vector<Whole>& axes, Axis* made) {
    const KnownPair& roi = call.known(1, "roi");
    if (roi.later || roi.now.real.size() != 2 * axes.size())
        call.refuse("its roi has %zu numbers for %zu axes", roi.now.real.size(), axes.size());
    for (std::size_t i = 0; i < axes.size(); ++i) {
        made[axes[i]].roi_begin = roi.now.real[i];
        made[axes[i]].roi_end = roi.now.real[i + axes.size()];
    }
}

}  // namespace

namespace build {

void resize(Call& call) {
    ValueId x = call.real(0);
    const Extents from = call.extents_of(x);
    const bool upsample = call.node().op == "Upsample", is_old = upsample || call.opset() < 11;
    const int scales_at = is_old ? 1 : 2;
    Modes modes;
    modes.mode = call.text("mode");
    modes.coordinates = is_old ? "asymmetric" : call.text("coordinate_transformation_mode");
    modes.nearest = is_old ? "" : call.text("nearest_mode");
    modes.antialias = call.integer("antialias") != 0 && !modes.is_nearest();
    modes.excludes_outside = call.integer("exclude_outside") != 0 && modes.mode == "cubic";
    if (!is_old) modes.cubic = call.real_attribute("cubic_coeff_a");

    Axis made[kMaxRank];
    for (int k = 0; k < from.rank(); ++k) made[k].in = made[k].out = from.now[k];
    const std::pmr::vector<Whole> axes = named_by(call, from.rank());
    std::pmr::vector<double> scales(call.heap());
    if (upsample && call.opset() < 9) {
        if (const AttributeView* attribute = call.find("scales")) reals_of(*attribute, scales);
    } else if (call.has(scales_at) && call.extents(scales_at).now.elements() > 0) {
        scales = call.known(scales_at, "scales").now.real;
    }
    if (!scales.empty() || is_old)
        scale_axes(call, from, scales, axes, made);
    else
        size_axes(call, from, call.known(3, "sizes"), axes, made);
    if (modes.coordinates == "tf_crop_and_resize") crop_axes(call, axes, made);

    bool plain = from.rank() == 3 || from.rank() == 4;
    Attribute shape = list(Attr::shape, {});
    for (int k = 0; k < from.rank(); ++k) {
        const Axis& axis = made[k];
        if (from.is_open(k)) {
            plain = plain && k < 2;
            continue;
        }
        if (axis.in < 1 || axis.in > kMostExtent) call.refuse("its input is %s", to_text(from.now).text);
        plain = plain && (k < 2 ? axis.in == axis.out && axis.fits : true) && is_plain(axis, modes);
        if (k >= 2) shape.integers[shape.integer_count++] = axis.out;
        if (!axis.fits && modes.coordinates == "align_corners")
            call.refuse("%lld elements times %g are no whole number, of which corners have no meaning",
                        static_cast<long long>(axis.in), static_cast<double>(axis.scale));
        if (axis.out == 1 && modes.coordinates == "pytorch_half_pixel" && modes.mode == "cubic")
            call.refuse("its axis %d becomes one element, of pytorch_half_pixel", k);
    }
    if (plain) {
        const double linear = modes.is_nearest() ? 0 : 1;
        return call.give(0, call.apply(Op::resize, {x}, {shape, number(Attr::mode, linear)}), call.type(0));
    }
    const double extrapolated = is_old ? 0 : call.real_attribute("extrapolation_value");
    for (int k = 0; k < from.rank(); ++k) {
        const bool stays =
            made[k].in == made[k].out && made[k].fits && made[k].scale == 1 &&
            !(modes.coordinates == "tf_crop_and_resize" && (made[k].roi_begin != 0 || made[k].roi_end != 1));
        if (!stays && !from.is_open(k))
            x = resampled(call, x, k, taps_of(call, made[k], modes), extrapolated);
    }
    call.give(0, x, call.type(0));
}

}  // namespace build
}  // namespace volta::onnx
