// Quantised networks: integers of 8 and 16 bits are f32 in the model, each exactly, and so are sums of their
// products up to 2^24. Weights that the file has as integers become what they stand for.
#include <algorithm>

#include "engine/graph/forms.h"
#include "engine/import/onnx/rules.h"

namespace volta::onnx {
namespace {

using Whole = std::int64_t;

struct Range {
    double low = 0, high = 0;
};
Range range_of(Call& call, Type type) {
    if (type == Type::u8) return {0, 255};
    if (type == Type::i8) return {-128, 127};
    if (type == Type::u16) return {0, 65535};
    if (type == Type::i16) return {-32768, 32767};
    call.refuse("it is of %s; integers of 8 and 16 bits are imported", type_name(type));
}

// Scales and zero points are constants where the file has them, and learn nothing.
ValueId fixed_number(Call& call, int input) {
    const KnownPair* const pair = call.find_known(input);
    if (pair == nullptr) return call.number(input);
    if (pair->later) call.refuse("its input %d is computed from extents that are open", input);
    std::pmr::vector<float> numbers(call.heap());
    for (const double number : pair->now.real) numbers.push_back(static_cast<float>(number));
    for (const Whole number : pair->now.whole) numbers.push_back(static_cast<float>(number));
    return call.graph().constant(DType::f32, pair->now.shape, numbers.data());
}

// A scale or zero point in front of a tensor of this shape: one number; one for each place of the axis; or
// one for each block of it.
ValueId spread(Call& call, int input, const Extents& x, int given_axis, Whole block) {
    const ValueId value = fixed_number(call, input);
    const Extents own = call.extents_of(value);
    if (!own.has_open() && own.now.elements() == 1) return call.reshape(value, Extents());
    const int axis = call.axis(given_axis, x.rank());
    if (block == 0) {
        if (own.rank() != 1 || x.is_open(axis) || own.now[0] != x.now[axis])
            call.refuse("its input %d is %s", input, to_text(own.now).text);
        Extents to;
        for (int k = 0; k < x.rank(); ++k) to.append(k == axis ? own.now[0] : 1);
        return call.reshape(value, to);
    }
    const Whole extent = x.now[axis];
    if (own.rank() != x.rank() || x.has_open() || own.now[axis] != (extent + block - 1) / block)
        call.refuse("its input %d is %s", input, to_text(own.now).text);
    Extents apart, wide, joined = own;
    for (int k = 0; k < x.rank(); ++k) {
        if (k != axis && own.now[k] != x.now[k])
            call.refuse("its input %d is %s", input, to_text(own.now).text);
        if (apart.rank() + 2 > kMaxRank) call.refuse("it has blocks of more than %d axes", kMaxRank - 1);
        apart.append(own, k);
        wide.append(own, k);
        if (k != axis) continue;
        apart.append(1);
        wide.append(block);
    }
    joined.now[axis] = joined.later[axis] = multiplied(call, own.now[axis], block);
    const ValueId repeated = call.reshape(call.broadcast_to(call.reshape(value, apart), wide), joined);
    if (joined.now[axis] == extent) return repeated;
    return call.apply(
        Op::slice, {repeated},
        {number(Attr::axis, axis), number(Attr::begin, 0), number(Attr::end, static_cast<double>(extent))});
}

// The nearest integers around a zero point, within the type.
ValueId rounded_to(Call& call, ValueId x, ValueId zero, Type type) {
    const Range range = range_of(call, type);
    ValueId y = call.apply(Op::round, {x});
    if (zero >= 0) y = call.apply(Op::add, {y, zero});
    return call.apply(Op::clamp, {y}, {number(Attr::low, range.low), number(Attr::high, range.high)});
}

void check_affine(Call& call, const Affine& affine, const Shape& shape) {
    for (const Known* const known : {affine.scale, affine.zero}) {
        if (known == nullptr || known->count() == 1) continue;
        const bool is_row = affine.block == 0 && known->shape.rank == 1 && affine.axis < shape.rank &&
                            known->shape[0] == shape[affine.axis];
        bool is_blocked = affine.block > 0 && known->shape.rank == shape.rank;
        for (int k = 0; is_blocked && k < shape.rank; ++k)
            is_blocked = known->shape[k] ==
                         (k == affine.axis ? (shape[k] + affine.block - 1) / affine.block : shape[k]);
        if (!is_row && !is_blocked)
            call.refuse("its scale or zero point is %s, its tensor %s", to_text(known->shape).text,
                        to_text(shape).text);
    }
}

const Known* fixed_known(Call& call, int input) {
    if (!call.has(input)) return nullptr;
    const KnownPair* const pair = call.find_known(input);
    return pair != nullptr && !pair->later ? &pair->now : nullptr;
}

// One operand of a product of integers, less its zero point; `axis`: where that has several elements.
struct Centred {
    ValueId value = -1;
    double most = 0;  // no element is further from 0
};
Centred centred(Call& call, int input, int zero_input, int axis) {
    const Range range = range_of(call, call.type(input));
    const Known* const zero = fixed_known(call, zero_input);
    Centred result;
    result.most = std::max(range.high, -range.low);
    if (call.has(zero_input)) {
        result.most = range.high - range.low;
        if (zero != nullptr && zero->count() == 1 && !zero->whole.empty()) {
            const double at = static_cast<double>(zero->whole[0]);
            result.most = std::max(range.high - at, at - range.low);
        }
    }
    if (const TensorView* const tensor = call.tensor(input); tensor != nullptr) {
        Affine affine;
        affine.zero = zero;
        affine.axis = axis < 0 ? std::max(0, tensor->shape.rank + axis) : axis;
        if (!call.has(zero_input) || zero != nullptr) {
            check_affine(call, affine, tensor->shape);
            result.value = call.graph().constant_of(*tensor, affine);
            return result;
        }
    }
    result.value = call.number(input);
    if (!call.has(zero_input)) return result;
    const Extents from = call.extents_of(result.value), own = call.extents(zero_input);
    const ValueId less = own.rank() > 1
                             ? fixed_number(call, zero_input)
                             : spread(call, zero_input, from, axis < 0 ? from.rank() + axis : axis, 0);
    result.value = call.apply(Op::sub, {result.value, less});
    return result;
}

void give_sums(Call& call, ValueId sums, double terms, const Centred& a, const Centred& b) {
    constexpr double kExact = 16777216;
    if (terms * a.most * b.most <= kExact)
        call.give(0, sums, Type::i32);
    else
        call.give_rounded(0, sums, Type::i32);
}

Whole taps_of(Call& call, ValueId weight) {
    const Shape shape = call.extents_of(weight).now;
    Whole taps = 1;
    for (int k = 1; k < shape.rank; ++k) taps *= shape[k];
    return taps;
}

// A factor for each of the channels of a result [N, C, ...], or one for all.
ValueId for_channels(Call& call, int input, const Extents& y) { return spread(call, input, y, 1, 0); }

}  // namespace

namespace build {

void quantize_linear(Call& call) {
    const ValueId x = call.real(0);
    const Extents from = call.extents_of(x);
    const Whole asked = call.integer("output_dtype"), block = call.integer("block_size");
    const Type type = call.has(2) ? call.type(2) : asked != 0 ? static_cast<Type>(asked) : Type::u8;
    if (asked != 0 && static_cast<Type>(asked) != type)
        call.refuse("its output_dtype is not the type of its zero point");
    const int axis = static_cast<int>(call.integer("axis"));
    const ValueId scaled = call.apply(Op::div, {x, spread(call, 1, from, axis, block)});
    const ValueId zero = call.has(2) ? spread(call, 2, from, axis, block) : -1;
    call.give(0, rounded_to(call, scaled, zero, type), type);
}

// Of a tensor of the file a parameter: it learns as the real numbers that it stands for.
void dequantize_linear(Call& call) {
    const Whole asked = call.integer("output_dtype"), block = call.integer("block_size");
    const Type type = asked != 0 ? static_cast<Type>(asked) : call.type(1);
    if (type != Type::f32) call.refuse("its result is %s", type_name(type));
    if (call.type(0) != Type::i32) range_of(call, call.type(0));
    const int axis = static_cast<int>(call.integer("axis"));
    const TensorView* const tensor = call.tensor(0);
    Affine affine;
    affine.scale = fixed_known(call, 1);
    affine.zero = fixed_known(call, 2);
    if (tensor != nullptr && affine.scale != nullptr && (!call.has(2) || affine.zero != nullptr) &&
        call.wants(0)) {
        if (affine.scale->count() > 1) affine.axis = call.axis(axis, tensor->shape.rank);
        affine.block = affine.scale->count() > 1 ? block : 0;
        check_affine(call, affine, tensor->shape);
        const std::pmr::string name(call.node().outputs[0], call.heap());
        if (call.graph().graph.find_source(name.c_str()) >= 0)
            call.refuse("a parameter has the name '%s' already", name.c_str());
        return call.give(0, tensor->shape.rank == 0 ? call.graph().constant_of(*tensor, affine)
                                                    : call.graph().parameter(*tensor, name, affine));
    }
    ValueId x = call.number(0);
    const Extents from = call.extents_of(x);
    if (call.has(2)) x = call.apply(Op::sub, {x, spread(call, 2, from, axis, block)});
    call.give(0, call.apply(Op::mul, {x, spread(call, 1, from, axis, block)}));
}

// 0 is always among the values; where all are 0 the scale is 1.
void dynamic_quantize_linear(Call& call) {
    const ValueId x = call.real(0), zero = call.scalar(0);
    const Attribute all = list(Attr::axes, {});
    const ValueId high = call.apply(Op::maximum, {call.apply(Op::max, {x}, {all}), zero});
    const ValueId low = call.apply(Op::minimum, {call.apply(Op::min, {x}, {all}), zero});
    const ValueId range = call.apply(Op::sub, {high, low});
    const ValueId scale = call.apply(Op::where, {call.apply(Op::equal, {range, zero}), call.scalar(1),
                                                 call.apply(Op::div, {range, call.scalar(255)})});
    const ValueId place = call.apply(Op::neg, {call.apply(Op::div, {low, scale})});
    const ValueId point = rounded_to(call, place, -1, Type::u8);
    call.give(0, rounded_to(call, call.apply(Op::div, {x, scale}), point, Type::u8), Type::u8);
    call.give(1, scale, Type::f32);
    call.give(2, point, Type::u8);
}

void matmul_integer(Call& call) {
    const Centred a = centred(call, 0, 2, -2), b = centred(call, 1, 3, -1);
    const ValueId y = product(call, a.value, b.value);
    give_sums(call, y, static_cast<double>(call.extents_of(a.value).now.last()), a, b);
}

void conv_integer(Call& call) {
    const Centred x = centred(call, 0, 2, 1), weight = centred(call, 1, 3, 0);
    const ValueId y = convolved(call, x.value, weight.value, -1);
    give_sums(call, y, static_cast<double>(taps_of(call, weight.value)), x, weight);
}

void qlinear_matmul(Call& call) {
    const Centred a = centred(call, 0, 2, -2), b = centred(call, 3, 5, -1);
    const ValueId sums = product(call, a.value, b.value);
    const Extents from = call.extents_of(sums);
    const ValueId factor =
        call.apply(Op::div, {call.apply(Op::mul, {spread(call, 1, from, from.rank() - 2, 0),
                                                  spread(call, 4, from, from.rank() - 1, 0)}),
                             spread(call, 6, from, from.rank() - 2, 0)});
    const ValueId zero = spread(call, 7, from, from.rank() - 2, 0);
    call.give(0, rounded_to(call, call.apply(Op::mul, {sums, factor}), zero, call.type(7)), call.type(7));
}

void qlinear_conv(Call& call) {
    const Centred x = centred(call, 0, 2, 1), weight = centred(call, 3, 5, 0);
    const ValueId bias = call.has(8) ? fixed_number(call, 8) : -1;
    const ValueId sums = convolved(call, x.value, weight.value, bias);
    const Extents from = call.extents_of(sums);
    const ValueId factor =
        call.apply(Op::div, {call.apply(Op::mul, {for_channels(call, 1, from), for_channels(call, 4, from)}),
                             for_channels(call, 6, from)});
    call.give(
        0, rounded_to(call, call.apply(Op::mul, {sums, factor}), for_channels(call, 7, from), call.type(7)),
        call.type(7));
}

}  // namespace build
}  // namespace volta::onnx
