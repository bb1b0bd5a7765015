// A prompt whose last row alone wants logits: the rest of its rows end at the last attention.
#include "engine/runtime/logit_rows.h"

#include <map>
#include <set>
#include <string>

#include "engine/graph/verify.h"
#include "engine/model/gpt.h"
#include "engine/model/llama.h"
#include "engine/runtime/decode_graph.h"
#include "tests/model/test_heap.h"
#include "tests/support/cmocka_cpp.h"

namespace {
using namespace volta;
using namespace volta::test;

// The rows of every product that the output needs, by the name of its weight.
std::map<std::string, std::int64_t> rows_of_products(const Graph& graph) {
    std::set<ValueId> needed = {graph.outputs[0].value};
    std::map<std::string, std::int64_t> rows;
    for (NodeId id = static_cast<NodeId>(graph.nodes.size()) - 1; id >= 0; --id) {
        const Node& node = graph.node(id);
        bool is_needed = false;
        for (std::int32_t i = 0; i < node.output_count; ++i)
            is_needed = is_needed || needed.count(node.first_output + i) > 0;
        if (!is_needed) continue;
        needed.insert(node.inputs.begin(), node.inputs.end());
        if (node.op == Op::matmul)
            rows[graph.producer(node.inputs[1]).name.c_str()] = graph.shape(node.first_output).rows();
    }
    return rows;
}

DecodeShape eight_rows(std::int64_t logit_rows) {
    DecodeShape shape;
    shape.rows = 8;
    shape.logit_rows = logit_rows;
    return shape;
}

void test_the_last_block_of_a_gpt(void**) {
    TestHeap heap;
    GptConfig config;
    config.vocabulary = 40;
    config.layers = 2;
    config.dim = 32;
    config.heads = 2;
    config.context = 16;
    const Graph model = build_gpt(config, heap.structures());
    for (const std::int64_t wanted : {1, 3, 8}) {
        const Graph graph = decode_graph(model, eight_rows(wanted), heap.structures());
        verify(graph);
        const Shape expected{wanted, 40};
        assert_true(graph.shape(graph.outputs[0].value) == expected);
        auto rows = rows_of_products(graph);
        assert_int_equal(rows.size(), 9);
        for (const auto& row : rows) {
            const bool behind = row.first.rfind("block.1.", 0) == 0 && row.first != "block.1.qkv.weight";
            assert_int_equal(row.second, behind || row.first == "token_embedding" ? wanted : 8);
        }
    }
}

void test_the_last_block_of_a_llama(void**) {
    TestHeap heap;
    LlamaConfig config;
    config.vocabulary = 40;
    config.layers = 2;
    config.dim = 32;
    config.heads = 4;
    config.kv_heads = 2;
    config.context = 16;
    const Graph graph =
        decode_graph(build_llama(config, heap.structures()), eight_rows(1), heap.structures());
    auto rows = rows_of_products(graph);
    assert_int_equal(rows["block.0.down.weight"], 8);
    assert_int_equal(rows["block.1.qkv.weight"], 8);
    for (const char* name : {"block.1.proj.weight", "block.1.gate_up.weight", "block.1.down.weight"})
        assert_int_equal(rows[name], 1);
}

// What is not known to keep rows apart is computed for all of them, as ever.
void test_other_operators_stay_whole(void**) {
    TestHeap heap;
    Graph model(heap.structures());
    const Init init = {VOLTA_INIT_NORMAL, 0.02, 0};
    const ValueId tokens = model.input("tokens", DType::i32, {-1, -1});
    const ValueId x = model.apply(Op::gather, {model.parameter("table", {40, 96}, init), tokens});
    const ValueId y = model.apply(Op::attention, {x},
                                  {number(Attr::heads, 2), number(Attr::causal, 1), number(Attr::packed, 1)});
    const ValueId half = model.apply(Op::slice, {y}, {number(Attr::axis, 2), number(Attr::end, 16)});
    const ValueId hidden = model.apply(Op::matmul, {half, model.parameter("hidden", {16, 16}, init)});
    model.output("logits", model.apply(Op::matmul, {hidden, model.parameter("head", {16, 40}, init)}));
    const Graph graph = decode_graph(model, eight_rows(1), heap.structures());
    verify(graph);
    auto rows = rows_of_products(graph);
    assert_int_equal(rows["hidden"], 8);
    assert_int_equal(rows["head"], 1);
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_the_last_block_of_a_gpt),
        cmocka_unit_test(test_the_last_block_of_a_llama),
        cmocka_unit_test(test_other_operators_stay_whole),
    };
    return cmocka_run_group_tests_name("logit_rows", tests, nullptr, nullptr);
}
