#include "engine/backend/cpu/gemm/prepacked_row.h"

#include <algorithm>

#include "engine/backend/cpu/gemm/kernel_cache.h"
#include "engine/backend/cpu/gemm/pack.h"
#include "engine/backend/cpu/gemm/packed_weights.h"
#include "engine/backend/cpu/gemm/plan.h"
#include "engine/base/multiples.h"
#include "engine/numerics/stored_weights.h"

namespace volta::cpu {
namespace {

static_assert(jit::kPanel == kStoredPanel, "packed B lies as f32_panels do");

class PrepackedRowProduct final : public Product {
  public:
    PrepackedRowProduct(const ProductShape& shape, const jit::RowKernel* epilogue,
                        const CompileContext& context)
        : shape_(shape),
          transposes_(shape.b_transposed ? context.cache->transposes(context.machine.isa, *context.arena)
                                         : jit::TransposeFunctions()),
          inner_(compile_packed_weight_product(of_panels(shape), DType::f32_panels, epilogue, context)) {}

    std::size_t workspace_bytes() const noexcept override { return inner_->workspace_bytes(); }
    std::size_t kept_bytes() const noexcept override {
        return static_cast<std::size_t>(packed_floats(shape_.n, shape_.k)) * sizeof(float);
    }
    void keep(ThreadPool& pool, const float* b, float* kept) const noexcept override {
        pool.run(pool.thread_count(), [&](int worker, int workers) noexcept {
            const Range mine = part_of(shape_.n, jit::kPanel, worker, workers);
            if (mine.begin >= mine.end) return;
            pack_b(b + mine.begin * (shape_.b_transposed ? shape_.ldb : 1), shape_.ldb, shape_.b_transposed,
                   mine.end - mine.begin, shape_.k, transposes_, kPanelWidths, kept + mine.begin * shape_.k);
        });
    }
    const char* kernel_name() const noexcept override { return inner_->kernel_name(); }
    const ProductShape& shape() const noexcept override { return shape_; }
    EpilogueKind epilogue() const noexcept override { return inner_->epilogue(); }
    void describe(ScheduleText& text) const noexcept override { inner_->describe(text); }

    void run(ThreadPool& pool, const ProductCall& call) const noexcept override {
        ProductCall inner = call;
        inner.stored = call.kept;
        inner_->run(pool, inner);
    }

  private:
    static ProductShape of_panels(ProductShape shape) {
        shape.b_transposed = true;
        shape.ldb = shape.k;
        return shape;
    }

    const ProductShape shape_;
    const jit::TransposeFunctions transposes_;
    const ProductPtr inner_;
};

}  // namespace

// From a cache, a tile that multiplies by what it loads is a sixth faster.
bool gains_by_prepacked_row(const ProductShape& shape, const CompileContext& context) {
    return has_plain_row(shape) && shape.batch == 1 && shape.k > 0 &&
           b_is_in_dram(context, shape, kMostCacheUseOfPanels);
}

ProductPtr compile_prepacked_row(const ProductShape& shape, const jit::RowKernel* epilogue,
                                 const CompileContext& context) {
    return as_product(make_on<PrepackedRowProduct>(context.heap, shape, epilogue, context));
}

}  // namespace volta::cpu
