#include "engine/tape/tape.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "engine/base/format.h"
#include "engine/tape/next_call.h"

namespace volta {
namespace {

constexpr std::size_t kMostTraces = 64;
constexpr std::size_t kMostAttributes = 32;               // of a call
constexpr std::size_t kMostCalls = std::size_t{1} << 20;  // of a record

}  // namespace

Tape::Tape(const ContextRef& context, const TapeOptions& options)
    : context_(context),
      options_(options),
      traces_(context->structures()),
      bound_(context->structures()),
      values_(context->structures()),
      ran_(context->structures()),
      pending_(context->structures()),
      optimizers_(context->structures()),
      request_(context->structures()),
      pool_(context->structures(), context->tensors()),
      events_(context->structures()) {
    if (!context->memory().is_host())
        fail(VOLTA_UNSUPPORTED, "a tape computes on the processor, the context's device is another");
    events_.reserve(kMostEvents);
    random_words_[0] = static_cast<std::uint32_t>(options.seed);
    random_words_[1] = static_cast<std::uint32_t>(options.seed >> 32);
    traces_.push_back(make_on<Trace>(context->structures(), context->structures()));
    trace_ = traces_.back().get();
    poison_ = make_tensor(context, TensorView{}, Buffer());
    poison_->role = Tensor::Role::poison;
    poison_->tape = this;
}

Tape::~Tape() {
    end();
    release(poison_);
}

void Tape::end() noexcept {
    try {
        reset();
    } catch (...) {  // what was kept and cannot be computed has no elements
    }
    for (ValueState& value : values_) release(std::exchange(value.handle, nullptr));
}

namespace {

// The last part of a path that is long.
const char* end_of(const char* path) {
    constexpr std::size_t kMost = 80;
    const std::size_t length = std::strlen(path);
    return length > kMost ? path + length - kMost : path;
}

}  // namespace

// ---- Failures ---------------------------------------------------------------------------------------------

void Tape::require_whole() const {
    if (failure_) throw Error(*failure_);
}

void Tape::fail_record(const Error& error, CallPlace place) {
    if (!failure_) {
        char text[512];
        if (place.file != nullptr)
            format_text(text, sizeof text, "%.400s (%s:%d)", error.what(), end_of(place.file), place.line);
        else
            std::snprintf(text, sizeof text, "%s", error.what());
        failure_.emplace(error.status(), text);
    }
    throw Error(*failure_);
}

// ---- Sources ----------------------------------------------------------------------------------------------

void Tape::grow_values() {
    const std::size_t needed = trace_->graph.values.size();
    if (values_.size() < needed) values_.resize(std::max(needed, 2 * values_.size()));
    if (ran_.size() < trace_->graph.nodes.size()) ran_.resize(values_.size(), 0);
}

void Tape::bind(Tensor* tensor, ValueId value) {
    bound_.push_back(tensor);
    if (tensor != nullptr) {
        ++tensor->references;
        tensor->tape = this;
        tensor->value = value;
        state(value).data = tensor->view.data;
    }
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
        state(source.value).data = nullptr;
        if (random_ == source.value) random_ = -1;
        if (tensor == nullptr) continue;
        if (tensor->tape == this && tensor->value == source.value) {
            tensor->tape = nullptr;
            tensor->value = -1;
        }
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
    if (tensor->tape != nullptr)
        fail(VOLTA_INVALID_STATE, "%s: input %zu is in use by the record of another tape until its reset", op,
             index);
    if (tensor->view.data == nullptr)
        fail(VOLTA_INVALID_STATE, "%s: input %zu has no elements yet", op, index);
    require(tensor->view.shape.elements() > 0, "%s: input %zu has no elements: %s", op, index,
            to_text(tensor->view.shape).text);
}

// Whether the tensor is, or now becomes, the value that the trace has here.
bool Tape::follows(Tensor* tensor, ValueId expected) {
    if (is_bound(tensor)) return tensor->value == expected;
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
    if (is_bound(tensor)) return tensor->value;
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

// ---- Walking along ----------------------------------------------------------------------------------------

namespace {

const char* name_of(const Call& call) {
    switch (call.kind) {
        case CallKind::apply:
            return op_row(call.op).name;
        case CallKind::backward:
            return "backward";
        default:
            return "step";
    }
}

}  // namespace

void Tape::describe_other(const Call& known, const char* now) {
    if (std::strcmp(name_of(known), now) != 0)
        format_text(difference_, sizeof difference_, "call %zu was %s, now %s", cursor_ + 1, name_of(known),
                    now);
    else
        format_text(difference_, sizeof difference_, "call %zu: %s has other operands", cursor_ + 1, now);
}

void Tape::describe_apply(const Call& known, const OpRow& row, Tensor* const* inputs,
                          std::size_t input_count) {
    if (known.kind != CallKind::apply || known.op != row.op) return describe_other(known, row.name);
    for (std::size_t i = 0; i < input_count && i < known.inputs.size(); ++i) {
        const Value& before = trace_->graph.value(known.inputs[i]);
        const TensorView& now = inputs[i]->view;
        if (before.shape != now.shape) {
            format_text(difference_, sizeof difference_, "call %zu: shape of input %zu of %s was %s, now %s",
                        cursor_ + 1, i, row.name, to_text(before.shape).text, to_text(now.shape).text);
            return;
        }
        if (before.dtype != now.dtype) {
            format_text(difference_, sizeof difference_,
                        "call %zu: elements of input %zu of %s were %s, now %s", cursor_ + 1, i, row.name,
                        dtype_name(before.dtype), dtype_name(now.dtype));
            return;
        }
    }
    format_text(difference_, sizeof difference_, "call %zu: %s has other operands or attributes", cursor_ + 1,
                row.name);
}

// A trace of its own for what now differs from all that are known.
void Tape::begin_trace() {
    std::pmr::memory_resource* const heap = context_->structures();
    if (traces_.size() == kMostTraces) {
        std::size_t oldest = traces_[0].get() == trace_ ? 1 : 0;
        for (std::size_t i = 0; i < traces_.size(); ++i)
            if (traces_[i].get() != trace_ && traces_[i]->last_used < traces_[oldest]->last_used) oldest = i;
        traces_.erase(traces_.begin() + static_cast<std::ptrdiff_t>(oldest));
    }
    traces_.push_back(make_on<Trace>(heap, *trace_, cursor_, heap));
    trace_ = traces_.back().get();
    segment_hint_ = 0;
}

const Call& Tape::complete(Call&& call) {
    call.nodes_after = static_cast<std::uint32_t>(trace_->graph.nodes.size());
    call.values_after = static_cast<std::uint32_t>(trace_->graph.values.size());
    call.sources_after = static_cast<std::uint32_t>(trace_->sources.size());
    trace_->calls.push_back(std::move(call));
    has_recorded_ = true;
    grow_values();
    return trace_->calls.back();
}

Tensor* Tape::hand_out(ValueId id) {
    ValueState& value = state(id);
    if (value.handle == nullptr) {
        value.handle = make_tensor(context_, TensorView{}, Buffer());
        value.handle->role = Tensor::Role::result;
        value.handle->tape = this;
    }
    const Value& known = trace_->graph.value(id);
    Tensor& handle = *value.handle;
    handle.view.dtype = known.dtype;
    handle.view.shape = known.shape;
    handle.view.data = value.data;
    handle.value = id;
    return &handle;
}

// ---- Operators --------------------------------------------------------------------------------------------

const OpRow* Tape::expected(const char* op) const {
    if (cursor_ >= trace_->calls.size()) return nullptr;
    const Call& call = trace_->calls[cursor_];
    if (call.kind != CallKind::apply) return nullptr;
    const OpRow& row = op_row(call.op);
    return std::strcmp(row.name, op) == 0 ? &row : nullptr;
}

namespace {

// Whether the call is one that draws, without the input that says by what: on a tape that is the tape's.
bool lacks_random(const OpRow& row, std::size_t input_count, const Attribute* attributes, std::size_t count) {
    if (row.op == Op::dropout) return input_count == 1;
    if (row.op != Op::attention) return false;
    std::size_t expected = 3;
    bool draws = false;
    for (std::size_t i = 0; i < count; ++i) {
        if (attributes[i].key == Attr::packed && attributes[i].number != 0) expected -= 2;
        if (attributes[i].key == Attr::documents && attributes[i].number != 0) expected += 1;
        if (attributes[i].key == Attr::probability) draws = attributes[i].number > 0;
    }
    return draws && input_count == expected;
}

}  // namespace

bool Tape::matches_apply(const Call& call, const OpRow& row, Tensor* const* inputs, std::size_t input_count,
                         const Attribute* attributes, std::size_t attribute_count) {
    const std::size_t own = lacks_random(row, input_count, attributes, attribute_count) ? 1 : 0;
    if (call.kind != CallKind::apply || call.op != row.op || call.is_detached == gradients_enabled ||
        call.inputs.size() != input_count + own || call.attributes.size() != attribute_count ||
        !std::equal(attributes, attributes + attribute_count, call.attributes.begin()))
        return false;
    for (std::size_t i = 0; i < input_count; ++i)
        if (!follows(inputs[i], call.inputs[i])) return false;
    return own == 0 || follows_random(call.inputs.back());
}

const Call& Tape::record_apply(const OpRow& row, Tensor* const* inputs, std::size_t input_count,
                               const Attribute* attributes, std::size_t attribute_count) {
    std::pmr::memory_resource* const heap = context_->structures();
    const std::size_t source_count = bound_.size();
    try {
        Call call(heap);
        call.op = row.op;
        call.is_detached = !gradients_enabled;
        for (std::size_t i = 0; i < input_count; ++i) call.inputs.push_back(record_leaf(inputs[i]));
        if (lacks_random(row, input_count, attributes, attribute_count))
            call.inputs.push_back(record_random());
        call.attributes.assign(attributes, attributes + attribute_count);
        const std::size_t before = trace_->graph.values.size();
        call.first = trace_->graph.apply(row.op, call.inputs.data(), static_cast<int>(call.inputs.size()),
                                         attributes, static_cast<int>(attribute_count), Phase::each);
        call.count = static_cast<std::int32_t>(trace_->graph.values.size() - before);
        for (std::int32_t i = 0; call.is_detached && i < call.count; ++i)
            trace_->detached.push_back(call.first + i);
        return complete(std::move(call));
    } catch (...) {
        unbind_from(source_count);
        trace_->cut(cursor_);
        throw;
    }
}

void Tape::apply(const OpRow& row, Tensor* const* inputs, std::size_t input_count,
                 const Attribute* attributes, std::size_t attribute_count, Tensor** results,
                 std::size_t result_count, CallPlace place) {
    require_whole();
    require(cursor_ < kMostCalls, "%s: the record has %zu calls: call volta_tape_reset between steps",
            row.name, cursor_);
    for (std::size_t i = 0; i < input_count; ++i) check_operand(inputs[i], i, row.name);
    // Calls that draw have a stream each, numbered as they come, unless the host says which.
    const auto is_stream = [](const Attribute& each) { return each.key == Attr::stream; };
    if (lacks_random(row, input_count, attributes, attribute_count) &&
        std::none_of(attributes, attributes + attribute_count, is_stream)) {
        Attribute numbered[kMostAttributes];
        require(attribute_count < kMostAttributes, "%s: %zu attributes are given", row.name, attribute_count);
        std::copy_n(attributes, attribute_count, numbered);
        numbered[attribute_count] = number(Attr::stream, static_cast<double>(streams_++));
        return apply(row, inputs, input_count, numbered, attribute_count + 1, results, result_count, place);
    }
    const Call* call = next_call(
        [&](const Call& known) {
            return matches_apply(known, row, inputs, input_count, attributes, attribute_count);
        },
        [&](const Call& known) { describe_apply(known, row, inputs, input_count); });
    if (call == nullptr) call = &record_apply(row, inputs, input_count, attributes, attribute_count);
    if (result_count > static_cast<std::size_t>(call->count))
        fail(VOLTA_INVALID_ARGUMENT, "%s has %d outputs, %zu are asked for", row.name, call->count,
             result_count);
    const ValueId first = call->first;
    ++cursor_;
    ++counts_.calls;
    for (std::size_t i = 0; i < result_count; ++i) results[i] = hand_out(first + static_cast<ValueId>(i));
    if (!options_.is_eager) return;
    SegmentRequest& request = new_request();  // results that are not handed out too: gradients read them
    for (std::int32_t i = 0; i < call->count; ++i) request.wanted.push_back(first + i);
    compute(request, FlushReason::eager, place);
}

Tensor* Tape::detach(Tensor* tensor, CallPlace place) {
    require(tensor != nullptr, "tensor is NULL");
    const bool before = gradients_enabled;
    const Attribute same = list(Attr::shape, tensor->view.shape);
    Tensor* result = poison_;
    gradients_enabled = false;
    try {
        apply(op_row(Op::reshape), &tensor, 1, &same, 1, &result, 1, place);
    } catch (...) {
        gradients_enabled = before;
        throw;
    }
    gradients_enabled = before;
    return result;
}

// ---- The record's end -------------------------------------------------------------------------------------

void Tape::keep(Tensor* tensor) {
    if (tensor->role != Tensor::Role::result || !is_bound(tensor)) return;
    if (tensor->view.data == nullptr && tensor->value < stepped_)
        fail(VOLTA_INVALID_STATE,
             "a result is to be kept that was not computed before a step changed a tensor it depends on");
    tensor->is_kept = true;
}

void Tape::reset() {
    try {
        SegmentRequest& request = new_request();
        if (!failure_) {
            want_results(request, Results::kept);
            want_gradients(request);
        }
        if (!request.wanted.empty()) compute(request, FlushReason::kept, CallPlace{});
    } catch (...) {
        end_record();
        throw;
    }
    end_record();
}

void Tape::end_record() noexcept {
    const bool drew = random_ >= 0;
    unbind_from(0);
    for (ValueState& value : values_) {
        Tensor* const handle = value.handle;
        if (handle != nullptr && handle->is_kept) {
            // The host's own from now on, with what was computed.
            handle->role = Tensor::Role::leaf;
            handle->is_kept = false;
            handle->tape = nullptr;
            handle->value = -1;
            pool_.leave(value.buffer.bytes());
            handle->owned = std::move(value.buffer);
            value.handle = nullptr;
        } else if (handle != nullptr) {
            handle->view.data = nullptr;
            handle->value = -1;
        }
        value.data = nullptr;
        pool_.give(std::move(value.buffer));
        value.buffer = Buffer();
    }
    ran_.assign(ran_.size(), 0);
    pending_.clear();
    failure_.reset();
    trace_->last_used = record_;
    cursor_ = flushed_ = segments_run_ = segment_hint_ = 0;
    has_recorded_ = false;
    stepped_ = 0;
    loss_ = -1;
    streams_ = 0;
    draws_ += drew;
    random_words_[2] = static_cast<std::uint32_t>(draws_);
    difference_[0] = '\0';
    ++record_;
    ++counts_.records;
}

}  // namespace volta
