#include "jitgen/row_steps.h"

#include <algorithm>

namespace volta::jit {
namespace {

bool has_effect(Code code) {
    return code == Code::store || code == Code::column_sum || is_row_reduction(code);
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

Steps::Steps(const RowPlan& plan, const std::pmr::vector<std::int32_t>& order, Form form,
             std::pmr::memory_resource* heap)
    : list_(heap), use_begin_(heap), uses_(heap) {
    std::pmr::vector<bool> is_stored(plan.code.size(), false, heap);
    for (const std::int32_t id : order)
        if (plan.code[id].code == Code::store) is_stored[plan.code[id].b] = true;
    // What an instruction is merged from may not be at hand in this stage, where its own argument was kept.
    const auto at_hand = [&](std::int32_t value) {
        return plan.rates[value] != Rate::column || plan.code[value].code == Code::load ||
               plan.is_reloaded(value, form.stage) || std::count(order.begin(), order.end(), value) > 0;
    };
    const Merger merger(plan, form.wide, heap);
    for (const std::int32_t id : order) {
        if (form.is_loop && plan.code[id].code == Code::load && !is_stored[id]) continue;
        Merger::Result merged = merger.merge(id);
        if (!std::all_of(merged.arguments.begin(), merged.arguments.end(), at_hand))
            merged = {Merged::none, arguments_of(plan.code[id])};
        list_.push_back(Step{id, plan.code[id].code, merged.kind, merged.arguments});
    }
    if (form.is_loop) {
        remove_dead(plan, form.stage);
        index_uses(plan.code.size());
        place_stores(plan);
    }
    if (form.copies > 1) interleave(plan, form.copies);
    index_uses(plan.code.size() * static_cast<std::size_t>(form.copies));
    first_store_ = size();
    for (int at = size(); at-- > 0;)
        if (list_[at].code == Code::store) first_store_ = at;
    measure(plan);
}

// What was computed only for instructions that are merged into others is not needed any more, unless it is
// kept for a later stage.
void Steps::remove_dead(const RowPlan& plan, int stage) {
    std::pmr::vector<bool> live(plan.code.size(), false, list_.get_allocator());
    for (int at = size(); at-- > 0;) {  // a step is read by later ones only
        const std::int32_t id = list_[at].id;
        if (has_effect(list_[at].code) || plan.is_kept_by(id, stage)) live[id] = true;
        if (!live[list_[at].id]) continue;
        for (const std::int32_t value : list_[at].arguments) live[value] = true;
    }
    const auto is_dead = [&live](const Step& step) { return !live[step.id]; };
    list_.erase(std::remove_if(list_.begin(), list_.end(), is_dead), list_.end());
}

void Steps::interleave(const RowPlan& plan, int copies) {
    const auto count = static_cast<std::int32_t>(plan.code.size());
    std::pmr::vector<Step> both(list_.get_allocator());
    for (const Step& step : list_)
        for (int copy = 0; copy < copies; ++copy) {
            Step own = step;
            own.id += copy * count;
            for (int k = 0; k < own.arguments.count; ++k)
                if (plan.rates[step.arguments.ids[k]] == Rate::column) own.arguments.ids[k] += copy * count;
            both.push_back(own);
        }
    list_ = std::move(both);
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
    std::pmr::vector<int> live(static_cast<std::size_t>(size() + 1), 0, list_.get_allocator());
    for (std::size_t value = 0; value + 1 < use_begin_.size(); ++value) {
        const auto id = static_cast<std::int32_t>(value);
        if (plan.rates[value % plan.code.size()] != Rate::column || use_count(id) == 0) continue;
        int begin = uses_[use_begin_[value]];  // loads and values read back: from their first use
        for (int at = 0; at < size(); ++at)
            if (list_[at].id == id) begin = at;
        for (int at = begin; at < last_use(id); ++at) ++live[at];
    }
    for (int at = 0; at < size(); ++at)
        pressure_ = std::max(pressure_, live[at] + temporaries(list_[at].code) + 2);
}

}  // namespace volta::jit
