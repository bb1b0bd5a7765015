#include "engine/backend/cpu/gemm/kernel_cache.h"

#include <utility>

namespace volta::cpu {

KernelCache::KernelCache(std::pmr::memory_resource* heap)
    : heap_(heap),
      gemm_(heap),
      axpys_(heap),
      dots_(heap),
      stored_(heap),
      lane_chains_(heap),
      lane_windows_(heap),
      rows_(heap) {}

template <class Form, class Function>
Function KernelCache::find_or_emit(ByKey<Function>& known, const Form& form, jit::CodeArena& arena,
                                   Function (*emit)(const Form&, jit::CodeArena&,
                                                    std::pmr::memory_resource*)) {
    const std::uint64_t key = key_of(form);
    const auto found = known.find(key);
    if (found != known.end()) return found->second;
    return known.emplace(key, emit(form, arena, heap_)).first->second;
}

GemmKernel KernelCache::gemm(const jit::GemmForm& form, jit::CodeArena& arena) {
    return {form, find_or_emit(gemm_, form, arena, jit::emit_gemm_f32)};
}

jit::TransposeFunctions KernelCache::transposes(Isa isa, jit::CodeArena& arena) {
    if (isa == Isa::scalar) return {};
    if (!transposes_.of_16) transposes_ = jit::emit_transposes(arena, heap_);
    return transposes_;
}

jit::AxpyFunction KernelCache::sweep(const jit::AxpyForm& form, jit::CodeArena& arena) {
    return find_or_emit(axpys_, form, arena, jit::emit_axpy);
}

jit::DotFunction KernelCache::dots(const jit::DotForm& form, jit::CodeArena& arena) {
    return find_or_emit(dots_, form, arena, jit::emit_dot);
}

jit::PackedFunction KernelCache::stored(const jit::PackedForm& form, jit::CodeArena& arena) {
    return find_or_emit(stored_, form, arena, jit::emit_gemm_packed);
}

jit::LaneChainsFunction KernelCache::lane_chains(const jit::LaneChainsForm& form, jit::CodeArena& arena) {
    return find_or_emit(lane_chains_, form, arena, jit::emit_lane_chains);
}

jit::LaneWindowsFunction KernelCache::lane_windows(const jit::LaneWindowsForm& form, jit::CodeArena& arena) {
    return find_or_emit(lane_windows_, form, arena, jit::emit_lane_windows);
}

const jit::RowKernel& KernelCache::row(const jit::Program& program, Isa isa, jit::CodeArena& arena) {
    for (const RowEntry& entry : rows_)
        if (entry.isa == isa && entry.kernel->program() == program) return *entry.kernel;
    rows_.push_back({isa, jit::compile(program, isa, arena, heap_)});
    return *rows_.back().kernel;
}

}  // namespace volta::cpu
