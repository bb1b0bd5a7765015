// The text of graphs: stable, complete, independent of the locale; and the generated page of operators.
#include <algorithm>
#include <clocale>
#include <fstream>
#include <sstream>

#include "tests/graph/graphs.h"

namespace {
using namespace volta;
using namespace volta::test;

const char kGolden[] =
    R"(%0 = input "tokens" {declared=[-1, -1]} : i32[1, 1]
%1 = parameter "table \x221\x22\x0a" {init=normal(0.02), stream=0} : f32[16, 8]
%2 = parameter "scale" {init=uniform(-0.1, 1), stream=1} : f32[8]
%3 = parameter "bias" {init=constant(0), stream=2} : f32[8]
%4 = state "moment" : f32[8]
%5 = constant : f32[2] = 3f000000 80000000
%6 = gather(%1, %0) : f32[1, 1, 8]
%7, %8, %9 = layer_norm "norm"(%6, %2, %3) {epsilon=1e-05} : f32[1, 1, 8], f32[1, 1], f32[1, 1]
%10 = matmul(%7, %1) {transpose_b=1} : f32[1, 1, 16]
%11, %12, %13 = attention(%7, %7, %7) {heads=2, causal=0, scale=0.3333333333333333} : f32[1, 1, 8], f32[1, 2, 1], f32[1, 2, 1]
%14 = sum(%11) {axes=[0, 1], accumulate=1} : f32[8]
%15, %16 = fused(%14, %3) [0 = add(in0, in1); 1 = pow(0) {exponent=0}; results 1, 0] : f32[8], f32[8]
%17 = slice(%10) {begin=-1} : f32[1, 1, 16]
%18 = square_sum(%14) : f32[] @reduce
%19 = reshape(%18) {shape=[1]} : f32[1] @reduce
output "logits" = %10
)";

Graph build_golden() {
    Graph g(heap());
    const ValueId tokens = g.input("tokens", DType::i32, {-1, -1});
    const ValueId table = g.parameter("table \"1\"\n", {16, 8}, {VOLTA_INIT_NORMAL, 0.02, 0});
    const ValueId scale = g.parameter("scale", {8}, {VOLTA_INIT_UNIFORM, -0.1, 1});
    const ValueId bias = g.parameter("bias", {8}, {});
    g.state("moment", DType::f32, {8});
    const float values[] = {0.5f, -0.0f};
    g.constant(DType::f32, {2}, values);
    const ValueId x = g.apply(Op::gather, {table, tokens});
    Node norm(heap());
    norm.op = Op::layer_norm;
    norm.name = "norm";
    norm.inputs.assign({x, scale, bias});
    const ValueId y = g.apply(std::move(norm));
    const ValueId logits = g.apply(Op::matmul, {y, table}, {number(Attr::transpose_b, 1)});
    const ValueId mixed =
        g.apply(Op::attention, {y, y, y},
                {number(Attr::heads, 2), number(Attr::causal, 0), number(Attr::scale, 1.0 / 3)});
    const ValueId sum = g.apply(Op::sum, {mixed}, {list(Attr::axes, {0, 1}), number(Attr::accumulate, 1)});
    Body body{Allocator(heap())};
    body.ops.emplace_back();
    body.ops.back().op = Op::add;
    body.ops.back().inputs.assign({~0, ~1});
    body.ops.emplace_back();
    body.ops.back().op = Op::pow;
    body.ops.back().inputs.assign({0});
    body.ops.back().attributes.assign({number(Attr::exponent, 0)});
    body.results.assign({1, 0});
    const ValueId inputs[] = {sum, bias};
    g.apply(Op::fused, inputs, 2, nullptr, 0, Phase::each, &body);
    g.apply(Op::slice, {logits}, {number(Attr::begin, -1)});
    const ValueId square = g.apply(Op::square_sum, {sum}, {}, Phase::reduce);
    g.apply(Op::reshape, {square}, {list(Attr::shape, {1})}, Phase::reduce);
    g.output("logits", logits);
    return g;
}

void test_a_graph_prints_as_this_text(void**) {
    const Graph graph = build_golden();
    verify(graph);
    assert_text("golden", print(graph, heap()).c_str(), kGolden);
}

void test_the_locale_does_not_show(void**) {
    const char* names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE"};
    for (const char* name : names) std::setlocale(LC_ALL, name);  // whichever this machine has
    const std::pmr::string text = print(build_golden(), heap());
    std::setlocale(LC_ALL, "C");
    assert_text("locale", text.c_str(), kGolden);
}

// One change each; every one must show.
void test_different_graphs_have_different_texts(void**) {
    void (*const kChanges[])(Graph&) = {
        [](Graph& g) { g.nodes[7].attributes[0].number = std::nextafter(1e-5, 1.0); },
        [](Graph& g) { g.nodes[8].attributes[1].number = 0; },
        [](Graph& g) { g.nodes[9].attributes[2].number = 1; },  // causal
        [](Graph& g) { g.nodes[7].name = "norm2"; },
        [](Graph& g) { g.nodes[6].inputs[0] = 2; },
        [](Graph& g) { g.nodes[11].body.results[0] = 0; },
        [](Graph& g) { g.nodes[11].body.ops[0].inputs[0] = ~1; },
        [](Graph& g) { g.nodes[11].body.ops[1].attributes[0].number = -0.0; },
        [](Graph& g) { g.nodes[13].phase = Phase::update; },
        [](Graph& g) { g.constants[0][1] = 0; },
        [](Graph& g) { g.sources[1].stream = 7; },
        [](Graph& g) { g.sources[2].init.b = 2; },
        [](Graph& g) {
            g.sources[0].declared = {-1, 1};
        },
        [](Graph& g) { g.values[4].dtype = DType::i32; },
        [](Graph& g) {
            g.values[4].shape = {4, 2};
        },
        [](Graph& g) { g.outputs[0].value = 7; },
        [](Graph& g) { g.outputs[0].name = "other"; },
    };
    for (auto change : kChanges) {
        Graph graph = build_golden();
        change(graph);
        const bool shows = print(graph, heap()) != kGolden;
        assert_true(shows);
    }
}

void test_the_page_of_operators_is_the_table(void**) {
    std::ifstream file("../docs/operators.md");
    std::stringstream content;
    content << file.rdbuf();
    const bool equal = content.str() == print_operator_table(heap()).c_str();
    if (!equal) print_error("docs/operators.md is stale: print_operators > docs/operators.md\n");
    assert_true(equal);
}

// Complete in full, and short where it is kept and shown; equal bits, equal text.
void test_long_constants_are_shortened_on_demand(void**) {
    const auto text_of = [](float last, bool shortened) {
        std::vector<float> values(1025, 0.5f);
        values.back() = last;
        Graph graph(heap());
        graph.constant(DType::f32, {1025}, values.data());
        graph.constant(DType::f32, {1024}, values.data());
        return shortened ? print_shortened(graph, heap()) : print(graph, heap());
    };
    const std::pmr::string full = text_of(1, false), hashed = text_of(1, true);
    assert_int_equal(std::count(full.begin(), full.end(), ' '), 2 * 5 + 1025 + 1024);
    assert_int_equal(std::count(hashed.begin(), hashed.end(), ' '), 2 * 5 + 2 + 1024);
    assert_true(hashed.find("= xxh3 ") != hashed.npos);
    assert_true(text_of(2, true) != hashed && text_of(1, true) == hashed);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_a_graph_prints_as_this_text),
        cmocka_unit_test(test_the_locale_does_not_show),
        cmocka_unit_test(test_different_graphs_have_different_texts),
        cmocka_unit_test(test_long_constants_are_shortened_on_demand),
        cmocka_unit_test(test_the_page_of_operators_is_the_table),
    };
    return cmocka_run_group_tests_name("print", tests, nullptr, nullptr);
}
