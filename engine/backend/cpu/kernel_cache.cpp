#include "engine/backend/cpu/kernel_cache.h"

#include <utility>

namespace volta::cpu {

KernelCache::KernelCache(std::pmr::memory_resource* heap)
    : heap_(heap), gemm_(heap), sweeps_(heap), dots_(heap), stored_(heap), rows_(heap) {}

GemmKernel KernelCache::gemm(const jit::GemmForm& form, jit::CodeArena& arena) {
    for (const GemmKernel& kernel : gemm_)
        if (kernel.form == form) return kernel;
    gemm_.push_back({form, jit::emit_gemm_f32(form, arena, heap_)});
    return gemm_.back();
}

jit::TransposeFunctions KernelCache::transposes(Isa isa, jit::CodeArena& arena) {
    if (isa == Isa::scalar) return {};
    if (!transposes_.of_16) transposes_ = jit::emit_transposes(arena, heap_);
    return transposes_;
}

jit::SweepFunction KernelCache::sweep(const jit::SweepForm& form, jit::CodeArena& arena) {
    for (const Sweep& sweep : sweeps_)
        if (sweep.form == form) return sweep.code;
    sweeps_.push_back({form, jit::emit_sweep(form, arena, heap_)});
    return sweeps_.back().code;
}

jit::DotsFunction KernelCache::dots(const jit::DotsForm& form, jit::CodeArena& arena) {
    for (const Dots& dots : dots_)
        if (dots.form == form) return dots.code;
    dots_.push_back({form, jit::emit_dots(form, arena, heap_)});
    return dots_.back().code;
}

jit::StoredFunction KernelCache::stored(const jit::StoredForm& form, jit::CodeArena& arena) {
    for (const Stored& stored : stored_)
        if (stored.form == form) return stored.code;
    stored_.push_back({form, jit::emit_gemm_stored(form, arena, heap_)});
    return stored_.back().code;
}

const jit::RowKernel& KernelCache::row(const jit::Program& program, Isa isa, jit::CodeArena& arena) {
    for (const RowEntry& entry : rows_)
        if (entry.isa == isa && entry.kernel->program() == program) return *entry.kernel;
    rows_.push_back({isa, jit::compile(program, isa, arena, heap_)});
    return *rows_.back().kernel;
}

}  // namespace volta::cpu
