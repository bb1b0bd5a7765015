// How a loop's registers are shared between running results, pinned values and the values of its steps.
#include <algorithm>

#include "jitgen/row_loops.h"

namespace volta::jit {
namespace {

// A step holds up to four values and five temporaries at once; below this the allocator could not serve it.
constexpr int kFewestVectors = 9;
// Of the k registers, k2 and k3 may hold which lanes saw a NaN; four are left for masks of the steps.
constexpr int kLastMaskForLanes = 4;

// Registers that keep values of the steps from being spilled; AVX2 masks a partial vector by one more.
int wanted_vectors(const Steps& steps, const RegisterBudget& budget) {
    return std::max(kFewestVectors, steps.pressure() + (budget.wide ? 0 : 1));
}

// Two copies in turn where the section is long (the processor finds short ones by itself) and registers
// allow.
void choose_copies(const RegisterBudget& budget, int top, ColumnLoop& loop) {
    if (loop.steps.size() < 14 || wanted_vectors(loop.interleaved, budget) > top) return;
    loop.copies = Steps::kMostCopies;
    loop.unroll = std::max(loop.unroll, loop.copies);
}

// Constants and uniform values go to registers that are left, the most used first.
void choose_pins(const RowPlan& plan, const RegisterBudget& budget, int top, ColumnLoop& loop) {
    std::pmr::vector<std::int32_t> candidates(loop.registers.pinned.get_allocator());
    for (std::int32_t id = 0; id < static_cast<std::int32_t>(plan.code.size()); ++id)
        if (plan.rates[id] != Rate::column && loop.steps.use_count(id) > 0 &&
            !(budget.wide && plan.code[id].type == Type::mask))
            candidates.push_back(id);
    std::sort(candidates.begin(), candidates.end(), [&](std::int32_t a, std::int32_t b) {
        const int uses_a = loop.steps.use_count(a), uses_b = loop.steps.use_count(b);
        return uses_a != uses_b ? uses_a > uses_b : a < b;
    });
    const int wanted = wanted_vectors(loop.copies > 1 ? loop.interleaved : loop.steps, budget);
    const int room = std::max(0, top - wanted);
    for (int k = 0; k < std::min<int>(room, static_cast<int>(candidates.size())); ++k)
        loop.registers.pinned.push_back(Pin{candidates[k], --top});
    loop.registers.vectors = top;
}

int unroll_of(int steps) { return steps <= 12 ? 4 : steps <= 40 ? 2 : 1; }

}  // namespace

// A row sum fixes the iteration: 32 columns, one per lane. Running results are in registers as long as those
// last.
void plan_row_loop(const RowPlan& plan, const RegisterBudget& budget, ColumnLoop& loop) {
    const int group = 32 / budget.lanes;
    for (const Step& step : loop.steps.list())
        loop.has_row_sum = loop.has_row_sum || step.code == Code::row_sum;
    loop.unroll = loop.has_row_sum ? group : unroll_of(loop.steps.size());
    const int wanted =
        std::max(kFewestVectors, std::min(wanted_vectors(loop.steps, budget), budget.vectors - 4));
    int top = budget.vectors;
    for (const Step& step : loop.steps.list()) {
        if (!is_row_reduction(step.code)) continue;
        const bool is_max = step.code == Code::row_max;
        const int count = step.code == Code::row_sum ? group : is_max ? loop.unroll : 2;
        const bool nan_in_vector = is_max && !budget.wide;
        if (top - count - (nan_in_vector ? 1 : 0) < wanted) continue;
        if (is_max && budget.wide && loop.registers.first_mask == kLastMaskForLanes) continue;
        top -= count;
        loop.accumulators.first[step.id] = top;
        loop.accumulators.count[step.id] = count;
        if (is_max) loop.accumulators.nan[step.id] = budget.wide ? loop.registers.first_mask++ : --top;
    }
    choose_copies(budget, top, loop);
    choose_pins(plan, budget, top, loop);
}

// As many columns at once as there are registers for their running sums: each row then reads whole cache
// lines.
void plan_column_sums(const RowPlan& plan, const RegisterBudget& budget, ColumnLoop& loop) {
    int sums = 0;
    for (const Step& step : loop.steps.list()) sums += step.code == Code::column_sum;
    const int size = loop.steps.size();
    loop.unroll = size <= 10 ? 8 : size <= 24 ? 4 : 2;
    const int wanted = std::min(wanted_vectors(loop.steps, budget), budget.vectors - 4);
    const int room = budget.vectors - std::max(kFewestVectors, wanted);
    while (loop.unroll > 1 && sums * loop.unroll > room) loop.unroll /= 2;
    int top = budget.vectors;
    for (const Step& step : loop.steps.list()) {
        if (step.code != Code::column_sum || top - loop.unroll < kFewestVectors) continue;
        top -= loop.unroll;
        loop.accumulators.first[step.id] = top;
        loop.accumulators.count[step.id] = loop.unroll;
    }
    if (loop.unroll > 1) choose_copies(budget, top, loop);
    choose_pins(plan, budget, top, loop);
}

}  // namespace volta::jit
