// Operators over pairs of columns.
#include "engine/graph/evaluate_node.h"
#include "engine/graph/forms.h"
#include "engine/graph/rules.h"
#include "engine/numerics/definitions.h"

namespace volta {
namespace {

template <class T>
void gated(const NodeRun<T>& run) {
    const Shape& y = run.out_shape();
    define::swiglu(y.rows(), y.last(), run.in(0), run.out());
}

template <class T>
void gated_grad(const NodeRun<T>& run) {
    const Shape& dx = run.out_shape();
    define::swiglu_grad(dx.rows(), dx.last() / 2, run.in(0), run.in(1), run.out());
}

template <class T>
void rotary_table(const NodeRun<T>& run) {
    const Shape& y = run.out_shape();
    RotaryAngles<T> angles;
    angles.base = run.node.number(Attr::base);
    angles.scale = run.node.number(Attr::scale);
    if (!run.node.inputs.empty()) angles.frequencies = run.in(0);
    define::rotary_table(y[0], y[1], angles, run.out());
}

template <class T>
void rotary(const NodeRun<T>& run) {
    const Shape& x = run.in_shape(0);
    check_ids(run, 1, run.in_shape(2)[0]);
    define::rotary(x.rows(), x.last(), rotary_form(run.node, run.in_shape(2)), run.in_ids(1), run.in(2),
                   run.in(0), run.out());
}

}  // namespace

namespace evaluations {
constexpr Evaluation swiglu = {volta::gated<float>};
constexpr Evaluation swiglu_grad = {volta::gated_grad<float>};
constexpr Evaluation rotary_table = {volta::rotary_table<float>};
constexpr Evaluation rotary = {volta::rotary<float>};

constexpr InDouble kInDouble[] = {
    {&swiglu, volta::gated<double>},
    {&swiglu_grad, volta::gated_grad<double>},
    {&rotary_table, volta::rotary_table<double>},
    {&rotary, volta::rotary<double>},
};
InDoubleList pairs_in_double() { return {kInDouble, sizeof kInDouble / sizeof *kInDouble}; }
}  // namespace evaluations

}  // namespace volta
