// How a loop's registers are shared between running results, pinned values and the values of its steps.
#include <algorithm>

#include "jitgen/row_loops.h"

namespace volta::jit {
namespace {

// A step holds up to four values and five temporaries at once; below this the allocator could not serve it.
constexpr int kFewestVectors = 9;

// Values of the steps need this many registers not to be spilled; AVX2 masks a partial vector by one more.
int wanted_vectors(const ColumnLoop& loop, const RegisterBudget& budget) {
    return std::max(kFewestVectors, loop.steps.pressure() + 1 + (budget.wide ? 0 : 1));
}

// Constants and uniform values go to registers that are left, the most used first.
void choose_pins(const RowPlan& plan, const RegisterBudget& budget, int top, ColumnLoop& loop) {
    std::pmr::vector<std::int32_t> candidates(loop.pins.get_allocator());
    for (std::int32_t id = 0; id < static_cast<std::int32_t>(plan.code.size()); ++id)
        if (plan.rates[id] != Rate::column && loop.steps.use_count(id) > 0 &&
            !(budget.wide && plan.code[id].type == Type::mask))
            candidates.push_back(id);
    std::sort(candidates.begin(), candidates.end(), [&](std::int32_t a, std::int32_t b) {
        const int uses_a = loop.steps.use_count(a), uses_b = loop.steps.use_count(b);
        return uses_a != uses_b ? uses_a > uses_b : a < b;
    });
    const int room = std::max(0, top - std::min(top, wanted_vectors(loop, budget)));
    for (int k = 0; k < std::min<int>(room, static_cast<int>(candidates.size())); ++k)
        loop.pins.push_back(Pin{candidates[k], --top});
    loop.vectors = top;
}

int unroll_of(int steps) { return steps <= 12 ? 4 : steps <= 40 ? 2 : 1; }

}  // namespace

// Row sums want the 32 lanes in registers, one group of 32 columns per iteration. A loop too long to copy
// that often, or too short of registers, keeps its running results in the frame and handles one vector at a
// time.
void plan_row_loop(const RowPlan& plan, const RegisterBudget& budget, ColumnLoop& loop) {
    const int group = 32 / budget.lanes;
    int sums = 0, maxima = 0, indices = 0;
    for (const Step& step : loop.steps.list()) {
        sums += step.code == Code::row_sum;
        maxima += step.code == Code::row_max;
        indices += step.code == Code::row_argmax;
    }
    loop.has_row_sum = sums > 0;
    loop.unroll = sums > 0 ? group : unroll_of(loop.steps.size());
    int top = budget.vectors;
    const int per_maximum = loop.unroll + (budget.wide ? 0 : 1);
    const int results = sums * group + maxima * per_maximum + indices * 2;
    const bool fits = results <= top - std::min(wanted_vectors(loop, budget), budget.vectors - 4) &&
                      results <= top - kFewestVectors && (maxima <= 2 || !budget.wide) &&
                      (sums == 0 || loop.steps.size() * group <= 160);
    if (fits) {
        for (const Step& step : loop.steps.list()) {
            if (!is_row_reduction(step.code)) continue;
            const int count = step.code == Code::row_sum   ? group
                              : step.code == Code::row_max ? loop.unroll
                                                           : 2;
            top -= count;
            loop.accumulators.first[step.id] = top;
            loop.accumulators.count[step.id] = count;
            if (step.code == Code::row_max)
                loop.accumulators.nan[step.id] = budget.wide ? loop.first_mask++ : --top;
        }
    } else if (sums > 0) {
        loop.unroll = 1;
    }
    choose_pins(plan, budget, top, loop);
}

// As many columns at once as there are registers for their running sums: each row then reads whole cache
// lines.
void plan_column_sums(const RowPlan& plan, const RegisterBudget& budget, ColumnLoop& loop) {
    int sums = 0;
    for (const Step& step : loop.steps.list()) sums += step.code == Code::column_sum;
    const int size = loop.steps.size();
    loop.unroll = size <= 10 ? 8 : size <= 24 ? 4 : size <= 60 ? 2 : 1;
    const int room =
        budget.vectors - std::max(kFewestVectors, std::min(wanted_vectors(loop, budget), budget.vectors - 4));
    while (loop.unroll > 1 && sums * loop.unroll > room) loop.unroll /= 2;
    int top = budget.vectors;
    for (const Step& step : loop.steps.list()) {
        if (step.code != Code::column_sum || top - loop.unroll < kFewestVectors) continue;
        top -= loop.unroll;
        loop.accumulators.first[step.id] = top;
        loop.accumulators.count[step.id] = loop.unroll;
    }
    choose_pins(plan, budget, top, loop);
}

}  // namespace volta::jit
