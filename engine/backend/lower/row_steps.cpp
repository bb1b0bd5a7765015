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

LoopOperand row_operand(Access access, std::int64_t columns) {
    LoopOperand operand;
    operand.access = access;
    operand.row_stride = access == Access::full ? columns : access == Access::per_row ? 1 : 0;
    return operand;
}

// The body's operations are the program; an input that they see in two ways is two operands.
void lower_fused_rows(StepLowering& step) {
    const Graph& graph = step.plan.graph;
    const std::pmr::vector<RowOperand> operands = operands_of_rows(graph, step.node, step.heap());
    if (operands.size() + static_cast<std::size_t>(step.node.output_count) > jit::kMaxOperands)
        step.unsupported(Limit::row_operands);
    const Shape& space = step.output_shape();
    LoopSpace loops(step.heap());
    loops.rows = space.rows();
    loops.columns = space.last();
    std::pmr::vector<Ref> refs(step.heap());
    for (const RowOperand& operand : operands) {
        loops.operands.push_back(row_operand(operand.access, loops.columns));
        refs.push_back(step.input(operand.input));
    }
    for (int k = 0; k < step.node.output_count; ++k) {
        loops.operands.push_back(row_operand(access_of_result(graph, step.node, k), loops.columns));
        refs.push_back(step.output(k));
    }
    RowUse use;
    use.counts_rows_over_step = knows_position(step.node);
    step.rows(make_fused_rows_program(graph, step.node, operands, step.heap()), refs, loops, use);
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
    if (step.node.op == Op::fused_rows) return lower_fused_rows(step);
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
            row_operand(access_of(input_letter(*definition, i), step.input_shape(i), space), loops.columns));
    for (int k = 0; k < step.node.output_count; ++k)
        loops.operands.push_back(row_operand(
            access_of(output_letter(*definition, k), step.output_shape(k), space), loops.columns));
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
        loops.operands.push_back(row_operand(
            access_of(input_letter(*definition, i), step.input_shape(i), step.output_shape()), 0));
    for (int k = 0; k < step.node.output_count; ++k) loops.operands.push_back(row_operand(Access::full, 0));
    add_rows(step, loops, RowUse());
}

}  // namespace volta
