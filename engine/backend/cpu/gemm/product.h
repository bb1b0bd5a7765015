// Products on the CPU: C = A B as segmented chains (docs/numerics.md, 2). Their schedule is decided by rules
// (rules.h) and executed by one of four algorithms, on the product itself or on its transpose: none of it
// changes a bit.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>

#include "engine/backend/cpu/gemm/rules.h"
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
    const Epilogue* epilogue;          // may be NULL
    const float* prepacked = nullptr;  // what prepack() has packed, where the product has prepacked_bytes
    // [n], the column sums of B, where the product computes them; `into` is theirs too
    float* sums = nullptr;
    const void* packed_weight = nullptr;  // in the place of b, where the product was compiled for its format
    // Where row i of A begins, i < m (batch 1, A by rows and packed by the call); NULL: at a + i * lda.
    const float* const* rows_of_a = nullptr;
};

EpilogueKind epilogue_kind(const jit::RowKernel* kernel);

// How a plan uses a product, beside its shape: what tuning has to time.
using ProductUse = Request;

// A product resolved to kernels and blocks when a plan is made. Immutable; run() is noexcept and allocates
// nothing.
class Product {
  public:
    virtual ~Product() = default;
    virtual void run(ThreadPool& pool, const ProductCall& call) const noexcept = 0;
    // B packed once, for calls that read it from there: into prepacked_bytes of memory.
    virtual void prepack(ThreadPool&, const float* /*b*/, float* /*prepacked*/) const noexcept {}
    // All that was decided about it, in words (schedule_text.h): for tests and people.
    virtual void describe(ScheduleText& text) const noexcept;

    std::size_t workspace_bytes() const noexcept {
        return workspace_bytes_;
    }  // panels, tiles, epilogue's scratch
    std::size_t prepacked_bytes() const noexcept { return prepacked_bytes_; }  // 0: it does not prepack B
    // "f32_gemm_8x48_avx512", and what else was chosen: "f32_gemm_8x48_avx512 k_block=128 pack_b=no"
    const char* kernel_name() const noexcept { return name_; }
    const ProductShape& shape() const noexcept { return given_; }  // as it was compiled for
    EpilogueKind epilogue() const noexcept { return problem_.epilogue; }
    const Schedule& schedule() const noexcept { return schedule_; }
    // Whether it computes the column sums of B that were wanted.
    bool sums_b() const noexcept { return sums_b_; }
    const ProductUse& use() const noexcept { return problem_.request; }

  protected:
    Product(const ProductShape& given, const Problem& problem, const Machine& machine,
            const Schedule& schedule, const jit::RowKernel* epilogue)
        : given_(given), problem_(problem), isa_(machine.isa), schedule_(schedule), epilogue_(epilogue) {}
    [[gnu::format(printf, 2, 3)]] void set_name(const char* format, ...) noexcept;

    // What follows the product, on rows [row, row_end) over the batch and columns [column, column_end) of C.
    void run_epilogue(const ProductCall& call, std::int64_t row, std::int64_t row_end, std::int64_t column,
                      std::int64_t column_end, void* scratch) const noexcept {
        if (!call.epilogue || !call.epilogue->kernel || row >= row_end || column >= column_end) return;
        jit::run_block(*call.epilogue->kernel, call.epilogue->args, row, row_end, column, column_end,
                       scratch);
    }
    std::size_t scratch_bytes(std::int64_t columns) const {
        return epilogue_ ? epilogue_->scratch_bytes(columns) : 0;
    }

    const ProductShape given_;
    const Problem problem_;
    const Isa isa_;
    const Schedule schedule_;
    const jit::RowKernel* const epilogue_;
    std::size_t workspace_bytes_ = 0, prepacked_bytes_ = 0;
    bool sums_b_ = false;

  private:
    char name_[256] = "";
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

// `steps` elements of an A of one plain row, which other threads have just written: all of their lines are
// prefetched at once, lest they come one by one, at the pace of the steps that need them.
inline void prefetch_row(const ProductShape& shape, const float* a, std::int64_t steps) {
    constexpr std::int64_t kMost = 4096, kLine = 16;  // fixed: elements
    if (!has_plain_row(shape)) return;
    for (std::int64_t i = 0; i < std::min(steps, kMost); i += kLine) __builtin_prefetch(a + i);
}

// Rows of C = these accumulators where the first segment is stored, else C + these.
void close_segment(const float* accumulators, std::int64_t stride, std::int64_t rows, std::int64_t columns,
                   bool stored, float* c, std::int64_t ldc) noexcept;

// Where code is emitted and structures live. Kernels of the same description are emitted once.
class KernelCache;
struct Compiler {
    jit::CodeArena* arena;
    KernelCache* cache;
    std::pmr::memory_resource* heap;
};

// What tuning found for a product of this use on this machine; the default choice where it found nothing.
class Tuned {
  public:
    virtual ProductChoice find(const ProductShape& shape, EpilogueKind epilogue, const Machine& machine,
                               const Request& use) const = 0;

  protected:
    ~Tuned() = default;
};

struct CompileContext {
    Machine machine;
    Compiler compiler;
    Request request = {};
    Overrides overrides = {};
    const Tuned* tuned = nullptr;  // NULL: the rules alone
};

// What tiles in blocks do with this choice, whatever other algorithm would be chosen: what tuning searches.
Schedule blocked_schedule(const Problem& problem, const CompileContext& context, const ProductChoice& choice);

// epilogue: NULL or the program that calls will carry (for its scratch).
ProductPtr compile_product(const ProductShape& shape, const jit::RowKernel* epilogue,
                           const CompileContext& context);

// A product whose B is a packed weight [n, k] of this format (engine/numerics/stored_weights.h): read in
// place, which may be a mapped file, by kernels that dequantise it in registers. shape: one matrix A [m, k]
// by rows, B transposed. Calls give B as `packed_weight`; `into` needs a k above 0.
ProductPtr compile_packed_weight_product(const ProductShape& shape, DType format,
                                         const jit::RowKernel* epilogue, const CompileContext& context);

// The product with such a weight as B [k, n] itself, [n, k] of the format turned round: how gradients go back
// through it. Each call dequantises the panels that it packs.
ProductPtr compile_dequantised_product(const ProductShape& shape, DType format,
                                       const jit::RowKernel* epilogue, const CompileContext& context);

// The algorithms, each by its schedule. NULL where executable memory is refused that it needs.
struct Order {
    const ProductShape& given;
    const Problem& problem;
    const Machine& machine;
    const Schedule& schedule;
    const jit::RowKernel* epilogue;
    const CompileContext& context;   // of products inside this one
    ProductChoice choice = {};       // for the name
    DType dequantised = DType::f32;  // blocked: B is packed from a weight of this format
};
ProductPtr compile_blocked(const Order& order);      // blocked.cpp
ProductPtr compile_skinny_axpy(const Order& order);  // skinny.cpp
ProductPtr compile_skinny_dot(const Order& order);
ProductPtr compile_prepacked(const Order& order);   // prepacked.cpp
ProductPtr compile_transposed(const Order& order);  // transposed.cpp

}  // namespace volta::cpu
