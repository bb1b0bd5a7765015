// What a backend is: it turns a verified plan into something that runs, and only computes.
#pragma once

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
};

// Phases of a training step that run_phase(phase, state), a volta_status, runs one by one until one fails.
template <class RunPhase>
volta_status run_gradient_phases(const RunState& state, std::uint32_t micro_batches,
                                 const RunPhase& run_phase) noexcept {
    RunState each = state;
    volta_status status = VOLTA_OK;
    for (each.micro_index = 0; each.micro_index < micro_batches && status == VOLTA_OK; ++each.micro_index)
        status = run_phase(Phase::each, each);
    return status == VOLTA_OK ? run_phase(Phase::reduce, state) : status;
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
    // Phase::each of all micro-batches, then Phase::reduce: what a training step does before its host looks
    // at the loss. The same as these runs one by one, which a device may make one.
    virtual volta_status run_gradients(const RunState& state, std::uint32_t micro_batches) noexcept {
        return run_gradient_phases(state, micro_batches, [this](Phase phase, const RunState& part) noexcept {
            return run(phase, part);
        });
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
