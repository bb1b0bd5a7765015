// Padding and resampling: one axis after the other, as copies and row programs over runs. A run is a set of
// elements, evenly spaced along the axis, whose sources are evenly spaced too.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/backend/lower/lowerings.h"
#include "engine/backend/lower/window_programs.h"
#include "engine/graph/forms.h"
#include "jitgen/row_kernel.h"

namespace volta {
namespace {

using define::AxisMap;
using jit::Access;
using jit::Builder;
using jit::Int;
using jit::Real;

constexpr std::int64_t kFewColumns = 16;  // a shorter row is not worth a loop of its own

std::size_t floats(std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(float); }

// What an element is made of: forward its sources, backward the elements that give back to it, ascending.
struct Term {
    std::int64_t source;
    std::int64_t phase = 0;  // of `linear`: which entry of the fractions is its own
    bool is_next = false;    // of `linear`: weighted by the fraction, else by 1 - fraction
    std::int64_t step = 0;   // of a run: from element to element
};
using Terms = std::pmr::vector<Term>;

struct Run {
    std::int64_t first, count;
    Terms terms;  // of the first element
};

// A tensor around the axis: [outer, from or to, inner].
struct Around {
    std::int64_t outer, from, to, inner;
};

// Operand: y [out], out and in without a common divisor: the fractions of `linear`. 2 * in * out < 2^31.
jit::Program make_fractions(std::int64_t in, std::int64_t out, std::pmr::memory_resource* heap) {
    Builder b(heap);
    const int y = b.output(Access::full);
    const auto whole = [&](std::int64_t value) { return b.integer(static_cast<std::uint32_t>(value)); };
    const Int twice = b.shl(b.column_index(), 1), divisor = whole(2 * out), none = whole(0);
    const Int dividend = b.iadd(b.umul_low(b.iadd(twice, whole(1)), whole(in)), whole(out));
    // The quotient of floats is one off at most.
    const Int quotient = b.truncate(b.to_real(dividend) / b.real(static_cast<double>(2 * out)));
    const Int rest = b.isub(dividend, b.umul_low(quotient, divisor));
    const jit::Mask is_below = b.less(b.to_real(rest), b.real(0)), is_in = b.uless(rest, divisor);
    const Int moved = b.iadd(rest, b.select(is_below, divisor, b.select(is_in, none, b.isub(none, divisor))));
    b.store(y, b.to_real(moved) / b.real(static_cast<double>(2 * out)));
    return b.finish();
}

// Operands: before, behind, fraction, y.
jit::Program make_interpolation(std::pmr::memory_resource* heap) {
    Builder b(heap);
    const int before = b.input(Access::full), behind = b.input(Access::full);
    const int fraction = b.input(Access::per_row), y = b.output(Access::full);
    const Real a = b.load(before);
    b.store(y, b.fma(b.load(fraction), b.load(behind) - a, a));
    return b.finish();
}

// Operands: the terms, their fractions, then the output as it is read, unless `first`, and as it is written.
jit::Program make_weighted_sum(const Term* terms, std::size_t count, bool first,
                               std::pmr::memory_resource* heap) {
    Builder b(heap);
    std::pmr::vector<int> operands(heap);
    for (std::size_t i = 0; i < count; ++i) operands.push_back(b.input(Access::full));
    for (std::size_t i = 0; i < count; ++i) operands.push_back(b.input(Access::per_row));
    const int read = first ? -1 : b.input(Access::full), y = b.output(Access::full);
    Real sum = first ? b.real(0) : b.load(read);
    for (std::size_t i = 0; i < count; ++i) {
        const Real fraction = b.load(operands[count + i]);
        sum = b.fma(terms[i].is_next ? fraction : b.real(1) - fraction, b.load(operands[i]), sum);
    }
    b.store(y, sum);
    return b.finish();
}

class AxisLowering {
  public:
    AxisLowering(StepLowering& step, const AxisMap& map, bool is_forward)
        : step_(step), map_(map), is_forward_(is_forward) {}

    void add(Ref from, Ref to, const Around& around) {
        if (is_forward_ && !map_.is_linear()) return add_copies(from, to, around);
        if (map_.is_linear()) add_fractions();
        if (around.inner >= kFewColumns || around.outer == 1) return add_programs(from, to, around);
        // Rows along the other axes: the axis goes to the front, and back again.
        const std::int64_t columns = around.outer * around.inner;
        const Ref source = step_.temporary(floats(around.from * columns));
        const Ref target = step_.temporary(floats(around.to * columns));
        CopyLoops forth, back;
        forth.push(around.from, around.inner, columns);
        forth.push(around.outer, around.from * around.inner, around.inner);
        forth.push(around.inner, 1, 1);
        step_.copy(forth, from, source, When::always);
        add_programs(source, target, {1, around.from, around.to, columns});
        back.push(around.outer, around.inner, around.to * around.inner);
        back.push(around.to, columns, around.inner);
        back.push(around.inner, 1, 1);
        step_.copy(back, target, to, When::always);
    }

  private:
    std::int64_t elements() const { return is_forward_ ? map_.out : map_.in; }
    bool is_padding() const { return map_.kind != AxisMap::Kind::nearest && !map_.is_linear(); }

    // Of element i of the result.
    void find_terms(std::int64_t i, Terms& terms) const {
        terms.clear();
        if (is_forward_) {
            add_terms(i, terms, [&](std::int64_t source) { return source; });
        } else if (is_padding()) {
            find_copies(i, terms);
        } else {  // sources ascend with the elements that have them
            std::int64_t first = 0;
            for (std::int64_t end = map_.out; first < end;) {
                const std::int64_t middle = first + (end - first) / 2;
                const bool is_before = last_source(middle) < i;
                (is_before ? first : end) = is_before ? middle + 1 : middle;
            }
            for (std::int64_t o = first; o < map_.out && map_.source(o) <= i; ++o)
                add_terms(o, terms, [&](std::int64_t source) { return source == i ? o : -1; });
        }
    }
    std::int64_t last_source(std::int64_t o) const {
        return map_.is_linear() ? map_.next_source(o) : map_.source(o);
    }
    // The sources of element o of y that `place` gives a place.
    template <class Place>
    void add_terms(std::int64_t o, Terms& terms, Place place) const {
        const std::int64_t phase = map_.is_linear() ? o % phases() : 0;
        if (const std::int64_t at = place(map_.source(o)); at >= 0) terms.push_back({at, phase, false});
        if (!map_.is_linear()) return;
        if (const std::int64_t at = place(map_.next_source(o)); at >= 0) terms.push_back({at, phase, true});
    }
    // Where padding has element i of x: in front, itself, behind.
    void find_copies(std::int64_t i, Terms& terms) const {
        const std::int64_t last = map_.in - 1, behind = map_.pad + map_.in;
        const bool is_edge = map_.kind == AxisMap::Kind::edge;
        for (std::int64_t o = 0; is_edge && i == 0 && o < map_.pad; ++o) terms.push_back({o});
        if (!is_edge && i > 0 && i <= map_.pad) terms.push_back({map_.pad - i});
        terms.push_back({map_.pad + i});
        for (std::int64_t o = behind; is_edge && i == last && o < map_.out; ++o) terms.push_back({o});
        if (!is_edge && i < last && behind + last - 1 - i < map_.out)
            terms.push_back({behind + last - 1 - i});
    }

    std::int64_t phases() const { return map_.out / std::gcd(map_.in, map_.out); }
    void add_fractions() {
        fractions_ = step_.temporary(floats(phases()));
        LoopSpace loops(step_.heap());
        loops.columns = phases();
        loops.operands.resize(1);
        const std::pmr::vector<Ref> refs({fractions_}, step_.heap());
        step_.rows(make_fractions(map_.in / std::gcd(map_.in, map_.out), phases(), step_.heap()), refs, loops,
                   RowUse());
    }

    // Elements that are `period` apart have the same terms, moved on, but near the ends.
    std::int64_t period() const { return is_padding() ? 1 : elements() / std::gcd(map_.in, map_.out); }

    static bool goes_on(const Run& run, const Terms& terms) {
        if (terms.size() != run.terms.size()) return false;
        for (std::size_t k = 0; k < terms.size(); ++k) {
            const Term& first = run.terms[k];
            if (terms[k].phase != first.phase || terms[k].is_next != first.is_next) return false;
            if (run.count > 1 && terms[k].source != first.source + run.count * first.step) return false;
        }
        return true;
    }

    template <class Body>
    void for_runs(Body body) const {
        const std::int64_t count = elements();
        Terms terms(step_.heap());
        for (std::int64_t part = 0; part < std::min(period(), count); ++part)
            for (std::int64_t i = part; i < count;) {
                Run run = {i, 1, Terms(step_.heap())};
                find_terms(i, run.terms);
                for (i += period(); i < count; i += period(), ++run.count) {
                    find_terms(i, terms);
                    if (!goes_on(run, terms)) break;
                    for (std::size_t k = 0; run.count == 1 && k < terms.size(); ++k)
                        run.terms[k].step = terms[k].source - run.terms[k].source;
                }
                body(run);
            }
    }

    void add_copies(Ref from, Ref to, const Around& around) {
        CopyLoops loops;
        loops.push(around.outer, around.from * around.inner, around.to * around.inner);
        if (map_.kind == AxisMap::Kind::nearest && map_.out % map_.in == 0) {  // each so many times
            loops.push(map_.in, around.inner, map_.out / map_.in * around.inner);
            loops.push(map_.out / map_.in, 0, around.inner);
            loops.push(around.inner, 1, 1);
            return step_.copy(loops, from, to, When::always);
        }
        for_runs([&](const Run& run) {
            CopyLoops part = loops;
            part.push(run.count, run.terms[0].step * around.inner, period() * around.inner);
            part.push(around.inner, 1, 1);
            step_.copy(part, plus_elements(from, run.terms[0].source * around.inner),
                       plus_elements(to, run.first * around.inner), When::always);
        });
    }

    void add_programs(Ref from, Ref to, const Around& around) {
        const bool has_gaps = !is_forward_ && map_.out < map_.in;  // elements of x that no element of y has
        if (has_gaps) step_.zero(to, around.outer * around.to * around.inner);
        for_runs([&](const Run& run) {
            const std::size_t most = (jit::kMaxOperands - 2) / (map_.is_linear() ? 2 : 1);
            for (std::size_t first = 0; first < run.terms.size(); first += most)
                add_program(run, first, std::min(most, run.terms.size() - first), from, to, around);
        });
    }

    // Of `count` terms of the run, from `first` on.
    void add_program(const Run& run, std::size_t first, std::size_t count, Ref from, Ref to,
                     const Around& around) {
        LoopSpace loops(step_.heap());
        std::pmr::vector<Ref> refs(step_.heap());
        loops.rows = run.count;
        loops.columns = around.inner;
        loops.outer_rank = 1;
        loops.outer_extent[0] = around.outer;
        const auto push = [&](Ref ref, std::int64_t element, std::int64_t step, std::int64_t extent) {
            LoopOperand operand;
            operand.row_stride = step * around.inner;
            operand.outer_stride[0] = extent * around.inner;
            loops.operands.push_back(operand);
            refs.push_back(plus_elements(ref, element * around.inner));
        };
        const Term* const terms = run.terms.data() + first;
        for (std::size_t k = 0; k < count; ++k) push(from, terms[k].source, terms[k].step, around.from);
        const std::size_t weights = !map_.is_linear() ? 0 : is_forward_ ? 1 : count;
        for (std::size_t k = 0; k < weights; ++k) {
            LoopOperand weight;  // the same in every row
            weight.access = Access::per_row;
            loops.operands.push_back(weight);
            refs.push_back(plus_elements(fractions_, terms[k].phase));
        }
        const int outputs = first == 0 ? 1 : 2;
        for (int i = 0; i < outputs; ++i) push(to, run.first, period(), around.to);
        step_.rows(program(terms, count, first == 0), refs, loops, RowUse());
    }
    jit::Program program(const Term* terms, std::size_t count, bool is_first) const {
        if (is_forward_) return make_interpolation(step_.heap());
        if (map_.is_linear()) return make_weighted_sum(terms, count, is_first, step_.heap());
        return make_window_sum(static_cast<int>(count), is_first, step_.heap());
    }

    StepLowering& step_;
    const AxisMap& map_;
    const bool is_forward_;
    Ref fractions_;  // [phases()]
};

// y is one value but where x is.
void add_constant_padding(StepLowering& step, const AxisMapForm& form) {
    const auto value = static_cast<float>(step.node.number(Attr::value));
    if (value == 0 && !std::signbit(value)) {
        step.zero(step.output(), form.y.elements());
    } else {
        LoopSpace loops(step.heap());
        loops.columns = form.y.elements();
        loops.operands.resize(1);
        const std::pmr::vector<Ref> refs({step.output()}, step.heap());
        step.rows(make_fill(value, step.heap()), refs, loops, RowUse());
    }
    const Strides in(form.x), out(form.y);
    CopyLoops loops;
    std::int64_t first = 0;
    for (int axis = 0; axis < form.x.rank; ++axis) {
        loops.push(form.x[axis], in.at[axis], out.at[axis]);
        first += form.axes[axis].pad * out.at[axis];
    }
    step.copy(loops, step.input(0), plus_elements(step.output(), first), When::always);
}

}  // namespace

void lower_axis_map(StepLowering& step) {
    const AxisMapForm form = axis_map_form(step.node, step.input_shape(0));
    const bool is_forward = step.node.op == Op::pad || step.node.op == Op::resize;
    if (step.node.op == Op::pad && step.node.number(Attr::mode) == 0) return add_constant_padding(step, form);
    Shape shape = step.input_shape(0);
    int left = 0;
    for (int axis = 0; axis < shape.rank; ++axis) left += form.axes[axis].is_changed();
    if (left == 0) return step.copy(dense_copy(shape.elements()), step.input(0), step.output(), When::always);
    Ref now = step.input(0);
    for (int i = 0; i < shape.rank; ++i) {
        const int axis = is_forward ? shape.rank - 1 - i : i;
        const AxisMap& map = form.axes[axis];
        if (!map.is_changed()) continue;
        Around around = {shape.leading(axis), shape[axis], is_forward ? map.out : map.in, 1};
        for (int behind = axis + 1; behind < shape.rank; ++behind) around.inner *= shape[behind];
        shape[axis] = around.to;
        const Ref next = --left == 0 ? step.output() : step.temporary(floats(shape.elements()));
        if (shape.elements() > 0) AxisLowering(step, map, is_forward).add(now, next, around);
        now = next;
    }
}

}  // namespace volta
