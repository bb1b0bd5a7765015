#include "engine/backend/cpu/product_swap.h"

#include <algorithm>
#include <cstdio>

#include "engine/backend/cpu/gemm_kernels.h"
#include "engine/backend/cpu/kernel_cache.h"
#include "engine/backend/cpu/product_plan.h"
#include "engine/base/multiples.h"

namespace volta::cpu {
namespace {

constexpr std::int64_t kRowsAtOnce = 16, kColumnsPerBlock = 8;  // of jit::TransposeFunction
constexpr std::int64_t kEpilogueColumns = 64;                   // of C, finished while they are in cache

// to[j][i] = from[i][j] for i < rows, j < columns.
void transpose(jit::TransposeFunction blocks, const float* from, std::int64_t from_stride, std::int64_t rows,
               std::int64_t columns, float* to, std::int64_t to_stride) {
    for (std::int64_t i = 0; i < rows; i += kRowsAtOnce) {
        const std::int64_t high = std::min(kRowsAtOnce, rows - i);
        std::int64_t j = 0;
        if (high == kRowsAtOnce) {
            j = columns / kColumnsPerBlock * kColumnsPerBlock;
            blocks(from + i * from_stride, from_stride, to + i, j / kColumnsPerBlock, to_stride);
        }
        for (; j < columns; ++j)
            for (std::int64_t r = i; r < i + high; ++r) to[j * to_stride + r] = from[r * from_stride + j];
    }
}

ProductShape swapped(const ProductShape& shape) {
    ProductShape other;
    other.m = shape.n;
    other.n = shape.m;
    other.k = shape.k;
    other.b_transposed = true;
    other.lda = shape.ldb;
    other.ldb = shape.lda;
    other.ldc = round_up(shape.m, kRowsAtOnce);
    return other;
}

// B streams by as rows of A do: each of them once, in a tile as wide as the few columns, and of fewer rows
// than a set of L1 has lines, because they often lie a power of two apart.
ProductPtr compile_inner(const ProductShape& shape, CompileContext context) {
    ProductChoice choice;
    if (context.isa == Isa::avx512) choice.tile = 1 + tile_row(*find_tile("f32_gemm_6x64_avx512"));
    context.forced_choice = &choice;
    context.far_a = true;
    return compile_product(shape, nullptr, context);
}

class SwappedProduct final : public Product {
  public:
    SwappedProduct(const ProductShape& shape, const jit::RowKernel* epilogue, const CompileContext& context)
        : shape_(shape),
          stride_(swapped(shape).ldc),
          inner_(compile_inner(swapped(shape), context)),
          transpose_(context.cache->transposes(context.isa, *context.arena).of_16),
          epilogue_(epilogue),
          workers_(std::min<std::int64_t>(context.thread_count, parts())) {
        std::snprintf(name_, sizeof name_, "%.200s swapped", inner_->kernel_name());
        inner_bytes_ = round_up(static_cast<std::int64_t>(inner_->workspace_bytes()), kTensorAlignment);
        result_bytes_ = shape.n * stride_ * static_cast<std::int64_t>(sizeof(float));
        if (epilogue)
            scratch_bytes_ = round_up(
                static_cast<std::int64_t>(epilogue->scratch_bytes(kEpilogueColumns)) + 1, kTensorAlignment);
    }

    std::size_t workspace_bytes() const noexcept override {
        return static_cast<std::size_t>(inner_bytes_ + result_bytes_ + scratch_bytes_ * workers_);
    }
    std::size_t kept_bytes() const noexcept override { return 0; }
    void keep(ThreadPool&, const float*, float*) const noexcept override {}
    const char* kernel_name() const noexcept override { return name_; }
    const ProductShape& shape() const noexcept override { return shape_; }
    EpilogueKind epilogue() const noexcept override { return epilogue_kind(epilogue_); }

    void run(ThreadPool& pool, const ProductCall& call) const noexcept override {
        auto* const workspace = static_cast<unsigned char*>(call.workspace);
        float* const result = reinterpret_cast<float*>(workspace + inner_bytes_);
        if (call.into)
            over_columns(pool, [&](int, std::int64_t begin, std::int64_t end) {
                transpose(transpose_, call.c + begin, shape_.ldc, shape_.m, end - begin,
                          result + begin * stride_, stride_);
            });
        inner_->run(pool, {call.b, call.a, result, call.into, workspace, nullptr});
        over_columns(pool, [&](int worker, std::int64_t begin, std::int64_t end) {
            transpose(transpose_, result + begin * stride_, stride_, end - begin, shape_.m, call.c + begin,
                      shape_.ldc);
            if (call.epilogue && call.epilogue->kernel)
                jit::run_block(*call.epilogue->kernel, call.epilogue->args, 0, shape_.m, begin, end,
                               workspace + inner_bytes_ + result_bytes_ + worker * scratch_bytes_);
        });
    }

  private:
    std::int64_t parts() const { return (shape_.n + kEpilogueColumns - 1) / kEpilogueColumns; }

    // body(worker, begin, end) for all columns of C, cut into groups that stay in cache.
    template <class Body>
    void over_columns(ThreadPool& pool, Body body) const noexcept {
        pool.run(static_cast<int>(workers_), [&](int worker, int count) noexcept {
            const Range mine = part_of(parts(), 1, worker, count);
            for (std::int64_t part = mine.begin; part < mine.end; ++part) {
                const std::int64_t begin = part * kEpilogueColumns;
                body(worker, begin, std::min(begin + kEpilogueColumns, shape_.n));
            }
        });
    }

    const ProductShape shape_;
    const std::int64_t stride_;  // of the rows of C'
    const ProductPtr inner_;
    const jit::TransposeFunction transpose_;
    const jit::RowKernel* const epilogue_;
    const std::int64_t workers_;
    std::int64_t inner_bytes_ = 0, result_bytes_ = 0, scratch_bytes_ = 0;
    char name_[256];
};

}  // namespace

// Packing B costs n k, packing A and turning C around m k and twice m n; the last is the slowest per element.
bool gains_by_swap(const ProductShape& shape) {
    const double m = static_cast<double>(shape.m), n = static_cast<double>(shape.n),
                 k = static_cast<double>(shape.k);
    return shape.batch == 1 && shape.b_transposed && !shape.a_transposed && shape.m > 1 &&
           m * k + 1.5 * m * n <= 0.5 * n * k;
}

ProductPtr compile_swapped(const ProductShape& shape, const jit::RowKernel* epilogue,
                           const CompileContext& context) {
    CompileContext inner = context;
    inner.sum_b = false;  // B is its A
    return ProductPtr(make_on<SwappedProduct>(context.heap, shape, epilogue, inner).release(),
                      ProductDelete{context.heap, sizeof(SwappedProduct), alignof(SwappedProduct)});
}

}  // namespace volta::cpu
