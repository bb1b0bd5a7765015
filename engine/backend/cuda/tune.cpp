#include "engine/backend/cuda/tune.h"

#include "engine/backend/cuda/executable.h"
#include "engine/backend/cuda/product_timer.h"
#include "engine/backend/tuning/tuning_run.h"

namespace volta::cuda {
namespace {

class TuningRun final : public TuningRunOf<TuningEntry> {
  public:
    TuningRun(const TuneRequest& request, Level level, Gpu& gpu, KernelStore& store, TuningTable& table,
              const TuningFolder* folder, std::pmr::memory_resource* heap)
        : TuningRunOf(request, table, folder, heap), gpu_(gpu), kernels_(store, heap), heap_(heap) {
        for (std::size_t i = 0; i < request.shape_count; ++i) {
            const ProductShape shape = product_of(request.shapes[i], i);
            if (level != Level::strict && !streams_b(shape, DType::f32))
                fail(VOLTA_UNSUPPORTED,
                     "shape %zu: products of %lld rows are cuBLASLt's at level %s, and it chooses by itself; "
                     "at level strict they can be tuned",
                     i, static_cast<long long>(shape.m), level_name(level));
            add(shape, EpilogueKind::none, key_of(shape, false));
        }
        for (std::size_t i = 0; i < request.executable_count; ++i)
            visit_products(
                *request.executables[i],
                [](void* self, const Product& product) {
                    if (is_stored(product.b())) return;  // there is one way
                    static_cast<TuningRun*>(self)->add(
                        product.shape(), product.has_epilogue() ? EpilogueKind::blocks : EpilogueKind::none,
                        key_of(product.shape(), product.has_epilogue()));
                },
                this);
    }

  private:
    TunerResult tune_product_of(const ProductShape& shape, EpilogueKind epilogue, const TuningKey&,
                                const TunerOptions& options) override {
        const Contenders contenders = contenders_of(shape, gpu_.facts().multiprocessors);
        DeviceTimer timer(shape, epilogue != EpilogueKind::none, contenders, gpu_, kernels_, heap_,
                          request_.tensors);
        return tune_product(contenders, timer, options);
    }

    Gpu& gpu_;
    KernelBatch kernels_;  // of contenders
    std::pmr::memory_resource* heap_;
};

}  // namespace

void tune(const TuneRequest& request, Level level, Gpu& gpu, KernelStore& store, TuningTable& table,
          const TuningFolder* folder, std::pmr::memory_resource* heap) {
    TuningRun(request, level, gpu, store, table, folder, heap).run();
}

}  // namespace volta::cuda
