#include "engine/runtime/activation_budget.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/passes/pass.h"
#include "engine/passes/passes.h"
#include "engine/passes/rematerialize.h"

namespace volta {
namespace {

// The passes before results are computed again: merging duplicates behind it would undo it.
std::uint32_t early_passes() {
    std::uint32_t early = 0;
    for (int pass = 0; pass < kPassCount && kPasses[pass].run != recompute; ++pass)
        early |= std::uint32_t{1} << pass;
    return early;
}

// Plans one choice after the other, the cheapest first, until one takes at most `budget` bytes. NULL: none
// does, and the least that any takes is in `smallest`.
HeapPtr<Plan> first_within(const Graph& graph, std::uint32_t passes, const PlanOptions& options,
                           std::uint64_t budget, std::uint64_t& smallest, std::pmr::memory_resource* heap) {
    const std::uint32_t early = early_passes();
    const Graph simplified = run_passes(graph, passes & early, heap);
    smallest = UINT64_MAX;
    for (const Recomputation& choice : recomputations(simplified, heap)) {
        const Graph repeated = rematerialize(simplified, choice.nodes, heap);
        HeapPtr<Plan> plan = make_plan(run_passes(repeated, passes & ~early, heap), options, heap);
        if (plan->bill.activations <= budget) return plan;
        smallest = std::min(smallest, plan->bill.activations);
    }
    return nullptr;
}

}  // namespace

HeapPtr<Plan> plan_within(const Graph& graph, std::uint32_t passes, const PlanOptions& options,
                          std::uint64_t budget, std::pmr::memory_resource* heap) {
    std::uint64_t smallest = 0;
    HeapPtr<Plan> plan = first_within(graph, passes, options, budget, smallest, heap);
    if (plan == nullptr)
        fail(VOLTA_OUT_OF_MEMORY,
             "activation_budget is %llu bytes: with all computed again that can be, activations need %llu",
             static_cast<unsigned long long>(budget), static_cast<unsigned long long>(smallest));
    return plan;
}

std::uint64_t smallest_activations(const Graph& graph, std::uint32_t passes, const PlanOptions& options,
                                   std::pmr::memory_resource* heap) {
    std::uint64_t smallest = 0;
    const HeapPtr<Plan> empty = first_within(graph, passes, options, 0, smallest, heap);
    return empty == nullptr ? smallest : 0;
}

}  // namespace volta
