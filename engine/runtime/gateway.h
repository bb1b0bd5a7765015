// Graph to result: the one way to execute. verify -> passes -> verify -> plan -> verify -> backend. Sessions,
// the trainer and the generator all come through here, and nothing else calls a backend.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <utility>

#include "engine/backend/backend.h"
#include "engine/graph/cost.h"
#include "engine/plan/plan.h"
#include "engine/runtime/context.h"

namespace volta {

// What a profile says about a step.
struct StepFacts {
    std::uint64_t live_bytes;
    NodeCost cost;
};

// A compiled plan: immutable, shared through the context's cache.
class Program final {
  public:
    const Plan& plan() const noexcept { return *plan_; }
    std::size_t workspace_bytes() const noexcept { return executable_->workspace_bytes(); }
    std::size_t kept_bytes() const noexcept { return executable_->kept_bytes(); }
    // Fills what holds over runs from the parameters (Executable::keep).
    void keep(const RunState& state) const noexcept;
    // Runs one phase of the plan. Keeps the pool hot between its steps; allocates nothing.
    volta_status run(Phase phase, const RunState& state) const noexcept;
    // All phases of a training step (Executable::run_training).
    volta_status run_training(const RunState& state, TrainingRun& training) const noexcept;
    const Executable& executable() const noexcept { return *executable_; }
    // Of the device that runs it.
    Memory& memory() const noexcept { return context_->memory(); }
    Memory& staging() const noexcept { return context_->staging(); }
    // Throws what a run or copy reported, with the device's own sentence.
    void require_ran(volta_status status) const;
    // Throws INVALID_STATE in a forked child whose parent computed with the context at the fork.
    void require_at_rest() const;
    // Throws what the host's parallel_for did wrong, in spite of which what ran is whole.
    void check_host() const { context_->pool().check_host(); }
    // For profiles: works out the facts about all steps, once.
    void describe();
    const StepFacts& facts(std::size_t step) const noexcept { return facts_[step]; }
    Op op(std::size_t step) const noexcept { return plan_->graph.node(plan_->steps[step].node).op; }
    const char* kernel_name(std::size_t step) const noexcept { return executable_->kernel_name(step); }
    // The plan's text with the kernel of each step and the complete bill.
    std::pmr::string print(std::pmr::memory_resource* heap) const;

    // Use PlanCache::prepare.
    Program(HeapPtr<Plan> plan, ExecutablePtr executable, Context* context) noexcept;

  private:
    volta_status run_recorded(Phase phase, const RunState& state, Profile& profile) const noexcept;
    HeapPtr<Plan> plan_;
    ExecutablePtr executable_;
    Context* context_;
    std::pmr::vector<StepFacts> facts_;  // empty until describe()
};

struct PrepareOptions {
    std::uint32_t micro_batches = 1;
    std::uint32_t passes = 0xffffffffu;  // tests run subsets
    bool keep_weights = false;           // parameters are prepacked for products
};

class PlanCache;

// A program that goes when nobody borrows it any more, for those that make many: tapes.
class BorrowedProgram final {
  public:
    BorrowedProgram(PlanCache& of, const Program& program) noexcept : of_(&of), program_(&program) {}
    BorrowedProgram(BorrowedProgram&& other) noexcept
        : of_(other.of_), program_(std::exchange(other.program_, nullptr)) {}
    BorrowedProgram& operator=(BorrowedProgram&&) = delete;
    ~BorrowedProgram();
    const Program& operator*() const noexcept { return *program_; }

  private:
    PlanCache* of_;
    const Program* program_;
};

// The context's device and its plans, keyed by the full content of graph and options; a hash only narrows the
// search.
class PlanCache final {
  public:
    // Opens the device that the options name. Throws as open_device() does.
    PlanCache(Context& context, const ContextOptions& options);
    ~PlanCache();
    PlanCache(const PlanCache&) = delete;
    PlanCache& operator=(const PlanCache&) = delete;
    // The program for this graph: from the cache, or made now. Lives as long as the context.
    // Throws UNSUPPORTED, OUT_OF_MEMORY, INTERNAL.
    const Program& prepare(const Graph& graph, const PrepareOptions& options);
    // The same, as long as it is borrowed. One that prepare() has given too, or that a profile may name,
    // stays.
    BorrowedProgram borrow(const Graph& graph, const PrepareOptions& options);
    // Tuning results of the folder count from now on, and new ones are written there. A file that cannot be
    // used is logged, never an error.
    void open_tuning_folder(const char* folder);
    // Tunes the products of `request` and of the programs that are not NULL. Programs prepared from now on
    // use the results. Throws as TuneRequest's backend does: INVALID_ARGUMENT, IO_ERROR, CANCELLED.
    void tune(TuneRequest request, const Program* const* programs, std::size_t count);
    // Lines about how a product is computed, and why. Throws INVALID_ARGUMENT, UNSUPPORTED.
    std::pmr::string explain(const ExplainRequest& request);
    // All programs, those of the future while the context records.
    void describe();
    Device& device() const noexcept { return *device_; }
    std::uint64_t hits() const noexcept { return hits_; }
    std::uint64_t misses() const noexcept { return misses_; }
    // Tests force collisions: the hash of a key, NULL: the real one.
    Hash128 (*hash_override)(const void* data, std::size_t bytes) = nullptr;

  private:
    struct Entry;
    friend class BorrowedProgram;
    void give_back(const Program& program) noexcept;
    Entry& find_or_make(const Graph& graph, const PrepareOptions& options);
    Entry* find(const std::pmr::string& key, Hash128 hash) const noexcept;
    BackendContext backend_context(const PrepareOptions& options = {}) const;
    void tell_interpreted() noexcept;
    HeapPtr<Entry> make(std::pmr::string&& key, Hash128 hash, const Graph& graph,
                        const PrepareOptions& options);
    Context& context_;
    DevicePtr device_;  // before the programs, which run on it
    std::pmr::vector<HeapPtr<Entry>> entries_;
    std::uint64_t hits_ = 0, misses_ = 0;
    bool told_interpreted_ = false;
};

}  // namespace volta
