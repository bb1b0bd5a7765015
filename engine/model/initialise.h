// How the parameters of a new model start: drawn by position from the model's seed (docs/numerics.md, 8), so
// that neither threads nor the instruction set show.
#pragma once

#include <memory_resource>

#include "engine/base/cpu_info.h"
#include "engine/base/thread_pool.h"
#include "engine/graph/graph.h"
#include "jitgen/row_kernel.h"

namespace volta {

// What drawing may use. The default is the definition itself, on the calling thread.
struct InitMachine {
    Isa isa = Isa::scalar;
    jit::CodeArena* arena = nullptr;
    ThreadPool* pool = nullptr;
};

class Initialiser final {
  public:
    Initialiser(const InitMachine& machine, std::uint64_t seed, std::pmr::memory_resource* heap)
        : machine_(machine), seed_(seed), heap_(heap) {}

    // Fills `values`, a tensor of this shape; `stream` is the parameter's.
    void fill(float* values, const Shape& shape, const Init& init, std::uint32_t stream);

  private:
    void run(jit::RowKernelPtr& kernel, jit::Program (*make)(std::pmr::memory_resource*), float* values,
             const Shape& shape, const Init& init, std::uint32_t stream);

    InitMachine machine_;
    std::uint64_t seed_;
    std::pmr::memory_resource* heap_;
    jit::RowKernelPtr normal_, uniform_;  // compiled when first needed
};

}  // namespace volta
