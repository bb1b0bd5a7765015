// Products on the CPU: C = A B as segmented chains (docs/numerics.md, 2), packed, blocked and split over
// threads. Everything here is free to choose tile, blocks, order and threads: none of it changes a bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>

#include "engine/backend/cpu/gemm/choice.h"
#include "engine/backend/cpu/gemm/machine.h"
#include "engine/backend/cpu/gemm/schedule_text.h"
#include "engine/backend/cpu/tuning/tuning_table.h"
#include "engine/backend/lower/problem_shapes.h"
#include "engine/base/cpu_info.h"
#include "engine/base/memory.h"
#include "engine/base/thread_pool.h"
#include "jitgen/code.h"
#include "jitgen/row_kernel.h"

namespace volta::cpu {

// What runs on each finished block of C while it is in cache: operand 0 of the kernel is C itself (full, in
// and out of place as its program says); the others are as in jit::RowArgs, for the whole of C (one batch
// entry; with batch > 1 rows run over batch * m). NULL kernel: nothing.
struct Epilogue {
    const jit::RowKernel* kernel = nullptr;
    jit::RowArgs args = {};
};

struct ProductCall {
    const float* a;
    const float* b;
    float* c;
    bool into;        // C holds the operand `into`: c + first segment; else the first segment is stored
    void* workspace;  // workspace_bytes of the plan, 64-byte aligned
    const Epilogue* epilogue;     // may be NULL
    const float* kept = nullptr;  // what keep() has packed, where the product keeps B
    float* sums =
        nullptr;  // [n], the column sums of B, where the product computes them; `into` is theirs too
    const void* stored = nullptr;  // B as a packed weight, in the place of b (packed_weights.h)
};

EpilogueKind epilogue_kind(const jit::RowKernel* kernel);

// A product resolved to kernels and blocks when a plan is made. Immutable; run() is noexcept and allocates
// nothing.
class Product {
  public:
    virtual ~Product() = default;
    virtual std::size_t workspace_bytes()
        const noexcept = 0;  // packed panels, scratch tiles, epilogue scratch
    virtual void run(ThreadPool& pool, const ProductCall& call) const noexcept = 0;
    // B packed once, for calls that read it from there: kept_bytes of memory, 0 where the product does not
    // keep it.
    virtual std::size_t kept_bytes() const noexcept = 0;
    virtual void keep(ThreadPool& pool, const float* b, float* kept) const noexcept = 0;
    // "f32_gemm_8x48_avx512", and what else was chosen: "f32_gemm_8x48_avx512 k_block=128 pack_b=no"
    virtual const char* kernel_name() const noexcept = 0;
    virtual const ProductShape& shape() const noexcept = 0;  // as it was compiled for
    virtual EpilogueKind epilogue() const noexcept = 0;
    // All that was decided about it, in words (gemm/schedule_text.h): for tests and people.
    virtual void describe(ScheduleText& text) const noexcept = 0;
    // Whether it computes the column sums of B that were asked for; some ways through a product see no packed
    // B, and leave them to their caller.
    virtual bool sums_b() const noexcept { return false; }
    // How its plan uses it: what tuning has to time.
    const ProductUse& use() const noexcept { return use_; }
    void set_use(const ProductUse& use) noexcept { use_ = use; }

  private:
    ProductUse use_;
};
struct ProductDelete {
    std::pmr::memory_resource* heap = nullptr;
    std::size_t size = 0, alignment = 0;
    void operator()(Product* product) const noexcept {
        product->~Product();
        heap->deallocate(product, size, alignment);
    }
};
using ProductPtr = std::unique_ptr<Product, ProductDelete>;

template <class Made>
ProductPtr as_product(HeapPtr<Made> made) noexcept {
    std::pmr::memory_resource* const heap = made.get_deleter().heap;
    return ProductPtr(made.release(), ProductDelete{heap, sizeof(Made), alignof(Made)});
}

// What compiling needs from its context. Compiled kernels are cached by the KernelCache (kernels of the same
// description are emitted once).
class KernelCache;
struct CompileContext {
    Machine machine;
    jit::CodeArena* arena;
    KernelCache* cache;
    std::pmr::memory_resource* heap;
    const char* forced_tile = nullptr;             // a row of the tile table by name, for tests; NULL: choose
    const ProductChoice* forced_choice = nullptr;  // of every product, for tests and tuning; NULL: choose
    const TuningTable* tuning = nullptr;           // what tuning found; NULL: the default rules
    bool prepacked = false;                        // B does not change between calls: pack it once
    double cache_use = 0;      // of all weights of the plan, as Machine::cache_use; 0: not known
    bool sum_b = false;        // the column sums of B are wanted as well
    bool transpose_c = false;  // C is stored transposed: c[j * ldc + i]
};

// Whether the weights of a plan push each other out of all caches. What is larger than half of the last one
// is partly elsewhere, for others use it too; a kernel that loses much where weights are still there waits
// for more.
inline constexpr double kMostCacheUse = 0.5;
inline bool is_in_dram(const CompileContext& context, double most = kMostCacheUse) noexcept {
    return context.cache_use > most;
}
// Whether a product that reads B, or its packed weights, of so many bytes waits for memory.
inline bool comes_from_dram(const CompileContext& context, std::uint64_t bytes,
                            double most = kMostCacheUse) noexcept {
    return is_in_dram(context, most) || context.machine.cache_use(bytes) > most;
}
// The same of a B of f32.
inline bool b_is_in_dram(const CompileContext& context, const ProductShape& shape,
                         double most = kMostCacheUse) noexcept {
    const auto floats = static_cast<std::uint64_t>(shape.k) * static_cast<std::uint64_t>(shape.n);
    return comes_from_dram(context, floats * sizeof(float), most);
}

// epilogue_program: NULL or the program of the epilogue that calls will carry (for its scratch).
ProductPtr compile_product(const ProductShape& shape, const jit::RowKernel* epilogue_kernel,
                           const CompileContext& context);

}  // namespace volta::cpu
