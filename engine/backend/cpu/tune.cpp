#include "engine/backend/cpu/tune.h"

#include "engine/backend/cpu/cpu_backend.h"
#include "engine/backend/cpu/cpu_cache.h"
#include "engine/backend/cpu/product_timer.h"
#include "engine/backend/tuning/tuning_run.h"

namespace volta::cpu {
namespace {

class TuningRun final : public TuningRunOf<TuningEntry> {
  public:
    TuningRun(const TuneRequest& request, const BackendContext& context, CpuCache& cache)
        : TuningRunOf(request, cache.tuning, cache.folder ? &*cache.folder : nullptr, context.heap),
          context_(context) {
        compile_.isa = context.isa;
        compile_.thread_count = context.pool->thread_count();
        compile_.arena = context.arena;
        compile_.cache = &cache.kernels;
        compile_.heap = context.heap;
        for (std::size_t i = 0; i < request.shape_count; ++i)
            add(product_of(request.shapes[i], i), EpilogueKind::none);
        for (std::size_t i = 0; i < request.executable_count; ++i)
            visit_products(
                *request.executables[i],
                [](void* self, const Product& product) {
                    static_cast<TuningRun*>(self)->add(product.shape(), product.epilogue());
                },
                this);
    }

  private:
    TuningKey key_for(const ProductShape& shape, EpilogueKind epilogue) const override {
        return key_of(shape, epilogue, compile_.isa, compile_.thread_count);
    }
    TunerResult tune_product_of(const ProductShape& shape, EpilogueKind epilogue,
                                const TunerOptions& options) override {
        MachineTimer timer(shape, epilogue, compile_, *context_.pool, request_.tensors);
        return tune_product(shape, epilogue == EpilogueKind::rows, compile_, timer, options);
    }

    const BackendContext& context_;
    CompileContext compile_ = {};
};

}  // namespace

void tune(const TuneRequest& request, const BackendContext& context) {
    TuningRun(request, context, *static_cast<CpuCache*>(context.kernel_cache)).run();
}

}  // namespace volta::cpu
