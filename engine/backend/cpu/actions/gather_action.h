// Rows of a table by id as actions, and the gradient of that.
#pragma once

#include "engine/backend/cpu/step.h"

namespace volta::cpu {

class GatherAction final : public Action {
  public:
    GatherAction(const CpuStep& step, const GatherStep& work);
    void run(const StepCall& call) const noexcept override;
    const char* kernel_name() const noexcept override { return "gather"; }

  private:
    const GatherStep work_;
    const std::int64_t count_;  // of rows that have elements
    const int workers_;
};

// The same from a stored table: each element becomes f32.
class StoredGatherAction final : public Action {
  public:
    StoredGatherAction(const CpuStep& step, const GatherStep& work);
    void run(const StepCall& call) const noexcept override;
    const char* kernel_name() const noexcept override { return "gather stored"; }

  private:
    const GatherStep work_;
    const std::int64_t count_;
    const int workers_;
};

// Positions by id, without sorting: a list per table row, built from the last position to the first, so that
// walking it ascends. Threads share the columns: every element of the table is one chain, whoever computes
// it.
class EmbeddingGradientAction final : public Action {
  public:
    EmbeddingGradientAction(CpuStep& step, const EmbeddingGradientStep& work);
    void run(const StepCall& call) const noexcept override;
    const char* kernel_name() const noexcept override { return "embedding gradient"; }

  private:
    void list_positions(const StepCall& call) const noexcept;
    void add_row(const StepCall& call, std::int64_t row, Range columns) const noexcept;

    const EmbeddingGradientStep work_;
    const Ref first_, next_;  // i32 [rows], [count]: the first position of each id, the next one of the same
    const int workers_;
};

}  // namespace volta::cpu
