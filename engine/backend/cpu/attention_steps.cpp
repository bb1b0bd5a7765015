// Attention and its gradient: operands packed side by side or apart, as strides.
#include "engine/backend/cpu/attention.h"
#include "engine/backend/cpu/cached_attention.h"
#include "engine/backend/cpu/step.h"
#include "engine/graph/forms.h"

namespace volta::cpu {
namespace {

// q, k and v: three tensors, or parts of each token of one.
struct Operands {
    Ref part[3];
    std::int64_t stride[3];  // elements between tokens
};

template <class Form, class PlaceOf>  // Ref of the i-th tensor of the group
Operands operands_of(const Form& form, PlaceOf place_of) {
    const std::int64_t query = form.heads * form.head_dim, key = form.kv_heads * form.head_dim;
    if (!form.packed) return {{place_of(0), place_of(1), place_of(2)}, {query, key, key}};
    const Ref all = place_of(0);
    const std::int64_t stride = query + 2 * key;
    return {{all, plus_elements(all, query), plus_elements(all, query + key)}, {stride, stride, stride}};
}

AttentionForm form_of(const StepCompiler& step) {
    return attention_form(step.node, step.input_shape(0),
                          step.input_shape(step.node.flag(Attr::packed) ? 0 : 1));
}

AttentionShape shape_of(const AttentionForm& form, const Operands& in) {
    AttentionShape shape;
    shape.batch = form.batch;
    shape.time = form.time;
    shape.heads = form.heads;
    shape.kv_heads = form.kv_heads;
    shape.head_dim = form.head_dim;
    shape.causal = form.causal;
    shape.scale = form.scale;
    shape.dropout = form.probability;
    shape.stream = form.stream;
    shape.q_stride = shape.dq_stride = in.stride[0];
    shape.k_stride = shape.dk_stride = in.stride[1];
    shape.v_stride = shape.dv_stride = in.stride[2];
    shape.o_stride = form.heads * form.head_dim;
    return shape;
}

class AttentionAction final : public Action {
  public:
    explicit AttentionAction(StepCompiler& step) : form_(form_of(step)) {
        in_ = operands_of(form_, [&](int i) { return step.input(i); });
        backward_ = step.node.op == Op::attention_grad;
        const AttentionShape shape = shape_of(form_, in_);
        if (backward_) {
            gradient_ = operands_of(form_, [&](int i) { return step.output(i); });
            for (int i = 0; i < 4; ++i) saved_[i] = step.input(form_.operands + i);  // o, m, l, do
            attention_ = compile_attention_backward(shape, step.kernels());
        } else {
            for (int i = 0; i < 3; ++i) saved_[i] = step.output(i);  // o, m, l
            attention_ = compile_attention_forward(shape, step.kernels());
        }
        if (form_.probability > 0) random_ = step.input(step.input_count() - 1);
        if (attention_->workspace_bytes() > 0) workspace_ = step.temporary(attention_->workspace_bytes());
    }

    void run(const StepCall& call) const noexcept override {
        RandomState random = {};
        AttentionCall attention = {};
        attention.q = call.floats(in_.part[0]);
        attention.k = call.floats(in_.part[1]);
        attention.v = call.floats(in_.part[2]);
        attention.o = call.floats(saved_[0]);
        attention.row_max = call.floats(saved_[1]);
        attention.row_sum = call.floats(saved_[2]);
        if (backward_) {
            attention.d_o = call.floats(saved_[3]);
            attention.dq = call.floats(gradient_.part[0]);
            attention.dk = call.floats(gradient_.part[1]);
            attention.dv = call.floats(gradient_.part[2]);
        }
        if (form_.probability > 0) {
            const std::int32_t* words = call.integers(random_);
            random = {static_cast<std::uint32_t>(words[0]), static_cast<std::uint32_t>(words[1]),
                      static_cast<std::uint32_t>(words[2])};
            attention.random = &random;
        }
        attention.first_sequence = static_cast<std::uint32_t>(form_.batch * call.micro_index);
        attention.workspace = call.at(workspace_);
        attention_->run(call.pool, attention);
    }
    const char* kernel_name() const noexcept override { return attention_->kernel_name(); }

  private:
    AttentionForm form_;
    Operands in_, gradient_;
    Ref saved_[4], random_, workspace_{kWorkspace, 0, 0};
    bool backward_;
    AttentionPtr attention_;
};

class CachedAttentionAction final : public Action {
  public:
    explicit CachedAttentionAction(StepCompiler& step)
        : form_(cached_attention_form(step.node, step.input_shape(0), step.input_shape(kCacheOperands))),
          in_(operands_of(form_, [&](int i) { return step.input(kCacheOperands + i); })),
          keys_(step.output(1)),
          values_(step.output(2)),
          slots_(step.input(2)),
          positions_(step.input(3)),
          o_(step.output(0)),
          attention_(shape_of(step), step.kernels()),
          workspace_(step.temporary(attention_.workspace_bytes())) {}

    void run(const StepCall& call) const noexcept override {
        CachedAttentionCall attention = {};
        attention.slots = call.integers(slots_);
        attention.positions = call.integers(positions_);
        attention.q = call.floats(in_.part[0]);
        attention.k = call.floats(in_.part[1]);
        attention.v = call.floats(in_.part[2]);
        attention.o = call.floats(o_);
        attention.keys = call.floats(keys_);
        attention.values = call.floats(values_);
        attention.workspace = call.at(workspace_);
        attention_.run(call.pool, attention);
    }
    const char* kernel_name() const noexcept override { return attention_.kernel_name(); }

  private:
    CachedAttentionShape shape_of(const StepCompiler& step) const {
        CachedAttentionShape shape;
        shape.rows = form_.rows;
        shape.heads = form_.heads;
        shape.cache = {form_.slots, form_.kv_heads, form_.capacity, form_.head_dim};
        shape.scale = form_.scale;
        shape.q_stride = in_.stride[0];
        shape.k_stride = in_.stride[1];
        shape.v_stride = in_.stride[2];
        shape.o_stride = form_.heads * form_.head_dim;
        shape.operations_per_worker = step.context.operations_per_worker;
        return shape;
    }

    const CachedAttentionForm form_;
    const Operands in_;
    const Ref keys_, values_, slots_, positions_, o_;
    const CachedAttention attention_;
    const Ref workspace_;
};

}  // namespace

void lower_cached_attention(StepCompiler& step) { step.add<CachedAttentionAction>(step); }
void lower_attention(StepCompiler& step) { step.add<AttentionAction>(step); }
void lower_attention_gradient(StepCompiler& step) { step.add<AttentionAction>(step); }

}  // namespace volta::cpu
