// Generated kernels of a context by description: each is emitted once, however many steps and plans use it.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <unordered_map>
#include <vector>

#include "engine/backend/cpu/gemm/tiles.h"
#include "jitgen/gemm_axpy.h"
#include "jitgen/gemm_dot.h"
#include "jitgen/gemm_packed.h"
#include "jitgen/gemm_transpose.h"
#include "jitgen/lane_chains.h"
#include "jitgen/lane_windows.h"
#include "jitgen/row_kernel.h"

namespace volta::cpu {

// Everything stays where it is until the cache ends: compiled products and attentions point into it.
// Thread: one at a time (plans are made by one thread).
class KernelCache final {
  public:
    explicit KernelCache(std::pmr::memory_resource* heap);

    // With machine code where the arena allows it, else in the plain form. Same bits.
    GemmKernel gemm(const jit::GemmForm& form, jit::CodeArena& arena);

    // NULL for Isa::scalar and where the arena refuses.
    jit::TransposeFunctions transposes(Isa isa, jit::CodeArena& arena);

    // NULL where the arena refuses.
    jit::AxpyFunction sweep(const jit::AxpyForm& form, jit::CodeArena& arena);
    jit::DotFunction dots(const jit::DotForm& form, jit::CodeArena& arena);

    // NULL for Isa::scalar and where the arena refuses.
    jit::LaneChainsFunction lane_chains(const jit::LaneChainsForm& form, jit::CodeArena& arena);
    jit::LaneWindowsFunction lane_windows(const jit::LaneWindowsForm& form, jit::CodeArena& arena);

    // NULL for Isa::scalar and where the arena refuses: gemm_packed_plain then.
    jit::PackedFunction stored(const jit::PackedForm& form, jit::CodeArena& arena);

    // The compiled form of `program`; owned by the cache.
    const jit::RowKernel& row(const jit::Program& program, Isa isa, jit::CodeArena& arena);

    std::size_t kernel_count() const noexcept { return gemm_.size() + axpys_.size() + rows_.size(); }

  private:
    struct RowEntry {
        Isa isa;
        jit::RowKernelPtr kernel;
    };
    template <class Function>
    using ByKey = std::pmr::unordered_map<std::uint64_t, Function>;
    template <class Form, class Function>
    Function find_or_emit(ByKey<Function>& known, const Form& form, jit::CodeArena& arena,
                          Function (*emit)(const Form&, jit::CodeArena&, std::pmr::memory_resource*));
    std::pmr::memory_resource* heap_;
    ByKey<jit::GemmFunction> gemm_;
    ByKey<jit::AxpyFunction> axpys_;
    ByKey<jit::DotFunction> dots_;
    ByKey<jit::PackedFunction> stored_;
    ByKey<jit::LaneChainsFunction> lane_chains_;
    ByKey<jit::LaneWindowsFunction> lane_windows_;
    std::pmr::vector<RowEntry> rows_;
    jit::TransposeFunctions transposes_;
};

}  // namespace volta::cpu
