#include "engine/import/onnx/open_forms.h"

#include <algorithm>

#include "engine/import/onnx/call.h"
#include "engine/import/onnx/table.h"

namespace volta::onnx {
namespace {

using Whole = std::int64_t;
// The longest sequence whose places are written out as real numbers, for a mask.
constexpr Whole kLongest = 8192;
using Kind = OpenForm::Kind;

double element(const Known& known, std::size_t i) {
    return is_real(known.type) ? known.real[i] : static_cast<double>(known.whole[i]);
}
double element(const Known& known, Whole row, Whole column) {
    return element(known, static_cast<std::size_t>(row * known.shape.last() + column));
}

// Rows and columns of one matrix, several of each.
bool is_matrix(const Shape& shape) {
    if (shape.rank < 2) return false;
    const Whole rows = shape[shape.rank - 2], columns = shape.last();
    return rows > 1 && columns > 1 && shape.elements() == rows * columns;
}
double lower_of(const Known& known) { return element(known, known.shape[known.shape.rank - 2] - 1, 0); }
double upper_of(const Known& known) { return element(known, 0, known.shape.last() - 1); }

// Whether all elements that there are agree with the form.
bool agrees(const Known& known, const OpenForm& form) {
    const Shape& shape = known.shape;
    if (known.count() == 0 || shape.rank == 0) return form.kind == Kind::fill && known.count() == 1;
    const Whole width = shape.last();
    const auto holds = [&](auto expected) {
        for (std::size_t i = 0; i < known.count(); ++i)
            if (element(known, i) != expected(i)) return false;
        return true;
    };
    const auto place = [](std::size_t i, Whole by) {
        return static_cast<double>(static_cast<Whole>(i) % by);
    };
    switch (form.kind) {
        case Kind::none:
            return true;
        case Kind::fill:
            return holds([&](std::size_t) { return element(known, 0); });
        case Kind::columns:
            return is_whole(known.type) && holds([&](std::size_t i) { return place(i, width); });
        case Kind::rows:
            return is_whole(known.type) && shape.rank >= 2 && width == 1 &&
                   holds([&](std::size_t i) { return place(i, shape[shape.rank - 2]); });
        case Kind::triangle:
            return is_matrix(shape) && holds([&](std::size_t i) {
                       const Whole row = static_cast<Whole>(i) / width,
                                   column = static_cast<Whole>(i) % width;
                       const bool lower = column - row <= form.offset;
                       return lower ? lower_of(known) : upper_of(known);
                   });
    }
    return false;
}

OpenForm form_of(Call& call, int input) {
    const KnownPair& pair = *call.find_known(input);
    if (pair.later) return pair.form;
    // Wholly known: by its elements.
    for (const Kind kind : {Kind::fill, Kind::columns, Kind::triangle})
        if (agrees(pair.now, {kind, 0})) return {kind, 0};
    return {};
}

bool is_one_of(std::string_view name, std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(), [&](const char* one) { return name == one; });
}

// j compared with i, or i with j.
OpenForm comparison(std::string_view name, bool columns_first) {
    const bool less = name == "Less" || name == "LessOrEqual";
    const bool strict = name == "Less" || name == "Greater";
    return {Kind::triangle, less == columns_first ? (strict ? -1 : 0) : (strict ? 0 : -1)};
}

OpenForm elementwise(Call& call, std::string_view name) {
    OpenForm joined = {Kind::fill, 0};
    const bool compares = is_one_of(name, {"Less", "LessOrEqual", "Greater", "GreaterOrEqual"});
    if (compares && call.inputs() == 2) {
        const OpenForm a = form_of(call, 0), b = form_of(call, 1);
        if (a.kind == Kind::columns && b.kind == Kind::rows) return comparison(name, true);
        if (a.kind == Kind::rows && b.kind == Kind::columns) return comparison(name, false);
    }
    for (int i = 0; i < call.inputs(); ++i) {
        const OpenForm own = form_of(call, i);
        if (own.kind == Kind::fill) continue;
        if (own.kind == Kind::none ||
            (joined.kind != Kind::fill && (joined.kind != own.kind || joined.offset != own.offset)))
            return {};
        joined = own;
    }
    const bool is_place = joined.kind == Kind::columns || joined.kind == Kind::rows;
    return is_place && name != "Cast" ? OpenForm() : joined;
}

// The same elements in another shape.
OpenForm moved(Call& call, const Shape& to) {
    const OpenForm own = form_of(call, 0);
    if (own.kind == Kind::fill) return own;
    const Shape& from = call.find_known(0)->at(1).shape;
    if (own.kind == Kind::none || from.rank == 0 || to.rank == 0) return {};
    if (own.kind == Kind::triangle)
        return to.rank >= 2 && to.last() == from.last() && to[to.rank - 2] == from[from.rank - 2]
                   ? own
                   : OpenForm();
    const Whole extent = own.kind == Kind::columns ? from.last() : from[from.rank - 2];
    if (to.last() == extent) return {Kind::columns, 0};
    return to.rank >= 2 && to.last() == 1 && to[to.rank - 2] == extent ? OpenForm{Kind::rows, 0} : OpenForm();
}

bool is_the_same_for_all(Call& call, int input) {
    return !call.has(input) || !call.find_known(input)->later.has_value();
}

// The first part of every axis that is cut.
OpenForm first_part(Call& call) {
    if (call.opset() < 10) return {};
    for (const int input : {1, 4}) {
        if (!call.has(input)) continue;
        const KnownPair& pair = *call.find_known(input);
        const Whole wanted = input == 1 ? 0 : 1;
        if (pair.later || std::any_of(pair.now.whole.begin(), pair.now.whole.end(),
                                      [&](Whole value) { return value != wanted; }))
            return {};
    }
    return form_of(call, 0);
}

// Where more is asked for than a constant has, as by an open extent that stands for more: what it would have.
void lengthen(Call& call, const OpenForm& form, Known& later) {
    if (form.kind == Kind::none || form.kind == Kind::rows || !call.has(3) || !call.has(2)) return;
    const KnownPair &ends = *call.find_known(2), &axes = *call.find_known(3);
    if (!ends.later || axes.later || axes.now.count() != ends.now.count()) return;
    Shape to = later.shape;
    for (std::size_t i = 0; i < axes.now.count(); ++i) {
        const int axis = call.axis(axes.now.whole[i], to.rank);
        if (ends.now.whole[i] != ends.later->whole[i] && ends.now.whole[i] > 0 && axis + 2 >= to.rank)
            to[axis] = std::max(to[axis], ends.later->whole[i]);
    }
    if (to == later.shape || to.elements() > kLongest) return;
    const Known from(later, call.heap());
    later = Known(call.heap());
    later.type = from.type;
    later.shape = to;
    for (Whole i = 0; i < to.elements(); ++i) {
        const Whole column = i % to.last(), row = i / to.last();
        const double value = form.kind == Kind::columns    ? static_cast<double>(column)
                             : form.kind == Kind::fill     ? element(from, 0)
                             : column - row <= form.offset ? lower_of(from)
                                                           : upper_of(from);
        if (is_real(from.type))
            later.real.push_back(value);
        else
            later.whole.push_back(static_cast<Whole>(value));
    }
}

OpenForm form_by_operator(Call& call, const KnownPair& result) {
    const std::string_view name = call.node().op;
    if (name == "ConstantOfShape") return {Kind::fill, 0};
    if (name == "Range")
        return is_the_same_for_all(call, 0) && is_the_same_for_all(call, 2) ? OpenForm{Kind::columns, 0}
                                                                            : OpenForm();
    if (name == "Slice") return first_part(call);
    if (is_one_of(name, {"Unsqueeze", "Squeeze", "Reshape", "Identity", "Expand"}))
        return moved(call, result.at(1).shape);
    if (name == "Trilu") {
        const OpenForm own = form_of(call, 0);
        const double k = call.has(1) ? call.number_in(1, "k") : 0;
        if (k < -4 || k > 4) return {};
        const OpenForm made = {Kind::triangle, static_cast<Whole>(k) - (call.integer("upper") != 0 ? 1 : 0)};
        const bool is_kept = own.kind == Kind::fill || (own.kind == made.kind && own.offset == made.offset);
        return is_kept ? made : OpenForm();
    }
    if (is_one_of(name, {"Add", "Sub", "Mul", "Div", "Max", "Min", "Equal", "Less", "LessOrEqual", "Greater",
                         "GreaterOrEqual", "And", "Or", "Xor", "Not", "Neg", "Abs", "Where", "Cast"}))
        return elementwise(call, name);
    return {};
}

}  // namespace

OpenForm open_form(Call& call, KnownPair& result) {
    const OpenForm form = form_by_operator(call, result);
    if (call.node().op == "Slice") lengthen(call, form, *result.later);
    return agrees(result.at(1), form) ? form : OpenForm();
}

// ---- As values of the graph ------------------------------------------------------------------------------

ValueId Building::one(Op op, std::initializer_list<ValueId> inputs,
                      std::initializer_list<Attribute> attributes) {
    return apply(op, inputs.begin(), static_cast<int>(inputs.size()), attributes.begin(),
                 static_cast<int>(attributes.size()));
}

ValueId Building::first_of(ValueId x, int axis) {
    return one(Op::slice, {x}, {number(Attr::axis, axis), number(Attr::begin, 0), number(Attr::end, 1)});
}

// An i32 [n] of an input that has an open axis of this extent; -1: there is none.
ValueId Building::open_axis(Whole later) {
    for (const SourceInfo& source : graph.sources) {
        const ValueId input = graph.node(source.node).first_output;
        const Extents own = extents(input);
        for (int axis = 0; graph.node(source.node).op == Op::input && axis < own.rank(); ++axis) {
            if (!own.is_open(axis) || own.later[axis] != later) continue;
            ValueId line = input;
            for (int other = 0; other < own.rank(); ++other)
                if (other != axis && (own.is_open(other) || own.now[other] != 1))
                    line = first_of(line, other);
            if (own.rank() > 1) line = one(Op::reshape, {line}, {list(Attr::shape, {-1})});
            return graph.value(line).dtype == DType::f32 ? one(Op::less, {line, line}, {}) : line;
        }
    }
    return -1;
}

// 0, 1, 2 ... along the last axis.
ValueId Building::open_places(const Extents& of, Whole limit) {
    const Attribute longest = number(Attr::limit, static_cast<double>(limit));
    const int last = of.rank() - 1;
    if (last < 0 || !of.is_open(last)) return -1;
    if (of.now.elements() == of.now.last() && of.later.elements() == of.later.last()) {
        const ValueId line = open_axis(of.later.last());
        if (line < 0) return -1;
        const ValueId places = one(Op::position_ids, {line}, {longest});
        if (last == 0) return places;
        Attribute shape = list(Attr::shape, of.now);
        shape.integers[last] = -1;
        return one(Op::reshape, {places}, {shape});
    }
    for (const SourceInfo& source : graph.sources) {
        ValueId places = graph.node(source.node).first_output;
        const Extents own = extents(places);
        bool begins_so = graph.node(source.node).op == Op::input && own.rank() > last;
        for (int axis = 0; begins_so && axis <= last; ++axis)
            begins_so = own.now[axis] == of.now[axis] && own.later[axis] == of.later[axis];
        if (!begins_so) continue;
        for (int axis = last + 1; axis < own.rank(); ++axis) places = first_of(places, axis);
        Attribute shape = list(Attr::shape, of.now);
        for (int axis = 0; axis <= last; ++axis)
            if (of.is_open(axis)) shape.integers[axis] = -2;
        if (own.rank() > last + 1) places = one(Op::reshape, {places}, {shape});
        if (graph.value(places).dtype == DType::f32) places = one(Op::less, {places, places}, {});
        return one(Op::position_ids, {places}, {longest});
    }
    return -1;
}

// A value whose elements depend on their places alone; -1: not one that a model can make.
ValueId Building::open_value(const KnownPair& pair) {
    const Known& later = *pair.later;
    const Extents of = {pair.now.shape, later.shape};
    if (pair.form.kind == Kind::columns) return open_places(of, kManyPlaces);
    const bool is_flag = later.type == Type::flag;
    if (pair.form.kind != Kind::triangle || (!is_flag && !is_real(later.type))) return -1;
    const Whole extent = later.shape.last();
    const int rank = of.rank();
    auto at = open_lines_.find(extent);
    if (at == open_lines_.end()) {
        const ValueId line = open_axis(extent);
        if (line < 0) return -1;
        std::pmr::vector<float> ramp(heap_);
        for (Whole i = 0; i < kLongest; ++i) ramp.push_back(static_cast<float>(i));
        const ValueId places =
            one(Op::position_ids, {line}, {number(Attr::limit, static_cast<double>(kLongest))});
        at = open_lines_
                 .emplace(extent,
                          one(Op::gather, {constant(DType::f32, {kLongest, 1}, ramp.data()), places}, {}))
                 .first;
    }
    Attribute shape = list(Attr::shape, of.now);
    for (int axis = 0; axis < rank; ++axis) shape.integers[axis] = axis == rank - 1 ? -1 : 1;
    const ValueId columns = one(Op::reshape, {at->second}, {shape});
    std::swap(shape.integers[rank - 1], shape.integers[rank - 2]);
    ValueId rows = one(Op::reshape, {at->second}, {shape});
    const auto scalar = [&](double value) {
        const float rounded = static_cast<float>(value);
        return constant(DType::f32, {}, &rounded);
    };
    if (pair.form.offset != 0) rows = one(Op::add, {rows, scalar(static_cast<double>(pair.form.offset))}, {});
    OpenMask mask = {-1, lower_of(later), upper_of(later), pair.form.offset};
    if (is_flag && mask.lower == 0 && mask.upper == 1) {
        mask.value = one(Op::less, {rows, columns}, {});
    } else {
        mask.value = one(Op::less_equal, {columns, rows}, {});
        if (!is_flag)
            mask.value = one(Op::where, {mask.value, scalar(mask.lower), scalar(mask.upper)}, {});
        else if (mask.lower != 1 || mask.upper != 0)
            return -1;
    }
    open_masks.push_back(mask);
    return mask.value;
}

}  // namespace volta::onnx
