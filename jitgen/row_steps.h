// Straight-line code as the emitter sees it: the instructions of one part of a RowPlan, with what the
// processor does in one instruction merged (select of a comparison is MAXPS or MINPS), and where each value
// is used.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include "jitgen/row_merge.h"
#include "jitgen/row_plan.h"

namespace volta::jit {

struct Step {
    std::int32_t id;  // of the instruction; also the value it defines
    Code code;
    Merged merged;
    Arguments arguments;  // values read
};

// Steps may be interleaved: two copies of a section in turn, for neighbouring vectors. A processor that waits
// for one chain of instructions then works on the other; its own window is too short to find it behind a long
// section. Value v of the second copy is v + count of the plan's instructions; values that both share keep
// their number.
class Steps {
  public:
    struct Form {
        bool is_loop;
        bool wide;  // AVX-512: more can be merged
        int copies;
        int stage;
    };
    // `order`: instructions of one section. Loads of a loop are no steps (their values are read at their
    // first use), but for those that are stored as they are.
    Steps(const RowPlan& plan, const std::pmr::vector<std::int32_t>& order, Form form,
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
    static constexpr int kMostCopies = 2;

  private:
    void remove_dead(const RowPlan& plan, int stage);
    void place_stores(const RowPlan& plan);
    void interleave(const RowPlan& plan, int copies);
    void index_uses(std::size_t values);
    void measure(const RowPlan& plan);

    std::pmr::vector<Step> list_;
    std::pmr::vector<int> use_begin_,
        uses_;  // positions of the uses of value v: uses_[use_begin_[v] .. [v + 1])
    int first_store_ = 0, pressure_ = 0;
};

}  // namespace volta::jit
