// Reductions by docs/numerics.md, 3: the logical shape says whether rows or columns are summed, and over
// which linear order. Where the reduced axes do not lie side by side they are first copied into that order.
#include "engine/backend/lower/lowerings.h"
#include "engine/backend/lower/row_programs.h"
#include "engine/graph/forms.h"

namespace volta {
namespace {

using jit::Access;

constexpr std::int64_t kChunk = 4096;  // of the canonical row sum

// A reduction as [outer] times rows x columns: either the columns are reduced (outer is 1), or the rows.
struct Layout {
    std::int64_t outer = 1, rows = 1, columns = 1;
    bool copied = false;  // the tensor must be brought into this order by `order`
    CopyLoops order;
    CopyLoops reversed() const {
        CopyLoops loops = order;
        for (int i = 0; i < loops.rank; ++i) {
            loops.in_stride[i] = order.out_stride[i];
            loops.out_stride[i] = order.in_stride[i];
        }
        return loops;
    }
};

// Axes with an extent other than 1, neighbours of one kind joined.
struct Group {
    bool reduced;
    std::int64_t extent;
};
struct Groups {
    int count = 0;
    Group at[kMaxRank];
};
Groups group_axes(const Shape& x, const ReductionForm& form) {
    Groups groups;
    for (int axis = 0; axis < x.rank; ++axis) {
        if (x[axis] == 1) continue;
        if (groups.count > 0 && groups.at[groups.count - 1].reduced == form.is_reduced[axis])
            groups.at[groups.count - 1].extent *= x[axis];
        else
            groups.at[groups.count++] = Group{form.is_reduced[axis], x[axis]};
    }
    return groups;
}

// From the tensor to a dense one whose first axes are the reduced ones (or the kept ones).
CopyLoops reordering(const Shape& x, const ReductionForm& form, bool reduced_first) {
    const Strides in(x);
    CopyLoops loops;
    for (const bool reduced : {reduced_first, !reduced_first})
        for (int axis = 0; axis < x.rank; ++axis)
            if (form.is_reduced[axis] == reduced) loops.push(x[axis], in.at[axis], 0);
    std::int64_t stride = 1;
    for (int i = loops.rank; i-- > 0; stride *= loops.extent[i]) loops.out_stride[i] = stride;
    return loops;
}

// The reduced axes as the columns of rows.
Layout row_layout(const Shape& x, const ReductionForm& form) {
    const Groups groups = group_axes(x, form);
    Layout layout;
    layout.columns = form.reduced;
    layout.rows = form.result.elements();
    layout.copied = groups.count > 2 || (groups.count == 2 && groups.at[0].reduced);
    if (layout.copied) layout.order = reordering(x, form, false);
    return layout;
}

// The reduced axes as rows, whose columns are summed.
Layout column_layout(const Shape& x, const ReductionForm& form) {
    const Groups groups = group_axes(x, form);
    Layout layout;
    layout.rows = form.reduced;
    layout.columns = form.result.elements();
    if (groups.count == 3 && groups.at[1].reduced) {  // kept, reduced, kept: once per index of the first
        layout.outer = groups.at[0].extent;
        layout.columns = groups.at[2].extent;
        return layout;
    }
    layout.copied = groups.count > 2;  // the last group is kept, so of two the first is reduced
    if (layout.copied) layout.order = reordering(x, form, true);
    return layout;
}

LoopOperand dense(Access access, std::int64_t row_stride) {
    LoopOperand operand;
    operand.access = access;
    operand.row_stride = row_stride;
    return operand;
}

void add_row_reduction(StepLowering& step, Reduction reduction, Ref x, Ref y, std::int64_t rows,
                       std::int64_t columns) {
    LoopSpace loops(step.heap());
    loops.rows = rows;
    loops.columns = columns;
    loops.operands.push_back(dense(Access::full, columns));
    loops.operands.push_back(dense(Access::per_row, 1));
    const std::pmr::vector<Ref> refs({x, y}, step.heap());
    step.rows(make_row_reduction(reduction, step.heap()), refs, loops, RowUse());
}

// One long row: its chunks are rows of their own, which workers share, and their results are summed by the
// same rule; that is how the canonical sum is defined.
void add_long_row_sum(StepLowering& step, Reduction reduction, Ref x, Ref y, std::int64_t count) {
    const std::int64_t chunks = count / kChunk, rest = count % kChunk, results = chunks + (rest > 0 ? 1 : 0);
    const Ref partial = step.temporary(static_cast<std::size_t>(results) * sizeof(float));
    add_row_reduction(step, reduction, x, partial, chunks, kChunk);
    if (rest > 0)
        add_row_reduction(step, reduction, plus_elements(x, chunks * kChunk), plus_elements(partial, chunks),
                          1, rest);
    add_row_reduction(step, Reduction::sum, partial, y, 1, results);
}

void add_rows(StepLowering& step, Reduction reduction, Ref x, Ref y, std::int64_t rows,
              std::int64_t columns) {
    const bool is_sum = reduction == Reduction::sum || reduction == Reduction::square_sum;
    if (is_sum && rows == 1 && columns >= 4 * kChunk && step.shares_one_row())
        add_long_row_sum(step, reduction, x, y, columns);
    else
        add_row_reduction(step, reduction, x, y, rows, columns);
}

void add_column_sums(StepLowering& step, const Layout& layout, Ref x, Ref y) {
    LoopSpace loops(step.heap());
    loops.rows = layout.rows;
    loops.columns = layout.columns;
    loops.operands.push_back(dense(Access::full, layout.columns));
    loops.operands.push_back(dense(Access::per_column, 0));
    if (layout.outer != 1) {
        loops.outer_rank = 1;
        loops.outer_extent[0] = layout.outer;
        loops.operands[0].outer_stride[0] = layout.rows * layout.columns;
        loops.operands[1].outer_stride[0] = layout.columns;
    }
    const std::pmr::vector<Ref> refs({x, y}, step.heap());
    RowUse use;
    use.continues_columns = step.accumulates();
    step.rows(make_column_sum(step.heap()), refs, loops, use);
}

// y = y / divisor, in place.
void add_division(StepLowering& step, Ref y, std::int64_t count, std::int64_t divisor) {
    LoopSpace loops(step.heap());
    loops.columns = count;
    loops.operands.resize(2);
    const std::pmr::vector<Ref> refs({y, y}, step.heap());
    step.rows(make_division(static_cast<double>(divisor), step.heap()), refs, loops, RowUse());
}

// The step's input in the order of `layout`: itself, or a copy.
Ref ordered_input(StepLowering& step, const Layout& layout) {
    if (!layout.copied) return step.input(0);
    const Ref copy = step.temporary(static_cast<std::size_t>(layout.order.count()) * sizeof(float));
    step.copy(layout.order, step.input(0), copy, When::always);
    return copy;
}

void lower_sum(StepLowering& step, const ReductionForm& form) {
    const Shape& x = step.input_shape(0);
    const std::int64_t results = form.result.elements();
    if (!form.is_row) {
        const Layout layout = column_layout(x, form);
        add_column_sums(step, layout, ordered_input(step, layout), step.output());
    } else {
        const Layout layout = row_layout(x, form);
        const Ref input = ordered_input(step, layout);
        // A row sum does not continue: later micro-batches are complete before they are added.
        const bool continues = step.accumulates();
        const Ref y =
            continues ? step.temporary(static_cast<std::size_t>(results) * sizeof(float)) : step.output();
        add_rows(step, Reduction::sum, input, y, layout.rows, layout.columns);
        if (continues) add_accumulation(step, y, step.output(), results);
    }
    if (step.node.op == Op::mean) add_division(step, step.output(), results, form.reduced);
}

void lower_extremum(StepLowering& step, const ReductionForm& form) {
    const Layout layout = row_layout(step.input_shape(0), form);
    const Reduction reduction = step.node.op == Op::max ? Reduction::max : Reduction::min;
    add_rows(step, reduction, ordered_input(step, layout), step.output(), layout.rows, layout.columns);
}

// (x, y, dy) -> dx by rows; where the reduced axes are not the last ones, x is brought there and dx back.
void lower_extremum_gradient(StepLowering& step, const ReductionForm& form) {
    const Layout layout = row_layout(step.input_shape(0), form);
    const Ref x = ordered_input(step, layout);
    const std::size_t bytes = static_cast<std::size_t>(layout.rows * layout.columns) * sizeof(float);
    const Ref dx = layout.copied ? step.temporary(bytes) : step.output();
    LoopSpace loops(step.heap());
    loops.rows = layout.rows;
    loops.columns = layout.columns;
    std::pmr::vector<Access> accesses({Access::full, Access::per_row, Access::per_row, Access::full},
                                      step.heap());
    for (Access access : accesses)
        loops.operands.push_back(dense(access, access == Access::full ? layout.columns : 1));
    const std::pmr::vector<Ref> refs({x, step.input(1), step.input(2), dx}, step.heap());
    step.rows(make_row_program(step.plan.graph, step.node, accesses, step.heap()), refs, loops, RowUse());
    if (layout.copied) step.copy(layout.reversed(), dx, step.output(), When::always);
}

}  // namespace

void add_accumulation(StepLowering& step, Ref complete, Ref total, std::int64_t count) {
    step.copy(dense_copy(count), complete, total, When::first);
    LoopSpace loops(step.heap());
    loops.columns = count;
    loops.operands.resize(3);
    const std::pmr::vector<Ref> refs({total, complete, total}, step.heap());
    RowUse use;
    use.when = When::later;
    step.rows(make_addition(step.heap()), refs, loops, use);
}

void add_column_sum(StepLowering& step, Ref x, Ref y, std::int64_t rows, std::int64_t columns) {
    Layout layout;
    layout.rows = rows;
    layout.columns = columns;
    add_column_sums(step, layout, x, y);
}

void lower_reduction(StepLowering& step) {
    const Op op = step.node.op;
    if (op == Op::layer_norm_grad_scale || op == Op::layer_norm_grad_columns || op == Op::rms_norm_grad_scale)
        return lower_row(step);
    const Shape& x = step.input_shape(0);
    if (step.node.op == Op::square_sum)
        return add_rows(step, Reduction::square_sum, step.input(0), step.output(), 1, x.elements());
    const ReductionForm form = reduction_form(step.node, x);
    switch (step.node.op) {
        case Op::sum:
        case Op::mean:
            return lower_sum(step, form);
        case Op::max:
        case Op::min:
            return lower_extremum(step, form);
        case Op::max_grad:
            return lower_extremum_gradient(step, form);
        // unreachable: the table has no other operator of this lowering
        default:
            step.no_kernel();
    }
}

}  // namespace volta
