// What passes may not do, each with data on which it would show; and what they must do.
#include <cmath>

#include "engine/graph/print.h"
#include "engine/graph/verify.h"
#include "engine/passes/pass.h"
#include "engine/passes/split_loss.h"
#include "tests/passes/random_graph.h"
#include "tests/support/errors.h"

namespace {
using namespace volta;
using namespace volta::test;

// A graph of inputs x, y, z (f32 [4]) with one output, and what its forbidden rewrite would compute.
using Build = ValueId (*)(Graph& graph, ValueId x, ValueId y, ValueId z);
using Rewritten = float (*)(float x, float y, float z);

float plus(float a, float b) { return a + b; }

struct Forbidden {
    const char* name;
    Build build;
    Rewritten rewritten;
    float x[4], y[4], z[4];
};
constexpr float kInf = INFINITY;

ValueId op(Graph& graph, Op name, ValueId a, ValueId b) { return graph.apply(name, {a, b}); }

const Forbidden kForbidden[] = {
    {"x + (+0) is not x",
     [](Graph& g, ValueId x, ValueId, ValueId) { return op(g, Op::add, x, g.scalar(0.0f)); },
     [](float x, float, float) { return x; },
     {1, -0.0f, 2, 3},
     {},
     {}},
    {"(+0) + x is not x",
     [](Graph& g, ValueId x, ValueId, ValueId) { return op(g, Op::add, g.scalar(0.0f), x); },
     [](float x, float, float) { return x; },
     {1, -0.0f, 2, 3},
     {},
     {}},
    {"x - (-0) is not x",
     [](Graph& g, ValueId x, ValueId, ValueId) { return op(g, Op::sub, x, g.scalar(-0.0f)); },
     [](float x, float, float) { return x; },
     {1, -0.0f, 2, 3},
     {},
     {}},
    {"0 - x is not -x",
     [](Graph& g, ValueId x, ValueId, ValueId) { return op(g, Op::sub, g.scalar(0.0f), x); },
     [](float x, float, float) { return -x; },
     {1, 0.0f, 2, 3},
     {},
     {}},
    {"x * 0 is not 0",
     [](Graph& g, ValueId x, ValueId, ValueId) { return op(g, Op::mul, x, g.scalar(0.0f)); },
     [](float, float, float) { return 0.0f; },
     {1, kInf, -2, 3},
     {},
     {}},
    {"x - x is not 0",
     [](Graph& g, ValueId x, ValueId, ValueId) { return op(g, Op::sub, x, x); },
     [](float, float, float) { return 0.0f; },
     {1, kInf, -2, 3},
     {},
     {}},
    {"x / x is not 1",
     [](Graph& g, ValueId x, ValueId, ValueId) { return op(g, Op::div, x, x); },
     [](float, float, float) { return 1.0f; },
     {1, 0, -2, 3},
     {},
     {}},
    {"x / 3 is not x * (1/3)",
     [](Graph& g, ValueId x, ValueId, ValueId) { return op(g, Op::div, x, g.scalar(3.0f)); },
     [](float x, float, float) { return x * (1.0f / 3.0f); },
     {5, 7, 11, 0.7f},
     {},
     {}},
    {"x / 2^127 is not x * 2^-127, if subnormals are lost",
     [](Graph& g, ValueId x, ValueId, ValueId) { return op(g, Op::div, x, g.scalar(0x1p127f)); },
     [](float x, float, float) { return x * 0.0f; },
     {0x1p127f, 7, 11, 0x1.8p100f},
     {},
     {}},
    {"(x + a) + b is not x + (a + b)",
     [](Graph& g, ValueId x, ValueId, ValueId) {
         return op(g, Op::add, op(g, Op::add, x, g.scalar(1e8f)), g.scalar(-1e8f));
     },
     [](float x, float, float) { return plus(x, plus(1e8f, -1e8f)); },
     {1.5f, 7, 11, 0.7f},
     {},
     {}},
    {"(x * a) * b is not x * (a * b)",
     [](Graph& g, ValueId x, ValueId, ValueId) {
         return op(g, Op::mul, op(g, Op::mul, x, g.scalar(1e30f)), g.scalar(1e-30f));
     },
     [](float x, float, float) { return x; },
     {1e30f, 7, 11, 0.7f},
     {},
     {}},
    {"x*y + x*z is not x * (y + z)",
     [](Graph& g, ValueId x, ValueId y, ValueId z) {
         return op(g, Op::add, op(g, Op::mul, x, y), op(g, Op::mul, x, z));
     },
     [](float x, float y, float z) { return x * plus(y, z); },
     {1.1f, 1.3f, 1.7f, 1e30f},
     {0.1f, 0.3f, 0.7f, 1e30f},
     {0.9f, 0.77f, 0.33f, -1e30f}},
    {"x*y + z is not fma(x, y, z)",
     [](Graph& g, ValueId x, ValueId y, ValueId z) { return op(g, Op::add, op(g, Op::mul, x, y), z); },
     [](float x, float y, float z) { return std::fma(x, y, z); },
     {1.1f, 1.3f, 1.7f, 1.9f},
     {1.1f, 1.3f, 1.7f, 1.9f},
     {-1.21f, -1.69f, -2.89f, -3.61f}},
    {"max(x, y) is not max(y, x)",
     [](Graph& g, ValueId x, ValueId y, ValueId) { return op(g, Op::maximum, x, y); },
     [](float x, float y, float) { return y != y || y > x ? y : x; },
     {-0.0f, 0.0f, 1, 2},
     {0.0f, -0.0f, 1, 2},
     {}},
    {"sqrt(x) * sqrt(x) is not x",
     [](Graph& g, ValueId x, ValueId, ValueId) {
         const ValueId r = g.apply(Op::sqrt, {x});
         return op(g, Op::mul, r, r);
     },
     [](float x, float, float) { return x; },
     {2, 3, 5, -1},
     {},
     {}},
    {"1 / sqrt(x), rounded twice, is not 1/x under the root",
     [](Graph& g, ValueId x, ValueId, ValueId) {
         return op(g, Op::div, g.scalar(1.0f), g.apply(Op::sqrt, {x}));
     },
     [](float x, float, float) { return std::sqrt(1.0f / x); },
     {2, 3, 5, 7},
     {},
     {}},
    {"the sum of one element is not that element",
     [](Graph& g, ValueId x, ValueId, ValueId) {
         const ValueId column = g.apply(Op::reshape, {x}, {list(Attr::shape, {4, 1})});
         return g.apply(Op::sum, {column}, {list(Attr::axes, {1})});
     },
     [](float x, float, float) { return x; },
     {1, -0.0f, 2, 3},
     {},
     {}},
};

std::vector<std::uint32_t> bits_of_values(const float (&values)[4]) {
    std::vector<std::uint32_t> bits;
    for (const float value : values) bits.push_back(bits_of(value));
    return bits;
}

void test_forbidden_rewrites_are_not_made(void**) {
    for (const Forbidden& test : kForbidden) {
        bool has_teeth = false, kept = true;
        {
            Graph graph(test_heap());
            const ValueId x = graph.input("x", DType::f32, {4}), y = graph.input("y", DType::f32, {4}),
                          z = graph.input("z", DType::f32, {4});
            graph.output("r", test.build(graph, x, y, z));
            const auto bits = [&](const Graph& form) {
                Tensors tensors(form.values.size(), test_heap());
                const float* data[] = {test.x, test.y, test.z};
                for (std::size_t i = 0; i < 3; ++i)
                    tensors[static_cast<std::size_t>(form.node(form.sources[i].node).first_output)]
                        .real.assign(data[i], data[i] + 4);
                evaluate(form, tensors);
                return output_bits(form, tensors);
            };
            const std::vector<std::uint32_t> expected = bits(graph);
            float wrong[4];
            for (int i = 0; i < 4; ++i) wrong[i] = test.rewritten(test.x[i], test.y[i], test.z[i]);
            has_teeth = bits_of_values(wrong) != expected;
            for (std::uint32_t subset = 0; subset < 1u << kPassCount; ++subset)
                kept = kept && bits(run_passes(graph, subset, test_heap())) == expected;
        }
        if (!has_teeth) print_error("%s: the rewrite does not show on this data\n", test.name);
        if (!kept) print_error("%s: a pass has made it\n", test.name);
        assert_true(has_teeth && kept);
    }
}

// add(product, x) finishes all segments first; with x as `into` the first segment is added to it. K = 1024:
// two.
void test_an_add_does_not_become_into(void**) {
    bool has_teeth = false, kept = false;
    {
        Graph graph(test_heap());
        const ValueId a = graph.input("a", DType::f32, {8, 1024}),
                      b = graph.input("b", DType::f32, {1024, 8}), x = graph.input("x", DType::f32, {8, 8});
        graph.output("y", graph.apply(Op::add, {graph.apply(Op::matmul, {a, b}), x}));
        const std::vector<std::uint32_t> expected = evaluated_bits(graph, 7, Data::plain);
        const Graph result = run_passes(graph, kAllPasses, test_heap());
        kept = evaluated_bits(result, 7, Data::plain) == expected;

        Graph wrong(test_heap());
        const ValueId wa = wrong.input("a", DType::f32, {8, 1024}),
                      wb = wrong.input("b", DType::f32, {1024, 8});
        const ValueId wx = wrong.input("x", DType::f32, {8, 8});
        const ValueId sum = wrong.apply(Op::matmul, {wa, wb}, {number(Attr::accumulate, 1)});
        Tensors tensors = filled_sources(wrong, 7, Data::plain);
        const EvalTensor<float>* inputs[] = {&tensors[static_cast<std::size_t>(wa)],
                                             &tensors[static_cast<std::size_t>(wb)]};
        EvalTensor<float>* output = &tensors[static_cast<std::size_t>(sum)];
        output->real = tensors[static_cast<std::size_t>(wx)].real;
        evaluate_node<float>(wrong, wrong.producer(sum), inputs, &output, 1);
        for (std::size_t i = 0; i < expected.size(); ++i)
            has_teeth |= bits_of(output->real[i]) != expected[i];
    }
    assert_true(has_teeth);
    assert_true(kept);
}

// Nodes and operations of bodies.
int count(const Graph& graph, Op op) {
    int found = 0;
    for (const Node& node : graph.nodes) {
        found += node.op == op;
        for (const BodyOp& part : node.body.ops) found += part.op == op;
    }
    return found;
}

// Two dropouts are two draws, even with one stream; neither is folded away.
void test_random_nodes_never_merge(void**) {
    Graph graph(test_heap());
    const float ones[4] = {1, 1, 1, 1};
    const ValueId x = graph.constant(DType::f32, {4}, ones),
                  random = graph.input("step/random", DType::i32, {3});
    const auto drop = [&] { return graph.apply(Op::dropout, {x, random}, {number(Attr::probability, 0.5)}); };
    graph.output("a", drop());
    graph.output("b", drop());
    const Graph result = run_passes(graph, kAllPasses, test_heap());
    assert_int_equal(count(result, Op::dropout), 2);
}

// Two nodes over x, y [4, 4]; do they become one?
struct Pair {
    const char* name;
    void (*build)(Graph& graph, ValueId x, ValueId y);
    bool merges;
};
const Attribute kAxis0 = list(Attr::axes, {0}), kAxis1 = list(Attr::axes, {1});
void two(Graph& graph, ValueId a, ValueId b) {
    graph.output("a", a);
    graph.output("b", b);
}

// Over x, of one operation in each.
ValueId body_of(Graph& graph, ValueId x, Op name, const Attribute* attribute = nullptr) {
    Body body{Allocator(test_heap())};
    BodyOp& only = body.ops.emplace_back();
    only.op = name;
    only.inputs.push_back(~0);
    if (attribute != nullptr) only.attributes.push_back(*attribute);
    body.results = {0};
    return graph.apply(Op::fused, &x, 1, nullptr, 0, Phase::each, &body);
}

const Pair kPairs[] = {
    {"the same", [](Graph& g, ValueId x, ValueId y) { two(g, op(g, Op::sub, x, y), op(g, Op::sub, x, y)); },
     true},
    {"sums swapped",
     [](Graph& g, ValueId x, ValueId y) { two(g, op(g, Op::add, x, y), op(g, Op::add, y, x)); }, true},
    {"products swapped",
     [](Graph& g, ValueId x, ValueId y) { two(g, op(g, Op::mul, x, y), op(g, Op::mul, y, x)); }, true},
    {"chains",
     [](Graph& g, ValueId x, ValueId) {
         two(g, g.apply(Op::exp, {g.apply(Op::neg, {x})}), g.apply(Op::exp, {g.apply(Op::neg, {x})}));
     },
     true},
    {"differences swapped",
     [](Graph& g, ValueId x, ValueId y) { two(g, op(g, Op::sub, x, y), op(g, Op::sub, y, x)); }, false},
    {"maxima swapped",
     [](Graph& g, ValueId x, ValueId y) { two(g, op(g, Op::maximum, x, y), op(g, Op::maximum, y, x)); },
     false},
    {"other operators",
     [](Graph& g, ValueId x, ValueId) { two(g, g.apply(Op::exp, {x}), g.apply(Op::log, {x})); }, false},
    {"other exponents",
     [](Graph& g, ValueId x, ValueId) {
         two(g, g.apply(Op::pow, {x}, {number(Attr::exponent, 2)}),
             g.apply(Op::pow, {x}, {number(Attr::exponent, 3)}));
     },
     false},
    {"equal bodies",
     [](Graph& g, ValueId x, ValueId) { two(g, body_of(g, x, Op::exp), body_of(g, x, Op::exp)); }, true},
    {"bodies of other operators",
     [](Graph& g, ValueId x, ValueId) { two(g, body_of(g, x, Op::exp), body_of(g, x, Op::log)); }, false},
    {"bodies of other exponents",
     [](Graph& g, ValueId x, ValueId) {
         const Attribute square = number(Attr::exponent, 2), cube = number(Attr::exponent, 3);
         two(g, body_of(g, x, Op::pow, &square), body_of(g, x, Op::pow, &cube));
     },
     false},
    {"other axes",
     [](Graph& g, ValueId x, ValueId) {
         two(g, g.apply(Op::sum, {x}, {kAxis0}), g.apply(Op::sum, {x}, {kAxis1}));
     },
     false},
    {"other phases",
     [](Graph& g, ValueId x, ValueId) {
         two(g, g.apply(Op::exp, {x}), g.apply(Op::exp, {x}, {}, Phase::reduce));
     },
     false},
    {"constants of other types",
     [](Graph& g, ValueId, ValueId) {
         const std::int32_t zero = 0;
         two(g, g.constant(DType::f32, {}, &zero), g.constant(DType::i32, {}, &zero));
     },
     false},
    {"constants of other shapes",
     [](Graph& g, ValueId, ValueId) {
         const float one = 1;
         two(g, g.constant(DType::f32, {1}, &one), g.constant(DType::f32, {1, 1}, &one));
     },
     false},
    {"zeros of other signs", [](Graph& g, ValueId, ValueId) { two(g, g.scalar(0.0f), g.scalar(-0.0f)); },
     false},
};

void test_equal_nodes_merge_and_no_others(void**) {
    for (const Pair& pair : kPairs) {
        bool merged = false;
        {
            Graph graph(test_heap());
            const ValueId x = graph.input("x", DType::f32, {4, 4}), y = graph.input("y", DType::f32, {4, 4});
            pair.build(graph, x, y);
            const Graph result = run_pass(kPasses[2], graph, test_heap());
            merged = result.outputs[0].value == result.outputs[1].value;
        }
        if (merged != pair.merges) print_error("%s: %s\n", pair.name, merged ? "merged" : "not merged");
        assert_true(merged == pair.merges);
    }
}

// A product reads a matrix transposed where its last two axes alone have changed places.
void test_other_transposes_stay_before_products(void**) {
    for (const Shape& order : {Shape{1, 0, 2}, Shape{2, 1, 0}, Shape{2, 0, 1}, Shape{0, 2, 1}}) {
        Graph graph(test_heap());
        const ValueId a = graph.input("a", DType::f32, {3, 3, 3}),
                      b = graph.input("b", DType::f32, {3, 3, 3});
        const ValueId turned = graph.apply(Op::transpose, {b}, {list(Attr::permutation, order)});
        graph.output("y", graph.apply(Op::matmul, {a, turned}));
        const Graph result = run_passes(graph, kAllPasses, test_heap());
        assert_int_equal(count(result, Op::transpose), order[0] == 0 ? 0 : 1);
        assert_true(evaluated_bits(result, 7, Data::plain) == evaluated_bits(graph, 7, Data::plain));
    }
}

// Norm, residual and activation are one pass over x, whether the statistics are kept or the batch's; a norm
// that finds its own statistics stays one.
void test_batch_norm_fuses_with_what_follows(void**) {
    for (const Shape& shape : {Shape{3, 4, 2, 5}, Shape{1, 4, 5}, Shape{3, 4}, Shape{3, 4, 1, 1}}) {
        Graph graph(test_heap());
        const ValueId x = graph.input("x", DType::f32, shape), c = graph.parameter("c", {4}, {});
        const ValueId given = graph.apply(Op::batch_norm, {x, c, c, c, c});
        graph.output("given", graph.apply(Op::relu, {graph.apply(Op::add, {given, x})}));
        const ValueId mean = graph.apply(Op::batch_statistics, {x});
        const ValueId own = graph.apply(Op::batch_norm_train, {x, c, c, mean, mean + 1});
        graph.output("own", graph.apply(Op::tanh, {own}));
        graph.output("group", graph.apply(Op::group_norm, {x, c, c}, {number(Attr::groups, 2)}));
        const Graph result = run_passes(graph, kAllPasses, test_heap());
        assert_int_equal(count(result, Op::batch_norm) + count(result, Op::batch_norm_train), 0);
        assert_int_equal(count(result, Op::group_norm), 1);
        for (const int output : {0, 1})
            assert_true(result.producer(result.outputs[static_cast<std::size_t>(output)].value).op ==
                        Op::fused);
        for (const Data data : {Data::plain, Data::special})
            assert_true(evaluated_bits(result, 7, data) == evaluated_bits(graph, 7, data));
    }
}

// Neighbours that read one parameter, of which one runs for each micro-batch and one afterwards.
void test_phases_do_not_fuse(void**) {
    Graph graph(test_heap());
    const ValueId w = graph.parameter("w", {4, 4}, {});
    graph.output("each", graph.apply(Op::exp, {w}));
    graph.output("afterwards", graph.apply(Op::log, {w}, {}, Phase::reduce));
    const Graph result = run_passes(graph, kAllPasses, test_heap());
    assert_int_equal(count(result, Op::fused), 0);
    assert_true(result.producer(result.outputs[0].value).phase == Phase::each);
    assert_true(result.producer(result.outputs[1].value).phase == Phase::reduce);
}

// A plan does not grow by large constants that a step computes from small ones; and a constant NaN has the
// bits of the contract, whatever the processor makes of it: constants are part of a plan's hash.
void test_folded_constants_are_small_and_canonical(void**) {
    Graph graph(test_heap());
    const ValueId one = graph.scalar(1), infinity = graph.scalar(kInf);
    graph.output("large", graph.apply(Op::broadcast_to, {one}, {list(Attr::shape, {129, 128})}));
    graph.output("small", graph.apply(Op::broadcast_to, {one}, {list(Attr::shape, {128, 128})}));
    graph.output("nan", graph.apply(Op::sqrt, {graph.scalar(-1)}));
    graph.output("also nan", op(graph, Op::sub, infinity, infinity));
    const Graph result = run_passes(graph, kAllPasses, test_heap());
    assert_int_equal(count(result, Op::broadcast_to), 1);
    for (const std::size_t output : {2u, 3u}) {
        const Node& node = result.producer(result.outputs[output].value);
        assert_true(node.op == Op::constant);
        assert_int_equal(result.constants[static_cast<std::size_t>(node.data)][0], 0x7fc00000u);
    }
}

// Ids outside of their table are for make_plan to refuse: folding must not follow them.
void test_ids_are_not_followed(void**) {
    Graph graph(test_heap());
    const float table[] = {1, 2};
    const std::int32_t ids[] = {0, 1 << 28};
    graph.output("y", graph.apply(Op::gather, {graph.constant(DType::f32, {2, 1}, table),
                                               graph.constant(DType::i32, {2}, ids)}));
    const float angles[] = {1, 0, 1, 0};
    graph.output(
        "z", graph.apply(Op::rotary,
                         {graph.constant(DType::f32, {2, 2}, angles), graph.constant(DType::i32, {2}, ids),
                          graph.constant(DType::f32, {1, 2}, angles)},
                         {number(Attr::heads, 1)}));
    const Graph result = run_passes(graph, kAllPasses, test_heap());
    assert_int_equal(count(result, Op::gather), 1);
    assert_int_equal(count(result, Op::rotary), 1);
}

// A table of angles is computed when the plan is made, however large, and once for all layers.
void test_tables_of_angles_become_one_constant(void**) {
    Graph graph(test_heap());
    const ValueId x = graph.input("x", DType::f32, {4, 8}),
                  positions = graph.input("positions", DType::i32, {4});
    for (const char* layer : {"y", "z"}) {
        const ValueId table =
            graph.apply(Op::rotary_table, {}, {number(Attr::limit, 9000), number(Attr::width, 8)});
        graph.output(layer, graph.apply(Op::rotary, {x, positions, table}, {number(Attr::heads, 1)}));
    }
    const Graph result = run_passes(graph, kAllPasses, test_heap());
    assert_int_equal(count(result, Op::rotary_table), 0);
    assert_int_equal(count(result, Op::constant), 1);
    assert_int_equal(count(result, Op::rotary), 1);
}

// So is one of frequencies that are given, where they are constant.
void test_tables_of_given_frequencies_are_folded(void**) {
    for (const bool constant : {true, false}) {
        Graph graph(test_heap());
        const float radians[] = {1, 0.1f, 0.01f, 0.001f};
        const ValueId frequencies =
            constant ? graph.constant(DType::f32, {4}, radians) : graph.input("f", DType::f32, {4});
        graph.output("table", graph.apply(Op::rotary_table, {frequencies},
                                          {number(Attr::limit, 9000), number(Attr::width, 8)}));
        const Graph result = run_passes(graph, kAllPasses, test_heap());
        assert_int_equal(count(result, Op::rotary_table), constant ? 0 : 1);
    }
}

// Of a model's whole context a table keeps the rows of the sequences that there are, with the same bits; all
// where something else reads it, or positions are the host's.
void test_tables_have_the_rows_that_are_read(void**) {
    struct {
        bool is_output, host_positions;
        std::int64_t rows;
    } const cases[] = {{false, false, 5}, {true, false, 9000}, {false, true, 9000}};
    for (const auto& row : cases) {
        Graph graph(test_heap());
        const ValueId x = graph.input("x", DType::f32, {2, 5, 8}),
                      ids = graph.input("ids", DType::i32, {2, 5});
        const ValueId positions =
            row.host_positions ? ids : graph.apply(Op::position_ids, {ids}, {number(Attr::limit, 9000)});
        const ValueId table =
            graph.apply(Op::rotary_table, {}, {number(Attr::limit, 9000), number(Attr::width, 8)});
        if (row.is_output) graph.output("table", table);
        graph.output("y", graph.apply(Op::rotary, {x, positions, table}, {number(Attr::heads, 1)}));
        const Graph result = run_passes(graph, kAllPasses, test_heap());
        const Node* turn = nullptr;
        for (const Node& node : result.nodes)
            if (node.op == Op::rotary) turn = &node;
        const std::int64_t rows = turn == nullptr ? 0 : result.shape(turn->inputs[2])[0];
        const bool is_constant = turn != nullptr && result.producer(turn->inputs[2]).op == Op::constant;
        const bool same = evaluated_bits(graph, 3, Data::plain) == evaluated_bits(result, 3, Data::plain);
        assert_int_equal(rows, row.rows);
        assert_true(is_constant && same);
    }
}

// y = swiglu(x), wanted again for a weight gradient while x waits for swiglu's own, is computed again then.
void test_gated_activations_are_computed_again(void**) {
    Graph graph(test_heap());
    const ValueId w = graph.parameter("w", {8, 16}, {}), u = graph.input("u", DType::f32, {6, 8});
    const ValueId x = graph.apply(Op::matmul, {u, w});
    const ValueId y = graph.apply(Op::swiglu, {x});
    ValueId z = graph.apply(Op::matmul, {y, w});
    for (int i = 0; i < 6; ++i) z = graph.apply(Op::softmax, {z});
    graph.output("dw", graph.apply(Op::matmul, {y, z}, {number(Attr::transpose_a, 1)}));
    const ValueId dy = graph.apply(Op::matmul, {z, w}, {number(Attr::transpose_b, 1)});
    graph.output("dx", graph.apply(Op::swiglu_grad, {x, dy}));
    const Graph result = run_passes(graph, kAllPasses, test_heap());
    assert_int_equal(count(result, Op::swiglu), 2);
}

// But not where x would have to be kept for it.
void test_nothing_is_kept_to_compute_again(void**) {
    Graph graph(test_heap());
    const ValueId w = graph.parameter("w", {8, 16}, {}), u = graph.input("u", DType::f32, {6, 8});
    const ValueId y = graph.apply(Op::swiglu, {graph.apply(Op::matmul, {u, w})});
    ValueId z = graph.apply(Op::matmul, {y, w});
    for (int i = 0; i < 6; ++i) z = graph.apply(Op::softmax, {z});
    graph.output("dw", graph.apply(Op::matmul, {y, z}, {number(Attr::transpose_a, 1)}));
    const Graph result = run_passes(graph, kAllPasses, test_heap());
    assert_int_equal(count(result, Op::swiglu), 1);
}

// A product over tokens (transpose_a) or micro-batches (accumulate) stays bare; so does one whose result
// someone reads before the elementwise node is there.
void test_products_that_stay_bare(void**) {
    Graph graph(test_heap());
    const ValueId a = graph.input("a", DType::f32, {4, 4}), b = graph.input("b", DType::f32, {4, 4});
    const auto matmul = [&](double transpose_a, double accumulate) {
        return graph.apply(Op::matmul, {a, b},
                           {number(Attr::transpose_a, transpose_a), number(Attr::accumulate, accumulate)});
    };
    graph.output("over tokens", graph.apply(Op::relu, {matmul(1, 0)}));
    graph.output("over micro-batches", graph.apply(Op::relu, {matmul(0, 1)}));
    const ValueId early = matmul(0, 0);
    graph.output("read early", graph.apply(Op::add, {early, graph.apply(Op::softmax, {early})}));
    graph.output("not bare", graph.apply(Op::relu, {graph.apply(Op::matmul, {b, a})}));
    const Graph result = run_passes(graph, kAllPasses, test_heap());
    int bodies = 0;
    for (const Node& node : result.nodes) bodies += node.op == Op::matmul && !node.body.ops.empty();
    assert_int_equal(count(result, Op::matmul), 4);
    assert_int_equal(bodies, 1);
}

// An epilogue's operand is the whole result, a row, a column or a single value: not a part of the leading
// axes.
void test_operands_of_epilogues(void**) {
    for (const Shape& shape :
         {Shape{2, 3, 4}, Shape{4}, Shape{2, 3, 1}, Shape{1, 1, 1}, Shape{3, 1}, Shape{2, 1, 4}}) {
        Graph graph(test_heap());
        const ValueId a = graph.input("a", DType::f32, {2, 3, 5}), b = graph.input("b", DType::f32, {5, 4});
        const ValueId operand = graph.input("operand", DType::f32, shape);
        graph.output("y", op(graph, Op::mul, graph.apply(Op::matmul, {a, b}), operand));
        const Graph result = run_passes(graph, kAllPasses, test_heap());
        const bool fits = shape != Shape{3, 1} && shape != Shape{2, 1, 4};
        assert_int_equal(result.nodes.size(), fits ? 4 : 5);
    }
}

// A convolution takes its bias, the norm of given statistics, the residual and the activation behind it; not
// a norm of its own statistics, nor what sees one spatial axis alone, nor dropout.
void test_epilogues_of_convolutions(void**) {
    Graph graph(test_heap());
    const ValueId x = graph.input("x", DType::f32, {2, 4, 5, 5}), c = graph.parameter("c", {4}, {});
    const auto conv = [&](ValueId of, bool has_bias) {
        static int index = 0;
        const ValueId w = graph.parameter(("w" + std::to_string(index++)).c_str(), {4, 4, 3, 3}, {});
        const Attribute pads = list(Attr::pads, {1, 1, 1, 1});
        return has_bias ? graph.apply(Op::conv, {of, w, c}, {pads}) : graph.apply(Op::conv, {of, w}, {pads});
    };
    const ValueId first = graph.apply(Op::batch_norm, {conv(x, true), c, c, c, c});
    const ValueId clamped = graph.apply(Op::clamp, {first}, {number(Attr::low, 0), number(Attr::high, 6)});
    const ValueId second = graph.apply(Op::batch_norm, {conv(clamped, false), c, c, c, c});
    const ValueId joined = graph.apply(Op::relu, {graph.apply(Op::add, {second, x})});
    graph.output("block", joined);
    const ValueId plain = conv(joined, false), mean = graph.apply(Op::batch_statistics, {plain});
    graph.output("own", graph.apply(Op::batch_norm_train, {plain, c, c, mean, mean + 1}));
    graph.output("rows", graph.apply(Op::mul, {conv(joined, false), graph.input("r", DType::f32, {5, 1})}));
    graph.output("dropped",
                 graph.apply(Op::dropout, {conv(joined, false), graph.input("step/random", DType::i32, {3})},
                             {number(Attr::probability, 0.5)}));
    const Graph result = run_passes(graph, kAllPasses, test_heap());
    int bodies = 0;
    for (const Node& node : result.nodes) {
        if (node.op != Op::conv || node.body.ops.empty()) continue;
        bodies += 1;
        assert_true(node.body.ops.back().op == (bodies == 1 ? Op::clamp : Op::relu));
        assert_int_equal(node.body.ops.size(), 6);
    }
    assert_int_equal(bodies, 2);
    assert_int_equal(count(result, Op::conv), 5);
}

// A weight's and a bias's gradient become one node when they read the same dy, over the same rows, alike over
// micro-batches, and nobody waits for the first of them.
struct Layer {
    Graph& graph;
    ValueId x, dy;
    ValueId product(double transpose_b = 0) const {
        return graph.apply(Op::matmul, {x, dy},
                           {number(Attr::transpose_a, 1), number(Attr::transpose_b, transpose_b)});
    }
    ValueId sum(ValueId of, std::initializer_list<std::int64_t> axes, double keep = 0,
                double accumulate = 0) const {
        Attribute reduced = list(Attr::axes, Shape{});
        for (const std::int64_t axis : axes) reduced.integers[reduced.integer_count++] = axis;
        return graph.apply(Op::sum, {of},
                           {reduced, number(Attr::keep_dims, keep), number(Attr::accumulate, accumulate)});
    }
    void outputs(ValueId a, ValueId b) const {
        graph.output("a", a);
        graph.output("b", b);
    }
};
const struct {
    const char* name;
    bool pairs;
    Shape shape;
    void (*build)(const Layer& layer);
} kLayers[] = {
    {"the product first",
     true,
     {2, 4, 4},
     [](const Layer& layer) {
         const ValueId product = layer.product();
         layer.outputs(product, layer.sum(layer.dy, {0, 1}));
     }},
    {"the sum first",
     true,
     {4, 4},
     [](const Layer& layer) {
         const ValueId sum = layer.sum(layer.dy, {0});
         layer.outputs(layer.product(), sum);
     }},
    {"axes counted from the end",
     true,
     {2, 4, 4},
     [](const Layer& layer) {
         const ValueId product = layer.product();
         layer.outputs(product, layer.sum(layer.dy, {-2, 0}));
     }},
    {"the columns of x",
     false,
     {4, 4},
     [](const Layer& layer) {
         const ValueId product = layer.product();
         layer.outputs(product, layer.sum(layer.x, {0}));
     }},
    {"rows, not columns",
     false,
     {4, 4},
     [](const Layer& layer) {
         const ValueId product = layer.product();
         layer.outputs(product, layer.sum(layer.dy, {1}));
     }},
    {"one column",
     false,
     {4, 1},
     [](const Layer& layer) {
         const ValueId product = layer.product();
         layer.outputs(product, layer.sum(layer.dy, {0}));
     }},
    {"some of the rows",
     false,
     {2, 4, 4},
     [](const Layer& layer) {
         const ValueId product = layer.product();
         layer.outputs(product, layer.sum(layer.dy, {1}));
     }},
    {"extents kept",
     false,
     {4, 4},
     [](const Layer& layer) {
         const ValueId product = layer.product();
         layer.outputs(product, layer.sum(layer.dy, {0}, 1));
     }},
    {"over micro-batches",
     false,
     {4, 4},
     [](const Layer& layer) {
         const ValueId product = layer.product();
         layer.outputs(product, layer.sum(layer.dy, {0}, 0, 1));
     }},
    {"dy transposed",
     false,
     {4, 4},
     [](const Layer& layer) {
         const ValueId product = layer.product(1);
         layer.outputs(product, layer.sum(layer.dy, {0}));
     }},
    {"the product is read before the sum",
     false,
     {4, 4},
     [](const Layer& layer) {
         const ValueId soft = layer.graph.apply(Op::softmax, {layer.product()});
         layer.outputs(soft, layer.sum(layer.dy, {0}));
     }},
};

void test_weight_gradients_that_pair(void**) {
    for (const auto& test : kLayers) {
        int pairs = 0, products = 0, sums = 0;
        {
            Graph graph(test_heap());
            const ValueId x = graph.input("x", DType::f32, test.shape),
                          dy = graph.input("dy", DType::f32, test.shape);
            test.build({graph, x, dy});
            const Graph result = run_passes(graph, kAllPasses, test_heap());
            pairs = count(result, Op::weight_gradient);
            products = count(result, Op::matmul);
            sums = count(result, Op::sum);
        }
        if (pairs != test.pairs) print_error("%s: %d pairs\n", test.name, pairs);
        assert_int_equal(pairs, test.pairs);
        assert_int_equal(products, !test.pairs);
        assert_int_equal(sums, !test.pairs);
    }
}

// ---- A loss in pieces ----

struct Head {
    Graph& graph;
    ValueId x, w, targets, scale;
    std::int64_t classes;
    ValueId logits() const { return graph.apply(Op::matmul, {x, w}); }
    ValueId loss(ValueId logits) const {
        return graph.apply(Op::cross_entropy_with_grad, {logits, targets, scale});
    }
    void outputs(ValueId rows) const {
        graph.output("loss", rows);
        graph.output("dx", graph.apply(Op::matmul, {rows + 1, w}, {number(Attr::transpose_b, 1)}));
        graph.output("dw", graph.apply(Op::matmul, {x, rows + 1}, {number(Attr::transpose_a, 1)}));
    }
};

const struct HeadCase {
    const char* name;
    int pieces;  // 0: it stays whole
    std::int64_t batch, time;
    void (*build)(const Head& head);
} kHeads[] = {
    {"two pieces", 2, 4, 256, [](const Head& head) { head.outputs(head.loss(head.logits())); }},
    {"a piece and a row", 2, 27, 19, [](const Head& head) { head.outputs(head.loss(head.logits())); }},
    {"512 rows", 0, 2, 256, [](const Head& head) { head.outputs(head.loss(head.logits())); }},
    {"a head that is not trained", 2, 4, 256,
     [](const Head& head) {
         const ValueId rows = head.loss(head.logits());
         head.graph.output("loss", rows);
         head.graph.output("dx",
                           head.graph.apply(Op::matmul, {rows + 1, head.w}, {number(Attr::transpose_b, 1)}));
     }},
    {"the weight's gradient the other way round", 2, 4, 256,
     [](const Head& head) {
         const ValueId rows = head.loss(head.logits());
         head.graph.output("loss", rows);
         head.graph.output("dw",
                           head.graph.apply(Op::matmul, {rows + 1, head.x}, {number(Attr::transpose_a, 1)}));
     }},
    {"logits that the host gets", 0, 4, 256,
     [](const Head& head) {
         const ValueId logits = head.logits();
         head.graph.output("logits", logits);
         head.outputs(head.loss(logits));
     }},
    {"a gradient that the host gets", 0, 4, 256,
     [](const Head& head) {
         const ValueId rows = head.loss(head.logits());
         head.graph.output("dlogits", rows + 1);
         head.outputs(rows);
     }},
    {"logits with something behind the product", 0, 4, 256,
     [](const Head& head) { head.outputs(head.loss(head.graph.apply(Op::tanh, {head.logits()}))); }},
    {"a bias's gradient", 0, 4, 256,
     [](const Head& head) {
         const ValueId rows = head.loss(head.logits());
         head.graph.output("db", head.graph.apply(Op::sum, {rows + 1}, {list(Attr::axes, {0, 1})}));
         head.outputs(rows);
     }},
};

// The pieces give what the whole gives, bit for bit, and so does what the passes make of them.
void test_losses_in_pieces(void**) {
    for (const HeadCase& test : kHeads) {
        Graph graph(test_heap());
        const std::int64_t classes = 37;
        const ValueId x = graph.input("x", DType::f32, {test.batch, test.time, 5});
        const ValueId targets = graph.input("targets", DType::i32, {test.batch, test.time});
        const ValueId w = graph.parameter("w", {5, classes}, {VOLTA_INIT_UNIFORM, -1, 1});
        test.build({graph, x, w, targets, graph.input("g", DType::f32, {}), classes});
        const std::optional<SplitLoss> split = split_loss(graph, test_heap());
        if (split.has_value() != (test.pieces > 0)) print_error("%s\n", test.name);
        assert_int_equal(split.has_value(), test.pieces > 0);
        if (!split) continue;
        verify(split->graph);
        assert_true(split->repeated > 0);
        assert_int_equal(count(split->graph, Op::cross_entropy_with_grad), test.pieces);
        const std::vector<std::uint32_t> expected = evaluated_bits(graph, 1, Data::plain);
        assert_true(evaluated_bits(split->graph, 1, Data::plain) == expected);
        assert_true(evaluated_bits(run_passes(split->graph, kAllPasses, test_heap()), 1, Data::plain) ==
                    expected);
    }
}

// What becomes one kernel of rows: a forward part and its gradient, and how many steps both take.
int steps_of(const Graph& graph) {
    int steps = 0;
    for (const Node& node : graph.nodes) {
        const Lowering lowering = op_row(node.op).lowering;
        steps += lowering != Lowering::source && lowering != Lowering::alias;
    }
    return steps;
}

struct RowCase {
    const char* name;
    int steps;  // behind all passes
    Shape shape;
    void (*build)(Graph& graph, const Shape& shape);
};

ValueId named(Graph& graph, const char* name, const Shape& shape) {
    return graph.input(name, DType::f32, shape);
}
ValueId norm_of(Graph& graph, ValueId x, const char* scale = "scale", const char* bias = "bias") {
    const Shape columns = {graph.shape(x).last()};
    const ValueId first = graph.parameter(scale, columns, {}), second = graph.parameter(bias, columns, {});
    return graph.apply(Op::layer_norm, {x, first, second});
}

const RowCase kRowCases[] = {
    {"layer norm and gelu",
     1,
     {256, 768},
     [](Graph& g, const Shape& s) { g.output("y", g.apply(Op::gelu_tanh, {norm_of(g, named(g, "x", s))})); }},
    {"rms norm and silu",
     1,
     {256, 768},
     [](Graph& g, const Shape& s) {
         const ValueId x = named(g, "x", s), scale = g.parameter("scale", {s.last()}, {});
         g.output("y", g.apply(Op::silu, {g.apply(Op::rms_norm, {x, scale})}));
     }},
    {"residual, which stays, and layer norm",
     1,
     {256, 768},
     [](Graph& g, const Shape& s) {
         const ValueId a = named(g, "a", s), x = g.apply(Op::add, {a, named(g, "b", s)});
         g.output("x", x);
         g.output("y", norm_of(g, x));
     }},
    {"bias, gelu and dropout",
     1,
     {256, 768},
     [](Graph& g, const Shape& s) {
         const ValueId x = named(g, "x", s), bias = g.parameter("bias", {s.last()}, {});
         const ValueId random = g.input("step/random", DType::i32, {3});
         const ValueId y = g.apply(Op::gelu_tanh, {g.apply(Op::add, {x, bias})});
         g.output("y", g.apply(Op::dropout, {y, random}, {number(Attr::probability, 0.5)}));
     }},
    {"layer norm, relu and dropout",
     1,
     {256, 768},
     [](Graph& g, const Shape& s) {
         const ValueId x = named(g, "x", s), random = g.input("step/random", DType::i32, {3});
         const ValueId y = g.apply(Op::relu, {norm_of(g, x)});
         g.output("y", g.apply(Op::dropout, {y, random}, {number(Attr::probability, 0.5)}));
     }},
    {"scaled and masked softmax",
     1,
     {4, 64, 64},
     [](Graph& g, const Shape& s) {
         const ValueId x = named(g, "x", s), scaled = g.apply(Op::mul, {x, g.scalar(0.125f)});
         g.output("y", g.apply(Op::softmax, {g.apply(Op::add, {scaled, named(g, "mask", s)})}));
     }},
    {"the gradient of gelu behind a norm, and its sums over rows",
     2,
     {256, 768},
     [](Graph& g, const Shape& s) {
         const ValueId dy = named(g, "dy", s), x = named(g, "x", s), z = named(g, "z", s);
         const ValueId scale = g.parameter("scale", {s.last()}, {});
         const ValueId mean = named(g, "mean", {s[0]}), rs = named(g, "rs", {s[0]});
         const ValueId d = g.apply(Op::gelu_tanh_grad, {z, dy});
         g.output("dx", g.apply(Op::layer_norm_grad, {d, x, scale, mean, rs}));
         g.output("dscale", g.apply(Op::layer_norm_grad_scale, {d, x, mean, rs}));
         g.output("dbias", g.apply(Op::sum, {d}, {list(Attr::axes, {0})}));
     }},
    {"the gradient of a norm, and the residual's",
     1,
     {256, 768},
     [](Graph& g, const Shape& s) {
         const ValueId dy = named(g, "dy", s), x = named(g, "x", s), other = named(g, "other", s);
         const ValueId scale = g.parameter("scale", {s.last()}, {}), r = named(g, "r", {s[0]});
         g.output("dx", g.apply(Op::add, {g.apply(Op::rms_norm_grad, {dy, x, scale, r}), other}));
     }},
    {"softmax's gradient and its scale",
     1,
     {4, 64, 64},
     [](Graph& g, const Shape& s) {
         const ValueId p = named(g, "p", s), dp = named(g, "dp", s);
         g.output("dx", g.apply(Op::mul, {g.apply(Op::softmax_grad, {p, dp}), g.scalar(0.125f)}));
     }},
    {"two norms with a residual between them",
     1,
     {256, 768},
     [](Graph& g, const Shape& s) {
         const ValueId x = named(g, "x", s), y = norm_of(g, x);
         g.output("y", norm_of(g, g.apply(Op::add, {x, y}), "scale2", "bias2"));
     }},
    {"a product keeps what is before the norm",
     2,
     {256, 768},
     [](Graph& g, const Shape& s) {
         const ValueId x = named(g, "x", s), w = g.parameter("w", {s.last(), s.last()}, {});
         g.output("y", norm_of(g, g.apply(Op::relu, {g.apply(Op::matmul, {x, w})})));
     }},
    {"a few long rows, which threads would not share",
     2,
     {2, 100000},
     [](Graph& g, const Shape& s) { g.output("y", g.apply(Op::gelu_tanh, {norm_of(g, named(g, "x", s))})); }},
    {"a mean per row, which is read by columns",
     2,
     {64, 64},
     [](Graph& g, const Shape& s) {
         const ValueId y = norm_of(g, named(g, "x", s));
         g.output("y", g.apply(Op::add, {y, y + 1}));
     }},
};

void test_rows_that_become_one_kernel(void**) {
    for (const RowCase& test : kRowCases) {
        int steps = 0;
        {
            Graph graph(test_heap());
            test.build(graph, test.shape);
            steps = steps_of(run_passes(graph, kAllPasses, test_heap()));
        }
        if (steps != test.steps) print_error("%s: %d steps, not %d\n", test.name, steps, test.steps);
        assert_int_equal(steps, test.steps);
    }
}

// The backward pass reads x, the mean and the factor: the normalised rows are not kept for it.
void test_normalised_rows_are_not_kept(void**) {
    bool is_kept = false, is_same = false;
    {
        Graph g(test_heap());
        const Shape s = {64, 96};
        const ValueId x = named(g, "x", s), y = norm_of(g, x), w = g.parameter("w", {96, 96}, {});
        const ValueId product = g.apply(Op::matmul, {g.apply(Op::gelu_tanh, {y}), w});
        const ValueId soft = g.apply(Op::softmax, {g.apply(Op::softmax, {product})});
        const ValueId dz = g.apply(Op::matmul, {soft, w}, {number(Attr::transpose_b, 1)});
        const ValueId dy = g.apply(Op::gelu_tanh_grad, {y, dz});
        g.output("dx", g.apply(Op::layer_norm_grad, {dy, x, g.nodes[1].first_output, y + 1, y + 2}));
        const Graph result = run_passes(g, kAllPasses, test_heap());
        for (const Node& node : result.nodes)
            if (node.op == Op::fused_rows && node.inputs[0] == result.nodes[0].first_output)
                is_kept = is_kept || node.output_count > 3;
        is_kept = is_kept || count(result, Op::layer_norm) != 1 || count(result, Op::sub) != 1;
        is_same = evaluated_bits(result, 7, Data::plain) == evaluated_bits(g, 7, Data::plain);
    }
    assert_false(is_kept);
    assert_true(is_same);
}

// Of a body of two results, one of which is read, what the other one needs is left out where it grows.
void test_what_nobody_reads_is_left_out_of_bodies(void**) {
    std::string operators;
    {
        Graph graph(test_heap());
        const ValueId x = graph.input("x", DType::f32, {4});
        Body body{Allocator(test_heap())};
        for (const Op name : {Op::exp, Op::abs}) {
            BodyOp& added = body.ops.emplace_back();
            added.op = name;
            added.inputs.push_back(~0);
        }
        body.results = {0, 1};
        const ValueId both = graph.apply(Op::fused, &x, 1, nullptr, 0, Phase::each, &body);
        graph.output("y", graph.apply(Op::tanh, {both + 1}));
        const Graph result = run_passes(graph, kAllPasses, test_heap());
        for (const Node& node : result.nodes)
            for (const BodyOp& each : node.body.ops) (operators += op_row(each.op).name) += ' ';
    }
    const bool right = operators == "abs tanh ";
    if (!right) print_error("%s\n", operators.c_str());
    operators = std::string();
    assert_true(right);
}

// A body is never larger than a kernel can be, however long the chain and however many the operands.
void test_bodies_stay_small(void**) {
    std::size_t most_ops = 0, most_inputs = 0, most_results = 0;
    {
        Graph graph(test_heap());
        ValueId chain = graph.input("x", DType::f32, {4}), wide = chain, first = chain;
        for (int i = 0; i < 100; ++i) chain = graph.apply(Op::tanh, {chain});
        for (int i = 0; i < 60; ++i) {
            const std::string name = "p" + std::to_string(i);
            wide = graph.apply(Op::add, {wide, graph.parameter(name.c_str(), {4}, {})});
        }
        for (int i = 0; i < 9; ++i) {
            first = graph.apply(Op::exp, {first});
            graph.output(("y" + std::to_string(i)).c_str(), first);
        }
        graph.output("chain", chain);
        graph.output("wide", wide);
        const Graph result = run_passes(graph, kAllPasses, test_heap());
        for (const Node& node : result.nodes) {
            if (node.op != Op::fused) continue;
            most_ops = std::max(most_ops, node.body.ops.size());
            most_inputs = std::max(most_inputs, node.inputs.size());
            most_results = std::max(most_results, node.body.results.size());
        }
    }
    assert_int_equal(most_ops, 32);
    assert_int_equal(most_inputs, 16);
    assert_int_equal(most_results, 4);
}

// Broken by hand: a pass that gives the wrong shape to a value.
Graph break_shape(const Graph& graph, std::pmr::memory_resource* heap) {
    Graph result(graph, heap);
    result.values.back().shape = {1, 2, 3};
    return result;
}

void test_a_broken_pass_is_named(void**) {
    Graph graph(test_heap());
    graph.output("y", graph.apply(Op::neg, {graph.input("x", DType::f32, {4})}));
    const PassRow row = {"break_shape", break_shape, ""};
    const Failure pass = failure_of([&] { run_pass(row, graph, test_heap()); });
    const Failure input = failure_of([&] { run_passes(break_shape(graph, test_heap()), 0, test_heap()); });
    assert_failure(pass, VOLTA_INTERNAL, "pass break_shape: graph: node 1 (neg)");
    assert_failure(input, VOLTA_INTERNAL, "graph: node 1 (neg)");
}

void test_divergence_names_pass_and_node(void**) {
    Graph graph(test_heap());
    const ValueId x = graph.input("x", DType::f32, {4});
    graph.output("y", graph.apply(Op::neg, {graph.apply(Op::neg, {graph.apply(Op::exp, {x})})}));
    const std::string same(first_divergence(graph, kAllPasses, kAllPasses, test_heap()));
    const std::string other(first_divergence(graph, kAllPasses, kAllPasses & ~2u, test_heap()));
    assert_string_equal(same.c_str(), "");
    assert_string_equal(other.c_str(), "after simplify: \"output \"y\" = %1\" or \"%3 = neg(%2) : f32[4]\"");
}

// A copy of a parameter from before the update is not replaced by the parameter.
void test_copies_of_updated_parameters_stay(void**) {
    Graph graph(test_heap());
    const ValueId w = graph.parameter("w", {4}, {}), v = graph.state("w/v", DType::f32, {4});
    const ValueId g = graph.input("step/g", DType::f32, {4}),
                  factors = graph.input("step/factors", DType::f32, {3});
    const ValueId copy = graph.apply(Op::mul, {w, graph.scalar(1)});
    graph.output("before", copy);
    graph.apply(Op::sgd, {w, g, v, factors, graph.scalar(1)}, {}, Phase::update);
    const Failure failure = failure_of([&] { run_passes(graph, kAllPasses, test_heap()); });
    assert_string_equal(failure.text, "");
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_forbidden_rewrites_are_not_made),
        cmocka_unit_test(test_an_add_does_not_become_into),
        cmocka_unit_test(test_equal_nodes_merge_and_no_others),
        cmocka_unit_test(test_random_nodes_never_merge),
        cmocka_unit_test(test_other_transposes_stay_before_products),
        cmocka_unit_test(test_batch_norm_fuses_with_what_follows),
        cmocka_unit_test(test_phases_do_not_fuse),
        cmocka_unit_test(test_folded_constants_are_small_and_canonical),
        cmocka_unit_test(test_ids_are_not_followed),
        cmocka_unit_test(test_tables_of_angles_become_one_constant),
        cmocka_unit_test(test_tables_of_given_frequencies_are_folded),
        cmocka_unit_test(test_tables_have_the_rows_that_are_read),
        cmocka_unit_test(test_gated_activations_are_computed_again),
        cmocka_unit_test(test_nothing_is_kept_to_compute_again),
        cmocka_unit_test(test_products_that_stay_bare),
        cmocka_unit_test(test_operands_of_epilogues),
        cmocka_unit_test(test_epilogues_of_convolutions),
        cmocka_unit_test(test_losses_in_pieces),
        cmocka_unit_test(test_weight_gradients_that_pair),
        cmocka_unit_test(test_rows_that_become_one_kernel),
        cmocka_unit_test(test_normalised_rows_are_not_kept),
        cmocka_unit_test(test_what_nobody_reads_is_left_out_of_bodies),
        cmocka_unit_test(test_bodies_stay_small),
        cmocka_unit_test(test_a_broken_pass_is_named),
        cmocka_unit_test(test_divergence_names_pass_and_node),
        cmocka_unit_test(test_copies_of_updated_parameters_stay),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
