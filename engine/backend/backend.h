// What a backend is: it turns a verified plan into something that runs, and only computes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>

#include "engine/backend/device.h"
#include "engine/base/cpu_info.h"
#include "engine/base/memory.h"
#include "engine/base/thread_pool.h"
#include "engine/plan/plan.h"
#include "jitgen/code.h"

namespace volta {

// What a backend borrows from its context. For tests: `forced_tile` names a row of the tile table,
// `forced_choice` is the text of a product's choice, for all products.
struct BackendContext {
    Isa isa;
    ThreadPool* pool;
    jit::CodeArena* arena;
    void* kernel_cache;  // the device's own, which it sets itself
    std::pmr::memory_resource* heap;
    const char* forced_tile = nullptr;
    // Element operations that are worth waking one worker for: some microseconds. Tests set 1, so that tiny
    // tensors are shared too; no bit depends on it.
    double operations_per_worker = 262144;
    const char* forced_choice = nullptr;
    // As if the last-level cache were no larger; 0: as the processor says. Tests set it, so that what happens
    // beyond it needs no hundreds of megabytes; no bit depends on it.
    std::size_t most_llc_bytes = 0;
    // Products may keep a packed copy of a parameter, which no run changes, in Executable::kept_bytes.
    bool keep_weights = false;
};

// Is told when a step of a run begins and ends, on the thread that runs it.
class StepObserver {
  public:
    virtual void begin(std::size_t step) noexcept = 0;
    virtual void end(std::size_t step) noexcept = 0;

  protected:
    ~StepObserver() = default;
};

// One run's memory: a base address per region of the plan, in the memory of the device that runs it.
struct RunState {
    void* const* regions;
    void* workspace;                   // Executable::workspace_bytes, 64-byte aligned
    std::uint32_t micro_index;         // 0 .. micro_batches - 1 in Phase::each, 0 otherwise
    void* kept = nullptr;              // Executable::kept_bytes, 64-byte aligned, as keep() left them
    StepObserver* observer = nullptr;  // NULL: nobody measures
    // Regions that begin with a float that earlier phases have written; -1: none. Phase::update changes
    // nothing unless all that are named are finite.
    std::array<int, 2> update_needs_finite = {-1, -1};
    // Of the plan's first one in its step: random numbers are those of the step's rows.
    std::uint32_t first_micro_batch = 0;
};

// A training step as its host asks for it.
struct TrainingRun {
    std::uint32_t micro_batches = 1;
    // What the host sees of the step before the next one: bytes of the device's memory, and their place in
    // Device::staging(). 0: memory is the host's.
    void* seen = nullptr;
    const void* written = nullptr;
    std::size_t seen_bytes = 0;
    // The update has begun: after a failure nobody knows which parameters have changed.
    bool is_updating = false;
    // Asked before each micro-batch but the first, and before the update, which has the number micro_batches.
    // False: the step ends, CANCELLED. NULL, and where a device makes the phases one: nobody is asked.
    bool (*goes_on)(void* user, std::uint32_t micro_batch) noexcept = nullptr;
    void* user = nullptr;

    bool may_go_on(std::uint32_t micro_batch) const noexcept {
        return goes_on == nullptr || goes_on(user, micro_batch);
    }
};

// The phases of a training step, one by one until one fails: run_phase(phase, state), and see() before the
// update, give a volta_status.
template <class RunPhase, class See>
volta_status run_training_phases(const RunState& state, TrainingRun& training, const RunPhase& run_phase,
                                 const See& see) noexcept {
    RunState each = state;
    volta_status status = VOLTA_OK;
    for (; each.micro_index < training.micro_batches && status == VOLTA_OK; ++each.micro_index) {
        if (each.micro_index > 0 && !training.may_go_on(each.micro_index)) return VOLTA_CANCELLED;
        status = run_phase(Phase::each, each);
    }
    if (status == VOLTA_OK) status = run_phase(Phase::reduce, state);
    if (status == VOLTA_OK) status = see();
    if (status != VOLTA_OK) return status;
    if (!training.may_go_on(training.micro_batches)) return VOLTA_CANCELLED;
    training.is_updating = true;
    return run_phase(Phase::update, state);
}

class Executable {
  public:
    virtual ~Executable() = default;
    virtual std::size_t workspace_bytes() const noexcept = 0;
    // Memory that holds over runs: packed weights. keep() fills it from the parameters, before the first run
    // and whenever they have changed; it allocates nothing.
    virtual std::size_t kept_bytes() const noexcept { return 0; }
    virtual void keep(const RunState&) noexcept {}
    // Runs the steps of one phase in order. Allocates nothing; a device failure is a status, never an
    // exception.
    virtual volta_status run(Phase phase, const RunState& state) noexcept = 0;
    // Phase::each of all micro-batches, Phase::reduce, Phase::update: the same as these runs one by one,
    // which a device may make one. Returns when the host can see what it asked for; a device's update may go
    // on.
    virtual volta_status run_training(const RunState& state, TrainingRun& training) noexcept {
        return run_training_phases(
            state, training, [this](Phase phase, const RunState& part) noexcept { return run(phase, part); },
            []() noexcept -> volta_status { return VOLTA_OK; });
    }
    // The kernel of step i, for plan printing: "f32_gemm_8x48_avx512", "row avx512", "copy".
    virtual const char* kernel_name(std::size_t step) const noexcept = 0;
};
struct ExecutableDelete {
    std::pmr::memory_resource* heap = nullptr;
    std::size_t size = 0, alignment = 0;
    void operator()(Executable* executable) const noexcept {
        executable->~Executable();
        heap->deallocate(executable, size, alignment);
    }
};
using ExecutablePtr = std::unique_ptr<Executable, ExecutableDelete>;

// One row per backend.
struct BackendRow {
    const char* name;  // "cpu"
    // How many devices it has here. Throws UNSUPPORTED, DEVICE_ERROR with a sentence where it cannot tell.
    int (*count)(std::pmr::memory_resource* heap);
    DeviceInfo (*describe)(int index, std::pmr::memory_resource* heap);  // index below count()
    // Throws the same, and INVALID_ARGUMENT for an index that is none.
    DevicePtr (*open)(const DeviceOptions& options);
};
extern const BackendRow kBackends[];
extern const int kBackendCount;

// Of the backend of this name. Throw INVALID_ARGUMENT for a name or index that is none, and what the row
// does.
int count_devices(const char* backend, std::pmr::memory_resource* heap);
DeviceInfo describe_device(const char* backend, std::uint32_t index, std::pmr::memory_resource* heap);

// The device of this name: "cpu", "cuda" (the first), "cuda:1", "auto" (the first device of CUDA if there is
// one, else the processor; the log says which). NULL: "cpu". Throws INVALID_ARGUMENT for other names, and
// what the backend's row does.
DevicePtr open_device(const char* name, DeviceOptions options);

}  // namespace volta
