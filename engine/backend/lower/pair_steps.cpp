// Steps over pairs of columns of one row: gated activations and rotary positions.
#include "engine/backend/lower/lowerings.h"
#include "engine/backend/lower/row_programs.h"
#include "engine/graph/forms.h"

namespace volta {
namespace {

// Operands of `columns` elements per row, each with its distance between rows.
class PairLoops {
  public:
    PairLoops(std::int64_t rows, std::int64_t columns, std::pmr::memory_resource* heap)
        : loops(heap), refs(heap) {
        loops.rows = rows;
        loops.columns = columns;
    }
    void push(Ref ref, std::int64_t row_stride) {
        LoopOperand operand;
        operand.row_stride = row_stride;
        loops.operands.push_back(operand);
        refs.push_back(ref);
    }
    LoopSpace loops;
    std::pmr::vector<Ref> refs;
};

void add_swiglu(StepLowering& step) {
    const std::int64_t n = step.output_shape().last();
    PairLoops pairs(step.output_shape().rows(), n, step.heap());
    pairs.push(step.input(0), 2 * n);
    pairs.push(plus_elements(step.input(0), n), 2 * n);
    pairs.push(step.output(), n);
    step.rows(make_swiglu(step.heap()), pairs.refs, pairs.loops, RowUse());
}

void add_swiglu_gradient(StepLowering& step) {
    const std::int64_t n = step.input_shape(1).last();
    PairLoops pairs(step.input_shape(1).rows(), n, step.heap());
    pairs.push(step.input(0), 2 * n);
    pairs.push(plus_elements(step.input(0), n), 2 * n);
    pairs.push(step.input(1), n);
    pairs.push(step.output(), 2 * n);
    pairs.push(plus_elements(step.output(), n), 2 * n);
    step.rows(make_swiglu_gradient(step.heap()), pairs.refs, pairs.loops, RowUse());
}

void add_rotary(StepLowering& step) {
    RotaryStep work;
    work.form = rotary_form(step.node, step.input_shape(2));
    work.x = step.input(0);
    work.y = step.output();
    work.positions = step.input(1);
    work.table = step.input(2);
    work.tokens = step.input_shape(0).rows();
    work.columns = step.input_shape(0).last();
    step.rotary(work);
}

void add_rotary_table(StepLowering& step) {
    RotaryTableStep work;
    work.table = step.output();
    work.limit = step.output_shape()[0];
    work.width = step.output_shape()[1];
    work.base = step.node.number(Attr::base);
    work.scale = step.node.number(Attr::scale);
    work.has_frequencies = step.input_count() > 0;
    if (work.has_frequencies) work.frequencies = step.input(0);
    step.rotary_table(work);
}

}  // namespace

void lower_pairs(StepLowering& step) {
    switch (step.node.op) {
        case Op::swiglu:
            return add_swiglu(step);
        case Op::swiglu_grad:
            return add_swiglu_gradient(step);
        case Op::rotary:
            return add_rotary(step);
        case Op::rotary_table:
            return add_rotary_table(step);
        // unreachable: the table has no other operator of this lowering
        default:
            step.no_kernel();
    }
}

}  // namespace volta
