// Operators along axes: softmax, reductions, norms.
#include <algorithm>
#include <limits>

#include "engine/import/onnx/rules.h"

namespace volta::onnx {
namespace {

using Whole = std::int64_t;

// [axes before `axis`..., all others as one].
Extents flattened_from(const Extents& from, int axis) {
    Extents to;
    Whole now = 1, later = 1;
    for (int k = 0; k < axis; ++k) to.append(from, k);
    for (int k = axis; k < from.rank(); ++k) {
        now *= from.now[k];
        later *= from.later[k];
    }
    to.now.extent[to.now.rank++] = now;
    to.later.extent[to.later.rank++] = later;
    return to;
}

Extents vector_of(Whole extent) {
    Extents extents;
    extents.append(extent);
    return extents;
}

ValueId filled(Call& call, double value, const Extents& to) {
    return call.broadcast_to(call.scalar(value), to);
}

// A scale or bias of the last axes, as one vector of `width`.
ValueId row_operand(Call& call, int input, const Extents& x, int axis, double otherwise) {
    const Extents flat = flattened_from(x, axis);
    const Extents vector = vector_of(flat.now.last());
    if (!call.has(input)) return filled(call, otherwise, vector);
    const ValueId given = call.real(input);
    Extents last;
    for (int k = axis; k < x.rank(); ++k) last.append(x, k);
    return call.reshape(call.broadcast_to(given, last), vector);
}

// The axis from which a norm's rows go; all of them are known.
int norm_axis(Call& call, const Extents& x) {
    const int axis = call.axis(call.integer("axis"), x.rank());
    for (int k = axis; k < x.rank(); ++k)
        if (x.is_open(k)) call.refuse("it is over axis %d, whose extent is open", k);
    return axis;
}

ValueId axes_reduced(Call& call, Op op, ValueId x, const Shape& axes, bool keep) {
    return call.apply(op, {x}, {list(Attr::axes, axes), number(Attr::keep_dims, keep)});
}

void need_known_axis(Call& call, const Extents& x, int axis) {
    if (x.is_open(axis)) call.refuse("it is over axis %d, whose extent is open", axis);
}

// Where an element is the largest of its row its place, else -1: the largest place is the last.
ValueId places_of_largest(Call& call, ValueId x, Whole count) {
    constexpr Whole kMostPlaces = Whole{1} << 20;
    if (count > kMostPlaces) call.refuse("it is over %lld elements", static_cast<long long>(count));
    call.graph().spend(static_cast<std::size_t>(count));
    std::pmr::vector<float> ramp(call.heap());
    for (Whole i = 0; i < count; ++i) ramp.push_back(static_cast<float>(i));
    const ValueId places = call.graph().constant(DType::f32, {count}, ramp.data());
    const ValueId most = axes_reduced(call, Op::max, x, {-1}, true);
    const ValueId place = call.apply(Op::where, {call.apply(Op::equal, {x, most}), places, call.scalar(-1)});
    return call.apply(Op::where, {call.apply(Op::equal, {x, x}), place, places});  // NaN is the largest
}

ValueId part_of(Call& call, ValueId x, int axis, Whole at) {
    return call.apply(Op::slice, {x},
                      {number(Attr::axis, axis), number(Attr::begin, static_cast<double>(at)),
                       number(Attr::end, static_cast<double>(at + 1))});
}

constexpr Whole kMostSteps = 64;  // of what is written out step by step

ValueId product_along(Call& call, ValueId x, int axis) {
    const Extents from = call.extents_of(x);
    need_known_axis(call, from, axis);
    if (from.now[axis] < 1 || from.now[axis] > kMostSteps)
        call.refuse("it multiplies %lld elements; 1 to %lld are imported",
                    static_cast<long long>(from.now[axis]), static_cast<long long>(kMostSteps));
    ValueId y = part_of(call, x, axis, 0);
    for (Whole i = 1; i < from.now[axis]; ++i) y = call.apply(Op::mul, {y, part_of(call, x, axis, i)});
    return y;
}

}  // namespace

namespace build {

// Up to opset 12 over all axes from `axis` on.
void softmax(Call& call) {
    const ValueId x = call.real(0);
    const Op op = call.node().op == "Softmax" ? Op::softmax : Op::log_softmax;
    const Extents from = call.extents_of(x);
    const int axis = call.axis(call.opset() < 13 && !call.given("axis") ? 1 : call.integer("axis"),
                               std::max(from.rank(), 1));
    if (from.rank() == 0) call.refuse("its input has no axes");
    if (call.opset() < 13) {
        const ValueId rows = call.apply(op, {call.reshape(x, flattened_from(from, axis))});
        return call.give(0, call.reshape(rows, from), call.type(0));
    }
    const int last = from.rank() - 1;
    call.give(0, call.move_axis(call.apply(op, {call.move_axis(x, axis, last)}), last, axis), call.type(0));
}

void reduce(Call& call) {
    ValueId x = call.real(0);
    const Extents from = call.extents_of(x);
    const std::string_view name = call.node().op;
    bool given = false;
    const auto named = named_axes(call, 1, name == "ReduceSum" ? 13 : 18, from.rank(), &given);
    if (!given && call.integer("noop_with_empty_axes") != 0) {
        if (name == "ReduceSum" || name == "ReduceMean" || name == "ReduceMax" || name == "ReduceMin")
            return call.give_same(0, 0);
        call.refuse("it reduces no axis, by its noop_with_empty_axes");
    }
    Shape axes;
    for (int axis = 0; axis < from.rank(); ++axis)
        if (!given || std::find(named.begin(), named.end(), axis) != named.end())
            axes.extent[axes.rank++] = axis;
    const bool keep = call.integer("keepdims") != 0;
    if (from.rank() == 0) axes.rank = 0;
    const auto reduced = [&](Op op, ValueId value) {
        return from.rank() == 0 ? value : axes_reduced(call, op, value, axes, keep);
    };
    ValueId y = -1;
    if (name == "ReduceSum") {
        y = reduced(Op::sum, x);
    } else if (name == "ReduceMean") {
        y = reduced(Op::mean, x);
    } else if (name == "ReduceMax") {
        y = reduced(Op::max, x);
    } else if (name == "ReduceMin") {
        y = reduced(Op::min, x);
    } else if (name == "ReduceL1") {
        y = reduced(Op::sum, call.apply(Op::abs, {x}));
    } else if (name == "ReduceL2") {
        y = call.apply(Op::sqrt, {reduced(Op::sum, call.apply(Op::mul, {x, x}))});
    } else if (name == "ReduceSumSquare") {
        y = reduced(Op::sum, call.apply(Op::mul, {x, x}));
    } else if (name == "ReduceLogSum") {
        y = call.apply(Op::log, {reduced(Op::sum, x)});
    } else if (name == "ReduceLogSumExp") {
        // Less the largest, which infinities may not be.
        constexpr double kMost = std::numeric_limits<float>::max();
        const ValueId most = from.rank() == 0 ? x : axes_reduced(call, Op::max, x, axes, true);
        const ValueId shift =
            call.apply(Op::clamp, {most}, {number(Attr::low, -kMost), number(Attr::high, kMost)});
        const ValueId sum = reduced(Op::sum, call.apply(Op::exp, {call.apply(Op::sub, {x, shift})}));
        y = call.apply(Op::add, {call.apply(Op::log, {sum}), call.reshape(shift, call.extents_of(sum))});
    } else {  // ReduceProd
        y = x;
        for (int i = 0; i < axes.rank; ++i) y = product_along(call, y, static_cast<int>(axes[i]));
        Extents to;
        for (int axis = 0; axis < from.rank(); ++axis) {
            const bool is_reduced =
                std::find(axes.extent, axes.extent + axes.rank, axis) != axes.extent + axes.rank;
            if (!is_reduced)
                to.append(from, axis);
            else if (keep)
                to.append(1);
        }
        y = call.reshape(y, to);
    }
    call.give(0, y, call.type(0));
}

namespace {
// This number, whatever there is at the place.
ValueId neutral(Call& call, ValueId like, double number) {
    const ValueId never = call.apply(Op::less, {call.scalar(0), call.scalar(0)});
    return call.apply(Op::where, {never, like, call.scalar(number)});
}
}  // namespace

void cumulative(Call& call) {
    const bool adds = call.node().op == "CumSum";
    const ValueId x = call.real(0);
    const Extents from = call.extents_of(x);
    const int axis = call.axis(static_cast<Whole>(call.number_in(1, "axis")), from.rank());
    need_known_axis(call, from, axis);
    const Whole count = from.now[axis];
    if (count < 1 || count > kMostSteps)
        call.refuse("it combines %lld elements; 1 to %lld are imported", static_cast<long long>(count),
                    static_cast<long long>(kMostSteps));
    const bool exclusive = call.integer("exclusive") != 0, reverse = call.integer("reverse") != 0;
    std::pmr::vector<ValueId> sums(call.heap());
    ValueId sum = -1;
    for (Whole i = 0; i < count; ++i) {
        const ValueId next = part_of(call, x, axis, reverse ? count - 1 - i : i);
        const ValueId before = sum;
        sum = sum < 0 ? next : call.apply(adds ? Op::add : Op::mul, {sum, next});
        if (!exclusive)
            sums.push_back(sum);
        else
            sums.push_back(before >= 0 ? before : neutral(call, next, adds ? 0 : 1));
    }
    if (reverse) std::reverse(sums.begin(), sums.end());
    const Attribute attribute = number(Attr::axis, axis);
    call.give(0,
              sums.size() == 1
                  ? sums[0]
                  : call.graph().apply(Op::concat, sums.data(), static_cast<int>(sums.size()), &attribute, 1),
              call.type(0));
}

void arg_extremum(Call& call) {
    ValueId x = call.real(0);
    const Extents from = call.extents_of(x);
    const int axis = call.axis(call.integer("axis"), from.rank());
    need_known_axis(call, from, axis);
    if (call.node().op == "ArgMin") x = call.apply(Op::neg, {x});
    x = call.move_axis(x, axis, from.rank() - 1);
    if (call.integer("select_last_index") != 0) x = places_of_largest(call, x, from.now[axis]);
    const ValueId index = call.apply(Op::argmax, {x});
    Extents to = from;
    to.now[axis] = to.later[axis] = 1;
    call.give(0, call.integer("keepdims") != 0 ? call.reshape(index, to) : index, Type::i64);
}

namespace {
// By the statistics of the batch at hand, which the running ones follow in outputs of their own.
void batch_norm_of_batch(Call& call, ValueId x) {
    const Extents from = call.extents_of(x);
    if (from.rank() < 2 || from.is_open(1)) call.refuse("its input is %s", to_text(from.now).text);
    Shape axes;
    for (int axis = 0; axis < from.rank(); ++axis)
        if (axis != 1) axes.extent[axes.rank++] = axis;
    Extents apart;  // of what is per channel
    apart.append(1);
    apart.append(from, 1);
    for (int axis = 2; axis < from.rank(); ++axis) apart.append(1);
    const Extents channels = vector_of(from.now[1]);
    const ValueId mean = axes_reduced(call, Op::mean, x, axes, true);
    const ValueId distance = call.apply(Op::sub, {x, mean});
    const ValueId variance =
        axes_reduced(call, Op::mean, call.apply(Op::mul, {distance, distance}), axes, true);
    const ValueId sum = call.apply(Op::add, {variance, call.scalar(call.real_attribute("epsilon"))});
    const ValueId normal = call.apply(Op::mul, {distance, call.apply(Op::rsqrt, {sum})});
    const ValueId scaled = call.apply(Op::mul, {normal, call.reshape(call.real(1), apart)});
    call.give(0, call.apply(Op::add, {scaled, call.reshape(call.real(2), apart)}), call.type(0));
    const double momentum = call.real_attribute("momentum");
    for (const int i : {0, 1}) {
        if (!call.wants(i + 1)) continue;
        const ValueId stays = call.apply(Op::mul, {call.real(i + 3), call.scalar(momentum)});
        const ValueId comes = call.apply(
            Op::mul, {call.reshape(i == 0 ? mean : variance, channels), call.scalar(1 - momentum)});
        call.give(i + 1, call.apply(Op::add, {stays, comes}), call.type(i + 3));
    }
}
}  // namespace

void batch_norm(Call& call) {
    const ValueId x = call.real(0);
    if (call.opset() >= 14 && call.integer("training_mode") != 0) return batch_norm_of_batch(call, x);
    for (int i = 1; i < call.outputs(); ++i)
        if (call.wants(i) && call.opset() >= 14) call.refuse("it gives statistics, as in training");
    if (call.opset() < 7 && call.integer("is_test") == 0) call.refuse("its is_test is 0: it is in training");
    if (call.opset() < 9 && call.integer("spatial") == 0) call.refuse("its spatial is 0");
    if (call.opset() < 14 && call.wants(1)) call.refuse("it gives statistics, as in training");
    // ONNX's momentum is the part that stays.
    const double momentum = 1 - call.real_attribute("momentum");
    call.give(
        0,
        call.apply(Op::batch_norm,
                   {x, call.real(1), call.real(2), call.own_real(3, "/running_mean"),
                    call.own_real(4, "/running_variance")},
                   {number(Attr::epsilon, call.real_attribute("epsilon")), number(Attr::momentum, momentum)}),
        call.type(0));
}

void layer_norm(Call& call) {
    const ValueId x = call.real(0);
    const Extents from = call.extents_of(x);
    const int axis = norm_axis(call, from);
    const ValueId rows = call.reshape(x, flattened_from(from, axis));
    const ValueId y = call.apply(
        Op::layer_norm, {rows, row_operand(call, 1, from, axis, 1), row_operand(call, 2, from, axis, 0)},
        {number(Attr::epsilon, call.real_attribute("epsilon"))});
    call.give(0, call.reshape(y, from), call.type(0));
    Extents kept = from;
    for (int k = axis; k < from.rank(); ++k) kept.now[k] = kept.later[k] = 1;
    for (int i = 1; i <= 2; ++i)
        if (call.wants(i)) call.give(i, call.reshape(y + i, kept));
}

void rms_norm(Call& call) {
    const ValueId x = call.real(0);
    const Extents from = call.extents_of(x);
    const int axis = norm_axis(call, from);
    const ValueId y = call.apply(
        Op::rms_norm, {call.reshape(x, flattened_from(from, axis)), row_operand(call, 1, from, axis, 1)},
        {number(Attr::epsilon, call.real_attribute("epsilon"))});
    call.give(0, call.reshape(y, from), call.type(0));
}

void group_norm(Call& call) {
    const ValueId x = call.real(0);
    const Extents from = call.extents_of(x);
    if (from.rank() < 2 || from.is_open(1)) call.refuse("its input is %s", to_text(from.now).text);
    const Whole channels = from.now[1], groups = call.integer("num_groups");
    if (groups < 1 || channels % groups != 0)
        call.refuse("%lld channels are no %lld groups", static_cast<long long>(channels),
                    static_cast<long long>(groups));
    ValueId operands[2];
    for (int i = 0; i < 2; ++i) {
        operands[i] = call.real(i + 1);
        if (call.opset() >= 21) continue;
        // Up to opset 20 one of each group.
        Extents apart = vector_of(groups), wide = vector_of(groups);
        apart.append(1);
        wide.append(channels / groups);
        operands[i] =
            call.reshape(call.broadcast_to(call.reshape(operands[i], apart), wide), vector_of(channels));
    }
    call.give(0,
              call.apply(Op::group_norm, {x, operands[0], operands[1]},
                         {number(Attr::epsilon, call.real_attribute("epsilon")),
                          number(Attr::groups, static_cast<double>(groups))}),
              call.type(0));
}

void instance_norm(Call& call) {
    call.give(0,
              call.apply(Op::instance_norm, {call.real(0), call.real(1), call.real(2)},
                         {number(Attr::epsilon, call.real_attribute("epsilon"))}),
              call.type(0));
}

void lp_norm(Call& call) {
    const ValueId x = call.real(0);
    const Extents from = call.extents_of(x);
    const int axis = call.axis(call.integer("axis"), from.rank());
    const Shape axes{axis};
    const ValueId norm =
        call.integer("p") == 1
            ? axes_reduced(call, Op::sum, call.apply(Op::abs, {x}), axes, true)
            : call.apply(Op::sqrt, {axes_reduced(call, Op::sum, call.apply(Op::mul, {x, x}), axes, true)});
    // Zeros stay zeros.
    const ValueId divisor =
        call.apply(Op::where, {call.apply(Op::equal, {norm, call.scalar(0)}), call.scalar(1), norm});
    call.give(0, call.apply(Op::div, {x, divisor}), call.type(0));
}

void mean_variance_norm(Call& call) {
    const ValueId x = call.real(0);
    const Extents from = call.extents_of(x);
    auto named = call.integers("axes");
    if (!call.given("axes")) named = {0, 2, 3};
    Shape axes;
    for (const Whole given : named) {
        if (axes.rank == kMaxRank) call.refuse("it has more than %d axes", kMaxRank);
        axes.extent[axes.rank++] = call.axis(given, from.rank());
    }
    const ValueId distance = call.apply(Op::sub, {x, axes_reduced(call, Op::mean, x, axes, true)});
    const ValueId variance =
        axes_reduced(call, Op::mean, call.apply(Op::mul, {distance, distance}), axes, true);
    const ValueId deviation = call.apply(Op::add, {call.apply(Op::sqrt, {variance}), call.scalar(1e-9)});
    call.give(0, call.apply(Op::div, {distance, deviation}), call.type(0));
}

}  // namespace build
}  // namespace volta::onnx
