// Where a record's values come from: tensors of the host, and what the tape and its optimizers have of their
// own.
#include <algorithm>
#include <cstdio>

#include "engine/tape/tape.h"

namespace volta {

void Tape::grow_values() {
    const std::size_t needed = trace_->graph.values.size();
    if (values_.size() < needed) values_.resize(std::max(needed, 2 * values_.size()));
    if (ran_.size() < trace_->graph.nodes.size()) ran_.resize(values_.size(), 0);
}

void Tape::bind(Tensor* tensor, ValueId value) {
    bound_.push_back(tensor);
    if (tensor != nullptr) {
        ++tensor->references;
        if (tensor->role == Tensor::Role::leaf) ++tensor->holders;
        if (tensor->tape == nullptr || tensor->role == Tensor::Role::gradient) {
            tensor->tape = this;
            tensor->value = value;
        }
        state(value).data = tensor->view.data;
    }
}

// Newest first: what a step has changed has no data any more and is another value from then on.
ValueId Tape::search(const Tensor* tensor) const {
    for (std::size_t i = bound_.size(); i-- > 0;) {
        const ValueId value = trace_->sources[i].value;
        if (bound_[i] == tensor && state(value).data != nullptr) return value;
    }
    return -1;
}

Tensor* Tape::bound_tensor(ValueId source) const {
    for (std::size_t i = bound_.size(); i-- > 0;)
        if (trace_->sources[i].value == source) return bound_[i];
    return nullptr;
}

// The record reads this source no longer. A second time it does nothing.
void Tape::unbind(Tensor* tensor, ValueId value) noexcept {
    if (state(value).data == nullptr) return;
    state(value).data = nullptr;
    if (tensor == nullptr) return;
    if (tensor->role == Tensor::Role::leaf) --tensor->holders;
    if (tensor->tape != this || tensor->value != value) return;
    tensor->tape = nullptr;
    tensor->value = -1;
}

void Tape::bind_own(const TraceSource& source) {
    void* data = random_words_;
    if (source.kind != SourceKind::random) {
        TapeOptimizer* owner = nullptr;
        for (TapeOptimizer* optimizer : optimizers_)
            if (optimizer->number == source.optimizer) owner = optimizer;
        if (owner == nullptr)
            fail(VOLTA_INTERNAL, "a record names optimizer %u, which is gone", source.optimizer);
        data = source.kind == SourceKind::state     ? owner->state(source.index)
               : source.kind == SourceKind::factors ? owner->factors()
                                                    : owner->factors_plain();
    }
    bind(nullptr, source.value);
    state(source.value).data = data;
    if (source.kind == SourceKind::random) random_ = source.value;
}

void Tape::unbind_from(std::size_t source_count) noexcept {
    while (bound_.size() > source_count) {
        Tensor* const tensor = bound_.back();
        const TraceSource& source = trace_->sources[bound_.size() - 1];
        bound_.pop_back();
        unbind(tensor, source.value);
        if (random_ == source.value) random_ = -1;
        if (tensor == nullptr) continue;
        if (tensor->grad != nullptr && tensor->grad->tape == this) {
            tensor->grad->tape = nullptr;
            tensor->grad->value = -1;
        }
        release(tensor);
    }
}

void Tape::check_operand(const Tensor* tensor, std::size_t index, const char* op) const {
    require(tensor != nullptr, "%s: input %zu is NULL", op, index);
    if (tensor->context.get() != context_.get())
        fail(VOLTA_INVALID_ARGUMENT, "%s: input %zu belongs to another context", op, index);
    if (is_bound(tensor)) return;
    if (tensor->role == Tensor::Role::result || tensor->role == Tensor::Role::poison) {
        if (tensor->tape != this && tensor->tape != nullptr)
            fail(VOLTA_INVALID_ARGUMENT,
                 "%s: input %zu is a result of another tape: keep it with volta_tensor_keep", op, index);
        fail(VOLTA_INVALID_STATE,
             "%s: input %zu is a result of a record that has ended: keep it with volta_tensor_keep", op,
             index);
    }
    if (tensor->tape != nullptr && tensor->role == Tensor::Role::gradient)
        fail(VOLTA_INVALID_STATE,
             "%s: input %zu is a gradient that the record of another tape holds until its reset", op, index);
    require(tensor->view.shape.elements() > 0, "%s: input %zu has no elements: %s", op, index,
            to_text(tensor->view.shape).text);
    if (tensor->view.data == nullptr)
        fail(VOLTA_INVALID_STATE, "%s: input %zu has no elements yet", op, index);
}

// A gradient is added to in one record at a time.
void Tape::require_own_gradient(const Tensor& leaf, const char* what) const {
    if (leaf.grad == nullptr || leaf.grad->tape == nullptr || leaf.grad->tape == this) return;
    fail(VOLTA_INVALID_STATE,
         "%s: the gradient of a tensor of shape %s is held by the record of another tape until its reset",
         what, to_text(leaf.view.shape).text);
}

// What a step changes must not be what another record has yet to read.
void Tape::require_changeable(const Tensor& leaf) const {
    const std::uint32_t own = is_bound(&leaf) ? 1 : 0;
    if (leaf.holders > own)
        fail(VOLTA_INVALID_STATE,
             "step: a tensor of shape %s would change that the record of another tape reads until its reset",
             to_text(leaf.view.shape).text);
}

// Whether the tensor is, or now becomes, the value that the trace has here.
bool Tape::follows(Tensor* tensor, ValueId expected) {
    const ValueId known = value_of(tensor);
    if (known >= 0) return known == expected;
    if (bound_.size() >= trace_->sources.size()) return false;
    const TraceSource& source = trace_->sources[bound_.size()];
    const Value& value = trace_->graph.value(source.value);
    if (source.value != expected || source.kind != SourceKind::leaf ||
        source.requires_grad != tensor->requires_grad || value.dtype != tensor->view.dtype ||
        value.shape != tensor->view.shape)
        return false;
    bind(tensor, expected);
    return true;
}

bool Tape::follows_random(ValueId expected) {
    if (random_ >= 0) return random_ == expected;
    if (bound_.size() >= trace_->sources.size()) return false;
    const TraceSource& source = trace_->sources[bound_.size()];
    if (source.value != expected || source.kind != SourceKind::random) return false;
    bind_own(source);
    return true;
}

ValueId Tape::record_leaf(Tensor* tensor) {
    const ValueId known = value_of(tensor);
    if (known >= 0) return known;
    char name[24];
    std::snprintf(name, sizeof name, "%zu", bound_.size());
    Graph& graph = trace_->graph;
    const TensorView& view = tensor->view;
    TraceSource source;
    source.requires_grad = tensor->requires_grad;
    source.value = tensor->requires_grad ? graph.parameter(name, view.shape, Init{})
                                         : graph.input(name, view.dtype, view.shape);
    trace_->sources.push_back(source);
    grow_values();
    bind(tensor, source.value);
    return source.value;
}

ValueId Tape::record_own(SourceKind kind, const char* name, DType dtype, const Shape& shape, bool is_state,
                         std::uint32_t optimizer, std::uint32_t index) {
    char unique[48];
    std::snprintf(unique, sizeof unique, "%zu/%s", bound_.size(), name);
    Graph& graph = trace_->graph;
    TraceSource source;
    source.kind = kind;
    source.optimizer = optimizer;
    source.index = index;
    source.value = is_state ? graph.state(unique, dtype, shape) : graph.input(unique, dtype, shape);
    trace_->sources.push_back(source);
    grow_values();
    bind_own(source);
    return source.value;
}

ValueId Tape::record_random() {
    if (random_ >= 0) return random_;
    return record_own(SourceKind::random, "random", DType::i32, Shape{3}, false, 0, 0);
}

}  // namespace volta
