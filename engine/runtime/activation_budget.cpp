#include "engine/runtime/activation_budget.h"

#include <algorithm>
#include <optional>

#include "engine/base/error.h"
#include "engine/passes/pass.h"
#include "engine/passes/passes.h"
#include "engine/passes/rematerialize.h"
#include "engine/passes/split_loss.h"

namespace volta {
namespace {

// The passes before results are computed again: merging duplicates behind it would undo it.
std::uint32_t early_passes() {
    std::uint32_t early = 0;
    for (int pass = 0; pass < kPassCount && kPasses[pass].run != recompute; ++pass)
        early |= std::uint32_t{1} << pass;
    return early;
}

// A choice of what the backward pass computes again, in the graph itself or in the one whose loss is in
// pieces.
struct Choice {
    const Graph* graph;
    Recomputation again;
};

void add_choices(const Graph& graph, double repeated, std::pmr::vector<Choice>& choices,
                 std::pmr::memory_resource* heap) {
    for (Recomputation& again : recomputations(graph, heap)) {
        again.repeated += repeated;
        choices.push_back({&graph, std::move(again)});
    }
}

// Those of both graphs, the cheapest first; of the first graph none that costs more than the loss in pieces
// alone, which gives more memory back than what is computed again for as much.
std::pmr::vector<Choice> choices_of(const Graph& whole, const std::optional<SplitLoss>& split,
                                    std::pmr::memory_resource* heap) {
    std::pmr::vector<Choice> choices(heap);
    add_choices(whole, 0, choices, heap);
    if (!split) return choices;
    choices.erase(
        std::remove_if(choices.begin(), choices.end(),
                       [&](const Choice& choice) { return choice.again.repeated >= split->repeated; }),
        choices.end());
    add_choices(split->graph, split->repeated, choices, heap);
    return choices;
}

// Does a plan of the options compute the same bits in pieces? At other levels a product's bits may depend on
// its rows.
bool may_split(const PlanOptions& options) {
    return options.micro_batches == 1 && options.arithmetic.level == Level::strict;
}

// The graph's plan as the options have it; where that does not fit, in the order that needs less memory,
// which costs nothing but what caches hold between steps.
HeapPtr<Plan> smallest_plan(Graph&& graph, const PlanOptions& options, std::uint64_t budget,
                            std::pmr::memory_resource* heap) {
    HeapPtr<Plan> plan = make_plan(std::move(graph), options, heap);
    if (plan->bill.activations <= budget || options.order == StepOrder::memory) return plan;
    return in_less_memory(std::move(plan), options, heap);
}

// Plans one choice after the other, the cheapest first, until one takes at most `budget` bytes. NULL: none
// does, and the least that any takes is in `smallest`.
HeapPtr<Plan> first_within(const Graph& graph, std::uint32_t passes, const PlanOptions& options,
                           std::uint64_t budget, std::uint64_t& smallest, std::pmr::memory_resource* heap) {
    const std::uint32_t early = early_passes();
    const Graph simplified = run_passes(graph, passes & early, heap);
    std::optional<SplitLoss> split;
    if (may_split(options)) split = split_loss(simplified, heap);
    smallest = UINT64_MAX;
    for (const Choice& choice : choices_of(simplified, split, heap)) {
        const Graph repeated = rematerialize(*choice.graph, choice.again.nodes, heap);
        HeapPtr<Plan> plan =
            smallest_plan(run_passes(repeated, passes & ~early, heap), options, budget, heap);
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
