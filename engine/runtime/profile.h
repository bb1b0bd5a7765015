// The profiler: what a context did between start and stop. Everything that recording needs is allocated at
// the start; the host's thread and the pool's threads then write into one array, each event into a place that
// it has drawn, so that those of one lane stand in the order of their beginnings, outer ones first. A call
// that is not recorded pays one branch per step, and one per run of the pool.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory_resource>

#include "engine/base/memory.h"
#include "engine/base/thread_pool.h"
#include "engine/graph/graph.h"
#include "engine/runtime/context.h"

namespace volta {

class Program;

struct ProfileEvent {
    std::uint64_t begin, end;  // ns since the start; end 0: it has not ended
    const void* of;            // CALL: its name, zero-terminated, for ever; else the Program
    std::int64_t number;       // CALL, PHASE
    std::uint64_t held;        // CALL, PHASE: bytes of tensor memory as it began
    std::uint32_t step;        // STEP, WORKER: of the plan; PHASE: which one
    std::uint8_t kind;         // volta_profile_kind
    std::uint8_t thread;       // 0 .. 255: a context has at most 256
    std::uint16_t depth;

    const char* call() const { return static_cast<const char*>(of); }
    const Program& program() const { return *static_cast<const Program*>(of); }
};
static_assert(sizeof(ProfileEvent) == 48, "volta.h says so");

class Profile final : public ThreadPool::Observer {
  public:
    Profile(std::uint64_t capacity, const HostHeap& heap, std::pmr::memory_resource* structures);

    // ---- recording: allocates nothing ----
    using Place = std::uint64_t;  // of an event that has begun, for end()
    Place begin_call(const char* name, std::int64_t number) noexcept;
    Place begin_phase(const Program& program, Phase phase, std::int64_t micro_index) noexcept;
    void end(Place event) noexcept;
    // Steps do not nest. The program has been described.
    void begin_step(const Program& program, std::size_t step) noexcept;
    void end_step() noexcept;
    // A call beside those of the host's thread, on a lane behind the pool's; it has ended.
    void beside(const char* name, std::int64_t number, std::uint8_t lane, std::uint64_t begin_ns,
                std::uint64_t end_ns) noexcept;
    void worked(int worker, std::uint64_t begin_ns, std::uint64_t end_ns) noexcept override;
    bool is_inside() const noexcept { return depth_ > 0; }
    void stop() noexcept;  // sorts the operators

    // ---- what was recorded ----
    struct Totals {
        std::uint64_t calls = 0, ns = 0, bytes = 0;
        double operations = 0;
    };
    std::uint64_t event_count() const;
    std::uint64_t dropped() const { return drawn_.load(std::memory_order_relaxed) - event_count(); }
    const ProfileEvent& event(std::size_t index) const;  // throws INVALID_ARGUMENT
    std::size_t operator_count() const { return operator_count_; }
    Op operator_at(std::size_t index) const;  // the longest first; throws INVALID_ARGUMENT
    const Totals& totals(Op op) const { return totals_[static_cast<std::size_t>(op)]; }
    std::uint64_t duration_ns() const { return stop_ns_ - start_ns_; }
    std::uint64_t calls_ns() const { return calls_ns_; }
    std::uint64_t steps_ns() const;
    std::uint64_t held_peak() const { return held_peak_; }
    std::uint64_t live_peak() const { return live_peak_; }

  private:
    ProfileEvent* events() { return static_cast<ProfileEvent*>(room_.data()); }
    const ProfileEvent* events() const { return static_cast<const ProfileEvent*>(room_.data()); }
    std::uint64_t now() const noexcept;
    Place begin(ProfileEvent event) noexcept;

    const std::uint64_t capacity_;
    const HostHeap& heap_;
    Buffer room_;
    std::atomic<std::uint64_t> drawn_{0};  // places, those beyond the capacity included
    const std::uint64_t start_ns_;
    std::uint64_t stop_ns_ = 0, calls_ns_ = 0, call_begin_ = 0, held_peak_ = 0, live_peak_ = 0;
    std::uint16_t depth_ = 0;
    const Program* program_ = nullptr;  // whose step is running; NULL: none
    std::uint32_t step_ = 0;
    std::uint64_t step_begin_ = 0;
    Place step_place_ = 0;
    Totals totals_[kOpCount];
    Op operators_[kOpCount];
    std::size_t operator_count_ = 0;
};

// Records a call, or a part of one, from here to the end of the block, if the context records.
class ProfileCall final {
  public:
    ProfileCall(const Context& context, const char* name, std::int64_t number = -1) noexcept
        : profile_(context.recording()) {
        if (profile_ != nullptr) place_ = profile_->begin_call(name, number);
    }
    ~ProfileCall() {
        if (profile_ != nullptr) profile_->end(place_);
    }
    ProfileCall(const ProfileCall&) = delete;
    ProfileCall& operator=(const ProfileCall&) = delete;

  private:
    Profile* profile_;
    Profile::Place place_ = 0;
};

// The parameter, gradient, output or state that a step reads or makes; "": none of them.
const char* subject_of(const Program& program, std::size_t step);

const char* phase_name(std::uint32_t phase);  // "each", "reduce", "update"

// The whole profile as a Chrome trace (JSON). Throws IO_ERROR, OUT_OF_MEMORY.
void write_trace(const Profile& profile, const Context& context, const char* path);

}  // namespace volta
