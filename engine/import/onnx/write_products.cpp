// Products, attention and pairs of columns as ONNX.
#include "engine/graph/evaluate.h"
#include "engine/graph/forms.h"
#include "engine/import/onnx/write_table.h"
#include "engine/numerics/define_pairs.h"

namespace volta::onnx::write {
namespace {

Ref turned(Writer& w, Ref x, int rank) {
    Shape order;
    for (int axis = 0; axis < rank; ++axis) order[order.rank++] = axis;
    std::swap(order[rank - 2], order[rank - 1]);
    return w.transpose(x, order);
}

// [batch, time, heads * width] as [batch, heads, time, width].
Ref heads_apart(Writer& w, Ref x, std::int64_t heads, std::int64_t width) {
    return w.transpose(w.reshape(x, {0, 0, heads, width}), {0, 2, 1, 3});
}

// Each head as often as query heads share it.
Ref heads_repeated(Writer& w, Ref x, std::int64_t heads, std::int64_t times, std::int64_t width) {
    if (times == 1) return x;
    const Ref wide = w.op("Expand", {w.unsqueeze(x, 2), w.wholes({1, 1, times, 1, 1})});
    return w.reshape(wide, {0, heads, -1, width});
}

// Which keys a query of causal attention weighs, [time, time]: those up to its own, of a window the last
// ones.
Ref seen_keys(Writer& w, std::int64_t window) {
    const Ref causal = w.causal(w.value(0), 1);
    if (window == 0) return causal;
    const Ref all = w.places(w.value(0), 1);
    const Ref distance = w.op("Sub", {w.unsqueeze(all, 1), w.unsqueeze(all, 0)});
    const Ref near = w.typed(w.op("Less", {distance, w.index(window)}), Type::flag);
    return w.typed(w.op("And", {causal, near}), Type::flag);
}

}  // namespace

void matmul(Writer& w) {
    const MatmulForm form = matmul_form(w.node(), w.shape(0), w.shape(1));
    Ref a = w.in(0), b = w.in(1);
    const bool flat = w.shape(0).rank == 2 && w.shape(1).rank == 2;
    if (!form.a_transposed && !(form.b_transposed && flat))
        return w.give(w.op("MatMul", {a, form.b_transposed ? turned(w, b, w.shape(1).rank) : b}));
    if (!flat) {
        a = w.reshape(a, {-1, w.shape(0).last()});
        b = w.reshape(b, {-1, w.shape(1).last()});
    }
    w.give(w.op("Gemm", {a, b}, {whole("transA", form.a_transposed), whole("transB", form.b_transposed)}));
}

void attention(Writer& w) {
    if (w.number(Attr::documents) != 0) w.refuse("it has documents");
    const bool is_packed = w.number(Attr::packed) != 0;
    const AttentionForm form = attention_form(w.node(), w.shape(0), is_packed ? w.shape(0) : w.shape(1));
    const std::int64_t width = form.head_dim, times = form.heads / form.kv_heads;
    Ref parts[3];
    if (is_packed)
        parts[0] = w.split(w.in(0), 2, {form.heads * width, form.kv_heads * width, form.kv_heads * width});
    for (int i = is_packed ? 1 : 0; i < 3; ++i) parts[i] = is_packed ? parts[0] + i : w.in(i);
    const Ref q = heads_apart(w, parts[0], form.heads, width);
    Ref k = heads_apart(w, parts[1], form.kv_heads, width),
        v = heads_apart(w, parts[2], form.kv_heads, width);
    k = heads_repeated(w, k, form.heads, times, width);
    v = heads_repeated(w, v, form.heads, times, width);
    const Ref products = w.op("MatMul", {q, turned(w, k, 4)});
    Ref scores = w.op("Mul", {products, w.scalar(static_cast<double>(form.scale))});
    if (form.cap != 0) {
        const Ref cap = w.scalar(static_cast<double>(form.cap));
        scores = w.op("Mul", {w.op("Tanh", {w.op("Div", {scores, cap})}), cap});
    }
    if (form.causal)
        scores = w.typed(w.op("Where", {seen_keys(w, form.window), scores, w.scalar(-HUGE_VAL)}), Type::f32);
    const Ref mixed = w.op("MatMul", {w.op("Softmax", {scores}, {whole("axis", -1)}), v});
    w.give(w.reshape(w.transpose(mixed, {0, 2, 1, 3}), {0, 0, form.heads * width}));
}

void swiglu(Writer& w) {
    const std::int64_t half = w.shape(0).last() / 2;
    const Ref gate = w.split(w.in(0), w.shape(0).rank - 1, {half, half});
    w.give(w.op("Mul", {w.op("Mul", {gate, w.op("Sigmoid", {gate})}), gate + 1}));
}

void rotary_table(Writer& w) {
    const Shape& shape = w.graph().shape(w.node().first_output);
    w.spend(static_cast<std::uint64_t>(shape.elements()) * sizeof(float));
    EvalTensor<float> table(w.graph().heap());
    EvalTensor<float>* const outputs[] = {&table};
    EvalTensor<float> frequencies(w.graph().heap());
    const EvalTensor<float>* const inputs[] = {&frequencies};
    if (w.inputs() > 0 && !w.graph().read_constant(w.value(0), frequencies.real))
        w.refuse("its frequencies are not a constant");
    evaluate_node<float>(w.graph(), w.node(), inputs, outputs);
    w.give(w.tensor(Type::f32, shape, table.real.data()));
}

// [..., heads * width, and more] with the pairs of each head's first d turned by the angles of their
// positions; the rest of the head behind them, and what no head has behind those.
void rotary(Writer& w) {
    const int rank = w.shape(0).rank, last = rank - 1;
    const RotaryForm form = rotary_form(w.node(), w.shape(2));
    const std::int64_t heads = form.heads, half = form.width / 2, stays = form.stride - form.width,
                       rest = w.shape(0).last() - form.columns();
    const bool interleaved = form.interleaved;
    if (rank + 1 + interleaved > kMaxRank) w.refuse("its input has %d axes", rank);
    const Ref angles =
        w.split(w.op("Gather", {w.in(2), w.whole(w.in(1))}, {whole("axis", 0)}), last, {half, half});
    const Ref cosine = w.unsqueeze(w.typed(angles, Type::f32), last);
    Ref sine = w.unsqueeze(w.typed(angles + 1, Type::f32), last);
    if (form.inverse) sine = w.op("Neg", {sine});

    const Ref front = rest == 0 ? w.in(0) : w.split(w.in(0), last, {form.columns(), rest});
    Shape joined, apart, pairs;  // zeros: the extents that there are
    joined.rank = apart.rank = last;
    joined[joined.rank++] = form.columns();
    apart[apart.rank++] = heads;
    pairs = apart;
    apart[apart.rank++] = form.width;
    if (interleaved) pairs[pairs.rank++] = half;
    pairs[pairs.rank++] = interleaved ? 2 : form.width;
    const int pair = pairs.rank - 1;
    Ref head = -1;  // [..., heads, stride], only where a part of it stays
    if (stays > 0) {
        Shape whole = apart;
        whole[last + 1] = form.stride;
        head = w.split(w.reshape(front, whole), last + 1, {form.width, stays});
    }
    const Ref halves = w.split(stays > 0 && !interleaved ? head : w.reshape(stays > 0 ? head : front, pairs),
                               pair, interleaved ? Shape{1, 1} : Shape{half, half});
    const auto single = [&](Ref x) { return interleaved ? w.op("Squeeze", {x, w.wholes({pair})}) : x; };
    const Ref first = single(halves), second = single(halves + 1);
    Ref turned_first = w.op("Sub", {w.op("Mul", {first, cosine}), w.op("Mul", {second, sine})});
    Ref turned_second = w.op("Add", {w.op("Mul", {first, sine}), w.op("Mul", {second, cosine})});
    if (interleaved) {
        turned_first = w.unsqueeze(turned_first, pair);
        turned_second = w.unsqueeze(turned_second, pair);
    }
    Ref y = w.op("Concat", {turned_first, turned_second}, {whole("axis", pair)});
    if (stays > 0 && interleaved) y = w.reshape(y, apart);
    if (stays > 0) y = w.op("Concat", {y, head + 1}, {whole("axis", last + 1)});
    y = w.reshape(y, joined);
    w.give(rest == 0 ? y : w.op("Concat", {y, front + 1}, {whole("axis", last)}));
}

}  // namespace volta::onnx::write
