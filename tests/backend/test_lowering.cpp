// What the shared lowering asks of a backend, for small plans: every piece of work, in order, with its
// places.
#include "engine/backend/lower/step_lowering.h"

#include <algorithm>
#include <string>

#include "engine/base/error.h"
#include "engine/graph/forms.h"
#include "engine/passes/pass.h"
#include "tests/backend/recording_lowering.h"
#include "tests/passes/sample_graphs.h"
#include "tests/support/errors.h"
#include "tests/support/golden.h"

namespace {
using namespace volta;
using namespace volta::test;

ValueId input(Graph& graph, const char* name, const Shape& shape, DType dtype = DType::f32) {
    return graph.input(name, dtype, shape);
}

// ---- Graphs --------------------------------------------------------------------------------------------

Graph linear_graph() {
    Graph graph(test_heap());
    const ValueId x = input(graph, "x", {6, 8});
    graph.output("y", graph.apply(Op::gelu_tanh, {linear(graph, "fc", x, 16)}));
    return graph;
}

// The bias of each batch is broadcast along an inner axis, which no row of C sees.
Graph inner_bias_graph() {
    Graph graph(test_heap());
    Node node{Allocator(test_heap())};
    node.op = Op::matmul;
    node.inputs.push_back(input(graph, "x", {2, 3, 8}));
    node.inputs.push_back(graph.parameter("w", {8, 4}, {}));
    node.inputs.push_back(input(graph, "bias", {2, 1, 4}));
    BodyOp add{Allocator(test_heap())};
    add.op = Op::add;
    add.inputs.assign({~0, ~1});
    node.body.ops.push_back(std::move(add));
    node.body.results.push_back(0);
    graph.output("y", graph.apply(std::move(node)));
    return graph;
}

Graph norm_graph() {
    Graph graph(test_heap());
    const ValueId x = input(graph, "x", {2, 3, 8}), g = graph.parameter("g", {8}, {}),
                  b = graph.parameter("b", {8}, {});
    graph.output("y", graph.apply(Op::layer_norm, {x, g, b}, {number(Attr::epsilon, 0x1p-17)}));
    return graph;
}

Graph reductions_graph() {
    Graph graph(test_heap());
    const ValueId x = input(graph, "x", {2, 3, 4}), z = input(graph, "z", {2, 3, 4, 5});
    const auto reduce = [&](Op op, ValueId v, std::initializer_list<std::int64_t> axes) {
        return graph.apply(op, {v}, {list(Attr::axes, axes)});
    };
    graph.output("rows", reduce(Op::sum, x, {2}));
    graph.output("copied to rows", reduce(Op::sum, x, {0, 2}));
    graph.output("columns of each", reduce(Op::mean, x, {1}));
    graph.output("copied to columns", reduce(Op::sum, z, {0, 2}));
    const ValueId most = reduce(Op::max, x, {0});
    graph.output("max", most);
    graph.output("max_grad",
                 graph.apply(Op::max_grad, {x, most, input(graph, "dy", {3, 4})}, {list(Attr::axes, {0})}));
    return graph;
}

Graph long_row_graph() {
    Graph graph(test_heap());
    graph.output("y", graph.apply(Op::sum, {input(graph, "x", {20000})}));
    return graph;
}

Graph moving_graph() {
    Graph graph(test_heap());
    const ValueId x = input(graph, "x", {2, 3, 4}), y = input(graph, "y", {2, 1, 4});
    graph.output("concat", graph.apply(Op::concat, {x, y}, {number(Attr::axis, 1)}));
    graph.output("slice", graph.apply(Op::slice, {x}, {number(Attr::axis, 1), number(Attr::begin, 1)}));
    graph.output("slice_grad",
                 graph.apply(Op::slice_grad, {y},
                             {number(Attr::axis, 1), number(Attr::begin, 2), number(Attr::rows, 3)}));
    graph.output("transpose", graph.apply(Op::transpose, {x}, {list(Attr::permutation, {2, 0, 1})}));
    graph.output("broadcast", graph.apply(Op::broadcast_to, {y}, {list(Attr::shape, {2, 3, 4})}));
    graph.output("positions", graph.apply(Op::position_ids, {input(graph, "ids", {2, 5}, DType::i32)},
                                          {number(Attr::limit, 5)}));
    return graph;
}

ValueId attention_of(Graph& graph, ValueId qkv, ValueId random) {
    return graph.apply(Op::attention, {qkv, random},
                       {number(Attr::heads, 2), number(Attr::packed, 1), number(Attr::probability, 0.1)});
}

// norm, attention with dropout, residual that drops; norm, GELU, residual.
Graph block_graph() {
    Graph graph(test_heap());
    const ValueId x = input(graph, "x", {2, 4, 8}), random = input(graph, "step/random", {3}, DType::i32);
    const auto norm = [&](const char* name, ValueId v) {
        const std::string prefix(name);
        const ValueId g = graph.parameter((prefix + ".weight").c_str(), {8}, {}),
                      b = graph.parameter((prefix + ".bias").c_str(), {8}, {});
        return graph.apply(Op::layer_norm, {v, g, b}, {number(Attr::epsilon, 0x1p-17)});
    };
    const auto drop = [&](ValueId v, double stream) {
        return graph.apply(Op::dropout, {v, random},
                           {number(Attr::probability, 0.1), number(Attr::stream, stream)});
    };
    const ValueId o = attention_of(graph, linear(graph, "qkv", norm("norm1", x), 24), random);
    const ValueId h = graph.apply(Op::add, {x, drop(linear(graph, "proj", o, 8), 1)});
    const ValueId z = graph.apply(Op::gelu_tanh, {linear(graph, "fc", norm("norm2", h), 32)});
    graph.output("y", graph.apply(Op::add, {h, drop(linear(graph, "fc_proj", z, 8), 2)}));
    return graph;
}

Graph attention_backward_graph() {
    Graph graph(test_heap());
    const ValueId qkv = input(graph, "qkv", {2, 4, 24}),
                  random = input(graph, "step/random", {3}, DType::i32);
    const ValueId o = attention_of(graph, qkv, random);
    graph.output(
        "dqkv",
        graph.apply(Op::attention_grad, {qkv, o, o + 1, o + 2, input(graph, "do", {2, 4, 8}), random},
                    {number(Attr::heads, 2), number(Attr::packed, 1), number(Attr::probability, 0.1)}));
    return graph;
}

// A window that no sequence exceeds is none; over a cache of 32 it is one.
Graph windows_graph() {
    Graph graph(test_heap());
    const Attribute heads = number(Attr::heads, 2), packed = number(Attr::packed, 1);
    const ValueId qkv = input(graph, "qkv", {2, 4, 24});
    graph.output("near", graph.apply(Op::attention, {qkv}, {heads, packed, number(Attr::window, 3)}));
    graph.output("all", graph.apply(Op::attention, {qkv},
                                    {heads, packed, number(Attr::window, 4), number(Attr::cap, 30)}));
    const ValueId starts = input(graph, "starts", {2, 4}, DType::i32);
    graph.output("documents",
                 graph.apply(Op::attention, {qkv, starts}, {heads, packed, number(Attr::documents, 1)}));
    graph.output("places", graph.apply(Op::position_ids, {starts, starts}, {number(Attr::limit, 4)}));
    const ValueId keys = graph.state("keys", DType::f32, cache_keys_shape(3, 2, 32, 4)),
                  values = graph.state("values", DType::f32, cache_values_shape(3, 2, 32, 4));
    const ValueId slots = input(graph, "slots", {2, 4}, DType::i32),
                  positions = input(graph, "positions", {2, 4}, DType::i32);
    graph.output("o", graph.apply(Op::cached_attention, {keys, values, slots, positions, qkv},
                                  {heads, packed, number(Attr::window, 4), number(Attr::cap, 30)}));
    return graph;
}

Graph cache_graph() {
    Graph graph(test_heap());
    const ValueId keys = graph.state("keys", DType::f32, cache_keys_shape(3, 1, 32, 8)),
                  values = graph.state("values", DType::f32, cache_values_shape(3, 1, 32, 8));
    const ValueId slots = input(graph, "slots", {1, 5}, DType::i32),
                  positions = input(graph, "positions", {1, 5}, DType::i32);
    const ValueId o =
        graph.apply(Op::cached_attention, {keys, values, slots, positions, input(graph, "qkv", {1, 5, 32})},
                    {number(Attr::heads, 2), number(Attr::kv_heads, 1), number(Attr::packed, 1)});
    graph.output("o", o);
    return graph;
}

Graph stored_graph() {
    Graph graph(test_heap());
    const ValueId table = graph.parameter("table", {32, 64}, {}, DType::int8);
    const ValueId ids = input(graph, "ids", {2, 3}, DType::i32);
    const ValueId x = graph.apply(Op::gather, {table, ids});
    graph.output("y", graph.apply(Op::matmul, {x, table}, {number(Attr::transpose_b, 1)}));
    return graph;
}

ValueId table_of(Graph& graph) {
    return graph.apply(Op::rotary_table, {},
                       {number(Attr::limit, 9), number(Attr::width, 8), number(Attr::base, 10000)});
}

Graph table_graph() {
    Graph graph(test_heap());
    graph.output("table", table_of(graph));
    return graph;
}

Graph given_angles_graph() {
    Graph graph(test_heap());
    const ValueId frequencies = input(graph, "frequencies", {2}),
                  table =
                      graph.apply(Op::rotary_table, {frequencies},
                                  {number(Attr::limit, 9), number(Attr::width, 4), number(Attr::scale, 0.5)});
    const ValueId x = input(graph, "x", {5, 24}), at = input(graph, "positions", {5}, DType::i32);
    graph.output("turned",
                 graph.apply(Op::rotary, {x, at, table}, {number(Attr::heads, 2), number(Attr::width, 10)}));
    return graph;
}

Graph pairs_graph() {
    Graph graph(test_heap());
    const ValueId x = input(graph, "x", {5, 24}), at = input(graph, "positions", {5}, DType::i32);
    const ValueId table = table_of(graph);
    graph.output("turned", graph.apply(Op::rotary, {x, at, table}, {number(Attr::heads, 2)}));
    graph.output("gated", graph.apply(Op::swiglu, {x}));
    graph.output("gate", graph.apply(Op::swiglu_grad, {x, input(graph, "dy", {5, 12})}));
    return graph;
}

Graph training_graph() { return step_graph(3); }

// ---- What they become ----------------------------------------------------------------------------------

struct Case {
    const char* name;
    Graph (*build)();
    std::uint32_t micro_batches, passes;
    RecordedBackend backend;
    const char* expected;
};
constexpr Case kCases[] = {
    {"a linear layer is one product", linear_graph, 1, kAllPasses, {}, R"(
matmul: product 1x6x16x8 x/8 fc.weight/16 parameter -> y/16 then{ ... } y.full/16 fc.bias.column -> y.full/16
)"},
    {"a body that follows no rows runs behind its product", inner_bias_graph, 1, kAllPasses, {}, R"(
matmul: product 1x6x4x8 x/8 w/4 parameter -> y/4
matmul: rows 2x3x4{ add } y.full/4 bias.column -> y.full/4
)"},
    {"a norm is one row program", norm_graph, 1, kAllPasses, {}, R"(
layer_norm: rows 1x6x8{ row_sum row_sum ... } x.full/8 g.column b.column -> y.full/8 -> @0.row/1 -> @64.row/1
)"},
    {"reductions see rows or columns, copied where need be", reductions_graph, 1, kAllPasses, {}, R"(
sum: rows 1x6x4{ row_sum } x.full/4 -> rows.row/1
sum: copy x -> tmp of 3:4:8 2:12:4 4:1:1
sum: rows 1x3x8{ row_sum } tmp.full/8 -> copied to rows.row/1
mean: rows 2x3x4{ column_sum } x.full/4 -> columns of each.column
mean: rows 1x1x8{ div } columns of each.full -> columns of each.full
sum: copy z -> tmp of 2:60:60 4:5:15 3:20:5 5:1:1
sum: rows 1x8x15{ column_sum } tmp.full/15 -> copied to columns.column
max: copy x -> tmp of 12:1:2 2:12:1
max: rows 1x12x2{ row_max } tmp.full/2 -> max.row/1
max_grad: copy x -> tmp of 12:1:2 2:12:1
max_grad: rows 1x12x2{ row_argmax ... } tmp.full/2 max.row/1 dy.row/1 -> tmp+128.full/2
max_grad: copy tmp+128 -> max_grad of 12:2:1 2:1:12
)"},
    {"a long row alone", long_row_graph, 1, kAllPasses, {}, R"(
sum: rows 1x1x20000{ row_sum } x.full/20000 -> y.row/1
)"},
    {"a long row shared", long_row_graph, 1, kAllPasses, {true, false}, R"(
sum: rows 1x4x4096{ row_sum } x.full/4096 -> tmp.row/1
sum: rows 1x1x3616{ row_sum } x+65536.full/3616 -> tmp+16.row/1
sum: rows 1x1x5{ row_sum } tmp.full/5 -> y.row/1
)"},
    {"movement is copies", moving_graph, 1, kAllPasses, {}, R"(
concat: copy x -> concat of 2:12:16 12:1:1
concat: copy y -> concat+48 of 2:4:16 4:1:1
slice: copy x+16 -> slice of 2:12:8 8:1:1
slice_grad: zero slice_grad of 24
slice_grad: copy y -> slice_grad+32 of 2:4:12 4:1:1
transpose: copy x -> transpose of 4:1:6 6:4:1
broadcast_to: copy y -> broadcast of 2:4:12 3:0:4 4:1:1
position_ids: positions 2x5 -> positions
)"},
    {"a block with dropout", block_graph, 1, kAllPasses, {}, R"(
layer_norm: rows 1x8x8{ row_sum row_sum ... } x.full/8 norm1.weight.column norm1.bias.column -> @768.full/8 -> @0.row/1 -> @64.row/1
matmul: product 1x8x24x8 @768/8 qkv.weight/24 parameter -> @0/24 then{ add } @0.full/24 qkv.bias.column -> @0.full/24
attention: attention 2x4x2x2x4 causal q @0/24 k @32/24 v @64/24 random step/random -> @768/8 @1024 @1088
matmul: product 1x8x8x8 @768/8 proj.weight/8 parameter -> @1024/8 then{ row_index ... } @1024.full/8 proj.bias.column step/random.single x.full/8 -> @1024.full/8 counted by 8
layer_norm: rows 1x8x8{ row_sum row_sum ... } @1024.full/8 norm2.weight.column norm2.bias.column -> @1280.full/8 -> @0.row/1 -> @64.row/1
matmul: product 1x8x32x8 @1280/8 fc.weight/32 parameter -> @0/32 then{ ... } @0.full/32 fc.bias.column -> @0.full/32
matmul: product 1x8x8x32 @0/32 fc_proj.weight/8 parameter -> y/8 then{ row_index ... } y.full/8 fc_proj.bias.column step/random.single @1024.full/8 -> y.full/8 counted by 8
)"},
    {"attention backward", attention_backward_graph, 1, kAllPasses, {}, R"(
attention: attention 2x4x2x2x4 causal q qkv/24 k qkv+32/24 v qkv+64/24 random step/random -> @0/8 @256 @320
attention_grad: attention backward 2x4x2x2x4 causal q qkv/24 k qkv+32/24 v qkv+64/24 random step/random @0/8 @256 @320 d_o do -> dqkv/24 dqkv+32/24 dqkv+64/24
)"},
    {"attention by windows and below caps", windows_graph, 1, kAllPasses, {}, R"(
attention: attention 2x4x2x2x4 causal window 3 q qkv/24 k qkv+32/24 v qkv+64/24 -> near/8 @0 @64
attention: attention 2x4x2x2x4 causal capped q qkv/24 k qkv+32/24 v qkv+64/24 -> all/8 @0 @64
attention: attention 2x4x2x2x4 causal q qkv/24 k qkv+32/24 v qkv+64/24 starts starts -> documents/8 @0 @64
position_ids: positions 2x4 starts starts -> places
cached_attention: cached_attention 8x2 cache 3x2x32x4 window 4 capped slots positions qkv qkv+32 qkv+64 -> o keys values
)"},
    {"attention over a cache", cache_graph, 1, kAllPasses, {}, R"(
cached_attention: cached_attention 5x2 cache 3x1x32x8 slots positions qkv qkv+64 qkv+96 -> o keys values
)"},
    {"stored weights", stored_graph, 1, kAllPasses, {}, R"(
gather: gather 6 of 32x64 int8 table ids -> @0
matmul: product 1x6x32x64 @0/64 table^T/64 int8 parameter -> y/32
)"},
    {"pairs of columns", pairs_graph, 1, kAllPasses, {}, R"(
rotary: rotary 5x24 heads 2x8 x positions constant -> turned
swiglu: rows 1x5x12{ ... } x.full/24 x+48.full/24 -> gated.full/12
swiglu_grad: rows 1x5x12{ ... } x.full/24 x+48.full/24 dy.full/12 -> gate.full/24 -> gate+48.full/24
)"},
    {"a rotary table that no pass has folded", table_graph, 1, 0, {}, R"(
rotary_table: rotary_table 9x8 -> table
)"},
    {"rotary positions of given angles, of a part of each head", given_angles_graph, 1, kAllPasses, {}, R"(
rotary_table: rotary_table 9x4 frequencies scaled -> @0
rotary: rotary 5x24 heads 2x4 of 10 x positions @0 -> turned
)"},
    {"weight gradients, sums by the lowering", weights_graph, 1, kAllPasses, {}, R"(
matmul: product 1x6x8x4 x/4 w1/8 parameter -> @0/8 then{ less select } @0.full/8 -> @0.full/8 -> @192.full/8
weight_gradient: product 1x8x5x6 @192^T/8 dy/5 -> dw2/5 sums of b wanted -> db2
weight_gradient: rows 1x6x5{ column_sum } dy.full/5 -> db2.column
matmul: product 1x6x8x5 dy/5 w2^T/5 parameter -> @192/8 then{ less_equal select } @192.full/8 @0.full/8 -> @192.full/8
weight_gradient: product 1x4x8x6 x^T/4 @192/8 -> dw1/8 sums of b wanted -> db1
weight_gradient: rows 1x6x8{ column_sum } @192.full/8 -> db1.column
)"},
    {"weight gradients, sums by the product", weights_graph, 1, kAllPasses, {false, true}, R"(
matmul: product 1x6x8x4 x/4 w1/8 parameter -> @0/8 then{ less select } @0.full/8 -> @0.full/8 -> @192.full/8
weight_gradient: product 1x8x5x6 @192^T/8 dy/5 -> dw2/5 sums of b wanted -> db2
matmul: product 1x6x8x5 dy/5 w2^T/5 parameter -> @192/8 then{ less_equal select } @192.full/8 @0.full/8 -> @192.full/8
weight_gradient: product 1x4x8x6 x^T/4 @192/8 -> dw1/8 sums of b wanted -> db1
)"},
    {"a training step of three micro-batches", training_graph, 3, kAllPasses, {}, R"(
gather: gather 6 of 10x8 f32 table ids~24 -> @576
matmul: product 1x6x4x8 @576/8 w/4 parameter -> @768/4
mse: rows 1x6x4{ sub mul row_sum } @768.full/4 target~96.full/4 -> @1152.row/1
stack: copy @1152 -> @896~24 of 6:1:1
mse_grad: rows 1x6x4{ sub mul } @768.full/4 target~96.full/4 step/scale.single -> @768.full/4
matmul: product 1x8x4x6 @576^T/8 @768/4 -> gradient/w/4 continued
matmul: product 1x6x8x4 @768/4 w^T/4 parameter -> @576/8
stack: copy ids~24 -> @1024~24 of 6:1:1
stack: copy @576 -> @0~192 of 48:1:1
mul: rows 1x1x80{ mul } table.full step/scale.single -> @576.full
accumulate: copy @576 -> gradient/table of 80:1:1 first
accumulate: rows 1x1x80{ add } gradient/table.full @576.full -> gradient/table.full later
embedding_gradient: embedding_gradient 18 into 10x8 @1024~24 @0~192 base gradient/table -> gradient/table
sum: rows 1x1x18{ row_sum } @896~24.full/18 -> loss.row/1
mul: rows 1x1x1{ mul } loss.single step/scale.single -> loss.full
square_sum: rows 1x1x80{ mul row_sum } gradient/table.full/80 -> @0.row/1
sqrt: rows 1x1x1{ sqrt } @0.single -> @0.full
clip_factor: rows 1x1x1{ less div select } @0.single -> @0.full
sgd: rows 1x1x80{ ... } table.full gradient/table.full table/v.full step/factors.single @0.single -> table.full -> table/v.full
sgd: rows 1x1x32{ ... } w.full gradient/w.full w/v.full step/factors.single @0.single -> w.full -> w/v.full
)"},
};

HeapPtr<Plan> plan_of(const Graph& graph, std::uint32_t micro_batches = 1,
                      std::uint32_t passes = kAllPasses) {
    PlanOptions options;
    options.micro_batches = micro_batches;
    return make_plan(run_passes(graph, passes, test_heap()), options, test_heap());
}

// CMocka cuts long messages: one per line.
void print_lines(const std::string& lines) {
    for (std::size_t begin = 0, end = 0; begin < lines.size(); begin = end + 1) {
        end = std::min(lines.find('\n', begin), lines.size());
        print_error("%s\n", lines.substr(begin, end - begin).c_str());
    }
}

void test_lowering_asks_for_work(void** state) {
    const Case& test = *static_cast<const Case*>(*state);
    bool same = false;
    {
        const std::string lines =
            record(*plan_of(test.build(), test.micro_batches, test.passes), test.backend);
        const char* const expected = test.expected + 1;  // it starts on a line of its own
        same = lines == expected;
        if (!same) {
            print_error("%s: line %d differs\n", test.name, differing_line(lines, expected));
            print_lines(lines);
        }
    }
    assert_true(same);
}

// A node that is no step has no lowering: the message names operator and backend.
void test_what_has_no_kernel_is_named(void**) {
    const Failure failure = failure_of([] {
        const HeapPtr<Plan> plan = plan_of(linear_graph());
        record_node(*plan, plan->graph.producer(plan->graph.find_source("x")));
    });
    assert_failure(failure, VOLTA_UNSUPPORTED, "input: paper has no kernel for it at level strict");
}

// The level is the plan's.
void test_refusals_name_the_level(void**) {
    const Failure failure = failure_of([] {
        PlanOptions options;
        options.arithmetic = {Level::repeatable, Precision::bf16};
        const HeapPtr<Plan> plan =
            make_plan(run_passes(linear_graph(), kAllPasses, test_heap()), options, test_heap());
        record_node(*plan, plan->graph.producer(plan->graph.find_source("x")));
    });
    assert_failure(failure, VOLTA_UNSUPPORTED, "input: paper has no kernel for it at level repeatable");
}

}  // namespace

int main() {
    const CMUnitTest refusals[] = {cmocka_unit_test(test_what_has_no_kernel_is_named),
                                   cmocka_unit_test(test_refusals_name_the_level)};
    const int failed =
        run_rows("lowering", kCases, test_lowering_asks_for_work, [](const auto& test) { return test.name; });
    return failed + cmocka_run_group_tests(refusals, nullptr, nullptr);
}
