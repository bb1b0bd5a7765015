#include "engine/backend/cpu/gemm/narrow_n.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "engine/backend/cpu/gemm/kernel_cache.h"
#include "engine/backend/cpu/gemm/pack.h"
#include "engine/backend/cpu/gemm/tiles.h"
#include "engine/base/multiples.h"

namespace volta::cpu {
namespace {

constexpr std::int64_t kFewestRows = 64, kFewestSteps = 16, kMostColumns = 128;
// Of an A of rows, which the kernels of few rows turn round in registers (skinny_dot.h): more columns are
// faster as columns of a tile, and fewer steps than these do not make good what each output costs at its end.
constexpr std::int64_t kMostColumnsOfRows = 6, kMostColumnsOfAvx2Rows = 3, kStepsPerColumn = 12;
constexpr double kTransposeCycles = 0.75;  // of an element of C
// Rows of C that are computed, transposed and finished together, and where threads meet.
constexpr std::int64_t kSliceRows = 1024, kCutRows = 64;
constexpr double kStepsForThread = 200000;  // multiply-adds: what starting a second thread costs

class NarrowNProduct final : public Product {
  public:
    NarrowNProduct(const ProductShape& shape, const jit::RowKernel* epilogue, const CompileContext& context)
        : given_(shape),
          shape_(folded(shape)),
          epilogue_(epilogue),
          of_16_(context.cache->transposes(context.machine.isa, *context.arena).of_16),
          is_column_(shape_.n == 1 && shape_.ldc == 1),
          copies_b_(!shape_.a_transposed && !shape_.b_transposed && (shape_.n > 1 || shape_.ldb > 1)) {
        choose_slices(context.machine.threads);
        c_tile_stride_ = is_column_ ? slice_rows_ : round_up(slice_rows_, kLine) + kLine;
        slice_ = compile_slice(slice_rows_, context);
        if (shape_.m % slice_rows_ > 0) last_ = compile_slice(shape_.m % slice_rows_, context);
        std::snprintf(name_, sizeof name_, "%.200s for few columns", slice_->kernel_name());
        inner_floats_ = floats_for(
            std::max(slice_->workspace_bytes(), last_ ? last_->workspace_bytes() : std::size_t{0}));
        b_floats_ = copies_b_ ? round_up(shape_.n * shape_.k, kLine) : 0;
        c_floats_ = is_column_ ? 0 : shape_.n * c_tile_stride_;
        worker_floats_ = inner_floats_ + b_floats_ + c_floats_ +
                         (epilogue_ ? floats_for(epilogue_->scratch_bytes(shape_.n)) : 0);
    }

    std::size_t workspace_bytes() const noexcept override {
        return static_cast<std::size_t>(workers_ * worker_floats_) * sizeof(float);
    }
    std::size_t kept_bytes() const noexcept override { return 0; }
    void keep(ThreadPool&, const float*, float*) const noexcept override {}
    const char* kernel_name() const noexcept override { return name_; }
    const ProductShape& shape() const noexcept override { return given_; }
    EpilogueKind epilogue() const noexcept override { return epilogue_kind(epilogue_); }
    void describe(ScheduleText& text) const noexcept override {
        text.add("transposed slice_rows=%lld workers=%d b=%s c=%s of: ", static_cast<long long>(slice_rows_),
                 workers_, copies_b_ ? "transposed" : "in_place", is_column_ ? "in_place" : "transposed");
        slice_->describe(text);
        if (last_) {
            text.add(" | last: ");
            last_->describe(text);
        }
    }

    void run(ThreadPool& pool, const ProductCall& call) const noexcept override {
        const std::int64_t slices = ceil_div(shape_.m, slice_rows_);
        pool.run_stealing(workers_, slices, 1, [&](int worker, ThreadPool::WorkItems& items) noexcept {
            float* const workspace = static_cast<float*>(call.workspace) + worker * worker_floats_;
            bool has_b = !copies_b_;
            for (Range piece; items.next(&piece);) {
                // Its own copy: what the other cores wrote comes more slowly than it is written again.
                if (!std::exchange(has_b, true))
                    transpose(call.b, shape_.ldb, shape_.k, shape_.n, of_16_, workspace + inner_floats_,
                              shape_.k);
                for (std::int64_t slice = piece.begin; slice < piece.end; ++slice)
                    run_slice(pool, call, slice * slice_rows_, workspace);
            }
        });
    }

  private:
    static constexpr std::int64_t kLine = kTensorAlignment / sizeof(float);

    static std::int64_t floats_for(std::size_t bytes) {
        return round_up(static_cast<std::int64_t>((bytes + sizeof(float) - 1) / sizeof(float)), kLine);
    }

    void choose_slices(std::int64_t threads) {
        const double steps = static_cast<double>(shape_.m * shape_.n) * static_cast<double>(shape_.k);
        const std::int64_t shares = steps < kStepsForThread ? 1 : threads;
        const std::int64_t slices = shares * ceil_div(shape_.m, shares * kSliceRows);
        slice_rows_ = std::min(round_up(ceil_div(shape_.m, slices), kCutRows), shape_.m);
        workers_ = static_cast<int>(std::min(shares, ceil_div(shape_.m, slice_rows_)));
    }

    // Of so many rows: C' = B' A', by the thread that has them.
    ProductPtr compile_slice(std::int64_t rows, CompileContext context) const {
        const bool is_row = shape_.n == 1 && shape_.ldb == 1;  // B' as B lies
        ProductShape turned;
        turned.m = shape_.n;
        turned.n = rows;
        turned.k = shape_.k;
        turned.a_transposed = !shape_.b_transposed && !copies_b_ && !is_row;
        turned.b_transposed = !shape_.a_transposed;
        turned.lda = copies_b_ || is_row ? shape_.k : shape_.ldb;
        turned.ldb = shape_.lda;
        turned.ldc = c_tile_stride_;
        context.machine.threads = 1;
        context.prepacked = context.sum_b = false;
        context.cache_use = 0;  // A is no weight: what these fill says nothing of it
        return compile_product(turned, nullptr, context);
    }

    void run_slice(ThreadPool& pool, const ProductCall& call, std::int64_t begin, float* workspace) const {
        const std::int64_t rows = std::min(slice_rows_, shape_.m - begin);
        float* const rows_of_b = workspace + inner_floats_;
        float* const turned = rows_of_b + b_floats_;
        float* const c = call.c + begin * shape_.ldc;
        if (call.into && !is_column_)
            transpose(c, shape_.ldc, rows, shape_.n, of_16_, turned, c_tile_stride_);
        ProductCall inner = {};
        inner.a = copies_b_ ? rows_of_b : call.b;
        inner.b = call.a + begin * (shape_.a_transposed ? 1 : shape_.lda);
        inner.c = is_column_ ? c : turned;
        inner.into = call.into;
        inner.workspace = workspace;
        (rows == slice_rows_ ? slice_ : last_)->run(pool, inner);
        if (!is_column_) transpose(turned, c_tile_stride_, shape_.n, rows, of_16_, c, shape_.ldc);
        if (call.epilogue && call.epilogue->kernel)
            jit::run_block(*call.epilogue->kernel, call.epilogue->args, begin, begin + rows, 0, shape_.n,
                           turned + c_floats_);
    }

    const ProductShape given_, shape_;
    const jit::RowKernel* const epilogue_;
    const jit::TransposeFunction of_16_;
    const bool is_column_;                             // C itself is its transpose
    const bool copies_b_;                              // an A of rows meets rows of B', or its only one
    std::int64_t slice_rows_ = 0, c_tile_stride_ = 0;  // the latter from row to row of a slice's C'
    int workers_ = 1;
    ProductPtr slice_, last_;  // last_: of fewer rows, NULL where there are none
    std::int64_t inner_floats_ = 0, b_floats_ = 0, c_floats_ = 0;
    std::int64_t worker_floats_ = 0;  // these, then the epilogue's scratch
    char name_[256];
};

// Of all rows of C [m, n], a step of k.
double step_cycles_of(std::int64_t m, std::int64_t n, const CompileContext& context) {
    return block_cycles(context.machine, select_tile(context, m, n, false, true), m, n);
}

}  // namespace

// An A of rows is transposed as it is read, which takes as long as some columns do, so that only few gain.
// One of columns is read as it lies, and gains wherever its own columns leave more of their vectors empty.
bool gains_by_narrow_n(const ProductShape& given, const CompileContext& context) {
    const ProductShape shape = folded(given);
    if (shape.batch != 1 || shape.n < 1 || shape.k < 1 || shape.m < kFewestRows || shape.m <= shape.n)
        return false;
    if (!shape.a_transposed) {
        const std::int64_t most =
            context.machine.isa == Isa::avx512 ? kMostColumnsOfRows : kMostColumnsOfAvx2Rows;
        return shape.n <= most && shape.k >= std::max(kFewestSteps, kStepsPerColumn * shape.n);
    }
    const double transposing =
        kTransposeCycles * static_cast<double>(shape.m * shape.n) / static_cast<double>(shape.k);
    return shape.n <= kMostColumns && step_cycles_of(shape.n, shape.m, context) + transposing <
                                          0.95 * step_cycles_of(shape.m, shape.n, context);
}

ProductPtr compile_narrow_n(const ProductShape& shape, const jit::RowKernel* epilogue,
                            const CompileContext& context) {
    return as_product(make_on<NarrowNProduct>(context.heap, shape, epilogue, context));
}

}  // namespace volta::cpu
