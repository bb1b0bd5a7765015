// The timer of a real machine: compiles a product for each contender and runs it on matrices made once.
#pragma once

#include <memory_resource>
#include <vector>

#include "engine/backend/cpu/gemm/kernel_cache.h"
#include "engine/backend/cpu/tuning/product_tuner.h"
#include "engine/backend/cpu/tuning/tuning_table.h"
#include "engine/base/memory.h"

namespace volta::cpu {

class MachineTimer final : public ProductTimer {
  public:
    // Matrices of the product lie on `tensors`; with an epilogue, tuning_stand_in() stands for whatever the
    // product will carry. `pool` has context.machine.threads threads. Where context.request.cache_use says
    // that weights come from DRAM, calls walk over copies of B that take as much of the LLC. Where it
    // keeps B, a run packs it first, outside of the seconds that it returns. Throws OUT_OF_MEMORY.
    MachineTimer(const ProductShape& shape, EpilogueKind epilogue, const CompileContext& context,
                 ThreadPool& pool, std::pmr::memory_resource* tensors);
    ~MachineTimer() override;

    void open(const ProductChoice* contenders, int count) override;
    double run(int contender) noexcept override;
    double elapsed() const noexcept override;

  private:
    // Generated code of the contenders, given back with them: a search makes thousands of kernels.
    struct Code {
        Code(std::pmr::memory_resource* heap, bool refuse) : arena(heap, refuse), cache(heap) {}
        jit::CodeArena arena;
        KernelCache cache;
    };
    void make_epilogue(EpilogueKind epilogue, const CompileContext& context);
    void make_copies();
    void choose_repeats();
    void pack(const Product& product) noexcept;
    float* kept_at(std::int64_t copy) noexcept;
    ProductCall next_call(const Product& product) noexcept;

    const ProductShape shape_;
    CompileContext context_;
    ThreadPool& pool_;
    std::pmr::memory_resource* const tensors_;
    Buffer a_, b_, c_, bias_, sums_, workspace_;
    std::int64_t b_floats_;               // of one copy
    std::int64_t copies_ = 1, turn_ = 0;  // of B; how many calls there were
    Buffer kept_;                         // the copies as one contender packed them
    std::int64_t kept_bytes_ = 0;         // of one, with room for that of every contender
    int packed_ = -1;                     // the contender
    const jit::RowKernel* kernel_ = nullptr;
    jit::RowKernelPtr owned_kernel_;
    void* operands_[3] = {};
    std::int64_t strides_[3] = {};
    Epilogue epilogue_;
    HeapPtr<Code> code_;
    std::pmr::vector<ProductPtr> products_;
    int repeats_ = 1;  // products per timed run, so that the clock's grain does not matter
    double start_;
};

}  // namespace volta::cpu
