// What pictures of two axes are not enough for. A convolution of volumes is one of pictures whose channels
// are the planes under the window: its products and their order are the same. Maxima are taken axis after
// axis. Averages of other windows than `average_pool` has are sums by a convolution with ones, divided by how
// many elements there are.
#include <algorithm>

#include "engine/graph/forms.h"
#include "engine/import/onnx/rules.h"
#include "engine/import/onnx/window.h"

namespace volta::onnx {
namespace {

using Whole = std::int64_t;

std::pmr::vector<Whole> two(Call& call, Whole a, Whole b) {
    return std::pmr::vector<Whole>({a, b}, call.heap());
}
// Entries of the last two of three spatial axes; of pads both ends.
std::pmr::vector<Whole> of_pictures(Call& call, const std::pmr::vector<Whole>& entries) {
    if (entries.size() == 3) return two(call, entries[1], entries[2]);
    return std::pmr::vector<Whole>({entries[1], entries[2], entries[4], entries[5]}, call.heap());
}

Extents merged(Call& call, const Extents& from, std::initializer_list<int> counts) {
    Extents to;
    int axis = 0;
    for (const int count : counts) {
        to.append(from, axis++);
        for (int k = 1; k < count; ++k, ++axis) {
            Whole& now = to.now[to.rank() - 1];
            Whole& later = to.later[to.rank() - 1];
            now = multiplied(call, now, from.now[axis]);
            later = multiplied(call, later, from.later[axis]);
        }
    }
    return to;
}

// How many windows an axis has; with `ceil` also a last one that hangs over the end, if it begins before it.
Whole windows_on(Call& call, const Window& window, std::size_t i, Whole extent, bool ceil) {
    const Whole stride = window.strides[i], begin = window.pads[i],
                end = window.pads[i + window.kernel.size()];
    const Whole room = extent + begin + end - reach_of(window, i);
    if (room < 0) call.refuse("its window is larger than its input");
    Whole count = room / stride + 1;
    if (ceil && room % stride != 0 && count * stride < extent + begin) ++count;
    return count;
}

}  // namespace

// [N, C, D, H, W]: plane p * stride + tap * dilation of each sample and channel becomes a channel of picture
// p.
ValueId convolved_volume(Call& call, ValueId x, ValueId weight, ValueId bias, const Window& window,
                         Whole groups) {
    if (window.pads[0] > 0 || window.pads[3] > 0) {
        Attribute pads = list(Attr::pads, {window.pads[0], 0, 0, window.pads[3], 0, 0});
        x = call.apply(Op::pad, {x}, {pads, number(Attr::mode, 0), number(Attr::value, 0)});
    }
    const Extents from = call.extents_of(x), of_weight = call.extents_of(weight);
    const Whole depth = from.now[2], taps = window.kernel[0];
    if (depth < reach_of(window, 0)) call.refuse("its window is larger than its input");
    const Whole planes = (depth - reach_of(window, 0)) / window.strides[0] + 1;
    std::pmr::vector<std::int32_t> ids(call.heap());
    call.graph().spend(static_cast<std::size_t>(multiplied(call, planes, taps)));
    for (Whole plane = 0; plane < planes; ++plane)
        for (Whole tap = 0; tap < taps; ++tap)
            ids.push_back(checked_i32(plane * window.strides[0] + tap * window.dilations[0], "a plane"));
    const ValueId first = call.move_axis(x, 2, 0);
    const Extents moved = call.extents_of(first);
    const ValueId rows = call.apply(
        Op::gather, {call.reshape(first, merged(call, moved, {1, 4})),
                     call.graph().constant(DType::i32, {static_cast<Whole>(ids.size())}, ids.data())});
    Extents apart;
    apart.append(planes);
    apart.append(taps);
    for (int axis = 1; axis < 5; ++axis) apart.append(moved, axis);
    const Whole order[] = {2, 0, 3, 1, 4, 5};  // N, planes, C, taps, H, W
    const ValueId sorted =
        call.transpose(call.reshape(rows, apart), std::pmr::vector<Whole>(order, order + 6, call.heap()));
    const ValueId pictures = call.reshape(sorted, merged(call, call.extents_of(sorted), {2, 2, 1, 1}));
    const ValueId inputs[] = {pictures, call.reshape(weight, merged(call, of_weight, {1, 2, 1, 1})), bias};
    const Attribute attributes[] = {list_of(Attr::strides, of_pictures(call, window.strides)),
                                    list_of(Attr::dilations, of_pictures(call, window.dilations)),
                                    list_of(Attr::pads, of_pictures(call, window.pads)),
                                    number(Attr::groups, static_cast<double>(groups))};
    const ValueId y = call.graph().apply(Op::conv, inputs, bias >= 0 ? 3 : 2, attributes, 4);
    const Extents made = call.extents_of(y);
    Extents to;
    to.append(from, 0);
    to.append(planes);
    for (int axis = 1; axis < 4; ++axis) to.append(made, axis);
    return call.move_axis(call.reshape(y, to), 1, 2);
}

ValueId volume_maxima(Call& call, ValueId x, const Window& window, bool ceil) {
    const Extents from = call.extents_of(x);
    const auto pooled = [&](ValueId pictures, const std::pmr::vector<Whole>& kernel,
                            const std::pmr::vector<Whole>& strides, const std::pmr::vector<Whole>& dilations,
                            const std::pmr::vector<Whole>& pads) {
        return call.apply(
            Op::max_pool, {pictures},
            {list_of(Attr::strides, strides), list_of(Attr::dilations, dilations), list_of(Attr::pads, pads),
             list_of(Attr::kernel, kernel), number(Attr::ceil_mode, ceil)});
    };
    const ValueId planes = pooled(call.reshape(x, merged(call, from, {1, 2, 1, 1})),
                                  of_pictures(call, window.kernel), of_pictures(call, window.strides),
                                  of_pictures(call, window.dilations), of_pictures(call, window.pads));
    const Extents made = call.extents_of(planes);
    Extents columns, to;
    for (int axis = 0; axis < 3; ++axis) columns.append(from, axis);
    columns.append(multiplied(call, made.now[2], made.now[3]));
    const ValueId y = pooled(call.reshape(planes, columns), two(call, window.kernel[0], 1),
                             two(call, window.strides[0], 1), two(call, window.dilations[0], 1),
                             std::pmr::vector<Whole>({window.pads[0], 0, window.pads[3], 0}, call.heap()));
    to.append(from, 0);
    to.append(from, 1);
    to.append(call.extents_of(y), 2);
    to.append(made, 2);
    to.append(made, 3);
    return call.reshape(y, to);
}

ValueId window_sums(Call& call, ValueId x, const Window& given, bool ceil, Of what) {
    const Extents from = call.extents_of(x);
    Window window = given;
    const std::size_t axes = window.kernel.size();
    Shape outputs, kernel = {1, 1};
    std::pmr::vector<float> counts({1}, call.heap());
    for (std::size_t i = 0; i < axes; ++i) {
        const Whole extent = from.now[static_cast<int>(i) + 2], begin = window.pads[i],
                    end = window.pads[i + axes];
        if (extent > INT32_MAX) call.refuse("its input is %s", to_text(from.now).text);
        const Whole count = windows_on(call, window, i, extent, ceil);
        outputs.extent[outputs.rank++] = count;
        kernel.extent[kernel.rank++] = window.kernel[i];
        const bool padded = what == Of::all;
        const Whole low = padded ? -begin : 0, high = padded ? extent + end : extent;
        call.graph().spend(static_cast<std::size_t>(multiplied(call, count, window.kernel[i])));
        std::pmr::vector<float> taken(call.heap()), wider(call.heap());
        for (Whole place = 0; place < count; ++place) {
            Whole elements = 0;
            for (Whole tap = 0; tap < window.kernel[i]; ++tap) {
                const Whole at = place * window.strides[i] - begin + tap * window.dilations[i];
                elements += at >= low && at < high;
            }
            taken.push_back(static_cast<float>(elements));
        }
        call.graph().spend(
            static_cast<std::size_t>(multiplied(call, static_cast<Whole>(counts.size()), count)));
        for (const float before : counts)
            for (const float here : taken) wider.push_back(before * here);
        counts = std::move(wider);
        window.pads[i + axes] +=
            std::max<Whole>(0, (count - 1) * window.strides[i] + reach_of(window, i) - extent - begin - end);
    }
    Extents lines = merged(call, from, {2}), to;
    lines.append(1);
    for (int axis = 2; axis < from.rank(); ++axis) lines.append(from, axis);
    Whole weights = 1;
    for (const Whole taps : window.kernel) weights = multiplied(call, weights, taps);
    call.graph().spend(static_cast<std::size_t>(weights));
    const std::pmr::vector<float> ones(static_cast<std::size_t>(weights), 1, call.heap());
    const ValueId line = call.reshape(x, lines),
                  weight = call.graph().constant(DType::f32, kernel, ones.data());
    const ValueId inputs[] = {line, weight};
    const Attribute attributes[] = {list_of(Attr::strides, window.strides),
                                    list_of(Attr::dilations, window.dilations),
                                    list_of(Attr::pads, window.pads)};
    const ValueId sums = axes == 3 ? convolved_volume(call, line, weight, -1, window, 1)
                                   : call.graph().apply(Op::conv, inputs, 2, attributes, 3);
    const ValueId result =
        what == Of::nothing
            ? sums
            : call.apply(Op::div, {sums, call.graph().constant(DType::f32, outputs, counts.data())});
    to.append(from, 0);
    to.append(from, 1);
    for (int axis = 0; axis < outputs.rank; ++axis) to.append(outputs[axis]);
    return call.reshape(result, to);
}

}  // namespace volta::onnx
