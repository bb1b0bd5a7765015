// The gradient of every differentiable operator, as operators. Second derivatives are not offered.
#include "engine/base/error.h"
#include "engine/graph/forms.h"
#include "engine/graph/gradient_builder.h"
#include "engine/graph/rules.h"

namespace volta {
namespace gradient_rules {

// ---- Elementwise, one input ----

void neg(const GradientBuilder& r) { r.give(0, r.neg(r.dy())); }
// 0 at 0, as for relu. NaN keeps dy: a gradient must not hide it.
void abs(const GradientBuilder& r) {
    const ValueId zero = r.constant(0);
    const ValueId is_negative = r.apply(Op::less, {r.in(0), zero}),
                  is_zero = r.apply(Op::equal, {r.in(0), zero});
    const ValueId signed_dy = r.apply(Op::where, {is_negative, r.neg(r.dy()), r.dy()});
    r.give(0, r.apply(Op::where, {is_zero, zero, signed_dy}));
}
void exp(const GradientBuilder& r) { r.give(0, r.mul(r.dy(), r.out())); }
void log(const GradientBuilder& r) { r.give(0, r.div(r.dy(), r.in(0))); }
void sqrt(const GradientBuilder& r) { r.give(0, r.div(r.mul(r.dy(), r.constant(0.5)), r.out())); }
// -1/2 x^(-3/2) = (-y/2) / x
void rsqrt(const GradientBuilder& r) {
    r.give(0, r.mul(r.dy(), r.div(r.mul(r.out(), r.constant(-0.5)), r.in(0))));
}
void tanh(const GradientBuilder& r) {
    r.give(0, r.mul(r.dy(), r.sub(r.constant(1), r.mul(r.out(), r.out()))));
}
void erf(const GradientBuilder& r) {
    const ValueId density = r.apply(Op::exp, {r.neg(r.mul(r.in(0), r.in(0)))});
    r.give(0, r.mul(r.dy(), r.mul(density, r.constant(0x1.20dd76p+0))));  // 2 / sqrt(pi)
}
void sigmoid(const GradientBuilder& r) {
    r.give(0, r.mul(r.dy(), r.mul(r.out(), r.sub(r.constant(1), r.out()))));
}
void by_operator(const GradientBuilder& r) {
    const ValueId inputs[] = {r.in(0), r.dy()};
    const auto& attributes = r.node.attributes;
    r.give(0, r.graph.apply(op_row(r.node.op).gradient_op, inputs, 2, attributes.data(),
                            static_cast<int>(attributes.size()), Phase::each));
}
// 0 >= relu(x) exactly where 0 >= x, NaN and both zeros included: so what is kept for the backward pass is
// the result, which the next layer's gradient reads anyway, and not x beside it.
void relu(const GradientBuilder& r) { r.give(0, r.apply_gradient({r.out(), r.dy()})); }
void sin(const GradientBuilder& r) { r.give(0, r.mul(r.dy(), r.apply(Op::cos, {r.in(0)}))); }
void cos(const GradientBuilder& r) { r.give(0, r.neg(r.mul(r.dy(), r.apply(Op::sin, {r.in(0)})))); }
// The exponents that pow defines without logarithms keep their domain in the gradient.
void pow(const GradientBuilder& r) {
    const double n = r.node.number(Attr::exponent);
    if (n == 0) return;  // a constant: no use of x
    if (n == 1) return r.give(0, r.dy());
    if (n == 2) return r.give(0, r.mul(r.dy(), r.mul(r.in(0), r.constant(2))));
    if (n == 0.5) return sqrt(r);
    if (n == -0.5) return rsqrt(r);
    if (n == -1) return r.give(0, r.neg(r.mul(r.dy(), r.mul(r.out(), r.out()))));
    const ValueId lower = r.apply(Op::pow, {r.in(0)}, {number(Attr::exponent, n - 1)});
    r.give(0, r.mul(r.dy(), r.mul(lower, r.constant(n))));
}
// min(max(x, low), high), each by its own rule.
void clamp(const GradientBuilder& r) {
    const ValueId low = r.constant(r.node.number(Attr::low)), high = r.constant(r.node.number(Attr::high));
    const ValueId raised = r.apply(Op::maximum, {r.in(0), low});
    const ValueId inner = r.apply(Op::minimum_grad, {raised, high, r.dy()}, {number(Attr::operand, 0)});
    r.give(0, r.apply(Op::maximum_grad, {r.in(0), low, inner}, {number(Attr::operand, 0)}));
}

// ---- Elementwise, broadcast ----

void add(const GradientBuilder& r) {
    for (int i = 0; i < 2; ++i)
        if (r.needs(i)) r.give_reduced(i, r.dy());
}
void sub(const GradientBuilder& r) {
    if (r.needs(0)) r.give_reduced(0, r.dy());
    if (r.needs(1)) r.give_reduced(1, r.neg(r.dy()));
}
void mul(const GradientBuilder& r) {
    for (int i = 0; i < 2; ++i)
        if (r.needs(i)) r.give_reduced(i, r.mul(r.dy(), r.in(1 - i)));
}
void div(const GradientBuilder& r) {
    if (r.needs(0)) r.give_reduced(0, r.div(r.dy(), r.in(1)));
    if (r.needs(1)) r.give_reduced(1, r.neg(r.mul(r.dy(), r.div(r.out(), r.in(1)))));  // -dy * (a/b)/b
}
void choice(const GradientBuilder& r) {
    for (int i = 0; i < 2; ++i)
        if (r.needs(i))
            r.give_reduced(i, r.apply_gradient({r.in(0), r.in(1), r.dy()}, {number(Attr::operand, i)}));
}
void where(const GradientBuilder& r) {
    const ValueId zero = r.constant(0);
    if (r.needs(1)) r.give_reduced(1, r.apply(Op::where, {r.in(0), r.dy(), zero}));
    if (r.needs(2)) r.give_reduced(2, r.apply(Op::where, {r.in(0), zero, r.dy()}));
}
// The same elements are dropped: same stream, same counters.
void dropout(const GradientBuilder& r) {
    r.give(0, r.apply(Op::dropout, {r.dy(), r.in(1)},
                      {r.attribute(Attr::probability), r.attribute(Attr::stream)}));
}

// ---- Rows ----

void softmax(const GradientBuilder& r) { r.give(0, r.apply_gradient({r.out(), r.dy()})); }
void layer_norm(const GradientBuilder& r) {
    const ValueId x = r.in(0), mean = r.out(1), rs = r.out(2);
    if (r.needs(0)) r.give(0, r.apply(Op::layer_norm_grad, {r.dy(), x, r.in(1), mean, rs}));
    if (r.needs(1)) r.give(1, r.apply(Op::layer_norm_grad_scale, {r.dy(), x, mean, rs}));
    if (r.needs(2)) r.give_reduced(2, r.dy());
}
void rms_norm(const GradientBuilder& r) {
    const ValueId x = r.in(0), factor = r.out(1);
    if (r.needs(0)) r.give(0, r.apply(Op::rms_norm_grad, {r.dy(), x, r.in(1), factor}));
    if (r.needs(1)) r.give(1, r.apply(Op::rms_norm_grad_scale, {r.dy(), x, factor}));
}
namespace {

// A gradient operator on these inputs and the weights that the loss has as its last input, if any.
ValueId with_weights(const GradientBuilder& r, Op op, std::initializer_list<ValueId> inputs) {
    ValueId all[8];
    int count = 0;
    for (const ValueId input : inputs) all[count++] = input;
    if (r.node.inputs.size() > 2) all[count++] = r.in(2);
    const auto& attributes = r.node.attributes;
    return r.graph.apply(op, all, count, attributes.data(), static_cast<int>(attributes.size()), Phase::each);
}

void refuse(const GradientBuilder& r, int input, const char* what) {
    if (input < static_cast<int>(r.node.inputs.size()) && r.needs(input))
        fail(VOLTA_UNSUPPORTED, "no gradient rule for %s: its %s cannot be trained", op_row(r.node.op).name,
             what);
}

// What x gets; targets the same negated.
void give_pair(const GradientBuilder& r, ValueId dx) {
    if (r.needs(0)) r.give(0, dx);
    if (r.needs(1)) r.give(1, r.neg(dx));
}

}  // namespace

void cross_entropy(const GradientBuilder& r) {
    refuse(r, 2, "weights");
    r.give(0, with_weights(r, Op::cross_entropy_grad, {r.in(0), r.in(1), r.out(1), r.out(2), r.dy()}));
}
// d(x - t)^2 = (x - t) * 2dy; doubling is exact.
void mse(const GradientBuilder& r) {
    give_pair(r, r.apply(Op::mse_grad, {r.in(0), r.in(1), r.mul(r.dy(), r.constant(2))}));
}
void l1(const GradientBuilder& r) { give_pair(r, r.apply_gradient({r.in(0), r.in(1), r.dy()})); }
void huber(const GradientBuilder& r) {
    give_pair(r, r.apply_gradient({r.in(0), r.in(1), r.dy()}, {r.attribute(Attr::delta)}));
}
void binary_cross_entropy(const GradientBuilder& r) {
    refuse(r, 1, "targets");
    refuse(r, 2, "weights");
    r.give(0, with_weights(r, op_row(r.node.op).gradient_op, {r.in(0), r.in(1), r.dy()}));
}

// ---- Norms of channels ----

namespace {

// dx, dscale, dbias: outputs 0, 1, 2 of the operator that gives all three.
void give_norm_gradients(const GradientBuilder& r, ValueId first) {
    for (int i = 0; i < 3; ++i)
        if (r.needs(i)) r.give(i, first + i);
}

ValueId batch_norm_gradient(const GradientBuilder& r, bool frozen) {
    return r.apply_gradient({r.dy(), r.in(0), r.in(1), r.in(3), r.in(4)},
                            {r.attribute(Attr::epsilon), number(Attr::frozen, frozen)});
}

}  // namespace

// What a parameter holds is constant: the statistics follow x outside of the gradient.
void batch_norm(const GradientBuilder& r) {
    for (const int i : {3, 4})
        if (r.needs(i) && r.graph.producer(r.in(i)).op != Op::parameter)
            fail(VOLTA_UNSUPPORTED,
                 "no gradient rule for batch_norm: its statistics are constants, not made of parameters");
    give_norm_gradients(r, batch_norm_gradient(r, true));
}
// The statistics' own gradients are part of dx.
void batch_norm_train(const GradientBuilder& r) {
    const Node& statistics = r.graph.producer(r.in(3));
    const bool are_of_x = statistics.op == Op::batch_statistics && statistics.inputs[0] == r.in(0) &&
                          r.in(3) == statistics.first_output && r.in(4) == statistics.first_output + 1;
    if (!are_of_x)
        fail(VOLTA_UNSUPPORTED, "no gradient rule for batch_norm_train: its statistics are not those of x");
    give_norm_gradients(r, batch_norm_gradient(r, false));
}
void group_norm(const GradientBuilder& r) {
    const double groups = static_cast<double>(r.graph.shape(r.out(1))[1]);
    give_norm_gradients(
        r, r.apply_gradient({r.dy(), r.in(0), r.in(1), r.out(1), r.out(2)}, {number(Attr::groups, groups)}));
}

// ---- Pairs of columns ----

void swiglu(const GradientBuilder& r) { r.give(0, r.apply(Op::swiglu_grad, {r.in(0), r.dy()})); }
// The same rotation backwards, by the same table, scaled or not; what it copies forward it copies back.
void rotary(const GradientBuilder& r) {
    if (r.needs(2)) fail(VOLTA_UNSUPPORTED, "no gradient rule for rotary: its table cannot be trained");
    const double inverse = r.node.flag(Attr::inverse) ? 0 : 1;
    r.give(0, r.apply(Op::rotary, {r.dy(), r.in(1), r.in(2)},
                      {r.attribute(Attr::heads), r.attribute(Attr::interleaved),
                       number(Attr::inverse, inverse), r.attribute(Attr::width)}));
}

// ---- Reductions ----

namespace {

// dy where the reduced axes stand with extent 1 again, repeated over x's shape.
ValueId spread(const GradientBuilder& r, ValueId gradient) {
    const Shape x = r.shape_in(0);
    const ReductionForm form = reduction_form(r.node, x);
    Shape kept = x;
    for (int axis = 0; axis < x.rank; ++axis)
        if (form.is_reduced[axis]) kept[axis] = 1;
    const ValueId aligned = r.reshape(gradient, kept);
    return kept == x ? aligned : r.apply(Op::broadcast_to, {aligned}, {list(Attr::shape, x)});
}

}  // namespace

void sum(const GradientBuilder& r) { r.give(0, spread(r, r.dy())); }
void mean(const GradientBuilder& r) {
    const double count = static_cast<double>(reduction_form(r.node, r.shape_in(0)).reduced);
    r.give(0, spread(r, r.div(r.dy(), r.constant(count))));
}
void extremum(const GradientBuilder& r) {
    r.give(0, r.apply(Op::max_grad, {r.in(0), r.out(), r.dy()},
                      {r.attribute(Attr::axes), r.attribute(Attr::keep_dims)}));
}
void square_sum(const GradientBuilder& r) { r.give(0, r.mul(r.in(0), r.mul(r.dy(), r.constant(2)))); }

// ---- Movement ----

void reshape(const GradientBuilder& r) { r.give(0, r.reshape(r.dy(), r.shape_in(0))); }
void transpose(const GradientBuilder& r) {
    const Attribute& order = *r.node.find(Attr::permutation);
    Shape inverse;
    inverse.rank = order.integer_count;
    for (int axis = 0; axis < inverse.rank; ++axis) inverse[static_cast<int>(order.integers[axis])] = axis;
    r.give(0, r.apply(Op::transpose, {r.dy()}, {list(Attr::permutation, inverse)}));
}
void concat(const GradientBuilder& r) {
    const int axis = axis_form(r.node, r.shape_in(0));
    double begin = 0;
    for (int i = 0; i < static_cast<int>(r.node.inputs.size()); ++i) {
        const double end = begin + static_cast<double>(r.shape_in(i)[axis]);
        if (r.needs(i))
            r.give(i,
                   r.apply(Op::slice, {r.dy()},
                           {number(Attr::axis, axis), number(Attr::begin, begin), number(Attr::end, end)}));
        begin = end;
    }
}
void slice(const GradientBuilder& r) {
    const Shape x = r.shape_in(0);
    const SliceForm form = slice_form(r.node, x);
    r.give(0, r.apply(Op::slice_grad, {r.dy()},
                      {number(Attr::axis, form.axis), number(Attr::begin, static_cast<double>(form.begin)),
                       number(Attr::rows, static_cast<double>(x[form.axis]))}));
}
// Zeros around dy are cut off again.
void slice_grad(const GradientBuilder& r) {
    const double begin = r.node.number(Attr::begin);
    const int axis = axis_form(r.node, r.shape_in(0));
    const double end = begin + static_cast<double>(r.shape_in(0)[axis]);
    r.give(0, r.apply(Op::slice, {r.dy()},
                      {r.attribute(Attr::axis), number(Attr::begin, begin), number(Attr::end, end)}));
}
// A constant in front and behind is cut off again.
void pad(const GradientBuilder& r) {
    if (r.node.number(Attr::mode) != 0)
        return r.give(0, r.apply_gradient({r.dy()}, {r.attribute(Attr::pads), r.attribute(Attr::mode)}));
    const AxisMapForm form = axis_map_form(r.node, r.shape_in(0));
    ValueId dx = r.dy();
    for (int axis = 0; axis < form.x.rank; ++axis) {
        const define::AxisMap& map = form.axes[axis];
        if (map.is_changed())
            dx = r.apply(Op::slice, {dx},
                         {number(Attr::axis, axis), number(Attr::begin, static_cast<double>(map.pad)),
                          number(Attr::end, static_cast<double>(map.pad + map.in))});
    }
    r.give(0, dx);
}
void broadcast_to(const GradientBuilder& r) { r.give_reduced(0, r.dy()); }
void gather(const GradientBuilder& r) {
    const double rows = static_cast<double>(r.shape_in(0)[0]);
    r.give(0, r.apply(Op::embedding_gradient, {r.in(1), r.dy()}, {number(Attr::rows, rows)}));
}

// ---- Products (docs/numerics.md, 2.2 and 4) ----

namespace {

ValueId product(const GradientBuilder& r, ValueId a, ValueId b, bool transpose_a, bool transpose_b) {
    return r.apply(Op::matmul, {a, b},
                   {number(Attr::transpose_a, transpose_a), number(Attr::transpose_b, transpose_b)});
}

// The last two axes swapped.
ValueId transposed(const GradientBuilder& r, ValueId a) {
    Shape order;
    order.rank = r.graph.shape(a).rank;
    for (int axis = 0; axis < order.rank; ++axis) order[axis] = axis;
    std::swap(order[order.rank - 1], order[order.rank - 2]);
    return r.apply(Op::transpose, {a}, {list(Attr::permutation, order)});
}

}  // namespace

// Written for stored operands: y = A B, with A = a or a', B = b or b'.
void matmul(const GradientBuilder& r) {
    const ValueId a = r.in(0), b = r.in(1), dy = r.dy();
    const bool ta = r.node.flag(Attr::transpose_a), tb = r.node.flag(Attr::transpose_b);
    const bool batched = !ta && r.shape_in(1).rank > 2;
    if (r.needs(0)) {  // dA = dy B', stored as a is
        if (ta)
            r.give(0, product(r, b, dy, tb, true));
        else
            r.give(0, product(r, dy, b, false, !tb));
    }
    if (!r.needs(1)) return;
    if (ta) {
        r.give(1, tb ? product(r, dy, a, true, true) : product(r, a, dy, false, false));
    } else if (batched) {  // a product per batch entry: transpose_a would sum over them
        r.give(1, tb ? product(r, transposed(r, dy), a, false, false)
                     : product(r, transposed(r, a), dy, false, false));
    } else {  // k over all leading axes, row-major
        r.give(1, tb ? product(r, dy, a, true, false) : product(r, a, dy, true, false));
    }
}

namespace {

// A convolution of the same window as r's node; `shape`: what the result's extents are, where that has to be
// said.
ValueId same_window(const GradientBuilder& r, Op op, ValueId first, ValueId second, const Shape& shape) {
    const Attribute strides = r.attribute(Attr::strides), dilations = r.attribute(Attr::dilations),
                    pads = r.attribute(Attr::pads), groups = r.attribute(Attr::groups);
    if (op == Op::conv) return r.apply(op, {first, second}, {strides, dilations, pads, groups});
    return r.apply(op, {first, second}, {list(Attr::shape, shape), strides, dilations, pads, groups});
}

void give_bias(const GradientBuilder& r) {
    if (r.node.inputs.size() > 2 && r.needs(2)) r.give(2, r.apply(Op::conv_grad_bias, {r.dy()}));
}

}  // namespace

void conv(const GradientBuilder& r) {
    if (r.needs(0)) {
        const Shape x = r.shape_in(0);
        Shape spatial;
        for (int axis = 2; axis < x.rank; ++axis) spatial[spatial.rank++] = x[axis];
        r.give(0, same_window(r, Op::conv_transpose, r.dy(), r.in(1), spatial));
    }
    if (r.needs(1)) r.give(1, same_window(r, Op::conv_grad_weight, r.in(0), r.dy(), r.shape_in(1)));
    give_bias(r);
}
void max_pool(const GradientBuilder& r) {
    r.give(0, r.apply_gradient(
                  {r.in(0), r.out(), r.dy()},
                  {r.attribute(Attr::strides), r.attribute(Attr::dilations), r.attribute(Attr::pads),
                   r.attribute(Attr::kernel), r.attribute(Attr::ceil_mode)}));
}
void resize(const GradientBuilder& r) {
    const Shape x = r.shape_in(0);
    Attribute extents = r.attribute(Attr::shape);
    for (int i = 0; i < extents.integer_count; ++i)
        extents.integers[i] = x[x.rank - extents.integer_count + i];
    r.give(0, r.apply_gradient({r.dy()}, {extents, r.attribute(Attr::mode)}));
}
void average_pool(const GradientBuilder& r) {
    const Shape x = r.shape_in(0);
    Shape spatial;
    for (int axis = 2; axis < x.rank; ++axis) spatial[spatial.rank++] = x[axis];
    r.give(0,
           r.apply_gradient({r.dy()}, {list(Attr::shape, spatial), r.attribute(Attr::strides),
                                       r.attribute(Attr::pads), r.attribute(Attr::kernel),
                                       r.attribute(Attr::ceil_mode), r.attribute(Attr::count_include_pad)}));
}
// Its result is the picture of the convolution that it transposes, its operand what that gives.
void conv_transpose(const GradientBuilder& r) {
    if (r.needs(0)) r.give(0, same_window(r, Op::conv, r.dy(), r.in(1), Shape()));
    if (r.needs(1)) r.give(1, same_window(r, Op::conv_grad_weight, r.dy(), r.in(0), r.shape_in(1)));
    give_bias(r);
}

void attention(const GradientBuilder& r) {
    const bool packed = r.node.flag(Attr::packed);
    const int operands = packed ? 1 : 3;
    ValueId inputs[9];
    int count = 0;
    for (int i = 0; i < operands; ++i) inputs[count++] = r.in(i);
    for (const ValueId saved : {r.out(0), r.out(1), r.out(2), r.dy()}) inputs[count++] = saved;
    for (std::size_t i = static_cast<std::size_t>(operands); i < r.node.inputs.size(); ++i)
        inputs[count++] = r.node.inputs[i];  // starts, random
    const ValueId first = r.graph.apply(Op::attention_grad, inputs, count, r.node.attributes.data(),
                                        static_cast<int>(r.node.attributes.size()), Phase::each);
    for (int i = 0; i < operands; ++i) r.give(i, first + i);
}

}  // namespace gradient_rules
}  // namespace volta
