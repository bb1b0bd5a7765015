// Convolutions and pooling.
#include <algorithm>

#include "engine/import/onnx/rules.h"
#include "engine/import/onnx/window.h"

namespace volta::onnx {
namespace {

using Whole = std::int64_t;
constexpr Whole kMostStep = Whole{1} << 20;

int spatial_axes(Call& call, const Extents& x, int most) {
    const int spatial = x.rank() - 2;
    if (spatial < 1 || spatial > most)
        call.refuse("its input %s has %d spatial axes; one to %d are imported", to_text(x.now).text,
                    std::max(spatial, 0), most);
    for (int axis = 2; axis < x.rank(); ++axis)
        if (x.is_open(axis)) call.refuse("the extent of its spatial axis %d is open", axis);
    return spatial;
}

std::pmr::vector<Whole> kernel_of_weight(Call& call, const Extents& weight, int spatial) {
    if (weight.rank() != spatial + 2 || weight.has_open())
        call.refuse("its weight is %s", to_text(weight.now).text);
    std::pmr::vector<Whole> kernel(call.heap());
    for (int axis = 2; axis < weight.rank(); ++axis) kernel.push_back(weight.now[axis]);
    if (call.given("kernel_shape") && call.integers("kernel_shape") != kernel)
        call.refuse("its kernel_shape is not that of its weight %s", to_text(weight.now).text);
    return kernel;
}

}  // namespace

std::pmr::vector<Whole> per_axis(Call& call, const char* name, int count, Whole otherwise) {
    auto values = call.integers(name);
    if (values.empty()) values.assign(static_cast<std::size_t>(count), otherwise);
    if (static_cast<int>(values.size()) != count)
        call.refuse("its %s has %zu entries for %d axes", name, values.size(), count);
    for (const Whole value : values)
        if (value < 0 || value > kMostStep)
            call.refuse("its %s has an entry of %lld", name, static_cast<long long>(value));
    return values;
}

Window window_of(Call& call, const Extents& x, const std::pmr::vector<Whole>& kernel) {
    const int spatial = static_cast<int>(kernel.size());
    const auto count = kernel.size();
    Window window{kernel, per_axis(call, "strides", spatial, 1), per_axis(call, "dilations", spatial, 1),
                  std::pmr::vector<Whole>(2 * count, 0, call.heap())};
    for (std::size_t i = 0; i < count; ++i)
        if (kernel[i] < 1 || kernel[i] > kMostStep || window.strides[i] < 1 || window.dilations[i] < 1)
            call.refuse("its window has %lld taps, a stride of %lld and a dilation of %lld",
                        static_cast<long long>(kernel[i]), static_cast<long long>(window.strides[i]),
                        static_cast<long long>(window.dilations[i]));
    const std::string_view mode = call.text("auto_pad");
    if (mode == "NOTSET" || mode.empty()) {
        window.pads = per_axis(call, "pads", 2 * spatial, 0);
        return window;
    }
    if (mode == "VALID") return window;
    for (std::size_t i = 0; i < count; ++i) {
        const Whole extent = x.now[static_cast<int>(i) + 2], stride = window.strides[i];
        const Whole outputs = (extent + stride - 1) / stride;
        const Whole total = std::max<Whole>(0, (outputs - 1) * stride + reach_of(window, i) - extent);
        const Whole less = total / 2, more = total - less;
        window.pads[i] = mode == "SAME_LOWER" ? more : less;
        window.pads[i + count] = mode == "SAME_LOWER" ? less : more;
    }
    return window;
}

ValueId convolved(Call& call, ValueId x, ValueId weight, ValueId bias) {
    const Extents from = call.extents_of(x);
    const int spatial = spatial_axes(call, from, 3);
    const Window window = window_of(call, from, kernel_of_weight(call, call.extents_of(weight), spatial));
    if (spatial == 3) return convolved_volume(call, x, weight, bias, window, call.integer("group"));
    const ValueId inputs[] = {x, weight, bias};
    const Attribute attributes[] = {
        list_of(Attr::strides, window.strides), list_of(Attr::dilations, window.dilations),
        list_of(Attr::pads, window.pads), number(Attr::groups, static_cast<double>(call.integer("group")))};
    return call.graph().apply(Op::conv, inputs, bias >= 0 ? 3 : 2, attributes, 4);
}

namespace build {

void conv(Call& call) {
    const ValueId x = call.real(0), weight = call.real(1), bias = call.has(2) ? call.real(2) : -1;
    call.give(0, convolved(call, x, weight, bias), call.type(0));
}

void conv_transpose(Call& call) {
    const ValueId x = call.real(0), weight = call.real(1);
    const Extents from = call.extents_of(x);
    const int spatial = spatial_axes(call, from, 2);
    const auto count = static_cast<std::size_t>(spatial);
    Window window{kernel_of_weight(call, call.extents_of(weight), spatial),
                  per_axis(call, "strides", spatial, 1), per_axis(call, "dilations", spatial, 1),
                  std::pmr::vector<Whole>(2 * count, 0, call.heap())};
    const auto more = per_axis(call, "output_padding", spatial, 0);
    auto wanted = call.integers("output_shape");
    if (wanted.size() == count + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
    if (!wanted.empty() && wanted.size() != count)
        call.refuse("its output_shape has %zu entries", wanted.size());
    const std::string_view mode = call.text("auto_pad");
    const bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
    if (!same && mode != "VALID" && wanted.empty()) window.pads = per_axis(call, "pads", 2 * spatial, 0);
    Attribute shape = list(Attr::shape, {});
    for (std::size_t i = 0; i < count; ++i) {
        if (window.strides[i] < 1 || window.dilations[i] < 1 || window.kernel[i] < 1 ||
            window.kernel[i] > kMostStep)
            call.refuse("its strides, dilations or kernel have an entry of 0");
        const Whole extent = from.now[static_cast<int>(i) + 2];
        if (extent > INT32_MAX) call.refuse("its input is %s", to_text(from.now).text);
        const Whole whole = (extent - 1) * window.strides[i] + more[i] + reach_of(window, i);
        Whole target = whole - window.pads[i] - window.pads[i + count];
        if (!wanted.empty())
            target = wanted[i];
        else if (same)
            target = extent * window.strides[i];
        if (!wanted.empty() || same) {
            if (target < 0 || target > INT32_MAX)
                call.refuse("its output_shape has an entry of %lld", static_cast<long long>(target));
            const Whole total = whole - target;
            if (total < 0)
                call.refuse("an output of %lld elements is more than the %lld that there are",
                            static_cast<long long>(target), static_cast<long long>(whole));
            const Whole less = total / 2, rest = total - less;
            window.pads[i] = mode == "SAME_UPPER" ? less : rest;
            window.pads[i + count] = mode == "SAME_UPPER" ? rest : less;
        }
        shape.integers[shape.integer_count++] = target;
    }
    for (const Whole pad : window.pads)
        if (pad < 0 || pad > kMostStep) call.refuse("its padding is %lld", static_cast<long long>(pad));
    const ValueId inputs[] = {x, weight, call.has(2) ? call.real(2) : -1};
    const Attribute attributes[] = {shape,
                                    list_of(Attr::strides, window.strides),
                                    list_of(Attr::dilations, window.dilations),
                                    list_of(Attr::pads, window.pads),
                                    number(Attr::groups, static_cast<double>(call.integer("group"))),
                                    list_of(Attr::output_padding, more)};
    call.give(0, call.graph().apply(Op::conv_transpose, inputs, call.has(2) ? 3 : 2, attributes, 6),
              call.type(0));
}

void pool(Call& call) {
    ValueId x = call.real(0);
    const Extents from = call.extents_of(x);
    const bool is_max = call.node().op == "MaxPool";
    if (is_max && call.wants(1)) call.refuse("its second output, the indices, is used");
    const int spatial = spatial_axes(call, from, 3);
    const auto kernel = call.integers("kernel_shape");
    if (static_cast<int>(kernel.size()) != spatial)
        call.refuse("its kernel_shape has %zu entries for %d spatial axes", kernel.size(), spatial);
    Window window = window_of(call, from, kernel);
    const bool ceil = call.integer("ceil_mode") != 0;
    const bool is_dilated =
        std::any_of(window.dilations.begin(), window.dilations.end(), [](Whole d) { return d != 1; });
    if (is_max && spatial == 3) return call.give(0, volume_maxima(call, x, window, ceil), call.type(0));
    if (!is_max && (spatial == 3 || is_dilated))
        return call.give(
            0,
            window_sums(call, x, window, ceil, call.integer("count_include_pad") != 0 ? Of::all : Of::tensor),
            call.type(0));
    std::pmr::vector<Attribute> attributes(call.heap());
    attributes.push_back(list_of(Attr::strides, window.strides));
    if (is_max) attributes.push_back(list_of(Attr::dilations, window.dilations));
    attributes.push_back(list_of(Attr::pads, window.pads));
    attributes.push_back(list_of(Attr::kernel, kernel));
    attributes.push_back(number(Attr::ceil_mode, ceil));
    if (!is_max)
        attributes.push_back(
            number(Attr::count_include_pad, static_cast<double>(call.integer("count_include_pad"))));
    call.give(0,
              call.graph().apply(is_max ? Op::max_pool : Op::average_pool, &x, 1, attributes.data(),
                                 static_cast<int>(attributes.size())),
              call.type(0));
}

void lp_pool(Call& call) {
    const ValueId x = call.real(0);
    const Extents from = call.extents_of(x);
    const int spatial = spatial_axes(call, from, 3);
    const auto kernel = call.integers("kernel_shape");
    if (static_cast<int>(kernel.size()) != spatial)
        call.refuse("its kernel_shape has %zu entries for %d spatial axes", kernel.size(), spatial);
    const Window window = window_of(call, from, kernel);
    const double p = static_cast<double>(call.integer("p"));
    ValueId y = call.apply(Op::abs, {x});
    if (p != 1) y = call.apply(Op::pow, {y}, {number(Attr::exponent, p)});
    y = window_sums(call, y, window, call.integer("ceil_mode") != 0, Of::nothing);
    if (p != 1) y = call.apply(Op::pow, {y}, {number(Attr::exponent, 1 / p)});
    call.give(0, y, call.type(0));
}

void global_pool(Call& call) {
    const ValueId x = call.real(0);
    const Extents from = call.extents_of(x);
    if (from.rank() < 3) call.refuse("its input is %s", to_text(from.now).text);
    Shape axes;
    for (int axis = 2; axis < from.rank(); ++axis) axes.extent[axes.rank++] = axis;
    call.give(0,
              call.apply(call.node().op == "GlobalMaxPool" ? Op::max : Op::mean, {x},
                         {list(Attr::axes, axes), number(Attr::keep_dims, 1)}),
              call.type(0));
}

// Channels as the rows of a picture, squares averaged over `size` of them.
void lrn(Call& call) {
    const ValueId x = call.real(0);
    const Extents from = call.extents_of(x);
    const Whole size = call.integer("size");
    if (from.rank() < 2 || from.is_open(1)) call.refuse("its input is %s", to_text(from.now).text);
    Whole plane = 1;
    for (int axis = 2; axis < from.rank(); ++axis) {
        if (from.is_open(axis)) call.refuse("the extent of axis %d is open", axis);
        plane = multiplied(call, plane, from.now[axis]);
    }
    Extents picture;
    picture.append(from, 0);
    picture.append(1);
    picture.append(from, 1);
    picture.append(plane);
    const ValueId square = call.reshape(call.apply(Op::mul, {x, x}), picture);
    const Whole before = (size - 1) / 2, behind = size - 1 - before;
    const ValueId mean = call.apply(Op::average_pool, {square},
                                    {list(Attr::pads, {before, 0, behind, 0}), list(Attr::kernel, {size, 1}),
                                     number(Attr::count_include_pad, 1)});
    const ValueId scaled =
        call.apply(Op::mul, {call.reshape(mean, from), call.scalar(call.real_attribute("alpha"))});
    const ValueId base = call.apply(Op::add, {scaled, call.scalar(call.real_attribute("bias"))});
    const ValueId divisor =
        call.apply(Op::pow, {base}, {number(Attr::exponent, call.real_attribute("beta"))});
    call.give(0, call.apply(Op::div, {x, divisor}), call.type(0));
}

}  // namespace build
}  // namespace volta::onnx
