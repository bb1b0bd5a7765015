#include "engine/plan/memory_planner.h"

#include <algorithm>
#include <numeric>

#include "engine/base/error.h"
#include "engine/plan/placement_search.h"

namespace volta {

std::uint64_t padded(std::uint64_t bytes) {
    std::uint64_t sum = 0;
    if (add_overflows(bytes, kTensorAlignment - 1, &sum))
        fail(VOLTA_UNSUPPORTED, "a buffer of %llu bytes is too large to be placed",
             static_cast<unsigned long long>(bytes));
    return sum / kTensorAlignment * kTensorAlignment;
}

namespace {

bool alive_together(const Lifetime& a, const Lifetime& b) {
    return a.first_step <= b.last_step && b.first_step <= a.last_step;
}

// Large buffers have the least choice of places, so they choose first.
std::pmr::vector<std::uint32_t> largest_first(const std::pmr::vector<Lifetime>& buffers) {
    std::pmr::vector<std::uint32_t> order(buffers.size(), 0, buffers.get_allocator());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return buffers[a].bytes != buffers[b].bytes ? buffers[a].bytes > buffers[b].bytes : a < b;
    });
    return order;
}

// A placed buffer, with what the inner loop needs side by side: the loop runs over all of them.
struct Placed {
    std::uint64_t begin, end;
    Lifetime life;
};

// The lowest offset at which `bytes` fit between or above the buffers alive with `life`.
std::uint64_t lowest_gap(const std::pmr::vector<Placed>& placed, const Lifetime& life, std::uint64_t bytes) {
    std::uint64_t top = 0;
    for (const Placed& other : placed) {  // ascending by begin
        if (!alive_together(life, other.life)) continue;
        if (other.begin >= top && other.begin - top >= bytes) break;
        top = std::max(top, other.end);
    }
    return top;
}

MemoryPlan place_largest_first(const std::pmr::vector<Lifetime>& buffers) {
    std::pmr::memory_resource* const heap = buffers.get_allocator().resource();
    MemoryPlan plan{std::pmr::vector<std::uint64_t>(buffers.size(), 0, heap), 0, 0};

    std::pmr::vector<Placed> placed(heap);
    placed.reserve(buffers.size());
    for (const std::uint32_t index : largest_first(buffers)) {
        const Lifetime& life = buffers[index];
        const std::uint64_t bytes = padded(life.bytes);
        if (bytes == 0) continue;  // empty tensors lie at 0 and disturb nobody
        const std::uint64_t begin = lowest_gap(placed, life, bytes);
        std::uint64_t end = 0;
        if (add_overflows(begin, bytes, &end))
            fail(VOLTA_UNSUPPORTED, "the arena would be larger than 2^64 bytes");
        plan.offsets[index] = begin;
        plan.arena_bytes = std::max(plan.arena_bytes, end);
        const auto at =
            std::upper_bound(placed.begin(), placed.end(), begin,
                             [](std::uint64_t value, const Placed& p) { return value < p.begin; });
        placed.insert(at, Placed{begin, end, life});
    }
    return plan;
}

}  // namespace

MemoryPlan plan_memory(const std::pmr::vector<Lifetime>& buffers, const MemoryPlanOptions& options) {
    MemoryPlan plan = place_largest_first(buffers);
    const std::uint64_t goal = std::max(live_bytes_bound(buffers), options.goal);
    if (plan.arena_bytes <= goal || (options.goal == 0 && plan.arena_bytes - goal <= goal / 100)) return plan;
    std::uint64_t steps = 0;
    if (multiply_overflows(options.search_steps_per_buffer, buffers.size(), &steps))
        steps = options.search_steps;
    search_placement(buffers, goal, std::min(steps, options.search_steps), plan);
    return plan;
}

std::uint64_t live_bytes_bound(const std::pmr::vector<Lifetime>& buffers) {
    // Births and deaths by step; a buffer dies after its last step, so births of a step come before its
    // deaths.
    struct Event {
        std::int64_t time;
        std::uint64_t bytes;
        bool birth;
    };
    std::pmr::vector<Event> events(buffers.get_allocator());
    events.reserve(buffers.size() * 2);
    for (const Lifetime& life : buffers) {
        events.push_back({std::int64_t{life.first_step} * 2, padded(life.bytes), true});
        events.push_back({std::int64_t{life.last_step} * 2 + 1, padded(life.bytes), false});
    }
    std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.time < b.time; });
    std::uint64_t live = 0, most = 0;
    for (const Event& event : events) {
        live = event.birth ? live + event.bytes : live - event.bytes;
        most = std::max(most, live);
    }
    return most;
}

}  // namespace volta
