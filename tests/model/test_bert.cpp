// The BERT graph: its structure to the letter, its parameters, and which sizes it refuses.
#include "engine/model/bert.h"

#include <cmath>
#include <string>
#include <vector>

#include "engine/graph/print.h"
#include "engine/graph/verify.h"
#include "engine/model/gpt.h"
#include "engine/model/hidden_states.h"
#include "tests/model/expect_error.h"
#include "tests/model/test_heap.h"
#include "tests/support/tensors.h"

namespace {
using namespace volta;
using namespace volta::test;

BertConfig small(BertHead head) {
    BertConfig config;
    config.vocabulary = 11;
    config.layers = 1;
    config.dim = 16;
    config.heads = 4;
    config.hidden = 24;
    config.context = 8;
    config.segments = 3;
    config.head = head;
    if (head == BertHead::classes) config.classes = 5;
    return config;
}

using Names = std::vector<std::string>;

void expect_operators(const Graph& graph, const Names& expected) {
    Names found;
    for (const Node& node : graph.nodes)
        if (op_row(node.op).lowering != Lowering::source) found.push_back(op_row(node.op).name);
    for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i)
        assert_string_equal(found[i].c_str(), expected[i].c_str());
    assert_int_equal(found.size(), expected.size());
}

Names joined(std::initializer_list<Names> parts) {
    Names all;
    for (const Names& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
}

const Names kEmbedding = {"gather", "slice", "add", "position_ids", "gather", "add", "layer_norm"};
const Names kQkv = {"matmul", "add"};
const Names kBranches = {"matmul",   "add",    "add", "layer_norm", "matmul",    "add",
                         "gelu_erf", "matmul", "add", "add",        "layer_norm"};
const Names kMasked = {"matmul", "add", "gelu_erf", "layer_norm", "matmul", "add"};
const Names kPooled = {"slice", "reshape", "matmul", "add", "tanh"};

void test_the_graph_is_the_documented_one(void**) {
    TestHeap heap;
    const Graph graph = build_bert(small(BertHead::masked), heap.structures());
    verify(graph);
    expect_operators(graph, joined({kEmbedding, kQkv, {"attention"}, kBranches, kMasked}));
    assert_int_equal(graph.outputs.size(), 1);
    assert_string_equal(graph.outputs[0].name.c_str(), "logits");
    for (const Node& node : graph.nodes) {
        if (node.op == Op::attention) assert_true(!node.flag(Attr::causal) && node.number(Attr::heads) == 4);
        if (node.op == Op::layer_norm) assert_true(node.number(Attr::epsilon) == 1e-12);
    }
}

void test_heads_give_what_they_say(void**) {
    TestHeap heap;
    const struct {
        BertHead head;
        const char* output;
        Shape shape;
        Names operators;
    } rows[] = {
        {BertHead::masked, "logits", {1, 1, 11}, kMasked},
        {BertHead::classes, "logits", {1, 5}, joined({kPooled, {"matmul", "add"}})},
        {BertHead::pooled, "pooled", {1, 16}, kPooled},
        {BertHead::hidden, "hidden", {1, 1, 16}, {}},
    };
    for (const auto& row : rows) {
        const Graph graph = build_bert(small(row.head), heap.structures());
        verify(graph);
        expect_operators(graph, joined({kEmbedding, kQkv, {"attention"}, kBranches, row.operators}));
        assert_string_equal(graph.outputs[0].name.c_str(), row.output);
        assert_true(graph.shape(graph.outputs[0].value) == row.shape);
    }
}

void test_inputs_are_those_asked_for(void**) {
    TestHeap heap;
    BertConfig config = small(BertHead::hidden);
    config.segment_input = config.mask_input = true;
    const Graph graph = build_bert(config, heap.structures());
    verify(graph);
    Names embedding = kEmbedding;
    embedding[1] = "gather";
    const Names head = {"slice", "reshape", "transpose"};
    const Names spelt = {"matmul", "mul", "where", "softmax", "matmul", "transpose", "reshape"};
    expect_operators(graph, joined({{"reshape"}, embedding, kQkv, head, head, head, spelt, kBranches}));
    Names inputs;
    for (const SourceInfo& source : graph.sources)
        if (graph.node(source.node).op == Op::input) inputs.push_back(graph.node(source.node).name.c_str());
    assert_true(inputs == (Names{"tokens", "segments", "mask"}));
}

void test_dropout_stands_where_it_is_documented(void**) {
    TestHeap heap;
    for (const bool mask : {false, true}) {
        BertConfig config = small(BertHead::classes);
        config.mask_input = mask;
        const auto plain = print(build_bert(config, heap.structures()), heap.structures());
        config.dropout = 0.1;
        const Graph graph = build_bert(config, heap.structures());
        verify(graph);
        std::vector<double> streams;
        for (const Node& node : graph.nodes)
            if (op_row(node.op).random && node.number(Attr::probability) > 0)
                streams.push_back(node.number(Attr::stream));
        assert_true(streams == (std::vector<double>{0, 1, 2, 3, 4}));  // each random node has its own
        assert_true(print(without_dropout(graph, heap.structures()), heap.structures()) == plain);
    }
}

void test_parameters_have_their_names_and_shapes(void**) {
    TestHeap heap;
    struct Row {
        const char* name;
        Shape shape;
    };
    const Row shared[] = {
        {"token_embedding", {11, 16}},   {"segment_embedding", {3, 16}},
        {"position_embedding", {8, 16}}, {"norm_embedding.weight", {16}},
        {"norm_embedding.bias", {16}},   {"block.0.qkv.weight", {16, 48}},
        {"block.0.qkv.bias", {48}},      {"block.0.proj.weight", {16, 16}},
        {"block.0.proj.bias", {16}},     {"block.0.norm1.weight", {16}},
        {"block.0.norm1.bias", {16}},    {"block.0.fc.weight", {16, 24}},
        {"block.0.fc.bias", {24}},       {"block.0.fc_proj.weight", {24, 16}},
        {"block.0.fc_proj.bias", {16}},  {"block.0.norm2.weight", {16}},
        {"block.0.norm2.bias", {16}},
    };
    const std::vector<Row> heads[] = {{{"transform.weight", {16, 16}},
                                       {"transform.bias", {16}},
                                       {"norm_transform.weight", {16}},
                                       {"norm_transform.bias", {16}},
                                       {"head.bias", {11}}},
                                      {{"pooler.weight", {16, 16}},
                                       {"pooler.bias", {16}},
                                       {"classifier.weight", {16, 5}},
                                       {"classifier.bias", {5}}},
                                      {{"pooler.weight", {16, 16}}, {"pooler.bias", {16}}},
                                      {}};
    for (int head = 0; head < 4; ++head) {
        const auto model =
            create_bert(small(static_cast<BertHead>(head)), 1, heap.structures(), heap.tensors());
        std::vector<Row> expected(std::begin(shared), std::end(shared));
        expected.insert(expected.end(), heads[head].begin(), heads[head].end());
        assert_int_equal(model->parameters.size(), expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i) {
            assert_string_equal(model->parameters[i].name.c_str(), expected[i].name);
            assert_true(model->parameters[i].shape == expected[i].shape);
        }
    }
}

void test_metadata_says_what_it_is(void**) {
    TestHeap heap;
    BertConfig config = small(BertHead::classes);
    config.hidden = 0;
    config.mask_input = true;
    const auto model = create_bert(config, 1, heap.structures(), heap.tensors());
    const struct {
        const char *key, *value;
    } expected[] = {
        {"volta.architecture", "bert"}, {"volta.bert.vocabulary", "11"},   {"volta.bert.layers", "1"},
        {"volta.bert.dim", "16"},       {"volta.bert.heads", "4"},         {"volta.bert.hidden", "64"},
        {"volta.bert.context", "8"},    {"volta.bert.segments", "3"},      {"volta.bert.head", "1"},
        {"volta.bert.classes", "5"},    {"volta.bert.segment_input", "0"}, {"volta.bert.mask_input", "1"},
        {"volta.bert.dropout", "0"},    {"volta.bert.epsilon", "1e-12"}};
    assert_int_equal(model->metadata.size(), std::size(expected));
    for (const auto& row : expected) assert_string_equal(model->find_metadata(row.key)->c_str(), row.value);
}

// The norm before the head is found by what the metadata say; where they say what is not so, that is told.
void test_states_of_what_is_no_bert_are_refused(void**) {
    TestHeap heap;
    const auto refused = [&](const char* key, const char* value) {
        const auto model = create_bert(small(BertHead::masked), 1, heap.structures(), heap.tensors());
        model->set_metadata(key, value);
        return failure_of([&] { hidden_states(*model, heap.structures(), heap.tensors()); });
    };
    for (const char* layers : {static_cast<const char*>(nullptr), "0", "many"}) {
        const Failure failure = refused("volta.bert.layers", layers);
        assert_int_equal(failure.status, VOLTA_UNSUPPORTED);
        assert_true(failure.mentions("the model says it is a bert, but not of how many layers"));
    }
    const Failure more = refused("volta.bert.layers", "2");
    assert_int_equal(more.status, VOLTA_UNSUPPORTED);
    assert_true(
        more.mentions("the model says it is a bert, but has no norm with the weight 'block.1.norm2.weight'"));
    assert_true(refused("volta.architecture", "gpt").mentions("says it is a gpt, but has no norm"));
}

void test_wrong_sizes_are_named(void**) {
    TestHeap heap;
    const auto failure = [&](auto change) {
        BertConfig config = small(BertHead::masked);
        change(config);
        const Failure result = failure_of([&] { build_bert(config, heap.structures()); });
        assert_int_equal(result.status, VOLTA_INVALID_ARGUMENT);
        return result;
    };
    assert_true(failure([](BertConfig& c) { c.vocabulary = 0; }).mentions("vocabulary is 0"));
    assert_true(failure([](BertConfig& c) { c.heads = 3; }).mentions("dim 16 is not a multiple of heads 3"));
    assert_true(failure([](BertConfig& c) { c.hidden = -1; }).mentions("hidden is -1"));
    assert_true(failure([](BertConfig& c) { c.segments = -1; }).mentions("segments is -1"));
    assert_true(failure([](BertConfig& c) { c.head = static_cast<BertHead>(5); }).mentions("head is 5"));
    assert_true(
        failure([](BertConfig& c) { c.classes = 2; }).mentions("classes is 2; it must be from 0 to 0"));
    assert_true(failure([](BertConfig& c) { c.head = BertHead::classes; }).mentions("classes is 0"));
    assert_true(failure([](BertConfig& c) { c.dropout = 1; }).mentions("dropout is 1"));
    assert_true(failure([](BertConfig& c) { c.epsilon = std::nan(""); }).mentions("epsilon is nan"));
    assert_true(
        failure([](BertConfig& c) { c.dim = 1 << 30, c.hidden = 0; }).mentions("hidden is 4294967296"));
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_the_graph_is_the_documented_one),
        cmocka_unit_test(test_heads_give_what_they_say),
        cmocka_unit_test(test_inputs_are_those_asked_for),
        cmocka_unit_test(test_dropout_stands_where_it_is_documented),
        cmocka_unit_test(test_parameters_have_their_names_and_shapes),
        cmocka_unit_test(test_metadata_says_what_it_is),
        cmocka_unit_test(test_states_of_what_is_no_bert_are_refused),
        cmocka_unit_test(test_wrong_sizes_are_named),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
