// Every elementwise operator, by walking the table: in float what it is in double, within the bound that its
// row states, over all binades; NaN, infinities and zeros alone and fused; shapes and the sentences of those
// that do not fit. That backends compute the same bits is tests/runtime/test_backend.cpp's to show, gradients
// test_gradient.cpp's.
#include <cmath>
#include <vector>

#include "tests/graph/graphs.h"
#include "tests/support/elementwise_rows.h"
#include "tests/support/ulps.h"

namespace {
using namespace volta;
using namespace volta::test;

constexpr std::uint32_t kStride = 65521;
constexpr double kWithoutBound = 4e-6;  // |error| / max(1, |x|, |y|) where the row states no bound

// A graph of one operator, over `count` elements of each input.
Graph graph_of(const OpRow& row, std::int64_t count) {
    Graph graph(heap());
    std::vector<ValueId> inputs(static_cast<std::size_t>(row.min_inputs));
    for (ValueId& input : inputs) input = reals(graph, {count});
    const std::vector<Attribute> attributes = example_attributes(row);
    const ValueId y = graph.apply(row.op, inputs.data(), row.min_inputs, attributes.data(),
                                  static_cast<int>(attributes.size()), Phase::each);
    graph.output("y", y);
    return graph;
}

template <class T>
std::vector<T> results(const Graph& graph, const std::vector<std::vector<float>>& inputs) {
    Tensors<T> tensors(graph.values.size(), heap());
    for (std::size_t i = 0; i < inputs.size(); ++i)
        tensors[i].real.assign(inputs[i].begin(), inputs[i].end());
    evaluate(graph, tensors);
    const auto& y = tensors[static_cast<std::size_t>(graph.outputs[0].value)];
    if (!y.real.empty()) return {y.real.begin(), y.real.end()};
    return {y.integer.begin(), y.integer.end()};
}

// Input 0 walks over all binades; where the row has no bound for all of them, over the row's sample alone.
std::vector<std::vector<float>> arguments(const OpRow& row) {
    std::vector<std::vector<float>> inputs(static_cast<std::size_t>(row.min_inputs));
    Random random(11);
    const auto sample = [&] {
        return static_cast<float>(row.sample_low) +
               random.uniform() * static_cast<float>(row.sample_high - row.sample_low);
    };
    if (row.most_ulps > 0)
        inputs[0] = sampled_floats(kStride);
    else
        for (int i = 0; i < 20000; ++i) inputs[0].push_back(sample());
    for (std::size_t i = 1; i < inputs.size(); ++i)
        for (std::size_t k = 0; k < inputs[0].size(); ++k) inputs[i].push_back(sample());
    return inputs;
}

void test_float_is_double_within_the_bound(void** state) {
    const OpRow& row = **static_cast<const OpRow* const*>(*state);
    const auto inputs = arguments(row);
    const Graph graph = graph_of(row, static_cast<std::int64_t>(inputs[0].size()));
    const std::vector<float> actual = results<float>(graph, inputs);
    const std::vector<double> expected = results<double>(graph, inputs);
    double worst = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < actual.size(); ++i) {
        const double y = expected[i], x = static_cast<double>(inputs[0][i]);
        const double scale = std::fmax(std::fmax(1, std::fabs(x)), std::fabs(y));
        const double error = row.most_ulps > 0
                                 ? error_in_ulps(actual[i], y) / row.most_ulps
                                 : std::fabs(static_cast<double>(actual[i]) - y) / scale / kWithoutBound;
        if (!(error <= worst)) worst = error, at = i;
    }
    if (!(worst <= 1))
        print_error("%s(%a) = %a, in double %a\n", row.name, static_cast<double>(inputs[0][at]),
                    static_cast<double>(actual[at]), expected[at]);
    assert_true(worst <= 1);
}

// Shapes by NumPy's rule or all the same; anything else is refused by the operator's name.
void test_shapes_follow_the_rule(void** state) {
    const OpRow& row = **static_cast<const OpRow* const*>(*state);
    const Operands operands = operands_of(row);
    if (operands == Operands::of_its_own) return;
    const std::vector<Attribute> attributes = example_attributes(row);
    const auto shape_of = [&](const Shape& a, const Shape& b) {
        Graph graph(heap());
        const ValueId inputs[] = {reals(graph, a), reals(graph, b)};
        return graph.shape(graph.apply(row.op, inputs, row.min_inputs, attributes.data(),
                                       static_cast<int>(attributes.size()), Phase::each));
    };
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{0, 2}, Shape{2, 1, 4}})
        assert_true(shape_of(shape, shape) == shape);
    const Failure misfit = failure_of([&] { shape_of({4, 3}, {2, 3}); });
    const Failure missing = failure_of([&] { shape_of({4, 3}, {3}); });
    const std::string name = std::string(row.name) + ": ";
    if (operands == Operands::broadcast) {
        assert_true(shape_of({4, 1, 3}, {2, 1}) == Shape({4, 2, 3}));
        assert_int_equal(missing.status, VOLTA_OK);
    }
    if (operands == Operands::same_shape) assert_int_equal(missing.status, VOLTA_SHAPE_MISMATCH);
    if (operands == Operands::one) return;
    assert_int_equal(misfit.status, VOLTA_SHAPE_MISMATCH);
    assert_int_equal(std::strncmp(misfit.text, name.c_str(), name.size()), 0);

    Graph graph(heap());
    const ValueId inputs[] = {integers(graph, {3}), integers(graph, {3})};
    const Failure of_integers = failure_of([&] {
        graph.apply(row.op, inputs, row.min_inputs, attributes.data(), static_cast<int>(attributes.size()),
                    Phase::each);
    });
    assert_int_equal(of_integers.status, VOLTA_SHAPE_MISMATCH);
}

// The operator in a fused body, behind another and before another, has the bits that it has alone.
void test_a_body_has_the_bits_of_the_operator(void** state) {
    const OpRow& row = **static_cast<const OpRow* const*>(*state);
    if (operands_of(row) == Operands::of_its_own) return;
    const std::vector<Attribute> attributes = example_attributes(row);
    const std::vector<std::vector<float>> inputs(static_cast<std::size_t>(row.min_inputs),
                                                 random_floats(500, 7, Data::special));
    std::vector<std::vector<float>> negated = inputs;
    for (float& x : negated[0]) x = -x;
    const std::vector<float> expected = results<float>(graph_of(row, 500), negated);

    Graph graph(heap());
    Node node{Allocator(heap())};
    node.op = Op::fused;
    for (int i = 0; i < row.min_inputs; ++i) node.inputs.push_back(reals(graph, {500}));
    BodyOp first{Allocator(heap())}, second{Allocator(heap())};
    first.op = Op::neg;
    first.inputs.push_back(~0);
    second.op = row.op;
    second.inputs.push_back(0);
    for (int i = 1; i < row.min_inputs; ++i) second.inputs.push_back(~i);
    second.attributes.assign(attributes.begin(), attributes.end());
    node.body.ops.push_back(std::move(first));
    node.body.ops.push_back(std::move(second));
    node.body.results.push_back(1);
    graph.output("y", graph.apply(std::move(node)));
    verify(graph);
    const std::vector<float> actual = results<float>(graph, inputs);
    assert_same_bits(row.name, expected.data(), actual.data(), 500);
}

}  // namespace

int main() {
    const auto name = [](const OpRow* row) { return row->name; };
    std::vector<const OpRow*> real;  // over real numbers
    for (const Operands operands : {Operands::one, Operands::same_shape, Operands::broadcast})
        for (const OpRow* row : elementwise_rows(operands)) real.push_back(row);
    int failed = run_rows("float within the bound", real, test_float_is_double_within_the_bound, name);
    failed += run_rows("shapes", real, test_shapes_follow_the_rule, name);
    failed += run_rows("bodies", real, test_a_body_has_the_bits_of_the_operator, name);
    return failed;
}
