// The Llama graph: its structure to the letter, its parameters, and which sizes it refuses.
#include "engine/model/llama.h"

#include <cmath>
#include <string>

#include "engine/graph/verify.h"
#include "engine/model/decoder.h"
#include "tests/model/expect_error.h"
#include "tests/model/test_heap.h"
#include "tests/support/tensors.h"

namespace {
using namespace volta;
using namespace volta::test;

LlamaConfig small() {
    LlamaConfig config;
    config.vocabulary = 11;
    config.layers = 1;
    config.dim = 16;
    config.heads = 4;
    config.kv_heads = 2;
    config.hidden = 24;
    config.context = 8;
    return config;
}

const Node* find(const Graph& graph, Op op) {
    for (const Node& node : graph.nodes)
        if (node.op == op) return &node;
    return nullptr;
}

void test_the_graph_is_the_documented_one(void**) {
    TestHeap heap;
    LlamaConfig config = small();
    config.rope_base = 500000;
    config.epsilon = 1e-6;
    config.interleaved = true;
    const Graph graph = build_llama(config, heap.structures());
    verify(graph);
    const char* const operators[] = {
        "position_ids", "rotary_table", "gather", "rms_norm", "matmul", "rotary", "attention", "matmul",
        "add",          "rms_norm",     "matmul", "swiglu",   "matmul", "add",    "rms_norm",  "matmul"};
    std::size_t next = 0;
    for (const Node& node : graph.nodes) {
        if (op_row(node.op).lowering == Lowering::source) continue;
        assert_true(next < std::size(operators));
        assert_string_equal(op_row(node.op).name, operators[next++]);
    }
    assert_int_equal(next, std::size(operators));
    assert_int_equal(graph.outputs.size(), 1);
    assert_string_equal(graph.outputs[0].name.c_str(), "logits");

    const Node &table = *find(graph, Op::rotary_table), &rotary = *find(graph, Op::rotary);
    const bool angles = table.number(Attr::limit) == 8 && table.number(Attr::width) == 4 &&
                        table.number(Attr::base) == 500000;
    assert_true(angles);
    assert_true(rotary.number(Attr::heads) == 6 && rotary.flag(Attr::interleaved));  // of q and of k
    const Node& attention = *find(graph, Op::attention);
    const bool grouped = attention.number(Attr::heads) == 4 && attention.number(Attr::kv_heads) == 2 &&
                         attention.flag(Attr::packed) && attention.flag(Attr::causal);
    assert_true(grouped);
    assert_true(find(graph, Op::rms_norm)->number(Attr::epsilon) == 1e-6);
}

// The operators between the two products of a feed-forward part that is not gated.
std::string activation_of(const DecoderConfig& config, std::pmr::memory_resource* heap) {
    const Graph graph = build_decoder(complete(config), "decoder", heap);
    verify(graph);
    const ValueId first = graph.find_source("block.0.fc.weight"),
                  second = graph.find_source("block.0.fc_proj.weight");
    std::string between;
    bool is_between = false;
    for (const Node& node : graph.nodes) {
        if (node.op == Op::matmul && node.inputs[1] == second) break;
        if (is_between && op_row(node.op).lowering != Lowering::source)
            (between += op_row(node.op).name) += ' ';
        is_between = is_between || (node.op == Op::matmul && node.inputs[1] == first);
    }
    return between;
}

void test_a_decoders_activation_is_the_one_asked_for(void**) {
    TestHeap heap;
    const struct {
        DecoderActivation activation;
        const char* operators;
    } rows[] = {
        {DecoderActivation::gelu_tanh, "gelu_tanh "},
        {DecoderActivation::gelu_erf, "gelu_erf "},
        {DecoderActivation::silu, "silu "},
        {DecoderActivation::relu, "relu "},
        {DecoderActivation::tanh, "tanh "},
        {DecoderActivation::gelu_sigmoid, "mul sigmoid mul "},  // x sigmoid(1.702 x)
        {DecoderActivation::relu_squared, "relu mul "},
    };
    DecoderConfig config = decoder_of(complete(small()));
    config.gated = false;
    for (const auto& row : rows) {
        config.activation = row.activation;
        const std::string found = activation_of(config, heap.structures());
        assert_string_equal(found.c_str(), row.operators);
    }
    const Graph graph = [&] {
        config.activation = DecoderActivation::gelu_sigmoid;
        return build_decoder(complete(config), "decoder", heap.structures());
    }();
    std::pmr::vector<float> factor(heap.structures());
    assert_true(graph.read_constant(graph.producer(find(graph, Op::sigmoid)->inputs[0]).inputs[1], factor));
    assert_true(factor[0] == 1.702f);
}

// Without a bias a norm adds zeros, and has a weight of its own.
void test_a_norm_without_a_bias_adds_nothing(void**) {
    TestHeap heap;
    DecoderConfig config = decoder_of(complete(small()));
    config.norm = DecoderNorm::layer_without_bias;
    const Graph graph = build_decoder(complete(config), "decoder", heap.structures());
    verify(graph);
    const Node& norm = *find(graph, Op::layer_norm);
    std::pmr::vector<float> bias(heap.structures());
    assert_int_equal(norm.inputs[1], graph.find_source("block.0.norm1.weight"));
    assert_true(graph.read_constant(norm.inputs[2], bias));
    assert_true(bias == std::pmr::vector<float>(16, 0.0f));
    assert_int_equal(graph.find_source("block.0.norm1.bias"), -1);
}

void test_parameters_have_their_names_and_shapes(void**) {
    TestHeap heap;
    LlamaConfig config = small();
    config.tied = false;
    const auto model = create_llama(config, 1, heap.structures(), heap.tensors());
    const struct {
        const char* name;
        Shape shape;
    } expected[] = {
        {"token_embedding", {11, 16}},     {"block.0.norm1.weight", {16}},
        {"block.0.qkv.weight", {16, 32}},  {"block.0.proj.weight", {16, 16}},
        {"block.0.norm2.weight", {16}},    {"block.0.gate_up.weight", {16, 48}},
        {"block.0.down.weight", {24, 16}}, {"norm_final.weight", {16}},
        {"head.weight", {11, 16}},
    };
    assert_int_equal(model->parameters.size(), std::size(expected));
    for (std::size_t i = 0; i < std::size(expected); ++i) {
        assert_string_equal(model->parameters[i].name.c_str(), expected[i].name);
        assert_true(model->parameters[i].shape == expected[i].shape);
    }
    config.tied = true;
    const Graph tied = build_llama(config, heap.structures());
    assert_true(tied.find_source("head.weight") < 0);
    assert_int_equal(tied.producer(tied.outputs[0].value).inputs[1], tied.find_source("token_embedding"));
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
    LlamaConfig config = small();
    config.dim = 64;
    config.layers = 2;
    config.vocabulary = 256;
    config.tied = false;
    const auto model = create_llama(config, 1, heap.structures(), heap.tensors());
    for (const NamedTensor& parameter : model->parameters) {
        const std::string name(parameter.name);
        const bool is_norm = name.find("norm") != name.npos;
        const bool is_residual =
            name.find("proj.weight") != name.npos || name.find("down.weight") != name.npos;
        const double expected = is_norm ? 1 : is_residual ? 0.01 : 0.02;
        if (std::fabs(deviation(parameter) - expected) > 0.0015) print_error("%s\n", name.c_str());
        assert_true(std::fabs(deviation(parameter) - expected) <= 0.0015);
    }
}

void test_metadata_says_what_it_is(void**) {
    TestHeap heap;
    LlamaConfig config = small();
    config.kv_heads = config.hidden = 0;
    config.epsilon = 1e-6;
    const auto model = create_llama(config, 1, heap.structures(), heap.tensors());
    const struct {
        const char *key, *value;
    } expected[] = {{"volta.architecture", "llama"},    {"volta.llama.vocabulary", "11"},
                    {"volta.llama.layers", "1"},        {"volta.llama.dim", "16"},
                    {"volta.llama.heads", "4"},         {"volta.llama.kv_heads", "4"},
                    {"volta.llama.hidden", "64"},       {"volta.llama.context", "8"},
                    {"volta.llama.tied", "1"},          {"volta.llama.interleaved", "0"},
                    {"volta.llama.rope_base", "10000"}, {"volta.llama.epsilon", "1e-06"}};
    assert_int_equal(model->metadata.size(), std::size(expected));
    for (const auto& row : expected) assert_string_equal(model->find_metadata(row.key)->c_str(), row.value);
    config.dim = 384;
    assert_int_equal(complete(config).hidden, 1024);  // 8/3 of it, as it is
    config.dim = 32;
    assert_int_equal(complete(config).hidden, 96);  // the multiple of 32 above 85
}

void test_wrong_sizes_are_named(void**) {
    TestHeap heap;
    const auto failure = [&](auto change) {
        LlamaConfig config = small();
        change(config);
        const Failure result = failure_of([&] { build_llama(config, heap.structures()); });
        assert_int_equal(result.status, VOLTA_INVALID_ARGUMENT);
        return result;
    };
    assert_true(failure([](LlamaConfig& c) { c.vocabulary = 0; }).mentions("vocabulary is 0"));
    assert_true(failure([](LlamaConfig& c) { c.hidden = -1; }).mentions("hidden is -1"));
    assert_true(failure([](LlamaConfig& c) { c.kv_heads = 5; }).mentions("kv_heads is 5"));
    assert_true(
        failure([](LlamaConfig& c) { c.kv_heads = 3; }).mentions("heads 4 is not a multiple of kv_heads 3"));
    assert_true(failure([](LlamaConfig& c) { c.heads = 3; }).mentions("dim 16 is not a multiple of heads 3"));
    assert_true(failure([](LlamaConfig& c) { c.heads = 16; }).mentions("a head of 1 elements"));
    assert_true(failure([](LlamaConfig& c) { c.context = 1048577; }).mentions("context is 1048577"));
    assert_true(failure([](LlamaConfig& c) { c.rope_base = 0.5; }).mentions("rope_base is 0.5"));
    assert_true(failure([](LlamaConfig& c) { c.rope_base = std::nan(""); }).mentions("rope_base is nan"));
    assert_true(failure([](LlamaConfig& c) { c.epsilon = -1; }).mentions("epsilon is -1"));
    assert_true(failure([](LlamaConfig& c) { c.dim = 1 << 20; }).mentions("dim / heads is 262144"));
    assert_true(failure([](LlamaConfig& c) {
                    c.heads = 32768, c.kv_heads = 0;
                    c.dim = c.heads * 65534;
                }).mentions("too large"));
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_the_graph_is_the_documented_one),
        cmocka_unit_test(test_a_decoders_activation_is_the_one_asked_for),
        cmocka_unit_test(test_a_norm_without_a_bias_adds_nothing),
        cmocka_unit_test(test_parameters_have_their_names_and_shapes),
        cmocka_unit_test(test_parameters_start_as_documented),
        cmocka_unit_test(test_metadata_says_what_it_is),
        cmocka_unit_test(test_wrong_sizes_are_named),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
