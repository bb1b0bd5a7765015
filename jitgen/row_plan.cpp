#include "jitgen/row_plan.h"

#include <algorithm>

namespace volta::jit {
namespace {

// What computing a value again costs, in about one instruction per vector. A value that costs more than
// kKeepAbove is written to a scratch row once and read back: a store and a load that stay in L1 or L2.
constexpr int kKeepAbove = 5;

int cost_of(Code code) {
    switch (code) {
        case Code::div:
        case Code::sqrt:
            return 8;
        case Code::umul_high:
            return 4;
        case Code::column_index:
            return 2;
        default:
            return 1;
    }
}

std::int32_t look_through(const std::pmr::vector<Instruction>& code, std::int32_t id) {
    while (id >= 0 && (code[id].code == Code::bits || code[id].code == Code::from_bits)) id = code[id].a;
    return id;
}

// Fills a RowPlan; what is needed only while planning lives here.
class Planner {
  public:
    Planner(RowPlan& plan, Keep keep, std::pmr::memory_resource* heap)
        : plan_(plan),
          keep_(keep),
          heap_(heap),
          count_(static_cast<std::int32_t>(plan.code.size())),
          stage_of_(count_, 0, heap) {}

    void run() {
        find_rates();
        find_call_and_row_code();
        for (int t = 0; t < static_cast<int>(plan_.stages.size()); ++t) plan_loop(t);
    }

  private:
    bool is_store(std::int32_t id) const {
        return plan_.code[id].code == Code::store || plan_.code[id].code == Code::column_sum;
    }
    bool is_per_row_store(std::int32_t id) const {
        return plan_.code[id].code == Code::store &&
               plan_.operands[plan_.code[id].a].access == Access::per_row;
    }

    Rate own_rate(const Instruction& x) const {
        if (x.code == Code::row_index || is_row_reduction(x.code)) return Rate::row;
        if (x.code == Code::column_index) return Rate::column;
        if (x.code != Code::load) return Rate::call;
        switch (plan_.operands[x.a].access) {
            case Access::single:
                return Rate::call;
            case Access::per_row:
                return Rate::row;
            default:
                return Rate::column;
        }
    }

    // Rates, and stages: a reduction's result is known one stage after its argument.
    void find_rates() {
        int last = 0;
        for (std::int32_t id = 0; id < count_; ++id) {
            const Instruction& x = plan_.code[id];
            Rate rate = own_rate(x);
            for (const std::int32_t argument : arguments_of(x)) {
                stage_of_[id] = std::max(stage_of_[id], stage_of_[argument]);
                if (!is_row_reduction(x.code)) rate = std::max(rate, plan_.rates[argument]);
            }
            if (is_row_reduction(x.code)) ++stage_of_[id];
            plan_.rates[id] = rate;
            plan_.row_sums += x.code == Code::row_sum;
            plan_.column_sums = plan_.column_sums || x.code == Code::column_sum;
            last = std::max(last, stage_of_[id]);
        }
        for (int t = 0; t <= last; ++t) plan_.stages.emplace_back(heap_);
    }

    void find_call_and_row_code() {
        for (std::int32_t id = 0; id < count_; ++id) {
            const Code code = plan_.code[id].code;
            if (is_store(id) || is_row_reduction(code) || code == Code::constant || code == Code::bits ||
                code == Code::from_bits)
                continue;
            if (plan_.rates[id] == Rate::call) plan_.call_code.push_back(id);
            if (plan_.rates[id] == Rate::row) plan_.stages[stage_of_[id]].row_code.push_back(id);
        }
        // After everything is loaded: an output may lie where an input lies.
        for (std::int32_t id = 0; id < count_; ++id)
            if (is_per_row_store(id)) plan_.stages.back().row_code.push_back(id);
    }

    // A reduction runs in the stage of its argument. A store runs in the last stage: no stage reads a full
    // operand after one has been written over it, so recomputing a value from its loads stays right in place.
    bool is_root(std::int32_t id, int t) const {
        const Instruction& x = plan_.code[id];
        if (is_row_reduction(x.code)) return stage_of_[id] - 1 == t;
        return is_store(id) && !is_per_row_store(id) && t + 1 == static_cast<int>(plan_.stages.size());
    }

    void plan_loop(int t) {
        std::pmr::vector<bool> needed(count_, false, heap_), runs(count_, false, heap_);
        for (std::int32_t id = count_; id-- > 0;) {
            if (is_root(id, t)) runs[id] = true;
            if (needed[id]) runs[id] = !reload_instead(id, t);
            if (!runs[id]) continue;
            if (needed[id] && plan_.first_stage[id] < 0) plan_.first_stage[id] = t;
            for (const std::int32_t argument : arguments_of(plan_.code[id]))
                if (plan_.rates[argument] == Rate::column) needed[argument] = true;
        }
        order_loop(runs, plan_.stages[t].loop_code);
    }

    bool reload_instead(std::int32_t id, int t) {
        if (keep_ == Keep::nothing || plan_.first_stage[id] < 0 || plan_.first_stage[id] == t) return false;
        if (plan_.kept_row[id] >= 0) return true;
        if (plan_.code[id].type == Type::mask) return false;  // rows keep words; its arguments may be kept
        if (cost_again(id) <= kKeepAbove) return false;
        plan_.kept_row[id] = plan_.kept_rows++;
        return true;
    }

    // The cost of every distinct instruction below `id`; values already kept count as their load.
    int cost_again(std::int32_t root) const {
        std::pmr::vector<bool> counted(root + 1, false, heap_);
        counted[root] = true;
        int cost = 0;
        for (std::int32_t id = root; id >= 0 && cost <= kKeepAbove; --id) {
            if (!counted[id]) continue;
            cost += plan_.kept_row[id] >= 0 ? 1 : cost_of(plan_.code[id].code);
            if (plan_.kept_row[id] >= 0) continue;
            for (const std::int32_t argument : arguments_of(plan_.code[id]))
                if (plan_.rates[argument] == Rate::column) counted[argument] = true;
        }
        return cost;
    }

    // Ascending, stores last: an output may be the memory of an input.
    void order_loop(const std::pmr::vector<bool>& runs, std::pmr::vector<std::int32_t>& order) const {
        for (const bool stores : {false, true})
            for (std::int32_t id = 0; id < count_; ++id)
                if (runs[id] && (plan_.code[id].code == Code::store) == stores) order.push_back(id);
    }

    RowPlan& plan_;
    Keep keep_;
    std::pmr::memory_resource* heap_;
    std::int32_t count_;
    std::pmr::vector<int> stage_of_;  // of a reduction: where its result is known
};

}  // namespace

Arguments arguments_of(const Instruction& x) {
    const char* kinds = info(x.code).arguments;
    const std::int32_t all[3] = {x.a, x.b, x.c};
    Arguments result{{}, 0};
    for (int k = 0; k < 3; ++k)
        if (kinds[k] != '-' && kinds[k] != 'o') result.ids[result.count++] = all[k];
    return result;
}

bool is_row_reduction(Code code) {
    return code == Code::row_sum || code == Code::row_max || code == Code::row_argmax;
}

RowPlan::RowPlan(const Program& program, std::pmr::memory_resource* heap, Keep keep)
    : code(program.code, heap),
      operands(program.operands, heap),
      streams(program.streams),
      rates(program.code.size(), Rate::call, heap),
      call_code(heap),
      stages(heap),
      kept_row(program.code.size(), -1, heap),
      first_stage(program.code.size(), -1, heap) {
    for (Instruction& x : code) {
        const char* kinds = info(x.code).arguments;
        std::int32_t* const all[3] = {&x.a, &x.b, &x.c};
        for (int k = 0; k < 3; ++k)
            if (kinds[k] != '-' && kinds[k] != 'o') *all[k] = look_through(program.code, *all[k]);
    }
    Planner(*this, keep, heap).run();
}

std::size_t kept_row_bytes(std::int64_t columns) noexcept {
    return static_cast<std::size_t>((columns + 31) / 32) * 128;
}

std::size_t chunk_row_bytes(std::int64_t columns) noexcept {
    const std::int64_t chunks = std::max<std::int64_t>(1, (columns + kSumChunk - 1) / kSumChunk);
    return static_cast<std::size_t>((chunks + 31) / 32) * 128;
}

std::size_t scratch_bytes(const RowPlan& plan, std::int64_t columns) noexcept {
    return static_cast<std::size_t>(plan.kept_rows) * kept_row_bytes(columns) +
           static_cast<std::size_t>(plan.row_sums) * chunk_row_bytes(columns);
}

}  // namespace volta::jit
