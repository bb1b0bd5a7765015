#include "engine/tape/tape.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "engine/base/format.h"

namespace volta {
namespace {

constexpr std::size_t kMostTraces = 64;

}  // namespace

Tape::Tape(const ContextRef& context, const TapeOptions& options)
    : context_(context),
      options_(options),
      traces_(context->structures()),
      bound_(context->structures()),
      values_(context->structures()),
      ran_(context->structures()),
      pending_(context->structures()),
      following_(context->structures()),
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

Error at_place(const Error& error, CallPlace place) {
    if (place.file == nullptr) return error;
    char text[512];
    format_text(text, sizeof text, "%.400s (%s:%d)", error.what(), end_of(place.file), place.line);
    return Error(error.status(), text);
}

void Tape::fail_record(const Error& error, CallPlace place) {
    if (!failure_) failure_.emplace(at_place(error, place));
    throw Error(*failure_);
}

void Tape::come_from(CallPlace place) noexcept {
    std::snprintf(from_file_, sizeof from_file_, "%s", place.file != nullptr ? end_of(place.file) : "");
    from_line_ = place.line;
}

// The text stays until the host says another place.
CallPlace Tape::take_place() noexcept {
    const CallPlace place{from_line_ >= 0 && from_file_[0] != '\0' ? from_file_ : nullptr, from_line_};
    from_line_ = -1;
    return place;
}

// ---- Traces -----------------------------------------------------------------------------------------------

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
        const std::size_t plans = traces_[oldest]->segments.size();
        plan_count_ -= plans;
        counts_.plans_released += plans;
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

// ---- The record's end -------------------------------------------------------------------------------------

void Tape::keep(Tensor* tensor) {
    if (tensor->role != Tensor::Role::result || !is_bound(tensor)) return;
    if (tensor->view.data == nullptr && tensor->value < stepped_)
        fail(VOLTA_INVALID_STATE,
             "a result is to be kept that was not computed before a step changed a tensor it depends on");
    tensor->is_kept = true;
}

void Tape::reset() {
    const CallPlace place = take_place();
    try {
        SegmentRequest& request = new_request();
        if (!failure_) {
            want_results(request, Results::kept);
            want_gradients(request);
        }
        if (!request.wanted.empty()) compute(request, FlushReason::kept, place);
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
    following_.clear();
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
