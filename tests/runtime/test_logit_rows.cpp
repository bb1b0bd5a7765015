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

// Between the look-up of tokens and a head: "" where that keeps tokens apart.
std::string obstacle_of(ValueId (*between)(Graph& graph, ValueId x), std::pmr::memory_resource* heap) {
    Graph model(heap);
    const ValueId tokens = model.input("tokens", DType::i32, {-1, -1});
    const ValueId x = model.apply(Op::gather, {model.parameter("table", {40, 16}, {}), tokens});
    model.output("logits",
                 model.apply(Op::matmul, {between(model, x), model.parameter("head", {16, 40}, {})}));
    return std::string(decode_obstacle(model, heap));
}

void test_what_joins_tokens_is_named(void**) {
    TestHeap heap;
    const struct {
        const char* what;
        ValueId (*between)(Graph& graph, ValueId x);
        const char* joining;  // NULL: tokens stay apart
    } rows[] = {
        {"nothing", [](Graph&, ValueId x) { return x; }, nullptr},
        {"a sum over a token",
         [](Graph& g, ValueId x) {
             const ValueId sum = g.apply(Op::sum, {x}, {list(Attr::axes, {2}), number(Attr::keep_dims, 1)});
             return g.apply(Op::mul, {x, sum});
         },
         nullptr},
        {"a sum over the tokens of a sequence",
         [](Graph& g, ValueId x) {
             const ValueId sum = g.apply(Op::sum, {x}, {list(Attr::axes, {1}), number(Attr::keep_dims, 1)});
             return g.apply(Op::mul, {x, sum});
         },
         "sum"},
        {"a sum of everything",
         [](Graph& g, ValueId x) {
             return g.apply(Op::mul, {x, g.apply(Op::sum, {x})});
         },
         "sum"},
        {"a sum of all squares",
         [](Graph& g, ValueId x) {
             return g.apply(Op::mul, {x, g.apply(Op::square_sum, {x})});
         },
         "square_sum"},
        {"tokens repeated as often as the graph says",
         [](Graph& g, ValueId x) {
             return g.apply(Op::broadcast_to, {x}, {list(Attr::shape, {3, 7, 16})});
         },
         "broadcast_to"},
        {"a token's elements, in an order of axes that leaves them",
         [](Graph& g, ValueId x) {
             const ValueId square = g.apply(Op::matmul, {x, g.parameter("w", {16, 16}, {})});
             return g.apply(Op::transpose, {square}, {list(Attr::permutation, {0, 1, 2})});
         },
         nullptr},
        {"sequences and their tokens turned",
         [](Graph& g, ValueId x) {
             return g.apply(Op::transpose, {x}, {list(Attr::permutation, {1, 0, 2})});
         },
         "transpose"},
    };
    for (const auto& row : rows) {
        const std::string found = obstacle_of(row.between, heap.structures());
        const std::string wanted =
            row.joining == nullptr ? "" : std::string("(") + row.joining + ") joins tokens";
        const bool right = row.joining == nullptr ? found.empty() : found.find(wanted) != found.npos;
        if (!right) print_error("%s: '%s'\n", row.what, found.c_str());
        assert_true(right);
    }
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(test_the_last_block_of_a_gpt),
        cmocka_unit_test(test_the_last_block_of_a_llama),
        cmocka_unit_test(test_other_operators_stay_whole),
        cmocka_unit_test(test_what_joins_tokens_is_named),
    };
    return cmocka_run_group_tests_name("logit_rows", tests, nullptr, nullptr);
}
