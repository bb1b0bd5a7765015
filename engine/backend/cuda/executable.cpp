#include "engine/backend/cuda/executable.h"

#include <algorithm>
#include <array>
#include <deque>

#include "engine/backend/cuda/graph_capture.h"
#include "engine/base/error.h"

namespace volta::cuda {
namespace {

constexpr std::uint32_t kRecordedMicroBatches = 8;  // of more, each phase is a graph or launched by itself

// A run that may become a graph: recorded when it comes for the second time with the same addresses.
struct Recording {
    Recording(Gpu& gpu, std::size_t regions, std::pmr::memory_resource* heap)
        : addresses(regions, nullptr, heap), graph(gpu) {}
    std::pmr::vector<void*> addresses;  // of the run before, as what follows
    void* workspace = nullptr;
    const void* seen = nullptr;
    std::array<int, 2> needs_finite = {};
    std::uint32_t first_micro_batch = 0;
    bool ran = false;
    Graph graph;

    bool is_same(const RunState& state, const void* seen_now) const noexcept {
        return ran && workspace == state.workspace && seen == seen_now &&
               needs_finite == state.update_needs_finite && first_micro_batch == state.first_micro_batch &&
               std::equal(addresses.begin(), addresses.end(), state.regions);
    }
    void remember(const RunState& state, const void* seen_now) noexcept {
        std::copy_n(state.regions, addresses.size(), addresses.begin());
        workspace = state.workspace;
        seen = seen_now;
        needs_finite = state.update_needs_finite;
        first_micro_batch = state.first_micro_batch;
        ran = true;
        graph.clear();
    }
};

class CudaExecutable final : public Executable {
  public:
    CudaExecutable(const Plan& plan, const CompileTools& tools)
        : gpu_(tools.gpu),
          memory_(tools.memory),
          actions_(tools.heap),
          steps_(tools.heap),
          recordings_(tools.heap),
          host_sees_(tools.gpu) {
        steps_.reserve(plan.steps.size());
        for (const Step& step : plan.steps) {
            const Node& node = plan.graph.nodes[static_cast<std::size_t>(step.node)];
            CudaStep lowered(plan, node, tools, actions_);
            lower_step(lowered);
            workspace_bytes_ = std::max(workspace_bytes_, lowered.workspace_bytes());
            steps_.push_back(CompiledStep{step.phase, actions_.size()});
            if (step.phase == Phase::update) require_stoppable(steps_.size() - 1, node);
        }
        tools.kernels.build();
        for (std::uint32_t i = 0; i < kRecordings; ++i)
            recordings_.emplace_back(gpu_, plan.regions.size(), tools.heap);
    }

    std::size_t workspace_bytes() const noexcept override { return workspace_bytes_; }

    void visit_products(void (*visitor)(void* user, const Product& product), void* user) const {
        for (const auto& action : actions_)
            if (const Product* product = action->product()) visitor(user, *product);
    }

    volta_status run(Phase phase, const RunState& state) noexcept override {
        if (state.observer != nullptr) return run_observed(phase, state);
        if (state.micro_index >= kRecordedMicroBatches) return run_steps(phase, state);
        const std::uint32_t which = phase == Phase::each     ? kEach + state.micro_index
                                    : phase == Phase::reduce ? kReduce
                                                             : kUpdate;
        return run_recorded(recordings_[which], state, nullptr,
                            [&]() noexcept { return run_steps(phase, state); });
    }

    volta_status run_training(const RunState& state, TrainingRun& training) noexcept override {
        const Gpu::Turn turn(gpu_);
        const auto see = [&]() noexcept {
            const volta_status status =
                memory_.read_later(training.seen, training.written, training.seen_bytes);
            return status == VOLTA_OK ? host_sees_.record() : status;
        };
        volta_status status;
        if (training.micro_batches > kRecordedMicroBatches) {
            const auto run_phase = [this](Phase phase, const RunState& part) noexcept {
                return run(phase, part);
            };
            status = run_training_phases(state, training, run_phase, see);
        } else {
            const auto run_phase = [this](Phase phase, const RunState& part) noexcept {
                return run_steps(phase, part);
            };
            training.goes_on = nullptr;  // a recording is played as a whole
            Recording& recording = recordings_[kTraining];
            const bool is_graph = recording.is_same(state, training.seen);
            status = run_recorded(recording, state, training.seen, [&]() noexcept {
                return run_training_phases(state, training, run_phase, see);
            });
            if (is_graph) training.is_updating = status == VOLTA_OK;  // else it has not been started
        }
        return status == VOLTA_OK ? host_sees_.wait() : status;
    }

    const char* kernel_name(std::size_t step) const noexcept override {
        const char* name = "nothing";
        for (std::size_t i = begin_of(step); i < steps_[step].end; ++i) {
            if (i == begin_of(step) || actions_[i]->when == When::always) name = actions_[i]->kernel_name();
            if (actions_[i]->names_step) break;
        }
        return name;
    }

  private:
    struct CompiledStep {
        Phase phase;
        std::size_t end;  // one past its last action
    };

    std::size_t begin_of(std::size_t step) const noexcept { return step == 0 ? 0 : steps_[step - 1].end; }

    // An update that must not happen is stopped on the device.
    void require_stoppable(std::size_t step, const Node& node) const {
        for (std::size_t i = begin_of(step); i < steps_[step].end; ++i)
            if (!actions_[i]->may_be_stopped())
                fail(VOLTA_INTERNAL, "%s: %s is part of an update, and nothing can stop it",
                     op_row(node.op).name, actions_[i]->kernel_name());
    }

    // `seen`: where the host sees what `run` copies; NULL: nothing.
    template <class Run>
    volta_status run_recorded(Recording& recording, const RunState& state, const void* seen,
                              const Run& run) noexcept {
        if (!recording.is_same(state, seen)) {
            recording.remember(state, seen);
            return run();
        }
        if (recording.graph.empty()) {
            const volta_status status = recording.graph.record(run);
            if (status != VOLTA_OK) return status;
            if (recording.graph.empty()) return VOLTA_OK;  // nothing to do
        }
        return recording.graph.run();
    }

    volta_status run_steps(Phase phase, const RunState& state) noexcept {
        const Gpu::Turn turn(gpu_);
        volta_status status = VOLTA_OK;
        for (std::size_t step = 0; step < steps_.size() && status == VOLTA_OK; ++step)
            if (steps_[step].phase == phase) status = run_step(step, state);
        return status;
    }

    // What a step takes is only known when the device has come to its end.
    volta_status run_observed(Phase phase, const RunState& state) noexcept {
        volta_status status = gpu_.wait();
        for (std::size_t step = 0; step < steps_.size() && status == VOLTA_OK; ++step) {
            if (steps_[step].phase != phase) continue;
            state.observer->begin(step);
            status = run_step(step, state);
            if (status == VOLTA_OK) status = gpu_.wait();
            state.observer->end(step);
        }
        return status;
    }

    volta_status run_step(std::size_t step, const RunState& state) noexcept {
        StepCall call = {state.regions, static_cast<unsigned char*>(state.workspace), state.micro_index,
                         state.first_micro_batch + state.micro_index, gpu_};
        for (std::size_t k = 0; k < call.needs_finite.size(); ++k) {
            const int region = state.update_needs_finite[k];
            if (steps_[step].phase == Phase::update && region >= 0)
                call.needs_finite[k] = static_cast<const std::uint32_t*>(state.regions[region]);
        }
        volta_status status = VOLTA_OK;
        for (std::size_t i = begin_of(step); i < steps_[step].end && status == VOLTA_OK; ++i)
            if (runs_at(actions_[i]->when, state.micro_index)) status = actions_[i]->run(call);
        return status;
    }

    Gpu& gpu_;
    Memory& memory_;
    Actions actions_;  // of all steps, one after the other
    std::pmr::vector<CompiledStep> steps_;
    // What may be a graph of its own: Phase::each of the first micro-batches, and these.
    enum : std::uint32_t { kTraining, kReduce, kUpdate, kEach, kRecordings = kEach + kRecordedMicroBatches };
    std::pmr::deque<Recording> recordings_;
    Event host_sees_;  // what a training step has copied for it
    std::size_t workspace_bytes_ = 0;
};

}  // namespace

ExecutablePtr compile_plan(const Plan& plan, const CompileTools& tools) {
    try {
        HeapPtr<CudaExecutable> made = make_on<CudaExecutable>(tools.heap, plan, tools);
        return ExecutablePtr(made.release(),
                             ExecutableDelete{tools.heap, sizeof(CudaExecutable), alignof(CudaExecutable)});
    } catch (...) {
        tools.kernels.forget_pending();
        throw;
    }
}

void visit_products(const Executable& executable, void (*visitor)(void* user, const Product& product),
                    void* user) {
    static_cast<const CudaExecutable&>(executable).visit_products(visitor, user);
}

}  // namespace volta::cuda
