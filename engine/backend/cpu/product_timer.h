// The timer of a real machine: compiles a product for each contender and runs it on matrices made once.
#pragma once

#include <memory_resource>
#include <vector>

#include "engine/backend/cpu/kernel_cache.h"
#include "engine/backend/cpu/product_tuner.h"
#include "engine/backend/cpu/tuning_table.h"
#include "engine/base/memory.h"

namespace volta::cpu {

class MachineTimer final : public ProductTimer {
  public:
    // Matrices of the product lie on `tensors`; with an epilogue, tuning_stand_in() stands for whatever the
    // product will carry. `pool` has context.thread_count threads. Throws OUT_OF_MEMORY.
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
    void choose_repeats();

    const ProductShape shape_;
    CompileContext context_;
    ThreadPool& pool_;
    std::pmr::memory_resource* const tensors_;
    Buffer a_, b_, c_, bias_, workspace_;
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
