// The largest elements of an axis, one after the other: of those that are left, and of equal ones, the first.
#include <algorithm>
#include <limits>

#include "engine/graph/forms.h"
#include "engine/import/onnx/rules.h"

namespace volta::onnx {
namespace {

using Whole = std::int64_t;
constexpr Whole kMostTaken = 64, kMostChoices = 65536;

Attribute last_axis() { return list(Attr::axes, {-1}); }

}  // namespace

namespace build {

void top_k(Call& call) {
    const Extents from = call.extents(0);
    const int axis = call.axis(call.integer("axis"), from.rank()), last = from.rank() - 1;
    const double wanted = call.opset() < 10 ? static_cast<double>(call.integer("k")) : call.number_in(1, "k");
    if (from.is_open(axis)) call.refuse("it takes from axis %d, whose extent is open", axis);
    const Whole count = from.now[axis];
    if (!(wanted >= 1 && wanted <= static_cast<double>(std::min(count, kMostTaken))) || count > kMostChoices)
        call.refuse("it takes %g of %lld elements; at most %lld are taken", wanted,
                    static_cast<long long>(count), static_cast<long long>(kMostTaken));
    const bool largest = call.opset() < 11 || call.integer("largest") != 0;
    ValueId x = call.move_axis(call.real(0), axis, last);
    if (!largest) x = call.apply(Op::neg, {x});
    call.graph().spend(static_cast<std::size_t>(count));
    std::pmr::vector<float> counted(call.heap());
    for (Whole i = 0; i < count; ++i) counted.push_back(static_cast<float>(i));
    const ValueId places = call.graph().constant(DType::f32, {count}, counted.data());
    const ValueId table = call.graph().constant(DType::f32, {count, 1}, counted.data());
    const ValueId one = call.scalar(1), zero = call.scalar(0),
                  lowest = call.scalar(-std::numeric_limits<double>::infinity());
    const ValueId is_number = call.apply(Op::equal, {x, x});
    const ValueId nan = call.apply(Op::where, {is_number, zero, one});

    ValueId left = -1;  // 1 where it was not taken yet; -1: nowhere
    std::pmr::vector<ValueId> values(call.heap()), indices(call.heap());
    for (Whole i = 0; i < static_cast<Whole>(wanted); ++i) {
        const ValueId open = left < 0 ? x : call.apply(Op::where, {call.flag_of_real(left), x, lowest});
        const ValueId most = call.apply(Op::max, {open}, {last_axis(), number(Attr::keep_dims, 1)});
        const ValueId equals = call.apply(Op::where, {call.apply(Op::equal, {x, most}), one, zero});
        ValueId fits = call.apply(Op::where, {call.apply(Op::equal, {most, most}), equals, nan});
        if (left >= 0) fits = call.apply(Op::mul, {fits, left});
        const ValueId index = call.apply(Op::argmax, {fits});
        const ValueId taken = call.apply(Op::equal, {places, call.apply(Op::gather, {table, index})});
        left = call.apply(Op::where, {taken, zero, left < 0 ? one : left});
        values.push_back(most);
        Extents column = call.extents_of(index);
        column.append(1);
        indices.push_back(call.reshape(index, column));
    }
    const auto joined = [&](const std::pmr::vector<ValueId>& parts) {
        const Attribute attribute = number(Attr::axis, last);
        const ValueId all =
            parts.size() == 1
                ? parts[0]
                : call.graph().apply(Op::concat, parts.data(), static_cast<int>(parts.size()), &attribute, 1);
        return call.move_axis(all, last, axis);
    };
    const ValueId most = joined(values);
    call.give(0, largest ? most : call.apply(Op::neg, {most}), call.type(0));
    call.give(1, joined(indices), Type::i64);
}

}  // namespace build
}  // namespace volta::onnx
