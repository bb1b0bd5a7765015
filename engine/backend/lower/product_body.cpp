#include "engine/backend/lower/product_body.h"

#include "engine/backend/lower/row_programs.h"
#include "jitgen/row_kernel.h"

namespace volta {
namespace {

using jit::Access;

// Inputs from this one on are operands of the body.
constexpr int kFactors = 2;

void add_refs(const StepLowering& step, Ref product, ProductBody& body) {
    body.refs.push_back(product);
    for (int i = kFactors; i < step.input_count(); ++i) body.refs.push_back(step.input(i));
    for (int k = 0; k < step.node.output_count; ++k) body.refs.push_back(step.output(k));
    if (body.refs.size() > jit::kMaxOperands) step.unsupported(Limit::epilogue_operands);
}

void add_program(const StepLowering& step, ProductBody& body) {
    std::pmr::vector<Access> accesses(step.heap());
    for (const LoopOperand& operand : body.loops.operands) accesses.push_back(operand.access);
    body.program = make_epilogue_program(step.plan.graph, step.node, accesses, step.heap());
}

// Elements from one index along an axis of the whole to the next; 0 where the operand is broadcast.
std::int64_t stride_along(const Shape& whole, const Shape& operand, int axis) {
    const int own = axis - (whole.rank - operand.rank);
    if (own < 0 || operand[own] == 1) return 0;
    std::int64_t stride = 1;
    for (int i = own + 1; i < operand.rank; ++i) stride *= operand[i];
    return stride;
}

bool is_whole_plane(const Shape& whole, const Shape& operand) {
    for (int axis = 2; axis < whole.rank; ++axis)
        if (whole[axis] != 1 && stride_along(whole, operand, axis) == 0) return false;
    return true;
}
bool is_one_number(const Shape& whole, const Shape& operand) {
    for (int axis = 2; axis < whole.rank; ++axis)
        if (stride_along(whole, operand, axis) != 0) return false;
    return true;
}

LoopOperand plane_operand(const Shape& whole, const Shape& operand) {
    LoopOperand result;
    result.row_stride = stride_along(whole, operand, 1);
    result.outer_stride[0] = stride_along(whole, operand, 0);
    if (is_one_number(whole, operand))
        result.access = result.row_stride == 0 ? Access::single : Access::per_row;
    else
        result.access = result.row_stride == 0 ? Access::per_column : Access::full;
    return result;
}

}  // namespace

ProductBody make_rows_of_body(const StepLowering& step, Ref product) {
    const Shape& space = step.output_shape();
    ProductBody body(step.heap());
    add_refs(step, product, body);
    std::pmr::vector<const Shape*> shapes({&space}, step.heap());
    for (int i = kFactors; i < step.input_count(); ++i)
        shapes.push_back(is_read_by_index(step.node, i) ? nullptr : &step.input_shape(i));
    for (int k = 0; k < step.node.output_count; ++k) shapes.push_back(&space);
    body.loops = make_loop_space(space, shapes, true, step.heap());
    const std::size_t inputs = static_cast<std::size_t>(step.input_count()) - 1;
    for (std::size_t k = 0; k < shapes.size(); ++k)
        if (k == 0 || k >= inputs) body.loops.operands[k].access = Access::full;
    add_program(step, body);
    return body;
}

bool has_planes(const StepLowering& step) {
    const Shape& whole = step.output_shape();
    for (int i = kFactors; i < step.input_count(); ++i)
        if (!is_whole_plane(whole, step.input_shape(i)) && !is_one_number(whole, step.input_shape(i)))
            return false;
    return !knows_position(step.node);
}

ProductBody make_planes_of_body(const StepLowering& step, Ref product) {
    const Shape& whole = step.output_shape();
    ProductBody body(step.heap());
    add_refs(step, product, body);
    body.loops.rows = whole[1];
    body.loops.columns = 1;
    for (int axis = 2; axis < whole.rank; ++axis) body.loops.columns *= whole[axis];
    body.loops.outer_rank = 1;
    body.loops.outer_extent[0] = whole[0];
    LoopOperand full;
    full.row_stride = body.loops.columns;
    full.outer_stride[0] = whole[1] * body.loops.columns;
    body.loops.operands.push_back(full);
    for (int i = kFactors; i < step.input_count(); ++i)
        body.loops.operands.push_back(plane_operand(whole, step.input_shape(i)));
    for (int k = 0; k < step.node.output_count; ++k) body.loops.operands.push_back(full);
    add_program(step, body);
    return body;
}

}  // namespace volta
