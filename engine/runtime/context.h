// A context: what the host lent, and the caches of plans and generated code. Shared by everything made from
// it; it ends with the last of them.
#pragma once

#include <atomic>
#include <cstdint>

#include "engine/base/arithmetic.h"
#include "engine/base/cpu_info.h"
#include "engine/base/log.h"
#include "engine/base/memory.h"
#include "engine/base/stop.h"
#include "engine/base/thread_pool.h"
#include "engine/plan/step_order.h"
#include "jitgen/code.h"

namespace volta {

class DeviceStream;  // base/device_stream.h
class Memory;        // backend/device.h
class PlanCache;     // runtime/gateway.h
class Profile;       // runtime/profile.h

struct ContextOptions {
    const volta_allocator* allocator = nullptr;
    Log log;
    int thread_count = 0;      // 0: physical cores
    ParallelFor parallel_for;  // of the host; its threads run the parts
    Isa isa = Isa::scalar;
    bool isa_auto = true;
    bool refuse_jit = false;
    const char* tuning_folder = nullptr;  // read now, written by tuning; NULL: no file is touched
    const char* device = nullptr;         // as open_device() reads it; NULL: "cpu"
    std::uint64_t host_budget = 0, device_budget = 0;  // bytes that plans may hold; 0: what there is
    const char* kernel_folder = nullptr;  // where a device's compiled kernels are kept; NULL: nowhere
    Arithmetic arithmetic;
    StepOrder step_order = StepOrder::graph;  // of every plan
};

class Context final {
  public:
    // Everything lives on the host's heap, this object included. Created with one reference.
    static Context* create(const ContextOptions& options);
    void retain() noexcept;
    void release() noexcept;

    std::pmr::memory_resource* structures() noexcept { return heap_.structures(); }
    std::pmr::memory_resource* tensors() noexcept { return heap_.tensors(); }  // of the host
    Memory& memory() noexcept;   // of the device that plans run on: where what they read and write lies
    Memory& staging() noexcept;  // the host's side of it
    DeviceStream* device_stream() noexcept;  // NULL: memory is the host's
    const HostHeap& heap() const noexcept { return heap_; }
    ThreadPool& pool() noexcept { return *pool_; }
    jit::CodeArena& code() noexcept { return *code_; }
    PlanCache& plans() noexcept { return *plans_; }
    Isa isa() const noexcept { return isa_; }
    Arithmetic arithmetic() const noexcept { return arithmetic_; }
    StepOrder step_order() const noexcept { return step_order_; }
    const Log& log() const noexcept { return log_; }
    // Whether the host wants the call that runs to end.
    const Stop& stop() const noexcept { return stop_; }
    void set_stop(const Stop::Wish& wish) noexcept { stop_.set(wish); }

    // What is being recorded; NULL: nothing.
    Profile* recording() const noexcept { return recording_; }
    void start_profile(std::uint64_t capacity);  // throws INVALID_STATE, OUT_OF_MEMORY
    void stop_profile();                         // throws INVALID_STATE
    const Profile& profile() const;              // that was stopped; throws INVALID_STATE: there is none
    bool has_profile() const noexcept { return profile_ != nullptr; }

    // For tests: every product of plans made from now on uses this row of the tile table, or this choice (as
    // text). NULL: choose.
    const char* forced_tile = nullptr;
    const char* forced_choice = nullptr;

  private:
    explicit Context(const ContextOptions& options);
    ~Context();
    std::atomic<int> references_{1};
    HostHeap heap_;
    Log log_;
    Stop stop_;
    Isa isa_;
    Arithmetic arithmetic_;
    StepOrder step_order_;
    HeapPtr<ThreadPool> pool_;
    HeapPtr<jit::CodeArena> code_;
    HeapPtr<PlanCache> plans_;
    HeapPtr<Profile> profile_;
    Profile* recording_ = nullptr;    // profile_, or NULL
    volta_allocator allocator_ = {};  // the host's, to give this object's own bytes back
    bool has_allocator_ = false;
};

// A counted reference to a context.
class ContextRef final {
  public:
    ContextRef() = default;
    explicit ContextRef(Context* context) noexcept : context_(context) {
        if (context_) context_->retain();
    }
    ContextRef(const ContextRef& other) noexcept : ContextRef(other.context_) {}
    ContextRef(ContextRef&& other) noexcept : context_(other.context_) { other.context_ = nullptr; }
    ContextRef& operator=(ContextRef other) noexcept {
        Context* old = context_;
        context_ = other.context_;
        other.context_ = old;
        return *this;
    }
    ~ContextRef() {
        if (context_) context_->release();
    }
    Context* operator->() const noexcept { return context_; }
    Context& operator*() const noexcept { return *context_; }
    Context* get() const noexcept { return context_; }

  private:
    Context* context_ = nullptr;
};

}  // namespace volta
