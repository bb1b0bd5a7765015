// Attention of heads, written as products and a softmax. It becomes Volta's where that is the same: queries
// and keys of one length, and a mask that the operator has, none or causal.
#include <cmath>

#include "engine/import/onnx/patterns.h"

namespace volta::onnx {
namespace {

// What a mask has for keys that a query does not see, at most: e to its power is 0 beside any score that is
// not as large. GPT-2 has -10000, others the least float or -Inf.
constexpr float kUnseen = -10000;

bool same(const Extents& a, const Extents& b) { return a.now == b.now && a.later == b.later; }

bool is_axis(const Extents& a, int axis_of_a, const Extents& b, int axis_of_b) {
    return a.now[axis_of_a] == b.now[axis_of_b] && a.later[axis_of_a] == b.later[axis_of_b];
}

// [B, T, heads, d] of rows [B, T, heads * d].
bool are_heads(const Extents& heads, const Extents& rows) {
    return heads.rank() == 4 && rows.rank() == 3 && is_axis(heads, 0, rows, 0) &&
           is_axis(heads, 1, rows, 1) && !heads.is_open(2) && !heads.is_open(3) &&
           heads.now[2] * heads.now[3] == rows.now[2];
}

// That k' is a transpose of each head, also where it is made in three axes.
bool is_transposed(const Found& found, const Extents& keys) {
    const Extents own = found.extents('h');
    if (own.rank() != 4 || !is_axis(own, 0, keys, 0) || !is_axis(own, 1, keys, 2) ||
        !is_axis(own, 2, keys, 3) || !is_axis(own, 3, keys, 1))
        return false;
    if (found.value('e') >= 0) {  // with T in front, where it is open
        const Extents flat = found.extents('e');
        return flat.rank() == 3 && is_axis(flat, 0, keys, 1) && is_axis(flat, 2, keys, 3);
    }
    if (found.value('r') < 0) return true;
    const Extents flat = found.extents('r');
    return flat.rank() == 3 && is_axis(flat, 1, keys, 1) && is_axis(flat, 2, keys, 3);
}

double factor(float number, bool divides) {
    if (number != number) return 1;  // the pattern has none
    return divides ? 1 / static_cast<double>(number) : static_cast<double>(number);
}

// The factor of the scores.
double given_scale(const Found& found) {
    return factor(found.number('D'), true) * factor(found.number('M'), false) *
           factor(found.number('F'), false) * factor(found.number('G'), true) *
           factor(found.number('K'), false);
}

// 0: what it is without being given.
double scale_of(const Found& found, const Extents& heads) {
    const double scale = given_scale(found);
    const double usual = 1 / std::sqrt(static_cast<double>(heads.now[3]));
    return std::fabs(scale - usual) <= 1e-6 * usual ? 0 : scale;
}

enum class Mask { none, causal, other };

// Of a mask that is made of constants: whether a query sees a key.
template <class Sees>
Mask mask_of(std::int64_t time, Sees sees) {
    bool all = true, causal = true;
    for (std::int64_t query = 0; query < time; ++query)
        for (std::int64_t key = 0; key < time; ++key) {
            const int seen = sees(static_cast<std::size_t>(query * time + key));
            all = all && seen == 1;
            causal = causal && seen == (key <= query);
        }
    return all ? Mask::none : causal ? Mask::causal : Mask::other;
}

// heads: [B, T, heads, d].
Mask find_mask(const Found& found, const Extents& heads) {
    const char letter = found.value('z') >= 0 ? 'z' : found.value('m') >= 0 ? 'm' : 'o';
    if (found.value(letter) < 0) return Mask::none;
    if (letter != 'z' && !(found.number('L') <= kUnseen)) return Mask::other;
    const Extents own = found.extents(letter);
    const std::int64_t time = heads.now[1];
    for (const OpenMask& mask : found.building.open_masks) {
        if (mask.value != found.value(letter) || own.rank() < 2 || !is_axis(own, own.rank() - 1, heads, 1))
            continue;
        const bool seen = letter == 'z' ? mask.lower == 0 : mask.lower == (letter == 'm');
        const bool unseen =
            letter == 'z' ? mask.upper <= static_cast<double>(kUnseen) : mask.upper == (letter == 'o');
        return seen && unseen && mask.offset == 0 ? Mask::causal : Mask::other;
    }
    if (own.has_open() || heads.is_open(1) || own.rank() < 2 || own.now.elements() != time * time ||
        own.now.last() != time || own.now[own.rank() - 2] != time)
        return Mask::other;
    const auto content = found.contents.of(found.value(letter));
    if (!content) return Mask::other;
    if (letter == 'z')
        return mask_of(time, [&](std::size_t i) {
            const float bias = content->real[i];
            return bias == 0 ? 1 : bias <= kUnseen ? 0 : 2;
        });
    return mask_of(time,
                   [&](std::size_t i) { return (content->integer[i] != 0) == (letter == 'm') ? 1 : 0; });
}

bool has_scale(const Found& found) {
    const double scale = std::fabs(given_scale(found));
    return scale > 0 && scale <= 1e30;
}

// [B, T, heads, d] of f [B, heads, T, d].
Extents heads_of_time_first(const Found& found) {
    const Extents own = found.extents('f');
    Extents heads;
    for (const int axis : {0, 2, 1, 3}) heads.append(own, axis);
    return heads;
}

ValueId make(const Found& found, const Extents& heads, const ValueId (&operands)[3], Rewrite& rewrite) {
    return rewrite.to.apply(Op::attention, {operands[0], operands[1], operands[2]},
                            {number(Attr::heads, static_cast<double>(heads.now[2])),
                             number(Attr::causal, find_mask(found, heads) == Mask::causal),
                             number(Attr::scale, scale_of(found, heads))});
}

}  // namespace

bool fits_attention(const Found& found) {
    const Extents rows = found.extents('q'), end = found.building.extents(found.end);
    const Extents heads = found.extents('i');
    return are_heads(heads, rows) && same(found.extents('k'), rows) && same(found.extents('v'), rows) &&
           same(found.extents('j'), heads) && same(found.extents('c'), heads) &&
           is_transposed(found, heads) && same(end, rows) && has_scale(found) &&
           find_mask(found, heads) != Mask::other;
}

ValueId make_attention(const Found& found, Op, Rewrite& rewrite) {
    const ValueId operands[] = {rewrite.now(found.value('q')), rewrite.now(found.value('k')),
                                rewrite.now(found.value('v'))};
    return make(found, found.extents('i'), operands, rewrite);
}

// q, k and v are [T, B, heads * d], i, j and c [T, B * heads, d], and the result has a row for each of T * B.
bool fits_time_first(const Found& found) {
    const Extents rows = found.extents('q'), flat = found.extents('i'), apart = found.extents('f'),
                  end = found.building.extents(found.end), keys = found.extents('h');
    if (rows.rank() != 3 || flat.rank() != 3 || apart.rank() != 4 || keys.rank() != 4 || rows.is_open(0) ||
        rows.is_open(2) || apart.is_open(1) || apart.is_open(3))
        return false;
    const bool is_apart = is_axis(apart, 0, rows, 1) && is_axis(apart, 2, rows, 0) &&
                          apart.now[1] * apart.now[3] == rows.now[2];
    const bool is_flat = is_axis(flat, 0, rows, 0) && is_axis(flat, 2, apart, 3);
    const bool has_keys = is_axis(keys, 0, apart, 0) && is_axis(keys, 1, apart, 1) &&
                          is_axis(keys, 2, apart, 3) && is_axis(keys, 3, apart, 2);
    const bool has_rows = end.rank() == 2 && end.now[1] == rows.now[2] && !end.is_open(1);
    return is_apart && is_flat && has_keys && has_rows && same(found.extents('w'), apart) &&
           same(found.extents('k'), rows) && same(found.extents('v'), rows) &&
           same(found.extents('j'), flat) && same(found.extents('c'), flat) && has_scale(found) &&
           find_mask(found, heads_of_time_first(found)) != Mask::other;
}

ValueId make_time_first(const Found& found, Op, Rewrite& rewrite) {
    const auto turned = [&](ValueId x) {
        return rewrite.to.apply(Op::transpose, {x}, {list(Attr::permutation, {1, 0, 2})});
    };
    const ValueId operands[] = {turned(rewrite.now(found.value('q'))), turned(rewrite.now(found.value('k'))),
                                turned(rewrite.now(found.value('v')))};
    const ValueId y = make(found, heads_of_time_first(found), operands, rewrite);
    return rewrite.to.apply(Op::reshape, {turned(y)}, {list(Attr::shape, {-1, found.extents('q').now[2]})});
}

}  // namespace volta::onnx
