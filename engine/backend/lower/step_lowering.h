// How a plan step becomes work of a backend. The lowerings of this folder know operators: which row program,
// over which loops, from which places to which. A backend derives from StepLowering and turns the work into
// its actions, in the order in which it is asked for. Nothing here knows a processor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "engine/backend/lower/copy_loops.h"
#include "engine/backend/lower/limits.h"
#include "engine/backend/lower/loop_space.h"
#include "engine/backend/lower/steps.h"
#include "engine/plan/plan.h"

namespace volta {

// One step while it is lowered. Thread: that which makes the plan. Everything may throw.
class StepLowering {
  public:
    StepLowering(const Plan& plan, const Node& node, std::pmr::memory_resource* heap);
    StepLowering(const StepLowering&) = delete;
    StepLowering& operator=(const StepLowering&) = delete;

    // ---- what lowerings read ----
    int input_count() const { return static_cast<int>(node.inputs.size()); }
    ValueId input_id(int i) const { return node.inputs[static_cast<std::size_t>(i)]; }
    const Value& input_value(int i) const { return plan.graph.value(input_id(i)); }
    const Value& output_value(int i = 0) const { return plan.graph.value(node.first_output + i); }
    const Shape& input_shape(int i) const { return input_value(i).shape; }
    const Shape& output_shape(int i = 0) const { return output_value(i).shape; }
    Ref input(int i) const { return place(input_id(i)); }
    Ref output(int i = 0) const { return place(node.first_output + i); }
    bool accumulates() const { return node.number(Attr::accumulate) != 0; }
    std::pmr::memory_resource* heap() const { return heap_; }

    // Bytes of the workspace that belong to this step until it ends. 64-byte aligned.
    Ref temporary(std::size_t bytes);
    std::size_t workspace_bytes() const { return workspace_bytes_; }

    // UNSUPPORTED: "<operator>: <why> on <backend> at level <level>"; "<operator>: <backend> has no kernel
    // for it at level <level>": the plan's level.
    [[noreturn]] void unsupported(Limit limit) const;
    [[noreturn]] void no_kernel() const;

    // ---- what a backend is asked for ----
    virtual const char* backend_name() const = 0;  // "the CPU"
    // Do several workers share one long row? Its chunks are then rows of their own, whose results are summed.
    virtual bool shares_one_row() const = 0;
    // `refs`: one per operand of the program, in its order, as loops.operands.
    virtual void rows(const jit::Program& program, const std::pmr::vector<Ref>& refs, const LoopSpace& loops,
                      const RowUse& use) = 0;
    virtual void copy(const CopyLoops& loops, Ref from, Ref to, When when) = 0;
    virtual void zero(Ref to, std::int64_t elements) = 0;  // +0, or the integer 0
    virtual void positions(const PositionStep& step) = 0;
    virtual void rotary(const RotaryStep& step) = 0;
    virtual void rotary_table(const RotaryTableStep& step) = 0;
    virtual void gather(const GatherStep& step) = 0;
    virtual void embedding_gradient(const EmbeddingGradientStep& step) = 0;
    // Returns whether it computes b_sums too; else the lowering asks for them as row work. Without
    // b_sums the answer means nothing.
    virtual bool product(const ProductStep& step) = 0;
    // Returns whether it has a kernel of its own, which has the epilogue in it; else the lowering makes it of
    // copies and products, and the epilogue of rows.
    virtual bool convolution(const ConvolutionStep&) { return false; }
    // Returns whether it has a kernel of its own; else the lowering makes it of copies and rows.
    virtual bool window(const WindowStep&) { return false; }
    virtual void attention(const AttentionStep& step) = 0;
    virtual void cached_attention(const CachedAttentionStep& step) = 0;

    const Plan& plan;
    const Node& node;

  protected:
    ~StepLowering() = default;

  private:
    Ref place(ValueId value) const;
    std::pmr::memory_resource* const heap_;
    std::size_t workspace_bytes_ = 0;
};

// Asks step's backend for all the work of its node, by the operator's row (Lowering in engine/graph/op.h).
// Throws UNSUPPORTED naming operator and backend where there is no way.
void lower_step(StepLowering& step);

}  // namespace volta
