// Pooling, and convolutions of one channel a group, as row programs over views of one padded picture: a view
// is what a tap of the window sees for all outputs.
#include <algorithm>
#include <limits>

#include "engine/backend/lower/convolution_phases.h"
#include "engine/backend/lower/lowerings.h"
#include "engine/backend/lower/row_programs.h"
#include "engine/backend/lower/window_programs.h"
#include "engine/graph/forms.h"
#include "jitgen/row_kernel.h"

namespace volta {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::size_t floats(std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(float); }

// One row of `columns` elements.
void add_fill(StepLowering& step, Ref y, std::int64_t count, double value) {
    LoopSpace loops(step.heap());
    loops.columns = count;
    loops.operands.resize(1);
    const std::pmr::vector<Ref> refs({y}, step.heap());
    step.rows(make_fill(value, step.heap()), refs, loops, RowUse());
}

// Planes with what lies around them. Elements that one view sees lie side by side: with a step of s along the
// columns a row is s parts, the elements 0, s, 2s ... first.
class PaddedPlanes {
  public:
    PaddedPlanes(const AxisPhases& rows, const AxisPhases& columns, std::int64_t planes)
        : rows_(rows),
          columns_(columns),
          planes_(planes),
          step_(columns.phases[0].source_step),
          part_((columns.padded + step_ - 1) / step_),
          row_(step_ * part_),
          plane_(rows.padded * row_) {}

    bool is_copy() const { return rows_.is_padded() || columns_.is_padded() || step_ > 1; }
    std::int64_t elements() const { return planes_ * plane_; }
    std::int64_t plane() const { return plane_; }

    // `from`: [planes, rows, columns]; what is around it has this value.
    Ref copy(StepLowering& step, Ref from, double around) const {
        if (!is_copy()) return from;
        const Ref to = step.temporary(floats(elements()));
        const bool is_padded = rows_.is_padded() || columns_.is_padded();
        if (is_padded && around == 0) step.zero(to, elements());
        if (is_padded && around != 0) add_fill(step, to, elements(), around);
        copy_into(step, from, to);
        return to;
    }
    void copy_into(StepLowering& step, Ref from, Ref to) const {
        for (std::int64_t part = 0; part < step_; ++part) {
            if (!is_read(part)) continue;
            // Columns c with (c + pad) % step == part.
            const std::int64_t first = ((part - columns_.pad) % step_ + step_) % step_;
            if (first >= columns_.extent) continue;
            CopyLoops loops;
            loops.push(planes_, rows_.extent * columns_.extent, plane_);
            loops.push(rows_.extent, columns_.extent, row_);
            loops.push((columns_.extent - first - 1) / step_ + 1, step_, 1);
            step.copy(loops, plus_elements(from, first),
                      plus_elements(to, rows_.pad * row_ + part * part_ + (first + columns_.pad) / step_),
                      When::always);
        }
    }

    // Elements from the first to what this tap sees of the first output, and from row to row of outputs.
    std::int64_t offset(const AxisPhase::Tap& row, const AxisPhase::Tap& column) const {
        return row.offset * row_ + column.offset % step_ * part_ + column.offset / step_;
    }
    std::int64_t row_stride(const AxisPhase& rows) const { return rows.source_step * row_; }

  private:
    bool is_read(std::int64_t part) const {
        for (const AxisPhase& phase : columns_.phases)
            for (const AxisPhase::Tap& tap : phase.taps)
                if (tap.offset % step_ == part) return true;
        return false;
    }

    const AxisPhases &rows_, &columns_;
    const std::int64_t planes_, step_, part_, row_, plane_;
};

// Row programs over outputs [planes, rows, columns], planes being n of `groups` each.
class Windows {
  public:
    Windows(StepLowering& step, std::int64_t batch, std::int64_t groups, std::int64_t rows,
            std::int64_t columns)
        : step_(step), loops_(step.heap()), refs_(step.heap()) {
        loops_.rows = rows;
        loops_.columns = columns;
        loops_.outer_rank = 2;
        loops_.outer_extent[0] = batch;
        loops_.outer_extent[1] = groups;
    }
    std::int64_t pixels() const { return loops_.rows * loops_.columns; }
    void clear() {
        refs_.clear();
        loops_.operands.clear();
    }
    void push(Ref ref, std::int64_t row_stride, std::int64_t plane, jit::Access access = jit::Access::full) {
        LoopOperand operand;
        operand.access = access;
        operand.row_stride = row_stride;
        operand.outer_stride[0] = plane * loops_.outer_extent[1];
        operand.outer_stride[1] = plane;
        push(ref, operand);
    }
    void push(Ref ref, const LoopOperand& operand) {
        refs_.push_back(ref);
        loops_.operands.push_back(operand);
    }
    void push_dense(Ref ref) { push(ref, loops_.columns, pixels()); }
    // The output, as operands of a program that goes on from it, or not.
    void push_output(Ref ref, bool first) {
        if (!first) push_dense(ref);
        push_dense(ref);
    }
    void run(const jit::Program& program) { step_.rows(program, refs_, loops_, RowUse()); }

  private:
    StepLowering& step_;
    LoopSpace loops_;
    std::pmr::vector<Ref> refs_;
};

struct View {
    const AxisPhase::Tap *row, *column;
    std::uint32_t tap;  // its number in the kernel
};

// Of a phase, ascending, or descending: then outputs that see an element ascend.
std::pmr::vector<View> views_of(const AxisPhase& rows, const AxisPhase& columns, std::int64_t taps_in_row,
                                bool descending, std::pmr::memory_resource* heap) {
    std::pmr::vector<View> views(heap);
    for (const AxisPhase::Tap& row : rows.taps)
        for (const AxisPhase::Tap& column : columns.taps)
            views.push_back(
                {&row, &column, static_cast<std::uint32_t>(row.kernel * taps_in_row + column.kernel)});
    if (descending) std::reverse(views.begin(), views.end());
    return views;
}

// body(first, count) for pieces of `total` operands whose programs have `each` operands a tap and `others`.
template <class Body>
void in_pieces(std::size_t total, std::size_t each, std::size_t others, Body body) {
    const std::size_t most = (jit::kMaxOperands - others) / each;
    for (std::size_t first = 0; first < total; first += most) body(first, std::min(most, total - first));
}

// ---- Pooling ---------------------------------------------------------------------------------------------

class Pooling {
  public:
    explicit Pooling(StepLowering& step)
        : step_(step),
          s_(pooling_form(step.node, step.input_shape(0)).sizes),
          rows_(forward_phases(s_.rows, step.heap())),
          columns_(forward_phases(s_.columns, step.heap())),
          views_(views_of(rows_.phases[0], columns_.phases[0], s_.columns.taps, false, step.heap())) {}

    void add_maximum() {
        if (step_.window(work(WindowStep::Gives::maximum))) return;
        add_windows(s_.planes, step_.input(0), -kInfinity, step_.output(), make_window_maximum);
    }

    void add_average() {
        if (!step_.window(work(WindowStep::Gives::sum)))
            add_windows(s_.planes, step_.input(0), 0, step_.output(), make_window_sum);
        add_division(step_.output(), step_.output());
    }

    void add_maximum_gradient() {
        const Ref choices = step_.temporary(floats(s_.planes * s_.pixels()));
        add_choices(choices);
        add_gathered([&](const PaddedPlanes& planes, auto add) {
            // Taps count from 1, so that 0 around the outputs is none.
            const Ref chosen = step_.temporary(floats(planes.elements()));
            if (planes.is_copy()) {
                step_.zero(chosen, planes.elements());
                planes.copy_into(step_, choices, chosen);
            }
            const Ref dy = planes.copy(step_, step_.input(2), 0);
            add(
                [&](const View* views, std::size_t count, bool first, auto push) {
                    std::pmr::vector<std::uint32_t> numbers(step_.heap());
                    for (std::size_t i = 0; i < count; ++i) numbers.push_back(views[i].tap + 1);
                    for (std::size_t i = 0; i < count; ++i)
                        push(planes.is_copy() ? chosen : choices, views[i]);
                    for (std::size_t i = 0; i < count; ++i) push(dy, views[i]);
                    return make_chosen_sum(static_cast<int>(count), numbers.data(), first, step_.heap());
                },
                2);
        });
    }

    void add_average_gradient() {
        const Ref share = step_.temporary(floats(s_.planes * s_.pixels()));
        add_division(step_.input(0), share);
        add_gathered([&](const PaddedPlanes& planes, auto add) {
            const Ref padded = planes.copy(step_, share, 0);
            add(
                [&](const View* views, std::size_t count, bool first, auto push) {
                    for (std::size_t i = 0; i < count; ++i) push(padded, views[i]);
                    return make_window_sum(static_cast<int>(count), first, step_.heap());
                },
                1);
        });
    }

  private:
    WindowStep work(WindowStep::Gives gives) const {
        return {gives, s_.planes, s_.rows, s_.columns, step_.input(0), step_.output()};
    }

    // y of planes, by a program over the views of the padded picture.
    void add_windows(std::int64_t count, Ref x, double around, Ref y,
                     jit::Program (*make)(int, bool, std::pmr::memory_resource*)) {
        const PaddedPlanes planes(rows_, columns_, count);
        add_windows(planes, planes.copy(step_, x, around), count, y, make);
    }
    void add_windows(const PaddedPlanes& planes, Ref x, std::int64_t count, Ref y,
                     jit::Program (*make)(int, bool, std::pmr::memory_resource*)) {
        Windows windows(step_, 1, count, s_.rows.out, s_.columns.out);
        in_pieces(views_.size(), 1, 2, [&](std::size_t first, std::size_t taps) {
            windows.clear();
            for (std::size_t i = first; i < first + taps; ++i)
                push(windows, planes, x, views_[i], planes.plane());
            windows.push_output(y, first == 0);
            windows.run(make(static_cast<int>(taps), first == 0, step_.heap()));
        });
    }
    void push(Windows& windows, const PaddedPlanes& planes, Ref x, const View& view,
              std::int64_t plane) const {
        windows.push(plus_elements(x, planes.offset(*view.row, *view.column)),
                     planes.row_stride(rows_.phases[0]), plane);
    }

    bool is_padded() const { return rows_.is_padded() || columns_.is_padded(); }

    // to = from / the number of elements of the window.
    void add_division(Ref from, Ref to) {
        if (!is_padded()) {
            LoopSpace loops(step_.heap());
            loops.columns = s_.planes * s_.pixels();
            loops.operands.resize(2);
            const std::pmr::vector<Ref> refs({from, to}, step_.heap());
            return step_.rows(make_division(static_cast<double>(s_.taps()), step_.heap()), refs, loops,
                              RowUse());
        }
        const Ref counts = step_.temporary(floats(s_.pixels()));
        const PaddedPlanes planes(rows_, columns_, 1);
        add_windows(planes, inside(planes, s_.counts_padding), 1, counts, make_window_sum);
        Windows windows(step_, 1, s_.planes, s_.rows.out, s_.columns.out);
        windows.push_dense(from);
        windows.push(counts, s_.columns.out, 0);
        windows.push_dense(to);
        windows.run(make_quotient(jit::Access::full, step_.heap()));
    }

    // A plane of ones inside of the picture, or of it and its padding, and zeros around them.
    Ref inside(const PaddedPlanes& planes, bool with_padding) {
        const std::int64_t rows = s_.rows.in + (with_padding ? s_.rows.pad + s_.row_padding : 0);
        const std::int64_t columns = s_.columns.in + (with_padding ? s_.columns.pad + s_.column_padding : 0);
        const Ref ones = step_.temporary(floats(std::max<std::int64_t>(rows * columns, 1)));
        add_fill(step_, ones, rows * columns, 1);
        const Ref to = step_.temporary(floats(planes.elements()));
        step_.zero(to, planes.elements());
        if (!with_padding) {
            planes.copy_into(step_, ones, to);
            return to;
        }
        AxisPhases whole_rows = forward_phases(s_.rows, step_.heap()),
                   whole_columns = forward_phases(s_.columns, step_.heap());
        whole_rows.extent = std::min(rows, whole_rows.padded);
        whole_columns.extent = std::min(columns, whole_columns.padded);
        whole_rows.pad = whole_columns.pad = 0;
        PaddedPlanes(whole_rows, whole_columns, 1).copy_into(step_, ones, to);
        return to;
    }

    void add_choices(Ref choices) {
        const PaddedPlanes planes(rows_, columns_, s_.planes);
        const Ref x = planes.copy(step_, step_.input(0), 0);
        const bool flagged = is_padded();
        const PaddedPlanes flag_plane(rows_, columns_, 1);
        const Ref flags = flagged ? inside(flag_plane, false) : Ref();
        Windows windows(step_, 1, s_.planes, s_.rows.out, s_.columns.out);
        // The last taps first, so that the lowest has the last word.
        const std::size_t each = flagged ? 2 : 1, most = (jit::kMaxOperands - 3) / each;
        for (std::size_t end = views_.size(); end > 0;) {
            const std::size_t taps = std::min(most, end), first = end - taps;
            const bool is_first = end == views_.size();
            windows.clear();
            for (std::size_t i = first; i < end; ++i) push(windows, planes, x, views_[i], planes.plane());
            for (std::size_t i = first; flagged && i < end; ++i)
                push(windows, flag_plane, flags, views_[i], 0);
            windows.push_dense(step_.input(1));
            windows.push_output(choices, is_first);
            windows.run(make_window_choice(static_cast<int>(taps), static_cast<std::uint32_t>(first) + 1,
                                           flagged, is_first, step_.heap()));
            end = first;
        }
    }

    // dx as sums over the outputs that see an element. `prepare`(planes, add) makes what is read, and calls
    // add(program, operands a tap): program(views, count, first, push) pushes views and returns the program.
    template <class Prepare>
    void add_gathered(Prepare prepare) {
        const AxisPhases rows = transposed_phases(s_.rows, step_.heap()),
                         columns = transposed_phases(s_.columns, step_.heap());
        const bool is_whole = rows.phases.size() == 1 && columns.phases.size() == 1;
        const PaddedPlanes planes(rows, columns, s_.planes);
        bool has_gaps = false;
        for (const AxisPhase& row : rows.phases) has_gaps = has_gaps || row.taps.empty();
        for (const AxisPhase& column : columns.phases) has_gaps = has_gaps || column.taps.empty();
        if (has_gaps) step_.zero(step_.output(), s_.planes * s_.plane());
        prepare(planes, [&](auto program, std::size_t each) {
            for (const AxisPhase& row : rows.phases)
                for (const AxisPhase& column : columns.phases) {
                    const std::pmr::vector<View> views =
                        views_of(row, column, s_.columns.taps, true, step_.heap());
                    if (views.empty()) continue;
                    Windows windows(step_, 1, s_.planes, row.count, column.count);
                    const Ref dx =
                        is_whole ? step_.output() : step_.temporary(floats(s_.planes * windows.pixels()));
                    in_pieces(views.size(), each, 2, [&](std::size_t first, std::size_t count) {
                        windows.clear();
                        const jit::Program made =
                            program(views.data() + first, count, first == 0, [&](Ref ref, const View& view) {
                                windows.push(plus_elements(ref, planes.offset(*view.row, *view.column)),
                                             planes.row_stride(row), planes.plane());
                            });
                        windows.push_output(dx, first == 0);
                        windows.run(made);
                    });
                    if (!is_whole) scatter(dx, row, column);
                }
        });
    }
    void scatter(Ref from, const AxisPhase& rows, const AxisPhase& columns) {
        CopyLoops loops;
        loops.push(s_.planes, rows.count * columns.count, s_.plane());
        loops.push(rows.count, columns.count, rows.step * s_.columns.in);
        loops.push(columns.count, 1, columns.step);
        step_.copy(loops, from, plus_elements(step_.output(), rows.first * s_.columns.in + columns.first),
                   When::always);
    }

    StepLowering& step_;
    const define::PoolingSizes s_;
    const AxisPhases rows_, columns_;
    const std::pmr::vector<View> views_;
};

}  // namespace

void lower_pooling(StepLowering& step) {
    Pooling pooling(step);
    switch (step.node.op) {
        case Op::max_pool:
            return pooling.add_maximum();
        case Op::max_pool_grad:
            return pooling.add_maximum_gradient();
        case Op::average_pool:
            return pooling.add_average();
        case Op::average_pool_grad:
            return pooling.add_average_gradient();
        // unreachable: the table has no other operator of this lowering
        default:
            step.no_kernel();
    }
}

// ---- Depthwise convolutions ------------------------------------------------------------------------------

bool is_depthwise(const ConvolutionStep& work) {
    const define::ConvolutionSizes& s = work.sizes;
    return work.gives != ConvolutionStep::Gives::weight && s.channels == 1 && s.filters == 1 &&
           s.groups > 1 && s.taps() <= kSegment;  // one chain
}

void add_depthwise(StepLowering& step, const ConvolutionStep& work) {
    const define::ConvolutionSizes& s = work.sizes;
    const bool is_transposed = work.gives == ConvolutionStep::Gives::x;
    const AxisPhases rows =
        is_transposed ? transposed_phases(s.rows, step.heap()) : forward_phases(s.rows, step.heap());
    const AxisPhases columns =
        is_transposed ? transposed_phases(s.columns, step.heap()) : forward_phases(s.columns, step.heap());
    const bool is_whole = rows.phases.size() == 1 && columns.phases.size() == 1;
    const PaddedPlanes planes(rows, columns, s.batch * s.groups);
    const Ref source = planes.copy(step, is_transposed ? work.y : work.x, 0);
    const Ref target = is_transposed ? work.x : work.y;
    const std::int64_t plane = is_transposed ? s.plane() : s.pixels();
    const std::int64_t width = is_transposed ? s.columns.in : s.columns.out;
    bool has_gaps = false;
    for (const AxisPhase& row : rows.phases) has_gaps = has_gaps || row.taps.empty();
    for (const AxisPhase& column : columns.phases) has_gaps = has_gaps || column.taps.empty();
    if (has_gaps) step.zero(target, s.batch * s.groups * plane);
    for (const AxisPhase& row : rows.phases)
        for (const AxisPhase& column : columns.phases) {
            const std::pmr::vector<View> views = views_of(row, column, s.columns.taps, false, step.heap());
            if (views.empty()) continue;
            Windows windows(step, s.batch, s.groups, row.count, column.count);
            const Ref y = is_whole ? target : step.temporary(floats(s.batch * s.groups * windows.pixels()));
            in_pieces(views.size(), 2, 2, [&](std::size_t first, std::size_t count) {
                windows.clear();
                for (std::size_t i = first; i < first + count; ++i)
                    windows.push(plus_elements(source, planes.offset(*views[i].row, *views[i].column)),
                                 planes.row_stride(row), planes.plane());
                for (std::size_t i = first; i < first + count; ++i) {
                    LoopOperand weight;  // of the plane's group
                    weight.access = jit::Access::per_row;
                    weight.outer_stride[1] = s.taps();
                    windows.push(plus_elements(work.weight, views[i].tap), weight);
                }
                windows.push_output(y, first == 0);
                windows.run(make_window_product(static_cast<int>(count), first == 0, step.heap()));
            });
            if (is_whole) continue;
            CopyLoops loops;
            loops.push(s.batch * s.groups, windows.pixels(), plane);
            loops.push(row.count, column.count, row.step * width);
            loops.push(column.count, 1, column.step);
            step.copy(loops, y, plus_elements(target, row.first * width + column.first), When::always);
        }
}

}  // namespace volta
