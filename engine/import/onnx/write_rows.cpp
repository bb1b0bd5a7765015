// Norms, losses and reductions as ONNX.
#include <algorithm>

#include "engine/import/onnx/write_table.h"

namespace volta::onnx::write {
namespace {

Ref mean_of_rows(Writer& w, Ref x) { return w.reduce("ReduceMean", x, {-1}, true); }
Ref sum_of_rows(Writer& w, Ref x) { return w.reduce("ReduceSum", x, {-1}, false); }
Ref square(Writer& w, Ref x) { return w.op("Pow", {x, w.scalar(2)}); }
Ref deviation(Writer& w, Ref square) {
    return w.op("Sqrt", {w.op("Add", {mean_of_rows(w, square), w.scalar(w.number(Attr::epsilon))})});
}

// Statistics of rows have an axis of 1 in ONNX.
void give_statistic(Writer& w, Ref statistic, int output) {
    w.give(w.op("Squeeze", {statistic, w.wholes({-1})}), output);
}

// InstanceNormalization of `groups` groups of channels, then scale and bias of each channel.
void by_groups(Writer& w, std::int64_t groups) {
    const Ref x = w.in(0);
    const std::pmr::vector<float> ones(static_cast<std::size_t>(groups), 1.0f, w.graph().heap()),
        zeros(static_cast<std::size_t>(groups), 0.0f, w.graph().heap());
    const Ref rows = w.op("InstanceNormalization",
                          {w.reshape(x, {0, groups, -1}), w.tensor(Type::f32, {groups}, ones.data()),
                           w.tensor(Type::f32, {groups}, zeros.data())},
                          {real("epsilon", w.number(Attr::epsilon))});
    Shape each{w.shape(0)[1]};
    for (int axis = 2; axis < w.shape(0).rank; ++axis) each[each.rank++] = 1;
    const Ref scaled = w.op("Mul", {w.reshape_like(rows, w.value(0)), w.reshape(w.in(1), each)});
    w.give(w.op("Add", {scaled, w.reshape(w.in(2), each)}));
}

}  // namespace

void layer_norm(Writer& w) {
    const Ref x = w.in(0);
    const bool with_mean = w.wants(1), with_deviation = w.wants(2);
    if (w.opset() >= 17) {
        const Ref y = w.op("LayerNormalization", {x, w.in(1), w.in(2)},
                           {whole("axis", -1), real("epsilon", w.number(Attr::epsilon))},
                           with_deviation ? 3
                           : with_mean    ? 2
                                          : 1);
        if (with_mean) give_statistic(w, y + 1, 1);
        if (with_deviation) give_statistic(w, y + 2, 2);
        return w.give(y);
    }
    const Ref mean = mean_of_rows(w, x), distance = w.op("Sub", {x, mean});
    const Ref root = deviation(w, square(w, distance));
    if (with_mean) give_statistic(w, mean, 1);
    if (with_deviation) give_statistic(w, w.op("Reciprocal", {root}), 2);
    w.give(w.op("Add", {w.op("Mul", {w.op("Div", {distance, root}), w.in(1)}), w.in(2)}));
}

void rms_norm(Writer& w) {
    const Ref x = w.in(0);
    const Ref factor = w.op("Reciprocal", {deviation(w, square(w, x))});
    if (w.wants(1)) give_statistic(w, factor, 1);
    w.give(w.op("Mul", {w.op("Mul", {x, factor}), w.in(1)}));
}

void batch_norm(Writer& w) {
    w.give(w.op("BatchNormalization", {w.in(0), w.in(1), w.in(2), w.in(3), w.in(4)},
                {real("epsilon", w.number(Attr::epsilon)), real("momentum", 1 - w.number(Attr::momentum))}));
}

void group_norm(Writer& w) {
    const std::int64_t groups = w.count(Attr::groups);
    if (w.opset() < 21) return by_groups(w, groups);
    w.give(w.op("GroupNormalization", {w.in(0), w.in(1), w.in(2)},
                {real("epsilon", w.number(Attr::epsilon)), whole("num_groups", groups)}));
}

void instance_norm(Writer& w) {
    if (w.shape(0).rank < 3) return by_groups(w, w.shape(0)[1]);
    w.give(w.op("InstanceNormalization", {w.in(0), w.in(1), w.in(2)},
                {real("epsilon", w.number(Attr::epsilon))}));
}

// A row's loss is keep * h + share * the sum over classes of their losses (docs/numerics.md, 4).
void cross_entropy(Writer& w) {
    const std::int64_t classes = w.shape(0).last();
    const double smoothing = w.number(Attr::label_smoothing);
    const bool weighted = w.inputs() > 2;
    const Ref x = w.reshape(w.in(0), {-1, classes}), targets = w.reshape(w.whole(w.in(1)), {-1});
    const Ref operands[] = {x, targets, weighted ? w.in(2) : -1};
    const Setting settings[] = {whole("ignore_index", -1), text("reduction", "none")};
    Ref loss = w.op("SoftmaxCrossEntropyLoss", operands, weighted ? 3 : 2, settings, 2);
    if (smoothing > 0) {
        Ref each = w.op("LogSoftmax", {x});
        if (weighted) each = w.op("Mul", {each, operands[2]});
        const Ref all =
            w.op("Mul", {sum_of_rows(w, each), w.scalar(-smoothing / static_cast<double>(classes))});
        loss = w.op("Add", {w.op("Mul", {loss, w.scalar(1 - smoothing)}), all});
        const Ref ignored = w.typed(w.op("Equal", {targets, w.index(-1)}), Type::flag);
        loss = w.typed(w.op("Where", {ignored, w.scalar(0), loss}), Type::f32);
    }
    w.give(w.reshape_like(loss, w.value(1)));
}

void mse(Writer& w) {
    const Ref distance = w.op("Sub", {w.in(0), w.in(1)});
    w.give(sum_of_rows(w, w.op("Mul", {distance, distance})));
}

void l1(Writer& w) { w.give(sum_of_rows(w, w.op("Abs", {w.op("Sub", {w.in(0), w.in(1)})}))); }

void huber(Writer& w) {
    const double delta = w.number(Attr::delta);
    const Ref distance = w.op("Sub", {w.in(0), w.in(1)}), size = w.op("Abs", {distance});
    const Ref curve = w.op("Mul", {w.op("Mul", {distance, w.scalar(0.5)}), distance});
    const Ref line = w.op("Mul", {w.op("Sub", {size, w.scalar(0.5 * delta)}), w.scalar(delta)});
    const Ref is_near = w.typed(w.op("LessOrEqual", {size, w.scalar(delta)}), Type::flag);
    w.give(sum_of_rows(w, w.typed(w.op("Where", {is_near, curve, line}), Type::f32)));
}

void binary_cross_entropy(Writer& w) {
    const Ref x = w.in(0), target = w.in(1);
    Ref positive = w.op("Mul", {target, w.op("Softplus", {w.op("Neg", {x})})});
    if (w.inputs() > 2) positive = w.op("Mul", {positive, w.in(2)});
    const Ref negative = w.op("Mul", {w.op("Sub", {w.scalar(1), target}), w.op("Softplus", {x})});
    w.give(sum_of_rows(w, w.op("Add", {positive, negative})));
}

void reduce(Writer& w) {
    const Op op = w.node().op;
    const char* const name = op == Op::sum    ? "ReduceSum"
                             : op == Op::mean ? "ReduceMean"
                             : op == Op::max  ? "ReduceMax"
                                              : "ReduceMin";
    w.give(w.reduce(name, w.in(0), w.integers(Attr::axes), w.number(Attr::keep_dims) != 0));
}

void square_sum(Writer& w) { w.give(w.reduce("ReduceSumSquare", w.in(0), {}, false)); }

void argmax(Writer& w) {
    w.give(w.typed(w.op("ArgMax", {w.in(0)}, {whole("axis", -1), whole("keepdims", 0)}), Type::i64));
}

}  // namespace volta::onnx::write
