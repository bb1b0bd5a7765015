// Operators whose places say indices that an import knows: a gather of single elements. And what is made of
// one row for each class: losses, Hardmax, OneHot.
#include <algorithm>

#include "engine/import/onnx/rules.h"

namespace volta::onnx {
namespace {

using Whole = std::int64_t;
using Places = std::pmr::vector<Whole>;

std::size_t place(Whole index) { return static_cast<std::size_t>(index); }

Extents line_of(Whole count) {
    Extents extents;
    extents.append(count);
    extents.append(1);
    return extents;
}

// Elements of x [count, 1], by their places.
ValueId picked(Call& call, ValueId table, const Places& places, const Shape& to) {
    if (call.graph().graph.value(table).dtype != DType::f32) {
        constexpr std::size_t kMostPieces = 1024;
        if (places.empty() || places.size() > kMostPieces)
            call.refuse("it takes %zu elements of integers; one to %zu are imported", places.size(),
                        kMostPieces);
        std::pmr::vector<ValueId> pieces(call.heap());
        for (const Whole at : places)
            pieces.push_back(call.apply(Op::slice, {table},
                                        {number(Attr::axis, 0), number(Attr::begin, static_cast<double>(at)),
                                         number(Attr::end, static_cast<double>(at + 1))}));
        const Attribute axis = number(Attr::axis, 0);
        return call.reshape(
            call.graph().apply(Op::concat, pieces.data(), static_cast<int>(pieces.size()), &axis, 1),
            {to, to});
    }
    std::pmr::vector<std::int32_t> ids(call.heap());
    ids.reserve(places.size());
    for (const Whole at : places) ids.push_back(checked_i32(at, "an index"));
    const ValueId rows = call.apply(
        Op::gather, {table, call.graph().constant(DType::i32, {static_cast<Whole>(ids.size())}, ids.data())});
    return call.reshape(rows, {to, to});
}

ValueId as_line(Call& call, ValueId x) { return call.reshape(x, line_of(call.extents_of(x).now.elements())); }

Shape fixed(Call& call, const Extents& extents) {
    if (extents.has_open()) call.refuse("its input has extents that are open");
    return extents.now;
}

Whole index_in(Call& call, Whole given, Whole extent) {
    const Whole index = given < 0 ? given + extent : given;
    if (index < 0 || index >= extent)
        call.refuse("its index %lld is none of %lld", static_cast<long long>(given),
                    static_cast<long long>(extent));
    return index;
}

// Where each element of `indices` is in a tensor of shape x whose axis has them.
Places element_places(Call& call, const Shape& x, const Shape& shape, const Places& indices, int axis) {
    if (shape.rank != x.rank)
        call.refuse("its indices %s have other axes than %s", to_text(shape).text, to_text(x).text);
    for (int k = 0; k < x.rank; ++k)
        if (k != axis && shape[k] > x[k])
            call.refuse("its indices are %s, its input %s", to_text(shape).text, to_text(x).text);
    Places places(call.heap());
    places.reserve(indices.size());
    for (std::size_t i = 0; i < indices.size(); ++i) {
        Whole rest = static_cast<Whole>(i), at = 0, step = 1;
        for (int k = x.rank - 1; k >= 0; --k) {
            const Whole own = rest % shape[k];
            rest /= shape[k];
            at += step * (k == axis ? index_in(call, indices[i], x[k]) : own);
            step *= x[k];
        }
        places.push_back(at);
    }
    return places;
}

// GatherND and ScatterND: rows of indices, each naming a part of the last axes.
struct Parts {
    explicit Parts(std::pmr::memory_resource* heap) : first(heap) {}
    Places first;    // element of each part
    Whole size = 1;  // elements of a part
    Shape leading;   // of the indices without their last axis
    Shape part;
};
Parts parts_of(Call& call, const Shape& x, int input, int batch) {
    const KnownPair& known = call.known(input, "indices");
    const Shape& shape = known.now.shape;
    const Places indices = call.integers_in(input, "indices");
    if (shape.rank < 1 || batch < 0 || batch >= shape.rank || batch > x.rank)
        call.refuse("its indices are %s", to_text(shape).text);
    const Whole depth = shape.last();
    if (depth < 1 || depth > x.rank - batch)
        call.refuse("its indices name %lld axes of %s", static_cast<long long>(depth), to_text(x).text);
    Parts parts(call.heap());
    parts.leading = shape;
    parts.leading.extent[--parts.leading.rank] = 0;
    for (int k = batch + static_cast<int>(depth); k < x.rank; ++k)
        parts.size *= parts.part.extent[parts.part.rank++] = x[k];
    const Whole rows = shape.elements() / depth,
                each = batch == 0 ? rows : rows / std::max<Whole>(1, shape.leading(batch));
    for (Whole row = 0; row < rows; ++row) {
        Whole at = batch == 0 ? 0 : row / std::max<Whole>(1, each);
        for (Whole k = 0; k < depth; ++k)
            at = at * x[batch + static_cast<int>(k)] +
                 index_in(call, indices[place(row * depth + k)], x[batch + static_cast<int>(k)]);
        parts.first.push_back(at * parts.size);
    }
    return parts;
}

// data combined with updates at these places: the first update of every element, then the second, ...
void give_combined(Call& call, const Places& places, const Shape& x, ValueId updates,
                   std::string_view reduction) {
    constexpr std::size_t kMostRounds = 64;
    const Op op = reduction == "add"   ? Op::add
                  : reduction == "mul" ? Op::mul
                  : reduction == "max" ? Op::maximum
                                       : Op::minimum;
    const Whole count = x.elements();
    call.graph().spend(place(count));
    std::pmr::vector<std::int32_t> had(place(count), 0, call.heap());
    std::pmr::vector<Places> rounds(call.heap());
    std::pmr::vector<std::pmr::vector<std::int32_t>> is_meant(call.heap());
    for (std::size_t i = 0; i < places.size(); ++i) {
        const auto round = static_cast<std::size_t>(had[place(places[i])]++);
        if (round >= kMostRounds) call.refuse("an element has more than %zu updates", kMostRounds);
        if (round == rounds.size()) {
            call.graph().spend(2 * place(count));
            rounds.emplace_back(place(count), 0);
            is_meant.emplace_back(place(count), 0);
        }
        rounds[round][place(places[i])] = static_cast<Whole>(i);
        is_meant[round][place(places[i])] = 1;
    }
    ValueId y = as_line(call, call.real(0));
    for (std::size_t round = 0; round < rounds.size(); ++round) {
        const Shape line = {count, 1};
        const ValueId update = picked(call, updates, rounds[round], line);
        y = call.apply(Op::where, {call.graph().constant(DType::i32, line, is_meant[round].data()),
                                   call.apply(op, {y, update}), y});
    }
    call.give(0, call.reshape(y, {x, x}), call.type(0));
}

// data with updates at these places; of one that is named twice the last counts.
void give_scattered(Call& call, const Places& places, const Shape& x) {
    const ValueId updates = as_line(call, call.real(2));
    if (call.extents_of(updates).now.elements() != static_cast<Whole>(places.size()))
        call.refuse("its updates are %s", to_text(call.extents(2).now).text);
    const Whole count = x.elements();
    const std::string_view reduction = call.opset() < 16 ? "none" : call.text("reduction");
    if (reduction != "none") return give_combined(call, places, x, updates, reduction);
    call.graph().spend(place(count));
    Places from(call.heap());
    for (Whole i = 0; i < count; ++i) from.push_back(i);
    for (std::size_t i = 0; i < places.size(); ++i) from[place(places[i])] = count + static_cast<Whole>(i);
    const ValueId table =
        call.apply(Op::concat, {as_line(call, call.real(0)), updates}, {number(Attr::axis, 0)});
    call.give(0, picked(call, table, from, x), call.type(0));
}

// [classes + 1, classes]: a 1 in each row but the last.
ValueId unit_rows(Call& call, Whole classes, Whole without) {
    constexpr Whole kMostClasses = 1024;
    if (classes > kMostClasses)
        call.refuse("it has %lld classes; at most %lld are imported", static_cast<long long>(classes),
                    static_cast<long long>(kMostClasses));
    call.graph().spend(place((classes + 1) * classes));
    std::pmr::vector<float> rows(place((classes + 1) * classes), 0, call.heap());
    for (Whole i = 0; i < classes; ++i)
        if (i != without) rows[place(i * classes + i)] = 1;
    return call.graph().constant(DType::f32, {classes + 1, classes}, rows.data());
}

// The loss of log probabilities [N, C, ...], by targets [N, ...].
void give_loss(Call& call, ValueId x) {
    const Extents from = call.extents_of(x), of_targets = call.extents(1);
    if (from.rank() < 2 || from.is_open(1) || of_targets.rank() != from.rank() - 1)
        call.refuse("its inputs are %s and %s", to_text(from.now).text, to_text(of_targets.now).text);
    const Whole classes = from.now[1];
    const bool ignores = call.given("ignore_index");
    const Whole ignored = ignores ? call.integer("ignore_index") : -1;
    ValueId targets = -1;
    if (call.find_known(1) != nullptr) {
        std::pmr::vector<std::int32_t> rows(call.heap());
        for (const Whole target : call.integers_in(1, "target"))
            rows.push_back(checked_i32(
                ignores && target == ignored ? classes : index_in(call, target, classes), "target"));
        targets = call.graph().constant(DType::i32, of_targets.now, rows.data());
    } else {
        if (ignores && (ignored < 0 || ignored >= classes))
            call.refuse("its ignore_index %lld is no class, and its targets are not known",
                        static_cast<long long>(ignored));
        targets = call.whole(1);
    }
    const int last = from.rank() - 1;
    const ValueId units =
        call.move_axis(call.apply(Op::gather, {unit_rows(call, classes, ignored), targets}), last, 1);
    const ValueId meant =
        call.apply(Op::where, {call.apply(Op::less, {call.scalar(0), units}), x, call.scalar(0)});
    ValueId weights = units, terms = meant;
    if (call.has(2)) {
        Extents apart;
        apart.append(1);
        apart.append(classes);
        for (int axis = 2; axis < from.rank(); ++axis) apart.append(1);
        const ValueId given = call.reshape(call.real(2), apart);
        weights = call.apply(Op::mul, {units, given});
        terms = call.apply(Op::mul, {meant, given});
    }
    const auto sum = [&](ValueId value, const Attribute& axes) {
        return call.apply(Op::sum, {value}, {axes, number(Attr::keep_dims, 0)});
    };
    const Attribute channels = list(Attr::axes, {1}), all = list(Attr::axes, {});
    const ValueId each = call.apply(Op::neg, {sum(terms, channels)});
    const std::string_view reduction = call.text("reduction");
    if (reduction == "none") return call.give(0, each, call.type(0));
    const ValueId total = sum(each, all);
    call.give(0, reduction == "sum" ? total : call.apply(Op::div, {total, sum(weights, all)}), call.type(0));
}

}  // namespace

namespace fold {

bool gather_elements(FoldCall& call) {
    const Known &x = call.in(0), &indices = call.in(1);
    if (!is_whole(indices.type)) call.call.refuse("its indices are %s", type_name(indices.type));
    const int axis = call.call.axis(call.call.integer("axis"), x.shape.rank);
    Known& y = call.out(x.type, indices.shape);
    for (const Whole at : element_places(call.call, x.shape, indices.shape, indices.whole, axis)) {
        if (is_real(x.type))
            y.real.push_back(x.real[place(at)]);
        else
            y.whole.push_back(x.whole[place(at)]);
    }
    return true;
}

}  // namespace fold

namespace build {

void gather_elements(Call& call) {
    const ValueId x = call.any(0);
    const Shape from = fixed(call, call.extents_of(x));
    const int axis = call.axis(call.integer("axis"), from.rank);
    const Places indices = call.integers_in(1, "indices");
    const Shape shape = call.extents(1).now;
    call.give(0, picked(call, as_line(call, x), element_places(call, from, shape, indices, axis), shape),
              call.type(0));
}

void gather_nd(Call& call) {
    const ValueId x = call.any(0);
    const Shape from = fixed(call, call.extents_of(x));
    const Parts parts = parts_of(
        call, from, 1, static_cast<int>(std::clamp<Whole>(call.integer("batch_dims"), -1, kMaxRank)));
    if (parts.leading.rank + parts.part.rank > kMaxRank)
        call.refuse("its result has more than %d axes", kMaxRank);
    Shape to = parts.leading;
    for (int k = 0; k < parts.part.rank; ++k) to.extent[to.rank++] = parts.part[k];
    Places places(call.heap());
    call.graph().spend(place(multiplied(call, static_cast<Whole>(parts.first.size()), parts.size)));
    for (const Whole first : parts.first)
        for (Whole i = 0; i < parts.size; ++i) places.push_back(first + i);
    call.give(0, picked(call, as_line(call, x), places, to), call.type(0));
}

void scatter_elements(Call& call) {
    const Shape x = fixed(call, call.extents(0));
    const int axis = call.axis(call.integer("axis"), x.rank);
    const Places indices = call.integers_in(1, "indices");
    give_scattered(call, element_places(call, x, call.extents(1).now, indices, axis), x);
}

void scatter_nd(Call& call) {
    const Shape x = fixed(call, call.extents(0));
    const Parts parts = parts_of(call, x, 1, 0);
    Places places(call.heap());
    call.graph().spend(place(multiplied(call, static_cast<Whole>(parts.first.size()), parts.size)));
    for (const Whole first : parts.first)
        for (Whole i = 0; i < parts.size; ++i) places.push_back(first + i);
    give_scattered(call, places, x);
}

void negative_log_likelihood(Call& call) { give_loss(call, call.real(0)); }

void softmax_cross_entropy(Call& call) {
    const ValueId x = call.real(0);
    const int last = call.extents_of(x).rank() - 1;
    if (last < 1 || call.extents_of(x).is_open(1))
        call.refuse("its scores are %s", to_text(call.extents_of(x).now).text);
    const ValueId logarithms =
        call.move_axis(call.apply(Op::log_softmax, {call.move_axis(x, 1, last)}), last, 1);
    give_loss(call, logarithms);
    call.give(1, logarithms, call.type(0));
}

// A 1 where the first of the largest is. Up to opset 12 of all axes from `axis` on.
void hardmax(Call& call) {
    ValueId x = call.real(0);
    const Extents from = call.extents_of(x);
    const int axis = call.axis(call.integer("axis"), from.rank());
    Whole count = 1;
    for (int k = axis; k < (call.opset() < 13 ? from.rank() : axis + 1); ++k) {
        if (from.is_open(k)) call.refuse("it is over axis %d, whose extent is open", k);
        count = multiplied(call, count, from.now[k]);
    }
    const int last = from.rank() - 1;
    if (call.opset() < 13) {
        Extents rows;
        for (int k = 0; k < axis; ++k) rows.append(from, k);
        rows.append(count);
        x = call.reshape(x, rows);
    } else {
        x = call.move_axis(x, axis, last);
    }
    const ValueId y = call.apply(Op::gather, {unit_rows(call, count, -1), call.apply(Op::argmax, {x})});
    call.give(0, call.opset() < 13 ? call.reshape(y, from) : call.move_axis(y, last, axis), call.type(0));
}

void one_hot(Call& call) {
    const double depth = call.number_in(1, "depth");
    if (!(depth >= 1 && depth <= 1024)) call.refuse("its depth is %g", depth);
    const Whole classes = static_cast<Whole>(depth);
    const Extents from = call.extents(0);
    if (from.rank() == kMaxRank) call.refuse("its result has more than %d axes", kMaxRank);
    ValueId ids = -1;
    if (const KnownPair* known = call.find_known(0)) {
        if (known->later) call.refuse("its indices are computed from extents that are open");
        std::pmr::vector<std::int32_t> rows(call.heap());
        for (std::size_t i = 0; i < known->now.count(); ++i) {
            Whole id = is_real(known->now.type)
                           ? static_cast<Whole>(std::clamp(known->now.real[i], -1e9, 1e9))
                           : known->now.whole[i];
            if (id < 0 && id >= -classes) id += classes;
            rows.push_back(id < 0 || id >= classes ? static_cast<std::int32_t>(classes)
                                                   : static_cast<std::int32_t>(id));
        }
        ids = call.graph().constant(DType::i32, from.now, rows.data());
    } else {
        ids = call.whole(0);
    }
    const ValueId units = call.apply(Op::gather, {unit_rows(call, classes, -1), ids});
    const Whole given = call.integer("axis");
    const int axis = call.axis(given, from.rank() + 1);
    const ValueId moved = call.move_axis(units, from.rank(), axis);
    if (const KnownPair* values = call.find_known(2); values != nullptr && is_whole(values->now.type)) {
        const bool ordinary =
            values->now.count() == 2 && values->now.whole[0] == 0 && values->now.whole[1] == 1;
        if (!ordinary) call.refuse("its values are integers other than 0 and 1");
        return call.give(0, call.flag_of_real(moved), call.type(2));
    }
    const ValueId values = call.real(2);
    if (call.extents_of(values).now != Shape{2})
        call.refuse("its values are %s", to_text(call.extents_of(values).now).text);
    const auto value = [&](int i) {
        return call.reshape(
            call.apply(Op::slice, {values},
                       {number(Attr::axis, 0), number(Attr::begin, i), number(Attr::end, i + 1)}),
            Extents());
    };
    call.give(0, call.apply(Op::where, {call.flag_of_real(moved), value(1), value(0)}), call.type(2));
}

}  // namespace build
}  // namespace volta::onnx
