// The adapter of all algorithms to the transposed product, C' = B' A': fma(a, b, c) is fma(b, a, c), so it
// has the same bits. With few rows and a large B that is stored transposed, B is then read in place, row by
// row, and only A and C, which are small, change their order. With few columns a vector computes 16 rows of C
// at a step, where one of C's own columns would fill a part of it.
#include <algorithm>
#include <utility>

#include "engine/backend/cpu/gemm/kernel_cache.h"
#include "engine/backend/cpu/gemm/pack.h"
#include "engine/backend/cpu/gemm/product.h"
#include "engine/base/multiples.h"

namespace volta::cpu {
namespace {

ProductShape swapped(const ProductShape& shape) {
    ProductShape other;
    other.m = shape.n;
    other.n = shape.m;
    other.k = shape.k;
    other.b_transposed = true;
    other.lda = shape.ldb;
    other.ldb = shape.lda;
    other.ldc = shape.ldc;
    return other;
}

// B streams by as rows of A do: each of them once, in a tile as wide as the few columns, and of fewer rows
// than a set of L1 has lines, because they often lie a power of two apart.
ProductPtr compile_inner(const Order& order) {
    CompileContext context = order.context;
    ProductChoice choice;
    if (context.machine.isa == Isa::avx512) choice.tile = 1 + tile_row(*find_tile("f32_gemm_6x64_avx512"));
    context.overrides.choice = &choice;
    context.request.sums_b = false;  // B is its A
    context.request.transposed_c = true;
    return compile_product(swapped(order.given), order.epilogue, context);
}

// Tiles of C' are transposed into C.
class TransposedTiles final : public Product {
  public:
    explicit TransposedTiles(const Order& order)
        : Product(order.given, order.problem, order.machine, order.schedule, order.epilogue),
          inner_(compile_inner(order)) {
        set_name("%.200s swapped", inner_->kernel_name());
        workspace_bytes_ = inner_->workspace_bytes();
    }

    void describe(ScheduleText& text) const noexcept override {
        Product::describe(text);
        inner_->describe(text);
    }
    void run(ThreadPool& pool, const ProductCall& call) const noexcept override {
        ProductCall swapped = call;
        std::swap(swapped.a, swapped.b);
        inner_->run(pool, swapped);
    }

  private:
    const ProductPtr inner_;
};

// Slices of C's rows are computed as columns of C', by the thread that has them.
class TransposedSlices final : public Product {
  public:
    explicit TransposedSlices(const Order& order)
        : Product(order.given, order.problem, order.machine, order.schedule, order.epilogue),
          of_16_(order.context.compiler.cache->transposes(isa_, *order.context.compiler.arena).of_16),
          is_column_(problem_.shape.n == 1 && problem_.shape.ldc == 1),
          copies_b_(schedule_.b == Packing::per_call) {
        const ProductShape& shape = problem_.shape;
        const std::int64_t rows = schedule_.slice_rows;
        c_tile_stride_ = is_column_ ? rows : round_up(rows, kLine) + kLine;
        slice_ = compile_slice(rows, order.context);
        if (shape.m % rows > 0) last_ = compile_slice(shape.m % rows, order.context);
        set_name("%.200s for few columns", slice_->kernel_name());
        inner_floats_ = floats_for(
            std::max(slice_->workspace_bytes(), last_ ? last_->workspace_bytes() : std::size_t{0}));
        b_floats_ = copies_b_ ? round_up(shape.n * shape.k, kLine) : 0;
        c_floats_ = is_column_ ? 0 : shape.n * c_tile_stride_;
        worker_floats_ =
            inner_floats_ + b_floats_ + c_floats_ + (epilogue_ ? floats_for(scratch_bytes(shape.n)) : 0);
        workspace_bytes_ = static_cast<std::size_t>(schedule_.workers * worker_floats_) * sizeof(float);
    }

    void describe(ScheduleText& text) const noexcept override {
        Product::describe(text);
        slice_->describe(text);
        if (!last_) return;
        text.add(" | last: ");
        last_->describe(text);
    }

    void run(ThreadPool& pool, const ProductCall& call) const noexcept override {
        const std::int64_t slices = ceil_div(problem_.shape.m, schedule_.slice_rows);
        pool.run_stealing(
            schedule_.workers, slices, 1, [&](int worker, ThreadPool::WorkItems& items) noexcept {
                float* const workspace = static_cast<float*>(call.workspace) + worker * worker_floats_;
                bool has_b = !copies_b_;
                for (Range piece; items.next(&piece);) {
                    // Its own copy: what the other cores wrote comes more slowly than it is written again.
                    if (!std::exchange(has_b, true))
                        transpose(call.b, problem_.shape.ldb, problem_.shape.k, problem_.shape.n, of_16_,
                                  workspace + inner_floats_, problem_.shape.k);
                    for (std::int64_t slice = piece.begin; slice < piece.end; ++slice)
                        run_slice(pool, call, slice * schedule_.slice_rows, workspace);
                }
            });
    }

  private:
    static constexpr std::int64_t kLine = kTensorAlignment / sizeof(float);

    static std::int64_t floats_for(std::size_t bytes) {
        return round_up(static_cast<std::int64_t>((bytes + sizeof(float) - 1) / sizeof(float)), kLine);
    }

    // Of so many rows: C' = B' A', by the thread that has them.
    ProductPtr compile_slice(std::int64_t rows, const CompileContext& given) const {
        const bool is_row = problem_.shape.n == 1 && problem_.shape.ldb == 1;  // B' as B lies
        ProductShape transposed;
        transposed.m = problem_.shape.n;
        transposed.n = rows;
        transposed.k = problem_.shape.k;
        transposed.a_transposed = !problem_.shape.b_transposed && !copies_b_ && !is_row;
        transposed.b_transposed = !problem_.shape.a_transposed;
        transposed.lda = copies_b_ || is_row ? problem_.shape.k : problem_.shape.ldb;
        transposed.ldb = problem_.shape.lda;
        transposed.ldc = c_tile_stride_;
        CompileContext context = given;
        context.machine.threads = 1;
        context.request = Request();  // A is no weight: what these fill says nothing of it
        return compile_product(transposed, nullptr, context);
    }

    void run_slice(ThreadPool& pool, const ProductCall& call, std::int64_t begin, float* workspace) const {
        const std::int64_t rows = std::min(schedule_.slice_rows, problem_.shape.m - begin);
        float* const rows_of_b = workspace + inner_floats_;
        float* const c_tile = rows_of_b + b_floats_;
        float* const c = call.c + begin * problem_.shape.ldc;
        if (call.into && !is_column_)
            transpose(c, problem_.shape.ldc, rows, problem_.shape.n, of_16_, c_tile, c_tile_stride_);
        ProductCall inner = {};
        inner.a = copies_b_ ? rows_of_b : call.b;
        inner.b = call.a + begin * (problem_.shape.a_transposed ? 1 : problem_.shape.lda);
        inner.c = is_column_ ? c : c_tile;
        inner.into = call.into;
        inner.workspace = workspace;
        (rows == schedule_.slice_rows ? slice_ : last_)->run(pool, inner);
        if (!is_column_)
            transpose(c_tile, c_tile_stride_, problem_.shape.n, rows, of_16_, c, problem_.shape.ldc);
        run_epilogue(call, begin, begin + rows, 0, problem_.shape.n, c_tile + c_floats_);
    }

    const jit::TransposeFunction of_16_;
    const bool is_column_;            // C itself is its transpose
    const bool copies_b_;             // an A of rows meets rows of B', or its only one
    std::int64_t c_tile_stride_ = 0;  // from row to row of a slice's C'
    ProductPtr slice_, last_;         // last_: of fewer rows, NULL where there are none
    std::int64_t inner_floats_ = 0, b_floats_ = 0, c_floats_ = 0;
    std::int64_t worker_floats_ = 0;  // these, then the epilogue's scratch
};

}  // namespace

ProductPtr compile_transposed(const Order& order) {
    std::pmr::memory_resource* const heap = order.context.compiler.heap;
    if (order.schedule.transposed == Transposed::c_tiles)
        return as_product(make_on<TransposedTiles>(heap, order));
    return as_product(make_on<TransposedSlices>(heap, order));
}

}  // namespace volta::cpu
