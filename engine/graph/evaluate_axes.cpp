// Padding and resampling.
#include <algorithm>

#include "engine/graph/evaluate_node.h"
#include "engine/graph/forms.h"
#include "engine/graph/rules.h"
#include "engine/numerics/definitions.h"

namespace volta {
namespace {

// One changed axis after the other: forward from the last to the first, backward from the first to the last.
template <class T>
void by_axes(const NodeRun<T>& run, bool is_forward, T value) {
    const AxisMapForm form = axis_map_form(run.node, run.in_shape(0));
    Shape shape = run.in_shape(0);
    std::pmr::vector<T> now(run.in(0), run.in(0) + shape.elements(), run.heap());
    for (int step = 0; step < shape.rank; ++step) {
        const int axis = is_forward ? shape.rank - 1 - step : step;
        const define::AxisMap& map = form.axes[axis];
        if (!map.is_changed()) continue;
        const std::int64_t outer = shape.leading(axis);
        std::int64_t inner = 1;
        for (int i = axis + 1; i < shape.rank; ++i) inner *= shape[i];
        shape[axis] = is_forward ? map.out : map.in;
        std::pmr::vector<T> next = run.scratch(shape.elements());
        if (is_forward)
            define::map_axis(map, outer, inner, value, now.data(), next.data());
        else
            define::map_axis_gradient(map, outer, inner, now.data(), next.data());
        now = std::move(next);
    }
    std::copy(now.begin(), now.end(), run.out());
}

template <class T>
void pad(const NodeRun<T>& run) {
    by_axes(run, true, static_cast<T>(run.node.number(Attr::value)));
}
template <class T>
void resize(const NodeRun<T>& run) {
    by_axes(run, true, T(0));
}
template <class T>
void gradient(const NodeRun<T>& run) {
    by_axes(run, false, T(0));
}

}  // namespace

namespace evaluations {
constexpr Evaluation pad = {volta::pad<float>};
constexpr Evaluation pad_grad = {volta::gradient<float>};
constexpr Evaluation resize = {volta::resize<float>};
constexpr Evaluation resize_grad = {volta::gradient<float>};

constexpr InDouble kInDouble[] = {
    {&pad, volta::pad<double>},
    {&pad_grad, volta::gradient<double>},
    {&resize, volta::resize<double>},
    {&resize_grad, volta::gradient<double>},
};
InDoubleList axes_in_double() { return {kInDouble, sizeof kInDouble / sizeof *kInDouble}; }
}  // namespace evaluations

}  // namespace volta
