#include "tests/runtime/backend_cases.h"

#include <cstdlib>
#include <cstring>

#include "engine/graph/forms.h"
#include "engine/numerics/stored_weights.h"
#include "tests/runtime/plan_runner.h"
#include "tests/support/elementwise_rows.h"

namespace volta::test {

// ---- CaseBuilder
// --------------------------------------------------------------------------------------------

namespace {
Bits to_bits(const std::vector<float>& values) {
    Bits bits(values.size());
    if (!values.empty()) std::memcpy(bits.data(), values.data(), values.size() * 4);
    return bits;
}
}  // namespace

std::string CaseBuilder::name(const char* prefix) { return prefix + std::to_string(names_++); }

void CaseBuilder::fill(ValueId value, Bits&& bits) {
    filled.content.resize(static_cast<std::size_t>(value) + 1);
    filled.content[static_cast<std::size_t>(value)] = std::move(bits);
}

ValueId CaseBuilder::input(DType dtype, const Shape& shape, const char* prefix) {
    return graph().input(name(prefix).c_str(), dtype, shape);
}

Bits CaseBuilder::reals(std::int64_t count, Data data) {
    return to_bits(random_floats(count, random_.next(), data));
}

ValueId CaseBuilder::real(Shape shape) {
    const ValueId value = input(DType::f32, shape, "x");
    fill(value, reals(content_elements(shape), data_));
    return value;
}

ValueId CaseBuilder::plain(Shape shape) {
    const ValueId value = input(DType::f32, shape, "x");
    fill(value, reals(content_elements(shape), Data::plain));
    return value;
}

ValueId CaseBuilder::parameter(Shape shape) {
    const ValueId value = graph().parameter(name("w").c_str(), shape, Init{});
    fill(value, reals(shape.elements(), data_));
    return value;
}

ValueId CaseBuilder::stored(DType dtype, Shape shape) {
    const ValueId value = graph().parameter(name("w").c_str(), shape, Init{}, dtype);
    const std::vector<float> w = random_floats(shape.elements(), random_.next(), Data::plain);
    Bits bits(static_cast<std::size_t>((tensor_bytes(dtype, shape) + 3) / 4));
    for (std::int64_t j = 0; j < shape[0]; ++j)
        if (!store_row(dtype, w.data() + j * shape[1], j, shape[1],
                       reinterpret_cast<unsigned char*>(bits.data())))
            std::abort();  // plain numbers fit every type
    fill(value, std::move(bits));
    return value;
}

ValueId CaseBuilder::state(Shape shape) {
    const ValueId value = graph().state(name("state").c_str(), DType::f32, shape);
    std::vector<float> values = random_floats(shape.elements(), random_.next(), data_);
    for (float& x : values) x = std::fabs(x);
    fill(value, to_bits(values));
    return value;
}

ValueId CaseBuilder::integers(Shape shape, int low, int high) {
    const ValueId value = input(DType::i32, shape, "ids");
    Bits bits(static_cast<std::size_t>(content_elements(shape)));
    for (std::uint32_t& word : bits) word = static_cast<std::uint32_t>(low + random_.below(high - low + 1));
    fill(value, std::move(bits));
    return value;
}

ValueId CaseBuilder::given(Shape shape, std::vector<std::int32_t> ids) {
    const ValueId value = input(DType::i32, shape, "ids");
    fill(value, Bits(ids.begin(), ids.end()));
    return value;
}

ValueId CaseBuilder::random_state() {
    const ValueId value = graph().input("step/random", DType::i32, Shape{3});
    fill(value, {static_cast<std::uint32_t>(random_.next()), static_cast<std::uint32_t>(random_.next()), 17});
    return value;
}

ValueId CaseBuilder::hidden(Op op, std::initializer_list<ValueId> inputs,
                            std::initializer_list<Attribute> attributes, Phase phase) {
    const ValueId first = graph().apply(op, inputs, attributes, phase);
    filled.content.resize(graph().values.size());
    return first;
}

ValueId CaseBuilder::apply(Op op, std::initializer_list<ValueId> inputs,
                           std::initializer_list<Attribute> attributes, Phase phase) {
    const ValueId first = hidden(op, inputs, attributes, phase);
    declare_outputs(first);
    return first;
}

ValueId CaseBuilder::apply(Op op, const std::vector<ValueId>& inputs,
                           const std::vector<Attribute>& attributes) {
    const ValueId first = graph().apply(op, inputs.data(), static_cast<int>(inputs.size()), attributes.data(),
                                        static_cast<int>(attributes.size()), Phase::each);
    filled.content.resize(graph().values.size());
    declare_outputs(first);
    return first;
}

ValueId CaseBuilder::apply(Node&& node) {
    const ValueId first = graph().apply(std::move(node));
    filled.content.resize(graph().values.size());
    declare_outputs(first);
    return first;
}

void CaseBuilder::declare_outputs(ValueId first) {
    const int count = graph().producer(first).output_count;
    for (int k = 0; k < count; ++k) graph().output(name("y").c_str(), first + k);
}

// ---- The cases
// ----------------------------------------------------------------------------------------------

namespace {

using Cases = std::vector<BackendCase>;

std::string shapes_text(std::initializer_list<Shape> shapes) {
    std::string text;
    for (const Shape& shape : shapes) text += (text.empty() ? "" : " x ") + std::string(to_text(shape).text);
    return text;
}

// An elementwise operator with its attributes' defaults and examples on inputs of these shapes.
BackendCase elementwise_case(const OpRow* row, const std::vector<Shape>& inputs) {
    std::string name;
    for (const Shape& shape : inputs) name += (name.empty() ? "" : " x ") + std::string(to_text(shape).text);
    return {row->op, name, [=](CaseBuilder& b) {
                std::vector<ValueId> values;
                values.reserve(inputs.size());
                for (const Shape& shape : inputs) values.push_back(b.real(shape));
                b.apply(row->op, values, example_attributes(*row));
            }};
}

void add_unary(Cases& cases) {
    const std::vector<Shape> shapes = {{}, {1}, {7}, {0}, {3, 5}, {4, 0}, {2, 3, 33}, {1, 300}};
    for (const Operands operands : {Operands::one, Operands::same_shape})
        for (const OpRow* row : elementwise_rows(operands))
            for (const Shape& shape : shapes)
                cases.push_back(elementwise_case(
                    row, std::vector<Shape>(static_cast<std::size_t>(row->min_inputs), shape)));
    for (const double exponent : {2.0, 3.0, 0.5, -1.0, -0.5, 0.0})
        cases.push_back({Op::pow, "exponent " + std::to_string(exponent), [=](CaseBuilder& b) {
                             b.apply(Op::pow, {b.real({3, 33})}, {number(Attr::exponent, exponent)});
                         }});
    for (const double alpha : {0.2, 0.0, -1.5})
        cases.push_back({Op::hard_sigmoid, "alpha " + std::to_string(alpha), [=](CaseBuilder& b) {
                             b.apply(Op::hard_sigmoid, {b.real({3, 33})},
                                     {number(Attr::alpha, alpha), number(Attr::beta, 0.75)});
                         }});
    for (const Op op : {Op::celu, Op::celu_grad})
        cases.push_back({op, "alpha 0.3", [=](CaseBuilder& b) {
                             std::vector<ValueId> inputs = {b.real({3, 33})};
                             if (op == Op::celu_grad) inputs.push_back(b.real({3, 33}));
                             b.apply(op, inputs, {number(Attr::alpha, 0.3)});
                         }});
    cases.push_back({Op::prelu, "a slope per channel", [](CaseBuilder& b) {
                         const ValueId x = b.real({2, 3, 5, 7});
                         b.apply(Op::prelu, {x, b.real({3, 1, 1})});
                     }});
    cases.push_back({Op::clip_factor, "", [](CaseBuilder& b) {
                         b.apply(Op::clip_factor, {b.real({})}, {number(Attr::maximum_norm, 0.3)});
                     }});
}

void add_binary(Cases& cases) {
    const std::vector<std::pair<Shape, Shape>> pairs = {{{}, {}},
                                                        {{3, 5}, {3, 5}},
                                                        {{3, 5}, {5}},
                                                        {{3, 5}, {}},
                                                        {{}, {70}},
                                                        {{3, 1}, {1, 5}},
                                                        {{3, 1}, {3, 40}},
                                                        {{4, 1, 1}, {1, 33}},
                                                        {{0, 3}, {3}},
                                                        {{2, 0}, {1, 1}},
                                                        {{1}, {1, 1}},
                                                        {{2, 3, 1}, {2, 1, 1}},
                                                        {{2, 3, 4, 5}, {3, 1, 5}},
                                                        {{2, 1, 3, 1, 5}, {1, 4, 1, 6, 1}},
                                                        {{2, 1, 2, 1, 2, 1, 3, 1}, {1, 2, 1, 2, 1, 2, 1, 5}},
                                                        {{130, 3}, {130, 1}},
                                                        {{131, 257}, {131, 257}},  // more than L1 holds
                                                        {{131, 257}, {257}}};
    for (const OpRow* row : elementwise_rows(Operands::broadcast))
        for (const auto& pair : pairs) cases.push_back(elementwise_case(row, {pair.first, pair.second}));
    for (const auto& pair : pairs)
        cases.push_back({Op::where, shapes_text({pair.first, pair.second}), [=](CaseBuilder& b) {
                             const ValueId mask = b.integers(pair.second, -1, 1);
                             const ValueId x = b.real(pair.first), y = b.real({});
                             b.apply(Op::where, {mask, x, y});
                         }});
    for (const Op op : {Op::maximum_grad, Op::minimum_grad, Op::prelu_grad})
        for (const int operand : {0, 1})
            for (const auto& pair : pairs)
                cases.push_back({op, shapes_text({pair.first, pair.second}), [=](CaseBuilder& b) {
                                     const ValueId x = b.real(pair.first), y = b.real(pair.second);
                                     const ValueId dy = b.real(b.graph().shape(b.hidden(Op::add, {x, y})));
                                     b.apply(op, {x, y, dy}, {number(Attr::operand, operand)});
                                 }});
}

void add_dropout(Cases& cases) {
    for (const Shape& shape : {Shape{}, Shape{5}, Shape{3, 300}, Shape{2, 3, 7}, Shape{40, 1}, Shape{0, 4}})
        for (const double p : {0.0, 0.1, 0.5})
            cases.push_back({Op::dropout, shapes_text({shape}), [=](CaseBuilder& b) {
                                 const ValueId x = b.real(shape), random = b.random_state();
                                 b.apply(Op::dropout, {x, random},
                                         {number(Attr::probability, p), number(Attr::stream, 5)});
                             }});
}

const std::vector<Shape>& row_shapes() {
    static const std::vector<Shape> shapes = {{1},     {5},      {1, 1},    {3, 7},    {0, 5},   {2, 3, 33},
                                              {9, 64}, {2, 130}, {2, 4097}, {1, 9000}, {600, 3}, {33, 65}};
    return shapes;
}
Shape rows_of(const Shape& x) {
    Shape rows = x;
    rows[--rows.rank] = 0;
    return rows;
}

// Losses with a factor for all rows and one per row, with and without what they may have.
void add_losses(Cases& cases) {
    for (const Shape& x : row_shapes()) {
        const Shape rows = rows_of(x), columns = {x.last()};
        const int last = static_cast<int>(x.last()) - 1;
        for (const double smoothing : {0.0, 0.1})
            for (const bool weighted : {false, true}) {
                const std::string name =
                    shapes_text({x}) + (smoothing > 0 ? " smoothed" : "") + (weighted ? " weighted" : "");
                const Attribute smooth = number(Attr::label_smoothing, smoothing);
                const auto with = [=](CaseBuilder& b, std::vector<ValueId> inputs) {
                    if (weighted) inputs.push_back(b.real(columns));
                    return inputs;
                };
                cases.push_back({Op::cross_entropy, name, [=](CaseBuilder& b) {
                                     const ValueId in = b.real(x), targets = b.integers(rows, -1, last);
                                     b.apply(Op::cross_entropy, with(b, {in, targets}), {smooth});
                                 }});
                for (const Shape& factor : {Shape{}, rows}) {
                    cases.push_back({Op::cross_entropy_grad, name, [=](CaseBuilder& b) {
                                         const ValueId in = b.real(x), targets = b.integers(rows, -1, last);
                                         const ValueId loss = b.hidden(Op::cross_entropy, {in, targets});
                                         const ValueId g = b.real(factor);
                                         b.apply(Op::cross_entropy_grad,
                                                 with(b, {in, targets, loss + 1, loss + 2, g}), {smooth});
                                     }});
                    cases.push_back(
                        {Op::cross_entropy_with_grad, name, [=](CaseBuilder& b) {
                             const ValueId in = b.real(x), targets = b.integers(rows, -1, last);
                             const ValueId g = b.real(factor);
                             b.apply(Op::cross_entropy_with_grad, with(b, {in, targets, g}), {smooth});
                         }});
                }
            }
        const struct {
            Op loss, gradient;
            std::vector<Attribute> attributes;
            bool weighted;
        } of_elements[] = {
            {Op::mse, Op::mse_grad, {}, false},
            {Op::l1, Op::l1_grad, {}, false},
            {Op::huber, Op::huber_grad, {}, false},
            {Op::huber, Op::huber_grad, {number(Attr::delta, 0.25)}, false},
            {Op::binary_cross_entropy, Op::binary_cross_entropy_grad, {}, false},
            {Op::binary_cross_entropy, Op::binary_cross_entropy_grad, {}, true},
        };
        for (const auto& row : of_elements) {
            const std::string name = shapes_text({x}) + (row.weighted ? " weighted" : "");
            const auto with = [=](CaseBuilder& b, std::vector<ValueId> inputs) {
                if (row.weighted) inputs.push_back(b.real(columns));
                return inputs;
            };
            cases.push_back({row.loss, name, [=](CaseBuilder& b) {
                                 const ValueId in = b.real(x), target = b.real(x);
                                 b.apply(row.loss, with(b, {in, target}), row.attributes);
                             }});
            for (const Shape& factor : {Shape{}, rows})
                cases.push_back({row.gradient, name, [=](CaseBuilder& b) {
                                     const ValueId in = b.real(x), target = b.real(x), g = b.real(factor);
                                     b.apply(row.gradient, with(b, {in, target, g}), row.attributes);
                                 }});
        }
    }
    for (const bool general : {false, true}) {
        const std::string name = general ? "[2, 50257] smoothed weighted" : "[2, 50257]";
        const auto inputs = [=](CaseBuilder& b, std::vector<ValueId> all) {
            if (general) all.push_back(b.real({50257}));
            return all;
        };
        const Attribute smooth = number(Attr::label_smoothing, general ? 0.1 : 0);
        cases.push_back({Op::cross_entropy, name, [=](CaseBuilder& b) {
                             const ValueId in = b.real({2, 50257}), targets = b.integers({2}, -1, 50256);
                             b.apply(Op::cross_entropy, inputs(b, {in, targets}), {smooth});
                         }});
        cases.push_back({Op::cross_entropy_with_grad, name, [=](CaseBuilder& b) {
                             const ValueId in = b.real({2, 50257}), targets = b.integers({2}, -1, 50256);
                             const ValueId g = b.real({2});
                             b.apply(Op::cross_entropy_with_grad, inputs(b, {in, targets, g}), {smooth});
                         }});
    }
}

void add_rows(Cases& cases) {
    for (const Shape& x : row_shapes()) {
        const std::string name = shapes_text({x});
        const Shape rows = rows_of(x), columns = {x.last()};
        for (const Op op : {Op::softmax, Op::log_softmax, Op::argmax})
            cases.push_back({op, name, [=](CaseBuilder& b) { b.apply(op, {b.real(x)}); }});
        for (const Op op : {Op::softmax_grad, Op::log_softmax_grad})
            cases.push_back({op, name, [=](CaseBuilder& b) {
                                 const ValueId first = b.real(x), second = b.real(x);
                                 b.apply(op, {first, second});
                             }});
        cases.push_back({Op::layer_norm, name, [=](CaseBuilder& b) {
                             const ValueId in = b.real(x), scale = b.real(columns), bias = b.real(columns);
                             b.apply(Op::layer_norm, {in, scale, bias}, {number(Attr::epsilon, 1e-5)});
                         }});
        cases.push_back({Op::layer_norm_grad, name, [=](CaseBuilder& b) {
                             const ValueId dy = b.real(x), in = b.real(x), scale = b.real(columns);
                             const ValueId mean = b.real(rows), rs = b.real(rows);
                             b.apply(Op::layer_norm_grad, {dy, in, scale, mean, rs});
                         }});
        for (const Op op : {Op::layer_norm_grad_scale, Op::layer_norm_grad_columns})
            cases.push_back({op, name, [=](CaseBuilder& b) {
                                 const ValueId dy = b.real(x), in = b.real(x), mean = b.real(rows),
                                               rs = b.real(rows);
                                 b.apply(op, {dy, in, mean, rs});
                             }});
        cases.push_back({Op::rms_norm, name, [=](CaseBuilder& b) {
                             const ValueId in = b.real(x), scale = b.real(columns);
                             b.apply(Op::rms_norm, {in, scale}, {number(Attr::epsilon, 1e-6)});
                         }});
        cases.push_back({Op::rms_norm_grad, name, [=](CaseBuilder& b) {
                             const ValueId dy = b.real(x), in = b.real(x), scale = b.real(columns),
                                           r = b.real(rows);
                             b.apply(Op::rms_norm_grad, {dy, in, scale, r});
                         }});
        cases.push_back({Op::rms_norm_grad_scale, name, [=](CaseBuilder& b) {
                             const ValueId dy = b.real(x), in = b.real(x), r = b.real(rows);
                             b.apply(Op::rms_norm_grad_scale, {dy, in, r});
                         }});
    }
}

// x and dy in memory that the result may take.
struct NormInputs {
    ValueId dy, x, scale, bias, mean, variance;
    NormInputs(CaseBuilder& b, const Shape& shape, bool in_place) {
        const Shape channels = {shape[1]};
        dy = b.real(shape), x = b.real(shape);
        if (in_place) dy = b.hidden(Op::neg, {dy}), x = b.hidden(Op::neg, {x});
        scale = b.real(channels), bias = b.real(channels), mean = b.real(channels);
        variance = b.state(channels);
    }
};

void add_batch_norms(Cases& cases) {
    const std::vector<Shape> shapes = {{2, 3, 5, 7},  {4, 8, 1, 1}, {5, 7},    {1, 4, 3, 3}, {1, 1},
                                       {3, 2, 4100},  {600, 3, 2},  {600, 40}, {3, 300, 4},  {2, 3, 2, 2, 2},
                                       {2, 40, 9, 9}, {2, 0, 3},    {0, 3, 4}, {2, 3, 0},    {0, 5}};
    for (const Shape& shape : shapes) {
        const std::string name = shapes_text({shape});
        if (shape.elements() > shape[1])
            cases.push_back({Op::batch_statistics, name,
                             [=](CaseBuilder& b) { b.apply(Op::batch_statistics, {b.real(shape)}); }});
        for (const bool in_place : {false, true}) {
            for (const Op op : {Op::batch_norm, Op::batch_norm_train})
                cases.push_back({op, name + (in_place ? " in place" : ""), [=](CaseBuilder& b) {
                                     const NormInputs in(b, shape, in_place);
                                     b.apply(op, {in.x, in.scale, in.bias, in.mean, in.variance},
                                             {number(Attr::epsilon, 1e-3)});
                                 }});
            for (const int frozen : {0, 1})
                cases.push_back(
                    {Op::batch_norm_grad, name + (frozen ? " frozen" : "") + (in_place ? " in place" : ""),
                     [=](CaseBuilder& b) {
                         const NormInputs in(b, shape, in_place);
                         b.apply(Op::batch_norm_grad, {in.dy, in.x, in.scale, in.mean, in.variance},
                                 {number(Attr::epsilon, 1e-3), number(Attr::frozen, frozen)});
                     }});
        }
    }
    for (const Shape& channels : {Shape{1}, Shape{37}, Shape{0}})
        cases.push_back({Op::running_statistics, shapes_text({channels}), [=](CaseBuilder& b) {
                             const ValueId mean = b.parameter(channels), variance = b.parameter(channels);
                             const ValueId new_mean = b.real(channels), new_variance = b.real(channels);
                             b.apply(Op::running_statistics, {mean, variance, new_mean, new_variance},
                                     {number(Attr::momentum, 0.1), number(Attr::elements, 3)});
                         }});
}

void add_group_norms(Cases& cases) {
    const std::vector<std::pair<Shape, std::vector<int>>> shapes = {{{2, 6, 3, 5}, {1, 2, 3, 6}},
                                                                    {{3, 8}, {1, 2, 4, 8}},
                                                                    {{2, 4, 1100}, {1, 2, 4}},
                                                                    {{2, 2, 4100}, {1, 2}},
                                                                    {{1, 3, 7}, {1, 3}},
                                                                    {{600, 4, 2}, {2}},
                                                                    {{1, 1}, {1}},
                                                                    {{0, 4, 3}, {1, 2, 4}},
                                                                    {{70, 66, 1, 1}, {1, 6}},
                                                                    {{2, 4, 2, 2, 3}, {2}}};
    for (const auto& row : shapes)
        for (const int groups : row.second)
            for (const bool in_place : {false, true}) {
                const Shape shape = row.first;
                const bool is_instance = groups == shape[1];
                const std::string name =
                    shapes_text({shape}) + " in " + std::to_string(groups) + (in_place ? ", in place" : "");
                const Attribute count = number(Attr::groups, groups), epsilon = number(Attr::epsilon, 1e-3);
                cases.push_back({Op::group_norm, name, [=](CaseBuilder& b) {
                                     const NormInputs in(b, shape, in_place);
                                     b.apply(Op::group_norm, {in.x, in.scale, in.bias}, {epsilon, count});
                                 }});
                cases.push_back(
                    {Op::group_norm_grad, name, [=](CaseBuilder& b) {
                         const NormInputs in(b, shape, in_place);
                         const ValueId mean = b.real({shape[0], groups}), rs = b.real({shape[0], groups});
                         b.apply(Op::group_norm_grad, {in.dy, in.x, in.scale, mean, rs}, {count});
                     }});
                if (is_instance)
                    cases.push_back({Op::instance_norm, name, [=](CaseBuilder& b) {
                                         const NormInputs in(b, shape, in_place);
                                         b.apply(Op::instance_norm, {in.x, in.scale, in.bias}, {epsilon});
                                     }});
            }
}

std::string list_text(const std::vector<std::int64_t>& list) {
    std::string text = " over";
    for (const std::int64_t item : list) text += " " + std::to_string(item);
    return text;
}
Attribute axes_of(const std::vector<std::int64_t>& axes) {
    Attribute attribute = list(Attr::axes, {});
    attribute.integer_count = static_cast<std::int32_t>(axes.size());
    for (std::size_t i = 0; i < axes.size(); ++i) attribute.integers[i] = axes[i];
    return attribute;
}

// Rows of so many columns that they fill so much of the last-level cache.
Shape rows_from_memory(double caches, std::int64_t columns) {
    return {static_cast<std::int64_t>(caches * static_cast<double>(kMostLlcBytes) / 4) / columns, columns};
}
// More than half of it: the CPU sums their columns as a product.
Shape columns_from_memory(std::int64_t columns) { return rows_from_memory(0.55, columns); }

// Every subset of the axes of every shape: rows, columns, columns of an inner axis, and orders that need a
// copy.

void add_reductions(Cases& cases) {
    const std::vector<Shape> shapes = {
        {},      {1},    {7},    {4, 5},       {1, 3, 1},           {600, 3}, {3, 600},    {5000}, {2, 4100},
        {70, 1}, {0, 3}, {3, 0}, {2, 3, 4, 5}, {2, 1, 3, 1, 4, 35}, {20000},  {3, 513, 40}};
    for (const Shape& x : shapes)
        for (int subset = 0; subset < 1 << x.rank; ++subset) {
            std::vector<std::int64_t> axes;
            std::int64_t reduced = 1;
            for (int axis = 0; axis < x.rank; ++axis)
                if (subset >> axis & 1) axes.push_back(axis % 2 ? axis : axis - x.rank);
            for (int axis = 0; axis < x.rank; ++axis)
                if (axes.empty() || subset >> axis & 1) reduced *= x[axis];
            const std::string name = shapes_text({x}) + list_text(axes);
            const Attribute over = axes_of(axes), keep = number(Attr::keep_dims, subset % 2);
            for (const Op op : {Op::sum, Op::mean})
                cases.push_back({op, name, [=](CaseBuilder& b) { b.apply(op, {b.real(x)}, {over, keep}); }});
            if (reduced == 0) continue;
            for (const Op op : {Op::max, Op::min}) {
                cases.push_back({op, name, [=](CaseBuilder& b) { b.apply(op, {b.real(x)}, {over, keep}); }});
                cases.push_back({Op::max_grad, name, [=](CaseBuilder& b) {
                                     const ValueId in = b.real(x), y = b.hidden(op, {in}, {over, keep});
                                     const ValueId dy = b.real(b.graph().shape(y));
                                     b.apply(Op::max_grad, {in, y, dy}, {over, keep});
                                 }});
            }
        }
    for (const Shape& x : shapes)
        cases.push_back({Op::square_sum, shapes_text({x}),
                         [=](CaseBuilder& b) { b.apply(Op::square_sum, {b.real(x)}); }});
    cases.push_back({Op::sum, "wide columns from memory", [](CaseBuilder& b) {
                         b.apply(Op::sum, {b.real(columns_from_memory(4483))}, {axes_of({0})});
                     }});
    cases.push_back(
        {Op::square_sum, "[40001]", [=](CaseBuilder& b) { b.apply(Op::square_sum, {b.real({40001})}); }});
}

void add_movement(Cases& cases) {
    const std::vector<std::pair<Shape, std::vector<std::int64_t>>> transposes = {
        {{}, {}},
        {{5}, {0}},
        {{3, 5}, {1, 0}},
        {{40, 50}, {1, 0}},
        {{2, 3, 33}, {0, 2, 1}},
        {{2, 3, 33}, {2, 1, 0}},
        {{2, 3, 33}, {1, 0, 2}},
        {{4, 1, 5, 3}, {2, 1, 3, 0}},
        {{0, 3}, {1, 0}},
        {{2, 17, 3, 19}, {2, 3, 0, 1}},
        {{9000}, {0}}};
    for (const auto& row : transposes)
        cases.push_back(
            {Op::transpose, shapes_text({row.first}) + list_text(row.second), [=](CaseBuilder& b) {
                 Attribute order = axes_of(row.second);
                 order.key = Attr::permutation;
                 b.apply(Op::transpose, {b.real(row.first)}, {order});
             }});
    cases.push_back(
        {Op::transpose, "i32", [](CaseBuilder& b) {
             b.apply(Op::transpose, {b.integers({7, 9}, -5, 5)}, {list(Attr::permutation, {1, 0})});
         }});
    for (const int axis : {0, 1, -1})
        cases.push_back({Op::concat, "axis " + std::to_string(axis), [=](CaseBuilder& b) {
                             Shape first{2, 3, 4}, second = first, third = first;
                             second[axis < 0 ? 2 : axis] = 7;
                             third[axis < 0 ? 2 : axis] = 0;
                             const ValueId p = b.real(first), q = b.real(second), r = b.real(third);
                             b.apply(Op::concat, {p, q, r, p}, {number(Attr::axis, axis)});
                         }});
    for (const int axis : {0, 1, 2})
        for (const auto& range : {std::pair<int, int>{0, 2}, {1, -1}, {2, 2}}) {
            const std::string name = "axis " + std::to_string(axis) + " from " + std::to_string(range.first);
            cases.push_back({Op::slice, name, [=](CaseBuilder& b) {
                                 b.apply(Op::slice, {b.real({3, 4, 35})},
                                         {number(Attr::axis, axis), number(Attr::begin, range.first),
                                          number(Attr::end, range.second)});
                             }});
            cases.push_back({Op::slice_grad, name, [=](CaseBuilder& b) {
                                 b.apply(Op::slice_grad, {b.real({3, 4, 35})},
                                         {number(Attr::axis, axis), number(Attr::begin, range.first),
                                          number(Attr::rows, 40)});
                             }});
        }
    const std::vector<std::pair<Shape, Shape>> broadcasts = {{{}, {3, 40}},     {{40}, {3, 40}},
                                                             {{3, 1}, {3, 40}}, {{2, 1, 5}, {2, 4, 5}},
                                                             {{1, 1}, {0, 3}},  {{7}, {7}}};
    for (const auto& row : broadcasts)
        cases.push_back({Op::broadcast_to, shapes_text({row.first, row.second}), [=](CaseBuilder& b) {
                             b.apply(Op::broadcast_to, {b.real(row.first)}, {list(Attr::shape, row.second)});
                         }});
    cases.push_back({Op::reshape, "between two steps", [](CaseBuilder& b) {
                         const ValueId y = b.hidden(Op::neg, {b.real({3, 4})});
                         const ValueId z = b.hidden(Op::reshape, {y}, {list(Attr::shape, {2, -1})});
                         b.apply(Op::transpose, {z}, {list(Attr::permutation, {1, 0})});
                         b.apply(Op::reshape, {z}, {list(Attr::shape, {12})});
                     }});
    for (const Shape& ids : {Shape{5}, Shape{2, 3, 7}, Shape{0, 4}})
        cases.push_back({Op::position_ids, shapes_text({ids}), [=](CaseBuilder& b) {
                             b.apply(Op::position_ids, {b.integers(ids, 0, 3)}, {number(Attr::limit, 9)});
                         }});
}

void add_embeddings(Cases& cases) {
    const std::vector<std::pair<Shape, Shape>> tables = {
        {{5, 3}, {7}}, {{65, 40}, {3, 50}}, {{1, 1}, {1}},     {{9, 33}, {}},
        {{4, 3}, {0}}, {{3, 0}, {4}},       {{700, 300}, {90}}};
    for (const auto& row : tables) {
        const Shape table = row.first, ids = row.second;
        const std::string name = shapes_text({table, ids});
        const int last = static_cast<int>(table[0]) - 1;
        Shape dy = ids;
        dy[dy.rank++] = table[1];
        cases.push_back({Op::gather, name, [=](CaseBuilder& b) {
                             const ValueId rows = b.real(table);
                             b.apply(Op::gather, {rows, b.integers(ids, 0, last)});
                         }});
        for (const bool with_base : {false, true})
            cases.push_back(
                {Op::embedding_gradient, name + (with_base ? " with base" : ""), [=](CaseBuilder& b) {
                     const ValueId at = b.integers(ids, 0, last), in = b.real(dy);
                     const Attribute rows = number(Attr::rows, static_cast<double>(table[0]));
                     if (with_base)
                         b.apply(Op::embedding_gradient, {at, in, b.real(table)}, {rows});
                     else
                         b.apply(Op::embedding_gradient, {at, in}, {rows});
                 }});
    }
}

void add_pairs(Cases& cases) {
    for (const Shape& shape : {Shape{2}, Shape{7, 2}, Shape{3, 5, 34}, Shape{2, 600}, Shape{0, 8},
                               Shape{300, 128}, Shape{1, 9000}}) {
        Shape half = shape;
        half[half.rank - 1] /= 2;
        cases.push_back({Op::swiglu, shapes_text({shape}),
                         [=](CaseBuilder& b) { b.apply(Op::swiglu, {b.real(shape)}); }});
        cases.push_back({Op::swiglu_grad, shapes_text({shape}), [=](CaseBuilder& b) {
                             const ValueId x = b.real(shape);
                             b.apply(Op::swiglu_grad, {x, b.real(half)});
                         }});
        cases.push_back({Op::swiglu_grad, shapes_text({shape}) + " in place", [=](CaseBuilder& b) {
                             const ValueId x = b.hidden(Op::neg, {b.real(shape)});
                             b.apply(Op::swiglu_grad, {x, b.real(half)});
                         }});
    }
    for (const auto& [limit, width] : {std::pair{1, 2}, {9, 6}, {300, 64}})
        cases.push_back(
            {Op::rotary_table, shapes_text({{limit, width}}), [limit = limit, width = width](CaseBuilder& b) {
                 b.apply(
                     Op::rotary_table, {},
                     {number(Attr::limit, limit), number(Attr::width, width), number(Attr::base, 500000)});
             }});
    for (const auto& [limit, width] : {std::pair{1, 2}, {300, 64}})
        cases.push_back(
            {Op::rotary_table, shapes_text({{limit, width}}) + " of frequencies, scaled",
             [limit = limit, width = width](CaseBuilder& b) {
                 std::vector<float> frequencies(static_cast<std::size_t>(width / 2));
                 for (int i = 0; i < width / 2; ++i)
                     frequencies[static_cast<std::size_t>(i)] = 1.5f / static_cast<float>(i * i + 1);
                 const ValueId given = b.graph().constant(DType::f32, {width / 2}, frequencies.data());
                 b.apply(
                     Op::rotary_table, {given},
                     {number(Attr::limit, limit), number(Attr::width, width), number(Attr::scale, 1.190238)});
             }});
    struct Row {
        Shape x;
        int heads, width, stride = 0;
    };
    const std::vector<Row> rows = {
        {{2}, 1, 2},           {{3, 7}, 1, 6},        {{2, 5, 24}, 6, 4},        {{2, 9, 80}, 2, 34},
        {{1, 40, 192}, 2, 64}, {{0, 8}, 2, 4},        {{70, 128}, 1, 128},       {{2, 3, 2, 10}, 2, 4},
        {{3, 7}, 1, 4, 7},     {{2, 5, 33}, 6, 4, 5}, {{1, 40, 192}, 2, 20, 80}, {{70, 130}, 2, 64, 64}};
    for (const Row& row : rows)
        for (const int form : {0, 1, 2, 3, 4, 5}) {
            const bool interleaved = form & 1, inverse = form & 2, in_place = form & 4;
            const std::string name = shapes_text({row.x}) + (row.stride > row.width ? " in part" : "") +
                                     (interleaved ? " interleaved" : "") + (inverse ? " backwards" : "") +
                                     (in_place ? " in place" : "");
            cases.push_back({Op::rotary, name, [=](CaseBuilder& b) {
                                 Shape ids = row.x;
                                 ids[--ids.rank] = 0;
                                 const ValueId given = b.real(row.x);
                                 const ValueId x = in_place ? b.hidden(Op::neg, {given}) : given;
                                 const ValueId at = b.integers(ids, 0, 18);
                                 const ValueId table = b.real({19, row.width});
                                 b.apply(
                                     Op::rotary, {x, at, table},
                                     {number(Attr::heads, row.heads), number(Attr::interleaved, interleaved),
                                      number(Attr::inverse, inverse), number(Attr::width, row.stride)});
                             }});
        }
}

void add_products(Cases& cases) {
    struct Row {
        Shape a, b;
        bool ta, tb;
    };
    const std::vector<Row> rows = {{{3, 5}, {5, 4}, false, false},
                                   {{1, 1}, {1, 1}, false, false},
                                   {{7, 600}, {600, 33}, false, false},
                                   {{2, 3, 8}, {8, 17}, false, false},
                                   {{2, 3, 8}, {17, 8}, false, true},
                                   {{2, 3, 8}, {2, 8, 5}, false, false},
                                   {{2, 3, 8}, {2, 5, 8}, false, true},
                                   {{9, 4}, {9, 6}, true, false},
                                   {{3, 200, 4}, {3, 200, 6}, true, false},
                                   {{8, 4}, {6, 8}, true, true},
                                   {{0, 5}, {5, 4}, false, false},
                                   {{3, 0}, {0, 4}, false, false},
                                   {{1, 40}, {40, 70}, false, false},
                                   {{50, 1}, {1, 1}, false, false},
                                   {{2, 2, 3, 8}, {2, 2, 8, 5}, false, false}};
    for (const Row& row : rows)
        cases.push_back({Op::matmul, shapes_text({row.a, row.b}), [=](CaseBuilder& b) {
                             const ValueId p = b.real(row.a), q = b.real(row.b);
                             b.apply(Op::matmul, {p, q},
                                     {number(Attr::transpose_a, row.ta), number(Attr::transpose_b, row.tb)});
                         }});
    const std::vector<std::pair<Shape, Shape>> layers = {
        {{9, 4}, {9, 6}},    {{3, 200, 4}, {3, 200, 6}}, {{64, 70}, {64, 130}}, {{1100, 33}, {1100, 17}},
        {{20, 1}, {20, 3}},  {{20, 3}, {20, 1}},         {{0, 4}, {0, 6}},      {{8, 0}, {8, 6}},
        {{5, 9000}, {5, 3}}, {{3, 2}, {3, 9000}}};
    for (const auto& [x, dy] : layers)
        cases.push_back({Op::weight_gradient, shapes_text({x, dy}), [x = x, dy = dy](CaseBuilder& b) {
                             const ValueId p = b.real(x), q = b.real(dy);
                             b.apply(Op::weight_gradient, {p, q});
                         }});
    for (const auto& [x, dy] : layers) {
        const Shape sum{x.last(), dy.last()};
        cases.push_back(
            {Op::weight_gradient_into, shapes_text({x, dy, sum}), [=, x = x, dy = dy](CaseBuilder& b) {
                 const ValueId p = b.real(x), q = b.real(dy), r = b.real(sum);
                 b.apply(Op::weight_gradient_into, {p, q, r});
             }});
        // The sum is nobody else's, so that the result lies where it lay.
        cases.push_back(
            {Op::weight_gradient_into, "in place " + shapes_text({x, dy}), [x = x, dy = dy](CaseBuilder& b) {
                 const ValueId p = b.real(x), q = b.real(dy);
                 const ValueId r = b.hidden(Op::matmul, {p, q}, {number(Attr::transpose_a, 1)});
                 b.apply(Op::weight_gradient_into, {p, q, r});
             }});
    }
}

BodyOp body_op(Op op, std::initializer_list<std::int32_t> inputs,
               std::initializer_list<Attribute> attributes = {}) {
    BodyOp body{Allocator(std::pmr::get_default_resource())};
    body.op = op;
    body.inputs.assign(inputs);
    body.attributes.assign(attributes);
    return body;
}

BodyOp body_op(const OpRow& row, std::initializer_list<std::int32_t> inputs) {
    BodyOp body = body_op(row.op, inputs);
    const std::vector<Attribute> attributes = example_attributes(row);
    body.attributes.assign(attributes.begin(), attributes.end());
    return body;
}

Node product_node(std::initializer_list<ValueId> inputs) {
    Node node{Allocator(std::pmr::get_default_resource())};
    node.op = Op::matmul;
    node.inputs.assign(inputs);
    return node;
}

// Stored weights, in products with and without an epilogue, and in look-ups.
void add_stored(Cases& cases) {
    for (const DType dtype : {DType::bf16, DType::f16, DType::int8, DType::int4, DType::f32_panels}) {
        for (const Shape& a : {Shape{1, 40}, Shape{2, 3, 600}, Shape{0, 40}, Shape{30, 33}})
            cases.push_back(
                {Op::matmul, std::string(dtype_name(dtype)) + " " + shapes_text({a}), [=](CaseBuilder& b) {
                     const ValueId x = b.real(a), w = b.stored(dtype, {37, a.last()}), bias = b.real({37});
                     b.apply(Op::matmul, {x, w}, {number(Attr::transpose_b, 1)});
                     Node node = product_node({x, w, bias});
                     node.attributes.push_back(number(Attr::transpose_b, 1));
                     node.body.ops.push_back(body_op(Op::add, {~0, ~1}));
                     node.body.ops.push_back(body_op(Op::gelu_tanh, {0}));
                     node.body.results.assign({1});
                     b.apply(std::move(node));
                 }});
        cases.push_back({Op::gather, dtype_name(dtype), [=](CaseBuilder& b) {
                             const ValueId table = b.stored(dtype, {21, 70}), ids = b.integers({2, 5}, 0, 20);
                             b.apply(Op::gather, {table, ids});
                         }});
    }
}

// Stored weights as B itself: how gradients go back through them.
void add_turned(Cases& cases) {
    for (const DType dtype : {DType::bf16, DType::f16, DType::int8, DType::int4, DType::f32_panels})
        for (const Shape& a : {Shape{1, 37}, Shape{2, 3, 1100}, Shape{0, 40}, Shape{70, 33}})
            cases.push_back({Op::matmul, std::string(dtype_name(dtype)) + " turned " + shapes_text({a}),
                             [=](CaseBuilder& b) {
                                 const ValueId dy = b.real(a), w = b.stored(dtype, {a.last(), 83});
                                 b.apply(Op::matmul, {dy, w});
                                 Node node = product_node({dy, w, b.real({83})});
                                 node.body.ops.push_back(body_op(Op::add, {~0, ~1}));
                                 node.body.results.assign({0});
                                 b.apply(std::move(node));
                             }});
}

// Body input ~0 is the product, ~i is input i + 1.
void add_epilogues(Cases& cases) {
    for (const Shape& a : {Shape{3, 5}, Shape{2, 20, 600}, Shape{1, 1}, Shape{0, 5}}) {
        const Shape b_shape{a.last(), 37};
        Shape y = a;
        y[y.rank - 1] = 37;
        const std::string name = shapes_text({a});
        cases.push_back({Op::matmul, "bias, gelu and residual " + name, [=](CaseBuilder& b) {
                             const ValueId p = b.real(a), q = b.real(b_shape), bias = b.real({37}),
                                           residual = b.real(y);
                             Node node = product_node({p, q, bias, residual});
                             node.body.ops.push_back(body_op(Op::add, {~0, ~1}));
                             node.body.ops.push_back(body_op(Op::gelu_tanh, {0}));
                             node.body.ops.push_back(body_op(Op::add, {1, ~2}));
                             node.body.results.assign({2});
                             b.apply(std::move(node));
                         }});
        cases.push_back({Op::matmul, "the product, and z beside it " + name, [=](CaseBuilder& b) {
                             const ValueId p = b.real(a), q = b.real(b_shape), bias = b.real({37});
                             Node node = product_node({p, q, bias});
                             node.body.ops.push_back(body_op(Op::add, {~0, ~1}));
                             node.body.ops.push_back(body_op(Op::relu, {0}));
                             node.body.results.assign({0, ~0, 1});
                             b.apply(std::move(node));
                         }});
        cases.push_back({Op::matmul, "dropout in the epilogue " + name, [=](CaseBuilder& b) {
                             const ValueId p = b.real(a), q = b.real(b_shape), random = b.random_state();
                             Node node = product_node({p, q, random});
                             node.body.ops.push_back(
                                 body_op(Op::dropout, {~0, ~1},
                                         {number(Attr::probability, 0.3), number(Attr::stream, 9)}));
                             node.body.results.assign({0});
                             b.apply(std::move(node));
                         }});
    }
    cases.push_back({Op::matmul, "an operand along an inner axis", [](CaseBuilder& b) {
                         const ValueId p = b.real({3, 4, 8}), q = b.real({8, 5}), table = b.real({4, 5});
                         Node node = product_node({p, q, table});
                         node.body.ops.push_back(body_op(Op::add, {~0, ~1}));
                         node.body.results.assign({0});
                         b.apply(std::move(node));
                     }});
    cases.push_back({Op::matmul, "one column, an operand per row, batched", [](CaseBuilder& b) {
                         const ValueId p = b.real({3, 4, 8}), q = b.real({3, 8, 1}), rows = b.real({3, 4, 1}),
                                       one = b.real({});
                         Node node = product_node({p, q, rows, one});
                         node.body.ops.push_back(body_op(Op::mul, {~0, ~1}));
                         node.body.ops.push_back(body_op(Op::less, {0, ~2}));
                         node.body.results.assign({0, 1});
                         b.apply(std::move(node));
                     }});
}

// Random elementwise bodies: results of earlier operations, broadcast inputs, masks and dropout.
void add_random_body(Cases& cases, std::uint64_t seed) {
    cases.push_back(
        {Op::fused, "seed " + std::to_string(seed), [=](CaseBuilder& b) {
             const Shape spaces[] = {{3, 40}, {2, 3, 5}, {70}, {}, {2, 1, 33}, {0, 4}};
             const Shape space = spaces[b.below(6)];
             Node node{Allocator(std::pmr::get_default_resource())};
             node.op = Op::fused;
             node.inputs.push_back(b.real(space));  // ~0 has the whole shape
             for (int i = 0; i < 3; ++i) {
                 Shape part = space;
                 for (int axis = 0; axis < part.rank; ++axis)
                     if (b.below(2) == 0) part[axis] = 1;
                 node.inputs.push_back(b.real(part));
             }
             node.inputs.push_back(b.random_state());
             const auto unary = elementwise_rows(Operands::one);
             const auto same = elementwise_rows(Operands::same_shape);
             std::vector<const OpRow*> binary;  // whose results are real
             for (const OpRow* row : elementwise_rows(Operands::broadcast))
                 if (row->shape == shape_rules::broadcasting) binary.push_back(row);
             const auto one_of = [&](const std::vector<const OpRow*>& rows) {
                 return rows[static_cast<std::size_t>(b.below(static_cast<std::int64_t>(rows.size())))];
             };
             std::vector<std::int32_t> wide = {~0};  // values of the whole shape
             for (int i = 0; i < 8; ++i) {
                 const auto pick = [&] {
                     return wide[static_cast<std::size_t>(b.below(static_cast<std::int64_t>(wide.size())))];
                 };
                 const auto next = [&] { return static_cast<std::int32_t>(node.body.ops.size()); };
                 const std::int32_t x = pick();
                 switch (b.below(5)) {
                     case 0:
                         node.body.ops.push_back(body_op(*one_of(unary), {x}));
                         break;
                     case 1: {
                         const std::int32_t other = ~static_cast<std::int32_t>(b.below(4));
                         node.body.ops.push_back(body_op(*one_of(binary), {x, other}));
                         break;
                     }
                     case 2: {
                         const std::int32_t other = pick();
                         node.body.ops.push_back(body_op(*one_of(same), {x, other}));
                         break;
                     }
                     case 3: {
                         node.body.ops.push_back(
                             body_op(Op::less, {x, ~static_cast<std::int32_t>(b.below(4))}));
                         node.body.ops.push_back(body_op(Op::where, {next() - 1, pick(), x}));
                         break;
                     }
                     default:
                         node.body.ops.push_back(body_op(Op::dropout, {x, ~4},
                                                         {number(Attr::probability, 0.25),
                                                          number(Attr::stream, static_cast<double>(i))}));
                 }
                 wide.push_back(next() - 1);
             }
             node.body.results.push_back(wide.back());
             node.body.results.push_back(wide[wide.size() / 2] < 0 ? wide.back() : wide[wide.size() / 2]);
             b.apply(std::move(node));
         }});
}

// A node of fused_rows while it is made: operations name its inputs ~0, ~1, ... and earlier values.
struct RowsNode {
    Node node{Allocator(std::pmr::get_default_resource())};
    explicit RowsNode(std::initializer_list<ValueId> inputs) {
        node.op = Op::fused_rows;
        node.inputs.assign(inputs);
    }
    void add(Op op, std::initializer_list<std::int32_t> inputs,
             std::initializer_list<Attribute> attributes = {}) {
        node.body.ops.push_back(body_op(op, inputs, attributes));
    }
    void give(CaseBuilder& b, std::initializer_list<std::int32_t> results) {
        node.body.results.assign(results);
        b.apply(std::move(node));
    }
};

// Norms and softmax with what stands before and behind them, in both directions. `x` in memory that the first
// result may take.
void add_rows_with_bodies(Cases& cases, const Shape& x) {
    const std::string name = shapes_text({x});
    const Shape rows = rows_of(x), columns = {x.last()};
    Shape beside = x;
    beside[beside.rank - 1] = 1;
    const auto add = [&](const char* what, const std::function<void(CaseBuilder&)>& build) {
        cases.push_back({Op::fused_rows, what + (" " + name), build});
    };
    add("residual, layer norm and gelu", [=](CaseBuilder& b) {
        const ValueId first = b.hidden(Op::neg, {b.real(x)}), second = b.hidden(Op::neg, {b.real(x)});
        const ValueId scale = b.real(columns), bias = b.real(columns);
        RowsNode rows_node({first, second, scale, bias});
        rows_node.add(Op::add, {~0, ~1});
        rows_node.add(Op::layer_norm, {0, ~2, ~3}, {number(Attr::epsilon, 1e-5)});
        rows_node.add(Op::gelu_tanh, {1});
        rows_node.give(b, {4, 0, 2, 3});
    });
    add("gelu's gradient, and layer norm's", [=](CaseBuilder& b) {
        const ValueId dy = b.hidden(Op::neg, {b.real(x)}), in = b.hidden(Op::neg, {b.real(x)}),
                      scale = b.real(columns), bias = b.real(columns),
                      mean = b.hidden(Op::neg, {b.real(rows)}), rs = b.hidden(Op::neg, {b.real(rows)});
        const ValueId means = b.hidden(Op::reshape, {mean}, {list(Attr::shape, beside)});
        const ValueId factors = b.hidden(Op::reshape, {rs}, {list(Attr::shape, beside)});
        RowsNode rows_node({dy, in, scale, bias, mean, rs, means, factors});
        rows_node.add(Op::sub, {~1, ~6});
        rows_node.add(Op::mul, {0, ~7});
        rows_node.add(Op::mul, {1, ~2});
        rows_node.add(Op::add, {2, ~3});
        rows_node.add(Op::gelu_tanh_grad, {3, ~0});
        rows_node.add(Op::layer_norm_grad, {4, ~1, ~2, ~4, ~5});
        rows_node.add(Op::add, {5, ~1});
        rows_node.give(b, {6, 4});
    });
    add("a norm and its gradient", [=](CaseBuilder& b) {
        const ValueId in = b.real(x), dy = b.real(x), scale = b.real(columns);
        RowsNode rows_node({in, dy, scale});
        rows_node.add(Op::rms_norm, {~0, ~2}, {number(Attr::epsilon, 1e-6)});
        rows_node.add(Op::silu_grad, {0, ~1});
        rows_node.add(Op::rms_norm_grad, {2, ~0, ~2, 1});
        rows_node.give(b, {3, 0, 1});
    });
    add("softmax between two, and dropout", [=](CaseBuilder& b) {
        const ValueId in = b.real(x), one = b.real({}), random = b.random_state();
        RowsNode rows_node({in, one, random});
        rows_node.add(Op::mul, {~0, ~1});
        rows_node.add(Op::softmax, {0});
        rows_node.add(Op::dropout, {1, ~2}, {number(Attr::probability, 0.25), number(Attr::stream, 3)});
        rows_node.add(Op::softmax_grad, {1, 2});
        rows_node.give(b, {3, 2});
    });
}

// An input that is a number per row for one operation and one per column for another, and two softmaxes.
void add_rows_seen_twice(Cases& cases) {
    cases.push_back({Op::fused_rows, "seen twice", [](CaseBuilder& b) {
                         const ValueId dy = b.real({70, 70}), x = b.real({70, 70}), twice = b.real({70}),
                                       rs = b.real({70});
                         RowsNode node({dy, x, twice, rs});
                         node.add(Op::layer_norm_grad, {~0, ~1, ~2, ~2, ~3});
                         node.add(Op::add, {0, ~2});
                         node.give(b, {1});
                     }});
    // The mean has the shape of a bias that nobody reads any more, but not its place: all rows read the bias.
    cases.push_back({Op::fused_rows, "a mean as long as a column", [](CaseBuilder& b) {
                         const ValueId x = b.real({70, 70}), scale = b.real({70}),
                                       bias = b.hidden(Op::neg, {b.real({70})});
                         RowsNode node({x, scale, bias});
                         node.add(Op::layer_norm, {~0, ~1, ~2}, {number(Attr::epsilon, 1e-5)});
                         node.give(b, {0, 1, 2});
                     }});
    cases.push_back({Op::fused_rows, "two sums one after the other", [](CaseBuilder& b) {
                         const ValueId x = b.real({33, 1100});
                         RowsNode node({x});
                         node.add(Op::log_softmax, {~0});
                         node.add(Op::exp, {0});
                         node.add(Op::softmax, {1});
                         node.add(Op::log_softmax_grad, {0, 2});
                         node.give(b, {3, 2});
                     }});
}

struct AttentionRow {
    std::int64_t batch, time, heads, kv_heads, head_dim;
    bool packed, causal;
    double dropout;
    int window = 0;
    double cap = 0, scale = 0;
    bool documents = false;
};

void add_attention(Cases& cases, const std::vector<AttentionRow>& rows) {
    for (const AttentionRow& row : rows)
        for (const bool backward : {false, true}) {
            const Op op = backward ? Op::attention_grad : Op::attention;
            const std::string name =
                shapes_text({{row.batch, row.time, row.heads, row.kv_heads, row.head_dim}}) +
                (row.packed ? " packed" : "") + (row.causal ? " causal" : "") +
                (row.window > 0 ? " window" : "") + (row.cap > 0 ? " cap" : "") +
                (row.documents ? " documents" : "");
            cases.push_back(
                {op, name, [=](CaseBuilder& b) {
                     const std::int64_t query = row.heads * row.head_dim;
                     const std::int64_t key = (row.kv_heads ? row.kv_heads : row.heads) * row.head_dim;
                     std::vector<ValueId> in;
                     if (row.packed) {
                         in.push_back(b.real({row.batch, row.time, query + 2 * key}));
                     } else {
                         in.push_back(b.real({row.batch, row.time, query}));
                         in.push_back(b.real({row.batch, row.time, key}));
                         in.push_back(b.real({row.batch, row.time, key}));
                     }
                     const Attribute attributes[] = {
                         number(Attr::heads, static_cast<double>(row.heads)),
                         number(Attr::kv_heads, static_cast<double>(row.kv_heads)),
                         number(Attr::causal, row.causal),
                         number(Attr::probability, row.dropout),
                         number(Attr::stream, 3),
                         number(Attr::packed, row.packed),
                         number(Attr::scale, row.scale),
                         number(Attr::window, row.window),
                         number(Attr::cap, row.cap),
                         number(Attr::documents, row.documents)};
                     std::vector<ValueId> forward = in;
                     const int last = static_cast<int>(row.time) - 1;
                     const ValueId starts = row.documents ? b.integers({row.batch, row.time}, 0, last) : -1,
                                   random = row.dropout > 0 ? b.random_state() : -1;
                     if (starts >= 0) forward.push_back(starts);
                     if (random >= 0) forward.push_back(random);
                     const ValueId o =
                         b.graph().apply(Op::attention, forward.data(), static_cast<int>(forward.size()),
                                         attributes, 10, Phase::each);
                     b.filled.content.resize(b.graph().values.size());
                     if (!backward) return b.declare_outputs(o);
                     std::vector<ValueId> all = in;
                     all.insert(all.end(), {o, o + 1, o + 2, b.real({row.batch, row.time, query})});
                     if (starts >= 0) all.push_back(starts);
                     if (random >= 0) all.push_back(random);
                     const ValueId first =
                         b.graph().apply(Op::attention_grad, all.data(), static_cast<int>(all.size()),
                                         attributes, 10, Phase::each);
                     b.filled.content.resize(b.graph().values.size());
                     b.declare_outputs(first);
                 }});
        }
}

void add_attention(Cases& cases) {
    add_attention(cases, {{1, 1, 1, 0, 1, false, true, 0},
                          {2, 7, 2, 0, 8, false, true, 0},
                          {2, 7, 2, 0, 8, true, true, 0},
                          {1, 33, 4, 2, 16, false, true, 0},
                          {1, 33, 4, 1, 16, true, false, 0},
                          {2, 9, 2, 0, 5, true, true, 0.2},
                          {1, 19, 4, 2, 8, false, false, 0.5},
                          {1, 70, 1, 0, 64, true, true, 0},
                          {0, 4, 2, 0, 8, true, true, 0},
                          {2, 19, 4, 2, 8, false, true, 0.2, 5},
                          {1, 33, 2, 0, 16, true, true, 0, 16, 0.5},
                          {1, 33, 2, 1, 16, true, true, 0, 1, 1.5, -0.75},
                          {2, 9, 2, 0, 5, false, true, 0, 9, 20},
                          {2, 9, 2, 0, 5, true, true, 0, 100},
                          {1, 19, 4, 2, 8, false, false, 0.5, 0, 0.5},
                          {2, 20, 2, 0, 8, true, true, 0, 0, 0, -0.5},
                          {1, 600, 1, 0, 4, true, true, 0, 70, 2}});
}

// What CUDA has no kernel for.
void add_documents(Cases& cases) {
    add_attention(cases, {{1, 1, 1, 0, 1, false, true, 0, 0, 0, 0, true},
                          {2, 33, 4, 2, 16, false, true, 0, 0, 0, 0, true},
                          {2, 19, 2, 0, 8, true, true, 0.2, 5, 0.5, 0, true},
                          {0, 4, 2, 0, 8, true, true, 0, 0, 0, 0, true},
                          {1, 600, 1, 0, 4, true, true, 0, 0, 0, -0.75, true}});
    cases.push_back({Op::position_ids, "documents", [](CaseBuilder& b) {
                         const Shape ids = {3, 7};
                         b.apply(Op::position_ids, {b.integers(ids, 0, 3), b.integers(ids, 0, 6)},
                                 {number(Attr::limit, 9)});
                     }});
}

// Runs of tokens: a slot (-1: no token), the position of the first, how many.
void add_cached_attention(Cases& cases) {
    struct Run {
        int slot, position, count;
    };
    struct Row {
        const char* name;
        std::int64_t slots, capacity, heads, kv_heads, head_dim;
        bool packed;
        std::vector<Run> runs;
        int window = 0;
        double cap = 0, scale = 0;
    };
    const std::vector<Row> rows = {
        {"one token", 1, 16, 1, 0, 1, false, {{0, 0, 1}}},
        {"one token far on", 2, 64, 4, 0, 8, true, {{1, 50, 1}}},
        {"a prompt", 1, 48, 2, 0, 16, true, {{0, 0, 40}}},
        {"a prompt goes on", 2, 64, 4, 2, 16, false, {{1, 5, 37}}},
        {"steps of three sequences", 4, 32, 6, 2, 5, true, {{2, 7, 1}, {0, 31, 1}, {3, 0, 1}}},
        {"steps and a prompt", 3, 32, 4, 1, 20, true, {{2, 3, 1}, {-1, 0, 2}, {0, 9, 12}, {1, 0, 1}}},
        {"nothing but room", 2, 16, 2, 0, 8, true, {{-1, 0, 3}}},
        {"many heads share a key", 1, 32, 20, 1, 8, true, {{0, 17, 1}, {0, 18, 3}}},
        {"across a cut", 1, 1040, 1, 0, 24, true, {{0, 509, 7}, {0, 1023, 2}}},
        // A row sees what a later one stores.
        {"backwards", 2, 64, 4, 2, 8, true, {{0, 41, 1}, {0, 40, 1}, {1, 3, 1}}},
        {"a sequence comes again", 3, 64, 2, 0, 8, true, {{1, 20, 1}, {2, 5, 2}, {1, 18, 2}, {0, 0, 1}}},
        {"a sequence goes on with a gap", 1, 64, 2, 0, 16, true, {{0, 9, 2}, {0, 30, 1}}},
        {"a slot far on", 70, 16, 2, 0, 8, true, {{69, 5, 1}, {3, 2, 1}, {69, 4, 1}}},
        {"no rows", 2, 16, 2, 0, 8, true, {}},
        {"a prompt by a window", 1, 64, 4, 2, 16, true, {{0, 5, 37}}, 7},
        {"steps by a window and a cap",
         3,
         1040,
         4,
         1,
         20,
         true,
         {{2, 3, 1}, {-1, 0, 2}, {0, 900, 12}, {1, 0, 1}},
         600,
         0.5},
        {"a cap and a negative scale", 1, 64, 2, 0, 16, false, {{0, 9, 20}, {0, 30, 1}}, 0, 1.5, -0.75},
        {"a window of one key", 1, 64, 8, 2, 8, true, {{0, 9, 3}, {0, 30, 1}}, 1},
        {"a window beyond the cache", 1, 48, 2, 0, 8, true, {{0, 20, 6}}, 48}};
    for (const Row& row : rows)
        cases.push_back(
            {Op::cached_attention, row.name, [=](CaseBuilder& b) {
                 std::vector<std::int32_t> slots, positions;
                 for (const Run& run : row.runs)
                     for (int i = 0; i < run.count; ++i) {
                         slots.push_back(run.slot);
                         positions.push_back(run.slot < 0 ? 0 : run.position + i);
                     }
                 const auto n = static_cast<std::int64_t>(slots.size());
                 const std::int64_t kv_heads = row.kv_heads ? row.kv_heads : row.heads;
                 const std::int64_t query = row.heads * row.head_dim, key = kv_heads * row.head_dim;
                 std::vector<ValueId> in = {
                     b.state(cache_keys_shape(row.slots, kv_heads, row.capacity, row.head_dim)),
                     b.state(cache_values_shape(row.slots, kv_heads, row.capacity, row.head_dim)),
                     b.given({1, n}, slots), b.given({1, n}, positions)};
                 if (row.packed) {
                     in.push_back(b.real({1, n, query + 2 * key}));
                 } else {
                     in.push_back(b.real({1, n, query}));
                     in.push_back(b.real({1, n, key}));
                     in.push_back(b.real({1, n, key}));
                 }
                 const Attribute attributes[] = {number(Attr::heads, static_cast<double>(row.heads)),
                                                 number(Attr::kv_heads, static_cast<double>(row.kv_heads)),
                                                 number(Attr::packed, row.packed),
                                                 number(Attr::scale, row.scale),
                                                 number(Attr::window, row.window),
                                                 number(Attr::cap, row.cap)};
                 const ValueId o = b.graph().apply(Op::cached_attention, in.data(),
                                                   static_cast<int>(in.size()), attributes, 6, Phase::each);
                 b.filled.content.resize(b.graph().values.size());
                 b.declare_outputs(o);
             }});
}

void add_updates(Cases& cases) {
    for (const Shape& shape : {Shape{}, Shape{5}, Shape{3, 70}, Shape{0, 4}}) {
        const std::string name = shapes_text({shape});
        for (const Op op : {Op::sgd, Op::adagrad})
            for (const int nesterov : {0, 1}) {
                if (op == Op::adagrad && nesterov) continue;
                cases.push_back(
                    {op, name, [=](CaseBuilder& b) {
                         const ValueId w = b.parameter(shape), g = b.real(shape), v = b.state(shape);
                         const ValueId factors = b.plain({3}), clip = b.plain({});
                         if (op == Op::sgd)
                             b.apply(op, {w, g, v, factors, clip}, {number(Attr::nesterov, nesterov)});
                         else
                             b.apply(op, {w, g, v, factors, clip});
                     }});
            }
        cases.push_back({Op::assign, name, [=](CaseBuilder& b) {
                             const ValueId w = b.parameter(shape);
                             b.apply(Op::assign, {w, b.real(shape)});
                         }});
        cases.push_back({Op::sgd_plain, name, [=](CaseBuilder& b) {
                             const ValueId w = b.parameter(shape), g = b.real(shape);
                             const ValueId factors = b.plain({2}), clip = b.plain({});
                             b.apply(Op::sgd_plain, {w, g, factors, clip});
                         }});
        for (const Op op : {Op::adam, Op::adamw})
            cases.push_back({op, name, [=](CaseBuilder& b) {
                                 const ValueId w = b.parameter(shape), g = b.real(shape);
                                 const ValueId m = b.state(shape), v = b.state(shape);
                                 const ValueId factors = b.plain({8}), clip = b.plain({});
                                 b.apply(op, {w, g, m, v, factors, clip});
                             }});
    }
}

// What continues over micro-batches: stored by the first, continued or added by the others.
void add_micro_batches(Cases& cases) {
    constexpr std::uint32_t kCount = 3;
    const Attribute keeps = number(Attr::accumulate, 1);
    const auto add = [&](Op op, const char* name, const std::function<void(CaseBuilder&)>& build) {
        cases.push_back({op, std::string("micro-batches: ") + name, [=](CaseBuilder& b) {
                             b.set_micro_batches(kCount);
                             build(b);
                         }});
    };
    add(Op::accumulate, "added", [=](CaseBuilder& b) { b.apply(Op::accumulate, {b.real({3, 40})}); });
    add(Op::stack, "one behind the other", [=](CaseBuilder& b) {
        const ValueId rows = b.hidden(Op::neg, {b.real({5, 3})});
        const ValueId all = b.apply(Op::stack, {rows}, {number(Attr::micro_batches, kCount)});
        b.apply(Op::sum, {all}, {}, Phase::reduce);
    });
    for (const std::int64_t rows : {7, 600})
        add(Op::matmul, "continued", [=](CaseBuilder& b) {
            const ValueId x = b.real({2, rows, 5}), dy = b.real({2, rows, 35});
            b.apply(Op::matmul, {x, dy}, {number(Attr::transpose_a, 1), keeps});
        });
    for (const std::int64_t rows : {7, 600})
        for (const std::int64_t outputs : {1, 35})
            add(Op::weight_gradient, "continued", [=](CaseBuilder& b) {
                const ValueId x = b.real({2, rows, 5}), dy = b.real({2, rows, outputs});
                b.apply(Op::weight_gradient, {x, dy}, {keeps});
            });
    for (const auto& axes : {std::vector<std::int64_t>{0}, {1}, {0, 2}, {0, 1}})
        add(Op::sum, "continued columns, added rows", [=](CaseBuilder& b) {
            b.apply(Op::sum, {b.real({3, 520, 4})}, {axes_of(axes), keeps});
        });
    add(Op::sum, "continued columns from memory", [=](CaseBuilder& b) {
        b.apply(Op::sum, {b.real(columns_from_memory(1111))}, {axes_of({0}), keeps});
    });
    for (const Op op : {Op::layer_norm_grad_scale, Op::layer_norm_grad_columns})
        add(op, "continued", [=](CaseBuilder& b) {
            const ValueId dy = b.real({2, 300, 9}), x = b.real({2, 300, 9}), mean = b.real({2, 300}),
                          rs = b.real({2, 300});
            b.apply(op, {dy, x, mean, rs}, {keeps});
        });
    add(Op::rms_norm_grad_scale, "continued", [=](CaseBuilder& b) {
        const ValueId dy = b.real({2, 300, 9}), x = b.real({2, 300, 9}), r = b.real({2, 300});
        b.apply(Op::rms_norm_grad_scale, {dy, x, r}, {keeps});
    });
    add(Op::running_statistics, "one after the other", [=](CaseBuilder& b) {
        const ValueId mean = b.parameter({37}), variance = b.parameter({37});
        const ValueId new_mean = b.real({37}), new_variance = b.real({37});
        b.apply(Op::running_statistics, {mean, variance, new_mean, new_variance},
                {number(Attr::momentum, 0.25), number(Attr::elements, 100)});
    });
    add(Op::dropout, "rows of the whole step", [=](CaseBuilder& b) {
        const ValueId x = b.real({2, 3, 40}), random = b.random_state();
        const ValueId y = b.hidden(Op::dropout, {x, random}, {number(Attr::probability, 0.5)});
        b.apply(Op::accumulate, {y});
    });
    add(Op::matmul, "dropout in an epilogue", [=](CaseBuilder& b) {
        const ValueId p = b.real({2, 3, 8}), q = b.real({8, 33}), random = b.random_state();
        Node node = product_node({p, q, random});
        node.body.ops.push_back(body_op(Op::dropout, {~0, ~1}, {number(Attr::probability, 0.5)}));
        node.body.results.assign({0});
        const ValueId y = b.graph().apply(std::move(node));
        b.apply(Op::accumulate, {y});
    });
    add(Op::attention, "sequences of the whole step", [=](CaseBuilder& b) {
        const ValueId qkv = b.real({2, 9, 24}), random = b.random_state();
        const ValueId o =
            b.hidden(Op::attention, {qkv, random},
                     {number(Attr::heads, 2), number(Attr::probability, 0.5), number(Attr::packed, 1)});
        b.apply(Op::accumulate, {o});
    });
}

// ---- Convolutions ----

struct ConvolutionCase {
    Shape x, weight;
    std::vector<std::int64_t> strides, dilations, pads;
    int groups;
};

std::vector<Attribute> window_of(const ConvolutionCase& row) {
    std::vector<Attribute> window;
    const auto add = [&](Attr key, const std::vector<std::int64_t>& values) {
        if (values.empty()) return;
        Attribute attribute = list(key, {});
        for (const std::int64_t value : values)
            attribute.integers[static_cast<std::size_t>(attribute.integer_count++)] = value;
        window.push_back(attribute);
    };
    add(Attr::strides, row.strides);
    add(Attr::dilations, row.dilations);
    add(Attr::pads, row.pads);
    window.push_back(number(Attr::groups, row.groups));
    return window;
}

// What the convolution gives, by its shape rule.
Shape result_of(const ConvolutionCase& row) {
    Graph graph(std::pmr::get_default_resource());
    const ValueId x = graph.input("x", DType::f32, row.x), w = graph.input("w", DType::f32, row.weight);
    const std::vector<Attribute> window = window_of(row);
    const ValueId inputs[] = {x, w};
    return graph.shape(
        graph.apply(Op::conv, inputs, 2, window.data(), static_cast<int>(window.size()), Phase::each));
}

const std::vector<ConvolutionCase> kConvolutions = {
    {{1, 1, 3, 3}, {1, 1, 2, 2}, {}, {}, {}, 1},
    {{2, 3, 5, 7}, {4, 3, 3, 3}, {}, {}, {1, 1, 1, 1}, 1},
    {{2, 8, 8, 8}, {16, 8, 3, 3}, {2, 2}, {}, {1, 1, 1, 1}, 1},
    {{1, 64, 9, 9}, {33, 64, 3, 3}, {}, {}, {1, 1, 1, 1}, 1},  // 576 steps: two segments
    {{3, 70, 7, 7}, {40, 70, 1, 1}, {}, {}, {}, 1},            // in place
    {{3, 170, 7, 7}, {24, 170, 1, 1}, {}, {}, {}, 1},
    {{2, 6, 8, 9}, {5, 6, 1, 1}, {2, 3}, {}, {}, 1},  // pixels that no tap meets
    {{1, 3, 19, 18}, {17, 3, 7, 7}, {2, 2}, {}, {3, 3, 3, 3}, 1},
    {{2, 4, 9, 10}, {6, 4, 3, 2}, {}, {2, 3}, {2, 0, 1, 4}, 1},  // sides and axes that differ
    {{2, 4, 11, 10}, {6, 4, 3, 3}, {3, 2}, {2, 1}, {0, 1, 2, 3}, 1},
    {{2, 12, 6, 6}, {8, 3, 3, 3}, {}, {}, {1, 1, 1, 1}, 4},       // grouped
    {{2, 9, 9, 8}, {9, 1, 3, 3}, {}, {}, {1, 1, 1, 1}, 9},        // depthwise
    {{1, 3, 9, 11}, {3, 1, 5, 5}, {2, 1}, {}, {2, 2, 2, 2}, 3},   // more taps than a row program has operands
    {{1, 5, 10, 7}, {10, 1, 5, 3}, {2, 2}, {}, {2, 1, 2, 1}, 5},  // two filters a channel
    {{3, 35, 17, 19}, {35, 1, 3, 3}, {}, {}, {1, 1, 1, 1}, 35},   // depthwise, of several segments
    {{2, 18, 12, 11}, {18, 1, 7, 7}, {2, 3}, {1, 2}, {3, 6, 3, 5}, 18},
    {{2, 17, 10, 17}, {17, 1, 9, 7}, {1, 2}, {}, {4, 3, 4, 3}, 17},  // rows of taps in several passes
    // As many taps, in kernels that reach differently far.
    {{1, 16, 15, 9}, {16, 1, 7, 5}, {}, {2, 1}, {6, 2, 6, 2}, 16},
    {{1, 16, 15, 13}, {16, 1, 7, 5}, {}, {2, 3}, {6, 6, 6, 6}, 16},
    {{3, 16, 8, 600}, {16, 1, 3, 3}, {2, 1}, {2, 1}, {0, 1, 1, 0}, 16},  // a row has more than a segment
    // Few channels of many rows, which threads share.
    {{1, 20, 50, 7}, {20, 1, 5, 3}, {2, 1}, {1, 2}, {3, 1, 0, 2}, 20},
    {{1, 16, 40, 9}, {16, 1, 3, 3}, {}, {2, 1}, {2, 1, 2, 1}, 16},
    {{2, 20, 33}, {20, 1, 4}, {2}, {3}, {2, 1}, 20},
    {{2, 17, 40}, {17, 1, 20}, {}, {}, {}, 17},   // more taps in a row than AVX2 holds
    {{2, 5, 33}, {7, 5, 4}, {2}, {}, {1, 2}, 1},  // one spatial axis
    {{2, 8, 40}, {8, 2, 3}, {}, {5}, {5, 5}, 4},
    {{1, 2, 4, 4}, {3, 2, 9, 9}, {}, {}, {4, 4, 4, 4}, 1},  // a kernel larger than the picture
    {{1, 3, 2, 2}, {3, 3, 1, 1}, {}, {}, {3, 2, 1, 2}, 1},  // padding that no tap reaches over
    {{1, 2, 3, 70}, {3, 2, 1, 5}, {}, {}, {0, 2, 0, 2}, 1},
    // dW of one picture, from copies of some segments of pixels at a time.
    {{1, 3, 40, 31}, {600, 3, 2, 2}, {}, {}, {1, 0, 1, 2}, 1},
    {{1, 2, 64, 60}, {520, 2, 1, 1}, {2, 3}, {}, {}, 1},
    {{40, 3, 4, 4}, {5, 3, 3, 3}, {}, {}, {1, 1, 1, 1}, 1},  // 640 pixels: two segments of dW
    // Weights that no L2 holds.
    {{1, 520, 3, 3}, {70, 520, 3, 3}, {}, {}, {1, 1, 1, 1}, 1},
    {{1, 70, 3, 4}, {530, 70, 3, 3}, {}, {}, {1, 1, 1, 1}, 1},
    {{1, 4700, 2, 5}, {64, 4700, 1, 1}, {}, {}, {}, 1},
    // Pictures that end with segments of dW, which threads then share: one, two, and half a segment a
    // picture; and one that ends behind a segment.
    {{9, 3, 16, 32}, {5, 3, 3, 3}, {}, {}, {1, 1, 1, 1}, 1},
    {{9, 2, 32, 32}, {35, 2, 3, 3}, {}, {}, {1, 1, 1, 1}, 1},
    {{17, 3, 16, 16}, {4, 3, 3, 3}, {}, {}, {1, 1, 1, 1}, 1},
    {{9, 20, 16, 32}, {18, 20, 1, 1}, {}, {}, {}, 1},
    {{9, 3, 17, 32}, {5, 3, 3, 3}, {}, {}, {1, 1, 1, 1}, 1},
    {{9, 4, 32, 64}, {6, 2, 3, 3}, {2, 2}, {}, {1, 1, 1, 1}, 2},
    {{2, 17, 6, 7}, {17, 1, 1, 3}, {2, 1}, {}, {0, 1, 0, 1}, 17},  // depthwise, rows that no tap meets
    {{2, 17, 1, 9}, {17, 1, 3, 3}, {2, 1}, {}, {1, 1, 1, 1}, 17},  // depthwise, one row
    {{0, 3, 4, 4}, {5, 3, 3, 3}, {}, {}, {}, 1},
    {{0, 9, 4, 4}, {9, 1, 3, 3}, {}, {}, {}, 9},
    {{2, 0, 4, 4}, {5, 0, 3, 3}, {}, {}, {}, 1},
};

// What follows a convolution in its own step. Body input ~0 is the picture, ~i is input i + 1.
void add_convolution_epilogue(Cases& cases, Op op, const ConvolutionCase& row) {
    const bool is_transposed = op == Op::conv_transpose;
    const Shape y = is_transposed ? row.x : result_of(row), from = is_transposed ? result_of(row) : row.x;
    Shape channel = y, plane = y, everywhere = y, sample = y;
    for (int axis = 0; axis < y.rank; ++axis) {
        if (axis != 1) channel[axis] = 1;
        if (axis >= 2) plane[axis] = sample[axis] = 1;
        if (axis < 2) everywhere[axis] = 1;
    }
    sample[1] = 1;
    const std::string name = shapes_text({row.x, row.weight}) + " groups " + std::to_string(row.groups);
    const auto node_of = [=](CaseBuilder& b) {
        Node node{Allocator(std::pmr::get_default_resource())};
        node.op = op;
        for (const Attribute& attribute : window_of(row)) node.attributes.push_back(attribute);
        Shape spatial;
        for (int axis = 2; axis < y.rank; ++axis) spatial[spatial.rank++] = y[axis];
        if (is_transposed) node.attributes.push_back(list(Attr::shape, spatial));
        node.inputs.assign({b.real(from), b.real(row.weight)});
        return node;
    };
    cases.push_back({op, "norm, residual and clamp " + name, [=](CaseBuilder& b) {
                         Node node = node_of(b);
                         for (const Shape& shape : {plane, channel, Shape{}, y})
                             node.inputs.push_back(b.real(shape));
                         node.body.ops.push_back(body_op(Op::sub, {~0, ~1}));
                         node.body.ops.push_back(body_op(Op::mul, {0, ~2}));
                         node.body.ops.push_back(body_op(Op::add, {1, ~3}));
                         node.body.ops.push_back(body_op(Op::add, {2, ~4}));
                         node.body.ops.push_back(
                             body_op(Op::clamp, {3}, {number(Attr::low, -0.5), number(Attr::high, 0.75)}));
                         node.body.results.assign({4});
                         b.apply(std::move(node));
                     }});
    cases.push_back({op, "the picture, and more beside it " + name, [=](CaseBuilder& b) {
                         Node node = node_of(b);
                         for (const Shape& shape : {sample, everywhere}) node.inputs.push_back(b.real(shape));
                         node.body.ops.push_back(body_op(Op::mul, {~0, ~1}));
                         node.body.ops.push_back(body_op(Op::add, {0, ~2}));
                         node.body.ops.push_back(body_op(Op::relu, {1}));
                         node.body.results.assign({1, ~0, 2});
                         b.apply(std::move(node));
                     }});
}

void add_convolution_epilogues(Cases& cases) {
    for (const ConvolutionCase& row : kConvolutions)
        for (const Op op : {Op::conv, Op::conv_transpose}) add_convolution_epilogue(cases, op, row);
    const auto add = [&](const char* name, const Shape& shape, bool drops) {
        cases.push_back({Op::conv, name, [=](CaseBuilder& b) {
                             Node node{Allocator(std::pmr::get_default_resource())};
                             node.op = Op::conv;
                             const ValueId x = b.real({2, 3, 5, 7}), w = b.real({4, 3, 3, 3});
                             node.inputs.assign({x, w, drops ? b.random_state() : b.real(shape)});
                             if (drops)
                                 node.body.ops.push_back(
                                     body_op(Op::dropout, {~0, ~1},
                                             {number(Attr::probability, 0.3), number(Attr::stream, 9)}));
                             else
                                 node.body.ops.push_back(body_op(Op::add, {~0, ~1}));
                             node.body.results.assign({0});
                             b.apply(std::move(node));
                         }});
    };
    add("an operand along one spatial axis", {3, 1}, false);
    add("dropout in the epilogue", {}, true);
}

void add_convolutions(Cases& cases) {
    // Pictures that the last-level cache does not hold: the CPU writes whole lines past it, and the columns
    // that are left as ever.
    cases.push_back(
        {Op::conv, "pictures from memory", [](CaseBuilder& b) {
             constexpr std::int64_t kSide = 56, kFilters = 19;
             const Shape rows = rows_from_memory(1.05, kFilters * kSide * kSide);
             b.apply(Op::conv, {b.real({rows[0], 2, kSide, kSide}), b.real({kFilters, 2, 1, 1})}, {});
         }});
    for (const ConvolutionCase& row : kConvolutions) {
        const Shape y = result_of(row);
        const std::string name = shapes_text({row.x, row.weight}) + " groups " + std::to_string(row.groups);
        const std::vector<Attribute> window = window_of(row);
        for (const bool has_bias : {false, true}) {
            const auto operands = [=](CaseBuilder& b, Shape first, std::int64_t channels) {
                std::vector<ValueId> inputs = {b.real(first), b.real(row.weight)};
                if (has_bias) inputs.push_back(b.real({channels}));
                return inputs;
            };
            cases.push_back({Op::conv, name + (has_bias ? " bias" : ""),
                             [=](CaseBuilder& b) { b.apply(Op::conv, operands(b, row.x, y[1]), window); }});
            cases.push_back({Op::conv_transpose, name + (has_bias ? " bias" : ""), [=](CaseBuilder& b) {
                                 std::vector<Attribute> sized = window;
                                 Shape spatial;
                                 for (int axis = 2; axis < row.x.rank; ++axis)
                                     spatial[spatial.rank++] = row.x[axis];
                                 sized.push_back(list(Attr::shape, spatial));
                                 b.apply(Op::conv_transpose, operands(b, y, row.x[1]), sized);
                             }});
        }
        for (const bool accumulates : {false, true})
            cases.push_back(
                {Op::conv_grad_weight, name + (accumulates ? " continued" : ""), [=](CaseBuilder& b) {
                     std::vector<Attribute> sized = window;
                     sized.push_back(list(Attr::shape, row.weight));
                     sized.push_back(number(Attr::accumulate, accumulates));
                     if (accumulates) b.set_micro_batches(3);
                     const ValueId x = b.real(row.x), dy = b.real(y);
                     b.apply(Op::conv_grad_weight, std::vector<ValueId>{x, dy}, sized);
                 }});
        for (const bool accumulates : {false, true})
            cases.push_back({Op::conv_grad_bias,
                             std::string(to_text(y).text) + (accumulates ? " continued" : ""),
                             [=](CaseBuilder& b) {
                                 if (accumulates) b.set_micro_batches(3);
                                 const ValueId dy = b.real(y);
                                 b.apply(Op::conv_grad_bias, {dy}, {number(Attr::accumulate, accumulates)});
                             }});
    }
    add_convolution_epilogues(cases);
    cases.push_back({Op::conv_transpose, "the least picture, and more", [](CaseBuilder& b) {
                         const ValueId x = b.real({2, 3, 4, 5}), w = b.real({3, 2, 3, 3});
                         b.apply(Op::conv_transpose, {x, w},
                                 {list(Attr::strides, {2, 2}), list(Attr::output_padding, {1, 0})});
                     }});
}

struct PoolingCase {
    Shape x;
    std::vector<std::int64_t> kernel, strides, dilations, pads;
    bool ceil;
};

const PoolingCase kPools[] = {
    {{2, 3, 4, 6}, {2, 2}, {2, 2}, {}, {}, false},
    {{1, 2, 9, 8}, {3, 3}, {2, 2}, {}, {1, 1, 1, 1}, false},  // a ResNet's
    {{2, 2, 7, 7}, {3, 3}, {}, {}, {1, 1, 1, 1}, false},
    {{1, 3, 8, 10}, {3, 2}, {3, 4}, {}, {0, 1, 2, 0}, true},  // gaps, windows that hang over
    {{1, 2, 10, 9}, {3, 3}, {1, 2}, {2, 3}, {2, 1, 1, 4}, true},
    {{1, 2, 7, 7}, {7, 7}, {}, {}, {}, false},  // more taps than a kernel has operands
    {{1, 1, 12, 11}, {6, 5}, {2, 3}, {}, {3, 2, 1, 4}, false},
    {{2, 3, 33}, {4}, {3}, {}, {1, 2}, true},  // one spatial axis
    {{1, 2, 2, 2}, {3, 3}, {2, 2}, {}, {2, 2, 2, 2}, true},
    // 16 planes a thread and more, which backends may take together
    {{2, 35, 9, 8}, {3, 3}, {2, 2}, {}, {1, 1, 1, 1}, false},
    {{1, 70, 7, 7}, {7, 7}, {}, {}, {}, false},
    {{1, 64, 8, 10}, {3, 2}, {3, 4}, {}, {0, 1, 2, 0}, true},
    {{1, 65, 10, 9}, {3, 3}, {1, 2}, {2, 3}, {2, 1, 1, 4}, true},
    {{4, 16, 9, 11}, {5, 9}, {2, 1}, {}, {3, 2, 1, 4}, false},  // more taps than a kernel has
    {{1, 64, 2, 2}, {3, 3}, {2, 2}, {}, {2, 2, 2, 2}, true},
    {{1, 64, 40, 9}, {3, 3}, {1, 2}, {}, {1, 0, 2, 1}, false},
    {{0, 2, 4, 4}, {2, 2}, {}, {}, {}, false},
    {{1, 2, 0, 4}, {3, 2}, {}, {}, {2, 0, 2, 0}, false},  // nothing but padding
};

void add_pools(Cases& cases) {
    for (const PoolingCase& row : kPools)
        for (const bool averages : {false, true})
            for (const bool counts : {false, true}) {
                if (counts && !averages) continue;
                if (averages && !row.dilations.empty()) continue;
                ConvolutionCase like = {row.x, {}, row.strides, row.dilations, row.pads, 1};
                std::vector<Attribute> window = window_of(like);
                window.pop_back();  // groups
                Attribute kernel = list(Attr::kernel, {});
                for (const std::int64_t taps : row.kernel)
                    kernel.integers[static_cast<std::size_t>(kernel.integer_count++)] = taps;
                window.push_back(kernel);
                window.push_back(number(Attr::ceil_mode, row.ceil));
                if (averages) window.push_back(number(Attr::count_include_pad, counts));
                const Op op = averages ? Op::average_pool : Op::max_pool;
                Graph graph(std::pmr::get_default_resource());
                const ValueId picture = graph.input("x", DType::f32, row.x);
                const Shape y = graph.shape(graph.apply(op, &picture, 1, window.data(),
                                                        static_cast<int>(window.size()), Phase::each));
                const std::string name = shapes_text({row.x, y}) + (counts ? " with padding" : "");
                cases.push_back({op, name, [=](CaseBuilder& b) {
                                     b.apply(op, std::vector<ValueId>{b.real(row.x)}, window);
                                 }});
                if (averages) {
                    Shape spatial;
                    for (int axis = 2; axis < row.x.rank; ++axis) spatial[spatial.rank++] = row.x[axis];
                    std::vector<Attribute> sized = window;
                    sized.push_back(list(Attr::shape, spatial));
                    cases.push_back({Op::average_pool_grad, name, [=](CaseBuilder& b) {
                                         b.apply(Op::average_pool_grad, std::vector<ValueId>{b.real(y)},
                                                 sized);
                                     }});
                } else {
                    cases.push_back(
                        {Op::max_pool_grad, name, [=](CaseBuilder& b) {
                             const ValueId x = b.real(row.x), dy = b.real(y);
                             const ValueId largest = b.apply(op, std::vector<ValueId>{x}, window);
                             b.apply(Op::max_pool_grad, std::vector<ValueId>{x, largest, dy}, window);
                         }});
                    cases.push_back(
                        {Op::max_pool_grad, name + " of equal elements", [=](CaseBuilder& b) {
                             const ValueId x = b.hidden(Op::clamp, {b.real(row.x)},
                                                        {number(Attr::low, 0), number(Attr::high, 0)});
                             const ValueId largest = b.apply(op, std::vector<ValueId>{x}, window);
                             b.apply(Op::max_pool_grad, std::vector<ValueId>{x, largest, b.real(y)}, window);
                         }});
                }
            }
}

struct PadCase {
    Shape x;
    std::vector<std::int64_t> pads;
};

const PadCase kPads[] = {
    {{5}, {2, 3}},
    {{3, 4, 7}, {6, 5}},
    {{2, 3, 5, 6}, {1, 2, 3, 0}},
    {{2, 3, 5, 6}, {0, 1, 1, 0}},
    {{3, 5, 20}, {2, 0, 1, 2, 4, 3}},
    {{4, 3, 5, 18}, {1, 2, 3, 4, 0, 1, 2, 3}},
    {{3, 33}, {30, 31}},  // more copies of an element than a row program has operands
    {{0, 3, 4}, {1, 1, 2, 2}},
    {{2, 3}, {0, 0}},
    {{2, 3}, {}},
};

Attribute list_of(Attr key, const std::vector<std::int64_t>& entries) {
    Attribute result = list(key, {});
    for (const std::int64_t entry : entries)
        result.integers[static_cast<std::size_t>(result.integer_count++)] = entry;
    return result;
}

void add_padding(Cases& cases) {
    for (const PadCase& row : kPads) {
        const Attribute pads = list_of(Attr::pads, row.pads);
        Shape y = row.x;
        const int axes = static_cast<int>(row.pads.size() / 2);
        for (int i = 0; i < axes; ++i)
            y[y.rank - axes + i] +=
                row.pads[static_cast<std::size_t>(i)] + row.pads[static_cast<std::size_t>(axes + i)];
        const std::string name = shapes_text({row.x, y});
        for (const double value : {0.0, -0.0, 1.25})
            cases.push_back({Op::pad, name + " by " + std::to_string(value), [=](CaseBuilder& b) {
                                 b.apply(Op::pad, {b.real(row.x)}, {pads, number(Attr::value, value)});
                             }});
        for (const double mode : {1, 2}) {
            const std::string kind = name + (mode == 1 ? " mirrored" : " repeated");
            cases.push_back({Op::pad, kind, [=](CaseBuilder& b) {
                                 b.apply(Op::pad, {b.real(row.x)}, {pads, number(Attr::mode, mode)});
                             }});
            cases.push_back({Op::pad_grad, kind, [=](CaseBuilder& b) {
                                 b.apply(Op::pad_grad, {b.real(y)}, {pads, number(Attr::mode, mode)});
                             }});
        }
    }
    cases.push_back(
        {Op::pad, "nothing, by a value", [](CaseBuilder& b) {
             b.apply(Op::pad, {b.real({0, 3})}, {list(Attr::pads, {1, 2}), number(Attr::value, 3)});
         }});
}

const std::pair<Shape, Shape> kResized[] = {
    {{2, 3, 4, 5}, {2, 3, 8, 10}},   {{2, 3, 8, 10}, {2, 3, 4, 5}},    {{1, 2, 7, 9}, {1, 2, 7, 4}},
    {{3, 2, 5, 20}, {3, 2, 13, 20}}, {{2, 2, 6, 9}, {2, 2, 15, 6}},    {{2, 3, 17}, {2, 3, 33}},
    {{2, 3, 33}, {2, 3, 1}},         {{2, 1, 1, 1}, {2, 1, 3, 30}},    {{1, 1, 3, 30}, {1, 1, 1, 1}},
    {{1, 1, 1000}, {1, 1, 999}},     {{1, 20, 6, 5}, {1, 20, 18, 20}}, {{0, 2, 3, 4}, {0, 2, 6, 7}},
    {{2, 3, 4, 5}, {2, 3, 4, 5}},
};

void add_resizing(Cases& cases) {
    // Quotients of floats would be one too high.
    cases.push_back(
        {Op::resize, "a fine ratio, linear", [](CaseBuilder& b) {
             b.apply(Op::resize, {b.real({1, 1, 262139})}, {list(Attr::shape, {101}), number(Attr::mode, 1)});
         }});
    for (const auto& row : kResized)
        for (const double mode : {0, 1}) {
            const auto extents = [](const Shape& shape) {
                Shape spatial;
                for (int axis = 2; axis < shape.rank; ++axis) spatial[spatial.rank++] = shape[axis];
                return list(Attr::shape, spatial);
            };
            const Attribute to_y = extents(row.second), to_x = extents(row.first);
            const std::string name = shapes_text({row.first, row.second}) + (mode != 0 ? " linear" : "");
            cases.push_back({Op::resize, name, [=](CaseBuilder& b) {
                                 b.apply(Op::resize, {b.real(row.first)}, {to_y, number(Attr::mode, mode)});
                             }});
            cases.push_back(
                {Op::resize_grad, name, [=](CaseBuilder& b) {
                     b.apply(Op::resize_grad, {b.real(row.second)}, {to_x, number(Attr::mode, mode)});
                 }});
        }
}

Cases make_cases() {
    Cases cases;
    add_unary(cases);
    add_binary(cases);
    add_dropout(cases);
    add_rows(cases);
    add_losses(cases);
    add_batch_norms(cases);
    add_group_norms(cases);
    add_reductions(cases);
    add_movement(cases);
    add_pairs(cases);
    add_embeddings(cases);
    add_products(cases);
    add_convolutions(cases);
    add_pools(cases);
    add_padding(cases);
    add_resizing(cases);
    add_stored(cases);
    add_epilogues(cases);
    for (std::uint64_t seed = 0; seed < 40; ++seed) add_random_body(cases, seed);
    for (const Shape& x : row_shapes()) add_rows_with_bodies(cases, x);
    add_rows_seen_twice(cases);
    add_attention(cases);
    add_cached_attention(cases);
    add_updates(cases);
    add_micro_batches(cases);
    return cases;
}

}  // namespace

const std::vector<BackendCase>& processor_cases() {
    static const Cases all = [] {
        Cases cases;
        add_turned(cases);
        add_documents(cases);
        return cases;
    }();
    return all;
}

const std::vector<BackendCase>& backend_cases() {
    static const Cases cases = make_cases();
    return cases;
}

}  // namespace volta::test
