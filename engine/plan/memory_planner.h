// Offsets in one arena for buffers with known lifetimes. Knows nothing of graphs and steps' meaning.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "engine/base/memory.h"

namespace volta {

// One buffer of the plan: alive from the step that first writes it to its last reader, both included.
struct Lifetime {
    std::uint64_t bytes;
    std::int32_t first_step;
    std::int32_t last_step;  // >= first_step
};

struct MemoryPlan {
    std::pmr::vector<std::uint64_t>
        offsets;  // bytes into the arena, one per buffer; multiples of kTensorAlignment
    std::uint64_t arena_bytes;
    std::uint64_t search_steps;  // that were taken beyond the first placement
};

struct MemoryPlanOptions {
    // How long is searched for a smaller arena: at most `search_steps`, of some five nanoseconds each, and at
    // most `search_steps_per_buffer` times the buffers. Training steps of GPTs for which the search is needed
    // end it within a million (5 ms); these limits leave room for four, and keep small graphs at
    // microseconds.
    std::uint64_t search_steps = 1u << 22;
    std::uint64_t search_steps_per_buffer = 1u << 14;
    std::uint64_t goal = 0;  // bytes that are small enough; below the bound: the bound
};

// Places all buffers in one arena; buffers alive at the same step never overlap.
// Largest first, each at the lowest offset that fits, ties to the lower index. On the steps of GPTs that
// reaches the bound below, on random lifetimes it ends 3 % above (in the smallest gap instead of the lowest:
// 7 %). Where more than a hundredth is left, a search follows that is limited in steps, not in time: the same
// buffers have the same plan on every machine. The arena is never larger for it. Throws UNSUPPORTED when the
// sizes do not fit into 64 bits.
MemoryPlan plan_memory(const std::pmr::vector<Lifetime>& buffers, const MemoryPlanOptions& options = {});

// What no placement can go below: the most bytes (padded to kTensorAlignment) that are alive at one step.
std::uint64_t live_bytes_bound(const std::pmr::vector<Lifetime>& buffers);

// `bytes` rounded up to a multiple of kTensorAlignment. Throws UNSUPPORTED when that does not fit.
std::uint64_t padded(std::uint64_t bytes);

}  // namespace volta
