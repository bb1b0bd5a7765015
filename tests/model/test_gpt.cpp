// The GPT graph: its structure to the letter, its parameters, and what inference makes of its dropout.
#include "engine/graph/step_input.h"
#include "engine/model/gpt.h"

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "engine/graph/print.h"
#include "engine/graph/verify.h"
#include "tests/model/expect_error.h"
#include "tests/model/test_heap.h"
#include "tests/support/tensors.h"

namespace {
using namespace volta;
using namespace volta::test;

GptConfig small(double dropout) {
    GptConfig config;
    config.vocabulary = 11;
    config.layers = 1;
    config.dim = 8;
    config.heads = 2;
    config.context = 4;
    config.dropout = dropout;
    return config;
}

void test_the_graph_is_the_documented_one(void**) {
    TestHeap heap;
    const Graph graph = build_gpt(small(0), heap.structures());
    verify(graph);
    const char* const operators[] = {"position_ids", "gather", "gather", "add", "layer_norm", "matmul", "add",
                                     "attention",    "matmul", "add",    "add", "layer_norm", "matmul", "add",
                                     "gelu_tanh",    "matmul", "add",    "add", "layer_norm", "matmul"};
    std::size_t next = 0;
    for (const Node& node : graph.nodes) {
        if (op_row(node.op).lowering == Lowering::source) continue;
        assert_true(next < std::size(operators));
        assert_string_equal(op_row(node.op).name, operators[next++]);
    }
    assert_int_equal(next, std::size(operators));
    assert_int_equal(graph.outputs.size(), 1);
    assert_string_equal(graph.outputs[0].name.c_str(), "logits");
}

void test_parameters_have_their_names_and_shapes(void**) {
    TestHeap heap;
    const auto model = create_gpt(small(0), 1, heap.structures(), heap.tensors());
    const struct {
        const char* name;
        Shape shape;
    } expected[] = {
        {"token_embedding", {11, 8}},        {"position_embedding", {4, 8}},
        {"block.0.norm1.weight", {8}},       {"block.0.norm1.bias", {8}},
        {"block.0.qkv.weight", {8, 24}},     {"block.0.qkv.bias", {24}},
        {"block.0.proj.weight", {8, 8}},     {"block.0.proj.bias", {8}},
        {"block.0.norm2.weight", {8}},       {"block.0.norm2.bias", {8}},
        {"block.0.fc.weight", {8, 32}},      {"block.0.fc.bias", {32}},
        {"block.0.fc_proj.weight", {32, 8}}, {"block.0.fc_proj.bias", {8}},
        {"norm_final.weight", {8}},          {"norm_final.bias", {8}},
    };
    assert_int_equal(model->parameters.size(), std::size(expected));
    for (std::size_t i = 0; i < std::size(expected); ++i) {
        assert_string_equal(model->parameters[i].name.c_str(), expected[i].name);
        assert_true(model->parameters[i].shape == expected[i].shape);
    }
}

double deviation(const NamedTensor& tensor) {
    double squares = 0;
    for (std::int64_t i = 0; i < tensor.shape.elements(); ++i) {
        const double x = static_cast<const float*>(tensor.data)[i];
        squares += x * x;
    }
    return std::sqrt(squares / static_cast<double>(tensor.shape.elements()));
}

void test_parameters_start_as_documented(void**) {
    TestHeap heap;
    GptConfig config = small(0);
    config.dim = 64;
    config.layers = 2;
    config.vocabulary = 256;
    const auto model = create_gpt(config, 1, heap.structures(), heap.tensors());
    for (const NamedTensor& parameter : model->parameters) {
        const std::string name(parameter.name);
        const bool is_bias = name.find("bias") != name.npos, is_norm = name.find("norm") != name.npos;
        const bool is_residual = name.find("proj.weight") != name.npos;  // proj and fc_proj
        const double expected = is_bias ? 0 : is_norm ? 1 : is_residual ? 0.01 : 0.02;
        if (std::fabs(deviation(parameter) - expected) > 0.0015) print_error("%s\n", name.c_str());
        assert_true(std::fabs(deviation(parameter) - expected) <= 0.0015);
    }
}

void test_metadata_says_what_it_is(void**) {
    TestHeap heap;
    const auto model = create_gpt(small(0.1), 1, heap.structures(), heap.tensors());
    assert_string_equal(model->find_metadata("volta.architecture")->c_str(), "gpt");
    assert_string_equal(model->find_metadata("volta.gpt.layers")->c_str(), "1");
    assert_string_equal(model->find_metadata("volta.gpt.context")->c_str(), "4");
    assert_string_equal(model->find_metadata("volta.gpt.vocabulary")->c_str(), "11");
    assert_string_equal(model->find_metadata("volta.gpt.dropout")->c_str(), "0.1");
}

// After the embedding, in attention, at the end of both branches; each with a stream of its own.
void test_dropout_stands_where_documented(void**) {
    TestHeap heap;
    GptConfig config = small(0.25);
    config.layers = 2;
    const Graph graph = build_gpt(config, heap.structures());
    verify(graph);
    std::vector<double> streams;
    std::string order;
    for (const Node& node : graph.nodes) {
        if (!op_row(node.op).random) continue;
        order += node.op == Op::attention ? 'a' : 'd';
        streams.push_back(node.number(Attr::stream));
        assert_true(node.number(Attr::probability) == 0.25);
        assert_string_equal(graph.producer(node.inputs.back()).name.c_str(), "step/random");
    }
    assert_string_equal(order.c_str(),
                        "dadd"
                        "add");
    for (std::size_t i = 0; i < streams.size(); ++i) assert_true(streams[i] == static_cast<double>(i));
}

void test_inference_is_the_graph_without_dropout(void**) {
    TestHeap heap;
    const Graph trained = build_gpt(small(0.25), heap.structures());
    const Graph plain = build_gpt(small(0), heap.structures());
    const Graph inference = without_dropout(trained, heap.structures());
    verify(inference);
    const std::pmr::string expected = print(plain, heap.structures()),
                           made = print(inference, heap.structures());
    if (expected != made) print_error("expected\n%s\ngot\n%s\n", expected.c_str(), made.c_str());
    assert_true(expected == made);
    const Graph again = without_dropout(inference, heap.structures());
    assert_true(print(again, heap.structures()) == expected);
    // Parameters keep the streams of their initial values.
    for (const SourceInfo& source : inference.sources)
        if (inference.node(source.node).op == Op::parameter) {
            const ValueId old = trained.find_source(inference.node(source.node).name.c_str());
            assert_int_equal(source.stream, trained.source(trained.value(old).producer).stream);
        }
}

void test_dropout_as_output_becomes_its_input(void**) {
    TestHeap heap;
    Graph graph(heap.structures());
    const ValueId x = graph.input("x", DType::f32, {-1, 4});
    const ValueId random = graph.input(name_of(StepInput::random), DType::i32, {3});
    const ValueId y = graph.apply(Op::dropout, {x, random}, {number(Attr::probability, 0.5)});
    graph.output("y", graph.apply(Op::dropout, {y, random}, {number(Attr::probability, 0.5)}));
    const Graph inference = without_dropout(graph, heap.structures());
    assert_int_equal(inference.nodes.size(), 1);
    assert_int_equal(inference.outputs[0].value, 0);
    assert_true(is_step_input(name_of(StepInput::random)));
    assert_false(is_step_input("steps"));
}

void test_wrong_sizes_are_named(void**) {
    TestHeap heap;
    const auto failure = [&](auto change) {
        GptConfig config = small(0);
        change(config);
        const Failure result = failure_of([&] { build_gpt(config, heap.structures()); });
        assert_int_equal(result.status, VOLTA_INVALID_ARGUMENT);
        return result;
    };
    assert_true(failure([](GptConfig& c) { c.vocabulary = 0; }).mentions("vocabulary is 0"));
    assert_true(failure([](GptConfig& c) { c.layers = -3; }).mentions("layers is -3"));
    assert_true(
        failure([](GptConfig& c) { c.context = INT64_MAX; }).mentions("context is 9223372036854775807"));
    assert_true(failure([](GptConfig& c) { c.heads = 3; }).mentions("dim 8 is not a multiple of heads 3"));
    assert_true(failure([](GptConfig& c) { c.dropout = 1; }).mentions("dropout is 1"));
    assert_true(failure([](GptConfig& c) { c.dropout = std::nan(""); }).mentions("dropout is nan"));
    assert_true(failure([](GptConfig& c) { c.dropout = -0.1; }).mentions("dropout"));
    assert_true(failure([](GptConfig& c) { c.dim = c.heads = 2147483647; }).mentions("too large"));
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_the_graph_is_the_documented_one),
        cmocka_unit_test(test_parameters_have_their_names_and_shapes),
        cmocka_unit_test(test_parameters_start_as_documented),
        cmocka_unit_test(test_metadata_says_what_it_is),
        cmocka_unit_test(test_dropout_stands_where_documented),
        cmocka_unit_test(test_inference_is_the_graph_without_dropout),
        cmocka_unit_test(test_dropout_as_output_becomes_its_input),
        cmocka_unit_test(test_wrong_sizes_are_named),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
