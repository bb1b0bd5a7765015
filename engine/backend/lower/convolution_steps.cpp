// Convolutions. A backend with kernels of its own is asked first; for the others they are copies and
// products: the padded picture, its patches as a matrix, and the product with the weight.
#include <algorithm>

#include "engine/backend/lower/convolution_phases.h"
#include "engine/backend/lower/lowerings.h"
#include "engine/backend/lower/product_body.h"
#include "engine/backend/lower/row_programs.h"
#include "engine/graph/forms.h"

namespace volta {
namespace {

using define::ConvolutionSizes;

// Patches of as many pictures at a time as have so many elements, one picture at least.
constexpr std::int64_t kPatchElements = 1 << 24;

std::size_t floats(std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(float); }

// Pictures [batch, channels, rows, columns] that are read, +0 around them.
struct Padded {
    Ref at;
    std::int64_t row = 0, plane = 0, picture = 0;  // elements from one to the next
};

Padded pad(StepLowering& step, Ref source, std::int64_t pictures, std::int64_t channels,
           const AxisPhases& rows, const AxisPhases& columns) {
    Padded padded;
    if (!rows.is_padded() && !columns.is_padded()) {
        padded = {source, columns.extent, rows.extent * columns.extent,
                  channels * rows.extent * columns.extent};
        return padded;
    }
    padded.row = columns.padded;
    padded.plane = rows.padded * columns.padded;
    padded.picture = channels * padded.plane;
    padded.at = step.temporary(floats(pictures * padded.picture));
    step.zero(padded.at, pictures * padded.picture);
    CopyLoops loops;
    loops.push(pictures * channels, rows.extent * columns.extent, padded.plane);
    loops.push(rows.extent, columns.extent, padded.row);
    loops.push(columns.extent, 1, 1);
    step.copy(loops, source, plus_elements(padded.at, rows.pad * padded.row + columns.pad), When::always);
    return padded;
}

// ---- y of x, x of y --------------------------------------------------------------------------------------

// One of the interleaved pictures that a convolution gives.
class Phase {
  public:
    Phase(StepLowering& step, const ConvolutionStep& work, const AxisPhase& rows, const AxisPhase& columns,
          bool is_whole)
        : step_(step), work_(work), rows_(rows), columns_(columns), is_whole_(is_whole) {}

    void add(const Padded& source, Ref weight) {
        const std::int64_t patch = depth() * pixels();
        const std::int64_t groups = s().groups, batch = groups > 1 ? 1 : s().batch;
        const std::int64_t at_once =
            std::clamp<std::int64_t>(kPatchElements / std::max<std::int64_t>(patch, 1), 1, batch);
        // In place where a pixel has one tap, in the order of the picture.
        const bool in_place = taps() == 1 && source.row == columns_.count * columns_.source_step &&
                              columns_.source_step == 1 && rows_.source_step == 1 && source.plane == pixels();
        const Ref patches = in_place ? Ref() : step_.temporary(floats(at_once * groups * patch));
        const Ref results =
            is_whole_ ? Ref() : step_.temporary(floats(at_once * groups * outputs() * pixels()));
        for (std::int64_t n = 0; n < s().batch; n += at_once) {
            const std::int64_t count = std::min(at_once, s().batch - n);
            const Ref from = plus_elements(source.at, n * source.picture);
            if (!in_place) gather(from, source, count, patches);
            ProductStep product;
            product.shape.batch = groups > 1 ? groups : count;
            product.shape.m = outputs();
            product.shape.n = product.shape.ldb = product.shape.ldc = pixels();
            product.shape.k = product.shape.lda = depth();
            product.shape.batch_stride_a = groups > 1 ? outputs() * depth() : 0;
            product.shape.batch_stride_b = patch;
            product.shape.batch_stride_c = outputs() * pixels();
            if (product.shape.batch == 1)
                product.shape.batch_stride_a = product.shape.batch_stride_b = product.shape.batch_stride_c =
                    0;
            product.a = weight;
            product.b = in_place ? from : patches;
            const Ref y = plus_elements(target(), n * groups * outputs() * plane());
            product.c = is_whole_ ? y : results;
            step_.product(product);
            if (!is_whole_) scatter(results, y, count);
        }
    }

  private:
    const ConvolutionSizes& s() const { return work_.sizes; }
    bool is_transposed() const { return work_.gives == ConvolutionStep::Gives::x; }
    std::int64_t inputs() const { return is_transposed() ? s().filters : s().channels; }  // of a group
    std::int64_t outputs() const { return is_transposed() ? s().channels : s().filters; }
    std::int64_t plane() const { return is_transposed() ? s().plane() : s().pixels(); }
    std::int64_t taps() const { return static_cast<std::int64_t>(rows_.taps.size() * columns_.taps.size()); }
    std::int64_t depth() const { return inputs() * taps(); }
    std::int64_t pixels() const { return rows_.count * columns_.count; }
    Ref target() const { return is_transposed() ? work_.x : work_.y; }

    // patches [pictures, all inputs, taps, pixels]
    void gather(Ref from, const Padded& source, std::int64_t pictures, Ref patches) const {
        std::int64_t tap = 0;
        for (const AxisPhase::Tap& row : rows_.taps)
            for (const AxisPhase::Tap& column : columns_.taps) {
                CopyLoops loops;
                loops.push(pictures * s().groups * inputs(), source.plane, taps() * pixels());
                loops.push(rows_.count, source.row * rows_.source_step, columns_.count);
                loops.push(columns_.count, columns_.source_step, 1);
                step_.copy(loops, plus_elements(from, row.offset * source.row + column.offset),
                           plus_elements(patches, tap++ * pixels()), When::always);
            }
    }

    void scatter(Ref results, Ref to, std::int64_t pictures) const {
        const std::int64_t width = is_transposed() ? s().columns.in : s().columns.out;
        CopyLoops loops;
        loops.push(pictures * s().groups * outputs(), pixels(), plane());
        loops.push(rows_.count, columns_.count, rows_.step * width);
        loops.push(columns_.count, 1, columns_.step);
        step_.copy(loops, results, plus_elements(to, rows_.first * width + columns_.first), When::always);
    }

    StepLowering& step_;
    const ConvolutionStep& work_;
    const AxisPhase &rows_, &columns_;
    const bool is_whole_;  // the only one
};

// Of a group [channels, filters * taps], for the taps of one phase.
Ref transposed_weight(StepLowering& step, const ConvolutionStep& work, const AxisPhase& rows,
                      const AxisPhase& columns) {
    const ConvolutionSizes& s = work.sizes;
    const std::int64_t taps = static_cast<std::int64_t>(rows.taps.size() * columns.taps.size());
    const Ref weight = step.temporary(floats(s.groups * s.channels * s.filters * taps));
    std::int64_t tap = 0;
    for (const AxisPhase::Tap& row : rows.taps)
        for (const AxisPhase::Tap& column : columns.taps) {
            CopyLoops loops;
            loops.push(s.groups, s.filters * s.channels * s.taps(), s.channels * s.filters * taps);
            loops.push(s.channels, s.taps(), s.filters * taps);
            loops.push(s.filters, s.channels * s.taps(), taps);
            step.copy(loops, plus_elements(work.weight, row.kernel * s.columns.taps + column.kernel),
                      plus_elements(weight, tap++), When::always);
        }
    return weight;
}

void add_picture(StepLowering& step, const ConvolutionStep& work) {
    const ConvolutionSizes& s = work.sizes;
    const bool is_transposed = work.gives == ConvolutionStep::Gives::x;
    const AxisPhases rows =
        is_transposed ? transposed_phases(s.rows, step.heap()) : forward_phases(s.rows, step.heap());
    const AxisPhases columns =
        is_transposed ? transposed_phases(s.columns, step.heap()) : forward_phases(s.columns, step.heap());
    const bool is_whole = rows.phases.size() == 1 && columns.phases.size() == 1;
    const std::int64_t inputs = s.groups * (is_transposed ? s.filters : s.channels);
    const Padded source = pad(step, is_transposed ? work.y : work.x, s.batch, inputs, rows, columns);
    bool has_gaps = inputs == 0;
    for (const AxisPhase& row : rows.phases) has_gaps = has_gaps || row.taps.empty();
    for (const AxisPhase& column : columns.phases) has_gaps = has_gaps || column.taps.empty();
    // A pixel that no tap meets is the empty chain.
    if (has_gaps) step.zero(work.x, s.batch * s.groups * s.channels * s.plane());
    for (const AxisPhase& row : rows.phases)
        for (const AxisPhase& column : columns.phases) {
            if (row.taps.empty() || column.taps.empty()) continue;
            const Ref weight = is_transposed ? transposed_weight(step, work, row, column) : work.weight;
            Phase(step, work, row, column, is_whole).add(source, weight);
        }
}

// ---- The weight's gradient -------------------------------------------------------------------------------

// dy [groups * filters, batch * pixels]
Ref pixels_last(StepLowering& step, const ConvolutionStep& work) {
    const ConvolutionSizes& s = work.sizes;
    if (s.batch == 1) return work.y;
    const std::int64_t filters = s.groups * s.filters;
    const Ref dy = step.temporary(floats(s.batch * filters * s.pixels()));
    CopyLoops loops;
    loops.push(s.batch, filters * s.pixels(), s.pixels());
    loops.push(filters, s.pixels(), s.batch * s.pixels());
    loops.push(s.pixels(), 1, 1);
    step.copy(loops, work.y, dy, When::always);
    return dy;
}

void add_weight_gradient(StepLowering& step, const ConvolutionStep& work) {
    const ConvolutionSizes& s = work.sizes;
    const AxisPhases rows = forward_phases(s.rows, step.heap()),
                     columns = forward_phases(s.columns, step.heap());
    const AxisPhase &row = rows.phases[0], &column = columns.phases[0];
    const std::int64_t all = s.batch * s.pixels(), channels = s.groups * s.channels, taps = s.taps();
    const Padded source = pad(step, work.x, s.batch, channels, rows, columns);
    // [all channels, taps, batch * pixels]
    const Ref patches = step.temporary(floats(channels * taps * all));
    std::int64_t tap = 0;
    for (const AxisPhase::Tap& r : row.taps)
        for (const AxisPhase::Tap& c : column.taps) {
            CopyLoops loops;
            loops.push(channels, source.plane, taps * all);
            loops.push(s.batch, source.picture, s.pixels());
            loops.push(row.count, source.row * row.source_step, column.count);
            loops.push(column.count, column.source_step, 1);
            step.copy(loops, plus_elements(source.at, r.offset * source.row + c.offset),
                      plus_elements(patches, tap++ * all), When::always);
        }
    ProductStep product;
    product.shape.batch = s.groups;
    product.shape.m = s.filters;
    product.shape.n = product.shape.ldc = s.channels * taps;
    product.shape.k = product.shape.lda = product.shape.ldb = all;
    product.shape.b_transposed = true;
    if (s.groups > 1) {
        product.shape.batch_stride_a = s.filters * all;
        product.shape.batch_stride_b = s.channels * taps * all;
        product.shape.batch_stride_c = s.filters * s.channels * taps;
    }
    product.a = pixels_last(step, work);
    product.b = patches;
    product.c = work.weight;
    product.accumulates = work.accumulates;
    step.product(product);
}

// ---- The bias --------------------------------------------------------------------------------------------

// y[n][c][p] = y[n][c][p] + bias[c], in place.
void add_bias(StepLowering& step, std::int64_t batch, std::int64_t channels, std::int64_t pixels) {
    LoopSpace loops(step.heap());
    loops.rows = channels;
    loops.columns = pixels;
    loops.outer_rank = 1;
    loops.outer_extent[0] = batch;
    loops.operands.resize(3);
    for (LoopOperand& operand : loops.operands) {
        operand.row_stride = pixels;
        operand.outer_stride[0] = channels * pixels;
    }
    loops.operands[1].access = jit::Access::per_row;
    loops.operands[1].row_stride = 1;
    loops.operands[1].outer_stride[0] = 0;
    const std::pmr::vector<Ref> refs({step.output(), step.input(2), step.output()}, step.heap());
    step.rows(make_bias_addition(step.heap()), refs, loops, RowUse());
}

// The columns of dy with its channels last.
void add_bias_gradient(StepLowering& step) {
    const Shape& dy = step.input_shape(0);
    std::int64_t pixels = 1;
    for (int axis = 2; axis < dy.rank; ++axis) pixels *= dy[axis];
    Ref columns = step.input(0);
    if (pixels > 1 && dy[1] > 1) {
        columns = step.temporary(floats(dy.elements()));
        CopyLoops loops;
        loops.push(dy[0], dy[1] * pixels, dy[1] * pixels);
        loops.push(dy[1], pixels, 1);
        loops.push(pixels, 1, dy[1]);
        step.copy(loops, step.input(0), columns, When::always);
    }
    add_column_sum(step, columns, step.output(), dy[0] * pixels, dy[1]);
}

}  // namespace

namespace {

ConvolutionStep work_of(const StepLowering& step) {
    ConvolutionStep work;
    work.sizes = convolution_form(step.node, step.input_shape(0), step.input_shape(1)).sizes;
    work.x = step.input(0);
    work.weight = step.input(1);
    work.y = step.output(product_output(step.node));
    if (step.node.op == Op::conv_transpose) {
        work.gives = ConvolutionStep::Gives::x;
        std::swap(work.x, work.y);
    } else if (step.node.op == Op::conv_grad_weight) {
        work.gives = ConvolutionStep::Gives::weight;
        std::swap(work.weight, work.y);
        work.accumulates = step.accumulates();
    }
    return work;
}

// Returns whether the epilogue is in it.
bool add_convolution(StepLowering& step, const ConvolutionStep& work) {
    if (step.convolution(work)) return true;
    if (is_depthwise(work))
        add_depthwise(step, work);
    else if (work.gives == ConvolutionStep::Gives::weight)
        add_weight_gradient(step, work);
    else
        add_picture(step, work);
    return false;
}

void add_convolution_with_body(StepLowering& step, ConvolutionStep work) {
    const Ref picture = step.output(product_output(step.node));
    if (has_planes(step)) {
        const ProductBody body = make_planes_of_body(step, picture);
        const PictureEpilogue epilogue = {&body.program, &body.refs, &body.loops};
        work.epilogue = &epilogue;
        if (!add_convolution(step, work)) step.rows(body.program, body.refs, body.loops, RowUse());
        return;
    }
    add_convolution(step, work);
    const ProductBody body = make_rows_of_body(step, picture);
    RowUse use;
    use.counts_rows_over_step = knows_position(step.node);
    step.rows(body.program, body.refs, body.loops, use);
}

}  // namespace

void lower_convolution(StepLowering& step) {
    if (step.node.op == Op::conv_grad_bias) return add_bias_gradient(step);
    const ConvolutionStep work = work_of(step);
    if (!step.node.body.ops.empty()) return add_convolution_with_body(step, work);
    add_convolution(step, work);
    if (step.input_count() < 3) return;
    const Shape& y = step.output_shape();
    add_bias(step, y[0], y[1], y.elements() / (y[0] * y[1]));
}

}  // namespace volta
