// Matrix products.
#include "engine/graph/forms.h"
#include "engine/import/onnx/rules.h"

namespace volta::onnx {
namespace {

// All axes but the last two.
Extents leading(const Extents& from) {
    Extents result;
    for (int axis = 0; axis + 2 < from.rank(); ++axis) result.append(from, axis);
    return result;
}

ValueId widened(Call& call, ValueId x, const Extents& batch) {
    const Extents from = call.extents_of(x);
    Extents to = batch;
    to.append(from, from.rank() - 2);
    to.append(from, from.rank() - 1);
    return call.broadcast_to(x, to);
}

// NumPy's rule: vectors are matrices of one row or column, axes in front broadcast.
ValueId product(Call& call, ValueId a, ValueId b) {
    Extents of_a = call.extents_of(a), of_b = call.extents_of(b);
    if (of_b.rank() == 2) return call.apply(Op::matmul, {a, b});
    Extents batch;
    if (!broadcast(leading(of_a).now, leading(of_b).now, &batch.now) ||
        !broadcast(leading(of_a).later, leading(of_b).later, &batch.later))
        call.refuse("%s does not broadcast with %s", to_text(of_a.now).text, to_text(of_b.now).text);
    // One matrix for all of a's.
    const Extents of_matrices = leading(of_b);
    if (!of_matrices.has_open() && of_matrices.now.elements() == 1 && of_a.rank() >= of_b.rank()) {
        Extents matrix;
        matrix.append(of_b, of_b.rank() - 2);
        matrix.append(of_b, of_b.rank() - 1);
        return call.apply(Op::matmul, {a, call.reshape(b, matrix)});
    }
    return call.apply(Op::matmul, {widened(call, a, batch), widened(call, b, batch)});
}

}  // namespace

namespace build {

void matmul(Call& call) {
    ValueId a = call.real(0), b = call.real(1);
    const Extents of_a = call.extents_of(a), of_b = call.extents_of(b);
    if (of_a.rank() == 0 || of_b.rank() == 0) call.refuse("an input of it is one number");
    if (of_a.rank() == 1) {
        Extents row;
        row.append(1);
        row.append(of_a, 0);
        a = call.reshape(a, row);
    }
    if (of_b.rank() == 1) {
        Extents column = of_b;
        column.append(1);
        b = call.reshape(b, column);
    }
    const ValueId y = product(call, a, b);
    const Extents whole = call.extents_of(y);
    Extents to;
    for (int axis = 0; axis < whole.rank(); ++axis) {
        const bool is_row = axis == whole.rank() - 2 && of_a.rank() == 1;
        const bool is_column = axis == whole.rank() - 1 && of_b.rank() == 1;
        if (!is_row && !is_column) to.append(whole, axis);
    }
    call.give(0, call.reshape(y, to), call.type(0));
}

void gemm(Call& call) {
    ValueId a = call.real(0);
    const ValueId b = call.real(1);
    if (call.extents_of(a).rank() != 2 || call.extents_of(b).rank() != 2)
        call.refuse("its inputs are %s and %s", to_text(call.extents_of(a).now).text,
                    to_text(call.extents_of(b).now).text);
    if (call.integer("transA") != 0) a = call.apply(Op::transpose, {a}, {list(Attr::permutation, {1, 0})});
    ValueId y = call.apply(Op::matmul, {a, b}, {number(Attr::transpose_b, call.integer("transB") != 0)});
    const double alpha = call.real_attribute("alpha"), beta = call.real_attribute("beta");
    if (alpha != 1) y = call.apply(Op::mul, {y, call.scalar(alpha)});
    if (call.has(2) && beta != 0) {
        ValueId c = call.real(2);
        const Extents of_y = call.extents_of(y), of_c = call.extents_of(c);
        Shape joined;
        if (!broadcast(of_y.now, of_c.now, &joined) || joined != of_y.now)
            call.refuse("its C %s does not broadcast to %s", to_text(of_c.now).text, to_text(of_y.now).text);
        if (beta != 1) c = call.apply(Op::mul, {c, call.scalar(beta)});
        y = call.apply(Op::add, {y, c});
    }
    call.give(0, y, call.type(0));
}

}  // namespace build
}  // namespace volta::onnx
