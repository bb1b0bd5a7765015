// Norms of channels (docs/numerics.md, 5) as row programs. x [N, C, ...] is seen as a row for every plane, in
// the order of the memory; what belongs to a channel is repeated for each of its planes first, a number per
// row, so that a pass over x is one program over all rows. Planes of one element would be rows of one column:
// there a row is a sample, and what belongs to a channel is one per column.
#include "engine/backend/lower/lowerings.h"
#include "engine/graph/forms.h"
#include "engine/numerics/define_norms.h"
#include "engine/numerics/functions.h"
#include "jitgen/program.h"

namespace volta {
namespace {

using jit::Access;
using jit::Real;

// One row program while it is written: its operands are declared where they are read or written.
class RowWork {
  public:
    RowWork(StepLowering& step, std::int64_t rows, std::int64_t columns)
        : b(step.heap()), step_(step), loops_(step.heap()), refs_(step.heap()) {
        loops_.rows = rows;
        loops_.columns = columns;
    }

    Real read(Ref ref, Access access) {
        declare(ref, access);
        return b.load(b.input(access));
    }
    void write(Ref ref, Access access, Real value) {
        declare(ref, access);
        b.store(b.output(access), value);
    }
    void sum_columns(Ref ref, Real value) {
        declare(ref, Access::per_column);
        b.column_sum(b.output(Access::per_column), value);
    }
    void run(When when = When::always) {
        RowUse use;
        use.when = when;
        step_.rows(b.finish(), refs_, loops_, use);
    }

    jit::Builder b;

  private:
    void declare(Ref ref, Access access) {
        LoopOperand operand;
        operand.access = access;
        operand.row_stride = access == Access::full ? loops_.columns : access == Access::per_row ? 1 : 0;
        loops_.operands.push_back(operand);
        refs_.push_back(ref);
    }

    StepLowering& step_;
    LoopSpace loops_;
    std::pmr::vector<Ref> refs_;
};

Ref temporary_of(StepLowering& step, std::int64_t elements) {
    return step.temporary(static_cast<std::size_t>(elements) * sizeof(float));
}

// x as the rows and columns of its programs, and how a number per channel lies over them.
struct Rows {
    explicit Rows(const ChannelPlanes& x, bool by_columns)
        : planes(x),
          rows(by_columns ? x.batch : x.batch * x.channels),
          columns(by_columns ? x.channels : x.plane),
          channel(by_columns ? Access::per_column : Access::per_row) {}
    ChannelPlanes planes;
    std::int64_t rows, columns;
    Access channel;
};

// [C] as `channel` of the rows wants it.
Ref per_channel(StepLowering& step, const Rows& rows, Ref values) {
    const ChannelPlanes& p = rows.planes;
    if (rows.channel == Access::per_column || p.batch == 1) return values;
    const Ref repeated = temporary_of(step, p.batch * p.channels);
    CopyLoops loops;
    loops.push(p.batch, 0, p.channels);
    loops.push(p.channels, 1, 1);
    step.copy(loops, values, repeated, When::always);
    return repeated;
}

// [N, G], a number per group, for every channel of the group.
Ref per_group(StepLowering& step, const ChannelPlanes& p, std::int64_t groups, Ref values) {
    const std::int64_t each = p.channels / groups;
    if (each == 1) return values;
    const Ref repeated = temporary_of(step, p.batch * p.channels);
    CopyLoops loops;
    loops.push(p.batch * groups, 1, each);
    loops.push(each, 0, 1);
    step.copy(loops, values, repeated, When::always);
    return repeated;
}

// The sums over the channels of up to two values of each element: of every plane, then over the planes.
class ChannelSums {
  public:
    ChannelSums(StepLowering& step, const Rows& rows)
        : work(step, rows.rows, rows.columns), step_(step), rows_(rows) {}

    void add(Real value, Ref sums) {
        const ChannelPlanes& p = rows_.planes;
        if (rows_.channel == Access::per_column) return work.sum_columns(sums, value);
        // The sum over one plane is that plane's: no row sum is -0.
        const Ref of_planes = p.batch == 1 ? sums : temporary_of(step_, p.batch * p.channels);
        work.write(of_planes, Access::per_row, work.b.row_sum(value));
        if (p.batch == 1) return;
        later_[count_++] = {of_planes, sums};
    }
    void run() {
        work.run();
        for (int i = 0; i < count_; ++i)
            add_column_sum(step_, later_[i].of_planes, later_[i].sums, rows_.planes.batch,
                           rows_.planes.channels);
    }

    RowWork work;

  private:
    struct Later {
        Ref of_planes, sums;
    };
    StepLowering& step_;
    const Rows& rows_;
    Later later_[2];
    int count_ = 0;
};

// to = from / count, [C]; `from` may be `to`.
void add_mean(StepLowering& step, std::int64_t channels, Ref from, std::int64_t count, Ref to) {
    RowWork work(step, 1, channels);
    const Real sum = work.read(from, Access::full), n = work.b.real(static_cast<double>(count));
    work.write(to, Access::full, sum / n);
    work.run();
}

Ref add_rs(StepLowering& step, std::int64_t channels, Ref variance) {
    const Ref rs = temporary_of(step, channels);
    RowWork work(step, 1, channels);
    const Real v = work.read(variance, Access::full), epsilon = work.b.real(step.node.number(Attr::epsilon));
    work.write(rs, Access::full, rsqrt(work.b, v + epsilon));
    work.run();
    return rs;
}

// ---- Batch norm ----

Rows batch_rows(const Shape& x) {
    const ChannelPlanes planes = channel_planes(x);
    return Rows(planes, planes.plane == 1);
}

void lower_batch_statistics(StepLowering& step) {
    const Rows rows = batch_rows(step.input_shape(0));
    const std::int64_t channels = rows.planes.channels, count = rows.planes.per_channel();
    const Ref x = step.input(0), mean = step.output(0), variance = step.output(1);
    {
        ChannelSums sums(step, rows);
        sums.add(sums.work.read(x, Access::full), mean);
        sums.run();
    }
    add_mean(step, channels, mean, count, mean);
    const Ref means = per_channel(step, rows, mean);
    ChannelSums squares(step, rows);
    const Real element = squares.work.read(x, Access::full), m = squares.work.read(means, rows.channel);
    const Real d = element - m;
    squares.add(d * d, variance);
    squares.run();
    add_mean(step, channels, variance, count, variance);
}

void lower_batch_norm(StepLowering& step) {
    const Rows rows = batch_rows(step.input_shape(0));
    const Ref rs = add_rs(step, rows.planes.channels, step.input(4));
    const Ref means = per_channel(step, rows, step.input(3)), factors = per_channel(step, rows, rs);
    const Ref scales = per_channel(step, rows, step.input(1)),
              biases = per_channel(step, rows, step.input(2));
    RowWork work(step, rows.rows, rows.columns);
    const Real x = work.read(step.input(0), Access::full), mean = work.read(means, rows.channel);
    const Real factor = work.read(factors, rows.channel), scale = work.read(scales, rows.channel);
    const Real bias = work.read(biases, rows.channel);
    work.write(step.output(), Access::full, (((x - mean) * factor) * scale) + bias);
    work.run();
}

void lower_batch_norm_gradient(StepLowering& step) {
    const Rows rows = batch_rows(step.input_shape(1));
    const std::int64_t channels = rows.planes.channels, count = rows.planes.per_channel();
    const Ref dy = step.input(0), x = step.input(1), d_scale = step.output(1), d_bias = step.output(2);
    const Ref rs = add_rs(step, channels, step.input(4));
    const Ref means = per_channel(step, rows, step.input(3)), factors = per_channel(step, rows, rs);
    {
        ChannelSums sums(step, rows);
        RowWork& w = sums.work;
        const Real gradient = w.read(dy, Access::full), element = w.read(x, Access::full);
        const Real mean = w.read(means, rows.channel), factor = w.read(factors, rows.channel);
        const Real xh = (element - mean) * factor;
        sums.add(gradient, d_bias);
        sums.add(gradient * xh, d_scale);
        sums.run();
    }
    const Ref scaled = temporary_of(step, channels);
    {
        RowWork work(step, 1, channels);
        const Real scale = work.read(step.input(2), Access::full), factor = work.read(rs, Access::full);
        work.write(scaled, Access::full, scale * factor);
        work.run();
    }
    const Ref slopes = per_channel(step, rows, scaled);
    if (step.node.flag(Attr::frozen)) {
        RowWork work(step, rows.rows, rows.columns);
        const Real gradient = work.read(dy, Access::full), slope = work.read(slopes, rows.channel);
        work.write(step.output(0), Access::full, gradient * slope);
        return work.run();
    }
    const Ref mean_dy = temporary_of(step, channels), mean_dy_xh = temporary_of(step, channels);
    add_mean(step, channels, d_bias, count, mean_dy);
    add_mean(step, channels, d_scale, count, mean_dy_xh);
    const Ref firsts = per_channel(step, rows, mean_dy), seconds = per_channel(step, rows, mean_dy_xh);
    RowWork work(step, rows.rows, rows.columns);
    const Real gradient = work.read(dy, Access::full), element = work.read(x, Access::full);
    const Real mean = work.read(means, rows.channel), factor = work.read(factors, rows.channel);
    const Real a1 = work.read(firsts, rows.channel), a2 = work.read(seconds, rows.channel);
    const Real slope = work.read(slopes, rows.channel);
    const Real xh = (element - mean) * factor, centred = gradient - a1;
    work.write(step.output(0), Access::full, (centred - xh * a2) * slope);
    work.run();
}

// The first micro-batch joins the inputs, later ones what the earlier ones left.
void lower_running_statistics(StepLowering& step) {
    const std::int64_t channels = step.output_shape().elements();
    const double elements = step.node.number(Attr::elements);
    for (const When when : {When::first, When::later}) {
        RowWork work(step, 1, channels);
        const auto before = [&](int i) { return when == When::first ? step.input(i) : step.output(i); };
        const Real momentum = work.b.real(step.node.number(Attr::momentum));
        const Real unbiased = work.b.real(elements / (elements - 1.0));
        const Real old_mean = work.read(before(0), Access::full),
                   old_variance = work.read(before(1), Access::full);
        const Real mean = work.read(step.input(2), Access::full),
                   variance = work.read(step.input(3), Access::full);
        const Real new_mean = work.b.fma(momentum, mean - old_mean, old_mean);
        const Real new_variance = work.b.fma(momentum, variance * unbiased - old_variance, old_variance);
        work.write(step.output(0), Access::full, new_mean);
        work.write(step.output(1), Access::full, new_variance);
        work.run(when);
    }
}

// ---- Group norm ----

// How a scale per channel lies over rows that are whole groups: one per row where a group is a channel, one
// per column where the channels of a sample are a group without planes. Else it lies over no such rows.
struct Groups {
    Groups(StepLowering& step, const Shape& x)
        : planes(channel_planes(x)),
          count(norm_groups(step.node, planes)),
          by_columns(planes.plane == 1 && count == 1),
          rows(planes, by_columns) {}
    ChannelPlanes planes;
    std::int64_t count;
    bool by_columns;
    Rows rows;
    bool are_rows() const { return by_columns || count == planes.channels; }
    std::int64_t group_rows() const { return planes.batch * count; }
    std::int64_t group_columns() const { return planes.channels / count * planes.plane; }
    // Of [N, G]: how it lies over `rows`.
    Ref spread(StepLowering& step, Ref values) const {
        return by_columns ? values : per_group(step, planes, count, values);
    }
};

void lower_group_norm(StepLowering& step) {
    const Groups groups(step, step.input_shape(0));
    const Rows& rows = groups.rows;
    const Ref y = step.output(0), means = step.output(1), factors = step.output(2);
    const Ref scales = per_channel(step, rows, step.input(1)),
              biases = per_channel(step, rows, step.input(2));
    {
        RowWork work(step, groups.group_rows(), groups.group_columns());
        const Real x = work.read(step.input(0), Access::full), n = work.b.row_length();
        const Real epsilon = work.b.real(step.node.number(Attr::epsilon));
        const Real mean = work.b.row_sum(x) / n;
        const Real d = x - mean;
        const Real variance = work.b.row_sum(d * d) / n;
        const Real rs = rsqrt(work.b, variance + epsilon);
        if (groups.are_rows()) {
            const Real scale = work.read(scales, rows.channel), bias = work.read(biases, rows.channel);
            work.write(y, Access::full, ((d * rs) * scale) + bias);
        }
        work.write(means, Access::per_row, mean);
        work.write(factors, Access::per_row, rs);
        work.run();
    }
    if (groups.are_rows()) return;
    const Ref all_means = groups.spread(step, means), all_factors = groups.spread(step, factors);
    RowWork work(step, rows.rows, rows.columns);
    const Real x = work.read(step.input(0), Access::full), mean = work.read(all_means, Access::per_row);
    const Real rs = work.read(all_factors, Access::per_row), scale = work.read(scales, rows.channel);
    const Real bias = work.read(biases, rows.channel);
    work.write(y, Access::full, (((x - mean) * rs) * scale) + bias);
    work.run();
}

void lower_group_norm_gradient(StepLowering& step) {
    const Groups groups(step, step.input_shape(1));
    const Rows& rows = groups.rows;
    const Ref dy = step.input(0), x = step.input(1), dx = step.output(0);
    {
        const Ref means = groups.spread(step, step.input(3)), factors = groups.spread(step, step.input(4));
        ChannelSums sums(step, rows);
        RowWork& w = sums.work;
        const Real gradient = w.read(dy, Access::full), element = w.read(x, Access::full);
        const Real mean = w.read(means, Access::per_row), rs = w.read(factors, Access::per_row);
        const Real xh = (element - mean) * rs;
        sums.add(gradient, step.output(2));
        sums.add(gradient * xh, step.output(1));
        sums.run();
    }
    const Ref scales = per_channel(step, rows, step.input(2));
    if (!groups.are_rows()) {  // dh takes the place of dx
        RowWork work(step, rows.rows, rows.columns);
        const Real gradient = work.read(dy, Access::full), scale = work.read(scales, rows.channel);
        work.write(dx, Access::full, gradient * scale);
        work.run();
    }
    RowWork work(step, groups.group_rows(), groups.group_columns());
    const Real given = work.read(groups.are_rows() ? dy : dx, Access::full);
    const Real element = work.read(x, Access::full), n = work.b.row_length();
    const Real mean = work.read(step.input(3), Access::per_row),
               rs = work.read(step.input(4), Access::per_row);
    Real dh = given;
    if (groups.are_rows()) dh = given * work.read(scales, rows.channel);
    const Real xh = (element - mean) * rs;
    const Real a1 = work.b.row_sum(dh) / n, a2 = work.b.row_sum(dh * xh) / n;
    const Real centred = dh - a1;
    work.write(dx, Access::full, (centred - xh * a2) * rs);
    work.run();
}

}  // namespace

void lower_norm(StepLowering& step) {
    switch (step.node.op) {
        case Op::batch_norm:
        case Op::batch_norm_train:
            return lower_batch_norm(step);
        case Op::batch_statistics:
            return lower_batch_statistics(step);
        case Op::batch_norm_grad:
            return lower_batch_norm_gradient(step);
        case Op::running_statistics:
            return lower_running_statistics(step);
        case Op::group_norm:
        case Op::instance_norm:
            return lower_group_norm(step);
        case Op::group_norm_grad:
            return lower_group_norm_gradient(step);
        // unreachable: the table has no other operator of this lowering
        default:
            step.no_kernel();
    }
}

}  // namespace volta
