// Operators that move elements, or make them of a shape.
#include <algorithm>

#include "engine/graph/forms.h"
#include "engine/import/onnx/rules.h"

namespace volta::onnx {
namespace {

using Whole = std::int64_t;

Attribute axis_of(int axis) { return number(Attr::axis, axis); }

ValueId sliced(Call& call, ValueId x, int axis, Whole begin, Whole end) {
    const Extents from = call.extents_of(x);
    if (!from.is_open(axis) && begin == 0 && end == from.now[axis]) return x;
    return call.apply(Op::slice, {x},
                      {axis_of(axis), number(Attr::begin, static_cast<double>(begin)),
                       number(Attr::end, static_cast<double>(end))});
}

// Integers and flags move as i32, real numbers as f32.
ValueId movable(Call& call, int input) { return call.any(input); }

Extents one_axis(Call& call, const Extents& from, int first, int count) {
    Extents result;
    bool open = false;
    Whole now = 1, later = 1;
    for (int axis = first; axis < first + count; ++axis) {
        now *= from.now[axis];
        later *= from.later[axis];
        open = open || from.is_open(axis);
    }
    static_cast<void>(call);
    result.now.extent[result.now.rank++] = now;
    result.later.extent[result.later.rank++] = later;
    return result;
}

// Repeats an axis: [before, axis and behind] as [before, 1, rest], repeated, joined again.
ValueId repeated(Call& call, ValueId x, int axis, Whole times) {
    const Extents from = call.extents_of(x);
    Extents apart, wide;
    apart.append(one_axis(call, from, 0, axis), 0);
    apart.append(1);
    apart.append(one_axis(call, from, axis, from.rank() - axis), 0);
    wide = apart;
    wide.now[1] = wide.later[1] = times;
    const ValueId y = call.broadcast_to(call.reshape(x, apart), wide);
    Extents to = from;
    to.now[axis] = multiplied(call, from.now[axis], times);
    to.later[axis] = multiplied(call, from.later[axis], times);
    return call.reshape(y, to);
}

// Elements of one axis, by their places: pieces of the axis one behind the other, or rows of a table.
ValueId taken(Call& call, ValueId x, int axis, const std::pmr::vector<Whole>& ids) {
    constexpr std::size_t kFew = 16;
    const Extents from = call.extents_of(x);
    const bool real = call.graph().graph.value(x).dtype == DType::f32;
    call.graph().spend(ids.size());
    if (ids.size() <= kFew || !real) {
        if (ids.size() > 1024) call.refuse("it takes %zu elements of integers", ids.size());
        std::pmr::vector<ValueId> parts(call.heap());
        for (const Whole id : ids) parts.push_back(sliced(call, x, axis, id, id + 1));
        const Attribute attribute = axis_of(axis);
        return parts.size() == 1 ? parts[0]
                                 : call.graph().apply(Op::concat, parts.data(),
                                                      static_cast<int>(parts.size()), &attribute, 1);
    }
    std::pmr::vector<std::int32_t> rows(call.heap());
    for (const Whole id : ids) rows.push_back(checked_i32(id, "an index"));
    const ValueId first = call.move_axis(x, axis, 0);
    const Extents moved = call.extents_of(first);
    Extents table, to;
    table.append(moved, 0);
    table.append(one_axis(call, moved, 1, moved.rank() - 1), 0);
    to.append(static_cast<Whole>(ids.size()));
    for (int k = 1; k < moved.rank(); ++k) to.append(moved, k);
    const ValueId indices = call.graph().constant(DType::i32, {static_cast<Whole>(ids.size())}, rows.data());
    const ValueId y = call.apply(Op::gather, {call.reshape(first, table), indices});
    static_cast<void>(from);
    return call.move_axis(call.reshape(y, to), 0, axis);
}

// x with the elements of one axis that ids say, which become as many axes.
ValueId rows_taken(Call& call, ValueId real, int axis, ValueId indices, const Extents& ids) {
    const ValueId first = call.move_axis(real, axis, 0);
    const Extents moved = call.extents_of(first);
    Extents table;
    table.append(moved, 0);
    table.append(one_axis(call, moved, 1, moved.rank() - 1), 0);
    const ValueId rows = call.apply(Op::gather, {call.reshape(first, table), indices});
    // [ids..., others] with the others apart again, and the indices where the axis was.
    Extents apart = ids;
    for (int k = 1; k < moved.rank(); ++k) apart.append(moved, k);
    const ValueId whole = call.reshape(rows, apart);
    std::pmr::vector<Whole> order(call.heap());
    for (int k = 0; k < axis; ++k) order.push_back(ids.rank() + k);
    for (int k = 0; k < ids.rank(); ++k) order.push_back(k);
    for (int k = axis; k < moved.rank() - 1; ++k) order.push_back(ids.rank() + k);
    return call.transpose(whole, order);
}

void reshape_lanes(Call& call, const KnownPair& shape) {
    const ValueId x = movable(call, 0);
    const Extents from = call.extents_of(x);
    Extents to;
    to.now = reshaped(call, from.now, shape.at(0).whole);
    to.later = reshaped(call, from.later, shape.at(1).whole);
    if (to.now.rank != to.later.rank) call.refuse("its result has as many axes as open extents say");
    call.give(0, call.reshape(x, to), call.type(0));
}

}  // namespace

namespace build {

void identity(Call& call) { call.give_same(0, 0); }

void dropout(Call& call) {
    const bool drops = call.opset() >= 12 && call.has(2) && call.number_in(2, "training_mode") != 0;
    if (drops && (!call.has(1) || call.number_in(1, "ratio") != 0))
        call.refuse("it drops elements: its training_mode is 1");
    if (call.opset() < 7 && call.integer("is_test") == 0) call.refuse("it drops elements: its is_test is 0");
    if (call.wants(1)) {
        const ValueId x = call.real(0);
        call.give(
            1, call.broadcast_to(call.apply(Op::equal, {call.scalar(0), call.scalar(0)}), call.extents_of(x)),
            Type::flag);
    }
    call.give_same(0, 0);
}

void constant(Call& call) {
    const AttributeView* given = nullptr;
    for (const AttributeView& attribute : call.node().attributes) {
        if (given != nullptr) call.refuse("it has more than one value");
        given = &attribute;
    }
    if (given == nullptr) call.refuse("it has no value");
    if (given->kind == AttributeKind::tensor) {
        TensorView tensor = read_tensor(bytes_of(*given));
        if (tensor.name.empty() && call.wants(0)) tensor.name = call.node().outputs[0];
        if (!call.wants(0)) return;
        Value value;
        value.type = tensor.type;
        if (!is_real(tensor.type) && !is_whole(tensor.type))
            call.refuse("its value is %s", type_name(tensor.type));
        value.tensor = call.graph().keep_tensor(tensor);
        call.graph().values[call.node().outputs[0]] = value;
        return;
    }
    KnownPair pair(call.heap());
    Known& known = pair.now;
    switch (given->kind) {
        case AttributeKind::real:
            known.real.push_back(static_cast<double>(real_of(*given)));
            break;
        case AttributeKind::reals:
            reals_of(*given, known.real);
            break;
        case AttributeKind::integer:
            known.whole.push_back(integer_of(*given));
            break;
        case AttributeKind::integers:
            integers_of(*given, known.whole);
            break;
        default:
            call.refuse("its value is neither numbers nor a tensor of them");
    }
    const bool real = given->kind == AttributeKind::real || given->kind == AttributeKind::reals;
    known.type = real ? Type::f32 : Type::i64;
    if (given->kind == AttributeKind::reals || given->kind == AttributeKind::integers)
        known.shape = {static_cast<Whole>(real ? known.real.size() : known.whole.size())};
    call.give(0, std::move(pair));
}

// What is too much to be known is repeated by the graph.
void constant_of_shape(Call& call) {
    const KnownPair& wanted = call.known(0, "shape");
    if (!is_whole(wanted.now.type)) call.refuse("its shape is %s", type_name(wanted.now.type));
    Extents to;
    for (const auto lane : {0, 1}) {
        Shape& shape = lane == 0 ? to.now : to.later;
        if (wanted.at(lane).whole.size() > kMaxRank)
            call.refuse("its result has more than %d axes", kMaxRank);
        for (const Whole extent : wanted.at(lane).whole) shape.extent[shape.rank++] = extent;
    }
    if (to.has_open()) call.refuse("its shape is computed from extents that are open");
    Value value;
    const AttributeView* const attribute = call.find("value");
    ValueId one = -1;
    Type type = Type::f32;
    if (attribute == nullptr) {
        one = call.scalar(0);
    } else {
        const TensorView* const tensor = call.graph().keep_tensor(read_tensor(bytes_of(*attribute)));
        type = value.type = tensor->type;
        value.tensor = tensor;
        if (tensor->shape.elements() != 1) call.refuse("its value is not one element");
        one = call.graph().materialise(value, "value");
    }
    call.give(0, call.broadcast_to(one, to), type);
}

void shape(Call& call) {
    const Extents extents = call.extents(0);
    const int rank = extents.rank();
    const auto place = [&](const char* name, int otherwise) {
        if (!call.given(name)) return otherwise;
        Whole at = call.integer(name);
        if (at < 0) at += rank;
        return static_cast<int>(std::clamp<Whole>(at, 0, rank));
    };
    const int begin = place("start", 0), end = place("end", rank);
    KnownPair pair(call.heap());
    pair.now.type = Type::i64;
    pair.now.shape = {std::max(0, end - begin)};
    if (extents.has_open()) pair.later.emplace(Known(pair.now, call.heap()));
    for (int axis = begin; axis < end; ++axis) {
        pair.now.whole.push_back(extents.now[axis]);
        if (pair.later) pair.later->whole.push_back(extents.later[axis]);
    }
    call.give(0, std::move(pair));
}

void size(Call& call) {
    const Extents extents = call.extents(0);
    KnownPair pair(call.heap());
    pair.now.type = Type::i64;
    if (extents.has_open()) {
        pair.later.emplace(Known(pair.now, call.heap()));
        pair.later->whole.push_back(extents.later.elements());
    }
    pair.now.whole.push_back(extents.now.elements());
    call.give(0, std::move(pair));
}

void reshape(Call& call) {
    if (call.opset() >= 5) {
        const KnownPair& shape = call.known(1, "shape");
        if (!is_whole(shape.now.type)) call.refuse("its shape is %s", type_name(shape.now.type));
        return reshape_lanes(call, shape);
    }
    KnownPair shape(call.heap());
    shape.now.whole = call.integers("shape");
    reshape_lanes(call, shape);
}

void flatten(Call& call) {
    const ValueId x = movable(call, 0);
    const Extents from = call.extents_of(x);
    const Whole given = call.integer("axis");
    const Whole axis = given < 0 ? given + from.rank() : given;
    if (axis < 0 || axis > from.rank())
        call.refuse("its axis %lld is none of %d", static_cast<long long>(given), from.rank());
    Extents to;
    to.append(one_axis(call, from, 0, static_cast<int>(axis)), 0);
    to.append(one_axis(call, from, static_cast<int>(axis), from.rank() - static_cast<int>(axis)), 0);
    call.give(0, call.reshape(x, to), call.type(0));
}

void squeeze(Call& call) {
    const ValueId x = movable(call, 0);
    const Extents from = call.extents_of(x);
    bool given = false;
    const auto axes = named_axes(call, 1, 13, from.rank(), &given);
    Extents to;
    for (int axis = 0; axis < from.rank(); ++axis) {
        const bool is_one = from.now[axis] == 1 && !from.is_open(axis);
        const bool named = std::find(axes.begin(), axes.end(), axis) != axes.end();
        if (named && !is_one)
            call.refuse("axis %d of %s is %s", axis, to_text(from.now).text,
                        from.is_open(axis) ? "open" : "not 1");
        if (given ? !named : !is_one) to.append(from, axis);
    }
    call.give(0, call.reshape(x, to), call.type(0));
}

void unsqueeze(Call& call) {
    const ValueId x = movable(call, 0);
    const Extents from = call.extents_of(x);
    const auto raw = call.opset() >= 13 ? call.integers_in(1, "axes") : call.integers("axes");
    if (raw.size() + static_cast<std::size_t>(from.rank()) > kMaxRank)
        call.refuse("its result has more than %d axes", kMaxRank);
    const int rank = from.rank() + static_cast<int>(raw.size());
    bool given = false;
    const auto axes = named_axes(call, 1, 13, rank, &given);
    Extents to;
    for (int axis = 0, next = 0; axis < rank; ++axis) {
        if (std::find(axes.begin(), axes.end(), axis) != axes.end())
            to.append(1);
        else
            to.append(from, next++);
    }
    call.give(0, call.reshape(x, to), call.type(0));
}

void transpose(Call& call) {
    const ValueId x = movable(call, 0);
    auto order = call.integers("perm");
    if (order.empty())
        for (int axis = call.extents_of(x).rank() - 1; axis >= 0; --axis) order.push_back(axis);
    call.give(0, call.transpose(x, order), call.type(0));
}

void concat(Call& call) {
    std::pmr::vector<ValueId> parts(call.heap());
    for (int i = 0; i < call.inputs(); ++i) {
        if (is_real(call.type(i)) != is_real(call.type(0)))
            call.refuse("its inputs are %s and %s", type_name(call.type(0)), type_name(call.type(i)));
        const ValueId part = movable(call, i);
        if (call.extents(i).now.elements() > 0 || call.extents(i).has_open()) parts.push_back(part);
    }
    if (parts.empty()) parts.push_back(movable(call, 0));
    const int rank = call.extents_of(parts[0]).rank();
    const int axis = call.axis(call.opset() < 4 && !call.given("axis") ? 1 : call.integer("axis"), rank);
    if (parts.size() == 1) return call.give(0, parts[0], call.type(0));
    const Attribute attribute = axis_of(axis);
    call.give(0, call.graph().apply(Op::concat, parts.data(), static_cast<int>(parts.size()), &attribute, 1),
              call.type(0));
}

void split(Call& call) {
    const ValueId x = movable(call, 0);
    const Extents from = call.extents_of(x);
    const int axis = call.axis(call.integer("axis"), from.rank());
    if (from.is_open(axis)) call.refuse("it splits an axis whose extent is open");
    std::pmr::vector<Whole> parts(call.heap());
    if (call.opset() < 13)
        parts = call.integers("split");
    else if (call.has(1))
        parts = call.integers_in(1, "split");
    const Whole extent = from.now[axis], count = call.outputs();
    if (parts.empty()) {
        if (call.opset() < 18 && extent % count != 0)
            call.refuse("%lld elements are no %lld equal parts", static_cast<long long>(extent),
                        static_cast<long long>(count));
        const Whole each = (extent + count - 1) / count;
        for (Whole i = 0; i < count; ++i) parts.push_back(std::clamp<Whole>(extent - i * each, 0, each));
    }
    if (static_cast<Whole>(parts.size()) != count)
        call.refuse("it has %zu parts and %lld outputs", parts.size(), static_cast<long long>(count));
    Whole begin = 0;
    for (int i = 0; i < call.outputs(); ++i) {
        const Whole part = parts[static_cast<std::size_t>(i)];
        if (part < 0 || part > extent - begin)
            call.refuse("its part %d has %lld elements", i, static_cast<long long>(part));
        if (call.wants(i)) call.give(i, sliced(call, x, axis, begin, begin + part), call.type(0));
        begin += part;
    }
    if (begin != extent)
        call.refuse("its parts have %lld of %lld elements", static_cast<long long>(begin),
                    static_cast<long long>(extent));
}

namespace {

// One end of a slice of an open axis, as the operator says it for all extents: from the front, or from the
// end. Throws where it is neither.
double place_in_open(Call& call, const Extents& from, int axis, Whole now, Whole later, bool is_end) {
    if (is_end && now == from.now[axis] && later == from.later[axis]) return kToTheEnd;
    if (now - from.now[axis] == later - from.later[axis] && now != from.now[axis])
        return static_cast<double>(now - from.now[axis]);
    if (now != later) call.refuse("it takes a part of axis %d, whose extent is open", axis);
    return static_cast<double>(now);
}

// Of a slice's list in one lane.
std::pmr::vector<Whole> slice_list(Call& call, int input, const char* attribute, int lane) {
    if (call.opset() < 10) return call.integers(attribute);
    if (!call.has(input)) return std::pmr::vector<Whole>(call.heap());
    const KnownPair& known = call.known(input, attribute);
    if (!is_whole(known.now.type)) call.refuse("its %s are %s", attribute, type_name(known.now.type));
    return std::pmr::vector<Whole>(known.at(lane).whole, call.heap());
}

}  // namespace

void slice(Call& call) {
    ValueId x = movable(call, 0);
    const Extents from = call.extents_of(x);
    const auto begins = slice_list(call, 1, "starts", 0), begins_later = slice_list(call, 1, "starts", 1);
    const auto ends = slice_list(call, 2, "ends", 0), ends_later = slice_list(call, 2, "ends", 1);
    auto axes = slice_list(call, 3, "axes", 0), steps = slice_list(call, 4, "steps", 0);
    if (axes.empty())
        for (std::size_t i = 0; i < begins.size(); ++i) axes.push_back(static_cast<Whole>(i));
    if (steps.empty()) steps.assign(begins.size(), 1);
    if (ends.size() != begins.size() || axes.size() != begins.size() || steps.size() != begins.size())
        call.refuse("it has %zu starts, %zu ends, %zu axes and %zu steps", begins.size(), ends.size(),
                    axes.size(), steps.size());
    for (std::size_t i = 0; i < begins.size(); ++i) {
        const int axis = call.axis(axes[i], from.rank());
        const SliceRange range = slice_range(call, begins[i], ends[i], steps[i], from.now[axis]);
        if (from.is_open(axis)) {
            const SliceRange later =
                slice_range(call, begins_later[i], ends_later[i], steps[i], from.later[axis]);
            // All that there is for now may be more than is taken later.
            const bool is_cut = ends[i] == ends_later[i] && ends[i] > from.later[axis] && ends[i] < INT32_MAX;
            const bool is_late =
                begins[i] == begins_later[i] && begins[i] < -from.later[axis] && begins[i] > -INT32_MAX;
            if (is_cut || is_late)
                call.refuse("it takes at most %lld elements of axis %d, whose extent is open",
                            static_cast<long long>(is_cut ? ends[i] : -begins[i]), axis);
            if (range.count == from.now[axis] && later.count == from.later[axis] && range.step == 1) continue;
            if (range.step != 1)
                call.refuse("its step is %lld on axis %d, whose extent is open",
                            static_cast<long long>(range.step), axis);
            const double begin = place_in_open(call, from, axis, range.begin, later.begin, false);
            const double end =
                place_in_open(call, from, axis, range.begin + range.count, later.begin + later.count, true);
            x = call.apply(Op::slice, {x},
                           {axis_of(axis), number(Attr::begin, begin), number(Attr::end, end)});
            continue;
        }
        if (range.begin == 0 && range.step == 1 && begins_later[i] == begins[i] && ends[i] != ends_later[i]) {
            // As many as an open extent says.
            Extents line;
            line.now = {ends[i]};
            line.later = {ends_later[i]};
            const ValueId places = call.graph().open_places(line, from.now[axis]);
            if (places >= 0 && call.graph().graph.value(x).dtype == DType::f32) {
                x = rows_taken(call, x, axis, places, line);
                continue;
            }
        }
        if (begins[i] != begins_later[i] || ends[i] != ends_later[i])
            call.refuse("it takes a part of axis %d that is computed from extents that are open", axis);
        if (range.step == 1 || range.count <= 1) {
            x = sliced(call, x, axis, range.begin, range.begin + range.count);
            continue;
        }
        std::pmr::vector<Whole> ids(call.heap());
        for (Whole k = 0; k < range.count; ++k) ids.push_back(range.begin + k * range.step);
        x = taken(call, x, axis, ids);
    }
    call.give(0, x, call.type(0));
}

// Rows of a table: the axis goes first, all others are a row.
void gather(Call& call) {
    const ValueId x = movable(call, 0);
    const Extents from = call.extents_of(x), ids = call.extents(1);
    const int axis = call.axis(call.integer("axis"), from.rank());
    if (from.rank() - 1 + ids.rank() > kMaxRank) call.refuse("its result has more than %d axes", kMaxRank);
    if (!is_whole(call.type(1))) call.refuse("its indices are %s", type_name(call.type(1)));
    Extents to;
    for (int k = 0; k < axis; ++k) to.append(from, k);
    for (int k = 0; k < ids.rank(); ++k) to.append(ids, k);
    for (int k = axis + 1; k < from.rank(); ++k) to.append(from, k);
    const KnownPair* const known = call.find_known(1);
    if (from.is_open(axis)) {
        if (known == nullptr || known->later || known->now.count() != 1)
            call.refuse("it takes elements of axis %d, whose extent is open", axis);
        // The first, or, from the end, the last.
        const Whole id = known->now.whole[0];
        if (id < -INT32_MAX || id > INT32_MAX) call.refuse("its index is %lld", static_cast<long long>(id));
        const double end = id == -1 ? kToTheEnd : static_cast<double>(id + 1);
        const ValueId one =
            call.apply(Op::slice, {x},
                       {axis_of(axis), number(Attr::begin, static_cast<double>(id)), number(Attr::end, end)});
        return call.give(0, call.reshape(one, to), call.type(0));
    }
    if (known != nullptr && !known->later && (known->now.count() <= 16 || !is_real(call.type(0))) &&
        known->now.count() > 0) {
        std::pmr::vector<Whole> places(call.heap());
        for (const Whole given : known->now.whole) {
            const Whole id = given < 0 ? given + from.now[axis] : given;
            if (id < 0 || id >= from.now[axis])
                call.refuse("its index %lld is none of %lld", static_cast<long long>(given),
                            static_cast<long long>(from.now[axis]));
            places.push_back(id);
        }
        return call.give(0, call.reshape(taken(call, x, axis, places), to), call.type(0));
    }
    const ValueId real = call.real(0);
    ValueId indices = -1;
    if (known != nullptr && known->later) {
        if (known->form.kind == OpenForm::Kind::columns)
            indices = call.graph().open_places(ids, from.now[axis]);
        if (indices < 0) call.refuse("its indices are computed from extents that are open");
    } else if (known != nullptr) {
        KnownPair positive(call.heap());
        positive.now = Known(known->now, call.heap());
        for (Whole& id : positive.now.whole) {
            if (id < 0) id += from.now[axis];
            if (id < 0 || id >= from.now[axis])
                call.refuse("an index is none of %lld", static_cast<long long>(from.now[axis]));
        }
        Value value;
        value.type = positive.now.type;
        value.known = call.graph().keep(std::move(positive));
        indices = call.graph().materialise(value, "indices");
    } else {
        indices = call.whole(1);
    }
    call.give(0, rows_taken(call, real, axis, indices, ids), call.type(0));
}

namespace {
// Integers with these elements in front of and behind each axis.
ValueId with_borders(Call& call, ValueId x, const Whole* before, const Whole* behind, double value) {
    const std::int32_t element =
        checked_i32(static_cast<Whole>(std::clamp(value, -1e18, 1e18)), "constant_value");
    const ValueId one = call.graph().constant(DType::i32, {}, &element);
    for (int axis = 0; axis < call.extents_of(x).rank(); ++axis) {
        const auto border = [&](Whole count) {
            Extents to = call.extents_of(x);
            to.now[axis] = to.later[axis] = count;
            return call.broadcast_to(one, to);
        };
        if (before[axis] > 0) x = call.apply(Op::concat, {border(before[axis]), x}, {axis_of(axis)});
        if (behind[axis] > 0) x = call.apply(Op::concat, {x, border(behind[axis])}, {axis_of(axis)});
    }
    return x;
}
}  // namespace

void pad(Call& call) {
    ValueId x = call.any(0);
    const Extents from = call.extents_of(x);
    const bool by_input = call.opset() >= 11;
    auto pads =
        by_input ? call.integers_in(1, "pads") : call.integers(call.opset() < 2 ? "paddings" : "pads");
    const double value = !by_input     ? call.real_attribute("value")
                         : call.has(2) ? call.number_in(2, "constant_value")
                                       : 0;
    std::pmr::vector<Whole> axes(call.heap());
    if (by_input && call.opset() >= 18 && call.has(3)) axes = call.integers_in(3, "axes");
    if (axes.empty())
        for (int axis = 0; axis < from.rank(); ++axis) axes.push_back(axis);
    if (pads.size() != 2 * axes.size()) call.refuse("it has %zu pads for %zu axes", pads.size(), axes.size());
    Whole before[kMaxRank] = {}, behind[kMaxRank] = {};
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const int axis = call.axis(axes[i], from.rank());
        for (const Whole elements : {pads[i], pads[i + axes.size()]})
            if (elements < -INT32_MAX || elements > INT32_MAX)
                call.refuse("it pads by %lld", static_cast<long long>(elements));
        before[axis] = pads[i];
        behind[axis] = pads[i + axes.size()];
    }
    // Negative ones take elements away.
    for (int axis = 0; axis < from.rank(); ++axis) {
        if (before[axis] >= 0 && behind[axis] >= 0) continue;
        if (from.is_open(axis)) call.refuse("it takes elements from axis %d, whose extent is open", axis);
        const Whole begin = std::max<Whole>(0, -before[axis]),
                    end = from.now[axis] - std::max<Whole>(0, -behind[axis]);
        if (begin > end) call.refuse("it takes more than there is of axis %d", axis);
        x = sliced(call, x, axis, begin, end);
        before[axis] = std::max<Whole>(before[axis], 0);
        behind[axis] = std::max<Whole>(behind[axis], 0);
    }
    const std::string_view mode = call.text("mode");
    int first = 0;
    while (first < from.rank() && before[first] == 0 && behind[first] == 0) ++first;
    if (first == from.rank()) return call.give(0, x, call.type(0));
    if (call.graph().graph.value(x).dtype != DType::f32) {
        if (mode != "constant")
            call.refuse("it pads integers by mode %.*s", static_cast<int>(mode.size()), mode.data());
        return call.give(0, with_borders(call, x, before, behind, value), call.type(0));
    }
    const int count = from.rank() - first;
    if (2 * count > kMaxRank) call.refuse("it pads more than %d of the last axes", kMaxRank / 2);
    Attribute list_of = list(Attr::pads, {});
    list_of.integer_count = 2 * count;
    for (int i = 0; i < count; ++i) {
        list_of.integers[i] = before[first + i];
        list_of.integers[count + i] = behind[first + i];
    }
    const double kind = mode == "reflect" ? 1 : mode == "edge" ? 2 : 0;
    call.give(0,
              call.apply(Op::pad, {x},
                         {list_of, number(Attr::mode, kind), number(Attr::value, kind == 0 ? value : 0)}),
              call.type(0));
}

void expand(Call& call) {
    const ValueId x = movable(call, 0);
    const KnownPair& wanted = call.known(1, "shape");
    if (!is_whole(wanted.now.type)) call.refuse("its shape is %s", type_name(wanted.now.type));
    const Extents from = call.extents_of(x);
    Extents to;
    for (const int lane : {0, 1}) {
        Shape shape;
        const auto& extents = wanted.at(lane).whole;
        if (extents.size() > kMaxRank) call.refuse("its result has more than %d axes", kMaxRank);
        for (const Whole extent : extents) shape.extent[shape.rank++] = extent;
        const Shape& own = lane == 0 ? from.now : from.later;
        if (!broadcast(own, shape, lane == 0 ? &to.now : &to.later))
            call.refuse("%s does not broadcast with %s", to_text(own).text, to_text(shape).text);
    }
    call.give(0, call.broadcast_to(x, to), call.type(0));
}

void tile(Call& call) {
    ValueId x = movable(call, 0);
    const Extents from = call.extents_of(x);
    const auto repeats = call.integers_in(1, "repeats");
    if (static_cast<int>(repeats.size()) != from.rank())
        call.refuse("it has %zu repeats for %d axes", repeats.size(), from.rank());
    for (int axis = 0; axis < from.rank(); ++axis) {
        const Whole times = repeats[static_cast<std::size_t>(axis)];
        if (times < 1 || times > INT32_MAX)
            call.refuse("it repeats %lld times", static_cast<long long>(times));
        if (times > 1) x = repeated(call, x, axis, times);
    }
    call.give(0, x, call.type(0));
}

void depth_to_space(Call& call) {
    const ValueId x = call.real(0);
    const Extents from = call.extents_of(x);
    const Whole block = call.integer("blocksize");
    if (from.rank() != 4 || from.is_open(1) || block < 1 || block > INT32_MAX ||
        from.now[1] % (block * block) != 0)
        call.refuse("%s has no blocks of %lld", to_text(from.now).text, static_cast<long long>(block));
    const Whole channels = from.now[1] / (block * block);
    const bool crd = call.text("mode") == "CRD";
    Extents apart, to;
    apart.append(from, 0);
    if (crd) apart.append(channels);
    apart.append(block);
    apart.append(block);
    if (!crd) apart.append(channels);
    apart.append(from, 2);
    apart.append(from, 3);
    std::pmr::vector<Whole> order(call.heap());
    const Whole dcr_order[] = {0, 3, 4, 1, 5, 2}, crd_order[] = {0, 1, 4, 2, 5, 3};
    order.assign(crd ? crd_order : dcr_order, (crd ? crd_order : dcr_order) + 6);
    to.append(from, 0);
    to.append(channels);
    to.append(from, 2);
    to.append(from, 3);
    for (const int axis : {2, 3}) {
        to.now[axis] = multiplied(call, to.now[axis], block);
        to.later[axis] = multiplied(call, to.later[axis], block);
    }
    call.give(0, call.reshape(call.transpose(call.reshape(x, apart), order), to), call.type(0));
}

void space_to_depth(Call& call) {
    const ValueId x = call.real(0);
    const Extents from = call.extents_of(x);
    const Whole block = call.integer("blocksize");
    if (from.rank() != 4 || block < 1 || block > INT32_MAX || from.is_open(2) || from.is_open(3) ||
        from.now[2] % block != 0 || from.now[3] % block != 0)
        call.refuse("%s has no blocks of %lld", to_text(from.now).text, static_cast<long long>(block));
    Extents apart, to;
    apart.append(from, 0);
    apart.append(from, 1);
    apart.append(from.now[2] / block);
    apart.append(block);
    apart.append(from.now[3] / block);
    apart.append(block);
    std::pmr::vector<Whole> order(call.heap());
    const Whole dcr_order[] = {0, 3, 5, 1, 2, 4}, crd_order[] = {0, 1, 3, 5, 2, 4};
    const bool crd = call.opset() >= 28 && call.text("mode") == "CRD";
    order.assign(crd ? crd_order : dcr_order, (crd ? crd_order : dcr_order) + 6);
    to.append(from, 0);
    to.append(from, 1);
    to.now[1] = multiplied(call, from.now[1], block * block);
    to.later[1] = multiplied(call, from.later[1], block * block);
    to.append(from.now[2] / block);
    to.append(from.now[3] / block);
    call.give(0, call.reshape(call.transpose(call.reshape(x, apart), order), to), call.type(0));
}

void trilu(Call& call) {
    const ValueId x = call.real(0);
    const Extents from = call.extents_of(x);
    if (from.rank() < 2 || from.is_open(from.rank() - 1) || from.is_open(from.rank() - 2))
        call.refuse("its matrices are %s", to_text(from.now).text);
    const Whole rows = from.now[from.rank() - 2], columns = from.now.last();
    const double k = call.has(1) ? call.number_in(1, "k") : 0;
    if (rows * columns > kMostKnownElements) call.refuse("its matrices are %s", to_text(from.now).text);
    const bool upper = call.integer("upper") != 0;
    call.graph().spend(static_cast<std::size_t>(rows * columns));
    std::pmr::vector<std::int32_t> mask(call.heap());
    for (Whole row = 0; row < rows; ++row)
        for (Whole column = 0; column < columns; ++column) {
            const double distance = static_cast<double>(column - row);
            mask.push_back(upper ? distance >= k : distance <= k);
        }
    const ValueId kept = call.graph().constant(DType::i32, {rows, columns}, mask.data());
    call.give(0, call.apply(Op::where, {kept, x, call.scalar(0)}), call.type(0));
}

void eye_like(Call& call) {
    const Extents from = call.extents(0);
    if (from.rank() != 2 || from.has_open() || from.now.elements() > kMostKnownElements)
        call.refuse("its input is %s", to_text(from.now).text);
    KnownPair pair(call.heap());
    pair.now.type = call.given("dtype") ? static_cast<Type>(call.integer("dtype")) : call.type(0);
    pair.now.shape = from.now;
    const Whole k = call.integer("k");
    for (Whole row = 0; row < from.now[0]; ++row)
        for (Whole column = 0; column < from.now[1]; ++column) {
            if (is_real(pair.now.type))
                pair.now.real.push_back(column - row == k);
            else
                pair.now.whole.push_back(column - row == k);
        }
    if (!is_real(pair.now.type) && !is_whole(pair.now.type))
        call.refuse("it makes %s", type_name(pair.now.type));
    call.give(0, std::move(pair));
}

}  // namespace build
}  // namespace volta::onnx
