// The structure around the steps: a row kernel's entry, its loops over rows and columns, and what ends them.
#pragma once

#include "jitgen/row_selector.h"

namespace volta::jit {

// One pass over columns: its steps, how often they are copied, and who owns which register.
struct ColumnLoop {
    ColumnLoop(const RowPlan& plan, int stage, bool wide, std::pmr::memory_resource* heap)
        : steps(plan, plan.stages[stage].loop_code, {true, wide, 1, stage}, heap),
          interleaved(plan, plan.stages[stage].loop_code, {true, wide, Steps::kMostCopies, stage}, heap),
          accumulators(plan.code.size(), heap),
          registers(heap) {}
    Steps steps, interleaved;
    Accumulators accumulators;
    CopyRegisters registers;
    int unroll = 1;  // vectors per iteration
    int copies = 1;  // of them interleaved
    bool has_row_sum = false;
};

// How many registers of which kind there are, for ColumnLoop plans.
struct RegisterBudget {
    int vectors, lanes;
    bool wide;
};
void plan_row_loop(const RowPlan& plan, const RegisterBudget& budget, ColumnLoop& loop);
void plan_column_sums(const RowPlan& plan, const RegisterBudget& budget, ColumnLoop& loop);

template <class Isa>
class RowLoops {
  public:
    static constexpr int kBytes = Isa::kBytes, kLanes = Isa::kLanes;
    static constexpr bool kWide = Isa::kWide;

    RowLoops(const RowPlan& plan, void* buffer, std::size_t bytes, std::pmr::memory_resource* heap);
    void generate();  // throws Xbyak::Error where the buffer is too small
    std::size_t size() const { return emit_.getSize(); }

  private:
    // row_loops.cpp: entry, rows
    void choose_prefetching(const RowPlan& plan);
    void enter();
    void leave();
    void set_next_row();
    void set_masks();
    void set_scratch_pointers();
    void set_operand_pointers();
    void set_strides();
    void set_row_index();
    void advance_row();
    void section(const std::pmr::vector<std::int32_t>& code, int stage, const CopyRegisters& registers);
    bool is_computed_in(std::int32_t value, int stage) const;
    void rows();
    void stage(int t);

    // row_loops_columns.cpp: one pass over the columns of a row; reductions
    void load_call_pins(const ColumnLoop& loop);
    void copy(const ColumnLoop& loop, int t, int unit, bool masked, int mask_at);
    void copies(const ColumnLoop& loop, int t, int units);
    void prefetch_next_row(const ColumnLoop& loop, int t);
    void plain_columns(const ColumnLoop& loop, int t);
    void chunked_columns(const ColumnLoop& loop, int t);
    void main_columns(const ColumnLoop& loop, int t);
    void group_tail(const ColumnLoop& loop, int t);
    void begin_chunk(const ColumnLoop& loop);
    void end_chunk(const ColumnLoop& loop);
    void begin_maxima(const ColumnLoop& loop);
    void end_reductions(const ColumnLoop& loop);
    void end_sums(const ColumnLoop& loop);
    void end_max(const ColumnLoop& loop, std::int32_t id, int result);
    void end_argmax(const ColumnLoop& loop, std::int32_t id, int result);
    int result_register(const ColumnLoop& loop, std::int32_t id) const;
    void sum_chunks_routine();

    // row_loops_sums.cpp: column sums
    void columns();
    void column_block(const ColumnLoop& loop, int units, bool masked);
    void begin_segment(const ColumnLoop& loop, int units);
    void end_segment(const ColumnLoop& loop, int units, bool masked);

    const RowPlan& plan_;
    std::pmr::memory_resource* heap_;
    RowAssembler<Isa> emit_;
    Frame frame_;
    RowSelector<Isa> select_;
    std::pmr::vector<ColumnLoop> loops_;  // one per stage
    Xbyak::Label sum_chunks_;
    std::pmr::vector<Pin> results_;  // of the loop before, while they still are in registers
    bool pins_stay_ = false;         // no reduction: what is pinned stays for all rows
    int prefetching_stage_ = -1;     // whose loop asks for the next row; -1: none
};

}  // namespace volta::jit
