#include "engine/backend/cpu/cpu_backend.h"

#include <algorithm>
#include <cmath>

#include "engine/backend/cpu/step.h"

namespace volta::cpu {
namespace {

class CpuExecutable final : public Executable {
  public:
    CpuExecutable(const Plan& plan, const BackendContext& context)
        : pool_(*context.pool), actions_(context.heap), steps_(context.heap) {
        const Machine machine = machine_of(context);
        std::pmr::vector<KeptPacking> packings(context.heap);
        steps_.reserve(plan.steps.size());
        for (const Step& step : plan.steps) {
            const Node& node = plan.graph.nodes[static_cast<std::size_t>(step.node)];
            CpuStep lowered(plan, node, context, machine, actions_, kept_bytes_, packings);
            lower_step(lowered);
            kept_bytes_ = lowered.kept_bytes();
            workspace_bytes_ = std::max(workspace_bytes_, lowered.workspace_bytes());
            steps_.push_back(CompiledStep{step.phase, actions_.size()});
        }
    }

    std::size_t workspace_bytes() const noexcept override { return workspace_bytes_; }

    std::size_t kept_bytes() const noexcept override { return kept_bytes_; }

    void keep(const RunState& state) noexcept override {
        for (const auto& action : actions_) action->keep(call_of(state));
    }

    volta_status run(Phase phase, const RunState& state) noexcept override {
        if (phase == Phase::update && !may_update(state)) return VOLTA_OK;
        const StepCall call = call_of(state);
        for (std::size_t step = 0; step < steps_.size(); ++step) {
            if (steps_[step].phase != phase) continue;
            if (state.observer == nullptr) {
                run_step(step, call);
            } else {
                state.observer->begin(step);
                run_step(step, call);
                state.observer->end(step);
            }
        }
        return VOLTA_OK;
    }

    void visit_products(void (*visitor)(void* user, const Product& product), void* user) const {
        for (const auto& action : actions_)
            if (const Product* product = action->product()) visitor(user, *product);
    }

    // The action that does the work: the last one, of those that always run if there is one.
    const char* kernel_name(std::size_t step) const noexcept override {
        const char* name = "nothing";
        for (std::size_t i = begin_of(step); i < steps_[step].end; ++i)
            if (i == begin_of(step) || actions_[i]->when == When::always) name = actions_[i]->kernel_name();
        return name;
    }

  private:
    std::size_t begin_of(std::size_t step) const noexcept { return step == 0 ? 0 : steps_[step - 1].end; }

    void run_step(std::size_t step, const StepCall& call) const noexcept {
        for (std::size_t i = begin_of(step); i < steps_[step].end; ++i)
            if (runs_at(actions_[i]->when, call.micro_index)) actions_[i]->run(call);
    }

    static bool may_update(const RunState& state) noexcept {
        for (const int region : state.update_needs_finite)
            if (region >= 0 && !std::isfinite(*static_cast<const float*>(state.regions[region])))
                return false;
        return true;
    }

    StepCall call_of(const RunState& state) const noexcept {
        return {state.regions,
                static_cast<unsigned char*>(state.workspace),
                state.micro_index,
                pool_,
                static_cast<unsigned char*>(state.kept),
                state.first_micro_batch + state.micro_index};
    }

    struct CompiledStep {
        Phase phase;
        std::size_t end;  // one past its last action
    };
    ThreadPool& pool_;
    Actions actions_;  // of all steps, one after the other
    std::pmr::vector<CompiledStep> steps_;
    std::size_t workspace_bytes_ = 0, kept_bytes_ = 0;
};

}  // namespace

Machine machine_of(const BackendContext& context) noexcept {
    Machine machine = machine_of(host_cpu(), context.isa, context.pool->thread_count());
    if (context.most_llc_bytes > 0)
        machine.l3_bytes = std::min(machine.likely_llc_bytes(), context.most_llc_bytes);
    return machine;
}

ExecutablePtr compile_plan(const Plan& plan, const BackendContext& context) {
    HeapPtr<CpuExecutable> made = make_on<CpuExecutable>(context.heap, plan, context);
    return ExecutablePtr(made.release(),
                         ExecutableDelete{context.heap, sizeof(CpuExecutable), alignof(CpuExecutable)});
}

void visit_products(const Executable& executable, void (*visitor)(void* user, const Product& product),
                    void* user) {
    static_cast<const CpuExecutable&>(executable).visit_products(visitor, user);
}

}  // namespace volta::cpu
