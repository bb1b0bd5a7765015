// Elementwise operators as ONNX, where they are not one of its own.
#include <cmath>

#include "engine/graph/forms.h"
#include "engine/import/onnx/write_table.h"

namespace volta::onnx::write {

void same(Writer& w) { w.give(w.in(0)); }

void rsqrt(Writer& w) { w.give(w.op("Reciprocal", {w.op("Sqrt", {w.in(0)})})); }

void silu(Writer& w) { w.give(w.op("Mul", {w.in(0), w.op("Sigmoid", {w.in(0)})})); }

// 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))): PyTorch's, of which x sigmoid(...) is another form.
void gelu_tanh(Writer& w) {
    const Ref x = w.in(0);
    if (w.opset() >= 20) return w.give(w.op("Gelu", {x}, {text("approximate", "tanh")}));
    const Ref half = w.op("Mul", {x, w.scalar(0.5)});
    const Ref cube = w.op("Mul", {w.op("Pow", {x, w.scalar(3)}), w.scalar(0.044715)});
    const Ref inner = w.op("Mul", {w.op("Add", {x, cube}), w.scalar(std::sqrt(2 / 3.14159265358979323846))});
    w.give(w.op("Mul", {half, w.op("Add", {w.op("Tanh", {inner}), w.scalar(1)})}));
}

void gelu_erf(Writer& w) {
    const Ref x = w.in(0);
    const Ref erf = w.op("Erf", {w.op("Div", {x, w.scalar(std::sqrt(2.0))})});
    w.give(w.op("Mul", {w.op("Mul", {x, w.op("Add", {erf, w.scalar(1)})}), w.scalar(0.5)}));
}

void hard_swish(Writer& w) {
    const Ref gate = w.op("HardSigmoid", {w.in(0)}, {real("alpha", 1.0 / 6), real("beta", 0.5)});
    w.give(w.op("Mul", {w.in(0), gate}));
}

void mish(Writer& w) { w.give(w.op("Mul", {w.in(0), w.op("Tanh", {w.op("Softplus", {w.in(0)})})})); }

void pow(Writer& w) { w.give(w.op("Pow", {w.in(0), w.scalar(w.number(Attr::exponent))})); }

void clamp(Writer& w) {
    w.give(w.op("Clip", {w.in(0), w.scalar(w.number(Attr::low)), w.scalar(w.number(Attr::high))}));
}

void prelu(Writer& w) {
    const Ref x = w.in(0), slope = w.in(1);
    Shape joined;
    if (broadcast(w.shape(0), w.shape(1), &joined) && joined == w.shape(0) && !w.has_open(w.value(1)))
        return w.give(w.op("PRelu", {x, slope}));
    const Ref below = w.typed(w.op("Less", {x, w.scalar(0)}), Type::flag);
    w.give(w.typed(w.op("Where", {below, w.op("Mul", {slope, x}), x}), Type::f32));
}

void compare(Writer& w) {
    const Op op = w.node().op;
    const char* const name = op == Op::less ? "Less" : op == Op::equal ? "Equal" : "LessOrEqual";
    w.give(w.typed(w.op(name, {w.in(0), w.in(1)}), Type::flag));
}

void where(Writer& w) {
    const Ref mask = w.flag(w.in(0));
    w.give(w.typed(w.op("Where", {mask, w.in(1), w.in(2)}), w.type(w.in(1))));
}

}  // namespace volta::onnx::write
