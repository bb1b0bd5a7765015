// Operators on elements that an import knows: integers, which say shapes and indices, and few real numbers.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/error.h"
#include "engine/graph/forms.h"
#include "engine/import/onnx/rules.h"

namespace volta::onnx {
namespace {

using Whole = std::int64_t;

// What the type keeps of an integer.
Whole wrapped(Type type, Whole value) {
    switch (type) {
        case Type::u8:
            return static_cast<std::uint8_t>(value);
        case Type::i8:
            return static_cast<std::int8_t>(value);
        case Type::u16:
            return static_cast<std::uint16_t>(value);
        case Type::i16:
            return static_cast<std::int16_t>(value);
        case Type::i32:
            return static_cast<std::int32_t>(value);
        case Type::u32:
            return static_cast<std::uint32_t>(value);
        case Type::flag:
            return value != 0;
        default:
            return value;
    }
}
double rounded(Type type, double value) {
    return type == Type::f64 ? value : static_cast<double>(static_cast<float>(value));
}

Whole plus(Whole a, Whole b) {
    return static_cast<Whole>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
Whole times(Whole a, Whole b) {
    return static_cast<Whole>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

// Steps of each axis of `shape` seen as one of `to`; 0 where it is repeated.
struct Steps {
    Whole step[kMaxRank] = {};
};
Steps steps_of(const Shape& shape, const Shape& to) {
    Steps steps;
    Whole step = 1;
    for (int axis = shape.rank - 1; axis >= 0; --axis) {
        steps.step[axis + to.rank - shape.rank] = shape[axis] == 1 ? 0 : step;
        step *= shape[axis];
    }
    return steps;
}

// body(index of the result, index of each operand), in the order of the result's elements.
template <int N, class Body>
void each_element(const Shape& to, const Steps (&steps)[N], Body body) {
    Whole at[kMaxRank] = {}, from[N] = {};
    const Whole count = to.elements();
    for (Whole i = 0; i < count; ++i) {
        body(static_cast<std::size_t>(i), from);
        for (int axis = to.rank - 1; axis >= 0; --axis) {
            for (int k = 0; k < N; ++k) from[k] += steps[k].step[axis];
            if (++at[axis] < to[axis]) break;
            for (int k = 0; k < N; ++k) from[k] -= steps[k].step[axis] * to[axis];
            at[axis] = 0;
        }
    }
}

std::size_t place(Whole index) { return static_cast<std::size_t>(index); }

Shape joined_shape(const Call& call, const Shape& a, const Shape& b) {
    Shape joined;
    if (!broadcast(a, b, &joined))
        call.refuse("%s does not broadcast with %s", to_text(a).text, to_text(b).text);
    return joined;
}

void check_types(FoldCall& call) {
    for (std::size_t i = 1; i < call.inputs.size(); ++i)
        if (call.in(i).type != call.in(0).type)
            call.call.refuse("its inputs are %s and %s", type_name(call.in(0).type),
                             type_name(call.in(i).type));
}

// One operation on two elements; of real numbers it may give a truth value.
struct Pairwise {
    Whole (*whole)(Whole a, Whole b);
    double (*real)(double a, double b);
};

// Inputs 0 and 1, or all of them one after the other.
bool combined(FoldCall& call, Type type, const Pairwise& operation) {
    check_types(call);
    Known result(*call.inputs[0], call.heap);
    for (std::size_t i = 1; i < call.inputs.size(); ++i) {
        const Known& b = call.in(i);
        const Shape shape = joined_shape(call.call, result.shape, b.shape);
        const Steps steps[] = {steps_of(result.shape, shape), steps_of(b.shape, shape)};
        Known& next = call.out(type, shape);
        each_element(shape, steps, [&](std::size_t, const Whole* from) {
            if (!is_real(b.type)) {
                const Whole value = operation.whole(result.whole[place(from[0])], b.whole[place(from[1])]);
                return next.whole.push_back(wrapped(type, value));
            }
            const double value = operation.real(result.real[place(from[0])], b.real[place(from[1])]);
            if (is_real(type))
                next.real.push_back(rounded(type, value));
            else
                next.whole.push_back(value != 0);
        });
        if (i + 1 < call.inputs.size()) {
            result = std::move(next);
            call.outputs.pop_back();
        }
    }
    if (call.inputs.size() == 1) call.outputs.push_back(std::move(result));
    return true;
}

template <class OnWhole, class OnReal>
bool mapped(FoldCall& call, OnWhole whole, OnReal real) {
    const Known& x = call.in(0);
    Known& y = call.out(x.type, x.shape);
    for (const Whole value : x.whole) y.whole.push_back(wrapped(x.type, whole(value)));
    for (const double value : x.real) y.real.push_back(rounded(x.type, real(value)));
    return true;
}

// The integers of an input that says a shape, indices or parts.
const std::pmr::vector<Whole>& wholes(const FoldCall& call, std::size_t i) {
    const Known& input = call.in(i);
    if (!is_whole(input.type)) call.call.refuse("its input %zu is %s, no integers", i, type_name(input.type));
    return input.whole;
}

// Adds the element of x at this place to y.
void copy(const Known& x, Whole from, Known& y) {
    if (is_real(x.type))
        y.real.push_back(x.real[place(from)]);
    else
        y.whole.push_back(x.whole[place(from)]);
}

bool with_shape(FoldCall& call, const Shape& shape) {
    Known y(call.in(0), call.heap);
    y.shape = shape;
    call.outputs.push_back(std::move(y));
    return true;
}

bool reduced(FoldCall& call, const Pairwise& operation) {
    const Known& x = call.in(0);
    bool given = false;
    const auto axes =
        named_axes(call.call, 1, call.call.node().op == "ReduceSum" ? 13 : 18, x.shape.rank, &given);
    if (!given && call.call.integer("noop_with_empty_axes") != 0) return with_shape(call, x.shape);
    Shape shape, kept = x.shape;
    const bool keep = call.call.integer("keepdims") != 0;
    for (int axis = 0; axis < x.shape.rank; ++axis) {
        const bool is_reduced = !given || std::find(axes.begin(), axes.end(), axis) != axes.end();
        if (is_reduced) kept[axis] = 1;
        if (!is_reduced || keep) shape.extent[shape.rank++] = kept[axis];
    }
    Known& y = call.out(x.type, shape);
    const auto count = place(shape.elements());
    if (x.count() == 0) return false;
    std::pmr::vector<bool> seen(count, false, call.heap);
    if (is_real(x.type))
        y.real.resize(count);
    else
        y.whole.resize(count);
    Steps to = steps_of(kept, x.shape);
    const Steps steps[] = {to};
    each_element(x.shape, steps, [&](std::size_t i, const Whole* at) {
        const std::size_t target = place(at[0]);
        if (is_real(x.type)) {
            y.real[target] =
                seen[target] ? rounded(x.type, operation.real(y.real[target], x.real[i])) : x.real[i];
        } else {
            y.whole[target] =
                seen[target] ? wrapped(x.type, operation.whole(y.whole[target], x.whole[i])) : x.whole[i];
        }
        seen[target] = true;
    });
    return true;
}

double half_to_even(double x) {
    const double below = std::floor(x), rest = x - below;
    if (rest < 0.5) return below;
    if (rest > 0.5) return below + 1;
    return std::floor(below / 2) * 2 == below ? below : below + 1;
}

bool cast_to(FoldCall& call, Type to) {
    const Known& x = call.in(0);
    if (!is_real(to) && !is_whole(to)) call.call.refuse("it makes %s", type_name(to));
    Known& y = call.out(to, x.shape);
    for (const Whole value : x.whole) {
        if (is_real(to))
            y.real.push_back(rounded(to, static_cast<double>(value)));
        else
            y.whole.push_back(wrapped(to, value));
    }
    for (const double value : x.real) {
        if (is_real(to)) {
            if (to == Type::f16 || to == Type::bf16) return false;
            y.real.push_back(rounded(to, value));
        } else if (to == Type::flag) {
            y.whole.push_back(value != 0);
        } else if (value > -9.2e18 && value < 9.2e18) {
            y.whole.push_back(wrapped(to, static_cast<Whole>(value)));
        } else {
            call.call.refuse("an element of %g becomes no integer", value);
        }
    }
    return true;
}

void check_divisors(FoldCall& call) {
    for (const Whole divisor : call.in(1).whole)
        if (divisor == 0) call.call.refuse("it divides an integer by 0");
}

Whole rest_as_c(Whole a, Whole b) { return b == -1 ? 0 : a % b; }

// clang-format off
constexpr Pairwise kSum = {plus, [](double a, double b) { return a + b; }};
constexpr Pairwise kDifference = {[](Whole a, Whole b) { return plus(a, times(b, -1)); }, [](double a, double b) { return a - b; }};
constexpr Pairwise kProduct = {times, [](double a, double b) { return a * b; }};
constexpr Pairwise kQuotient = {[](Whole a, Whole b) { return b == -1 ? times(a, -1) : a / b; }, [](double a, double b) { return a / b; }};
constexpr Pairwise kRestAsC = {rest_as_c, nullptr};
constexpr Pairwise kRest = {[](Whole a, Whole b) { const Whole rest = rest_as_c(a, b); return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest; }, nullptr};
constexpr Pairwise kMost = {[](Whole a, Whole b) { return a > b ? a : b; }, [](double a, double b) { return a != a || a > b ? a : b; }};
constexpr Pairwise kLeast = {[](Whole a, Whole b) { return a < b ? a : b; }, [](double a, double b) { return a != a || a < b ? a : b; }};
constexpr Pairwise kEqual = {[](Whole a, Whole b) { return Whole{a == b}; }, [](double a, double b) { return double{a == b ? 1. : 0.}; }};
constexpr Pairwise kLess = {[](Whole a, Whole b) { return Whole{a < b}; }, [](double a, double b) { return double{a < b ? 1. : 0.}; }};
constexpr Pairwise kGreater = {[](Whole a, Whole b) { return Whole{a > b}; }, [](double a, double b) { return double{a > b ? 1. : 0.}; }};
constexpr Pairwise kLessEqual = {[](Whole a, Whole b) { return Whole{a <= b}; }, [](double a, double b) { return double{a <= b ? 1. : 0.}; }};
constexpr Pairwise kGreaterEqual = {[](Whole a, Whole b) { return Whole{a >= b}; }, [](double a, double b) { return double{a >= b ? 1. : 0.}; }};
constexpr Pairwise kBitAnd = {[](Whole a, Whole b) { return a & b; }, nullptr};
constexpr Pairwise kBitOr = {[](Whole a, Whole b) { return a | b; }, nullptr};
constexpr Pairwise kBitXor = {[](Whole a, Whole b) { return a ^ b; }, nullptr};
// A shift by all bits or more leaves none, but for copies of the sign.
constexpr Pairwise kLeft = {[](Whole a, Whole n) { return n < 0 || n > 63 ? 0 : static_cast<Whole>(static_cast<std::uint64_t>(a) << n); }, nullptr};
constexpr Pairwise kRight = {[](Whole a, Whole n) { return n < 0 || n > 63 ? Whole{a < 0 ? -1 : 0} : a >> n; }, nullptr};
// Of truth values, which are whole.
constexpr Pairwise kAnd = {[](Whole a, Whole b) { return Whole{a != 0 && b != 0}; }, [](double, double) { return 0.; }};
constexpr Pairwise kOr = {[](Whole a, Whole b) { return Whole{a != 0 || b != 0}; }, [](double, double) { return 0.; }};
constexpr Pairwise kXor = {[](Whole a, Whole b) { return Whole{(a != 0) != (b != 0)}; }, [](double, double) { return 0.; }};
// clang-format on

}  // namespace

Known& FoldCall::out(Type type, const Shape& shape) {
    std::int64_t count = 1;
    for (int axis = 0; axis < shape.rank; ++axis) {
        if (shape[axis] < 0) call.refuse("its result has the shape %s", to_text(shape).text);
        if (shape[axis] > kMostKnownElements || (count *= shape[axis]) > kMostKnownElements)
            call.refuse("its result %s has more than %lld elements", to_text(shape).text,
                        static_cast<long long>(kMostKnownElements));
    }
    outputs.emplace_back();
    outputs.back().type = type;
    outputs.back().shape = shape;
    return outputs.back();
}

std::pmr::vector<std::int64_t> named_axes(Call& call, int input, int input_since, int rank, bool* given) {
    std::pmr::vector<std::int64_t> axes(call.heap());
    *given = false;
    if (call.opset() >= input_since) {
        if (call.has(input)) axes = call.integers_in(input, "axes");
    } else {
        axes = call.integers("axes");
    }
    *given = !axes.empty();
    for (std::int64_t& axis : axes) axis = call.axis(axis, rank);
    std::sort(axes.begin(), axes.end());
    if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) call.refuse("it names an axis twice");
    return axes;
}

Shape reshaped(const Call& call, const Shape& x, const std::pmr::vector<std::int64_t>& wanted) {
    if (wanted.size() > kMaxRank) call.refuse("its result has %zu axes", wanted.size());
    Shape y;
    y.rank = static_cast<std::int32_t>(wanted.size());
    int open = -1;
    std::int64_t known = 1;
    const bool zero_copies = call.integer("allowzero") == 0;
    for (int axis = 0; axis < y.rank; ++axis) {
        std::int64_t extent = wanted[place(axis)];
        if (extent == -1 && open < 0) {
            open = axis;
            continue;
        }
        if (extent == 0 && zero_copies) {
            if (axis >= x.rank) call.refuse("its shape copies axis %d of %s", axis, to_text(x).text);
            extent = x[axis];
        }
        if (extent < 0 || extent > INT32_MAX || known > (std::int64_t{1} << 40))
            call.refuse("its shape has an extent of %lld", static_cast<long long>(extent));
        y[axis] = extent;
        known *= extent;
    }
    const std::int64_t elements = x.elements();
    if (open >= 0) {
        if (known == 0 || elements % known != 0)
            call.refuse("%s does not become its shape: %lld elements by %lld", to_text(x).text,
                        static_cast<long long>(elements), static_cast<long long>(known));
        y[open] = elements / known;
    } else if (known != elements) {
        call.refuse("%s does not become %s", to_text(x).text, to_text(y).text);
    }
    return y;
}

std::int64_t multiplied(const Call& call, std::int64_t a, std::int64_t b) {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(a, b, &product))
        call.refuse("%lld times %lld is too much", static_cast<long long>(a), static_cast<long long>(b));
    return product;
}

SliceRange slice_range(const Call& call, std::int64_t begin, std::int64_t end, std::int64_t step,
                       std::int64_t extent) {
    if (step == 0 || step == INT64_MIN) call.refuse("its step is %lld", static_cast<long long>(step));
    SliceRange range;
    range.step = step;
    if (begin < 0) begin = std::max(begin, -extent - 1) + extent;
    if (end < 0) end = std::max(end, -extent - 1) + extent;
    if (step > 0) {
        begin = std::clamp<std::int64_t>(begin, 0, extent);
        end = std::clamp<std::int64_t>(end, 0, extent);
        range.count = end > begin ? (end - begin - 1) / step + 1 : 0;
    } else {
        begin = std::clamp<std::int64_t>(begin, -1, extent - 1);
        end = std::clamp<std::int64_t>(end, -1, extent - 1);
        range.count = begin > end ? (begin - end - 1) / -step + 1 : 0;
    }
    range.begin = range.count > 0 || step > 0 ? begin : 0;
    return range;
}

namespace fold {

bool identity(FoldCall& call) { return with_shape(call, call.in(0).shape); }
bool neg(FoldCall& call) {
    return mapped(
        call, [](Whole x) { return times(x, -1); }, [](double x) { return -x; });
}
bool abs(FoldCall& call) {
    return mapped(
        call, [](Whole x) { return x < 0 ? times(x, -1) : x; }, [](double x) { return std::fabs(x); });
}
bool floor(FoldCall& call) {
    return mapped(
        call, [](Whole x) { return x; }, [](double x) { return std::floor(x); });
}
bool ceil(FoldCall& call) {
    return mapped(
        call, [](Whole x) { return x; }, [](double x) { return std::ceil(x); });
}
bool round(FoldCall& call) {
    return mapped(
        call, [](Whole x) { return x; }, [](double x) { return half_to_even(x); });
}
bool sqrt(FoldCall& call) {
    return is_real(call.in(0).type) &&
           mapped(
               call, [](Whole x) { return x; }, [](double x) { return std::sqrt(x); });
}
bool logical_not(FoldCall& call) {
    return mapped(
        call, [](Whole x) { return Whole{x == 0}; }, [](double x) { return x; });
}

bool cast(FoldCall& call) { return cast_to(call, static_cast<Type>(call.call.integer("to"))); }
bool cast_like(FoldCall& call) { return cast_to(call, call.in(1).type); }

bool add(FoldCall& call) { return combined(call, call.in(0).type, kSum); }
bool sub(FoldCall& call) { return combined(call, call.in(0).type, kDifference); }
bool mul(FoldCall& call) { return combined(call, call.in(0).type, kProduct); }
bool div(FoldCall& call) {
    check_divisors(call);
    return combined(call, call.in(0).type, kQuotient);
}
bool mod(FoldCall& call) {
    if (is_real(call.in(0).type)) return false;
    check_divisors(call);
    return combined(call, call.in(0).type, call.call.integer("fmod") != 0 ? kRestAsC : kRest);
}
bool maximum(FoldCall& call) { return combined(call, call.in(0).type, kMost); }
bool minimum(FoldCall& call) { return combined(call, call.in(0).type, kLeast); }
bool equal(FoldCall& call) { return combined(call, Type::flag, kEqual); }
bool less(FoldCall& call) { return combined(call, Type::flag, kLess); }
bool greater(FoldCall& call) { return combined(call, Type::flag, kGreater); }
bool less_equal(FoldCall& call) { return combined(call, Type::flag, kLessEqual); }
bool greater_equal(FoldCall& call) { return combined(call, Type::flag, kGreaterEqual); }
bool logical_and(FoldCall& call) { return combined(call, Type::flag, kAnd); }
bool logical_or(FoldCall& call) { return combined(call, Type::flag, kOr); }
bool logical_xor(FoldCall& call) { return combined(call, Type::flag, kXor); }

namespace {
bool of_bits(FoldCall& call, const Pairwise& operation, bool is_shift) {
    const Type type = call.in(0).type;
    const bool has_sign = type == Type::i8 || type == Type::i16 || type == Type::i32 || type == Type::i64;
    if (!is_whole(type) || type == Type::flag || type == Type::u64 ||
        (is_shift && has_sign && call.call.opset() < 28))
        call.call.refuse("its inputs are %s", type_name(type));
    return combined(call, type, operation);
}
}  // namespace
bool bitwise_and(FoldCall& call) { return of_bits(call, kBitAnd, false); }
bool bitwise_or(FoldCall& call) { return of_bits(call, kBitOr, false); }
bool bitwise_xor(FoldCall& call) { return of_bits(call, kBitXor, false); }
bool bit_shift(FoldCall& call) {
    return of_bits(call, call.call.text("direction") == "LEFT" ? kLeft : kRight, true);
}

// Of integers, by exponents that are whole and not negative; the graph has the others.
bool pow(FoldCall& call) {
    const Known &x = call.in(0), &n = call.in(1);
    if (!is_whole(x.type) || x.type == Type::flag || call.call.opset() < 12) return false;
    const auto exponent = [&](std::size_t i) {
        return is_real(n.type) ? n.real[i] : static_cast<double>(n.whole[i]);
    };
    for (std::size_t i = 0; i < n.count(); ++i)
        if (!(exponent(i) >= 0 && exponent(i) <= 64 && std::floor(exponent(i)) == exponent(i))) return false;
    const Shape shape = joined_shape(call.call, x.shape, n.shape);
    const Steps steps[] = {steps_of(x.shape, shape), steps_of(n.shape, shape)};
    Known& y = call.out(x.type, shape);
    each_element(shape, steps, [&](std::size_t, const Whole* from) {
        Whole power = 1;
        for (int i = static_cast<int>(exponent(place(from[1]))); i > 0; --i)
            power = times(power, x.whole[place(from[0])]);
        y.whole.push_back(wrapped(x.type, power));
    });
    return true;
}

bool where(FoldCall& call) {
    const Known &mask = call.in(0), &a = call.in(1), &b = call.in(2);
    if (mask.type != Type::flag || a.type != b.type)
        call.call.refuse("its inputs are %s, %s and %s", type_name(mask.type), type_name(a.type),
                         type_name(b.type));
    const Shape shape = joined_shape(call.call, joined_shape(call.call, mask.shape, a.shape), b.shape);
    Known& y = call.out(a.type, shape);
    const Steps steps[] = {steps_of(mask.shape, shape), steps_of(a.shape, shape), steps_of(b.shape, shape)};
    each_element(shape, steps, [&](std::size_t, const Whole* from) {
        if (mask.whole[place(from[0])] != 0)
            copy(a, from[1], y);
        else
            copy(b, from[2], y);
    });
    return true;
}

bool concat(FoldCall& call) {
    check_types(call);
    Shape shape = call.in(0).shape;
    const int axis = call.call.axis(call.call.integer("axis"), shape.rank);
    shape[axis] = 0;
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
        const Shape& part = call.in(i).shape;
        bool fits = part.rank == shape.rank;
        for (int k = 0; fits && k < shape.rank; ++k) fits = k == axis || part[k] == call.in(0).shape[k];
        if (!fits) call.call.refuse("its input %zu has the shape %s", i, to_text(part).text);
        shape[axis] = plus(shape[axis], part[axis]);
    }
    Known& y = call.out(call.in(0).type, shape);
    for (Whole outer = 0; outer < shape.leading(axis); ++outer)
        for (const Known* part : call.inputs) {
            Whole inner = 1;
            for (int k = axis; k < shape.rank; ++k) inner *= part->shape[k];
            for (Whole i = 0; i < inner; ++i) copy(*part, outer * inner + i, y);
        }
    return true;
}

bool gather(FoldCall& call) {
    const Known &x = call.in(0), &ids = call.in(1);
    const int axis = call.call.axis(call.call.integer("axis"), x.shape.rank);
    if (!is_whole(ids.type)) call.call.refuse("its indices are %s", type_name(ids.type));
    if (x.shape.rank - 1 + ids.shape.rank > kMaxRank)
        call.call.refuse("its result has more than %d axes", kMaxRank);
    Shape shape;
    Whole inner = 1;
    for (int k = 0; k < axis; ++k) shape.extent[shape.rank++] = x.shape[k];
    for (int k = 0; k < ids.shape.rank; ++k) shape.extent[shape.rank++] = ids.shape[k];
    for (int k = axis + 1; k < x.shape.rank; ++k) inner *= shape.extent[shape.rank++] = x.shape[k];
    Known& y = call.out(x.type, shape);
    for (Whole outer = 0; outer < x.shape.leading(axis); ++outer)
        for (const Whole given : ids.whole) {
            const Whole id = call.call.axis(given, static_cast<int>(x.shape[axis]), "index");
            for (Whole i = 0; i < inner; ++i) copy(x, (outer * x.shape[axis] + id) * inner + i, y);
        }
    return true;
}

bool slice(FoldCall& call) {
    const Known& x = call.in(0);
    const auto part = [&](std::size_t i, const char* attribute) {
        if (call.call.opset() < 10) return call.call.integers(attribute);
        std::pmr::vector<Whole> values(call.heap);
        if (call.has(i)) values = wholes(call, i);
        return values;
    };
    const auto begins = part(1, "starts"), ends = part(2, "ends"), steps = part(4, "");
    auto axes = part(3, "axes");
    if (axes.empty())
        for (std::size_t i = 0; i < begins.size(); ++i) axes.push_back(static_cast<Whole>(i));
    if (ends.size() != begins.size() || axes.size() != begins.size() ||
        (!steps.empty() && steps.size() != begins.size()))
        call.call.refuse("it has %zu starts, %zu ends, %zu axes and %zu steps", begins.size(), ends.size(),
                         axes.size(), steps.size());
    Shape shape = x.shape;
    SliceRange ranges[kMaxRank];
    for (int axis = 0; axis < shape.rank; ++axis) ranges[axis].count = shape[axis];
    for (std::size_t i = 0; i < begins.size(); ++i) {
        const int axis = call.call.axis(axes[i], shape.rank);
        ranges[axis] =
            slice_range(call.call, begins[i], ends[i], steps.empty() ? 1 : steps[i], x.shape[axis]);
        shape[axis] = ranges[axis].count;
    }
    Known& y = call.out(x.type, shape);
    Steps from;
    Whole start = 0, step = 1;
    for (int axis = shape.rank - 1; axis >= 0; --axis) {
        from.step[axis] = step * ranges[axis].step;
        start += step * ranges[axis].begin;
        step *= x.shape[axis];
    }
    const Steps all[] = {from};
    each_element(shape, all, [&](std::size_t, const Whole* at) { copy(x, start + at[0], y); });
    return true;
}

bool split(FoldCall& call) {
    const Known& x = call.in(0);
    const int axis = call.call.axis(call.call.integer("axis"), x.shape.rank);
    std::pmr::vector<Whole> parts(call.heap);
    const auto count = static_cast<Whole>(call.call.outputs());
    if (call.call.opset() < 13)
        parts = call.call.integers("split");
    else if (call.has(1))
        parts = wholes(call, 1);
    if (parts.empty()) {
        const Whole each = (x.shape[axis] + count - 1) / count;
        for (Whole i = 0; i < count; ++i)
            parts.push_back(std::clamp<Whole>(x.shape[axis] - i * each, 0, each));
    }
    Whole begin = 0, inner = 1;
    for (int k = axis + 1; k < x.shape.rank; ++k) inner *= x.shape[k];
    if (static_cast<Whole>(parts.size()) != count) call.call.refuse("it has %zu parts", parts.size());
    for (const Whole part : parts) {
        if (part < 0 || part > x.shape[axis] - begin)
            call.call.refuse("a part has %lld elements", static_cast<long long>(part));
        Shape shape = x.shape;
        shape[axis] = part;
        Known& y = call.out(x.type, shape);
        for (Whole outer = 0; outer < x.shape.leading(axis); ++outer)
            for (Whole i = 0; i < part * inner; ++i) copy(x, (outer * x.shape[axis] + begin) * inner + i, y);
        begin += part;
    }
    return true;
}

bool unsqueeze(FoldCall& call) {
    const Shape& x = call.in(0).shape;
    auto raw = call.call.opset() >= 13 ? call.call.integers_in(1, "axes") : call.call.integers("axes");
    const int rank = x.rank + static_cast<int>(std::min<std::size_t>(raw.size(), kMaxRank + 1));
    if (rank > kMaxRank) call.call.refuse("its result has more than %d axes", kMaxRank);
    bool given = false;
    const auto axes = named_axes(call.call, 1, 13, rank, &given);
    Shape y;
    y.rank = rank;
    for (int axis = 0, from = 0; axis < rank; ++axis)
        y[axis] = std::find(axes.begin(), axes.end(), axis) != axes.end() ? 1 : x[from++];
    return with_shape(call, y);
}

bool squeeze(FoldCall& call) {
    const Shape& x = call.in(0).shape;
    bool given = false;
    const auto axes = named_axes(call.call, 1, 13, x.rank, &given);
    Shape y;
    for (int axis = 0; axis < x.rank; ++axis) {
        const bool named = std::find(axes.begin(), axes.end(), axis) != axes.end();
        if (named && x[axis] != 1) call.call.refuse("axis %d of %s is not 1", axis, to_text(x).text);
        if (given ? !named : x[axis] != 1) y.extent[y.rank++] = x[axis];
    }
    return with_shape(call, y);
}

bool reshape(FoldCall& call) {
    const auto wanted = call.call.opset() < 5 ? call.call.integers("shape") : wholes(call, 1);
    return with_shape(call, reshaped(call.call, call.in(0).shape, wanted));
}

bool transpose(FoldCall& call) {
    const Known& x = call.in(0);
    auto order = call.call.integers("perm");
    if (order.empty())
        for (int axis = x.shape.rank - 1; axis >= 0; --axis) order.push_back(axis);
    if (static_cast<int>(order.size()) != x.shape.rank)
        call.call.refuse("its perm has %zu axes", order.size());
    Shape shape = x.shape;
    Steps own = {}, to = {};
    Whole step = 1;
    bool seen[kMaxRank] = {};
    for (int axis = shape.rank - 1; axis >= 0; --axis) {
        own.step[axis] = step;
        step *= x.shape[axis];
    }
    for (int axis = 0; axis < shape.rank; ++axis) {
        const Whole from = order[place(axis)];
        if (from < 0 || from >= shape.rank || seen[from])
            call.call.refuse("its perm is no order of the axes");
        seen[from] = true;
        shape[axis] = x.shape[static_cast<int>(from)];
        to.step[axis] = own.step[from];
    }
    Known& y = call.out(x.type, shape);
    const Steps all[] = {to};
    each_element(shape, all, [&](std::size_t, const Whole* at) { copy(x, at[0], y); });
    return true;
}

bool expand(FoldCall& call) {
    const Known& x = call.in(0);
    if (wholes(call, 1).size() > kMaxRank) call.call.refuse("its result has more than %d axes", kMaxRank);
    Shape wanted;
    for (const Whole extent : call.in(1).whole) {
        if (extent < 0) call.call.refuse("its shape has an extent of %lld", static_cast<long long>(extent));
        wanted.extent[wanted.rank++] = extent;
    }
    const Shape shape = joined_shape(call.call, x.shape, wanted);
    Known& y = call.out(x.type, shape);
    const Steps steps[] = {steps_of(x.shape, shape)};
    each_element(shape, steps, [&](std::size_t, const Whole* at) { copy(x, at[0], y); });
    return true;
}

bool tile(FoldCall& call) {
    const Known& x = call.in(0);
    if (call.call.opset() < 6) return false;
    const auto& repeats = wholes(call, 1);
    if (static_cast<int>(repeats.size()) != x.shape.rank)
        call.call.refuse("it has %zu repeats", repeats.size());
    Shape shape = x.shape;
    for (int axis = 0; axis < shape.rank; ++axis) {
        const Whole times_here = repeats[place(axis)];
        if (times_here < 0 || times_here > kMostKnownElements)
            call.call.refuse("it repeats %lld times", static_cast<long long>(times_here));
        shape[axis] = multiplied(call.call, shape[axis], times_here);
    }
    Known& y = call.out(x.type, shape);
    for (std::size_t i = 0; i < y.count(); ++i) {
        Whole rest = static_cast<Whole>(i), from = 0, step = 1;
        for (int axis = shape.rank - 1; axis >= 0; --axis) {
            from += rest % shape[axis] % x.shape[axis] * step;
            rest /= shape[axis];
            step *= x.shape[axis];
        }
        copy(x, from, y);
    }
    return true;
}

bool range(FoldCall& call) {
    for (std::size_t i = 0; i < 3; ++i)
        if (call.in(i).count() != 1 || call.in(i).type != call.in(0).type)
            call.call.refuse("its inputs are not three numbers of one type");
    const Type type = call.in(0).type;
    if (is_real(type)) {
        const double begin = call.in(0).real[0], end = call.in(1).real[0], step = call.in(2).real[0];
        const double count = std::ceil((end - begin) / step);
        if (!(count < static_cast<double>(kMostKnownElements))) call.call.refuse("it has %g elements", count);
        Known& y = call.out(type, {std::max<Whole>(0, static_cast<Whole>(count))});
        for (Whole i = 0; i < y.shape[0]; ++i)
            y.real.push_back(rounded(type, begin + rounded(type, static_cast<double>(i) * step)));
        return true;
    }
    const Whole begin = call.in(0).whole[0], end = call.in(1).whole[0], step = call.in(2).whole[0];
    constexpr Whole kLimit = Whole{1} << 61;
    if (step == 0 || begin < -kLimit || begin > kLimit || end < -kLimit || end > kLimit || step < -kLimit ||
        step > kLimit)
        call.call.refuse("it goes from %lld to %lld by %lld", static_cast<long long>(begin),
                         static_cast<long long>(end), static_cast<long long>(step));
    const Whole span = step > 0 ? end - begin : begin - end, by = step > 0 ? step : -step;
    Known& y = call.out(type, {span > 0 ? (span - 1) / by + 1 : 0});
    for (Whole i = 0; i < y.shape[0]; ++i) y.whole.push_back(begin + i * step);
    return true;
}

constexpr Whole kFewFilled = 4096;

// Of integers, and of few real numbers: many are repeated by the graph.
bool constant_of_shape(FoldCall& call) {
    if (wholes(call, 0).size() > kMaxRank) call.call.refuse("its result has more than %d axes", kMaxRank);
    Shape shape;
    Whole count = 1;
    for (const Whole extent : call.in(0).whole) {
        if (extent < 0) call.call.refuse("its shape has an extent of %lld", static_cast<long long>(extent));
        shape.extent[shape.rank++] = extent;
        if (extent > 0 && count > kMostKnownElements / extent) return false;
        count *= extent;
    }
    const AttributeView* const attribute = call.call.find("value");
    const TensorView* tensor = nullptr;
    if (attribute != nullptr) tensor = call.call.graph().keep_tensor(read_tensor(bytes_of(*attribute)));
    if (tensor == nullptr || is_real(tensor->type)) {
        if (count > kFewFilled) return false;
    }
    Value value;
    if (tensor != nullptr) {
        value.type = tensor->type;
        value.tensor = tensor;
    }
    const KnownPair* const filler = tensor != nullptr ? call.call.graph().find_known(value) : nullptr;
    if (filler != nullptr && filler->now.count() != 1) call.call.refuse("its value is not one element");
    Known& y = call.out(tensor != nullptr ? tensor->type : Type::f32, shape);
    for (Whole i = 0; i < count; ++i) {
        if (filler != nullptr)
            copy(filler->now, 0, y);
        else
            y.real.push_back(0);
    }
    return true;
}

bool reduce_sum(FoldCall& call) { return reduced(call, kSum); }
bool reduce_prod(FoldCall& call) { return reduced(call, kProduct); }
bool reduce_max(FoldCall& call) { return reduced(call, kMost); }
bool reduce_min(FoldCall& call) { return reduced(call, kLeast); }

bool trilu(FoldCall& call) {
    const Known& x = call.in(0);
    if (x.shape.rank < 2) call.call.refuse("its input is %s", to_text(x.shape).text);
    if (call.has(1) && wholes(call, 1).size() != 1) call.call.refuse("its k is not one number");
    const Whole k = call.has(1) ? call.in(1).whole[0] : 0;
    const bool upper = call.call.integer("upper") != 0;
    const Whole rows = x.shape[x.shape.rank - 2], columns = x.shape.last();
    Known& y = call.out(x.type, x.shape);
    for (Whole i = 0; i < x.shape.elements(); ++i) {
        const Whole row = i / columns % rows, column = i % columns;
        // Compared without a sum, which could overflow.
        const bool kept = upper ? column - row >= k : column - row <= k;
        if (is_real(x.type))
            y.real.push_back(kept ? x.real[place(i)] : 0);
        else
            y.whole.push_back(kept ? x.whole[place(i)] : 0);
    }
    return true;
}

bool nonzero(FoldCall& call) {
    const Known& x = call.in(0);
    std::pmr::vector<Whole> found(call.heap);
    for (Whole i = 0; i < x.shape.elements(); ++i)
        if (is_real(x.type) ? x.real[place(i)] != 0 : x.whole[place(i)] != 0) found.push_back(i);
    Known& y = call.out(Type::i64, {x.shape.rank, static_cast<Whole>(found.size())});
    for (int axis = 0; axis < x.shape.rank; ++axis) {
        Whole inner = 1;
        for (int k = axis + 1; k < x.shape.rank; ++k) inner *= x.shape[k];
        for (const Whole i : found) y.whole.push_back(i / inner % x.shape[axis]);
    }
    return true;
}

}  // namespace fold
}  // namespace volta::onnx
