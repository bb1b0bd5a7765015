// Operators that move elements, as ONNX.
#include <algorithm>
#include <cstdint>

#include "engine/graph/forms.h"
#include "engine/import/onnx/write_table.h"

namespace volta::onnx::write {

// Volta's -2 is ONNX's 0: the extent that x has on this axis.
void reshape(Writer& w) {
    Shape to = w.integers(Attr::shape);
    for (int axis = 0; axis < to.rank; ++axis) {
        if (to[axis] == 0 && (axis >= w.shape(0).rank || w.shape(0)[axis] != 0))
            w.refuse("axis %d of its result has the extent 0, which would be read as that of its input",
                     axis);
        if (to[axis] == -2) to[axis] = 0;
    }
    w.give(w.reshape(w.in(0), to));
}

void transpose(Writer& w) { w.give(w.transpose(w.in(0), w.integers(Attr::permutation))); }

void concat(Writer& w) {
    std::pmr::vector<Ref> parts(w.graph().heap());
    bool flags = true;
    for (int i = 0; i < w.inputs(); ++i) flags = flags && w.type(w.in(i)) == Type::flag;
    const bool real = w.graph().value(w.value(0)).dtype == DType::f32;
    for (int i = 0; i < w.inputs(); ++i) parts.push_back(real || flags ? w.in(i) : w.whole(w.in(i)));
    const Setting axis = whole("axis", w.count(Attr::axis));
    w.give(w.op("Concat", parts.data(), static_cast<int>(parts.size()), &axis, 1));
}

void slice(Writer& w) {
    const bool to_the_end = w.number(Attr::end) == kToTheEnd;
    w.give(w.op("Slice",
                {w.in(0), w.wholes({w.count(Attr::begin)}),
                 w.wholes({to_the_end ? INT64_MAX : w.count(Attr::end)}), w.wholes({w.count(Attr::axis)})}));
}

// Volta has two pads for each of the last axes, ONNX those in front of all axes, then those behind.
void pad(Writer& w) {
    constexpr const char* kModes[] = {"constant", "reflect", "edge"};
    const int rank = w.shape(0).rank;
    const Shape own = w.integers(Attr::pads);
    const int axes = own.rank / 2;
    std::int64_t pads[2 * kMaxRank] = {};
    for (int i = 0; i < axes; ++i) {
        pads[rank - axes + i] = own[i];
        pads[2 * rank - axes + i] = own[axes + i];
    }
    const auto mode = w.count(Attr::mode);
    const Ref value = mode == 0 ? w.scalar(w.number(Attr::value)) : -1;
    const Ref operands[] = {w.in(0), w.tensor(Type::i64, {2 * rank}, pads), value};
    const Setting setting = text("mode", kModes[mode]);
    w.give(w.op("Pad", operands, mode == 0 ? 3 : 2, &setting, 1));
}

// Zeros around the elements of one axis.
void slice_grad(Writer& w) {
    const int rank = w.shape(0).rank, axis = axis_form(w.node(), w.shape(0));
    if (w.is_open(w.value(0), axis)) w.refuse("it is along axis %d, whose extent is open", axis);
    std::int64_t pads[2 * kMaxRank] = {};
    pads[axis] = w.count(Attr::begin);
    pads[rank + axis] = w.count(Attr::rows) - w.count(Attr::begin) - w.shape(0)[axis];
    w.give(w.op("Pad", {w.in(0), w.tensor(Type::i64, {2 * rank}, pads), w.scalar(0)},
                {text("mode", "constant")}));
}

// An extent of 1 in Expand keeps the input's.
void broadcast_to(Writer& w) {
    Shape to = w.integers(Attr::shape);
    for (int axis = 0; axis < to.rank; ++axis) to[axis] = to[axis] < 0 ? 1 : to[axis];
    w.give(w.op("Expand", {w.in(0), w.wholes(to)}));
}

void position_ids(Writer& w) {
    if (w.inputs() > 1) w.refuse("it has documents");
    const ValueId ids = w.value(0);
    const Ref places = w.places(ids, w.shape(0).rank - 1);
    w.give(w.op("Expand", {places, w.extents(ids)}));
}

void gather(Writer& w) { w.give(w.op("Gather", {w.in(0), w.whole(w.in(1))}, {whole("axis", 0)})); }

}  // namespace volta::onnx::write
