#include "engine/backend/cpu/tuning/tune.h"

#include "engine/backend/cpu/cpu_backend.h"
#include "engine/backend/cpu/cpu_cache.h"
#include "engine/backend/cpu/gemm/explain.h"
#include "engine/backend/cpu/tuning/product_timer.h"
#include "engine/backend/tuning/tuning_run.h"

namespace volta::cpu {
namespace {

CompileContext compile_context(const BackendContext& context, CpuCache& cache) {
    return {machine_of(context), {context.arena, &cache.kernels, context.heap}};
}

class TuningRun final : public TuningRunOf<TuningEntry> {
  public:
    TuningRun(const TuneRequest& request, const BackendContext& context, CpuCache& cache)
        : TuningRunOf(request, cache.tuning, cache.folder ? &*cache.folder : nullptr, context.heap),
          context_(context),
          compile_(compile_context(context, cache)) {
        for (std::size_t i = 0; i < request.shape_count; ++i)
            add_use(product_of(request.shapes[i], i), EpilogueKind::none, {});
        for (std::size_t i = 0; i < request.executable_count; ++i)
            visit_products(
                *request.executables[i],
                [](void* self, const Product& product) {
                    static_cast<TuningRun*>(self)->add_use(product.shape(), product.epilogue(),
                                                           product.use());
                },
                this);
    }

  private:
    void add_use(const ProductShape& shape, EpilogueKind epilogue, const ProductUse& use) {
        add(shape, epilogue, key_of(shape, epilogue, compile_.machine.isa, compile_.machine.threads, use));
    }

    // In the state of the plans that will use it: B packed before or not, from the cache or from memory.
    TunerResult tune_product_of(const ProductShape& shape, EpilogueKind epilogue, const TuningKey& key,
                                const TunerOptions& options) override {
        CompileContext compile = compile_;
        compile.request.prepacked = key.prepacked_b;
        compile.request.sums_b = key.sums_b;
        compile.request.cache_use = cache_use_of(key.cache);
        MachineTimer timer(shape, epilogue, compile, *context_.pool, request_.tensors);
        return tune_product(shape, epilogue == EpilogueKind::rows, compile, timer, options);
    }

    void describe(const TuningKey& key, TuneReport& report) const override {
        report.keeps_b = key.prepacked_b;
        report.from_memory = key.cache > 0;
    }

    const BackendContext& context_;
    CompileContext compile_;
};

}  // namespace

void tune(const TuneRequest& request, const BackendContext& context) {
    TuningRun(request, context, *static_cast<CpuCache*>(context.kernel_cache)).run();
}

void explain(const ExplainRequest& request, const BackendContext& context, std::pmr::string& text) {
    CpuCache& cache = *static_cast<CpuCache*>(context.kernel_cache);
    CompileContext compile = compile_context(context, cache);
    compile.tuned = &cache.tuned;
    compile.request.prepacked = request.packed_once;
    compile.request.cache_use = request.from_memory ? cache_use_of(kMostCacheClass) : 0;
    compile.overrides.tile = context.forced_tile;
    explain_product(product_of(request.shape, 0), compile, text);
}

}  // namespace volta::cpu
