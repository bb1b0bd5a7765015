// Steps over pairs of columns of one row: gated activations and rotary positions.
#include <algorithm>
#include <cstring>

#include "engine/backend/cpu/row_action.h"
#include "engine/backend/row_programs.h"
#include "engine/graph/forms.h"
#include "engine/numerics/define_pairs.h"

namespace volta::cpu {
namespace {

constexpr double kOperationsPerElement = 16;  // see workers_for: memory is what it waits for

// Operands of `columns` elements per row, each with its distance between rows.
class PairLoops {
  public:
    PairLoops(std::int64_t rows, std::int64_t columns, std::pmr::memory_resource* heap)
        : loops(heap), refs(heap) {
        loops.rows = rows;
        loops.columns = columns;
    }
    void push(Ref ref, std::int64_t row_stride) {
        LoopOperand operand;
        operand.row_stride = row_stride;
        loops.operands.push_back(operand);
        refs.push_back(ref);
    }
    LoopSpace loops;
    std::pmr::vector<Ref> refs;
};

void add_swiglu(StepCompiler& step) {
    const std::int64_t n = step.output_shape().last();
    PairLoops pairs(step.output_shape().rows(), n, step.heap());
    pairs.push(step.input(0), 2 * n);
    pairs.push(plus_elements(step.input(0), n), 2 * n);
    pairs.push(step.output(), n);
    step.add<RowAction>(step, step.kernel(make_swiglu(step.heap())), pairs.refs, pairs.loops);
}

void add_swiglu_gradient(StepCompiler& step) {
    const std::int64_t n = step.input_shape(1).last();
    PairLoops pairs(step.input_shape(1).rows(), n, step.heap());
    pairs.push(step.input(0), 2 * n);
    pairs.push(plus_elements(step.input(0), n), 2 * n);
    pairs.push(step.input(1), n);
    pairs.push(step.output(), 2 * n);
    pairs.push(plus_elements(step.output(), n), 2 * n);
    step.add<RowAction>(step, step.kernel(make_swiglu_gradient(step.heap())), pairs.refs, pairs.loops);
}

// One call of the row kernel per token: its rows are the token's heads, so that cosines and sines are per
// column whatever the position is. Interleaved pairs, which only foreign weights have, are turned by the
// definition. Columns behind the heads are copied, where x and y are two places.
class RotaryAction final : public Action {
  public:
    explicit RotaryAction(StepCompiler& step)
        : form_(rotary_form(step.node, step.input_shape(2))),
          from_(step.input(0)),
          positions_(step.input(1)),
          table_(step.input(2)),
          to_(step.output()),
          tokens_(step.input_shape(0).rows()),
          columns_(step.input_shape(0).last()) {
        workers_ = step.workers_for(static_cast<double>(tokens_ * columns_) * kOperationsPerElement);
        if (form_.interleaved) return;
        kernel_ = &step.kernel(make_rotation(form_.inverse, step.heap()));
        scratch_bytes_ = (kernel_->scratch_bytes(form_.width / 2) + kTensorAlignment - 1) / kTensorAlignment *
                         kTensorAlignment;
        if (scratch_bytes_ > 0)
            scratch_ = step.temporary(scratch_bytes_ * static_cast<std::size_t>(workers_));
    }

    void run(const StepCall& call) const noexcept override {
        call.pool.run(workers_, [&](int worker, int count) noexcept {
            const Range tokens = part_of(tokens_, 1, worker, count);
            kernel_ != nullptr ? turn(call, tokens, worker) : turn_by_definition(call, tokens);
        });
    }
    const char* kernel_name() const noexcept override {
        return kernel_ == nullptr ? "rotary" : kernel_->is_native() ? "rotary rows" : "rotary interpreted";
    }

  private:
    void turn_by_definition(const StepCall& call, Range tokens) const noexcept {
        const std::int64_t first = tokens.begin * columns_;
        define::rotary(tokens.end - tokens.begin, columns_, form_, call.integers(positions_) + tokens.begin,
                       call.floats(table_), call.floats(from_) + first, call.floats(to_) + first);
    }

    void turn(const StepCall& call, Range tokens, int worker) const noexcept {
        const std::int64_t half = form_.width / 2, turned = form_.heads * form_.width;
        const std::int64_t strides[] = {form_.width, form_.width, 0, 0, form_.width, form_.width};
        const std::int32_t* const positions = call.integers(positions_);
        void* operands[6];
        jit::RowArgs args = {};
        args.operands = operands;
        args.row_strides = strides;
        args.rows = form_.heads;
        args.columns = half;
        if (scratch_bytes_ > 0)
            args.scratch = static_cast<unsigned char*>(call.at(scratch_)) +
                           scratch_bytes_ * static_cast<std::size_t>(worker);
        for (std::int64_t token = tokens.begin; token < tokens.end; ++token) {
            float* const x = call.floats(from_) + token * columns_;
            float* const y = call.floats(to_) + token * columns_;
            float* const angles = call.floats(table_) + positions[token] * form_.width;
            float* const places[] = {x, x + half, angles, angles + half, y, y + half};
            std::copy(places, places + 6, operands);
            kernel_->run(args);
            if (y != x)
                std::memcpy(y + turned, x + turned,
                            static_cast<std::size_t>(columns_ - turned) * sizeof(float));
        }
    }

    RotaryForm form_;
    Ref from_, positions_, table_, to_, scratch_;
    std::int64_t tokens_, columns_;
    const jit::RowKernel* kernel_ = nullptr;
    std::size_t scratch_bytes_ = 0;  // per worker
    int workers_;
};

// Where fold_constants has not made it a constant.
class RotaryTableAction final : public Action {
  public:
    explicit RotaryTableAction(const StepCompiler& step)
        : to_(step.output()),
          limit_(step.output_shape()[0]),
          width_(step.output_shape()[1]),
          base_(step.node.number(Attr::base)) {}
    void run(const StepCall& call) const noexcept override {
        define::rotary_table(limit_, width_, base_, call.floats(to_));
    }
    const char* kernel_name() const noexcept override { return "rotary table"; }

  private:
    Ref to_;
    std::int64_t limit_, width_;
    double base_;
};

}  // namespace

void lower_pairs(StepCompiler& step) {
    switch (step.node.op) {
        case Op::swiglu:
            return add_swiglu(step);
        case Op::swiglu_grad:
            return add_swiglu_gradient(step);
        case Op::rotary:
            step.add<RotaryAction>(step);
            return;
        case Op::rotary_table:
            step.add<RotaryTableAction>(step);
            return;
        default:
            step.unsupported("the CPU has no kernel for it");
    }
}

}  // namespace volta::cpu
