// Operators over pairs of columns.
#include "engine/base/error.h"
#include "engine/graph/evaluate_node.h"
#include "engine/graph/forms.h"
#include "engine/numerics/definitions.h"

namespace volta {
namespace {

template <class T>
void rotary(const NodeRun<T>& run) {
    const Shape& x = run.in_shape(0);
    check_ids(run, 1, run.in_shape(2)[0]);
    define::rotary(x.rows(), x.last(), rotary_form(run.node, run.in_shape(2)), run.in_ids(1), run.in(2),
                   run.in(0), run.out());
}

}  // namespace

template <class T>
void evaluate_pairs(const NodeRun<T>& run) {
    const Shape& y = run.out_shape();
    switch (run.node.op) {
        case Op::swiglu:
            return define::swiglu(y.rows(), y.last(), run.in(0), run.out());
        case Op::swiglu_grad:
            return define::swiglu_grad(y.rows(), y.last() / 2, run.in(0), run.in(1), run.out());
        case Op::rotary_table:
            return define::rotary_table(y[0], y[1], run.node.number(Attr::base), run.out());
        case Op::rotary:
            return rotary(run);
        default:
            fail(VOLTA_INTERNAL, "%s has no pairs of columns", op_row(run.node.op).name);
    }
}

template void evaluate_pairs<float>(const NodeRun<float>&);
template void evaluate_pairs<double>(const NodeRun<double>&);

}  // namespace volta
