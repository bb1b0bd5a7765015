#include "engine/runtime/profile.h"

#include <algorithm>

#include "engine/base/clock.h"
#include "engine/base/error.h"
#include "engine/runtime/gateway.h"

namespace volta {

Profile::Profile(std::uint64_t capacity, const HostHeap& heap, std::pmr::memory_resource* structures)
    : capacity_(capacity),
      heap_(heap),
      room_(structures, static_cast<std::size_t>(capacity) * sizeof(ProfileEvent)),
      start_ns_(monotonic_ns()) {}

std::uint64_t Profile::now() const noexcept { return monotonic_ns() - start_ns_; }

// An outer event draws its place before those in it: what is kept has its surroundings.
Profile::Place Profile::begin(ProfileEvent event) noexcept {
    const Place place = drawn_.fetch_add(1, std::memory_order_relaxed);
    if (place < capacity_) events()[place] = event;
    return place;
}

Profile::Place Profile::begin_call(const char* name, std::int64_t number) noexcept {
    const std::uint64_t held = heap_.tensor_bytes(), begun = now();
    held_peak_ = std::max(held_peak_, held);
    if (depth_ == 0) call_begin_ = begun;
    return begin({begun, 0, name, number, held, 0, VOLTA_PROFILE_CALL, 0, depth_++});
}

Profile::Place Profile::begin_phase(const Program& program, Phase phase, std::int64_t micro_index) noexcept {
    const std::uint64_t held = heap_.tensor_bytes();
    held_peak_ = std::max(held_peak_, held);
    return begin({now(), 0, &program, micro_index, held, static_cast<std::uint32_t>(phase),
                  VOLTA_PROFILE_PHASE, 0, depth_++});
}

void Profile::end(Place place) noexcept {
    const std::uint64_t ended = now();
    if (place < capacity_) events()[place].end = ended;
    if (--depth_ == 0) calls_ns_ += ended - call_begin_;
}

void Profile::begin_step(const Program& program, std::size_t step) noexcept {
    program_ = &program;
    step_ = static_cast<std::uint32_t>(step);
    step_begin_ = now();
    step_place_ = begin({step_begin_, 0, &program, 0, 0, step_, VOLTA_PROFILE_STEP, 0, depth_});
}

void Profile::end_step() noexcept {
    const std::uint64_t ended = now();
    if (step_place_ < capacity_) events()[step_place_].end = ended;
    const StepFacts& facts = program_->facts(step_);
    Totals& totals = totals_[static_cast<std::size_t>(program_->op(step_))];
    totals.calls += 1;
    totals.ns += ended - step_begin_;
    totals.bytes += facts.cost.bytes;
    totals.operations += facts.cost.operations;
    live_peak_ = std::max(live_peak_, facts.live_bytes);
    program_ = nullptr;
}

// What the step is was written before the pool's threads were started, and stays until the last has ended.
void Profile::beside(const char* name, std::int64_t number, std::uint8_t lane, std::uint64_t begin_ns,
                     std::uint64_t end_ns) noexcept {
    begin({begin_ns - start_ns_, end_ns - start_ns_, name, number, 0, 0, VOLTA_PROFILE_CALL, lane, 0});
}

void Profile::worked(int worker, std::uint64_t begin_ns, std::uint64_t end_ns) noexcept {
    if (program_ == nullptr) return;  // the pool also packs weights, and the like
    begin({begin_ns - start_ns_, end_ns - start_ns_, program_, 0, 0, step_, VOLTA_PROFILE_WORKER,
           static_cast<std::uint8_t>(worker), 0});
}

void Profile::stop() noexcept {
    stop_ns_ = monotonic_ns();
    for (int i = 0; i < kOpCount; ++i) {
        const Op op = static_cast<Op>(i);
        if (totals(op).calls == 0) continue;
        std::size_t at = operator_count_++;
        for (; at > 0 && totals(operators_[at - 1]).ns < totals(op).ns; --at)
            operators_[at] = operators_[at - 1];
        operators_[at] = op;
    }
}

std::uint64_t Profile::event_count() const {
    return std::min(drawn_.load(std::memory_order_relaxed), capacity_);
}

std::uint64_t Profile::steps_ns() const {
    std::uint64_t sum = 0;
    for (const Totals& totals : totals_) sum += totals.ns;
    return sum;
}

const ProfileEvent& Profile::event(std::size_t index) const {
    require(index < event_count(), "index is %zu, the profile has %llu events", index,
            static_cast<unsigned long long>(event_count()));
    return events()[index];
}

Op Profile::operator_at(std::size_t index) const {
    require(index < operator_count_, "index is %zu, the profile has %zu operators", index, operator_count_);
    return operators_[index];
}

const char* phase_name(std::uint32_t phase) {
    static constexpr const char* kNames[] = {"each", "reduce", "update"};
    return kNames[phase];
}

const char* subject_of(const Program& program, std::size_t step) {
    const Plan& plan = program.plan();
    const Node& node = plan.graph.node(plan.steps[step].node);
    // The first operand or result that lies in a region of this kind.
    const auto find = [&](bool results, RegionKind kind, RegionKind other) -> const char* {
        const std::size_t count = results ? static_cast<std::size_t>(node.output_count) : node.inputs.size();
        for (std::size_t i = 0; i < count; ++i) {
            const ValueId value = results ? node.first_output + static_cast<std::int32_t>(i) : node.inputs[i];
            const Region& region =
                plan.regions[static_cast<std::size_t>(plan.places[static_cast<std::size_t>(value)].region)];
            if (region.kind == kind || region.kind == other) return region.name.c_str();
        }
        return nullptr;
    };
    const char* name = find(false, RegionKind::parameter, RegionKind::parameter);
    if (name == nullptr) name = find(true, RegionKind::gradient, RegionKind::output);
    if (name == nullptr) name = find(false, RegionKind::gradient, RegionKind::state);
    return name != nullptr ? name : node.name.c_str();
}

}  // namespace volta
