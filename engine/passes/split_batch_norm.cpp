// A batch norm whose statistics are given is an elementwise operation with numbers per channel: written as
// such, it becomes one kernel with the activation and the residual that follow. The same roundings in the
// same order, so the same bits. What the statistics are, and what flows back through them, is not touched.
#include "engine/graph/forms.h"
#include "engine/numerics/define_norms.h"
#include "engine/passes/passes.h"
#include "engine/passes/rewrite.h"

namespace volta {
namespace {

class Split {
  public:
    Split(Rewrite& rewrite, const Node& norm)
        : to_(rewrite.to), phase_(norm.phase), shape_(rewrite.from.shape(norm.inputs[0])) {}

    ValueId apply(Op op, std::initializer_list<ValueId> inputs,
                  std::initializer_list<Attribute> attributes = {}) {
        return to_.apply(op, inputs, attributes, phase_);
    }

    // [C] beside x: a number for each plane, so that all planes are rows of one kernel; where a plane is one
    // element, or there is one sample, [1, C, ...] is enough.
    ValueId per_channel(ValueId values) {
        Shape beside = shape_;
        for (int axis = 0; axis < beside.rank; ++axis)
            if (axis != 1) beside[axis] = 1;
        const ValueId aligned = apply(Op::reshape, {values}, {list(Attr::shape, beside)});
        if (shape_[0] == 1 || channel_planes(shape_).plane == 1) return aligned;
        beside[0] = shape_[0];
        return apply(Op::broadcast_to, {aligned}, {list(Attr::shape, beside)});
    }

  private:
    Graph& to_;
    const Phase phase_;
    const Shape shape_;
};

ValueId split(Rewrite& rewrite, const Node& norm) {
    const auto input = [&](std::size_t i) { return rewrite.now(norm.inputs[i]); };
    Split parts(rewrite, norm);
    const ValueId epsilon = rewrite.to.scalar(static_cast<float>(norm.number(Attr::epsilon)));
    const ValueId rs = parts.apply(Op::rsqrt, {parts.apply(Op::add, {input(4), epsilon})});
    const ValueId d = parts.apply(Op::sub, {input(0), parts.per_channel(input(3))});
    const ValueId xh = parts.apply(Op::mul, {d, parts.per_channel(rs)});
    const ValueId scaled = parts.apply(Op::mul, {xh, parts.per_channel(input(1))});
    return parts.apply(Op::add, {scaled, parts.per_channel(input(2))});
}

}  // namespace

Graph split_batch_norm(const Graph& graph, std::pmr::memory_resource* heap) {
    Rewrite rewrite(graph, heap);
    for (NodeId id = 0; id < node_count(graph); ++id) {
        const Node& node = graph.node(id);
        if (node.op == Op::batch_norm || node.op == Op::batch_norm_train)
            rewrite.replace(id, split(rewrite, node));
        else
            rewrite.copy(id);
    }
    return rewrite.finish();
}

}  // namespace volta
