// Random graphs for the passes and the planner: every kind of node that a pass looks at, small tensors,
// constants with the values that rewrites ask for, shapes that broadcast. The same from every compiler: no
// two draws stand in one argument list. And what a graph computes, as bits.
#pragma once

#include <memory_resource>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/graph/evaluate.h"
#include "engine/graph/graph.h"
#include "tests/support/elementwise_rows.h"
#include "tests/support/tensors.h"

namespace volta::test {

inline std::pmr::memory_resource* test_heap() { return std::pmr::new_delete_resource(); }

class RandomGraph {
  public:
    RandomGraph(std::uint64_t seed, int nodes) : random_(seed), graph_(test_heap()), values_(test_heap()) {
        add_sources();
        for (int i = 0; i < nodes; ++i) add_node();
        for (const auto& [x, y] : early_) keep(graph_.apply(Op::mul, {x, y}));
        const auto count = 1 + random_.below(4);
        for (std::int64_t i = 0; i < count; ++i) {
            const std::string name = "y" + std::to_string(i);
            graph_.output(name.c_str(), values_[static_cast<std::size_t>(below_recent())]);
        }
    }
    Graph take() { return std::move(graph_); }

  private:
    static constexpr std::int64_t kRows = 6, kWidth = 4, kTable = 9;

    void add_sources() {
        for (const Shape& shape : {Shape{2, 3, kWidth}, Shape{kRows, kWidth}, Shape{kWidth}})
            values_.push_back(graph_.input(name("x").c_str(), DType::f32, shape));
        for (const Shape& shape :
             {Shape{kRows, kWidth}, Shape{kWidth}, Shape{kRows, 1}, Shape{}, Shape{kWidth, kWidth}})
            values_.push_back(graph_.parameter(name("p").c_str(), shape, {}));
        table_ = graph_.parameter("table", {kTable, kWidth}, {});
        ids_ = graph_.input("ids", DType::i32, {kRows});
        state_ = graph_.input("step/random", DType::i32, {3});
        const float values[] = {1, -1, 2, 0.5f, 3, 0.0f, -0.0f, INFINITY, 0x1p-127f, 0x1p126f};
        for (const float value : values) values_.push_back(graph_.scalar(value));
        const float ones[kWidth] = {1, 1, 1, 1}, powers[kWidth] = {2, -4, 0.25f, 8};
        values_.push_back(graph_.constant(DType::f32, {kWidth}, ones));
        values_.push_back(graph_.constant(DType::f32, {kWidth}, powers));
    }

    std::string name(const char* kind) { return kind + std::to_string(graph_.sources.size()); }
    const Shape& shape(ValueId value) const { return graph_.shape(value); }
    // Mostly values made lately, so that chains become long.
    std::int64_t below_recent() {
        const auto count = static_cast<std::int64_t>(values_.size());
        return random_.below(3) == 0 ? random_.below(count)
                                     : count - 1 - random_.below(std::min<std::int64_t>(count, 6));
    }
    ValueId any() { return values_[static_cast<std::size_t>(below_recent())]; }
    ValueId any_matrix() {
        for (;;) {
            const ValueId value = any();
            if (shape(value).rank >= 2) return value;
        }
    }

    void keep(ValueId value) { values_.push_back(value); }
    ValueId apply(Op op, std::initializer_list<ValueId> inputs,
                  std::initializer_list<Attribute> attributes = {}) {
        return graph_.apply(op, inputs, attributes);
    }

    // A node that does not fit (shapes that do not broadcast) is not added.
    void add_node() {
        try {
            switch (random_.below(15)) {
                case 0:
                case 1:
                case 2:
                    return add_unary();
                case 3:
                case 4:
                case 5:
                case 6:
                    return add_binary();
                case 7:
                    return add_choice();
                case 8:
                    return add_movement();
                case 9:
                    return add_row();
                case 10:
                case 11:
                case 12:
                    return add_product();
                case 13:
                    return add_rows_between();
                default:
                    return add_repeated();
            }
        } catch (const Error&) {
        }
    }

    void add_unary() {
        const Op ops[] = {Op::neg,  Op::neg,  Op::neg,  Op::abs,       Op::exp,
                          Op::sqrt, Op::tanh, Op::relu, Op::gelu_tanh, Op::silu};
        const auto all = elementwise_rows(Operands::one);
        const OpRow& row =
            random_.below(3) == 0
                ? *all[static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(all.size())))]
                : op_row(ops[random_.below(10)]);
        const std::vector<Attribute> attributes = example_attributes(row);
        const ValueId x = any();
        const ValueId y =
            graph_.apply(row.op, &x, 1, attributes.data(), static_cast<int>(attributes.size()), Phase::each);
        keep(y);
        if (random_.below(3) == 0) early_.emplace_back(x, y);  // both are read again at the end
    }
    void add_binary() {
        const Op ops[] = {Op::add, Op::add, Op::sub, Op::sub,     Op::mul,
                          Op::mul, Op::div, Op::div, Op::maximum, Op::minimum};
        const Op op = ops[random_.below(10)];
        keep(apply(op, {any(), any()}));
    }
    void add_choice() {
        const ValueId a = any(), b = any();
        if (random_.below(4) == 0) {
            keep(apply(Op::dropout, {a, state_},
                       {number(Attr::probability, 0.5), number(Attr::stream, ++stream_)}));
            return;
        }
        const Op ops[] = {Op::less, Op::less_equal, Op::equal};
        const Op op = ops[random_.below(3)];
        keep(apply(Op::where, {apply(op, {a, b}), a, any()}));
    }

    void add_movement() {
        const ValueId x = any();
        Shape s = shape(x);
        switch (random_.below(6)) {
            case 0:
                return keep(
                    apply(Op::reshape, {x}, {list(Attr::shape, random_.below(2) ? s : Shape{s.elements()})}));
            case 1:
                return keep(apply(Op::reshape, {x}, {list(Attr::shape, {kRows, kWidth})}));
            case 2: {
                Attribute order = list(Attr::permutation, s);
                for (int i = 0; i < s.rank; ++i) order.integers[i] = i;
                if (s.rank >= 2) std::swap(order.integers[s.rank - 1], order.integers[random_.below(s.rank)]);
                return keep(apply(Op::transpose, {x}, {order}));
            }
            case 3:
                return keep(apply(Op::broadcast_to, {x},
                                  {list(Attr::shape, random_.below(2) ? s : Shape{kRows, kWidth})}));
            case 4:
                return keep(apply(Op::slice, {x},
                                  {number(Attr::end, static_cast<double>(random_.below(2) ? s[0] : 1))}));
            default:
                return keep(random_.below(2) ? apply(Op::concat, {x}) : apply(Op::concat, {x, x}));
        }
    }

    void add_row() {
        const ValueId x = any();
        switch (random_.below(12)) {
            case 8:
            case 9:
            case 10:
            case 11:
                return add_norm();
            case 6:
                return keep(apply(Op::swiglu, {apply(Op::concat, {x, x}, {number(Attr::axis, -1)})}));
            case 7: {  // any rows by any positions: the index of something is one
                const ValueId rows = any_matrix();
                const double width = static_cast<double>(shape(rows).last());
                const ValueId table =
                    apply(Op::rotary_table, {}, {number(Attr::limit, width), number(Attr::width, 2)});
                return keep(
                    apply(Op::rotary, {rows, apply(Op::argmax, {rows}), table}, {number(Attr::heads, 1)}));
            }
            case 0:
                return keep(apply(Op::sum, {x}, {number(Attr::keep_dims, 1)}));
            case 1:
                return keep(
                    apply(Op::mean, {any_matrix()}, {list(Attr::axes, {-1}), number(Attr::keep_dims, 1)}));
            case 2:
                return keep(apply(Op::max, {x}));
            case 3:
                return keep(apply(Op::softmax, {any_matrix()}));
            case 4:
                return keep(apply(Op::gather, {table_, ids_}));
            default: {
                const ValueId y = apply(Op::layer_norm, {any_matrix(), values_[2], values_[4]});
                keep(y);
                return keep(y + 1);
            }
        }
    }

    // Elementwise, along the rows, elementwise: forward, or the gradient of such.
    void add_rows_between() {
        const Op ops[] = {Op::gelu_tanh, Op::silu, Op::relu, Op::neg},
                 gradients[] = {Op::gelu_tanh_grad, Op::silu_grad};
        const ValueId x = any_matrix(), scale = values_[2];
        const Op op = ops[random_.below(4)];
        if (random_.below(3) == 0) return keep(apply(op, {apply(Op::softmax, {apply(Op::mul, {x, any()})})}));
        const bool centred = random_.below(2) != 0;
        const ValueId before = apply(Op::add, {x, any()});
        const ValueId y = centred ? apply(Op::layer_norm, {before, scale, values_[4]})
                                  : apply(Op::rms_norm, {before, scale});
        keep(apply(op, {y}));
        if (random_.below(2)) early_.emplace_back(y, before);  // both are read again at the end
        if (random_.below(2)) return;
        const ValueId dy = apply(gradients[random_.below(2)], {y, before});
        keep(centred ? apply(Op::layer_norm_grad, {dy, before, scale, y + 1, y + 2})
                     : apply(Op::rms_norm_grad, {dy, before, scale, y + 1}));
        if (random_.below(2)) keep(apply(Op::add, {dy, values_.back()}));
        if (!centred || random_.below(2)) return;
        Attribute axes = list(Attr::axes, shape(dy));
        axes.integer_count = shape(dy).rank - 1;
        for (int i = 0; i < axes.integer_count; ++i) axes.integers[i] = i;
        keep(apply(Op::layer_norm_grad_scale, {dy, before, y + 1, y + 2}));
        keep(apply(Op::sum, {dy}, {axes}));
    }

    // Of the columns as channels, without planes and with planes of two, and what follows a norm.
    void add_norm() {
        const ValueId rows = any_matrix(), scale = values_[2], shift = values_[4];
        if (random_.below(4) == 0)
            return keep(apply(Op::group_norm, {rows, scale, shift}, {number(Attr::groups, 1)}));
        const Shape s = shape(rows);
        ValueId x = rows;
        if (random_.below(2)) {
            x = apply(Op::reshape, {x}, {list(Attr::shape, {s[0], s[1], 1})});
            x = apply(Op::broadcast_to, {x}, {list(Attr::shape, {s[0], s[1], 2})});
            if (random_.below(2)) x = convolution(x);
        }
        x = apply(Op::relu, {apply(Op::batch_norm, {x, scale, shift, shift, scale})});
        keep(shape(x) == s ? x : apply(Op::sum, {x}, {list(Attr::axes, {2})}));
    }

    // Of as many channels, with a bias or without.
    ValueId convolution(ValueId x) {
        const ValueId weight = apply(Op::reshape, {values_[7]}, {list(Attr::shape, {kWidth, kWidth, 1})});
        const Op op = random_.below(2) ? Op::conv : Op::conv_transpose;
        const ValueId y = random_.below(2) ? apply(op, {x, weight, values_[4]}) : apply(op, {x, weight});
        if (random_.below(3) == 0) early_.emplace_back(y, y);  // it is read again at the end
        return y;
    }

    void add_product() {
        const ValueId a = any_matrix(), b = any_matrix();
        if (random_.below(3) == 0) return add_weight_gradient(random_.below(2) ? a : b, b);
        keep(apply(Op::matmul, {a, b}, {number(Attr::transpose_b, static_cast<double>(random_.below(2)))}));
    }

    // Of a layer's weight and bias: a product over the rows of dy, and the sums of its columns.
    void add_weight_gradient(ValueId x, ValueId dy) {
        const bool sum_first = random_.below(2) != 0;
        Attribute axes = list(Attr::axes, shape(dy));
        axes.integer_count = shape(dy).rank - 1;
        for (int i = 0; i < axes.integer_count; ++i) axes.integers[i] = i;
        ValueId sum = sum_first ? apply(Op::sum, {dy}, {axes}) : -1;
        const ValueId product = apply(Op::matmul, {x, dy}, {number(Attr::transpose_a, 1)});
        if (!sum_first) sum = apply(Op::sum, {dy}, {axes});
        keep(sum);
        keep(product);
        keep(apply(Op::add, {product, sum}));
    }

    // What merging looks for: the same node again, or nearly, with its operands swapped.
    void add_repeated() {
        const Node& node = graph_.nodes[static_cast<std::size_t>(
            random_.below(static_cast<std::int64_t>(graph_.nodes.size())))];
        if (node.inputs.empty()) return;
        Node again(node, test_heap());
        if (again.inputs.size() == 2 && random_.below(2)) std::swap(again.inputs[0], again.inputs[1]);
        const ValueId value = graph_.apply(std::move(again));
        if (graph_.value(value).dtype == DType::f32) keep(value);
    }

    Random random_;
    Graph graph_;
    std::pmr::vector<ValueId> values_;  // f32
    std::vector<std::pair<ValueId, ValueId>> early_;
    ValueId table_ = -1, ids_ = -1, state_ = -1;
    std::uint32_t stream_ = 0;
};

using Tensors = std::pmr::vector<EvalTensor<float>>;

// Every source filled from the seed: the same source gets the same data in every form of a graph.
inline Tensors filled_sources(const Graph& graph, std::uint64_t seed, Data data) {
    Tensors tensors(graph.values.size(), test_heap());
    Random random(seed);
    for (const SourceInfo& source : graph.sources) {
        const Node& node = graph.node(source.node);
        EvalTensor<float>& tensor = tensors[static_cast<std::size_t>(node.first_output)];
        const std::int64_t count = graph.shape(node.first_output).elements();
        for (std::int64_t i = 0; i < count; ++i) {
            if (graph.value(node.first_output).dtype == DType::f32)
                tensor.real.push_back(random_float(random, data));
            else
                tensor.integer.push_back(static_cast<std::int32_t>(random.below(9)));
        }
    }
    return tensors;
}

// The bits of all outputs, one behind the other; any NaN as one.
inline std::vector<std::uint32_t> output_bits(const Graph& graph, const Tensors& tensors) {
    std::vector<std::uint32_t> bits;
    for (const GraphOutput& output : graph.outputs) {
        const EvalTensor<float>& tensor = tensors[static_cast<std::size_t>(output.value)];
        for (const float value : tensor.real) bits.push_back(bits_of(value));
        for (const std::int32_t value : tensor.integer) bits.push_back(static_cast<std::uint32_t>(value));
    }
    return bits;
}

inline std::vector<std::uint32_t> evaluated_bits(const Graph& graph, std::uint64_t seed, Data data) {
    Tensors tensors = filled_sources(graph, seed, data);
    evaluate(graph, tensors);
    return output_bits(graph, tensors);
}

}  // namespace volta::test
