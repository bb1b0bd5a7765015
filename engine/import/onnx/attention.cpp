// Attention and rotary positions, as products, masks and slices.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/import/onnx/rules.h"

namespace volta::onnx {
namespace {

using Whole = std::int64_t;
constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

ValueId transposed(Call& call, ValueId x, std::initializer_list<Whole> order) {
    return call.transpose(x, std::pmr::vector<Whole>(order, call.heap()));
}

// [B, S, heads * d] as [B, heads, S, d].
ValueId heads_apart(Call& call, ValueId x, Whole heads) {
    const Extents from = call.extents_of(x);
    if (heads < 1 || from.is_open(2) || from.now[2] % heads != 0)
        call.refuse("%s has no %lld heads", to_text(from.now).text, static_cast<long long>(heads));
    Extents apart;
    apart.append(from, 0);
    apart.append(from, 1);
    apart.append(heads);
    apart.append(from.now[2] / heads);
    return transposed(call, call.reshape(x, apart), {0, 2, 1, 3});
}

// Each head as often as query heads share it.
ValueId heads_repeated(Call& call, ValueId x, Whole times) {
    if (times == 1) return x;
    const Extents from = call.extents_of(x);
    Extents apart, wide, to = from;
    for (const int axis : {0, 1}) apart.append(from, axis);
    apart.append(1);
    for (const int axis : {2, 3}) apart.append(from, axis);
    wide = apart;
    wide.now[2] = wide.later[2] = times;
    to.now[1] = to.later[1] = from.now[1] * times;
    return call.reshape(call.broadcast_to(call.reshape(x, apart), wide), to);
}

ValueId along(Call& call, ValueId past, ValueId x, int axis) {
    return call.apply(Op::concat, {past, x}, {number(Attr::axis, axis)});
}

struct Attention {
    ValueId q = -1, k = -1, v = -1;  // [B, heads, S, d]
    Whole queries = 0, keys = 0;     // S of q and of k
    Whole past = 0;                  // keys in front of those of the queries
};

// 0 where a query sees a key, -Inf elsewhere: [S, S of k], or one for each of the batch.
ValueId visible(Call& call, const Attention& a, bool causal, const std::pmr::vector<Whole>& lengths) {
    const bool each = !lengths.empty();
    const Whole count = each ? static_cast<Whole>(lengths.size()) : 1;
    call.graph().spend(
        static_cast<std::size_t>(multiplied(call, count, multiplied(call, a.queries, a.keys))));
    std::pmr::vector<float> bias(call.heap());
    for (Whole n = 0; n < count; ++n) {
        const Whole length = each ? lengths[static_cast<std::size_t>(n)] : a.keys;
        const Whole offset = each && a.past == 0 ? length - a.queries : a.past;
        for (Whole i = 0; i < a.queries; ++i)
            for (Whole j = 0; j < a.keys; ++j) {
                const bool seen = (!causal || j <= i + offset) && j < length;
                bias.push_back(seen ? 0 : static_cast<float>(kMinusInfinity));
            }
    }
    return each ? call.graph().constant(DType::f32, {count, 1, a.queries, a.keys}, bias.data())
                : call.graph().constant(DType::f32, {a.queries, a.keys}, bias.data());
}

// The mask as something to add, for all keys: those that it does not have are not seen.
ValueId mask_bias(Call& call, Whole keys) {
    ValueId bias = -1;
    if (call.type(3) == Type::flag)
        bias = call.apply(Op::where, {call.flag(3), call.scalar(0), call.scalar(kMinusInfinity)});
    else
        bias = call.real(3);
    const Extents from = call.extents_of(bias);
    if (from.rank() < 1 || from.is_open(from.rank() - 1))
        call.refuse("its mask is %s", to_text(from.now).text);
    const Whole less = keys - from.now.last();
    if (less <= 0 || from.now.last() == 1) return bias;
    return call.apply(Op::pad, {bias}, {list(Attr::pads, {0, less}), number(Attr::value, kMinusInfinity)});
}

}  // namespace

namespace build {

void attention(Call& call) {
    Attention a;
    const Extents of_q = call.extents(0), of_k = call.extents(1), of_v = call.extents(2);
    const bool flat = of_q.rank() == 3;
    if ((!flat && of_q.rank() != 4) || of_k.rank() != of_q.rank() || of_v.rank() != of_q.rank())
        call.refuse("its inputs are %s, %s and %s", to_text(of_q.now).text, to_text(of_k.now).text,
                    to_text(of_v.now).text);
    const Whole heads = flat ? call.integer("q_num_heads") : of_q.now[1];
    const Whole kv_heads = flat ? call.integer("kv_num_heads") : of_k.now[1];
    if (heads < 1 || kv_heads < 1 || heads % kv_heads != 0)
        call.refuse("it has %lld query heads and %lld of keys", static_cast<long long>(heads),
                    static_cast<long long>(kv_heads));
    const bool causal = call.integer("is_causal") != 0;
    const double softcap = call.real_attribute("softcap");
    const bool can_cap = softcap == 0 || static_cast<float>(softcap) > 0;
    const bool plain = !call.has(3) && !call.has(4) && !call.has(5) && !call.has(6) && can_cap &&
                       !call.wants(1) && !call.wants(2) && !call.wants(3);
    const bool same_time = flat && of_q.now[1] == of_k.now[1] && of_q.later[1] == of_k.later[1] &&
                           of_k.now == of_v.now && of_q.now[2] / heads == of_k.now[2] / kv_heads;
    if (plain && same_time)
        return call.give(
            0,
            call.apply(Op::attention, {call.real(0), call.real(1), call.real(2)},
                       {number(Attr::heads, static_cast<double>(heads)),
                        number(Attr::kv_heads, static_cast<double>(kv_heads)), number(Attr::causal, causal),
                        number(Attr::scale, call.real_attribute("scale")), number(Attr::cap, softcap)}),
            call.type(0));
    a.q = flat ? heads_apart(call, call.real(0), heads) : call.real(0);
    a.k = flat ? heads_apart(call, call.real(1), kv_heads) : call.real(1);
    a.v = flat ? heads_apart(call, call.real(2), kv_heads) : call.real(2);
    if (call.has(4) != call.has(5)) call.refuse("it has past keys or past values alone");
    if (call.has(4)) {
        const Extents past = call.extents(4);
        if (past.rank() != 4 || past.is_open(2)) call.refuse("its past keys are %s", to_text(past.now).text);
        a.past = past.now[2];
        a.k = along(call, call.real(4), a.k, 2);
        a.v = along(call, call.real(5), a.v, 2);
    }
    call.give(1, a.k, call.type(1));
    call.give(2, a.v, call.type(2));
    const Extents q = call.extents_of(a.q), k = call.extents_of(a.k);
    for (const int axis : {1, 2, 3})
        if (q.is_open(axis) || k.is_open(axis)) call.refuse("the number of its queries or keys is open");
    a.queries = q.now[2];
    a.keys = k.now[2];
    std::pmr::vector<Whole> lengths(call.heap());
    if (call.has(6)) lengths = call.integers_in(6, "nonpad_kv_seqlen");
    if (call.has(6) && (q.is_open(0) || static_cast<Whole>(lengths.size()) != q.now[0]))
        call.refuse("its nonpad_kv_seqlen has %zu lengths", lengths.size());

    double scale = call.real_attribute("scale");
    if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(q.now[3]));
    if (!(scale > 0)) call.refuse("its scale is %g", scale);
    const ValueId root = call.scalar(std::sqrt(scale));
    const ValueId keys = transposed(call, heads_repeated(call, a.k, heads / kv_heads), {0, 1, 3, 2});
    ValueId scores =
        call.apply(Op::matmul, {call.apply(Op::mul, {a.q, root}), call.apply(Op::mul, {keys, root})});
    if (softcap != 0) {
        const ValueId cap = call.scalar(softcap);
        scores = call.apply(Op::mul, {call.apply(Op::tanh, {call.apply(Op::div, {scores, cap})}), cap});
    }
    const Whole mode = call.integer("qk_matmul_output_mode");
    if (mode < 2) call.give(3, scores, call.type(0));

    ValueId bias = call.has(3) ? mask_bias(call, a.keys) : -1;
    if (causal || call.has(6)) {
        const ValueId constant = visible(call, a, causal, lengths);
        bias = bias < 0 ? constant : call.apply(Op::add, {bias, constant});
    }
    if (bias >= 0) scores = call.apply(Op::add, {scores, bias});
    if (mode == 2) call.give(3, scores, call.type(0));
    ValueId weights = call.apply(Op::softmax, {scores});
    if (call.has(3) || call.has(6)) {  // a query that sees no key has zeros
        const ValueId most =
            call.apply(Op::max, {bias}, {list(Attr::axes, {-1}), number(Attr::keep_dims, 1)});
        weights = call.apply(
            Op::where, {call.apply(Op::equal, {most, call.scalar(kMinusInfinity)}), call.scalar(0), weights});
    }
    if (mode == 3) call.give(3, weights, call.type(0));
    const ValueId y = call.apply(Op::matmul, {weights, heads_repeated(call, a.v, heads / kv_heads)});
    if (!flat) return call.give(0, y, call.type(0));
    const Extents apart = call.extents_of(y);
    Extents to;
    to.append(apart, 0);
    to.append(apart, 2);
    to.append(apart.now[1] * apart.now[3]);
    call.give(0, call.reshape(transposed(call, y, {0, 2, 1, 3}), to), call.type(0));
}

void rotary_embedding(Call& call) {
    const ValueId given = call.real(0);
    const Extents from = call.extents_of(given);
    const bool flat = from.rank() == 3;
    if (!flat && from.rank() != 4) call.refuse("its input is %s", to_text(from.now).text);
    const ValueId x = flat ? heads_apart(call, given, call.integer("num_heads")) : given;  // [B, H, S, d]
    const Extents apart = call.extents_of(x);
    if (apart.is_open(3)) call.refuse("the extent of its heads is open");
    const Whole size = apart.now[3];
    Whole turned = call.integer("rotary_embedding_dim");
    if (turned == 0) turned = size;
    if (turned < 2 || turned % 2 != 0 || turned > size)
        call.refuse("its rotary_embedding_dim is %lld of %lld", static_cast<long long>(turned),
                    static_cast<long long>(size));
    const Whole half = turned / 2;
    ValueId angles[2];
    for (const int i : {0, 1}) {
        ValueId table = call.real(i + 1);
        if (call.has(3)) table = call.apply(Op::gather, {table, call.whole(3)});
        const Extents of_table = call.extents_of(table);  // [B, S, half]
        if (of_table.rank() != 3 || of_table.is_open(2) || of_table.now[2] != half)
            call.refuse("its cosines or sines are %s", to_text(of_table.now).text);
        Extents to;
        to.append(of_table, 0);
        to.append(1);
        to.append(of_table, 1);
        to.append(of_table, 2);
        angles[i] = call.reshape(table, to);
    }
    const auto part = [&](ValueId value, int axis, Whole begin, Whole end) {
        return call.apply(Op::slice, {value},
                          {number(Attr::axis, axis), number(Attr::begin, static_cast<double>(begin)),
                           number(Attr::end, static_cast<double>(end))});
    };
    const ValueId front = turned == size ? x : part(x, 3, 0, turned);
    const bool interleaved = call.integer("interleaved") != 0;
    ValueId first = -1, second = -1;
    Extents pair;
    for (const int axis : {0, 1, 2}) pair.append(apart, axis);
    Extents single = pair;
    single.append(half);
    if (interleaved) {
        pair.append(half);
        pair.append(2);
        const ValueId pairs = call.reshape(front, pair);
        first = call.reshape(part(pairs, 4, 0, 1), single);
        second = call.reshape(part(pairs, 4, 1, 2), single);
    } else {
        first = part(front, 3, 0, half);
        second = part(front, 3, half, turned);
    }
    const auto product = [&](ValueId value, int angle) {
        return call.apply(Op::mul, {angles[angle], value});
    };
    ValueId real = call.apply(Op::sub, {product(first, 0), product(second, 1)});
    ValueId imaginary = call.apply(Op::add, {product(first, 1), product(second, 0)});
    ValueId y = -1;
    if (interleaved) {
        Extents column = single;
        column.append(1);
        Extents whole = single;
        whole.now[3] = whole.later[3] = turned;
        y = call.reshape(along(call, call.reshape(real, column), call.reshape(imaginary, column), 4), whole);
    } else {
        y = along(call, real, imaginary, 3);
    }
    if (turned != size) y = along(call, y, part(x, 3, turned, size), 3);
    if (flat) y = call.reshape(transposed(call, y, {0, 2, 1, 3}), from);
    call.give(0, y, call.type(0));
}

}  // namespace build
}  // namespace volta::onnx
