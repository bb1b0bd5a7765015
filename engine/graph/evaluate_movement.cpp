// Operators that move elements, and embeddings.
#include <algorithm>

#include "engine/graph/evaluate_node.h"
#include "engine/graph/forms.h"
#include "engine/graph/rules.h"
#include "engine/numerics/definitions.h"

namespace volta {
namespace {

// Both kinds of element move alike: `move` is called with the vectors of the kind that output 0 has.
template <class T, class Move>
void of_either_kind(const NodeRun<T>& run, Move move) {
    if (run.out_dtype() == DType::f32)
        move([&](int i) -> const std::pmr::vector<T>& { return run.inputs[i]->real; }, run.outputs[0]->real);
    else
        move([&](int i) -> const std::pmr::vector<std::int32_t>& { return run.inputs[i]->integer; },
             run.outputs[0]->integer);
}

template <class T>
void reshape(const NodeRun<T>& run) {
    of_either_kind(run, [](auto input, auto& y) { y.assign(input(0).begin(), input(0).end()); });
}

// y[index] = x[the place that `strides` gives it]
template <class T>
void gather_elements(const NodeRun<T>& run, const Strides& strides) {
    const Shape& shape = run.out_shape();
    of_either_kind(run, [&](auto input, auto& y) {
        for (std::size_t i = 0; i < y.size(); ++i)
            y[i] =
                input(0)[static_cast<std::size_t>(offset_of(static_cast<std::int64_t>(i), shape, strides))];
    });
}

template <class T>
void broadcast_to(const NodeRun<T>& run) {
    gather_elements(run, broadcast_strides(run.in_shape(0), run.out_shape()));
}

template <class T>
void transpose(const NodeRun<T>& run) {
    const Strides of_x = broadcast_strides(run.in_shape(0), run.in_shape(0));
    const Attribute& order = *run.node.find(Attr::permutation);
    Strides strides;
    for (int axis = 0; axis < order.integer_count; ++axis)
        strides.step[axis] = of_x.step[order.integers[axis]];
    gather_elements(run, strides);
}

// A tensor around one axis: [outer, extent, inner].
struct AroundAxis {
    std::int64_t outer, extent, inner;
    AroundAxis(const Shape& shape, int axis) : outer(shape.leading(axis)), extent(shape[axis]), inner(1) {
        for (int i = axis + 1; i < shape.rank; ++i) inner *= shape[i];
    }
};

// Copies `count` indices along an axis, from index `from` of x to index `to` of y.
template <class Element>
void copy_along(const std::pmr::vector<Element>& x, const AroundAxis& ax, std::int64_t from,
                std::pmr::vector<Element>& y, const AroundAxis& ay, std::int64_t to, std::int64_t count) {
    for (std::int64_t outer = 0; outer < ax.outer; ++outer)
        std::copy_n(x.begin() + (outer * ax.extent + from) * ax.inner, count * ax.inner,
                    y.begin() + (outer * ay.extent + to) * ay.inner);
}

template <class T>
void concat(const NodeRun<T>& run) {
    const int axis = axis_form(run.node, run.out_shape());
    const AroundAxis ay(run.out_shape(), axis);
    of_either_kind(run, [&](auto input, auto& y) {
        std::int64_t to = 0;
        for (int i = 0; i < static_cast<int>(run.node.inputs.size()); ++i) {
            const AroundAxis ax(run.in_shape(i), axis);
            copy_along(input(i), ax, 0, y, ay, to, ax.extent);
            to += ax.extent;
        }
    });
}

template <class T>
void slice(const NodeRun<T>& run) {
    const SliceForm form = slice_form(run.node, run.in_shape(0));
    const AroundAxis ax(run.in_shape(0), form.axis), ay(run.out_shape(), form.axis);
    of_either_kind(run,
                   [&](auto input, auto& y) { copy_along(input(0), ax, form.begin, y, ay, 0, ay.extent); });
}

template <class T>
void slice_grad(const NodeRun<T>& run) {
    const int axis = axis_form(run.node, run.in_shape(0));
    const AroundAxis ady(run.in_shape(0), axis), adx(run.out_shape(), axis);
    std::pmr::vector<T>& dx = run.outputs[0]->real;
    std::fill(dx.begin(), dx.end(), T(0));
    copy_along(run.inputs[0]->real, ady, 0, dx, adx, static_cast<std::int64_t>(run.node.number(Attr::begin)),
               ady.extent);
}

template <class T>
void stack(const NodeRun<T>& run) {
    of_either_kind(run, [&](auto input, auto& y) {
        std::copy(input(0).begin(), input(0).end(),
                  y.begin() + static_cast<std::int64_t>(run.micro_index * input(0).size()));
    });
}

template <class T>
void gather(const NodeRun<T>& run) {
    check_ids(run, 1, run.in_shape(0)[0]);
    if (run.is_stored(0))
        return define::stored_embedding(run.in_shape(1).elements(), run.in_ids(1), run.in_stored(0),
                                        run.out());
    define::embedding(run.in_shape(1).elements(), run.in_shape(0)[1], run.in_ids(1), run.in(0), run.out());
}

template <class T>
void embedding_gradient(const NodeRun<T>& run) {
    const std::int64_t rows = run.out_shape()[0], columns = run.out_shape()[1];
    const std::int64_t positions = run.in_shape(0).elements();
    check_ids(run, 0, rows);
    if (run.node.inputs.size() == 2)
        return define::embedding_grad(positions, columns, run.in_ids(0), run.in(1), rows, false, run.out());
    std::copy_n(run.in(2), rows * columns, run.out());
    define::tied_embedding_grad(positions, columns, run.in_ids(0), run.in(1), rows, run.out());
}

template <class T>
void position_ids(const NodeRun<T>& run) {
    const std::int64_t time = run.out_shape().last();
    const bool documents = run.node.inputs.size() > 1;
    if (documents) check_ids(run, 1, time);
    for (std::int64_t i = 0; i < run.out_shape().elements(); ++i) {
        const auto t = static_cast<std::int32_t>(i % time);
        run.out_ids()[i] = documents ? t - std::min(run.in_ids(1)[i], t) : t;
    }
}

}  // namespace

namespace evaluations {
constexpr Evaluation reshape = {volta::reshape<float>};
constexpr Evaluation transpose = {volta::transpose<float>};
constexpr Evaluation concat = {volta::concat<float>};
constexpr Evaluation slice = {volta::slice<float>};
constexpr Evaluation slice_grad = {volta::slice_grad<float>};
constexpr Evaluation broadcast_to = {volta::broadcast_to<float>};
constexpr Evaluation position_ids = {volta::position_ids<float>};
constexpr Evaluation gather = {volta::gather<float>};
constexpr Evaluation embedding_gradient = {volta::embedding_gradient<float>};
constexpr Evaluation stack = {volta::stack<float>};

constexpr InDouble kInDouble[] = {
    {&reshape, volta::reshape<double>},
    {&transpose, volta::transpose<double>},
    {&concat, volta::concat<double>},
    {&slice, volta::slice<double>},
    {&slice_grad, volta::slice_grad<double>},
    {&broadcast_to, volta::broadcast_to<double>},
    {&position_ids, volta::position_ids<double>},
    {&gather, volta::gather<double>},
    {&embedding_gradient, volta::embedding_gradient<double>},
    {&stack, volta::stack<double>},
};
InDoubleList movement_in_double() { return {kInDouble, sizeof kInDouble / sizeof *kInDouble}; }
}  // namespace evaluations

}  // namespace volta
