// Small graphs with a purpose, for the golden texts of passes and plans.
#pragma once

#include "engine/graph/graph.h"
#include "tests/passes/random_graph.h"

namespace volta::test {

inline ValueId linear(Graph& graph, const char* name, ValueId x, std::int64_t out) {
    const std::string prefix(name);
    const ValueId weight = graph.parameter((prefix + ".weight").c_str(), {graph.shape(x).last(), out}, {});
    const ValueId bias = graph.parameter((prefix + ".bias").c_str(), {out}, {});
    return graph.apply(Op::add, {graph.apply(Op::matmul, {x, weight}), bias});
}

// A block with norm, GELU and residual; z is read by someone else as well.
inline Graph mlp_graph() {
    Graph graph(test_heap());
    const ValueId x = graph.input("x", DType::f32, {6, 8});
    const ValueId scale = graph.parameter("norm.weight", {8}, {}),
                  shift = graph.parameter("norm.bias", {8}, {});
    const ValueId h = graph.apply(Op::layer_norm, {x, scale, shift}, {number(Attr::epsilon, 0x1p-17)});
    const ValueId z = linear(graph, "fc", h, 16);
    const ValueId y = graph.apply(Op::add, {x, linear(graph, "proj", graph.apply(Op::gelu_tanh, {z}), 8)});
    graph.output("z", z);
    graph.output("y", graph.apply(Op::softmax, {y}));
    return graph;
}

// Forward and backward of gelu(x w) v by hand, far apart: the activation is wanted again for dv, beside its
// derivative.
inline Graph activation_graph() {
    Graph graph(test_heap());
    const ValueId x = graph.input("x", DType::f32, {6, 8}),
                  target = graph.input("target", DType::f32, {6, 8});
    const ValueId w = graph.parameter("w", {8, 16}, {}), v = graph.parameter("v", {16, 8}, {}),
                  scale = graph.input("step/scale", DType::f32, {});
    const ValueId z = graph.apply(Op::matmul, {x, w}), y = graph.apply(Op::gelu_tanh, {z});
    const ValueId p = graph.apply(Op::softmax, {graph.apply(Op::matmul, {y, v})});
    const ValueId loss = graph.apply(Op::sum, {graph.apply(Op::mse, {p, target})});
    const ValueId dp = graph.apply(Op::softmax_grad, {p, graph.apply(Op::mse_grad, {p, target, scale})});
    const ValueId dy = graph.apply(Op::matmul, {dp, v}, {number(Attr::transpose_b, 1)});
    graph.output("dv", graph.apply(Op::matmul, {y, dp}, {number(Attr::transpose_a, 1)}));
    const ValueId dz = graph.apply(Op::gelu_tanh_grad, {z, dy});
    graph.output("dw", graph.apply(Op::matmul, {x, dz}, {number(Attr::transpose_a, 1)}));
    graph.output("loss", loss);
    return graph;
}

// One node for each rewrite of the table in docs/numerics.md, 9, and its forbidden neighbour.
inline Graph arithmetic_graph() {
    Graph graph(test_heap());
    const ValueId x = graph.input("x", DType::f32, {4}), y = graph.input("y", DType::f32, {4});
    const auto apply = [&](Op op, ValueId a, ValueId b) { return graph.apply(op, {a, b}); };
    int index = 0;
    const auto out = [&](ValueId value) { graph.output(("r" + std::to_string(index++)).c_str(), value); };
    out(apply(Op::mul, x, graph.scalar(1)));
    out(apply(Op::div, x, graph.scalar(1)));
    out(apply(Op::sub, x, graph.scalar(0.0f)));
    out(apply(Op::add, x, graph.scalar(-0.0f)));
    out(apply(Op::add, x, graph.scalar(0.0f)));
    out(graph.apply(Op::neg, {graph.apply(Op::neg, {x})}));
    out(apply(Op::sub, x, graph.apply(Op::neg, {y})));
    out(apply(Op::add, x, graph.apply(Op::neg, {y})));
    out(apply(Op::div, x, graph.scalar(-8)));
    out(apply(Op::div, x, graph.scalar(3)));
    const ValueId one = graph.scalar(1), three = graph.scalar(3);
    out(apply(Op::mul, x, apply(Op::div, one, three)));
    return graph;
}

inline Graph movement_graph() {
    Graph graph(test_heap());
    const ValueId x = graph.input("x", DType::f32, {2, 3, 4}), w = graph.parameter("w", {5, 4}, {});
    const auto reshape = [&](ValueId v, const Shape& s) {
        return graph.apply(Op::reshape, {v}, {list(Attr::shape, s)});
    };
    const auto swap = [&](ValueId v, std::initializer_list<std::int64_t> order) {
        return graph.apply(Op::transpose, {v}, {list(Attr::permutation, order)});
    };
    graph.output("reshape of reshape", reshape(reshape(x, {6, 4}), {24}));
    graph.output("there and back", swap(swap(x, {0, 2, 1}), {0, 2, 1}));
    graph.output("transposes joined", swap(swap(x, {1, 0, 2}), {2, 1, 0}));
    graph.output("units move", swap(reshape(x, {6, 1, 4}), {1, 0, 2}));
    graph.output("slice of all", graph.apply(Op::slice, {x}, {number(Attr::axis, 1)}));
    graph.output("broadcast to more", graph.apply(Op::broadcast_to, {x}, {list(Attr::shape, {1, 2, 3, 4})}));
    graph.output("product", graph.apply(Op::matmul, {x, swap(w, {1, 0})}));
    return graph;
}

inline Graph duplicates_graph() {
    Graph graph(test_heap());
    const ValueId x = graph.input("x", DType::f32, {3, 4}),
                  random = graph.input("step/random", DType::i32, {3});
    const float row[] = {1, 2, 3, 4};
    const ValueId a = graph.constant(DType::f32, {4}, row), b = graph.constant(DType::f32, {4}, row);
    const ValueId sum = graph.apply(Op::add, {x, a}), again = graph.apply(Op::add, {b, x});
    graph.output("added", graph.apply(Op::sub, {sum, again}));
    const auto drop = [&](ValueId v) {
        return graph.apply(Op::dropout, {v, random}, {number(Attr::probability, 0.5)});
    };
    graph.output("dropped", graph.apply(Op::maximum, {drop(sum), drop(again)}));
    const auto mean = [&](double keep) {
        return graph.apply(Op::mean, {x}, {number(Attr::keep_dims, keep)});
    };
    graph.output("means", graph.apply(Op::add, {mean(0), graph.apply(Op::add, {mean(1), mean(0)})}));
    return graph;
}

// The gradients of two layers: y = relu(x w1 + b1) w2 + b2, given dy.
inline Graph weights_graph() {
    Graph graph(test_heap());
    const ValueId x = graph.input("x", DType::f32, {2, 3, 4}), dy = graph.input("dy", DType::f32, {2, 3, 5});
    const ValueId w1 = graph.parameter("w1", {4, 8}, {}), w2 = graph.parameter("w2", {8, 5}, {});
    const auto product = [&](ValueId a, ValueId b, double transpose_a, double transpose_b) {
        return graph.apply(Op::matmul, {a, b},
                           {number(Attr::transpose_a, transpose_a), number(Attr::transpose_b, transpose_b)});
    };
    const auto column_sum = [&](ValueId v) { return graph.apply(Op::sum, {v}, {list(Attr::axes, {0, 1})}); };
    const ValueId z = product(x, w1, 0, 0), h = graph.apply(Op::relu, {z});
    const ValueId db2 = column_sum(dy), dw2 = product(h, dy, 1, 0);
    const ValueId dz = graph.apply(Op::relu_grad, {z, product(dy, w2, 0, 1)});
    const ValueId dw1 = product(x, dz, 1, 0), db1 = column_sum(dz);
    graph.output("dw1", dw1);
    graph.output("db1", db1);
    graph.output("dw2", dw2);
    graph.output("db2", db2);
    return graph;
}

// A training step by hand: y = gather(table, ids) w, squared error, two contributions to the table, SGD.
inline Graph step_graph(std::uint32_t micro_batches) {
    Graph graph(test_heap());
    const ValueId ids = graph.input("ids", DType::i32, {6}),
                  target = graph.input("target", DType::f32, {6, 4});
    const ValueId table = graph.parameter("table", {10, 8}, {}), w = graph.parameter("w", {8, 4}, {});
    const ValueId scale = graph.input("step/scale", DType::f32, {}),
                  factors = graph.input("step/factors", DType::f32, {3});
    const Attribute micro = number(Attr::micro_batches, micro_batches), into = number(Attr::accumulate, 1);
    const ValueId x = graph.apply(Op::gather, {table, ids}), y = graph.apply(Op::matmul, {x, w});
    const ValueId rows = graph.apply(Op::stack, {graph.apply(Op::mse, {y, target})}, {micro});
    const ValueId dy = graph.apply(Op::mse_grad, {y, target, scale});
    const ValueId dw = graph.apply(Op::matmul, {x, dy}, {number(Attr::transpose_a, 1), into});
    const ValueId dx = graph.apply(Op::matmul, {dy, w}, {number(Attr::transpose_b, 1)});
    const ValueId all_ids = graph.apply(Op::stack, {ids}, {micro}),
                  all_dx = graph.apply(Op::stack, {dx}, {micro});
    const ValueId decay = graph.apply(Op::accumulate, {graph.apply(Op::mul, {table, scale})});
    const ValueId dtable = graph.apply(Op::embedding_gradient, {all_ids, all_dx, decay},
                                       {number(Attr::rows, 10)}, Phase::reduce);
    graph.output("loss", graph.apply(Op::mul, {graph.apply(Op::sum, {rows}, {}, Phase::reduce), scale}, {},
                                     Phase::reduce));
    graph.output("gradient/table", dtable);
    graph.output("gradient/w", dw);
    const ValueId norm =
        graph.apply(Op::sqrt, {graph.apply(Op::square_sum, {dtable}, {}, Phase::reduce)}, {}, Phase::reduce);
    const ValueId clip = graph.apply(Op::clip_factor, {norm}, {number(Attr::maximum_norm, 1)}, Phase::update);
    const ValueId v_table = graph.state("table/v", DType::f32, {10, 8}),
                  v_w = graph.state("w/v", DType::f32, {8, 4});
    graph.apply(Op::sgd, {table, dtable, v_table, factors, clip}, {}, Phase::update);
    graph.apply(Op::sgd, {w, dw, v_w, factors, clip}, {}, Phase::update);
    return graph;
}

// A block of a residual network in training: batch norm by the batch's statistics, and by given ones.
inline Graph norms_graph() {
    Graph graph(test_heap());
    const ValueId x = graph.input("x", DType::f32, {2, 4, 3, 3}), c = graph.parameter("c", {4}, {});
    const ValueId mean = graph.apply(Op::batch_statistics, {x});
    const ValueId own = graph.apply(Op::batch_norm_train, {x, c, c, mean, mean + 1});
    const ValueId given = graph.apply(Op::batch_norm, {graph.apply(Op::relu, {own}), c, c, c, c});
    graph.output("y", graph.apply(Op::relu, {graph.apply(Op::add, {given, x})}));
    return graph;
}

}  // namespace volta::test
