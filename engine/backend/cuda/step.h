// What a plan step becomes on a GPU: a short list of actions, each of them launches with everything about
// them decided but the addresses.
#pragma once

#include <array>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "engine/backend/cuda/kernel_batch.h"
#include "engine/backend/cuda/launch.h"
#include "engine/backend/cuda/tuning_table.h"
#include "engine/backend/device.h"
#include "engine/backend/lower/action_list.h"
#include "engine/backend/lower/step_lowering.h"
#include "engine/base/memory.h"

namespace volta::cuda {

// One run of one step. Addresses are of device memory.
struct StepCall {
    void* const* regions;
    unsigned char* workspace;
    std::uint32_t micro_index;
    std::uint32_t step_micro_index;  // counted in the whole step, of which a plan may compute a part
    Gpu& gpu;
    // RunState::update_needs_finite, of an update: NULL otherwise.
    std::array<const std::uint32_t*, 2> needs_finite = {};

    template <class T = void>
    T* at(const Ref& ref) const noexcept {
        auto* const base =
            ref.region == kWorkspace ? workspace : static_cast<unsigned char*>(regions[ref.region]);
        return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(base) + ref.offset +
                                    ref.micro_stride * micro_index);
    }
};

class Product;

class Action {
  public:
    virtual ~Action() = default;
    // Puts its work into the stream. Allocates nothing.
    virtual volta_status run(const StepCall& call) const noexcept = 0;
    virtual const char* kernel_name() const noexcept = 0;  // "cuda warps", "cuda tiles 128"
    // Does it change nothing where StepCall::needs_finite says so? All of an update do.
    virtual bool may_be_stopped() const noexcept { return false; }
    virtual const Product* product() const noexcept { return nullptr; }  // what tuning can tune
    When when = When::always;
    bool names_step = false;  // its kernel is what the step is named after, whatever follows

  protected:
    template <class Args>
    static volta_status launch(const StepCall& call, const Kernel* kernel, Grid grid, unsigned threads,
                               const Args& args) noexcept {
        return cuda::launch(call.gpu, *kernel, grid, threads, args);
    }
};
using Actions = ActionList<Action>;

class CublasLtLibrary;

// What plans of a device are compiled with; all of it outlives them.
struct CompileTools {
    Gpu& gpu;
    Memory& memory;  // of `gpu`
    KernelBatch& kernels;
    CublasLtLibrary* matrices;  // NULL: plans are strict
    const TuningTable& tuning;
    const ProductChoice* forced_choice;  // of every product, for tests; NULL: what tuning found
    std::pmr::memory_resource* heap;
};

class CudaStep final : public StepLowering {
  public:
    CudaStep(const Plan& whole, const Node& lowered, const CompileTools& tools, Actions& actions)
        : StepLowering(whole, lowered, tools.heap), tools_(tools), actions_(actions) {}

    const char* backend_name() const override { return "CUDA"; }
    bool shares_one_row() const override { return false; }  // the form blocks does
    void rows(const jit::Program& program, const std::pmr::vector<Ref>& refs, const LoopSpace& loops,
              const RowUse& use) override;
    void copy(const CopyLoops& loops, Ref from, Ref to, When when) override;
    void zero(Ref to, std::int64_t elements) override;
    void positions(const PositionStep& step) override;
    void rotary(const RotaryStep& step) override;
    void rotary_table(const RotaryTableStep& step) override;
    void gather(const GatherStep& step) override;
    void embedding_gradient(const EmbeddingGradientStep& step) override;
    bool product(const ProductStep& step) override;
    void attention(const AttentionStep& step) override;
    void cached_attention(const CachedAttentionStep& step) override;

    // ---- for actions while they are made ----
    Gpu& gpu() const { return tools_.gpu; }
    KernelBatch& kernels() const { return tools_.kernels; }
    CublasLtLibrary* matrices() const { return tools_.matrices; }  // NULL: the device is strict
    int multiprocessors() const { return gpu().facts().multiprocessors; }
    ProductChoice choice_of(const ProductShape& shape, bool has_epilogue) const {
        if (tools_.forced_choice != nullptr) return *tools_.forced_choice;
        return tools_.tuning.find(key_of(shape, has_epilogue));
    }

  private:
    template <class T, class... Args>
    T& add(Args&&... args) {
        return add_action<T>(actions_, std::forward<Args>(args)...);
    }
    const CompileTools& tools_;
    Actions& actions_;
};

}  // namespace volta::cuda
