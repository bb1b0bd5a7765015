// What a gradient rule sees: one node, the gradients of its outputs, and the graph to write into.
#pragma once

#include <memory_resource>
#include <vector>

#include "engine/graph/graph.h"

namespace volta {

// One input's share of the gradient of its value.
struct GradientUse {
    int index;  // of the node's input
    ValueId value, gradient;
};

class GradientBuilder {
  public:
    // `node` is a copy: rules append to the graph's nodes. needed, gradients: one entry per value, -1: no
    // gradient.
    GradientBuilder(Graph& target, const Node& differentiated, const std::pmr::vector<char>& needed,
                    const std::pmr::vector<ValueId>& gradients, std::pmr::vector<GradientUse>& uses)
        : graph(target), node(differentiated), needed_(needed), gradients_(gradients), uses_(uses) {}
    Graph& graph;
    const Node& node;

    ValueId in(int index) const { return node.inputs[static_cast<std::size_t>(index)]; }
    ValueId out(int index = 0) const { return node.first_output + index; }
    ValueId dy(int index = 0) const { return gradients_[static_cast<std::size_t>(out(index))]; }
    Shape shape_in(int index) const { return graph.shape(in(index)); }  // by value: the graph grows
    bool needs(int index) const { return needed_[static_cast<std::size_t>(in(index))] != 0; }
    Attribute attribute(Attr key) const { return *node.find(key); }

    // The gradient of input `index`, in that input's shape; give_reduced sums the axes that were broadcast.
    void give(int index, ValueId gradient) const;
    void give_reduced(int index, ValueId gradient) const {
        give(index, reduce_to(gradient, shape_in(index)));
    }
    // Sums `gradient` over the axes along which `shape` was broadcast (docs/numerics.md, 3: rows or columns).
    ValueId reduce_to(ValueId gradient, const Shape& shape) const;

    // Operators as functions.
    ValueId apply(Op op, std::initializer_list<ValueId> inputs,
                  std::initializer_list<Attribute> attributes = {}) const {
        return graph.apply(op, inputs, attributes);
    }
    // The operator that the row names as this one's gradient.
    ValueId apply_gradient(std::initializer_list<ValueId> inputs,
                           std::initializer_list<Attribute> attributes = {}) const {
        return graph.apply(op_row(node.op).gradient_op, inputs, attributes);
    }
    ValueId constant(double value) const { return graph.scalar(static_cast<float>(value)); }
    ValueId neg(ValueId a) const { return apply(Op::neg, {a}); }
    ValueId sub(ValueId a, ValueId b) const { return apply(Op::sub, {a, b}); }
    ValueId mul(ValueId a, ValueId b) const { return apply(Op::mul, {a, b}); }
    ValueId div(ValueId a, ValueId b) const { return apply(Op::div, {a, b}); }
    ValueId reshape(ValueId a, const Shape& shape) const;  // `a` itself where it has that shape

  private:
    const std::pmr::vector<char>& needed_;
    const std::pmr::vector<ValueId>& gradients_;
    std::pmr::vector<GradientUse>& uses_;
};

}  // namespace volta
