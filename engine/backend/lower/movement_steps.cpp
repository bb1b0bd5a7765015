// Steps that only move elements.
#include "engine/backend/lower/lowerings.h"
#include "engine/graph/forms.h"

namespace volta {
namespace {

void add_transpose(StepLowering& step) {
    const Strides in(step.input_shape(0)), out(step.output_shape());
    const Attribute& permutation = *step.node.find(Attr::permutation);
    CopyLoops loops;
    for (int i = 0; i < step.output_shape().rank; ++i)
        loops.push(step.output_shape()[i], in.at[permutation.integers[i]], out.at[i]);
    step.copy(loops, step.input(0), step.output(), When::always);
}

void add_broadcast(StepLowering& step) {
    const Shape &x = step.input_shape(0), &y = step.output_shape();
    const Strides in(x), out(y);
    CopyLoops loops;
    for (int i = 0; i < y.rank; ++i) {
        const int own = i - (y.rank - x.rank);
        loops.push(y[i], own < 0 || x[own] == 1 ? 0 : in.at[own], out.at[i]);
    }
    step.copy(loops, step.input(0), step.output(), When::always);
}

// From a tensor into a part of a larger one, or from such a part into a tensor of its own.
CopyLoops part_loops(const Shape& part, const Shape& whole, bool into_whole) {
    const Strides own(part), outer(whole);
    CopyLoops loops;
    for (int i = 0; i < part.rank; ++i)
        loops.push(part[i], into_whole ? own.at[i] : outer.at[i], into_whole ? outer.at[i] : own.at[i]);
    return loops;
}

void add_concat(StepLowering& step) {
    const Shape& whole = step.output_shape();
    const int axis = axis_form(step.node, step.input_shape(0));
    std::int64_t begin = 0;
    for (int i = 0; i < step.input_count(); ++i) {
        const Shape& part = step.input_shape(i);
        const Ref from = step.input(i), to = plus_elements(step.output(), begin * Strides(whole).at[axis]);
        const bool is_there = from.region == to.region && from.offset == to.offset;
        if (!is_there) step.copy(part_loops(part, whole, true), from, to, When::always);
        begin += part[axis];
    }
}

void add_slice(StepLowering& step) {
    const SliceForm form = slice_form(step.node, step.input_shape(0));
    const std::int64_t first = form.begin * Strides(step.input_shape(0)).at[form.axis];
    step.copy(part_loops(step.output_shape(), step.input_shape(0), false),
              plus_elements(step.input(0), first), step.output(), When::always);
}

void add_slice_gradient(StepLowering& step) {
    const Shape& whole = step.output_shape();
    const int axis = axis_form(step.node, step.input_shape(0));
    const auto begin = static_cast<std::int64_t>(step.node.number(Attr::begin));
    step.zero(step.output(), whole.elements());
    step.copy(part_loops(step.input_shape(0), whole, true), step.input(0),
              plus_elements(step.output(), begin * Strides(whole).at[axis]), When::always);
}

void add_positions(StepLowering& step) {
    PositionStep work;
    work.y = step.output();
    work.documents = step.input_count() > 1;
    if (work.documents) work.starts = step.input(1);
    work.rows = step.output_shape().rows();
    work.columns = step.output_shape().last();
    step.positions(work);
}

}  // namespace

void lower_movement(StepLowering& step) {
    switch (step.node.op) {
        case Op::transpose:
            return add_transpose(step);
        case Op::concat:
            return add_concat(step);
        case Op::slice:
            return add_slice(step);
        case Op::slice_grad:
            return add_slice_gradient(step);
        case Op::broadcast_to:
            return add_broadcast(step);
        case Op::position_ids:
            return add_positions(step);
        case Op::stack:  // the place of the output moves with the micro-batch
            return step.copy(dense_copy(step.input_shape(0).elements()), step.input(0), step.output(),
                             When::always);
        // unreachable: the table has no other operator of this lowering
        default:
            step.no_kernel();
    }
}

}  // namespace volta
