// What a plan step becomes on the CPU: a short list of actions, each resolved to kernels, places and loops
// when the plan is compiled. Actions only compute; they allocate nothing and cannot fail.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <optional>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/backend/cpu/cpu_cache.h"
#include "engine/backend/cpu/gemm/product.h"
#include "engine/backend/lower/action_list.h"
#include "engine/backend/lower/step_lowering.h"

namespace volta::cpu {

// One run of one step.
struct StepCall {
    void* const* regions;
    unsigned char* workspace;
    std::uint32_t micro_index;
    ThreadPool& pool;

    unsigned char* kept;
    std::uint32_t step_micro_index;  // counted in the whole step, of which a plan may compute a part

    void* at(const Ref& ref) const noexcept {
        unsigned char* base = ref.region == kWorkspace ? workspace
                              : ref.region == kKept    ? kept
                                                       : static_cast<unsigned char*>(regions[ref.region]);
        return base + ref.offset + ref.micro_stride * micro_index;
    }
    float* floats(const Ref& ref) const noexcept { return static_cast<float*>(at(ref)); }
    std::int32_t* integers(const Ref& ref) const noexcept { return static_cast<std::int32_t*>(at(ref)); }
};

class Action {
  public:
    virtual ~Action() = default;
    virtual void run(const StepCall& call) const noexcept = 0;
    virtual void keep(const StepCall&) const noexcept {}                 // fills what it keeps over runs
    virtual const char* kernel_name() const noexcept = 0;                // "copy", "row avx512"
    virtual const Product* product() const noexcept { return nullptr; }  // what tuning can tune
    When when = When::always;
};
using Actions = ActionList<Action>;

// What sessions keep of their weights, packed: steps that read one in the same way share it.
struct KeptPacking {
    Ref weight;
    const Product* product;  // that reads it; lives as long as its action
    Ref kept;
};

// Compiles one step: turns what lowerings ask for into actions, and says where their own memory is.
class CpuStep final : public StepLowering {
  public:
    // kept_bytes, packings: of the steps before this one; its own are added.
    CpuStep(const Plan& plan, const Node& node, const BackendContext& context, const Machine& machine,
            Actions& actions, std::size_t kept_bytes, std::pmr::vector<KeptPacking>& packings);

    const char* backend_name() const override { return "the CPU"; }
    bool shares_one_row() const override { return thread_count() > 1; }
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
    bool convolution(const ConvolutionStep& step) override;
    bool window(const WindowStep& step) override;
    void attention(const AttentionStep& step) override;
    void cached_attention(const CachedAttentionStep& step) override;

    // ---- for actions while they are made ----
    // Bytes that are the step's over all runs, behind those of the steps before it.
    Ref kept(std::size_t bytes);
    std::size_t kept_bytes() const { return kept_bytes_; }
    // Where this product's packed B is, and whether another step fills it.
    Ref kept_packing(const Product& product, Ref b, bool* is_filled);
    // May this be packed once: does no run change it?
    bool keeps(const Ref& ref) const { return context.keep_weights && is_parameter(ref); }
    // Does this lie in a parameter, which any thread may have read?
    bool is_parameter(const Ref& ref) const {
        return ref.region >= 0 &&
               plan.regions[static_cast<std::size_t>(ref.region)].kind == RegionKind::parameter;
    }
    // Of all parameters of the plan, which push each other out of caches, where this is one of them; else 0.
    double cache_use_beside(const Ref& ref) const;
    int thread_count() const { return context.pool->thread_count(); }
    // How many threads a piece of work is worth.
    int workers_for(double operations) const;
    CompileContext kernels() const;
    // The kernel of `program`, shared by all steps of the context that need the same.
    const jit::RowKernel& kernel(const jit::Program& program, Isa isa) const;
    const jit::RowKernel& kernel(const jit::Program& program) const { return kernel(program, context.isa); }

    const BackendContext& context;
    const Machine& machine;  // what actions are chosen for; none asks the processor

  private:
    template <class T, class... Args>
    T& add(Args&&... args) {
        return add_action<T>(actions_, std::forward<Args>(args)...);
    }
    CpuCache& own() const { return *static_cast<CpuCache*>(context.kernel_cache); }

    Actions& actions_;
    std::size_t kept_bytes_;
    std::pmr::vector<KeptPacking>& packings_;
    std::optional<ProductChoice> forced_choice_;
};

}  // namespace volta::cpu
