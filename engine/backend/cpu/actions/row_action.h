// Running a row kernel over a loop space on the pool: whether rows or columns are split is fixed when the
// plan is compiled, and no bit depends on who takes which.
#pragma once

#include <memory_resource>
#include <vector>

#include "engine/backend/cpu/step.h"

namespace volta::cpu {

class RowAction final : public Action {
  public:
    // `refs`: one per operand of the program, in its order, as loops.operands.
    RowAction(CpuStep& step, const jit::Program& program, const std::pmr::vector<Ref>& refs,
              const LoopSpace& loops, const RowUse& use);
    void run(const StepCall& call) const noexcept override;
    const char* kernel_name() const noexcept override { return name_; }

  private:
    void choose_streaming(const CpuStep& step);
    bool is_in_place(std::size_t output) const;
    // The kernel for these places and this moment: outputs are written by non-temporal stores where that pays
    // and their rows allow it.
    const jit::RowKernel& kernel_for(const StepCall& call, void* const* bases) const noexcept;
    enum class Split : std::uint8_t { rows, columns, outer };
    void choose_split(const CpuStep& step);
    void choose_grain();
    std::int64_t split_count() const noexcept;  // rows, columns or outer indices
    struct Running {
        const StepCall& call;
        void* const* bases;
        const jit::RowKernel& kernel;
    };
    void run_part(const Running& running, int worker, Range part) const noexcept;
    void run_block(const Running& running, std::int64_t outer, Range rows, Range columns,
                   void* scratch) const noexcept;

    const Isa isa_;
    const jit::RowKernel& kernel_;
    const jit::RowKernel* streaming_ =
        nullptr;                   // the same program, with outputs written by non-temporal stores
    bool streams_if_far_ = false;  // only where the threads' cores share no LLC
    std::pmr::vector<Ref> refs_;
    std::pmr::vector<std::int64_t> row_strides_;
    LoopSpace loops_;
    Split split_ = Split::rows;
    int workers_ = 1;
    std::int64_t grain_ = 1;  // of what is split: a worker takes no less at a time
    Ref scratch_;
    std::size_t scratch_bytes_ = 0;  // per worker
    // Row numbers of random draws count over the whole step: micro-batch i starts at i times this.
    std::int64_t rows_per_micro_batch_;
    bool continues_;  // column sums of later micro-batches continue from what the output holds
    const char* name_;
};

}  // namespace volta::cpu
