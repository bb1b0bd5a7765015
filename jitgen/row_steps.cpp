#include "jitgen/row_steps.h"

#include <algorithm>

namespace volta::jit {
namespace {

bool has_effect(Code code) {
    return code == Code::store || code == Code::column_sum || is_row_reduction(code);
}

// select(less(q, p), p, q) is p > q ? p : q, which is MAXPS(p, q) on every input: for NaNs and equal zeros
// both take the second. select(less(p, q), p, q) is MINPS(p, q).
Step step_of(const RowPlan& plan, std::int32_t id) {
    const Instruction& x = plan.code[id];
    Step step{id, x.code, Step::none, arguments_of(x)};
    if (x.code != Code::select || x.type != Type::real) return step;
    const Instruction& condition = plan.code[x.a];
    if (condition.code != Code::less) return step;
    if (condition.a == x.c && condition.b == x.b) step.merged = Step::maximum;
    if (condition.a == x.b && condition.b == x.c) step.merged = Step::minimum;
    if (step.merged != Step::none) step.arguments = Arguments{{x.b, x.c, -1}, 2};
    return step;
}

// Registers beyond the result and the arguments, in the worst case of both instruction sets.
int temporaries(Code code) {
    switch (code) {
        case Code::umul_high:
            return 3;
        case Code::row_argmax:
            return 4;
        case Code::row_max:
        case Code::row_sum:
            return 1;
        default:
            return 0;
    }
}

}  // namespace

Steps::Steps(const RowPlan& plan, const std::pmr::vector<std::int32_t>& order, bool is_loop,
             std::pmr::memory_resource* heap)
    : list_(heap), use_begin_(heap), uses_(heap) {
    std::pmr::vector<bool> is_stored(plan.code.size(), false, heap);
    for (const std::int32_t id : order)
        if (plan.code[id].code == Code::store) is_stored[plan.code[id].b] = true;
    for (const std::int32_t id : order)
        if (!is_loop || plan.code[id].code != Code::load || is_stored[id]) list_.push_back(step_of(plan, id));
    index_uses(plan.code.size());
    if (is_loop) {
        remove_merged();
        index_uses(plan.code.size());
        place_stores(plan);
        index_uses(plan.code.size());
    }
    first_store_ = size();
    for (int at = size(); at-- > 0;)
        if (list_[at].code == Code::store) first_store_ = at;
    measure(plan);
}

// A comparison that was merged into all of its selects is not needed any more.
void Steps::remove_merged() {
    const auto is_dead = [this](const Step& step) {
        return !has_effect(step.code) && use_count(step.id) == 0;
    };
    list_.erase(std::remove_if(list_.begin(), list_.end(), is_dead), list_.end());
}

// A store moves up to where its value is known, which frees the value's register; but not before all loads,
// because its operand may be the memory of an input.
void Steps::place_stores(const RowPlan& plan) {
    const int stores = static_cast<int>(
        std::count_if(list_.begin(), list_.end(), [](const Step& step) { return step.code == Code::store; }));
    const int others = size() - stores;  // the plan puts stores last
    int earliest = -1;                   // the step by which everything is loaded
    for (int at = 0; at < others; ++at) {
        if (list_[at].code == Code::load) earliest = at;
        for (const std::int32_t value : list_[at].arguments)
            if (plan.code[value].code == Code::load && uses_[use_begin_[value]] == at) earliest = at;
    }
    std::pmr::vector<Step> placed(list_.get_allocator());
    std::pmr::vector<bool> done(static_cast<std::size_t>(stores), false, list_.get_allocator());
    for (int at = -1; at < others; ++at) {
        if (at >= 0) placed.push_back(list_[at]);
        if (at < earliest) continue;
        for (int s = 0; s < stores; ++s) {
            const std::int32_t value = list_[others + s].arguments.ids[0];
            const bool known =
                at == others - 1 || std::none_of(list_.begin() + at + 1, list_.begin() + others,
                                                 [&](const Step& step) { return step.id == value; });
            if (!done[s] && known) placed.push_back(list_[others + s]), done[s] = true;
        }
    }
    list_ = std::move(placed);
}

void Steps::index_uses(std::size_t values) {
    use_begin_.assign(values + 1, 0);
    for (const Step& step : list_)
        for (const std::int32_t value : step.arguments) ++use_begin_[value + 1];
    for (std::size_t v = 0; v < values; ++v) use_begin_[v + 1] += use_begin_[v];
    uses_.assign(static_cast<std::size_t>(use_begin_[values]), 0);
    std::pmr::vector<int> place(use_begin_, use_begin_.get_allocator());
    for (int at = 0; at < size(); ++at)
        for (const std::int32_t value : list_[at].arguments) uses_[place[value]++] = at;
}

int Steps::next_use(std::int32_t value, int position) const {
    for (int k = use_begin_[value]; k < use_begin_[value + 1]; ++k)
        if (uses_[k] >= position) return uses_[k];
    return kNever;
}

int Steps::last_use(std::int32_t value) const {
    return use_count(value) > 0 ? uses_[use_begin_[value + 1] - 1] : -1;
}

void Steps::measure(const RowPlan& plan) {
    const auto count = static_cast<std::int32_t>(plan.code.size());
    std::pmr::vector<int> live(static_cast<std::size_t>(size() + 1), 0, list_.get_allocator());
    for (std::int32_t value = 0; value < count; ++value) {
        if (plan.rates[value] != Rate::column || use_count(value) == 0) continue;
        int begin = uses_[use_begin_[value]];  // loads and values read back: from their first use
        for (int at = 0; at < size(); ++at)
            if (list_[at].id == value) begin = at;
        for (int at = begin; at < last_use(value); ++at) ++live[at];
    }
    for (int at = 0; at < size(); ++at)
        pressure_ = std::max(pressure_, live[at] + temporaries(list_[at].code) + 2);
}

}  // namespace volta::jit
