// Steps that are one row kernel: elementwise operators and their fusions, operators along the last axis,
// updates.
#include "engine/backend/lower/lowerings.h"
#include "engine/backend/lower/row_programs.h"
#include "jitgen/row_kernel.h"

namespace volta {
namespace {

using jit::Access;

// Operands in the order of make_row_program: inputs, then outputs.
std::pmr::vector<Ref> operands_of(const StepLowering& step) {
    std::pmr::vector<Ref> refs(step.heap());
    for (int i = 0; i < step.input_count(); ++i) refs.push_back(step.input(i));
    for (int k = 0; k < step.node.output_count; ++k) refs.push_back(step.output(k));
    return refs;
}

void add_rows(StepLowering& step, const LoopSpace& loops, const RowUse& use) {
    std::pmr::vector<Access> accesses(step.heap());
    for (const LoopOperand& operand : loops.operands) accesses.push_back(operand.access);
    step.rows(make_row_program(step.plan.graph, step.node, accesses, step.heap()), operands_of(step), loops,
              use);
}

// Rows and columns of an operator along the last axis; an operand's letter says how it lies (row_programs.h).
LoopOperand operand_by_letter(char letter, const Shape& shape, std::int64_t columns) {
    LoopOperand operand;
    const bool one_for_all = letter == 's' || (letter == 'g' && shape.rank == 0);
    if (one_for_all) {
        operand.access = Access::single;
    } else if (letter == 'c') {
        operand.access = Access::per_column;
    } else if (letter == 'f') {
        operand.row_stride = columns;
    } else {
        operand.access = Access::per_row;
        operand.row_stride = 1;
    }
    return operand;
}

}  // namespace

void lower_elementwise(StepLowering& step) {
    if (step.node.op == Op::accumulate)
        return add_accumulation(step, step.input(0), step.output(), step.output_shape().elements());
    const Shape& space = step.output_shape();
    const bool positioned = knows_position(step.node);
    std::pmr::vector<const Shape*> shapes(step.heap());
    for (int i = 0; i < step.input_count(); ++i)
        shapes.push_back(is_read_by_index(step.node, i) ? nullptr : &step.input_shape(i));
    for (int k = 0; k < step.node.output_count; ++k) shapes.push_back(&space);

    if (shapes.size() > jit::kMaxOperands) step.unsupported(Limit::row_operands);

    LoopSpace loops = make_loop_space(space, shapes, positioned, step.heap());
    for (std::size_t k = 0; k < shapes.size(); ++k)
        if (static_cast<int>(k) >= step.input_count()) loops.operands[k].access = Access::full;
    RowUse use;
    use.counts_rows_over_step = positioned;
    add_rows(step, loops, use);
}

void lower_row(StepLowering& step) {
    const RowDefinition* definition = find_row_definition(step.node.op);
    if (definition == nullptr) step.no_kernel();
    const int inputs = step.input_count();
    int widest = 0;  // an input that is full, and so has the shape of the whole
    while (input_letter(*definition, widest) != 'f') ++widest;
    const Shape& space = step.input_shape(widest);
    LoopSpace loops(step.heap());
    loops.rows = space.rows();
    loops.columns = space.last();
    for (int i = 0; i < inputs; ++i)
        loops.operands.push_back(
            operand_by_letter(input_letter(*definition, i), step.input_shape(i), loops.columns));
    for (int k = 0; k < step.node.output_count; ++k)
        loops.operands.push_back(
            operand_by_letter(output_letter(*definition, k), step.output_shape(k), loops.columns));
    RowUse use;
    use.continues_columns = step.accumulates();
    add_rows(step, loops, use);
}

// Parameters and moments as one row; outputs lie where the inputs they replace lie.
void lower_update(StepLowering& step) {
    const RowDefinition* definition = find_row_definition(step.node.op);
    if (definition == nullptr) step.no_kernel();
    LoopSpace loops(step.heap());
    loops.columns = step.output_shape().elements();
    for (int i = 0; i < step.input_count(); ++i)
        loops.operands.push_back(operand_by_letter(input_letter(*definition, i), step.input_shape(i), 0));
    for (int k = 0; k < step.node.output_count; ++k)
        loops.operands.push_back(operand_by_letter('f', step.output_shape(k), 0));
    add_rows(step, loops, RowUse());
}

}  // namespace volta
