// Attention and its gradient: operands packed side by side or apart, as strides.
#include "engine/backend/lower/lowerings.h"
#include "engine/graph/forms.h"

namespace volta {
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

AttentionForm form_of(const StepLowering& step) {
    return attention_form(step.node, step.input_shape(0),
                          step.input_shape(step.node.flag(Attr::packed) ? 0 : 1));
}

// A window that nobody's keys exceed is none.
std::int64_t window_of(std::int64_t window, std::int64_t keys) { return window >= keys ? 0 : window; }

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
    shape.window = window_of(form.window, form.time);
    shape.documents = form.documents;
    shape.cap = form.cap;
    shape.q_stride = shape.dq_stride = in.stride[0];
    shape.k_stride = shape.dk_stride = in.stride[1];
    shape.v_stride = shape.dv_stride = in.stride[2];
    shape.o_stride = form.heads * form.head_dim;
    return shape;
}

void add_attention(StepLowering& step, bool backward) {
    const AttentionForm form = form_of(step);
    const Operands in = operands_of(form, [&](int i) { return step.input(i); });
    AttentionStep work;
    work.shape = shape_of(form, in);
    work.backward = backward;
    work.q = in.part[0];
    work.k = in.part[1];
    work.v = in.part[2];
    // o, row_max and row_sum, then d_o: results of the forward pass that the backward pass is given.
    const auto saved = [&](int i) { return backward ? step.input(form.operands + i) : step.output(i); };
    work.o = saved(0);
    work.row_max = saved(1);
    work.row_sum = saved(2);
    if (backward) {
        work.d_o = saved(3);
        const Operands gradient = operands_of(form, [&](int i) { return step.output(i); });
        work.dq = gradient.part[0];
        work.dk = gradient.part[1];
        work.dv = gradient.part[2];
    }
    if (form.documents) work.starts = step.input(id_input(step.node, op_row(step.node.op).ids[0]));
    if (form.probability > 0) work.random = step.input(step.input_count() - 1);
    step.attention(work);
}

}  // namespace

void lower_attention(StepLowering& step) { add_attention(step, false); }
void lower_attention_gradient(StepLowering& step) { add_attention(step, true); }

void lower_cached_attention(StepLowering& step) {
    const CachedAttentionForm form =
        cached_attention_form(step.node, step.input_shape(0), step.input_shape(kCacheOperands));
    const Operands in = operands_of(form, [&](int i) { return step.input(kCacheOperands + i); });
    CachedAttentionStep work;
    work.shape.rows = form.rows;
    work.shape.heads = form.heads;
    work.shape.cache = {form.slots, form.kv_heads, form.capacity, form.head_dim};
    work.shape.scale = form.scale;
    work.shape.window = window_of(form.window, form.capacity);
    work.shape.cap = form.cap;
    work.shape.q_stride = in.stride[0];
    work.shape.k_stride = in.stride[1];
    work.shape.v_stride = in.stride[2];
    work.shape.o_stride = form.heads * form.head_dim;
    work.q = in.part[0];
    work.k = in.part[1];
    work.v = in.part[2];
    work.o = step.output(0);
    work.slots = step.input(2);
    work.positions = step.input(3);
    work.keys = step.output(1);
    work.values = step.output(2);
    step.cached_attention(work);
}

}  // namespace volta
