// Straight-line code as the emitter sees it: the instructions of one part of a RowPlan, with what the
// processor does in one instruction merged (select of a comparison is MAXPS or MINPS), and where each value
// is used.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "jitgen/row_plan.h"

namespace volta::jit {

struct Step {
    std::int32_t id;  // of the instruction; also the value it defines
    Code code;
    enum Merged : std::uint8_t { none, maximum, minimum } merged;
    Arguments arguments;  // values read
};

class Steps {
  public:
    // `order`: instructions of one section. Loads of a loop are no steps (their values are read at their
    // first use), but for those that are stored as they are.
    Steps(const RowPlan& plan, const std::pmr::vector<std::int32_t>& order, bool is_loop,
          std::pmr::memory_resource* heap);

    const std::pmr::vector<Step>& list() const { return list_; }
    int size() const { return static_cast<int>(list_.size()); }
    // The first step at or after `position` that reads `value`, or kNever.
    int next_use(std::int32_t value, int position) const;
    int last_use(std::int32_t value) const;  // -1: never
    int use_count(std::int32_t value) const { return use_begin_[value + 1] - use_begin_[value]; }
    int first_store() const { return first_store_; }  // of a full operand; size() without one
    // The most vector registers that values of this section need at once, constants and uniform values
    // excepted.
    int pressure() const { return pressure_; }

    static constexpr int kNever = 1 << 30;

  private:
    void remove_merged();
    void place_stores(const RowPlan& plan);
    void index_uses(std::size_t values);
    void measure(const RowPlan& plan);

    std::pmr::vector<Step> list_;
    std::pmr::vector<int> use_begin_,
        uses_;  // positions of the uses of value v: uses_[use_begin_[v] .. [v + 1])
    int first_store_ = 0, pressure_ = 0;
};

}  // namespace volta::jit
