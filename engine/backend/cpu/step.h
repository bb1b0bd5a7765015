// What a plan step becomes on the CPU: a short list of actions, each resolved to kernels, places and loops
// when the plan is compiled. Actions only compute; they allocate nothing and cannot fail.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <optional>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/backend/cpu/cpu_cache.h"
#include "engine/backend/cpu/product.h"

namespace volta::cpu {

// Where a tensor lies: a place of the plan, or a temporary of the step in the workspace.
inline constexpr std::int32_t kWorkspace = -2;
inline constexpr std::int32_t kKept = -3;  // in the memory that holds over runs
struct Ref {
    std::int32_t region = -1;
    std::uint64_t offset = 0;        // bytes
    std::uint64_t micro_stride = 0;  // bytes
};
inline Ref plus_elements(Ref ref, std::int64_t elements) {
    ref.offset += static_cast<std::uint64_t>(elements) * 4;  // every element type has 4 bytes
    return ref;
}

// One run of one step.
struct StepCall {
    void* const* regions;
    unsigned char* workspace;
    std::uint32_t micro_index;
    ThreadPool& pool;

    unsigned char* kept;

    void* at(const Ref& ref) const noexcept {
        unsigned char* base = ref.region == kWorkspace ? workspace
                              : ref.region == kKept    ? kept
                                                       : static_cast<unsigned char*>(regions[ref.region]);
        return base + ref.offset + ref.micro_stride * micro_index;
    }
    float* floats(const Ref& ref) const noexcept { return static_cast<float*>(at(ref)); }
    std::int32_t* integers(const Ref& ref) const noexcept { return static_cast<std::int32_t*>(at(ref)); }
};

// Outputs that persist over micro-batches are stored by the first and continued by the later ones.
enum class When : std::uint8_t { always, first, later };

class Action {
  public:
    virtual ~Action() = default;
    virtual void run(const StepCall& call) const noexcept = 0;
    virtual void keep(const StepCall&) const noexcept {}                 // fills what it keeps over runs
    virtual const char* kernel_name() const noexcept = 0;                // "copy", "row avx512"
    virtual const Product* product() const noexcept { return nullptr; }  // what tuning can tune
    bool runs_at(std::uint32_t micro_index) const noexcept {
        return when == When::always || (when == When::first) == (micro_index == 0);
    }
    When when = When::always;
};
struct ActionDelete {
    std::pmr::memory_resource* heap = nullptr;
    std::size_t size = 0, alignment = 0;
    void operator()(Action* action) const noexcept {
        action->~Action();
        heap->deallocate(action, size, alignment);
    }
};
using ActionPtr = std::unique_ptr<Action, ActionDelete>;

// Compiles one step: what lowerings read, and where they put their actions and temporaries.
class StepCompiler final {
  public:
    // kept_bytes: of the steps before this one.
    StepCompiler(const Plan& plan, const Node& node, const BackendContext& context,
                 std::pmr::vector<ActionPtr>& actions, std::size_t kept_bytes);

    int input_count() const { return static_cast<int>(node.inputs.size()); }
    ValueId input_id(int i) const { return node.inputs[static_cast<std::size_t>(i)]; }
    const Value& input_value(int i) const { return plan.graph.value(input_id(i)); }
    const Value& output_value(int i = 0) const { return plan.graph.value(node.first_output + i); }
    const Shape& input_shape(int i) const { return input_value(i).shape; }
    const Shape& output_shape(int i = 0) const { return output_value(i).shape; }
    Ref input(int i) const { return place(input_id(i)); }
    Ref output(int i = 0) const { return place(node.first_output + i); }
    bool accumulates() const { return node.number(Attr::accumulate) != 0; }

    // Bytes of the workspace that belong to this step until it ends. 64-byte aligned.
    Ref temporary(std::size_t bytes);
    std::size_t workspace_bytes() const { return workspace_bytes_; }
    // Bytes that are the step's over all runs, behind those of the steps before it.
    Ref kept(std::size_t bytes);
    std::size_t kept_bytes() const { return kept_bytes_; }
    // May this input be packed once: does no run change it?
    bool keeps(int i) const {
        return context.keep_weights && plan.graph.producer(input_id(i)).op == Op::parameter;
    }
    // Is it a parameter of a plan whose parameters exceed half of the last cache, which others use too?
    bool is_cold(int i) const;
    int thread_count() const { return context.pool->thread_count(); }
    // How many threads a piece of work is worth.
    int workers_for(double operations) const;
    std::pmr::memory_resource* heap() const { return context.heap; }
    KernelCache& cache() const { return own().kernels; }
    CompileContext kernels() const;
    // The kernel of `program`, shared by all steps of the context that need the same.
    const jit::RowKernel& kernel(const jit::Program& program) const;

    template <class T, class... Args>
    T& add(Args&&... args) {
        T* action = make_on<T>(heap(), std::forward<Args>(args)...).release();
        actions.push_back(ActionPtr(action, ActionDelete{heap(), sizeof(T), alignof(T)}));
        return *action;
    }
    [[noreturn]] void unsupported(const char* why) const;  // names the operator

    const Plan& plan;
    const Node& node;
    const BackendContext& context;
    std::pmr::vector<ActionPtr>& actions;

  private:
    Ref place(ValueId value) const;
    CpuCache& own() const { return *static_cast<CpuCache*>(context.kernel_cache); }
    std::size_t workspace_bytes_ = 0, kept_bytes_;
    std::optional<ProductChoice> forced_choice_;
};

// total = complete in the first micro-batch, total + complete in later ones.
void add_accumulation(StepCompiler& step, Ref complete, Ref total, std::int64_t count);
// y [columns]: the sums of the columns of x [rows, columns]; continues over micro-batches if the step does.
void add_column_sum(StepCompiler& step, Ref x, Ref y, std::int64_t rows, std::int64_t columns);

// One function per way of lowering (engine/graph/op.h).
void lower_elementwise(StepCompiler& step);
void lower_row(StepCompiler& step);
void lower_pairs(StepCompiler& step);
void lower_reduction(StepCompiler& step);
void lower_movement(StepCompiler& step);
void lower_gather(StepCompiler& step);
void lower_embedding_gradient(StepCompiler& step);
void lower_product(StepCompiler& step);
void lower_attention(StepCompiler& step);
void lower_attention_gradient(StepCompiler& step);
void lower_cached_attention(StepCompiler& step);
void lower_update(StepCompiler& step);

}  // namespace volta::cpu
