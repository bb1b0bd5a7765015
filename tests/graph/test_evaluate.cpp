// The evaluator: every operator gives the bits of its definition, special values included; micro-batches,
// bodies, epilogues and updates.
#include <cmath>
#include <vector>

#include "engine/numerics/definitions.h"
#include "tests/graph/graphs.h"

namespace {
using namespace volta;
using namespace volta::test;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
const std::vector<float> kSpecial = {0.0f,     -0.0f,     kInf,  -kInf, kNan,  1e-42f,    -3e-45f, 3.4e38f,
                                     -3.4e38f, 1.0f,      -1.0f, 0.5f,  2.0f,  -16.5f,    88.8f,   -104.5f,
                                     0.624f,   131073.0f, -0.3f, 1.5f,  -2.5f, 8388607.5f};

EvalTensor<float> empty() { return EvalTensor<float>(Allocator(heap())); }
EvalTensor<float> tensor_of(const std::vector<float>& values) {
    EvalTensor<float> tensor = empty();
    tensor.real.assign(values.begin(), values.end());
    return tensor;
}
EvalTensor<float> tensor_of_ids(const std::vector<std::int32_t>& values) {
    EvalTensor<float> tensor = empty();
    tensor.integer.assign(values.begin(), values.end());
    return tensor;
}

// Runs the last node of `graph` on these tensors; its outputs keep what they held (accumulation).
void run_last(const Graph& graph, const std::vector<const EvalTensor<float>*>& inputs,
              const std::vector<EvalTensor<float>*>& outputs, std::uint32_t micro_index = 0) {
    evaluate_node<float>(graph, graph.nodes.back(), inputs.data(), outputs.data(), micro_index);
}

// ---- Elementwise ----

using Machine = ScalarMachine<float>;
struct Unary {
    Op op;
    float (*define)(Machine& m, float x);
    double exponent = 0;
};
const Unary kUnary[] = {
    {Op::neg, [](Machine& m, float x) { return m.neg(x); }},
    {Op::abs, [](Machine& m, float x) { return m.abs(x); }},
    {Op::exp, [](Machine& m, float x) { return exp(m, x); }},
    {Op::log, [](Machine& m, float x) { return log(m, x); }},
    {Op::sqrt, [](Machine& m, float x) { return m.sqrt(x); }},
    {Op::rsqrt, [](Machine& m, float x) { return rsqrt(m, x); }},
    {Op::tanh, [](Machine& m, float x) { return tanh(m, x); }},
    {Op::erf, [](Machine& m, float x) { return erf(m, x); }},
    {Op::sigmoid, [](Machine& m, float x) { return sigmoid(m, x); }},
    {Op::silu, [](Machine& m, float x) { return silu(m, x); }},
    {Op::gelu_tanh, [](Machine& m, float x) { return gelu_tanh(m, x); }},
    {Op::gelu_erf, [](Machine& m, float x) { return gelu_erf(m, x); }},
    {Op::relu, [](Machine& m, float x) { return relu(m, x); }},
    {Op::floor, [](Machine&, float x) { return std::floor(x); }},
    {Op::ceil, [](Machine&, float x) { return std::ceil(x); }},
    {Op::round, [](Machine&, float x) { return std::rint(x); }},
    {Op::sin, [](Machine& m, float x) { return sin(m, x); }},
    {Op::cos, [](Machine& m, float x) { return cos(m, x); }},
    {Op::pow, [](Machine& m, float x) { return pow(m, x, 2.5); }, 2.5},
    {Op::pow, [](Machine&, float x) { return x * x; }, 2},
};

void test_functions_have_the_bits_of_their_definitions(void**) {
    for (const Unary& test : kUnary) {
        Graph graph(heap());
        const ValueId x = reals(graph, {static_cast<std::int64_t>(kSpecial.size())});
        if (test.op == Op::pow)
            graph.apply(test.op, {x}, {number(Attr::exponent, test.exponent)});
        else
            graph.apply(test.op, {x});
        const EvalTensor<float> input = tensor_of(kSpecial);
        EvalTensor<float> output = empty();
        run_last(graph, {&input}, {&output});
        Machine m;
        std::vector<float> expected = kSpecial;
        for (float& value : expected) value = test.define(m, value);
        assert_same_bits(op_row(test.op).name, expected.data(), output.real.data(),
                         static_cast<std::int64_t>(expected.size()));
    }
}

struct Binary {
    Op op;
    float (*define)(Machine& m, float a, float b);  // comparisons: 0 or 1
};
const Binary kBinary[] = {
    {Op::add, [](Machine&, float a, float b) { return a + b; }},
    {Op::sub, [](Machine&, float a, float b) { return a - b; }},
    {Op::mul, [](Machine&, float a, float b) { return a * b; }},
    {Op::div, [](Machine&, float a, float b) { return a / b; }},
    {Op::maximum, [](Machine&, float a, float b) { return a != a || a > b ? a : b; }},
    {Op::minimum, [](Machine&, float a, float b) { return a != a || a < b ? a : b; }},
    {Op::less, [](Machine&, float a, float b) { return a < b ? 1.0f : 0.0f; }},
    {Op::less_equal, [](Machine&, float a, float b) { return a <= b ? 1.0f : 0.0f; }},
    {Op::equal, [](Machine&, float a, float b) { return a == b ? 1.0f : 0.0f; }},
};
const Binary kGradients[] = {
    // (x, dy)
    {Op::gelu_tanh_grad, [](Machine& m, float a, float b) { return gelu_tanh_grad(m, a, b); }},
    {Op::gelu_erf_grad, [](Machine& m, float a, float b) { return gelu_erf_grad(m, a, b); }},
    {Op::silu_grad, [](Machine& m, float a, float b) { return silu_grad(m, a, b); }},
    {Op::relu_grad, [](Machine&, float a, float b) { return 0 >= a ? 0.0f : b; }},
};

// All pairs of special values: a [n, 1] against b [n], or both written out for operators that do not
// broadcast.
void check_pairs(const Binary& test, bool broadcasts) {
    const std::int64_t n = static_cast<std::int64_t>(kSpecial.size());
    Graph graph(heap());
    if (broadcasts)
        graph.apply(test.op, {reals(graph, {n, 1}), reals(graph, {n})});
    else
        graph.apply(test.op, {reals(graph, {n, n}), reals(graph, {n, n})});
    Machine m;
    std::vector<float> a, b, expected, actual;
    for (const float x : kSpecial)
        for (const float y : kSpecial)
            a.push_back(x), b.push_back(y), expected.push_back(test.define(m, x, y));
    const EvalTensor<float> left = tensor_of(broadcasts ? kSpecial : a),
                            right = tensor_of(broadcasts ? kSpecial : b);
    EvalTensor<float> output = empty();
    run_last(graph, {&left, &right}, {&output});
    for (const std::int32_t value : output.integer) actual.push_back(static_cast<float>(value));
    if (actual.empty()) actual.assign(output.real.begin(), output.real.end());
    assert_int_equal(actual.size(), expected.size());
    assert_same_bits(op_row(test.op).name, expected.data(), actual.data(), n * n);
}

void test_pairs_have_the_bits_of_their_definitions(void**) {
    for (const Binary& test : kBinary) check_pairs(test, true);
    for (const Binary& test : kGradients) check_pairs(test, false);
}

void test_gradients_of_choices_follow_the_choice(void**) {
    const std::int64_t n = static_cast<std::int64_t>(kSpecial.size());
    for (const Op op : {Op::maximum_grad, Op::minimum_grad})
        for (int operand = 0; operand < 2; ++operand) {
            Graph graph(heap());
            graph.apply(op, {reals(graph, {n, 1}), reals(graph, {n}), reals(graph, {n, n})},
                        {number(Attr::operand, operand)});
            std::vector<float> expected, dy;
            for (const float a : kSpecial)
                for (const float b : kSpecial) {
                    const bool takes_a = a != a || (op == Op::maximum_grad ? a > b : a < b);
                    dy.push_back(static_cast<float>(dy.size()) + 1);
                    expected.push_back(takes_a == (operand == 0) ? dy.back() : 0.0f);
                }
            const EvalTensor<float> a = tensor_of(kSpecial), b = tensor_of(kSpecial), given = tensor_of(dy);
            EvalTensor<float> output = empty();
            run_last(graph, {&a, &b, &given}, {&output});
            assert_same_bits(op_row(op).name, expected.data(), output.real.data(), n * n);
        }
}

// A slope is not multiplied with what it does not scale: 0 * Inf does not reach the other side.
void test_prelu_selects_the_side(void**) {
    const std::int64_t n = static_cast<std::int64_t>(kSpecial.size());
    for (int what = -1; what < 2; ++what) {  // the value, the gradient of x, the gradient of the slope
        Graph graph(heap());
        const ValueId x = reals(graph, {n, 1}), slope = reals(graph, {n});
        if (what < 0)
            graph.apply(Op::prelu, {x, slope});
        else
            graph.apply(Op::prelu_grad, {x, slope, reals(graph, {n, n})}, {number(Attr::operand, what)});
        std::vector<float> expected, dy;
        for (const float a : kSpecial)
            for (const float p : kSpecial) {
                dy.push_back(static_cast<float>(dy.size()) + 1);
                const float d = dy.back();
                expected.push_back(what < 0    ? (a < 0 ? p * a : a)
                                   : what == 0 ? (a <= 0 ? p * d : d)
                                               : (a < 0 ? a * d : 0.0f));
            }
        const EvalTensor<float> a = tensor_of(kSpecial), p = tensor_of(kSpecial), given = tensor_of(dy);
        EvalTensor<float> output = empty();
        if (what < 0)
            run_last(graph, {&a, &p}, {&output});
        else
            run_last(graph, {&a, &p, &given}, {&output});
        assert_same_bits("prelu", expected.data(), output.real.data(), n * n);
    }
}

void test_where_selects_and_never_multiplies(void**) {
    Graph graph(heap());
    graph.apply(Op::where, {integers(graph, {4}), reals(graph, {4}), reals(graph, {})});
    const EvalTensor<float> mask = tensor_of_ids({0, 1, -7, 0}), a = tensor_of({kNan, -0.0f, 3, kInf}),
                            b = tensor_of({5});
    EvalTensor<float> output = empty();
    run_last(graph, {&mask, &a, &b}, {&output});
    const float expected[] = {5, -0.0f, 3, 5};
    assert_same_bits("where", expected, output.real.data(), 4);
}

// A body gives what its operators give one by one, on broadcast operands, with several results and dropout.
void test_a_body_equals_its_operators(void**) {
    Graph alone(heap()), fused(heap());
    Body body{Allocator(heap())};
    const auto step = [&](Op op, std::initializer_list<std::int32_t> inputs,
                          std::initializer_list<Attribute> attributes = {}) {
        body.ops.emplace_back();
        body.ops.back().op = op;
        body.ops.back().inputs.assign(inputs);
        body.ops.back().attributes.assign(attributes);
    };
    const auto sources = [](Graph& g) {
        weights(g, {6, 40}, -3, 3), weights(g, {40}, -3, 3), weights(g, {6, 1}, -3, 3), integers(g, {3});
    };
    const Attribute p = number(Attr::probability, 0.25), stream = number(Attr::stream, 9),
                    e = number(Attr::exponent, 3);
    sources(alone);
    sources(fused);
    const ValueId sum = alone.apply(Op::add, {0, 1});
    const ValueId gelu = alone.apply(Op::gelu_tanh, {sum});
    const ValueId kept = alone.apply(Op::dropout, {gelu, 3}, {p, stream});
    const ValueId mask = alone.apply(Op::less, {kept, 2});
    const ValueId cube = alone.apply(Op::pow, {2}, {e});
    const ValueId result = alone.apply(Op::where, {mask, kept, cube});
    step(Op::add, {~0, ~1});
    step(Op::gelu_tanh, {0});
    step(Op::dropout, {1, ~3}, {p, stream});
    step(Op::less, {2, ~2});
    step(Op::pow, {~2}, {e});
    step(Op::where, {3, 2, 4});
    body.results.assign({5, 0, 3});
    const ValueId inputs[] = {0, 1, 2, 3};
    const ValueId first = fused.apply(Op::fused, inputs, 4, nullptr, 0, Phase::each, &body);
    verify(fused);
    Tensors<float> left(alone.values.size(), heap()), right(fused.values.size(), heap());
    fill_sources(alone, left, 5);
    fill_sources(fused, right, 5);
    evaluate(alone, left);
    evaluate(fused, right);
    const auto at = [](Tensors<float>& tensors, ValueId id) -> EvalTensor<float>& {
        return tensors[static_cast<std::size_t>(id)];
    };
    assert_same_bits("where", at(left, result).real.data(), at(right, first).real.data(), 240);
    assert_same_bits("add", at(left, sum).real.data(), at(right, first + 1).real.data(), 240);
    const bool equal_masks = at(left, mask).integer == at(right, first + 2).integer;
    assert_true(equal_masks);
}

void test_an_epilogue_equals_separate_operators(void**) {
    Graph alone(heap()), fused(heap());
    for (Graph* graph : {&alone, &fused}) {
        weights(*graph, {2, 5, 600});
        weights(*graph, {600, 3});
        weights(*graph, {3});
        weights(*graph, {2, 5, 3});
    }
    const ValueId product = alone.apply(Op::matmul, {0, 1});
    const ValueId biased = alone.apply(Op::add, {product, 2});
    const ValueId residual = alone.apply(Op::add, {alone.apply(Op::relu, {biased}), 3});
    Body body{Allocator(heap())};
    const std::int32_t steps[][2] = {{~0, ~1}, {0, 0}, {1, ~2}};
    const Op ops[] = {Op::add, Op::relu, Op::add};
    for (int i = 0; i < 3; ++i) {
        body.ops.emplace_back();
        body.ops.back().op = ops[i];
        body.ops.back().inputs.assign(steps[i], steps[i] + (ops[i] == Op::relu ? 1 : 2));
    }
    body.results.assign({2, 0, ~0});
    const ValueId inputs[] = {0, 1, 2, 3};
    const ValueId first = fused.apply(Op::matmul, inputs, 4, nullptr, 0, Phase::each, &body);
    verify(fused);
    Tensors<float> left(alone.values.size(), heap()), right(fused.values.size(), heap());
    fill_sources(alone, left, 6);
    fill_sources(fused, right, 6);
    evaluate(alone, left);
    evaluate(fused, right);
    const ValueId expected[] = {residual, biased, product};
    for (int i = 0; i < 3; ++i)
        assert_same_bits("epilogue", left[static_cast<std::size_t>(expected[i])].real.data(),
                         right[static_cast<std::size_t>(first + i)].real.data(), 30);
}

// ---- Reductions and rows ----

// The rule follows the logical shape: which sums are equal to which.
void test_sums_follow_the_logical_shape(void**) {
    const std::vector<float> data = random_floats(6 * 40 * 30, 3, Data::binades);
    const EvalTensor<float> x = tensor_of(data);
    const struct {
        Shape shape;
        std::initializer_list<std::int64_t> axes;
        bool row;
    } kSums[] = {
        {{6, 40, 30}, {2}, true},         {{6, 40, 30}, {1, 2}, true},  {{6, 40, 30}, {0, 2}, true},
        {{6, 40, 30}, {0}, false},        {{6, 40, 30}, {0, 1}, false}, {{240, 30, 1}, {1}, true},
        {{240, 30, 1, 1}, {0, 3}, false}, {{7200}, {}, true},           {{240, 1, 30}, {0, 1}, false},
    };
    for (const auto& test : kSums) {
        Graph graph(heap());
        graph.apply(Op::sum, {reals(graph, test.shape)}, {list(Attr::axes, test.axes)});
        EvalTensor<float> output = empty();
        run_last(graph, {&x}, {&output});
        // By hand: walk all elements, collecting those of each result in row-major order.
        std::vector<std::vector<float>> groups(output.real.size());
        bool reduced[kMaxRank] = {};
        for (int axis = 0; axis < test.shape.rank; ++axis) reduced[axis] = test.axes.size() == 0;
        for (const std::int64_t axis : test.axes) reduced[axis] = true;
        for (std::size_t i = 0; i < data.size(); ++i) {
            std::int64_t rest = static_cast<std::int64_t>(i), index = 0, step = 1;
            for (int axis = test.shape.rank - 1; axis >= 0; --axis) {
                if (!reduced[axis]) index += rest % test.shape[axis] * step, step *= test.shape[axis];
                rest /= test.shape[axis];
            }
            groups[static_cast<std::size_t>(index)].push_back(data[i]);
        }
        std::vector<float> expected;
        for (const auto& group : groups) {
            const std::int64_t n = static_cast<std::int64_t>(group.size());
            const auto at = [&](std::int64_t i) { return group[static_cast<std::size_t>(i)]; };
            expected.push_back(test.row ? row_sum<float>(n, at) : column_sum<float>(n, nullptr, at));
        }
        assert_same_bits("sum", expected.data(), output.real.data(),
                         static_cast<std::int64_t>(expected.size()));
    }
}

void test_empty_sums_are_plus_zero(void**) {
    Graph graph(heap());
    graph.apply(Op::sum, {reals(graph, {0, 3})}, {list(Attr::axes, {0})});
    const EvalTensor<float> x = tensor_of({});
    EvalTensor<float> output = empty();
    run_last(graph, {&x}, {&output});
    const float zeros[] = {0, 0, 0};
    assert_int_equal(output.real.size(), 3);
    assert_same_bits("empty", zeros, output.real.data(), 3);
}

void test_maxima_and_their_gradients_at_special_values(void**) {
    const std::vector<float> rows = {-0.0f, 0.0f, -1, 2, 5, 5, kNan, 9, kNan, -kInf, -kInf, -kInf};
    const EvalTensor<float> x = tensor_of(rows), dy = tensor_of({10, 20, 30, 40});
    const float expected[4] = {0.0f, 5, kNan, -kInf};
    const float gradient[12] = {10, 0, 0, 0, 20, 0, 30, 0, 0, 40, 0, 0};
    Graph graph(heap());
    const ValueId source = reals(graph, {4, 3});
    const ValueId y = graph.apply(Op::max, {source}, {list(Attr::axes, {1})});
    EvalTensor<float> maxima = empty(), given = empty();
    run_last(graph, {&x}, {&maxima});
    assert_same_bits("max", expected, maxima.real.data(), 4);
    graph.apply(Op::max_grad, {source, y, y}, {list(Attr::axes, {1})});
    run_last(graph, {&x, &maxima, &dy}, {&given});
    assert_same_bits("max_grad", gradient, given.real.data(), 12);
}

void test_ignored_targets_give_plus_zero(void**) {
    Graph graph(heap());
    const ValueId x = reals(graph, {2, 3}), targets = integers(graph, {2});
    graph.apply(Op::cross_entropy, {x, targets});
    const EvalTensor<float> logits = tensor_of({kNan, kInf, 1, 0, 0, 0}), ids = tensor_of_ids({-1, 2}),
                            g = tensor_of({0.5f});
    EvalTensor<float> loss = empty(), m = empty(), s = empty(), dx = empty();
    run_last(graph, {&logits, &ids}, {&loss, &m, &s});
    const bool first_is_zero = bits_of(loss.real[0]) == 0,
               second_is_log3 = std::fabs(loss.real[1] - std::log(3.0f)) < 1e-6f;
    graph.apply(Op::cross_entropy_grad, {x, targets, 2, 3, graph.scalar(0.5f)});
    run_last(graph, {&logits, &ids, &m, &s, &g}, {&dx});
    const float third = (1.0f / 3) * 0.5f, expected[] = {0, 0, 0, third, third, (1.0f / 3 - 1) * 0.5f};
    assert_true(first_is_zero && second_is_log3);
    assert_same_bits("gradient", expected, dx.real.data(), 6);
    graph.apply(Op::cross_entropy_with_grad, {x, targets, graph.scalar(0.5f)});
    EvalTensor<float> loss_too = empty();
    run_last(graph, {&logits, &ids, &g}, {&loss_too, &dx});
    assert_same_bits("loss, with its gradient", loss.real.data(), loss_too.real.data(), 2);
    assert_same_bits("gradient, with its loss", expected, dx.real.data(), 6);
}

// One operator for the two: bit for bit what the pair gives, with one factor for all rows and one per row.
void test_a_loss_with_its_gradient_is_the_pair(void**) {
    constexpr std::int64_t kRows = 5, kClasses = 77;
    const EvalTensor<float> logits = tensor_of(random_floats(kRows * kClasses, 11));
    const EvalTensor<float> ids = tensor_of_ids({76, -1, 0, 33, 5});
    const EvalTensor<float> one = tensor_of({0.3f}), each = tensor_of({0.3f, 2, -1, 0, 1e-3f});
    for (const bool one_factor : {true, false}) {
        const EvalTensor<float>& g = one_factor ? one : each;
        EvalTensor<float> loss = empty(), m = empty(), s = empty(), dx = empty(), loss_too = empty(),
                          dx_too = empty();
        Graph graph(heap());
        const ValueId x = reals(graph, {kRows, kClasses}), targets = integers(graph, {kRows});
        const ValueId factor = reals(graph, one_factor ? Shape{} : Shape{kRows});
        const ValueId rows = graph.apply(Op::cross_entropy, {x, targets});
        run_last(graph, {&logits, &ids}, {&loss, &m, &s});
        graph.apply(Op::cross_entropy_grad, {x, targets, rows + 1, rows + 2, factor});
        run_last(graph, {&logits, &ids, &m, &s, &g}, {&dx});
        graph.apply(Op::cross_entropy_with_grad, {x, targets, factor});
        run_last(graph, {&logits, &ids, &g}, {&loss_too, &dx_too});
        assert_same_bits("loss", loss.real.data(), loss_too.real.data(), kRows);
        assert_same_bits("dx", dx.real.data(), dx_too.real.data(), kRows * kClasses);
    }
}

// Whatever smoothing and weights there are: an ignored row gives +0, and the pair is the one operator.
void test_smoothed_and_weighted_losses(void**) {
    constexpr std::int64_t kRows = 4, kClasses = 5;
    std::vector<float> x = random_floats(kRows * kClasses, 3);
    x[5] = kNan;
    const EvalTensor<float> logits = tensor_of(x), ids = tensor_of_ids({4, -1, 0, 2}), g = tensor_of({0.5f}),
                            w = tensor_of({0.5f, -0.0f, 3, kInf, 1});
    for (const double smoothing : {0.0, 0.2})
        for (const bool weighted : {false, true}) {
            Graph graph(heap());
            const Attribute smooth = number(Attr::label_smoothing, smoothing);
            const auto apply = [&](Op op, std::vector<ValueId> inputs) {
                if (weighted) inputs.push_back(reals(graph, {kClasses}));
                return graph.apply(op, inputs.data(), static_cast<int>(inputs.size()), &smooth, 1,
                                   Phase::each);
            };
            const auto run = [&](std::vector<const EvalTensor<float>*> inputs,
                                 const std::vector<EvalTensor<float>*>& outputs) {
                if (weighted) inputs.push_back(&w);
                run_last(graph, inputs, outputs);
            };
            const ValueId in = reals(graph, {kRows, kClasses}), targets = integers(graph, {kRows});
            const ValueId factor = reals(graph, {});
            EvalTensor<float> loss = empty(), m = empty(), s = empty(), dx = empty(), loss_too = empty(),
                              dx_too = empty();
            const ValueId rows = apply(Op::cross_entropy, {in, targets});
            run({&logits, &ids}, {&loss, &m, &s});
            apply(Op::cross_entropy_grad, {in, targets, rows + 1, rows + 2, factor});
            run({&logits, &ids, &m, &s, &g}, {&dx});
            apply(Op::cross_entropy_with_grad, {in, targets, factor});
            run({&logits, &ids, &g}, {&loss_too, &dx_too});
            assert_same_bits("loss", loss.real.data(), loss_too.real.data(), kRows);
            assert_same_bits("dx", dx.real.data(), dx_too.real.data(), kRows * kClasses);
            const float zeros[kClasses] = {0, 0, 0, 0, 0};
            assert_same_bits("ignored", zeros, dx.real.data() + kClasses, kClasses);
            assert_same_bits("ignored", zeros, loss.real.data() + 1, 1);
            // A weight that is infinite is seen by the target that has it, and by all where labels are
            // smoothed.
            assert_true(std::isfinite(loss.real[0]) == !(weighted && smoothing > 0));
        }
}

// Logits far out: the loss is the distance to the target's side, or nothing; the gradient 0, 1 or -1.
void test_binary_cross_entropy_far_out(void**) {
    Graph graph(heap());
    const ValueId x = reals(graph, {6, 1}), t = reals(graph, {6, 1});
    graph.apply(Op::binary_cross_entropy, {x, t});
    const EvalTensor<float> logits = tensor_of({1e30f, 1e30f, -1e30f, -1e30f, kInf, 60}),
                            targets = tensor_of({1, 0, 1, 0, 0, 1}), g = tensor_of({1});
    EvalTensor<float> loss = empty(), dx = empty();
    run_last(graph, {&logits, &targets}, {&loss});
    Machine m;
    const float tail = exp(m, -60.0f);  // log(1 + e^-60) and 1 - sigmoid(60)
    const float losses[] = {0, 1e30f, 1e30f, 0, kInf, tail};
    assert_same_bits("loss", losses, loss.real.data(), 6);
    graph.apply(Op::binary_cross_entropy_grad, {x, t, graph.scalar(1)});
    run_last(graph, {&logits, &targets, &g}, {&dx});
    const float slopes[] = {0, 1, -1, 0, 1, -tail};
    assert_same_bits("gradient", slopes, dx.real.data(), 6);
}

// At the corners of l1 and huber, and where the difference is no number.
void test_absolute_losses_at_their_corners(void**) {
    const struct {
        Op loss, gradient;
        std::vector<float> d, value, slope;  // slope of g = 2
    } cases[] = {
        {Op::l1, Op::l1_grad, {0, -0.0f, -3, 2, kInf, kNan}, {0, 0, 3, 2, kInf, kNan}, {0, 0, -2, 2, 2, 2}},
        {Op::huber,
         Op::huber_grad,
         {0, -0.5f, 0.5f, -2, kInf, kNan},
         {0, 0.125f, 0.125f, 0.875f, kInf, kNan},
         {0, -1, 1, -1, 1, kNan}},
    };
    for (const auto& test : cases) {
        const auto n = static_cast<std::int64_t>(test.d.size());
        Graph graph(heap());
        const ValueId x = reals(graph, {n, 1}), t = reals(graph, {n, 1});
        const Attribute delta = number(Attr::delta, 0.5);
        const int attributes = test.loss == Op::huber ? 1 : 0;
        const ValueId inputs[] = {x, t, reals(graph, {})};
        graph.apply(test.loss, inputs, 2, &delta, attributes, Phase::each);
        const EvalTensor<float> in = tensor_of(test.d), zero = tensor_of(std::vector<float>(test.d.size())),
                                g = tensor_of({2});
        EvalTensor<float> loss = empty(), dx = empty();
        run_last(graph, {&in, &zero}, {&loss});
        assert_same_bits(op_row(test.loss).name, test.value.data(), loss.real.data(), n);
        graph.apply(test.gradient, inputs, 3, &delta, attributes, Phase::each);
        run_last(graph, {&in, &zero, &g}, {&dx});
        assert_same_bits(op_row(test.gradient).name, test.slope.data(), dx.real.data(), n);
    }
}

void test_ids_outside_are_refused(void**) {
    Graph graph(heap());
    graph.apply(Op::gather, {reals(graph, {3, 2}), integers(graph, {2})});
    const EvalTensor<float> table = tensor_of({1, 2, 3, 4, 5, 6}), ids = tensor_of_ids({1, 3});
    EvalTensor<float> output = empty();
    const Failure failure = failure_of([&] { run_last(graph, {&table, &ids}, {&output}); });
    assert_failure("gather", failure, VOLTA_INVALID_ARGUMENT, "gather: the id 3 is outside of [0, 3)");
    Graph loss(heap());
    loss.apply(Op::cross_entropy, {reals(loss, {2, 3}), integers(loss, {2})});
    const EvalTensor<float> wrong = tensor_of_ids({-1, -2});
    EvalTensor<float> out[3] = {empty(), empty(), empty()};
    const Failure target = failure_of([&] { run_last(loss, {&table, &wrong}, {&out[0], &out[1], &out[2]}); });
    assert_failure("target", target, VOLTA_INVALID_ARGUMENT,
                   "cross_entropy: target -2 of row 1 is outside of [0, 3)");
    loss.apply(Op::cross_entropy_with_grad, {0, 1, loss.scalar(1)});
    const EvalTensor<float> g = tensor_of({1});
    const Failure both = failure_of([&] { run_last(loss, {&table, &wrong, &g}, {&out[0], &out[1]}); });
    assert_failure("target, with its gradient", both, VOLTA_INVALID_ARGUMENT,
                   "cross_entropy_with_grad: target -2 of row 1 is outside of [0, 3)");
}

// ---- Micro-batches ----

// Two micro-batches of 512 rows against one batch of 1024: products, column sums, scale gradients.
void test_accumulation_continues_the_chains(void**) {
    const struct {
        const char* name;
        ValueId (*build)(Graph& graph, std::int64_t rows, const Attribute& accumulate);
    } kCases[] = {
        {"matmul",
         [](Graph& g, std::int64_t rows, const Attribute& accumulate) {
             return g.apply(Op::matmul, {weights(g, {rows, 3}), weights(g, {rows, 2})},
                            {number(Attr::transpose_a, 1), accumulate});
         }},
        {"weight_gradient",
         [](Graph& g, std::int64_t rows, const Attribute& accumulate) {
             return g.apply(Op::weight_gradient, {weights(g, {rows, 3}), weights(g, {rows, 2})},
                            {accumulate});
         }},
        {"sum",
         [](Graph& g, std::int64_t rows, const Attribute& accumulate) {
             return g.apply(Op::sum, {weights(g, {rows, 5})}, {list(Attr::axes, {0}), accumulate});
         }},
        {"layer_norm_grad_scale",
         [](Graph& g, std::int64_t rows, const Attribute& accumulate) {
             return g.apply(
                 Op::layer_norm_grad_scale,
                 {weights(g, {rows, 4}), weights(g, {rows, 4}), weights(g, {rows}), weights(g, {rows})},
                 {accumulate});
         }},
        {"layer_norm_grad_columns",
         [](Graph& g, std::int64_t rows, const Attribute& accumulate) {
             return g.apply(
                 Op::layer_norm_grad_columns,
                 {weights(g, {rows, 4}), weights(g, {rows, 4}), weights(g, {rows}), weights(g, {rows})},
                 {accumulate});
         }},
        {"rms_norm_grad_scale",
         [](Graph& g, std::int64_t rows, const Attribute& accumulate) {
             return g.apply(Op::rms_norm_grad_scale,
                            {weights(g, {rows, 4}), weights(g, {rows, 4}), weights(g, {rows})}, {accumulate});
         }},
    };
    for (const auto& test : kCases) {
        Graph whole(heap()), half(heap());
        const ValueId y = test.build(whole, 1024, number(Attr::accumulate, 0));
        test.build(half, 512, number(Attr::accumulate, 1));
        Tensors<float> tensors(whole.values.size(), heap());
        fill_sources(whole, tensors, 12);
        evaluate(whole, tensors);
        const auto outputs = static_cast<std::size_t>(half.nodes.back().output_count);
        std::vector<EvalTensor<float>> sums;
        for (std::size_t i = 0; i < outputs; ++i) sums.push_back(empty());
        for (std::uint32_t micro = 0; micro < 2; ++micro) {
            std::vector<EvalTensor<float>> parts;
            std::vector<const EvalTensor<float>*> inputs;
            for (const ValueId input : half.nodes.back().inputs) {
                const auto& values = tensors[static_cast<std::size_t>(input)].real;
                const std::size_t size = values.size() / 2;
                parts.push_back(tensor_of(
                    std::vector<float>(values.begin() + static_cast<std::ptrdiff_t>(micro * size),
                                       values.begin() + static_cast<std::ptrdiff_t>((micro + 1) * size))));
            }
            inputs.reserve(parts.size());
            for (const auto& part : parts) inputs.push_back(&part);
            std::vector<EvalTensor<float>*> results;
            results.reserve(sums.size());
            for (auto& sum : sums) results.push_back(&sum);
            run_last(half, inputs, results, micro);
        }
        for (std::size_t i = 0; i < outputs; ++i)
            assert_same_bits(test.name, tensors[static_cast<std::size_t>(y) + i].real.data(),
                             sums[i].real.data(), static_cast<std::int64_t>(sums[i].real.size()));
    }
}

// A row sum does not continue: its complete results are added. So does `accumulate`; the first is stored as
// it is.
void test_other_sums_add_complete_results(void**) {
    Graph graph(heap());
    graph.apply(Op::sum, {reals(graph, {3})}, {number(Attr::accumulate, 1)});
    const EvalTensor<float> first = tensor_of({1e8f, 1, -1e8f}), second = tensor_of({3, 4, 5}),
                            zero = tensor_of({-0.0f, 1, 2});
    EvalTensor<float> y = empty(), copy = empty();
    run_last(graph, {&first}, {&y}, 0);
    const float complete = y.real[0];
    run_last(graph, {&second}, {&y}, 1);
    assert_true(y.real[0] == complete + 12);

    graph.apply(Op::accumulate, {0});
    run_last(graph, {&zero}, {&copy}, 0);
    assert_int_equal(bits_of(copy.real[0]), 0x80000000u);
    run_last(graph, {&second}, {&copy}, 1);
    const float expected[] = {3, 5, 7};
    assert_same_bits("accumulate", expected, copy.real.data(), 3);
}

void test_stacks_put_micro_batches_one_behind_the_other(void**) {
    Graph graph(heap());
    graph.apply(Op::stack, {reals(graph, {2, 2})}, {number(Attr::micro_batches, 2)});
    const EvalTensor<float> first = tensor_of({1, 2, 3, 4}), second = tensor_of({5, 6, 7, 8});
    EvalTensor<float> y = empty();
    run_last(graph, {&first}, {&y}, 0);
    run_last(graph, {&second}, {&y}, 1);
    const float expected[] = {1, 2, 3, 4, 5, 6, 7, 8};
    assert_same_bits("stack", expected, y.real.data(), 8);
}

// Random rows count over the whole step: halves give the bits of the whole, in dropout and in attention.
void test_random_rows_count_over_the_step(void**) {
    const EvalTensor<float> random = tensor_of_ids({7, -2, 3});
    const auto build = [](Graph& g, std::int64_t batch, bool attends) {
        const ValueId x = reals(g, {batch, 5, 12}), state = integers(g, {3});
        const Attribute p = number(Attr::probability, 0.5), stream = number(Attr::stream, 2);
        if (attends)
            g.apply(Op::attention, {x, state}, {number(Attr::heads, 2), number(Attr::packed, 1), p, stream});
        else
            g.apply(Op::dropout, {x, state}, {p, stream});
    };
    for (const bool attends : {false, true}) {
        Graph whole(heap()), half(heap());
        build(whole, 4, attends);
        build(half, 2, attends);
        const std::vector<float> data = random_floats(4 * 5 * 12, 8);
        const EvalTensor<float> all = tensor_of(data);
        EvalTensor<float> y[3] = {empty(), empty(), empty()};
        run_last(whole, {&all, &random}, {&y[0], &y[1], &y[2]});
        for (std::uint32_t micro = 0; micro < 2; ++micro) {
            const EvalTensor<float> part =
                tensor_of(std::vector<float>(data.begin() + micro * 120, data.begin() + (micro + 1) * 120));
            EvalTensor<float> z[3] = {empty(), empty(), empty()};
            run_last(half, {&part, &random}, {&z[0], &z[1], &z[2]}, micro);
            const std::size_t size = z[0].real.size();
            assert_same_bits(attends ? "attention" : "dropout", y[0].real.data() + micro * size,
                             z[0].real.data(), static_cast<std::int64_t>(size));
        }
    }
}

// The state holds {seed low, seed high, step}; attributes give stream and probability.
void test_dropout_draws_at_its_place(void**) {
    Graph graph(heap());
    graph.apply(Op::dropout, {reals(graph, {3, 4, 50}), integers(graph, {3})},
                {number(Attr::probability, 0.3), number(Attr::stream, 11)});
    const std::vector<float> data = random_floats(600, 4);
    const EvalTensor<float> x = tensor_of(data), random = tensor_of_ids({7, -2, 3});
    EvalTensor<float> y = empty();
    run_last(graph, {&x, &random}, {&y}, 2);
    const RandomPlace place = {0xfffffffe00000007u, 3, Purpose::dropout, 11};
    std::vector<float> expected(600);
    define::dropout(12, 50, data.data(), place, 24, dropout_rule(0.3), expected.data());
    assert_same_bits("dropout", expected.data(), y.real.data(), 600);
}

// ---- Movement and embeddings ----

void test_movement_moves_integers_too(void**) {
    Graph graph(heap());
    const ValueId x = integers(graph, {2, 3});
    const EvalTensor<float> data = tensor_of_ids({1, 2, 3, 4, 5, 6});
    const struct {
        Op op;
        Attribute attribute;
        std::vector<std::int32_t> expected;
    } kCases[] = {
        {Op::reshape, list(Attr::shape, {6}), {1, 2, 3, 4, 5, 6}},
        {Op::transpose, list(Attr::permutation, {1, 0}), {1, 4, 2, 5, 3, 6}},
        {Op::slice, number(Attr::begin, 1), {4, 5, 6}},
        {Op::concat, number(Attr::axis, 1), {1, 2, 3, 4, 5, 6}},
        {Op::broadcast_to, list(Attr::shape, {2, 2, 3}), {1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}},
        {Op::stack, number(Attr::micro_batches, 1), {1, 2, 3, 4, 5, 6}},
        {Op::position_ids, number(Attr::limit, 3), {0, 1, 2, 0, 1, 2}},
    };
    for (const auto& test : kCases) {
        graph.apply(test.op, {x}, {test.attribute});
        EvalTensor<float> y = empty();
        run_last(graph, {&data}, {&y});
        const bool equal =
            std::equal(y.integer.begin(), y.integer.end(), test.expected.begin(), test.expected.end());
        if (!equal) print_error("%s moves to a wrong place\n", op_row(test.op).name);
        assert_true(equal);
    }
}

// Each document begins at 0, and at its own place at the latest.
void test_positions_of_documents(void**) {
    Graph graph(heap());
    const ValueId ids = integers(graph, {2, 4});
    graph.apply(Op::position_ids, {ids, integers(graph, {2, 4})}, {number(Attr::limit, 4)});
    const EvalTensor<float> tokens = tensor_of_ids({9, 9, 9, 9, 9, 9, 9, 9}),
                            starts = tensor_of_ids({0, 0, 2, 2, 3, 1, 1, 3});
    EvalTensor<float> y = empty();
    run_last(graph, {&tokens, &starts}, {&y});
    const std::int32_t expected[] = {0, 1, 0, 1, 0, 0, 1, 0};
    assert_true(std::equal(y.integer.begin(), y.integer.end(), expected, expected + 8));
    const EvalTensor<float> outside = tensor_of_ids({0, 0, 2, 4, 3, 1, 1, 3});
    assert_failure("positions", failure_of([&] {
                       run_last(graph, {&tokens, &outside}, {&y});
                   }),
                   VOLTA_INVALID_ARGUMENT, "position_ids: the id 4 is outside of [0, 4)");
}

// A base keeps its bits on rows without tokens, -0 too; with tokens it gets the complete sum.
void test_embedding_gradients_spare_rows_without_tokens(void**) {
    Graph graph(heap());
    const ValueId ids = integers(graph, {3}), dy = reals(graph, {3, 1}), base = reals(graph, {3, 1});
    const EvalTensor<float> tokens = tensor_of_ids({2, 0, 2}), rows = tensor_of({1e8f, -0.0f, 1}),
                            head = tensor_of({-0.0f, -0.0f, 5});
    EvalTensor<float> y = empty();
    graph.apply(Op::embedding_gradient, {ids, dy}, {number(Attr::rows, 3)});
    run_last(graph, {&tokens, &rows}, {&y});
    const float alone[] = {0, 0, 1e8f + 1};
    assert_same_bits("alone", alone, y.real.data(), 3);
    graph.apply(Op::embedding_gradient, {ids, dy, base}, {number(Attr::rows, 3)});
    run_last(graph, {&tokens, &rows, &head}, {&y});
    const float on_base[] = {0, -0.0f, 5 + (1e8f + 1)};
    assert_same_bits("base", on_base, y.real.data(), 3);
}

// ---- Updates: which input is which ----

void test_updates_bind_their_inputs(void**) {
    const float w = 0.75f, g = -0.3f, m = 0.2f, v = 0.1f, clip = 0.5f, gc = g * clip;
    const std::vector<float> f = {0.01f, 1.5f, 0.99f, 0.9f, 0.95f, 0.1f, 0.05f, 1e-6f};
    const EvalTensor<float> tw = tensor_of({w}), tg = tensor_of({g}), tm = tensor_of({m}),
                            tv = tensor_of({v}), tf = tensor_of(f), tc = tensor_of({clip}),
                            t3 = tensor_of({f[0], f[3], f[5]}), t2 = tensor_of({f[0], f[5]});
    const auto run = [&](Op op, bool nesterov, std::vector<float>& result) {
        const bool is_adam = op == Op::adam || op == Op::adamw;
        Graph graph(heap());
        const ValueId x = reals(graph, {1}), factors = reals(graph, {is_adam ? 8 : 3}),
                      one = reals(graph, {});
        EvalTensor<float> out[3] = {empty(), empty(), empty()};
        if (is_adam)
            graph.apply(op, {x, x, x, x, factors, one});
        else if (op == Op::sgd)
            graph.apply(op, {x, x, x, factors, one}, {number(Attr::nesterov, nesterov)});
        else
            graph.apply(op, {x, x, x, factors, one});
        if (is_adam)
            run_last(graph, {&tw, &tg, &tm, &tv, &tf, &tc}, {&out[0], &out[1], &out[2]});
        else
            run_last(graph, {&tw, &tg, &tm, &t3, &tc}, {&out[0], &out[1]});
        for (const auto& tensor : out) result.insert(result.end(), tensor.real.begin(), tensor.real.end());
    };
    std::vector<float> actual, expected;
    for (const bool decoupled : {true, false}) {
        run(decoupled ? Op::adamw : Op::adam, false, actual);
        const float gi = decoupled ? gc : fma32(f[2], w, gc);
        const float m1 = fma32(f[3], m, f[5] * gi), v1 = fma32(f[4], v, (f[6] * gi) * gi);
        const float u = m1 / fma32(std::sqrt(v1), f[1], f[7]);
        for (const float x : {fma32(-f[0], u, decoupled ? w * f[2] : w), m1, v1}) expected.push_back(x);
    }
    const float lr = f[0], mu = f[3], wd = f[5], gi = fma32(wd, w, gc), v1 = fma32(mu, m, gi);
    run(Op::sgd, false, actual);
    for (const float x : {fma32(-lr, v1, w), v1}) expected.push_back(x);
    run(Op::sgd, true, actual);
    for (const float x : {fma32(-lr, fma32(mu, v1, gi), w), v1}) expected.push_back(x);
    {
        Graph graph(heap());
        const ValueId x = reals(graph, {1});
        graph.apply(Op::sgd_plain, {x, x, reals(graph, {2}), reals(graph, {})});
        EvalTensor<float> out = empty();
        run_last(graph, {&tw, &tg, &t2, &tc}, {&out});
        actual.push_back(out.real[0]);
        expected.push_back(fma32(-lr, gi, w));
    }
    const float ga = fma32(f[3], w, gc), h = fma32(ga, ga, m);  // factors {lr, wd, eps}
    run(Op::adagrad, false, actual);
    for (const float x : {fma32(-lr, ga / (std::sqrt(h) + f[5]), w), h}) expected.push_back(x);
    assert_int_equal(actual.size(), expected.size());
    assert_same_bits("updates", expected.data(), actual.data(), static_cast<std::int64_t>(expected.size()));
}

void test_norm_and_clip_factor(void**) {
    Graph graph(heap());
    const ValueId x = reals(graph, {2, 2}), norm = reals(graph, {});
    const EvalTensor<float> data = tensor_of({1, 2, 3, 4}), small = tensor_of({0.5f}), large = tensor_of({4});
    EvalTensor<float> y = empty();
    graph.apply(Op::square_sum, {x});
    run_last(graph, {&data}, {&y});
    assert_true(y.real[0] == 30);
    graph.apply(Op::clip_factor, {norm}, {number(Attr::maximum_norm, 1)});
    run_last(graph, {&small}, {&y});
    assert_true(y.real[0] == 1);
    run_last(graph, {&large}, {&y});
    assert_true(y.real[0] == 0.25f);
}

// By hand; the linear ones are those of PyTorch with align_corners=False, nearest is its `nearest`.
void test_padding_and_resampling_take_their_elements(void**) {
    struct Row {
        Op op;
        Shape x;
        Attribute places;
        double mode;
        std::vector<float> data, expected;
    };
    const Row rows[] = {
        {Op::pad, {3}, list(Attr::pads, {1, 2}), 0, {1, 2, 3}, {9, 1, 2, 3, 9, 9}},
        {Op::pad, {3}, list(Attr::pads, {2, 1}), 1, {1, 2, 3}, {3, 2, 1, 2, 3, 2}},
        {Op::pad, {3}, list(Attr::pads, {2, 1}), 2, {1, 2, 3}, {1, 1, 1, 2, 3, 3}},
        {Op::pad, {2, 2}, list(Attr::pads, {1, 0, 0, 1}), 1, {1, 2, 3, 4}, {3, 4, 3, 1, 2, 1, 3, 4, 3}},
        {Op::pad_grad, {6}, list(Attr::pads, {2, 1}), 1, {1, 2, 4, 8, 16, 32}, {4, 42, 17}},
        {Op::pad_grad, {6}, list(Attr::pads, {2, 1}), 2, {1, 2, 4, 8, 16, 32}, {7, 8, 48}},
        {Op::resize, {1, 1, 3}, list(Attr::shape, {5}), 0, {1, 2, 3}, {1, 1, 2, 2, 3}},
        {Op::resize, {1, 1, 5}, list(Attr::shape, {2}), 0, {1, 2, 3, 4, 5}, {1, 3}},
        {Op::resize, {1, 1, 2}, list(Attr::shape, {4}), 1, {0, 1}, {0, 0.25f, 0.75f, 1}},
        {Op::resize, {1, 1, 4}, list(Attr::shape, {2}), 1, {1, 2, 4, 8}, {1.5f, 6}},
        {Op::resize, {1, 1, 2, 1}, list(Attr::shape, {4, 1}), 1, {4, 8}, {4, 5, 7, 8}},
        {Op::resize, {1, 1, 2}, list(Attr::shape, {2}), 1, {-0.0f, kInf}, {-0.0f, kInf}},
        {Op::resize_grad, {1, 1, 4}, list(Attr::shape, {2}), 1, {1, 2, 4, 8}, {3.5f, 11.5f}},
        {Op::resize_grad, {1, 1, 5}, list(Attr::shape, {3}), 0, {1, 2, 4, 8, 16}, {3, 12, 16}},
    };
    for (const Row& row : rows) {
        Graph graph(heap());
        const ValueId x = reals(graph, row.x);
        if (row.op == Op::pad)
            graph.apply(row.op, {x}, {row.places, number(Attr::mode, row.mode), number(Attr::value, 9)});
        else
            graph.apply(row.op, {x}, {row.places, number(Attr::mode, row.mode)});
        const EvalTensor<float> data = tensor_of(row.data);
        EvalTensor<float> y = empty();
        run_last(graph, {&data}, {&y});
        assert_int_equal(row.expected.size(), y.real.size());
        assert_same_bits(op_row(row.op).name, row.expected.data(), y.real.data(),
                         static_cast<std::int64_t>(row.expected.size()));
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_functions_have_the_bits_of_their_definitions),
        cmocka_unit_test(test_pairs_have_the_bits_of_their_definitions),
        cmocka_unit_test(test_gradients_of_choices_follow_the_choice),
        cmocka_unit_test(test_prelu_selects_the_side),
        cmocka_unit_test(test_where_selects_and_never_multiplies),
        cmocka_unit_test(test_a_body_equals_its_operators),
        cmocka_unit_test(test_an_epilogue_equals_separate_operators),
        cmocka_unit_test(test_sums_follow_the_logical_shape),
        cmocka_unit_test(test_empty_sums_are_plus_zero),
        cmocka_unit_test(test_maxima_and_their_gradients_at_special_values),
        cmocka_unit_test(test_ignored_targets_give_plus_zero),
        cmocka_unit_test(test_a_loss_with_its_gradient_is_the_pair),
        cmocka_unit_test(test_smoothed_and_weighted_losses),
        cmocka_unit_test(test_binary_cross_entropy_far_out),
        cmocka_unit_test(test_absolute_losses_at_their_corners),
        cmocka_unit_test(test_ids_outside_are_refused),
        cmocka_unit_test(test_accumulation_continues_the_chains),
        cmocka_unit_test(test_other_sums_add_complete_results),
        cmocka_unit_test(test_stacks_put_micro_batches_one_behind_the_other),
        cmocka_unit_test(test_random_rows_count_over_the_step),
        cmocka_unit_test(test_dropout_draws_at_its_place),
        cmocka_unit_test(test_movement_moves_integers_too),
        cmocka_unit_test(test_positions_of_documents),
        cmocka_unit_test(test_embedding_gradients_spare_rows_without_tokens),
        cmocka_unit_test(test_updates_bind_their_inputs),
        cmocka_unit_test(test_norm_and_clip_factor),
        cmocka_unit_test(test_padding_and_resampling_take_their_elements),
    };
    return cmocka_run_group_tests_name("evaluate", tests, nullptr, nullptr);
}
