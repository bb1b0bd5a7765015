// Operators on elements that a model computes when it runs.
#include <algorithm>
#include <limits>

#include "engine/graph/forms.h"
#include "engine/import/onnx/rules.h"

namespace volta::onnx {
namespace {

struct NamedOp {
    const char* name;
    Op op;
};
// By ONNX's name, where Volta's operator is the same and has no attributes.
constexpr NamedOp kUnary[] = {
    {"Abs", Op::abs},
    {"Ceil", Op::ceil},
    {"Cos", Op::cos},
    {"Erf", Op::erf},
    {"Exp", Op::exp},
    {"Floor", Op::floor},
    {"HardSwish", Op::hard_swish},
    {"Log", Op::log},
    {"Mish", Op::mish},
    {"Neg", Op::neg},
    {"Round", Op::round},
    {"Sigmoid", Op::sigmoid},
    {"Sin", Op::sin},
    {"Softplus", Op::softplus},
    {"Softsign", Op::softsign},
    {"Sqrt", Op::sqrt},
    {"Tanh", Op::tanh},
    {"Relu", Op::relu},
};
constexpr std::size_t kMostExponents = 64;
constexpr NamedOp kBinary[] = {{"Add", Op::add}, {"Sub", Op::sub}, {"Mul", Op::mul}, {"Div", Op::div}};

template <std::size_t N>
Op op_of(const NamedOp (&rows)[N], const Call& call) {
    for (const NamedOp& row : rows)
        if (call.node().op == row.name) return row.op;
    call.refuse("it has no operator here");
}

// Before opset 7 operands broadcast only where the attribute says so, from `axis` on.
ValueId aligned(Call& call, int input, const Extents& first) {
    const ValueId b = call.real(input);
    if (call.opset() >= 7) return b;
    const Extents own = call.extents_of(b);
    if (call.integer("broadcast") == 0) {
        if (own.now != first.now) call.refuse("its inputs have different shapes, and it has no broadcast");
        return b;
    }
    if (!call.given("axis")) return b;
    const int axis = call.axis(call.integer("axis"), first.rank());
    Extents to = own;
    for (int i = axis + own.rank(); i < first.rank(); ++i) to.append(1);
    return call.reshape(b, to);
}

ValueId clipped(Call& call, ValueId x, double low, double high) {
    if (low <= high) return call.apply(Op::clamp, {x}, {number(Attr::low, low), number(Attr::high, high)});
    return call.apply(Op::minimum, {call.apply(Op::maximum, {x, call.scalar(low)}), call.scalar(high)});
}

}  // namespace

namespace build {

void unary(Call& call) { call.give(0, call.apply(op_of(kUnary, call), {call.real(0)}), call.type(0)); }
void relu(Call& call) { unary(call); }
void leaky_relu(Call& call) {
    call.give(0,
              call.apply(Op::leaky_relu, {call.real(0)}, {number(Attr::alpha, call.real_attribute("alpha"))}),
              call.type(0));
}
void elu(Call& call) {
    call.give(0, call.apply(Op::elu, {call.real(0)}, {number(Attr::alpha, call.real_attribute("alpha"))}),
              call.type(0));
}
void celu(Call& call) {
    call.give(0, call.apply(Op::celu, {call.real(0)}, {number(Attr::alpha, call.real_attribute("alpha"))}),
              call.type(0));
}
void selu(Call& call) {
    call.give(0,
              call.apply(Op::selu, {call.real(0)},
                         {number(Attr::alpha, call.real_attribute("alpha")),
                          number(Attr::gamma, call.real_attribute("gamma"))}),
              call.type(0));
}
void hard_sigmoid(Call& call) {
    call.give(0,
              call.apply(Op::hard_sigmoid, {call.real(0)},
                         {number(Attr::alpha, call.real_attribute("alpha")),
                          number(Attr::beta, call.real_attribute("beta"))}),
              call.type(0));
}
void gelu(Call& call) {
    const Op op = call.text("approximate") == "tanh" ? Op::gelu_tanh : Op::gelu_erf;
    call.give(0, call.apply(op, {call.real(0)}), call.type(0));
}
void swish(Call& call) {
    const ValueId x = call.real(0);
    const double alpha = call.real_attribute("alpha");
    ValueId y = -1;
    if (alpha == 1)
        y = call.apply(Op::silu, {x});
    else
        y = call.apply(Op::mul, {x, call.apply(Op::sigmoid, {call.apply(Op::mul, {x, call.scalar(alpha)})})});
    if (call.node().op == "SwiGLU") {
        if (call.extents(1).now != call.extents(0).now) call.refuse("its inputs have different shapes");
        y = call.apply(Op::mul, {y, call.real(1)});
    }
    call.give(0, y, call.type(0));
}
// cosh: the mean of e^x and e^-x. sinh: 2t / (1 - t^2), t = tanh(x/2), where that does not cancel; else half
// the difference.
void hyperbolic(Call& call) {
    const ValueId x = call.real(0), half = call.scalar(0.5), one = call.scalar(1);
    const ValueId up = call.apply(Op::exp, {x}), down = call.apply(Op::exp, {call.apply(Op::neg, {x})});
    if (call.node().op == "Cosh")
        return call.give(0, call.apply(Op::mul, {half, call.apply(Op::add, {up, down})}), call.type(0));
    const ValueId t = call.apply(Op::tanh, {call.apply(Op::mul, {half, x})});
    const ValueId near = call.apply(
        Op::div, {call.apply(Op::add, {t, t}), call.apply(Op::sub, {one, call.apply(Op::mul, {t, t})})});
    const ValueId far = call.apply(Op::mul, {half, call.apply(Op::sub, {up, down})});
    const ValueId is_near = call.apply(Op::less, {call.apply(Op::abs, {x}), one});
    call.give(0, call.apply(Op::where, {is_near, near, far}), call.type(0));
}
void tangent(Call& call) {
    const ValueId x = call.real(0);
    call.give(0, call.apply(Op::div, {call.apply(Op::sin, {x}), call.apply(Op::cos, {x})}), call.type(0));
}
void thresholded_relu(Call& call) {
    const ValueId x = call.real(0);
    const ValueId above = call.apply(Op::less, {call.scalar(call.real_attribute("alpha")), x});
    call.give(0, call.apply(Op::where, {above, x, call.scalar(0)}), call.type(0));
}
void shrink(Call& call) {
    const ValueId x = call.real(0), bias = call.scalar(call.real_attribute("bias"));
    const double lambda = call.real_attribute("lambd");
    const ValueId below = call.apply(Op::less, {x, call.scalar(-lambda)});
    const ValueId above = call.apply(Op::less, {call.scalar(lambda), x});
    const ValueId high = call.apply(Op::where, {above, call.apply(Op::sub, {x, bias}), call.scalar(0)});
    call.give(0, call.apply(Op::where, {below, call.apply(Op::add, {x, bias}), high}), call.type(0));
}
void prelu(Call& call) {
    const ValueId x = call.real(0);
    ValueId slope = call.real(1);
    const Extents own = call.extents_of(slope), of_x = call.extents_of(x);
    // Before opset 7 one slope for each channel.
    if (call.opset() < 7 && own.rank() == 1 && own.now[0] > 1 && of_x.rank() > 2) {
        Extents to = own;
        for (int axis = 2; axis < of_x.rank(); ++axis) to.append(1);
        slope = call.reshape(slope, to);
    }
    Shape joined;
    if (!broadcast(of_x.now, call.extents_of(slope).now, &joined) || joined != of_x.now)
        call.refuse("its slope %s does not broadcast to %s", to_text(own.now).text, to_text(of_x.now).text);
    call.give(0, call.apply(Op::prelu, {x, slope}), call.type(0));
}
void sign(Call& call) {
    const ValueId x = call.real(0);
    const ValueId negative =
        call.apply(Op::where, {call.apply(Op::less, {x, call.scalar(0)}), call.scalar(-1), x});
    call.give(0, call.apply(Op::where, {call.apply(Op::less, {call.scalar(0), x}), call.scalar(1), negative}),
              call.type(0));
}
void reciprocal(Call& call) {
    call.give(0, call.apply(Op::div, {call.scalar(1), call.real(0)}), call.type(0));
}

void is_nan(Call& call) {
    const ValueId x = call.real(0);
    const ValueId is_not =
        call.apply(Op::where, {call.apply(Op::equal, {x, x}), call.scalar(0), call.scalar(1)});
    call.give(0, call.flag_of_real(is_not), Type::flag);
}
void is_inf(Call& call) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const ValueId x = call.real(0);
    const bool positive = call.integer("detect_positive") != 0,
               negative = call.integer("detect_negative") != 0;
    if (positive && negative)
        return call.give(0, call.apply(Op::equal, {call.apply(Op::abs, {x}), call.scalar(kInfinity)}),
                         Type::flag);
    if (positive || negative)
        return call.give(0, call.apply(Op::equal, {x, call.scalar(positive ? kInfinity : -kInfinity)}),
                         Type::flag);
    call.give(0, call.apply(Op::less, {call.apply(Op::abs, {x}), call.scalar(0)}), Type::flag);  // never
}

void clip(Call& call) {
    ValueId x = call.real(0);
    if (call.opset() < 11)
        return call.give(0, clipped(call, x, call.real_attribute("min"), call.real_attribute("max")),
                         call.type(0));
    const bool has_low = call.has(1), has_high = call.has(2);
    if ((!has_low || call.find_known(1)) && (!has_high || call.find_known(2)) && has_low && has_high)
        return call.give(0, clipped(call, x, call.number_in(1, "min"), call.number_in(2, "max")),
                         call.type(0));
    if (has_low) x = call.apply(Op::maximum, {x, call.real(1)});
    if (has_high) x = call.apply(Op::minimum, {x, call.real(2)});
    if (!has_low && !has_high) return call.give_same(0, 0);
    call.give(0, x, call.type(0));
}

void binary(Call& call) {
    const ValueId a = call.real(0);
    const ValueId b = aligned(call, 1, call.extents_of(a));
    call.give(0, call.apply(op_of(kBinary, call), {a, b}), call.type(0));
}

void compare(Call& call) {
    const std::string_view name = call.node().op;
    const bool flags = name == "Equal" && call.type(0) == Type::flag && call.type(1) == Type::flag;
    const bool wholes = call.is_backed_by_reals(0) || call.is_backed_by_reals(1);
    const Type type = call.type(0);
    const bool small = is_whole(type) && type != Type::flag && is_whole(call.type(1)) &&
                       call.can_be_counted(0) && call.can_be_counted(1);
    if (!small && call.is_backed_by_reals(0) && call.is_backed_by_reals(1) && !is_narrow(type))
        call.refuse("it compares %s that are not known, which float does not hold exactly", type_name(type));
    ValueId a = flags    ? call.real_of_flag(call.flag(0))
                : small  ? call.counted(0)
                : wholes ? call.real_of_whole(0)
                         : call.real(0);
    ValueId b = flags    ? call.real_of_flag(call.flag(1))
                : small  ? call.counted(1)
                : wholes ? call.real_of_whole(1)
                         : aligned(call, 1, call.extents_of(a));
    if (name == "Greater" || name == "GreaterOrEqual") std::swap(a, b);
    const Op op = name == "Equal"                                     ? Op::equal
                  : name == "LessOrEqual" || name == "GreaterOrEqual" ? Op::less_equal
                                                                      : Op::less;
    call.give(0, call.apply(op, {a, b}), Type::flag);
}

void logic(Call& call) {
    const ValueId a = call.real_of_flag(call.flag(0)), b = call.real_of_flag(call.flag(1));
    const std::string_view name = call.node().op;
    const ValueId y = name == "And"  ? call.apply(Op::minimum, {a, b})
                      : name == "Or" ? call.apply(Op::maximum, {a, b})
                                     : call.apply(Op::abs, {call.apply(Op::sub, {a, b})});
    call.give(0, call.flag_of_real(y), Type::flag);
}
void logical_not(Call& call) {
    const ValueId y = call.apply(Op::where, {call.flag(0), call.scalar(0), call.scalar(1)});
    call.give(0, call.flag_of_real(y), Type::flag);
}

void pow(Call& call) {
    const ValueId x = call.real(0);
    const KnownPair& exponents = call.known(1, "exponent");
    if (exponents.later) call.refuse("its exponent is computed from extents that are open");
    const Known& known = exponents.now;
    const auto at = [&](std::size_t i) {
        return is_real(known.type) ? known.real[i] : static_cast<double>(known.whole[i]);
    };
    if (known.count() == 0) call.refuse("its exponent is empty");
    std::pmr::vector<double> different(call.heap());
    for (std::size_t i = 0; i < known.count(); ++i)
        if (std::find(different.begin(), different.end(), at(i)) == different.end() &&
            different.size() <= kMostExponents)
            different.push_back(at(i));
    if (different.size() > kMostExponents)
        call.refuse("its exponent has more than %zu different elements", kMostExponents);
    ValueId y = call.apply(Op::pow, {x}, {number(Attr::exponent, different[0])});
    for (std::size_t k = 1; k < different.size(); ++k) {
        std::pmr::vector<std::int32_t> here(call.heap());
        for (std::size_t i = 0; i < known.count(); ++i) here.push_back(at(i) == different[k]);
        y = call.apply(Op::where, {call.graph().constant(DType::i32, known.shape, here.data()),
                                   call.apply(Op::pow, {x}, {number(Attr::exponent, different[k])}), y});
    }
    if (known.shape.rank > 0) {
        const Extents own = call.extents_of(y);
        Shape joined;
        if (!broadcast(own.now, known.shape, &joined)) call.refuse("its exponent does not broadcast");
        if (joined != own.now) {
            if (own.has_open()) call.refuse("its exponent has more elements than its input");
            y = call.broadcast_to(y, {joined, joined});
        }
    }
    call.give(0, y, call.type(0));
}

void variadic(Call& call) {
    const std::string_view name = call.node().op;
    const Op op = name == "Max" ? Op::maximum : name == "Min" ? Op::minimum : Op::add;
    ValueId y = call.real(0);
    for (int i = 1; i < call.inputs(); ++i) y = call.apply(op, {y, call.real(i)});
    if (name == "Mean") y = call.apply(Op::div, {y, call.scalar(call.inputs())});
    if (call.inputs() == 1) return call.give_same(0, 0);
    call.give(0, y, call.type(0));
}

void where(Call& call) {
    call.give(0, call.apply(Op::where, {call.flag(0), call.real(1), call.real(2)}), call.type(1));
}

namespace {
void cast_to(Call& call, Type to) {
    const Type from = call.type(0);
    if (from == to || (is_real(from) && (to == Type::f32 || to == Type::f64))) {
        if (from == to) return call.give_same(0, 0);
        return call.give(0, call.real(0), to);
    }
    if (call.is_backed_by_reals(0)) {
        if (to == Type::f32 || to == Type::f64) return call.give(0, call.number(0), to);
        const ValueId x = call.any(0);
        if (to == Type::i32 || to == Type::i64) return call.give(0, x, to);
        if (to == Type::flag) {
            const ValueId is_zero = call.apply(Op::equal, {x, call.scalar(0)});
            return call.give(
                0, call.flag_of_real(call.apply(Op::where, {is_zero, call.scalar(0), call.scalar(1)})), to);
        }
        call.refuse("it makes %s of %s", type_name(to), type_name(from));
    }
    if (is_whole(from) && from != Type::flag && (to == Type::f32 || to == Type::f64 || to == Type::flag) &&
        call.can_be_counted(0)) {
        const ValueId x = call.counted(0);
        if (to != Type::flag) return call.give(0, x, to);
        const ValueId is_zero = call.apply(Op::equal, {x, call.scalar(0)});
        return call.give(
            0, call.flag_of_real(call.apply(Op::where, {is_zero, call.scalar(0), call.scalar(1)})), to);
    }
    if (from == Type::flag && (to == Type::f32 || to == Type::f64 || is_narrow(to)))
        return call.give(0, call.real_of_flag(call.flag(0)), to);
    if (from == Type::flag && (to == Type::i32 || to == Type::i64)) return call.give(0, call.flag(0), to);
    if (is_whole(from) && from != Type::flag && (to == Type::i32 || to == Type::i64))
        return call.give(0, call.whole(0), to);
    if (is_real(from) && to == Type::flag) {
        const ValueId is_zero = call.apply(Op::equal, {call.real(0), call.scalar(0)});
        return call.give(
            0, call.flag_of_real(call.apply(Op::where, {is_zero, call.scalar(0), call.scalar(1)})), to);
    }
    // Toward zero. What the type does not hold has no meaning in ONNX; here it stays what it is.
    if (is_real(from) && (to == Type::u8 || to == Type::i8 || to == Type::i32 || to == Type::i64)) {
        const ValueId x = call.real(0), zero = call.scalar(0);
        return call.give(0,
                         call.apply(Op::where, {call.apply(Op::less, {x, zero}), call.apply(Op::ceil, {x}),
                                                call.apply(Op::floor, {x})}),
                         to);
    }
    call.refuse("it makes %s of %s", type_name(to), type_name(from));
}
}  // namespace

void cast(Call& call) { cast_to(call, static_cast<Type>(call.integer("to"))); }
void cast_like(Call& call) { cast_to(call, call.type(1)); }

}  // namespace build
}  // namespace volta::onnx
