#include "engine/backend/cpu/convolution/gradient_products.h"

#include <algorithm>

#include "engine/backend/lower/convolution_phases.h"
#include "engine/base/multiples.h"

namespace volta::cpu {
namespace {

constexpr std::int64_t kLineFloats = 16;
constexpr std::int64_t kFewChannels = 4;
constexpr std::int64_t kCopiedFloats = 1 << 19;  // of copies at once, at least a segment of steps

std::int64_t chunk_of(const define::ConvolutionSizes& s) {
    if (is_pointwise(s)) return s.pixels();
    const std::int64_t rows = s.filters + s.channels * s.taps();
    return std::max<std::int64_t>(kCopiedFloats / rows / kSegment, 1) * kSegment;
}

}  // namespace

bool GradientProducts::fits(const ConvolutionStep& work) {
    const define::ConvolutionSizes& s = work.sizes;
    if (s.batch != 1 || s.groups != 1 || s.pixels() == 0 || s.filters == 0) return false;
    return s.channels > 0 && (s.taps() == 1 || s.channels <= kFewChannels);
}

GradientProducts::GradientProducts(const ConvolutionStep& work, const CompileContext& context)
    : s_(work.sizes),
      workers_(context.machine.threads),
      in_place_(is_pointwise(work.sizes)),
      chunk_(chunk_of(work.sizes)),
      stride_(in_place_ ? chunk_
                        : chunk_ + kLineFloats) {  // rows of copies do not meet in one set of a cache
    ProductShape shape;
    shape.m = s_.filters;
    shape.n = shape.ldc = rows();
    shape.lda = shape.ldb = stride_;
    shape.b_transposed = true;
    const auto product_of = [&](std::int64_t steps) {
        shape.k = steps;
        ProductPtr product = compile_product(shape, nullptr, context);
        workspace_bytes_ = std::max(workspace_bytes_, product->workspace_bytes());
        return product;
    };
    if (s_.pixels() >= chunk_) product_ = product_of(chunk_);
    if (s_.pixels() % chunk_ != 0) last_ = product_of(s_.pixels() % chunk_);
    copy_floats_ = in_place_ ? 0 : all_rows() * stride_;
    workspace_bytes_ += static_cast<std::size_t>(copy_floats_) * sizeof(float);
}

void GradientProducts::run(ThreadPool& pool, const Call& call) const noexcept {
    float* const copies = static_cast<float*>(call.workspace);
    ProductCall product = {};
    product.a = in_place_ ? call.dy : copies;
    product.b = in_place_ ? call.x : copies + s_.filters * stride_;
    product.c = call.weight;
    product.workspace = copies + copy_floats_;
    for (std::int64_t step = 0; step < s_.pixels(); step += chunk_) {
        const std::int64_t end = std::min(step + chunk_, s_.pixels());
        product.into = call.into || step > 0;
        if (!in_place_)
            pool.run(workers_, [&](int worker, int count) noexcept {
                copy_rows(call, {step, end}, part_of(all_rows(), 1, worker, count), copies);
            });
        (end - step == chunk_ ? product_ : last_)->run(pool, product);
    }
}

// Of dy, then of x.
void GradientProducts::copy_rows(const Call& call, Range steps, Range rows, float* to) const noexcept {
    for (std::int64_t row = rows.begin; row < rows.end; ++row) {
        float* const at = to + row * stride_;
        if (row < s_.filters)
            std::copy_n(call.dy + row * s_.pixels() + steps.begin, steps.end - steps.begin, at);
        else
            copy_x(call.x, row - s_.filters, steps, at);
    }
}

// What a tap of a channel sees for some outputs.
void GradientProducts::copy_x(const float* x, std::int64_t row, Range steps, float* to) const noexcept {
    const define::ConvolutionAxis &rows = s_.rows, &columns = s_.columns;
    const std::int64_t tap = row % s_.taps(), width = columns.out;
    const float* const plane = x + row / s_.taps() * s_.plane();
    const std::int64_t shift = columns.input(0, tap % columns.taps);
    // Outputs of a row whose input is inside.
    const std::int64_t inside = std::min(width, shift >= 0 ? 0 : ceil_div(-shift, columns.stride));
    const std::int64_t behind =
        columns.in > shift ? std::min(width, ceil_div(columns.in - shift, columns.stride)) : 0;
    for (std::int64_t step = steps.begin, next = 0; step < steps.end; step = next) {
        const std::int64_t y = step / width, first = step % width;
        const std::int64_t end = std::min<std::int64_t>(width, first + (steps.end - step));
        next = step + end - first;
        const std::int64_t from_row = rows.input(y, tap / columns.taps);
        const bool is_row = rows.is_inside(from_row);
        const std::int64_t begin = is_row ? std::clamp(inside, first, end) : end;
        const std::int64_t stop = is_row ? std::clamp(behind, begin, end) : end;
        const float* const from =
            plane + (begin < stop ? from_row * columns.in + columns.stride * begin + shift : 0);
        to = std::fill_n(to, begin - first, 0.0f);
        if (columns.stride == 1)
            to = std::copy_n(from, stop - begin, to);
        else
            for (std::int64_t c = 0; c < stop - begin; ++c) *to++ = from[c * columns.stride];
        to = std::fill_n(to, end - stop, 0.0f);
    }
}

}  // namespace volta::cpu
